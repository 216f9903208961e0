"""The paper's tables as data.

Facts and figures of "PUZZLES: A Benchmark for Neural Algorithmic Reasoning" (Estermann, Lanzendörfer, Niedermayr,
Wattenhofer; NeurIPS 2024): the action spaces, the two parameter sets per puzzle, the detailed results, and what DreamerV3 reached
with longer episodes and early termination.
"""

from __future__ import annotations

import csv
from importlib.resources import files


def table(name: str) -> list[dict[str, str]]:
    """The rows of ``actions``, ``parameters``, ``results``, ``ablation`` or ``speed``; the last was measured, not published."""
    with files(__package__).joinpath(f"{name}.csv").open(encoding="utf-8") as source:
        return list(csv.DictReader(source))
