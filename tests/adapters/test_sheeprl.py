"""DreamerV3 of sheeprl, in a venv of its own: it brings 1.4 GB along, so only a whole run installs it."""

from __future__ import annotations

import pytest

from tests.adapters.own_venv import python_with, run


@pytest.mark.whole
def test_dreamer_learns_goes_on_and_is_evaluated(tmp_path):
    assert "all is well" in run(python_with("sheeprl"), "sheeprl_play.py", str(tmp_path / "runs"))
