"""What every field holds along long play on a board that is not square: one line per field, in tests/golden/fields.csv.

Random play, legal play and the engine's solution all count. A line tells the values that were seen and a digest of
all arrays, so that a field with width and height exchanged, or a value that never comes, is noticed by name.
Run as a module it writes the file anew.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import re
from pathlib import Path

import numpy as np

import puzzleport as pp

PATH = Path(__file__).parent / "golden" / "fields.csv"
STEPS = 400
MOST = 12
"""Up to so many values are listed; of more only the least and the greatest."""


def oblong(puzzle: str) -> str:
    """Parameters near the paper's easiest whose board is wider than high; those as they are where no board is."""
    easiest = pp.canonical_params(puzzle, pp.spec(puzzle).easiest_params)
    size = re.match(r"(\D*)(\d+)(x|h)(\d+)(.*)", easiest)
    if size is None:
        return easiest
    before, width, between, height, after = size[1], int(size[2]), size[3], int(size[4]), size[5]
    for more in ((2, 0), (1, 0), (2, 1), (3, 0), (3, 1), (4, 2), (0, 1), (0, 2)):
        params = f"{before}{width + more[0]}{between}{height + more[1]}{after}"
        try:
            if width + more[0] != height + more[1]:
                return pp.Session(puzzle, params, 0, timeout=5).params
        except pp.PuzzleError:
            continue
    return easiest


def rows(puzzle: str, params: str) -> list[list[str]]:
    """The lines of one puzzle."""
    session, random = pp.Session(puzzle, params, 0, undo=True, max_steps=0), np.random.default_rng(7)
    seen: dict[str, set[int]] = {field.name: set() for field in session.fields}
    digests = {field.name: hashlib.sha256() for field in session.fields}

    def look(fields: dict[str, np.ndarray]) -> None:
        for name, view in fields.items():
            seen[name].update(np.unique(view).tolist())
            digests[name].update(np.ascontiguousarray(view).tobytes())

    for step in range(STEPS):
        look(session.observe(copy=False))
        if session.terminated:
            session.reset(seed=step)
        session.step(int(random.integers(len(session.actions))))
    for seed in range(40):  # legal play, longer each time, and then the end of the game
        session.reset(seed=seed)
        for _ in range(10 * seed):
            if not session.terminated:
                session.step(int(random.choice(np.flatnonzero(session.mask()))))
        look(session.observe(copy=False))
        if session.spec.can_solve and not session.terminated:
            with contextlib.suppress(pp.NoSolution):  # Mines has none before its first square is opened
                session.solve()
        look(session.observe(copy=False))
    lines = []
    for field in session.fields:
        values = sorted(seen[field.name])
        shown = " ".join(map(str, values)) if len(values) <= MOST else f"{values[0]} to {values[-1]}"
        shape = "x".join(map(str, field.shape))
        lines.append([puzzle, params, field.name, shape, shown, digests[field.name].hexdigest()[:16]])
    return lines


def main() -> None:
    """Write the file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["puzzle", "params", "field", "shape", "values", "digest"])
    for puzzle in pp.puzzles():
        writer.writerows(rows(puzzle, oblong(puzzle)))
    PATH.write_text(text.getvalue())


if __name__ == "__main__":
    main()
