"""Run by test_sheeprl.py in a venv with sheeprl: DreamerV3 trains, goes on, is evaluated, and learns a tiny puzzle."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.adapters.sheeprl import CheckpointPolicy, checkpoints, train
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.benchmark.learned import RECIPES, read_rows
from puzzleport.cli import main

torch.set_num_threads(1)
SHORT = {"algo.learning_starts": 128, "algo.replay_ratio": 0.05}


class Stop(KeyboardInterrupt):
    """As from the keyboard: other errors of an environment make sheeprl start it anew."""


def check_runs(folder: Path) -> None:
    options = {
        "steps": 512,
        "seed": 0,
        "num_envs": 4,
        "every": 128,
        "size": "tiny",
        "settings": SHORT,
        "max_steps": 100,
    }
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
    with pytest.raises(ValueError, match="has another max_steps: 100"):
        train("fifteen", "2x2", folder=folder / "run", resume=True, **{**options, "max_steps": 50})
    spent = told(folder / "run")["cpu"]
    reports.clear()
    path = train("fifteen", "2x2", folder=folder / "run", resume=True, progress=reports.append, **options)
    assert 256 < reports[0].steps <= 320, reports[0]
    assert path == checkpoints(folder / "run")[-1]
    run = told(folder / "run")
    assert run["finished"] == "all steps are taken"
    assert run["cpu"] > spent > 0
    steps = [one["steps"] for one in run["curve"]]
    assert steps == sorted(set(steps))
    assert steps[-1] == 512
    reports.clear()
    assert train("fifteen", "2x2", folder=folder / "run", resume=True, progress=reports.append, **options) == path
    assert not reports  # nothing was left to do
    result = evaluate(CheckpointPolicy(path), "fifteen", "2x2", episodes=20, max_steps=1000)
    assert result.summary()["success_percent"] > 50
    with pytest.raises(pp.UnknownOption, match="plays fifteen 2x2 without UNDO, not net 2x2"):
        CheckpointPolicy(path).check(pp.Task("net", "2x2"))


def check_commands(folder: Path) -> None:
    words = ["train", "--algo", "dreamer", "--puzzle", "fifteen", "--level", "2x2", "--seed", "1", "--steps", "192"]
    words += [word for name, value in SHORT.items() for word in ("--set", f"{name}={value}")]
    words += ["--size", "tiny", "--observation", "pixels", "--max-steps", "100", "--episodes", "5", "--json"]
    words += ["--out", str(folder / "pixels")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output + repr(result.exception)
    (row,) = json.loads(result.stdout[result.stdout.index("[\n") :])
    assert row["puzzle"] == "fifteen"
    assert (folder / "pixels" / "results.json").exists()

    short = {**RECIPES["dreamer"].options, "set": "algo.learning_starts=128"}
    RECIPES["dreamer"] = replace(RECIPES["dreamer"], steps=192, options=short)
    words = ["table", str(folder / "table.csv"), "--puzzle", "fifteen", "--recipe", "dreamer", "--episodes", "3"]
    result = CliRunner().invoke(main, [*words, "--runs", str(folder)])
    assert result.exit_code == 0, result.output + repr(result.exception)
    (row,) = read_rows(folder / "table.csv")
    assert (row["recipe"], row["seed"], row["steps"], row["own_episodes"]) == ("dreamer", "0", "192", "3")
    assert float(row["cpu_seconds"]) > 0


def check_learning(folder: Path) -> None:
    """The return of the last episodes is far above that of random play, from which it starts; so does the checkpoint play."""
    path = train(
        "fifteen",
        "2x2",
        folder=folder / "learning",
        steps=3584,
        seed=0,
        num_envs=8,
        size="tiny",
        settings={"algo.replay_ratio": 0.25},
        max_steps=100,
        rewards=pp.Rewards(solved=1.0, step=-0.02),
    )
    curve = told(folder / "learning")["curve"]
    # The first points of the curve would flatter it: when they are told, only short episodes have ended.
    chance = evaluate("random", "fifteen", "2x2", episodes=100, max_steps=100)
    returns = [(status > 0) - 0.02 * steps for status, steps in zip(chance.status, chance.steps, strict=True)]
    assert curve[-1]["reward"] > sum(returns) / len(returns) + 0.3, curve
    learned = evaluate(CheckpointPolicy(path), "fifteen", "2x2", episodes=100, max_steps=100)
    assert sum(learned.steps) < 0.4 * sum(chance.steps)


def told(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())


if __name__ == "__main__":
    for check in (check_runs, check_commands, check_learning):
        check(Path(sys.argv[1]))
    print("all is well")
