"""The experts by sight, asked directly through pz_session_next_key: they need nothing of Python's."""

from __future__ import annotations

import gc
import itertools
import re

import numpy as np
import pytest

import puzzleport as pp
from puzzleport._native import ffi, lib

from ..conftest import PUZZLES, play

HIDDEN = [puzzle for puzzle in PUZZLES if pp.spec(puzzle).hidden]
OPEN = [puzzle for puzzle in PUZZLES if not pp.spec(puzzle).hidden]


def next_key(session: pp.Session, timeout: float = 60) -> tuple[int, str]:
    """The expert's next action and its purpose."""
    action, purpose = ffi.new("int32_t *"), ffi.new("char **")
    error = lib.pz_session_next_key(session._handle, timeout, action, purpose)
    if error:
        raise LookupError(error, ffi.string(lib.pz_last_error()).decode())
    text = ffi.string(purpose[0]).decode()
    lib.pz_free(purpose[0])
    return action[0], text


def finish(session: pp.Session) -> None:
    """Play to the end; every key must be legal, and there must be an end."""
    bound = session.steps + pp.optimal_steps(session.puzzle, session.params)
    while session.status == pp.Status.ONGOING:
        action, purpose = next_key(session)
        assert purpose
        assert session.mask()[action]
        session.step(action)
        assert session.steps < bound


@pytest.mark.parametrize("puzzle", HIDDEN)
def test_hidden_puzzles_are_played_to_the_end(puzzle):
    """Without UNDO, at both of the paper's levels. Boards that need no guess are always won."""
    about = pp.spec(puzzle)
    for params in (about.easiest_params, about.human_params):
        for seed in range(15):
            session = pp.Session(puzzle, params, seed, undo=False)
            before = session.hash()
            next_key(session)
            assert session.hash() == before
            finish(session)
            assert session.status == pp.Status.SOLVED, (params, seed)


@pytest.mark.parametrize("puzzle", HIDDEN)
def test_after_any_actions(puzzle):
    """Wrong flags, marks and rows stand on the board, and the cursor is anywhere."""
    solved = 0
    for seed in range(20):
        session = pp.Session(puzzle, pp.spec(puzzle).human_params, seed, undo=False)
        play(session, 30, seed=seed, legal=True)
        if session.status == pp.Status.ONGOING:
            finish(session)
            solved += session.status == pp.Status.SOLVED
    assert solved >= 10


@pytest.mark.parametrize("puzzle", HIDDEN)
def test_players_take_turns(puzzle):
    """Each player gets a key for the own cursor, and together they solve the board."""
    session = pp.Session(puzzle, pp.spec(puzzle).human_params, 3, undo=False, players=2)
    for turn in range(4000):
        session.turn(turn // 40 % 2)
        action, _ = next_key(session)
        assert session.mask()[action]
        session.step(action)
        if session.status != pp.Status.ONGOING:
            break
    assert session.status == pp.Status.SOLVED


def looks(session: pp.Session) -> bytes:
    return b"".join(view.tobytes() for view in session.observe().values())


@pytest.mark.parametrize("puzzle", HIDDEN)
def test_nothing_but_sight_decides(puzzle):
    """Games that differ only in what is hidden get the same key as long as they look the same."""
    answers: dict[bytes, tuple[int, str]] = {}
    alike = 0
    for seed in range(60):
        session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed, undo=False)
        while session.status == pp.Status.ONGOING:
            answer = next_key(session)
            alike += looks(session) in answers
            assert answers.setdefault(looks(session), answer) == answer
            session.step(answer[0])
    assert alike > 300


def mine_odds(seen: pp.Observation, mines: int) -> np.ndarray:
    """How probable a mine is below each covered square, by counting all layouts; 2 where a square is open."""
    numbers = np.asarray(seen["numbers"])
    h, w = numbers.shape
    covered = [tuple(at) for at in np.argwhere(numbers < 0)]
    hits, layouts = np.zeros((h, w)), 0
    for chosen in itertools.combinations(covered, mines):
        laid = np.zeros((h + 2, w + 2), int)
        for y, x in chosen:
            laid[y + 1, x + 1] = 1
        near = sum(laid[a : a + h, b : b + w] for a in range(3) for b in range(3))
        if (near == numbers)[numbers >= 0].all():
            layouts += 1
            hits += laid[1:-1, 1:-1]
    return np.where(numbers < 0, hits / layouts, 2)


