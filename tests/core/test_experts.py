from __future__ import annotations

import gc
from contextlib import suppress

import numpy as np
import pytest

import puzzleport as pp
from puzzleport._native import lib
from puzzleport.agents.expert import ExpertPolicy
from puzzleport.errors import NoPlan

from ..conftest import PUZZLES, play

HIDDEN = [puzzle for puzzle in PUZZLES if pp.spec(puzzle).hidden]
OPEN = [puzzle for puzzle in PUZZLES if not pp.spec(puzzle).hidden]


def both_levels(puzzle: str) -> list[str]:
    about = pp.spec(puzzle)
    return list(dict.fromkeys([about.easiest_params, about.human_params]))


def follow(session: pp.Session, plan: list[int]) -> None:
    """Take the actions; each must be legal, and only the last may end the game."""
    for number, action in enumerate(plan):
        assert session.status == pp.Status.ONGOING, number
        assert session.mask()[action], (number, session.actions[action])
        assert session.step(action).changed


@pytest.mark.parametrize("puzzle", OPEN)
def test_plans_solve(puzzle):
    """At both of the paper's levels, within the paper's bound, and the session itself stays as it was."""
    for params in both_levels(puzzle):
        lengths = []
        for seed in range(6):
            session = pp.Session(puzzle, params, seed)
            before = session.hash()
            plan = session.plan()
            assert session.hash() == before
            assert session.steps == 0
            follow(session, plan)
            assert session.status == pp.Status.SOLVED
            lengths.append(len(plan))
        assert np.mean(lengths) <= pp.optimal_steps(puzzle, params)


@pytest.mark.parametrize("puzzle", OPEN)
def test_plans_repair(puzzle):
    """After random play wrong entries stand on the board, and sometimes a key is held."""
    about = pp.spec(puzzle)
    for seed in range(4):
        session = pp.Session(puzzle, about.easiest_params, seed)
        random = np.random.default_rng(seed)
        for _ in range(25):
            copy = session.clone()
            copy.step(int(random.choice(np.flatnonzero(session.mask()))))
            if copy.status == pp.Status.ONGOING:
                session = copy
        try:
            plan = session.plan()
        except NoPlan:
            # Only here can play itself use up what a solution needs.
            assert puzzle == "flood"
            continue
        follow(session, plan)
        assert session.status == pp.Status.SOLVED


def test_a_game_that_begins_as_it_ends():
    """The engine calls it solved only after a move: the plan goes away and comes back."""
    session = pp.Session("netslide", "2x3b1", 29)
    assert session.status == pp.Status.ONGOING
    assert (session.observe()["wires"] == session.solution()["wires"]).all()
    follow(session, session.plan())
    assert session.status == pp.Status.SOLVED


def test_a_plan_is_the_same_again():
    for puzzle in ("net", "sixteen", "tents"):
        plans = [pp.Session(puzzle, pp.spec(puzzle).human_params, 3).plan() for _ in range(2)]
        assert plans[0] == plans[1]


@pytest.mark.parametrize("puzzle", ["solo", "loopy", "pearl", "unruly"])
def test_a_plan_goes_on_as_it_began(puzzle):
    """So what the expert does follows from the state alone, and can be learned from it."""
    for seed in range(3):
        session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed)
        for action in session.plan():
            assert session.plan()[0] == action
            session.step(action)


def test_nothing_to_do_in_a_solved_game():
    session = pp.Session("net", "3x3", 1)
    session.solve()
    assert session.plan() == []
    with pytest.raises(NoPlan, match="solved"):
        session.hint()


@pytest.mark.parametrize("undo", [True, False])
def test_a_dead_end_in_pegs(undo):
    """Two pegs that cannot meet: a plan takes the jump back if it may, and says so if not."""
    session = pp.Session("pegs", "5x7cross", 0, undo=undo)
    random = np.random.default_rng(0)
    while session.status == pp.Status.ONGOING and session.mask()[:5].any():
        session.step(int(random.choice(np.flatnonzero(session.mask()[:5]))))
    if undo:
        plan = session.plan()
        assert session.actions[plan[0]] == "UNDO"
        follow(session, plan)
        assert session.status == pp.Status.SOLVED
    else:
        with pytest.raises(NoPlan, match="lost"):
            session.plan()


def test_what_cannot_be_solved_has_no_plan():
    """Random tiles in Same Game: the last colour has a single tile, from the start."""
    session = pp.Session("samegame", game_id="3x2c3s2r:1,1,2,1,1,3")
    with pytest.raises(NoPlan, match=r"cannot be solved|no move is left"):
        session.plan()


@pytest.mark.parametrize("puzzle", HIDDEN)
def test_hidden_puzzles_have_no_plan(puzzle):
    with pytest.raises(NoPlan, match="hidden"):
        pp.Session(puzzle, seed=1).plan()


