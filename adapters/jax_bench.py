"""Throughput inside ``jax.jit``, for ``puzzleport bench jax``; and beside environments written in JAX, for ``bench peers``."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from puzzleport.batch import rollout
from puzzleport.benchmark.settings import level_params
from puzzleport.benchmark.speed import BATCH, batch_loop, best_of

from .jax import PuzzleEnv, masked_random

LENGTH = 512
"""Steps of one scan."""
MAX_STEPS = 1000
PURE = 128
"""Games that the pure form steps."""

Play = Callable[[], int]
"""Plays on, and tells how many steps that were."""


@dataclass(frozen=True)
class Row:
    """Steps a second of one puzzle, with random legal actions, on all cores."""

    puzzle: str
    params: str
    rollout: float
    """Whole episodes in C, made and played by the same threads: nothing is handed out but how each ended."""
    batch: float
    """Batch.step of 1,024 from Python, with random actions that were drawn beforehand."""
    scan: float
    """jax.jit and lax.scan over 1,024 games: legal actions are drawn, and every step writes observations, masks, rewards and ends
    into arrays, of which the program sums up the rewards."""
    read: float
    """The same, and the program also sums up every item that is observed."""
    pure: float
    """That over 128 games as arrays of bytes."""


def rate(play: Play, seconds: float) -> float:
    """Steps a second."""
    steps, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds or not steps:
        steps += play()
    return steps / (time.perf_counter() - started)


def _total(tree: Any) -> jax.Array:  # noqa: ANN401 (any tree of arrays)
    """All that is observed, summed up: else the compiler would leave out what nobody reads."""
    total: jax.Array = sum((leaf.astype(jnp.float32).sum() for leaf in jax.tree.leaves(tree)), jnp.float32(0))
    return total


def scanner(step: Callable[[Any, jax.Array], Any], start: Any, n: int) -> Play:  # noqa: ANN401 (what the step carries)
    """Scans of a step, which takes what it carries and a key, and returns what it carries and what is seen."""

    @jax.jit
    def scan(carry: Any, words: jax.Array) -> Any:  # noqa: ANN401 (of a key: plain arrays are handed over in less time)
        def one(carry: Any, key: jax.Array) -> Any:  # noqa: ANN401
            carry, seen = step(carry, key)
            return carry, _total(seen)

        following, now = jax.random.split(jax.random.wrap_key_data(words))
        carry, totals = jax.lax.scan(one, carry, jax.random.split(now, LENGTH))
        return (carry, jax.random.key_data(following)), totals

    held = {"now": (start, jax.random.key_data(jax.random.key(0)))}

    def play() -> int:
        held["now"], _ = jax.block_until_ready(scan(*held["now"]))
        return LENGTH * n

    play()  # compiles
    return play


def handle_player(puzzle: str, params: str, n: int = BATCH, *, read: bool = True) -> Play:
    """Our environment behind a handle, in a program that reads the observations or only plays."""
    env = PuzzleEnv(puzzle, params, n, max_steps=MAX_STEPS)

    def step(carry: Any, key: jax.Array) -> Any:  # noqa: ANN401
        handle, mask = carry
        handle, timestep = env.step(handle, masked_random(key, mask))
        return (handle, timestep.mask), (timestep.observation if read else (), timestep.reward)

    handle, timestep = env.reset(1)
    return scanner(step, (handle, timestep.mask), n)


def pure_player(puzzle: str, params: str, n: int = PURE) -> Play:
    """Our environment as a pure function."""
    env = PuzzleEnv(puzzle, params, n, max_steps=MAX_STEPS)

    def step(carry: Any, key: jax.Array) -> Any:  # noqa: ANN401
        state, mask = carry
        state, timestep = env.step_pure(state, masked_random(key, mask))
        return (state, timestep.mask), (timestep.observation, timestep.reward)

    states, timestep = env.init_timestep(np.arange(n))
    return scanner(step, (states, timestep.mask), n)


def rollout_player(puzzle: str, params: str) -> Play:
    """Whole episodes in C."""
    seeds = iter(range(1, 10**9))
    return lambda: int(
        rollout(puzzle, params, policy="masked", episodes=64, max_steps=MAX_STEPS, seed=next(seeds)).steps.sum()
    )


def measure(puzzle: str, level: str, seconds: float) -> Row:
    """All figures of one puzzle."""
    params = level_params(puzzle, level)
    whole, pure = rollout_player(puzzle, params), pure_player(puzzle, params)
    scan, read = handle_player(puzzle, params, read=False), handle_player(puzzle, params)
    return best_of(
        lambda: Row(
            puzzle=puzzle,
            params=params,
            rollout=rate(whole, seconds),
            batch=batch_loop(puzzle, params, seconds, threads=0),
            scan=rate(scan, seconds),
            read=rate(read, seconds),
            pure=rate(pure, seconds),
        )
    )


# ---- environments that are written in JAX


@dataclass(frozen=True)
class PeerRow:
    """Steps a second of 1,024 games under jit and scan, with random legal actions and autoreset."""

    puzzle: str
    params: str
    peer_name: str
    peer: float
    ours: float


def jumanji_player(name: str, n: int = BATCH) -> Play:
    """An environment of Jumanji under its own wrapper for many with autoreset."""
    import jumanji
    from jumanji.wrappers import VmapAutoResetWrapper

    env = VmapAutoResetWrapper(jumanji.make(name))

    def step(carry: Any, key: jax.Array) -> Any:  # noqa: ANN401
        state, mask = carry
        action = masked_random(key, mask.reshape(n, -1))
        if mask.ndim > 2:
            action = jnp.stack(jnp.unravel_index(action, mask.shape[1:]), -1)
        state, timestep = env.step(state, action)
        return (state, timestep.observation.action_mask), (timestep.observation, timestep.reward)

    state, timestep = jax.jit(env.reset)(jax.random.split(jax.random.key(1), n))
    return scanner(step, (state, timestep.observation.action_mask), n)


def pgx_player(name: str, n: int = BATCH) -> Play:
    """An environment of pgx with its own autoreset."""
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    advance = jax.vmap(auto_reset(env.step, env.init))

    def step(state: Any, key: jax.Array) -> Any:  # noqa: ANN401
        key, now = jax.random.split(key)
        state = advance(state, masked_random(now, state.legal_action_mask), jax.random.split(key, n))
        return state, (state.observation, state.rewards)

    return scanner(step, jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(1), n)), n)


PEERS: list[tuple[str, str, str, str, Callable[[str], Play]]] = [
    ("fifteen", "5x5", "jumanji", "SlidingTilePuzzle-v0", jumanji_player),
    ("mines", "10x10n10", "jumanji", "Minesweeper-v0", jumanji_player),
    ("solo", "3x3", "jumanji", "Sudoku-v0", jumanji_player),
    ("fifteen", "4x4", "pgx", "2048", pgx_player),
]
"""Our puzzle, its parameters, and the nearest of theirs: the same puzzle, or for 2048 one of the same size."""


def measure_peers(seconds: float) -> tuple[list[PeerRow], list[str]]:
    """The figures beside each peer that is installed, and the names of those that are not."""
    rows, missing = [], []
    for puzzle, params, package, name, player in PEERS:
        if importlib.util.find_spec(package) is None:
            missing.append(f"{package} {name}")
            continue
        theirs, ours = player(name), handle_player(puzzle, params)

        turns = [(rate(theirs, seconds), rate(ours, seconds)) for _ in range(3)]
        peer, our = (max(figures) for figures in zip(*turns, strict=True))
        rows.append(PeerRow(puzzle, params, f"{package} {name}", peer, our))
    return rows, missing
