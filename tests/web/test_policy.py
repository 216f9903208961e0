"""A trained policy says the same in the browser as in Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.agents import network, published, sight
from puzzleport.agents.token_sight import token_sight
from puzzleport.cli import main

HERE = Path(__file__).parent
STATES = 1000


def made(kind, path):
    """An agent that nobody trained, with a policy that has opinions."""
    puzzle, params = "tents", "4x4de"
    random = np.random.default_rng(1)
    layout = pp.puzzle_spec.layout(puzzle, params)
    samples, more = [], {}
    for seed in range(40):
        session = pp.Session(puzzle, params, seed)
        for _ in range(25):
            samples.append(network.numbers(layout, session.observe()))
            session.step(int(random.integers(len(session.actions))))
    if kind == "dense":
        item, value = network.dense_sight(layout, np.array(samples))
        shape = network.Shape("dense", 2, 32)
    elif kind == "tokens":
        item, value, more["bit"], cells = token_sight(puzzle, params)
        shape = network.Shape(kind, 2, 16, *cells)
    elif kind == "relative":
        item, value, more["column"], more["compared"], cells = sight.choose(puzzle, params, {params: np.array(samples)})
        shape = network.Shape(kind, 2, 16, *cells)
    else:
        item, value, cells = network.cells_sight(layout, np.array(samples))
        shape = network.Shape(kind, 2, 16, *cells)
    weights = network.initial(shape, len(session.actions), len(item), random)
    weights["policy.weight"] = weights["policy.weight"] * 200
    weights |= {"item": item, "value": value, **more}
    published.write(path, shape, weights, puzzle=puzzle, params=params, actions=session.actions)
    return path


def compare(node, module, agent, file):
    words = [node, "play_policy.mjs", str(module), str(file), str(STATES)]
    done = subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-3000:]
    theirs = np.array(json.loads(done.stdout))
    ours, random, seed = [], 1, 0
    while len(ours) < STATES:
        session = pp.Session(agent.puzzle, agent.params, seed)
        for _ in range(min(50, STATES - len(ours))):
            ours.append(agent.probabilities(session))
            random = (random * 1664525 + 1013904223) % 2**32
            session.step((random >> 16) % len(session.actions))
        seed += 1
    np.testing.assert_allclose(theirs, np.array(ours), atol=1e-4)
    np.testing.assert_array_equal(theirs.argmax(1), np.array(ours).argmax(1))


@pytest.mark.parametrize("kind", ["dense", "axial", "lines"])
def test_a_network_gives_the_same_actions(module, node, tmp_path, kind):
    path = made(kind, tmp_path / "agent.safetensors")
    done = CliRunner().invoke(main, ["export", str(path), "--out", str(tmp_path / "policy.json")])
    assert not done.exit_code, done.output
    compare(node, module, published.read(path), tmp_path / "policy.json")


@pytest.mark.parametrize("name", published.available())
def test_a_published_agent_gives_the_same_actions(module, node, tmp_path, name):
    done = CliRunner().invoke(main, ["export", name, "--out", str(tmp_path / "policy.json")])
    assert not done.exit_code, done.output
    compare(node, module, pp.agents.load(*name.rsplit("-", 1)), tmp_path / "policy.json")


@pytest.mark.parametrize("kind", ["relative", "tokens"])
def test_a_network_that_the_pages_do_not_have_is_refused(tmp_path, kind):
    path = made(kind, tmp_path / "agent.safetensors")
    done = CliRunner().invoke(main, ["export", str(path), "--out", str(tmp_path / "policy.json")])
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert f"dense, axial, lines, not {kind}" in done.output
    assert not (tmp_path / "policy.json").exists()


def test_an_export_needs_a_model():
    assert CliRunner().invoke(main, ["export", "--out", "x.json"]).exit_code == 2
    assert CliRunner().invoke(main, ["export", "no-such", "--out", "x.json"]).exit_code == 2