def test_in_mines_each_death_that_was_taken_back_leads_to_the_next_best_guess():
    """A safe square comes first all the same; else the squares in the order of their odds."""
    random, guesses, safe = np.random.default_rng(7), 0, 0
    for seed in range(16):
        session = pp.Session("mines", "4x4n4a", seed, undo=True)
        session.step("SELECT")
        for deaths in range(1, 4):
            if session.status != pp.Status.ONGOING:
                break
            mines = np.argwhere((session.solution()["numbers"] < 0) & (session.observe()["numbers"] < 0))
            walk(session, *random.choice(mines)[::-1])
            session.step("SELECT")
            session.step("UNDO")
            odds = mine_odds(session.observe(), 4)
            best = sorted(chance for chance in odds.ravel().tolist() if chance < 1)
            copy = session.clone()
            action, _ = next_key(copy)
            while copy.actions[action] != "SELECT":
                copy.step(action)
                action, _ = next_key(copy)
            at = int(copy.observe()["cursor_y"]) * 4 + int(copy.observe()["cursor_x"])
            assert odds.flat[at] == pytest.approx(best[deaths % len(best)] if best[0] else 0)
            guesses, safe = guesses + (best[0] > 0), safe + (best[0] == 0)
    assert min(guesses, safe) > 5


@pytest.mark.parametrize(("params", "mines"), [("4x4n4a", 4), ("5x3n4a", 4)])
def test_mines_odds_are_exact(params, mines):
    """The least probability, and where it is, against counting all layouts of a small board."""
    random = np.random.default_rng(4)
    guesses = 0
    for seed in range(150):
        session = pp.Session("mines", params, seed)
        session.step("SELECT")
        for _ in range(random.integers(0, 3)):  # open some safe squares that an expert might not
            hidden = session.solution()["numbers"] if session.status == pp.Status.ONGOING else None
            if hidden is None:
                break
            safe = np.argwhere((hidden >= 0) & (session.observe()["numbers"] < 0))
            if len(safe) > 1:
                walk(session, *random.choice(safe)[::-1])
                session.step("SELECT")
        if session.status != pp.Status.ONGOING:
            continue
        odds = mine_odds(session.observe(), mines)
        copy = session.clone()
        action, purpose = next_key(copy)
        while copy.actions[action] != "SELECT":
            copy.step(action)
            action, purpose = next_key(copy)
        at = copy.observe()
        assert odds[at["cursor_y"], at["cursor_x"]] == pytest.approx(odds.min())
        told = re.search(r"probability of ([\d.]+)", purpose)
        assert float(told[1] if told else 0) == pytest.approx(odds.min(), abs=0.006)
        guesses += bool(told)
    assert guesses > 5


def test_guess_asks_what_leaves_the_fewest_bits():
    """Of all rows, weighed in plain Python: the answer tells most, and a row that may be right is preferred."""
    rows = np.array(list(itertools.product(range(1, 7), repeat=5)), np.int8)
    counts = (rows[:, :, None] == np.arange(1, 7)).sum(1, dtype=np.int8)
    number = {tuple(row): at for at, row in enumerate(rows.tolist())}

    def answers(of: np.ndarray, to: np.ndarray) -> np.ndarray:
        placed = sum((rows[of, None, peg] == rows[None, to, peg]).astype(np.int32) for peg in range(5))
        common = sum(np.minimum(counts[of, None, colour], counts[None, to, colour]) for colour in range(6))
        return placed * 6 + common

    decisions = 0
    everything = np.arange(len(rows))
    for seed in range(2):
        session, fitting = pp.Session("guess", "c6p5g10Bm", seed, undo=False), everything
        while session.status == pp.Status.ONGOING:
            made = int(session.observe()["made"])
            while session.status == pp.Status.ONGOING and session.observe()["made"] == made:
                session.step(next_key(session)[0])
            seen = session.observe()
            guess = number[tuple(seen["guesses"][made].tolist())]
            if 2 < len(fitting) < 2000:  # more take too long here
                told = answers(everything, fitting)
                alike = np.bincount((everything[:, None] * 36 + told).ravel(), minlength=36 * len(rows)).reshape(-1, 36)
                bits = (alike * np.log2(np.maximum(alike, 1))).sum(-1) + 1e-6 * ~np.isin(everything, fitting)
                assert bits[guess] == pytest.approx(bits.min(), abs=1e-7)
                decisions += 1
            assert len(fitting) > 2 or guess in fitting
            placed, misplaced = int(seen["placed"][made]), int(seen["misplaced"][made])
            fitting = fitting[answers(np.array([guess]), fitting)[0] == placed * 6 + placed + misplaced]
        assert session.status == pp.Status.SOLVED
    assert decisions >= 4


