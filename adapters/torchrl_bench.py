"""Throughput of the TorchRL environment, for ``puzzleport bench torchrl``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict, TensorDictBase

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
    floor: float
    """The environment's step over it, always with the same TensorDict: what is left without making tensors."""
    env: float
    """The environment's step, with all that is seen in fresh TensorDicts."""


class Floor(PuzzleEnv):
    """Steps the batch, and hands out the one TensorDict that was made for the first step."""

    made: TensorDictBase | None = None

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        if self.made is None:
            self.made = super()._step(tensordict)
        else:
            self.batch.step(tensordict.get("action").numpy())
        return self.made


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


def env_player(
    env: PuzzleEnv, actions: list[np.ndarray[Any, Any]]
) -> tuple[Callable[[], None], list[Callable[[], object]]]:
    """What starts an environment again, and its steps."""
    data = env.reset()
    inputs = [TensorDict() for _ in actions]

    def restart() -> None:
        # What is stepped must hold no result of an earlier step, as in a rollout: TorchRL would merge the two.
        env.batch.reset(1)
        inputs[:] = [data.copy().set("action", torch.from_numpy(one)) for one in actions]

    def step(at: int) -> object:
        return env.step(inputs[at])

    return restart, [partial(step, at) for at in range(len(actions))]


def measure(puzzle: str, level: str, seconds: float) -> Row:
    """All figures of one puzzle."""
    params = level_params(puzzle, level)
    batch = Batch(puzzle, params, BATCH, autoreset="off")
    envs = PuzzleEnv(puzzle, params, BATCH), Floor(puzzle, params, BATCH)
    actions = choices(len(batch.actions))
    steps = [partial(batch.step, one) for one in actions]
    env, floor = (env_player(one, actions) for one in envs)
    row = best_of(
        lambda: Row(
            puzzle=puzzle,
            params=params,
            batch=rate(lambda: batch.reset(1), steps, seconds),
            floor=rate(*floor, seconds),
            env=rate(*env, seconds),
        )
    )
    for one in (batch, *envs):
        one.close()
    return row
