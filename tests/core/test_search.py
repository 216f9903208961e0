from __future__ import annotations

import contextlib
import gc
import itertools
import os
import signal
import threading
import zlib

import numpy as np
import pytest

import puzzleport as pp
from puzzleport._native import lib
from puzzleport.agents import search
from puzzleport.game_id import episode_seed

SMALL = {"fifteen": "2x2", "flood": "3x3c6m5", "samegame": "2x3c3s2", "singles": "2x3de", "net": "2x2"}


def start(puzzle, seed=0, **options):
    return pp.Session(puzzle, SMALL.get(puzzle, pp.spec(puzzle).easiest_params), seed=seed, undo=False, **options)


def follow(session, actions):
    for action in actions:
        assert session.status == pp.Status.ONGOING
        assert session.step(action).changed
    return session.status


def slow_bfs(session):
    """The length of a shortest solution, the obvious way."""
    seen, frontier, depth = {session.hash()}, [session], 0
    while frontier:
        if any(one.status == pp.Status.SOLVED for one in frontier):
            return depth
        following = []
        for one in frontier:
            if one.status != pp.Status.ONGOING:
                continue
            for action in np.flatnonzero(one.mask()):
                child = one.clone()
                child.step(int(action))
                if child.hash() not in seen:
                    seen.add(child.hash())
                    following.append(child)
        frontier, depth = following, depth + 1
    return None


@pytest.mark.parametrize("puzzle", SMALL)
def test_plain_searches_find_a_shortest_way(puzzle):
    for seed in range(3):
        session = start(puzzle, seed)
        before = session.hash()
        broad, deep = search.bfs(session), search.ida_star(session, max_depth=9)
        assert session.hash() == before
        assert broad.complete
        if seed == 0 or puzzle == "fifteen":
            assert len(broad.actions) == slow_bfs(session)
        if len(broad.actions) <= 9:
            assert len(deep.actions) == len(broad.actions)
            assert follow(session.clone(), deep.actions) == pp.Status.SOLVED
        else:
            assert deep.actions is None
        assert follow(session, broad.actions) == pp.Status.SOLVED
        assert search.bfs(session).actions == search.ida_star(session).actions == ()


def test_an_estimate_leads_to_the_same_length_with_fewer_states():
    session = start("singles", 2)
    target = session.solution()
    plain, led = search.ida_star(session), search.ida_star(session, target=target, per_step=1)
    assert len(plain.actions) == len(led.actions)
    assert led.nodes < plain.nodes


