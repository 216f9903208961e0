"""Deadlines and Ctrl-C in calls that may take long. The bounds are loose, since other work may share the machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import puzzleport as pp
from puzzleport.agents import search
from puzzleport.errors import NoPlan


@contextlib.contextmanager
def ctrl_c_after(seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def seconds_of(call: Callable[[], object]) -> float:
    started = time.monotonic()
    call()
    return time.monotonic() - started


@pytest.mark.parametrize(("puzzle", "params"), [("pattern", "2500x1"), ("flip", "50x50c"), ("net", "50x50")])
def test_a_plan_keeps_its_deadline(puzzle, params):
    session = pp.Session(puzzle, params, 1)

    def plan() -> None:
        with pytest.raises(NoPlan, match="in time"):
            session.plan(0.05)

    assert seconds_of(plan) < 1
    session.step(0)  # the game goes on


def test_one_deadline_for_all_ways_back():
    """A plan that may undo tries again from earlier positions; they share the time."""
    session = pp.Session("pegs", "9x9cross", 1, undo=True)
    for action in ("SELECT", "DOWN") * 3 + ("SELECT", "RIGHT") * 3:
        session.step(action)

    def plan() -> None:
        with contextlib.suppress(NoPlan):
            session.plan(0.3)

    assert seconds_of(plan) < 2


def test_ctrl_c_stops_a_plan():
    session = pp.Session("flip", "50x50c", 1)

    def plan() -> None:
        with ctrl_c_after(0.2), pytest.raises(KeyboardInterrupt):
            session.plan(0)

    assert seconds_of(plan) < 3
    session.step(0)


@pytest.mark.parametrize("method", ["bfs", "ida", "simulate", "forest"])
def test_ctrl_c_stops_a_search(method):
    """On a board so large that 64 positions take seconds."""
    session = pp.Session("flip", "50x50c", 1)
    calls = {
        "bfs": lambda: search.bfs(session),
        "ida": lambda: search.ida_star(session),
        "simulate": lambda: search.Tree(session).simulate(1 << 20),
        "forest": lambda: search.Forest(session, 3).simulate(1 << 20),
    }

    def look() -> None:
        with ctrl_c_after(0.3), pytest.raises(KeyboardInterrupt):
            calls[method]()

    assert seconds_of(look) < 5


INTERRUPTED = textwrap.dedent("""
    import os, signal, sys, threading, time
    import puzzleport as pp
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pp.set_max_cells(2**24)
    session = pp.Session("samegame", "2000x2000c3s2r", 1, timeout=600)  # a sanitizer on a busy machine takes minutes
    saved, game_id, sizes = session.save(), session.game_id, iter(range(4000, 4096))
    calls = {
        "pixels": lambda: session.pixels(next(sizes), 4096),  # of another size each time: an unchanged picture is a copy
        "text": session.text,
        "save": session.save,
        "load": lambda: pp.Session.load(saved),
        "clone": session.clone,
        "parse": lambda: pp.Session("samegame", game_id=game_id),
    }

    # The processor time until the call gave up; None where it had ended before.
    def ctrl_c_after(seconds, call):
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        started, used = time.thread_time(), None
        try:
            timer.start()
            call()
        except KeyboardInterrupt:
            used = time.thread_time() - started
        try:
            timer.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            timer.join()
        return used

    for name, call in calls.items():
        clock, processor = time.monotonic(), time.thread_time()
        call()
        clock, processor = time.monotonic() - clock, time.thread_time() - processor
        for _ in range(8):
            used = ctrl_c_after(clock / 10, call)
            if used is not None and used < processor * 0.6:
                print(name, "interrupted")
                break
        session.step(0)
    session.text()
""")


def test_ctrl_c_ends_a_long_call_long_before_its_end():
    """On a board of four million squares, which takes longest to make, and a game id of eight megabytes; the game goes on."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    calls = ["pixels", "text", "save", "load", "clone", "parse"]
    assert (done.returncode, done.stdout.splitlines()) == (0, [f"{call} interrupted" for call in calls]), done.stderr[
        -2000:
    ]
