"""A verdict on a whole answer: a list of moves, or a filled board."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ..limits import DEFAULT_TIMEOUT
from ..session import Session
from .board import Array, read
from .dialogue import MAX_MESSAGE, MAX_PROBLEMS, Dialogue, last_block

FILLING = {"set", "paint", "edge", "wall", "pull", "drag", "path"}
"""The kinds of moves with which a board can be filled in any order, so that the filled board says all."""


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth."""

    solved: bool
    score: float
    """1 for a solution, 0 for nothing of it, and in between the share of the solution that is there."""
    problems: tuple[str, ...]
    """What could not be played, and which rules the board then breaks."""


def verdict(puzzle: str, game_id: str, answer: str, *, timeout: float = DEFAULT_TIMEOUT) -> Verdict:
    """Judge an answer to one instance: moves as ``Dialogue.say`` takes them, or a board as ``Dialogue.board`` writes it.

    Every solution counts that the engine accepts, not only the one that it has in mind. An answer that is neither, or an
    unchanged board, scores 0.
    """
    with Dialogue(puzzle, game_id=game_id, timeout=timeout) as dialogue:
        return judge(dialogue, answer)


def judge(dialogue: Dialogue, answer: str) -> Verdict:
    """Judge an answer to a game that goes on from where it stands."""
    if isinstance(answer, str) and len(answer) <= MAX_MESSAGE and _is_board(dialogue, answer):
        problems = tuple(_fill(dialogue, last_block(answer))[:MAX_PROBLEMS] + dialogue.broken_rules()[:MAX_PROBLEMS])
    else:
        problems = dialogue.say(answer).problems
    return Verdict(dialogue.solved, dialogue.score, problems)


def says_all(dialogue: Dialogue) -> bool:
    """Whether a filled board is an answer: not where the order of the moves matters."""
    words = dialogue.grammar
    return bool(words.spec.goal) and not words.score[0] and any(move[0] in FILLING for move in words.moves)


def _is_board(dialogue: Dialogue, answer: str) -> bool:
    titles = [re.escape(" ".join(layer.name for layer in grid)) for grid in dialogue.grammar.grids]
    titles += [field.name for field in dialogue.grammar.fields]
    return re.search(rf"^\s*(?:{'|'.join(titles)}):", answer, re.MULTILINE) is not None


def _fill(dialogue: Dialogue, text: str) -> list[str]:
    """Bring the game to a written board with moves, as far as they lead there."""
    if not says_all(dialogue):
        return ["a board does not say how it was reached: answer with moves"]
    fields, problems = read(dialogue.grammar, text)
    wanted = {name: fields[name] for name in dialogue.grammar.spec.goal if name in fields}
    if not wanted:
        return [*problems, f"the board must show {' and '.join(dialogue.grammar.spec.goal)}"]
    left, before = _left(dialogue.session, wanted), -1
    while left not in (0, before) and not dialogue.done:
        before = left
        for move in _candidates(dialogue, wanted):
            hand = dialogue.attempt(move)
            if hand is not None and _left(hand.session, wanted) < left:
                dialogue.adopt(hand)
                left = _left(hand.session, wanted)
    if left and not dialogue.solved:
        problems.append("part of the board cannot be reached with moves")
    return problems


def _left(session: Session, wanted: dict[str, Array]) -> int:
    """How far the board is from the wanted one. One bridge is closer to two than none."""
    seen = session.observe(copy=False)
    return sum(int(np.abs(seen[name].astype(int) - value).sum()) for name, value in wanted.items())


def _candidates(dialogue: Dialogue, wanted: dict[str, Array]) -> list[str]:
    """Moves that may bring the board closer."""
    seen = dialogue.session.observe()
    texts = list[str]()
    for name, kind in zip(dialogue.grammar.moves, dialogue.kinds, strict=False):
        if name[0] in FILLING:
            texts += kind.toward(seen, {**seen, **wanted})
    return texts
