"""A glance is a dict of fields, whoever looks first and however."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import puzzleport as pp

LOOKS = {
    "dict": dict,
    "stars": lambda glance: {**glance},
    "items": lambda glance: dict(glance.items()),
    "keys": lambda glance: {name: glance[name] for name in glance.keys()},  # noqa: SIM118 (that is what is tested)
    "iteration": lambda glance: {name: glance[name] for name in glance},
    "values": lambda glance: dict(zip(list(glance), glance.values(), strict=True)),
    "get": lambda glance: {name: glance.get(name) for name in ("tiles", "moves_since")} and dict(glance),
    "copy": lambda glance: glance.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda glance: pickle.loads(pickle.dumps(glance)),
    "or": lambda glance: glance | {},
    "ror": lambda glance: {} | glance,
    "update": lambda glance: dict.fromkeys(glance) | glance,
}


@pytest.mark.parametrize("look", LOOKS)
def test_every_way_to_look_sees_the_fields(look):
    with pp.Session("bridges", "3x3", seed=1) as session:
        expected = session.observe()
        seen = LOOKS[look](session.glance())
    assert list(seen) == list(expected)
    assert all(np.array_equal(seen[name], expected[name]) for name in expected)


def test_a_glance_stays_as_it_was_taken(puzzle):
    with pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1) as session:
        before, glance = session.observe(), session.glance()
        assert session.step(int(np.flatnonzero(session.mask())[0])).changed
        assert len(glance) == len(before)
        assert all(np.array_equal(glance[name], before[name]) for name in before)
        assert all(glance[name].dtype == before[name].dtype for name in before)
        assert any(not np.array_equal(before[name], view) for name, view in session.observe().items())


def test_a_glance_can_be_written_to():
    with pp.Session("fifteen", "2x2", seed=1) as session:
        glance = session.glance()
        glance["tiles"][:] = 0
        glance["more"] = np.zeros(1)
        assert "more" in glance
        assert session.observe()["tiles"].any()
        del glance["more"]
        assert list(glance) == list(session.observe())
