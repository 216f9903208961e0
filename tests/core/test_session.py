from __future__ import annotations

import copy
import gc
import re

import numpy as np
import pytest

import puzzleport as pp

from ..conftest import PUZZLES, levels, play, same


def test_observations_stay_in_their_bounds(puzzle):
    """10,000 random steps at each level; the fields are as declared all the way."""
    for params in levels(puzzle):
        batch = pp.Batch(puzzle, params, num_envs=20, threads=1, max_steps=300)
        batch.reset(seed=7)
        random = np.random.default_rng(7)
        changes = 0
        for _ in range(500):
            step = batch.step(random.integers(len(batch.actions), size=20))
            changes += int(step.changed.sum())
            for field in batch.fields:
                values = step.observation[field.name]
                assert values.shape == (20, *field.shape)
                assert values.dtype == field.dtype
                assert values.min(initial=field.low) >= field.low, field.name
                assert values.max(initial=field.high) <= field.high, field.name
        assert changes > 500


def test_the_mask_is_exact(puzzle):
    """Against brute force: a copy takes each action, and its observation differs just where the mask says so."""
    for params in levels(puzzle):
        session = pp.Session(puzzle, params, seed=11, undo=True)
        for round_ in range(12):
            before, mask = session.observe(), session.mask()
            for action in range(len(session.actions)):
                copy = session.clone()
                step = copy.step(action)
                assert step.changed == (not same(before, copy.observe())), session.actions[action]
                assert step.changed == mask[action], session.actions[action]
                if not step.changed:
                    assert copy.hash() == session.hash()
                    assert np.array_equal(copy.mask(), mask)
                    assert copy.text() == session.text()
            assert same(before, session.observe())
            play(session, 15, seed=round_)


def test_masks_forbid_something(puzzle):
    if puzzle in {"net", "singles"}:
        pytest.skip("its cursor wraps around and its keys always do something: every action is legal nearly always")
    session = pp.Session(puzzle, seed=5, undo=True)
    legal = np.zeros(len(session.actions), int)
    for _ in range(60):
        legal += session.mask()
        play(session, 10, seed=legal.sum())
    assert legal.max() > 0
    assert legal.min() < 60


def test_clones_are_independent_and_alike(puzzle):
    for params in levels(puzzle):
        session = pp.Session(puzzle, params, seed=21, undo=True)
        play(session, 40, seed=1)
        twin = session.clone()
        before = session.observe()
        play(twin, 60, seed=2)
        assert same(session.observe(), before)
        twin = session.clone()
        for session_ in (session, twin):
            play(session_, 60, seed=3)
        assert same(session.observe(), twin.observe())
        assert session.text() == twin.text()
        assert (session.moves, session.steps, session.repeats) == (twin.moves, twin.steps, twin.repeats)
        session.close()
        play(twin, 20, seed=4)


def test_undo_takes_back_moves_one_by_one(puzzle):
    session = pp.Session(puzzle, seed=31, undo=True)
    # An undo leaves the cursor, and in Mines the mines stay laid.
    kept = {field.name for field in session.fields if field.is_ui or field.name == "laid"}

    def board():
        return {name: values for name, values in session.observe().items() if name not in kept}

    boards = [board()]
    random = np.random.default_rng(0)
    for _ in range(400):
        moves = session.moves
        action = int(random.choice(np.flatnonzero(session.mask())))
        if session.actions[action] == "UNDO":
            continue
        session.step(action)
        if session.moves > moves:
            boards.append(board())
        if len(boards) > 20 or session.status != pp.Status.ONGOING:
            break
    assert len(boards) > 1
    for expected in reversed(boards[:-1]):
        session.undo()
        assert same(board(), expected)
    session.undo()
    assert same(board(), boards[0])


def test_the_undo_action_leaves_no_stale_state():
    session = pp.Session("samegame", "5x5c3s2", seed=1, undo=True)
    start = session.observe()
    random = np.random.default_rng(0)
    while not session.moves:
        session.step(int(random.choice(np.flatnonzero(session.mask()))))
    assert not np.array_equal(session.observe()["tiles"], start["tiles"])
    mask = session.mask()
    assert session.step("UNDO").changed
    assert np.array_equal(session.observe()["tiles"], start["tiles"])
    assert not np.array_equal(session.mask(), mask)
    assert not session.mask()[session.actions.index("UNDO")]


def test_hash_tells_states_and_instances_apart(puzzle):
    params = pp.spec(puzzle).easiest_params
    session = pp.Session(puzzle, params, seed=41, undo=True)
    first = session.hash()
    assert pp.Session(puzzle, params, seed=41, undo=True).hash() == first
    assert len({pp.Session(puzzle, params, seed=seed, undo=True).hash() for seed in range(20)}) > 1
    action = int(np.flatnonzero(session.mask())[0])
    session.step(action)
    assert session.hash() != first