@pytest.mark.parametrize(("puzzle", "at_least"), [("mines", 19), ("guess", 20), ("blackbox", 20)])
def test_experts_by_sight(puzzle, at_least):
    """Twenty games at the human level, without UNDO."""
    policy, solved = ExpertPolicy(puzzle), 0
    for seed in range(20):
        session = pp.Session(puzzle, pp.spec(puzzle).human_params, seed, undo=False)
        while session.status == pp.Status.ONGOING:
            action = policy(session)
            assert session.mask()[action]
            session.step(action)
            assert session.steps < pp.optimal_steps(puzzle, session.params)
        solved += session.status == pp.Status.SOLVED
    assert solved >= at_least


def test_the_expert_of_mines_does_not_undo_the_same_guess_for_ever():
    """After UNDO the board does not show what exploded."""
    policy, deaths = ExpertPolicy("mines"), 0
    for seed in range(6):
        session = pp.Session("mines", "8x8n24a", seed, undo=True)
        while session.status == pp.Status.ONGOING:
            action = policy(session)
            deaths += session.actions[action] == "UNDO"
            session.step(action)
            assert session.steps < 5000
        assert session.status == pp.Status.SOLVED
    assert deaths > 6


@pytest.mark.parametrize(
    ("puzzle", "params"), [("mines", "9x9n10"), ("mines", "4x5n4"), ("guess", "c4p3g8Bm"), ("blackbox", "w4h4m2M2")]
)
def test_an_expert_by_sight_knows_nothing_more(puzzle, params):
    """Games that look the same get the same action all the way, whatever lies below."""
    policy, pairs = ExpertPolicy(puzzle), 0
    seen: dict[bytes, tuple[int, set[str]]] = {}
    for seed in range(40):
        session = pp.Session(puzzle, params, seed, undo=False)
        while session.status == pp.Status.ONGOING:
            action = policy(session)
            expected, games = seen.setdefault(session.record().tobytes(), (action, set()))
            assert action == expected
            pairs += len(games - {session.desc})
            games.add(session.desc)
            session.step(action)
    assert pairs > 200


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_hints(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, 5)
    hint = session.hint()
    assert session.mask()[hint.action]
    assert hint.purpose


@pytest.mark.parametrize("puzzle", ["bridges", "cube", "mines"])
def test_a_policy_copes_with_others_actions(puzzle):
    """As when a learner acts and the expert only says what it would have done."""
    policy = ExpertPolicy(puzzle)
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, 2)
    for turn in range(10):
        if session.status == pp.Status.ONGOING:
            assert session.mask()[policy(session)]
            play(session, 1, seed=turn, legal=True)
    with pytest.raises(ValueError, match="asked about"):
        ExpertPolicy("net")(session if session.puzzle != "net" else pp.Session("flip"))


@pytest.mark.parametrize("puzzle", OPEN)
def test_plans_from_anywhere(puzzle):
    """At the human level after long random play: a plan, or the reason why there can be none."""
    for seed, actions in ((1, 50), (2, 500), (3, 500)):
        session = pp.Session(puzzle, pp.spec(puzzle).human_params, seed, undo=False)
        random = np.random.default_rng([seed, actions])
        for _ in range(actions):
            copy = session.clone()
            copy.step(int(random.choice(np.flatnonzero(session.mask()))))
            if copy.status == pp.Status.ONGOING:
                session = copy
        reason = ""
        try:
            follow(session, session.plan())
        except NoPlan as error:
            reason = str(error)
        if reason:  # only here can play use up what a solution needs
            assert puzzle in ("flood", "inertia", "pegs", "samegame")
            assert "it cannot be solved from here" in reason
        else:
            assert session.status == pp.Status.SOLVED


@pytest.mark.parametrize(("puzzle", "params"), [("flood", "12x12c6m5"), ("inertia", "10x8")])
def test_a_lost_game_says_so(puzzle, params):
    session = pp.Session(puzzle, params, 1, undo=False)
    random = np.random.default_rng(1)
    while session.status == pp.Status.ONGOING:
        session.step(int(random.choice(np.flatnonzero(session.mask()))))
    assert session.status == pp.Status.FAILED
    with pytest.raises(NoPlan, match="the game is lost"):
        session.plan()


def test_flood_with_fewer_fills_than_the_engine_needs():
    """The engine's solver is greedy; with its own number of fills less one or two there is still a way."""
    params, _, desc = pp.Session("flood", "12x12c6m0", 1).game_id.partition(":")
    colours, fills = desc.split(",")
    session = pp.Session("flood", game_id=f"{params}:{colours},{int(fills) - 1}")
    follow(session, session.plan())
    assert session.status == pp.Status.SOLVED
    with pytest.raises(NoPlan, match="it cannot be solved from here"):
        pp.Session("flood", game_id=f"{params}:{colours},{int(fills) // 2}").plan()


def fewest_fills(colours: list[int], w: int) -> int:
    """By looking at every lake that so many fills can make; a set of squares is the bits of a number."""
    squares = len(colours)
    of = {colour: sum(1 << at for at in range(squares) if colours[at] == colour) for colour in set(colours)}
    left = sum(1 << at for at in range(0, squares, w))

    def spread(lake: int, over: int) -> int:
        while True:
            near = lake << w | lake >> w | (lake & ~left) >> 1 | (lake << 1 & ~left)
            if not near & over & ~lake:
                return lake
            lake |= near & over

    lakes, fills = {spread(1, of[colours[0]])}, 0
    while (1 << squares) - 1 not in lakes:
        lakes, fills = {spread(lake, lake | more) for lake in lakes for more in of.values()}, fills + 1
    return fills


