"""Early termination on and off: does it help to end an episode that goes in circles? python examples/early_termination.py"""

from common import Budget, arguments, evaluate
from stable_baselines3 import PPO

from puzzleport.adapters.sb3 import sb3_vec_env


def main() -> None:
    options = arguments(__doc__, steps=100_000, puzzle="twiddle", params="2x3n2", max_repeats=10)
    observation = {"observation": "one_hot"}
    for repeats in (0, options.max_repeats):
        env = sb3_vec_env(options.puzzle, options.params, num_envs=64, max_repeats=repeats, **observation)
        model = PPO("MlpPolicy", env, n_steps=32, batch_size=512, gamma=0.95, learning_rate=1e-3, seed=options.seed)
        model.learn(options.steps, callback=Budget(options.steps, options.seconds), progress_bar=True)
        rule = f"ends when a state is seen again {repeats} times" if repeats else "does not end early"
        result = evaluate(model, options.puzzle, options.params, options.episodes, **observation)
        print(f"{options.puzzle} {options.params}, an episode {rule}: {env.episode_count} episodes; then {result}")
        env.close()


if __name__ == "__main__":
    main()
