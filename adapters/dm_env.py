"""dm_env: single and batched environments, with legal actions for Acme-style agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

import puzzleport as pp
from puzzleport.flat import Flattener
from puzzleport.session import Observation, check_seed, check_size
from puzzleport.stream import Stream

try:
    import dm_env  # type: ignore[import-untyped]
    from dm_env import specs
except ImportError as error:
    raise ImportError("the dm_env adapter needs an extra: pip install 'puzzleport[dm-env]'") from error

Array = np.ndarray[Any, Any]
ObsType = Literal["state", "flat", "pixels"]
OBS_TYPES = ("state", "flat", "pixels")


class OLT(NamedTuple):
    """Observation, legal actions and end of game, by the names that Acme and OpenSpiel's wrapper use.

    Defined here because Acme's own is in a module that does not import beside a present JAX.
    """

    observation: Any
    legal_actions: Any
    """float32, 1 for an action that changes the game or the cursor."""
    terminal: Any
    """float32 of shape (1,), 1 when the game is solved or failed; 0 at a truncation, as the discount has it."""


def _copy(state: Observation) -> Observation:
    return {name: view.copy() for name, view in state.items()}


class _Observer:
    """Observations of one of the types, and their spec, for one environment or many along a leading axis."""

    def __init__(
        self,
        fields: Sequence[pp.Field],
        n_actions: int,
        obs_type: ObsType,
        *,
        one_hot: bool,
        olt: bool,
        picture: tuple[int, int],
        lead: tuple[int, ...] = (),
    ) -> None:
        if obs_type not in OBS_TYPES:
            raise ValueError(f"obs_type is one of {', '.join(OBS_TYPES)}, not {obs_type!r}")
        self.fields, self.n_actions, self.obs_type, self.olt, self.lead = tuple(fields), n_actions, obs_type, olt, lead
        self.picture = check_size(*picture)
        self._flatten = Flattener(fields, one_hot=one_hot) if obs_type == "flat" else None

    @property
    def needs_pixels(self) -> bool:
        """Whether a picture is the observation."""
        return self.obs_type == "pixels"

    def spec(self) -> Any:  # noqa: ANN401 (specs nested as the observation is)
        plain: Any
        if self.needs_pixels:
            width, height = self.picture
            plain = self._array((height, width, 3), np.uint8, 0, 255, "pixels")
        elif self._flatten is not None:
            plain = self._array((self._flatten.size,), np.float32, 0.0, 1.0, "observation")
        else:
            plain = {
                field.name: self._array(field.shape, field.dtype, field.low, field.high, field.name)
                for field in self.fields
            }
        if not self.olt:
            return plain
        return OLT(
            plain,
            self._array((self.n_actions,), np.float32, 0.0, 1.0, "legal_actions"),
            self._array((1,), np.float32, 0.0, 1.0, "terminal"),
        )

    def _array(
        self, shape: tuple[int, ...], dtype: np.typing.DTypeLike, low: float, high: float, name: str
    ) -> specs.BoundedArray:
        return specs.BoundedArray(self.lead + shape, dtype, low, high, name)

    def __call__(self, state: Observation, mask: Array, ended: int | Array, pixels: Array | None) -> Any:  # noqa: ANN401 (nested)
        """The observation, in arrays of its own, from live fields and mask and a picture that may be handed out."""
        plain: Any
        if self.needs_pixels:
            plain = pixels
        elif self._flatten is not None:
            plain = self._flatten(state, self.lead)
        else:
            plain = _copy(state)
        if not self.olt:
            return plain
        return OLT(plain, mask.astype(np.float32), np.equal(ended, 1).astype(np.float32).reshape(*self.lead, 1))


def _by_status(rewards: pp.Rewards) -> Array:
    """What each status pays, the hook's share apart. The index is the status; -1, failed, is the last."""
    plain = replace(rewards, hook=None)
    statuses = (pp.Status.ONGOING, pp.Status.SOLVED, pp.Status.FAILED)
    return np.array([plain(status, None, None) for status in statuses], np.float32)


def _reward_spec(rewards: pp.Rewards, shape: tuple[int, ...] = ()) -> specs.Array:
    """Bounded, unless a hook may pay anything. Many environments pay nothing where an episode begins."""
    if rewards.hook is not None:
        return specs.Array(shape, np.float32, "reward")
    paid = [*_by_status(rewards), *([0.0] if shape else [])]
    return specs.BoundedArray(shape, np.float32, min(paid), max(paid), "reward")


