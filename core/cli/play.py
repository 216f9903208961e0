"""The command play."""

from __future__ import annotations

import click

from ..benchmark.settings import level_params
from ..session import Session
from . import by_hand
from .common import Options, PuzzleName, in_window_or_terminal


@click.command()
@click.argument("puzzle", type=PuzzleName())
@click.argument("params", default="default")
@click.option("--seed", type=int, help="Which instance to play. Without it, any.")
@Options.where
@Options.window_size
def play(puzzle: str, params: str, seed: int | None, where: str, size: int) -> None:
    """Play by hand, with the keys of an agent or the mouse.

    PARAMS: parameters, easiest, human, default, or a game id such as 7x7#42. A window opens where there is a screen.
    """
    session = Session(puzzle, level_params(puzzle, params), seed)
    in_window_or_terminal(
        where, lambda: by_hand.in_window(session, size), lambda: by_hand.in_terminal(session), "playing"
    )
