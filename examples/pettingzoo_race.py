"""Two agents race for the solution of the same puzzle, each on its own board; the one that sees its mask wins more often.

    python examples/pettingzoo_race.py --puzzle fifteen --params 2x2 --races 100

Needs ``pip install 'puzzleport[pettingzoo]'``.
"""

from __future__ import annotations

import argparse

import numpy as np

from puzzleport.adapters.pettingzoo import race_v0


def main() -> None:
    parser = argparse.ArgumentParser(description="Race two random agents, one of which uses its action mask.")
    parser.add_argument("--puzzle", default="fifteen")
    parser.add_argument("--params", default="2x2")
    parser.add_argument("--races", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    random = np.random.default_rng(arguments.seed)
    env = race_v0.env(arguments.puzzle, arguments.params, agents=2, max_steps=1000, seed=arguments.seed)
    masked, blind = env.possible_agents
    wins = {masked: 0, blind: 0}
    for _ in range(arguments.races):
        env.reset()
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            if terminated or truncated:
                wins[agent] += reward > 0
                env.step(None)
                continue
            actions = np.arange(env.action_space(agent).n)
            if agent == masked and observation["action_mask"].any():
                actions = np.flatnonzero(observation["action_mask"])
            env.step(int(random.choice(actions)))
    env.close()
    print(f"{arguments.races} races of {arguments.puzzle} {arguments.params}")
    print(f"with the mask won {wins[masked]}, without it {wins[blind]}")


if __name__ == "__main__":
    main()
