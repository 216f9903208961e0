"""Search in C: Monte Carlo trees, breadth first, iterative deepening.

    >>> import puzzleport as pp
    >>> from puzzleport import search
    >>> session = pp.Session("fifteen", "2x2", seed=1)
    >>> found = search.bfs(session)
    >>> for action in found.actions:
    ...     session.step(action)

All of them plan without UNDO, merge equal states, and know what the session knows, in Mines the mines too. ``MCTS`` keeps
its tree from move to move and has the methods of an OpenSpiel bot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .._native import ffi, lib
from ..arguments import array, real, whole
from ..errors import UnknownOption, raise_for
from ..game_id import check_seed, episode_seed
from ..limits import MAX_LIMIT
from ..puzzle_spec import layout
from ..session import Observation, Session

Array = np.ndarray[Any, Any]

Judge = Callable[[Observation, Array], tuple[Array, Array]]
"""Judges K states at once: their fields, each with K in front, and their masks (K, actions), UNDO left out. Returns priors
(K, actions), which need not be masked or sum to one, and values (K,) from -1, lost, to 1, solved."""


class HasSession(Protocol):
    """What else a search can start from: a state of a framework that lets us see its session."""

    @property
    def session(self) -> Session:
        """The session underneath."""
        ...


@dataclass(frozen=True)
class Found:
    """What a plain search came to."""

    actions: tuple[int, ...] | None
    """A shortest way to the solution, or None."""
    nodes: int
    """How many states it looked at."""
    complete: bool
    """Whether it saw all there is to see: then None means that no way exists (without UNDO, within the depth)."""


@dataclass(frozen=True)
class Result:
    """What a tree search knows of the state it started from."""

    action: int
    """The start of the shortest known way to the solution; else the most visited action."""
    visits: Array
    values: Array
    """The mean value of each action, 0 where it was never tried."""
    plan: tuple[int, ...] | None
    """The shortest known way to the solution."""
    nodes: int

    @property
    def policy(self) -> Array:
        """The share of visits of each action; all on the plan's where there is one and no visits."""
        total = self.visits.sum()
        if total:
            return np.asarray(self.visits / total)
        return np.asarray(np.arange(len(self.visits)) == self.action, np.float64)


MAX_DEPTH = 2**20
MAX_BATCH = 2**16


def _number(name: str, value: object) -> float:
    return real(value, f"{name} is a number", -1e9, 1e9)


def _simulation(
    simulations: int, rollout_depth: int, c: float, discount: float, stop: bool
) -> tuple[int, int, float, float, bool]:
    """The options of simulations, as C takes them."""
    wanted = whole(simulations, "simulations", 0, MAX_LIMIT)
    depth = whole(rollout_depth, "rollout_depth", 0, MAX_DEPTH)
    return wanted, depth, _number("c", c), _number("discount", discount), bool(stop)


def _session(state: Session | HasSession) -> Session:
    return state if isinstance(state, Session) else state.session


