"""The board as a sequence of tokens whose width does not depend on the size of the board."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidParams
from ..puzzle_spec import Field, spec
from .base import Array, Encoder, Fields, Leaf

if TYPE_CHECKING:
    from ..task import Task


@dataclass(frozen=True)
class Part:
    """How one field becomes columns of tokens."""

    field: Field
    order: tuple[int, ...]
    """Its axes: first those that are positions, then those that are features."""
    group: int
    """Which kind of token it is part of; 0 is the last token, which holds the rest."""
    column: int
    low: int
    bits: int


@cache
def token_axes(puzzle: str, params: str | None) -> dict[str, tuple[tuple[int, ...], int]]:
    """For each field, the axes whose length depends on the parameters, and its group: fields that vary alike.

    Found by a look at all presets, so that it is the same for all sizes. A field that only some of them have joins the
    group whose shape it has.
    """
    about = spec(puzzle)
    settings = [about.easiest_params, about.human_params, *(preset.params for preset in about.presets)]
    *presets, own = [{field.name: field.shape for field in about.fields(setting)} for setting in (*settings, params)]
    groups: dict[tuple[Any, ...], int] = {(): 0}
    members: list[tuple[str, tuple[int, ...]]] = []
    result = {}
    for name in sorted(own, key=lambda name: not all(name in preset for preset in presets)):
        shapes = [preset[name] for preset in presets if name in preset]
        if len(shapes) == len(presets):
            lengths = list(zip(*shapes, strict=True))
            axes = tuple(axis for axis, seen in enumerate(lengths) if len(set(seen)) > 1)
            key = tuple(lengths[axis] for axis in axes)
            if key not in groups:
                groups[key] = len(groups)
                members.append((name, axes))
            result[name] = axes, groups[key]
        else:
            result[name] = (), 0
            for group, (member, axes) in enumerate(members, start=1):
                if own[name][: len(axes)] == tuple(own[member][axis] for axis in axes):
                    result[name] = tuple(range(len(axes))), group
                    break
    return result


class Tokens(Encoder):
    """The board as ``{"tokens": float32[max_length, width], "length": int32[1]}``, for agents that see boards of several sizes.

    Each cell of the board is one token, with all that is known of the cell; so is each item of other lists and grids
    (clues at the rim, edges). The last token holds the rest: scalars such as the cursor's place. A number becomes bits.
    Four more features say where on the board a token stands, and a one-hot vector what kind of token it is.

        >>> import puzzleport as pp
        >>> small = Tokens(pp.Task("netslide", "2x3b1"), largest="3x3b1")
        >>> large = Tokens(pp.Task("netslide", "3x3b1"))
        >>> small.length, large.length, small.tree == large.tree
        (7, 10, True)

    Args:
        task: what is played.
        largest: parameters of the largest boards that the same agent will see; ``None`` for the task's own.
        max_length: pad to so many tokens; ``None`` for as many as the largest board has.
    """

    kind = "tokens"

    def __init__(self, task: Task, *, largest: str | None = None, max_length: int | None = None) -> None:
        super().__init__(task)
        puzzle, params = task.puzzle, task.params
        about = spec(puzzle)
        fields, largest_fields = about.fields(params), about.fields(params if largest is None else largest)
        if [field.name for field in fields] != [field.name for field in largest_fields]:
            raise InvalidParams(f"{puzzle}: {params} and {largest} have different fields")
        axes = token_axes(puzzle, params)
        n_groups = 1 + max(group for _, group in axes.values())
        # How tokens are made is public: an adapter may make them inside its compiled programs.
        self.parts: list[Part] = []
        shapes: dict[int, tuple[int, ...]] = {}
        largest_shapes: dict[int, tuple[int, ...]] = {}
        column = 4 + n_groups
        for field, big in zip(fields, largest_fields, strict=True):
            where, group = axes[field.name]
            order = (*where, *(axis for axis in range(len(field.shape)) if axis not in where))
            bits = max(1, int(big.high - big.low).bit_length())
            fits = big.low <= field.low and field.high <= big.high
            if not fits or any(a > b for a, b in zip(field.shape, big.shape, strict=True)):
                raise InvalidParams(f"{puzzle}: {field.name} is larger under {params} than under {largest}")
            self.parts.append(Part(field, order, group, column, big.low, bits))
            shapes[group] = tuple(field.shape[axis] for axis in where)
            largest_shapes[group] = tuple(big.shape[axis] for axis in where)
            column += bits * int(np.prod([field.shape[axis] for axis in order[len(where) :]], dtype=int))
        self.width = column
        # The rest comes last: it is there in every puzzle, and an encoder can take its place as the summary.
        groups = [*range(1, n_groups), 0]
        counts = {group: int(np.prod(shapes.get(group, ()), dtype=int)) for group in groups}
        self.starts = dict(zip(groups, np.cumsum([0, *counts.values()]).tolist(), strict=False))
        self.counts = counts
        self.length = sum(counts.values())
        largest_length = sum(int(np.prod(largest_shapes.get(group, ()), dtype=int)) for group in groups)
        self.max_length = largest_length if max_length is None else max_length
        if self.length > self.max_length:
            raise ValueError(f"{puzzle} {params} makes {self.length} tokens, more than {self.max_length}")
        self.blank = np.zeros((self.max_length, self.width), np.float32)
        for group in groups:
            rows = slice(self.starts[group], self.starts[group] + counts[group])
            self.blank[rows, 4 + group] = 1.0
            shape = shapes.get(group, ())
            for axis, place in enumerate(np.indices(shape)[::-1]):  # columns first
                self.blank[rows, 2 * axis : 2 * axis + 2] = position(place.ravel(), shape[-1 - axis])
        self.tree = {
            "tokens": Leaf(self.blank.shape, np.dtype(np.float32), -1.0, 1.0, "tokens"),
            "length": Leaf((1,), np.dtype(np.int32), 1, self.max_length, "length"),
        }
        self.cursor = [
            (2 * axis, field.name, field.high + 1 + min(field.low, 0))
            for axis, name in enumerate(("cursor_x", "cursor_y"))
            for field in fields
            if field.name == name
        ]

    def encode(self, fields: Fields) -> dict[str, Array]:
        """The tokens of fields, padded with zeros, and how many there are."""
        return {"tokens": self.tokens(fields), "length": np.full((*self.lead(fields), 1), self.length, np.int32)}

    def tokens(self, state: dict[str, Array]) -> Array:
        """The tokens of one state, or of many along leading axes, padded with zeros."""
        lead = self.lead(state)
        tokens: Array = np.broadcast_to(self.blank, (*lead, *self.blank.shape)).copy()
        for part in self.parts:
            values = state[part.field.name]
            values = np.transpose(values, (*range(len(lead)), *(len(lead) + axis for axis in part.order)))
            start, count = self.starts[part.group], self.counts[part.group]
            numbers = values.reshape(*lead, count, -1).astype(np.int64) - part.low
            bits = (numbers[..., None] >> np.arange(part.bits)) & 1
            bits = bits.reshape(*lead, count, -1)
            tokens[..., start : start + count, part.column : part.column + bits.shape[-1]] = bits
        for column, name, size in self.cursor:
            tokens[..., self.length - 1, column : column + 2] = position(state[name], size)
        return tokens


def position(place: Array, size: int) -> Array:
    """Half a turn from one end of an axis to the other: cells beside the board are told from those on it."""
    angle = np.pi * (place.astype(np.float32) + 0.5) / size
    both: Array = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return both
