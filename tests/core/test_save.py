from __future__ import annotations

import copy
import hashlib
import itertools
import pickle
import struct
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import puzzleport as pp

from ..conftest import levels, play, same


def test_saved_sessions_go_on_alike(puzzle):
    for params in levels(puzzle):
        session = pp.Session(puzzle, params, seed=3, max_steps=500, undo=True)
        for round_ in range(3):
            play(session, 35, seed=round_)
            for twin in (
                pp.Session.load(session.save()),
                pickle.loads(pickle.dumps(session)),
                copy.deepcopy(session),
            ):
                original = session.clone()
                assert same(original.observe(), twin.observe())
                assert original.game_id == twin.game_id
                assert original.text() == twin.text()
                for one in (original, twin):
                    play(one, 25, seed=99)
                    one.undo()
                assert same(original.observe(), twin.observe())
                assert original.hash() == twin.hash()
                assert (original.status, original.moves, original.repeats) == (twin.status, twin.moves, twin.repeats)


def test_mines_first_click_survives_clone_undo_and_save():
    """The layout is drawn at the first click: the same click gives the same mines in every copy, another one others."""
    session = pp.Session("mines", "9x9n10", seed=5)
    copies = [session.clone(), pp.Session.load(session.save()), pickle.loads(pickle.dumps(session))]
    session.step("SELECT")
    assert ":" not in session.game_id
    for one in copies:
        one.step("SELECT")
        assert same(one.observe(), session.observe())
        assert one.desc == session.desc
    elsewhere = pp.Session("mines", "9x9n10", seed=5)
    for _ in range(8):
        elsewhere.step("DOWN")
    elsewhere.step("SELECT")
    assert elsewhere.desc != session.desc


def test_mines_undo_of_the_first_click_takes_the_mines_back():
    """No square is open again, so no mine is laid: the next opening is safe, and draws the mines for where it is."""
    session = pp.Session("mines", "9x9n10", seed=5, undo=True)
    before, state, desc = session.observe(), session.hash(), session.desc
    fresh = pp.Session("mines", "9x9n10", seed=5, undo=True)
    fresh.step("RIGHT")
    fresh.step("SELECT")
    session.step("SELECT")
    for copied in (session.clone(), pp.Session.load(session.save()), session):
        copied.step("UNDO")
        assert same(copied.observe(), before)
        assert int(copied.observe()["laid"]) == 0
        assert (copied.hash(), copied.desc) == (state, desc)
        copied.step("RIGHT")
        copied.step("SELECT")
        assert copied.status != pp.Status.FAILED
        assert copied.desc == fresh.desc
        assert same(copied.observe(), fresh.observe())
    marked = pp.Session("mines", "9x9n10", seed=5, undo=True)
    for action in ("SELECT2", "RIGHT", "SELECT", "UNDO", "UNDO"):
        marked.step(action)
    assert (marked.desc, int(marked.observe()["laid"])) == (desc, 0)


def endings(puzzle: str) -> list[str]:
    """Parameters whose games end soon: every level, and what makes losing easy."""
    more = {
        "guess": ["c6p4g1Bm", "c3p2g2bM", "c2p2g1Bm"],
        "mines": ["4x4n5", "5x3n2"],
        "flood": ["3x3c3m0"],
        "sixteen": ["2x3"],
    }
    return levels(puzzle)[:2] + more.get(puzzle, [])


def test_every_lost_and_solved_game_can_be_saved(puzzle):
    for params in endings(puzzle):
        for seed in range(6):
            session = pp.Session(puzzle, params, seed=seed, undo=seed % 2 == 0)
            if seed % 3 == 2:
                try:
                    session.solve()
                except pp.NoSolution:
                    continue
            random = np.random.default_rng(seed)
            for _ in range(300):
                if session.status != pp.Status.ONGOING:
                    break
                session.step(int(random.choice(np.flatnonzero(session.mask()))))
            twin = pp.Session.load(session.save())
            assert (twin.hash(), twin.status, twin.save()) == (session.hash(), session.status, session.save())
            session.undo()
            twin.undo()
            assert same(twin.observe(), session.observe())


