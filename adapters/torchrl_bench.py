"""Throughput of the TorchRL environment, for ``puzzleport bench torchrl``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict

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


def choices(n_actions: int) -> list[np.ndarray[Any, Any]]:
    """Actions for some steps, drawn beforehand."""
    random = np.random.default_rng(1)
    return [random.integers(n_actions, size=BATCH) for _ in range(CHOICES)]


def rate(restart: Callable[[], object], steps: Sequence[Callable[[], object]], seconds: float) -> float:
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
    inputs = [TensorDict() for _ in actions]

    def restart_env() -> None:
        # What is stepped must hold no result of an earlier step, as in a rollout: TorchRL would merge the two.
        env.batch.reset(1)
        inputs[:] = [data.copy().set("action", torch.from_numpy(one)) for one in actions]

    env_steps = [lambda at=at: env.step(inputs[at]) for at in range(len(actions))]
    row = best_of(
        lambda: Row(
            puzzle=puzzle,
            params=params,
            batch=rate(lambda: batch.reset(1), batch_steps, seconds),
            env=rate(restart_env, env_steps, seconds),
        )
    )
    batch.close()
    env.close()
    return row
