"""Masked DQN in JAX, of Acme's parts, learns the 2x2 Net: python examples/dm_env_masked_dqn.py

The agent sees an OLT and takes only legal actions, in play and in the targets of learning. Actor and learner are acme.core's
interfaces: ``--loop acme`` runs them in Acme's EnvironmentLoop, ``--loop plain`` in the few lines below.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import acme
import dm_env
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import rlax
from acme import core, specs, types
from acme.utils import loggers

from puzzleport.adapters.dm_env import OLT, BatchedPuzzleEnvironment, PuzzleEnvironment

Array = np.ndarray[Any, Any]
TRAINING_STEPS = 200  # of an episode; long ones only teach that wandering does not pay
DISCOUNT = 0.95


class QNetwork(nn.Module):
    """The value of each action."""

    n_actions: int

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        hidden = observation
        for width in (256, 256):
            hidden = nn.relu(nn.Dense(width)(hidden))
        return nn.Dense(self.n_actions)(hidden)


def legal_only(values: jax.Array, legal: jax.Array) -> jax.Array:
    """The values with illegal actions below all others."""
    return jnp.where(legal > 0, values, -1e9)


class Replay:
    """The last transitions, in arrays that are allocated once."""

    def __init__(self, capacity: int, spec: specs.EnvironmentSpec, seed: int) -> None:
        def rows(of: specs.Array) -> Array:
            return np.zeros((capacity, *of.shape), of.dtype)

        olt = spec.observations
        self._columns = types.Transition(
            observation=rows(olt.observation),
            action=rows(spec.actions),
            reward=rows(spec.rewards),
            discount=rows(spec.discounts),
            next_observation=rows(olt.observation),
            extras=rows(olt.legal_actions),  # of the next observation
        )
        self._capacity, self._random = capacity, np.random.default_rng(seed)
        self.added = 0

    def add(self, before: OLT, action: int, after: dm_env.TimeStep) -> None:
        row = self.added % self._capacity
        olt = after.observation
        values = (before.observation, action, after.reward, after.discount, olt.observation, olt.legal_actions)
        for column, value in zip(self._columns, values, strict=True):
            column[row] = value
        self.added += 1

    def sample(self, size: int) -> types.Transition:
        chosen = self._random.integers(min(self.added, self._capacity), size=size)
        return types.Transition(*(column[chosen] for column in self._columns))


class TrainingState(NamedTuple):
    params: Any
    target: Any
    optimizer: optax.OptState


class DQNLearner(core.Learner):
    """Double Q-learning on batches from the replay; the target network follows slowly."""

    def __init__(self, spec: specs.EnvironmentSpec, replay: Replay, seed: int, batch_size: int = 128) -> None:
        network = QNetwork(spec.actions.num_values)
        optimizer = optax.chain(optax.clip_by_global_norm(10.0), optax.adam(5e-4))
        params = network.init(jax.random.key(seed), jnp.zeros(spec.observations.observation.shape))
        self.state = TrainingState(params, params, optimizer.init(params))
        self.values = jax.jit(network.apply)
        self._replay, self._batch_size = replay, batch_size

        def loss(params: Any, target: Any, batch: types.Transition) -> jax.Array:  # noqa: ANN401 (nested arrays)
            chooser = legal_only(network.apply(params, batch.next_observation), batch.extras)
            errors = jax.vmap(rlax.double_q_learning)(
                network.apply(params, batch.observation),
                batch.action,
                batch.reward,
                DISCOUNT * batch.discount,
                network.apply(target, batch.next_observation),
                chooser,
            )
            return rlax.huber_loss(errors).mean()

        @jax.jit
        def learn(state: TrainingState, batch: types.Transition) -> TrainingState:
            gradients = jax.grad(loss)(state.params, state.target, batch)
            updates, optimizer_state = optimizer.update(gradients, state.optimizer)
            params = optax.apply_updates(state.params, updates)
            target = optax.incremental_update(params, state.target, 0.01)
            return TrainingState(params, target, optimizer_state)

        self._learn = learn

    def step(self) -> None:
        self.state = self._learn(self.state, self._replay.sample(self._batch_size))

    def get_variables(self, names: Sequence[str]) -> list[Any]:
        return [jax.device_get(getattr(self.state, name)) for name in names]


class DQNActor(core.Actor):
    """Takes the best legal action, or now and then any legal one; learns as it goes."""

    def __init__(self, learner: DQNLearner, replay: Replay, steps: int, seed: int) -> None:
        self._learner, self._replay = learner, replay
        self._random = np.random.default_rng(seed)
        self._fade = max(1, steps // 2)
        self._warm_up = min(2_000, steps // 4)

    def select_action(self, observation: OLT) -> int:
        if self._random.random() < max(0.05, 1 - self._replay.added / self._fade):
            return int(self._random.choice(np.flatnonzero(observation.legal_actions)))
        return int(greedy(self._learner, observation))

    def observe_first(self, timestep: dm_env.TimeStep) -> None:
        self._last = timestep.observation

    def observe(self, action: int, next_timestep: dm_env.TimeStep) -> None:
        self._replay.add(self._last, action, next_timestep)
        self._last = next_timestep.observation

    def update(self, wait: bool = False) -> None:
        if self._replay.added > self._warm_up and self._replay.added % 2 == 0:
            self._learner.step()


def greedy(learner: DQNLearner, observation: OLT) -> Array:
    """The best legal action, for one observation or many."""
    values = np.asarray(learner.values(learner.state.params, observation.observation))
    return np.where(observation.legal_actions > 0, values, -np.inf).argmax(-1)


def run_plain(env: dm_env.Environment, actor: core.Actor, steps: int, seconds: float) -> None:
    """What Acme's loop does, in short."""
    taken, end = 0, time.perf_counter() + seconds
    while taken < steps and time.perf_counter() < end:
        timestep = env.reset()
        actor.observe_first(timestep)
        while not timestep.last():
            action = actor.select_action(timestep.observation)
            timestep = env.step(action)
            actor.observe(action, timestep)
            actor.update()
            taken += 1


