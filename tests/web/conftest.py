from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def module():
    """The folder with the module for browsers and its pages, freshly made."""
    if shutil.which("emcmake") is None:
        pytest.skip("emscripten is not installed: apt-get install emscripten")
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / "web.lock").open("w") as lock:  # several workers of the tests come here at once
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(["make", "web"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[-3000:]
    return ROOT / "build" / "web"


@pytest.fixture(scope="session")
def node():
    program = shutil.which("node")
    if program is None:
        pytest.skip("Node is not installed: apt-get install nodejs")
    return program
