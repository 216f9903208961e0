# ruff: noqa: D102 (what the methods of a kind of move do is told once, in Kind)
"""Moves with two ends or more: edges, walls, bridges, rectangles, paths."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ...session import Observation
from ..hand import ARROWS, Cell, Change, Hand, Refused, arrow, cells, go_to, place_of
from .kind import Kind


class Ends(Kind):
    """Moves with two ends or more."""

    pattern = r"(HERE)((?:-(?:HERE))+)"
    most = 2

    def understand(self, first: str, rest: str) -> tuple[Any, ...] | None:
        ends = [self.place(text) for text in (first, *rest[1:].split("-"))]
        if len(ends) > self.most:
            raise Refused(f"{first}{rest[:40]}: this move has two ends")
        return tuple(ends)

    def say(self, *ends: Cell) -> str:
        """How it is said."""
        return "-".join(self.name(end) for end in ends)

    def neighbours(self) -> Iterator[str]:
        """All pairs of squares that share a side."""
        height, width = self.grammar.size
        for y, x in itertools.product(range(height), range(width)):
            if x + 1 < width:
                yield self.say((y, x), (y, x + 1))
            if y + 1 < height:
                yield self.say((y, x), (y + 1, x))

    def options(self, seen: Observation) -> Iterator[str]:
        yield from self.neighbours()

    def ends(self, change: Change) -> tuple[Cell, Cell] | None:
        """Where the first and the last key that is no arrow were pressed."""
        presses = change.presses
        places_ = (
            [place_of(self.grammar, change.cursors[at]) for at in (presses[0], presses[-1])] if presses else [None]
        )
        return None if None in places_ else (places_[0], places_[-1])  # type: ignore[return-value]


class Edge(Ends):
    """``R1C1-R1C2``: press the key between two squares."""

    most = 2

    def play(self, hand: Hand, a: Cell, b: Cell) -> None:
        if abs(a[0] - b[0]) + abs(a[1] - b[1]) != 1:
            raise Refused(f"{self.say(a, b)}: the two squares do not share a side")
        hand.go(cursor_x=a[1] + b[1], cursor_y=a[0] + b[0])
        hand.press(self.words[0])

    def describe(self, change: Change) -> Iterator[str]:
        presses = change.presses
        if presses:
            y, x = change.cursors[presses[-1]]
            if y % 2 != x % 2:
                yield self.say((y // 2, x // 2), ((y + 1) // 2, (x + 1) // 2))

    @property
    def help(self) -> str:
        return f"{self.say((0, 0), (0, 1))}: {self.words[0]} between two squares that share a side"


class Wall(Ends):
    """``R1C1-R1C2``: hold the key at the first square and press the arrow to the second."""

    def play(self, hand: Hand, a: Cell, b: Cell) -> None:
        if abs(a[0] - b[0]) + abs(a[1] - b[1]) != 1:
            raise Refused(f"{self.say(a, b)}: the two squares do not share a side")
        go_to(hand, a)
        hand.press(self.words[0])
        hand.press(arrow(a, b))
        if not hand.session.ended:
            hand.press(self.words[0])

    def describe(self, change: Change) -> Iterator[str]:
        place = place_of(self.grammar, change.cursors[-1])
        if place is not None and change.keys[-1] in ARROWS:
            dy, dx = ARROWS[change.keys[-1]]
            yield self.say(place, (place[0] + dy, place[1] + dx))

    @property
    def help(self) -> str:
        return f"{self.say((0, 0), (0, 1))}: build or remove the wall between two squares that share a side"


class Pull(Ends):
    """``R1C1-R1C3``: press the key at the first square, then the arrow to the second."""

    def play(self, hand: Hand, a: Cell, b: Cell) -> None:
        key, on = arrow(a, b), len(self.words) > 1
        if on and not (hand.seen[self.words[1]][a] and hand.seen[self.words[1]][b]):
            raise Refused(f"{self.say(a, b)}: both ends must be on {self.words[1]}")
        go_to(hand, a)
        before = {layer.name: hand.seen[layer.name].copy() for layer in self.grammar.layers.values()}
        hand.press(self.words[0])
        hand.press(key)
        # It must reach to the second place and no further: that place changes, or the one before what stands there.
        far = abs(b[0] - a[0]) + abs(b[1] - a[1]) - on
        dy, dx = ARROWS[key]
        changed = [
            (int(y) - a[0]) * dy + (int(x) - a[1]) * dx
            for name, view in before.items()
            if "error" not in name
            for y, x in zip(*(view != hand.seen[name]).nonzero()[:2], strict=True)
        ]
        if max(changed, default=0) != far:
            raise Refused(f"{self.say(a, b)}: nothing joins these two places")

    def describe(self, change: Change) -> Iterator[str]:
        ends = self.ends(change)
        if ends is None or change.keys[-1] not in ARROWS:
            return
        (y, x), (dy, dx) = ends[-1], ARROWS[change.keys[-1]]
        for far in range(1, max(self.grammar.size)):
            b = y + dy * far, x + dx * far
            if 0 <= b[0] < self.grammar.size[0] and 0 <= b[1] < self.grammar.size[1]:
                yield self.say((y, x), b)
                yield self.say((y, x), b) + "*2"

    def options(self, seen: Observation) -> Iterator[str]:
        height, width = self.grammar.size
        for (y, x), (dy, dx) in itertools.product(cells(self.grammar), ARROWS.values()):
            for far in range(2, max(height, width)):
                if 0 <= y + dy * far < height and 0 <= x + dx * far < width:
                    yield self.say((y, x), (y + dy * far, x + dx * far))

    @property
    def help(self) -> str:
        return f"{self.say((0, 0), (0, 2))}: {self.words[0]} on the first square, then the arrow to the second"


class Drag(Ends):
    """``R1C1-R3C2``: press the key at the first square, go to the second, press it again."""

    def play(self, hand: Hand, a: Cell, b: Cell) -> None:
        go_to(hand, a)
        hand.press(self.words[0])
        if a == b:  # away and back
            away = next(key for key in ARROWS if hand.legal(key))
            hand.press(away)
            go_to(hand, a)
        go_to(hand, b)
        hand.press(self.words[0])

    def describe(self, change: Change) -> Iterator[str]:
        ends = self.ends(change)
        if ends is not None:
            yield self.say(*ends)
            yield self.say(*reversed(ends))

    def options(self, seen: Observation) -> Iterator[str]:
        yield from (self.say(a, b) for a, b in itertools.product(cells(self.grammar), repeat=2))

    def toward(self, seen: Observation, wanted: Observation) -> Iterator[str]:
        if "vertical_edges" not in wanted:
            yield from self.options(seen)
            return
        left, top = wanted["vertical_edges"] != 0, wanted["horizontal_edges"] != 0
        for (y, x), (far_y, far_x) in itertools.product(cells(self.grammar), repeat=2):
            if y <= far_y and x <= far_x:  # a rectangle that is drawn on all four sides
                down, across = slice(y, far_y + 1), slice(x, far_x + 1)
                sides = left[down, x].all() and left[down, far_x + 1].all()
                if sides and top[y, across].all() and top[far_y + 1, across].all():
                    yield self.say((y, x), (far_y, far_x))

    @property
    def help(self) -> str:
        return f"{self.say((0, 0), (0, 1))}: {self.words[0]} on the first square and on the second"


class Path(Ends):
    """``R1C1-R1C3-R2C3``: press the key at the start, follow the path, press it again."""

    most = 200

    def play(self, hand: Hand, *ends: Cell) -> None:
        go_to(hand, ends[0])
        hand.press(self.words[0])
        for a, b in itertools.pairwise(ends):
            key = arrow(a, b)
            for _ in range(abs(a[0] - b[0]) + abs(a[1] - b[1])):
                hand.press(key)
        hand.press(self.words[0])

    def describe(self, change: Change) -> Iterator[str]:
        presses = change.presses
        if len(presses) < 2:
            return
        way = [change.cursors[at] for at in range(presses[-2] + 1, presses[-1] + 1)]
        corners = [
            at
            for k, at in enumerate(way)
            if k in (0, len(way) - 1)
            or (at[0] - way[k - 1][0], at[1] - way[k - 1][1]) != (way[k + 1][0] - at[0], way[k + 1][1] - at[1])
        ]
        if len(corners) > 1:
            yield self.say(*corners)

    @property
    def help(self) -> str:
        return f"{self.say((0, 0), (0, 2), (1, 2))}: a path from square to square, with its corners"
