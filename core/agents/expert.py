"""Experts: who plays every puzzle with its own keys.

Where all is open to see, an expert follows ``Session.plan()``. In Mines, Guess and Black Box it may not, for the plan
would know what the player cannot: there it decides by the observation alone, each time anew.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from ..errors import NoPlan
from ..puzzle_spec import spec
from ..session import Observation, Session, Status

Array = np.ndarray[Any, Any]


class Hint(NamedTuple):
    """What to do next, and why."""

    action: int
    purpose: str


class Aim(NamedTuple):
    """A key to press where the cursor has to go first."""

    x: int
    y: int
    key: str
    purpose: str


class ExpertPolicy:
    """A policy that solves one puzzle: called with a session, it gives the next action.

    It may be asked at any moment of any game, after actions of others too. Where something is hidden it sees only what
    ``Session.observe()`` shows; everywhere else it plans, and keeps to its plan while the game does.

    Raises NoPlan where it knows no way on.
    """

    def __init__(self, puzzle: str) -> None:
        self.puzzle = spec(puzzle).name
        self._plan: list[int] = []
        self._expected: Session | None = None

    def __call__(self, session: Session) -> int:
        """The next action."""
        if session.puzzle != self.puzzle:
            raise ValueError(f"an expert for {self.puzzle} was asked about {session.puzzle}")
        if session.puzzle in _BY_SIGHT:
            return _by_sight(session).action
        if self._expected is None or not self._plan or self._expected.hash() != session.hash():
            self._plan = session.plan()[::-1]
            self._expected = session.clone()
        if not self._plan:
            raise NoPlan(f"{self.puzzle}: the game is solved")
        action = self._plan.pop()
        self._expected.step(action)
        return action


def hint(session: Session) -> Hint:
    """The next action of an expert, and what it is for: the change of the board that it leads to."""
    if session.puzzle in _BY_SIGHT:
        return _by_sight(session)
    plan = session.plan()
    if not plan:
        raise NoPlan(f"{session.puzzle}: the game is solved")
    copy, before = session.clone(), session.observe()
    for action in plan:
        if copy.step(action).moves != session.moves:
            break
    after = copy.observe(copy=False)
    changes = [
        f"{field.name}{list(map(int, at)) if len(at) else ''} becomes {int(after[field.name][tuple(at)])}"
        for field in session.fields
        if not field.is_ui
        for at in np.argwhere(np.asarray(after[field.name] != before[field.name]))
    ]
    more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
    return Hint(plan[0], f"{session.actions[action]} will do it: {', '.join(changes[:3])}{more}")


# ---- by sight


def _by_sight(session: Session) -> Hint:
    """One decision from what the player sees: the observation, the legal actions, the parameters."""
    seen, legal = session.observe(copy=False), session.mask(copy=False)
    if session.status != Status.ONGOING:
        raise NoPlan(f"{session.puzzle}: the game is over")
    if session.undo_allowed and legal.sum() == 1 and legal[session.action_number("UNDO")]:
        return Hint(session.action_number("UNDO"), "nothing else is left")
    aim = _BY_SIGHT[session.puzzle](seen, session.params)
    dx, dy = aim.x - int(seen["cursor_x"]), aim.y - int(seen["cursor_y"])
    ways = ["RIGHT" if dx > 0 else "LEFT"] * (dx != 0) + ["DOWN" if dy > 0 else "UP"] * (dy != 0) or [aim.key]
    for way in ways:
        action = session.action_number(way)
        if legal[action]:
            return Hint(action, aim.purpose)
    raise NoPlan(f"{session.puzzle}: the cursor cannot get to {aim.x}, {aim.y}")


def _nearest(seen: Observation, places: Iterator[tuple[int, int]] | list[tuple[int, int]]) -> tuple[int, int]:
    """Of some places (x, y) the one with the fewest keys to go."""
    x, y = int(seen["cursor_x"]), int(seen["cursor_y"])
    return min(places, key=lambda place: (abs(place[0] - x) + abs(place[1] - y), place))


# ---- Mines: what the numbers prove, and the odds where they prove nothing

Cell = tuple[int, int]
MOST_LAYOUTS = 200_000


def _mines(seen: Observation, params: str) -> Aim:
    if not seen["laid"]:
        x, y = int(seen["cursor_x"]), int(seen["cursor_y"])
        if seen["flags"][y, x]:
            return Aim(x, y, "SELECT2", "no flag belongs here yet")
        return Aim(x, y, "SELECT", "the first square is never a mine")
    odds = mine_odds(seen["numbers"], int(seen["mines"]))
    least = min(odds.values())
    x, y = _nearest(seen, [(x, y) for (y, x), odd in odds.items() if odd == least])
    if seen["flags"][y, x]:
        return Aim(x, y, "SELECT2", "the flag is wrong")
    return Aim(x, y, "SELECT", "it is no mine" if least == 0 else f"a guess: a mine with a probability of {least:.2f}")


def mine_odds(numbers: Array, mines: int) -> dict[Cell, float]:
    """For covered squares (row, column) the probability of a mine; just the safe ones when simple rules find any."""
    height, width = numbers.shape
    covered = [(int(y), int(x)) for y, x in np.argwhere(numbers < 0)]
    rules: set[tuple[frozenset[Cell], int]] = set()
    for y, x in np.argwhere(numbers >= 0):
        around = itertools.product(range(max(y - 1, 0), min(y + 2, height)), range(max(x - 1, 0), min(x + 2, width)))
        rules.add((frozenset((int(b), int(a)) for b, a in around if numbers[b, a] < 0), int(numbers[y, x])))
    rules.add((frozenset(covered), mines))
    safe, sure = _deduce(rules)
    if safe:
        return dict.fromkeys(safe, 0.0)
    return _weigh(rules, [cell for cell in covered if cell not in sure], sure, mines)


def _deduce(rules: set[tuple[frozenset[Cell], int]]) -> tuple[set[Cell], set[Cell]]:
    """Squares that are safe, and mines, by each rule alone and by pairs of which one holds the other."""
    safe: set[Cell] = set()
    sure: set[Cell] = set()
    while True:
        rules = {(cells - safe - sure, count - len(cells & sure)) for cells, count in rules}
        rules = {rule for rule in rules if rule[0]}
        fresh_safe = {cell for cells, count in rules if count == 0 for cell in cells}
        fresh_sure = {cell for cells, count in rules if count == len(cells) for cell in cells}
        if not fresh_safe and not fresh_sure:
            derived = {
                (big - small, many - few)
                for small, few in rules
                for big, many in rules
                if small < big and len(big) <= 16 and (big - small, many - few) not in rules
            }
            if not derived or len(rules) > 400:
                return safe, sure
            rules |= derived
        safe |= fresh_safe
        sure |= fresh_sure


def _weigh(
    rules: set[tuple[frozenset[Cell], int]], unknown: list[Cell], sure: set[Cell], mines: int
) -> dict[Cell, float]:
    """The odds of each unknown square, all layouts that fit the numbers being equally likely."""
    local = [(cells - sure, count - len(cells & sure)) for cells, count in rules if len(cells) <= 8]
    local = [rule for rule in local if rule[0]]
    frontier = set().union(*(cells for cells, _ in local)) if local else set()
    left, rest = mines - len(sure), len(unknown) - len(frontier)
    # Per group of squares that rules tie together: for each number of mines, layouts, and in how many each is a mine.
    total: dict[int, float] = {0: 1.0}
    groups = []
    for group in _groups(local):
        tally = _layouts_of(group, local)
        groups.append((group, tally))
        total = _convolve(total, {count: float(ways) for count, (ways, _) in tally.items()})
    whole = sum(ways * _choose(rest, left - count) for count, ways in total.items())
    if whole == 0:
        return dict.fromkeys(unknown, left / max(len(unknown), 1))
    odds: dict[Cell, float] = {}
    for number, (group, tally) in enumerate(groups):
        others: dict[int, float] = {0: 1.0}
        for other, (_, theirs) in enumerate(groups):
            if other != number:
                others = _convolve(others, {count: float(ways) for count, (ways, _) in theirs.items()})
        for at, cell in enumerate(group):
            odds[cell] = (
                sum(
                    hits[at] * ways * _choose(rest, left - count - more)
                    for count, (_, hits) in tally.items()
                    for more, ways in others.items()
                )
                / whole
            )
    if rest:
        some = sum(ways * _choose(rest, left - count) * (left - count) for count, ways in total.items()) / whole / rest
        odds.update((cell, some) for cell in unknown if cell not in frontier)
    return odds


def _choose(n: int, k: int) -> int:
    return comb(n, k) if 0 <= k <= n else 0


def _convolve(a: dict[int, float], b: dict[int, float]) -> dict[int, float]:
    result: dict[int, float] = {}
    for (i, x), (j, y) in itertools.product(a.items(), b.items()):
        result[i + j] = result.get(i + j, 0.0) + x * y
    return result


def _groups(rules: list[tuple[frozenset[Cell], int]]) -> list[list[Cell]]:
    """The squares of the rules, in groups that share no rule; neighbours in a rule stand near each other."""
    by_cell: dict[Cell, list[frozenset[Cell]]] = {}
    for cells, _ in rules:
        for cell in cells:
            by_cell.setdefault(cell, []).append(cells)
    groups, known = [], set()
    for first in sorted(by_cell):
        if first in known:
            continue
        group = [first]
        known.add(first)
        for cell in group:
            for other in sorted(set().union(*by_cell[cell]) - known):
                known.add(other)
                group.append(other)
        groups.append(group)
    return groups


def _layouts_of(group: list[Cell], rules: list[tuple[frozenset[Cell], int]]) -> dict[int, tuple[int, list[int]]]:
    """All layouts of a group: {number of mines: (layouts, for each square those in which it is a mine)}."""
    place = {cell: at for at, cell in enumerate(group)}
    mine = [rule for rule in rules if next(iter(rule[0])) in place]
    of_cell: list[list[int]] = [[] for _ in group]
    for number, (cells, _) in enumerate(mine):
        for cell in cells:
            of_cell[place[cell]].append(number)
    need, open_ = [count for _, count in mine], [len(cells) for cells, _ in mine]
    tally: dict[int, tuple[int, list[int]]] = {}
    chosen: list[int] = []
    found = 0

    def place_from(at: int) -> None:
        nonlocal found
        if at == len(group):
            found += 1
            if found > MOST_LAYOUTS:
                raise NoPlan("mines: too many layouts fit the numbers")
            ways, hits = tally.get(len(chosen), (0, [0] * len(group)))
            for one in chosen:
                hits[one] += 1
            tally[len(chosen)] = ways + 1, hits
            return
        for is_mine in (0, 1):
            for number in of_cell[at]:
                need[number] -= is_mine
                open_[number] -= 1
            if is_mine:
                chosen.append(at)
            if all(0 <= need[number] <= open_[number] for number in of_cell[at]):
                place_from(at + 1)
            if is_mine:
                chosen.pop()
            for number in of_cell[at]:
                need[number] += is_mine
                open_[number] += 1

    place_from(0)
    return tally


# ---- Guess: the row that tells most

MOST_CODES = 4096


def _guess(seen: Observation, params: str) -> Aim:
    made = int(seen["made"])
    history = tuple(
        (tuple(map(int, seen["guesses"][i])), int(seen["placed"][i]), int(seen["misplaced"][i])) for i in range(made)
    )
    wanted, left = best_guess(params, history)
    for peg in sorted(range(len(wanted)), key=lambda peg: abs(peg - int(seen["cursor_x"]))):
        if seen["row"][peg] != wanted[peg]:
            return Aim(
                peg, wanted[peg] - 1, "SELECT", f"to guess {' '.join(map(str, wanted))}, {left} rows are possible"
            )
    return Aim(len(wanted), int(seen["cursor_y"]), "SELECT", "the guess is laid")


@lru_cache(maxsize=8)
def _codes(params: str) -> tuple[dict[tuple[int, ...], int], Array]:
    """The number of every row that may be hidden, and how each, as the hidden one, answers each: a square of answers."""
    colours, pegs = (int(re.search(f"{letter}([0-9]+)", params)[1]) for letter in "cp")  # type: ignore[index]
    if colours**pegs > MOST_CODES:
        raise NoPlan(f"guess: {colours**pegs} rows are too many to weigh")
    rows = [
        row for row in itertools.product(range(1, colours + 1), repeat=pegs) if "m" in params or len(set(row)) == pegs
    ]
    codes = np.array(rows, np.int8)
    placed = sum((codes[:, None, peg] == codes[None, :, peg]).astype(np.int16) for peg in range(pegs))
    counts = [(codes == colour).sum(1, dtype=np.int16) for colour in range(1, colours + 1)]
    shared = sum(np.minimum(count[:, None], count[None, :]) for count in counts)
    return {row: number for number, row in enumerate(rows)}, _answer(placed, shared - placed, pegs)


def _answer(placed: Any, misplaced: Any, pegs: int) -> Any:  # noqa: ANN401 (numbers or arrays of them)
    return placed * (pegs + 1) + misplaced


@lru_cache(maxsize=1024)
def best_guess(params: str, history: tuple[tuple[tuple[int, ...], int, int], ...]) -> tuple[tuple[int, ...], int]:
    """The guess whose answer is worth most, and how many rows fit the answers so far."""
    codes, answers = _codes(params)
    rows = list(codes)
    fits = np.ones(len(rows), bool)
    for row, placed, misplaced in history:
        if row in codes:
            fits &= answers[codes[row]] == _answer(placed, misplaced, len(row))
    left = int(fits.sum())
    if not left:
        raise NoPlan("guess: no row fits the answers")
    if left <= 2:
        return rows[int(fits.argmax())], left
    kinds = (len(rows[0]) + 1) ** 2
    told = answers[:, fits] + kinds * np.arange(len(rows))[:, None]
    ways = np.bincount(told.ravel(), minlength=kinds * len(rows)).reshape(len(rows), kinds)
    worth = -(ways * np.log2(np.maximum(ways, 1))).sum(1)
    # A row that may be right itself is preferred to one that only tells as much.
    return rows[int((worth + 1e-6 * fits).argmax())], left


# ---- Black Box: the shot that tells most, until the balls are known or no shot can tell

MOST_BOXES = 20_000
HIT, REFLECTED = -1, -2


def _blackbox(seen: Observation, params: str) -> Aim:
    height, width = seen["balls"].shape
    least, most = (int(re.search(f"{letter}([0-9]+)", params)[1]) for letter in "mM")  # type: ignore[index]
    boxes, outcomes = _boxes(width, height, least, most)
    fits = np.ones(len(boxes), bool)
    shots, numbers = seen["shots"], seen["numbers"]
    for laser in np.flatnonzero(shots):
        if shots[laser] == 3:
            ends = np.flatnonzero((numbers == numbers[laser]) & (shots == 3))
            outcome = int(ends[ends != laser][0])
        else:
            outcome = HIT if shots[laser] == 1 else REFLECTED
        fits &= outcomes[:, laser] == outcome
    left = int(fits.sum())
    if not left:
        raise NoPlan("blackbox: no box fits the shots")
    worth = {int(laser): _bits(outcomes[fits, laser]) for laser in np.flatnonzero(shots == 0)} if left > 1 else {}
    best = max(worth.values(), default=0.0)
    if best > 0:
        ends_ = [edge_square(laser, width, height) for laser, bits in worth.items() if bits > best - 1e-9]
        x, y = _nearest(seen, ends_)
        return Aim(x, y, "SELECT", f"the shot that tells most, {left} boxes are possible")
    box = boxes[int(fits.argmax())]
    wrong = [(int(x) + 1, int(y) + 1) for y, x in np.argwhere(box != seen["balls"])]
    if not wrong:
        return Aim(0, 0, "SELECT", "the balls are known")
    return Aim(*_nearest(seen, wrong), "SELECT", "mark what is known")


def _bits(outcomes: Array) -> float:
    _, ways = np.unique(outcomes, return_counts=True)
    shares = ways / ways.sum()
    return -float((shares * np.log2(shares)).sum()) if len(ways) > 1 else 0.0


def edge_square(laser: int, width: int, height: int) -> tuple[int, int]:
    """Where a laser stands, clockwise from the top left."""
    for count, place in (
        (width, lambda i: (i + 1, 0)),
        (height, lambda i: (width + 1, i + 1)),
        (width, lambda i: (width - i, height + 1)),
        (height, lambda i: (0, height - i)),
    ):
        if laser < count:
            return place(laser)
        laser -= count
    raise IndexError(laser)


@lru_cache(maxsize=8)
def _boxes(width: int, height: int, least: int, most: int) -> tuple[Array, Array]:
    """All ways to hide the balls, and for each what every laser would tell."""
    if sum(comb(width * height, balls) for balls in range(least, most + 1)) > MOST_BOXES:
        raise NoPlan("blackbox: there are too many boxes to weigh")
    cells = [(x, y) for y in range(1, height + 1) for x in range(1, width + 1)]
    lasers = {edge_square(laser, width, height): laser for laser in range(2 * (width + height))}
    boxes, outcomes = [], []
    for balls in range(least, most + 1):
        for chosen in itertools.combinations(cells, balls):
            ball_set = set(chosen)
            boxes.append([[(x, y) in ball_set for x in range(1, width + 1)] for y in range(1, height + 1)])
            outcomes.append([_shoot(ball_set, lasers, start, width, height) for start in lasers])
    return np.array(boxes, np.int8), np.array(outcomes, np.int16)


def _shoot(
    balls: set[tuple[int, int]], lasers: dict[tuple[int, int], int], start: tuple[int, int], width: int, height: int
) -> int:
    """Where a shot comes out, or HIT or REFLECTED."""
    x, y = start
    dx, dy = (0, 1) if y == 0 else (0, -1) if y > height else (1, 0) if x == 0 else (-1, 0)
    # Left of (dx, dy) is (dy, -dx) where y grows downwards.
    if (x + dx, y + dy) in balls:
        return HIT
    if (x + dx + dy, y + dy - dx) in balls or (x + dx - dy, y + dy + dx) in balls:
        return REFLECTED
    x, y = x + dx, y + dy
    while (x, y) not in lasers:
        if (x + dx, y + dy) in balls:
            return HIT
        if (x + dx + dy, y + dy - dx) in balls:
            dx, dy = -dy, dx
        elif (x + dx - dy, y + dy + dx) in balls:
            dx, dy = dy, -dx
        else:
            x, y = x + dx, y + dy
    return REFLECTED if (x, y) == start else lasers[x, y]


_BY_SIGHT: dict[str, Callable[[Observation, str], Aim]] = {"mines": _mines, "guess": _guess, "blackbox": _blackbox}
