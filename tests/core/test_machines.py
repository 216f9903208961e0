"""Any order of calls: hypothesis chooses it, a plain model says what must come of it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import puzzleport as pp
from puzzleport.agents import search
from puzzleport.game_id import episode_seed

SMALL = {
    "fifteen": "3x2",
    "net": "3x2",
    "flood": "3x3c6m5",
    "mines": "4x3n2",
    "samegame": "3x2c3s2",
    "inertia": "4x5",
    "guess": "c3p2g3Bm",
    "untangle": "4",
    "bridges": "3x3",
    "pearl": "5x5de",
}
ACTIONS = st.integers(0, 15)
LIMITS = st.sampled_from([0, 1, 2, 5, 40])


class SessionMachine(RuleBasedStateMachine):
    """One session, beside what a list of its boards and a count of its observations say."""

    @initialize(
        puzzle=st.sampled_from(sorted(SMALL)), seed=st.integers(0, 50), undo=st.booleans(), steps=LIMITS, repeats=LIMITS
    )
    def begin(self, puzzle, seed, undo, steps, repeats):
        self.limits = steps, repeats
        self.session = pp.Session(puzzle, SMALL[puzzle], seed, undo=undo, max_steps=steps, max_repeats=repeats)
        self._started()

    def _started(self):
        self.steps = 0
        self.boards = [self._board()]
        self.seen = Counter([self.session.record().tobytes()])
        self.repeats = 0

    def _board(self):
        fields = zip(self.session.fields, self.session.observe(copy=False).values(), strict=True)
        return b"".join(view.tobytes() for field, view in fields if not field.is_ui)

    @rule(action=ACTIONS)
    def step(self, action):
        session = self.session
        action %= len(session.actions)
        legal, before, moves = session.mask()[action], session.record().tobytes(), session.moves
        step = session.step(action)
        self.steps += 1
        assert step.changed == legal
        assert (session.record().tobytes() != before) == legal
        if session.moves > moves:
            if session.actions[action] == "UNDO":
                self.boards.pop()
                assert self._board() == self.boards[-1]
            else:
                self.boards.append(self._board())
        now = session.record().tobytes()
        self.repeats = self.seen[now]
        self.seen[now] += 1

    @rule()
    def undo(self):
        taken = self.session.undo()
        assert taken == (len(self.boards) > 1)
        if taken:
            self.boards.pop()
        assert self._board() == self.boards[-1]
        self.repeats = self.session.repeats  # taking back is no step: what was counted stays

    @rule(seed=st.integers(0, 50))
    def reset(self, seed):
        self.session.reset(seed=seed)
        self._started()

    @rule(how=st.sampled_from(["clone", "save"]))
    def copy(self, how):
        old = self.session
        self.session = old.clone() if how == "clone" else pp.Session.load(old.save())
        assert self.session.hash() == old.hash()
        assert np.array_equal(self.session.mask(), old.mask())
        old.close()
        with pytest.raises(pp.SessionClosed):
            old.step(0)

    @rule(size=st.integers(64, 90))
    def draw(self, size):
        fresh = self.session.clone()  # its first picture: nothing to draw upon
        assert np.array_equal(self.session.pixels(size, size), fresh.pixels(size, size))

    @rule(action=st.sampled_from(["JUMP", -1, 99, 1.5, None, True]))
    def refuse(self, action):
        before = self.session.hash()
        with pytest.raises(pp.InvalidAction):
            self.session.step(action)
        assert self.session.hash() == before

    @invariant()
    def holds(self):
        session = getattr(self, "session", None)
        if session is None:
            return
        steps, repeats = self.limits
        assert session.steps == self.steps
        assert session.repeats == self.repeats
        cut = (steps and session.steps >= steps) or (repeats and session.repeats >= repeats)
        assert session.ended == (1 if session.status else 2 if cut else 0)


class BatchMachine(RuleBasedStateMachine):
    """A batch beside sessions in a loop."""

    @initialize(
        puzzle=st.sampled_from(sorted(SMALL)),
        autoreset=st.sampled_from(["off", "next_step", "same_step"]),
        steps=LIMITS,
        threads=st.integers(1, 3),
    )
    def begin(self, puzzle, autoreset, steps, threads):
        self.puzzle, self.params, self.steps = puzzle, SMALL[puzzle], steps
        self.batch = pp.Batch(puzzle, self.params, 3, threads=threads, max_steps=steps, autoreset=autoreset)
        self.seeds, self.played = [0, 0, 0], [0, 0, 0]
        self.sessions = [pp.Session(puzzle, self.params, 0, max_steps=steps) for _ in range(3)]
        self.all_anew(5)

    def _anew(self, slot):
        self.sessions[slot].reset(seed=episode_seed(self.seeds[slot], self.played[slot]))

    @rule(seed=st.integers(0, 99))
    def all_anew(self, seed):
        self.batch.reset(seed=seed)
        for slot in range(3):
            self.seeds[slot], self.played[slot] = seed + slot, 0
            self._anew(slot)

    @rule(which=st.lists(st.booleans(), min_size=3, max_size=3))
    def some_go_on(self, which):
        self.batch.reset(which=np.array(which))
        for slot in np.flatnonzero(which).tolist():
            self.played[slot] += 1
            self._anew(slot)

    @rule(actions=st.lists(ACTIONS, min_size=3, max_size=3))
    def step(self, actions):
        actions = [action % len(self.batch.actions) for action in actions]
        self.batch.step(actions)
        for slot, session in enumerate(self.sessions):
            if session.ended and self.batch.autoreset == "off":
                continue
            if session.ended:
                self.played[slot] += 1
                self._anew(slot)
                continue
            session.step(actions[slot])
            if session.ended and self.batch.autoreset == "same_step":
                assert np.array_equal(self.batch.final_records[slot], session.record())
                assert int(self.batch.result.ended[slot]) == session.ended
                self.played[slot] += 1
                self._anew(slot)

    @rule(actions=st.sampled_from([[0, 0], [0, 0, 99], [0, -1, 0], [0.5, 0, 0], "abc", None]))
    def refuse(self, actions):
        before = self.batch.records.copy()
        with pytest.raises(pp.InvalidAction):
            self.batch.step(actions)
        assert np.array_equal(self.batch.records, before)

    @rule()
    def draw(self):
        pictures = self.batch.pixels(64, 64)
        assert np.array_equal(pictures[1], self.sessions[1].pixels(64, 64))

    @invariant()
    def holds(self):
        if not hasattr(self, "sessions"):
            return
        for slot, session in enumerate(self.sessions):
            assert np.array_equal(self.batch.records[slot], session.record())
            assert np.array_equal(self.batch.result.mask[slot], session.mask())
        seeds, episodes = self.batch.streams()
        assert (seeds.tolist(), episodes.tolist()) == (self.seeds, self.played)

    def teardown(self):
        if hasattr(self, "batch"):
            self.batch.close()


class TreeMachine(RuleBasedStateMachine):
    """A search tree that follows a game: what it plans is always true of where the game stands."""

    @initialize(seed=st.integers(0, 30), puzzle=st.sampled_from(["fifteen", "net", "flip", "samegame"]))
    def begin(self, seed, puzzle):
        params = {**SMALL, "flip": "3x3c"}[puzzle]
        self.session = pp.Session(puzzle, params, seed)
        self.tree = search.Tree(self.session, max_nodes=3000, seed=seed)

    @rule(action=ACTIONS)
    def move(self, action):
        self.session.step(action % len(self.session.actions))
        if self.session.terminated or not self.tree.follow(self.session):
            if self.session.terminated:
                self.session.reset(seed=action)
            self.tree = search.Tree(self.session, max_nodes=3000, seed=action)

    @rule(simulations=st.integers(1, 60), stop=st.booleans())
    def simulate(self, simulations, stop):
        self.tree.simulate(simulations, 20, stop=stop)

    @rule(simulations=st.integers(1, 30))
    def judge(self, simulations):
        def even(fields, masks):
            return masks.astype(np.float32), np.zeros(len(masks), np.float32)

        self.tree.judge(even, simulations, batch=4)

    @invariant()
    def holds(self):
        if not hasattr(self, "tree"):
            return
        result = self.tree.result
        assert not result.visits[~self.session.mask()].any()
        assert (np.abs(result.values) <= 1).all()
        if result.plan is not None:
            twin = self.session.clone()
            for action in result.plan:
                assert twin.mask()[action]
                twin.step(action)
            assert twin.status == pp.Status.SOLVED


@pytest.mark.parametrize("machine", [SessionMachine, BatchMachine, TreeMachine], ids=lambda one: one.__name__)
def test_any_order_of_calls(machine):
    run_state_machine_as_test(machine, settings=settings(max_examples=40, stateful_step_count=40, deadline=None))
