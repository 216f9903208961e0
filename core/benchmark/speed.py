"""Throughput: the plain C loop, the session from Python and the batch, compared in one run.

Every figure comes from play whose state really changes: each measurement checks that, and fails if it does not hold. It is the
best of three rounds in which all that is compared takes turns, because what else runs on a machine only ever slows.
"""

from __future__ import annotations

import gc
import math
import mmap
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from .._native import ffi, lib
from ..batch import Batch, rollout
from ..errors import raise_for
from ..puzzle_spec import handle
from ..session import Session, Status
from .settings import level_params

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

BATCH = 1024
WARM_UP = 0.02


@dataclass(frozen=True)
class Row:
    """Steps a second of one puzzle, by who takes them."""

    puzzle: str
    params: str
    c_step: float
    """The C loop: step and observe, no mask."""
    c_loop: float
    """The C loop: step, observe, mask, count repeats. What everything else is measured against."""
    c_loop_all: float
    """The same loop on every core at once, all together: what the machine has."""
    session: float
    """Session.step from Python, with live views of mask and observation."""
    session_copies: float
    """The same with fresh copies of both."""
    batch_one: float
    """A batch of 1,024 on one thread."""
    batch_all: float
    """A batch of 1,024 on all cores."""

    @property
    def session_over(self) -> float:
        """Microseconds that Python adds to a step of the C loop."""
        return 1e6 / self.session - 1e6 / self.c_loop


def c_loop_all(puzzle: str, params: str, seconds: float) -> float:
    """The C loop on every core at once."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        return sum(pool.map(lambda _: c_loop(puzzle, params, seconds, mask=True), range(cores)))


def c_loop(puzzle: str, params: str, seconds: float, mask: bool) -> float:
    """Random actions in C on one session."""
    steps, changed = ffi.new("int64_t *"), ffi.new("int64_t *")
    for duration in (WARM_UP, seconds):
        started = time.perf_counter()
        code = lib.pz_loop(handle(puzzle), params.encode(), 1, int(mask), duration, steps, changed)
        taken = time.perf_counter() - started
        if code:
            raise_for(code, f"{puzzle} {params}")
    _must_change(puzzle, changed[0], steps[0])
    return float(steps[0] / taken)


def python_loop(puzzle: str, params: str, seconds: float, copy: bool) -> float:
    """Random actions from Python on one session, looking at mask and observation after each."""
    session = Session(puzzle, params, seed=1)
    numbers = np.random.default_rng(1).integers(len(session.actions), size=4096).tolist()
    step, mask, observe = session.step, session.mask, session.observe
    steps = changed = episode = 0
    started = time.perf_counter()
    end = started + seconds
    while time.perf_counter() < end:
        at = steps % 4096
        for number in numbers[at : at + 256]:
            result = step(number)
            mask(copy)
            observe(copy)
            changed += result.changed
            if result.status is not Status.ONGOING:
                episode += 1
                session.reset(seed=episode)
        steps += 256
        if session.steps >= 10_000:
            episode += 1
            session.reset(seed=episode)
    taken = time.perf_counter() - started
    _must_change(puzzle, changed, steps)
    return steps / taken


def batch_loop(puzzle: str, params: str, seconds: float, threads: int) -> float:
    """Random actions on a batch, which masks, observes and resets by itself."""
    batch = Batch(puzzle, params, BATCH, threads=threads, max_steps=10_000)
    batch.reset(seed=1)
    random = np.random.default_rng(1)
    choices = [random.integers(len(batch.actions), size=BATCH) for _ in range(16)]
    batch.step(choices[0])
    rounds = changed = 0
    started = time.perf_counter()
    end = started + seconds
    while time.perf_counter() < end or rounds < 4:
        result = batch.step(choices[rounds % 16])
        changed += int(np.count_nonzero(result.changed))
        rounds += 1
    taken = time.perf_counter() - started
    _must_change(puzzle, changed, rounds * BATCH)
    batch.close()
    return rounds * BATCH / taken


@dataclass(frozen=True)
class PixelRow:
    """Pictures a second of one puzzle, at 128x128, each after a step."""

    puzzle: str
    params: str
    session: float
    """Session.step from Python without a picture: the state-only rate."""
    single: float
    """Session.step and Session.pixels."""
    batch_one: float
    """A batch of 64 that draws along, on one thread."""
    batch_all: float
    """The same on all cores."""


def pixel_loop(puzzle: str, params: str, seconds: float) -> float:
    """Random actions, each followed by a picture; the pictures must differ."""
    session = Session(puzzle, params, seed=1)
    random = np.random.default_rng(1)
    pictures = episode = 0
    seen = {hash(session.pixels().tobytes())}
    started = time.perf_counter()
    end = started + seconds
    while time.perf_counter() < end:
        for number in random.integers(len(session.actions), size=32).tolist():
            status = session.step(number).status
            picture = session.pixels()
            if status is not Status.ONGOING:
                episode += 1
                session.reset(seed=episode)
        pictures += 32
        seen.add(hash(picture.tobytes()))
    taken = time.perf_counter() - started
    if len(seen) < 2:
        raise AssertionError(f"{puzzle}: the picture never changed")
    return pictures / taken


def batch_pixel_loop(puzzle: str, params: str, seconds: float, threads: int) -> float:
    """Random actions on a batch that draws along."""
    batch = Batch(puzzle, params, 64, threads=threads, max_steps=10_000)
    frames, _ = batch.draw_along()
    batch.reset(seed=1)
    random = np.random.default_rng(1)
    choices = [random.integers(len(batch.actions), size=64) for _ in range(64)]
    rounds = 0
    first = hash(frames.tobytes())
    started = time.perf_counter()
    end = started + seconds
    while time.perf_counter() < end or rounds < 4:
        batch.step(choices[rounds % 64])
        rounds += 1
    taken = time.perf_counter() - started
    if hash(frames.tobytes()) == first:
        raise AssertionError(f"{puzzle}: the pictures never changed")
    batch.close()
    return rounds * 64 / taken


def measure_pixels(puzzle: str, level: str = "easiest", seconds: float = 0.2) -> PixelRow:
    """All figures about the pictures of one puzzle."""
    params = level_params(puzzle, level)
    return best_of(
        lambda: PixelRow(
            puzzle=puzzle,
            params=params,
            session=python_loop(puzzle, params, seconds, copy=False),
            single=pixel_loop(puzzle, params, seconds),
            batch_one=batch_pixel_loop(puzzle, params, seconds, threads=1),
            batch_all=batch_pixel_loop(puzzle, params, seconds, threads=0),
        )
    )


def _must_change(puzzle: str, changed: int, steps: int) -> None:
    """A benchmark of actions without effect would measure nothing."""
    if changed * 20 < steps:
        raise AssertionError(f"{puzzle}: only {changed} of {steps} steps changed anything")


def measure(puzzle: str, level: str = "easiest", seconds: float = 0.2) -> Row:
    """All figures of one puzzle, at ``easiest`` or ``human`` level or at the default parameters."""
    params = level_params(puzzle, level)
    return best_of(
        lambda: Row(
            puzzle=puzzle,
            params=params,
            c_step=c_loop(puzzle, params, seconds, mask=False),
            c_loop=c_loop(puzzle, params, seconds, mask=True),
            c_loop_all=c_loop_all(puzzle, params, seconds),
            session=python_loop(puzzle, params, seconds, copy=False),
            session_copies=python_loop(puzzle, params, seconds, copy=True),
            batch_one=batch_loop(puzzle, params, seconds, threads=1),
            batch_all=batch_loop(puzzle, params, seconds, threads=0),
        )
    )


def geometric_mean(values: Iterable[float]) -> float:
    """The mean that ratios want."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs))