def slow_ida_star(session, target, per_step):
    """Iterative deepening as it is described: the length of the way, and how many states were looked at."""
    board = [field.name for field in session.layout.fields if not field.is_ui]
    visited = 1

    def estimate(at):
        seen = at.observe()
        differ = sum(int((seen[name] != target[name]).sum()) for name in board)
        return 0 if at.status == pp.Status.SOLVED else -(-differ // per_step)

    def deepen(at, depth, bound, hopeless):
        """The length of a way within the bound, and by how much others exceed it at least."""
        nonlocal visited
        total = depth + estimate(at)
        if at.status != pp.Status.ONGOING:
            return (depth, np.inf) if at.status == pp.Status.SOLVED else (None, np.inf)
        if total > bound or depth >= bound:
            return None, max(total, bound + 1)
        if hopeless.get(at.hash(), -1) >= bound - depth:
            return None, np.inf
        hopeless[at.hash()] = bound - depth
        least = np.inf
        for action in np.flatnonzero(at.mask()):
            following = at.clone()
            following.step(int(action))
            visited += 1
            length, over = deepen(following, depth + 1, bound, hopeless)
            if length is not None:
                return length, over
            least = min(least, over)
        return None, least

    bound = estimate(session)
    while True:
        length, following = deepen(session, 0, bound, {})
        if length is not None:
            return length, visited
        bound = following


@pytest.mark.parametrize(("puzzle", "per_step"), [("singles", 1), ("net", 4), ("flip", 5), ("fifteen", 2)])
def test_iterative_deepening_is_what_it_says(puzzle, per_step):
    """Also where the items that differ are a whole number of steps, and where the estimate is too high."""
    for seed in range(2):
        session = start(puzzle, seed)
        for action in search.bfs(session).actions[:-5]:
            session.step(action)
        target = session.solution()
        found = search.ida_star(session, target=target, per_step=per_step)
        assert (len(found.actions), found.nodes) == slow_ida_star(session, target, per_step)


@pytest.mark.parametrize("most", [1, 2, 3, 10, 57])
def test_iterative_deepening_looks_at_no_more_states_than_it_may(most):
    session = start("net", 1)
    few = search.ida_star(session, max_nodes=most)
    assert (few.actions, few.complete) == (None, False)
    assert few.nodes == most + 1  # the first is not counted


def test_what_is_lost_has_no_plan():
    """However often it is searched on: in Inertia every way on may end on a mine."""
    lost = 0
    for seed in itertools.count():
        session, random = pp.Session("inertia", "8x3", seed), np.random.default_rng(seed)
        while session.status == pp.Status.ONGOING and session.steps < 8:
            following = [session.clone() for _ in np.flatnonzero(session.mask())]
            for copy, action in zip(following, np.flatnonzero(session.mask()), strict=True):
                copy.step(int(action))
            if all(copy.status == pp.Status.FAILED for copy in following):
                tree = search.Tree(session, seed=seed)
                for _ in range(3):
                    tree.simulate(50, 20, 1.4, 1.0, stop=False)
                    assert tree.result.plan is None
                lost += 1
                break
            session = following[int(random.integers(len(following)))]
        if lost == 2:
            break


def test_plain_searches_say_what_they_left_out():
    session = start("net", 1)
    length = len(search.bfs(session).actions)
    assert length > 2
    near = search.bfs(session, max_depth=length - 1)
    assert (near.actions, near.complete) == (None, True)
    few = search.bfs(session, max_nodes=10)
    assert (few.actions, few.complete) == (None, False)
    assert few.nodes <= 10
    few = search.ida_star(session, max_nodes=10)
    assert (few.actions, few.complete) == (None, False)
    assert search.bfs(start("net", 1, max_steps=length - 1)).actions is None
    assert len(search.bfs(start("net", 1, max_steps=length)).actions) == length


def test_every_puzzle_can_be_searched(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=4, undo=True)
    before = (session.hash(), session.steps, session.moves)
    result = search.mcts(session, 60, rollout_depth=20, seed=1, stop=False)
    again = search.mcts(session, 60, rollout_depth=20, seed=1, stop=False)
    assert (session.hash(), session.steps, session.moves) == before
    assert result.action == again.action
    assert np.array_equal(result.visits, again.visits)
    assert np.array_equal(result.values, again.values)
    assert len(result.visits) == len(session.actions)
    if session.status == pp.Status.ONGOING:
        assert session.mask()[result.action]
        assert not result.visits[~session.mask()].any()
        assert result.visits.sum() <= 60
        assert result.policy.sum() == pytest.approx(1)
        assert (np.abs(result.values) <= 1).all()
    if result.plan is not None:
        assert follow(session, result.plan) == pp.Status.SOLVED


@pytest.mark.parametrize("seed", range(4))
def test_the_mines_that_an_opening_lays_stay_with_that_opening(seed):
    """Each first opening lays other mines: a plan must hold in the real game, whichever openings were tried before."""
    session = start("mines", seed)
    plan = search.mcts(session, 3000, rollout_depth=150, seed=seed, stop=False).plan
    assert plan is not None
    assert follow(session.clone(), plan) == pp.Status.SOLVED
    found = search.bfs(session, max_nodes=20_000)
    if found.actions is not None:
        assert follow(session, found.actions) == pp.Status.SOLVED


@pytest.mark.parametrize("puzzle", SMALL)
def test_the_player_solves_what_it_should(puzzle):
    solved = 0
    for seed in range(40):
        session = start(puzzle, seed, max_steps=60)
        player = search.MCTS(1000, rollout_depth=40, seed=seed)
        search.play(player, session)
        solved += session.status == pp.Status.SOLVED
    assert solved >= 38


def test_a_tree_goes_on_from_move_to_move():
    session = start("flood", 3)
    tree = search.Tree(session, seed=2)
    tree.simulate(0)
    assert not tree.result.visits.any()
    tree.simulate(400, 20, stop=False)
    result = tree.result
    session.step(result.action)
    assert tree.follow(session)
    assert tree.result.visits.sum() > 0
    assert tree.result.plan == (result.plan[1:] if result.plan else None)
    assert not tree.follow(start("flood", 4))


def test_the_shortest_plan_is_kept():
    session = start("flood", 0)
    plan = search.bfs(session).actions
    for action in plan[:-1]:
        session.step(action)
    result = search.mcts(session, 200, rollout_depth=10, stop=False)
    assert result.plan == plan[-1:]
    assert result.action == plan[-1]


def uniform(observation, masks):
    return masks.astype(np.float32), np.zeros(len(masks), np.float32)


def test_a_judge_is_asked_about_several_states_at_once():
    session, asked = start("singles", 2), []

    def judge(observation, masks):
        asked.append(len(masks))
        assert all(len(values) == len(masks) for values in observation.values())
        for row, mask in enumerate(masks):
            # The states are real ones: whoever stands there has this mask.
            shown = {name: values[row] for name, values in observation.items()}
            key = b"".join(shown[name].tobytes() for name in sorted(shown))
            assert known.setdefault(key, mask.tobytes()) == mask.tobytes()
        return uniform(observation, masks)

    known: dict[bytes, bytes] = {
        b"".join(value.tobytes() for _, value in sorted(session.observe().items())): session.mask().tobytes()
    }
    tree = search.Tree(session)
    tree.judge(judge, 200, batch=16)
    assert max(asked) <= 16
    assert max(asked) > 1
    assert sum(asked) == len(known)  # each state once
    assert tree.result.visits.sum() <= 200
    player = search.MCTS(400, judge=uniform, batch=16)
    search.play(player, session, 60)
    assert session.status == pp.Status.SOLVED


def test_a_judge_leads_the_search():
    session = start("net", 1)
    legal = np.flatnonzero(session.mask())

    def biased(observation, masks):
        priors = np.full(masks.shape, 0.01, np.float32)
        priors[:, legal[-1]] = 1
        return priors, np.zeros(len(masks), np.float32)

    tree = search.Tree(session)
    tree.judge(biased, 100)
    assert tree.result.visits.argmax() == legal[-1]
    noise = np.zeros(len(session.actions))
    noise[legal[0]] = 1
    tree = search.Tree(session)
    tree.judge(biased, 100, noise=noise, noise_share=1.0)
    assert tree.result.visits.argmax() == legal[0]


def test_a_judge_sees_the_same_whether_or_not_there_is_undo():
    params, found = pp.spec("pegs").easiest_params, []
    for undo in (False, True):
        session, asked = pp.Session("pegs", params, seed=1, undo=undo), []

        def judge(observation, masks, asked=asked):
            asked.append(masks.tolist())
            return uniform(observation, masks)

        tree = search.Tree(session, seed=1)
        tree.judge(judge, 60, batch=4)
        kept = len(session.actions) - undo
        assert not tree.result.visits[kept:].any()
        found.append((asked, tree.result.visits[:kept].tolist(), tree.result.values[:kept].tolist()))
    assert found[0] == found[1]


class Known:
    """A state of the model below: what has been learned of it and of each way on."""

    def __init__(self, session: pp.Session) -> None:
        self.session, self.status = session, int(session.status)
        self.lost, self.judged, self.pending, self.seen = self.status < 0, False, False, 0
        legal = np.flatnonzero(session.mask()) if not self.status else ()
        self.ways = {int(action): Way() for action in legal}


class Way:
    """What an action is worth: how often it was taken, what that was worth in all, how likely the judge holds it."""

    visits, total, prior = 0, 0.0, np.float32(0)
    to: Known | None = None


class Puct:
    """Judged search in plain Python, over clones of a session; equal states are one."""

    def __init__(self, session: pp.Session, judge, horizon: int, c: float, discount: float) -> None:
        self.judge, self.horizon, self.c, self.discount = judge, horizon, c, discount
        self.root = Known(session.clone())
        self.known, self.plan = {session.hash(): self.root}, None

    def child(self, at: Known, action: int) -> Known:
        way = at.ways[action]
        if way.to is None:
            session = at.session.clone()
            session.step(action)
            way.to = self.known.setdefault(session.hash(), Known(session))
        return way.to

    def descend(self) -> tuple[list[Known], list[int], float | None]:
        """A path to what nobody has judged yet (None), or to what has a value. Each way counts as lost until it has one."""
        path, actions = [self.root], []
        while True:
            at = path[-1]
            if at.status or at.lost:
                if at.status > 0 and (self.plan is None or len(actions) < len(self.plan)):
                    self.plan = tuple(actions)
                return path, actions, float(at.status or -1)
            if not at.judged:
                return path, actions, None
            if len(path) > self.horizon:
                return path, actions, 0.0
            while True:
                open_ways = {
                    action: (way.total / way.visits if way.visits else 0)
                    + self.c * np.sqrt(at.seen) * float(way.prior) / (way.visits + 1)
                    for action, way in at.ways.items()
                    if way.to is None or not (way.to.lost or way.to in path)
                }
                if not open_ways:
                    return path, actions, 0.0
                action = max(open_ways, key=open_ways.get)
                if self.child(at, action) not in path:
                    break
            at.ways[action].visits += 1
            at.ways[action].total -= 1
            at.seen += 1
            actions.append(action)
            path.append(at.ways[action].to)

    def back_up(self, path: list[Known], actions: list[int], value: float) -> None:
        path[-1].seen += 1
        for at, action in zip(path[-2::-1], actions[::-1], strict=True):
            value *= self.discount
            at.ways[action].total += value + 1
            if not at.lost and at.ways[action].to.lost:
                at.lost = all(way.to is not None and way.to.lost for way in at.ways.values())

    def search(self, simulations: int, batch: int) -> None:
        while simulations > 0 and not (self.root.status or self.root.lost):
            waiting, done = [], 0
            for _ in range(min(batch, simulations)):
                if self.root.lost:
                    break
                path, actions, value = self.descend()
                if value is not None:
                    self.back_up(path, actions, value)
                    done += 1
                elif path[-1].pending:  # nothing more is promising until the judge has answered
                    for at, action in zip(path, actions, strict=False):
                        at.ways[action].visits -= 1
                        at.ways[action].total += 1
                        at.seen -= 1
                    break
                else:
                    path[-1].pending = True
                    waiting.append((path, actions))
            for path, actions in waiting:
                leaf = path[-1]
                shown = {name: np.asarray(value)[None] for name, value in leaf.session.observe().items()}
                priors, values = self.judge(shown, leaf.session.mask()[None])
                whole = sum(float(priors[0, action]) for action in leaf.ways)
                for action, way in leaf.ways.items():
                    way.prior = np.float32(priors[0, action] / whole) if whole else np.float32(1 / len(leaf.ways))
                leaf.judged, leaf.pending = True, False
                self.back_up(path, actions, float(values[0]))
            simulations -= len(waiting) + done


def opinionated(observation, masks):
    """Priors and values that are different for every state, and the same each time; now and then no priors at all."""
    priors, values = np.zeros(masks.shape, np.float32), np.zeros(len(masks), np.float32)
    for row in range(len(masks)):
        shown = zlib.crc32(b"".join(observation[name][row].tobytes() for name in sorted(observation)))
        random = np.random.default_rng(shown)
        priors[row] = random.random(masks.shape[1]) * (shown % 7 > 0)
        values[row] = random.uniform(-1, 0.5)
    return priors, values


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize(
    ("puzzle", "params"),
    [("net", "2x2"), ("pegs", "4x4random"), ("inertia", "5x3"), ("flood", "3x3c3m0"), ("fifteen", "2x3")],
)
def test_a_judged_search_is_puct_over_states(puzzle, params, batch):
    """To the last visit, also where ways are lost, lead back or end at the limit of steps."""
    for seed, max_steps in ((1, 0), (2, 7), (3, 4)):
        session = pp.Session(puzzle, params, seed, undo=False)
        if max_steps:
            session.step(int(np.argmax(session.mask())))
        model = Puct(session, opinionated, max_steps - session.steps if max_steps else 1 << 30, 1.7, 0.9)
        session.limit(max_steps=max_steps)
        tree = search.Tree(session)
        for simulations in (1, 30, 120):
            tree.judge(opinionated, simulations, batch=batch, c=1.7, discount=0.9)
            model.search(simulations, batch)
            result, ways = tree.result, model.root.ways
            assert {action: int(result.visits[action]) for action in ways} == {a: way.visits for a, way in ways.items()}
            worth = {action: way.total / way.visits if way.visits else 0 for action, way in ways.items()}
            np.testing.assert_allclose([result.values[action] for action in ways], list(worth.values()), atol=1e-6)
            assert result.visits.sum() == sum(way.visits for way in ways.values())
            assert (result.plan, result.nodes) == (model.plan, len(model.known))
            best = max(ways, key=lambda a: (not (ways[a].to and ways[a].to.lost), ways[a].visits, ways[a].total))
            assert result.action == (model.plan[0] if model.plan else best)


def test_a_judge_that_fails_leaves_no_trace():
    session = start("net", 1)
    tree = search.Tree(session)
    tree.judge(uniform, 50)
    before = tree.result

    def fails(observation, masks):
        raise RuntimeError("no judge today")

    with pytest.raises(RuntimeError, match="no judge today"):
        tree.judge(fails, 50)
    with pytest.raises(ValueError, match="priors"):
        tree.judge(lambda observation, masks: (np.ones(3), np.ones(1)), 50)
    whole = search.Tree(session)
    whole.judge(uniform, 50)
    whole.judge(uniform, 50)
    tree.judge(uniform, 50)
    assert before.visits.sum() < tree.result.visits.sum()
    assert np.array_equal(tree.result.visits, whole.result.visits)


def test_only_undo_is_left():
    session = pp.Session("pegs", pp.spec("pegs").easiest_params, seed=0, undo=True)
    random = np.random.default_rng(0)
    while session.mask()[:-1].any():
        session.step(int(random.choice(np.flatnonzero(session.mask()[:-1]))))
        if session.status == pp.Status.SOLVED:
            session.reset(seed=int(random.integers(1000)))
    assert session.actions[search.mcts(session, 10).action] == "UNDO"


def test_searches_free_what_they_took():
    gc.collect()
    before = lib.pz_live_pools()
    session = start("mines", 1)
    for _ in range(5):
        search.mcts(session, 300)
        search.bfs(session, max_nodes=500)
        search.ida_star(session, max_nodes=500)
    del session
    gc.collect()
    assert lib.pz_live_pools() == before


def test_a_search_needs_no_other_world_where_no_action_changes_what_its_states_share(puzzle):
    """One game for all of its states; only the first opening in Mines lays what all states after it share."""
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1)
    gc.collect()
    before = lib.pz_live_pools()
    tree = search.Tree(session, seed=1)
    tree.simulate(100, 50, stop=False)
    assert tree.result.visits.sum() > 0
    assert (lib.pz_live_pools() - before == 1) == (puzzle != "mines")


