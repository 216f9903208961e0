"""The ladder: rungs rise by what was measured, from the paper's easiest, and can be played."""

from __future__ import annotations

import itertools
from statistics import median

import pytest

import puzzleport as pp
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.benchmark.ladder import _ladder, climb, rung, rungs
from puzzleport.benchmark.settings import settings

MEASURED = list(dict.fromkeys(one.puzzle for one in _ladder()))


@pytest.mark.parametrize("name", MEASURED)
def test_rungs_rise(name: str) -> None:
    ladder = rungs(name)
    assert [one.number for one in ladder] == list(range(1, len(ladder) + 1))
    assert ladder[0].params == pp.canonical_params(name, pp.spec(name).easiest_params)
    assert len({one.params for one in ladder}) == len(ladder)
    for below, above in itertools.pairwise(ladder):
        far = above.expert_steps / below.expert_steps
        assert far >= 1.2 or {below.level, above.level} == {"easiest", "human"}, (below, above)
        assert pp.canonical_params(name, above.params) == above.params


@pytest.mark.parametrize(("name", "number"), [("fifteen", 1), ("fifteen", 3), ("bridges", 3), ("blackbox", 2)])
def test_the_experts_way_is_as_long_as_told(name: str, number: int) -> None:
    """Of the same instances that the tool measured."""
    one = rung(name, number)
    assert median(evaluate("expert", name, one.params, episodes=3, seed=0).steps) == one.expert_steps


def test_rungs_are_levels_and_make_a_split() -> None:
    ladder = rungs("fifteen")
    assert settings(["fifteen"], "ladder") == [("fifteen", one.params) for one in ladder]
    assert settings(["fifteen"], "rung2") == [("fifteen", ladder[1].params)]
    assert climb("fifteen", 3) == (ladder[:2], ladder[2])
    for number in (0, 1, 99):
        with pytest.raises(ValueError, match="rung"):
            climb("fifteen", number)
