"""Throughput of the Gymnasium environments, for ``puzzleport bench gymnasium``."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import cycle
from typing import Any

import gymnasium as gym
import numpy as np

import puzzleport as pp
from puzzleport.benchmark import paper_speed
from puzzleport.benchmark.speed import BATCH, batch_loop, best_of, c_loop, c_loop_all, level_params, python_loop

from .gymnasium import PuzzleEnv, PuzzleVectorEnv, env_id


@dataclass(frozen=True)
class Row:
    """Steps a second of one puzzle."""

    puzzle: str
    params: str
    c_loop: float
    """The C loop: step, observe, mask."""
    c_loop_all: float
    """The same loop on every core at once."""
    session: float
    """Session.step from Python, with copies of mask and observation."""
    env: float
    """PuzzleEnv with state observation and mask, fresh arrays."""
    env_live: float
    """The same with live buffers."""
    vector: float
    """PuzzleVectorEnv of 1,024 on all cores, live buffers."""
    batch: float
    """Batch of 1,024 on all cores."""


def env_loop(env: gym.Env[Any, Any], seconds: float) -> float:
    """Steps a second with random actions on one environment, which is closed then."""
    base: PuzzleEnv = env.unwrapped  # type: ignore[assignment]
    with contextlib.closing(env):
        blocks = np.random.default_rng(1).integers(len(base.action_names), size=(32, 128)).tolist()
        env.reset(seed=1)
        env.step(blocks[0][0])  # gym.make's wrappers check the first one
        env.reset(seed=1)
        steps = 0
        hashes = {base.session.hash()}
        started = time.thread_time()
        end = started + seconds
        for block in cycle(blocks):
            if time.thread_time() >= end:
                break
            for number in block:
                _, _, terminated, truncated, _ = env.step(number)
                if terminated or truncated:
                    env.reset()
            steps += len(block)
            hashes.add(base.session.hash())
        taken = time.thread_time() - started
    if len(hashes) < 2:
        raise AssertionError(f"{base.task.puzzle}: the state never changed")
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
            session=python_loop(puzzle, params, seconds, copy=True),
            env=env_loop(PuzzleEnv(puzzle, params), seconds),
            env_live=env_loop(PuzzleEnv(puzzle, params, copy=False), seconds),
            vector=vector_loop(puzzle, params, seconds),
            batch=batch_loop(puzzle, params, seconds, threads=0),
        )
    )


@dataclass(frozen=True)
class Resets:
    """Microseconds that a reset of one puzzle takes."""

    puzzle: str
    params: str
    session: float
    """Session.reset with a seed, processor time."""
    seeded: float
    """PuzzleEnv.reset with the same seeds."""
    env: float
    """PuzzleEnv.reset without a seed, one after the other, on the thread that calls it; games are not made ahead."""
    wait: float
    """How long the caller waits for a reset after 5 milliseconds away, by the clock, where games are not made ahead."""
    wait_ahead: float
    """The same where they are: the work is done by another thread meanwhile."""


def reset_loop(reset: Callable[[int], object], seconds: float) -> float:
    """Microseconds of processor time for a reset."""
    number = 0
    started = time.thread_time()
    while time.thread_time() - started < seconds or number < 3:
        number += 1
        reset(number)
    return 1e6 * (time.thread_time() - started) / number


def resets_in_play(env: gym.Env[Any, Any], seconds: float) -> float:
    """Resets a second of waiting for them, by the clock, each after 1,000 random steps, on an environment that is closed then."""
    base: PuzzleEnv = env.unwrapped  # type: ignore[assignment]
    with contextlib.closing(env):
        actions = np.random.default_rng(1).integers(len(base.action_names), size=1000).tolist()
        env.reset(seed=1)
        waited, rounds, end = 0.0, 0, time.perf_counter() + 2 * seconds
        while time.perf_counter() < end or rounds < 5:
            for action in actions:
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()
            started = time.perf_counter()
            env.reset()
            waited += time.perf_counter() - started
            rounds += 1
    return rounds / waited


def wait_for_reset(puzzle: str, params: str, seconds: float, ahead: bool) -> float:
    """Microseconds by the clock until a reset returns, when there was time to make its game: the median."""
    waits = []
    with contextlib.closing(PuzzleEnv(puzzle, params, ahead=ahead)) as env:
        env.reset(seed=1)
        for _ in range(max(11, int(seconds / 0.005))):
            time.sleep(0.005)
            started = time.perf_counter()
            env.reset()
            waits.append(time.perf_counter() - started)
    return 1e6 * float(np.median(waits[3:]))


def measure_resets(puzzle: str, level: str, seconds: float) -> Resets:
    """All figures about the resets of one puzzle; the least of three rounds."""
    params = level_params(puzzle, level)
    rows = []
    for _ in range(3):
        session = pp.Session(puzzle, params, seed=0)
        with contextlib.closing(PuzzleEnv(puzzle, params, ahead=False)) as env:
            env.reset(seed=0)
            rows.append(
                Resets(
                    puzzle,
                    params,
                    session=reset_loop(session.reset, seconds),
                    seeded=reset_loop(lambda seed: env.reset(seed=seed), seconds),
                    env=reset_loop(lambda _: env.reset(), seconds),
                    wait=wait_for_reset(puzzle, params, seconds, ahead=False),
                    wait_ahead=wait_for_reset(puzzle, params, seconds, ahead=True),
                )
            )
    figures = ("session", "seeded", "env", "wait", "wait_ahead")
    return Resets(puzzle, params, **{name: min(getattr(row, name) for row in rows) for name in figures})


@dataclass(frozen=True)
class Beside:
    """One puzzle beside the paper's implementation, with the easiest parameters, as ``gym.make`` gives it."""

    puzzle: str
    params: str
    env: float
    """Steps a second with state and mask."""
    pictures: float
    """Steps a second with a picture of 128 x 128."""
    resets: float
    """Resets a second, one game of a stream after the other, none of them made ahead."""
    resets_in_play: float
    """Resets a second of waiting for them, by the clock, each after 1,000 steps: dear games were made ahead meanwhile."""
    yardstick: float
    """What told how fast the machine is."""

    def times(self, what: str) -> float:
        """How many times as fast as the paper's implementation would be on this machine."""
        kind = BESIDE[what]
        paper = paper_speed.rates()[self.puzzle][kind] * self.yardstick / paper_speed.YARDSTICK[kind]
        return float(getattr(self, what)) / paper

    def figures(self) -> dict[str, Any]:
        """All of it, with what it is beside the paper's."""
        return {**asdict(self), **{f"{what}_times": self.times(what) for what in BESIDE}}


BESIDE = {"env": "env", "pictures": "pictures", "resets": "resets", "resets_in_play": "resets"}
"""Each figure of a ``Beside``, and what of the paper's implementation it is compared with."""


def measure_beside(puzzle: str, seconds: float) -> Beside:
    """All that is compared with the paper's implementation, and the yardstick in turns with it."""
    params = level_params(puzzle, "easiest")

    def made(**options: Any) -> gym.Env[Any, Any]:  # noqa: ANN401 (those of PuzzleEnv)
        return gym.make(env_id(puzzle), params=params, **options)

    def resets() -> float:
        with contextlib.closing(made(ahead=False)) as env:
            env.reset(seed=1)
            return 1e6 / reset_loop(lambda _: env.reset(), seconds)

    return best_of(
        lambda: Beside(
            puzzle,
            params,
            env=env_loop(made(), seconds),
            pictures=env_loop(made(observation="pixels"), seconds),
            resets=resets(),
            resets_in_play=resets_in_play(made(), seconds),
            yardstick=paper_speed.yardstick(seconds / 2),
        )
    )