def test_iterative_deepening_keeps_no_state_that_it_has_left_behind():
    """Thousands lie on the way, and the memory of a few games is enough."""
    session = pp.Session("net", "3x3", seed=1)
    found, limit = search.ida_star(session, max_nodes=5000), lib.pz_pool_limit
    assert found.nodes > 5000
    try:
        lib.pz_pool_limit = 4 * lib.pz_session_memory(session._handle)
        again = search.ida_star(session, max_nodes=5000)
    finally:
        lib.pz_pool_limit = limit
    assert (again.actions, again.nodes) == (found.actions, found.nodes)


def test_a_forest_of_one_is_a_tree():
    session = pp.Session("net", "3x3", seed=4)
    tree, forest = search.Tree(session, seed=9), search.Forest(session, 1, seed=9)
    for grown in (tree, forest):
        grown.simulate(300, 30, stop=False)
    for name in ("action", "plan", "nodes"):
        assert getattr(tree.result, name) == getattr(forest.result, name)
    np.testing.assert_array_equal(tree.result.visits, forest.result.visits)
    np.testing.assert_allclose(tree.result.values, forest.result.values)


@pytest.mark.parametrize("stop", [False, True])
def test_a_forest_is_the_sum_of_its_trees_whatever_the_threads_do(stop):
    session = pp.Session("flood", "3x3c6m5", seed=4)
    results = [search.mcts(session, 500, 20, seed=9, threads=3, stop=stop) for _ in range(3)]
    alone = []
    for number, simulations in enumerate((167, 167, 166)):
        tree = search.Tree(session, max_nodes=33_333, seed=episode_seed(9, number))
        tree.simulate(simulations, 20, stop=stop)
        alone.append(tree.result)
    for result in results:
        np.testing.assert_array_equal(result.visits, sum(one.visits for one in alone))
        np.testing.assert_allclose(result.values * result.visits, sum(one.values * one.visits for one in alone))
        assert result.nodes == sum(one.nodes for one in alone)
        assert result.plan == min((one.plan for one in alone if one.plan is not None), key=len)
        assert result.action == result.plan[0]


