"""What Ray's workers play and generate is what one machine does, and one of them may die meanwhile."""

from __future__ import annotations

import csv
import itertools
import json
import operator
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial

import pytest
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.benchmark.evaluation import BLOCK, evaluate
from puzzleport.benchmark.recording import load
from puzzleport.cli import main

POLICY = """
import os, time
from pathlib import Path

def legal(observation, mask, random):
    return (random.random(mask.shape) * mask).argmax(axis=1)

def outside(observation, mask, random):
    return [99] * len(mask)

class Victim:
    "Notes which process plays which block. The first of all waits for its end."
    def start(self, batch, random):
        with open("log", "a") as log:
            block = random.bit_generator.state["state"]["state"]
            print(os.getpid(), f"{batch.params}-{block}", file=log)
        try:
            with open("victim", "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            return
        while True:
            time.sleep(1)
    def __call__(self, observation, mask, random):
        return legal(observation, mask, random)
"""
EPISODES = ("--episodes", 3 * BLOCK + 5, "--max-steps", 60, "--seed", 0)


def command(*words):
    """Runs puzzleport in a process of its own."""
    code = "import sys; sys.modules['ray'] = None if sys.argv.pop(1) == 'no' else __import__('ray'); "
    code += "from puzzleport.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


def test_a_missing_ray_is_named():
    done = command("no", "evaluate", "--backend", "ray", "--puzzle", "net")
    assert (done.returncode, done.stdout) == (2, "")
    assert "puzzleport[ray]" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_address_without_a_cluster_ends_in_one_line():
    pytest.importorskip("ray", reason="Ray is an extra of its own")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can, either
        address = f"127.0.0.1:{free.getsockname()[1]}"
        done = command("yes", "evaluate", "--backend", "ray", "--puzzle", "net", "--address", address)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"no Ray cluster at {address}" in done.stderr
    assert done.stderr.count("\n") == 1
    done = command("yes", "generate", "net", "--backend", "ray", "--address", "here", "--out", "bank.csv")
    assert done.returncode == 2
    assert "HOST:PORT or auto" in done.stderr


@pytest.fixture(scope="module")
def cluster():
    """Ray with two workers. The commands find it running, and use it."""
    pytest.importorskip("ray", reason="Ray is an extra of its own")
    from puzzleport.adapters.ray import Cluster

    with Cluster(cpus=2, chunk=3) as cluster:
        yield cluster


