"""The module for browsers plays the same games as the native build, bit for bit."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

import puzzleport as pp

HERE = Path(__file__).parent
SEEDS = int(os.environ.get("PUZZLEPORT_WEB_SEEDS", "2"))  # 20 for the full run, which takes minutes
STEPS, SIDE = 200, 128


def digest(puzzle, params, seed):
    """What play_random.mjs tells of the same game."""
    session = pp.Session(puzzle, params, seed, undo=seed % 2 == 1)
    hash_ = hashlib.sha256()

    def note():
        out = session.outcome
        hash_.update(session.record())
        hash_.update(session.mask())
        hash_.update(f"{out.changed} {out.status} {out.moves} {out.repeats} {out.steps} {out.ended}".encode())
        hash_.update(session.pixels(SIDE, SIDE))

    note()
    random = seed
    for _ in range(STEPS):
        random = (random * 1664525 + 1013904223) % 2**32
        session.act((random >> 16) % len(session.actions))
        note()
    hash_.update(session.text().encode())
    hash_.update(session.game_id.encode())
    return hash_.hexdigest()


def run(node, script, *words):
    done = subprocess.run([node, script, *map(str, words)], cwd=HERE, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("puzzle", pp.puzzles())
def test_random_games_equal_native_ones(module, node, puzzle):
    found = run(node, "play_random.mjs", module, puzzle, SEEDS, STEPS, SIDE)
    about = pp.spec(puzzle)
    levels = {about.easiest_params, about.human_params}
    assert found == {f"{params}#{seed}": digest(puzzle, params, seed) for params in levels for seed in range(SEEDS)}


def test_it_is_small(module):
    size = len(gzip.compress((module / "puzzleport.wasm").read_bytes(), 9))
    assert size <= 600_000


def test_the_id_of_a_game_takes_no_memory_however_often_it_is_asked_for(module, node):
    assert run(node, "ask_again.mjs", module, 200) == {"others": [], "further": 0}
