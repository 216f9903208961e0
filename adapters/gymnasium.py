"""Gymnasium: single environments, a native vector environment, and their registration.

Importing this module registers ``puzzleport/Bridges-v0`` and its 39 siblings, ``puzzleport/Puzzle-v0`` (with ``puzzle=``)
and ``rlp/Puzzle-v0`` (the paper's environment and keywords). So does the prefix in
``gym.make("puzzleport.adapters.gymnasium:puzzleport/Bridges-v0")``.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import puzzleport as pp
from puzzleport.flat import Flattener
from puzzleport.session import check_size
from puzzleport.stream import Stream

try:
    import gymnasium as gym
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError("the Gymnasium adapter needs an extra: pip install 'puzzleport[gymnasium]'") from error

Array = np.ndarray[Any, Any]
ObsType = Literal["state", "flat", "pixels", "both"]
OBS_TYPES = ("state", "flat", "pixels", "both")
RENDER_MODES = ("human", "rgb_array", "ansi")


class Observer:
    """Turns sessions' fields into one of the observation types, for one environment or many along a leading axis."""

    def __init__(
        self,
        fields: Sequence[pp.Field],
        obs_type: ObsType,
        *,
        vectors: bool,
        one_hot: bool,
        mask_size: int,
        picture: tuple[int, int],
    ) -> None:
        if obs_type not in OBS_TYPES:
            raise ValueError(f"obs_type is one of {', '.join(OBS_TYPES)}, not {obs_type!r}")
        self.fields, self.obs_type, self.vectors = tuple(fields), obs_type, vectors
        self.mask_size = mask_size
        width, height = check_size(*picture)
        self._image_space = spaces.Box(0, 255, (height, width, 3), np.uint8)
        self._flatten = Flattener(fields, one_hot=one_hot)
        bytes_only = all(field.dtype.itemsize == 1 for field in self.fields)
        self._parts = [
            (field.name, slice(field.offset, field.offset + int(np.prod(field.shape)))) for field in self.fields
        ] * (vectors and bytes_only)

    @property
    def needs_pixels(self) -> bool:
        """Whether a picture is part of the observation."""
        return self.obs_type in {"pixels", "both"}

    def space(self) -> spaces.Space[Any]:
        """The space of one environment's observations."""
        if self.obs_type == "pixels":
            return self._with_mask(self._image_space)
        if self.obs_type == "flat":
            return self._with_mask(spaces.Box(0.0, 1.0, (self._flatten.size,), np.float32))
        parts: dict[str, spaces.Space[Any]] = {
            # Gymnasium warns of a range of one value: a field that these parameters leave no choice gets a second.
            field.name: spaces.Box(field.low, max(field.high, field.low + 1), self._shape(field), field.dtype.type)
            for field in self.fields
        }
        if self.obs_type == "both":
            parts["pixels"] = self._image_space
        if self.mask_size:
            parts["action_mask"] = spaces.MultiBinary(self.mask_size)
        return spaces.Dict(parts)

    def _with_mask(self, space: spaces.Space[Any]) -> spaces.Space[Any]:
        if not self.mask_size:
            return space
        return spaces.Dict({"observation": space, "action_mask": spaces.MultiBinary(self.mask_size)})

    def _shape(self, field: pp.Field) -> tuple[int, ...]:
        return (int(np.prod(field.shape)),) if self.vectors else field.shape

    def live(self, views: dict[str, Array], lead: tuple[int, ...] = ()) -> dict[str, Array]:
        """The fields as the space has them: views that follow the session."""
        if not self.vectors:
            return views
        return {name: view.reshape(*lead, -1) for name, view in views.items()}

    def observation(
        self,
        live: dict[str, Array],
        pixels: Array | None,
        mask: Array,
        lead: tuple[int, ...] = (),
        copy: bool = True,
        record: Array | None = None,
    ) -> Any:  # noqa: ANN401 (a framework's observation)
        """The observation, from live fields and a picture and mask that may be handed out.

        With the record of one session, vectors of bytes are parts of one copy of it: cheaper than a copy of each.
        """
        if self.obs_type == "pixels":
            plain: Any = pixels
        elif self.obs_type == "flat":
            plain = self._flatten(live, lead)
        else:
            if not copy:
                plain = dict(live)
            elif record is not None and self._parts:
                fresh = record.copy()
                plain = {name: fresh[part] for name, part in self._parts}
            else:
                plain = {name: view.copy() for name, view in live.items()}
            if self.obs_type == "both":
                plain["pixels"] = pixels
            if self.mask_size:
                plain["action_mask"] = mask
            return plain
        return {"observation": plain, "action_mask": mask} if self.mask_size else plain


