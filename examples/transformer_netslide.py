"""A transformer trains on Netslide 2x3b1 and is tried on 3x3b1, unchanged: python examples/transformer_netslide.py

The board comes as tokens (see puzzleport.encode.tokens), as many as it has tiles and one for the cursor. So the same network reads
boards of any size up to the largest, here 3x3.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from common import Budget, Measured, arguments
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv

from puzzleport.adapters.sb3 import sb3_vec_env
from puzzleport.encode.tokens import Tokens

LARGEST = "3x3b1"


class TransformerExtractor(BaseFeaturesExtractor):
    """Reads all tokens; what it makes of the last one, the cursor's, stands for the whole."""

    def __init__(self, space: spaces.Dict, size: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__(space, size)
        self.embed = torch.nn.Linear(space["tokens"].shape[1], size)
        # No dropout: PPO compares the probabilities of two passes.
        layer = torch.nn.TransformerEncoderLayer(size, heads, 2 * size, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, layers, torch.nn.LayerNorm(size), enable_nested_tensor=False)

    def forward(self, observation: dict[str, torch.Tensor]) -> torch.Tensor:
        tokens, length = observation["tokens"], observation["length"].long()
        # Padding is not looked at, so boards of different sizes may share a batch.
        padding = torch.arange(tokens.shape[1], device=tokens.device) >= length
        read = self.encoder(self.embed(tokens), src_key_padding_mask=padding)
        return read[torch.arange(len(read), device=read.device), length.squeeze(1) - 1]


def boards(params: str, num_envs: int, max_steps: int) -> VecEnv:
    """Netslide as tokens."""
    return sb3_vec_env("netslide", params, num_envs, max_steps=max_steps, observation=partial(Tokens, largest=LARGEST))


def evaluate(model: MaskablePPO, params: str, episodes: int, max_steps: int = 500) -> Measured:
    """Each of several environments plays the same number of episodes."""
    num_envs = min(episodes, 25)
    env = boards(params, num_envs, max_steps)
    env.seed(1_000_000)
    observation = env.reset()
    left = np.full(num_envs, episodes // num_envs)
    solved, lengths = [], []
    while left.any():
        masks = np.stack(env.env_method("action_masks"))
        observation, _, dones, infos = env.step(model.predict(observation, action_masks=masks)[0])
        for slot in np.flatnonzero(dones & (left > 0)):
            left[slot] -= 1
            solved.append(infos[slot]["is_success"])
            lengths.append(infos[slot]["episode"]["l"])
    env.close()
    success = np.array(solved)
    return Measured(float(success.mean()), float(np.array(lengths)[success].mean()) if success.any() else float("nan"))


def main() -> None:
    options = arguments(__doc__, steps=100_000, max_steps=500)
    env = boards("2x3b1", 32, max_steps=200)
    model = MaskablePPO(
        "MultiInputPolicy",
        env,
        n_steps=64,
        batch_size=512,
        n_epochs=4,
        gamma=0.95,
        learning_rate=5e-4,
        ent_coef=0.01,
        policy_kwargs={"features_extractor_class": TransformerExtractor, "net_arch": []},
        seed=options.seed,
    )
    model.learn(options.steps, callback=Budget(options.steps, options.seconds), progress_bar=True)
    env.close()
    episodes = min(options.episodes, 200)
    print("netslide 2x3b1, trained on:", evaluate(model, "2x3b1", episodes, options.max_steps))
    print("netslide 3x3b1, never seen:", evaluate(model, "3x3b1", episodes, options.max_steps))


if __name__ == "__main__":
    main()
