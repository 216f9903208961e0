"""DQN of Stable-Baselines3 learns the 2x2 Fifteen: python examples/sb3_dqn.py"""

from common import Budget, arguments, evaluate
from stable_baselines3 import DQN

from puzzleport.adapters.sb3 import sb3_vec_env


def main() -> None:
    options = arguments(__doc__, steps=60_000)
    observation = {"observation": "one_hot"}
    env = sb3_vec_env("fifteen", "2x2", num_envs=8, max_steps=200, **observation)
    model = DQN(
        "MlpPolicy",
        env,
        buffer_size=50_000,
        learning_starts=2_000,
        train_freq=1,
        gamma=0.95,
        learning_rate=1e-3,
        target_update_interval=500,
        exploration_fraction=0.5,
        exploration_final_eps=0.05,
        seed=options.seed,
    )
    model.learn(options.steps, callback=Budget(options.steps, options.seconds), progress_bar=True)
    env.close()
    print("DQN on fifteen 2x2:", evaluate(model, "fifteen", "2x2", options.episodes, **observation))


if __name__ == "__main__":
    main()