def run_acme(env: dm_env.Environment, actor: core.Actor, steps: int, seconds: float) -> None:
    loop = acme.EnvironmentLoop(env, actor, logger=loggers.NoOpLogger())
    taken, end = 0, time.perf_counter() + seconds
    while taken < steps and time.perf_counter() < end:
        taken += loop.run_episode()["episode_length"]


def evaluate(learner: DQNLearner, puzzle: str, params: str, episodes: int, max_steps: int = 200) -> tuple[float, float]:
    """Share of puzzles with other seeds that are solved, and the mean length of those, without exploration."""
    # One episode for each slot: then short ones do not count for more.
    env = BatchedPuzzleEnvironment(
        puzzle, params, seed=1_000_000, num_envs=episodes, observation="flat", olt=True, max_steps=max_steps
    )
    timestep = env.reset()
    lengths = np.zeros(episodes)
    for step in range(1, max_steps + 1):
        timestep = env.step(greedy(learner, timestep.observation))
        lengths[(lengths == 0) & (timestep.reward > 0)] = step
    env.close()
    solved = lengths > 0
    return solved.mean(), lengths[solved].mean() if solved.any() else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--puzzle", default="net")
    parser.add_argument("--params", default="2x2")
    parser.add_argument("--steps", type=int, default=40_000, help="steps of training at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="seconds of training at most")
    parser.add_argument("--episodes", type=int, default=1000, help="episodes of the evaluation")
    parser.add_argument("--seed", type=int, default=0, help="of training; the evaluation has its own")
    parser.add_argument("--loop", choices=("acme", "plain"), default="acme")
    options = parser.parse_args()

    env = PuzzleEnvironment(
        options.puzzle, options.params, seed=options.seed, observation="flat", olt=True, max_steps=TRAINING_STEPS
    )
    spec = acme.make_environment_spec(env)
    replay = Replay(100_000, spec, options.seed)
    learner = DQNLearner(spec, replay, options.seed)
    actor = DQNActor(learner, replay, options.steps, options.seed)
    started = time.perf_counter()
    chunk = max(1, options.steps // 10)
    while replay.added < options.steps and time.perf_counter() - started < options.seconds:
        seconds = options.seconds - (time.perf_counter() - started)
        run = run_acme if options.loop == "acme" else run_plain
        run(env, actor, min(chunk, options.steps - replay.added), seconds)
        solved, length = evaluate(learner, options.puzzle, options.params, options.episodes)
        print(
            f"{replay.added:8d} steps, {time.perf_counter() - started:4.0f} s: {solved:.1%} of {options.episodes} "
            f"{options.puzzle} {options.params} with other seeds solved, in {length:.1f} steps on average",
            flush=True,
        )
    env.close()


if __name__ == "__main__":
    main()