def test_the_text_of_a_killer_board_names_its_cages_and_their_sums():
    session = pp.Session("solo", "2x3kdb", seed=1)
    cages, sums = session.observe()["cages"], session.observe()["cage_sums"]
    lines = session.text().splitlines()
    rows = [line.split() for line in lines if len(line.split()) == 6 and "|" not in line]
    named = dict(zip(np.ravel(rows).tolist(), cages.ravel().tolist(), strict=True))
    assert [[named[letter] for letter in row] for row in rows] == cages.tolist()
    told = dict(line.split(": ") for line in lines if ": " in line)
    assert told == {letter: str(sums[cages == cage].max()) for letter, cage in named.items()}


def test_the_text_of_a_grid_without_rows_tells_every_edge():
    """Loopy on triangles: a line for each edge, and one for each face with a clue."""
    session = pp.Session("loopy", "5x5t1de", seed=1)
    for action in ("SELECT", "RIGHT", "SELECT2"):
        session.step(action)
    seen, words = session.observe(), {"undecided": 0, "line": 1, "none": 2}
    lines = session.text().splitlines()
    told = [line.split(": ")[1].removesuffix(" (wrong)") for line in lines if line.startswith("edge ")]
    clues = {int(line.split()[1][:-1]): int(line.split()[2]) for line in lines if line.startswith("face ")}
    assert [words[word] for word in told] == seen["lines"].tolist()
    assert len(set(told)) == 3
    assert clues == {at: clue for at, clue in enumerate(seen["clues"].tolist()) if clue >= 0}


def test_text_shows_a_board_that_changes_with_the_game(puzzle):
    for params in levels(puzzle):
        session = pp.Session(puzzle, params, seed=51, undo=True)
        texts = {session.text()}
        for round_ in range(10):
            play(session, 10, seed=round_)
            texts.add(session.text())
        assert len(texts) > 3
        assert all(text.isprintable() or "\n" in text for text in texts)


def test_solve_and_solution(puzzle):
    about = pp.spec(puzzle)
    for params in levels(puzzle):
        session = pp.Session(puzzle, params, seed=61, undo=True)
        before = session.observe()
        if not about.can_solve:
            with pytest.raises(pp.NoSolution):
                session.solution()
            continue
        if puzzle == "mines":
            session.step("SELECT")  # before the first click there are no mines to solve for
            before = session.observe()
        solution = session.solution()
        assert same(session.observe(), before)
        assert not same(solution, before)
        assert session.solve().status == pp.Status.SOLVED
        ui = {field.name for field in session.fields if field.is_ui}
        shown = session.observe()
        assert all(np.array_equal(shown[name], solution[name]) for name in shown if name not in ui)


@pytest.mark.parametrize(
    ("puzzle", "game_id", "why"),
    [
        ("dominosa", "2:000011112222", "the engine's solver cannot decide between several solutions"),
        ("filling", "2x2:a1b", "Sorry, I couldn't find a solution"),
        ("flip", "2x2:0000,8", "no presses turn all squares to their light side"),
        ("flood", "3x3:000000000,9", "a board of one colour has no move that could complete it"),
        ("loopy", "3x3t0:333333333", "This description has no solution, or the engine's solver cannot find it"),
        ("net", "2x2:1111", "No solution exists for this puzzle"),
        ("pearl", "5x5:y", "The solver finds no unique solution"),
        ("pearl", "5x5:BBw", "Unable to find solution"),
        ("range", "3x3:2_2_2_2_2_2_2_2_2", "This puzzle has no unique solution"),
        ("rect", "3x2:f", "The numbers do not add up to the area of the board"),
        ("rect", "3x2:5_1d", "The solver finds no unique solution"),
        ("tents", "4x4:bedb,0,0,0,0,0,0,0,0", "This puzzle is not self-consistent"),
        ("undead", "3x3:5,0,0,bLbLaRL,2,3,0,0,0,0,0,0,2,0,2,2", "Puzzle is inconsistent"),
    ],
)
def test_a_description_without_one_solution_is_told_and_stays_as_it_is(puzzle, game_id, why):
    """Boards that no generator makes, but anybody can write down."""
    session = pp.Session(puzzle, game_id=game_id)
    before = session.save()
    for ask in (session.solution, session.solve):
        with pytest.raises(pp.NoSolution, match=re.escape(why)):
            ask()
        assert session.save() == before


def test_solving_twice_is_undone_once(puzzle):
    if not pp.spec(puzzle).can_solve:
        pytest.skip("it has no solver")
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=61)
    if puzzle == "mines":
        session.step("SELECT")
    before = session.status
    assert session.solve().changed or before == pp.Status.SOLVED
    assert not session.solve().changed
    if before == pp.Status.ONGOING:
        assert session.undo()
        assert session.status == pp.Status.ONGOING


def test_a_second_state_is_a_repeat():
    session = pp.Session("fifteen", "4x4", seed=1)
    actions = [session.actions[action] for action in np.flatnonzero(session.mask())]
    opposite = {"UP": "DOWN", "DOWN": "UP", "LEFT": "RIGHT", "RIGHT": "LEFT"}
    assert session.repeats == 0
    assert session.step(actions[0]).repeats == 0
    assert session.step(opposite[actions[0]]).repeats == 1
    assert session.step(actions[0]).repeats == 1
    assert session.step(opposite[actions[0]]).repeats == 2


