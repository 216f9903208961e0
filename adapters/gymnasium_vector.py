"""Gymnasium's vector environment: many puzzles stepped together in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import puzzleport as pp
from puzzleport.adapters.gymnasium_spaces import check_render_mode, space_of, with_mask
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
AUTORESET = {
    AutoresetMode.NEXT_STEP: "next_step",
    AutoresetMode.SAME_STEP: "same_step",
    AutoresetMode.DISABLED: "off",
}


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
        told = ("puzzle_state", "action_mask", "game_id", "state_repeats", "is_success")
        self._of_every_info = {f"_{name}": self._everyone for name in told}
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
        episodes = self.episodes
        rewards = episodes.step(actions)
        _, repeats, terminations, truncations, over, success, _ = episodes.told
        self._over = over
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
        info.update(self._of_every_info)
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
