"""What the hints of the terminal say: ``python -m tests.golden_hints`` writes tests/golden/hints.csv anew."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

import puzzleport as pp
from puzzleport.cli.by_hand import hint

PATH = Path(__file__).parent / "golden" / "hints.csv"


def rows(puzzle: str) -> list[list[str]]:
    """A hint at the start, and some after random play, on the smallest board and on a larger one."""
    about, found = pp.spec(puzzle), []
    for params, seed, steps in ((about.easiest_params, 5, 0), (about.human_params, 6, 3), (about.human_params, 7, 15)):
        session, random = pp.Session(puzzle, params, seed), np.random.default_rng(seed)
        for _ in range(steps):
            copy = session.clone()
            copy.step(int(random.choice(np.flatnonzero(session.mask()))))
            if copy.status == pp.Status.ONGOING:
                session = copy
        found.append([puzzle, params, str(seed), str(steps), hint(session)])
    return found


def main() -> None:
    """Write the file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["puzzle", "params", "seed", "steps", "hint"])
    for puzzle in pp.puzzles():
        writer.writerows(rows(puzzle))
    PATH.write_text(text.getvalue())


if __name__ == "__main__":
    main()