@pytest.mark.parametrize(("params", "w"), [("5x3c4m0", 5), ("3x5c4m0", 3), ("6x4c5m0", 6)])
def test_floods_expert_finds_a_way_exactly_where_there_is_one(params, w):
    """With just the fills that are needed, and with one less, whatever the engine's greedy solver makes of it."""
    greedy = 0
    for seed in range(15):
        _, _, desc = pp.Session("flood", params, seed).game_id.partition(":")
        colours, limit = desc.split(",")
        fills = fewest_fills([int(colour, 36) for colour in colours], w)
        greedy += fills < int(limit)
        session = pp.Session("flood", game_id=f"{params}:{colours},{fills}")
        follow(session, session.plan())
        assert (session.status, session.moves) == (pp.Status.SOLVED, fills)
        if fills > 1:
            with pytest.raises(NoPlan, match="it cannot be solved from here"):
                pp.Session("flood", game_id=f"{params}:{colours},{fills - 1}").plan()
    assert greedy or params != "6x4c5m0"  # there the engine's solver does need more


def can_be_cleared(places: np.ndarray, pegs: np.ndarray, hopeless: set[bytes]) -> bool:
    """Depth first over all jumps, each board once."""
    if pegs.sum() == 1:
        return True
    if pegs.tobytes() in hopeless:
        return False
    hopeless.add(pegs.tobytes())
    for turned in (lambda board: board, np.fliplr, np.transpose, lambda board: np.flipud(board).T):
        board, at = turned(pegs), turned(places)
        for y, x in np.argwhere(board[:, :-2] & board[:, 1:-1] & at[:, 2:] & ~board[:, 2:]):
            after = pegs.copy()
            turned(after)[y, x : x + 3] = False, False, True
            if can_be_cleared(places, after, hopeless):
                return True
    return False


@pytest.mark.parametrize("params", ["4x4random", "5x4random", "4x5random"])
def test_the_expert_of_pegs_finds_a_way_exactly_where_there_is_one(params):
    outcomes = set()
    for seed in range(6):
        session = pp.Session("pegs", params, seed, undo=False)
        random = np.random.default_rng(seed)
        hopeless: set[bytes] = set()
        while session.status == pp.Status.ONGOING:
            seen = session.observe()
            places, pegs = np.asarray(seen["places"], bool), np.asarray(seen["pegs"], bool)
            solvable, moves, copy = can_be_cleared(places, pegs, hopeless), session.moves, session.clone()
            if solvable:
                follow(copy, copy.plan())
                assert copy.status == pp.Status.SOLVED
                assert copy.moves - moves == pegs.sum() - 1
                hopeless.clear()
            else:
                with pytest.raises(NoPlan):
                    copy.plan()
            outcomes.add(solvable)
            while session.status == pp.Status.ONGOING and session.moves == moves and session.mask().any():
                session.step(int(random.choice(np.flatnonzero(session.mask()))))
            if not session.mask().any():
                break
    assert outcomes == {True, False}


def test_plans_and_hints_leave_no_game_behind(puzzle):
    """They are tried on clones, by several ways until one leads to the end, and played again; no clone outlives them."""
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1, undo=True)
    solved = session.clone()
    with suppress(pp.NoSolution):
        solved.solve()
    gc.collect()
    before = lib.pz_live_pools()
    for asked in (session, solved):
        for ask in (asked.hint, asked.plan, asked.hint):
            with suppress(NoPlan):
                ask()
            play(session, 3, legal=True)
    gc.collect()
    assert lib.pz_live_pools() == before


def test_a_plan_keeps_no_board_that_it_has_left_behind():
    """Thousands lie on the way, and the memory that UNDO needs for some hundred is enough."""
    session = pp.Session("fifteen", "12x12", seed=1, undo=True)
    plan, limit = session.plan(), lib.pz_pool_limit
    played = session.clone()
    for action in plan[: len(plan) // 20]:
        played.step(action)
    try:
        lib.pz_pool_limit = 2 * lib.pz_session_memory(played._handle)
        assert session.plan() == plan
    finally:
        lib.pz_pool_limit = limit


def test_a_hint_says_how_much_more_changes(puzzle):
    if pp.spec(puzzle).hidden:
        pytest.skip("hints for what is hidden are of another kind")
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1, undo=False)
    board = [field.name for field in session.fields if not field.is_ui]
    for _ in range(20):
        if session.ended:
            break
        key, purpose = session.hint()
        before, copy = session.observe(), session.clone()
        for action in session.plan():
            if copy.step(action).moves != session.moves:
                break
        after = copy.observe()
        count = sum(int((np.asarray(before[name]) != np.asarray(after[name])).sum()) for name in board)
        assert purpose.count(" becomes ") == min(count, 3)
        assert purpose.partition(" and ")[2] == (f"{count - 3} more" if count > 3 else "")
        session.step(key)
