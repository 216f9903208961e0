"""What the mouse does in the picture becomes moves of the same session, whatever is clicked."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import puzzleport as pp
from puzzleport._native import lib

SIZE = {"width": 256, "height": 256}


def click(session, x, y, button=0):
    pressed = session.mouse("press", x, y, button=button, **SIZE)
    return session.mouse("release", x, y, button=button, **SIZE) or pressed


def test_a_click_is_the_same_move_as_the_keys_make():
    session = pp.Session("tents", "6x6", seed=1)
    for x in range(40, 200, 20):
        twin = session.clone()
        if click(twin, x, 100):
            (row, column) = np.argwhere(twin.observe()["marks"] != 0)[0]
            assert (twin.moves, twin.steps) == (1, 1)
            keys = session.clone()
            for _ in range(row):
                keys.step("DOWN")
            for _ in range(column):
                keys.step("RIGHT")
            keys.step("SELECT")
            np.testing.assert_array_equal(keys.observe()["marks"], twin.observe()["marks"])
            assert twin.undo()
            assert not twin.observe()["marks"].any()
            return
    pytest.fail("no click had an effect")


def test_mines_laid_by_a_click_are_those_that_the_keys_lay():
    """The first square that is opened decides where the mines are: the description that names the game changes with it."""
    clicked, typed = pp.Session("mines", "9x9n10", seed=3), pp.Session("mines", "9x9n10", seed=3)
    assert click(clicked, 128, 128)
    for _ in range(4):
        typed.step("RIGHT")
        typed.step("DOWN")
    before = typed.desc
    typed.step("SELECT")
    assert clicked.desc == typed.desc != before
    np.testing.assert_array_equal(clicked.observe()["numbers"], typed.observe()["numbers"])


def test_a_drag_draws_a_bridge():
    """From island to island, which no single click does; the drag alone changes nothing."""
    session = pp.Session("bridges", "7x7", seed=1)
    islands = session.observe()["islands"]
    moved = 0
    for x in range(10, 250, 12):
        for y in range(10, 250, 12):
            session.mouse("press", x, y, **SIZE)
            assert not session.mouse("drag", x + 90, y, **SIZE)
            moved += session.mouse("release", x + 90, y, **SIZE)
    assert moved
    assert session.moves == moved
    np.testing.assert_array_equal(session.observe()["islands"], islands)


def test_keys_go_on_where_they_were():
    session = pp.Session("solo", "2x2", seed=1)
    session.step("RIGHT")
    cursor = session.observe()["cursor_x"].copy()
    click(session, 200, 200)
    assert session.observe()["cursor_x"] == cursor
    assert session.mask().any()
    session.step("LEFT")
    assert session.observe()["cursor_x"] == cursor - 1


def test_random_gestures_keep_every_puzzle_whole(puzzle):
    """Presses, drags and releases in any order and place: the session stays one that can be saved and goes on."""
    random = np.random.default_rng(0)
    session = pp.Session(puzzle, seed=2)
    moves = 0
    for number in range(400):
        gesture = str(random.choice(["press", "drag", "release"]))
        x, y = (int(at) for at in random.integers(-20, 280, 2))
        moves += session.mouse(gesture, x, y, button=int(random.integers(3)), **SIZE)
        if number % 20 == 0:
            session.step(int(random.integers(len(session.actions))))
            session.pixels(256, 256)
            session.pixels(100, 100)
        if session.status != pp.Status.ONGOING:
            session.reset(seed=number)
    twin = pp.Session.load(session.save())
    assert twin.hash() == session.hash()
    for name, value in session.observe().items():
        np.testing.assert_array_equal(twin.observe()[name], value)


@pytest.mark.parametrize("puzzle", ["mines", "tracks"])
def test_a_press_beside_the_board_begins_no_gesture(puzzle):
    """Mines would open what the drag ends on; Tracks would follow a drag along the rim, outside its memory."""
    session = pp.Session(puzzle, seed=1)
    before = session.pixels(256, 256)
    for ends in [(2, 128), (128, 2), (128, 128)]:
        session.mouse("press", 2, 2, **SIZE)
        session.mouse("drag", *ends, **SIZE)
        np.testing.assert_array_equal(session.pixels(256, 256), before)
        assert not session.mouse("release", *ends, **SIZE)
    assert session.moves == 0


@pytest.mark.parametrize(
    ("gesture", "options"),
    [
        ("poke", {}),
        ("press", {"button": 3}),
        ("press", {"button": -1}),
        ("press", {"width": 0}),
        ("press", {"height": 5000}),
        ("press", {"width": 3, "height": 3}),
    ],
)
def test_bad_gestures_are_refused(gesture, options):
    session = pp.Session("net", "5x5", seed=1)
    with pytest.raises((ValueError, pp.PuzzleError)):
        session.mouse(gesture, 1, 1, **(SIZE | options))
    assert session.mask().any()


def test_a_gesture_is_one_press_its_drags_and_one_release(puzzle):
    """A second press lets the first go where it is; what comes without a press does nothing, whatever the button."""
    random = np.random.default_rng(3)
    sessions = [pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=4) for _ in range(2)]
    for turn in range(16):
        button = int(random.integers(3))
        places = [tuple(int(at) for at in random.integers(20, 236, 2)) for _ in range(3)]
        for session, between in zip(sessions, (False, True), strict=True):
            session.mouse("press", *places[0], button=button, **SIZE)
            if turn % 2:
                session.mouse("drag", *places[1], button=button, **SIZE)
            if between:
                session.mouse("release", *places[2], button=button, **SIZE)
            session.mouse("press", *places[2], button=button, **SIZE)
            session.mouse("release", *places[2], button=button, **SIZE)
            done = session.hash()
            for gesture in ("drag", "release"):
                assert not session.mouse(gesture, *places[0], button=button, **SIZE)
            assert session.hash() == done
        assert sessions[0].hash() == sessions[1].hash()
        assert sessions[0].moves == sessions[1].moves
        if sessions[0].status != pp.Status.ONGOING:
            for session in sessions:
                session.reset(seed=turn)


def test_the_module_itself_refuses_gestures_and_buttons_that_there_are_not():
    """Python looks before it calls; who calls the module from elsewhere is told as well."""
    session = pp.Session("net", "5x5", seed=1)
    for button, gesture in itertools.product(range(-1, 4), repeat=2):
        code = lib.pz_session_mouse(session._handle, 100, 100, 50, 50, button, gesture)
        assert (code == 0) == (button in (0, 1, 2) and gesture in (0, 1, 2)), (button, gesture)


def test_a_sketch_leaves_out_nothing_but_its_text(puzzle):
    """Where the picture differs a label stands, and where a label stands the picture differs."""
    size = (240, 200)
    session = pp.Session(puzzle, pp.spec(puzzle).human_params, seed=1)
    sketch, picture = session.sketch(*size), session.pixels(*size)
    differs = (sketch.pixels != picture).any(axis=2)
    rows, columns = np.ogrid[: size[1], : size[0]]
    near = np.zeros_like(differs)
    for label in sketch.labels:
        room = sketch.tile * max(1, len(label.text))
        around = (abs(rows - label.y) <= sketch.tile) & (abs(columns - label.x) <= room)
        assert (differs & around).any() or not label.text.strip(), label
        near |= around
    assert not (differs & ~near).any()


# Puzzles whose letters are one field: its items from some value on.
LETTERS = {
    "bridges": ("islands", 1),
    "dominosa": ("numbers", 0),
    "fifteen": ("tiles", 1),
    "filling": ("digits", 1),
    "lightup": ("clues", 0),
    "loopy": ("clues", 0),
    "mosaic": ("clues", 0),
    "palisade": ("clues", 0),
    "range": ("clues", 1),
    "rect": ("clues", 1),
    "signpost": ("numbers", 1),
    "singles": ("numbers", 1),
    "sixteen": ("tiles", 1),
    "solo": ("digits", 1),
    "twiddle": ("tiles", 1),
}


@pytest.mark.parametrize("puzzle", LETTERS)
def test_a_sketch_tells_the_numbers_of_the_board(puzzle):
    """In places, too, that lie as those of the field do: row by row, where it is a grid of squares."""
    name, least = LETTERS[puzzle]
    session = pp.Session(puzzle, pp.spec(puzzle).human_params, seed=1)
    labels, values = session.sketch(240, 200).labels, np.asarray(session.observe()[name])
    assert sorted(int(label.text) for label in labels) == sorted(values[values >= least].tolist())
    if values.ndim == 2:
        rows = sorted(labels, key=lambda label: (label.y, label.x))
        assert [int(label.text) for label in rows] == values[values >= least].tolist()


def test_a_sketch_is_the_picture_and_its_text(puzzle):
    session = pp.Session(puzzle, seed=1)
    sketch = session.sketch(200, 160)
    assert sketch.pixels.shape == (160, 200, 3)
    assert sketch.tile >= 1
    for label in sketch.labels:
        assert label.text
        assert label.align in {-1, 0, 1}
    if puzzle == "fifteen":
        assert sorted(int(label.text) for label in sketch.labels) == list(range(1, 16))
    np.testing.assert_array_equal(session.pixels(128, 128), session.clone().pixels(128, 128))
