"""Throughput of the Gymnasium environments, for ``puzzleport bench gymnasium``."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from puzzleport.benchmark.settings import level_params
from puzzleport.benchmark.speed import BATCH, best_of, c_loop, c_loop_all

from .gymnasium import PuzzleEnv, PuzzleVectorEnv


@dataclass(frozen=True)
class Row:
    """Steps a second of one puzzle."""

    puzzle: str
    params: str
    c_loop: float
    """The C loop: step, observe, mask."""
    c_loop_all: float
    """The same loop on every core at once."""
    env: float
    """PuzzleEnv with state observation and mask, fresh arrays."""
    env_live: float
    """The same with live buffers."""
    vector: float
    """PuzzleVectorEnv of 1,024 on all cores, live buffers."""


def env_loop(puzzle: str, params: str, seconds: float, copy: bool) -> float:
    """Random actions on one environment."""
    env = PuzzleEnv(puzzle, params, copy=copy)
    env.reset(seed=1)
    numbers = np.random.default_rng(1).integers(len(env.action_names), size=4096).tolist()
    steps = 0
    hashes = {env.session.hash()}
    started = time.perf_counter()
    end = started + seconds
    while time.perf_counter() < end:
        at = steps % 4096
        for number in numbers[at : at + 128]:
            _, _, terminated, truncated, _ = env.step(number)
            if terminated or truncated:
                env.reset()
        steps += 128
        hashes.add(env.session.hash())
    taken = time.perf_counter() - started
    env.close()
    if len(hashes) < 2:
        raise AssertionError(f"{puzzle}: the state never changed")
    return steps / taken


def vector_loop(puzzle: str, params: str, seconds: float) -> float:
    """Random actions on a vector environment of 1,024."""
    envs = PuzzleVectorEnv(puzzle, params, BATCH, copy=False)
    envs.reset(seed=1)
    random = np.random.default_rng(1)
    choices = [random.integers(len(envs.action_names), size=BATCH) for _ in range(16)]
    envs.step(choices[0])
    rounds = changed = 0
    started = time.perf_counter()
    end = started + seconds
    while time.perf_counter() < end or rounds < 4:
        envs.step(choices[rounds % 16])
        changed += int(np.count_nonzero(envs.batch.result.changed))
        rounds += 1
    taken = time.perf_counter() - started
    envs.close()
    if changed * 20 < rounds * BATCH:
        raise AssertionError(f"{puzzle}: hardly anything changed")
    return rounds * BATCH / taken


def measure(puzzle: str, level: str, seconds: float) -> Row:
    """All figures of one puzzle."""
    params = level_params(puzzle, level)
    return best_of(
        lambda: Row(
            puzzle=puzzle,
            params=params,
            c_loop=c_loop(puzzle, params, seconds, mask=True),
            c_loop_all=c_loop_all(puzzle, params, seconds),
            env=env_loop(puzzle, params, seconds, copy=True),
            env_live=env_loop(puzzle, params, seconds, copy=False),
            vector=vector_loop(puzzle, params, seconds),
        )
    )
