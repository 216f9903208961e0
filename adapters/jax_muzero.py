"""MuZero in JAX: the search goes on in a model of the game that is learned, and never asks the game itself.

Three networks: ``represent`` makes a hidden state of what is seen, ``predict`` tells policy and value of a hidden state (both are
the network that plays afterwards, alone), and the dynamics here lead from a hidden state and an action to the next one and a
reward. Masks are known at the root only. Play, replay and search are those of ``jax_alphazero.py``, and so is the command:
``jax_train.train("muzero", ...)`` runs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from puzzleport.adapters import jax_alphazero
from puzzleport.adapters.jax_alphazero import AlphaZero, Games, Steps
from puzzleport.adapters.jax_train import Model, Weights
from puzzleport.agents import network

try:
    import jax
    import jax.numpy as jnp
    import mctx
except ImportError as error:
    raise ImportError("training with search needs extras: pip install 'puzzleport[mctx]'") from error


@dataclass(frozen=True)
class Settings(jax_alphazero.Settings):
    """Of MuZero: those of AlphaZero, and of what the model learns from."""

    unroll: int = 5
    """Steps that the model is followed in a lesson."""
    alike: float = 1.0
    """Weight of the likeness of a hidden state that the model foretells and the one that is made of what was seen there."""


class MuZero(AlphaZero):
    """An ``Algorithm`` of ``jax_train``."""

    def __init__(self, model: Model, settings: Settings, steps: int) -> None:
        if not 0 < settings.unroll < settings.rollout:
            raise ValueError(f"unroll is at least 1 and less than rollout, {settings.rollout}, not {settings.unroll}")
        self.unroll, self._alike = settings.unroll, settings.alike
        super().__init__(model, settings, steps)

    def _fresh(self) -> Weights:
        """The weights of the model beside those of the network that plays."""
        hidden = self.model.initial["worth.weight"].shape[0]
        random, actions = np.random.default_rng([self.model.setup.seed, 7]), len(self.env.actions)
        fresh = {
            **network.fresh_linear("dynamics.in", hidden + actions, 2 * hidden, 2**0.5, random),
            **network.fresh_linear("dynamics.out", 2 * hidden, hidden, 0.3, random),
            **network.fresh_linear("dynamics.reward", 2 * hidden, 1, 0.1, random),
        }
        return {**self.model.initial, **{name: jnp.asarray(one) for name, one in fresh.items()}}

    def _represent(self, weights: Weights, seen: jax.Array) -> jax.Array:
        hidden: jax.Array = network.represent(self.model.shape, weights, seen, jnp)
        return hidden

    def _dynamics(self, weights: Weights, hidden: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The next hidden state, and the reward on the way."""
        both = jnp.concatenate([hidden, jax.nn.one_hot(action, len(self.env.actions))], -1)
        inside = jax.nn.relu(network.linear(weights, "dynamics.in", both))
        after = jax.nn.relu(hidden + network.linear(weights, "dynamics.out", inside))
        return after, network.linear(weights, "dynamics.reward", inside)[..., 0]

    # ---- the search

    def _root(self, weights: Weights, games: Games) -> Any:  # noqa: ANN401 (mctx is untyped)
        hidden = self._represent(weights, games.seen)
        logits, value = network.predict(weights, hidden)
        return mctx.RootFnOutput(prior_logits=logits, value=value, embedding=hidden)

    def _follow(self, weights: Weights, _: jax.Array, action: jax.Array, state: jax.Array) -> Any:  # noqa: ANN401
        hidden, reward = self._dynamics(weights, state, action)
        logits, value = network.predict(weights, hidden)
        discount = jnp.full_like(value, self.settings.discount)  # of the end of a game the model knows by rewards alone
        return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), hidden

    # ---- learning

    def _loss(self, weights: Weights, part: Steps, entropy: jax.Array) -> jax.Array:
        """The model is followed from what is seen first. Past the end of a game it learns that nothing is paid any more.

        No mask helps in the model, so the policy learns to leave out what changes nothing.
        """
        seen = jnp.unpackbits(part.seen, axis=-1, count=len(self.model.sight["item"]))
        truth = jax.lax.stop_gradient(self._represent(weights, seen))
        hidden = self._represent(weights, seen[0])
        # Whether the episode goes on, and whether it is known what comes: not after it was cut off.
        going = known = jnp.ones(len(hidden))
        total = jnp.zeros(len(hidden))
        for number in range(self.unroll + 1):
            step = jax.tree.map(lambda x, at=number: x[at], part)
            share = 1 / self.unroll if number else 1.0
            logits, value = network.predict(weights, hidden)
            policy, worth = self._distances(logits, value, step, entropy)
            strays = jax.nn.logsumexp(logits, -1) - jax.nn.logsumexp(logits, -1, where=self._legal(step.mask))
            total += share * (going * (policy + strays + worth) + known * (1 - going) * 0.5 * value**2)
            if number:
                total += share * self._alike * going * _unlike(hidden, truth[number])
            if number < self.unroll:
                hidden, reward = self._dynamics(weights, hidden, step.action)
                hidden = 0.5 * hidden + 0.5 * jax.lax.stop_gradient(hidden)  # each step counts half as much as the last
                total += known * (reward - going * step.reward) ** 2 / self.unroll
                known = known * (1 - going * step.truncated)
                going = going * ~(step.terminated | step.truncated)
        return total.mean()


def _unlike(hidden: jax.Array, truth: jax.Array) -> jax.Array:
    """One minus the cosine of the angle between hidden states."""
    sizes = jnp.sqrt((hidden**2).sum(-1) * (truth**2).sum(-1) + 1e-6)
    return 1 - (hidden * truth).sum(-1) / sizes
