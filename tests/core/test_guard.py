"""Bad input, deadlines and interrupts: the process lives, the others go on, nothing is left behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import puzzleport as pp
from puzzleport._native import lib

from ..conftest import play


def test_an_endless_generation_ends_at_its_deadline():
    other = pp.Session("net", "5x5", seed=1)
    started = time.monotonic()
    with pytest.raises(pp.GenerationTimeout, match=r"0\.3 seconds"):
        # A 1-wide field of solo's size has far more rows than the generator can ever fill.
        pp.Session("pattern", "3x50", seed=1, timeout=0.3)
    assert time.monotonic() - started < 5
    play(other, 20)


def test_a_failed_reset_leaves_the_game_as_it_was():
    session = pp.Session("pattern", "5x5", seed=1, timeout=0.3)
    play(session, 10)
    before = session.hash()
    with pytest.raises(pp.GenerationTimeout):
        session.reset(params="3x50", seed=1)
    with pytest.raises(pp.InvalidParams):
        session.reset(params="garbage")
    with pytest.raises(pp.InvalidGameID):
        session.reset(game_id="5x5:1/2")
    assert session.hash() == before
    assert session.reset(seed=2)


def test_faults_free_what_they_took():
    gc.collect()
    before = lib.pz_live_pools()
    for seed in range(50):
        with pytest.raises(pp.GenerationTimeout):
            pp.Session("pattern", "3x50", seed=seed, timeout=0.001)
    assert lib.pz_live_pools() == before


def test_ctrl_c_interrupts_a_long_generation():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        pp.Session("pattern", "3x50", seed=1, timeout=30)
    assert time.monotonic() - started < 10


def test_ctrl_c_interrupts_a_rollout():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        pp.rollout("sixteen", "5x5", episodes=100_000, max_steps=1_000_000, threads=2)
    assert time.monotonic() - started < 20


def test_a_rollout_of_many_short_episodes_answers_every_signal():
    """Each is over too soon to ask for signals itself, so the rollout asks between them."""
    seen, before = [], signal.getsignal(signal.SIGVTALRM)

    def note(*_: object) -> None:
        seen.append(1)
        if len(seen) == 3:
            raise KeyboardInterrupt

    signal.signal(signal.SIGVTALRM, note)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.02, 0.02)
        with pytest.raises(KeyboardInterrupt):
            pp.rollout("pearl", "5x5de", seeds=range(1500), max_steps=1, threads=1)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize(
    ("puzzle", "params"),
    [("blackbox", "w2h2m2M24"), ("netslide", "4x4bnan"), ("solo", "2x"), ("solo", "3x0"), ("bridges", "7x7i30e10m2d6")],
)
def test_what_would_break_the_engine_is_refused_before(puzzle, params):
    with pytest.raises(pp.InvalidParams):
        pp.Session(puzzle, params, seed=1)


def test_the_environment_does_not_change_the_game(monkeypatch):
    before = pp.Session("fifteen", "4x4", seed=1)
    for name in ("FIFTEEN_INVERT_CURSOR", "PUZZLES_SHOW_CURSOR", "FLOOD_DEPTH", "FIFTEEN_DEFAULT"):
        monkeypatch.setenv(name, "y")
    after = pp.Session("fifteen", "4x4", seed=1)
    assert play(before, 30) == play(after, 30)
    assert before.hash() == after.hash()


SMALL_STACK = """
import sys, threading
import puzzleport as pp

def work():
    for puzzle, params in (("net", "9x9"), ("solo", "2x2"), ("tracks", "8x8de"), ("range", "9x6")):
        session = pp.Session(puzzle, params, 1)
        session.plan()
        session.pixels(100, 100)
    try:
        pp.Session("range", "40x40", 1)
    except pp.EngineError as error:
        print("refused:", error)
    try:
        made_outside.step("SELECT")
    except pp.EngineError as error:
        print("refused:", error)

made_outside = pp.Session("range", "40x40", 1)
threading.stack_size(64 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
made_outside.step("SELECT")
print("alive")
"""


def test_a_thread_with_a_small_stack():
    """Range calls itself from square to square: what does not fit is refused."""
    done = subprocess.run([sys.executable, "-c", SMALL_STACK], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert "stack is too small" in lines[0]
    assert "stack is too small" in lines[1]
    assert lines[2] == "alive"
