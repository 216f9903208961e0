"""Masked DQN of TorchRL on two puzzles: python examples/torchrl_dqn.py

The mask goes into QValueModule and into the exploration, so that only legal actions are ever taken or hoped for.
"""

from __future__ import annotations

import argparse
import time

import torch
from tensordict.nn import TensorDictModule, TensorDictSequential
from torch import nn
from torchrl.collectors import Collector
from torchrl.data import Categorical, LazyTensorStorage, TensorDictReplayBuffer
from torchrl.modules import EGreedyModule, QValueModule
from torchrl.objectives import DQNLoss, SoftUpdate
from torchrl_ppo import PUZZLES, evaluate
from tqdm import tqdm

from puzzleport.adapters.torchrl import PuzzleEnv

ENVS, FRAMES, UPDATES, BATCH = 16, 256, 32, 256


def train(puzzle: str, options: argparse.Namespace) -> float:
    params, _ = PUZZLES[puzzle]
    began = time.perf_counter()
    torch.manual_seed(options.seed)
    env = PuzzleEnv(puzzle, params, ENVS, observation="one_hot", max_steps=200)
    env.set_seed(options.seed)
    size, actions = env.observation_spec["observation"].shape[-1], env.action_spec.n
    values = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, actions))
    greedy = TensorDictSequential(
        TensorDictModule(values, in_keys=["observation"], out_keys=["action_value"]),
        QValueModule(action_space="categorical", action_mask_key="action_mask"),
    )
    explore = EGreedyModule(
        env.action_spec,
        eps_init=1.0,
        eps_end=0.05,
        annealing_num_steps=options.steps // 2,
        action_mask_key="action_mask",
    )
    loss = DQNLoss(greedy, action_space="categorical", delay_value=True, double_dqn=True)
    loss.make_value_estimator(gamma=0.95)
    target = SoftUpdate(loss, tau=0.01)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    memory = TensorDictReplayBuffer(storage=LazyTensorStorage(50_000), batch_size=BATCH)
    collector = Collector(
        env, TensorDictSequential(greedy, explore), frames_per_batch=FRAMES, total_frames=options.steps
    )
    taken = 0
    with tqdm(total=options.steps, desc=puzzle, unit="steps", unit_scale=True) as bar:
        for data in collector:
            taken += data.numel()
            bar.update(data.numel())
            explore.step(data.numel())
            memory.extend(data.reshape(-1))
            if time.perf_counter() - began > options.seconds:
                break
            if len(memory) < 2_000:
                continue
            for _ in range(UPDATES):
                optimizer.zero_grad()
                loss(memory.sample())["loss"].backward()
                optimizer.step()
                target.step()
    # Who always takes the best may circle.
    spec = Categorical(actions, (options.episodes,))
    seldom = EGreedyModule(spec, eps_init=0.05, eps_end=0.05, action_mask_key="action_mask")
    share, mean = evaluate(TensorDictSequential(greedy, seldom), puzzle, params, options.episodes)
    collector.shutdown()
    print(
        f"DQN of TorchRL on {puzzle} {params}: {share:.1%} solved, in {mean:.1f} steps on average, after {taken:,} steps and "
        f"{time.perf_counter() - began:.0f} seconds"
    )
    return share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=int, default=60_000, help="steps of training at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="seconds of training at most")
    parser.add_argument("--episodes", type=int, default=1000, help="episodes of the evaluation")
    parser.add_argument("--seed", type=int, default=0, help="of training; the evaluation has its own")
    parser.add_argument("--puzzles", nargs="+", default=list(PUZZLES), choices=list(PUZZLES))
    options = parser.parse_args()
    for puzzle in options.puzzles:
        train(puzzle, options)


if __name__ == "__main__":
    main()
