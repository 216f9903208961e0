"""OpenEnv, in a venv of its own: a real server, the framework's own client."""

from __future__ import annotations

import pytest

from .own_venv import python_with, run


@pytest.mark.slow
def test_games_over_the_wire(tmp_path):
    python = python_with(tmp_path / "venv", "openenv>=0.10,<0.11", "uvicorn")
    assert "all is well" in run(python, "openenv_play.py")
