"""What every kind of move has: how it is said, which keys it becomes, and how a change is told with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...session import Observation
from ..grammar import Grammar
from ..hand import Cell, Change, Hand, place_name, read_place


@dataclass(frozen=True)
class Move:
    """A move that was understood: what to play, and how often."""

    text: str
    kind: Any
    what: tuple[Any, ...]
    times: int = 1

    def play(self, hand: Hand) -> None:
        """Press the keys of it, or raise Refused."""
        for _ in range(self.times):
            self.kind.play(hand, *self.what)


class Kind:
    """One kind of move of one puzzle."""

    pattern = ""

    def __init__(self, grammar: Grammar, *words: str) -> None:
        self.grammar, self.words = grammar, words
        here = rf"{grammar.letter}\d{{1,4}}" if grammar.letter else r"R\d{1,4}C\d{1,4}"
        self.regex = re.compile(self.pattern.replace("HERE", here), re.ASCII)

    def parse(self, text: str) -> tuple[Any, ...] | None:
        """What was said, or None where it is something else."""
        found = self.regex.fullmatch(text)
        return self.understand(*found.groups()) if found else None

    def understand(self, *parts: Any) -> tuple[Any, ...] | None:  # noqa: ANN401 (the texts of the pattern's groups)
        """The arguments of ``play`` from the parts of the text."""
        raise NotImplementedError

    def play(self, hand: Hand, *what: Any) -> None:  # noqa: ANN401 (what ``understand`` gave)
        """Press the keys of it."""
        raise NotImplementedError

    def describe(self, change: Change) -> Iterator[str]:
        """Texts that may say what happened; each is tried before it is used."""
        yield from ()

    def options(self, seen: Observation) -> Iterator[str]:
        """Texts of moves that may be possible now."""
        yield from ()

    def toward(self, seen: Observation, wanted: Observation) -> Iterator[str]:
        """Texts of moves that may bring a board closer to another."""
        yield from self.options(seen)

    @property
    def help(self) -> str:
        """How to say it."""
        raise NotImplementedError

    def name(self, place: Cell) -> str:
        """How a place is said."""
        return place_name(self.grammar, place)

    def place(self, text: str) -> Cell:
        """The place that was said."""
        return read_place(self.grammar, text)
