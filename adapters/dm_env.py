"""dm_env: single and batched environments, with legal actions for Acme-style agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import puzzleport as pp
from puzzleport.encode import Leaf, Tree

try:
    import dm_env  # type: ignore[import-untyped]
    from dm_env import specs
except ImportError as error:
    raise ImportError("the dm_env adapter needs an extra: pip install 'puzzleport[dm-env]'") from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = np.ndarray[Any, Any]


class OLT(NamedTuple):
    """Observation, legal actions and end of game, by the names that Acme and OpenSpiel's wrapper use.

    Defined here because Acme's own is in a module that does not import beside a present JAX.
    """

    observation: Any
    legal_actions: Any
    """float32, 1 for an action that changes the game or the cursor."""
    terminal: Any
    """float32 of shape (1,), 1 when the game is solved or failed; 0 at a truncation, as the discount has it."""


def spec_of(tree: Tree, lead: tuple[int, ...] = ()) -> Any:  # noqa: ANN401 (specs nested as the tree is)
    """A tree of arrays as specs, with leading dimensions."""
    if not isinstance(tree, Leaf):
        return {name: spec_of(part, lead) for name, part in tree.items()}
    if tree.dtype.kind == "U":
        return specs.StringArray(lead + tree.shape, str, tree.name)
    return specs.BoundedArray(lead + tree.shape, tree.dtype, tree.low, tree.high, tree.name)


class _Environment(dm_env.Environment):
    """What one game and many have in common: their specs, and the form of their observations."""

    def __init__(self, task: pp.Task, olt: bool, lead: tuple[int, ...] = ()) -> None:
        self.task, self.olt, self._lead = task, olt, lead
        self.action_names = task.actions

    def observation_spec(self) -> Any:  # noqa: ANN401 (nested specs)
        """The task's arrays as bounded arrays, texts as string arrays; in an ``OLT`` if that was asked for."""
        plain = spec_of(self.task.encoder.tree, self._lead)
        if not self.olt:
            return plain
        beside = {"legal_actions": len(self.action_names), "terminal": 1}
        flags = (specs.BoundedArray((*self._lead, n), np.float32, 0.0, 1.0, name) for name, n in beside.items())
        return OLT(plain, *flags)

    def reward_spec(self) -> specs.Array:
        """Bounded, unless what is paid depends on the board."""
        bounds = self.task.rewards.bounds()
        if bounds is None:
            return specs.Array(self._lead, np.float32, "reward")
        low, high = bounds
        if self._lead:  # many environments pay 0 where an episode begins
            low, high = min(low, 0.0), max(high, 0.0)
        return specs.BoundedArray(self._lead, np.float32, low, high, "reward")

    def discount_spec(self) -> specs.BoundedArray:
        """0 where a game is solved or failed, else 1."""
        return specs.BoundedArray(self._lead, np.float32, 0.0, 1.0, "discount")

    def _seen(self, plain: Any, mask: Array, ended: int | Array) -> Any:  # noqa: ANN401 (arrays as the tree has them)
        """The observation, in an ``OLT`` if that was asked for."""
        if not self.olt:
            return plain
        return OLT(plain, mask.astype(np.float32), np.equal(ended, 1).astype(np.float32).reshape(*self._lead, 1))


