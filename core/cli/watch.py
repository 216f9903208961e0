"""The command watch: an agent plays, and you look on."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click
from rich.live import Live

from ..benchmark.playing import Playing
from ..benchmark.settings import level_params
from ..game_id import random_seed
from ..session import Session
from ..task import Task
from .board import Board, Drawn, can_draw
from .by_hand import LINES_BELOW, check_room, state_line
from .common import Options, PuzzleName, console, in_window_or_terminal


@click.command()
@Options.agent
@click.argument("puzzle", type=PuzzleName())
@click.argument("params", default="easiest")
@click.option("--seed", type=int, help="Which instance. Without it, one is drawn and printed.")
@click.option("--fps", default=5.0, show_default=True, help="Steps a second.")
@Options.max_steps
@Options.undo
@Options.deterministic
@Options.where
@Options.window_size
def watch(
    policy: str,
    puzzle: str,
    params: str,
    seed: int | None,
    fps: float,
    max_steps: int,
    undo: bool,
    deterministic: bool,
    where: str,
    size: int,
) -> None:
    """Watch an agent play one game, in a window or in the terminal.

    POLICY: expert, published (our trained agents), random, masked (random among legal actions), AGENT.safetensors,
    MODEL.zip (saved by Stable-Baselines3) or module:function.
    PARAMS: parameters, easiest, human, default, or a game id such as 7x7#42.
    """
    if not fps > 0:
        raise ValueError(f"--fps is a number above 0, not {fps}")
    playing = Playing(policy, deterministic=deterministic)
    task = Task.of(puzzle, level_params(puzzle, params), {"undo": undo, "max_steps": max_steps})
    playing.check(task)
    seed = random_seed() if seed is None else seed
    states = playing.follow(task, seed)
    in_window_or_terminal(
        where, lambda: _in_window(states, policy, fps, size), lambda: _in_terminal(states, policy, fps), "watching"
    )
    console.print(f"seed {seed}", highlight=False)


def _in_terminal(states: Iterator[Session], policy: str, fps: float) -> None:
    """Step by step in colours; where the terminal has none, the last board as text."""
    session = next(states)
    title = f"{session.spec.title} {session.params}, {policy}"
    if not can_draw(console):
        for _ in states:
            pass
        console.print(f"{title}: {state_line(session)}\n{session.text()}", highlight=False, markup=False)
        return
    check_room(session, console)
    board = Board(session, console.width, console.height - LINES_BELOW)
    with Live(Drawn(board, session, title), console=console, auto_refresh=False) as live:
        for _ in states:
            time.sleep(1 / fps)
            live.update(Drawn(board, session, f"{title}: {state_line(session)}"), refresh=True)


def _in_window(states: Iterator[Session], policy: str, fps: float, size: int) -> None:
    """Step by step in a window, which stays until it is closed."""
    from ..window import Window

    session = next(states)
    window = Window(f"{session.spec.title}: {policy}", fps=60, size=size)
    try:
        for _ in states:
            window.show(session, state_line(session), "Q: quit")
            for event in window.events(patience=1 / fps):
                if event.kind == "quit" or event.key == "q":
                    return
        window.show(session, state_line(session), "Q: quit")
        for event in window.events():
            if event.kind == "quit" or event.key == "q":
                return
            window.show(session, state_line(session), "Q: quit")
    finally:
        window.close()
