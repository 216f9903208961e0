"""RLlib: the environments under names that Ray's registry knows on every machine of a cluster.

RLlib builds on Gymnasium and PettingZoo, and so does this module: it hands their adapters' environments to Ray.

    >>> from ray.rllib.algorithms.ppo import PPOConfig
    >>> from puzzleport.adapters import rllib
    >>> rllib.register()
    >>> config = PPOConfig().environment("puzzleport", env_config={"puzzle": "net", "params": "2x2"})

Every observation is ``{"observations": ..., "action_mask": ...}``: the keys that RLlib's own ``ActionMaskingTorchRLModule``
reads. One default differs from all other adapters: ``observation`` is ``"flat"``, because RLlib's networks take no Dict of
fields without a connector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

try:
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
    from ray.tune.registry import register_env
except ImportError as error:
    raise ImportError("the RLlib adapter needs an extra: pip install 'puzzleport[rllib]'") from error

from puzzleport.adapters import pettingzoo
from puzzleport.adapters.gymnasium import PuzzleEnv
from puzzleport.adapters.gymnasium_spaces import space_of
from puzzleport.encode import Leaf

if TYPE_CHECKING:
    from collections.abc import Callable

    import puzzleport as pp

MULTI_AGENT = {"solo_v0": pettingzoo.solo_v0, "coop_v0": pettingzoo.coop_v0, "race_v0": pettingzoo.race_v0}


class PuzzleSingleAgentEnv(PuzzleEnv):
    """A ``PuzzleEnv`` whose observation is ``{"observations": ..., "action_mask": ...}``, for an RLModule that masks.

    Args:
        puzzle: one of ``puzzleport.puzzles()``, or a ``puzzleport.Task``.
        params: the engine's parameter string; ``None`` for the default.
        mask_in_observation: without it the observation is the plain vector (or picture), for RLlib's default modules.
        options: the others of ``PuzzleEnv``; ``observation`` is ``"flat"`` by default.
    """

    def __init__(
        self,
        puzzle: str | pp.Task,
        params: str | None = None,
        *,
        mask_in_observation: bool = True,
        **options: Any,  # noqa: ANN401 (those of PuzzleEnv)
    ) -> None:
        super().__init__(puzzle, params, **_flat_by_default(puzzle, options))
        self._shows_mask = mask_in_observation
        if mask_in_observation:
            mask = Leaf((len(self.action_names),), np.dtype(np.int8), 0, 1, "action_mask")
            self.observation_space = space_of({"observations": self.task.encoder.tree, "action_mask": mask})

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start the puzzle that the seed decides; without one, the next of the present stream."""
        observation, info = super().reset(seed=seed, options=options)
        return self._masked(observation, info), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:  # noqa: ANN401 (Gymnasium's signature)
        """Take an action."""
        observation, reward, terminated, truncated, info = super().step(action)
        return self._masked(observation, info), reward, terminated, truncated, info

    def _masked(self, observation: Any, info: dict[str, Any]) -> Any:  # noqa: ANN401 (an observation of any kind)
        return {"observations": observation, "action_mask": info["action_mask"]} if self._shows_mask else observation


class PuzzleMultiAgentEnv(ParallelPettingZooEnv):
    """A parallel PettingZoo environment as RLlib's ``MultiAgentEnv``."""

    observation_space: Any  # Gymnasium's Dict of a Dict for each agent

    def __init__(self, env: Any) -> None:  # noqa: ANN401 (one of this project's parallel environments)
        super().__init__(env)
        by_agent = self.observation_space
        make = type(by_agent)
        self.observation_space = make({agent: make(_renamed(space.spaces)) for agent, space in by_agent.items()})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start the puzzle that the seed decides; without one, the next of the present stream."""
        observations, infos = self.par_env.reset(seed=seed, options=options)
        return {agent: _renamed(seen) for agent, seen in observations.items()}, infos

    def step(self, action_dict: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Take an action for each agent. The episode is over when no agent is left, whatever each of them ended with."""
        observations, rewards, terminateds, truncateds, infos = self.par_env.step(action_dict)
        over = not self.par_env.agents
        cut = over and all(truncateds.values())
        terminateds["__all__"], truncateds["__all__"] = over and not cut, cut
        seen = {agent: _renamed(each) for agent, each in observations.items()}
        return seen, rewards, terminateds, truncateds, infos

    def render(self) -> Any:  # noqa: ANN401 (depends on the mode)
        """What the environment renders in its own mode."""
        return self.par_env.render()


def _renamed(seen: dict[str, Any]) -> dict[str, Any]:
    """An agent's observation in PettingZoo's form, with the key that RLlib's modules look for."""
    return {"observations" if name == "observation" else name: part for name, part in seen.items()}


def _flat_by_default(puzzle: object, options: dict[str, Any]) -> dict[str, Any]:
    """Options with RLlib's default of what is seen; a task has made its own choice."""
    return options if not isinstance(puzzle, str) else {"observation": "flat", **options}


def single_agent(config: dict[str, Any]) -> PuzzleSingleAgentEnv:
    """The environment of one agent; ``config`` has the arguments of ``PuzzleSingleAgentEnv``."""
    return PuzzleSingleAgentEnv(**config)


def multi_agent(make: Callable[..., Any], config: dict[str, Any]) -> PuzzleMultiAgentEnv:
    """An environment of many agents; ``config`` has the arguments of ``make``, a ``parallel_env`` of this project."""
    return PuzzleMultiAgentEnv(make(**_flat_by_default(config.get("puzzle", ""), dict(config))))


def register() -> tuple[str, ...]:
    """Make the environments known to Ray; returns their names.

    ``puzzleport`` has one agent and takes the arguments of ``adapters.gymnasium.PuzzleEnv`` as its ``env_config``;
    ``puzzleport/solo_v0``, ``puzzleport/coop_v0`` and ``puzzleport/race_v0`` have many and take those of
    ``adapters.pettingzoo.MultiAgentPuzzle``. Every observation holds ``observations`` and ``action_mask``.
    """
    register_env("puzzleport", single_agent)
    for name, constructors in MULTI_AGENT.items():
        register_env(f"puzzleport/{name}", lambda config, make=constructors.parallel_env: multi_agent(make, config))
    return ("puzzleport", *(f"puzzleport/{name}" for name in MULTI_AGENT))