class PuzzleEnvironment(_Environment):
    """One puzzle as a dm_env environment.

        >>> env = PuzzleEnvironment("fifteen", "2x2", seed=1, observation="flat", olt=True)
        >>> env.reset().observation.legal_actions
        array([0., 1., 1., 0.], dtype=float32)

    The discount is 0 where a game is solved or failed, and 1 where a limit cuts it off.

    Args:
        puzzle: one of ``puzzleport.puzzles()``, or a ``puzzleport.Task``.
        params: the engine's parameter string; ``None`` for the default. ``"4x4#42"`` or ``"4x4:description"`` plays that one
            instance in every episode.
        olt: wrap the observation in an ``OLT``, with the legal actions.
        options: those of ``puzzleport.Task``: seed, undo, max_steps, max_repeats, rewards, observation, width, height, timeout.
    """

    def __init__(
        self,
        puzzle: str | pp.Task,
        params: str | None = None,
        *,
        olt: bool = False,
        **options: Unpack[pp.TaskOptions],
    ) -> None:
        super().__init__(pp.Task.of(puzzle, params, options), olt)
        self._episodes = pp.Episodes(self.task)
        self._over = True

    def reset(self, *, seed: int | None = None, game_id: str | None = None) -> dm_env.TimeStep:
        """Start the next puzzle of the stream; with a seed, the first of that seed's; with a game id, that one."""
        self._over = True  # a step after a failed reset tries the next puzzle
        self._episodes.start(seed, game_id=game_id)
        self._over = False
        return dm_env.restart(self._observe())

    def step(self, action: Any) -> dm_env.TimeStep:  # noqa: ANN401 (a number, a name, or a scalar array)
        """Take an action; on a fresh environment and after the end of an episode it is ignored and the next one starts."""
        if self._over:
            return self.reset()
        reward = np.float32(self._episodes.step(action))
        ended = self._episodes.ended
        self._over = ended != 0
        step_type = dm_env.StepType.LAST if self._over else dm_env.StepType.MID
        return dm_env.TimeStep(step_type, reward, np.float32(ended != 1), self._observe())

    def _observe(self) -> Any:  # noqa: ANN401 (nested arrays)
        episodes = self._episodes
        return self._seen(episodes.observation(), episodes.session.mask(copy=False), episodes.ended)

    def action_spec(self) -> specs.DiscreteArray:
        """One of the puzzle's actions; ``action_names`` tells what they are."""
        return specs.DiscreteArray(len(self.action_names), name="action")

    def close(self) -> None:
        """Free the native side; a step is then an error, a reset opens it again. Closing twice is fine."""
        self._episodes.close()
        self._over = False

    @property
    def session(self) -> pp.Session:
        """The session underneath, from the first reset on."""
        return self._episodes.session


class BatchedPuzzleEnvironment(_Environment):
    """Many puzzles stepped together in C, on all cores, for actors that take a leading dimension.

    Every part of a timestep has it, ``step_type`` too: ``first()``, ``mid()`` and ``last()`` give an array. As in dm_env's
    single environments, the step after a LAST ignores its action and starts the next episode in that slot; since an array
    has no None, a FIRST then comes with reward 0 and discount 1. Slot i plays the same stream as a ``PuzzleEnvironment``
    with the seed ``seed + i``. Takes that class's arguments, and:

    Args:
        num_envs: how many.
        threads: how many threads step them; 0 for all cores.
    """

    def __init__(
        self,
        puzzle: str | pp.Task,
        params: str | None = None,
        *,
        num_envs: int = 1,
        threads: int = 0,
        olt: bool = False,
        **options: Unpack[pp.TaskOptions],
    ) -> None:
        task = pp.Task.of(puzzle, params, options)
        self._episodes = pp.BatchEpisodes(task, num_envs, threads=threads, autoreset="next_step")
        self.batch = self._episodes.batch
        self.num_envs = self.batch.num_envs
        super().__init__(task, olt, lead=(self.num_envs,))
        self._fresh = True

    def reset(self, *, seed: int | Sequence[int | None] | None = None) -> dm_env.TimeStep:
        """Start the next episode in all slots.

        With one seed, slot i plays the stream of ``seed + i``; of several seeds, each slot gets its own.
        """
        self._episodes.start(seed)
        self._fresh = False
        return self._timestep(np.zeros(self.num_envs))

    def step(self, actions: Any) -> dm_env.TimeStep:  # noqa: ANN401 (what numpy takes as an array)
        """Take one action in each slot; on a fresh environment they are ignored and the first episodes start."""
        return self.reset() if self._fresh else self._timestep(self._episodes.step(actions))

    def _timestep(self, rewards: Array) -> dm_env.TimeStep:
        result = self.batch.result
        later = np.where(result.ended != 0, dm_env.StepType.LAST, dm_env.StepType.MID)
        step_type = np.where(result.steps == 0, dm_env.StepType.FIRST, later).astype(np.int32)
        observation = self._seen(self._episodes.observation(), result.mask, result.ended)
        discounts = (result.ended != 1).astype(np.float32)
        return dm_env.TimeStep(step_type, rewards.astype(np.float32), discounts, observation)

    def action_spec(self) -> specs.BoundedArray:
        """One action for each slot."""
        return specs.BoundedArray((self.num_envs,), np.int32, 0, len(self.action_names) - 1, "action")

    def close(self) -> None:
        """Free the sessions and threads. Closing twice is fine."""
        self._episodes.close()
