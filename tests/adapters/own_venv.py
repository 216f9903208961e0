"""A venv for a framework whose packages exclude those of others. Ours are behind its own, so its own win."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def python_with(framework: str) -> Path:
    """The Python that has ``requirements/FRAMEWORK.txt``, as make installs it.

    The test fails where that cannot be installed: a skip would hide it.
    """
    folder = ROOT / "build" / "venvs" / framework
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        make = ["make", f"PYTHON={sys.executable}", (folder / ".installed").relative_to(ROOT)]
        made = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
        assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
        (site,) = folder.glob("lib/python*/site-packages")
        ours = [path for path in sys.path if path.endswith("site-packages")] or [sysconfig.get_path("purelib")]
        (site / "zz_ours.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in ours))
    return folder / "bin" / "python"


def run(python: Path, script: str, *arguments: str) -> str:
    """What a script beside this file prints when all went well."""
    path = Path(__file__).with_name(script)
    done = subprocess.run([python, path, *arguments], capture_output=True, text=True, timeout=7200, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
