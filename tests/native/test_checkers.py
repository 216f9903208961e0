"""The checkers in C, native/checks/: built with the system's compiler, every warning an error, and run for a short time."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "checkers"


@pytest.fixture(scope="module")
def checkers() -> Path:
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if not compiler or not shutil.which("cmake") or not shutil.which("ninja"):
        pytest.skip("needs a C compiler, cmake and ninja")
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT / "native"), "-B", str(BUILD)]
    run(*configure, "-DCHECKERS=ON", "-DSTRICT=ON", "-DCMAKE_BUILD_TYPE=Debug", f"-DCMAKE_C_COMPILER={compiler}")
    run("ninja", "-C", str(BUILD))
    return BUILD


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=1500, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.timeout(1800)
def test_checkers(checkers):
    """In one test, so that only one worker builds. What fuzz starts from must load, or it ends with an error."""
    assert "0 failures" in run(str(checkers / "check"), "all", "30", "1")
    assert "no findings" in run(str(checkers / "fuzz"), PZ_FUZZ_CASES="300")
