from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import puzzleport as pp
from puzzleport.game_id import parse_game_id

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


def seen_in_play(session: pp.Session, steps: int) -> Iterator[tuple[bytes, bytes, pp.Status, int]]:
    """What random play shows of a game, step by step; every game that ends is followed by another."""
    random = np.random.default_rng(0)
    for step in range(steps):
        session.step(int(random.integers(len(session.actions))))
        yield session.record().tobytes(), session.mask().tobytes(), session.status, session.repeats
        if session.status != pp.Status.ONGOING:
            session.reset(seed=step)


def test_the_same_play_of_another_seed_is_another_game(puzzle):
    """So the test below compares something: equal lists are not what any two games give."""
    if pp.spec(puzzle).hidden:
        return  # test_hidden.py: these must look alike
    params = pp.spec(puzzle).human_params
    games = {tuple(seen_in_play(pp.Session(puzzle, params, seed), 20)) for seed in range(5)}
    assert len(games) > 1 or (puzzle == "pegs" and not params.endswith("random"))


def test_the_same_seed_is_the_same_game_twice_and_in_a_batch(puzzle):
    for params in levels(puzzle):
        a, b = pp.Session(puzzle, params, seed=42), pp.Session(puzzle, params, seed=42)
        assert a.desc == b.desc
        assert same(a.observe(), b.observe())
        assert list(seen_in_play(a, 50)) == list(seen_in_play(b, 50))
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


with (Path(__file__).parents[1] / "golden" / "original_ids.csv").open(newline="") as table:
    ORIGINAL = list(csv.DictReader(table))


def test_the_original_programs_were_asked_about_every_puzzle_at_three_levels():
    assert Counter(row["puzzle"] for row in ORIGINAL) == dict.fromkeys(PUZZLES, 3)


@pytest.mark.parametrize("row", ORIGINAL, ids=lambda row: f"{row['puzzle']}-{row['params']}")
def test_instances_are_those_of_the_original_programs(row):
    """Ids that Tatham's own programs printed; tools/reference_ids.py asked them."""
    puzzle, given = row["puzzle"], f"{row['params']}#{row['seed']}"
    desc = row["printed"].partition(":")[2]
    for session in (pp.Session(puzzle, row["params"], int(row["seed"])), pp.Session(puzzle, game_id=given)):
        if puzzle == "mines":  # the program has opened a square, which lays the mines; the description begins with it
            x, y = (int(number) for number in desc.split(",")[:2])
            for action in ["RIGHT"] * x + ["DOWN"] * y + ["SELECT"]:
                session.step(action)
        assert session.desc == desc
        # A program prints parameters in short, and those of a random board of Pegs are then a cross that does not exist.
        random_pegs = row["params"] == "4x4random"
        again = pp.Session(puzzle, game_id=f"{row['params']}:{desc}" if random_pegs else row["printed"])
        assert same(again.observe(), session.observe()) or puzzle == "mines"  # there nothing is open yet
        assert pp.Session(puzzle, game_id=again.game_id).desc == desc


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


def test_a_description_is_of_printable_ascii_alone():
    for number in (*range(400), 0x661, 0x2028, 0xD800, 0xFF11, 0x1F0A1):
        for rest in (chr(number), f"a{chr(number)}", f"{chr(number)}b"):
            if 32 <= number < 127:
                assert parse_game_id("bridges", f"3x3:{rest}")[1:] == (None, rest)  # seed and description
            else:
                with pytest.raises(pp.InvalidGameID, match="no description stands behind the colon"):
                    parse_game_id("bridges", f"3x3:{rest}")


def test_without_a_seed_one_is_drawn_and_told():
    a, b = pp.Session("solo"), pp.Session("solo")
    assert a.seed != b.seed
    assert pp.Session("solo", seed=a.seed).desc == a.desc
