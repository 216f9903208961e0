"""Throughput: the plain C loop, the session from Python and the batch, compared in one run.

Every figure comes from play whose state really changes: each measurement checks that, and fails if it does not hold. It is the
best of three rounds in which all that is compared takes turns, because what else runs on a machine only ever slows. What one
thread does is measured by that thread's processor time, what several do by the clock.
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
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._native import ffi, lib
from ..batch import Batch, rollout
from ..errors import raise_for
from ..puzzle_spec import canonical_params, handle, layout, least_picture, spec
from ..session import Session, Status
from . import settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LEVELS = (*settings.LEVELS, "largest")
"""Those of the paper, and the engine's largest preset, by the size of its observation."""


def level_params(puzzle: str, level: str) -> str:
    """The parameters of a level."""
    if level != "largest":
        return settings.level_params(puzzle, level)
    presets = [canonical_params(puzzle, preset.params) for preset in spec(puzzle).presets]
    return max(presets or [spec(puzzle).default_params], key=lambda params: layout(puzzle, params).record_size)


BATCH = 1024
WARM_UP = 0.01


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


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def c_loop_all(puzzle: str, params: str, seconds: float) -> float:
    """The C loop on every core at once, by the clock."""
    with ThreadPoolExecutor(cores()) as pool:
        loops = list(pool.map(lambda _: _loop(puzzle, params, seconds, mask=True), range(cores())))
    return float(sum(loop.steps / loop.by_clock for loop in loops))


def c_loop(puzzle: str, params: str, seconds: float, mask: bool) -> float:
    """Random actions in C on one session."""
    _loop(puzzle, params, WARM_UP, mask)
    loop = _loop(puzzle, params, seconds, mask)
    return float(loop.steps / loop.by_processor)


def _loop(puzzle: str, params: str, seconds: float, mask: bool) -> Any:  # noqa: ANN401 (a cffi struct)
    result = ffi.new("pz_loop_result *")
    code = lib.pz_loop(handle(puzzle), params.encode(), 1, int(mask), seconds, result)
    if code:
        raise_for(code, f"{puzzle} {params}")
    _must_change(puzzle, result.changed, result.steps)
    return result


def python_loop(puzzle: str, params: str, seconds: float, copy: bool) -> float:
    """Random actions from Python on one session, looking at mask and observation after each."""
    session = Session(puzzle, params, seed=1)
    blocks = np.random.default_rng(1).integers(len(session.actions), size=(16, 256)).tolist()
    step, mask, observe = session.step, session.mask, session.observe
    steps = changed = episode = 0
    started = time.thread_time()
    end = started + seconds
    for block in cycle(blocks):
        if time.thread_time() >= end:
            break
        for number in block:
            result = step(number)
            mask(copy)
            observe(copy)
            changed += result.changed
            if result.status is not Status.ONGOING:
                episode += 1
                session.reset(seed=episode)
        steps += len(block)
        if session.steps >= 10_000:
            episode += 1
            session.reset(seed=episode)
    taken = time.thread_time() - started
    _must_change(puzzle, changed, steps)
    return steps / taken


def batch_loop(puzzle: str, params: str, seconds: float, threads: int) -> float:
    """Random actions on a batch, which masks, observes and resets by itself."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    batch = Batch(puzzle, params, BATCH, threads=threads, max_steps=10_000)
    batch.reset(seed=1)
    random = np.random.default_rng(1)
    choices = [random.integers(len(batch.actions), size=BATCH) for _ in range(16)]
    batch.step(choices[0])
    rounds = changed = 0
    started = clock()
    end = started + seconds
    while clock() < end or rounds < 4:
        result = batch.step(choices[rounds % 16])
        changed += int(np.count_nonzero(result.changed))
        rounds += 1
    taken = clock() - started
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
    started = time.thread_time()
    end = started + seconds
    while time.thread_time() < end:
        numbers = random.integers(len(session.actions), size=32).tolist()
        for number in numbers:
            status = session.step(number).status
            picture = session.pixels()
            if status is not Status.ONGOING:
                episode += 1
                session.reset(seed=episode)
        pictures += len(numbers)
        seen.add(hash(picture.tobytes()))
    taken = time.thread_time() - started
    if len(seen) < 2:
        raise AssertionError(f"{puzzle}: the picture never changed")
    return pictures / taken


def batch_pixel_loop(puzzle: str, params: str, seconds: float, threads: int) -> float:
    """Random actions on a batch that draws along."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    batch = Batch(puzzle, params, 64, threads=threads, max_steps=10_000)
    frames, _ = batch.draw_along()
    batch.reset(seed=1)
    random = np.random.default_rng(1)
    choices = [random.integers(len(batch.actions), size=64) for _ in range(64)]
    rounds = 0
    first = hash(frames.tobytes())
    started = clock()
    end = started + seconds
    while clock() < end or rounds < 4:
        batch.step(choices[rounds % 64])
        rounds += 1
    taken = clock() - started
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
    """All figures of one puzzle at one of the levels."""
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


