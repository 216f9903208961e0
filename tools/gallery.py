"""The contact sheet of all puzzles: ``python tools/gallery.py OUTPUT.png [SIZE]``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import puzzleport as pp

COLUMNS = 8
GAP = 8


def board(puzzle: str, size: int) -> np.ndarray:
    """A game at human level that has been played at a little, so that there is something to see."""
    session = pp.Session(puzzle, pp.spec(puzzle).human_params, seed=4)
    random = np.random.default_rng(1)
    for _ in range(60):
        if session.status == pp.Status.ONGOING:
            session.step(int(random.choice(np.flatnonzero(session.mask()))))
    return session.pixels(size, size)


def sheet(size: int) -> Image.Image:
    """All boards, eight in a row."""
    names = pp.puzzles()
    cell = size + GAP
    picture = np.full((-(-len(names) // COLUMNS) * cell + GAP, COLUMNS * cell + GAP, 3), 255, np.uint8)
    for number, name in enumerate(names):
        y, x = (GAP + cell * at for at in divmod(number, COLUMNS))
        picture[y : y + size, x : x + size] = board(name, size)
    return Image.fromarray(picture)


if __name__ == "__main__":
    output = Path(sys.argv[1])
    output.parent.mkdir(parents=True, exist_ok=True)
    sheet(int(sys.argv[2]) if len(sys.argv) > 2 else 128).save(output, optimize=True)
