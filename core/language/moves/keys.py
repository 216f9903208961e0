# ruff: noqa: D102 (what the methods of a kind of move do is told once, in Kind)
"""Keys by their names: whatever can be played can be said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...session import Observation
from ..hand import Hand, Refused
from .kind import Kind


class Key(Kind):
    """The name of a key."""

    pattern = r"(\S{1,20})"

    def understand(self, word: str) -> tuple[Any, ...] | None:
        key = self.grammar.names.get(word.lower(), word.upper())
        return (key,) if key in self.grammar.spec.actions else None

    def play(self, hand: Hand, key: str) -> None:
        if key not in hand.session.actions:
            raise Refused(f"{key} is not allowed in this game")
        hand.press(key)

    def options(self, seen: Observation) -> Iterator[str]:
        yield from self.grammar.spec.actions

    @property
    def help(self) -> str:
        names = ", ".join(f"{word} for {key}" for word, key in self.grammar.names.items())
        return f"{' '.join(self.grammar.spec.actions)}: press that key" + (f" ({names})" if names else "")
