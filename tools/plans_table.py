"""How often and how fast ``Session.plan()`` answers after random play, at the paper's human level:

    python tools/plans_table.py --seeds 40 --csv docs/plans.csv

tools/experts_table.py puts the figures on its page.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np

import puzzleport as pp
from puzzleport.benchmark.positions import after_random_play
from puzzleport.errors import NoPlan

ACTIONS = (0, 5, 50, 500)
COLUMNS = ("puzzle", "params", "actions", "positions", "lost", "planned", "unsolvable", "given_up", "median_ms",
           "p99_ms", "worst_ms")  # fmt: skip


def after(puzzle: str, seed: int, actions: int) -> pp.Session:
    """A game after so many random legal actions, without those that would end it."""
    random = np.random.default_rng([seed, actions])
    session = pp.Session(puzzle, pp.spec(puzzle).human_params, seed, undo=False)
    return after_random_play(session, actions, random)


def verdict(session: pp.Session) -> str:
    """What a plan says of this position; a plan that does not solve it counts as given up."""
    try:
        plan = session.plan()
    except NoPlan as error:
        if "the game is lost" in str(error):
            return "lost"
        return "unsolvable" if "cannot be solved" in str(error) else "given_up"
    for action in plan:
        session.step(action)
    return "planned" if session.status == pp.Status.SOLVED else "given_up"


def measure(puzzle: str, actions: int, seeds: int) -> dict[str, object]:
    """One line of the table."""
    verdicts, times = [], []
    for seed in range(seeds):
        session = after(puzzle, seed, actions)
        started = time.thread_time()
        verdicts.append(verdict(session))
        times.append(1e3 * (time.thread_time() - started))
        if verdicts[-1] == "given_up":
            print(f"{puzzle}: no plan from seed {seed} after {actions} actions", file=sys.stderr)
    counts = {name: verdicts.count(name) for name in ("lost", "planned", "unsolvable", "given_up")}
    return {
        "puzzle": puzzle, "params": pp.spec(puzzle).human_params, "actions": actions, "positions": seeds, **counts,
        "median_ms": round(float(np.median(times)), 1),
        "p99_ms": round(float(np.percentile(times, 99)), 1),
        "worst_ms": round(max(times), 1),
    }  # fmt: skip


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--puzzle", default="all")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    names = pp.puzzles() if options.puzzle == "all" else options.puzzle.split(",")
    rows = []
    for puzzle in names:
        if pp.spec(puzzle).hidden:
            continue
        for actions in ACTIONS:
            rows.append(measure(puzzle, actions, options.seeds))
            print(*rows[-1].values(), flush=True)
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
