"""Look for what a build needs before anything is installed, and say in one sentence what is missing.

``--venv FOLDER`` makes a virtual environment, and ends in one line when it is interrupted.

Runs under the system's Python, whatever its version: it must be able to say that the version is too old.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

OLDEST = (3, 10)
HERE = Path(__file__).resolve().parent


def debian(packages: str) -> str:
    """How to install packages where apt is."""
    return f" (on Debian or Ubuntu: apt-get install {packages})" if shutil.which("apt-get") else ""


def check_python() -> str:
    """A Python that is new enough."""
    version = sys.version.split()[0]
    if sys.version_info < OLDEST:
        sys.exit(f"puzzleport needs Python 3.10 or newer, and this is {version}: make PYTHON=/path/to/a/newer/one")
    return f"Python {version}"


def check_folder() -> str:
    """A folder to build in."""
    if not os.access(HERE.parent, os.W_OK):
        sys.exit(f"{HERE.parent} cannot be written to: copy it to a folder of yours")
    return "a writable folder"


def check_venv() -> str:
    """The modules that make a virtual environment with pip in it."""
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        package = debian(f"python3.{sys.version_info[1]}-venv")
        sys.exit(f"Python's venv is missing: install it{package}")
    return "venv"


def check_headers() -> str:
    """Python.h, which the extension module includes."""
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.is_file():
        package = debian(f"python3.{sys.version_info[1]}-dev")
        sys.exit(f"Python's headers are missing, there is no {header}: install them{package}")
    return "its headers"


def check_compiler() -> str:
    """A C compiler that can build a program."""
    asked = os.environ.get("CC", "").split()
    command = asked or next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), [])
    install = debian("build-essential")
    if not command or shutil.which(command[0]) is None:
        named = f" {asked[0]}, which CC names" if asked else ""
        sys.exit(f"there is no C compiler{named}: install one{install}")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "a.c"
        source.write_text('#include <math.h>\n#include <stdio.h>\nint main(void) { return puts("") < 0; }\n')
        build = [*command, str(source), "-o", str(source.with_suffix(""))]
        done = subprocess.run(build, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        said = (done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"])[0]
        sys.exit(f"the C compiler {command[0]} cannot build a program ({said:.200}): install one that can{install}")
    return f"the C compiler {command[0]}"


def check_engine() -> str:
    """The engine's source, which is fetched if it is nowhere yet."""
    sys.path.insert(0, str(HERE))
    import engine

    try:
        engine.find()
    except engine.EngineNotFound as error:
        sys.exit(str(error))
    return f"the engine's source, version {engine.VERSION}"


if __name__ == "__main__":
    try:
        if sys.argv[1:2] == ["--venv"]:
            import venv

            venv.create(sys.argv[2], with_pip=True, symlinks=os.name != "nt")
            sys.exit()
        print("found " + ", ".join((check_python(), check_folder(), check_venv(), check_headers(), check_compiler())))
        print("looking for the engine's source", flush=True)
        print(f"found {check_engine()}")
    except KeyboardInterrupt:
        sys.exit("interrupted")
