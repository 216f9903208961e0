"""Gymnasium: single environments, a native vector environment, and their registration.

Importing this module registers ``puzzleport/Bridges-v0`` and its 39 siblings, ``puzzleport/Puzzle-v0`` (with ``puzzle=``)
and ``rlp/Puzzle-v0`` (the paper's environment and keywords). So does the prefix in
``gym.make("puzzleport.adapters.gymnasium:puzzleport/Bridges-v0")``.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import puzzleport as pp
from puzzleport.adapters.gymnasium_spaces import space_of, with_mask
from puzzleport.encode.state import State
from puzzleport.errors import quote

try:
    import gymnasium as gym
    from gymnasium import spaces
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise ImportError("the Gymnasium adapter needs an extra: pip install 'puzzleport[gymnasium]'") from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = np.ndarray[Any, Any]
RENDER_MODES = ("human", "rgb_array", "ansi")
# What gymnasium.utils.play calls keys: characters, and SDL's numbers of those that have none.
KEYS: dict[str | int, str] = {
    "w": "UP", "s": "DOWN", "a": "LEFT", "d": "RIGHT", "\r": "SELECT", " ": "SELECT2", "c": "CTRL", "u": "UNDO",
    1073741906: "UP", 1073741905: "DOWN", 1073741904: "LEFT", 1073741903: "RIGHT",
}  # fmt: skip
AUTORESET = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "off",
}


def check_render_mode(mode: str | None, modes: Sequence[str] = RENDER_MODES) -> str | None:
    """One of the modes, or UnknownOption."""
    if mode is not None and mode not in modes:
        raise pp.UnknownOption(f"render_mode is one of {', '.join(modes)}, not {quote(mode)}")
    return mode


class PuzzleEnv(gym.Env[Any, Any]):
    """One puzzle as a Gymnasium environment.

        >>> env = PuzzleEnv("fifteen", "2x2")
        >>> observation, info = env.reset(seed=1)
        >>> observation["tiles"].shape
        (2, 2)

    Every ``info`` has ``puzzle_state`` (the fields), ``action_mask`` (int8), ``game_id``, ``state_repeats`` and ``is_success``.

    Args:
        puzzle: one of ``puzzleport.puzzles()``, or a ``puzzleport.Task``.
        params: the engine's parameter string; ``None`` for the default. ``"4x4#42"`` or ``"4x4:description"`` plays that one
            instance in every episode.
        render_mode: human, rgb_array or ansi.
        mask_in_observation: put ``action_mask`` into the observation too.
        copy: hand out fresh arrays; without it, live buffers that the next step overwrites.
        expert_action: put what an expert would do next into ``info["expert_action"]``, -1 where it does not know: for
            imitation learning. Planning takes milliseconds.
        options: those of ``puzzleport.Task``: seed, undo, max_steps, max_repeats, rewards, observation, width, height, timeout.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 10}  # noqa: RUF012 (Gymnasium's form)

    def __init__(
        self,
        puzzle: str | pp.Task,
        params: str | None = None,
        *,
        render_mode: str | None = None,
        mask_in_observation: bool = False,
        copy: bool = True,
        expert_action: bool = False,
        **options: Unpack[pp.TaskOptions],
    ) -> None:
        self.task = pp.Task.of(puzzle, params, options)
        self.render_mode = check_render_mode(render_mode)
        self.copy, self.mask_in_observation = copy, mask_in_observation
        self.action_names = self.task.actions
        self._episodes = pp.Episodes(self.task)
        self._expert = pp.ExpertPolicy(self.task.puzzle) if expert_action else None
        n_actions = len(self.action_names)
        self.observation_space = space_of(self.task.encoder.tree, n_actions if mask_in_observation else 0)
        self.action_space = spaces.Discrete(n_actions)
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
            raise pp.UnknownOption(
                f"unknown reset options {quote(sorted(unknown, key=str))}; there are game_id and params"
            )
        opened = self._episodes.started
        self._episodes.start(seed, **options)
        if not opened:
            self._attach()
        self._over = self._episodes.ended == 1
        result = self._result()
        if self.render_mode == "human":
            self.render()
        return result

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 (Gymnasium's signature)
        """Take an action."""
        if self._over:
            reason = (
                "this episode is over: call reset" if self._episodes.started else "call reset before the first step"
            )
            raise gym.error.ResetNeeded(reason)
        reward = self._episodes.step(action)
        observation, info = self._result()
        ended = self._outcome.ended
        if ended:
            self._over = True
        if self.render_mode == "human":
            self.render()
        return observation, reward, ended == 1, ended == 2, info

    def _attach(self) -> None:
        """Take what looks at the present session."""
        session = self._episodes.session
        self._outcome, self._live_mask = session.outcome, session.mask(copy=False).view(np.int8)
        shows_state = isinstance(self._episodes.encoder, State)
        self._state = None if shows_state else State(self.task).attach(session)

    def _result(self) -> tuple[Any, dict[str, Any]]:
        episodes, copy = self._episodes, self.copy
        mask = self._live_mask.copy() if copy else self._live_mask
        observation = episodes.observation(copy=copy)
        info = episodes.info(mask, dict(observation) if self._state is None else self._state(copy=copy))
        if self.mask_in_observation:
            observation = with_mask(observation, mask)
        if self._expert is not None:
            info["expert_action"] = -1
            if not self._outcome.status:
                with contextlib.suppress(pp.NoPlan):
                    info["expert_action"] = self._expert(episodes.session)
        return observation, info

    def render(self) -> Any:  # noqa: ANN401 (depends on the mode)
        """A picture, the text board, or a window that follows the agent."""
        session = self.session
        if self.render_mode is None:
            gym.logger.warn("render needs a render_mode: gym.make(..., render_mode='rgb_array')")
            return None
        if self.render_mode == "ansi":
            return session.text()
        if self.render_mode == "rgb_array":
            return session.pixels(self.task.width, self.task.height)
        if self._window is None:
            from puzzleport.window import Window

            self._window = Window(self.task.spec.title, self.metadata["render_fps"])
        self._window.show(session)
        return None

    def get_keys_to_action(self) -> dict[tuple[str | int, ...], int]:
        """The keys for ``gymnasium.utils.play``: arrows or WASD, Enter, Space, C, U and digits.

        Give it ``wait_on_player=True``: no action of a puzzle means to wait.
        """
        numbers = {name: number for number, name in enumerate(self.action_names)}
        found: dict[tuple[str | int, ...], int] = {
            (key,): numbers[name] for key, name in KEYS.items() if name in numbers
        }
        return found | {(name,): number for name, number in numbers.items() if name.isdigit()}

    def close(self) -> None:
        """Free the native side and the window. Closing twice is fine."""
        self._over = True
        self._episodes.close()
        if self._window is not None:
            self._window.close()
            self._window = None

    def __del__(self) -> None:
        episodes = getattr(self, "_episodes", None)
        if episodes is not None and episodes.started:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=2)
            self.close()

    # ---- what else agents ask for

    def action_masks(self) -> Array:
        """The exact mask, by the name that sb3-contrib looks for; ``action_space.sample`` takes it too."""
        return self.session.mask().view(np.int8)

    @property
    def session(self) -> pp.Session:
        """The session underneath."""
        if not self._episodes.started:
            raise gym.error.ResetNeeded("call reset first")
        return self._episodes.session

    def __getstate__(self) -> dict[str, Any]:
        mine = ("_outcome", "_live_mask", "_state")  # of this environment's own session
        return {name: value for name, value in self.__dict__.items() if name not in mine} | {"_window": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._episodes.started:
            self._attach()


class PuzzleVectorEnv(gym.vector.VectorEnv[Any, Any, Any]):
    """Many puzzles stepped together in C, on all cores.

    The episode stream of each sub-environment is a pure function of its seed, and equal to that of a ``PuzzleEnv`` with the
    same seed. Infos have the same keys as there, with Gymnasium's ``_key`` beside each. Takes the arguments of
    ``PuzzleEnv`` (``expert_action`` apart), and:

    Args:
        num_envs: how many.
        threads: how many threads step them; 0 for all cores.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED, as Gymnasium defines them.
    """

    _episodes: pp.BatchEpisodes | None = None

    def __init__(
        self,
        puzzle: str | pp.Task,
        params: str | None = None,
        num_envs: int = 1,
        *,
        threads: int = 0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        mask_in_observation: bool = False,
        copy: bool = True,
        **options: Unpack[pp.TaskOptions],
    ) -> None:
        self.task = pp.Task.of(puzzle, params, options)
        self.render_mode = check_render_mode(render_mode, ("rgb_array", "ansi"))
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10, "autoreset_mode": self.autoreset_mode}
        self.copy, self.mask_in_observation = copy, mask_in_observation
        self.action_names = self.task.actions
        autoreset: Any = AUTORESET[self.autoreset_mode]
        self._episodes = pp.BatchEpisodes(self.task, num_envs, threads=threads, autoreset=autoreset)
        self.num_envs = self._episodes.num_envs
        n_actions = len(self.action_names)
        self.single_observation_space = space_of(self.task.encoder.tree, n_actions if mask_in_observation else 0)
        self.single_action_space = spaces.Discrete(n_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        fields = State(self.task)
        shows_state = isinstance(self.task.encoder, State)
        self._state = None if shows_state else fields.attach_batch(self.batch)[0]
        self._final_fields = fields.views(self.batch.final[0])
        self._over: Array | None = None
        self._everyone = np.ones(self.num_envs, np.bool_)
        self._of_every_field = {f"_{field.name}": self._everyone for field in self.task.layout.fields}

    @property
    def episodes(self) -> pp.BatchEpisodes:
        """The episodes underneath."""
        if self._episodes is None:
            raise gym.error.ClosedEnvironmentError("this vector environment was closed")
        return self._episodes

    @property
    def batch(self) -> pp.Batch:
        """The batch underneath."""
        return self.episodes.batch

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start new episodes: sub-environment i with ``seed + i``, or with the i-th of several seeds.

        Options: ``{"reset_mask": array}`` resets only where it is true, as Gymnasium's DISABLED mode wants it.
        """
        options = options or {}
        unknown = options.keys() - {"reset_mask"}
        if unknown:
            raise pp.UnknownOption(f"unknown reset options {quote(sorted(unknown, key=str))}; there is reset_mask")
        self.episodes.start(seed, options.get("reset_mask"))
        self._over = self.batch.result.ended == 1
        return self._result(self.batch.result.status > 0, self.batch.result.repeats.copy())

    def step(self, actions: Any) -> tuple[Any, Array, Array, Array, dict[str, Any]]:  # noqa: ANN401 (Gymnasium's signature)
        """Take one action in each sub-environment."""
        if self._over is None:
            raise gym.error.ResetNeeded("call reset before the first step")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._over.any():
            over = np.flatnonzero(self._over).tolist()
            raise gym.error.ResetNeeded(f"sub-environments {over} are over: reset them")
        rewards = self.episodes.step(actions)
        result = self.batch.result
        ended = result.ended
        terminations, truncations = ended == 1, ended == 2
        over = self._over = terminations | truncations
        success, repeats = result.status > 0, result.repeats.copy()
        if self.autoreset_mode == AutoresetMode.SAME_STEP and over.any():
            # Where an episode ended, the next one is there already: it has solved nothing and repeated nothing yet.
            observation, info = self._result(success & ~over, np.where(over, 0, repeats))
            self._add_final(info, over, success, repeats)
        else:
            observation, info = self._result(success, repeats)
        return observation, rewards, terminations, truncations, info

    def _result(self, success: Array, repeats: Array) -> tuple[Any, dict[str, Any]]:
        episodes, copy = self.episodes, self.copy
        result = episodes.batch.result
        mask = (result.mask.copy() if copy else result.mask).view(np.int8)
        observation = episodes.observation(copy=copy)
        state = observation if self._state is None else self._state(copy=copy)
        info = {
            "puzzle_state": {**state, **self._of_every_field},
            "action_mask": mask,
            "game_id": episodes.game_ids.copy() if copy else episodes.game_ids,
            "state_repeats": repeats,
            "is_success": success,
        }
        info.update({f"_{name}": self._everyone for name in info})
        return with_mask(observation, mask) if self.mask_in_observation else observation, info

    def _add_final(self, info: dict[str, Any], over: Array, success: Array, repeats: Array) -> None:
        """What the episodes that ended in this step ended with, as Gymnasium's SAME_STEP mode reports it."""
        episodes, masks = self.episodes, self.batch.final[1].view(np.int8).copy()
        observations = np.full(self.num_envs, None, object)
        for slot in np.flatnonzero(over):
            seen = episodes.final_observation(slot)
            observations[slot] = with_mask(seen, masks[slot]) if self.mask_in_observation else seen
        state = {name: view.copy() for name, view in self._final_fields.items()}
        final: dict[str, Any] = {
            "puzzle_state": {**state, **{f"_{name}": over for name in state}},
            "action_mask": masks,
            "game_id": episodes.last_game_ids,
            "state_repeats": repeats,
            "is_success": success,
        }
        final.update({f"_{name}": over for name in final})
        info.update({"final_obs": observations, "_final_obs": over, "final_info": final, "_final_info": over})

    def action_masks(self) -> Array:
        """The exact masks of all sub-environments, (num_envs, actions)."""
        masks: Array = self.batch.result.mask.copy().view(np.int8)
        return masks

    def render(self) -> Any:  # noqa: ANN401 (depends on the mode)
        """A tuple with each sub-environment's picture or text board."""
        if self.render_mode == "ansi":
            return tuple(self.batch.session(slot).text() for slot in range(self.num_envs))
        if self.render_mode == "rgb_array":
            return tuple(self.batch.pixels(self.task.width, self.task.height))
        gym.logger.warn("render needs a render_mode: rgb_array or ansi")
        return None

    def close_extras(self, **kwargs: Any) -> None:  # noqa: ANN401 (Gymnasium's signature)
        """Free the native side."""
        if self._episodes is not None:
            self._episodes.close()
            self._episodes = None


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
    gym.register("rlp/Puzzle-v0", entry_point="puzzleport.adapters.rlp:PaperEnv")


_register()