class PuzzleEnv(gym.Env[Any, Any]):
    """One puzzle as a Gymnasium environment.

        >>> env = PuzzleEnv("fifteen", "2x2")
        >>> observation, info = env.reset(seed=1)
        >>> observation["tiles"].shape
        (2, 2)

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default. ``"4x4#42"`` or ``"4x4:description"`` plays that one
            instance in every episode.
        obs_type: ``"state"``: a Dict of the puzzle's fields; ``"flat"``: one vector scaled to [0, 1] by their bounds;
            ``"pixels"``: uint8 (H, W, 3); ``"both"``: state and pixels.
        seed: of the stream of episodes that resets without a seed play; ``None`` draws one.
        undo: whether UNDO is in the action space, where the puzzle has it.
        max_steps: after how many steps an episode is truncated; 0 for never.
        max_state_repeats: at how many repeats of a state an episode is truncated; 0 for never.
        rewards: what is paid.
        render_mode: human, rgb_array, rgb_array_list or ansi.
        width: of pictures.
        height: of pictures.
        vectors: the fields of ``"state"`` as vectors, which is the only shape of integers that SB3 takes without a warning;
            without it, boards are (height, width) and scalars have no axis. ``info["puzzle_state"]`` always has those shapes.
        one_hot: with ``obs_type="flat"``: every number as a one-hot vector.
        mask_in_observation: put ``action_mask`` into the observation too.
        copy: hand out fresh arrays; without it, live buffers that the next step overwrites.
        expert_action: put what an expert would do next into ``info["expert_action"]``, -1 where it does not know: for
            imitation learning. Planning takes milliseconds.
        timeout: seconds that generating a puzzle may take.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 10}  # noqa: RUF012 (Gymnasium's form)
    _state: dict[str, Array]

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        *,
        obs_type: ObsType = "state",
        seed: int | None = None,
        undo: bool = True,
        max_steps: int = 10_000,
        max_state_repeats: int = 0,
        rewards: pp.Rewards | None = None,
        render_mode: str | None = None,
        width: int = 128,
        height: int = 128,
        vectors: bool = True,
        one_hot: bool = False,
        mask_in_observation: bool = False,
        copy: bool = True,
        expert_action: bool = False,
        timeout: float = 60.0,
    ) -> None:
        self._session: pp.Session | None = None
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode is one of {', '.join(RENDER_MODES)}, not {render_mode!r}")
        self.spec_of_puzzle = pp.spec(puzzle)
        self.render_mode, self.width, self.height, self.copy = render_mode, width, height, copy
        self.rewards = rewards or pp.Rewards()
        self._expert = pp.ExpertPolicy(puzzle) if expert_action else None
        self._stream = Stream(puzzle, params, seed)
        self.params = self._stream.params
        self._options: dict[str, Any] = {
            "undo": undo,
            "timeout": timeout,
            "max_steps": max_steps,
            "max_repeats": max_state_repeats,
        }
        actions = self.spec_of_puzzle.actions[: self.spec_of_puzzle.n_actions(undo)]
        self.action_names = actions
        self._observer = Observer(
            self._stream.fields,
            obs_type,
            vectors=vectors,
            one_hot=one_hot,
            mask_size=len(actions) if mask_in_observation else 0,
            picture=(width, height),
        )
        self.observation_space = self._observer.space()
        self.action_space = spaces.Discrete(len(actions))
        self._over = True
        self._window: Any = None

    # ---- Gymnasium's interface

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start the puzzle that the seed decides; without one, the next of the present stream.

        Options: ``{"game_id": ...}`` or ``{"params": ...}`` starts a given one, as long as observations keep their shape.
        """
        super().reset(seed=seed)
        options = options or {}
        unknown = options.keys() - {"game_id", "params"}
        if unknown:
            raise ValueError(f"unknown reset options {sorted(unknown)}; there are game_id and params")
        start = self._stream.next(seed, **options)
        if self._session is None:
            self._session = pp.Session(self.spec_of_puzzle.name, **start, **self._options)
        else:
            self._session.reset(**start)
        self._game_id = self._session.game_id
        self._over = self._session.terminated
        self._watch(self._session)
        result = self._result(self._session)
        if self.render_mode == "human":
            self.render()
        return result

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 (Gymnasium's signature)
        """Take an action."""
        session = self._session
        if session is None:
            raise gym.error.ResetNeeded("call reset before the first step")
        if self._over:
            raise gym.error.ResetNeeded("this episode is over: call reset")
        session.act(action)
        status = session.status
        before = self._state
        self._state = session.glance() if self.copy else self._fields
        reward = self.rewards(status, before, self._state)
        ended = session.ended
        observation, info = self._result(session)
        if ended:
            self._over = True
            info["is_success"] = status == pp.Status.SOLVED
        if self.render_mode == "human":
            self.render()
        return observation, reward, ended == 1, ended == 2, info

    def _watch(self, session: pp.Session) -> None:
        """Take the session's live views; they belong to it alone, so a copy of the environment takes its own."""
        self._fields = session.observe(copy=False)
        self._live = self._observer.live(self._fields)
        self._mask = session.mask(copy=False).view(np.int8)
        self._record = session.record(copy=False)
        self._state = session.glance() if self.copy else self._fields

    def _result(self, session: pp.Session) -> tuple[Any, dict[str, Any]]:
        mask = self._mask.copy() if self.copy else self._mask
        pixels = session.pixels(self.width, self.height) if self._observer.needs_pixels else None
        observation = self._observer.observation(self._live, pixels, mask, copy=self.copy, record=self._record)
        info = {
            "puzzle_state": self._state,
            "action_mask": mask,
            "game_id": self._game_id,
            "state_repeats": session.repeats,
        }
        if self._expert is not None:
            info["expert_action"] = -1
            if not session.terminated:
                with contextlib.suppress(pp.NoPlan):
                    info["expert_action"] = self._expert(session)
        return observation, info

    def render(self) -> Any:  # noqa: ANN401 (depends on the mode)
        """A picture, the text board, or a window that follows the agent."""
        if self._session is None:
            raise gym.error.ResetNeeded("call reset before render")
        if self.render_mode is None:
            gym.logger.warn("render needs a render_mode: gym.make(..., render_mode='rgb_array')")
            return None
        if self.render_mode == "ansi":
            return self._session.text()
        picture = self._session.pixels(self.width, self.height)
        if self.render_mode == "human":
            if self._window is None:
                from puzzleport.window import Window

                self._window = Window(self.spec_of_puzzle.title, self.metadata["render_fps"])
            self._window.show(picture)
            return None
        return picture

    def close(self) -> None:
        """Free the native side and the window. Closing twice is fine."""
        if self._session is not None:
            self._session.close()
            self._session = None
            self._over = True
        if self._window is not None:
            self._window.close()
            self._window = None

    def __del__(self) -> None:
        if getattr(self, "_session", None) is not None:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2)
            self.close()

    # ---- what else agents ask for

    def action_masks(self) -> Array:
        """The exact mask, by the name that sb3-contrib looks for."""
        return self.session.mask()

    @property
    def session(self) -> pp.Session:
        """The session underneath."""
        if self._session is None:
            raise gym.error.ResetNeeded("call reset first")
        return self._session

    def __getstate__(self) -> dict[str, Any]:
        views = ("_fields", "_live", "_mask", "_record", "_state")
        return {name: value for name, value in self.__dict__.items() if name not in views} | {"_window": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._session is not None:
            self._watch(self._session)


class PuzzleVectorEnv(gym.vector.VectorEnv[Any, Any, Any]):
    """Many puzzles stepped together in C, on all cores.

    The episode stream of each sub-environment is a pure function of its seed, and equal to that of a ``PuzzleEnv`` with the
    same seed. Takes the arguments of ``PuzzleEnv`` (reward hooks see batched arrays and return one reward each), and:

    Args:
        num_envs: how many.
        threads: how many threads step them; 0 for all cores.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED, as Gymnasium defines them.
    """

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        num_envs: int = 1,
        *,
        threads: int = 0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        obs_type: ObsType = "state",
        seed: int | None = None,
        undo: bool = True,
        max_steps: int = 10_000,
        max_state_repeats: int = 0,
        rewards: pp.Rewards | None = None,
        render_mode: str | None = None,
        width: int = 128,
        height: int = 128,
        vectors: bool = True,
        one_hot: bool = False,
        mask_in_observation: bool = False,
        copy: bool = True,
        timeout: float = 60.0,
    ) -> None:
        self._batch: pp.Batch | None = None
        if render_mode not in {None, "rgb_array", "ansi"}:
            raise ValueError(f"render_mode of a vector environment is rgb_array or ansi, not {render_mode!r}")
        self.num_envs, self.render_mode, self.width, self.height = num_envs, render_mode, width, height
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10, "autoreset_mode": self.autoreset_mode}
        self.rewards, self.copy = rewards or pp.Rewards(), copy
        # Indexed by the status; that of a failure, -1, is the last.
        self._paid = np.array([0.0, self.rewards.solved, self.rewards.failed]) + self.rewards.step
        autoreset = {
            AutoresetMode.NEXT_STEP: "next_step",
            AutoresetMode.SAME_STEP: "same_step",
            AutoresetMode.DISABLED: "off",
        }[self.autoreset_mode]
        self._batch = pp.Batch(
            puzzle,
            params,
            num_envs,
            threads=threads,
            undo=undo,
            timeout=timeout,
            max_steps=max_steps,
            max_repeats=max_state_repeats,
            autoreset=autoreset,  # type: ignore[arg-type]
        )
        self.params, self.action_names = self._batch.params, self._batch.actions
        self.spec_of_puzzle = self._batch.spec
        self._first_seed = seed
        n_actions = len(self.action_names)
        self._observer = Observer(
            self._batch.fields,
            obs_type,
            vectors=vectors,
            one_hot=one_hot,
            mask_size=n_actions if mask_in_observation else 0,
            picture=(width, height),
        )
        self.single_observation_space = self._observer.space()
        self.single_action_space = spaces.Discrete(n_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._lead = (num_envs,)
        self._over = np.ones(num_envs, np.bool_)
        self._frames: tuple[Array, Array] | None = None
        if self._observer.needs_pixels:
            self._frames = self._batch.draw_along(width, height)

    @property
    def batch(self) -> pp.Batch:
        """The batch underneath."""
        if self._batch is None:
            raise gym.error.ClosedEnvironmentError("this vector environment was closed")
        return self._batch

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes: sub-environment i with ``seed + i``, or with the i-th of several seeds.

        Options: ``{"reset_mask": array}`` resets only where it is true, as Gymnasium's DISABLED mode wants it.
        """
        options = options or {}
        unknown = options.keys() - {"reset_mask"}
        if unknown:
            raise ValueError(f"unknown reset options {sorted(unknown)}; there is reset_mask")
        which = options.get("reset_mask")
        if seed is None and self._first_seed is not None:
            seed = self._first_seed
        self._first_seed = None
        result = self.batch.reset(seed, which=which)
        self._over = np.asarray(result.ended != 0) if which is None else np.where(which, result.ended != 0, self._over)
        self._fields = result.observation
        self._live = self._observer.live(result.observation, self._lead)
        self._before = self._look() if self.rewards.hook is not None else {}
        return self._result(result)

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:  # noqa: ANN401 (Gymnasium's signature)
        """Take one action in each sub-environment."""
        if not hasattr(self, "_live"):
            raise gym.error.ResetNeeded("call reset before the first step")
        was_over = self._over
        if self.autoreset_mode == AutoresetMode.DISABLED and was_over.any():
            raise gym.error.ResetNeeded(f"sub-environments {np.flatnonzero(was_over).tolist()} are over: reset them")
        result = self.batch.step(actions)
        ended = result.ended
        self._over = ended != 0
        terminations, truncations = ended == 1, ended == 2
        observation, info = self._result(result)
        status = result.status
        rewards = self._paid[status]
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            rewards[was_over] = 0.0  # the action was ignored: this is the start of the next episode
        over = self._over
        if over.any():
            success = status > 0
            if self.autoreset_mode == AutoresetMode.SAME_STEP:
                self._add_final(info, over, success)
            else:
                info["is_success"], info["_is_success"] = success, over.copy()
        if self.rewards.hook is not None:
            rewards += self._hooked(over, was_over)
        return observation, rewards, terminations, truncations, info

    def _look(self) -> dict[str, Array]:
        """The fields in their own shapes, as they are handed out."""
        return {name: view.copy() for name, view in self._fields.items()} if self.copy else self._fields

    def _hooked(self, over: Array, was_over: Array) -> Array:
        """The hook's rewards, seeing the last state of an episode where a new one already began."""
        before, now = self._before, self._look()
        self._before = after = now
        if self.autoreset_mode == AutoresetMode.SAME_STEP and over.any():
            final = self.batch.final[0]
            after = {
                name: np.where(over.reshape(-1, *[1] * (now[name].ndim - 1)), final[name], now[name]) for name in now
            }
        assert self.rewards.hook is not None
        paid = np.asarray(self.rewards.hook(before, after), np.float64)
        if self.autoreset_mode == AutoresetMode.NEXT_STEP:
            paid = np.where(was_over, 0.0, paid)
        return paid

    def _add_final(self, info: dict[str, Any], over: Array, success: Array) -> None:
        """What the episodes that ended in this step ended with, as Gymnasium's SAME_STEP mode reports it."""
        views, masks = self.batch.final
        observations = np.full(self.num_envs, None, object)
        for slot in np.flatnonzero(over):
            live = self._observer.live({name: view[slot] for name, view in views.items()})
            pixels = None if self._frames is None else self._frames[1][slot].copy()
            observations[slot] = self._observer.observation(live, pixels, masks[slot].view(np.int8).copy())
        info["final_obs"], info["_final_obs"] = observations, over.copy()
        info["final_info"] = {"is_success": success, "_is_success": over.copy()}
        info["_final_info"] = over.copy()

    def _result(self, result: pp.BatchStep) -> tuple[Any, dict[str, Any]]:
        mask = (result.mask.copy() if self.copy else result.mask).view(np.int8)
        pixels = None
        if self._frames is not None:
            pixels = self._frames[0].copy() if self.copy else self._frames[0]
        info: dict[str, Any] = {"action_mask": mask, "state_repeats": result.repeats.copy()}
        everyone = np.ones(self.num_envs, np.bool_)
        info["_action_mask"] = info["_state_repeats"] = everyone
        return self._observer.observation(self._live, pixels, mask, self._lead, self.copy), info

    def action_masks(self) -> Array:
        """The exact masks of all sub-environments, (num_envs, actions)."""
        return np.array(self.batch.result.mask)

    def render(self) -> Any:  # noqa: ANN401 (depends on the mode)
        """A tuple with each sub-environment's picture or text board."""
        if self.render_mode == "ansi":
            return tuple(self.batch.session(slot).text() for slot in range(self.num_envs))
        if self.render_mode == "rgb_array":
            return tuple(self.batch.pixels(self.width, self.height))
        gym.logger.warn("render needs a render_mode: rgb_array or ansi")
        return None

    def close_extras(self, **kwargs: Any) -> None:  # noqa: ANN401 (Gymnasium's signature)
        """Free the native side."""
        if self._batch is not None:
            self._batch.close()
            self._batch = None


class PaperEnv(PuzzleEnv):
    """The environment of the paper, with its keywords, rewards and observation.

    ``obs_type="rgb"`` gives ``{"pixels": uint8[3, width, height]}``, ``"puzzle_state"`` the Dict of fields.
    """

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        *,
        render_mode: str | None = None,
        obs_type: Literal["rgb", "puzzle_state"] = "rgb",
        window_width: int = 128,
        window_height: int = 128,
        allow_undo: bool = False,
        max_state_repeats: int = 10_000,
        max_steps: int = 10_000,
        **other: Any,  # noqa: ANN401 (what PuzzleEnv takes)
    ) -> None:
        if obs_type not in {"rgb", "puzzle_state"}:
            raise ValueError(f"obs_type is rgb or puzzle_state, not {obs_type!r}")
        super().__init__(
            puzzle,
            params,
            obs_type="pixels" if obs_type == "rgb" else "state",
            render_mode=render_mode,
            width=window_width,
            height=window_height,
            undo=allow_undo,
            max_steps=max_steps,
            max_state_repeats=max_state_repeats,
            rewards=other.pop("rewards", pp.PAPER_REWARDS),
            **other,
        )
        self._rgb = obs_type == "rgb"
        if self._rgb:
            self.observation_space = spaces.Dict(
                {"pixels": spaces.Box(0, 255, (3, window_width, window_height), np.uint8)}
            )

    def _result(self, session: pp.Session) -> tuple[Any, dict[str, Any]]:
        observation, info = super()._result(session)
        if self._rgb:
            observation = {"pixels": np.ascontiguousarray(observation.transpose(2, 1, 0))}
        return observation, info


def env_id(puzzle: str) -> str:
    """The id under which a puzzle is registered."""
    return f"puzzleport/{pp.spec(puzzle).title.replace(' ', '')}-v0"


def _register() -> None:
    module = __name__
    entries = {env_id(name): {"puzzle": name} for name in pp.puzzles()}
    for name, keywords in {**entries, "puzzleport/Puzzle-v0": {}}.items():
        gym.register(
            name,
            entry_point=f"{module}:PuzzleEnv",
            vector_entry_point=f"{module}:PuzzleVectorEnv",
            kwargs=keywords,
        )
    gym.register("rlp/Puzzle-v0", entry_point=f"{module}:PaperEnv")


_register()
