"""MCTS twice on the same puzzle: OpenSpiel's bot in C++ on our OpenSpiel game, and the native search.

    python examples/openspiel_mcts.py --puzzle net --params 2x2

shows how each of them plays the first instances. ``puzzleport bench search`` compares them on more.
"""

from __future__ import annotations

import argparse
import time

import pyspiel

import puzzleport.adapters.openspiel as openspiel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--puzzle", default="fifteen")
    parser.add_argument("--params", default="2x2")
    parser.add_argument("--seeds", type=int, default=3, help="how many instances")
    parser.add_argument("--simulations", type=int, default=1000, help="simulations for each move, at most")
    parser.add_argument("--max-steps", type=int, default=40, help="steps after which a game is cut off")
    options = parser.parse_args()
    for seed in range(options.seeds):
        parameters = {"params": options.params, "seed": seed, "max_steps": options.max_steps}
        game = pyspiel.load_game(openspiel.game_name(options.puzzle), parameters)
        bots = {
            "pyspiel.MCTSBot": openspiel.mcts_bot(game, options.simulations),
            "native search": openspiel.search_bot(options.simulations, rollout_depth=options.max_steps),
        }
        for name, bot in bots.items():
            state, start = game.new_initial_state(), time.perf_counter()
            while not state.is_terminal():
                state.apply_action(bot.step(state))
            keys = " ".join(state.action_to_string(0, action) for action in state.history())
            print(f"seed {seed}, {name}: {state.returns()[0]:+.0f} in {time.perf_counter() - start:.3f} s: {keys}")


if __name__ == "__main__":
    main()
