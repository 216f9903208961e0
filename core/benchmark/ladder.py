"""The ladder: for each puzzle several rungs of parameters, each harder than the one below.

Harder means that the expert's way is longer in the median; in Cube, Flip and Sixteen, that there are more positions to
search. ``tools/ladder.py`` measured and chose them, ``docs/results/rungs.csv`` has all that was measured of the rungs, and
``docs/results/ladder.csv`` what was measured of all candidates.

    >>> rungs("fifteen")[0].params
    '2x2'
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ..puzzle_spec import spec

MOST_RUNGS = 8


@dataclass(frozen=True)
class Rung:
    """One rung of a puzzle's ladder."""

    puzzle: str
    number: int
    """From 1, the paper's easiest."""
    params: str
    level: str
    """Where the parameters come from: ``easiest`` and ``human`` are the paper's."""
    expert_steps: int
    """The median length of the expert's way, on the instances of the evaluation set v2."""
    measure: str
    """What rises from rung to rung: ``expert steps`` or ``positions``."""
    hardness: int
    """That measure."""
    few_instances: bool
    """Whether there are so few instances that an agent may know them by heart."""


def rungs(puzzle: str) -> tuple[Rung, ...]:
    """The ladder of a puzzle, from the lowest rung."""
    name = spec(puzzle).name
    return tuple(rung for rung in _ladder() if rung.puzzle == name)


def rung(puzzle: str, number: int) -> Rung:
    """One rung, or ValueError."""
    ladder = rungs(puzzle)
    if not 1 <= number <= len(ladder):
        raise ValueError(f"{puzzle} has the rungs 1 to {len(ladder)}, not {number}")
    return ladder[number - 1]


def climb(puzzle: str, number: int) -> tuple[tuple[Rung, ...], Rung]:
    """The split for generalisation: the rungs below one, to train on, and that one, to test on."""
    top = rung(puzzle, number)
    if number < 2:
        raise ValueError(f"{puzzle}: there is no rung below the first to train on")
    return rungs(puzzle)[: number - 1], top


@cache
def _ladder() -> tuple[Rung, ...]:
    with files(__package__).joinpath("sets/ladder.csv").open(encoding="utf-8") as source:
        return tuple(
            Rung(
                row["puzzle"],
                int(row["rung"]),
                row["params"],
                row["level"],
                int(row["expert_steps"]),
                row["measure"],
                int(row["hardness"]),
                row["few_instances"] == "1",
            )
            for row in csv.DictReader(source)
        )
