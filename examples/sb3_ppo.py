"""PPO of Stable-Baselines3 learns the 2x2 Fifteen: python examples/sb3_ppo.py"""

from common import Budget, arguments, evaluate
from stable_baselines3 import PPO

from puzzleport.adapters.sb3 import sb3_vec_env


def main() -> None:
    options = arguments(__doc__, steps=100_000)
    observation = {"observation": "one_hot"}
    env = sb3_vec_env("fifteen", "2x2", num_envs=64, max_steps=200, **observation)
    model = PPO("MlpPolicy", env, n_steps=32, batch_size=512, gamma=0.95, learning_rate=1e-3, seed=options.seed)
    model.learn(options.steps, callback=Budget(options.steps, options.seconds), progress_bar=True)
    env.close()
    print("PPO on fifteen 2x2:", evaluate(model, "fifteen", "2x2", options.episodes, **observation))


if __name__ == "__main__":
    main()
