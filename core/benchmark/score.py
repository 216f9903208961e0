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
BATCH = 111
"""Resamples that are reckoned at once: all of them would fill the memory."""


def reference_steps(solved: Array, steps: Array, bound: int) -> Array:
    """What paths are weighed against: the expert's steps, and the paper's bound where it fails, as by chance in Mines."""
    return np.where(solved, steps, bound)


def expert_steps(puzzle: str, game_id: str) -> int:
    """The same for one instance, which the expert plays now."""
    expert = ExpertPolicy(puzzle)
    with Session(puzzle, game_id=game_id) as session:
        try:
            while not session.ended:
                session.act(expert(session))
        except NoPlan:
            pass
        solved = session.status == Status.SOLVED
        return int(reference_steps(np.array(solved), np.array(session.steps), bound(puzzle, game_id)))


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
    def unplayed(cls, puzzle: str, params: str, runs: int) -> Setting:
        """A setting that an agent has not played: it has solved nothing there."""
        return cls(puzzle, params, np.zeros((len(MEASURES), runs, 1)))

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

    def combine(means: Array) -> Array:
        """The interquartile mean over puzzles of the mean over settings, which come first."""
        each = np.sort([means[group].mean(axis=0) for group in groups], axis=0)
        cut = len(each) // 4
        return np.asarray(each[cut : len(each) - cut].mean(axis=0))

    told = {}
    for number, measure in enumerate(MEASURES):
        values = [setting.values[number] for setting in settings]
        mean = float(combine(np.array([one.mean() for one in values])))
        told[measure] = Figure(mean, _interval(values, combine))
    return told


def _interval(values: Sequence[Array], combine: Callable[[Array], Array]) -> tuple[float, float] | None:
    """Resample the instances of each setting, and the runs of all of them at once. A single instance stays as it is."""
    try:
        from scipy.stats import bootstrap
    except ImportError as error:
        raise ImportError("intervals need an extra: pip install 'puzzleport[report]'") from error
    runs = max(one.shape[0] for one in values)
    drawn = [k for k, one in enumerate(values) if one.shape[1] > 1]
    if not drawn:
        return None
    fixed = np.array([one.mean() for one in values])
    if all(np.ptp(values[k]) == 0 for k in drawn):  # nothing varies, and SciPy would warn of it
        mean = float(combine(fixed))
        return mean, mean
    over_runs = [np.arange(runs)] if runs > 1 else []

    def statistic(*chosen: Array, axis: int = -1) -> Array:
        which = chosen[0] if over_runs else np.zeros((*chosen[0].shape[:-1], 1), int)
        means = np.empty((len(values), *which.shape[:-1]))
        means[...] = fixed.reshape(-1, *(1,) * (means.ndim - 1))
        for k, columns in zip(drawn, chosen[len(over_runs) :], strict=True):
            means[k] = values[k][which[..., :, None], columns[..., None, :]].mean(axis=(-1, -2))
        return combine(means)

    data = [*over_runs, *(np.arange(values[k].shape[1]) for k in drawn)]
    found = bootstrap(
        data, statistic, vectorized=True, n_resamples=RESAMPLES, batch=BATCH, method="percentile", random_state=0
    )
    low, high = found.confidence_interval
    return float(low), float(high)
