"""The command record: an agent's game as a film or a still."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click
import numpy as np

from ..animation import save_film, save_picture
from ..benchmark.playing import Playing
from ..benchmark.settings import level_params
from ..game_id import random_seed
from ..limits import check_size
from ..session import Session
from ..task import Task
from .by_hand import state_line
from .common import Options, OutputFile, PuzzleName, check_free, console, progress_bar


@click.command()
@Options.agent
@click.argument("puzzle", type=PuzzleName())
@click.argument("params", default="easiest")
@click.option("--gif", type=OutputFile(".gif"), help="Write a film.")
@click.option("--mp4", type=OutputFile(".mp4"), help="Write a film, with the extra video.")
@click.option("--png", type=OutputFile(".png"), help="Write the last board.")
@click.option("--seed", type=int, help="Which instance. Without it, one is drawn and printed.")
@click.option("--size", default=256, show_default=True, help="Width and height in pixels.")
@click.option("--fps", default=5.0, show_default=True, help="Steps a second.")
@click.option("--frames", "most", default=500, show_default=True, help="At most: then the film ends.")
@Options.max_steps
@Options.undo
@Options.deterministic
@Options.force
def record(
    policy: str,
    puzzle: str,
    params: str,
    gif: Path | None,
    mp4: Path | None,
    png: Path | None,
    seed: int | None,
    size: int,
    fps: float,
    most: int,
    max_steps: int,
    undo: bool,
    deterministic: bool,
    force: bool,
) -> None:
    """Film an agent that plays one game: GIF, MP4, or its last board as PNG.

    POLICY: expert, published (our trained agents), random, masked (random among legal actions), AGENT.safetensors,
    MODEL.zip (saved by Stable-Baselines3) or module:function.
    PARAMS: parameters, easiest, human, default, or a game id such as 7x7#42.
    """
    films = [path for path in (gif, mp4) if path]
    outputs = [*films, *([png] if png else [])]
    if not outputs:
        raise ValueError("say what to write: --gif FILE.gif, --mp4 FILE.mp4 or --png FILE.png")
    if not 0 < fps <= 100:
        raise ValueError(f"--fps is a number above 0 and at most 100, not {fps}")
    if most < 1:
        raise ValueError(f"--frames is a number above 0, not {most}")
    check_free(outputs, force)
    playing = Playing(policy, deterministic=deterministic)
    task = Task.of(puzzle, level_params(puzzle, params), {"undo": undo, "max_steps": max_steps})
    check_size(size, size, task.puzzle, task.params)
    playing.check(task)
    seed = random_seed() if seed is None else seed
    for path in outputs:
        path.parent.mkdir(parents=True, exist_ok=True)
    frames: list[np.ndarray] = []
    last: list[Session] = []

    def filmed() -> Iterator[Session]:
        for session in islice(playing.follow(task, seed), most):
            last[:] = [session]
            yield session

    with progress_bar() as bar:
        for session in bar.track(filmed(), total=min(most, max_steps + 1), description="filming"):
            if films or not frames:
                frames.append(session.pixels(size, size))
    if png:
        save_picture(last[0].pixels(size, size), png)
    for path in films:
        save_film(frames, path, fps=fps)
    console.print(f"{state_line(last[0])}; seed {seed}", highlight=False)
    console.print(f"written: {', '.join(map(str, outputs))}", highlight=False, markup=False, soft_wrap=True)
