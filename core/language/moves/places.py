# ruff: noqa: D102 (what the methods of a kind of move do is told once, in Kind)
"""Moves at one place: a value there, a word there, a point that is carried."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ...session import Observation
from ..grammar import EMPTY, Layer
from ..hand import ARROWS, MOST_PRESSES, Cell, Change, Hand, Refused, cells, go_to, place_of
from .kind import Kind


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

    @property
    def _empties(self) -> bool:
        """Whether it takes the symbol for nothing: of all moves of this kind the first does, if there is nothing."""
        return self.words[0] == self._fields[0] and self.layer.none is not None

    def understand(self, where: str, symbol: str) -> tuple[Any, ...] | None:
        layer = self.layer
        place = self.place(where)
        if symbol == EMPTY:
            return (place, layer.none) if self._empties else None
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

    def toward(self, seen: Observation, wanted: Observation) -> Iterator[str]:
        yield from self.describe(Change(seen, wanted, [], []))

    def options(self, seen: Observation) -> Iterator[str]:
        shape = seen[self.words[0]].shape[:2]
        symbols = [*self.layer.signs] + ([EMPTY] if self._empties else [])
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
        said = f"{self.name(place)}={self.layer.write(value) or EMPTY}"  # type: ignore[arg-type]
        if value == self.layer.none:
            self._go(hand, place[1])
            hand.press(key)
            hand.press(key)
        else:
            sources = [int(at) for at in (colours == value).nonzero()[0]]
            if not sources:
                raise Refused(f"{said}: no region has that colour yet")
            self._go(hand, *sources)
            hand.press(key)
            self._go(hand, place[1])
            hand.press(key)
        if not self.holds(hand.seen, place, value):
            raise Refused(f"{said}: that region cannot be coloured so")

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
