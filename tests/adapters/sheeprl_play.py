"""Run by test_sheeprl.py in a venv with sheeprl: trains DreamerV3 for a few hundred steps, goes on, evaluates."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.adapters.sheeprl import CheckpointPolicy, checkpoints, train
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.cli import main

torch.set_num_threads(1)
TINY = {
    "algo.dense_units": 32,
    "algo.world_model.recurrent_model.recurrent_state_size": 32,
    "algo.world_model.transition_model.hidden_size": 32,
    "algo.world_model.representation_model.hidden_size": 32,
    "algo.world_model.discrete_size": 8,
    "algo.world_model.stochastic_size": 8,
    "algo.world_model.encoder.cnn_channels_multiplier": 2,
    "algo.per_rank_sequence_length": 16,
    "algo.per_rank_batch_size": 8,
    "algo.learning_starts": 128,
    "algo.replay_ratio": 0.05,
}


class Stop(KeyboardInterrupt):
    """As from the keyboard: other errors of an environment make sheeprl start it anew."""


def check(folder: Path) -> None:
    options = {"steps": 512, "seed": 0, "num_envs": 4, "every": 128, "settings": TINY, "max_steps": 100}
    reports = []

    def interrupt(report):
        reports.append(report)
        if report.steps >= 320:
            raise Stop

    with pytest.raises(Stop):
        train("fifteen", "2x2", folder=folder / "run", progress=interrupt, **options)
    assert [one.steps for one in reports] == [64, 128, 192, 256, 320]
    with pytest.raises(ValueError, match="--resume goes on"):
        train("fifteen", "2x2", folder=folder / "run", **options)
    with pytest.raises(ValueError, match="has another puzzle: 'fifteen'"):
        train("net", "2x2", folder=folder / "run", resume=True, **options)
    with pytest.raises(ValueError, match="has another params: '2x2'"):
        train("fifteen", "3x2", folder=folder / "run", resume=True, **options)
    reports.clear()
    path = train("fifteen", "2x2", folder=folder / "run", resume=True, progress=reports.append, **options)
    assert 256 < reports[0].steps <= 320, reports[0]
    assert path == checkpoints(folder / "run")[-1]
    result = evaluate(CheckpointPolicy(path), "fifteen", "2x2", episodes=20, max_steps=1000)
    assert result.summary()["success_percent"] > 50
    with pytest.raises(pp.UnknownOption, match="plays fifteen 2x2 without UNDO, not net 2x2"):
        CheckpointPolicy(path).check(pp.Task("net", "2x2"))

    words = ["train", "--algo", "dreamer", "--puzzle", "fifteen", "--level", "2x2", "--seed", "1", "--steps", "192"]
    words += [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
    words += [
        "--observation",
        "pixels",
        "--max-steps",
        "100",
        "--episodes",
        "5",
        "--out",
        str(folder / "pixels"),
        "--json",
    ]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output + repr(result.exception)
    (row,) = json.loads(result.stdout[result.stdout.index("[\n") :])
    assert row["puzzle"] == "fifteen"
    assert (folder / "pixels" / "run.json").exists()


if __name__ == "__main__":
    check(Path(sys.argv[1]))
    print("all is well")
