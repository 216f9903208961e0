"""Throughput of the TorchRL environment, for ``puzzleport bench torchrl``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from puzzleport.batch import Batch
from puzzleport.benchmark.settings import level_params
from puzzleport.benchmark.speed import BATCH, best_of

from .torchrl import PuzzleEnv

CHOICES = 8


@dataclass(frozen=True)
class Row:
    """Steps a second of one puzzle, 1,024 games on all cores, with the same random actions."""

    puzzle: str
    params: str
    batch: float
    """Batch.step without autoreset."""
    env: float
    """EnvBase.step, with all that is seen in fresh TensorDicts."""


def choices(n_actions: int) -> list[np.ndarray]:  # type: ignore[type-arg]
    """Actions for some steps, drawn beforehand."""
    random = np.random.default_rng(1)
    return [random.integers(n_actions, size=BATCH) for _ in range(CHOICES)]


def rate(restart: Callable[[], object], steps: list[Callable[[], object]], seconds: float) -> float:
    """Steps a second, timed without the restarts: a game that is over is not stepped, and would be measured as fast."""
    taken, rounds = 0.0, 0
    while taken < seconds:
        restart()
        started = time.perf_counter()
        for step in steps:
            step()
        taken += time.perf_counter() - started
        rounds += len(steps)
    return rounds * BATCH / taken


def measure(puzzle: str, level: str, seconds: float) -> Row:
    """All figures of one puzzle."""
    params = level_params(puzzle, level)
    batch, env = Batch(puzzle, params, BATCH, autoreset="off"), PuzzleEnv(puzzle, params, BATCH)
    actions = choices(len(batch.actions))
    data = env.reset()
    batch_steps = [partial(batch.step, one) for one in actions]
    env_steps = [partial(env.step, data.copy().set("action", torch.from_numpy(one))) for one in actions]
    row = best_of(
        lambda: Row(
            puzzle=puzzle,
            params=params,
            batch=rate(lambda: batch.reset(1), batch_steps, seconds),
            env=rate(lambda: env.batch.reset(1), env_steps, seconds),
        )
    )
    batch.close()
    env.close()
    return row