class Tree:
    """What a search knows of the states around one: a graph, in which equal states are one node. For one thread at a time.

    Args:
        session: where to start; it is copied and not touched.
        max_nodes: how many states to keep.
        seed: of the rollouts and of ties.
    """

    def __init__(self, session: Session, *, max_nodes: int = 100_000, seed: int = 0) -> None:
        self._what = f"{session.puzzle}: search"
        self._layout = layout(session.puzzle, session.params)
        self._actions = len(session.actions)
        self._n = self._actions - session.undo_allowed  # UNDO, the last, is never planned with
        result = ffi.new("pz_search **")
        nodes = whole(max_nodes, "max_nodes", 1, MAX_LIMIT)
        self._check(lib.pz_search_new(session._open(), nodes, check_seed(seed), result))
        self._handle = ffi.gc(result[0], lib.pz_search_free)

    def follow(self, session: Session) -> bool:
        """Go on from where the session stands now, keeping what is known; False when that state was never met."""
        known = ffi.new("int *")
        self._check(lib.pz_search_reroot(self._handle, session._open(), known))
        return bool(known[0])

    def simulate(
        self, simulations: int, rollout_depth: int = 100, c: float = 1.4, discount: float = 0.99, stop: bool = True
    ) -> None:
        """UCT with random rollouts; with ``stop`` it ends as soon as a way to the solution is known."""
        options = _simulation(simulations, rollout_depth, c, discount, stop)
        self._check(lib.pz_search_simulate(self._handle, *options))

    def judge(
        self,
        judge: Judge,
        simulations: int,
        batch: int = 8,
        c: float = 1.5,
        discount: float = 0.99,
        noise: Array | None = None,
        noise_share: float = 0.25,
        stop: bool = False,
    ) -> None:
        """PUCT with an outside judge, such as a network, which is asked about up to ``batch`` states at a time.

        With ``noise``, one number for each action, that share of the root's priors is replaced by it.
        """
        simulations, batch = whole(simulations, "simulations", 0, MAX_LIMIT), whole(batch, "batch", 1, MAX_BATCH)
        c, discount, noise_share = _number("c", c), _number("discount", discount), _number("noise_share", noise_share)
        kept = None if noise is None else self._noise(noise)
        records = np.zeros((batch, self._layout.record_size), np.uint8)[:]
        masks = np.zeros((batch, self._n), np.bool_)[:]
        views = self._layout.views(records)
        selection, mixed = ffi.new("pz_selection *"), ffi.new("int *")
        room = ffi.from_buffer("uint8_t[]", records), ffi.from_buffer("uint8_t[]", masks)
        selection.records, selection.masks = room
        selection.records_size, selection.masks_size = len(room[0]), len(room[1])
        while simulations > 0 and not (stop and self._look().plan_length >= 0):
            if kept is not None:
                noises = ffi.from_buffer("float[]", kept)
                self._check(lib.pz_search_mix(self._handle, noises, len(noises), noise_share, mixed))
                kept = None if mixed[0] else kept
            k = 1 if kept is not None else min(batch, simulations)
            self._check(lib.pz_search_select(self._handle, k, c, discount, selection))
            n, done = selection.count, selection.done
            if n:
                answer = judge({name: view[:n] for name, view in views.items()}, masks[:n])
                self._expand(selection, answer, discount)
            if n + done == 0:
                break
            simulations -= n + done

    def _noise(self, noise: object) -> Array:
        given = np.asarray(noise)
        made: Array = array(given[: self._n] if given.ndim == 1 else given, "noise", (self._n,), np.float32)
        return made

    def _expand(self, selection: Any, answer: object, discount: float) -> None:  # noqa: ANN401 (a cffi struct)
        """Hand the tree what the judge says of the leaves that were selected."""
        n = selection.count
        try:
            priors, values = (np.ascontiguousarray(each, np.float32) for each in answer)  # type: ignore[attr-defined]
        except (TypeError, ValueError):
            priors, values = np.zeros(0, np.float32), np.zeros(0, np.float32)
        if priors.shape != (n, self._n) or values.shape != (n,):
            raise ValueError(
                f"a judge of {n} states returns priors ({n}, {self._n}) and values ({n},), "
                f"not {priors.shape} and {values.shape}"
            )
        told = ffi.from_buffer("float[]", priors), ffi.from_buffer("float[]", values)
        self._check(
            lib.pz_search_expand(self._handle, selection, told[0], len(told[0]), told[1], len(told[1]), discount)
        )

    @property
    def result(self) -> Result:
        """What is known so far."""
        visits, values = np.zeros(self._actions, np.int32), np.zeros(self._actions, np.float64)
        found = self._look(visits, values)
        return Result(self._action(found), visits, values, self._plan(), int(found.nodes))

    @property
    def best(self) -> int:
        """The action to take; where nothing but UNDO is left, that."""
        return self._action(self._look())

    def _action(self, found: Any) -> int:  # noqa: ANN401 (a cffi struct)
        return int(found.best) if found.best >= 0 else self._actions - 1

    def _look(self, visits: Array | None = None, values: Array | None = None) -> Any:  # noqa: ANN401 (a cffi struct)
        """What is known of the root; with arrays also what is known of each action."""
        found = ffi.new("pz_finding *")
        counts = ffi.NULL if visits is None else ffi.from_buffer("int32_t[]", visits)
        means = ffi.NULL if values is None else ffi.from_buffer("double[]", values)
        self._check(lib.pz_search_look(self._handle, found, counts, means, self._actions))
        return found

    def _plan(self) -> tuple[int, ...] | None:
        actions, length = ffi.new("int32_t **"), ffi.new("int32_t *")
        self._check(lib.pz_search_plan(self._handle, actions, length))
        if actions[0] == ffi.NULL:
            return None
        plan = tuple(ffi.unpack(actions[0], length[0]))
        lib.pz_free(actions[0])
        return plan

    def _check(self, code: int) -> None:
        if code:
            raise_for(code, self._what)


MAX_THREADS = 256


