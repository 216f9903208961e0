"""Memory for results that somebody may keep: it is used again once nobody does."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

LAST = 16
"""Of how many blocks is looked whether they are still in use."""
MOST_BYTES = 2**26
"""How much memory these may take together."""
SETS = 4
"""Of copies of one game's fields: a loop holds the last ones, and perhaps those before, while it asks for the next."""

# Only where these counts are exact do they tell that memory is not in use.
_COUNTED = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


class Part(NamedTuple):
    """An array in a block of bytes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    offset: int
    strides: tuple[int, ...]

    def of(self, block: Array) -> Array:
        """The array in this block."""
        array: Array = np.ndarray(self.shape, self.dtype, block, self.offset, self.strides)
        return array


class Block(NamedTuple):
    """Bytes, and the arrays in them."""

    memory: Array
    arrays: list[Array]
    at_rest: list[int]
    """How many references there are to each of these while nobody else has any."""

    def references(self) -> list[int]:
        """How many there are now. Whatever uses the memory of an array, be it a tensor over it, refers to that array or to
        the memory.
        """
        return [sys.getrefcount(self.memory), *map(sys.getrefcount, self.arrays)]


class Blocks:
    """Blocks of one size. Each is the caller's alone from ``take`` until ``give``.

    Args:
        size: bytes of a block.
        parts: the arrays in it.
    """

    def __init__(self, size: int, parts: Sequence[Part]) -> None:
        self.size, self.parts = size, list(parts)
        self._room = min(LAST, MOST_BYTES // max(size, 1)) if _COUNTED else 0
        self._given: deque[Block] = deque()

    def take(self) -> Block:
        """A block that nobody uses: one that was given back, or a new one. What it holds is of no use."""
        try:
            oldest = self._given.popleft()  # from here on no other thread finds it
        except IndexError:
            return self._new()
        if oldest.references() == oldest.at_rest:
            return oldest
        if len(self._given) + 1 < self._room:
            self._given.appendleft(oldest)
        return self._new()

    def give(self, block: Block) -> None:
        """To be taken again when all that uses it by then is gone."""
        if self._room:
            self._given.append(block)

    def _new(self) -> Block:
        memory = np.empty(self.size, np.uint8)
        block = Block(memory, [part.of(memory) for part in self.parts], [])
        del memory
        block.at_rest.extend(block.references())
        return block


def copier(live: Array, views: Callable[[Array], dict[str, Array]]) -> Callable[..., dict[str, Array]]:
    """What hands out copies of the arrays that ``views`` shows in live memory; or with ``copy=False`` these arrays themselves.

    To make a handful of small arrays takes longer than the step of a game before it. So a few sets of them are kept, and one
    that nobody refers to any more is filled again. Whoever holds on to all of them gets new arrays.
    """
    shown = views(live)
    copies = [(name, view.copy) for name, view in shown.items()]  # methods that are looked up once
    most = min(SETS, MOST_BYTES // max(live.nbytes, 1))
    sets: deque[tuple[dict[str, Array], list[Array], list[int]]] = deque()
    references = sys.getrefcount

    def new_set() -> tuple[dict[str, Array], list[Array], list[int]]:
        counted = [np.empty_like(live)]  # the memory and the arrays in it, as Block has them
        arrays = views(counted[0])
        counted.extend(arrays.values())
        return arrays, counted, [*map(references, counted)] if _COUNTED else []

    def look(copy: bool = True) -> dict[str, Array]:
        if not copy:
            return shown.copy()
        try:
            oldest = sets.popleft()  # from here on no other thread finds it
        except IndexError:
            oldest = new_set()
        arrays, counted, at_rest = oldest
        if [*map(references, counted)] == at_rest:
            counted[0][...] = live
            fresh = arrays.copy()
            sets.append(oldest)
            return fresh
        sets.append(oldest)
        if len(sets) < most:
            sets.appendleft(new_set())
        fresh = {}
        for name, duplicate in copies:  # faster than a comprehension, which is a call of its own
            fresh[name] = duplicate()
        return fresh

    return look
