"""Blocks of memory are used again exactly when nobody uses them any more."""

from __future__ import annotations

import numpy as np

from puzzleport import blocks
from puzzleport.blocks import Blocks, Part

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
