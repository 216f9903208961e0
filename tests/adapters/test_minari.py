from __future__ import annotations

import json
import subprocess
import sys

import gymnasium as gym
import minari
import numpy as np
import pytest
from click.testing import CliRunner
from minari.namespace import list_local_namespaces

import puzzleport as pp
from puzzleport.adapters.minari import collect_demos, default_id
from puzzleport.benchmark.evaluation_sets import FIRST, SIZE
from puzzleport.cli import main

# One that plans, one whose fields are many, and the three whose experts decide by sight.
PUZZLES = {"solo": "2x2", "loopy": "3x3t0de", "mines": "4x4n2", "guess": "c2p3g10Bm", "blackbox": "w2h2m2M2"}


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    return tmp_path / "datasets"


def files_under(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def about(dataset):
    return list(dataset.storage.get_episode_metadata(dataset.episode_indices))


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_a_dataset_plays_itself_again(puzzle):
    written = collect_demos(puzzle, PUZZLES[puzzle], episodes=5, seed=3)
    dataset = minari.load_dataset(default_id(puzzle, PUZZLES[puzzle]))
    assert dataset.total_episodes == written.total_episodes == 5
    env = dataset.recover_environment()
    assert env.observation_space == dataset.observation_space
    assert env.action_space == dataset.action_space
    for episode, metadata in zip(dataset, about(dataset), strict=True):
        observation, info = env.reset(seed=metadata["seed"])
        assert info["game_id"] == metadata["game_id"]
        for step, action in enumerate(episode.actions):
            assert episode.infos["action_mask"][step][action]
            np.testing.assert_array_equal(episode.infos["action_mask"][step], info["action_mask"])
            for name, field in observation.items():
                np.testing.assert_array_equal(episode.observations[name][step], field)
            observation, reward, terminated, truncated, info = env.step(action)
            assert (reward, terminated, truncated) == (
                episode.rewards[step],
                episode.terminations[step],
                episode.truncations[step],
            )
        assert terminated
        assert info["is_success"]
        assert metadata["is_success"]
        for name, field in observation.items():  # the last observation, and its mask, are there too
            np.testing.assert_array_equal(episode.observations[name][-1], field)
        np.testing.assert_array_equal(episode.infos["action_mask"][-1], info["action_mask"])
        assert len(episode.infos["action_mask"]) == len(episode) + 1
    env.close()


@pytest.mark.parametrize("observation", ["flat", "one_hot", "tokens"])
def test_observations_are_the_recovered_environment_s(observation):
    dataset = collect_demos("fifteen", "2x2", episodes=2, observation=observation)
    env = dataset.recover_environment()
    first, _ = env.reset(seed=about(dataset)[1]["seed"])
    stored = dataset[1].observations
    if isinstance(stored, dict):
        stored = [dict(zip(stored, arrays, strict=True)) for arrays in zip(*stored.values(), strict=True)]
    np.testing.assert_equal(stored[0], first)
    assert len(stored) > 1
    assert all(one in env.observation_space for one in stored)
    env.close()


def test_pictures_come_from_playing_again():
    dataset = collect_demos("fifteen", "2x2", episodes=1)
    env = dataset.recover_environment(observation="pixels")
    picture, _ = env.reset(seed=about(dataset)[0]["seed"])
    assert picture.shape == (128, 128, 3)
    env.close()


def test_the_seed_decides_and_evaluation_stays_apart(tmp_path):
    first, same, other = (
        collect_demos("net", "2x2", episodes=20, seed=seed, root=tmp_path / name)
        for name, seed in (("first", 1), ("same", 1), ("other", 2))
    )
    assert about(first) == about(same)
    assert {one["seed"] for one in about(first)}.isdisjoint(one["seed"] for one in about(other))
    for dataset in (first, other):
        assert not any(FIRST["v1"] <= one["seed"] < FIRST["v1"] + SIZE for one in about(dataset))
    with pytest.raises(ValueError, match="one of the evaluation set v1"):
        collect_demos("net", "2x2", episodes=1, seed=FIRST["v1"] + 5, root=tmp_path / "never")


def test_failures_are_left_out_or_kept():
    # Some of these games cannot be finished in so few steps.
    solved = collect_demos("fifteen", "2x2", episodes=20, seed=0, max_steps=3)
    every = collect_demos(
        "fifteen", "2x2", episodes=20, seed=0, max_steps=3, keep_failures=True, dataset_id="all/of-v1"
    )
    assert 0 < solved.total_episodes < every.total_episodes == 20
    assert [one["is_success"] for one in about(every)].count(True) == solved.total_episodes
    for episode, metadata in zip(every, about(every), strict=True):
        assert episode.terminations[-1] == metadata["is_success"]
        assert episode.truncations[-1] != metadata["is_success"]
        assert not episode.terminations[:-1].any()
        assert not episode.truncations[:-1].any()


def test_a_policy_of_one_s_own_may_play_and_give_up():
    def lazy(session):
        if session.steps == 2:
            raise pp.NoPlan("enough")
        return int(session.mask().argmax())

    dataset = collect_demos("solo", "2x2", lazy, episodes=3, keep_failures=True, dataset_id="solo/lazy-v0")
    assert dataset.storage.metadata["algorithm_name"] == "lazy"
    for episode in dataset:
        assert episode.truncations.tolist() == [False, True]
        assert not episode.terminations.any()


def test_a_game_without_a_step_is_no_episode():
    def no_idea(session):
        raise pp.NoPlan("nothing comes to mind")

    with pytest.raises(ValueError, match="no_idea solved none of 2 games"):
        collect_demos("blackbox", "w2h2m2M2", no_idea, episodes=2, keep_failures=True)


def test_a_failure_leaves_nothing_behind(root):
    with pytest.raises(ValueError, match="solved none of 3 games"):
        collect_demos("solo", "2x2", episodes=3, max_steps=1)
    assert not files_under(root)


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (6_000_000, 6_000_000))
from puzzleport.cli import main
main(["demos", "--puzzle", "solo", "--episodes", "2000", "--seed", "0", "--out", sys.argv[1]])
"""


def test_where_nothing_more_can_be_written_it_ends_in_one_line(tmp_path):
    """A limit on the size of files stands for a full disk, which the HDF5 library does not survive."""
    out = tmp_path / "out"
    done = subprocess.run([sys.executable, "-c", FULL, str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.split("\n")[-2:] == [f"puzzleport: {out}/puzzleport/solo-2x2: File too large", ""]
    assert "Traceback" not in done.stderr
    assert not out.exists()


def test_a_relative_folder_will_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dataset = collect_demos("fifteen", "2x2", episodes=40, root="demos")
    assert dataset.total_episodes == 40
    assert dataset.spec.data_path == str(tmp_path / "demos" / dataset.id / "data")


def test_minari_s_own_tools_see_it(root):
    dataset = collect_demos("fifteen", "2x2", episodes=4)
    assert list(minari.list_local_datasets()) == [dataset.id]
    assert list_local_namespaces() == ["puzzleport", "puzzleport/fifteen-2x2"]
    half, rest = minari.split_dataset(dataset, [2, 2], seed=0)
    assert half.total_steps + rest.total_steps == dataset.total_steps
    minari.delete_dataset(dataset.id)
    collect_demos("fifteen", "2x2", episodes=1)  # the place is free again


@pytest.mark.parametrize("module", ["minari", "h5py"])
def test_a_missing_framework_names_the_extra(module):
    code = f"import sys; sys.modules['{module}'] = None; import puzzleport.adapters.minari"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'puzzleport[minari]'" in done.stderr


# ---- the command


def run(*words, code=0):
    result = CliRunner().invoke(main, ["demos", *map(str, words)])
    assert result.exit_code == code, result.output
    return result


def test_the_command_writes_where_it_says(tmp_path, root, monkeypatch):
    words = ["--puzzle", "twiddle", "--episodes", "3", "--out", tmp_path / "here", "--id", "mine/twiddle-v2"]
    (row,) = json.loads(run(*words, "--json").stdout)
    assert row["dataset"] == "mine/twiddle-v2"
    assert (row["puzzle"], row["params"], row["episodes"], row["left out"]) == ("twiddle", "2x3n2", 3, 0)
    assert not root.exists()
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "here"))
    dataset = minari.load_dataset("mine/twiddle-v2")
    assert (dataset.total_episodes, dataset.total_steps) == (3, row["steps"])
    assert str(dataset.spec.data_path) == row["path"]


def test_the_command_without_options_uses_minari_s_folder(root):
    said = run("--puzzle", "fifteen", "--episodes", "2").stdout
    assert "2 episodes of fifteen 2x2" in said
    assert 'minari.load_dataset("puzzleport/fifteen-2x2/expert-v0")' in said
    assert minari.load_dataset("puzzleport/fifteen-2x2/expert-v0").total_episodes == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--puzzle fiften", "did you mean 'fifteen'"),
        ("--puzzle fifteen --level hard", "no parameter string"),
        ("--puzzle fifteen --episodes 0", "at least one episode"),
        ("--puzzle fifteen --seed -1", "a seed is"),
        (f"--puzzle fifteen --seed {FIRST['v1']}", "one of the evaluation set v1"),
        ("--puzzle fifteen --id fifteen", "a dataset id is written"),
        ("--puzzle fifteen --id ../fifteen-v0", "a dataset id is written"),
        ("--puzzle solo --episodes 1 --max-steps 1", "solved none of 1 games"),
        ("--puzzle fifteen --observation sound", "is not one of"),
        ("--episodes 1", "Missing option"),
    ],
)
def test_a_mistake_is_one_line_and_code_2(words, said, root):
    result = run(*words.split(), code=2)
    assert said in result.stderr
    assert not files_under(root)


def test_no_dataset_is_overwritten(root):
    run("--puzzle", "fifteen", "--episodes", "1")
    before = {path: path.read_bytes() for path in files_under(root)}
    assert "already" in run("--puzzle", "fifteen", "--episodes", "2", code=2).stderr
    assert {path: path.read_bytes() for path in files_under(root)} == before


def test_minaris_own_collector_records_every_info():
    """Its infos must have the same keys and shapes at every step, which ``is_success`` at the end only would break."""
    env = minari.DataCollector(gym.make("puzzleport/Fifteen-v0", params="2x2", max_steps=20), record_infos=True)
    for seed in range(3):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
            over = terminated or truncated
    dataset = env.create_dataset("puzzleport/collected-v0")
    for episode in dataset:
        assert len(episode.infos["is_success"]) == len(episode) + 1
        assert episode.infos["puzzle_state"]["tiles"].shape == (len(episode) + 1, 2, 2)
        assert not episode.infos["is_success"][:-1].any()
    env.close()
