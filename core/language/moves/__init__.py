"""Moves in words: how each kind is said, and which keys it becomes.

A line of a puzzle's ``words`` declares a move by its kind, a word or field where it has one, and the keys that it presses:

    set FIELD KEY ...   ``R2C3=4``: press keys at a place until the field has the value there
    do WORD KEY ...     ``R2C3 flip``: press the keys at a place
    edge KEY            ``R1C1-R1C2``: press the key between two squares
    wall KEY            ``R1C1-R1C2``: hold the key at the first square and press the arrow to the second
    pull KEY FIELD      ``R1C1-R1C3``: press the key at the first square, then the arrow to the second; with a field,
                        the second is one where that is not 0, and does not change itself
    drag KEY            ``R1C1-R3C2``: press the key at the first square, go to the second, press it again
    path KEY            ``R1C1-R1C3-R2C3``: the same along a path with corners
    slide KEY           ``slide row 2 left``: press the key on the rim
    row WORD KEY        ``guess 1 2 3 4``: lay a row and submit it
    paint FIELD KEY     ``G3=2``: carry a value from a region that has it
    carry KEY           ``P3 to 96 64``: pick a point up and move it

Names of keys are moves too, so whatever can be played can be said. ``*2`` behind a move says it twice.
"""

from __future__ import annotations

import re

from ..grammar import Grammar
from ..hand import MOST_TIMES, Refused
from .ends import Drag, Edge, Path, Pull, Wall
from .keys import Key
from .kind import Kind, Move
from .places import Carry, Do, Paint, Set
from .rows import Row, Slide

__all__ = ["Key", "Kind", "Move", "Set", "kinds", "parse"]

KINDS: dict[str, type[Kind]] = {
    "set": Set,
    "do": Do,
    "edge": Edge,
    "wall": Wall,
    "pull": Pull,
    "drag": Drag,
    "path": Path,
    "slide": Slide,
    "row": Row,
    "paint": Paint,
    "carry": Carry,
}


def kinds(grammar: Grammar) -> tuple[Kind, ...]:
    """The moves of a puzzle, keys last."""
    return (*(KINDS[kind](grammar, *words) for kind, *words in grammar.moves), Key(grammar))


_TIMES = re.compile(r"(.*?)(?: ?\* ?(\d{1,2}))?", re.ASCII | re.DOTALL)
_PLACES = re.compile(r"\b[a-z]\d{1,4}(?:c\d{1,4})?\b", re.ASCII | re.IGNORECASE)


def parse(ways: tuple[Kind, ...], piece: str) -> list[Move]:
    """The moves of one piece of a message: mostly one; several where they are separated by spaces only."""
    piece = _PLACES.sub(lambda found: found[0].upper(), " ".join(piece.split()))
    piece = re.sub(r" ?([=-]) ?(?=\S)", r"\1", piece)
    move = _one(ways, piece)
    if move is not None:
        return [move]
    tokens, moves, at = piece.split(" "), list[Move](), 0
    while at < len(tokens):
        for end in range(min(len(tokens), at + 4), at, -1):
            move = _one(ways, " ".join(tokens[at:end]))
            if move is not None:
                break
        if move is None:
            raise Refused(f"{tokens[at][:40]!r} is not understood")
        moves.append(move)
        at = end
    return moves


def _one(ways: tuple[Kind, ...], text: str) -> Move | None:
    found = _TIMES.fullmatch(text)
    assert found is not None
    times = int(found[2] or 1)
    if not 1 <= times <= MOST_TIMES:
        return None
    for kind in ways:
        what = kind.parse(found[1])
        if what is not None:
            return Move(text, kind, what, times)
    return None
