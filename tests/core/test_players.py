from __future__ import annotations

import pickle

import numpy as np
import pytest

import puzzleport as pp

from ..conftest import levels, same


def ui_and_board(session: pp.Session) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    observed = session.observe()
    ui = {field.name for field in session.fields if field.is_ui}
    return (
        {name: value for name, value in observed.items() if name in ui},
        {name: value for name, value in observed.items() if name not in ui},
    )


def views(session: pp.Session) -> list[dict[str, np.ndarray]]:
    """What each player sees; the turn stays where it was."""
    present, seen = session.player, []
    for player in range(session.players):
        session.turn(player)
        seen.append(session.observe())
    session.turn(present)
    return seen


def take_turns(session: pp.Session, steps: int, seed: int) -> None:
    """Random legal play of players in random order, reset at the end of each game."""
    random = np.random.default_rng(seed)
    for _ in range(steps):
        session.turn(int(random.integers(session.players)))
        choices = np.flatnonzero(session.mask())
        if len(choices):
            assert session.step(int(random.choice(choices))).changed
        if session.status != pp.Status.ONGOING or not len(choices):
            session.reset(seed=int(random.integers(2**32)))


def test_a_session_has_one_player_unless_told():
    session = pp.Session("net", "2x2", seed=1)
    assert (session.players, session.player) == (1, 0)
    session.turn(0)
    for wrong in (0, 65):
        with pytest.raises(ValueError, match="1 to 64"):
            pp.Session("net", "2x2", players=wrong)
    for wrong in (-1, 1):
        with pytest.raises(ValueError, match="0 to 0"):
            session.turn(wrong)


def test_players_share_the_board_and_nothing_else(puzzle):
    for params in levels(puzzle)[:2]:
        session = pp.Session(puzzle, params, seed=1, players=3)
        bounds = {field.name: (field.low, field.high) for field in session.fields}
        random = np.random.default_rng(0)
        for _ in range(150):
            player = int(random.integers(3))
            uis = []
            for other in range(3):
                session.turn(other)
                uis.append(ui_and_board(session)[0])
            session.turn(player)
            moves = session.moves
            choices = np.flatnonzero(session.mask())
            if session.status != pp.Status.ONGOING or not len(choices):
                session.reset(seed=int(random.integers(2**32)))
                assert session.players == 3
                assert session.player == 0
                continue
            session.step(int(random.choice(choices)))
            board = ui_and_board(session)[1]
            for other in range(3):
                session.turn(other)
                ui, seen = ui_and_board(session)
                assert same(seen, board)
                if session.moves == moves and other != player:
                    assert same(ui, uis[other])
                for name, values in session.observe().items():
                    assert np.all((values >= bounds[name][0]) & (values <= bounds[name][1])), name


def test_the_mask_is_each_players_own_and_exact(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=2, players=2)
    for round_ in range(8):
        take_turns(session, 7, seed=round_)
        for player in range(2):
            session.turn(player)
            mask = session.mask()
            for action in range(len(mask)):
                assert session.clone().step(action).changed == mask[action]


def test_one_player_among_many_plays_as_if_alone(puzzle):
    params = pp.spec(puzzle).easiest_params
    alone, among = pp.Session(puzzle, params, seed=4), pp.Session(puzzle, params, seed=4, players=3)
    among.turn(2)
    random = np.random.default_rng(2)
    for _ in range(60):
        choices = np.flatnonzero(alone.mask())
        if alone.status != pp.Status.ONGOING or not len(choices):
            break
        action = int(random.choice(choices))
        one, other = alone.step(action), among.step(action)
        assert one == other
        assert same(alone.observe(), among.observe())
        assert np.array_equal(alone.mask(), among.mask())
        assert alone.text() == among.text()


def test_copies_know_all_players(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=3, players=3)
    for round_ in range(3):
        take_turns(session, 25, seed=round_)
        for twin in (session.clone(), pp.Session.load(session.save()), pickle.loads(pickle.dumps(session))):
            assert (twin.players, twin.player) == (3, session.player)
            original = session.clone()
            for a, b in zip(views(original), views(twin), strict=True):
                assert same(a, b)
            for one in (original, twin):
                take_turns(one, 25, seed=9)
            for a, b in zip(views(original), views(twin), strict=True):
                assert same(a, b)


def test_pictures_show_the_cursor_of_whose_turn_it_is():
    session = pp.Session("net", "3x3", seed=1, players=2)
    before = session.pixels()
    session.step("RIGHT")
    moved = session.pixels()
    assert not np.array_equal(before, moved)
    session.turn(1)
    assert np.array_equal(session.pixels(), before)
    session.turn(0)
    assert np.array_equal(session.pixels(), moved)


def test_anybody_may_undo_the_last_move():
    session = pp.Session("fifteen", "3x3", seed=1, players=2)
    start = session.observe()
    session.step(int(np.flatnonzero(session.mask())[0]))
    assert not same(session.observe(), start)
    session.turn(1)
    assert session.undo()
    assert same(session.observe(), start)
