"""The module as it was built: what it shows to the process, how its memory is protected, and that nothing warns."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from puzzleport import _native

ROOT = Path(__file__).resolve().parents[2]
OURS = ("session", "batch", "planning", "planning/experts", "drawing", "host", "checks")
ENGINES = {"host/random.c"}
"""Files that are compiled as the engine's, with its warnings."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads ELF files")


def readelf(*options: str) -> str:
    if not shutil.which("readelf"):
        pytest.skip("needs readelf, which comes with gcc")
    command = ["readelf", "-W", *options, _native.__file__]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_only_the_init_is_exported():
    shown = re.findall(r"(?:GLOBAL|WEAK)\s+DEFAULT\s+\d+\s+(\S+)", readelf("--dyn-syms"))
    assert shown == ["PyInit__native"]


def test_addresses_are_read_only_once_they_are_filled_in():
    """Full RELRO; and no page may be both written and run."""
    assert "GNU_RELRO" in (segments := readelf("--segments"))
    assert re.search(r"\bNOW\b", readelf("--dynamic"))
    assert re.search(r"GNU_STACK.* RW ", segments)
    assert not re.search(r"LOAD.* RWE ", segments)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_compiler_warns_about_our_files(compiler):
    """With -Wextra. Of gcc this sees what needs no optimizer; test_checkers.py has the rest."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    found = importlib.util.spec_from_file_location("engine", ROOT / "native" / "engine.py")
    engine = importlib.util.module_from_spec(found)
    found.loader.exec_module(engine)
    native = ROOT / "native"
    files = [path for folder in OURS for path in sorted((native / folder).glob("*.c"))]
    files = [path for path in files if str(path.relative_to(native)) not in ENGINES]
    assert len(files) > 30
    flags = ["-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Wmissing-prototypes", "-Werror"]
    places = [f"-I{native / 'include'}", f"-I{native}", f"-I{engine.find()}"]
    done = subprocess.run([compiler, *flags, *places, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
