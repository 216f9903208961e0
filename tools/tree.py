"""The package as users import it, in a folder of links: its root is core/ here, and tools look for a folder of its name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def link_package(into: Path) -> Path:
    """Make ``into/puzzleport`` anew: real folders, since not every tool follows links to folders, and linked files."""
    tree = into / "puzzleport"
    shutil.rmtree(tree, ignore_errors=True)
    into.mkdir(parents=True, exist_ok=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(ROOT / "core", tree, copy_function=os.symlink, ignore=ignored)
    shutil.copytree(ROOT / "adapters", tree / "adapters", copy_function=os.symlink, ignore=ignored)
    return tree
