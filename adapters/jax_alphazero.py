"""AlphaZero for one player in JAX: a tree search of mctx plays, and a network learns what the search found.

The search is that of Gumbel MuZero, over the true game: a node is the whole game as bytes, which ``PuzzleEnv.step_pure`` branches
from, and only actions that change something are searched. Playing, searching and learning are compiled into one call.
``jax_train.train("alphazero", ...)`` runs it; the network alone plays afterwards, without any search.

In a game with hidden parts (Mines, Guess, Black Box) the search sees what no player can: the network learns what one would
do who knew all, as far as it can be told from what is seen. ``jax_muzero.py`` searches in a model that it learned instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from puzzleport.adapters.jax import PuzzleEnv
from puzzleport.adapters.jax_train import Array, Model, Weights, log_chances, numbers
from puzzleport.benchmark.learned import first_sight, joined, withheld

try:
    import jax
    import jax.numpy as jnp
    import mctx
    import optax
except ImportError as error:
    raise ImportError("training with search needs extras: pip install 'puzzleport[mctx]'") from error


@dataclass(frozen=True)
class Settings:
    """Of AlphaZero. The rate of learning falls to a tenth in the course of a run, the weight of the entropy to a third."""

    num_envs: int = 128
    rollout: int = 16
    """Steps of each game in one update."""
    updates: int = 16
    """In one round."""
    simulations: int = 16
    """Of each search."""
    sharpness: float = 0.1
    """How much a better value counts against what the network thinks of an action: ``value_scale`` of mctx."""
    instances: int = 1024
    """How many are drawn for a round."""
    replay: int = 16
    """Updates whose steps are learned from."""
    lessons: int = 16
    """Gradient steps of one update."""
    batch: int = 512
    rate: float = 2e-3
    discount: float = 0.98
    entropy: float = 0.03
    """Keeps a policy from being sure too early: a search looks only where the policy does."""
    trace: float = 0.9
    """The lambda of the returns that the value learns from."""


class Games(NamedTuple):
    """Where games stand, or where they start."""

    state: jax.Array
    seen: jax.Array
    mask: jax.Array


class Steps(NamedTuple):
    """What is learned from: update by update, in each step by step, in each game by game."""

    seen: jax.Array
    """What the network sees, eight to a byte."""
    mask: jax.Array
    action: jax.Array
    policy: jax.Array
    """What the search makes of the policy."""
    value: jax.Array
    """What the game was worth: rewards that followed, and what the search thought of the rest."""
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array


class AlphaZero:
    """An ``Algorithm`` of ``jax_train``."""

    unroll = 0
    """How many steps after the first one a lesson has."""

    def __init__(self, model: Model, settings: Settings, steps: int) -> None:
        self.model, self.settings, self.total = model, settings, steps
        task = model.setup.task
        self.limit = task.max_steps
        # The search looks past the limit, which no network sees: only the play is cut off there.
        self.env = PuzzleEnv(replace(task, observation="state", max_steps=0), threads=model.setup.threads)
        self.weights: Weights = self._fresh()
        self._adam = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam())
        self._moments = self._adam.init(self.weights)
        self._kept = self._room()
        self.seen: set[int] = set()
        self.steps = self._updates = 0

    def _fresh(self) -> Weights:
        return self.model.initial

    def _room(self) -> Steps:
        settings, actions = self.settings, len(self.env.actions)
        lead = settings.replay, settings.rollout, settings.num_envs
        seen = -(-len(self.model.sight["item"]) // 8)
        return Steps(
            jnp.zeros((*lead, seen), jnp.uint8),
            jnp.zeros((*lead, actions), bool),
            jnp.zeros(lead, jnp.int32),
            jnp.zeros((*lead, actions), jnp.float32),
            *(jnp.zeros(lead, jnp.float32) for _ in range(2)),
            *(jnp.zeros(lead, bool) for _ in range(2)),
        )

    def round(self, number: int, tell: Callable[[int, float | None], None]) -> None:
        """Fresh games, and updates on them."""
        settings, setup = self.settings, self.model.setup
        random = np.random.default_rng([setup.seed, 6, number])
        key = jax.random.key(int(random.integers(2**31)))
        starts = self._starts(random)
        games = jax.tree.map(lambda x: x[np.arange(settings.num_envs) % len(x)], starts)
        for _ in range(settings.updates):
            left = 1 - self.steps / self.total
            rates = jnp.float32([settings.rate * (0.1 + 0.9 * left), settings.entropy * (1 + 2 * left) / 3])
            where = jnp.int32([self._updates % settings.replay, min(self._updates + 1, settings.replay)])
            self.weights, self._moments, self._kept, games, key, told = self._update(
                self.weights, self._moments, self._kept, games, starts, key, where, rates
            )
            self._updates += 1
            self.steps += settings.num_envs * settings.rollout
            over, solved = (np.asarray(one) for one in told)
            tell(self.steps, float(solved[over].mean()) if over.any() else None)
            if self.steps >= self.total:
                break

    def _starts(self, random: np.random.Generator) -> Games:
        """The games of a round. Those that are withheld are left out."""
        state, timestep = self.env.init_timestep(random.integers(2**53, size=self.settings.instances))
        board = numbers(self.model.layout, timestep.observation)
        sights = np.asarray(first_sight(board, jnp))
        share = self.model.setup.withhold
        ours = np.flatnonzero(~withheld(sights, share)) if share else np.arange(len(sights))
        if not len(ours):
            raise ValueError(f"all of {len(sights)} instances are withheld: nothing is left to learn from")
        self.seen.update(joined(sights[ours]).tolist())
        # As many as were drawn, some twice: another number would be compiled anew.
        ours = np.resize(ours, len(sights))
        return Games(state[ours], self.model.look_at(board)[ours], timestep.mask[ours])

    def state(self) -> dict[str, Array]:
        """Weights, moments and what is kept to learn from."""
        parts = jax.tree.leaves((self.weights, self._moments, self._kept))
        counts = {"steps": np.array(self.steps), "updates": np.array(self._updates)}
        return {**counts, **{f"{i}": np.asarray(one) for i, one in enumerate(parts)}}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from there."""
        self.steps, self._updates = int(state["steps"]), int(state["updates"])
        now, form = jax.tree.flatten((self.weights, self._moments, self._kept))
        parts = [jnp.asarray(state[f"{i}"]) for i in range(len(now))]
        self.weights, self._moments, self._kept = jax.tree.unflatten(form, parts)

    def close(self) -> None:
        """Free the games."""
        self.env.close()

    # ---- the search, compiled

    def _legal(self, mask: jax.Array) -> jax.Array:
        """Where nothing is legal, all actions are as good."""
        legal = self.model.legal(mask)
        return legal | ~legal.any(-1, keepdims=True)

    def _root(self, weights: Weights, games: Games) -> Any:  # noqa: ANN401 (mctx is untyped)
        """Where a search starts."""
        logits, value = self.model(weights, games.seen)
        return mctx.RootFnOutput(prior_logits=logits, value=value, embedding=games.state)

    def _follow(self, weights: Weights, _: jax.Array, action: jax.Array, state: jax.Array) -> Any:  # noqa: ANN401
        """Where an action leads to in a search, and what the network thinks of it."""
        state, now = self.env.step_pure(state, action)
        logits, value = self.model(weights, self.model.look(now.observation))
        result = mctx.RecurrentFnOutput(
            reward=now.reward,
            discount=jnp.where(now.terminated, 0.0, self.settings.discount),
            prior_logits=jnp.where(self._legal(now.mask), logits, -1e9),
            value=value,
        )
        return result, state

    def _search(self, weights: Weights, games: Games, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """An action for each game, a better policy, and a better value."""
        # Values are compared as they are. To stretch them to the range from 0 to 1, as mctx does if not told otherwise, makes
        # much of nothing as long as no game was solved.
        settings = self.settings
        scale = partial(mctx.qtransform_completed_by_mix_value, value_scale=settings.sharpness, rescale_values=False)
        output = mctx.gumbel_muzero_policy(
            weights,
            key,
            self._root(weights, games),
            self._follow,
            settings.simulations,
            invalid_actions=~self._legal(games.mask),
            qtransform=scale,
        )
        return output.action, output.action_weights, output.search_tree.summary().value

    # ---- play and learn, compiled

    def _act(self, weights: Weights, starts: Games, games: Games, key: jax.Array) -> tuple[Games, Any]:
        """One step in all games."""
        key, fresh = jax.random.split(key)
        action, policy, value = self._search(weights, games, key)
        state, now = self.env.step_pure(games.state, action)
        truncated = (now.length >= self.limit) & ~now.terminated if self.limit else jnp.zeros_like(now.terminated)
        over = now.terminated | truncated
        seen = jnp.packbits(games.seen, axis=-1)
        step = Steps(seen, games.mask, action, policy, value, now.reward, now.terminated, truncated)
        after = Games(state, self.model.look(now.observation), now.mask)
        chosen = jax.random.randint(fresh, over.shape, 0, len(starts.mask))
        games = jax.tree.map(lambda x, y: jnp.where(over[:, None], x[chosen], y), starts, after)
        return games, (step, (over, now.solved & (now.length <= self.model.setup.bound)))

    def _return(self, carry: Any, step: Steps) -> Any:  # noqa: ANN401
        """What a step led to: what it paid, and the rest. The rest of a game that was cut off is what the search thought."""
        worth, value = carry
        rest = self.settings.trace * worth + (1 - self.settings.trace) * value
        worth = step.reward + self.settings.discount * jnp.where(step.terminated, 0.0, rest)
        worth = jnp.where(step.truncated, step.value, worth)
        return (worth, step.value), worth

    def _loss(self, weights: Weights, part: Steps, entropy: jax.Array) -> jax.Array:
        """Of lessons: the first axis is the time."""
        seen = jnp.unpackbits(part.seen[0], axis=-1, count=len(self.model.sight["item"]))
        logits, value = self.model(weights, seen)
        policy, worth = self._distances(logits, value, jax.tree.map(lambda x: x[0], part), entropy)
        return (policy + worth).mean()

    def _distances(
        self, logits: jax.Array, value: jax.Array, step: Steps, entropy: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """How far the policy is from what the search found, and how far the value is."""
        legal = self._legal(step.mask)
        log_probs = log_chances(logits, legal)
        wanted = step.policy - entropy * jnp.exp(log_probs) * legal
        return -(wanted * jnp.where(legal, log_probs, 0)).sum(-1), 0.5 * (value - step.value) ** 2

    @partial(jax.jit, static_argnums=0, donate_argnums=3)
    def _update(
        self,
        weights: Weights,
        moments: Any,  # noqa: ANN401
        kept: Steps,
        games: Games,
        starts: Games,
        key: jax.Array,
        where: jax.Array,
        rates: jax.Array,
    ) -> Any:  # noqa: ANN401
        settings = self.settings
        rate, entropy = rates
        key, play, learn = jax.random.split(key, 3)
        keys = jax.random.split(play, settings.rollout)
        games, (steps, told) = jax.lax.scan(partial(self._act, weights, starts), games, keys)
        last = self.model(weights, games.seen)[1]
        _, worth = jax.lax.scan(self._return, (last, last), steps, reverse=True)
        place, count = where
        kept = jax.tree.map(lambda room, new: room.at[place].set(new), kept, steps._replace(value=worth))

        def lesson(carry: Any, key: jax.Array) -> Any:  # noqa: ANN401
            weights, moments = carry
            parts = jax.random.split(key, 3)
            update = jax.random.randint(parts[0], (settings.batch,), 0, count)
            first = jax.random.randint(parts[1], (settings.batch,), 0, settings.rollout - self.unroll)
            game = jax.random.randint(parts[2], (settings.batch,), 0, settings.num_envs)
            time = first + jnp.arange(self.unroll + 1)[:, None]
            gradient = jax.grad(self._loss)(weights, jax.tree.map(lambda x: x[update, time, game], kept), entropy)
            change, moments = self._adam.update(gradient, moments, weights)
            return (jax.tree.map(lambda x, y: x - rate * y, weights, change), moments), None

        (weights, moments), _ = jax.lax.scan(lesson, (weights, moments), jax.random.split(learn, settings.lessons))
        return weights, moments, kept, games, key, told
