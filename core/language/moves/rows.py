# ruff: noqa: D102 (what the methods of a kind of move do is told once, in Kind)
"""Moves of a whole row: one that slides, one that is laid."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ...session import Observation
from ..hand import Change, Hand, Refused, go_to, place_of
from .kind import Kind


class Slide(Kind):
    """``slide row 2 left``: press the key on the rim."""

    pattern = r"(?:SLIDE|slide) (\w+) (\d{1,4}) (\w+)"
    ways = (("column", "down"), ("column", "up"), ("row", "left"), ("row", "right"))

    def understand(self, what: str, number: str, way: str) -> tuple[Any, ...] | None:
        what, way, at = what.lower(), way.lower(), int(number)
        if (what, way) not in self.ways:
            raise Refused(f"slide {what[:20]} {number} {way[:20]}: rows slide left or right, columns up or down")
        size = self.grammar.size[what == "column"]
        if not 1 <= at <= size:
            raise Refused(f"slide {what} {number}: the board has {size} {what}s")
        return what, at, way

    def play(self, hand: Hand, what: str, at: int, way: str) -> None:
        height, width = self.grammar.size
        if what == "row":
            go_to(hand, (at - 1, -1 if way == "left" else width))
        else:
            go_to(hand, (-1 if way == "up" else height, at - 1))
        hand.press(self.words[0])

    def describe(self, change: Change) -> Iterator[str]:
        place = place_of(self.grammar, change.cursors[change.presses[-1]]) if change.presses else None
        if place is not None:
            (y, x), (height, width), times = place, self.grammar.size, len(change.presses)
            rim = {(y, -1): f"row {y + 1} left", (y, width): f"row {y + 1} right"}
            rim |= {(-1, x): f"column {x + 1} up", (height, x): f"column {x + 1} down"}
            if place in rim:
                yield f"slide {rim[place]}" + (f"*{times}" if times > 1 else "")
        yield from self.options(change.after)  # a tile that is held in the middle of the board slides, too

    def options(self, seen: Observation) -> Iterator[str]:
        for what, way in self.ways:
            for at in range(1, self.grammar.size[what == "column"] + 1):
                yield f"slide {what} {at} {way}"

    @property
    def help(self) -> str:
        return "slide row 1 left: slide a row left or right, or a column up or down, by one step"


class Row(Kind):
    """``guess 1 2 3 4``: lay a row and submit it."""

    pattern = r"(\w+)((?: \d{1,3})+)"

    def understand(self, word: str, rest: str) -> tuple[Any, ...] | None:
        if word.lower() != self.words[0]:
            return None
        row = [int(text) for text in rest.split()]
        field = self.grammar.by_name["row"]
        if len(row) != field.shape[0] or not all(1 <= colour <= field.high for colour in row):
            raise Refused(f"{word}{rest[:40]}: a row has {field.shape[0]} colours from 1 to {field.high}")
        return tuple(row)

    def play(self, hand: Hand, *row: int) -> None:
        for peg, colour in enumerate(row):
            if int(hand.seen["row"][peg]) != colour:
                hand.go(cursor_x=peg, cursor_y=colour - 1)
                hand.press(self.words[1])
        hand.go(cursor_x=len(row))
        hand.press(self.words[1])

    def describe(self, change: Change) -> Iterator[str]:
        made = int(change.before["made"])
        if int(change.after["made"]) > made:
            yield f"{self.words[0]} " + " ".join(map(str, change.after["guesses"][made].tolist()))

    def options(self, seen: Observation) -> Iterator[str]:
        field = self.grammar.by_name["row"]
        for row in itertools.product(range(1, field.high + 1), repeat=field.shape[0]):
            yield f"{self.words[0]} " + " ".join(map(str, row))

    @property
    def help(self) -> str:
        field = self.grammar.by_name["row"]
        example = " ".join(str(1 + peg % field.high) for peg in range(field.shape[0]))
        return f"{self.words[0]} {example}: lay a row of colours from 1 to {field.high} and submit it"
