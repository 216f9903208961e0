"""MaskablePPO of sb3-contrib on five puzzles, until it does as well as the paper's: python examples/sb3_maskable_ppo.py

It also shows what batching is worth: the same training on 8 environments in a DummyVecEnv and on the native 64-wide VecEnv.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from common import Budget, arguments, evaluate
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from puzzleport.adapters.gymnasium import PuzzleEnv
from puzzleport.adapters.sb3 import sb3_vec_env

# Parameters, and the mean length of MaskablePPO's solved episodes in the paper (internal state).
PUZZLES = {
    "fifteen": ("2x2", 4),
    "flood": ("3x3c6m5", 12),
    "net": ("2x2", 9),
    "singles": ("2x3de", 5),
    "twiddle": ("2x3n2", 7),
}
OBSERVATION = {"observation": "one_hot"}
SETTINGS: dict[str, Any] = {
    "n_steps": 64,
    "batch_size": 512,
    "learning_rate": 1e-3,
    "gamma": 0.95,
    "ent_coef": 0.01,
}
# Random play seldom solves Singles: it needs longer episodes to find the goal at all, and learns the most from what it finds.
SPECIAL: dict[str, dict[str, Any]] = {
    "singles": {
        "n_steps": 32,
        "batch_size": 256,
        "learning_rate": 1.5e-3,
        "gamma": 0.9,
        "ent_coef": 0.005,
        "policy_kwargs": {"net_arch": [128, 128]},
    },
}
MAX_STEPS = {"singles": 500}


class UntilLevel(Budget):
    """Ends training as soon as the agent reaches a level: when its own episodes say so, it is measured on fresh ones."""

    def __init__(self, puzzle: str, params: str, length: float, options: Any) -> None:  # noqa: ANN401 (the command line)
        super().__init__(options.steps, options.seconds)
        self.which, self.length, self.episodes = (puzzle, params), length, options.episodes
        self.reached = False

    def _on_step(self) -> bool:
        return super()._on_step() and not self.reached

    def _on_rollout_end(self) -> None:
        recent = self.model.ep_info_buffer
        if (
            recent
            and np.mean(self.model.ep_success_buffer) >= 0.99
            and np.mean([e["l"] for e in recent]) <= self.length
        ):
            self.reached = self.holds()

    def holds(self) -> bool:
        """Whether at least 99% are solved, no longer than the paper's by more than two steps."""
        self.measured = evaluate(self.model, *self.which, self.episodes, masked=True, **OBSERVATION)
        return self.measured.solved >= 0.99 and self.measured.length <= self.length


def train(puzzle: str, options: Any) -> UntilLevel:  # noqa: ANN401 (the command line)
    """Train on one puzzle until it reaches the paper's level or the budget is used up."""
    params, paper = PUZZLES[puzzle]
    env = sb3_vec_env(puzzle, params, num_envs=64, max_steps=MAX_STEPS.get(puzzle, 200), **OBSERVATION)
    model = MaskablePPO("MlpPolicy", env, seed=options.seed, **{**SETTINGS, **SPECIAL.get(puzzle, {})})
    level = UntilLevel(puzzle, params, paper + 2, options)
    model.learn(options.steps, callback=level, progress_bar=True)
    if not level.reached:
        level.reached = level.holds()
    env.close()
    print(
        f"{puzzle} {params}: {level.measured} after {model.num_timesteps:,} steps of training "
        f"({'reaches' if level.reached else 'misses'} the level: 99% in at most {paper + 2})"
    )
    return level


def speed(env: Any, steps: int) -> float:  # noqa: ANN401 (any VecEnv)
    """Steps of training a second."""
    settings = {**SETTINGS, "n_steps": 4096 // env.num_envs}
    model = MaskablePPO("MlpPolicy", env, **settings)
    start = time.perf_counter()
    model.learn(steps)
    env.close()
    return model.num_timesteps / (time.perf_counter() - start)


def main() -> None:
    options = arguments(__doc__, steps=300_000, puzzles=list(PUZZLES))
    for puzzle in options.puzzles:
        train(puzzle, options)
    steps = min(options.steps, 20_000)
    dummy = speed(make_vec_env(lambda: PuzzleEnv("fifteen", "2x2", **OBSERVATION), 8), steps)
    native = speed(sb3_vec_env("fifteen", "2x2", num_envs=64, **OBSERVATION), steps)
    print(f"training with 8 DummyVecEnv environments: {dummy:,.0f} steps a second")
    print(f"training with the native 64-wide VecEnv: {native:,.0f} steps a second, {native / dummy:.1f} times as many")


if __name__ == "__main__":
    main()