class PuzzleEnvironment(dm_env.Environment):
    """One puzzle as a dm_env environment.

        >>> env = PuzzleEnvironment("fifteen", "2x2", 1, obs_type="flat", olt=True)
        >>> env.reset().observation.legal_actions
        array([0., 1., 1., 0.], dtype=float32)

    The discount is 0 where a game is solved or failed, and 1 where a limit cuts it off.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default. ``"4x4#42"`` or ``"4x4:description"`` plays that one
            instance in every episode.
        seed: of the stream of episodes; ``None`` draws one.
        obs_type: ``"state"``: a dict of the puzzle's fields; ``"flat"``: one vector scaled to [0, 1] by their bounds;
            ``"pixels"``: uint8 (H, W, 3).
        olt: wrap the observation in an ``OLT``, with the legal actions.
        one_hot: with ``obs_type="flat"``: every number as a one-hot vector.
        undo: whether UNDO is in the action space, where the puzzle has it.
        max_steps: after how many steps an episode is truncated; 0 for never.
        max_state_repeats: at how many repeats of a state an episode is truncated; 0 for never.
        rewards: what is paid.
        width: of pictures.
        height: of pictures.
        timeout: seconds that generating a puzzle may take.
    """

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        seed: int | None = None,
        *,
        obs_type: ObsType = "state",
        olt: bool = False,
        one_hot: bool = False,
        undo: bool = True,
        max_steps: int = 10_000,
        max_state_repeats: int = 0,
        rewards: pp.Rewards | None = None,
        width: int = 128,
        height: int = 128,
        timeout: float = 60.0,
    ) -> None:
        self.spec_of_puzzle = pp.spec(puzzle)
        self.rewards = rewards or pp.Rewards()
        self._stream = Stream(puzzle, params, seed)
        self.params = self._stream.params
        self.action_names = self.spec_of_puzzle.actions[: self.spec_of_puzzle.n_actions(undo)]
        self._options: dict[str, Any] = {
            "undo": undo,
            "timeout": timeout,
            "max_steps": max_steps,
            "max_repeats": max_state_repeats,
        }
        self._observer = _Observer(
            self._stream.fields,
            len(self.action_names),
            obs_type,
            one_hot=one_hot,
            olt=olt,
            picture=(width, height),
        )
        self._session: pp.Session | None = None
        self._over = True
        self._before: Observation | None = None

    # ---- dm_env's interface

    def reset(self, *, seed: int | None = None, game_id: str | None = None) -> dm_env.TimeStep:
        """Start the next puzzle of the stream; with a seed, the first of that seed's; with a game id, that one."""
        self._over = True  # a step after a failed reset tries the next puzzle
        start = self._stream.next(seed, game_id=game_id)
        if self._session is None or self._session.closed:
            self._session = pp.Session(self.spec_of_puzzle.name, **start, **self._options)
        else:
            self._session.reset(**start)
        self._over = False
        if self.rewards.hook is not None:
            self._before = self._session.observe()
        return dm_env.restart(self._observe(self._session))

    def step(self, action: Any) -> dm_env.TimeStep:  # noqa: ANN401 (a number, a name, or a scalar array)
        """Take an action; on a fresh environment and after the end of an episode it is ignored and the next one starts."""
        session = self._session
        if session is None or self._over:
            return self.reset()
        status = session.step(action).status
        after = None if self.rewards.hook is None else session.observe()
        reward = np.float32(self.rewards(status, self._before, after))
        self._before = after
        self._over = session.ended != 0
        return dm_env.TimeStep(
            dm_env.StepType.LAST if self._over else dm_env.StepType.MID,
            reward,
            np.float32(not session.terminated),
            self._observe(session),
        )

    def _observe(self, session: pp.Session) -> Any:  # noqa: ANN401 (nested arrays)
        pixels = session.pixels(*self._observer.picture) if self._observer.needs_pixels else None
        return self._observer(session.observe(copy=False), session.mask(copy=False), session.ended, pixels)

    def observation_spec(self) -> Any:  # noqa: ANN401 (nested specs)
        """A dict of bounded arrays, a bounded array, or an ``OLT`` of these."""
        return self._observer.spec()

    def action_spec(self) -> specs.DiscreteArray:
        """One of the puzzle's actions; ``action_names`` tells what they are."""
        return specs.DiscreteArray(len(self.action_names), name="action")

    def reward_spec(self) -> specs.Array:
        """Bounded by what is paid, unless there is a hook."""
        return _reward_spec(self.rewards)

    def discount_spec(self) -> specs.BoundedArray:
        """0 at a real end, else 1."""
        return specs.BoundedArray((), np.float32, 0.0, 1.0, "discount")

    def close(self) -> None:
        """Free the native side; a step is then an error, a reset opens it again. Closing twice is fine."""
        if self._session is not None:
            self._session.close()
            self._over = False

    @property
    def session(self) -> pp.Session:
        """The session underneath, from the first reset on."""
        if self._session is None:
            raise pp.SessionClosed("call reset first")
        return self._session


