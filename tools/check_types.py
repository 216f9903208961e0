"""Run the type checker over core and adapters under the names that users import them by.

The package root is core/, so the checker gets a tree of links in which it is called puzzleport.
"""

from __future__ import annotations

import subprocess
import sys

from tree import ROOT, link_package


def main() -> int:
    """Link the tree anew and check it."""
    link_package(ROOT / "build" / "types")
    return subprocess.call([sys.executable, "-m", "mypy", "--package", "puzzleport"], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
