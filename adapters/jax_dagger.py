"""Imitation of the native experts in JAX, with DAgger: the policy plays, and an expert says what it would have done from there.

In each round the policy plays a part of many games, of random length. Then the expert takes over, and every one of its steps
to the end is a lesson. The policy learns from the lessons of all rounds. ``jax_train.train("dagger", ...)`` runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import puzzleport as pp
from puzzleport.adapters.jax_train import Array, Model, Weights, learn_on, learning_device, log_chances
from puzzleport.agents import ExpertPolicy, network
from puzzleport.benchmark.learned import expert_steps, first_sight, joined, withheld

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise ImportError("training in JAX needs an extra: pip install 'puzzleport[jax]'") from error

LONGEST_PLAN = 5.0
"""Seconds that one plan may take; a game that takes longer is left out."""


@dataclass(frozen=True)
class Settings:
    """Of DAgger. The rate of learning rises in the first round and falls to nothing in the last."""

    num_envs: int = 128
    """Games that are played together."""
    rounds: int = 10
    updates: int = 600
    """In one round."""
    batch: int = 512
    rate: float = 2e-3
    prefix: float = 2.0
    """The policy plays up to so many times the expert's mean length before the expert takes over."""
    discount: float = 0.98
    """Of the value, which is learned too: PPO may go on from here."""


class Lessons(NamedTuple):
    """What an expert did. All arrays have room for all rounds."""

    seen: Array
    """What the network sees, eight to a byte."""
    mask: Array
    action: Array
    left: Array
    """How many steps the expert still took, this one included."""