AnyRow = TypeVar("AnyRow", bound="DataclassInstance")
"""A frozen dataclass of a puzzle, its parameters and figures."""


def best_of(measure: Callable[[], AnyRow], rounds: int = 3) -> AnyRow:
    """The best figures of several rounds."""
    rows = [measure() for _ in range(rounds)]
    return replace(rows[0], **{name: max(getattr(row, name) for row in rows) for name in _figures(rows[0])})


def mean_row(rows: list[AnyRow]) -> AnyRow:
    """The geometric mean of every figure."""
    means = {name: geometric_mean(getattr(row, name) for row in rows) for name in _figures(rows[0])}
    return replace(rows[0], puzzle="geometric mean", params="", **means)


def _figures(row: DataclassInstance) -> list[str]:
    return [field.name for field in fields(row) if field.name not in {"puzzle", "params"}]


@dataclass(frozen=True)
class Growth:
    """Bytes by which the resident size grew."""

    puzzle: str
    params: str
    steps: int
    """With random steps."""
    sessions: int
    """With sessions made, stepped and freed."""
    pictures: int
    """With steps of a batch that draws along and resets by itself."""


def memory(puzzle: str, params: str, steps: int, sessions: int, pictures: int) -> Growth:
    """How the resident size grows with so much work of each kind, after a twentieth of it as a warm-up."""

    def play(amount: int) -> None:
        done = seed = 0
        while done < amount:
            result = rollout(puzzle, params, episodes=64, max_steps=10_000, seed=seed, threads=1)
            done += int(result.steps.sum())
            seed += 1

    def create(amount: int) -> None:
        for seed in range(amount):
            Session(puzzle, params, seed=seed % 97).step(0)

    def draw(amount: int) -> None:
        with Batch(puzzle, params, 64, max_steps=50) as batch:
            batch.draw_along(64, 64)
            batch.reset(seed=1)
            random = np.random.default_rng(1)
            for _ in range(amount // 64):
                batch.step(random.integers(len(batch.actions), size=64))

    def growth(work: Callable[[int], None], amount: int) -> int:
        work(max(amount // 20, 64))
        gc.collect()
        before = resident()
        work(amount)
        gc.collect()
        return resident() - before

    return Growth(puzzle, params, growth(play, steps), growth(create, sessions), growth(draw, pictures))


def resident() -> int:
    """The bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
