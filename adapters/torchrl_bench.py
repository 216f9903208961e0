"""Throughput of the TorchRL environment, for ``puzzleport bench torchrl``."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import torch

from puzzleport.batch import Batch
from puzzleport.benchmark.settings import level_params
from puzzleport.benchmark.speed import BATCH, best_of

from .torchrl import PuzzleEnv

CHOICES = 16


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


def batch_rate(batch: Batch, seconds: float) -> float:
    """Steps a second of a batch."""
    actions, rounds = choices(len(batch.actions)), 0
    batch.reset(1)
    started = time.perf_counter()
    while time.perf_counter() - started < seconds or not rounds:
        for action in actions:
            batch.step(action)
        rounds += CHOICES
    return rounds * BATCH / (time.perf_counter() - started)


def env_rate(env: PuzzleEnv, seconds: float) -> float:
    """Steps a second of TorchRL's environment."""
    actions, rounds = [torch.from_numpy(one) for one in choices(len(env.task.actions))], 0
    env.set_seed(1)
    data = env.reset()
    started = time.perf_counter()
    while time.perf_counter() - started < seconds or not rounds:
        for action in actions:
            data = env.step(data.set("action", action))["next"]
        rounds += CHOICES
    return rounds * BATCH / (time.perf_counter() - started)


def measure(puzzle: str, level: str, seconds: float) -> Row:
    """All figures of one puzzle."""
    params = level_params(puzzle, level)
    # Without a limit of steps: what is over is not stepped, and would be measured as fast.
    batch, env = Batch(puzzle, params, BATCH, max_steps=0, autoreset="off"), PuzzleEnv(puzzle, params, BATCH, max_steps=0)
    row = best_of(
        lambda: Row(puzzle=puzzle, params=params, batch=batch_rate(batch, seconds), env=env_rate(env, seconds))
    )
    batch.close()
    env.close()
    return row
