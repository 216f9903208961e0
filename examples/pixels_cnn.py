"""PPO with a convolutional network learns the 2x2 Fifteen from pictures alone: python examples/pixels_cnn.py"""

from common import Budget, arguments, evaluate
from stable_baselines3 import PPO

from puzzleport.adapters.sb3 import sb3_vec_env


def main() -> None:
    options = arguments(__doc__, steps=40_000)
    pictures = {"observation": "pixels", "width": 48, "height": 48}  # SB3's network takes 36x36 and more
    env = sb3_vec_env("fifteen", "2x2", num_envs=32, max_steps=100, **pictures)
    model = PPO(
        "CnnPolicy",
        env,
        n_steps=32,
        batch_size=256,
        n_epochs=4,
        gamma=0.95,
        learning_rate=5e-4,
        policy_kwargs={"features_extractor_kwargs": {"features_dim": 128}},
        seed=options.seed,
    )
    model.learn(options.steps, callback=Budget(options.steps, options.seconds), progress_bar=True)
    env.close()
    print("PPO on pictures of fifteen 2x2:", evaluate(model, "fifteen", "2x2", options.episodes, **pictures))


if __name__ == "__main__":
    main()