class Forest:
    """Several trees that grow from the same state, each in a thread of its own; what is known is what they know together.

    The trees share nothing and have seeds of their own, so the result is the same in every run with as many threads; with
    another number of threads it is another one. A forest of one is a ``Tree`` with the same seed.

    Args:
        session: where to start; it is copied and not touched.
        threads: how many trees.
        max_nodes: how many states to keep, in all trees together.
        seed: of the rollouts and of ties.
    """

    def __init__(self, session: Session, threads: int, *, max_nodes: int = 100_000, seed: int = 0) -> None:
        threads = whole(threads, "threads", 1, MAX_THREADS)
        nodes = max(1, whole(max_nodes, "max_nodes", 1, MAX_LIMIT) // threads)
        self.trees = [Tree(session, max_nodes=nodes, seed=episode_seed(seed, number)) for number in range(threads)]

    def follow(self, session: Session) -> bool:
        """Go on from where the session stands now; False when one of the trees has never met that state."""
        return all(tree.follow(session) for tree in self.trees)

    def simulate(
        self, simulations: int, rollout_depth: int = 100, c: float = 1.4, discount: float = 0.99, stop: bool = True
    ) -> None:
        """``Tree.simulate`` in all trees at once, which share the number; with ``stop`` each ends at its own first solution."""
        options = _simulation(simulations, rollout_depth, c, discount, stop)
        trees = ffi.new("pz_search *[]", [tree._handle for tree in self.trees])
        self.trees[0]._check(lib.pz_forest_simulate(trees, len(self.trees), *options))

    @property
    def result(self) -> Result:
        """What is known so far: the sum of visits, the mean of values, and the shortest plan, the first tree's of equal ones."""
        results = [tree.result for tree in self.trees]
        visits: Array = np.array([result.visits for result in results]).sum(0, dtype=np.int32)
        totals: Array = np.array([result.visits * result.values for result in results]).sum(0)
        values = np.divide(totals, visits, out=np.zeros(len(visits)), where=visits > 0)
        plan = min((result.plan for result in results if result.plan is not None), key=len, default=None)
        if plan:
            action = plan[0]
        elif visits.any():
            # What one tree has proved to be lost, it no longer takes: where trees disagree, the more frequent choice counts.
            chosen = [result.action for result in results]
            action = max(sorted(set(chosen)), key=lambda one: (chosen.count(one), visits[one], values[one]))
        else:
            action = results[0].action
        return Result(action, visits, values, plan, sum(result.nodes for result in results))

    @property
    def best(self) -> int:
        """The action to take."""
        return self.result.action


def mcts(
    session: Session | HasSession,
    simulations: int = 1000,
    rollout_depth: int = 100,
    c: float = 1.4,
    seed: int = 0,
    *,
    discount: float = 0.99,
    stop: bool = True,
    max_nodes: int = 100_000,
    threads: int = 1,
) -> Result:
    """Monte Carlo tree search from where the session stands: UCT with random rollouts, all in C.

    A solved state is worth 1 and a failed one -1, times ``discount`` for each step on the way; a rollout that comes to
    neither within ``rollout_depth`` steps is worth 0. With several ``threads`` as many trees share the simulations: ``Forest``
    says what that means.
    """
    tree = _grown_from(_session(session), threads, max_nodes, seed)
    tree.simulate(simulations, rollout_depth, c, discount, stop)
    return tree.result


def _grown_from(session: Session, threads: int, max_nodes: int, seed: int) -> Tree | Forest:
    if type(threads) is int and threads == 1:
        return Tree(session, max_nodes=max_nodes, seed=seed)
    return Forest(session, threads, max_nodes=max_nodes, seed=seed)


def bfs(session: Session | HasSession, max_nodes: int = 500_000, max_depth: int = 0) -> Found:
    """Breadth first: a shortest way to the solution, if it lies within so many states."""
    tree, complete = Tree(_session(session), max_nodes=max_nodes), ffi.new("int *")
    tree._check(lib.pz_search_bfs(tree._handle, whole(max_depth, "max_depth", 0, MAX_LIMIT), complete))
    return Found(tree._plan(), int(tree._look().nodes), bool(complete[0]))


def ida_star(
    session: Session | HasSession,
    max_nodes: int = 10_000_000,
    max_depth: int = 0,
    *,
    target: Observation | None = None,
    per_step: int = 1,
) -> Found:
    """Iterative deepening A*: a shortest way too, slower than breadth first but in little memory.

    Args:
        session: where to start.
        max_nodes: how many states to look at, counting those seen again.
        max_depth: how far to go; 0 for as far as it takes.
        target: the solved observation, as ``session.solution()`` gives it where there is only one: then each item of the
            board that differs from it counts towards the steps still needed.
        per_step: how many items of the board one action may change. Too small a number may miss the shortest way.
    """
    limits = whole(max_depth, "max_depth", 0, MAX_LIMIT), whole(max_nodes, "max_nodes", 1, 2**62)
    tree, complete, record = Tree(_session(session), max_nodes=16), ffi.new("int *"), ffi.NULL
    if target is not None:
        bytes_of = np.zeros(tree._layout.record_size, np.uint8)
        for name, view in tree._layout.views(bytes_of).items():
            view[...] = target[name]
        record = ffi.from_buffer("char[]", bytes_of)
    items = whole(per_step, "per_step", 1, MAX_LIMIT)
    code = lib.pz_search_ida(tree._handle, *limits, record, tree._layout.record_size, items, complete)
    tree._check(code)
    return Found(tree._plan(), int(tree._look().nodes), bool(complete[0]))


class MCTS:
    """A player with the methods of an OpenSpiel bot: it searches at each step and keeps its tree from one to the next.

    A state is a ``Session`` or anything that has one as ``session``. With a ``judge`` the leaves are judged by it, up to
    ``batch`` at a time, instead of by rollouts. With several ``threads`` it searches a ``Forest``; a judge needs one.
    """

    def __init__(
        self,
        simulations: int = 1000,
        rollout_depth: int = 100,
        c: float = 1.4,
        seed: int = 0,
        *,
        discount: float = 0.99,
        stop: bool = True,
        max_nodes: int = 100_000,
        judge: Judge | None = None,
        batch: int = 8,
        threads: int = 1,
    ) -> None:
        if judge is not None and threads != 1:
            raise UnknownOption("a judge is asked by one thread: it judges several states at a time by itself")
        self.threads = whole(threads, "threads", 1, MAX_THREADS)
        self.simulations, self.rollout_depth, self.c, self.seed = simulations, rollout_depth, c, seed
        self.discount, self.stop, self.max_nodes, self.judge, self.batch = discount, stop, max_nodes, judge, batch
        self._tree: Tree | Forest | None = None
        self._trees = 0

    def search(self, state: Session | HasSession) -> Tree | Forest:
        """Search from a state; the tree's ``result`` tells all that is known."""
        session = _session(state)
        if self._tree is None or not self._tree.follow(session):
            self._tree = _grown_from(session, self.threads, self.max_nodes, self.seed + self._trees)
            self._trees += 1
        if self.judge is None or isinstance(self._tree, Forest):
            self._tree.simulate(self.simulations, self.rollout_depth, self.c, self.discount, self.stop)
        else:
            self._tree.judge(self.judge, self.simulations, self.batch, self.c, self.discount, stop=self.stop)
        return self._tree

    def step(self, state: Session | HasSession) -> int:
        """The action to take."""
        return self.search(state).best

    def step_with_policy(self, state: Session | HasSession) -> tuple[list[tuple[int, float]], int]:
        """The chance of each legal action, all of it on the one to take; and that action."""
        action = self.step(state)
        legal = np.flatnonzero(_session(state).mask(copy=False)).tolist()
        return [(a, float(a == action)) for a in legal], action

    def get_policy(self, state: Session | HasSession) -> list[tuple[int, float]]:
        """The chance of each legal action."""
        return self.step_with_policy(state)[0]

    def restart(self) -> None:
        """Forget everything, for a new game."""
        self._tree = None
        self._trees = 0

    def restart_at(self, state: Session | HasSession) -> None:
        """Forget everything, for a game that starts from this state."""
        self.restart()

    def inform_action(self, state: Session | HasSession, player: int, action: int) -> None:
        """Another's action: the next step finds out by itself."""

    def inform_actions(self, state: Session | HasSession, actions: list[int]) -> None:
        """Other players' actions: the next step finds out by itself."""

    def provides_policy(self) -> bool:
        """It does."""
        return True

    def provides_force_action(self) -> bool:
        """It does not."""
        return False

    def is_clonable(self) -> bool:
        """It is."""
        return True

    def clone(self) -> MCTS:
        """A player with the same settings and an empty tree."""
        return MCTS(
            self.simulations,
            self.rollout_depth,
            self.c,
            self.seed,
            discount=self.discount,
            stop=self.stop,
            max_nodes=self.max_nodes,
            judge=self.judge,
            batch=self.batch,
            threads=self.threads,
        )


def play(player: Any, session: Session, max_steps: int = 1000) -> int:  # noqa: ANN401 (any bot)
    """Let a player play a session to its end, or for so many steps; returns how many it took."""
    for step in range(max_steps):
        if session.ended:
            return step
        session.step(player.step(session))
    return max_steps
