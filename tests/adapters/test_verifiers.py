"""verifiers, in a venv of its own: real episodes against a local endpoint that plays a scripted model."""

from __future__ import annotations

import sys

import pytest

import puzzleport as pp

from .own_venv import python_with, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="verifiers 0.4 needs Python 3.11"),
]


@pytest.fixture(scope="module")
def python():
    return python_with("verifiers")


@pytest.mark.timeout(3600)  # where make has not installed it yet
def test_episodes_of_one_turn_and_of_many(python):
    """A harness starts a process for every turn; what the games say is tested without it."""
    assert "all is well" in run(python, "verifiers_play.py", "easiest", "mines")
    assert "all is well" in run(python, "verifiers_play.py", "human", "slant")


@pytest.mark.whole
@pytest.mark.timeout(7200)  # a harness takes seconds for each turn
def test_every_puzzle(python):
    assert "all is well" in run(python, "verifiers_play.py", "easiest,human", *pp.puzzles())
