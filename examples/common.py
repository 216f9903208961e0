"""What the examples share: their command line, a budget, and how an agent is measured."""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
import torch
from stable_baselines3.common.callbacks import BaseCallback

from puzzleport.adapters.sb3 import sb3_vec_env

# These networks are so small that threads would only wait for each other.
torch.set_num_threads(1)


def arguments(about: str, steps: int, **more: Any) -> argparse.Namespace:  # noqa: ANN401 (defaults of any type)
    """The command line: --steps, --seconds, --episodes, --seed, and an option for each further default."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=int, default=steps, help="steps of training at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="seconds of training at most")
    parser.add_argument("--episodes", type=int, default=1000, help="episodes of the evaluation")
    parser.add_argument("--seed", type=int, default=0, help="of training; the evaluation has its own")
    for name, default in more.items():
        kind = type(default) if not isinstance(default, list) else type(default[0])
        parser.add_argument(
            f"--{name.replace('_', '-')}", type=kind, default=default, nargs="+" if isinstance(default, list) else None
        )
    return parser.parse_args()


class Budget(BaseCallback):
    """Ends training when the steps or seconds are used up."""

    def __init__(self, steps: int, seconds: float = float("inf")) -> None:
        super().__init__()
        self.steps, self.seconds = steps, seconds

    def _on_training_start(self) -> None:
        self._end = time.perf_counter() + self.seconds

    def _on_step(self) -> bool:
        one_more = self.num_timesteps + self.training_env.num_envs
        return one_more <= self.steps and time.perf_counter() < self._end


class Measured(NamedTuple):
    """How an agent does on puzzles that it has not trained on."""

    solved: float
    length: float
    """Mean length of the solved episodes."""

    def __str__(self) -> str:
        return f"{self.solved:.1%} solved, in {self.length:.1f} steps on average"


def evaluate(
    model: Any,  # noqa: ANN401 (any SB3 model)
    puzzle: str,
    params: str,
    episodes: int = 1000,
    *,
    masked: bool = False,
    max_steps: int = 1000,
    seed: int = 1_000_000,
    **options: Any,  # noqa: ANN401 (of sb3_vec_env)
) -> Measured:
    """Play whole episodes on fresh seeds. The actions are sampled, as in training: who always takes the best may circle.

    Every sub-environment plays the same number of episodes, so that short ones do not count for more.
    """
    n_envs = min(episodes, 100)
    env = sb3_vec_env(puzzle, params, n_envs, max_steps=max_steps, **options)
    env.seed(seed)
    observation, memory = env.reset(), None
    first = np.ones(n_envs, np.bool_)
    left = np.full(n_envs, episodes // n_envs)
    solved, lengths = [], []
    while left.any():
        more = {"action_masks": np.stack(env.env_method("action_masks"))} if masked else {"episode_start": first}
        actions, memory = model.predict(observation, memory, deterministic=False, **more)
        observation, _, first, infos = env.step(actions)
        for slot in np.flatnonzero(first & (left > 0)):
            left[slot] -= 1
            solved.append(infos[slot]["is_success"])
            lengths.append(infos[slot]["episode"]["l"])
    env.close()
    success = np.array(solved)
    length = float(np.array(lengths)[success].mean()) if success.any() else float("nan")
    return Measured(float(success.mean()), length)
