"""A venv for a framework whose packages exclude those of others. Ours are behind its own, so its own win."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest


def python_with(folder: Path, *requirements: str) -> Path:
    """The Python of a new venv with these packages. The test fails where they cannot be installed: a skip would hide it."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=300)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
    installed = subprocess.run(pip, capture_output=True, text=True, timeout=1800, check=False)
    if installed.returncode:
        lines = [line for line in installed.stderr.splitlines() if line.startswith("ERROR")] or ["pip failed"]
        pytest.fail(f"{' '.join(requirements)} cannot be installed here: {lines[-1]:.200}")
    (site,) = folder.glob("lib/python*/site-packages")
    ours = [path for path in sys.path if path.endswith("site-packages")] or [sysconfig.get_path("purelib")]
    lines = "".join(f"import site; site.addsitedir({path!r})\n" for path in ours)
    (site / "zz_ours.pth").write_text(lines)
    return python


def run(python: Path, script: str, *arguments: str) -> str:
    """What a script beside this file prints when all went well."""
    path = Path(__file__).with_name(script)
    done = subprocess.run([python, path, *arguments], capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
