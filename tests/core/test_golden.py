from __future__ import annotations

from ..golden_playthrough import FOLDER, playthrough


def test_play_is_what_it_was(puzzle):
    """After a wanted change, `make golden` writes the files anew: read the difference before you commit it."""
    assert playthrough(puzzle) == (FOLDER / f"{puzzle}.txt").read_text()
