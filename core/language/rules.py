"""Which rules a board breaks now, as far as a player can see it: what the engine marks, and what the puzzle's lines declare.

A line ``rule KIND ...`` of a puzzle's ``words`` names a rule and the fields that it looks at. ``FIELD=SYMBOL`` stands for
the places where the field shows that symbol, and a number for how places touch: 4 along a side, 8 at a corner too.

    once FIELD GROUPS ...        no value stands twice in a row, in a column, or in a group that another field tells
    few FIELD                    no value stands three times in a line, nor on more than half of a row or column
    apart FIELD=SYMBOL TOUCH     no two of them touch
    unseen FIELD=SYMBOL WALLS    none is in sight of another along its row or column, up to the next wall
    total FIELD=SYMBOL ROWS COLUMNS     no row or column has more of them than its number
    around CLUES FIELD=SYMBOL TOUCH     no clue has more of them around it than its number
    beside FIELD=SYMBOL OTHERS   each of them has one of the others beside it
    view CLUES FIELD=SYMBOL      they leave each clue enough places in view, its own included
    joined FIELD=SYMBOL          they do not cut the other places into parts
    regions FIELD                equal values that hang together are as many as the value says
    runs CLUES FIELD=SYMBOL FIELD=EMPTY   a row or column without an empty place has the runs that its clues say
    differ FIELD PAIRS           two places that the pairs join have different values
    pairs NUMBERS FIELD          no two dominoes are alike

A rule tells what is wrong already, whatever is filled in later, and it looks at fields of the observation alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..session import Observation
from .grammar import Grammar
from .hand import ARROWS, Cell, place_name

Array = np.ndarray[Any, Any]
Rule = Callable[..., Iterator[str]]

MOST_PLACES = 6
"""How many places are named where the engine marks many."""
_COUNTS = {2: "two", 3: "three"}
_SIDES = tuple(ARROWS.values())
_AROUND: tuple[Cell, ...] = tuple((dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)


class Sight:
    """One board, as the rules look at it."""

    def __init__(self, grammar: Grammar, seen: Observation) -> None:
        self.grammar, self.seen = grammar, seen

    def where(self, item: str) -> tuple[Array, str]:
        """The places where a field shows a symbol, and the symbol."""
        name, _, symbol = item.partition("=")
        return self.seen[name] == self.grammar.layers[name].read("" if symbol == "." else symbol), symbol

    def name(self, place: Any) -> str:  # noqa: ANN401 (a pair of numbers)
        """How a place is said."""
        return place_name(self.grammar, (int(place[0]), int(place[1])))

    def names(self, places: Any, join: str = " and ") -> str:  # noqa: ANN401
        """How places are said, the first few of them."""
        told = join.join(self.name(place) for place in places[:MOST_PLACES])
        return told + (f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else "")


def broken_rules(grammar: Grammar, seen: Observation) -> list[str]:
    """What is wrong with a board: what the puzzle's rules find, then what the engine marks."""
    sight = Sight(grammar, seen)
    told = [text for kind, *items in grammar.rules for text in RULES[kind](sight, *items)]
    for field in grammar.fields:
        if "errors" in field.name.split("_") and seen[field.name].any():
            where = np.argwhere(seen[field.name])
            places = ", ".join(_index_name(grammar, field.shape, at.tolist()) for at in where[:MOST_PLACES])
            more = f" and {len(where) - MOST_PLACES} more" if len(where) > MOST_PLACES else ""
            told.append(f"{field.name} at {places}{more}: {field.about.removeprefix('1 where ')}")
    return told


def _index_name(grammar: Grammar, shape: tuple[int, ...], at: list[int]) -> str:
    if shape[:2] == grammar.size and not grammar.letter:
        return place_name(grammar, (at[0], at[1]))
    return f"{grammar.letter}{at[0]}" if grammar.letter else " ".join(str(index + 1) for index in at)


def _lines(values: Array) -> Iterator[tuple[str, Array]]:
    yield from ((f"row {y + 1}", row) for y, row in enumerate(values))
    yield from ((f"column {x + 1}", column) for x, column in enumerate(values.T))


def _inside(shape: tuple[int, ...], place: Cell, steps: tuple[Cell, ...]) -> list[Cell]:
    """The places around one."""
    around = ((place[0] + dy, place[1] + dx) for dy, dx in steps)
    return [(y, x) for y, x in around if 0 <= y < shape[0] and 0 <= x < shape[1]]


