from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import puzzleport as pp
from puzzleport.game_id import episode_seed
from puzzleport.task import Stream


def test_a_task_is_checked_when_it_is_made():
    task = pp.Task("bridges", "7x7")
    assert task.params == pp.canonical_params("bridges", "7x7")
    assert task.actions == ("UP", "DOWN", "LEFT", "RIGHT", "SELECT")
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.undo = True
    for wrong in (
        {"max_steps": -1},
        {"max_steps": 2**40},
        {"max_steps": "a"},
        {"max_steps": 1.5},
        {"max_repeats": True},
        {"timeout": float("nan")},
        {"timeout": "soon"},
        {"seed": -1},
        {"seed": 2**64},
        {"rewards": 3},
    ):
        with pytest.raises((pp.UnknownOption, pp.InvalidSeed)):
            pp.Task("bridges", "7x7", **wrong)
    with pytest.raises(pp.UnknownPuzzle):
        pp.Task("bridge")
    with pytest.raises(pp.InvalidParams):
        pp.Task("bridges", "2x2")


@pytest.mark.parametrize("game_id", ["3x3#42", pp.Session("net", "3x3", seed=42).game_id])
def test_an_instance_that_params_name_holds_for_every_episode(game_id):
    task = pp.Task("net", game_id, seed=5)
    wanted = pp.Session("net", "3x3", seed=42).instance_hash
    assert dataclasses.replace(task, seed=9).game_id == game_id
    episodes = pp.Episodes(task)
    for seed in (None, 1, None, 2):
        episodes.start(seed)
        assert episodes.session.instance_hash == wanted
        assert episodes.game_id == game_id
    batch = pp.BatchEpisodes(dataclasses.replace(task, max_steps=3), 3, threads=1)
    for seed in (None, 1):
        batch.start(seed)
        for _ in range(7):
            batch.step([0, 1, 2])
        assert {batch.batch.session(slot).instance_hash for slot in range(3)} == {wanted}
        assert set(batch.game_ids) == {game_id}
    batch.close()
    assert pp.Session("net", game_id, seed=7).instance_hash == wanted
    with pytest.raises(pp.InvalidGameID, match="other parameters"):
        pp.Task("net", "5x5", game_id="3x3#42")


def test_a_rollout_plays_the_instance_that_params_name():
    one = pp.rollout("fifteen", "2x2#42", policy="masked", episodes=50, seed=3)
    session, lengths = pp.Session("fifteen", "2x2#42"), set(one.steps.tolist())
    shortest = len(pp.agents.search.bfs(session).actions)
    assert min(lengths) >= shortest
    assert len({steps % 2 for steps in lengths}) == 1  # in Fifteen every way to the goal has the same parity
    assert len(lengths) > 1


def test_streams_are_a_loop_over_episode_seeds():
    """The plain model: seed, then episode_seed(seed, 1), and so on; a seed in between starts its own stream."""
    stream = pp.Stream(pp.Task("fifteen", "2x2", seed=7))
    assert [stream.next()["seed"] for _ in range(4)] == [episode_seed(7, k) for k in range(4)]
    assert [stream.next(9)["seed"], stream.next()["seed"]] == [9, episode_seed(9, 1)]
    drawn = [pp.Stream(pp.Task("fifteen", "2x2")).next()["seed"] for _ in range(2)]
    assert drawn[0] != drawn[1]


def test_old_and_unknown_options_are_named():
    for old, new in (("obs_type", "observation"), ("max_state_repeats", "max_repeats"), ("allow_undo", "undo")):
        with pytest.raises(pp.UnknownOption, match=f"{old}'.* is called {new} now"):
            pp.Task.of("net", "2x2", {old: 1})
    with pytest.raises(pp.UnknownOption, match="there are seed, undo, max_steps"):
        pp.Task.of("net", "2x2", {"colour": 1})


