"""What a ``tokens`` network sees: of each token the same features, whatever the size of the board.

The tokens are those of ``encode/tokens.py``: one for each cell, one for each item of other lists and grids, and a last one for
the rest. A feature is a bit of a number that the token has, or it tells of which group the token is, where it stands, counted
from either end, or whether the cursor is there. How many bits a number takes is the same for all presets.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..encode.tokens import token_axes
from ..puzzle_spec import Field, layout, spec
from .sight import NEVER, WHERE

Array = np.ndarray[Any, Any]
Axes = dict[str, tuple[tuple[int, ...], int]]
"""What ``token_axes`` tells."""
EQUAL, SIGN = -1, 31
"""What stands for a bit where a number must equal the value; and the bit that is 1 where it is less."""


class TokenSight(NamedTuple):
    """What a network sees, as ``network.look`` needs it."""

    item: Array
    value: Array
    bit: Array
    board: tuple[int, int, int]
    """One row, the number of tokens, and the features of each."""


Feature = tuple[Array, Any, Any, int]
"""The tokens that may have it, the items that are looked at, their values, and the bit. No other token has it."""


@lru_cache(maxsize=256)
def token_sight(puzzle: str, params: str) -> TokenSight:
    """The features of all tokens of a board."""
    reader = _Reader(puzzle, params)
    features = [*reader.numbers(), *reader.places(), *reader.cursors()]
    shape = sum(map(len, reader.rows.values())), len(features)
    item, value, bit = np.zeros(shape, np.int32), np.full(shape, NEVER, np.int32), np.full(shape, EQUAL, np.int32)
    for number, (rows, items, values, place) in enumerate(features):
        item[rows, number], value[rows, number], bit[rows, number] = items, values, place
    return TokenSight(item.ravel(), value.ravel(), bit.ravel(), (1, *shape))


class _Setting:
    """The fields of one setting of the parameters, and the sizes of its groups of tokens."""

    def __init__(self, puzzle: str, params: str, axes: Axes) -> None:
        self.fields = {field.name: field for field in layout(puzzle, params).fields}
        self.sizes: dict[int, tuple[int, ...]] = {0: ()}
        for name, field in self.fields.items():
            where, group = axes.get(name, ((), 0))
            self.sizes[group] = tuple(field.shape[axis] for axis in where)


class _Reader:
    """What is known of the tokens of a board."""

    def __init__(self, puzzle: str, params: str) -> None:
        about, self.axes = spec(puzzle), token_axes(puzzle, params)
        settings = (params, about.easiest_params, about.human_params, *(preset.params for preset in about.presets))
        self.known = [_Setting(puzzle, one, self.axes) for one in settings]
        self.fields, self.sizes = self.known[0].fields, self.known[0].sizes
        self.items: dict[str, int] = {}
        """The first item of each field."""
        end = 0
        for name, field in self.fields.items():
            self.items[name] = end
            end += _product(field.shape)
        self.rows: dict[int, Array] = {}
        """The tokens of each group."""
        end = 0
        for group in (*sorted(self.sizes)[1:], 0):  # the rest comes last
            count = _product(self.sizes[group])
            self.rows[group] = np.arange(end, end + count)
            end += count

    def numbers(self) -> Iterator[Feature]:
        """The bits of all numbers of tokens."""
        for name, field in self.fields.items():
            where, group = self.axes[name]
            order = (*where, *(axis for axis in range(len(field.shape)) if axis not in where))
            each = np.arange(_product(field.shape)).reshape(field.shape).transpose(order)
            alike = [one.fields[name] for one in self.known if name in one.fields]
            low, high = min(one.low for one in alike), max(one.high for one in alike)
            for column in each.reshape(len(self.rows[group]), -1).T:
                for bit in range(max(1, (high - low).bit_length())):
                    yield self.rows[group], self.items[name] + column, low, bit

    def places(self) -> Iterator[Feature]:
        """Of which group a token is; and its place along each axis, from the start and from the end, bit by bit."""
        for group in self.sizes:
            rows = self.rows[group]
            yield rows, 0, NEVER, SIGN
            for axis, place in self._along(group):
                longest = max(one.sizes[group][axis] for one in self.known if group in one.sizes)
                for index in (place, self.sizes[group][axis] - 1 - place):
                    for bit in range((longest - 1).bit_length()):
                        yield rows[index >> bit & 1 == 1], 0, NEVER, SIGN

    def cursors(self) -> Iterator[Feature]:
        """Whether a number that says where a player acts is the token's place along an axis that it goes along on all boards."""
        for name, field in self.fields.items():
            if field.shape or name.split("_")[0] not in WHERE:
                continue
            for group in self.sizes:
                for axis, place in self._along(group):
                    both = [one for one in self.known if name in one.fields and group in one.sizes]
                    if all(_range(one.fields[name]) == one.sizes[group][axis] for one in both):
                        yield self.rows[group], self.items[name], place, EQUAL

    def _along(self, group: int) -> Iterator[tuple[int, Array]]:
        """Each axis of a group, and the places of its tokens along it."""
        size = self.sizes[group]
        return enumerate(np.indices(size).reshape(len(size), _product(size)))


def _product(sizes: tuple[int, ...]) -> int:
    return int(np.prod(sizes, dtype=int))


def _range(field: Field) -> int:
    """How many places there are on the board."""
    return field.high + 1 + min(field.low, 0)
