"""OpenSpiel's search beside ours on the same games, for ``puzzleport bench search``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyspiel

import puzzleport as pp
from puzzleport.agents import search

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


GAMES = ("tic_tac_toe", "connect_four")
"""OpenSpiel's own games in C++, on which its bot is at its fastest. It refuses its 2048, which pays before the end."""


@dataclass(frozen=True)
class Rate:
    """Simulations a second of a search from one state."""

    game: str
    by: str
    one: float
    """On one thread, by its processor time."""
    both: float
    """With a tree on each of two threads, by the clock, both together; 0 where the search has no threads."""


def bot_rate(name: str, seconds: float) -> Rate:
    """OpenSpiel's MCTSBot in C++ on one of its own games: rollouts to the end, some 8 and 21 moves from the start."""
    game = pyspiel.load_game(name)
    state, done = game.new_initial_state(), 0
    started = time.thread_time()
    while time.thread_time() - started < seconds:
        evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
        pyspiel.MCTSBot(game, evaluator, 1.4, 1000, 1000, False, 1, False).mcts_search(state)
        done += 1000
    return Rate(name, "MCTSBot, C++", done / (time.thread_time() - started), 0.0)


def native_rate(puzzle: str, params: str, seconds: float, depth: int = 20) -> Rate:
    """The native search on one puzzle: rollouts of 20 steps."""
    session = pp.Session(puzzle, params, seed=1)

    def rate(threads: int, clock: Callable[[], float]) -> float:
        done, started = 0, clock()
        while clock() - started < seconds:
            search.mcts(session, 1000 * threads, depth, stop=False, threads=threads)
            done += 1000 * threads
        return done / (clock() - started)

    return Rate(f"{puzzle} {params}", "native", rate(1, time.thread_time), rate(2, time.perf_counter))


def measure_rates(seconds: float) -> list[Rate]:
    """All of them; each the best of three."""
    jobs: list[Callable[[], Rate]] = [lambda name=name: bot_rate(name, seconds) for name in GAMES]  # type: ignore[misc]
    jobs += [lambda name=name, params=params: native_rate(name, params, seconds) for name, params in RATED.items()]  # type: ignore[misc]
    rows = [[job() for job in jobs] for _ in range(3)]
    return [
        Rate(each[0].game, each[0].by, max(row.one for row in each), max(row.both for row in each))
        for each in zip(*rows, strict=True)
    ]


RATED = {"net": "5x5", "flood": "6x6c6m3", "sixteen": "3x3"}
"""Too large to be solved in passing, so that a search goes on."""