def black_box(w: int, h: int, balls: set[complex], start: complex, ahead: complex) -> complex | None:
    """Where a shot comes out that starts outside; None where it hits a ball. Across is the real part, down the imaginary one."""
    at, inside = start, False
    while True:
        if at + ahead in balls:
            return None
        beside = [side for side in (ahead * 1j, ahead / 1j) if at + ahead + side in balls]
        if beside and not inside:
            return start
        if beside:
            ahead = -ahead if len(beside) == 2 else -beside[0]
            continue
        at += ahead
        inside = 1 <= at.real <= w and 1 <= at.imag <= h
        if not inside:
            return at


@pytest.mark.parametrize(("w", "h", "least", "most"), [(4, 3, 2, 3), (2, 4, 1, 4)])
def test_black_box_fires_the_nearest_shot_that_tells_most(w, h, least, most):
    """Every key, against all boxes in plain Python: their number, what each shot would tell, and the way to the nearest."""
    lasers = [(complex(x, 0), 1j) for x in range(1, w + 1)] + [(complex(w + 1, y), -1 + 0j) for y in range(1, h + 1)]
    lasers += [(complex(x, h + 1), -1j) for x in range(w, 0, -1)] + [(complex(0, y), 1 + 0j) for y in range(h, 0, -1)]
    number = {place: laser for laser, (place, _) in enumerate(lasers)} | {None: -1}
    squares = [complex(x, y) for y in range(1, h + 1) for x in range(1, w + 1)]
    boxes = [set(balls) for n in range(least, most + 1) for balls in itertools.combinations(squares, n)]
    answers = np.array([[number[black_box(w, h, balls, *laser)] for laser in lasers] for balls in boxes])
    ways = {"RIGHT": 1, "LEFT": -1, "DOWN": 1j, "UP": -1j}
    fired = 0
    for seed in range(12):
        session = pp.Session("blackbox", f"w{w}h{h}m{least}M{most}", seed, undo=False)
        balls = np.asarray(session.solution()["balls"]).ravel()
        truth = answers[boxes.index({square for square, ball in zip(squares, balls, strict=True) if ball})]
        while True:
            seen = session.observe()
            known = np.flatnonzero(seen["shots"])
            # 1 a hit, 2 reflected, 3 out by another laser, which has the same number then
            kinds = [1 if truth[one] < 0 else 2 if truth[one] == one else 3 for one in known]
            assert np.asarray(seen["shots"])[known].tolist() == kinds
            fitting = answers[(answers[:, known] == truth[known]).all(axis=1)]
            told = []
            for laser in range(len(lasers)):
                share = np.unique(fitting[:, laser], return_counts=True)[1] / len(fitting)
                told.append(-float(share @ np.log2(share)))
            action, purpose = next_key(session)
            if max(told) < 1e-9:
                assert purpose in ("mark what is known", "the balls are known")
                break
            assert purpose == f"the shot that tells most, {len(fitting)} boxes are possible"
            at = complex(int(seen["cursor_x"]), int(seen["cursor_y"]))
            best = [place for (place, _), bits in zip(lasers, told, strict=True) if bits > max(told) - 1e-7]
            to = min(best, key=lambda one: (abs((one - at).real) + abs((one - at).imag), one.real, one.imag)) - at
            towards = [
                name
                for name, way in ways.items()
                if (to / way).real > 0 and session.mask()[session.actions.index(name)]
            ]
            assert session.actions[action] == (towards[0] if to else "SELECT")  # across before down
            fired += not to
            session.step(action)
    assert fired > 24


