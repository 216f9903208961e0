from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_screen_is_needed(monkeypatch):
    """Frameworks' own checkers open a window for ``render_mode="human"``: here on no display."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
