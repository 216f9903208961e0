"""The leaderboard: runs on the evaluation set v2 as small files that anyone can replay, and what they are worth.

A file of the folder ``docs/leaderboard`` is a recording from which all was left out that proves nothing: the actions of games
that were not solved, probabilities, and what else was told. ``publish`` makes one, and ``puzzleport verify`` replays it like
any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..files import aside
from ..puzzle_spec import puzzles
from .ladder import rungs
from .recording import Game, Header, Recorder, read
from .score import Setting
from .verification import Run

EVALSET = "v2"


def is_entry(run: Run) -> bool:
    """Whether all of a run was played on the evaluation set."""
    return all(result.seeds == f"evalset {EVALSET}" for result in run.results)


def publish(path: Path, target: Path) -> None:
    """Write the small form of a recording that was verified."""
    with aside(target) as part:
        recorder = Recorder(part)
        for header, games in _sections(path):
            recorder.write(header, games)


def _sections(path: Path) -> Iterator[tuple[Header, list[Game]]]:
    header, games = None, list[Game]()
    for line in read(path):
        if isinstance(line, Game):
            solved = line.status == 1
            games.append(Game(line.game, line.actions, 1, line.steps) if solved else Game(line.game, "", 0, 0))
            continue
        if header is not None:
            yield header, games
        header, games = line, []
    if header is not None:
        yield header, games


def whole_ladder(settings: Sequence[Setting]) -> list[Setting]:
    """All rungs of all puzzles. What was not played counts as not solved."""
    played = {(one.puzzle, one.params): one for one in settings}
    runs = settings[0].values.shape[1]
    return [
        played.get((name, rung.params)) or Setting.unplayed(name, rung.params, runs)
        for name in puzzles()
        for rung in rungs(name)
    ]


CLIMBED = 0.5
"""The share of games within the paper's bound from which on a rung counts as climbed."""


def height(puzzle: str, settings: Sequence[Setting]) -> int:
    """How far up a puzzle's ladder: the rungs from the lowest on of which each was climbed."""
    within = {one.params: one.values[1].mean() for one in settings if one.puzzle == puzzle}
    reached = 0
    for rung in rungs(puzzle):
        if within.get(rung.params, 0.0) < CLIMBED:
            break
        reached += 1
    return reached