def test_black_box_marks_the_box_that_takes_the_fewest_keys():
    """Of all that no shot tells apart: as many keys as the shortest way over their wrong marks to the corner has."""
    w, h = 4, 3
    lasers = [(complex(x, 0), 1j) for x in range(1, w + 1)] + [(complex(w + 1, y), -1 + 0j) for y in range(1, h + 1)]
    lasers += [(complex(x, h + 1), -1j) for x in range(w, 0, -1)] + [(complex(0, y), 1 + 0j) for y in range(h, 0, -1)]
    squares = [complex(x, y) for y in range(1, h + 1) for x in range(1, w + 1)]
    boxes = [set(balls) for balls in itertools.combinations(squares, 7)]
    answers = [[black_box(w, h, balls, *laser) for laser in lasers] for balls in boxes]

    def keys(at: complex, wrong: set[complex]) -> int:
        ways = ([at, *order, 0j] for order in itertools.permutations(wrong))
        return len(wrong) + int(
            min(sum(abs(a.real - b.real) + abs(a.imag - b.imag) for a, b in itertools.pairwise(way)) for way in ways)
        )

    asked = 0
    for seed in range(6):
        session = pp.Session("blackbox", f"w{w}h{h}m7M7", seed, undo=False)
        balls = np.asarray(session.solution()["balls"]).ravel()
        truth = answers[boxes.index({square for square, ball in zip(squares, balls, strict=True) if ball})]
        action, purpose = next_key(session)
        while purpose.startswith("the shot that tells most, "):
            session.step(action)
            action, purpose = next_key(session)
        alike = [box for box, told in zip(boxes, answers, strict=True) if told == truth]
        for box in alike if len(alike) > 1 else []:
            for ball in box:  # all are marked but this one and the next
                marked, missing = session.clone(), {ball, min(box - {ball}, key=lambda one: abs(one - ball))}
                for other in box - missing:
                    walk(marked, int(other.real), int(other.imag))
                    marked.step("SELECT")
                walk(marked, w, h)
                fewest = min(keys(complex(w, h), other ^ (box - missing)) for other in alike)
                used = -1  # the last one opens the box
                while marked.status == pp.Status.ONGOING:
                    marked.step(next_key(marked)[0])
                    used += 1
                assert (marked.status, used) == (pp.Status.SOLVED, fewest)
                asked += 1
    assert asked >= 10


class Sketch(dict):
    """Which squares hide a ball, as far as that is decided; asked about another one it says which."""

    def __contains__(self, place: object) -> bool:
        return self[place]


def sketches(w: int, h: int, sketch: Sketch, laser: tuple[complex, complex]) -> list[tuple[complex | None, Sketch]]:
    """Where a shot may come out, each time with what was decided on its way."""
    try:
        return [(black_box(w, h, sketch, *laser), sketch)]
    except KeyError as open_square:
        (at,) = open_square.args
        return [found for ball in (True, False) for found in sketches(w, h, Sketch(sketch | {at: ball}), laser)]


