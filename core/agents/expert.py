"""Experts: they play every puzzle with its own keys.

Where everything can be seen, an expert follows ``Session.plan()``. In Mines, Guess and Black Box a plan would know what the
player cannot: there the expert decides by the observation alone, one key at a time. Both are in C, in ``native/planning/``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._native import ffi, lib
from ..errors import NoPlan, raise_for
from ..puzzle_spec import spec
from ..session import Session


class Hint(NamedTuple):
    """What to do next, and why."""

    action: int
    purpose: str


class ExpertPolicy:
    """A policy that solves one puzzle: called with a session, it gives the next action.

    It may be asked at any moment of any game, after actions of others too. Where something is hidden it sees only what
    ``Session.observe()`` shows; everywhere else it plans, and keeps to its plan while the game does.

    Raises NoPlan where it does not know how to go on.
    """

    def __init__(self, puzzle: str) -> None:
        self.puzzle = spec(puzzle).name
        self._plan: list[int] = []
        self._expected: Session | None = None

    def __call__(self, session: Session) -> int:
        """The next action."""
        if session.puzzle != self.puzzle:
            raise ValueError(f"an expert for {self.puzzle} was asked about {session.puzzle}")
        if session.spec.hidden:
            return next_key(session).action
        if self._expected is None or not self._plan or self._expected.hash() != session.hash():
            self._plan = session.plan()[::-1]
            self._expected = session.clone()
        if not self._plan:
            raise NoPlan(f"{self.puzzle}: the game is solved")
        action = self._plan.pop()
        self._expected.step(action)
        return action


def hint(session: Session) -> Hint:
    """The next action of an expert, and what it is for: the change of the board that it leads to."""
    if session.spec.hidden:
        return next_key(session)
    plan = session.plan()
    if not plan:
        raise NoPlan(f"{session.puzzle}: the game is solved")
    copy, before = session.clone(), session.observe()
    for action in plan:
        if copy.step(action).moves != session.moves:
            break
    after = copy.observe(copy=False)
    changes = [
        f"{field.name}{list(map(int, at)) if len(at) else ''} becomes {int(after[field.name][tuple(at)])}"
        for field in session.fields
        if not field.is_ui
        for at in np.argwhere(np.asarray(after[field.name] != before[field.name]))
    ]
    more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
    return Hint(plan[0], f"{session.actions[action]} will do it: {', '.join(changes[:3])}{more}")


def next_key(session: Session, timeout: float = 30.0) -> Hint:
    """The next key by what the player sees, where something is hidden; elsewhere the first key of a plan."""
    action, purpose = ffi.new("int32_t *"), ffi.new("char **")
    code = lib.pz_session_next_key(session._open(), timeout, action, purpose)
    if code:
        raise_for(code, f"{session.puzzle}: expert")
    text = ffi.string(purpose[0]).decode()
    lib.pz_free(purpose[0])
    return Hint(action[0], text)
