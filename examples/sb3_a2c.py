"""A2C of Stable-Baselines3 learns the 2x2 Fifteen: python examples/sb3_a2c.py"""

from common import Budget, arguments, evaluate
from stable_baselines3 import A2C

from puzzleport.adapters.sb3 import sb3_vec_env


def main() -> None:
    options = arguments(__doc__, steps=200_000)
    observation = {"observation": "one_hot"}
    env = sb3_vec_env("fifteen", "2x2", num_envs=32, max_steps=200, **observation)
    model = A2C("MlpPolicy", env, n_steps=8, gamma=0.95, ent_coef=0.01, learning_rate=2e-3, seed=options.seed)
    model.learn(options.steps, callback=Budget(options.steps, options.seconds), progress_bar=True)
    env.close()
    print("A2C on fifteen 2x2:", evaluate(model, "fifteen", "2x2", options.episodes, **observation))


if __name__ == "__main__":
    main()
