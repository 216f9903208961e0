from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

pytest.importorskip("sb3_contrib", reason="training needs the extra sb3")

import torch

from puzzleport.adapters.sb3_train import ALGORITHMS, ModelPolicy, algorithm_of, load_model, train
from puzzleport.cli import main
from puzzleport.commands.train import NAMES
from puzzleport.benchmark.evaluation import evaluate

SMALL = {"n_steps": 16, "batch_size": 16}
LSTM = {**SMALL, "policy_kwargs": {"lstm_hidden_size": 8}}
QUICK = {
    "maskable_ppo": SMALL, "ppo": SMALL, "recurrent_ppo": LSTM, "trpo": SMALL, "a2c": {},
    "dqn": {"learning_starts": 10, "buffer_size": 1000}, "qrdqn": {"learning_starts": 10, "buffer_size": 1000},
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    """These networks are too small to share out."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_the_command_knows_all_algorithms():
    assert set(NAMES) == set(ALGORITHMS)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_trains_is_recognised_and_plays(tmp_path, algorithm):
    path = train(algorithm, "fifteen", "2x2", steps=64, folder=tmp_path, envs=2, settings=QUICK[algorithm])
    assert algorithm_of(path) == algorithm
    policy = ModelPolicy(load_model(path), "fifteen", "2x2")
    one, two = (evaluate(policy, "fifteen", "2x2", episodes=12, max_steps=60, threads=n) for n in (1, 2))
    assert one == two
    assert any(one.steps)
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


@pytest.mark.parametrize("observation", ["flat", "one-hot", pytest.param("pixels", marks=pytest.mark.slow)])
def test_a_model_tells_what_it_wants_to_see(tmp_path, observation):
    path = train(
        "maskable_ppo", "pegs", "4x4random", steps=32, folder=tmp_path, envs=2, observation=observation, settings=SMALL
    )
    model = load_model(path)
    evaluate(ModelPolicy(model, "pegs", "4x4random"), "pegs", "4x4random", episodes=2, max_steps=10)
    with pytest.raises(ValueError, match=r"5 actions, pegs 6 \(without|5 actions, pegs 6 \(with"):
        ModelPolicy(model, "pegs", "4x4random", undo=True)
    if observation != "pixels":
        with pytest.raises(ValueError, match="other observations"):
            ModelPolicy(model, "pegs", "5x7cross")


class Interrupt:
    """A progress report in which the user presses Ctrl-C."""

    def __init__(self, at):
        self.at = at

    def __call__(self, steps):
        if steps >= self.at:
            raise KeyboardInterrupt


def test_an_interrupted_run_is_kept_and_resumes(tmp_path):
    options = {"folder": tmp_path, "envs": 2, "settings": SMALL}
    with pytest.raises(KeyboardInterrupt):
        train("ppo", "fifteen", "2x2", steps=256, progress=Interrupt(100), **options)
    assert json.loads((tmp_path / "run.json").read_text())["steps_done"] == 100
    with pytest.raises(ValueError, match="--resume goes on"):
        train("ppo", "fifteen", "2x2", steps=256, **options)
    with pytest.raises(ValueError, match="has another algorithm"):
        train("a2c", "fifteen", "2x2", steps=256, resume=True, **options)
    path = train("ppo", "fifteen", "2x2", steps=256, resume=True, **options)
    assert load_model(path).num_timesteps == json.loads((tmp_path / "run.json").read_text())["steps_done"] >= 256


def test_the_command_trains_and_evaluates(tmp_path):
    words = [
        "train",
        "--puzzle",
        "fifteen",
        "--steps",
        "64",
        "--envs",
        "2",
        "--set",
        "n_steps=16",
        "--set",
        "batch_size=16",
    ]
    result = CliRunner().invoke(main, [*words, "--episodes", "5", "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert "optimal ≤ 256" in result.stdout
    evaluated = CliRunner().invoke(
        main,
        [
            "evaluate",
            "--policy",
            str(tmp_path / "run" / "model.zip"),
            "--puzzles",
            "fifteen",
            "--episodes",
            "5",
            "--json",
        ],
    )
    stored = json.loads((tmp_path / "run" / "results.json").read_text())["results"][0]
    row = json.loads(evaluated.stdout)[0]
    assert row["episodes"] == len(stored["steps"]) == 5
    solved = [steps for steps, status in zip(stored["steps"], stored["status"], strict=True) if status == 1]
    assert row["success_percent"] == 100 * len(solved) / 5
    wrong = CliRunner().invoke(main, [*words[:3], "--set", "n_steps", "--out", str(tmp_path / "other")])
    assert wrong.exit_code == 2
