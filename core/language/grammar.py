"""What a puzzle's ``words`` say: how its board is written, and which moves can be said.

The lines stand in the puzzle's C file. The first word of a line is its kind:

    grid FIELD=SYMBOLS ...   one printed grid; a place shows the symbols of all these fields, one after the other
    place LETTER FIELD       places have a letter and a number, not a row and a column
    rule KIND ...            a rule that a board can break; see ``rules.py``
    idle FIELD               a move in words needs this to be 0: nothing is held
    score FIELD=VALUE        progress is the share of places with this value, where there is no solution to compare with
    name WORD=KEY ...        other names of keys
    set, do, edge, ...       moves; see ``moves.py``

SYMBOLS has one character for each value of the field, from its lowest; ``.`` prints nothing. ``#`` stands for numbers,
of which none is printed for 0, or for -1 where that is the lowest; ``#0`` prints them all. A field whose last axis is four
sides has a letter for each side instead.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..puzzle_spec import Field, PuzzleSpec, layout, spec

EMPTY = "."


@dataclass(frozen=True)
class Layer:
    """A field as it is printed: a symbol for each value."""

    field: Field
    symbols: str

    @property
    def name(self) -> str:
        """The name of its field."""
        return self.field.name

    @property
    def is_number(self) -> bool:
        """Whether values are printed as numbers."""
        return self.symbols in ("#", "#0")

    @property
    def is_sides(self) -> bool:
        """Whether each place has several values, each with a letter of its own."""
        return len(self.field.shape) == 3

    @property
    def none(self) -> int | None:
        """The value for which nothing is printed."""
        if self.symbols == "#":
            return -1 if self.field.low == -1 else 0 if self.field.low == 0 else None
        at = self.symbols.find(EMPTY)
        return None if at < 0 or self.is_sides else self.field.low + at

    @cached_property
    def texts(self) -> list[str]:
        """What is printed for each value, from the lowest."""
        values = range(self.field.low, self.field.high + 1)
        if self.is_sides:
            return []
        if self.is_number:
            return ["" if value == self.none else str(value) for value in values]
        return ["" if symbol == EMPTY else symbol for symbol in self.symbols[: len(values)]]

    @cached_property
    def signs(self) -> list[str]:
        """What a place can show of it, nothing apart."""
        if not self.is_sides:
            return [text for text in self.texts if text]
        sets = itertools.product(*((letter, "") for letter in self.symbols))
        return [text for text in map("".join, sets) if text]

    @cached_property
    def pattern(self) -> str:
        """A regular expression for what is printed at one place."""
        if self.is_sides:
            return "".join(f"{re.escape(letter)}?" for letter in self.symbols)
        if self.is_number:
            return "(?:[0-9]+)?"
        return "(?:" + "|".join(re.escape(text) for text in self.texts if text) + ")?"

    def write(self, value: np.generic | np.ndarray[Any, Any]) -> str:
        """The text of one place."""
        if self.is_sides:
            return "".join(letter for letter, there in zip(self.symbols, value, strict=True) if there)  # type: ignore[arg-type]
        return self.texts[int(value) - self.field.low]

    def read(self, text: str) -> int | list[int] | None:
        """The value whose text this is, or None."""
        if self.is_sides:
            return [int(letter in text) for letter in self.symbols] if set(text) <= set(self.symbols) else None
        if self.is_number and text:
            value = int(text) if re.fullmatch("[0-9]{1,9}", text, re.ASCII) else self.field.low - 1
            return value if self.field.low <= value <= self.field.high else None
        return self.field.low + self.texts.index(text) if text in self.texts else None

    @property
    def legend(self) -> str:
        """What the symbols mean."""
        if self.is_sides:
            told = "letters " + " ".join(self.symbols)
        elif self.is_number:
            told = "the number" + ("" if self.none is None else f", nothing for {self.none}")
        else:
            told = ", ".join(
                f"{symbol} for {self.field.low + at}" for at, symbol in enumerate(self.symbols) if symbol != EMPTY
            )
        return f"{self.name} ({self.field.about}): {told}"


@dataclass(frozen=True)
class Grammar:
    """The words of one puzzle under given parameters."""

    spec: PuzzleSpec
    params: str
    fields: tuple[Field, ...]
    grids: tuple[tuple[Layer, ...], ...]
    moves: tuple[tuple[str, ...], ...]
    letter: str
    """The letter of numbered places, or nothing for places with a row and a column."""
    place_field: str
    idle: tuple[str, ...]
    rules: tuple[tuple[str, ...], ...]
    score: tuple[str, str]
    names: dict[str, str]

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """The fields by their names."""
        return {field.name: field for field in self.fields}

    @cached_property
    def layers(self) -> dict[str, Layer]:
        """The printed layers by the names of their fields."""
        return {layer.name: layer for grid in self.grids for layer in grid}

    @cached_property
    def half(self) -> bool:
        """Whether the cursor also stands between squares."""
        return any(move[0] == "edge" for move in self.moves)

    @cached_property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the board."""
        if self.half:
            return self.by_name["cursor_y"].high // 2 + 1, self.by_name["cursor_x"].high // 2 + 1
        shapes = [grid[0].field.shape for grid in self.grids if len(grid[0].field.shape) > 1]
        return shapes[0][:2] if shapes else (0, 0)  # type: ignore[return-value]

    @cached_property
    def first(self) -> int:
        """The row and column of the place where the cursor's own count is 0."""
        y = self.by_name.get("cursor_y")
        return 0 if y is not None and not self.half and (y.low, y.high) == (0, self.size[0] + 1) else 1

    @cached_property
    def ui_offset(self) -> int:
        """Where the cursor and its kin begin in the observation record."""
        sizes = [field.offset for field in self.fields if field.is_ui]
        return min(sizes, default=layout(self.spec.name, self.params).record_size)


@lru_cache(maxsize=256)
def grammar(puzzle: str, params: str) -> Grammar:
    """The words of a puzzle under canonical parameters. A field that these parameters do without is left out."""
    about, fields = spec(puzzle), layout(puzzle, params).fields
    by_name = {field.name: field for field in fields}
    kinds: dict[str, list[list[str]]] = {}
    for line in about.words:
        kind, *rest = line.split(" ")
        kinds.setdefault(kind, []).append(rest)
    grids = []
    for items in kinds.pop("grid", []):
        layers: list[Layer] = []
        for item in items:
            name, _, symbols = item.partition("=")
            if name in by_name and _prints(layer := Layer(by_name[name], symbols), layers):
                layers.append(layer)
        if layers:
            grids.append(tuple(layers))
    place = kinds.pop("place", [["", ""]])[0]
    idle = tuple(name for line in kinds.pop("idle", []) for name in line)
    rules = tuple(map(tuple, kinds.pop("rule", [])))
    score = kinds.pop("score", [[""]])[0][0].partition("=")
    names = dict(item.split("=") for line in kinds.pop("name", []) for item in line)
    moves = tuple((kind, *rest) for kind, lines in kinds.items() for rest in lines)
    return Grammar(
        about, params, fields, tuple(grids), moves, place[0], place[1], idle, rules, (score[0], score[2]), names
    )


def _prints(layer: Layer, others: list[Layer]) -> bool:
    """Whether there is a symbol for every value, and the field lies on the same places as the others."""
    field = layer.field
    if others and field.shape[:2] != others[0].field.shape[:2]:
        return False
    if layer.is_sides:
        return len(layer.symbols) == field.shape[2] and (field.low, field.high) == (0, 1)
    return len(field.shape) in (1, 2) and (layer.is_number or len(layer.symbols) > field.high - field.low)