@dataclass(frozen=True)
class Costs:
    """What one game of a puzzle costs in processor time and memory, to see what grows faster than the board."""

    puzzle: str
    params: str
    items: int
    """Numbers in an observation: the size of the board, as far as it is seen."""
    generate_us: float
    """``Session.restart`` with another seed."""
    step_us: float
    """A step in C without mask and repeats; new games apart."""
    mask_us: float
    """What mask and repeats add to it."""
    picture_us: float
    """A picture of 128 x 128, or of the smallest size in which the board fits, after each step."""
    kib: float
    """Memory of a session after its first thousand steps."""


def generate_loop(puzzle: str, params: str, seconds: float) -> float:
    """Games made, one after the other, in a second: at least three."""
    session, games = Session(puzzle, params, seed=0), 0
    started = time.thread_time()
    while time.thread_time() - started < seconds or games < 3:
        games += 1
        session.restart(games)
    return games / (time.thread_time() - started)


def measure_costs(puzzle: str, level: str = "human", seconds: float = 0.1) -> Costs:
    """All costs of one puzzle at one of the levels."""
    params = level_params(puzzle, level)
    session = Session(puzzle, params, seed=1)
    random = np.random.default_rng(1)
    size = least_picture(puzzle, params)
    pixels, width, height = session.pixels, max(128, size[0]), max(128, size[1])
    actions = random.integers(len(session.actions), size=1000).tolist()
    for action in actions:
        session.step(action)
    kib = lib.pz_session_memory(session._pointer) / 1024  # before it has a picture
    drawing, pictures = 0.0, 0
    while drawing < seconds or pictures < 50:
        if session.ended:
            session.restart(pictures)
        session.step(actions[pictures % 1000])
        started = time.thread_time()
        pixels(width, height)
        drawing += time.thread_time() - started
        pictures += 1

    def step_us(mask: bool) -> float:
        loops = [_loop(puzzle, params, seconds, mask) for _ in range(3)]
        return float(min(1e6 * (loop.by_processor - loop.resetting) / loop.steps for loop in loops))

    step, whole = step_us(mask=False), step_us(mask=True)
    return Costs(
        puzzle,
        params,
        items=sum(int(np.prod(field.shape)) for field in session.fields),
        generate_us=1e6 / generate_loop(puzzle, params, seconds),
        step_us=step,
        mask_us=max(0.001, whole - step),
        picture_us=1e6 * drawing / pictures,
        kib=kib,
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


@dataclass(frozen=True)
class Crowd:
    """Many sessions at once."""

    puzzle: str
    params: str
    sessions: int
    kib_each: float
    """Resident size that they took, with their observations."""
    kib_left: float
    """What was left of that after they were freed, for each."""


def crowd(puzzle: str, level: str, sessions: int) -> Crowd:
    """So many sessions of one puzzle, made, stepped once and freed."""
    params = level_params(puzzle, level)
    with Batch(puzzle, params, 2, ahead=False) as few:  # what is taken once for all
        few.reset(seed=1)
    gc.collect()
    before = resident()
    batch = Batch(puzzle, params, sessions, ahead=False)
    batch.reset(seed=1)
    batch.step(np.zeros(sessions, np.int64))
    taken = resident() - before
    batch.close()
    del batch
    gc.collect()
    return Crowd(puzzle, params, sessions, taken / 1024 / sessions, (resident() - before) / 1024 / sessions)


def resident() -> int:
    """The bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
