"""Blocks of memory, and copies of live arrays, are used again exactly when nobody uses them any more."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import puzzleport as pp
from puzzleport import blocks
from puzzleport.blocks import Blocks, Part, copier

PARTS = [
    Part((4,), np.dtype(np.int32), 0, (4,)),
    Part((2, 3), np.dtype(np.uint8), 16, (3, 1)),
]


def place(block):
    return block.memory.ctypes.data


def test_what_nobody_uses_is_used_again():
    pool = Blocks(24, PARTS)
    block = pool.take()
    assert [(array.shape, array.dtype) for array in block.arrays] == [((4,), np.int32), ((2, 3), np.uint8)]
    block.memory[:] = np.arange(24)
    assert block.arrays[1].tolist() == [[16, 17, 18], [19, 20, 21]]
    first = place(block)
    pool.give(block)
    del block
    for _ in range(3 * blocks.LAST):
        block = pool.take()
        assert place(block) == first
        pool.give(block)
        del block


def test_what_is_taken_is_nobody_elses():
    pool = Blocks(24, PARTS)
    taken = [pool.take() for _ in range(5)]
    assert len({place(block) for block in taken}) == 5
    for block in taken:
        pool.give(block)


HOLDS = {
    "an array": lambda block: block.arrays[0],
    "a view of an array": lambda block: block.arrays[1][1:],
    "another type of the same bytes": lambda block: block.arrays[0].view(np.uint8),
    "the memory": lambda block: block.memory[3:],
    "a buffer": lambda block: memoryview(block.arrays[0]),
}


def test_what_is_held_in_any_form_stays():
    pool = Blocks(24, PARTS)
    held = []
    for step in range(20 * len(HOLDS)):
        block = pool.take()
        block.memory[:] = step % 256
        if step % 2:
            kept = list(HOLDS.values())[step % len(HOLDS)](block)
            held.append((kept, bytes(kept)))
        pool.give(block)
        del block
    assert all(bytes(kept) == before for kept, before in held)


def test_few_blocks_are_remembered_and_none_that_is_large():
    pool, held = Blocks(24, PARTS), []
    for given in range(1, 4 * blocks.LAST):
        block = pool.take()
        held.append(block.arrays[0])
        pool.give(block)
        del block
        assert len(pool._given) == min(given, blocks.LAST)
    large = Blocks(blocks.MOST_BYTES + 1, [])
    large.give(large.take())
    assert not large._given


def test_nothing_is_used_again_where_references_are_not_counted(monkeypatch):
    """As in a Python without the GIL."""
    monkeypatch.setattr(blocks, "_COUNTED", False)
    pool = Blocks(24, PARTS)
    pool.give(pool.take())
    assert not pool._given


def shown(memory):
    return {"words": memory[:16].view(np.int32), "bytes": memory[16:].reshape(2, 4)}


COPY_HOLDS = {
    "an array": lambda copies: copies["words"],
    "a view of an array": lambda copies: copies["bytes"][1:],
    "another type of the same bytes": lambda copies: copies["words"].view(np.uint8),
    "the dict": lambda copies: copies,
    "a buffer": lambda copies: memoryview(copies["bytes"]),
}


def seen(held):
    return {name: bytes(array) for name, array in held.items()} if isinstance(held, dict) else bytes(held)


@pytest.mark.parametrize("kind", COPY_HOLDS)
def test_copies_that_are_held_in_any_form_stay(kind):
    live = np.zeros(24, np.uint8)
    look, held = copier(live, shown), []
    for step in range(50):
        live[:] = step
        copies = look()
        assert all((array.view(np.uint8) == step).all() for array in copies.values())
        if step % 3 or step > 30:
            kept = COPY_HOLDS[kind](copies)
            held.append((kept, seen(kept)))
        del copies
    assert all(seen(kept) == before for kept, before in held)


def test_copies_that_nobody_holds_are_filled_again():
    live = np.zeros(24, np.uint8)
    look = copier(live, shown)
    places, last = set(), None
    for _ in range(100):
        last = look()  # while the last ones are still held
        places.add(last["words"].ctypes.data)
        last["words"][:] = 7  # they are the caller's to write to
    assert len(places) <= blocks.SETS
    assert last["words"].base is not None  # the memory of a set
    assert look(copy=False)["words"].ctypes.data == live.ctypes.data
    assert not live.any()


def test_arrays_without_bytes_are_copied_too():
    look = copier(np.zeros(0, np.uint8), lambda memory: {"nothing": memory[:0]})
    held = [look()["nothing"] for _ in range(10)]
    assert all(one.shape == (0,) for one in held)
    assert len({id(one) for one in held}) == len(held)


def test_copies_are_new_where_references_are_not_counted(monkeypatch):
    monkeypatch.setattr(blocks, "_COUNTED", False)
    live = np.zeros(24, np.uint8)
    look = copier(live, shown)
    assert all(look()["words"].base is None for _ in range(10))


def test_threads_that_copy_at_once_get_copies_of_their_own():
    live = np.arange(24, dtype=np.uint8)
    look, wrong = copier(live, shown), []

    def work(number):
        for _ in range(3000):
            copies = look()
            right = (copies["bytes"] == live[16:].reshape(2, 4)).all()
            copies["words"][:] = number
            if not right or (copies["words"] != number).any():
                wrong.append(number)
            copies["words"][:] = live[:16].view(np.int32)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_observation_that_is_kept_is_not_written_over():
    episodes = pp.Episodes(pp.Task("fifteen", "3x3"))
    episodes.start(seed=1)
    kept = []
    for step, action in enumerate(np.random.default_rng(1).integers(4, size=60).tolist()):
        episodes.step(action)
        observation = episodes.observation()
        if step % 4:
            kept.append((observation["tiles"], observation["tiles"].tolist()))
        del observation
    assert len({str(tiles) for _, tiles in kept}) > 2
    assert all(array.tolist() == tiles for array, tiles in kept)
