"""The ladder: rungs rise by what was measured, from the paper's easiest, and can be played; the evaluation set of its rungs."""

from __future__ import annotations

import itertools
from statistics import median

import numpy as np
import pytest

import puzzleport as pp
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.benchmark.evaluation_sets import SIZES, EvalSet, check_training_seed, evalset, frozen_hashes
from puzzleport.benchmark.ladder import climb, rungs
from puzzleport.benchmark.settings import settings


def frozen(name: str) -> list[EvalSet]:
    return [evalset("v2", params_of={name: one.params})[name] for one in rungs(name)]


def test_rungs_rise(puzzle: str) -> None:
    ladder = rungs(puzzle)
    assert [one.number for one in ladder] == list(range(1, len(ladder) + 1))
    assert 5 <= len(ladder) <= 8
    assert ladder[0].params == pp.canonical_params(puzzle, pp.spec(puzzle).easiest_params)
    assert len({one.params for one in ladder}) == len(ladder)
    for below, above in itertools.pairwise(ladder):
        assert above.hardness >= 1.09 * below.hardness, (below, above)  # a tenth, before it was rounded
        assert above.measure == below.measure
        assert pp.canonical_params(puzzle, above.params) == above.params


def test_the_evaluation_set_has_different_instances_and_what_the_expert_takes(puzzle: str) -> None:
    for rung, one in zip(rungs(puzzle), frozen(puzzle), strict=True):
        assert len(one.seeds) == len(one.hashes) == len(set(one.hashes)) == len(one.expert_steps)
        assert len(one.seeds) == 100 or (rung.few_instances and 1 <= len(one.seeds) < 100)
        if not pp.spec(puzzle).hidden:
            assert median(one.expert_steps) == pytest.approx(rung.expert_steps, abs=0.5)
        with pytest.raises(ValueError, match="v2"):
            check_training_seed(one.seeds[-1])


def test_the_frozen_instances_of_the_rungs_are_still_the_same(puzzle: str) -> None:
    for one in frozen(puzzle):
        with pp.Session(puzzle, one.params, one.seeds[-1]) as session:
            assert session.instance_hash == one.hashes[-1]


def test_the_expert_takes_the_steps_that_were_frozen(puzzle: str) -> None:
    """On the lower rungs, which are cheap."""
    for one in frozen(puzzle)[:2]:
        played = evaluate("expert", puzzle, one.params, episodes=3, evalset="v2", max_steps=100_000)
        for status, steps, expected in zip(played.status, played.steps, one.expert_steps, strict=False):
            bound = pp.optimal_steps(puzzle, one.params)
            assert expected == (steps if status == 1 else bound)
            assert status == 1 or pp.spec(puzzle).hidden


def test_rungs_are_levels_and_make_a_split() -> None:
    ladder = rungs("fifteen")
    assert settings(["fifteen"], "ladder") == [("fifteen", one.params) for one in ladder]
    assert settings(["fifteen"], "rung2") == [("fifteen", ladder[1].params)]
    assert climb("fifteen", 3) == (ladder[:2], ladder[2])
    for number in (0, 1, 99):
        with pytest.raises(ValueError, match="rung"):
            climb("fifteen", number)
    assert evalset("v2", "rung2")["fifteen"] == frozen("fifteen")[1]
    assert evalset("v2")["net"] == frozen("net")[0]
    with pytest.raises(ValueError, match="v2 has the rungs of fifteen, 2x2, 3x3"):
        evalset("v2", params_of={"fifteen": "3x2"})
    with pytest.raises(ValueError, match="no level 'rung10'"):
        evalset("v2", "rung10")


def test_training_never_meets_the_evaluation_set() -> None:
    """Where most instances are in the set, a stream that excludes it gives the others only."""
    hashes = set(frozen_hashes("v2", "fifteen"))
    assert set(frozen("fifteen")[0].hashes) < hashes
    task = pp.Task("fifteen", "2x2", exclude="v2", seed=1)
    assert task.exclude == hashes
    with task.batch(32, threads=1) as batch:
        batch.reset(1)
        met = {batch.session(slot).instance_hash for slot in range(32)}
        for _ in range(50):
            batch.step(np.zeros(32, int))
        met |= {batch.session(slot).instance_hash for slot in range(32)}
    free = {pp.Session("fifteen", "2x2", seed=seed).instance_hash for seed in range(64)}
    assert not met & hashes
    assert free & hashes
    with pytest.raises(ValueError, match="above 2\\*\\*63"):
        pp.Task("net", "2x2", exclude="v1")


@pytest.mark.parametrize("name", SIZES)
def test_the_size_of_an_evaluation_set_is_that_of_its_largest_setting(name):
    sets = evalset(name).values() if name == "v1" else [one for puzzle in pp.puzzles() for one in frozen(puzzle)]
    assert max(len(one.seeds) for one in sets) == SIZES[name]


def test_no_training_starts_from_a_seed_that_an_evaluation_set_may_use() -> None:
    """Of v1 the 1,000 from 2**63 on, of v2 the 2**20 from 2**63 + 2**32 on; all others are free."""
    for first, count, name in ((2**63, 1000, "v1"), (2**63 + 2**32, 2**20, "v2")):
        for seed in (first - 1, first + count):
            assert check_training_seed(seed) == seed
        for seed in (first, first + count - 1):
            with pytest.raises(ValueError, match=f"the seed {seed} is one of the evaluation set {name}:"):
                check_training_seed(seed)
    assert evalset("v1", params_of={"net": "2x2"})["net"].seeds == list(range(2**63, 2**63 + 1000))
