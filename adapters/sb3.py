"""Stable-Baselines3: a native ``VecEnv``, so that neither steps nor masks loop over environments in Python.

SB3 builds on Gymnasium, and so does this module: it dresses the Gymnasium adapter's vector environment in SB3's interface.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

try:
    from stable_baselines3.common.vec_env import VecEnv, VecMonitor
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn
except ImportError as error:
    raise ImportError("the SB3 adapter needs an extra: pip install 'puzzleport[sb3]'") from error

import puzzleport as pp
from puzzleport.adapters.gymnasium_vector import Array, PuzzleVectorEnv

INFO = ("action_mask", "game_id", "state_repeats", "is_success")
"""What every info tells."""


class PuzzleVecEnv(VecEnv):
    """A ``PuzzleVectorEnv`` with SB3's interface. It takes the same arguments, the autoreset mode apart.

    The sub-environments exist in C only. So ``get_attr`` tells what the whole has, and ``env_method`` knows
    ``action_masks`` and nothing else. Every info has ``action_mask``, ``game_id``, ``state_repeats`` and ``is_success``; at the
    end of an episode SB3's ``terminal_observation`` and ``TimeLimit.truncated`` come along. ``puzzle_state`` is left out: a
    dict for each sub-environment and step would cost more than the step. ``envs.batch`` has it.
    """

    def __init__(
        self,
        puzzle: str | pp.Task,
        params: str | None = None,
        num_envs: int = 64,
        *,
        n_envs: int | None = None,
        **options: Any,  # noqa: ANN401 (what PuzzleVectorEnv takes)
    ) -> None:
        if "autoreset_mode" in options:
            raise pp.UnknownOption("SB3 has its own way to go on after an episode: there is no autoreset_mode here")
        num_envs = num_envs if n_envs is None else n_envs  # SB3's own word
        self.envs = PuzzleVectorEnv(puzzle, params, num_envs, autoreset_mode="SameStep", **options)
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self) -> VecEnvObs:
        """Start new episodes, with the seeds of the last ``seed`` once."""
        if any(self._options):
            raise ValueError("the sub-environments take no reset options")
        observation, _ = self.envs.reset(seed=None if None in self._seeds else self._seeds)
        self._reset_seeds()
        return observation  # type: ignore[no-any-return]

    def step_async(self, actions: Array) -> None:
        """Keep the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Take the actions. Where an episode ended, the observation is already the next one's first."""
        observation, rewards, terminations, truncations, info = self.envs.step(self._actions)
        dones = terminations | truncations
        told = zip(
            info["action_mask"],
            info["game_id"],
            info["state_repeats"].tolist(),
            info["is_success"].tolist(),
            strict=True,
        )
        infos: list[dict[str, Any]] = [dict(zip(INFO, each, strict=True)) for each in told]
        final = info.get("final_info", {})
        for slot in np.flatnonzero(dones):
            infos[slot] = {name: final[name][slot] for name in INFO}
            infos[slot] |= {
                "is_success": bool(final["is_success"][slot]),
                "terminal_observation": info["final_obs"][slot],
                "TimeLimit.truncated": bool(truncations[slot]),
            }
        return observation, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Free the native side."""
        self.envs.close()

    def get_images(self) -> Sequence[Array | None]:
        """Each sub-environment's picture, with ``render_mode="rgb_array"``."""
        return list(self.envs.render())

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of the whole, once for each index."""
        return [getattr(self.envs, attr_name)] * len(self._slots(indices))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:  # noqa: ANN401 (SB3's signature)
        """Not possible: there is no Python object for a sub-environment."""
        raise AttributeError(f"the sub-environments are native and take no attribute {attr_name!r}")

    def env_method(
        self,
        method_name: str,
        *method_args: Any,  # noqa: ANN401 (SB3's signature)
        indices: VecEnvIndices = None,
        **method_kwargs: Any,  # noqa: ANN401 (SB3's signature)
    ) -> list[Any]:
        """``action_masks`` of all sub-environments, from the batch in one call."""
        if method_name != "action_masks":
            raise AttributeError(f"the sub-environments are native and know action_masks only, not {method_name!r}")
        masks = self.envs.action_masks()
        return list(masks if indices is None else masks[self._slots(indices)])

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Never: wrap the whole with SB3's own ``VecEnvWrapper`` classes."""
        return [False] * len(self._slots(indices))

    def _slots(self, indices: VecEnvIndices) -> list[int]:
        slots: Iterable[int] = self._get_indices(indices)
        return list(slots)


def sb3_vec_env(
    puzzle: str | pp.Task,
    params: str | None = None,
    num_envs: int = 64,
    *,
    n_envs: int | None = None,
    **options: Any,  # noqa: ANN401 (what PuzzleVectorEnv takes)
) -> VecMonitor:
    """Many puzzles as one SB3 ``VecEnv``, stepped in C on all cores, with episode statistics as SB3 logs them.

        >>> env = sb3_vec_env("fifteen", "2x2", num_envs=8, observation="flat")
        >>> env.reset().shape
        (8, 6)
        >>> len(env.env_method("action_masks"))
        8
        >>> env.close()

    Args:
        puzzle: one of ``puzzleport.puzzles()``, or a ``puzzleport.Task``.
        params: the engine's parameter string; ``None`` for the default.
        num_envs: how many.
        n_envs: the same by SB3's own word.
        options: those of ``PuzzleVectorEnv``, and so of ``puzzleport.Task``.
    """
    return VecMonitor(PuzzleVecEnv(puzzle, params, num_envs, n_envs=n_envs, **options))
