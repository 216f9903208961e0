"""Gymnasium: single environments, a native vector environment, and their registration.

Importing this module registers ``puzzleport/Bridges-v0`` and its 39 siblings, ``puzzleport/Puzzle-v0`` (with ``puzzle=``)
and ``rlp/Puzzle-v0`` (the paper's environment and keywords). So does the prefix in
``gym.make("puzzleport.adapters.gymnasium:puzzleport/Bridges-v0")``.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

import puzzleport as pp
from puzzleport.adapters.gymnasium_spaces import RENDER_MODES, check_render_mode, space_of, with_mask
from puzzleport.adapters.gymnasium_vector import PuzzleVectorEnv
from puzzleport.encode.state import State
from puzzleport.errors import quote

try:
    import gymnasium as gym
    from gymnasium import spaces
except ImportError as error:
    raise ImportError("the Gymnasium adapter needs an extra: pip install 'puzzleport[gymnasium]'") from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = np.ndarray[Any, Any]
__all__ = ["PuzzleEnv", "PuzzleVectorEnv", "env_id"]
# What gymnasium.utils.play calls keys: characters, and SDL's numbers of those that have none.
KEYS: dict[str | int, str] = {
    "w": "UP", "s": "DOWN", "a": "LEFT", "d": "RIGHT", "\r": "SELECT", " ": "SELECT2", "c": "CTRL", "u": "UNDO",
    1073741906: "UP", 1073741905: "DOWN", 1073741904: "LEFT", 1073741903: "RIGHT",
}  # fmt: skip


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
        self._session: pp.Session | None = None
        self._generator: np.random.Generator | None = None

    # ---- Gymnasium's interface

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start the puzzle that the seed decides; without one, the next of the present stream.

        Options: ``{"game_id": ...}`` or ``{"params": ...}`` starts a given one, as long as observations keep their shape.
        """
        if seed is not None:
            self._generator, self._np_random_seed = None, seed
        episodes = self._episodes
        if not options:
            episodes.start(seed)
        elif unknown := options.keys() - {"game_id", "params"}:
            raise pp.UnknownOption(
                f"unknown reset options {quote(sorted(unknown, key=str))}; there are game_id and params"
            )
        else:
            episodes.start(seed, **options)
        if episodes.session is not self._session:
            self._attach()
        self._over = self._outcome.ended == 1
        result = self._result()
        if self.render_mode == "human":
            self.render()
        return result

    # Gymnasium makes a generator for every seed that it is given. That takes longer than most resets, and nothing here
    # draws from it: it is made when somebody asks for it.
    @property
    def _np_random(self) -> np.random.Generator | None:
        if self._generator is None and self._np_random_seed is not None:
            self._generator = gym.utils.seeding.np_random(self._np_random_seed)[0]
        return self._generator

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        self._generator = generator

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
        self._session = session = self._episodes.session
        self._outcome, self._live_mask = session.outcome, session.mask(copy=False).view(np.int8)
        shows_state = isinstance(self._episodes.encoder, State)
        self._state = None if shows_state else State(self.task).attach(session)

    def _result(self) -> tuple[Any, dict[str, Any]]:
        episodes, copy, state = self._episodes, self.copy, self._state
        mask = self._live_mask.copy() if copy else self._live_mask
        observation = episodes.observation(copy)
        info = episodes.info(mask, observation.copy() if state is None else state(copy))
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
        kept = {name: value for name, value in self.__dict__.items() if name not in mine}
        return kept | {"_window": None, "_session": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._episodes.started:
            self._attach()


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
            order_enforce=False,  # the environment itself does
            kwargs=keywords,
        )
    gym.register("rlp/Puzzle-v0", entry_point="puzzleport.adapters.rlp:PaperEnv")


_register()
