# ruff: noqa: D102 (what the methods of a kind of move do is told once, in Kind)
"""Moves in words: how each kind is said, and which keys it becomes.

A line of a puzzle's ``words`` declares a move by its kind, a word or field where it has one, and the keys that it presses:

    set FIELD KEY ...   ``R2C3=4``: press keys at a place until the field has the value there
    do WORD KEY ...     ``R2C3 flip``: press the keys at a place
    edge KEY            ``R1C1-R1C2``: press the key between two squares
    wall KEY            ``R1C1-R1C2``: hold the key at the first square and press the arrow to the second
    pull KEY FIELD      ``R1C1-R1C3``: press the key at the first square, then the arrow to the second; with a field,
                        the second is one where that is not 0, and does not change itself
    drag KEY            ``R1C1-R3C2``: press the key at the first square, go to the second, press it again
    path KEY            ``R1C1-R1C3-R2C3``: the same along a path with corners
    slide KEY           ``slide row 2 left``: press the key on the rim
    row WORD KEY        ``guess 1 2 3 4``: lay a row and submit it
    paint FIELD KEY     ``G3=2``: carry a value from a region that has it
    carry KEY           ``P3 to 96 64``: pick a point up and move it

Names of keys are moves too, so whatever can be played can be said. ``*2`` behind a move says it twice.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..session import Observation
from .grammar import EMPTY, Grammar, Layer
from .hand import (
    ARROWS,
    MOST_PRESSES,
    MOST_TIMES,
    Cell,
    Change,
    Hand,
    Refused,
    arrow,
    cells,
    go_to,
    place_name,
    place_of,
    read_place,
)


@dataclass(frozen=True)
class Move:
    """A move that was understood: what to play, and how often."""

    text: str
    kind: Any
    what: tuple[Any, ...]
    times: int = 1

    def play(self, hand: Hand) -> None:
        """Press the keys of it, or raise Refused."""
        for _ in range(self.times):
            self.kind.play(hand, *self.what)


# ---- kinds of moves


class Kind:
    """One kind of move of one puzzle."""

    pattern = ""

    def __init__(self, grammar: Grammar, *words: str) -> None:
        self.grammar, self.words = grammar, words
        here = rf"{grammar.letter}\d{{1,4}}" if grammar.letter else r"R\d{1,4}C\d{1,4}"
        self.regex = re.compile(self.pattern.replace("HERE", here), re.ASCII)

    def parse(self, text: str) -> tuple[Any, ...] | None:
        """What was said, or None where it is something else."""
        found = self.regex.fullmatch(text)
        return self.understand(*found.groups()) if found else None

    def understand(self, *parts: Any) -> tuple[Any, ...] | None:  # noqa: ANN401 (the texts of the pattern's groups)
        """The arguments of ``play`` from the parts of the text."""
        raise NotImplementedError

    def play(self, hand: Hand, *what: Any) -> None:  # noqa: ANN401 (what ``understand`` gave)
        """Press the keys of it."""
        raise NotImplementedError

    def describe(self, change: Change) -> Iterator[str]:
        """Texts that may say what happened; each is tried before it is used."""
        yield from ()

    def options(self, seen: Observation) -> Iterator[str]:
        """Texts of moves that may be possible now."""
        yield from ()

    @property
    def help(self) -> str:
        """How to say it."""
        raise NotImplementedError

    def name(self, place: Cell) -> str:
        """How a place is said."""
        return place_name(self.grammar, place)

    def place(self, text: str) -> Cell:
        """The place that was said."""
        return read_place(self.grammar, text)


class Set(Kind):
    """``R2C3=4``: press keys at a place until the field has the value there."""

    pattern = r"(HERE)=(\S{1,9})"

    @property
    def layer(self) -> Layer:
        """The layer that it changes."""
        return self.grammar.layers[self.words[0]]

    @property
    def _fields(self) -> list[str]:
        return [move[1] for move in self.grammar.moves if move[0] == "set"]

    def understand(self, where: str, symbol: str) -> tuple[Any, ...] | None:
        layer = self.layer
        place = self.place(where)
        if symbol == EMPTY:
            return (place, layer.none) if self.words[0] == self._fields[0] and layer.none is not None else None
        value = layer.read(symbol)
        if value is None or value == layer.none:
            if self.words[0] != self._fields[-1]:
                return None  # another field may have that symbol
            raise Refused(f"{where}={symbol}: the symbols are {' '.join(self.symbols)}")
        return place, value

    @property
    def symbols(self) -> list[str]:
        """What can be set, by all moves of this kind."""
        layers = [self.grammar.layers[name] for name in self._fields]
        signs = [sign for layer in layers for sign in layer.signs[:40]]
        return [*signs, EMPTY] if len(self.words) > 1 else signs

    def holds(self, seen: Observation, place: Cell, value: int | list[int]) -> bool:
        """Whether nothing is left to do."""
        if value == self.layer.none:
            layers = (self.grammar.layers[name] for name in self._fields)
            return all(self._at(seen, layer.name, place) == layer.none for layer in layers)
        return self._at(seen, self.words[0], place) == value

    def _at(self, seen: Observation, name: str, place: Cell) -> int | list[int]:
        view, at = seen[name], place[-min(seen[name].ndim, 2) :]
        if not all(0 <= index < size for index, size in zip(at, view.shape, strict=False)):
            raise Refused(f"{self.name(place)} is not on the board")
        value: int | list[int] = view[at].tolist()
        return value

    def play(self, hand: Hand, place: Cell, value: int | list[int]) -> None:
        if self.holds(hand.seen, place, value):
            return
        go_to(hand, place)
        keys = ([str(value)] if str(value) in hand.session.actions and self.layer.none != value else []) + [
            *self.words[1:]
        ]
        found: Hand | None = None
        for key in keys:
            trial = self._repeat(hand, key, place, value)
            if trial is not None and (found is None or len(trial.keys) < len(found.keys)):
                found = trial
        found = found or (self._mixed(hand, keys, place, value) if len(keys) > 1 else None)
        if found is None:
            symbol = self.layer.write(value) or EMPTY  # type: ignore[arg-type]
            fixed = hand.seen.get("fixed")
            given = fixed is not None and fixed.shape == hand.seen[self.words[0]].shape and fixed[place[-fixed.ndim :]]
            raise Refused(
                f"{self.name(place)}={symbol}: " + ("that place is given" if given else "that cannot be set there")
            )
        hand.take(found)

    def _repeat(self, hand: Hand, key: str, place: Cell, value: int | list[int]) -> Hand | None:
        if not hand.legal(key):
            return None
        trial, start = hand.copy(), hand.board()
        for _ in range(1 if key.isdigit() else MOST_PRESSES):
            if not trial.legal(key):
                return None
            trial.press(key)
            if self.holds(trial.seen, place, value):
                return trial
            if trial.session.ended or trial.board() == start:
                return None
        return None

    def _mixed(self, hand: Hand, keys: list[str], place: Cell, value: int | list[int]) -> Hand | None:
        queue, known = [hand], {hand.board()}
        for at in queue:
            for key in keys:
                if at.legal(key):
                    trial = at.copy()
                    trial.press(key)
                    if self.holds(trial.seen, place, value):
                        return trial
                    if trial.board() not in known and len(queue) < 50 and not trial.session.ended:
                        known.add(trial.board())
                        queue.append(trial)
        return None

    def describe(self, change: Change) -> Iterator[str]:
        before, after = change.before[self.words[0]], change.after[self.words[0]]
        different = (before != after).any(axis=2) if self.layer.is_sides else before != after
        for at in zip(*different.nonzero(), strict=True):
            place = (0, int(at[0])) if len(at) == 1 else (int(at[0]), int(at[1]))
            yield f"{self.name(place)}={self.layer.write(after[at]) or EMPTY}"

    def options(self, seen: Observation) -> Iterator[str]:
        shape = seen[self.words[0]].shape[:2]
        symbols = [*self.layer.signs] + ([EMPTY] if self.words[0] == self._fields[0] else [])
        for place in cells(self.grammar):
            if all(0 <= at < size for at, size in zip(place[-len(shape) :], shape, strict=True)):
                yield from (f"{self.name(place)}={symbol}" for symbol in symbols)

    @property
    def help(self) -> str:
        layer = self.layer
        symbols = layer.signs
        shown = " ".join(symbols) if len(symbols) < 10 else f"{symbols[0]} to {symbols[-1]}"
        clear = f" or {EMPTY} for nothing" if len(self.words) > 1 and layer.none is not None else ""
        return f"{self.name((0, 0))}={symbols[0]}: make {layer.name} there {shown}{clear}"


class Paint(Set):
    """``G3=2``: pick a colour up where it is and put it down."""

    @property
    def _fields(self) -> list[str]:
        return [self.words[0]]

    def play(self, hand: Hand, place: Cell, value: int | list[int]) -> None:
        if self.holds(hand.seen, place, value):
            return
        key, colours = self.words[1], hand.seen[self.words[0]]
        if value == self.layer.none:
            self._go(hand, place[1])
            hand.press(key)
            hand.press(key)
        else:
            sources = [int(at) for at in (colours == value).nonzero()[0]]
            if not sources:
                raise Refused(f"{self.name(place)}={value}: no region has that colour yet")
            self._go(hand, *sources)
            hand.press(key)
            self._go(hand, place[1])
            hand.press(key)
        if not self.holds(hand.seen, place, value):
            raise Refused(f"{self.name(place)}={value}: that region cannot be coloured so")

    def _go(self, hand: Hand, *regions: int) -> None:
        """To the nearest square that belongs to one of the regions, or a side of it that does."""
        grid, (y, x) = hand.seen[self.grammar.place_field], hand.cursor()
        whole = (grid == grid[:, :, :1]).all(axis=2)
        spots = []
        for region in regions:
            for row, column, side in zip(*(grid == region).nonzero(), strict=True):
                far = abs(int(row) - y) + abs(int(column) - x)
                spots.append((far + 3 * (not whole[row, column]), int(row), int(column), int(side)))
        for _, row, column, side in sorted(spots)[:40]:
            trial = hand.copy()
            try:
                dy, dx = (0, 0) if whole[row, column] else list(ARROWS.values())[side]
                trial.go(cursor_x=column - dx, cursor_y=row - dy)
                if (dy, dx) != (0, 0):
                    trial.press(list(ARROWS)[side])
            except Refused:
                continue
            here = (*trial.cursor(), int(trial.seen["cursor_quarter"]))
            if grid[here] in regions:
                hand.take(trial)
                return
        raise Refused("the cursor cannot get there")


class Do(Kind):
    """``R2C3 flip``: press the keys at a place."""

    pattern = r"(HERE) (\w+)"

    def understand(self, where: str, word: str) -> tuple[Any, ...] | None:
        return (self.place(where),) if word.lower() == self.words[0] else None

    def play(self, hand: Hand, place: Cell) -> None:
        go_to(hand, place)
        for key in self.words[1:]:
            hand.press(key)

    def describe(self, change: Change) -> Iterator[str]:
        presses = change.presses
        if presses and change.cursors:
            place, times = place_of(self.grammar, change.cursors[presses[-1]]), len(presses) // len(self.words[1:])
            if place is not None and times:
                yield f"{self.name(place)} {self.words[0]}" + (f"*{times}" if times > 1 else "")

    def options(self, seen: Observation) -> Iterator[str]:
        yield from (f"{self.name(place)} {self.words[0]}" for place in cells(self.grammar))

    @property
    def help(self) -> str:
        return f"{self.name((0, 0))} {self.words[0]}: {self.words[0]} there ({' '.join(self.words[1:])})"


class _Ends(Kind):
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


class Edge(_Ends):
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


class Wall(_Ends):
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


class Pull(_Ends):
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


class Drag(_Ends):
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

    @property
    def help(self) -> str:
        return f"{self.say((0, 0), (0, 1))}: {self.words[0]} on the first square and on the second"


class Path(_Ends):
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


class Carry(Kind):
    """``P3 to 96 64``: pick a point up, move it, drop it."""

    pattern = r"(HERE) (?:TO|to) (\d{1,5}) (\d{1,5})"
    step = 32

    def understand(self, where: str, x: str, y: str) -> tuple[Any, ...] | None:
        return self.place(where)[1], int(x), int(y)

    def play(self, hand: Hand, point: int, x: int, y: int) -> None:
        high = self.grammar.by_name["points"].high
        if max(x, y) > high:
            raise Refused(f"{self.name((0, point))} to {x} {y}: the board ends at {high}")
        hand.go(**{self.grammar.place_field: point})
        hand.press(self.words[0])
        for axis, (less, more), goal in ((0, ("LEFT", "RIGHT"), x), (1, ("UP", "DOWN"), y)):
            while True:
                far = goal - int(hand.seen["held_position"][axis])
                key = more if far > 0 else less
                if 2 * abs(far) <= self.step or not hand.legal(key):
                    break
                hand.press(key)
        hand.press(self.words[0])

    def describe(self, change: Change) -> Iterator[str]:
        for point in (change.before["points"] != change.after["points"]).any(axis=1).nonzero()[0]:
            x, y = change.after["points"][point].tolist()
            yield f"{self.name((0, int(point)))} to {x} {y}"

    def options(self, seen: Observation) -> Iterator[str]:
        high = self.grammar.by_name["points"].high
        for point, at in enumerate(seen["points"].tolist()):
            reach = (range(start % self.step, high + 1, self.step) for start in at)
            yield from (f"{self.name((0, point))} to {x} {y}" for x, y in itertools.product(*reach))

    @property
    def help(self) -> str:
        return f"{self.name((0, 0))} to 64 32: move a point to x and y, by steps of {self.step} from where it is"


class Key(Kind):
    """The name of a key."""

    pattern = r"(\S{1,20})"

    def understand(self, word: str) -> tuple[Any, ...] | None:
        key = self.grammar.names.get(word.lower(), word.upper())
        return (key,) if key in self.grammar.spec.actions else None

    def play(self, hand: Hand, key: str) -> None:
        if key not in hand.session.actions:
            raise Refused(f"{key} is not allowed in this game")
        hand.press(key)

    def options(self, seen: Observation) -> Iterator[str]:
        yield from self.grammar.spec.actions

    @property
    def help(self) -> str:
        names = ", ".join(f"{word} for {key}" for word, key in self.grammar.names.items())
        return f"{' '.join(self.grammar.spec.actions)}: press that key" + (f" ({names})" if names else "")


KINDS: dict[str, type[Kind]] = {
    "set": Set,
    "do": Do,
    "edge": Edge,
    "wall": Wall,
    "pull": Pull,
    "drag": Drag,
    "path": Path,
    "slide": Slide,
    "row": Row,
    "paint": Paint,
    "carry": Carry,
}


def kinds(grammar: Grammar) -> tuple[Kind, ...]:
    """The moves of a puzzle, keys last."""
    return (*(KINDS[kind](grammar, *words) for kind, *words in grammar.moves), Key(grammar))


_TIMES = re.compile(r"(.*?)(?: ?\* ?(\d{1,2}))?", re.ASCII | re.DOTALL)
_PLACES = re.compile(r"\b[a-z]\d{1,4}(?:c\d{1,4})?\b", re.ASCII | re.IGNORECASE)


def parse(ways: tuple[Kind, ...], piece: str) -> list[Move]:
    """The moves of one piece of a message: mostly one; several where they are separated by spaces only."""
    piece = _PLACES.sub(lambda found: found[0].upper(), " ".join(piece.split()))
    piece = re.sub(r" ?([=-]) ?(?=\S)", r"\1", piece)
    move = _one(ways, piece)
    if move is not None:
        return [move]
    tokens, moves, at = piece.split(" "), list[Move](), 0
    while at < len(tokens):
        for end in range(min(len(tokens), at + 4), at, -1):
            move = _one(ways, " ".join(tokens[at:end]))
            if move is not None:
                break
        if move is None:
            raise Refused(f"{tokens[at][:40]!r} is not understood")
        moves.append(move)
        at = end
    return moves


def _one(ways: tuple[Kind, ...], text: str) -> Move | None:
    found = _TIMES.fullmatch(text)
    assert found is not None
    times = int(found[2] or 1)
    if not 1 <= times <= MOST_TIMES:
        return None
    for kind in ways:
        what = kind.parse(found[1])
        if what is not None:
            return Move(text, kind, what, times)
    return None
