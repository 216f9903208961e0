"""Gumbel MuZero search of mctx over the true dynamics: python examples/jax_mctx.py

The pure form of the JAX adapter is the model: a state is an array of bytes, a step takes one and gives another, so the search
branches inside jax.jit. Nothing is trained here: the prior is even, and rollouts of random legal actions tell a leaf's value.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from tqdm import tqdm

from puzzleport.adapters.jax import PuzzleEnv, Timestep, masked_random

DISCOUNT = 0.9


def make_search(env: PuzzleEnv, simulations: int, depth: int) -> Any:  # noqa: ANN401 (a compiled function)
    """A compiled function from states and what is seen there to the actions that the search prefers."""
    step = jax.vmap(env.step_pure)

    def rollout(states: jax.Array, timestep: Timestep, key: jax.Array) -> jax.Array:
        """What random play pays from here, discounted. Games that are over pay nothing more."""

        def play(carry: Any, key: jax.Array) -> Any:  # noqa: ANN401
            states, mask, worth = carry
            states, now = step(states, masked_random(key, mask))
            return (states, now.mask, worth * DISCOUNT), now.reward * worth

        carry = states, timestep.mask, jnp.ones(len(states))
        return jax.lax.scan(play, carry, jax.random.split(key, depth))[1].sum(0)

    def even(mask: jax.Array) -> jax.Array:
        return jnp.where(mask, 0.0, -1e9)

    def recurrent(_: Any, key: jax.Array, actions: jax.Array, states: jax.Array) -> Any:  # noqa: ANN401
        states, now = step(states, actions)
        result = mctx.RecurrentFnOutput(
            reward=now.reward,
            discount=jnp.where(now.terminated | now.truncated, 0.0, DISCOUNT),
            prior_logits=even(now.mask),
            value=rollout(states, now, key),
        )
        return result, states

    @jax.jit
    def search(states: jax.Array, timestep: Timestep, key: jax.Array) -> jax.Array:
        key, now = jax.random.split(key)
        value = rollout(states, timestep, now)
        root = mctx.RootFnOutput(prior_logits=even(timestep.mask), value=value, embedding=states)
        output = mctx.gumbel_muzero_policy(
            None, key, root, recurrent, simulations, invalid_actions=~timestep.mask, max_depth=depth
        )
        return output.action

    return search


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--puzzle", default="fifteen")
    parser.add_argument("--params", default="2x2")
    parser.add_argument("--episodes", type=int, default=64, help="games, all played at once")
    parser.add_argument("--simulations", type=int, default=32, help="for each move")
    parser.add_argument("--depth", type=int, default=8, help="of the search and of its rollouts")
    parser.add_argument("--steps", type=int, default=40, help="after which a game is given up")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of play at most")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    env = PuzzleEnv(options.puzzle, options.params, max_steps=options.steps)
    search = make_search(env, options.simulations, options.depth)
    step = jax.jit(env.step_pure)
    play = {
        "random": jax.jit(lambda states, timestep, key: masked_random(key, timestep.mask)),
        "gumbel_muzero_policy": search,
    }
    for name, choose in play.items():
        key = jax.random.key(options.seed)
        states, timestep = env.init_timestep(options.seed + np.arange(options.episodes))
        began, lengths = time.perf_counter(), np.zeros(options.episodes)
        for _ in tqdm(range(options.steps), desc=name, unit="steps"):
            key, now = jax.random.split(key)
            states, timestep = step(states, choose(states, timestep, now))
            if (timestep.terminated | timestep.truncated).all() or time.perf_counter() - began > options.seconds:
                break
        solved, lengths = np.asarray(timestep.solved), np.asarray(timestep.length)
        mean = lengths[solved].mean() if solved.any() else float("nan")
        print(
            f"{name} on {options.puzzle} {options.params}: {solved.mean():.1%} solved, in {mean:.1f} steps on average"
        )


if __name__ == "__main__":
    main()
