"""Masked PPO of TorchRL on two puzzles: python examples/torchrl_ppo.py

A collector plays 64 games at once, TorchRL's ClipPPOLoss learns from them, and the mask goes into MaskedCategorical. Training
ends at the level that sb3_maskable_ppo.py trains to, measured on fresh games.
"""

from __future__ import annotations

import argparse
import time

import torch
from tensordict.nn import ProbabilisticTensorDictModule, ProbabilisticTensorDictSequential, TensorDictModule
from torch import nn
from torchrl.collectors import Collector
from torchrl.modules import MaskedCategorical, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE
from tqdm import tqdm

from puzzleport.adapters.torchrl import PuzzleEnv

# Parameters, and the mean length of MaskablePPO's solved episodes in the paper (internal state).
PUZZLES = {"fifteen": ("2x2", 4), "net": ("2x2", 9)}
ENVS, FRAMES, EPOCHS, MINIBATCH = 64, 4096, 8, 512

# These networks are so small that threads would only wait for each other.
torch.set_num_threads(1)


def tower(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def make_policy(env: PuzzleEnv) -> ProbabilisticTensorDictSequential:
    size, actions = env.observation_spec["observation"].shape[-1], env.action_spec.n
    return ProbabilisticTensorDictSequential(
        TensorDictModule(tower(size, actions), in_keys=["observation"], out_keys=["logits"]),
        ProbabilisticTensorDictModule(
            in_keys={"logits": "logits", "mask": "action_mask"},
            out_keys=["action"],
            distribution_class=MaskedCategorical,
            return_log_prob=True,
        ),
    )


@torch.no_grad()
def evaluate(policy: torch.nn.Module, puzzle: str, params: str, episodes: int) -> tuple[float, float]:
    """The share of fresh games that are solved, and in how many steps: each environment plays one, with sampled actions."""
    env = PuzzleEnv(puzzle, params, episodes, observation="one_hot", max_steps=1000)
    env.set_seed(1_000_000)
    data = env.reset()
    while not data["done"].all():  # those that are over wait
        data = env.step(policy(data))["next"]
    steps, solved = torch.from_numpy(env.batch.result.steps.copy()), data["is_success"].squeeze(-1)
    env.close()
    return solved.float().mean().item(), steps[solved].float().mean().item()


def train(puzzle: str, options: argparse.Namespace) -> bool:
    params, paper = PUZZLES[puzzle]
    began = time.perf_counter()
    torch.manual_seed(options.seed)
    env = PuzzleEnv(puzzle, params, ENVS, observation="one_hot", max_steps=200)
    env.set_seed(options.seed)
    policy = make_policy(env)
    critic = ValueOperator(tower(env.observation_spec["observation"].shape[-1], 1), in_keys=["observation"])
    advantage = GAE(gamma=0.95, lmbda=0.95, value_network=critic, average_gae=True)
    loss = ClipPPOLoss(policy, critic, clip_epsilon=0.2, entropy_coeff=0.01, critic_coeff=0.5)
    optimizer = torch.optim.Adam(loss.parameters(), lr=1e-3)
    collector = Collector(env, policy, frames_per_batch=FRAMES, total_frames=options.steps)
    taken, reached = 0, False
    with tqdm(total=options.steps, desc=puzzle, unit="steps", unit_scale=True) as bar:
        for data in collector:
            taken += data.numel()
            bar.update(data.numel())
            done = data["next", "done"]
            quick = bool(done.any()) and FRAMES / done.sum().item() <= paper + 2
            if quick and data["next", "is_success"][done].float().mean() > 0.98:
                share, mean = evaluate(policy, puzzle, params, options.episodes)
                reached = share >= 0.99 and mean <= paper + 2
            if reached or time.perf_counter() - began > options.seconds:
                break
            with torch.no_grad():
                advantage(data)
            flat = data.reshape(-1)
            for _ in range(EPOCHS):
                for part in torch.randperm(len(flat)).split(MINIBATCH):
                    losses = loss(flat[part])
                    total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
                    optimizer.zero_grad()
                    total.backward()
                    nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                    optimizer.step()
    share, mean = evaluate(policy, puzzle, params, options.episodes)
    collector.shutdown()
    print(
        f"PPO of TorchRL on {puzzle} {params}: {share:.1%} solved, in {mean:.1f} steps on average, after {taken:,} steps and "
        f"{time.perf_counter() - began:.0f} seconds ({'reaches' if reached else 'misses'} the level: 99% in at most {paper + 2})"
    )
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--steps", type=int, default=400_000, help="steps of training at most")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="seconds of training at most")
    parser.add_argument("--episodes", type=int, default=1000, help="episodes of the evaluation")
    parser.add_argument("--seed", type=int, default=0, help="of training; the evaluation has its own")
    parser.add_argument("--puzzles", nargs="+", default=list(PUZZLES), choices=list(PUZZLES))
    options = parser.parse_args()
    for puzzle in options.puzzles:
        train(puzzle, options)


if __name__ == "__main__":
    main()