FORGE = """
import hashlib, sys
import numpy as np
import puzzleport as pp

def use(session):
    session.text()
    session.pixels(160, 160)
    random = np.random.default_rng(1)
    for _ in range(10):
        session.step(int(random.integers(len(session.actions))))
    session.undo()
    session.clone().step(0)
    pp.Session.load(session.save()).step(0)

puzzle, stride, start = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=3, undo=True)
random = np.random.default_rng(3)
for _ in range(8):
    session.step(int(random.integers(len(session.actions))))
saved = session.save()[:-20]
for at in range(8 + start, len(saved), stride):
    for value in {0, 1, 3, 0x7F, 0x80, 0xFF, saved[at] ^ 1, saved[at] ^ 4} - {saved[at]}:
        forged = saved[:at] + bytes([value]) + saved[at + 1 :]
        try:
            loaded = pp.Session.load(forged + hashlib.sha1(forged).digest())
        except pp.CorruptState:
            continue
        try:
            use(loaded)
        except Exception as error:
            raise SystemExit(f"{puzzle}: {value} at {at}: {type(error).__name__}: {error}")
"""


@pytest.mark.parametrize(
    "name", ["bridges", "cube", "dominosa", "galaxies", "guess", "netslide", "pearl", "pegs", "signpost"]
)
def test_a_forged_byte_is_refused_or_harmless(name):
    """Puzzles in which one byte, sealed again, once ended the process or came out as another error.

    ``make torture`` does it for all puzzles and every position.
    """
    command = [sys.executable, "-X", "faulthandler", "-c", FORGE, name, "3", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_bridge_that_starts_in_the_water_is_refused():
    """While a bridge is drawn the save says where from: each of these bytes, in a process of its own."""
    drawing = FORGE.replace("saved = session", "session.reset(5)\nsession.step('SELECT')\nsaved = session")
    command = [sys.executable, "-X", "faulthandler", "-c", drawing, "bridges", "1", "220"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_masks_of_a_forged_save_are_exact(puzzle):
    """Such as one whose cursor is hidden, which no key does. Rules tell masks only of games that were played here."""
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=5)
    for action in (1, -1):
        session.step(session.actions[action])
    saved = session.save()[:-20]
    for at in (at for at in range(8, len(saved)) if saved[at]):
        forged = saved[:at] + b"\0" + saved[at + 1 :]
        try:
            loaded = pp.Session.load(forged + hashlib.sha1(forged).digest())
        except pp.CorruptState:
            continue
        for action in (0, 5, 10):
            tried = [loaded.clone().step(key).changed for key in range(len(loaded.actions))]
            assert loaded.mask().tolist() == tried, at
            loaded.step(action % len(loaded.actions))


def test_what_a_forged_save_shows_lies_within_the_bounds_of_its_fields(puzzle):
    for seed in range(3):
        session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=seed, undo=False)
        play(session, 4 * seed, seed=seed, legal=True)
        if "SELECT" in session.actions:  # in the middle of what two keys do, such as a bridge
            session.step("SELECT")
        saved = session.save()[:-20]
        for at, value in itertools.product(range(8, len(saved)), (0x7F, 0x80)):
            forged = saved[:at] + bytes([value]) + saved[at + 1 :]
            try:
                loaded = pp.Session.load(forged + hashlib.sha1(forged).digest())
            except pp.CorruptState:
                continue
            seen = loaded.observe(copy=False)
            for field in loaded.fields:
                view = seen[field.name]
                assert not view.size or field.low <= view.min() <= view.max() <= field.high, (field.name, at, value)


@pytest.mark.parametrize("name", ["keen", "towers", "undead"])
def test_no_forged_pencil_mark_is_drawn(name):
    """No action sets one and no field shows one, and Keen and Towers shift them, also where they are negative."""
    session = pp.Session(name, pp.spec(name).easiest_params, seed=3)
    saved, seen, drawn = session.save()[:-20], session.observe(), session.pixels(96, 96)
    for at in range(8, len(saved)):
        forged = saved[:at] + b"\x02" + saved[at + 1 :]
        try:
            loaded = pp.Session.load(forged + hashlib.sha1(forged).digest())
        except pp.CorruptState:
            continue
        if same(loaded.observe(), seen):
            np.testing.assert_array_equal(loaded.pixels(96, 96), drawn, err_msg=f"at {at}")


