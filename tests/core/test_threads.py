"""Threads, forks and the interpreter's end: a second thread is refused, and whatever happens the process lives.

What could kill the process runs in a process of its own, whose death would be seen.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import puzzleport as pp
from puzzleport._native import lib
from puzzleport.agents import search
from puzzleport.game_id import episode_seed

TOGETHER = """
def together(*jobs, seconds=1.0):
    '''Every job again and again in a thread of its own; what is refused is fine, anything else is told.'''
    sys.setswitchinterval(1e-5)
    end, wrong = time.monotonic() + seconds, []
    def work(job):
        while time.monotonic() < end and not wrong:
            try:
                job()
            except pp.EngineError as error:
                if "another thread" not in str(error):
                    wrong.append(error)
            except Exception as error:
                wrong.append(error)
    team = [threading.Thread(target=work, args=(job,)) for job in jobs]
    for thread in team: thread.start()
    for thread in team: thread.join()
    assert not wrong, wrong
"""


def run(program: str, *, given: str = "", seconds: int = 60) -> str:
    """Run a program in a process of its own, after what it is given; its death or an error is a failure."""
    start = "import os, signal, sys, threading, time\nimport numpy as np\nimport puzzleport as pp\n"
    whole = start + TOGETHER + given + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", whole],
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert done.returncode == 0, f"ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done.stdout


# ---- Batches ----


def test_a_batch_draws_what_was_asked_for_while_others_step_it():
    """Pictures of different sizes and steps in four threads: each is whole, or refused."""
    run("""
        batch = pp.Batch("net", "5x5", 32, threads=2)
        batch.reset(seed=1)
        def draw(side):
            picture = batch.pixels(side, side)
            assert picture.shape == (32, side, side, 3)
            assert picture.reshape(32, -1).any(axis=1).all(), "a picture that nobody drew"
        together(lambda: draw(64), lambda: draw(200), lambda: batch.step(np.zeros(32, int)), lambda: draw(120))
    """)


def test_actions_that_do_not_exist_never_reach_the_game_of_another_thread():
    run("""
        batch = pp.Batch("net", "3x3", 4096, threads=2)
        batch.reset(seed=1)
        def wrong():
            try:
                batch.step(np.full(4096, 10**8))
            except pp.InvalidAction:
                return
            raise AssertionError("taken")
        together(lambda: batch.step(np.zeros(4096, int)), wrong, wrong, seconds=2)
    """)


def test_an_array_of_actions_may_change_while_it_is_stepped():
    run("""
        batch = pp.Batch("net", "3x3", 4096, threads=2)
        batch.reset(seed=1)
        actions = np.zeros(4096, np.int64)
        def step():
            try:
                batch.step(actions)
            except pp.InvalidAction:
                pass
        def bend():
            actions[:] = 10**8
            actions[:] = 0
        together(step, bend, seconds=2)
    """)


def test_every_call_of_a_batch_against_every_other():
    run("""
        batch = pp.Batch("fifteen", "2x2", 16, threads=2, max_steps=20)
        batch.reset(seed=1)
        jobs = [
            lambda: batch.step(np.arange(16) % 4),
            lambda: batch.reset(),
            lambda: batch.reset(seed=3, which=np.arange(16) % 2 == 0),
            lambda: batch.pixels(48, 48),
            lambda: batch.draw_along(40, 40),
            lambda: batch.session(3).text(),
            batch.streams,
        ]
        for first in range(len(jobs)):
            for second in range(first + 1):
                together(jobs[first], jobs[second], seconds=0.05)
        batch.reset(seed=1)
        batch.step(np.zeros(16, int))
    """)


# ---- Sessions ----


def test_resets_with_other_parameters_in_two_threads():
    """What C writes to and what Python shows change as one."""
    run("""
        session = pp.Session("net", "3x3", 1)
        together(
            lambda: session.reset(1, params="3x3"),
            lambda: session.reset(1, params="13x11"),
            lambda: session.reset(2, params="2x2"),
            lambda: session.step(0),
            seconds=3,
        )
        for params in ("3x3", "13x11"):
            seen = session.reset(2, params=params)
            fresh = pp.Session("net", params, 2)
            assert session.params == fresh.params
            assert all(np.array_equal(seen[name], value) for name, value in fresh.observe().items())
    """)


def test_a_solution_is_as_large_as_the_game_it_is_of():
    run("""
        session = pp.Session("net", "3x3", 1)
        def solution():
            try:
                session.solution()
            except pp.NoSolution:
                pass
        together(
            lambda: session.reset(1, params="3x3"), lambda: session.reset(1, params="13x11"), solution, solution, seconds=2
        )
    """)


def test_closing_a_session_that_another_thread_plays():
    run("""
        def play(session):
            try:
                while True:
                    session.step(0)
                    session.hash()
            except pp.SessionClosed:
                pass
            except BaseException as error:
                wrong.append(error)
        wrong = []
        sys.setswitchinterval(1e-6)
        for seed in range(200):
            session = pp.Session("net", "2x2", seed)
            thread = threading.Thread(target=play, args=(session,))
            thread.start()
            session.close()
            thread.join()
        assert not wrong, wrong
    """)


# ---- Searches ----


def test_whose_turn_it_is_while_another_thread_saves():
    """A save passes through all players, and who asks meanwhile is told nothing rather than one of these."""
    run("""
        session = pp.Session("net", "13x11", 1, players=4)
        session.turn(2)
        seen = set()
        together(session.save, lambda: seen.add(session.player))
        assert seen == {2}, seen
    """)


def test_a_search_refuses_a_second_thread():
    run("""
        from puzzleport.agents import search
        session = pp.Session("net", "3x3", 1)
        tree = search.Tree(session, max_nodes=3000, seed=1)
        def judge(fields, masks):
            return masks.astype(np.float32), np.zeros(len(masks), np.float32)
        together(
            lambda: tree.judge(judge, 60, batch=8),
            lambda: tree.judge(judge, 60, batch=3),
            lambda: tree.simulate(20, stop=False),
            lambda: tree.result,
            lambda: tree.follow(session),
            lambda: session.reset(1),
            seconds=3,
        )
        assert tree.result.nodes > 1
    """)


def test_answers_for_another_selection_are_refused():
    """While a judge thinks, someone else searches on: its answer is for leaves that nobody waits for any more."""
    tree = search.Tree(pp.Session("net", "3x3", 1), max_nodes=5000, seed=1)

    def judge(fields, masks):
        return masks.astype(np.float32), np.zeros(len(masks), np.float32)

    def meddle(fields, masks):
        tree.judge(judge, 30, batch=4)
        return judge(fields, masks)

    with pytest.raises(pp.EngineError, match="another thread"):
        tree.judge(meddle, 30, batch=4)
    tree.judge(judge, 30, batch=4)


# ---- Forks ----


def in_child(work) -> str:
    """What work returns in a forked child, or how the child ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            answer = work()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(write, answer.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read().decode()
    status = os.waitpid(child, 0)[1]
    return answer if status == 0 else f"ended with {status}"


def forks_during(call, work, forks: int) -> list[str]:
    """Fork so often while another thread is in a call."""
    stop, answers = threading.Event(), []

    def busy() -> None:
        while not stop.is_set():
            try:
                call()
            except (pp.EngineError, pp.GenerationTimeout):
                continue

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(forks):
            time.sleep(0.003)
            answers.append(in_child(work))
    finally:
        stop.set()
        thread.join()
    return answers


def test_a_fork_during_a_sessions_call_leaves_a_session_that_can_be_reset():
    session = pp.Session("solo", "3x3", 1)

    def work() -> str:
        try:
            session.step(0)
        except pp.EngineError as error:
            if "forked; reset it" not in str(error):
                raise
        session.reset(7)
        session.step(0)
        session.save()
        twin = pp.Session("solo", "3x3", 7)
        twin.step(0)
        return "plays" if twin.hash() == session.hash() and np.array_equal(twin.mask(), session.mask()) else "differs"

    assert forks_during(lambda: session.plan(), work, 20) == ["plays"] * 20
    assert forks_during(lambda: session.pixels(512, 512), work, 20) == ["plays"] * 20
    assert forks_during(lambda: session.reset(5), work, 20) == ["plays"] * 20


def test_a_fork_during_a_call_leaves_a_session_that_can_follow_its_stream():
    """Also where the next game was made ahead: what the session shows is that game."""
    puzzle, params = "pearl", "5x5de"
    session = pp.Session(puzzle, params, 1)
    gc.collect()
    before = lib.pz_live_pools()
    session.follow(3, 0)
    session.follow(3, 1)
    while lib.pz_live_pools() == before:  # until the next game is being made
        time.sleep(0.001)

    def work() -> str:
        session.follow(3, 2)
        twin = pp.Session(puzzle, params, episode_seed(3, 2))
        for _ in range(2):
            if session.record().tobytes() != twin.record().tobytes() or not np.array_equal(session.mask(), twin.mask()):
                return "differs"
            action = int(twin.mask().argmax())
            if session.step(action) != twin.step(action):
                return "steps differently"
        return "plays"

    assert forks_during(lambda: session.pixels(512, 512), work, 3) == ["plays"] * 3


def test_a_fork_during_a_batchs_call_leaves_a_batch_that_can_be_reset():
    batch = pp.Batch("filling", "7x7", 32, threads=2)
    batch.reset(seed=1)

    def work() -> str:
        try:
            batch.step(np.zeros(32, int))
        except pp.EngineError as error:
            if "forked; reset it" not in str(error):
                raise
        batch.reset(seed=7)
        mask = batch.step(np.zeros(32, int)).mask.copy()
        twin = pp.Batch("filling", "7x7", 32, threads=1)
        twin.reset(seed=7)
        same = np.array_equal(twin.step(np.zeros(32, int)).mask, mask)
        batch.close()
        return "plays" if same else "differs"

    assert forks_during(lambda: batch.reset(), work, 30) == ["plays"] * 30


def test_a_fork_while_a_batch_draws_leaves_nothing_of_that_picture():
    """In the child no later step may draw where the parent's other thread was drawing: that memory may be gone."""
    batch = pp.Batch("fifteen", "2x2", 24, threads=2)
    batch.reset(seed=1)
    out = np.zeros((24, 300, 300, 3), np.uint8)

    def work() -> str:
        batch.reset(seed=7)
        out[:] = 0
        batch.step(np.arange(24) % 4)
        return "drawn" if out.any() else "plays"

    assert forks_during(lambda: batch.pixels(300, 300, out=out), work, 20) == ["plays"] * 20


def test_a_fork_in_a_signal_handler_in_the_middle_of_a_batchs_call():
    """The forking thread is itself in the call: its child cannot wait for threads that it does not have."""
    out = run("""
        batch = pp.Batch("pattern", "3x50", 6, threads=3, timeout=1)
        def handler(*_):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                children.append(0)
            else:
                children.append(child)
        children = []
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        try:
            batch.reset(seed=1)
        except (pp.EngineError, pp.GenerationTimeout) as error:
            answer = type(error).__name__
        if children[0]:
            assert os.waitpid(children[0], 0)[1] == 0
            print("parent", answer)
        else:
            os._exit(0)
    """)
    assert out == "parent GenerationTimeout\n"


def test_in_the_child_of_a_fork_a_call_keeps_other_threads_out_as_before():
    """Also where the thread that forked has the number that it had in the parent."""
    batch = pp.Batch("net", "2x2", 70, threads=2)

    def work() -> str:
        said: list[str] = []

        def other() -> None:
            with pytest.raises(pp.EngineError) as refusal:
                batch.step([1] * 70)
            said.append(str(refusal.value))

        def meanwhile() -> None:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()

        batch.reset(seed=1)
        batch.step_apart([0] * 70, meanwhile=meanwhile)
        return f"{said}, {batch.result.steps.tolist()}"

    here = work()
    assert "in use by another thread" in here
    assert in_child(work) == here


# ---- The end ----


BUSY = """
def generate():
    while True:
        try:
            pp.Session("pattern", "3x50", 1, timeout=0.05)
        except pp.GenerationTimeout:
            pass
def roll():
    while True:
        pp.rollout("net", "5x5", episodes=50, max_steps=3000, threads=2)
def be_busy():
    for work in (generate, generate, roll):
        threading.Thread(target=work, daemon=True).start()
"""
"""For programs that end while daemon threads are in the engine."""


def test_the_interpreter_exits_while_daemon_threads_are_in_the_engine():
    """They must not ask a Python that is gone whether there was a Ctrl-C."""
    program = f"""import threading, time
import puzzleport as pp
{BUSY}
session = pp.Session("pattern", "10x10", 1)
be_busy()
time.sleep(0.08)
"""
    ended = [subprocess.run([sys.executable, "-c", program], check=False).returncode for _ in range(8)]
    assert ended == [0] * 8


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_interpreter_exits_two_hundred_times():
    """At random moments of such threads. The children are forks, so that nothing is imported two hundred times."""
    run(
        """
        import random
        random.seed(1)
        ended = []
        for _ in range(200):
            wait = random.random() * 0.03
            child = os.fork()
            if child == 0:
                be_busy()
                time.sleep(wait)
                sys.exit()
            ended.append(os.waitpid(child, 0)[1])
        assert ended == [0] * 200, ended
        """,
        given=BUSY,
        seconds=1700,
    )
