"""What runs inside a copy of the package (see covered.py): finds the copy's module, and records what each test runs.

As ``sitecustomize`` of the copy it is imported by every Python that starts there; as a plugin it is given to pytest.
Between two tests it takes the lines of Python from coverage.py, by contexts, and the addresses of C from
native/checks/recorder.c. What a test starts as another process counts for that test.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import pickle
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
RECORD = os.environ.get("PUZZLEPORT_RECORD", "")
CHOSEN = os.environ.get("PUZZLEPORT_CHOSEN", "")
ENOUGH = float(os.environ.get("PUZZLEPORT_ENOUGH", "inf"))
"""CPU seconds for the parameters of one function of tests: what comes later is left out."""


def addresses() -> Any:  # noqa: ANN401 (an array of numpy's, which a Python that starts here need not have)
    """The addresses of C that ran since the last call."""
    if "puzzleport._native" not in sys.modules:
        return None
    import cffi
    import numpy as np

    ffi = cffi.FFI()
    ffi.cdef(f"extern unsigned char pz_ran[{1 << 23}];")
    ran = np.frombuffer(
        ffi.buffer(ffi.dlopen(sys.modules["puzzleport._native"].__file__).pz_ran), np.uint8
    )  # the same library again, not a second one
    found = np.flatnonzero(ran).astype(np.uint32)
    ran[:] = 0
    return found


def keep(test: str, passed: bool, seconds: float | None) -> None:
    """Add one test to this process's file, or what another process ran for it: that has no time of its own."""
    with (Path(RECORD) / f"{os.getpid()}.pickle").open("ab") as target:
        pickle.dump((test, passed, seconds, addresses()), target)


def spent() -> float:
    """CPU seconds of this process and of those it waited for."""
    return time.process_time() + sum(os.times()[2:4])


if RECORD and __name__ == "sitecustomize":
    import coverage

    coverage.process_startup()
    if current := os.environ.get("PYTEST_CURRENT_TEST"):  # a test has started this process
        current = current.rsplit(" ", 1)[0]
        if (running := coverage.Coverage.current()) is not None:
            running.switch_context(current)
        atexit.register(keep, current, True, None)


# ---- the plugin of pytest

passed: dict[str, bool] = {}
used: dict[str, float] = {}
ended = itertools.count(1)


def pytest_collection(session: Any) -> None:  # noqa: ANN401 (pytest's)
    """A mutant needs no smallest counterexample."""
    from hypothesis import Phase, settings

    if CHOSEN:
        phases = [Phase.explicit, Phase.reuse, Phase.generate]
        settings.register_profile("mutants", settings.get_profile("default"), phases=phases)
        settings.load_profile("mutants")


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:  # noqa: ANN401 (pytest's)
    """The tests that were chosen, in that order, by name, function or file.

    Else, to record, all of them once, then at other parameters, and so on: a run that is cut off has tried each. Every function
    has an order of its own, so that those that come first are not always the same puzzles.
    """
    if CHOSEN:
        order = {test: number for number, test in enumerate(json.loads(Path(CHOSEN).read_text()))}
        place = {}
        for item in items:
            names = (item.nodeid, item.nodeid.split("[")[0], item.nodeid.split("::")[0])
            place[item] = next((order[name] for name in names if name in order), None)
        items[:] = sorted((item for item in items if place[item] is not None), key=place.get)
    elif RECORD:
        families: dict[str, list[Any]] = {}
        for item in items:
            families.setdefault(item.nodeid.split("[")[0], []).append(item)
        ranks = {}
        for name, family in families.items():
            random.Random(name).shuffle(family)
            ranks.update((item.nodeid, number) for number, item in enumerate(family))
        items.sort(key=lambda item: ranks[item.nodeid])


def pytest_runtest_logreport(report: Any) -> None:  # noqa: ANN401 (pytest's)
    """A test has passed when all its parts have; the one that notices a mutant is named."""
    passed[report.nodeid] = passed.get(report.nodeid, True) and report.passed
    if CHOSEN and report.failed:
        Path(f"{CHOSEN}.failed").write_text(report.nodeid)


def _protocol(item: Any) -> Iterator[None]:  # noqa: ANN401 (pytest's)
    import coverage

    running = coverage.Coverage.current()
    if running is not None:
        running.switch_context(item.nodeid)
    addresses()
    before = spent()
    yield
    took = spent() - before
    name = item.nodeid.split("[")[0]
    used[name] = used.get(name, 0) + took
    if passed.pop(item.nodeid, False):
        keep(item.nodeid, True, took)
    if running is not None:
        running.switch_context("")
        if next(ended) % 50 == 0:  # so that a run that is cut off leaves a record too
            running.save()


if RECORD and __name__ != "sitecustomize":
    import pytest

    pytest_runtest_protocol = pytest.hookimpl(hookwrapper=True)(_protocol)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(item: Any) -> None:  # noqa: ANN401 (pytest's)
        """Leave out what would only say the same again."""
        if used.get(item.nodeid.split("[")[0], 0) > ENOUGH:
            pytest.skip("this function of tests has had its time")