class Source:
    """Games of one size, and what an expert did in them."""

    def __init__(self, model: Model, settings: Settings, steps: int) -> None:
        self.model, self.task, self.steps = model, model.setup.task, 0
        self.sight = {name: np.asarray(one) for name, one in model.sight.items()}
        room = steps + 4096
        self.lessons = Lessons(
            np.zeros((room, -(-len(self.sight["item"]) // 8)), np.uint8),
            np.zeros((room, len(self.task.actions)), np.bool_),
            np.zeros(room, np.int32),
            np.zeros(room, np.int32),
        )
        random = np.random.default_rng([model.setup.seed, 4])
        usual = float(expert_steps(self.task, random.integers(2**53, size=50).tolist()).mean())
        self.longest = int(settings.prefix * usual) + 1
        """So many steps the policy plays before the expert takes over, less one."""
        self.batch = self.task.batch(settings.num_envs, threads=model.setup.threads, autoreset="off")

    def ask(self, session: pp.Session) -> None:
        """Let an expert play to the end, and note what it does. A way that does not end in a solution is no lesson."""
        first = at = self.steps
        lessons, room = self.lessons, len(self.lessons.action)
        expert, met = ExpertPolicy(self.task.puzzle), []
        with session:
            try:
                plan = [] if session.spec.hidden else session.plan(LONGEST_PLAN)[::-1]
                while not session.ended and at < room:
                    action = expert(session) if session.spec.hidden else plan.pop()
                    met.append(network.numbers(self.model.layout, session.observe(copy=False)))
                    lessons.mask[at] = session.mask(copy=False)
                    lessons.action[at] = action
                    session.step(action)
                    at += 1
            except (pp.NoPlan, IndexError):
                return
            if session.status > 0 and met:
                lessons.seen[first:at] = np.packbits(network.look(self.sight, np.stack(met)), axis=-1)
                lessons.left[first:at] = np.arange(at - first, 0, -1)
                self.steps = at


class DAgger:
    """An ``Algorithm`` of ``jax_train``. Boards of several sizes have equal shares of the lessons."""

    def __init__(self, model: Model, settings: Settings, steps: int) -> None:
        self.model, self.settings, self.total = model, settings, steps
        self._sources = [Source(one, settings, -(-steps // len(model.sizes))) for one in model.sizes]
        self.weights: Weights = model.initial
        self._device = learning_device()
        self._adam = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam())
        self._moments = self._adam.init(self.weights)
        self.seen: set[int] = set()

    @property
    def steps(self) -> int:
        """How many steps of the expert there are."""
        return sum(one.steps for one in self._sources)

    def round(self, number: int, tell: Callable[[int, float | None], None]) -> None:
        """Play, ask, learn."""
        settings = self.settings
        random = np.random.default_rng([self.model.setup.seed, 5, number])
        wanted = min(self.total * (number + 1) // settings.rounds, self.total)
        over = solved = 0
        for source in self._sources:
            while source.steps * len(self._sources) < wanted:
                ended, well = self._collect(source, random, playing=number > 0)
                over, solved = over + ended, solved + well
                tell(min(self.steps, wanted), solved / over if over else None)
        done = number * settings.updates + np.arange(settings.updates)
        share = done / (settings.rounds * settings.updates)
        rates = settings.rate * np.minimum(1, done / 200 + 0.01) * (0.5 + 0.5 * np.cos(np.pi * np.minimum(share, 1)))
        key = jax.random.key(int(random.integers(2**31)))
        lessons = [jax.tree.map(jnp.asarray, one.lessons) for one in self._sources]
        counts = jnp.asarray([one.steps for one in self._sources], jnp.int32)
        self.weights, self._moments = learn_on(
            self._device,
            self._learn,
            self.weights,
            self._moments,
            lessons,
            counts,
            key,
            jnp.asarray(rates, jnp.float32),
        )
        jax.block_until_ready(self.weights)

    def _collect(self, source: Source, random: np.random.Generator, playing: bool) -> tuple[int, int]:
        """Play a part of one game in each slot, then let the expert take over. How many games the policy ended, and solved."""
        n, setup = self.settings.num_envs, source.model.setup
        batch, step = source.batch, source.batch.reset(random.integers(2**53, size=n).tolist())
        sights = first_sight(network.numbers(source.model.layout, step.observation))
        ours = ~withheld(sights, setup.withhold) if setup.withhold else np.ones(n, np.bool_)
        if source is self._sources[0]:
            self.seen.update(joined(sights[ours]).tolist())
        prefix = random.integers(source.longest if playing else 1, size=n)
        key = jax.random.key(int(random.integers(2**31)))
        for taken in range(int(prefix.max()) + 1):
            for slot in np.flatnonzero((prefix == taken) & (step.ended == 0) & ours).tolist():
                source.ask(batch.session(slot))
            if taken < prefix.max():
                key, now = jax.random.split(key)
                fields = dict(step.observation)
                step = batch.step(np.asarray(self._actions(source.model, self.weights, fields, step.mask, now)))
        ended = step.ended != 0
        return int(ended.sum()), int((ended & (step.status > 0)).sum())

    def state(self) -> dict[str, Array]:
        """Weights, moments and lessons."""
        parts = jax.tree.leaves((self.weights, self._moments))
        lessons = {
            f"{name}/{i}": one[: source.steps]
            for i, source in enumerate(self._sources)
            for name, one in source.lessons._asdict().items()
        }
        return {**lessons, **{f"{i}": np.asarray(one) for i, one in enumerate(parts)}}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from there."""
        for i, source in enumerate(self._sources):
            source.steps = len(state[f"action/{i}"])
            for name, room in source.lessons._asdict().items():
                room[: source.steps] = state[f"{name}/{i}"]
        now, form = jax.tree.flatten((self.weights, self._moments))
        parts = [jnp.asarray(state[f"{i}"]) for i in range(len(now))]
        self.weights, self._moments = jax.tree.unflatten(form, parts)

    def close(self) -> None:
        """Free the games."""
        for source in self._sources:
            source.batch.close()

    # ---- compiled

    @partial(jax.jit, static_argnums=(0, 1))
    def _actions(self, model: Model, weights: Weights, fields: Any, mask: jax.Array, key: jax.Array) -> jax.Array:  # noqa: ANN401
        logits, _ = model(weights, model.look(fields))
        return jax.random.categorical(key, log_chances(logits, model.legal(mask)))

    def _loss(self, weights: Weights, model: Model, part: Lessons) -> jax.Array:
        seen = jnp.unpackbits(jnp.asarray(part.seen), axis=-1, count=len(model.sight["item"]))
        logits, value = model(weights, seen)
        log_probs = log_chances(logits, model.legal(jnp.asarray(part.mask)))
        chosen = jnp.take_along_axis(log_probs, jnp.asarray(part.action)[:, None], 1)[:, 0]
        rewards, discount = model.setup.task.rewards, self.settings.discount
        paid = discount ** jnp.asarray(part.left, jnp.float32)
        worth = rewards.solved * paid / discount + rewards.step * (1 - paid) / (1 - discount)
        return -chosen.mean() + 0.5 * ((value - worth) ** 2).mean()

    @partial(jax.jit, static_argnums=0)
    def _learn(
        self,
        weights: Weights,
        moments: Any,  # noqa: ANN401
        lessons: list[Lessons],
        counts: jax.Array,
        key: jax.Array,
        rates: jax.Array,
    ) -> Any:  # noqa: ANN401
        models = self.model.sizes
        each = self.settings.batch // len(models)

        def loss(weights: Weights, parts: list[Lessons]) -> jax.Array:
            losses = [self._loss(weights, model, part) for model, part in zip(models, parts, strict=True)]
            return sum(losses[1:], losses[0]) / len(losses)

        def update(carry: Any, given: Any) -> Any:  # noqa: ANN401
            weights, moments = carry
            key, rate = given
            parts = []
            for i, one in enumerate(lessons):
                rows = jax.random.randint(jax.random.fold_in(key, i) if i else key, (each,), 0, counts[i])
                parts.append(jax.tree.map(lambda x, rows=rows: x[rows], one))
            change, moments = self._adam.update(jax.grad(loss)(weights, parts), moments, weights)
            return (jax.tree.map(lambda x, y: x - rate * y, weights, change), moments), None

        keys = jax.random.split(key, len(rates))
        return jax.lax.scan(update, (weights, moments), (keys, rates))[0]
