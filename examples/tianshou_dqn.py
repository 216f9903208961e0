"""Masked DQN of Tianshou through the Gymnasium environments: python examples/tianshou_dqn.py

Tianshou reads a mask from an observation of the form {"obs": ..., "mask": ...}: the wrapper below is all that it takes.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from puzzleport.adapters.gymnasium import PuzzleEnv

PUZZLES = {"fifteen": "2x2", "net": "2x2"}
ENVS, PART = 16, 20_000

# These networks are so small that threads would only wait for each other.
torch.set_num_threads(1)


class TianshouMask(gym.ObservationWrapper):  # type: ignore[type-arg]
    """The observation and its mask by the names that Tianshou looks for."""

    def __init__(self, env: PuzzleEnv) -> None:
        super().__init__(env)
        inner = env.observation_space
        mask = gym.spaces.Box(0, 1, inner["action_mask"].shape, np.bool_)
        self.observation_space = gym.spaces.Dict({"obs": inner["observation"], "mask": mask})

    def observation(self, observation: dict[str, Any]) -> dict[str, Any]:
        return {"obs": observation["observation"], "mask": observation["action_mask"].astype(np.bool_)}


def make_env(puzzle: str, params: str, max_steps: int = 200) -> TianshouMask:
    return TianshouMask(PuzzleEnv(puzzle, params, observation="one_hot", mask_in_observation=True, max_steps=max_steps))


def train(puzzle: str, options: argparse.Namespace) -> float:
    params = PUZZLES[puzzle]
    began = time.perf_counter()
    np.random.seed(options.seed)  # what Tianshou explores with
    torch.manual_seed(options.seed)
    training = DummyVectorEnv([lambda: make_env(puzzle, params) for _ in range(ENVS)])
    testing = DummyVectorEnv([lambda: make_env(puzzle, params, 1000) for _ in range(min(options.episodes, 50))])
    training.seed(options.seed)
    testing.seed(1_000_000)
    single = make_env(puzzle, params)
    network = Net(
        state_shape=single.observation_space["obs"].shape, action_shape=single.action_space.n, hidden_sizes=(64, 64)
    )
    policy = DiscreteQLearningPolicy(
        model=network, action_space=single.action_space, eps_training=0.3, eps_inference=0.05
    )
    algorithm: DQN[Any] = DQN(
        policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.95, target_update_freq=500, is_double=True
    )
    collector = Collector[CollectStats](algorithm, training, VectorReplayBuffer(50_000, ENVS), exploration_noise=True)
    collector.reset()
    collector.collect(n_step=min(2_000, options.steps), random=True)
    tester = Collector[CollectStats](algorithm, testing, exploration_noise=True)
    taken, end = 0, time.perf_counter() + options.seconds
    while taken < options.steps and time.perf_counter() < end:
        part = min(PART, options.steps - taken)
        algorithm.run_training(
            OffPolicyTrainerParams(
                max_epochs=1,
                epoch_num_steps=part,
                training_collector=collector,
                collection_step_num_env_steps=4 * ENVS,
                batch_size=128,
                update_step_num_gradient_steps_per_sample=0.125,
            )
        )
        taken += part
    policy.set_eps_inference(0.05)
    tester.reset()
    tested = tester.collect(n_episode=options.episodes)
    solved = np.asarray(tested.returns) > 0
    lengths = np.asarray(tested.lens)[solved]
    mean = lengths.mean() if solved.any() else float("nan")
    for env in (training, testing, single):
        env.close()
    print(
        f"DQN of Tianshou on {puzzle} {params}: {solved.mean():.1%} solved, in {mean:.1f} steps on average, after "
        f"{taken:,} steps and {time.perf_counter() - began:.0f} seconds"
    )
    return float(solved.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=int, default=60_000, help="steps of training at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="seconds of training at most")
    parser.add_argument("--episodes", type=int, default=200, help="episodes of the evaluation")
    parser.add_argument("--seed", type=int, default=0, help="of training; the evaluation has its own")
    parser.add_argument("--puzzles", nargs="+", default=list(PUZZLES), choices=list(PUZZLES))
    options = parser.parse_args()
    for puzzle in options.puzzles:
        train(puzzle, options)


if __name__ == "__main__":
    main()
