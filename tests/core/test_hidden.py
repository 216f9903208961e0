"""What the player must not know is nowhere in what an agent is given; what the player does see is there."""

from __future__ import annotations

import numpy as np
import pytest

import puzzleport as pp

from ..conftest import same

HIDDEN = {"mines": ["9x9n10", "4x4n2"], "blackbox": ["w5h5m3M3", "w8h8m3M6"], "guess": ["c6p4g10Bm", "c2p3g10Bm"]}
CASES = [(puzzle, params) for puzzle, all_params in HIDDEN.items() for params in all_params]


@pytest.mark.parametrize(("puzzle", "params"), CASES)
def test_instances_that_differ_in_what_is_hidden_look_alike(puzzle, params):
    sessions = [pp.Session(puzzle, params, seed=seed) for seed in range(40)]
    assert len({session.desc for session in sessions}) > 4
    first = sessions[0]
    for session in sessions[1:]:
        assert same(session.observe(), first.observe())
        assert session.text() == first.text()
        assert np.array_equal(session.mask(), first.mask())


@pytest.mark.parametrize(("puzzle", "params"), CASES)
def test_looking_alike_lasts_as_long_as_nothing_is_found_out(puzzle, params):
    """Cursor moves and marks tell nothing, so they leave all instances alike."""
    quiet = {"mines": ["RIGHT", "SELECT2", "DOWN"], "guess": ["DOWN", "UP", "DOWN"], "blackbox": ["RIGHT", "DOWN"]}
    sessions = [pp.Session(puzzle, params, seed=seed) for seed in range(20)]
    for action in quiet[puzzle] * 2:
        for session in sessions:
            session.step(action)
        for session in sessions[1:]:
            assert same(session.observe(), sessions[0].observe())
            assert session.text() == sessions[0].text()
            assert np.array_equal(session.mask(), sessions[0].mask())


@pytest.mark.parametrize(("puzzle", "params"), CASES)
def test_equal_answers_leave_instances_alike(puzzle, params):
    """After the same play, instances fall into classes by what was revealed: fewer classes than instances."""
    random = np.random.default_rng(1)
    script = None
    seen: dict[bytes, set[str]] = {}
    for seed in range(150):
        session = pp.Session(puzzle, params, seed=seed, undo=False)
        if script is None:
            script = random.integers(len(session.actions), size=25)
        for action in script:
            if session.status == pp.Status.ONGOING:
                session.step(int(action))
        if session.status == pp.Status.ONGOING:
            key = b"".join(values.tobytes() for values in session.observe().values()) + session.text().encode()
            seen.setdefault(key, set()).add(session.desc)
    assert any(len(instances) > 1 for instances in seen.values())


@pytest.mark.parametrize("params", ["9x9n10", "5x7n6", "8x4n7a", "4x4n1"])
def test_mines_shows_no_mine_before_the_end(params):
    """Until a game ends, what is shown follows from the opened numbers, the player's flags and the cursor alone."""
    width, height = (int(side) for side in params.split("n")[0].split("x"))
    shown: dict[tuple, tuple] = {}
    opened = alike = 0
    for seed in range(40):
        session, random = pp.Session("mines", params, seed, undo=False), np.random.default_rng(1)
        flagged = np.zeros((height, width), bool)
        for _ in range(80):
            seen = session.observe()
            numbers, at = seen["numbers"], (int(seen["cursor_y"]), int(seen["cursor_x"]))
            closed = numbers == -1
            assert np.array_equal(seen["flags"], flagged & closed)
            assert not seen["exploded"].any()
            assert bool(seen["laid"]) == (not closed.all())
            if seen["laid"]:
                mines = np.pad(session.solution()["numbers"] == -1, 1)
                near = sum(mines[a : a + height, b : b + width].astype(int) for a in range(3) for b in range(3))
                assert (numbers == near)[~closed].all()
                opened += int((~closed).sum())
            key = (numbers.tobytes(), flagged.tobytes(), at)
            sight = (
                session.record().tobytes(),
                session.text(),
                session.mask().tobytes(),
                session.pixels(96, 96).tobytes(),
            )
            alike += key in shown
            assert shown.setdefault(key, sight) == sight
            action = str(random.choice(["LEFT", "RIGHT", "UP", "DOWN", "SELECT", "SELECT2"]))
            if action == "SELECT2" and closed[at]:
                flagged[at] = not flagged[at]
            session.step(action)
            if session.status != pp.Status.ONGOING:
                break
    assert opened > 100
    assert alike > 100


def test_map_shows_its_colouring():
    session = pp.Session("map", "20x15n30de", seed=1)
    before = session.observe()
    random = np.random.default_rng(0)
    while not session.moves:
        session.step(int(random.choice(np.flatnonzero(session.mask()))))
    after = session.observe()
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert any(not field.is_ui for field in session.fields if field.name in changed)


def test_flood_shows_the_moves_that_are_left():
    session = pp.Session("flood", "12x12c6m5", seed=1)
    names = {field.name for field in session.fields if "move" in field.name}
    before = session.observe()
    while not session.moves:
        session.step(int(np.random.default_rng(session.steps).choice(np.flatnonzero(session.mask()))))
    assert any(not np.array_equal(before[name], session.observe()[name]) for name in names)


@pytest.mark.parametrize("puzzle", ["bridges", "untangle", "signpost", "rect", "pearl", "galaxies", "palisade"])
def test_what_is_held_is_shown(puzzle):
    """SELECT (or CTRL) picks something up: the ui fields say so."""
    session = pp.Session(puzzle, seed=1)
    key = "CTRL" if puzzle == "palisade" else "SELECT"
    if puzzle == "galaxies":
        while not session.mask()[session.actions.index(key)]:
            session.step("RIGHT")
    ui = [field.name for field in session.fields if field.is_ui]
    before = session.observe()
    step = session.step(key)
    assert step.changed
    if not step.moves:
        assert any(not np.array_equal(before[name], session.observe()[name]) for name in ui)
