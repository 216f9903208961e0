"""Masked PPO in JAX, the environment included in what is compiled: python examples/jax_ppo.py

One update is one call: 64 steps in 64 games, advantages, and some epochs of gradient steps, all under jax.jit. After each
round of updates the agent is measured on fresh games, until it reaches the level that sb3_maskable_ppo.py trains to.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from tqdm import tqdm

from puzzleport.adapters.jax import PuzzleEnv

# Parameters, and the mean length of MaskablePPO's solved episodes in the paper (internal state).
PUZZLES = {"fifteen": ("2x2", 4), "net": ("2x2", 9)}
GAMMA, LAMBDA, CLIP, ENTROPY = 0.95, 0.95, 0.2, 0.01
STEPS, ENVS, EPOCHS, MINIBATCHES, ROUND = 64, 64, 8, 8, 10


class Network(nn.Module):
    """Two small towers: what to do, and what it is worth."""

    actions: int

    @nn.compact
    def __call__(self, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
        def tower(size: int, scale: float) -> jax.Array:
            x = seen
            for _ in range(2):
                x = nn.tanh(nn.Dense(64, kernel_init=nn.initializers.orthogonal(2**0.5))(x))
            return nn.Dense(size, kernel_init=nn.initializers.orthogonal(scale))(x)

        return tower(self.actions, 0.01), tower(1, 1.0)[..., 0]


class Step(NamedTuple):
    seen: jax.Array
    mask: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array
    done: jax.Array


def masked(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Log-probabilities with the illegal actions left out; where nothing is legal, all are as good."""
    return jax.nn.log_softmax(jnp.where(mask | ~mask.any(-1, keepdims=True), logits, -1e9))


def make_update(env: PuzzleEnv, network: Network, optimizer: optax.GradientTransformation) -> Any:  # noqa: ANN401
    """One update as a compiled function: (parameters, optimizer, handle, timestep, key) in and out, and figures."""

    def act(carry: Any, key: jax.Array) -> Any:  # noqa: ANN401
        params, handle, before = carry
        logits, value = network.apply(params, before.observation)
        log_probs = masked(logits, before.mask)
        action = jax.random.categorical(key, log_probs)
        handle, now = env.step(handle, action)
        log_prob = jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]
        # What was cut off would have gone on: its last value stands for the rest.
        rest = network.apply(params, now.final_observation)[1]
        reward = now.reward + GAMMA * rest * now.truncated
        step = Step(before.observation, before.mask, action, log_prob, value, reward, now.done)
        return (params, handle, now), (step, (now.done, now.solved, now.length))

    def advantage(carry: Any, step: Step) -> Any:  # noqa: ANN401
        gain, value = carry
        delta = step.reward + GAMMA * value * ~step.done - step.value
        gain = delta + GAMMA * LAMBDA * ~step.done * gain
        return (gain, step.value), gain

    def loss(params: Any, step: Step, gain: jax.Array, target: jax.Array) -> jax.Array:  # noqa: ANN401
        logits, value = network.apply(params, step.seen)
        log_probs = masked(logits, step.mask)
        ratio = jnp.exp(jnp.take_along_axis(log_probs, step.action[:, None], 1)[:, 0] - step.log_prob)
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        policy = -jnp.minimum(ratio * gain, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * gain).mean()
        entropy = -(jnp.exp(log_probs) * jnp.where(step.mask, log_probs, 0)).sum(-1).mean()
        return policy + 0.5 * ((value - target) ** 2).mean() - ENTROPY * entropy

    def minibatch(carry: Any, part: Any) -> Any:  # noqa: ANN401
        params, state = carry
        gradient = jax.grad(loss)(params, *part)
        change, state = optimizer.update(gradient, state, params)
        return (optax.apply_updates(params, change), state), None

    @jax.jit
    def update(params: Any, state: Any, handle: Any, timestep: Any, key: jax.Array) -> Any:  # noqa: ANN401
        key, now = jax.random.split(key)
        carry = params, handle, timestep
        (_, handle, timestep), (steps, told) = jax.lax.scan(act, carry, jax.random.split(now, STEPS))
        last = network.apply(params, timestep.observation)[1]
        _, gains = jax.lax.scan(advantage, (jnp.zeros_like(last), last), steps, reverse=True)
        data = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (steps, gains, gains + steps.value))

        def epoch(carry: Any, key: jax.Array) -> Any:  # noqa: ANN401
            order = jax.random.permutation(key, STEPS * ENVS).reshape(MINIBATCHES, -1)
            return jax.lax.scan(minibatch, carry, jax.tree.map(lambda x: x[order], data))

        key, now = jax.random.split(key)
        (params, state), _ = jax.lax.scan(epoch, (params, state), jax.random.split(now, EPOCHS))
        return params, state, handle, timestep, key, told

    return update


