"""Reasoning Gym: datasets of every puzzle, made and scored by the framework's own functions."""

from __future__ import annotations

import pytest

import puzzleport as pp

reasoning_gym = pytest.importorskip("reasoning_gym", reason="Reasoning Gym is an extra: puzzleport[reasoning-gym]")

from puzzleport.adapters.reasoning_gym import dataset_name, register  # noqa: E402 (behind the skip)


@pytest.fixture(scope="module", autouse=True)
def registered():
    assert register() == register()


@pytest.mark.parametrize("level", ["easiest", "human"])
def test_the_expert_has_all_and_garbage_nothing(puzzle, level):
    params = getattr(pp.spec(puzzle), f"{level}_params")
    data = reasoning_gym.create_dataset(dataset_name(puzzle), seed=7, size=2, params=params)
    for entry in data:
        assert data.score_answer(entry["answer"], entry) == 1.0
        for answer in ("banana", "", None, entry["question"]):
            assert data.score_answer(answer, entry) == 0.0
    again = reasoning_gym.create_dataset(dataset_name(puzzle), seed=7, size=2, params=params)
    assert again[1] == data[1]
    assert data[0]["metadata"]["game_id"] != data[1]["metadata"]["game_id"]


def test_the_curriculum_gets_harder():
    curriculum = reasoning_gym.factory.create_curriculum(dataset_name("solo"))
    first = curriculum.generate_configuration({"seed": 1})
    assert first.params == pp.spec("solo").easiest_params
    curriculum.increment_attr_level("params")
    assert curriculum.generate_configuration({"seed": 1}).params != first.params
    reasoning_gym.create_dataset(dataset_name("solo"), seed=1, size=1)[0]


def test_bad_parameters_are_refused():
    with pytest.raises(pp.InvalidParams):
        reasoning_gym.create_dataset(dataset_name("solo"), params="banana")


def test_the_levels_go_from_the_papers_to_the_presets_each_once(puzzle):
    about = pp.spec(puzzle)
    given = [about.easiest_params, about.human_params, *(preset.params for preset in about.presets)]
    expected = list(dict.fromkeys(pp.canonical_params(puzzle, params) for params in given))
    curriculum = reasoning_gym.factory.create_curriculum(dataset_name(puzzle))
    assert [pp.canonical_params(puzzle, one) for one in curriculum.attributes["params"].levels] == expected
