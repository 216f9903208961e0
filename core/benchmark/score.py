"""What a run is worth: success, success within the paper's bound, and success weighted by path length, with intervals.

Success weighted by path length (SPL) is 1 for a game that was solved in no more steps than the expert's, expert / own for one
that took more, and 0 for one that was not solved. A puzzle's figure is the mean of its settings', and the overall figure the
interquartile mean of the puzzles': neither a puzzle with many settings nor one that is very easy or very hard decides it.

Intervals are 95% bootstrap intervals over instances, and over runs where there are several. They need SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..agents import ExpertPolicy
from ..errors import NoPlan
from ..session import Session, Status
from .results import bound

Array = np.ndarray[Any, Any]
MEASURES = ("success", "within_bound", "spl")
RESAMPLES = 999


def expert_steps(puzzle: str, game_id: str) -> int:
    """How many steps the expert takes for an instance; the paper's bound where it does not solve it, as by chance in Mines."""
    expert = ExpertPolicy(puzzle)
    with Session(puzzle, game_id=game_id) as session:
        try:
            while not session.ended:
                session.act(expert(session))
        except NoPlan:
            pass
        return session.steps if session.status == Status.SOLVED else bound(puzzle, game_id)


def path_weighted(solved: Array, steps: Array, expert: Array) -> Array:
    """SPL of each game."""
    return np.where(solved, expert / np.maximum(np.maximum(expert, steps), 1), 0.0)


@dataclass(frozen=True)
class Setting:
    """One puzzle with one setting of parameters: a figure for each measure, run and instance."""

    puzzle: str
    params: str
    values: Array
    """By measure, run and instance."""

    @classmethod
    def of(cls, puzzle: str, params: str, runs: Sequence[tuple[list[int], list[int]]], expert: list[int]) -> Setting:
        """From status and steps of the same instances in each run, and the expert's steps."""
        status, steps = np.array([run[0] for run in runs]), np.array([run[1] for run in runs])
        solved = status == Status.SOLVED
        within = solved & (steps <= bound(puzzle, params))
        spl = path_weighted(solved, steps, np.array(expert))
        return cls(puzzle, params, np.stack([solved.astype(float), within.astype(float), spl]))


@dataclass(frozen=True)
class Figure:
    """A mean and its interval; None where there is too little to tell one."""

    mean: float
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        low, high = self.interval or (float("nan"),) * 2
        return f"{self.mean:.3f}" + (f" [{low:.3f}, {high:.3f}]" if self.interval else "")


def figures(settings: Sequence[Setting]) -> dict[str, Figure]:
    """The measures over all settings: that of one, of a puzzle's, or of all."""
    puzzles = list(dict.fromkeys(setting.puzzle for setting in settings))
    groups = [[k for k, setting in enumerate(settings) if setting.puzzle == puzzle] for puzzle in puzzles]

    def combine(means: Array) -> float:
        """The interquartile mean over puzzles of the mean over settings."""
        each = np.sort([means[group].mean() for group in groups])
        cut = len(each) // 4
        return float(each[cut : len(each) - cut].mean())

    told = {}
    for number, measure in enumerate(MEASURES):
        values = [setting.values[number] for setting in settings]
        mean = combine(np.array([one.mean() for one in values]))
        told[measure] = Figure(mean, _interval(values, combine))
    return told


def _interval(values: Sequence[Array], combine: Callable[[Array], float]) -> tuple[float, float] | None:
    """Resample the instances of each setting, and the runs of all of them at once."""
    try:
        from scipy.stats import bootstrap
    except ImportError as error:
        raise ImportError("intervals need an extra: pip install 'puzzleport[report]'") from error
    runs = values[0].shape[0]
    if min(one.shape[1] for one in values) < 2:
        return None
    over_runs = [np.arange(runs)] if runs > 1 else []

    def statistic(*chosen: Array) -> float:
        which = chosen[0] if over_runs else slice(None)
        instances = chosen[len(over_runs) :]
        return combine(
            np.array([one[which][:, columns].mean() for one, columns in zip(values, instances, strict=True)])
        )

    data = [*over_runs, *(np.arange(one.shape[1]) for one in values)]
    found = bootstrap(data, statistic, vectorized=False, n_resamples=RESAMPLES, method="percentile", random_state=0)
    low, high = found.confidence_interval
    return float(low), float(high)
