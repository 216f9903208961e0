"""Where work runs: whatever maps a function over tasks as ``map`` does, in this process or on other machines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Workers(Protocol):
    """``map`` itself, or anything that gives the same results in the same order."""

    def __call__(self, function: Callable[[T], R], tasks: Iterable[T], /) -> Iterable[R]:
        """A result for each task. There may be no end of tasks: they are taken some ahead of the results' use."""


def on_threads(threads: int = 0) -> Workers:
    """The threads of this process; 0 for as many as there are cores."""

    def work(function: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
        left = iter(tasks)
        pool = ThreadPoolExecutor(threads or os.cpu_count())
        try:
            while some := list(islice(left, 64)):
                yield from pool.map(function, some)
        finally:  # after Ctrl-C what has not begun is not begun
            pool.shutdown(cancel_futures=True)

    return work
