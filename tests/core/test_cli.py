from __future__ import annotations

import base64
import csv
import importlib
import io
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.benchmark import evaluation_sets
from puzzleport.benchmark import words as language
from puzzleport.benchmark.evaluation import BLOCK
from puzzleport.benchmark.speed import BATCH, cores, resident
from puzzleport.cli import main

POLICY = """
def legal(observation, mask, random):
    return (random.random(mask.shape) * mask).argmax(axis=1)

def outside(observation, mask, random):
    return [99] * len(mask)

class Interrupted:
    blocks = 0
    def start(self, batch, random):
        Interrupted.blocks += 1
        if Interrupted.blocks == 2:
            raise KeyboardInterrupt
    def __call__(self, observation, mask, random):
        return legal(observation, mask, random)

nothing = 5
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command in a folder that has a module of policies; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "policies_of_mine.py").write_text(POLICY)

    def call(*words, given=None, code=0):
        result = CliRunner().invoke(main, [str(word) for word in words], input=given)
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("evaluate --puzzle brigdes", "did you mean 'bridges'"),
        (
            "evaluate --puzzle fifteen --level hard",
            "'hard' is no level (easiest, human, default, paper, ladder, rung1)",
        ),
        ("evaluate --puzzle fifteen --level 2y2", "no parameter string"),
        ("train --puzzle fifteen --level paper", "'paper' is no level (easiest, human, default)"),
        ("generate fifteen --level hard --out bank.csv", "'hard' is no level (easiest, human, default)"),
        ("evaluate --puzzles fifteen", "no option --puzzles; it is called --puzzle now"),
        ("bench --puzzles fifteen", "no option --puzzles; it is called --puzzle now"),
        ("bench pixels --puzzles fifteen", "no option --puzzles; it is called --puzzle now"),
        ("evaluate --engine ray", "no option --engine; it is called --backend now"),
        ("generate fifteen --engine ray --out bank.csv", "no option --engine; it is called --backend now"),
        ("train --puzzle fifteen --envs 4", "no option --envs; it is called --num-envs now"),
        ("evaluate --policy masked-random", "which is called masked now"),
        ("evaluate --evalset v1 --seed 3 --puzzle fifteen", "a seed or an evalset, not both"),
        ("evaluate --episodes 999999999999", "at most 1,000,000 episodes"),
        ("evaluate --puzzle fifteen --max-steps 0", "needs a limit"),
        ("train --puzzle fifteen --reward solvd=2", "no reward 'solvd'; there are solved, failed, step"),
        ("train --puzzle fifteen --reward solved=much", "a reward is written NAME=NUMBER"),
        ("train --puzzle fifteen --resume", "--resume needs --out"),
        ("show fifteen --png broken.png", "broken.png exists; --force overwrites it"),
        ("show fifteen --png picture.txt", "must end in .png"),
        ("show fifteen --png broken.csv/picture.png", "broken.csv is not a folder"),
        ("generate fifteen --out broken.csv", "broken.csv exists; --force overwrites it"),
        ("generate fifteen --out folder.csv", "folder.csv is a folder"),
        ("compare good.csv --out broken.png", "broken.png exists; --force overwrites it"),
        ("evaluate --puzzle fifteen --seed -1", "a seed is"),
        ("evaluate --puzzle fifteen --episodes 0", "at least one episode"),
        ("evaluate --policy wise", "there is no policy 'wise'"),
        ("evaluate --policy nowhere_at_all:f", "No module named"),
        ("evaluate --policy policies_of_mine:absent", "cannot be loaded"),
        ("evaluate --policy policies_of_mine:nothing", "is not a function"),
        ("evaluate --policy policies_of_mine:outside --puzzle fifteen", "has the actions 0 to 3"),
        ("evaluate --policy absent.zip", "no file absent.zip"),
        ("evaluate --policy broken.zip", "no model saved by Stable-Baselines3"),
        ("evaluate --evalset v9 --puzzle fifteen", "no evaluation set 'v9'"),
        ("evaluate --out results.txt", "must end in .json or .csv"),
        ("evaluate --resume --out results.csv", "--resume needs --out"),
        ("evaluate --resume --out broken.json", "broken.json holds no results"),
        ("evaluate --out broken.json", "broken.json exists; --resume goes on with it, --force overwrites it"),
        ("compare absent.json", "absent.json: No such file"),
        ("compare broken.json", "holds no results"),
        ("compare broken.csv", "holds no results"),
        ("compare good.csv --paper Oracle", "no column 'Oracle'"),
        ("compare good.csv good.csv", "two results of random"),
        ("compare good.csv --out plot.gif", "must end in"),
        ("generate fifteen --out bank.txt", "must end in .parquet or .csv"),
        ("generate fifteen --params 2x2 --out bank.csv --apart-from broken.csv", "no bank of instances"),
        ("generate fifteen --params 2x2 --out bank.parquet --apart-from broken.parquet", "no bank of instances"),
        ("generate fifteen --count 0 --out bank.csv", "at least one instance"),
        ("evaluate --address auto", "--address is for --backend ray"),
        ("evaluate --backend ray --address auto --threads 2", "--threads is for this machine"),
        ("generate fifteen --address auto --out bank.csv", "--address is for --backend ray"),
        ("play nothing", "there is no puzzle"),
        ("play fifteen 2x2#x", "must stand behind the #"),
        ("show fifteen 2x", "no parameter string"),
        ("watch expert fifteen --fps 0", "--fps is a number above 0, not 0"),
        ("evaluate expert --policy random --puzzle fifteen", "name the agent once: expert or --policy random"),
        ("verify a.jsonl.gz b.jsonl.gz --publish c.jsonl.gz", "--publish takes one recording"),
        ("agents verify --agent nobody", "no published agent 'nobody'"),
        ("demos --puzzle fifteen,net --id a/b-v0", "--id names one dataset, but there are several puzzles"),
        ("record expert fifteen 2x2", "say what to write"),
        ("record expert fifteen 2x2 --png a.png --frames 0", "--frames is a number above 0, not 0"),
        ("record expert fifteen 2x2 --png a.png --fps 0", "--fps is a number above 0 and at most 100, not 0"),
        ("record expert fifteen 2x2 --png a.png --fps 101", "--fps is a number above 0 and at most 100, not 101"),
    ],
)
def test_a_mistake_ends_in_one_line_and_code_2(run, tmp_path, words, said):
    (tmp_path / "folder.csv").mkdir()
    for name in ("broken.zip", "broken.json", "broken.csv", "broken.parquet", "broken.png"):
        (tmp_path / name).write_text("nothing of ours")
    (tmp_path / "good.csv").write_text(
        "puzzle,params,algorithm,mean_successful_steps,success_percent\nfifteen,2x2,random,55,100\n"
    )
    result = run(*words.split(), code=2)
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("puzzleport: ")
    assert said in lines[0]
    assert not (tmp_path / "bank.csv").exists()


def titles(shown: str) -> list[str]:
    """The titles of all columns of the tables that are shown; an empty one where there is none."""
    heads = [line.split("┃")[1:-1] for line in shown.splitlines() if line.startswith("┃")]
    return [title.strip() for head in heads for title in head]


def test_lists_in_every_form(run):
    assert [row["name"] for row in json.loads(run("list", "--json").stdout)] == pp.puzzles()
    rows = list(csv.DictReader(io.StringIO(run("list", "--csv").stdout)))
    assert [row["puzzle"] for row in rows] == pp.puzzles()
    assert "Bridges" in run("list").stdout
    assert json.loads(run("show", "bridges", "--json").stdout)["title"] == "Bridges"
    fields = list(csv.DictReader(io.StringIO(run("show", "bridges", "--csv").stdout)))
    assert [row["name"] for row in fields] == [field.name for field in pp.spec("bridges").fields()]


@pytest.mark.parametrize(
    "words",
    [
        "bench --puzzle net --seconds 0.001",
        "bench pixels --puzzle net --seconds 0.001",
        "bench gymnasium --puzzle net --seconds 0.001",
        "bench resets --puzzle net --seconds 0.001",
        "bench costs --puzzle net --level largest --seconds 0.001",
        "bench crowd --puzzle net --level human --sessions 10",
        "bench paper --puzzle net --seconds 0.001",
        "bench memory --puzzle net --steps 100 --sessions 2 --pictures 64",
        "demo --all --episodes 1 --seconds 0.001",
        "evalset --puzzle net --quick",
    ],
)
def test_figures_in_every_form(run, monkeypatch, words):
    if "gymnasium" in words or "paper" in words:
        pytest.importorskip("gymnasium", reason="Gymnasium is an extra of its own")
    for form, read in (("--json", json.loads), ("--csv", lambda text: list(csv.DictReader(io.StringIO(text))))):
        rows = read(run(*words.split(), form).stdout)
        assert "net" in [row["puzzle"] for row in rows]
        assert all(row.keys() == rows[0].keys() for row in rows)
    from puzzleport.cli import common

    monkeypatch.setattr(common.console, "_width", 400)  # so that a title is one line
    shown = run(*words.split()).stdout
    assert "net" in shown
    assert all(titles(shown))
    if words.startswith("bench"):
        body = [line for line in shown.splitlines() if line[:1] in {"│", "├"}]
        for above, line in itertools.pairwise(["│", *body]):  # a line parts the mean from the puzzles
            assert line[0] == "├" or (above[0] == "├") == ("geometric mean" in line)
    if "gymnasium" in words:
        assert {f"vector {BATCH:,}", f"Batch {BATCH:,}"} <= set(titles(shown))


def test_what_all_cores_do_is_told_by_the_clock_on_the_wall_and_what_one_does_by_its_own_time(monkeypatch):
    """By two clocks of which one goes a million times as fast."""
    from puzzleport.benchmark import speed

    own, wall = itertools.count(0, 1e-3), itertools.count(0, 1e3)
    monkeypatch.setattr(speed.time, "thread_time", lambda: next(own))
    monkeypatch.setattr(speed.time, "perf_counter", lambda: next(wall))
    row = speed.measure_pixels("net", "easiest", 0.009)
    assert 0 < row.batch_all < row.batch_one / 1000


def test_the_memory_of_play_is_measured_on_ever_other_games(monkeypatch):
    from puzzleport.benchmark import speed

    seeds = []

    def play(*arguments, seed, **options):
        seeds.append(seed)
        return pp.rollout(*arguments, seed=seed, **options)

    monkeypatch.setattr(speed, "rollout", play)
    speed.memory("fifteen", "2x2", steps=30_000, sessions=1, pictures=64)
    longest = seeds[len(seeds) - seeds[::-1].index(seeds[0]) - 1 :]  # what comes after the warm-up
    assert len(longest) > 2
    assert len(set(longest)) == len(longest)


def test_a_measurement_of_no_time_makes_some_rounds_all_the_same():
    pytest.importorskip("gymnasium", reason="Gymnasium is an extra of its own")
    from puzzleport.adapters.gymnasium_bench import reset_loop, vector_loop
    from puzzleport.benchmark.speed import batch_loop, batch_pixel_loop

    assert vector_loop("net", "2x2", 0) > 0
    for threads in (0, 1):
        assert batch_loop("net", "2x2", 0, threads) > 0
        assert batch_pixel_loop("net", "2x2", 0, threads) > 0
    made = []
    assert reset_loop(made.append, 0) > 0
    assert made == [1, 2, 3]


def test_a_rate_of_games_is_games_by_the_time_they_took(monkeypatch):
    """By a clock that goes on by one at each look: one look before each game, one at the start and one at the end."""
    from puzzleport.benchmark import speed

    looks = itertools.count(100)
    monkeypatch.setattr(speed.time, "thread_time", lambda: next(looks))
    rate = speed.generate_loop("fifteen", "2x2", 10)
    took = next(looks) - 1 - 100
    assert took > 10
    assert rate == (took - 2) / took


@pytest.mark.parametrize(("kind", "games"), [("vector", BATCH), ("batch", BATCH), ("batch_pixel", 64)])
def test_a_measurement_plays_for_all_its_time_and_tells_games_by_that(monkeypatch, kind, games):
    """By a clock that goes on by one at each look: one look before each round, one at the start and one at the end."""
    pytest.importorskip("gymnasium", reason="Gymnasium is an extra of its own")
    from puzzleport.adapters.gymnasium_bench import vector_loop
    from puzzleport.benchmark import speed

    looks = itertools.count(100)
    for name in ("thread_time", "perf_counter"):
        monkeypatch.setattr(speed.time, name, lambda: next(looks))
    loops = {
        "vector": vector_loop,
        "batch": partial(speed.batch_loop, threads=1),
        "batch_pixel": partial(speed.batch_pixel_loop, threads=1),
    }
    rate = loops[kind]("net", "2x2", 80)
    took = next(looks) - 1 - 100
    assert took > 80
    assert rate == (took - 2) * games / took


def test_what_copies_cost_is_in_the_rate_with_copies_alone(monkeypatch):
    """By a clock on which each copy takes a second and all else next to nothing."""
    from puzzleport.benchmark import speed

    now = [0.0]

    def look(seconds=1e-4):
        now[0] += seconds
        return now[0]

    class Costly(pp.Session):
        def mask(self, copy=True):
            look(float(copy))
            return super().mask(copy)

        def observe(self, copy=True):
            look(float(copy))
            return super().observe(copy)

    monkeypatch.setattr(speed, "Session", Costly)
    for name in ("thread_time", "perf_counter"):
        monkeypatch.setattr(speed.time, name, look)
    row = speed.measure("fifteen", "default", 1e-3)  # too large to be solved by chance: no reset copies either
    assert row.session_copies == pytest.approx(1 / 2, rel=1e-3)  # a mask and an observation with each step
    assert row.session > 1 / 1e-3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux binds a process to cores")
def test_a_measurement_on_all_cores_is_on_those_that_the_process_may_use():
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


def test_games_take_less_memory_than_the_process_has():
    assert language.memory(["net", "tents"], "easiest", 4) < resident()


def test_evaluate_prints_what_it_writes(run, tmp_path):
    words = ("evaluate", "--puzzle", "fifteen,inertia", "--episodes", 50, "--seed", 0)
    printed = json.loads(run(*words, "--json", "--out", "a.json", "--out", "a.csv").stdout)
    assert [row["puzzle"] for row in printed] == ["fifteen", "inertia"]
    assert run(*words, "--csv", "--threads", 1).stdout == (tmp_path / "a.csv").read_text()
    stored = json.loads((tmp_path / "a.json").read_text())["results"]
    assert [len(row["steps"]) for row in stored] == [50, 50]
    assert sorted(path.name for path in tmp_path.glob("*a.*")) == ["a.csv", "a.json"]


def test_ctrl_c_keeps_what_is_done_and_resume_goes_on(run, tmp_path):
    words = ("evaluate", "--puzzle", "fifteen", "--episodes", 2 * BLOCK, "--max-steps", 30, "--name", "mine", "--json")
    result = run(*words, "--policy", "policies_of_mine:Interrupted", "--out", "a.json", code=130)
    assert "--resume goes on" in result.stderr
    assert len(json.loads((tmp_path / "a.json").read_text())["results"][0]["steps"]) == BLOCK
    resumed = run(*words, "--policy", "policies_of_mine:legal", "--out", "a.json", "--resume").stdout
    seed = json.loads(resumed)[0]["seeds"].split()[1]  # drawn by the first run, taken over by the second
    assert resumed == run(*words, "--policy", "policies_of_mine:legal", "--seed", seed).stdout
    assert resumed != run(*words, "--policy", "policies_of_mine:legal").stdout
    more = json.loads(
        run("evaluate", "--puzzle", "flip", "--episodes", 5, "--out", "a.json", "--resume", "--json").stdout
    )
    assert [row["puzzle"] for row in more] == ["flip"]
    stored = json.loads((tmp_path / "a.json").read_text())["results"]
    assert [row["puzzle"] for row in stored] == ["fifteen", "flip"]


def test_compare_in_every_form(run, tmp_path):
    words = "evaluate --puzzle fifteen,loopy,netslide --level paper --episodes 20 --max-steps 2000 --out r.json"
    run(*words.split())
    outputs = [word for name in ("c.html", "c.png", "c.svg", "c.md", "c.csv") for word in ("--out", name)]
    rows = json.loads(run("compare", "r.json", "--json", *outputs).stdout)
    assert [(row["puzzle"], row["optimal_upper_bound"]) for row in rows] == [
        ("fifteen", 256), ("loopy", 4617), ("netslide", 48), ("netslide", 90),
    ]  # fmt: skip
    assert rows[0]["Random (paper): steps"] == 54
    assert rows[0]["steps difference %"] == pytest.approx(100 * (rows[0]["random: steps"] / 54 - 1), abs=0.06)
    assert rows[1]["Random (paper): steps"] is rows[1]["steps difference %"] is None
    page = (tmp_path / "c.html").read_text()
    assert page.count('<img width="96"') == 4
    assert "<svg" in page
    for outside in ('src="http', 'href="http', "<link", "<script"):
        assert outside not in page
    assert (tmp_path / "c.png").read_bytes()[:4] == b"\x89PNG"
    lines = [line for line in (tmp_path / "c.md").read_text().splitlines() if line.startswith("|")]
    assert len(lines) == 6
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1  # or it is no table
    assert len(list(csv.DictReader((tmp_path / "c.csv").open()))) == 4
    first = (tmp_path / "c.svg").read_text()
    run("compare", "r.json", "--out", "c.svg", "--paper", "all", "--force")
    assert (tmp_path / "c.svg").read_text() != first
    assert "Random (paper)" not in run("compare", "r.json", "--paper", "none", "--csv").stdout


def test_not_run_and_not_solved_differ(run, tmp_path):
    """Fifteen was not run by the policy that solves nothing, and 3x3 is not in the paper."""
    (tmp_path / "r.csv").write_text(
        "puzzle,params,algorithm,mean_successful_steps,success_percent\n"
        "fifteen,2x2,good,5,100\nnet,2x2,good,9,100\nnet,3x3,good,9,100\nnet,2x2,bad,,0\n"
    )
    words = ("compare", "r.csv", "--paper", "Random")
    rows = {(row["puzzle"], row["params"]): row for row in json.loads(run(*words, "--json").stdout)}
    assert rows["net", "2x2"]["bad: success"] == 0
    assert rows["fifteen", "2x2"]["bad: success"] is None
    assert rows["net", "3x3"]["Random (paper): success"] is None
    run(*words, "--out", "c.md", "--out", "c.html", "--out", "c.svg")
    lines = {line.split(" | ")[0]: line for line in (tmp_path / "c.md").read_text().splitlines()}
    assert "| not run |" in lines["| fifteen"]
    assert "| - (0.0%) | 1,279 (100.0%) |" in (tmp_path / "c.md").read_text()
    assert (tmp_path / "c.html").read_text().count("<td>not run</td>") == 3


@pytest.mark.parametrize("setting", [("fifteen", "2x2"), ("loopy", "3x3t0de"), ("bridges", "7x7i5e10m2d0")])
def test_a_picture_in_a_page_has_the_size_at_which_it_is_shown(setting):
    image = pytest.importorskip("matplotlib.image", reason="pages need the extra report")
    from puzzleport.benchmark.report import _board

    width, height, data = re.fullmatch(
        r'<img width="(\d+)" height="(\d+)" alt="" src="data:image/png;base64,(.+)">', _board(setting)
    ).groups()
    assert image.imread(io.BytesIO(base64.b64decode(data))).shape[:2] == (int(height), int(width))


def test_the_plots_leave_blank_what_was_not_run(tmp_path):
    pytest.importorskip("matplotlib", reason="plots need the extra report")
    from puzzleport.benchmark.report import NOT_RUN, compare, plot

    names = ("puzzle", "params", "algorithm", "mean_successful_steps", "success_percent")
    values = [
        ("fifteen", "2x2", "good", 5.0, 100.0),
        ("net", "2x2", "good", 9.0, 100.0),
        ("net", "2x2", "bad", None, 0.0),
    ]
    figure = plot(compare([dict(zip(names, row, strict=True)) for row in values], ["Random"]))
    left, middle, right = figure.axes
    assert [text.get_text() for text in middle.texts] == ["100", NOT_RUN, "100", "100", "0", "100"]
    assert middle.images[0].get_array().mask.tolist() == [[False, True, False], [False] * 3]
    assert "no setting is solved by all" in left.get_title()
    assert "Random*" in [label.get_text() for label in right.get_legend().get_texts()]
    explained = figure.get_supxlabel()
    assert explained.startswith("* the figures that the paper prints")
    assert "bound: the paper's upper bound" in explained
    shown = [text.get_text() for text in (*left.texts, *left.get_yticklabels(), right.title, right.xaxis.label)]
    assert not [text for text in shown if "optimal" in text]


def test_the_tables_explain_their_columns(run, monkeypatch):
    said = run("evaluate", "--puzzle", "fifteen", "--episodes", 5, "--seed", 3, "--out", "r.json").stdout
    assert "bound: the paper's upper bound" in " ".join(said.split())
    assert "optimal ≤" not in said
    assert "seed 3" in said
    said = " ".join(run("compare", "r.json").stdout.split())
    for word in ("bound: the paper's upper bound", "in plots a star", '"not run": there is no result'):
        assert word in said
    from puzzleport.cli import common

    monkeypatch.setattr(common.console, "_width", 400)  # so that a title is one line
    shown = titles(run("compare", "r.json").stdout)
    assert shown[:2] == ["puzzle", "params"]
    assert all(shown)


def test_force_overwrites(run, tmp_path):
    for words in (
        ("show", "fifteen", "--png", "a.png"),
        ("generate", "fifteen", "--params", "2x2", "--count", 2, "--out", "a.csv"),
        ("evaluate", "--puzzle", "fifteen", "--episodes", 2, "--out", "a.json"),
        ("evaluate", "--puzzle", "fifteen", "--episodes", 2, "--record", "a.jsonl.gz"),
    ):
        run(*words)
        (target,) = tmp_path.glob(words[-1])
        target.write_text("old")
        run(*words, code=2)
        assert target.read_text() == "old"
        run(*words, "--force")
        assert target.read_bytes() != b"old"


def test_a_parameter_of_megabytes_ends_in_a_short_line(run):
    for words in (
        ("show", "net"),
        ("play", "net"),
        ("evaluate", "--puzzle", "net", "--level"),
        ("evaluate", "--policy"),
        ("train", "--puzzle", "net", "--reward"),
        ("train", "--puzzle", "net", "--set"),
        ("compare",),
    ):
        said = run(*words, "9" * 10_000_000, code=2).stderr
        assert len(said) < 1100
        assert said.count("\n") == 1
    for words in (
        (),
        ("bench",),
        ("evaluate", "--episodes"),
        ("train", "--algo"),
        ("evaluate", f"--{'9' * 10_000_000}"),
    ):
        assert len(run(*words, "x" * 10_000_000, code=2).stderr) < 1400


def test_generate_tells_the_seed_that_it_drew(run, tmp_path):
    (about,) = json.loads(run("generate", "net", "--count", 2, "--out", "a.csv", "--json").stdout)
    run("generate", "net", "--count", 2, "--out", "b.csv", "--seed", about["seed"])
    rows = [list(csv.DictReader((tmp_path / name).open())) for name in ("a.csv", "b.csv")]
    assert [row["game_id"] for row in rows[0]] == [row["game_id"] for row in rows[1]]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_banks_hold_distinct_instances_and_share_none(run, tmp_path, suffix):
    from puzzleport.benchmark.instance_banks import hashes

    train, test = tmp_path / f"train.{suffix}", tmp_path / f"test.{suffix}"
    run("generate", "netslide", "--params", "2x3b1", "--count", 20, "--seed", 0, "--out", train)
    about = json.loads(
        run(
            *("generate", "netslide", "--params", "2x3b1", "--count", 20, "--seed", 0),
            *("--out", test, "--apart-from", train, "--json"),
        ).stdout
    )
    assert len(set(hashes(train))) == len(set(hashes(test))) == 20
    assert not set(hashes(train)) & set(hashes(test))
    assert about[0]["in other banks"] >= 20  # the same stream: all of the training split came first
    everything = json.loads(run("generate", "fifteen", "--params", "2x2", "--out", f"all.{suffix}", "--json").stdout)
    assert (everything[0]["instances"], everything[0]["exhausted"]) == (11, True)


def test_an_instance_of_a_bank_starts_again(run, tmp_path):
    run("generate", "bridges", "--params", "7x7", "--count", 5, "--out", "bank.csv", "--threads", 1)
    rows = list(csv.DictReader((tmp_path / "bank.csv").open()))
    for row in rows:
        for session in (
            pp.Session("bridges", game_id=row["game_id"]),
            pp.Session("bridges", row["params"], int(row["seed"])),
        ):
            assert f"{session.instance_hash:016x}" == row["instance_hash"]
            assert json.loads(row["solution"])["islands"] == session.observe()["islands"].tolist()


def test_hidden_answers_are_not_in_game_ids(run, tmp_path):
    run("generate", "mines", "--params", "easiest", "--count", 3, "--out", "bank.csv")
    assert all("#" in row["game_id"] for row in csv.DictReader((tmp_path / "bank.csv").open()))


def test_play_in_the_terminal(run):
    session = pp.Session("fifteen", "2x2", seed=1)
    assert session.step("DOWN").changed
    shown = run("play", "fifteen", "2x2", "--seed", 1, "--where", "terminal", given="sxuhvuq").stdout
    assert "1 steps, 1 moves" in shown
    assert "no such key" in shown
    assert "hint: " in shown
    assert "solved by the engine" in shown
    assert session.text() in shown


def test_play_in_a_window(monkeypatch):
    pygame = pytest.importorskip("pygame", reason="a window needs the extra window")
    from puzzleport.cli.by_hand import in_window

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame.display.init()
    for key, text in ((pygame.K_DOWN, ""), (pygame.K_u, "u"), (pygame.K_DOWN, ""), (pygame.K_ESCAPE, "")):
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode=text))
    session = pp.Session("fifteen", "2x2", seed=1)
    in_window(session, 64)
    assert (session.steps, session.moves) == (2, 3)


def test_the_mouse_plays_in_a_window(monkeypatch):
    pygame = pytest.importorskip("pygame", reason="a window needs the extra window")
    from puzzleport.cli.by_hand import in_window

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame.display.init()
    pygame.event.post(pygame.event.Event(pygame.MOUSEMOTION, pos=(20, 100), buttons=(0, 0, 0)))  # nothing is dragged
    for x in range(20, 300, 20):
        for kind in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
            pygame.event.post(pygame.event.Event(kind, pos=(x, 100), button=1))
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    session = pp.Session("tents", "6x6", seed=1)
    in_window(session, 320)
    assert session.moves > 0


@pytest.mark.parametrize("puzzle", ["fifteen", "net", "untangle"])
def test_a_click_into_a_window_full_of_text_is_told_what_the_board_needs(monkeypatch, puzzle):
    pytest.importorskip("pygame", reason="a window needs the extra window")
    from puzzleport.window import LEAST_SIDE, Window

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    session, window = pp.Session(puzzle, seed=1), Window(puzzle, fps=1000, size=LEAST_SIDE)
    try:
        window.show(session, *["as many words as the window is high"] * LEAST_SIDE)
        width, height = window.picture
    finally:
        window.close()
    with pytest.raises(pp.InvalidParams, match="needs at least"):
        session.mouse("press", 1, 0, width=width, height=height)


def test_how_a_game_ended_is_told_below_the_board_from_one_side_of_the_window_to_the_other(monkeypatch):
    pygame = pytest.importorskip("pygame", reason="a window needs the extra window")
    from puzzleport.window import BANNERS, Window

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    session, window = pp.Session("fifteen", "2x2", seed=1), Window("fifteen", fps=1000, size=200)
    try:
        window.show(session)
        assert window.picture == (200, 200)
        session.solve()
        window.show(session)
        shown = pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)
        board = window.picture[1]
        assert np.array_equal(shown[:board], session.pixels(*window.picture))
        assert board < 200
        assert (shown[board] == BANNERS[session.status][1]).all()
    finally:
        window.close()


@pytest.fixture
def screen():
    """A real X server without a screen, and the environment that uses it."""
    for program in ("Xvfb", "xdotool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    pytest.importorskip("pygame", reason="a window needs the extra window")
    number = 1000 + os.getpid() % 30000
    server = subprocess.Popen(["Xvfb", f":{number}", "-screen", "0", "800x600x24"], stderr=subprocess.DEVNULL)
    yield {**os.environ, "DISPLAY": f":{number}", "SDL_AUDIODRIVER": "dummy"}
    server.terminate()
    server.wait()


def test_a_real_window_takes_clicks_and_ctrl_c(screen):
    code = (
        "import puzzleport as pp; from puzzleport.cli.by_hand import in_window; s = pp.Session('tents', '6x6', seed=1)\n"
        "import puzzleport.window as w; show = w.Window.show; told = []\n"
        "def first(*a): show(*a); told or (told.append(1), print('ready', flush=True))\n"
        "w.Window.show = first\n"
        "try: in_window(s, 480)\n"
        "finally: print(s.moves, flush=True)"
    )
    played = subprocess.Popen([sys.executable, "-c", code], env=screen, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert played.stdout.readline() == b"ready\n"
        for x in range(230, 560, 20):  # the window is in the middle of the screen
            subprocess.run(["xdotool", "mousemove", str(x), "160", "click", "1"], env=screen, check=True)
        time.sleep(1)
        played.send_signal(signal.SIGINT)
        out, _ = played.communicate(timeout=30)
    finally:
        played.kill()
    assert int(out) > 0
    assert played.returncode != 0


def test_without_a_display_a_window_ends_in_one_line(tmp_path):
    pytest.importorskip("pygame", reason="a window needs the extra window")
    without = {
        key: value for key, value in os.environ.items() if key not in {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"}
    }
    for env in (without, without | {"DISPLAY": ":54321"}):
        words = [sys.executable, "-m", "puzzleport", "play", "net", "--where", "window"]
        done = subprocess.run(words, env=env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        (line,) = done.stderr.strip().splitlines()
        assert "--where terminal needs none" in line


def in_a_terminal(words, columns=80, lines=24, keys=b""):
    """Run a command in a terminal of this size; what it printed, and its exit code."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    env = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "LINES", "DISPLAY", "NO_COLOR"}}
    env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONUTF8": "1"}
    words = [sys.executable, "-m", "puzzleport", *words]
    done = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True)
    os.close(slave)
    seen = b""
    while True:
        if keys and b"quit" in seen:  # a key before that would be flushed
            time.sleep(0.5)
            os.write(master, keys)
            keys = b""
        try:
            part = os.read(master, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not part:
            break
        seen += part
    os.close(master)
    return seen.decode(errors="replace"), done.wait(timeout=60)


def test_watch_in_a_terminal_has_colours_and_fits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen, code = in_a_terminal(["watch", "expert", "tents", "6x6", "--seed", "1", "--fps", "200"])
    assert code == 0
    assert "▀" in seen
    assert "\x1b[38;2;" in seen
    assert "SOLVED" in seen


def test_an_agent_is_watched_at_so_many_steps_a_second(monkeypatch):
    from rich.console import Console

    from puzzleport.benchmark.playing import Playing

    watch, waits = importlib.import_module("puzzleport.cli.watch"), []
    monkeypatch.setattr(watch, "console", Console(file=io.StringIO(), force_terminal=True, width=80, height=40))
    monkeypatch.setattr(watch, "can_draw", lambda _: True)
    monkeypatch.setattr(watch.time, "sleep", waits.append)
    states = Playing("expert").follow(pp.Task("fifteen", "2x2"), seed=1)
    watch._in_terminal(states, "expert", 8.0)
    assert waits == [1 / 8] * len(pp.Session("fifteen", "2x2", seed=pp.game_id.episode_seed(1, 0)).plan())


@pytest.mark.parametrize(("at_once", "by"), [(True, "quit"), (True, "q"), (False, "quit"), (False, "q")])
def test_who_watches_in_a_window_ends_it(monkeypatch, at_once, by):
    """At any step, or when the game is over and stands."""
    pygame = pytest.importorskip("pygame", reason="a window needs the extra window")
    from puzzleport.benchmark.playing import Playing
    from puzzleport.cli.watch import _in_window

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame.display.init()
    end = {
        "quit": pygame.event.Event(pygame.QUIT),
        "q": pygame.event.Event(pygame.KEYDOWN, key=pygame.K_q, unicode="q"),
    }
    seen, drawn, flip = [], [], pygame.display.flip
    monkeypatch.setattr(pygame.display, "flip", lambda: drawn.append(flip()))

    def leave():
        pygame.event.post(pygame.event.Event(pygame.VIDEOEXPOSE))
        pygame.event.post(end[by])

    def states():
        for session in Playing("expert").follow(pp.Task("fifteen", "2x2"), seed=1):
            seen.append(session.status)
            if at_once and session.steps == 1:
                leave()
            yield session
        leave()

    _in_window(states(), "expert", 1000.0, 64)
    assert (seen[-1] == pp.Status.SOLVED) == (len(seen) > 2) == (not at_once)
    # Each state after the first, and at the end once more and where the window asks for it.
    assert at_once or len(drawn) >= len(seen) + 1
    assert pygame.display.get_surface() is None


def test_without_a_screen_the_terminal_takes_over_unless_a_window_was_asked_for(monkeypatch, capsys):
    pytest.importorskip("pygame", reason="a window needs the extra window")
    from puzzleport.cli.common import in_window_or_terminal
    from puzzleport.window import NoDisplay

    def fails():
        raise NoDisplay("the display does not answer")

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    done = []
    for where, window in (("auto", lambda: done.append("window")), ("auto", fails), ("terminal", fails)):
        in_window_or_terminal(where, window, lambda: done.append("terminal"), "playing")
    assert done == ["window", "terminal", "terminal"]
    assert "playing in the terminal, because the display does not answer" in capsys.readouterr().err
    with pytest.raises(NoDisplay, match="--where terminal needs none"):
        in_window_or_terminal("window", fails, lambda: done.append("terminal"), "playing")
    assert len(done) == 3


def test_why_the_terminal_takes_over_is_one_line_however_long(monkeypatch, capsys):
    pytest.importorskip("pygame", reason="a window needs the extra window")
    from puzzleport.cli.common import in_window_or_terminal
    from puzzleport.window import NoDisplay

    why = " ".join(["no window can be opened on this display"] * 10)

    def fails():
        raise NoDisplay(why)

    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    in_window_or_terminal("auto", fails, lambda: None, "watching")
    assert capsys.readouterr().err == f"puzzleport: watching in the terminal, because {why}\n"


def test_untangle_is_a_drawing_in_the_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen, code = in_a_terminal(["play", "untangle", "6", "--seed", "1"], keys=b"q")
    assert code == 0
    assert "▀" in seen
    assert " at 128,19" not in seen


@pytest.mark.parametrize("words", ["play map 20x15n30de", "watch expert map human"])
def test_a_board_that_does_not_fit_says_what_it_needs(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    seen, code = in_a_terminal([*words.split(), "--seed", "1"], columns=40)
    assert code == 2
    said = " ".join(seen.split())
    assert "needs a terminal of at least" in said
    assert "this one has 40 and 24" in said


def test_record_writes_films_and_stills(run, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="films need the extra record")
    words = ("record", "expert", "fifteen", "2x2", "--seed", 3, "--size", 64)
    said = run(*words, "--gif", "a.gif", "--png", "a.png").stdout
    assert "SOLVED" in said
    assert "seed 3" in said
    with image.open(tmp_path / "a.gif") as film, image.open(tmp_path / "a.png") as still:
        assert film.n_frames > 1
        assert still.size == (64, 64)
        solved = pp.Session("fifteen", "2x2", seed=3)
        for action in solved.plan():
            solved.step(action)
        assert (np.asarray(still.convert("RGB")) == solved.pixels(64, 64)).all()
    assert "a.gif exists; --force overwrites it" in run(*words, "--gif", "a.gif", code=2).stderr
    assert sorted(path.name for path in tmp_path.glob("*a.*")) == ["a.gif", "a.png"]


def test_a_film_may_be_of_one_frame(run, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="films need the extra record")
    run("record", "expert", "fifteen", "2x2", "--seed", 3, "--size", 64, "--frames", 1, "--gif", "a.gif")
    with image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == 1
        assert (np.asarray(film.convert("RGB")) == pp.Session("fifteen", "2x2", seed=3).pixels(64, 64)).all()


@pytest.mark.parametrize(("name", "needs"), [("a.gif", "PIL"), ("a.mp4", "imageio_ffmpeg")])
def test_a_film_tells_how_many_pictures_it_has(tmp_path, name, needs):
    pytest.importorskip(needs, reason="films need the extras record and video")
    from puzzleport.animation import save_film

    session = pp.Session("net", "2x2", seed=1)
    for count in (1, 3):
        assert save_film([session.pixels(64, 64)] * count, tmp_path / name) == count


@pytest.mark.parametrize(("frames", "bar"), [(100, "4/4"), (4, "4/4"), (2, "2/2")])
def test_the_bar_of_a_film_ends_full(run, monkeypatch, frames, bar):
    """Three steps are four pictures."""
    pytest.importorskip("PIL", reason="pictures need the extra record")
    from rich.console import Console

    from puzzleport.cli import common

    shown = io.StringIO()
    monkeypatch.setattr(common, "errors", Console(file=shown, force_terminal=True, width=100))
    words = ("record", "random", "net", "5x5", "--seed", 1, "--size", 64, "--max-steps", 3)
    run(*words, "--frames", frames, "--png", "a.png")
    assert re.findall(r"\d+/\d+", shown.getvalue())[-1] == bar


def test_the_bar_of_an_evaluation_counts_the_episodes_of_all_settings(run, monkeypatch):
    from rich.progress import Progress

    done, update = [], Progress.update

    def updated(bar, task_id, **options):
        update(bar, task_id, **options)
        done.append((bar.tasks[task_id].completed, bar.tasks[task_id].total))

    monkeypatch.setattr(Progress, "update", updated)
    run("evaluate", "--puzzle", "fifteen,net,flip", "--episodes", BLOCK + 5, "--max-steps", 5, "--threads", 1)
    counts = [count for count, _ in done]
    assert {total for _, total in done} == {3 * (BLOCK + 5)}
    assert counts == sorted(counts)
    assert len(set(counts)) >= 3
    assert counts[-1] == 3 * (BLOCK + 5)


def test_record_writes_mp4(run, tmp_path):
    pytest.importorskip("imageio_ffmpeg", reason="MP4 needs the extra video")
    run("record", "masked", "net", "2x2", "--seed", 1, "--frames", 10, "--mp4", "a.mp4")
    assert (tmp_path / "a.mp4").read_bytes()[4:8] == b"ftyp"


def test_a_film_has_the_whole_picture_but_for_an_odd_line(tmp_path):
    """The codec takes even sizes only."""
    video = pytest.importorskip("imageio_ffmpeg", reason="MP4 needs the extra video")
    from puzzleport.animation import save_film

    picture = np.zeros((65, 99, 3), np.uint8)
    picture[:, 49:] = 255
    assert save_film([picture] * 3, tmp_path / "odd.mp4") == 3
    frames = video.read_frames(str(tmp_path / "odd.mp4"))
    assert next(frames)["size"] == (98, 64)
    shown = np.frombuffer(next(frames), np.uint8).reshape(64, 98, 3)
    assert shown[:, :45].max() < 30
    assert shown[:, 53:].min() > 225
    frames.close()


@pytest.mark.parametrize("policy", ["random", "masked", "policies_of_mine:legal"])
def test_watch_without_a_terminal_tells_how_it_ended(run, policy):
    said = run("watch", policy, "fifteen", "2x2", "--seed", 1, "--where", "terminal").stdout
    assert "SOLVED" in said
    assert said.splitlines()[-1] == "seed 1"


def test_watch_tells_the_seed_that_it_drew_with_which_the_same_game_is_seen_again(run):
    words = ("watch", "random", "samegame", "5x5c3s2", "--max-steps", 3, "--where", "terminal")
    seen = [run(*words).stdout for _ in range(3)]
    assert len(set(seen)) == 3
    for said in seen:
        assert run(*words, "--seed", said.split()[-1]).stdout == said


def test_demo_is_short_and_names_what_it_wrote(run, tmp_path, monkeypatch):
    pytest.importorskip("PIL", reason="pictures need the extra record")
    command = tmp_path / "bin" / "puzzleport"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    monkeypatch.setattr(sys, "argv", [str(command), "demo", "--out", "[red]shown"])
    said = run("demo", "--out", "[red]shown").stdout
    assert "  puzzleport play bridges  " in said  # how to call it again
    assert len(said.splitlines()) < 20
    assert max(map(len, said.splitlines())) <= 100
    assert "40 of 40 solved by the expert" in said
    for name in ("gallery.png", "tents.gif"):
        assert f"[red]shown/{name}" in said
        assert (tmp_path / "[red]shown" / name).stat().st_size > 1000


@pytest.mark.parametrize(
    ("puzzle", "params", "said"),
    [
        ("tents", "6x6", "a tent"),
        ("lightup", None, "a lamp stands"),
        ("solo", "2x2", "digit"),
        ("mines", None, "the first square is never a mine"),
    ],
)
def test_hints_are_in_plain_words_and_come_true(puzzle, params, said):
    from puzzleport.cli.by_hand import hint

    session = pp.Session(puzzle, params, seed=1)
    told = hint(session)
    assert said in told
    for key in told.rsplit(": ", 1)[1].split(", "):
        assert session.step(key).changed


@pytest.mark.parametrize(
    ("puzzle", "game_id", "said"),
    [
        ("net", "2x2:0000", "no hint: the board is as in the solution"),
        ("rect", "3x2:5_1d", "no hint: rect: solution: The solver finds no unique solution"),
    ],
)
def test_where_no_way_is_known_a_hint_says_why(puzzle, game_id, said):
    from puzzleport.cli.by_hand import hint

    assert hint(pp.Session(puzzle, game_id=game_id)) == said


def test_keys_that_cannot_be_obeyed_are_answered():
    from puzzleport.cli.by_hand import hint, press

    session = pp.Session("rect", game_id="3x2:5_1d")
    assert press(session, "v") == "rect: solve: The solver finds no unique solution"
    assert press(session, "u") == "nothing to take back"
    solved = pp.Session("fifteen", "4x4", seed=1)
    solved.solve()
    assert hint(solved) == "no hint: the game is over"
    before = solved.game_id
    assert press(solved, "n") == f"a new one: {solved.game_id}"
    assert solved.game_id != before
    assert solved.status == pp.Status.ONGOING


def test_every_puzzle_has_a_hint(puzzle):
    from puzzleport.cli.by_hand import hint

    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1)
    told = hint(session)
    assert told.startswith("hint: ")
    assert "[" not in told


def test_every_puzzle_can_be_played_by_the_keys(puzzle):
    from puzzleport.cli.by_hand import ARROWS, KEYS, help_line, press

    session = pp.Session(puzzle, seed=1)
    keys = {*ARROWS, *KEYS, "u", *"123456789"}
    reached = {ARROWS.get(key) or KEYS.get(key, key) for key in keys} | {"UNDO"}
    assert set(session.actions) <= reached
    assert "quit" in help_line(session)
    for key in sorted(keys):
        assert press(session, key) is not None


@pytest.mark.parametrize(
    "words",
    [
        "list",
        "agents list",
        "show net",
        "bench --puzzle net,tents --seconds 0.001",
        "bench pixels --puzzle net --seconds 0.001",
        "demo --all --episodes 1 --seconds 0.001",
        "compare r.csv",
        "evaluate --puzzle fifteen --episodes 3 --seed 1",
        "--help",
        "bench --help",
    ],
)
@pytest.mark.parametrize("columns", [80, 60, 40])
def test_tables_fit_and_nothing_is_cut(run, tmp_path, monkeypatch, words, columns):
    names = ("a policy with a long name", "another one", "the third", "the last of them")
    rows = [f"net,{size},{name},1234567,98.7" for name in names for size in ("2x2", "3x3")]
    (tmp_path / "r.csv").write_text(
        "puzzle,params,algorithm,mean_successful_steps,success_percent\n" + "\n".join(rows) + "\n"
    )
    from puzzleport.cli import common

    monkeypatch.setattr(common.console, "_width", columns)
    said = run(*words.split()).stdout
    assert "…" not in said
    assert "..." not in said.replace("[,NAME...]", "").replace("[ARGS]...", "").replace("RESULTS...", "")
    assert max(map(len, said.splitlines())) <= 80
    if "compare" in words:
        for name in names:
            assert all(word in said for word in name.split())
        assert said.count("1,234,567 (98.7%)") == 8


@pytest.mark.parametrize("width", [10, 30, 50, 80, 200])
def test_a_table_in_parts_has_every_column_once_and_the_first_two_in_each(width):
    from rich.table import Table

    from puzzleport.cli.common import in_parts

    names = [letter * size for letter, size in zip("abcdefghi", (3, 4, 40, 45, 5, 5, 41, 6, 3), strict=True)]
    table = Table(*names, title="of all")
    table.add_row(*names)
    assert [part.title for part in in_parts(table, width)] == ["of all", *[None] * (len(in_parts(table, width)) - 1)]
    parts = [[str(column.header) for column in part.columns] for part in in_parts(table, width)]
    assert all(part[:2] == names[:2] and part[2:] for part in parts)
    assert [name for part in parts for name in part[2:]] == names[2:]
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        room = sum(len(name) + 3 for name in part) + 1
        assert room <= width or len(part) == 3  # what does not fit stands alone
        assert after is None or room + len(after[2]) + 3 > width  # and no part is shorter than it must be


def test_completion(run):
    assert "_PUZZLEPORT_COMPLETE" in run("completion", "bash").stdout
    words = "puzzleport evaluate --puzzle net,br"
    runner = CliRunner(env={"_PUZZLEPORT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "3"})
    assert "net,bridges" in runner.invoke(main, [], prog_name="puzzleport").stdout


def test_the_frozen_set_can_be_checked(run):
    assert "are the ones that were frozen" in run("evalset", "v1", "--puzzle", "fifteen,bridges", "--quick").stdout


@pytest.mark.parametrize(
    "words",
    [
        "evaluate --policy random --puzzle net --out a.json",
        "generate net --out a.csv",
        "record expert net 2x2 --gif a.gif",
        "show net --png a.png",
        "demo",
    ],
)
def test_a_folder_that_cannot_be_written_is_said_at_once(tmp_path, words):
    # Root may write everywhere, unless this capability is taken from it.
    as_others = ["setpriv", "--bounding-set=-dac_override"] if os.geteuid() == 0 else []
    if as_others and shutil.which(as_others[0]) is None:
        pytest.skip("root needs setpriv to be as others are")
    tmp_path.chmod(0o555)
    command = [*as_others, sys.executable, "-m", "puzzleport", *words.split()]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert re.search("read-only for you|Permission denied", done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1
    assert not done.stdout


def test_a_bar_in_a_narrow_terminal_is_whole():
    seen, code = in_a_terminal(["evalset", "--puzzle", "net,tents,flip", "--quick"], columns=40)
    assert code == 0
    assert "━" in seen
    assert "…" not in seen


def test_a_shell_completes_the_last_name_of_a_list():
    from puzzleport.cli.common import PuzzleName, PuzzleNames

    def said(kind, incomplete):
        return [item.value for item in kind.shell_complete(None, None, incomplete)]

    assert said(PuzzleName(), "un") == ["undead", "unequal", "unruly", "untangle"]
    assert said(PuzzleNames(), "net,sl") == ["net,slant"]
    assert said(PuzzleNames(), "al") == ["all"]
    assert said(PuzzleNames(), "net,al") == []


def test_what_is_frozen_is_what_the_package_has(run, tmp_path):
    """As the digests of an evaluation set were made."""
    result = run("evalset", "v1", "--puzzle", "fifteen", "--freeze", tmp_path / "frozen.csv")
    assert result.exit_code == 0, result.output
    rows = (tmp_path / "frozen.csv").read_text().splitlines()
    known = (Path(evaluation_sets.__file__).parent / "sets" / "v1.csv").read_text().splitlines()
    assert [rows[0], *(row for row in known if row.startswith("fifteen,"))] == rows
    assert len(rows) == 3


def test_a_film_of_chosen_actions_leaves_the_game_alone(tmp_path):
    from PIL import Image

    from puzzleport.animation import record

    session = pp.Session("net", "2x2", seed=1)
    before = session.hash()
    assert record(session, session.plan(), tmp_path / "film.gif", width=64, height=64) == len(session.plan()) + 1
    assert session.hash() == before
    with Image.open(tmp_path / "film.gif") as film:
        solved = session.clone()
        for key in session.plan():
            solved.step(key)
        film.seek(film.n_frames - 1)
        assert np.abs(np.asarray(film.convert("RGB")).astype(int) - solved.pixels(64, 64)).mean() < 8


@pytest.mark.parametrize("suffix", ["gif", "png", "webp"])
def test_every_picture_of_a_film_stays_alike_and_the_last_one_for_a_while(tmp_path, suffix):
    """A second by the rate; the last one at least a second and a half, and that is longer only where all are."""
    image = pytest.importorskip("PIL.Image", reason="films need the extra record")
    from puzzleport.animation import save_film

    pictures = [np.full((16, 24, 3), 60 * k, np.uint8) for k in range(4)]
    for more, each in (({}, 200), ({"fps": 10}, 100), ({"fps": 0.5}, 2000)):
        path = tmp_path / f"a.{suffix}"
        assert save_film(pictures, path, **more) == 4
        with image.open(path) as film:
            assert film.n_frames == 4
            assert film.info["loop"] == 0
            found = []
            for k in range(4):
                film.seek(k)
                film.load()
                found.append(film.info["duration"])
                assert abs(int(np.asarray(film.convert("RGB"))[5, 5, 0]) - 60 * k) <= 8  # WebP is not exact
        assert found == [each] * 3 + [max(each, 1500)]


def test_a_film_of_actions_has_the_board_before_them_and_after_each(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="films need the extra record")
    with pp.Session("fifteen", "3x3", seed=2) as session:
        plan = session.plan()[:4]
        assert pp.record(session, plan, tmp_path / "a.png", width=48, height=32) == 5
        with image.open(tmp_path / "a.png") as film:
            for k in range(5):
                film.seek(k)
                assert np.array_equal(np.asarray(film.convert("RGB")), session.pixels(48, 32))
                if k < 4:
                    session.step(plan[k])


def test_a_rate_is_told_by_the_second_or_where_it_is_little_by_the_minute():
    from rich.progress import Task

    from puzzleport.cli.common import Rate

    def told(**known):
        return str(Rate().render(Task(0, "", 10, 1, _get_time=time.monotonic, **known)))

    for speed, expected in (
        (12_345.6, "12,346/s"),
        (10, "10/s"),
        (9.94, "9.9/s"),
        (1, "1.0/s"),
        (0.99, "59.4/min"),
        (0.5, "30.0/min"),
    ):
        assert told(finished_speed=speed) == expected
    assert told() == ""


def test_means_and_shares_are_told_as_the_paper_tells_them():
    from puzzleport.benchmark.report import Cell
    from puzzleport.cli.common import steps_and_success

    for mean, success, expected in (
        (1234.5, 99.95, "1,234 (100.0%)"),
        (7.6, 12.34, "8 (12.3%)"),
        (None, 0.0, "- (0.0%)"),
        (3.2, None, "3"),
    ):
        assert steps_and_success(mean, success) == expected
        assert str(Cell(mean, success)) == expected
    assert str(Cell.of(None, None)) == "- (0.0%)"  # nothing was solved
    assert str(Cell.of(5.0, None)) == "5"
    assert str(Cell(None, None)) == "-"


@pytest.mark.parametrize("width", [30, 50, 80])
def test_a_part_of_a_table_has_all_columns_that_fit(width):
    """Each column takes its text and three more, and the table one more for its last line."""
    from rich.console import Console
    from rich.table import Table

    from puzzleport.cli.common import in_parts

    table, wide = Table(), [4, 9, 5, 11, 7, 7, 3, 12]
    for number, letters in enumerate(wide):
        table.add_column("x" * letters, justify="right" if number > 1 else "left")
    table.add_row(*("1" * letters for letters in wide))
    expected = [[0, 1]]
    for number in range(2, len(wide)):
        if sum(wide[one] + 3 for one in [*expected[-1], number]) + 1 > width and len(expected[-1]) > 2:
            expected.append([0, 1])
        expected[-1].append(number)
    parts = in_parts(table, width)
    assert [[len(str(column.header)) for column in part.columns] for part in parts] == [
        [wide[number] for number in part] for part in expected
    ]
    for part, numbers in zip(parts, expected, strict=True):
        console = Console(width=200, file=io.StringIO())
        console.print(part)
        assert len(console.file.getvalue().splitlines()[0]) == sum(wide[number] + 3 for number in numbers) + 1


def test_a_place_is_told_from_the_cursor():
    """Every place of a board that is not square, from where the cursor stands now."""
    from puzzleport.cli.by_hand import _where

    with pp.Session("tents", "5x4de", seed=1) as session:
        for keys in ((), ("DOWN", "RIGHT", "RIGHT"), ("DOWN", "DOWN", "RIGHT", "RIGHT")):
            for key in keys:
                session.step(key)
            seen = session.observe()
            y, x = int(seen["cursor_y"]), int(seen["cursor_x"])
            for row, column in itertools.product(range(4), range(5)):
                ways = []
                if column != x:
                    ways.append(f"{column - x} right" if column > x else f"{x - column} left")
                if row != y:
                    ways.append(f"{row - y} down" if row > y else f"{y - row} up")
                expected = " and ".join(ways) + " of the cursor" if ways else "at the cursor"
                assert _where(session, (4, 5), (row, column)) == expected
        assert (y, x) == (3, 4)
        assert _where(session, (5,), (2,)) == "at number 3"  # people count from one
        assert _where(session, (), (0,)) == ""
    with pp.Session("fifteen", "3x3", seed=1) as session:  # it has no cursor
        assert _where(session, (3, 3), (1, 2)) == "in row 2, column 3"


def test_a_value_is_told_by_the_words_of_its_field():
    from puzzleport.cli.by_hand import _meaning

    for about, value, expected in (
        ("1 where the square is black", 1, "the square is black"),
        ("1 where the square is black", 0, "no longer: the square is black"),
        ("1 where a wire ends, else 0", 1, "a wire ends"),
        ("0 for none, 1 for tent, 2 no tent", 1, "tent"),
        ("of each edge: 0 undecided, 1 part of the loop, 2 not part of it", 2, "not part of it"),
        ("of each edge: 0 undecided, 1 part of the loop, 2 not part of it", 0, "undecided"),
        ("what is written", 12, "mark 12"),
    ):
        assert _meaning("marks", about, value) == expected
    assert _meaning("cross", "how many", 3) == "cross 3"
    assert _meaning("column_clues", "how many", 3) == "column clue 3"


@pytest.mark.parametrize("puzzle", ["tents", "map"])
def test_a_hint_shows_the_keys_up_to_the_next_move_and_no_more_than_twelve(puzzle):
    from puzzleport.cli.by_hand import MOST_KEYS, hint

    counts = set()
    with pp.Session(puzzle, pp.spec(puzzle).human_params, seed=1) as session:
        while session.status == pp.Status.ONGOING:
            copy, keys = session.clone(), []
            for action in session.plan():
                keys.append(session.actions[action])
                copy.step(action)
                if copy.moves > session.moves:
                    break
            shown = hint(session).rsplit(": ", 1)[1].split(", ")
            assert shown == (keys if len(keys) <= MOST_KEYS else [*keys[:MOST_KEYS], "..."])
            counts.add(len(keys))
            for key in keys:
                session.step(key)
    assert MOST_KEYS in counts
    assert puzzle != "map" or max(counts) > MOST_KEYS


def test_a_line_says_how_a_game_stands():
    from puzzleport.cli.by_hand import press, state_line

    with pp.Session("fifteen", "2x2", seed=1) as session:
        assert state_line(session) == "ongoing, 0 steps, 0 moves"
        plan = [session.actions[action] for action in session.plan()]
        for count, name in enumerate(plan, start=1):
            assert press(session, name) == ""
            stands = "SOLVED" if count == len(plan) else "ongoing"
            assert state_line(session, "so") == f"{stands}, {count} steps, {count} moves   so"
    with pp.Session("fifteen", "3x3", seed=1) as session:
        for key in session.actions:
            legal = session.mask()[session.actions.index(key)]
            with session.clone() as copy:
                assert press(copy, key) == ("" if legal else "no effect")
        assert press(session, "z") == "no such key"
        for key in ("q", "\x03", "\x04", "\x1b"):
            assert press(session, key) is None


def test_a_film_goes_at_its_rate_for_at_most_so_many_pictures_into_folders_that_are_made(run, tmp_path):
    image = pytest.importorskip("PIL.Image", reason="films need the extra record")
    words = ("record", "random", "fifteen", "4x4", "--seed", 3, "--size", 48, "--max-steps", 8)
    for number, (more, each, count) in enumerate(
        (((), 200, 9), (("--fps", 100), 10, 9), (("--fps", 2, "--frames", 3), 500, 3), (("--frames", 1), None, 1))
    ):
        run(*words, "--gif", f"{number}/deep/a.gif", "--png", f"{number}/b/c.png", *more)
        assert (tmp_path / f"{number}/b/c.png").exists()
        with image.open(tmp_path / f"{number}/deep/a.gif") as film:
            # What does not change between two pictures may be stored as one that stays for longer.
            length = 0
            for k in range(film.n_frames):
                film.seek(k)
                length += film.info.get("duration", 0)
            assert each is None or length == each * (count - 1) + max(each, 1500)
    for more, said in (
        (("--fps", 0), "--fps is a number above 0 and at most 100, not 0.0"),
        (("--fps", 100.5), "--fps is a number above 0 and at most 100, not 100.5"),
        (("--fps", "nan"), "--fps is a number above 0 and at most 100, not nan"),
        (("--frames", 0), "--frames is a number above 0, not 0"),
    ):
        assert said in run(*words, "--gif", "wrong.gif", *more, code=2).stderr
    assert "say what to write" in run(*words, code=2).stderr
    assert not (tmp_path / "wrong.gif").exists()


def test_agents_are_listed_with_what_their_cards_say(run, monkeypatch):
    names = pp.agents.available()
    if not names:
        pytest.skip("no agent is published yet")
    rows = json.loads(run("agents", "list", "--json").stdout)
    assert [row["agent"] for row in rows] == names
    for row in rows:
        about = pp.agents.card(row["agent"])
        assert (row["params"], row["recipe"]) == (about["params"], about["recipe"])
        for column, figure in (
            ("within_bound_percent", "within"),
            ("mean_steps", "steps"),
            ("spl", "spl"),
            ("episodes", "episodes"),
        ):
            assert row[column] == about["figures"][f"own_{figure}"]
    from puzzleport.cli import common

    monkeypatch.setattr(common.console, "_width", 400)
    shown = run("agents", "list").stdout.splitlines()
    for row in rows:
        (line,) = (one for one in shown if f" {row['agent']} " in one)
        for told in (
            row["params"],
            row["recipe"],
            f"{row['within_bound_percent']:.1f}%",
            row["mean_steps"],
            row["spl"],
        ):
            assert f" {told} " in line
    # Those that are named, in this order, and the seed where nobody gave one.
    some = names[1::-1]
    words = [word for name in some for word in ("--agent", name)]
    told = json.loads(run("agents", "verify", *words, "--episodes", 30, "--seed", 5, "--json").stdout)
    assert [(row["agent"], row["agrees"], row["episodes"]) for row in told] == [(name, True, 30) for name in some]
    shown = run("agents", "verify", *words, "--episodes", 30, "--seed", 5).stdout
    assert shown.endswith("seed 5\n")
    assert [line.split("│")[2].strip() for line in shown.splitlines() if "easiest" in line] == ["yes"] * len(some)
