"""Film an agent: RecordVideo writes MP4 files, Pillow an animated GIF. python examples/record_video.py --folder videos"""

from pathlib import Path

import gymnasium as gym
import numpy as np
from common import Budget, arguments
from gymnasium.wrappers import RecordVideo
from PIL import Image
from sb3_contrib import MaskablePPO

import puzzleport.adapters.gymnasium  # noqa: F401 (registers the ids)
from puzzleport.adapters.sb3 import sb3_vec_env


def main() -> None:
    options = arguments(__doc__, steps=30_000, folder="videos", films=3)
    observation = {"observation": "one_hot"}
    train = sb3_vec_env("fifteen", "2x2", num_envs=64, max_steps=200, **observation)
    model = MaskablePPO("MlpPolicy", train, n_steps=32, batch_size=512, gamma=0.95, learning_rate=1e-3)
    model.learn(options.steps, callback=Budget(options.steps, options.seconds), progress_bar=True)
    train.close()

    env = gym.make(
        "puzzleport/Fifteen-v0",
        params="2x2",
        render_mode="rgb_array",
        width=256,
        height=256,
        max_steps=100,
        **observation,
    )
    env.metadata["render_fps"] = 2
    env = RecordVideo(env, options.folder, episode_trigger=lambda episode: True, name_prefix="fifteen")
    frames: list[np.ndarray] = []
    for episode in range(options.films):
        state, _ = env.reset(seed=options.seed + episode)
        frames.append(env.render())
        over = False
        while not over:
            masks = env.get_wrapper_attr("action_masks")()
            action, _ = model.predict(state, action_masks=masks)
            state, _, terminated, truncated, _ = env.step(int(action))
            frames.append(env.render())
            over = terminated or truncated
    env.close()

    pictures = [Image.fromarray(frame) for frame in frames]
    gif = Path(options.folder) / "fifteen.gif"
    pictures[0].save(gif, save_all=True, append_images=pictures[1:], duration=500, loop=0)
    print(*sorted(str(path) for path in Path(options.folder).glob("fifteen*")), sep="\n")


if __name__ == "__main__":
    main()
