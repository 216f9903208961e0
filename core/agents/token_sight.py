"""What a ``tokens`` network sees: of each token the same features, whatever the size of the board.

The tokens are those of ``encode/tokens.py``: one for each cell, one for each item of other lists and grids, and a last one for
the rest. A feature is a bit of a number that the token has, or it tells of which group the token is, where it stands, counted
from either end, or whether the cursor is there. How many bits a number takes is the same for all presets.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..encode.tokens import token_axes
from ..puzzle_spec import Field, layout, spec
from .sight import NEVER, WHERE

Array = np.ndarray[Any, Any]
EQUAL, SIGN = -1, 31
"""What stands for a bit where a number must equal the value; and the bit that is 1 where it is less."""


class TokenSight(NamedTuple):
    """What a network sees, as ``network.look`` needs it."""

    item: Array
    value: Array
    bit: Array
    board: tuple[int, int, int]
    """One row, the number of tokens, and the features of each."""


class _Setting:
    """The tokens of one setting of the parameters."""

    def __init__(self, puzzle: str, params: str, axes: dict[str, tuple[tuple[int, ...], int]]) -> None:
        self.fields = {field.name: field for field in layout(puzzle, params).fields}
        self.sizes: dict[int, tuple[int, ...]] = {0: ()}
        for name, field in self.fields.items():
            where, group = axes.get(name, ((), 0))
            self.sizes[group] = tuple(field.shape[axis] for axis in where)


@cache
def token_sight(puzzle: str, params: str) -> TokenSight:
    """The features of all tokens of a board."""
    about, axes = spec(puzzle), token_axes(puzzle, params)
    own = _Setting(puzzle, params, axes)
    others = (about.easiest_params, about.human_params, *(preset.params for preset in about.presets))
    known = [own, *(_Setting(puzzle, one, axes) for one in others)]
    groups = [*sorted(own.sizes)[1:], 0]  # the rest comes last
    counts = [_product(own.sizes[group]) for group in groups]
    starts = dict(zip(groups, np.cumsum([0, *counts]).tolist(), strict=False))
    rows = {group: np.arange(starts[group], starts[group] + n) for group, n in zip(groups, counts, strict=True)}
    items = dict(
        zip(
            own.fields, np.cumsum([0, *(_product(field.shape) for field in own.fields.values())]).tolist(), strict=False
        )
    )
    features = [
        *_numbers(own, known, axes, items, rows),
        *_places(own, known, rows),
        *_cursors(own, known, axes, items, rows),
    ]
    shape = sum(counts), len(features)
    item, value, bit = np.zeros(shape, np.int32), np.full(shape, NEVER, np.int32), np.full(shape, EQUAL, np.int32)
    for number, (at, which, least, place) in enumerate(features):
        item[at, number], value[at, number], bit[at, number] = which, least, place
    return TokenSight(item.ravel(), value.ravel(), bit.ravel(), (1, *shape))


Feature = tuple[Array, Any, Any, int]
"""The tokens that may have it, the items that are looked at, their values, and the bit. No other token has it."""


def _numbers(
    own: _Setting,
    known: list[_Setting],
    axes: dict[str, tuple[tuple[int, ...], int]],
    items: dict[str, int],
    rows: dict[int, Array],
) -> Iterator[Feature]:
    """The bits of all numbers of tokens."""
    for name, field in own.fields.items():
        where, group = axes[name]
        order = (*where, *(axis for axis in range(len(field.shape)) if axis not in where))
        each = np.arange(_product(field.shape)).reshape(field.shape).transpose(order).reshape(len(rows[group]), -1)
        alike = [one.fields[name] for one in known if name in one.fields]
        low = min(one.low for one in alike)
        for column in each.T:
            for bit in range(max(1, (max(one.high for one in alike) - low).bit_length())):
                yield rows[group], items[name] + column, low, bit


def _places(own: _Setting, known: list[_Setting], rows: dict[int, Array]) -> Iterator[Feature]:
    """Of which group a token is; and its place along each axis, from the start and from the end, bit by bit."""
    for group, size in own.sizes.items():
        yield rows[group], 0, NEVER, SIGN
        for axis, place in enumerate(np.indices(size).reshape(len(size), _product(size))):
            longest = max(one.sizes[group][axis] for one in known if group in one.sizes)
            for index in (place, size[axis] - 1 - place):
                for bit in range((longest - 1).bit_length()):
                    yield rows[group][index >> bit & 1 == 1], 0, NEVER, SIGN


def _cursors(
    own: _Setting,
    known: list[_Setting],
    axes: dict[str, tuple[tuple[int, ...], int]],
    items: dict[str, int],
    rows: dict[int, Array],
) -> Iterator[Feature]:
    """Whether a number that says where a player acts is the token's place along an axis that it goes along on all boards."""
    for name, field in own.fields.items():
        if field.shape or name.split("_")[0] not in WHERE:
            continue
        for group, size in own.sizes.items():
            for axis, place in enumerate(np.indices(size).reshape(len(size), _product(size))):
                if all(_range(one.fields[name]) == one.sizes[group][axis] for one in known if name in one.fields):
                    yield rows[group], items[name], place, EQUAL


def _product(sizes: tuple[int, ...]) -> int:
    return int(np.prod(sizes, dtype=int))


def _range(field: Field) -> int:
    """How many places there are on the board."""
    return field.high + 1 + min(field.low, 0)