def evaluate(network: Network, params: Any, puzzle: str, setting: str, episodes: int) -> tuple[float, float]:  # noqa: ANN401
    """The share of fresh games that are solved, and in how many steps: each environment plays one."""
    env = PuzzleEnv(puzzle, setting, episodes, observation="one_hot", max_steps=1000)

    @jax.jit
    def play(handle: Any, timestep: Any, key: jax.Array) -> Any:  # noqa: ANN401
        def step(carry: Any) -> Any:  # noqa: ANN401
            handle, timestep, over, solved, length, key = carry
            key, now = jax.random.split(key)
            logits, _ = network.apply(params, timestep.observation)
            handle, timestep = env.step(handle, jax.random.categorical(now, masked(logits, timestep.mask)))
            first = timestep.done & ~over
            solved = jnp.where(first, timestep.solved, solved)
            return handle, timestep, over | first, solved, jnp.where(first, timestep.length, length), key

        none = jnp.zeros(episodes, bool)
        carry = handle, timestep, none, none, jnp.zeros(episodes, jnp.int32), key
        return jax.lax.while_loop(lambda carry: ~carry[2].all(), step, carry)[3:5]

    solved, length = (np.asarray(one) for one in play(*env.reset(seed=1_000_000), jax.random.key(0)))
    env.close()
    return float(solved.mean()), float(length[solved].mean()) if solved.any() else float("nan")


def train(puzzle: str, options: argparse.Namespace) -> bool:
    """Train until the agent reaches the paper's level or the budget is used up."""
    setting, paper = PUZZLES[puzzle]
    began = time.perf_counter()
    env = PuzzleEnv(puzzle, setting, ENVS, observation="one_hot", max_steps=200, final_observation=True)
    network = Network(len(env.actions))
    key = jax.random.key(options.seed)
    handle, timestep = env.reset(seed=options.seed)
    params = network.init(key, timestep.observation)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3))
    state = optimizer.init(params)
    update = make_update(env, network, optimizer)
    taken, reached = 0, False
    with tqdm(total=options.steps, desc=puzzle, unit="steps", unit_scale=True) as bar:
        while taken < options.steps and not reached and time.perf_counter() - began < options.seconds:
            for _ in range(ROUND):
                params, state, handle, timestep, key, told = update(params, state, handle, timestep, key)
                taken += STEPS * ENVS
                bar.update(STEPS * ENVS)
                if taken >= options.steps:
                    break
            done, solved, length = (np.asarray(one) for one in told)
            if done.any() and solved[done].mean() > 0.98 and length[done].mean() <= paper + 2:
                share, mean = evaluate(network, params, puzzle, setting, options.episodes)
                reached = share >= 0.99 and mean <= paper + 2
    share, mean = evaluate(network, params, puzzle, setting, options.episodes)
    env.close()
    print(
        f"{puzzle} {setting}: {share:.1%} solved, in {mean:.1f} steps on average, after {taken:,} steps and "
        f"{time.perf_counter() - began:.0f} seconds ({'reaches' if reached else 'misses'} the level: 99% in at most {paper + 2})"
    )
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000_000, help="steps of training at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="seconds of training at most")
    parser.add_argument("--episodes", type=int, default=1000, help="episodes of the evaluation")
    parser.add_argument("--seed", type=int, default=0, help="of training; the evaluation has its own")
    parser.add_argument("--puzzles", nargs="+", default=list(PUZZLES), choices=list(PUZZLES))
    options = parser.parse_args()
    for puzzle in options.puzzles:
        train(puzzle, options)


if __name__ == "__main__":
    main()