def test_a_forest_whose_tree_is_at_work_elsewhere_is_refused_and_goes_on_later():
    forest = search.Forest(pp.Session("net", "5x5", seed=4), 3, seed=9)
    forest.simulate(30, 20, stop=False)
    grown = forest.result.visits.sum()  # by one with each simulation from here on

    def elsewhere() -> None:
        while True:  # it may be refused itself, until it has been let in once
            with contextlib.suppress(pp.EngineError):
                return forest.trees[1].simulate(50_000, 20, stop=False)

    other = threading.Thread(target=elsewhere)
    other.start()
    refused = taken = 0
    while other.is_alive():
        try:
            forest.simulate(3, 20, stop=False)
            taken += 3
        except pp.EngineError:
            refused += 1
    other.join()
    assert refused
    before = forest.result.visits.sum()
    assert before == grown + 50_000 + taken  # a call that was refused has grown none of the trees
    forest.simulate(300, 20, stop=False)
    assert forest.result.visits.sum() == before + 300


def test_ctrl_c_ends_all_trees_of_a_forest():
    forest = search.Forest(pp.Session("net", "13x11", seed=4), 3, seed=9)
    timer = threading.Timer(0.25, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        forest.simulate(3000, 100_000, stop=False)
    for tree in forest.trees:  # one that had come to its end would go on
        with pytest.raises(pp.EngineError):
            tree.simulate(1)


def test_a_player_with_threads_solves_and_goes_on_with_its_trees():
    player = search.MCTS(400, 20, threads=2)
    session = pp.Session("fifteen", "2x2", seed=3)
    search.play(player, session, 40)
    assert session.status == pp.Status.SOLVED
    assert player.clone().threads == 2
    with pytest.raises(pp.UnknownOption):
        search.MCTS(judge=lambda fields, masks: (masks, masks[:, 0]), threads=2)
    for wrong in (0, -1, "two", 1000):
        with pytest.raises(pp.UnknownOption):
            search.mcts(session, threads=wrong)


def test_a_tree_that_followed_its_plan_to_the_end_goes_back_to_where_it_began():
    session = pp.Session("fifteen", "2x2", seed=1)
    start, tree = session.clone(), search.Tree(session)
    tree.simulate(2000, 50)
    while not session.ended:
        session.act(tree.result.plan[0])
        assert tree.follow(session)
    assert session.status == pp.Status.SOLVED
    assert tree.result.plan == ()
    assert tree.follow(start)
    tree.simulate(2000, 50)
    assert follow(start, tree.result.plan) == pp.Status.SOLVED


def test_a_player_answers_as_openspiels_bots_do_and_starts_anew_when_told():
    session = start("net", seed=2)
    player, other = search.MCTS(50, 20, seed=4), search.MCTS(50, 20, seed=4)
    policy, action = player.step_with_policy(session)
    assert policy == other.get_policy(session) == [(a, float(a == action)) for a in np.flatnonzero(session.mask())]
    assert (player.provides_policy(), player.provides_force_action(), player.is_clonable()) == (True, False, True)
    first = player.search(session).result.visits  # the second search of one tree
    player.restart_at(session)
    player.step(session)
    np.testing.assert_array_equal(player.search(session).result.visits, first)
    assert first.sum() > 50


def test_a_forest_may_keep_as_little_as_a_tree():
    for trees in (1, 2, 3):
        forest = search.Forest(start("net", seed=2), trees, max_nodes=1)
        forest.simulate(20, 5, stop=False)
        assert forest.result.nodes == trees


def test_play_gives_up_after_its_steps():
    session = pp.Session("net", "7x7", seed=1)
    assert search.play(search.MCTS(2, 1, seed=1), session, 3) == 3
    assert session.steps == 3


def test_what_was_never_searched_takes_the_first_legal_action():
    session = start("flood", seed=2)
    for result in (search.Tree(session).result, search.Forest(session, 2).result):
        assert not result.visits.any()
        assert result.action == np.flatnonzero(session.mask())[0]
        np.testing.assert_array_equal(result.policy, np.arange(len(session.actions)) == result.action)


def test_a_judge_is_not_asked_about_a_game_that_is_over():
    session = start("fifteen", seed=1)
    session.solve()

    def judge(fields, masks):
        raise AssertionError("nothing is left to judge")

    tree = search.Tree(session)
    tree.judge(judge, 10)
    assert tree.result.plan == ()


def test_a_search_that_follows_knows_how_few_steps_are_left():
    session = pp.Session("fifteen", "2x2", seed=1, undo=False)
    shortest = len(search.bfs(session).actions)
    session.limit(max_steps=shortest + 1)
    tree = search.Tree(session)
    tree.simulate(300, 20)
    assert len(tree.result.plan) <= shortest + 1
    away = next(int(a) for a in np.flatnonzero(session.mask()) if a != search.bfs(session).actions[0])
    session.step(away)  # now the way is longer by two, and there is room for one step less
    assert tree.follow(session)
    tree.simulate(300, 20)
    assert tree.result.plan is None
