from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from hypothesis import settings

import puzzleport as pp

settings.register_profile("default", deadline=None, max_examples=int(os.environ.get("PUZZLEPORT_EXAMPLES", "25")))
settings.load_profile("default")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell starts what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

PUZZLES = pp.puzzles()


def levels(puzzle: str) -> list[str]:
    """The parameter strings that a rule for all puzzles is tried at, without repetition."""
    about = pp.spec(puzzle)
    return list(dict.fromkeys([about.easiest_params, about.human_params, about.default_params]))


@pytest.fixture(params=PUZZLES)
def puzzle(request: pytest.FixtureRequest) -> str:
    return request.param


def play(session: pp.Session, steps: int, seed: int = 0, legal: bool = False) -> list[int]:
    """Random play, reset at the end of each game; returns the actions taken."""
    random = np.random.default_rng(seed)
    taken = []
    for _ in range(steps):
        choices = np.flatnonzero(session.mask()) if legal else np.arange(len(session.actions))
        action = int(random.choice(choices))
        taken.append(action)
        session.step(action)
        if session.status != pp.Status.ONGOING:
            session.reset(seed=int(random.integers(2**32)))
    return taken


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