@pytest.mark.parametrize(("w", "h"), [(4, 4), (5, 4)])
def test_black_box_expects_as_many_balls_as_there_are_ways_to_hide_them(w, h):
    """Where any number is hidden but none and all, in too many boxes to list, a square has a ball as likely as not."""
    lasers = [(complex(x, 0), 1j) for x in range(1, w + 1)] + [(complex(w + 1, y), -1 + 0j) for y in range(1, h + 1)]
    lasers += [(complex(x, h + 1), -1j) for x in range(w, 0, -1)] + [(complex(0, y), 1 + 0j) for y in range(h, 0, -1)]
    inside = [complex(x, y) for y in range(1, h + 1) for x in range(1, w + 1)]
    rim = Sketch({complex(x, y): False for x in range(w + 2) for y in range(h + 2) if complex(x, y) not in inside})
    for seed in range(4):
        session = pp.Session("blackbox", f"w{w}h{h}m1M{w * h - 1}", seed, undo=False)
        balls = np.asarray(session.solution()["balls"]).ravel()
        box = {square for square, ball in zip(inside, balls, strict=True) if ball}
        fitting = [rim]
        for _ in range(2):
            told = []
            for laser in lasers:
                chances: dict[complex | None, float] = {}
                for sketch in fitting:
                    for out, further in sketches(w, h, sketch, laser):
                        chances[out] = chances.get(out, 0) + 0.5 ** len(further)
                share = np.array(list(chances.values())) / sum(chances.values())
                told.append(-float(share @ np.log2(share)))
            action, purpose = next_key(session)
            while session.actions[action] != "SELECT":
                session.step(action)
                action, purpose = next_key(session)
            assert purpose.startswith("the shot that tells most, ")
            at = session.observe()
            fired = [place for place, _ in lasers].index(complex(int(at["cursor_x"]), int(at["cursor_y"])))
            assert told[fired] > 0.9 * max(told)
            session.step(action)
            answer = black_box(w, h, box, *lasers[fired])
            fitting = [one for sketch in fitting for out, one in sketches(w, h, sketch, lasers[fired]) if out == answer]


def walk(session: pp.Session, x: int, y: int) -> None:
    for name, other, axis, to in (("RIGHT", "LEFT", "cursor_x", x), ("DOWN", "UP", "cursor_y", y)):
        while (at := int(session.observe()[axis])) != to:
            session.step(name if at < to else other)


@pytest.mark.parametrize(
    ("puzzle", "params"),
    [("mines", "16x16n40"), ("guess", "c8p5g12Bm"), ("guess", "c10p4g10BM"), ("blackbox", "w8h8m5M5")],
)
def test_larger_than_what_can_be_listed(puzzle, params):
    """Neither 40 million boxes nor a frontier around half of a large board make an expert give up."""
    session = pp.Session(puzzle, params, 1, undo=False)
    finish(session)
    assert session.status == pp.Status.SOLVED


def test_boxes_too_many_to_follow_are_drawn_at_random():
    """Up to 30 balls among 256 squares: after a few shots the expert knows only that there are more boxes than it drew."""
    session = pp.Session("blackbox", "w16h16m20M30", 1, undo=False)
    said = set()
    while not any("more than" in purpose for purpose in said):
        action, purpose = next_key(session)
        said.add(purpose)
        assert session.step(action).changed
        assert np.count_nonzero(session.observe()["shots"]) < 8
    assert len(said) > 1
    assert purpose == "the shot that tells most, more than 1024 boxes are possible"


@pytest.mark.parametrize("puzzle", OPEN)
def test_open_puzzles_follow_the_plan(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, 5)
    action, purpose = next_key(session)
    assert action == session.plan()[0]
    assert re.match(r"\S+ will do it: \w+(\[[\d, ]+\])? becomes -?\d+", purpose)


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_the_next_key_is_the_hint_and_leaves_no_game_behind(puzzle):
    """The browser's hints are made here, Python's of its own plan: both say the same of every state."""
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, 5, undo=False)
    gc.collect()
    before = lib.pz_live_pools()
    while session.status == pp.Status.ONGOING and session.steps < 12:
        told = next_key(session)
        assert told == tuple(session.hint())
        session.step(told[0])
    if session.status != pp.Status.ONGOING:
        with pytest.raises(LookupError):
            next_key(session)
    gc.collect()
    assert lib.pz_live_pools() == before


def test_a_game_that_is_over_has_no_next_key():
    session = pp.Session("net", "3x3", 1)
    session.solve()
    with pytest.raises(LookupError, match="solved"):
        next_key(session)
    session = pp.Session("mines", "4x4n2", 1)
    session.step("SELECT")
    session.solve()
    with pytest.raises(LookupError, match="over"):
        next_key(session)


def test_a_deadline_holds():
    """Which of 10 ** 60 rows fit four guesses is not found by looking: the expert says so, and does not hang."""
    session = pp.Session("guess", "c10p60g20Bm", 1)
    random = np.random.default_rng(1)
    while session.observe()["made"] < 4:
        session.step(int(random.choice(np.flatnonzero(session.mask()))))
    with pytest.raises(LookupError, match="in time"):
        next_key(session, timeout=0.2)
