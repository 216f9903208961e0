"""The rules of a session and a batch, each against a short model in plain Python, over random play of all puzzles."""

from __future__ import annotations

import copy
import pickle
from collections import Counter

import numpy as np
import pytest

import puzzleport as pp
from puzzleport._native import lib
from puzzleport.agents import search
from puzzleport.benchmark.evaluation_sets import EvalSet
from puzzleport.game_id import episode_seed

HISTORY = 256
"""How many moves can be taken back."""
COPIES = {
    "itself": lambda session: session,
    "clone": lambda session: session.clone(),
    "save": lambda session: pp.Session.load(session.save()),
    "pickle": lambda session: pickle.loads(pickle.dumps(session)),
    "deepcopy": copy.deepcopy,
}


def start(puzzle: str, seed: int = 1, level: str = "easiest", **options) -> pp.Session:
    return pp.Session(puzzle, getattr(pp.spec(puzzle), f"{level}_params"), seed, **options)


# ---- repeats: a Counter


@pytest.mark.parametrize("undo", [False, True])
def test_repeats_are_a_count_of_observations(puzzle, undo):
    """Long enough for the table of repeats to grow several times; a copy goes on counting."""
    session, random = start(puzzle, undo=undo, max_steps=0), np.random.default_rng(0)
    seen = Counter([session.record().tobytes()])
    for step in range(700):
        if session.terminated:
            session.reset(seed=step)
            seen = Counter([session.record().tobytes()])
        session.step(int(random.integers(len(session.actions))))
        assert session.repeats == seen[session.record().tobytes()]
        seen[session.record().tobytes()] += 1
        if step % 150 == 149:
            session = list(COPIES.values())[step // 150 % len(COPIES)](session)
    assert puzzle not in {"net", "sixteen", "untangle"} or len(seen) > 5  # it was not always the same state


def test_repeats_survive_a_table_of_thousands():
    session, random = pp.Session("net", "5x5", 1, max_steps=0), np.random.default_rng(0)
    seen = Counter([session.record().tobytes()])
    for _ in range(6000):
        session.step(int(random.integers(5)))
        assert session.repeats == seen[session.record().tobytes()]
        seen[session.record().tobytes()] += 1
    assert len(seen) > 1000


# ---- undo: a list of boards


def board(session: pp.Session) -> bytes:
    return b"".join(
        view.tobytes()
        for field, view in zip(session.fields, session.observe(copy=False).values(), strict=True)
        if not field.is_ui
    )


@pytest.mark.parametrize("duplicate", COPIES)
@pytest.mark.parametrize("puzzle", ["fifteen", "net", "sixteen", "twiddle", "netslide", "flip"])
def test_undo_is_a_list_of_the_last_boards(puzzle, duplicate):
    """More moves than the history holds: the ring has wrapped, and the last ones can still be taken back in order."""
    session, random = start(puzzle, level="default"), np.random.default_rng(3)
    boards = [board(session)]
    while len(boards) <= HISTORY + 70:
        before = session.moves
        session.step(int(random.integers(len(session.actions))))
        if session.terminated:
            session.reset(seed=len(boards))
            boards = [board(session)]
        elif session.moves > before:
            boards.append(board(session))
    session = COPIES[duplicate](session)
    for taken in range(HISTORY):
        assert session.undo(), taken
        assert board(session) == boards[-2 - taken]
    assert not session.undo()
    assert board(session) == boards[-1 - HISTORY]


# ---- limits and ends: a table


@pytest.mark.parametrize("duplicate", COPIES)
@pytest.mark.parametrize(("max_steps", "max_repeats"), [(1, 0), (2, 0), (9, 0), (0, 1), (0, 2), (13, 3), (0, 0)])
def test_ends_are_a_table_of_status_steps_and_repeats(max_steps, max_repeats, duplicate):
    for puzzle in ("flood", "net", "mines", "guess"):
        session, random = start(puzzle, max_steps=max_steps, max_repeats=max_repeats), np.random.default_rng(1)
        for step in range(1, 40):
            session = COPIES[duplicate](session)
            session.step(int(random.integers(len(session.actions))))
            cut = (max_steps and step >= max_steps) or (max_repeats and session.repeats >= max_repeats)
            assert session.steps == step
            assert session.ended == (1 if session.status else 2 if cut else 0)
            assert (session.terminated, session.truncated) == (session.ended == 1, session.ended == 2)
            if session.status:
                break


def test_a_game_that_is_dead_from_its_start_has_failed():
    """No pair of tiles to remove: without UNDO it is lost before the first action, in every form."""
    game_id = "2x2c3s2:1,2,2,1"
    for undo in (False, True):
        session = pp.Session("samegame", game_id, undo=undo)
        assert session.status == pp.Status.FAILED  # there is nothing to take back either
        assert session.ended == 1
    episodes = pp.Episodes(pp.Task("samegame", game_id))
    episodes.start()
    assert (episodes.ended, episodes.solved) == (1, False)
    batch = pp.Batch("samegame", game_id, 2, autoreset="off")
    assert batch.reset(seed=1).ended.tolist() == [1, 1]
    assert pp.rollout("samegame", game_id, episodes=3, seed=0).failed.all()


# ---- batches: sessions in a loop


@pytest.mark.parametrize("autoreset", ["off", "next_step", "same_step"])
def test_a_batch_is_a_loop_over_sessions(puzzle, autoreset):
    params, n = pp.spec(puzzle).easiest_params, 3
    options = {"max_steps": 8, "max_repeats": 5, "undo": True}
    batch = pp.Batch(puzzle, params, n, threads=2, autoreset=autoreset, **options)
    sessions = [pp.Session(puzzle, params, 20 + slot, **options) for slot in range(n)]
    played, random = [0] * n, np.random.default_rng(0)
    batch.reset(seed=20)
    for _ in range(40):
        actions = random.integers(len(batch.actions), size=n)
        result = batch.step(actions)
        for slot, session in enumerate(sessions):
            if session.ended and autoreset == "off":
                pass  # nothing happens any more
            elif session.ended and autoreset == "next_step":
                played[slot] += 1
                session.reset(seed=episode_seed(20 + slot, played[slot]))
            else:
                session.step(int(actions[slot]))
            outcome = [int(getattr(result, name)[slot]) for name in ("status", "moves", "repeats", "steps", "ended")]
            assert outcome == [session.status, session.moves, session.repeats, session.steps, session.ended]
            if session.ended and autoreset == "same_step":
                assert np.array_equal(batch.final_records[slot], session.record())
                assert np.array_equal(batch.final[1][slot], session.mask())
                played[slot] += 1
                session.reset(seed=episode_seed(20 + slot, played[slot]))
            assert np.array_equal(batch.records[slot], session.record())
            assert np.array_equal(result.mask[slot], session.mask())
        seeds, episodes = batch.streams()
        assert seeds.tolist() == [20, 21, 22]
        assert episodes.tolist() == played
    batch.close()


def test_games_made_ahead_are_those_of_their_episodes():
    """With a slow generator and many short episodes; a reset in between throws away what was made for another stream."""
    params = pp.spec("pearl").human_params
    batch = pp.Batch("pearl", params, 3, threads=2, max_steps=2)
    for first in (5, 90):
        batch.reset(seed=first)
        for step in range(9):
            batch.step([0, 1, 2])
            _, episodes = batch.streams()
            for slot in range(3):
                wanted = pp.Session("pearl", params, episode_seed(first + slot, int(episodes[slot])))
                assert batch.session(slot).instance_hash == wanted.instance_hash, step
    batch.close()


# ---- rollouts


def test_a_rollout_plays_the_seed_it_is_given():
    """In Fifteen a solution of one instance always has the same parity, which tells neighbouring seeds apart."""
    seeds = list(range(300, 400))
    played = pp.rollout("fifteen", "2x2", policy="masked", seeds=seeds, max_steps=5000)
    lengths = [len(search.bfs(pp.Session("fifteen", "2x2", seed)).actions) for seed in seeds]
    assert played.solved.all()
    assert (played.steps % 2).tolist() == [length % 2 for length in lengths]
    assert (played.steps >= lengths).all()
    assert len({length % 2 for length in lengths}) == 2
    again = [
        pp.rollout("fifteen", "2x2", policy="masked", seeds=[seed], max_steps=5000).steps[0] for seed in seeds[:20]
    ]
    assert again == played.steps[:20].tolist()
    stream = pp.rollout("fifteen", "2x2", policy="masked", episodes=20, seed=7)
    assert stream.seeds.tolist() == [episode_seed(7, k) for k in range(20)]


def test_a_rollout_tells_lost_games_from_those_cut_off():
    lost = pp.rollout("flood", "3x3c6m5", episodes=200, seed=0)
    assert lost.failed.tolist() == (lost.status == -1).tolist()
    assert 0 < lost.failed.sum() < 200
    cut = pp.rollout("net", "4x4", episodes=50, seed=0, max_steps=3)
    assert not cut.failed.any()
    assert not cut.solved.any()
    assert (cut.steps == 3).all()
    assert pp.rollout("net", "4x4", episodes=50, seed=0, max_steps=0, max_repeats=1).steps.max() < 200


# ---- search


def test_the_discount_counts_the_steps_to_the_solution():
    """One action before the end, that action is worth the discount itself or 1, and a detour of two steps less."""
    session = next(
        one for one in (pp.Session("fifteen", "2x2", seed) for seed in range(50)) if len(search.bfs(one).actions) == 1
    )
    (last,) = search.bfs(session).actions
    values = {}
    for discount in (1.0, 0.5):
        tree = search.Tree(session, seed=1)
        tree.simulate(400, 50, 1.4, discount, stop=False)
        values[discount] = tree.result.values
    detour = next(action for action in np.flatnonzero(session.mask()) if action != last)
    assert values[0.5][detour] < 0.5 * values[0.5][last]
    assert values[1.0][detour] > values[0.5][detour]


def test_a_rollout_is_worth_the_discount_to_the_power_of_its_steps():
    """The second simulation tries one action: the same noise plays the same game, whatever the discount."""
    lengths = set()
    for seed in range(20):
        session = pp.Session("fifteen", "2x2", seed)
        worth = {}
        for discount in (1.0, 0.9, 0.5):
            tree = search.Tree(session, seed=seed)
            tree.simulate(2, 40, 1.4, discount, stop=False)
            worth[discount] = tree.result.values.sum()
        assert worth[1.0] in (0, 1)
        if worth[1.0]:
            steps = round(np.log(worth[0.9]) / np.log(0.9))
            assert worth == pytest.approx({1.0: 1, 0.9: 0.9**steps, 0.5: 0.5**steps})
            assert steps >= len(search.bfs(session).actions)
            lengths.add(steps)
    assert len(lengths) > 3


def test_ida_star_uses_how_many_items_an_action_may_change():
    """Flip turns several squares at once: how many are taken into account decides how many states are looked at."""
    session = pp.Session("flip", "3x3c", 4)
    target, wanted = session.solution(), search.bfs(session)
    careful = search.ida_star(session, target=target, per_step=16)
    greedy = search.ida_star(session, target=target, per_step=1)
    assert len(careful.actions) == len(wanted.actions)
    assert greedy.nodes != careful.nodes


# ---- evaluation sets and reports


def test_a_changed_evaluation_set_is_noticed():
    frozen = pp.evalset("v1")["net"]
    assert frozen.verify(quick=True)
    other = EvalSet(frozen.puzzle, frozen.params, [seed + 1 for seed in frozen.seeds], frozen.head, frozen.digest)
    assert not other.verify(quick=True)
    assert not other.verify()


def test_a_difference_is_ours_less_the_papers():
    from puzzleport.benchmark import report

    paper = next(
        row for row in report.table("results") if row["algorithm"] == "Random" and row["mean_successful_steps"]
    )
    mean, success = float(paper["mean_successful_steps"]), float(paper["success_percent"])
    params = pp.canonical_params(paper["puzzle"], paper["params"])
    row = {"algorithm": "ours", "puzzle": paper["puzzle"], "params": params, "success_percent": success - 10}
    comparison = report.compare([{**row, "mean_successful_steps": 1.5 * mean}], ["Random"])
    points, percent = comparison.difference((paper["puzzle"], params))
    assert points == pytest.approx(-10)
    assert percent == pytest.approx(50)


# ---- memory


def test_a_pool_keeps_to_its_limit():
    limit = lib.pz_pool_limit
    try:
        lib.pz_pool_limit = 4096
        with pytest.raises(pp.EngineError, match="memory"):
            pp.Session("net", "10x10", 1)
    finally:
        lib.pz_pool_limit = limit
    pp.Session("net", "10x10", 1)


def test_every_kind_of_error_of_black_box_comes():
    """A shot that the marked balls contradict, and one that the check has added."""
    (field,) = (field for field in pp.spec("blackbox").fields("w4h2m2M2") if field.name == "errors")
    seen, random = set(), np.random.default_rng(0)
    for seed in range(200):
        session = pp.Session("blackbox", "w4h2m2M2", seed, max_steps=0)
        for _ in range(300):
            if session.terminated:
                break
            session.step(int(random.choice(np.flatnonzero(session.mask()))))
            seen |= set(session.observe(copy=False)["errors"].tolist())
        if len(seen) > field.high - field.low:
            break
    assert seen == set(range(field.low, field.high + 1))