def _parts(same: Callable[[Cell, Cell], bool], places: list[Cell], shape: tuple[int, ...]) -> Iterator[list[Cell]]:
    """The parts into which places fall, where neighbours that are alike hang together."""
    left = dict.fromkeys(places)
    while left:
        part = [next(iter(left))]
        del left[part[0]]
        for place in part:
            for other in _inside(shape, place, _SIDES):
                if other in left and same(place, other):
                    part.append(other)
                    del left[other]
        yield part


def _once(sight: Sight, name: str, *groups: str) -> Iterator[str]:
    values = sight.seen[name]
    lines = list(_lines(values))
    for group_name in groups:
        grouped = sight.seen.get(group_name)
        if grouped is None:
            continue  # these parameters do without it
        if group_name == "diagonals":
            lines += [("the diagonal down", values.diagonal()), ("the diagonal up", values[::-1].diagonal())]
        else:
            kind = group_name.removesuffix("s")
            lines += [(f"{kind} {group}", values[grouped == group]) for group in np.unique(grouped).tolist()]
    for where, line in lines:
        counts = np.bincount(line)
        for number in (counts[1:] > 1).nonzero()[0] + 1:
            yield f"{where} has {_COUNTS.get(int(counts[number]), str(counts[number]))} {number}s"


def _few(sight: Sight, name: str) -> Iterator[str]:
    values, symbols = sight.seen[name], sight.grammar.layers[name].texts
    for turned in (False, True):
        lines = values.T if turned else values
        three = (lines[:, 2:] == lines[:, 1:-1]) & (lines[:, 1:-1] == lines[:, :-2]) & (lines[:, 2:] != 0)
        for line, at in zip(*three.nonzero(), strict=True):
            first, last = ((at, line), (at + 2, line)) if turned else ((line, at), (line, at + 2))
            yield f"{sight.name(first)} to {sight.name(last)} are three {symbols[lines[line, at]]} in a line"
    for value in (1, 2):
        for where, line in _lines(values == value):
            if 2 * int(line.sum()) > len(line):
                yield f"{where} has {int(line.sum())} {symbols[value]}, {len(line) // 2} is half of it"