class BatchedPuzzleEnvironment(dm_env.Environment):
    """Many puzzles stepped together in C, on all cores, for actors that take a leading dimension.

    Every part of a timestep has it, ``step_type`` too: ``first()``, ``mid()`` and ``last()`` give an array. As in dm_env's
    single environments, the step after a LAST ignores its action and starts the next episode in that slot; since an array
    has no None, a FIRST then comes with reward 0 and discount 1. Slot i plays the same stream as a ``PuzzleEnvironment``
    with the seed ``seed + i``. Takes that class's arguments (game ids apart; reward hooks see batched arrays and return one
    reward each), and:

    Args:
        batch_size: how many.
        threads: how many threads step them; 0 for all cores.
    """

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        seed: int | None = None,
        *,
        batch_size: int,
        threads: int = 0,
        obs_type: ObsType = "state",
        olt: bool = False,
        one_hot: bool = False,
        undo: bool = True,
        max_steps: int = 10_000,
        max_state_repeats: int = 0,
        rewards: pp.Rewards | None = None,
        width: int = 128,
        height: int = 128,
        timeout: float = 60.0,
    ) -> None:
        self.rewards = rewards or pp.Rewards()
        self._seed = None if seed is None else check_seed(seed)
        self.batch = pp.Batch(
            puzzle,
            params,
            batch_size,
            threads=threads,
            undo=undo,
            timeout=timeout,
            max_steps=max_steps,
            max_repeats=max_state_repeats,
            autoreset="next_step",
        )
        self.spec_of_puzzle, self.params, self.action_names = self.batch.spec, self.batch.params, self.batch.actions
        self.batch_size = batch_size
        self._by_status = _by_status(self.rewards)
        self._observer = _Observer(
            self.batch.fields,
            len(self.action_names),
            obs_type,
            one_hot=one_hot,
            olt=olt,
            picture=(width, height),
            lead=(batch_size,),
        )
        self._frames = self.batch.draw_along(width, height)[0] if self._observer.needs_pixels else None
        self._before: Observation = {}
        self._fresh = True

    def reset(self, *, seed: int | Sequence[int] | None = None) -> dm_env.TimeStep:
        """Start the next episode in all slots; with a seed the first of the streams ``seed + i``, or of each its own."""
        if seed is None and self._fresh:
            seed = self._seed
        result = self.batch.reset(seed)
        self._fresh = False
        if self.rewards.hook is not None:
            self._before = _copy(result.observation)
        return self._timestep(np.zeros(self.batch_size, np.float32))

    def step(self, actions: Any) -> dm_env.TimeStep:  # noqa: ANN401 (what numpy takes as an array)
        """Take one action in each slot; on a fresh environment they are ignored and the first episodes start."""
        if self._fresh:
            return self.reset()
        result = self.batch.step(actions)
        rewards = self._by_status[result.status]
        if self.rewards.hook is not None:
            before, self._before = self._before, _copy(result.observation)
            rewards += np.asarray(self.rewards.hook(before, self._before), np.float32)
        rewards[result.steps == 0] = 0.0  # the action was ignored: this is the start of the next episode
        return self._timestep(rewards)

    def _timestep(self, rewards: Array) -> dm_env.TimeStep:
        result = self.batch.result
        later = np.where(result.ended != 0, dm_env.StepType.LAST, dm_env.StepType.MID)
        step_type = np.where(result.steps == 0, dm_env.StepType.FIRST, later).astype(np.int32)
        pixels = None if self._frames is None else self._frames.copy()
        observation = self._observer(result.observation, result.mask, result.ended, pixels)
        return dm_env.TimeStep(step_type, rewards, (result.ended != 1).astype(np.float32), observation)

    def observation_spec(self) -> Any:  # noqa: ANN401 (nested specs)
        """That of one environment, with the leading dimension."""
        return self._observer.spec()

    def action_spec(self) -> specs.BoundedArray:
        """One action for each slot."""
        return specs.BoundedArray((self.batch_size,), np.int32, 0, len(self.action_names) - 1, "action")

    def reward_spec(self) -> specs.Array:
        """One reward for each slot."""
        return _reward_spec(self.rewards, (self.batch_size,))

    def discount_spec(self) -> specs.BoundedArray:
        """One discount for each slot."""
        return specs.BoundedArray((self.batch_size,), np.float32, 0.0, 1.0, "discount")

    def close(self) -> None:
        """Free the sessions and threads. Closing twice is fine."""
        self.batch.close()
