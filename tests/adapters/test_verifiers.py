"""verifiers, in a venv of its own: real episodes against a local endpoint that plays a scripted model."""

from __future__ import annotations

import pytest

from .own_venv import python_with, run


@pytest.mark.slow
def test_episodes_of_one_turn_and_of_many(tmp_path):
    python = python_with(tmp_path / "venv", "verifiers>=0.4,<0.5")
    assert "all is well" in run(python, "verifiers_play.py")
