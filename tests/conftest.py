from __future__ import annotations

import gc
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import puzzleport as pp

from .forks import Forks

settings.register_profile("default", deadline=None, max_examples=int(os.environ.get("PUZZLEPORT_EXAMPLES", "25")))
settings.load_profile("default")

# What JAX has compiled serves all tests, workers and processes that need the same program.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / "build" / "jax-cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")
# Our programs run for seconds here: to optimise them takes longer than that saves.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
# The workers have all cores: threads of PyTorch beside them would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ENVIRONMENT = dict(os.environ)
"""Of no single test: what starts once for all must not have what one of them sets, such as a screen that nobody sees."""

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell starts what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

PUZZLES = pp.puzzles()


def levels(puzzle: str) -> list[str]:
    """The parameter strings that a rule for all puzzles is tried at, without repetition."""
    about = pp.spec(puzzle)
    return list(dict.fromkeys([about.easiest_params, about.human_params, about.default_params]))


@pytest.hookimpl(optionalhook=True)  # the tests run without xdist too
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: many tests wait for processes of their own, a browser or Ray."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each worker begins with its share of what takes long, so that none is left with a long test when the others have ended.

    xdist gives each an equal part of the list, in its order. What shares a fixture that takes long to make stays together.
    """
    long: dict[str, list[pytest.Item]] = {}
    quick = []
    for item in items:
        if {"slow", "timeout"} & {mark.name for mark in item.iter_markers()} or "forks" in item.fixturenames:
            shared = "forks" if "forks" in item.fixturenames else item.nodeid.partition("::")[0]
            long.setdefault(shared, []).append(item)
        else:
            quick.append(item)
    groups = sorted(long.values(), key=len, reverse=True)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    count, ordered = len(items), []
    for worker in range(workers):
        for group in groups[worker::workers]:
            ordered += group
        room = max(count * (worker + 1) // workers - len(ordered), 0)
        ordered += quick[:room]
        quick = quick[room:]
    items[:] = ordered + quick


def pytest_collection_finish() -> None:
    """What the frameworks have imported stays for good: a test that asks for a collection need not wait half a second for it."""
    gc.freeze()


@pytest.fixture(params=PUZZLES)
def puzzle(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def forks(tmp_path_factory):
    """Runs scripts in processes that have the frameworks already."""
    started = Forks(tmp_path_factory.mktemp("forks"), ENVIRONMENT)
    yield started
    started.close()


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window; a new one for each file, so that none finds another's window size or colours."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    program, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("Chromium and chromedriver are not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


def width_of(browser, width: int) -> None:
    """Chromium has a least width for windows; a frame of the page's own width has none."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def too_wide(browser) -> list[list[int]]:
    """Where a page is wider than the window: both widths, as it is now and with the window drawn wider."""
    found = []
    for width in (browser.execute_script("return window.innerWidth"), 1400):
        width_of(browser, width)
        page, window = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
        found += [[page, window]] if page > window else []
    return found


def play(session: pp.Session, steps: int, seed: int = 0, legal: bool = False) -> list[int]:
    """Random play, reset at the end of each game; returns the actions taken."""
    random = np.random.default_rng(seed)
    taken = []
    for _ in range(steps):
        choices = np.flatnonzero(session.mask()) if legal else np.arange(len(session.actions))
        action = int(random.choice(choices))
        taken.append(action)
        session.step(action)
        if session.status != pp.Status.ONGOING:
            session.reset(seed=int(random.integers(2**32)))
    return taken


def solved_alone(agent, task: pp.Task, seeds) -> list[bool]:
    """Which games an agent solves with its likeliest actions, one game at a time; one that comes back to a state never ends."""
    solved = []
    for seed in seeds:
        with task.session(seed) as session:
            greedy, seen = agent.at(0), set()
            while not session.ended and session.hash() not in seen:
                seen.add(session.hash())
                session.step(greedy(session))
            solved.append(session.status > 0)
    return solved


def same(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
