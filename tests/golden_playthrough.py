"""One readable playthrough and one picture per puzzle. Run as a module it writes them anew into tests/golden/."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

import puzzleport as pp

from .core.test_pixels import golden

FOLDER = Path(__file__).parent / "golden"
STEPS = 24


def playthrough(puzzle: str) -> str:
    """A short game of random legal actions, and its solution."""
    about = pp.spec(puzzle)
    session = pp.Session(puzzle, about.easiest_params, seed=2026, undo=True)
    random = np.random.default_rng(40)
    lines = [
        f"{about.title}, {session.game_id}, seed {session.seed}",
        f"actions: {' '.join(session.actions)}",
        *(
            f"field: {field.name} {field.dtype}{list(field.shape)} in {field.low}..{field.high}{' (ui)' if field.is_ui else ''}"
            for field in session.fields
        ),
        "",
        session.text(),
    ]
    for number in range(1, STEPS + 1):
        legal = np.flatnonzero(session.mask())
        action = int(random.choice(legal))
        step = session.step(action)
        names = " ".join(session.actions[one] for one in legal)
        lines.append(
            f"{number}. {session.actions[action]} of [{names}] -> {step.status.name}, moves {step.moves}, "
            f"repeats {step.repeats}, hash {session.hash():016x}"
        )
        lines.append(session.text())
        if step.status != pp.Status.ONGOING:
            break
    try:
        step = session.solve()
        lines += [f"solve -> {step.status.name}", session.text()]
    except pp.NoSolution as error:
        lines.append(f"solve -> {error}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "pictures").mkdir(exist_ok=True)
    for puzzle in pp.puzzles():
        (FOLDER / f"{puzzle}.txt").write_text(playthrough(puzzle))
        Image.fromarray(golden(puzzle)).save(FOLDER / "pictures" / f"{puzzle}.png", optimize=True)


if __name__ == "__main__":
    main()
