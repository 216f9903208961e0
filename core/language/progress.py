"""Partial credit: how much of a solution is on the board."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import NoSolution
from ..session import Session, Status
from .grammar import grammar

Array = np.ndarray[Any, Any]


class Progress:
    """How much of a solution is there: 0 at the start, 1 when solved, and in between the share of what must change."""

    def __init__(self, session: Session) -> None:
        self._start = session.observe()
        self._wanted: dict[str, Array] = {}
        name, value = grammar(session.puzzle, session.params).score
        self._name, self._value = name, int(value) if value else None
        if not name:
            self._look_for(session)

    def _look_for(self, session: Session) -> None:
        try:
            solution = session.solution()
        except NoSolution:
            return
        names = session.spec.goal or [
            field.name
            for field in session.fields
            if not field.is_ui and not np.array_equal(solution[field.name], self._start[field.name])
        ]
        self._wanted = {name: solution[name] for name in names}

    def __call__(self, session: Session) -> float:
        """The score of a game as it stands."""
        if session.status == Status.SOLVED:
            return 1.0
        now = session.observe(copy=False)
        if self._name and self._value is None:
            top = next(field.high for field in session.fields if field.name == self._name)
            return min(float(now[self._name].max()) / top, 0.99) if top else 0.0
        if not self._name and not self._wanted:
            self._look_for(session)
        wanted: Mapping[str, Array | int | None] = self._wanted or {self._name: self._value}
        if self._name == "" and not self._wanted:
            return 0.0
        first = sum(int(np.count_nonzero(self._start[name] != value)) for name, value in wanted.items())
        left = sum(int(np.count_nonzero(now[name] != value)) for name, value in wanted.items())
        # A board may look solved from the start and count only after a move: nothing is earned by then.
        return max(0.0, min(0.99, 1 - left / first)) if first else 0.0
