"""OpenSpiel's search beside ours on the same games, for ``puzzleport bench search``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyspiel

from . import openspiel

PUZZLES = {"fifteen": "2x2", "flood": "3x3c6m5", "samegame": "2x3c3s2", "singles": "2x3de", "net": "2x2"}
"""Small enough for both to solve."""


@dataclass(frozen=True)
class Row:
    """What two searches made of the same instances of one puzzle."""

    puzzle: str
    params: str
    instances: int
    bot_solved: int
    """Instances that OpenSpiel's MCTSBot, in C++, solves on our game in Python."""
    bot_seconds: float
    search_solved: int
    """The same for the native search, through the interface of a bot."""
    search_seconds: float


def solve(
    puzzle: str, params: str, instances: int, max_steps: int, make_bot: Callable[[Any], Any]
) -> tuple[int, float]:
    """How many of the first instances a bot solves, and in how many seconds of processor time."""
    solved, seconds = 0, 0.0
    for seed in range(instances):
        game = pyspiel.load_game(openspiel.game_name(puzzle), {"params": params, "seed": seed, "max_steps": max_steps})
        start = time.process_time()
        state, bot = game.new_initial_state(), make_bot(game)
        while not state.is_terminal():
            state.apply_action(bot.step(state))
        seconds += time.process_time() - start
        solved += state.returns()[0] > 0
    return solved, seconds


def measure(puzzle: str, instances: int, simulations: int = 1000, max_steps: int = 40) -> Row:
    """Both searches, with so many simulations for each move at most, and games cut off after so many steps."""
    params = PUZZLES[puzzle]
    bot = solve(puzzle, params, instances, max_steps, lambda game: openspiel.mcts_bot(game, simulations))
    search = solve(
        puzzle, params, instances, max_steps, lambda _: openspiel.search_bot(simulations, rollout_depth=max_steps)
    )
    return Row(puzzle, params, instances, *bot, *search)
