"""Masks are exact: some come from rules beside the puzzles, and every key is tried against them."""

from __future__ import annotations

import numpy as np
import pytest

import puzzleport as pp

from ..conftest import PUZZLES
from ..golden_fields import oblong

STEPS = 120


def four_sizes(puzzle: str) -> list[str]:
    """The two levels, a board that is not square, and presets of other sizes."""
    spec = pp.spec(puzzle)
    found = [spec.easiest_params, spec.human_params, oblong(puzzle), *(preset.params for preset in spec.presets)]
    return list(dict.fromkeys(pp.canonical_params(puzzle, params) for params in found))[:4]


def tried(session: pp.Session) -> list[bool]:
    """Which keys have an effect, each pressed on a clone."""
    return [session.clone().step(action).changed for action in range(len(session.actions))]


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_every_key_does_what_the_mask_says(puzzle):
    for number, params in enumerate(four_sizes(puzzle)):
        random = np.random.default_rng(number)
        with pp.Session(puzzle, params, seed=number, undo=number % 2 == 0) as session:
            for step in range(STEPS):
                mask = session.mask()
                assert mask.tolist() == tried(session), (params, step)
                if not mask.any():
                    break
                # Legal keys make more happen; now and then the same one again, as drags and modifiers need it.
                legal = np.flatnonzero(mask)
                action = legal[-1] if random.random() < 0.3 else random.choice(legal)
                session.step(int(action))


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_masks_stay_exact_when_a_game_is_over(puzzle):
    spec = pp.spec(puzzle)
    if not spec.can_solve:
        pytest.skip(f"{spec.title} has no solver that would end a game at once")
    with pp.Session(puzzle, spec.easiest_params, seed=3) as session:
        if puzzle == "mines":
            session.step("SELECT")
        if session.status == 0:
            session.solve()
        assert session.status == 1
        random = np.random.default_rng(1)
        for _ in range(40):
            assert session.mask().tolist() == tried(session)
            session.step(int(random.integers(len(session.actions))))


@pytest.mark.parametrize(
    ("puzzle", "game"),
    [("net", "3x3:f48a5f124"), ("twiddle", "4x3n2r"), ("netslide", "4x3b1"), ("samegame", "1x6c3s2"), ("flip", "3x3r")],
)
def test_masks_where_some_keys_look_as_if_they_did_something(puzzle, game):
    """A cross that is turned, a line or a block of tiles that are all alike, a board of one column."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        with pp.Session(puzzle, game_id=game) if ":" in game else pp.Session(puzzle, game, seed=seed) as session:
            for _ in range(300):
                assert session.mask().tolist() == tried(session)
                if session.ended or not session.mask().any():
                    break
                session.step(int(random.choice(np.flatnonzero(session.mask()))))
