"""A short form of what `puzzleport bench memory` does at length: the resident size stays flat."""

from __future__ import annotations

import gc
from contextlib import suppress
from pathlib import Path

import cffi
import pytest

import puzzleport as pp
from puzzleport._native import lib
from puzzleport.agents import search
from puzzleport.benchmark import speed
from puzzleport.puzzle_spec import least_picture


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def test_play_leaves_the_resident_size_flat(puzzle):
    params = pp.spec(puzzle).easiest_params

    def work(seed: int) -> None:
        pp.rollout(puzzle, params, policy="masked", episodes=40, max_steps=500, seed=seed, threads=1)

    work(0)
    gc.collect()
    before = resident()
    for seed in range(1, 6):
        work(seed)
    gc.collect()
    assert resident() - before < 2 << 20


def test_what_is_asked_again_and_again_takes_no_more_memory(puzzle):
    """Fifty bytes that are forgotten each time would pass the limit."""
    session, limit = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1), lib.pz_pool_limit
    try:
        lib.pz_pool_limit = 80 << 10
        for _ in range(1600):
            with suppress(pp.NoSolution):
                session.solution()
            session.mask()
            session.hash()
    finally:
        lib.pz_pool_limit = limit


def test_a_text_leaves_nothing_behind(puzzle):
    """Thirty bytes of each would take several pages more."""
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1)

    def read(times: int) -> int:
        for _ in range(times):
            session.text()
        return int(lib.pz_session_memory(session._handle))

    before = read(10)
    assert read(1500) == before


def test_a_game_holds_no_page_more_however_often_it_is_looked_at(puzzle):
    """Its pool keeps what was freed for the next time: after some rounds it takes no page more, so that each leak shows."""
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1, undo=True)
    sizes = [(side, side) for side in (max(24, *least_picture(puzzle, session.params)), 64)]

    def look(rounds: int) -> int:
        for number in range(rounds):
            width, height = sizes[number // 2 % 2]
            for form in ({}, {"grey": True}, {"channels_first": True}):
                session.pixels(width, height, **form)
            session.sketch(width, height)
            session.text()
            session.save()
            for gesture in ("press", "drag", "release"):
                if session.mouse(gesture, width // 2, height // 2, width=width, height=height):
                    session.undo()
            if session.step(number % len(session.actions)).changed:
                session.undo()
            with suppress(pp.NoSolution):
                if session.solve().changed:
                    session.undo()
        return int(lib.pz_session_memory(session._handle))

    before = look(80)
    assert look(320) == before


def test_sessions_come_and_go_without_a_trace(puzzle):
    params = pp.spec(puzzle).easiest_params

    def work() -> None:
        for seed in range(100):
            session = pp.Session(puzzle, params, seed=seed)
            session.clone().step(0)
            session.save()

    work()
    gc.collect()
    before = resident()
    for _ in range(5):
        work()
    gc.collect()
    assert resident() - before < 2 << 20


HEAP = {
    "a session": lambda session: session.clone().close(),
    "a batch": lambda session: pp.Batch(session.puzzle, session.params, 16, threads=1).close(),
    "a search": lambda session: search.Tree(session, max_nodes=16).simulate(4),
}


@pytest.mark.parametrize("work", HEAP.values(), ids=HEAP)
def test_what_was_freed_leaves_no_byte_of_the_heap(work):
    """Too little for the resident size to show: a hundred bytes of each would be seen here."""
    ffi = cffi.FFI()
    names = "arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost"
    ffi.cdef(f"struct mallinfo2 {{ size_t {names}; }}; struct mallinfo2 mallinfo2(void);")
    heap = ffi.dlopen(None)
    if not hasattr(heap, "mallinfo2"):
        pytest.skip("only glibc from 2.33 on tells what is taken")
    session = pp.Session("fifteen", "2x2", seed=1)

    def taken() -> int:
        for _ in range(500):
            work(session)
        return int(heap.mallinfo2().uordblks)  # bytes in use

    taken()
    # What else the process does in between may take some, but not each time.
    assert min(-taken() + taken() for _ in range(3)) < 16 * 500


def test_what_many_sessions_took_goes_back_to_the_system():
    speed.crowd("mines", "easiest", 2000)  # what is taken once for all, and by a first crowd
    gc.collect()
    before = resident()
    batch = pp.Batch("mines", "4x4n2", 20_000, threads=1, ahead=False)
    batch.reset(seed=1)
    taken = resident() - before
    batch.close()
    gc.collect()
    assert resident() - before < taken / 5