@pytest.fixture
def run(cluster, tmp_path, monkeypatch):
    """Runs the command in a folder that has a module of policies, on one backend or the other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "policies_for_ray.py").write_text(POLICY)

    def call(backend, *words, code=0):
        result = CliRunner().invoke(main, [str(word) for word in (*words, "--backend", backend)])
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def model(tmp_path):
    """An agent that has learned nothing yet."""
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is an extra of its own")
    from puzzleport.adapters.sb3 import sb3_vec_env

    environment = sb3_vec_env("net", "2x2", 1)
    sb3.PPO("MultiInputPolicy", environment, seed=0, device="cpu").save(tmp_path / "model.zip")
    environment.close()


@pytest.mark.parametrize("policy", ["random", "masked", "expert", "policies_for_ray:legal"])
def test_ray_plays_what_threads_play(run, tmp_path, policy):
    words = ("evaluate", "--policy", policy, "--puzzle", "fifteen,inertia,samegame", *EPISODES, "--json")
    shown = [run(backend, *words, "--out", f"{backend}.json").stdout for backend in ("threads", "ray")]
    assert shown[0] == shown[1]
    assert (tmp_path / "threads.json").read_bytes() == (tmp_path / "ray.json").read_bytes()
    assert [len(row["steps"]) for row in json.loads((tmp_path / "ray.json").read_text())["results"]] == [
        3 * BLOCK + 5
    ] * 3


@pytest.mark.parametrize("policy", ["masked", "expert", "search:50", "policies_for_ray:legal"])
def test_ray_records_what_threads_record(run, tmp_path, policy):
    some = ("--evalset", "v2", "--episodes", "20", "--max-steps", "200")
    words = ("evaluate", policy, "--puzzle", "fifteen,magnets", *some, "--record")
    for backend in ("threads", "ray"):
        run(backend, *words, f"{backend}.jsonl.gz")
    assert (tmp_path / "threads.jsonl.gz").read_bytes() == (tmp_path / "ray.jsonl.gz").read_bytes()


def test_a_model_is_sent_to_the_workers(run, model, tmp_path):
    """Of the ladder it plays what it was made for."""
    words = ("evaluate", "model.zip", "--evalset", "v2", "--max-steps", "50", "--record")
    for backend in ("threads", "ray"):
        run(backend, *words, f"{backend}.jsonl.gz")
    assert (tmp_path / "threads.jsonl.gz").read_bytes() == (tmp_path / "ray.jsonl.gz").read_bytes()
    (section,) = load(tmp_path / "ray.jsonl.gz")
    assert (section.header.puzzle, section.header.params, len(section.games)) == ("net", "2x2", 100)


def test_ray_generates_what_threads_generate(run, tmp_path):
    banks, abouts = [], []
    for backend in ("threads", "ray"):
        run(
            backend,
            "generate",
            "netslide",
            "--params",
            "2x3b1",
            "--count",
            20,
            "--seed",
            0,
            "--out",
            "taken.csv",
            "--force",
        )
        words = (
            "--params",
            "2x3b1",
            "--count",
            70,
            "--seed",
            0,
            "--apart-from",
            "taken.csv",
            "--out",
            f"{backend}.csv",
            "--json",
        )
        (about,) = json.loads(run(backend, "generate", "netslide", *words).stdout)
        with (tmp_path / f"{backend}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert all(float(row.pop("generation_ms")) > 0 for row in rows)
        assert about.pop("median generation ms") > 0
        banks.append(rows)
        abouts.append(about)
    assert banks[0] == banks[1]
    assert abouts[0] == abouts[1]
    assert len(banks[0]) == 70
    assert abouts[0]["repeated"] > 0


def test_a_killed_worker_costs_its_own_block_only(run, tmp_path):
    def kill():
        victim, log = tmp_path / "victim", tmp_path / "log"
        while not (victim.exists() and victim.read_text() and len(log.read_text().splitlines()) >= 4):
            time.sleep(0.05)
        os.kill(int(victim.read_text()), signal.SIGKILL)

    words = ("evaluate", "--puzzle", "fifteen,samegame", *EPISODES, "--name", "legal", "--json", "--policy")
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    shown = run("ray", *words, "policies_for_ray:Victim", "--out", "ray.json").stdout
    killer.join()
    assert [row["episodes"] for row in json.loads(shown)] == [3 * BLOCK + 5] * 2  # and not a word of Ray's
    run("threads", *words, "policies_for_ray:legal", "--out", "threads.json")
    assert (tmp_path / "ray.json").read_bytes() == (tmp_path / "threads.json").read_bytes()
    played = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    victim = (tmp_path / "victim").read_text()
    (lost,) = [block for process, block in played if process == victim]
    blocks = [block for _, block in played]
    assert len(set(blocks)) == 8
    assert [block for block in set(blocks) if blocks.count(block) != 1] == [lost]
    assert blocks.count(lost) == 2


def test_an_evaluation_interrupted_on_ray_goes_on_with_threads(cluster):
    options = {"episodes": 4 * BLOCK, "max_steps": 60, "seed": 0}
    kept = []

    def progress(result):
        kept.append(result)
        if len(result.steps) == 2 * BLOCK:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate("expert", "pegs", "4x4random", threads=1, workers=cluster.map, progress=progress, **options)
    assert len(kept[-1].steps) == 2 * BLOCK
    resumed = evaluate("expert", "pegs", "4x4random", known=kept[-1:], **options)
    assert resumed == evaluate("expert", "pegs", "4x4random", **options)


def test_a_mistake_in_a_worker_is_the_users_to_see(run):
    words = ("evaluate", "--policy", "policies_for_ray:outside", "--puzzle", "fifteen", "--seed", 0)
    assert run("ray", *words, code=2).stderr == run("threads", *words, code=2).stderr


def test_chunks_are_sent_ahead_for_each_cpu(cluster):
    from puzzleport.adapters.ray import AHEAD, _room

    assert [_room({"CPU": float(cpus)}) for cpus in (0, 0.5, 1, 2, 64)] == [AHEAD * cpus for cpus in (1, 1, 1, 2, 64)]
    assert _room({"memory": 1.0}) == AHEAD
    taken = []
    results = cluster.map(operator.neg, (taken.append(number) or number for number in itertools.count()))
    assert next(results) == 0
    assert len(taken) == 3 * 2 * AHEAD  # chunks of 3 for 2 CPUs
    results.close()


def test_results_before_an_error_are_given(cluster):
    divided = cluster.map(partial(operator.floordiv, 12), [1, 2, 3, 4, 0, 6])
    assert [next(divided) for _ in range(4)] == [12, 6, 4, 3]
    with pytest.raises(ZeroDivisionError):
        next(divided)


def test_a_generation_that_takes_too_long_is_said_to(cluster):
    from puzzleport.benchmark.instance_banks import generate

    with pytest.raises(pp.GenerationTimeout):
        generate("bridges", "15x15i30e10m2d2", count=3, timeout=1e-4, workers=cluster.map)
