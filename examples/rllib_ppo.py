"""Train PPO with masked actions on a small puzzle, on a local Ray.

    python examples/rllib_ppo.py
    python examples/rllib_ppo.py --env puzzleport/coop_v0 --agents 2

Needs ``pip install 'puzzleport[rllib]'``.
"""

from __future__ import annotations

import argparse
from typing import Any

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from torch import nn

from puzzleport.adapters import rllib


class MaskedActorCritic(TorchRLModule, ValueFunctionAPI):
    """Two small networks; actions without effect get no probability."""

    def setup(self) -> None:
        size = self.observation_space["observations"].shape[0]
        self.actor = self.network(size, int(self.action_space.n))
        self.critic = self.network(size, 1)

    def network(self, inputs: int, outputs: int) -> nn.Module:
        width = self.model_config.get("width", 64)
        return nn.Sequential(
            nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, outputs)
        )

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:  # noqa: ANN401 (RLlib's signature)
        seen = batch[Columns.OBS]
        logits = self.actor(seen["observations"].float())
        lowest = torch.finfo(logits.dtype).min
        return {Columns.ACTION_DIST_INPUTS: logits.masked_fill(seen["action_mask"] == 0, lowest)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:  # noqa: ANN401
        return self.critic(batch[Columns.OBS]["observations"].float()).squeeze(-1)


def configure(arguments: argparse.Namespace) -> PPOConfig:
    options: dict[str, Any] = {"puzzle": arguments.puzzle, "params": arguments.params, "max_steps": arguments.max_steps}
    module = RLModuleSpec(module_class=MaskedActorCritic, model_config={"width": 64})
    config = PPOConfig().framework("torch").debugging(seed=arguments.seed, log_level="ERROR")
    if arguments.env == "puzzleport":
        config.rl_module(rl_module_spec=module)
    else:
        if arguments.env != "puzzleport/solo_v0":
            options["agents"] = arguments.agents
        # All agents learn one policy.
        config.multi_agent(policies={"shared"}, policy_mapping_fn=lambda *_, **__: "shared")
        config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"shared": module}))
    config.environment(arguments.env, env_config=options)
    config.env_runners(num_env_runners=arguments.workers, num_envs_per_env_runner=1 if "/" in arguments.env else 8)
    config.training(
        train_batch_size_per_learner=arguments.batch,
        minibatch_size=256,
        num_epochs=8,
        lr=1e-3,
        gamma=0.98,
        lambda_=0.95,
    )
    return config


def summary(played: dict[str, Any]) -> str:
    """What the episodes that ended in an iteration came to. RLlib has no means while none ever did."""
    if "episode_return_mean" not in played:
        return "no episode ended yet"
    return f"return {played['episode_return_mean']:6.3f}  steps per episode {played['episode_len_mean']:6.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Train PPO with masked actions on a small puzzle, on a local Ray.")
    parser.add_argument("--env", default="puzzleport", help="puzzleport, puzzleport/coop_v0, puzzleport/race_v0 ...")
    parser.add_argument("--puzzle", default="net")
    parser.add_argument("--params", default="2x2")
    parser.add_argument("--agents", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--batch", type=int, default=2048, help="steps per iteration")
    parser.add_argument("--max-steps", type=int, default=100)
    parser.add_argument("--workers", type=int, default=1, help="processes that play; 0 plays in this one")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.set_num_threads(1)  # networks this small only wait for each other on more
    ray.init("local", num_cpus=arguments.workers + 1, include_dashboard=False, log_to_driver=False)
    try:
        rllib.register()
        algorithm = configure(arguments).build_algo()
        for iteration in range(arguments.iterations):
            played = algorithm.train()["env_runners"]
            print(f"{iteration + 1:3}  {summary(played)}", flush=True)
        algorithm.stop()
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