def test_a_held_arrow_lies_within_the_same_bounds_across_and_down():
    """In pixels, which no field shows: below 2**30 either way, so that nothing that is added to it overflows."""
    session = pp.Session("galaxies", "7x7dn", seed=3, undo=False)
    seen = session.observe()
    y, x = (int(at) for at in np.argwhere(seen["dots"])[0])
    for action, times in (("RIGHT", x - int(seen["cursor_x"])), ("DOWN", y - int(seen["cursor_y"]))):
        for _ in range(times):
            session.step(action)
    session.step("SELECT")
    seen = session.observe()
    assert seen["dragging"]
    names = ("drag_dot_x", "drag_dot_y", "drag_x", "drag_y", "cursor_x", "cursor_y")
    held = struct.pack("<6i", *(int(seen[name]) + 1 for name in names))  # the engine counts the rim
    saved = session.save()[:-20]
    assert saved.count(held) == 1
    for at, number in itertools.product((8, 4), (0, 1, 2**30 - 1, 2**30, 2**31 - 1, -1, 1 - 2**30, -(2**30))):
        place = saved.index(held) - at
        forged = saved[:place] + struct.pack("<i", number) + saved[place + 4 :]
        with nullcontext() if abs(number) < 2**30 else pytest.raises(pp.CorruptState):
            pp.Session.load(forged + hashlib.sha1(forged).digest())


def test_each_place_of_a_rectangle_in_the_making_lies_on_the_board():
    """Where the drag began and where it is now in halves of a square, and the first and the last square of its box."""
    session = pp.Session("rect", "4x3", seed=3)
    saved, none = session.save()[:-20], b"\xff" * 16
    assert saved.count(none + bytes(4) + none) == 1  # nothing is dragged, and between them stands what else is so
    start = saved.index(none + bytes(4) + none)
    for at, most in [*enumerate((8, 6, 8, 6)), *enumerate((4, 3, 4, 3), 5)]:
        for number in (-1, 0, most, -2, most + 1, -(2**31), 2**31 - 1):
            place = start + 4 * at
            forged = saved[:place] + struct.pack("<i", number) + saved[place + 4 :]
            with nullcontext() if -1 <= number <= most else pytest.raises(pp.CorruptState):
                pp.Session.load(forged + hashlib.sha1(forged).digest())


def test_an_open_square_before_the_mines_are_laid_is_refused():
    session = pp.Session("mines", "4x4n2", seed=5)
    session.step("SELECT2")
    saved = session.save()[:-20]
    flag = saved.rindex(b"\xff" + b"\xfe" * 15)
    for open_square in (0, 1, 8):
        forged = saved[:flag] + bytes([open_square]) + saved[flag + 1 :]
        with pytest.raises(pp.CorruptState):
            pp.Session.load(forged + hashlib.sha1(forged).digest())


def test_a_blob_is_refused_unless_it_is_whole(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=3)
    play(session, 20)
    blob = session.save()
    for cut in (0, 1, 7, 8, 20, len(blob) // 2, len(blob) - 1):
        with pytest.raises(pp.CorruptState):
            pp.Session.load(blob[:cut])
    with pytest.raises(pp.CorruptState, match="version"):
        pp.Session.load(blob[:6] + b"9" + blob[7:])
    with pytest.raises(pp.CorruptState, match="no saved session"):
        pp.Session.load(b"x" * len(blob))
    with pytest.raises(pp.CorruptState):
        pp.Session.load(blob + b"\0")
    assert same(pp.Session.load(blob).observe(), session.observe())


@given(data=st.data())
def test_altered_blobs_are_refused(data):
    puzzle = data.draw(st.sampled_from(pp.puzzles()))
    blob = bytearray(pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=3).save())
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(pp.CorruptState):
        pp.Session.load(bytes(blob))


@given(st.binary(max_size=200))
def test_foreign_bytes_are_refused(junk):
    with pytest.raises(pp.CorruptState):
        pp.Session.load(junk)
