"""Ray: evaluation and generation spread over a cluster, with the results that one machine gives.

>>> from puzzleport.adapters.ray import Cluster
>>> from puzzleport.benchmark.evaluation import evaluate
>>> with Cluster("auto") as cluster:
...     result = evaluate("expert", "net", "5x5", seed=0, threads=1, workers=cluster.map)
"""

from __future__ import annotations

import logging
import os
import socket
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

try:
    import ray
except ImportError as error:
    raise ImportError("the backend ray needs an extra: pip install 'puzzleport[ray]'") from error

T = TypeVar("T")
R = TypeVar("R")

RETRIES = 10
"""How often a chunk is run again whose worker was lost. One that is lost so often is killed by the chunk itself."""
AHEAD = 16
"""Chunks under way for each CPU. The results wait for the slowest of them, and the CPUs should not."""
STORE = 256 << 20
"""Bytes for what is handed around on a cluster of this machine alone: seeds, results and at most a model."""


class Cluster:
    """A Ray cluster as workers: ``cluster.map`` goes where ``map`` would. A program's own Ray is used where there is one.

    Args:
        address: ``HOST:PORT`` of a running cluster, or ``auto`` for the one that this machine is part of. Without one,
            the environment's ``RAY_ADDRESS``; without that, a cluster of this machine alone that lives as long as this.
        cpus: of a cluster of this machine alone; 0 for all cores.
        chunk: how many tasks a worker is given at a time. They are worth it if together they take a hundredth of a second.
    """

    def __init__(self, address: str | None = None, *, cpus: int = 0, chunk: int = 1) -> None:
        self._chunk = chunk
        self._ours = not ray.is_initialized()
        if self._ours:
            _connect(address or os.environ.get("RAY_ADDRESS") or "local", cpus)

    def map(self, function: Callable[[T], R], tasks: Iterable[T], /) -> Iterator[R]:
        """The results in the order of the tasks. A chunk whose worker dies is run again; no other one is."""
        work, folder, left = ray.put(function), Path.cwd(), iter(tasks)
        run = ray.remote(num_cpus=1, max_retries=RETRIES)(_run)
        pending: deque[Any] = deque()
        try:
            while True:
                for _ in range(_room(ray.cluster_resources()) - len(pending)):
                    if not (chunk := list(islice(left, self._chunk))):
                        break
                    pending.append(run.remote([work], folder, chunk))  # in a list, or Ray would load it for each chunk
                if not pending:
                    return
                results, error, trace = ray.get(pending.popleft())
                yield from results
                if error:
                    raise error from RuntimeError(f"in a worker:\n{trace}")
        except ray.exceptions.RayError as error:
            raise ConnectionError(f"the Ray cluster could not finish a chunk: {error}") from error
        finally:
            for one in pending if ray.is_initialized() else ():  # the cluster may have been left meanwhile
                ray.cancel(one, force=True)

    def close(self) -> None:
        """Leave the cluster, which ends all that was still to do; one that was started here stops."""
        if self._ours:
            ray.shutdown()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _room(resources: Mapping[str, float]) -> int:
    """How many chunks may be under way on a cluster; also on one that has no whole CPU yet."""
    return AHEAD * max(int(resources.get("CPU", 1)), 1)


def _connect(address: str, cpus: int) -> None:
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}  # our output is ours alone
    if address == "local":
        options |= {"num_cpus": cpus or None, "include_dashboard": False, "object_store_memory": STORE}
    try:
        if address not in ("auto", "local"):  # Ray would try for minutes
            host, _, port = address.rpartition("/")[2].rpartition(":")
            if not port.isdigit():
                raise ValueError("an address is HOST:PORT or auto")
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address, **options)
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise ConnectionError(f"there is no Ray cluster at {address}: {error}") from error


# ---- in a worker


def _run(work: list[Any], folder: Path, chunk: list[T]) -> tuple[list[Any], Exception | None, str]:
    """The results up to the first error, and that error: who needs no more than those results does not meet it."""
    results: list[Any] = []
    try:
        function = _loaded(work[0], folder)
        for task in chunk:
            results.append(function(task))
    except Exception as error:  # whatever it is, it is the user's to see
        return results, error, traceback.format_exc()
    return results, None, ""


@lru_cache(maxsize=1)
def _loaded(work: Any, folder: Path) -> Callable[[Any], Any]:  # noqa: ANN401 (Ray's reference)
    """The function, loaded once in each worker, in the user's folder where there is one of that name."""
    with suppress(OSError):
        os.chdir(folder)
    found: Callable[[Any], Any] = ray.get(work)
    return found
