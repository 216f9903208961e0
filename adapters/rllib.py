"""RLlib: the environments under names that Ray's registry knows on every machine of a cluster.

RLlib builds on Gymnasium and PettingZoo, and so does this module: it hands their adapters' environments to Ray.

    >>> from ray.rllib.algorithms.ppo import PPOConfig
    >>> from puzzleport.adapters import rllib
    >>> rllib.register()
    >>> config = PPOConfig().environment("puzzleport", env_config={"puzzle": "net", "params": "2x2"})
"""

from __future__ import annotations

from typing import Any

try:
    from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
    from ray.tune.registry import register_env
except ImportError as error:
    raise ImportError("the RLlib adapter needs an extra: pip install 'puzzleport[rllib]'") from error

from puzzleport.adapters import pettingzoo
from puzzleport.adapters.gymnasium import PuzzleEnv

MULTI_AGENT = {"solo_v0": pettingzoo.solo_v0, "coop_v0": pettingzoo.coop_v0, "race_v0": pettingzoo.race_v0}


class PuzzleMultiAgentEnv(ParallelPettingZooEnv):
    """A parallel PettingZoo environment as RLlib's ``MultiAgentEnv``."""

    def step(self, action_dict: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Take an action for each agent. The episode is over when no agent is left, whatever each of them ended with."""
        observations, rewards, terminateds, truncateds, infos = self.par_env.step(action_dict)
        over = not self.par_env.agents
        cut = over and all(truncateds.values())
        terminateds["__all__"], truncateds["__all__"] = over and not cut, cut
        return observations, rewards, terminateds, truncateds, infos

    def render(self) -> Any:  # noqa: ANN401 (depends on the mode)
        """What the environment renders in its own mode."""
        return self.par_env.render()


def single_agent(config: dict[str, Any]) -> PuzzleEnv:
    """A ``PuzzleEnv`` whose observation is ``{"observation": ..., "action_mask": ...}``, for an RLModule that masks."""
    return PuzzleEnv(**{"obs_type": "flat", "mask_in_observation": True, **config})


def register() -> tuple[str, ...]:
    """Make the environments known to Ray; returns their names.

    ``puzzleport`` has one agent and takes the arguments of ``adapters.gymnasium.PuzzleEnv`` as its ``env_config``;
    ``puzzleport/solo_v0``, ``puzzleport/coop_v0`` and ``puzzleport/race_v0`` have many and take those of
    ``adapters.pettingzoo.Table``. Every observation holds ``observation`` and ``action_mask``.
    """
    register_env("puzzleport", single_agent)
    for name, version in MULTI_AGENT.items():
        register_env(
            f"puzzleport/{name}", lambda config, make=version.parallel_env: PuzzleMultiAgentEnv(make(**config))
        )
    return ("puzzleport", *(f"puzzleport/{name}" for name in MULTI_AGENT))
