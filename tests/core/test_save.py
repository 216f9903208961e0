from __future__ import annotations

import copy
import pickle

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
    # Taken back, the mines stay where they are, in copies too.
    session.undo()
    twin = session.clone()
    for one in (session, twin):
        one.step("RIGHT")
        one.step("SELECT")
    assert session.desc == twin.desc == copies[0].desc
    assert same(session.observe(), twin.observe())


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
