"""OpenEnv, in a venv of its own: a real server, the framework's own client."""

from __future__ import annotations

import pytest

import puzzleport as pp

from .own_venv import python_with, run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python():
    return python_with("openenv")


@pytest.mark.timeout(3600)  # where make has not installed it yet
def test_games_over_the_wire(python):
    """Also a thousand sessions at once, and what the server must refuse."""
    assert "all is well" in run(python, "openenv_play.py", "slant", "mines", "bridges")


@pytest.mark.whole
@pytest.mark.timeout(3600)
def test_every_puzzle(python):
    assert "all is well" in run(python, "openenv_play.py", *pp.puzzles())
