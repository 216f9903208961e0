"""MCTS twice on the same puzzles: OpenSpiel's bot in C++ on our OpenSpiel game, and the native search.

    python examples/openspiel_mcts.py --seeds 100

prints for each puzzle how many instances each of them solved and the time that it took.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import pyspiel

import puzzleport.adapters.openspiel as openspiel

PUZZLES = {"fifteen": "2x2", "flood": "3x3c6m5", "samegame": "2x3c3s2", "singles": "2x3de", "net": "2x2"}


def solve(puzzle: str, params: str, seeds: int, max_steps: int, make_bot: Callable[[Any], Any]) -> tuple[int, float]:
    """How many of the first instances a bot solves, and in how many seconds of processor time."""
    solved, seconds = 0, 0.0
    for seed in range(seeds):
        game = pyspiel.load_game(openspiel.game_name(puzzle), {"params": params, "seed": seed, "max_steps": max_steps})
        start = time.process_time()
        state, bot = game.new_initial_state(), make_bot(game)
        while not state.is_terminal():
            state.apply_action(bot.step(state))
        seconds += time.process_time() - start
        solved += state.returns()[0] > 0
    return solved, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many instances of each puzzle")
    parser.add_argument("--simulations", type=int, default=1000, help="simulations for each move, at most")
    parser.add_argument("--max-steps", type=int, default=40, help="steps after which a game is cut off")
    parser.add_argument("--puzzles", nargs="+", choices=PUZZLES, default=list(PUZZLES))
    options = parser.parse_args()
    print(f"{'puzzle':20} {'pyspiel.MCTSBot':>24} {'native search':>24} {'ratio':>8}")
    for puzzle in options.puzzles:
        params = PUZZLES[puzzle]
        theirs, their_time = solve(
            puzzle, params, options.seeds, options.max_steps, lambda game: openspiel.mcts_bot(game, options.simulations)
        )
        ours, our_time = solve(
            puzzle,
            params,
            options.seeds,
            options.max_steps,
            lambda game: openspiel.search_bot(options.simulations, rollout_depth=options.max_steps),
        )
        print(
            f"{puzzle + ' ' + params:20} {theirs:4} of {options.seeds} in {their_time:7.2f} s "
            f"{ours:4} of {options.seeds} in {our_time:7.2f} s {their_time / our_time:7.0f}x",
            flush=True,
        )


if __name__ == "__main__":
    main()
