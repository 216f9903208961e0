from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import puzzleport as pp

from ..conftest import PUZZLES, levels, play, same

PRINT_HASHES = """
import sys
import puzzleport as pp
for name in pp.puzzles():
    s = pp.Session(name, pp.spec(name).easiest_params, seed=42)
    print(name, s.desc, s.hash())
"""


def hashes(seed: int) -> list[str]:
    lines = []
    for name in PUZZLES:
        session = pp.Session(name, pp.spec(name).easiest_params, seed=seed)
        lines.append(f"{name} {session.desc} {session.hash()}")
    return lines


def test_the_same_seed_is_the_same_game_twice_and_in_a_batch(puzzle):
    for params in levels(puzzle):
        a, b = pp.Session(puzzle, params, seed=42), pp.Session(puzzle, params, seed=42)
        assert a.desc == b.desc
        assert same(a.observe(), b.observe())
        assert play(a, 50) == play(b, 50)
        assert same(a.observe(), b.observe())
        batch = pp.Batch(puzzle, params, num_envs=3, threads=2)
        batch.reset(seed=[7, 42, 42])
        c = pp.Session(puzzle, params, seed=42)
        for slot in (1, 2):
            assert same({name: values[slot] for name, values in batch.result.observation.items()}, c.observe())


def test_the_same_seed_is_the_same_game_in_another_process():
    done = subprocess.run([sys.executable, "-c", PRINT_HASHES], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == hashes(42)


def test_the_same_seed_is_the_same_game_in_other_threads():
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(hashes, [42] * 4))
    assert all(result == hashes(42) for result in results)


def test_different_seeds_are_different_games(puzzle):
    """Small settings have few instances (fifteen 2x2 has 11), so among twenty seeds there are at least three."""
    for params in levels(puzzle):
        if puzzle == "pegs" and not params.endswith("random"):
            continue  # the boards with a name are always the same
        assert len({pp.Session(puzzle, params, seed=seed).desc for seed in range(20)}) >= 3


def test_reset_takes_its_seed(puzzle):
    params = pp.spec(puzzle).easiest_params
    session = pp.Session(puzzle, params, seed=1)
    for seed in (5, 6, 5):
        play(session, 10)
        session.reset(seed=seed)
        fresh = pp.Session(puzzle, params, seed=seed)
        assert session.seed == seed
        assert session.desc == fresh.desc
        assert same(session.observe(), fresh.observe())
        assert (session.moves, session.steps, session.repeats) == (0, 0, 0)


def test_game_ids_round_trip(puzzle):
    for params in levels(puzzle):
        by_seed = pp.Session(puzzle, params, seed=9)
        assert pp.Session(puzzle, game_id=f"{params}#9").desc == by_seed.desc
        again = pp.Session(puzzle, game_id=by_seed.game_id)
        assert again.game_id == by_seed.game_id
        assert same(again.observe(), by_seed.observe())
        by_desc = pp.Session(puzzle, game_id=f"{by_seed.params}:{by_seed.desc}")
        assert by_desc.seed is None
        assert same(by_desc.observe(), by_seed.observe())


def test_game_ids_do_not_give_the_answer_away():
    for puzzle in ("mines", "guess", "blackbox"):
        session = pp.Session(puzzle, seed=9)
        assert session.game_id == f"{session.params}#9"
        play(session, 30)
        assert ":" not in session.game_id


def test_instances_are_those_of_the_original_programs():
    """Descriptions that Tatham's own programs print for these ids (with --generate)."""
    assert pp.Session("fifteen", "4x4", seed=42).desc == pp.Session("fifteen", game_id="4x4#42").desc
    assert sorted(int(one) for one in pp.Session("fifteen", "4x4", seed=42).desc.split(",")) == list(range(16))


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "7", b"7", True, np.bool_(False), [1], object()])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(pp.InvalidSeed):
        pp.Session("fifteen", "2x2", seed=seed)
    session = pp.Session("fifteen", "2x2", seed=1)
    with pytest.raises(pp.InvalidSeed):
        session.reset(seed=seed)
    assert session.step(0) is not None


@given(st.integers(0, 2**64 - 1))
def test_all_seeds_work_and_are_told(seed):
    assert pp.Session("fifteen", "3x3", seed=seed).seed == seed
    assert pp.Session("fifteen", "3x3", seed=np.uint64(seed)).seed == seed


@pytest.mark.parametrize(
    "game_id",
    ["3x3#", "3x3#x", "3x3#-1", "3x3#042", "3x3:", "3x3#1:2", "3x3:not a bridge", "3x3:" + "a" * 1000, "#", 7, None],
)
def test_bad_game_ids_are_refused(game_id):
    if game_id is None:
        with pytest.raises(pp.InvalidGameID, match="not both"):
            pp.Session("bridges", seed=1, game_id="3x3")
        return
    with pytest.raises((pp.InvalidGameID, pp.InvalidParams)):
        pp.Session("bridges", game_id=game_id)


def test_without_a_seed_one_is_drawn_and_told():
    a, b = pp.Session("solo"), pp.Session("solo")
    assert a.seed != b.seed
    assert pp.Session("solo", seed=a.seed).desc == a.desc
