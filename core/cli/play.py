"""The command play."""

from __future__ import annotations

import click

from ..benchmark.settings import level_params
from ..session import Session
from . import by_hand
from .common import PuzzleName, errors


@click.command()
@click.argument("puzzle", type=PuzzleName())
@click.argument("params", default="default")
@click.option("--seed", type=int, help="Which instance to play. Without it, any.")
@click.option("--where", type=click.Choice(["auto", "window", "terminal"]), default="auto", help="Where to play.")
@click.option("--size", default=512, help="Of the window.")
def play(puzzle: str, params: str, seed: int | None, where: str, size: int) -> None:
    """Play with the keys that an agent has, and with undo, hint and solve.

    PARAMS: parameters, easiest, human, default, or a game id such as 7x7#42. A window opens where there is a screen.
    """
    session = Session(puzzle, level_params(puzzle, params), seed)
    window = where == "window" or (where == "auto" and by_hand.has_screen())
    if window:
        try:
            by_hand.in_window(session, size)
            return
        except ImportError as error:
            if where == "window":
                raise
            errors.print(
                f"puzzleport: playing in the terminal, because there is no window: {error}",
                markup=False,
                highlight=False,
            )
    by_hand.in_terminal(session)
