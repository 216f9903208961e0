"""Positions that no expert's way leads through."""

from __future__ import annotations

import numpy as np

from ..session import Session, Status


def after_random_play(session: Session, actions: int, random: np.random.Generator) -> Session:
    """The game after so many random legal actions, without those that would end it."""
    for _ in range(actions):
        copy = session.clone()
        copy.step(int(random.choice(np.flatnonzero(session.mask()))))
        if copy.status == Status.ONGOING:
            session = copy
    return session
