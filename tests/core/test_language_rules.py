"""Broken rules: each is told when the board breaks it, none when it does not, and none by what is hidden."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import numpy as np
import pytest

import puzzleport as pp
from puzzleport.language import Dialogue
from puzzleport.language.grammar import grammar
from puzzleport.language.rules import MOST_PLACES, RULES, Sight, broken_rules

WITH_RULES = [name for name in pp.puzzles() if any(line.startswith("rule ") for line in pp.spec(name).words)]


@pytest.mark.parametrize("name", pp.puzzles())
def test_a_rule_names_what_there_is(name: str) -> None:
    for preset in pp.spec(name).presets:
        words = grammar(name, pp.canonical_params(name, preset.params))
        for kind, *items in words.rules:
            assert kind in RULES
            for item in items:
                field, _, symbol = item.partition("=")
                if symbol:
                    assert symbol == "." or words.layers[field].read(symbol) is not None
                elif not field.isdigit() and kind != "once":
                    assert field in words.by_name


@pytest.mark.parametrize("level", ["easiest", "human"])
@pytest.mark.parametrize("name", WITH_RULES)
def test_the_way_to_a_solution_breaks_no_rule(name: str, level: str) -> None:
    for seed in range(3):
        with Dialogue(name, getattr(pp.spec(name), f"{level}_params"), seed) as game:
            while not game.done:
                assert not [told for told in game.say(game.hint()).problems if "errors" not in told]
            assert game.solved


BROKEN = {
    "unruly 6x6dt#1": (
        "few",
        r"R\dC\d to R\dC\d are three [BW] in a line",
        r"(row|column) \d has [456] [BW], 3 is half of it",
    ),
    "tents 8x8de#1": (
        "A",
        r"R\dC\d and R\dC\d are both A and touch",
        r"R\dC\d is A with none of the trees beside it",
        r"(row|column) \d has \d A, its number is \d",
    ),
    "lightup 7x7b20s4d0#1": (
        "o",
        r"R\dC\d and R\dC\d are both o and see each other",
        r"R\dC\d has \d o around it, its number is \d",
    ),
    "filling 9x7#1": ("2", r": [3-9] places with 2 hang together"),
    "range 9x6#1": (
        "B",
        r"R\dC\d and R\dC\d are both B and share a side",
        r"R\dC\d sees \d places at most, its number is \d+",
        r"the B cut R\dC\d.* off from the other places",
    ),
    "pattern 5x5#1": ("B", r"(row|column) \d has runs of B of 5, its numbers are [\d ]+"),
    "dominosa 3dt#1": ("edge", r"R\dC\d-R\dC\d and R\dC\d-R\dC\d are the same domino, \d and \d"),
    "map 20x15n30de#1": ("paint", r"G\d+ and G\d+ are neighbours and both have [1-4]"),
    "solo 2x2#1": ("1", r"row \d has two 1s", r"block \d has two 1s"),
}


@pytest.mark.parametrize("which", BROKEN)
def test_a_board_that_breaks_a_rule_is_told_so(which: str) -> None:
    """One symbol is put wherever it goes: whatever the rule, that breaks it somewhere."""
    (name, game_id), (symbol, *wanted) = which.split(), BROKEN[which]
    with Dialogue(name, game_id=game_id, max_steps=0) as game:
        told = set()
        for text in game.legal():
            if symbol in ("few", "edge", "paint") or text.endswith(f"={symbol}"):
                told.update(game.say(text).problems)
                told.update(game.broken_rules())
        for pattern in wanted:
            assert any(re.search(pattern, one) for one in told), (pattern, told)


def test_three_in_a_line_are_named_by_the_first_and_the_last() -> None:
    with Dialogue("unruly", game_id="6x6dt#1") as game:
        free = game.session.observe()["colours"] == 0
        for way, (dy, dx) in {"row": (0, 1), "column": (1, 0)}.items():
            y, x = next(
                (y, x)
                for y, x in np.argwhere(free[: 6 - 2 * dy, : 6 - 2 * dx])
                if all(free[y + i * dy, x + i * dx] for i in range(3))
            )
            places = [f"R{y + i * dy + 1}C{x + i * dx + 1}" for i in range(3)]
            with Dialogue("unruly", game_id="6x6dt#1") as fresh:
                told = fresh.say("; ".join(f"{place}=B" for place in places)).problems
                assert f"{places[0]} to {places[2]} are three B in a line" in told, way


def test_flags_are_counted_by_what_is_open() -> None:
    """Every square around a number is marked: more than it says. Before anything is open no number can complain."""
    with Dialogue("mines", "9x9n10", seed=1) as game:
        assert not game.say("R1C1=F; R1C2=F; R2C1=F").problems
    with Dialogue("mines", "9x9n10", seed=1) as game:
        game.say("R5C5 open")
        marked = ";".join(text for text in game.legal() if text.endswith("=F"))
        assert any(re.search(r"has \d F around it, its number is \d", told) for told in game.say(marked).problems)


def test_a_region_that_cannot_grow_is_told() -> None:
    with Dialogue("filling", "4x4", seed=2) as game:
        for text in game.legal():
            if text.endswith(("=9", "=1")):
                game.say(text)
        assert any("are shut in" in told for told in game.broken_rules())


# ---- each kind of rule, said once more by plain loops, on random boards


def said(y: int, x: int) -> str:
    return f"R{y + 1}C{x + 1}"


def cells(grid: np.ndarray) -> list[tuple[int, int]]:
    return list(itertools.product(range(grid.shape[0]), range(grid.shape[1])))


def beside(grid: np.ndarray, y: int, x: int, corners: bool = False) -> list[tuple[int, int]]:
    near = [(b, a) for b, a in cells(grid) if max(abs(b - y), abs(a - x)) == 1]
    return [(b, a) for b, a in near if corners or abs(b - y) + abs(a - x) == 1]


def lines(grid: np.ndarray) -> dict[str, list]:
    rows = {f"row {y + 1}": grid[y].tolist() for y in range(grid.shape[0])}
    return rows | {f"column {x + 1}": grid[:, x].tolist() for x in range(grid.shape[1])}


def parts(grid: np.ndarray, places: list[tuple[int, int]]) -> list[set[tuple[int, int]]]:
    """Joined one by one, until nothing more joins: places with equal values that share a side."""
    found = [{place} for place in places]
    for a, b in itertools.combinations(places, 2):
        if b in beside(grid, *a) and grid[a] == grid[b]:
            one, other = (next(part for part in found if place in part) for place in (a, b))
            if one is not other:
                found.remove(other)
                one |= other
    return found


def once(seen: dict, more: list[tuple[str, list]] = []) -> list[str]:  # noqa: B006 (nobody changes it)
    told = []
    for where, line in [*lines(seen["digits"]).items(), *more]:
        for number in set(line) - {0}:
            if line.count(number) > 1:
                told.append(f"{where} has {['two', 'three', *range(4, 17)][line.count(number) - 2]} {number}s")
    return told


def once_in_groups(seen: dict) -> list[str]:
    digits, more = seen["digits"], []
    for name in ("block", "cage"):
        grid = seen.get(f"{name}s", np.zeros((0, 0), int))
        more += [
            (f"{name} {k}", [int(digits[at]) for at in cells(grid) if grid[at] == k])
            for k in set(grid.ravel().tolist())
        ]
    if "diagonals" in seen:
        last = len(digits) - 1
        more.append(("the diagonal down", [int(digits[i, i]) for i in range(last + 1)]))
        more.append(("the diagonal up", [int(digits[last - i, i]) for i in range(last + 1)]))
    return once(seen, more)


def few(seen: dict) -> list[str]:
    grid, told = seen["colours"], []
    for y, x in cells(grid):
        for dy, dx in ((0, 1), (1, 0)):
            three = [(y + i * dy, x + i * dx) for i in range(3)]
            if three[2][0] < grid.shape[0] and three[2][1] < grid.shape[1]:
                values = {int(grid[at]) for at in three}
                if len(values) == 1 and values != {0}:
                    told.append(f"{said(*three[0])} to {said(*three[2])} are three {' BW'[values.pop()]} in a line")
    for where, line in lines(grid).items():
        for value, symbol in ((1, "B"), (2, "W")):
            if line.count(value) > len(line) / 2:
                told.append(f"{where} has {line.count(value)} {symbol}, {len(line) // 2} is half of it")
    return told


def apart(grid: np.ndarray, symbol: str, corners: bool) -> list[str]:
    how = "touch" if corners else "share a side"
    pairs = [(a, b) for a, b in itertools.combinations(cells(grid), 2) if grid[a] == grid[b] == 1]
    return [
        f"{said(*a)} and {said(*b)} are both {symbol} and {how}" for a, b in pairs if b in beside(grid, *a, corners)
    ]


def unseen(seen: dict) -> list[str]:
    lamps, told = seen["lamps"], []
    between = (lamps + seen["walls"]) > 0
    for (y, x), (b, a) in itertools.combinations(cells(lamps), 2):
        way = between[y + 1 : b, x] if x == a else between[y, x + 1 : a] if y == b else np.ones(1)
        if lamps[y, x] and lamps[b, a] and not way.any() and not seen["walls"][b, a]:
            told.append(f"{said(y, x)} and {said(b, a)} are both o and see each other")
    return told


def around(grid: np.ndarray, clues: np.ndarray, symbol: str, corners: bool) -> list[str]:
    counts = {(y, x): sum(int(grid[at]) for at in beside(grid, y, x, corners)) for y, x in cells(grid)}
    return [
        f"{said(*at)} has {count} {symbol} around it, its number is {clues[at]}"
        for at, count in counts.items()
        if count > clues[at] >= 0
    ]


def lonely(seen: dict) -> list[str]:
    marks, trees = seen["marks"], seen["trees"]
    alone = [at for at in cells(marks) if marks[at] == 1 and not any(trees[one] for one in beside(marks, *at))]
    return [f"{said(*at)} is A with none of the trees beside it" for at in alone]


def total(seen: dict) -> list[str]:
    clues = [*seen["row_clues"].tolist(), *seen["column_clues"].tolist()]
    return [
        f"{where} has {line.count(1)} A, its number is {clue}"
        for (where, line), clue in zip(lines(seen["marks"]).items(), clues, strict=True)
        if line.count(1) > clue
    ]


def view(seen: dict) -> list[str]:
    black, clues, told = seen["colours"] == 1, seen["clues"], []
    for y, x in cells(black):
        count = 1
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            b, a = y + dy, x + dx
            while 0 <= b < black.shape[0] and 0 <= a < black.shape[1] and not black[b, a]:
                count, b, a = count + 1, b + dy, a + dx
        if 0 < clues[y, x] > count:
            told.append(f"{said(y, x)} sees {count} places at most, its number is {clues[y, x]}")
    return told


def runs(seen: dict) -> list[str]:
    squares, told = seen["squares"], []
    clues = [[clue for clue in line if clue] for line in seen["clues"].tolist()]
    width = squares.shape[1]
    for where, line in lines(squares).items():
        what, number = where.split()
        wanted = clues[int(number) - 1 + (width if what == "row" else 0)]
        found = [len(run) for run in re.findall("B+", "".join(" BW"[value] for value in line))]
        if 0 not in line and found != wanted:
            one, other = (" ".join(map(str, numbers)) or "none" for numbers in (found, wanted))
            told.append(f"{where} has runs of B of {one}, its numbers are {other}")
    return told


def differ(seen: dict) -> list[str]:
    colours, pairs = seen["colours"].tolist(), seen["neighbours"]
    return [
        f"G{a} and G{b} are neighbours and both have {colours[a]}"
        for a, b in itertools.combinations(range(len(colours)), 2)
        if pairs[a, b] and colours[a] == colours[b] != 0
    ]


def pairs(seen: dict) -> list[str]:
    dominoes: dict[tuple[int, ...], list[str]] = {}
    for value, dy, dx in ((2, 1, 0), (4, 0, 1)):  # the upper half, which hangs on the lower, and the left one
        for y, x in cells(seen["dominoes"]):
            if seen["dominoes"][y, x] == value:
                ends = sorted((int(seen["numbers"][y, x]), int(seen["numbers"][y + dy, x + dx])))
                dominoes.setdefault(tuple(ends), []).append(f"{said(y, x)}-{said(y + dy, x + dx)}")
    alike = {ends: where for ends, where in dominoes.items() if len(where) > 1}
    return [f"{' and '.join(where)} are the same domino, {a} and {b}" for (a, b), where in alike.items()]


RANDOM = [
    ("once", "keen", "5de", once),
    ("once", "solo", "2x2x", once_in_groups),
    ("once", "solo", "2x2k", once_in_groups),
    ("few", "unruly", "6x8dt", few),
    ("apart", "range", "5x4", lambda seen: apart(seen["colours"], "B", corners=False)),
    ("apart", "tents", "5x4de", lambda seen: apart(seen["marks"], "A", corners=True)),
    ("unseen", "lightup", "5x4b20s2d0", unseen),
    ("around", "lightup", "5x4b20s2d0", lambda seen: around(seen["lamps"], seen["clues"], "o", corners=False)),
    ("around", "mines", "5x4n3", lambda seen: around(seen["flags"], seen["numbers"], "F", corners=True)),
    ("beside", "tents", "5x4de", lonely),
    ("total", "tents", "5x4de", total),
    ("view", "range", "5x4", view),
    ("runs", "pattern", "5x4", runs),
    ("differ", "map", "6x5n8de", differ),
    ("pairs", "dominosa", "3dt", pairs),
]


def random_board(puzzle: str, params: str, seed: int) -> dict[str, np.ndarray]:
    """Values as they come: some boards are sparse, some are full."""
    random = np.random.default_rng(seed)
    seen = {}
    for field in pp.spec(puzzle).fields(params):
        values = random.integers(field.low, min(field.high, 8) + 1, field.shape)
        seen[field.name] = values * (random.random(field.shape) < random.random()) if field.low == 0 else values
    if puzzle == "lightup":
        seen["lamps"] *= 1 - seen["walls"]  # a wall holds no lamp
    if puzzle == "map":
        seen["neighbours"] |= seen["neighbours"].T  # to be a neighbour is mutual, and never of oneself
        np.fill_diagonal(seen["neighbours"], 0)
    if puzzle == "pattern":  # so that some lines have no empty place
        seen["squares"] = np.where(
            random.random(seen["squares"].shape) < 0.9, random.integers(1, 3, seen["squares"].shape), 0
        )
        for number, line in enumerate([*seen["squares"].T, *seen["squares"]]):  # and half of them are right
            right = [len(run) for run in re.findall("B+", "".join(" BW"[value] for value in line))]
            if random.random() < 0.5:
                seen["clues"][number] = [*right, 0, 0, 0][:3]
    if puzzle == "dominosa":  # a half looks at the other one
        seen["dominoes"][-1][seen["dominoes"][-1] == 2] = 0
        seen["dominoes"][:, -1][seen["dominoes"][:, -1] == 4] = 0
    return seen


@pytest.mark.parametrize(("kind", "name", "params", "model"), RANDOM)
def test_a_rule_tells_exactly_what_breaks_it(kind: str, name: str, params: str, model: Callable) -> None:
    words, told, silent = grammar(name, pp.canonical_params(name, params)), set(), 0
    rule = next(items for which, *items in words.rules if which == kind)
    for seed in range(60):
        seen = random_board(name, words.params, seed)
        found = list(RULES[kind](Sight(words, seen), *rule))
        assert sorted(found) == sorted(model(seen)), seen
        told |= set(found)
        silent += not found
    assert len(told) > 10
    assert silent


def places_in(text: str) -> tuple[set[tuple[int, int]], int]:
    """The places that a sentence names, and how many there are with those that it only counts."""
    named = {(int(y) - 1, int(x) - 1) for y, x in re.findall(r"R(\d+)C(\d+)", text)}
    more = re.search(r" and (\d+) more", text)
    return named, len(named) + (int(more[1]) if more else 0)


def test_all_but_the_largest_part_are_cut_off() -> None:
    words, sizes = grammar("range", "5x4"), set()
    for seed in range(100):
        seen = random_board("range", words.params, seed)
        free = np.where(seen["colours"] == 1, 1, 0)
        every = sorted(parts(free, [at for at in cells(free) if not free[at]]), key=len)
        told = list(RULES["joined"](Sight(words, seen), "colours=B"))
        assert len(told) == max(len(every) - 1, 0)
        for text in told:
            named, count = places_in(text)
            part = next(part for part in every if named <= part)
            assert (len(named), count) == (min(len(part), MOST_PLACES), len(part))
            every.remove(part)
            sizes.add(len(part))
        assert len(every) <= 1
        assert not every or len(every[0]) >= max((places_in(text)[1] for text in told), default=0)
    assert max(sizes) > MOST_PLACES


def test_a_region_is_as_many_places_as_its_number_says() -> None:
    words, met = grammar("filling", "5x4"), set()
    for seed in range(100):
        digits = random_board("filling", words.params, seed)["digits"] % (2 + seed % 4)
        expected = {}
        for part in parts(digits, [at for at in cells(digits) if digits[at]]):
            value = int(digits[min(part)])
            rim = {int(digits[one]) for at in part for one in beside(digits, *at)}
            if len(part) > value:
                expected[min(part)] = part, f"{len(part)} places with {value} hang together"
            elif len(part) < value and 0 not in rim:
                expected[min(part)] = part, f"{len(part)} places with {value} are shut in"
        told = list(RULES["regions"](Sight(words, {"digits": digits}), "digits"))
        assert len(told) == len(expected)
        for text in told:
            named, count = places_in(text)
            part, what = expected.pop(min(named))
            assert text.endswith(f": {what}")
            assert named <= part
            assert (len(named), count) == (min(len(part), MOST_PLACES), len(part))
            met.add(what.split()[-1])
    assert met == {"together", "in"}


def test_what_the_engine_marks_is_told_by_its_first_places_and_how_many_more_there_are() -> None:
    words, random = grammar("singles", pp.canonical_params("singles", "5x4de")), np.random.default_rng(0)
    about = words.by_name["errors"].about.removeprefix("1 where ")
    with pp.Session("singles", "5x4de", seed=1) as session:
        seen = session.observe()
    assert broken_rules(words, seen) == []
    for count in (1, MOST_PLACES - 1, MOST_PLACES, MOST_PLACES + 1, 20):
        marked = sorted(random.permutation(20)[:count].tolist())
        seen["errors"] = np.isin(np.arange(20), marked).reshape(4, 5).astype(np.int8)
        named = ", ".join(said(*divmod(at, 5)) for at in marked[:MOST_PLACES])
        more = f" and {count - MOST_PLACES} more" if count > MOST_PLACES else ""
        assert broken_rules(words, seen) == [f"errors at {named}{more}: {about}"]
