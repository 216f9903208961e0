"""The leaderboard: every run in it is replayed, and is worth what the page says; programs and searches can take part."""

from __future__ import annotations

import csv
import gzip
import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.benchmark.evaluation_sets import evalset
from puzzleport.benchmark.ladder import rungs
from puzzleport.benchmark.leaderboard import height, is_entry, publish, whole_ladder
from puzzleport.benchmark.recording import BadRecording, Recorder, load
from puzzleport.benchmark.score import MEASURES, Figure, Setting, figures
from puzzleport.benchmark.verification import scored, verify
from puzzleport.cli import main

ROOT = Path(__file__).parents[2]
RUNS = sorted((ROOT / "docs" / "leaderboard").glob("*.jsonl.gz"))


def rows(name: str) -> list[dict[str, str]]:
    with (ROOT / "docs" / "results" / name).open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name.partition(".")[0])
def test_every_run_is_worth_what_is_told(path: Path) -> None:
    name = path.name.partition(".")[0]
    run = verify(path)
    assert is_entry(run)
    settings = scored([run])
    told = [row for row in rows("leaderboard-rungs.csv") if row["run"] == name]
    assert [(one.puzzle, one.params) for one in settings] == [(row["puzzle"], row["params"]) for row in told]
    for setting, result, row in zip(settings, run.results, told, strict=True):
        assert result.episodes == int(row["games"])
        means = setting.values.mean(axis=(1, 2))
        assert [float(row[measure]) for measure in MEASURES] == pytest.approx(means.tolist(), abs=1e-4)
    (whole,) = (row for row in rows("leaderboard.csv") if row["run"] == name)
    assert int(whole["climbed"]) == sum(height(puzzle, settings) for puzzle in pp.puzzles())
    for measure, figure in figures(whole_ladder(settings)).items():
        assert float(whole[measure]) == pytest.approx(figure.mean, abs=1e-4)
        assert f"{figure.mean:.3f}" in (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")


def test_the_expert_has_all_of_the_score_where_everything_is_seen() -> None:
    told = [row for row in rows("leaderboard-rungs.csv") if row["run"] == "expert"]
    assert len(told) == sum(len(rungs(name)) for name in pp.puzzles())
    for row in told:
        assert float(row["spl"]) == 1.0 or pp.spec(row["puzzle"]).hidden, row


def test_a_published_run_is_worth_what_the_whole_one_is(tmp_path: Path) -> None:
    path, small = tmp_path / "run.jsonl.gz", tmp_path / "small.jsonl.gz"
    arguments = ["evaluate", "masked", "--puzzle", "fifteen,net", "--evalset", "v2", "--episodes", "3"]
    assert CliRunner().invoke(main, [*arguments, "--record", str(path), "--max-steps", "300"]).exit_code == 0
    done = CliRunner().invoke(main, ["verify", str(path), "--publish", str(small), "--json"])
    assert done.exit_code == 0
    assert small.stat().st_size < path.stat().st_size / 2
    again = CliRunner().invoke(main, ["verify", str(small), "--json"])
    assert json.loads(again.stdout) == json.loads(done.stdout)
    params = [(row["puzzle"], row["params"]) for row in json.loads(done.stdout)]
    assert params[-2:] == [("all", ""), ("all", "whole ladder")]
    assert ("net", "all") in params
    # One that claims to have solved a game without its actions is refused.
    lines = [json.loads(line) for line in gzip.decompress(small.read_bytes()).splitlines()]
    next(line for line in lines if line.get("status") == 0)["status"] = 1
    small.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    with pytest.raises(BadRecording, match="solved after 0 steps is claimed"):
        verify(small)


def test_rungs_that_were_not_played_count_as_not_solved(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    evaluate("expert", "fifteen", "2x2", evalset="v2", recorder=Recorder(path))
    (setting,) = settings = scored([verify(path)])
    whole = whole_ladder(settings)
    assert len(whole) == sum(len(rungs(name)) for name in pp.puzzles())
    ladder = [one for one in whole if one.puzzle == "fifteen"]
    assert figures(ladder)["spl"].mean == pytest.approx(1 / len(ladder))
    assert height("fifteen", [setting]) == 1
    assert height("net", [setting]) == 0


def test_one_puzzle_does_not_decide_the_aggregate() -> None:
    names = pp.puzzles()[:8]
    nothing = [Setting.unplayed(name, "", 1) for name in names]
    one = Setting(names[0], "", nothing[0].values + 1)
    assert figures([one, *nothing[1:]])["spl"].mean == 0.0


def test_search_plays_shortest_ways_and_tells_its_nodes(tmp_path: Path) -> None:
    files = []
    for threads in (1, 2):
        files.append(tmp_path / f"{threads}.jsonl.gz")
        recorder = Recorder(files[-1])
        for rung in rungs("fifteen")[:2]:
            evaluate("search:500", "fifteen", rung.params, evalset="v2", episodes=4, threads=threads, recorder=recorder)
    assert files[0].read_bytes() == files[1].read_bytes()
    easy, hard = load(files[0])
    assert all(game.status == 1 and game.told["nodes"] <= 12 for game in easy.games)
    assert all(game.status == 0 and game.told["nodes"] == 500 for game in hard.games)
    shortest = evalset("v2", params_of={"fifteen": "2x2"})["fifteen"].expert_steps
    assert all(game.steps <= steps for game, steps in zip(easy.games, shortest, strict=False))
    verify(files[0])
    with pytest.raises(pp.UnknownOption, match="hidden"):
        evaluate("search:500", "mines", "4x4n2", evalset="v2")
    for wrong in ("search:", "search:-1", "search:0", "search:1e9", "search:" + "9" * 5000):
        with pytest.raises(pp.UnknownOption, match="search:NODES"):
            evaluate(wrong, "fifteen")


def test_the_example_program_takes_part(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    agent = f"program:{shlex.quote(sys.executable)} {shlex.quote(str(ROOT / 'examples' / 'stdio_agent.py'))}"
    arguments = [
        "evaluate",
        agent,
        "--puzzle",
        "fifteen",
        "--level",
        "rung1",
        "--evalset",
        "v2",
        "--name",
        "least often",
    ]
    assert CliRunner().invoke(main, [*arguments, "--record", str(path)]).exit_code == 0
    run = verify(path)
    assert run.policy == "least often"
    assert all(status == 1 for status in run.results[0].status)
    publish(path, tmp_path / "small.jsonl.gz")
    assert verify(tmp_path / "small.jsonl.gz").results == run.results


@pytest.mark.parametrize(
    ("program", "status", "steps"),
    [
        ('print(\'["DOWN", "RIGHT", 0, 2]\')', 0, 12),
        ('print("RIGHT")', 0, 12),
        ("print(4)", 0, 0),
        ("print(-1)", 0, 0),
        ("print('[]')", 0, 0),
        ("print('[[[0]]]')", 0, 0),
        ("print('{}')", 0, 0),
        ("print('true')", 0, 0),
        ("print('banana')", 0, 0),
        ("sys.exit()", 0, 0),
    ],
)
def test_what_a_program_answers(program: str, status: int, steps: int, tmp_path: Path) -> None:
    """Names, numbers and lists are taken; anything else ends the game where it stands, and the next one begins."""
    player = tmp_path / "player.py"
    player.write_text(
        f"import json, sys\nfor line in sys.stdin:\n    if json.loads(line)['done']: continue\n    {program}\n"
    )
    player.write_text(player.read_text() + "    sys.stdout.flush()\n")
    policy = f"program:{shlex.quote(sys.executable)} {shlex.quote(str(player))}"
    result = evaluate(policy, "fifteen", "3x3", episodes=2, seed=0, max_steps=12)
    assert result.status == [status] * 2
    assert result.steps == [steps] * 2
    with pytest.raises(ValueError, match="cannot be started"):
        evaluate("program:/no/such/program", "fifteen", "2x2", episodes=1, seed=0)


def test_a_puzzle_is_the_mean_of_its_settings_and_all_are_the_middle_half_of_the_puzzles() -> None:
    """With so many puzzles, a quarter of them, rounded down, is left out at either end. The settings have no spread here."""
    for count in (1, 3, 4, 7, 8, 13):
        means = [(7 * k % 13) / 13 for k in range(count)]
        settings = []
        for name, mean in zip(pp.puzzles(), means, strict=False):
            for share in (mean - 0.05, mean + 0.05):
                settings.append(Setting(name, f"{share:.3f}", np.full((len(MEASURES), 1, 2), share)))
        middle = sorted(means)[count // 4 : count - count // 4]
        for figure in figures(settings).values():
            assert figure.mean == pytest.approx(sum(middle) / len(middle))
            assert figure.interval == pytest.approx((figure.mean, figure.mean))


def test_the_measures_of_a_setting_are_those_of_each_run_and_game() -> None:
    bound = pp.puzzle_spec.optimal_steps("fifteen", "2x2")
    # Solved by the expert's steps, by fewer, by the bound's, by one more; lost; not over; and solved before the first step.
    status = [1, 1, 1, 1, -1, 0, 1]
    steps = [5, 4, bound, bound + 1, 3, 9, 0]
    expert = [5, 5, 5, 5, 5, 5, 0]
    one = Setting.of("fifteen", "2x2", [(status, steps), ([0] * 7, steps)], expert)
    assert one.values.shape == (3, 2, 7)
    assert not one.values[:, 1].any()
    solved, within, spl = one.values[:, 0]
    assert solved.tolist() == [1, 1, 1, 1, 0, 0, 1]
    assert within.tolist() == [1, 1, 1, 0, 0, 0, 1]
    assert spl[:6].tolist() == [1, 1, 5 / bound, 5 / (bound + 1), 0, 0]
    assert np.isfinite(spl).all()


def test_a_figure_is_told_with_its_interval_where_there_is_one() -> None:
    assert str(Figure(0.12345, None)) == "0.123"
    assert str(Figure(0.5, (0.25, 1.0))) == "0.500 [0.250, 1.000]"
