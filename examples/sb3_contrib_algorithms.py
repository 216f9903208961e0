"""TRPO, QRDQN and RecurrentPPO of sb3-contrib learn the 2x2 Fifteen: python examples/sb3_contrib_algorithms.py"""

from common import Budget, arguments, evaluate
from sb3_contrib import QRDQN, TRPO, RecurrentPPO

from puzzleport.adapters.sb3 import sb3_vec_env

OFF_POLICY = {"buffer_size": 50_000, "learning_starts": 2_000, "train_freq": 1, "target_update_interval": 500}
ALGORITHMS = {
    "TRPO": (TRPO, "MlpPolicy", 64, {"n_steps": 32, "batch_size": 512}),
    "QRDQN": (QRDQN, "MlpPolicy", 8, {**OFF_POLICY, "exploration_fraction": 0.5, "learning_rate": 1e-3}),
    "RecurrentPPO": (RecurrentPPO, "MlpLstmPolicy", 64, {"n_steps": 32, "batch_size": 512, "learning_rate": 1e-3}),
}


def main() -> None:
    options = arguments(__doc__, steps=60_000, algorithms=list(ALGORITHMS))
    observation = {"observation": "one_hot"}
    for name in options.algorithms:
        algorithm, policy, n_envs, settings = ALGORITHMS[name]
        env = sb3_vec_env("fifteen", "2x2", n_envs, max_steps=200, **observation)
        model = algorithm(policy, env, gamma=0.95, seed=options.seed, **settings)
        model.learn(options.steps, callback=Budget(options.steps, options.seconds), progress_bar=True)
        env.close()
        print(f"{name} on fifteen 2x2:", evaluate(model, "fifteen", "2x2", options.episodes, **observation))


if __name__ == "__main__":
    main()
