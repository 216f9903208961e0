"""Run the type checker over core and adapters under the names that users import them by.

The package root is core/, so the checker gets a tree of links in which it is called puzzleport.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "types" / "puzzleport"


def main() -> int:
    """Link the tree anew and check it."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    for entry in (ROOT / "core").iterdir():
        if entry.suffix in {".py", ".pyi", ".typed"} or entry.is_dir():
            (TREE / entry.name).symlink_to(entry)
    (TREE / "adapters").symlink_to(ROOT / "adapters")
    return subprocess.call([sys.executable, "-m", "mypy", "--package", "puzzleport"], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