def _apart(sight: Sight, item: str, touch: str) -> Iterator[str]:
    there, symbol = sight.where(item)
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1))[: int(touch) // 2]:
        height, width = there.shape
        first = there[: height - dy, max(0, -dx) : width - max(0, dx)]
        second = there[dy:, max(0, dx) : width - max(0, -dx)]
        for y, x in np.argwhere(first & second):
            place = (y, x + max(0, -dx))
            how = "touch" if touch == "8" else "share a side"
            yield f"{sight.name(place)} and {sight.name((y + dy, place[1] + dx))} are both {symbol} and {how}"


def _unseen(sight: Sight, item: str, walls_name: str) -> Iterator[str]:
    there, symbol = sight.where(item)
    walls = sight.seen[walls_name]
    for y, x in np.argwhere(there):
        for dy, dx in ((0, 1), (1, 0)):
            at = (int(y) + dy, int(x) + dx)
            while at[0] < there.shape[0] and at[1] < there.shape[1] and not walls[at]:
                if there[at]:
                    yield f"{sight.name((y, x))} and {sight.name(at)} are both {symbol} and see each other"
                    break
                at = (at[0] + dy, at[1] + dx)


def _total(sight: Sight, item: str, rows: str, columns: str) -> Iterator[str]:
    there, symbol = sight.where(item)
    for what, counts, clues in (("row", there.sum(1), sight.seen[rows]), ("column", there.sum(0), sight.seen[columns])):
        for at in (counts > clues).nonzero()[0]:
            yield f"{what} {at + 1} has {counts[at]} {symbol}, its number is {clues[at]}"


def _around(sight: Sight, clues_name: str, item: str, touch: str) -> Iterator[str]:
    (there, symbol), clues = sight.where(item), sight.seen[clues_name]
    steps = _AROUND if touch == "8" else _SIDES
    for y, x in np.argwhere(clues >= 0).tolist():
        count = sum(bool(there[at]) for at in _inside(there.shape, (y, x), steps))
        if count > clues[y, x]:
            yield f"{sight.name((y, x))} has {count} {symbol} around it, its number is {clues[y, x]}"


def _beside(sight: Sight, item: str, others: str) -> Iterator[str]:
    there, symbol = sight.where(item)
    for y, x in np.argwhere(there).tolist():
        if not any(sight.seen[others][at] for at in _inside(there.shape, (y, x), _SIDES)):
            yield f"{sight.name((y, x))} is {symbol} with none of the {others} beside it"


def _view(sight: Sight, clues_name: str, item: str) -> Iterator[str]:
    (there, _), clues = sight.where(item), sight.seen[clues_name]
    for y, x in np.argwhere(clues > 0).tolist():
        count = 1
        for line in (there[y, x + 1 :], there[y, :x][::-1], there[y + 1 :, x], there[:y, x][::-1]):
            count += int(line.argmax()) if line.any() else len(line)
        if count < clues[y, x]:
            yield f"{sight.name((y, x))} sees {count} places at most, its number is {clues[y, x]}"


def _joined(sight: Sight, item: str) -> Iterator[str]:
    there, symbol = sight.where(item)
    free = [(y, x) for y, x in np.argwhere(~there).tolist()]
    parts = sorted(_parts(lambda a, b: True, free, there.shape), key=len)
    for part in parts[:-1]:
        yield f"the {symbol} cut {sight.names(part, ', ')} off from the other places"


def _regions(sight: Sight, name: str) -> Iterator[str]:
    values = sight.seen[name]
    rows = values.tolist()
    filled = [(y, x) for y, x in np.argwhere(values).tolist()]
    for part in _parts(lambda a, b: rows[a[0]][a[1]] == rows[b[0]][b[1]], filled, values.shape):
        value = rows[part[0][0]][part[0][1]]
        shut_in = len(part) < value and all(
            rows[y][x] for place in part for y, x in _inside(values.shape, place, _SIDES)
        )
        if len(part) > value:
            yield f"{sight.names(part, ', ')}: {len(part)} places with {value} hang together"
        elif shut_in:
            yield f"{sight.names(part, ', ')}: {len(part)} places with {value} are shut in"


def _runs(sight: Sight, clues_name: str, item: str, empty: str) -> Iterator[str]:
    (there, symbol), (nothing, _), clues = sight.where(item), sight.where(empty), sight.seen[clues_name]
    height, width = there.shape
    lines = [*((f"column {x + 1}", x, nothing[:, x], there[:, x]) for x in range(width))]
    lines += [(f"row {y + 1}", width + y, nothing[y], there[y]) for y in range(height)]
    for where, number, free, line in lines:
        if free.any():
            continue
        runs = [len(list(run)) for black, run in itertools.groupby(line.tolist()) if black]
        wanted = [clue for clue in clues[number].tolist() if clue]
        if runs != wanted:
            told = " ".join(map(str, runs)) or "none"
            yield f"{where} has runs of {symbol} of {told}, its numbers are {' '.join(map(str, wanted)) or 'none'}"


def _differ(sight: Sight, name: str, pairs: str) -> Iterator[str]:
    values = sight.seen[name]
    same = (values[:, None] == values[None, :]) & (values != 0)[:, None] & (sight.seen[pairs] != 0)
    for a, b in np.argwhere(np.triu(same)).tolist():
        yield f"{sight.name((0, a))} and {sight.name((0, b))} are neighbours and both have {values[a]}"


def _pairs(sight: Sight, numbers: str, name: str) -> Iterator[str]:
    halves, values = sight.seen[name], sight.seen[numbers]
    places: dict[tuple[int, int], list[str]] = {}
    for (dy, dx), value in ((ARROWS["DOWN"], 2), (ARROWS["RIGHT"], 4)):
        for y, x in np.argwhere(halves == value).tolist():
            a, b = sorted((int(values[y, x]), int(values[y + dy, x + dx])))
            places.setdefault((a, b), []).append(f"{sight.name((y, x))}-{sight.name((y + dy, x + dx))}")
    for (a, b), where in places.items():
        if len(where) > 1:
            yield f"{' and '.join(where)} are the same domino, {a} and {b}"


RULES: dict[str, Rule] = {
    "once": _once,
    "few": _few,
    "apart": _apart,
    "unseen": _unseen,
    "total": _total,
    "around": _around,
    "beside": _beside,
    "view": _view,
    "joined": _joined,
    "regions": _regions,
    "runs": _runs,
    "differ": _differ,
    "pairs": _pairs,
}