def test_limits_truncate():
    session = pp.Session("fifteen", "4x4", seed=1, max_steps=3)
    while not session.truncated:
        session.step(0)
    assert session.steps == 3
    assert not session.terminated
    session = pp.Session("fifteen", "4x4", seed=1, max_repeats=5)
    while not session.truncated:
        session.step(0)
    assert session.repeats == 5


def test_all_kinds_live_in_one_process_and_take_turns():
    sessions = [pp.Session(name, pp.spec(name).easiest_params, seed=seed) for seed in range(3) for name in PUZZLES]
    alone = []
    for session in sessions:
        twin = session.clone()
        play(twin, 30, seed=9)
        alone.append(twin.hash())
    random = [np.random.default_rng(9) for _ in sessions]
    for _ in range(30):
        for session, numbers in zip(sessions, random, strict=True):
            session.step(int(numbers.choice(np.arange(len(session.actions)))))
            if session.status != pp.Status.ONGOING:
                session.reset(seed=int(numbers.integers(2**32)))
    assert [session.hash() for session in sessions] == alone


def test_closing_twice_is_fine_and_use_after_it_is_said():
    session = pp.Session("net", seed=1)
    session.close()
    session.close()
    assert session.closed
    for use in (session.observe, session.mask, session.text, session.hash, session.clone, session.save, session.undo):
        with pytest.raises(pp.SessionClosed):
            use()
    with pytest.raises(pp.SessionClosed):
        session.step(0)
    assert "closed" in repr(session)


@pytest.mark.parametrize("action", [5, -1, 10**30, "JUMP", 1.5, None, True, b"UP", [0]])
def test_wrong_actions_are_refused_and_the_game_goes_on(action):
    session = pp.Session("bridges", "7x7", seed=1)
    before = session.hash()
    with pytest.raises(pp.InvalidAction):
        session.step(action)
    assert session.hash() == before
    assert session.step("right").changed


def test_numpy_numbers_are_actions():
    session = pp.Session("bridges", "7x7", seed=1)
    twin = session.clone()
    assert session.step(np.int64(3)) == twin.step(3)


def test_live_views_follow_and_copies_do_not():
    session = pp.Session("fifteen", "4x4", seed=1)
    live, kept = session.observe(copy=False)["tiles"], session.observe()["tiles"]
    mask = session.mask(copy=False)
    session.step(int(np.flatnonzero(session.mask())[0]))
    assert not np.array_equal(live, kept)
    assert np.array_equal(mask, session.mask())


def test_the_text_of_a_board_of_triangles_says_what_is_observed():
    """Loopy's grids that are not of squares are a list of edges; Cube's other solids stand on triangles."""
    session = pp.Session("loopy", "3x3t1de", seed=1)
    edges, faces = session.observe()["edge_ends"], session.observe()["edge_faces"]
    text, seen = session.text().splitlines(), session.observe()
    for at, ((x, y), (to_x, to_y)) in enumerate(edges.tolist()):
        a, b = faces[at].tolist()
        assert f"edge {at} from {x},{y} to {to_x},{to_y}, faces {a} and {b}: undecided" in text
    (x, y), (to_x, to_y) = edges[seen["cursor_edge"]].tolist()
    assert f"cursor on the edge from {x},{y} to {to_x},{to_y}" in text
    for params in ("t3x3", "o2x3"):
        session = pp.Session("cube", params, seed=1)
        for step in range(4):
            seen, text = session.observe(), session.text().splitlines()
            rows = [line.replace("[", " ").replace("]", " ")[1::3] for line in text[: len(seen["blue"])]]
            told = [[-1 if sign == " " else int(sign in "AV") for sign in row] for row in rows]
            assert told == seen["blue"].tolist()
            row, column = seen["position"]
            assert text[row][3 * column] == "["
            for face, blue in enumerate(seen["faces"].tolist()):
                ending = ": blue" if blue else ": plain"
                (line,) = [line for line in text if line.split(":")[0].split(" (")[0] == f"face {face}"]
                assert line.endswith(ending)
            session.step(int(np.flatnonzero(session.mask())[step % session.mask().sum()]))


def test_native_memory_goes_with_the_last_reference():
    from puzzleport._native import lib

    gc.collect()
    before = lib.pz_live_pools()
    sessions = [pp.Session("loopy", seed=seed) for seed in range(5)]
    assert lib.pz_live_pools() == before + 5
    del sessions
    gc.collect()
    assert lib.pz_live_pools() == before


@pytest.mark.parametrize("name", ["status", "moves", "steps", "repeats", "ended"])
def test_a_closed_session_tells_nothing(name):
    session = pp.Session("net", "2x2", seed=1)
    session.step(0)
    assert int(getattr(session, name)) >= 0
    session.close()
    with pytest.raises(pp.SessionClosed):
        getattr(session, name)


def test_a_shallow_copy_is_a_game_of_its_own():
    session = pp.Session("net", "2x2", seed=1)
    twin = copy.copy(session)
    assert twin.hash() == session.hash()
    twin.step(int(np.flatnonzero(twin.mask())[0]))
    assert twin.hash() != session.hash()
    assert session.steps == 0