def test_a_task_can_be_varied():
    task = pp.Task("net", "2x2", max_steps=5)
    other = pp.Task.of(task, None, {"undo": True})
    assert (other.max_steps, other.undo) == (5, True)
    assert pp.Task.of(task, "3x3").params == "3x3"


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_of_episodes_go_their_own_way(puzzle, duplicate):
    task = pp.Task(puzzle, pp.spec(puzzle).easiest_params, seed=3, undo=True, max_steps=50)
    original, played = pp.Episodes(task), pp.Episodes(task)
    random = np.random.default_rng(0)

    def go_on(*episodes):
        action = int(random.integers(len(task.actions)))
        rewards = [one.start() if one.ended else one.step(action) for one in episodes]
        assert len(set(rewards)) == 1

    original.start(), played.start()
    for _ in range(20):
        go_on(original, played)
    twin = duplicate(played)
    played.start()  # what the first does is nothing to its copy
    for _ in range(60):
        go_on(original, twin)
        assert all(
            np.array_equal(original.observation()[name], twin.observation()[name]) for name in twin.observation()
        )
        assert np.array_equal(original.mask(), twin.mask())
        assert original.game_id == twin.game_id


# ---- instances that are never drawn


def excluded_hashes(puzzle: str, params: str, seed: int, episodes: list[int]) -> list[int]:
    hashes = []
    for episode in episodes:
        with pp.Session(puzzle, params, pp.task.episode_seed(seed, episode)) as session:
            hashes.append(session.instance_hash)
    return hashes


def test_excluded_instances_are_passed_over_by_one_game_and_by_many():
    """Both pass over the same ones, so that their games stay the same."""
    exclude = excluded_hashes("net", "3x3", 7, [0, 2, 3])
    task = pp.Task("net", "3x3", seed=7, exclude=exclude, max_steps=3)
    with pp.Episodes(task) as one:
        ids = []
        for _ in range(4):
            one.start()
            ids.append(one.game_id)
            assert one.session.instance_hash not in exclude
    assert ids == [f"3x3#{pp.task.episode_seed(7, episode)}" for episode in (1, 4, 5, 6)]
    many = pp.BatchEpisodes(task, num_envs=1)
    many.start(seed=7)
    seen = [many.game_ids[0]]
    while len(seen) < 4:
        many.step([0])
        if many.game_ids[0] != seen[-1]:
            seen.append(many.game_ids[0])
    many.close()
    assert seen == ids
    with task.session() as session:
        assert session.instance_hash not in exclude


def test_what_is_named_is_played_all_the_same():
    (instance,) = excluded_hashes("net", "3x3", 7, [0])
    task = pp.Task("net", "3x3#7", exclude=[instance])
    with task.session() as session, pp.Episodes(task) as one, task.batch(2) as batch:
        assert session.instance_hash == instance
        one.start()
        batch.reset(seed=1)
        assert one.session.instance_hash == instance


def test_a_setting_of_which_all_is_excluded_is_an_error():
    """Fifteen of 2x2 has few instances: 3,000 seeds meet all of them."""
    hashes = set()
    for seed in range(3000):
        with pp.Session("fifteen", "2x2", seed) as session:
            hashes.add(session.instance_hash)
    task = pp.Task("fifteen", "2x2", exclude=hashes)
    for start in (task.session, pp.Episodes(task).start, lambda: task.batch(1).reset(seed=1)):
        with pytest.raises(pp.InvalidParams, match="excluded"):
            start()


def test_an_adapter_takes_exclude():
    gymnasium = pytest.importorskip("gymnasium")
    from puzzleport.adapters.gymnasium import PuzzleEnv

    exclude = excluded_hashes("net", "3x3", 7, [0])
    env = PuzzleEnv("net", "3x3", exclude=exclude)
    assert isinstance(env, gymnasium.Env)
    _, info = env.reset(seed=7)
    assert info["game_id"] == f"3x3#{pp.task.episode_seed(7, 1)}"
    for wrong in (7, [-1], ["x"], "v99"):
        with pytest.raises((ValueError, TypeError)):
            pp.Task("net", "3x3", exclude=wrong)


def test_a_seed_of_numpy_is_a_seed_and_anything_else_is_none():
    episodes = Stream(pp.Task("net", "2x2"))
    for seed in (7, np.int64(7), np.uint8(7)):
        episodes.advance(seed)
        assert (episodes.seed, episodes.episode, type(episodes.seed)) == (7, 0, int)
    for wrong in (-1, 2**64, 1.5, "7", True):
        with pytest.raises(pp.InvalidSeed):
            episodes.advance(wrong)
    assert episodes.seed == 7
