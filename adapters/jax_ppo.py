"""PPO in JAX, the games included in what is compiled.

One update is one call: steps in many games, advantages, and some epochs of gradient steps, all under ``jax.jit``.
``jax_train.train("ppo", ...)`` runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from puzzleport.adapters.jax import PuzzleEnv
from puzzleport.adapters.jax_train import Array, Model, Weights, learn_on, learning_device, log_chances
from puzzleport.benchmark.learned import first_sight, joined, withheld

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise ImportError("training in JAX needs an extra: pip install 'puzzleport[jax]'") from error


@dataclass(frozen=True)
class Settings:
    """Of PPO. The rate of learning falls to a tenth in the course of a run, the weight of the entropy to a third."""

    num_envs: int = 256
    rollout: int = 32
    """Steps of each game in one update."""
    updates: int = 32
    """In one round."""
    epochs: int = 4
    minibatches: int = 8
    rate: float = 2e-3
    discount: float = 0.98
    trace: float = 0.95
    """The lambda of the advantages."""
    clip: float = 0.2
    entropy: float = 0.03
    warmup: int = 0
    """Updates at the start that teach the value alone: a policy that comes from elsewhere would be lost without."""

    def rates(self, left: float) -> tuple[float, float]:
        """The rate of learning and the weight of the entropy while that share of the run is left."""
        return self.rate * (0.1 + 0.9 * left), self.entropy * (1 + 2 * left) / 3


class Step(NamedTuple):
    """What one step is learned from. Every array has one entry for each game."""

    seen: jax.Array
    mask: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array
    done: jax.Array
    weight: jax.Array
    """1, or 0 in games that are withheld."""


class Games(NamedTuple):
    """Where the games stand."""

    handle: Any
    seen: jax.Array
    mask: jax.Array
    weight: jax.Array


class PPO:
    """Masked or plain PPO: an ``Algorithm`` of ``jax_train``."""

    def __init__(self, model: Model, settings: Settings, steps: int) -> None:
        self.model, self.settings, self.total = model, settings, steps
        self.env = PuzzleEnv(
            model.setup.task, num_envs=settings.num_envs, threads=model.setup.threads, final_observation=True
        )
        self.weights: Weights = model.initial
        self._device = learning_device()
        self._adam = optax.chain(optax.clip_by_global_norm(0.5), optax.scale_by_adam(eps=1e-5))
        self._moments = self._adam.init(self.weights)
        self.seen: set[int] = set()
        self.steps = 0

    def round(self, number: int, tell: Callable[[int, float | None], None]) -> None:
        """Fresh games, and updates on them."""
        settings, setup = self.settings, self.model.setup
        random = np.random.default_rng([setup.seed, 3, number])
        handle, timestep = self.env.reset(seed=random.integers(2**53, size=settings.num_envs))
        key = jax.random.key(int(random.integers(2**31)))
        games, sights = self._begin(handle, timestep)
        self.seen.update(joined(np.asarray(sights)[np.asarray(games.weight) > 0]).tolist())
        for number_of_update in range(settings.updates):
            warm = number * settings.updates + number_of_update >= settings.warmup
            rates = jnp.float32([*settings.rates(1 - self.steps / self.total), warm])
            games, key, told = self._advance(games, key, rates)
            self.steps += settings.num_envs * settings.rollout
            done, solved, length, sights, weight = (np.asarray(one) for one in told)
            self.seen.update(joined(sights[done & (weight > 0)]).tolist())
            tell(self.steps, float((solved & (length <= setup.bound))[done].mean()) if done.any() else None)
            if self.steps >= self.total:
                break

    def _advance(self, games: Games, key: jax.Array, rates: jax.Array) -> tuple[Games, jax.Array, Any]:
        """One update: in one compiled call where games and network are on one device."""
        if self._device is None:
            self.weights, self._moments, games, key, told = self._update(self.weights, self._moments, games, key, rates)
            return games, key, told
        games, key, steps, last, told = self._play(self.weights, games, key)
        key, now = jax.random.split(key)
        self.weights, self._moments = learn_on(
            self._device, self._improve, self.weights, self._moments, steps, last, now, rates
        )
        return games, key, told

    def state(self) -> dict[str, Array]:
        """Weights and moments."""
        parts = jax.tree.leaves((self.weights, self._moments))
        return {"steps": np.array(self.steps), **{f"{i}": np.asarray(one) for i, one in enumerate(parts)}}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from there."""
        self.steps = int(state["steps"])
        now, form = jax.tree.flatten((self.weights, self._moments))
        parts = [jnp.asarray(state[f"{i}"]) for i in range(len(now))]
        self.weights, self._moments = jax.tree.unflatten(form, parts)

    def close(self) -> None:
        """Free the games."""
        self.env.close()

    # ---- compiled

    def _weight(self, sights: jax.Array) -> jax.Array:
        share = self.model.setup.withhold
        return jnp.where(withheld(sights, share), 0.0, 1.0) if share else jnp.ones(len(sights))

    @partial(jax.jit, static_argnums=0)
    def _begin(self, handle: Any, timestep: Any) -> tuple[Games, jax.Array]:  # noqa: ANN401
        board = self.model.numbers(timestep.observation)
        sights = first_sight(board, jnp)
        mask = self.model.legal(timestep.mask)
        return Games(handle, self.model.look_at(board), mask, self._weight(sights)), sights

    def _act(self, weights: Weights, games: Games, key: jax.Array) -> tuple[Games, tuple[Step, Any]]:
        """One step in all games."""
        model, settings = self.model, self.settings
        logits, value = model(weights, games.seen)
        log_probs = log_chances(logits, games.mask)
        action = jax.random.categorical(key, log_probs)
        handle, now = self.env.step(games.handle, action)
        log_prob = jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]
        # What was cut off would have gone on: its last value stands for the rest.
        rest = jax.lax.cond(
            now.truncated.any(),
            lambda: model(weights, model.look(now.final_observation))[1],
            lambda: jnp.zeros_like(value),
        )
        reward = now.reward + settings.discount * rest * now.truncated
        step = Step(games.seen, games.mask, action, log_prob, value, reward, now.done, games.weight)
        board = model.numbers(now.observation)
        sights = first_sight(board, jnp)
        weight = jnp.where(now.done, self._weight(sights), games.weight)
        after = Games(handle, model.look_at(board), model.legal(now.mask), weight)
        return after, (step, (now.done, now.solved, now.length, sights, weight))

    def _advantage(self, carry: Any, step: Step) -> Any:  # noqa: ANN401
        gain, value = carry
        settings = self.settings
        delta = step.reward + settings.discount * value * ~step.done - step.value
        gain = delta + settings.discount * settings.trace * ~step.done * gain
        return (gain, step.value), gain

    def _loss(self, weights: Weights, step: Step, gain: jax.Array, target: jax.Array, entropy: Any) -> jax.Array:  # noqa: ANN401
        logits, value = self.model(weights, step.seen)
        log_probs = log_chances(logits, step.mask)
        share = step.weight / jnp.maximum(step.weight.sum(), 1.0)
        ratio = jnp.exp(jnp.take_along_axis(log_probs, step.action[:, None], 1)[:, 0] - step.log_prob)
        mean = (share * gain).sum()
        gain = (gain - mean) / (jnp.sqrt((share * (gain - mean) ** 2).sum()) + 1e-8)
        clipped = jnp.clip(ratio, 1 - self.settings.clip, 1 + self.settings.clip)
        policy = -(share * jnp.minimum(ratio * gain, clipped * gain)).sum()
        spread = -(share[:, None] * jnp.exp(log_probs) * jnp.where(step.mask, log_probs, 0)).sum()
        total: jax.Array = policy + 0.5 * (share * (value - target) ** 2).sum() - entropy * spread
        return total

    @partial(jax.jit, static_argnums=0)
    def _update(self, weights: Weights, moments: Any, games: Games, key: jax.Array, rates: jax.Array) -> Any:  # noqa: ANN401
        games, key, steps, last, told = self._play(weights, games, key)
        key, now = jax.random.split(key)
        weights, moments = self._improve(weights, moments, steps, last, now, rates)
        return weights, moments, games, key, told

    @partial(jax.jit, static_argnums=0)
    def _play(self, weights: Weights, games: Games, key: jax.Array) -> Any:  # noqa: ANN401
        """Steps in all games, and the value of where they lead."""
        key, now = jax.random.split(key)
        keys = jax.random.split(now, self.settings.rollout)
        games, (steps, told) = jax.lax.scan(partial(self._act, weights), games, keys)
        return games, key, steps, self.model(weights, games.seen)[1], told

    @partial(jax.jit, static_argnums=0)
    def _improve(
        self,
        weights: Weights,
        moments: Any,  # noqa: ANN401
        steps: Step,
        last: jax.Array,
        key: jax.Array,
        rates: jax.Array,
    ) -> tuple[Weights, Any]:
        """Learn from them."""
        settings = self.settings
        rate, entropy, warm = rates
        _, gains = jax.lax.scan(self._advantage, (jnp.zeros_like(last), last), steps, reverse=True)
        data = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (steps, gains, gains + steps.value))

        def minibatch(carry: Any, rows: jax.Array) -> Any:  # noqa: ANN401
            weights, moments = carry
            part = jax.tree.map(lambda x: x[rows], data)
            gradient = jax.grad(self._loss)(weights, *part, entropy)
            gradient = {name: one * (1.0 if name.startswith("worth") else warm) for name, one in gradient.items()}
            change, moments = self._adam.update(gradient, moments, weights)
            return (jax.tree.map(lambda x, y: x - rate * y, weights, change), moments), None

        def epoch(carry: Any, key: jax.Array) -> Any:  # noqa: ANN401
            order = jax.random.permutation(key, settings.num_envs * settings.rollout)
            return jax.lax.scan(minibatch, carry, order.reshape(settings.minibatches, -1))

        (weights, moments), _ = jax.lax.scan(epoch, (weights, moments), jax.random.split(key, settings.epochs))
        return weights, moments
