"""A hand at the board: it presses keys, and goes from place to place with the cursor."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..session import Observation, Session
from .grammar import Grammar

ARROWS = {"UP": (-1, 0), "DOWN": (1, 0), "LEFT": (0, -1), "RIGHT": (0, 1)}
MOST_TIMES = 99
MOST_NODES = 5_000
MOST_PRESSES = 8
Cell = tuple[int, int]


class Refused(Exception):
    """A move that was not understood or cannot be made, and why."""


class Hand:
    """Presses keys on a copy of a game, so that a move happens wholly or not at all."""

    def __init__(self, grammar: Grammar, session: Session, keys: list[int] | None = None) -> None:
        self.grammar, self.session = grammar, session.clone()
        self.keys: list[int] = list(keys or ())
        self.seen = self.session.observe(copy=False)
        self.mask = self.session.mask(copy=False)
        self._record = self.session.record(copy=False)

    def copy(self) -> Hand:
        """Another hand at the same point."""
        return Hand(self.grammar, self.session, self.keys)

    def take(self, other: Hand) -> None:
        """Go on where a copy of this hand has come to."""
        self.__dict__.update(other.__dict__)

    def board(self) -> bytes:
        """All that is observed but the cursor and its kin."""
        return self._record[: self.grammar.ui_offset].tobytes()

    def state(self) -> bytes:
        """All that is observed."""
        return self._record.tobytes()

    def legal(self, key: str) -> bool:
        """Whether a key has any effect now."""
        return key in self.session.actions and bool(self.mask[self.session.action_number(key)])

    def press(self, key: str) -> None:
        """Press a key that has an effect."""
        if self.session.ended:
            raise Refused("the game is over")
        if not self.legal(key):
            raise Refused(f"{key} has no effect here")
        number = self.session.action_number(key)
        self.session.act(number)
        self.keys.append(number)

    def cursor(self) -> Cell:
        """Where the cursor is, as row and column of its own count."""
        return int(self.seen["cursor_y"]), int(self.seen["cursor_x"])

    def go(self, **goal: int) -> None:
        """Bring the cursor to where these fields have these values: straight on, or else by a search."""
        if not self._walk(goal):
            self._search(goal)

    def _walk(self, goal: dict[str, int]) -> bool:
        """Go straight: most cursors move by one along a row or column."""
        axes = {"cursor_x": ("LEFT", "RIGHT"), "cursor_y": ("UP", "DOWN")}
        if not set(goal) <= set(axes):
            return False
        while True:
            left = {name: value - int(self.seen[name]) for name, value in goal.items()}
            if not any(left.values()):
                return True
            for name, far in left.items():
                key = axes[name][far > 0]
                if far and self.legal(key):
                    self.press(key)
                    break
            else:
                return False
            if sum(abs(value - int(self.seen[name])) for name, value in goal.items()) >= sum(map(abs, left.values())):
                return False

    def _search(self, goal: dict[str, int]) -> None:
        """The shortest way over cursors that wrap round, turn corners or jump."""

        def there(hand: Hand) -> bool:
            return all(int(hand.seen[name]) == value for name, value in goal.items())

        names = [field.name for field in self.grammar.fields if field.is_ui and not field.shape]
        if there(self):
            return
        start = self.board()
        queue, known = [self], {tuple(int(self.seen[name]) for name in names)}
        for hand in queue:
            for key in ARROWS:
                if not hand.legal(key):
                    continue
                further = hand.copy()
                further.press(key)
                at = tuple(int(further.seen[name]) for name in names)
                if at in known or further.board() != start:
                    continue
                if there(further):
                    self.take(further)
                    return
                known.add(at)
                queue.append(further)
            if len(queue) > MOST_NODES:
                break
        raise Refused("the cursor cannot get there")


@dataclass(frozen=True)
class Change:
    """What keys did to a board: the material for saying it in words."""

    before: Observation
    after: Observation
    keys: list[str]
    cursors: list[Cell]
    """Where the cursor was before each key."""

    @property
    def presses(self) -> list[int]:
        """Which of the keys are no arrows."""
        return [at for at, key in enumerate(self.keys) if key not in ARROWS]


# ---- places


def place_name(grammar: Grammar, place: Cell) -> str:
    """How a place is said: ``R2C3``, or a letter and a number."""
    return f"{grammar.letter}{place[1]}" if grammar.letter else f"R{place[0] + 1}C{place[1] + 1}"


def read_place(grammar: Grammar, text: str) -> Cell:
    """The place that was said, in rows and columns from 0; outside the board where the cursor can go there."""
    if grammar.letter:
        count = places(grammar)
        number = int(text[len(grammar.letter) :])
        if number >= count:
            raise Refused(f"{text}: the last one is {grammar.letter}{count - 1}")
        return 0, number
    found = re.fullmatch(r"R(\d+)C(\d+)", text)
    assert found is not None
    row, column = int(found[1]) - 1, int(found[2]) - 1
    rim = _rim(grammar)
    for what, at, size in (("rows", row, grammar.size[0]), ("columns", column, grammar.size[1])):
        if not -rim <= at < size + rim:
            raise Refused(
                f"{text}: the board has {size} {what}" + (", with a rim at 0 and after the last" if rim else "")
            )
    return row, column


def places(grammar: Grammar) -> int:
    """How many numbered places there are."""
    field = grammar.by_name[grammar.place_field]
    return field.high + 1


def _rim(grammar: Grammar) -> int:
    y = grammar.by_name.get("cursor_y")
    return int(y is not None and not grammar.half and y.high - y.low == grammar.size[0] + 1)


def cells(grammar: Grammar) -> Iterator[Cell]:
    """All places that a move can name."""
    if grammar.letter:
        yield from ((0, number) for number in range(places(grammar)))
        return
    rim, (height, width) = _rim(grammar), grammar.size
    yield from itertools.product(range(-rim, height + rim), range(-rim, width + rim))


def go_to(hand: Hand, place: Cell) -> None:
    """Bring the cursor to a place."""
    grammar = hand.grammar
    if grammar.letter:
        hand.go(**{grammar.place_field: place[1]})
        return
    scale, shift = (2, 0) if grammar.half else (1, 1 - grammar.first)
    hand.go(cursor_x=place[1] * scale + shift, cursor_y=place[0] * scale + shift)


def place_of(grammar: Grammar, cursor: Cell) -> Cell | None:
    """The place under a cursor; None between places."""
    if grammar.half:
        return None if cursor[0] % 2 or cursor[1] % 2 else (cursor[0] // 2, cursor[1] // 2)
    return cursor[0] + grammar.first - 1, cursor[1] + grammar.first - 1


def arrow(a: Cell, b: Cell) -> str:
    """The arrow that leads from one place straight to another."""
    for key, (dy, dx) in ARROWS.items():
        far = (b[0] - a[0]) * dy + (b[1] - a[1]) * dx
        if far > 0 and (a[0] + dy * far, a[1] + dx * far) == b:
            return key
    raise Refused("the two places are not in one row or column")
