"""A verdict on a whole answer: a list of moves, or a filled board."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .board import read
from .dialogue import Dialogue


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth."""

    solved: bool
    score: float
    """1 for a solution, 0 for nothing of it, and in between the share of the solution that is there."""
    problems: tuple[str, ...]
    """What could not be played, and which rules the board then breaks."""


def verdict(puzzle: str, game_id: str, answer: str) -> Verdict:
    """Judge an answer to one instance: moves as ``Dialogue.say`` takes them, or a board as ``Dialogue.board`` writes it."""
    raise NotImplementedError
