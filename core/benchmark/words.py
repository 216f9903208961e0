"""What a game in words costs: processor time of a turn and of a verdict, and memory of many games at once."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass

from ..language import Dialogue, verdict
from .settings import level_params
from .speed import resident

SEED = 1


@dataclass(frozen=True)
class Row:
    """Figures of one puzzle."""

    puzzle: str
    params: str
    turn_ms: float
    """Processor milliseconds for the reply to one move of the expert: parse, play, rules, board."""
    verdict_ms: float
    """Processor milliseconds for the verdict on the expert's whole answer, the making of the game included."""
    moves_for_key: float
    """Moves in words for each key of the expert."""


def measure(puzzle: str, level: str, seconds: float) -> Row:
    """Play the expert's moves again and again for so many seconds."""
    params = level_params(puzzle, level)
    with Dialogue(puzzle, params, SEED) as game:
        params = game.session.params
        moves = game.solve()
        keys = len(game.keys)
    spent, best = 0.0, float("inf")
    while spent < seconds:
        with Dialogue(puzzle, params, SEED) as game:
            start = time.process_time()
            for move in moves:
                game.say(move)
            took = time.process_time() - start
        best, spent = min(best, took), spent + max(took, 1e-6)
    judged = float("inf")
    for _ in range(3):
        start = time.process_time()
        verdict(puzzle, f"{params}#{SEED}", "\n".join(moves))
        judged = min(judged, time.process_time() - start)
    return Row(puzzle, params, 1000 * best / len(moves), 1000 * judged, len(moves) / keys)


def memory(puzzles: list[str], level: str, games: int) -> int:
    """By how many bytes the resident size grows with so many games at once, one move into each. Ask first: what was freed
    before is used again, and does not count."""
    params = {name: level_params(name, level) for name in puzzles}
    for name in puzzles:  # what is loaded once does not count
        with Dialogue(name, params[name], SEED) as game:
            game.say(game.example())
    gc.collect()
    before = resident()
    kept = []
    for number in range(games):
        name = puzzles[number % len(puzzles)]
        kept.append(Dialogue(name, params[name], SEED + number))
        kept[-1].say(kept[-1].example())
    size = resident() - before
    for game in kept:
        game.close()
    return size
