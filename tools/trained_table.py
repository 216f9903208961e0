"""Train several algorithms on several puzzles and write what they reach, one row each, as CSV.

    python tools/trained_table.py docs/results/trained.csv --runs runs --jobs 2

Every row is one ``puzzleport train`` followed by the paper's evaluation. A run that is already in its folder is not trained
again, so an interrupted table goes on where it was.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from puzzleport.benchmark.results import load, save

PUZZLES = ["fifteen", "flood", "net", "twiddle", "singles", "samegame", "flip", "dominosa", "filling", "range"]
OPTIONS = ["--observation", "one_hot", "--max-steps", "1000", "--num-envs", "32", "--seed", "0"]
ALGORITHMS = {
    "maskable_ppo": ["--set", "n_steps=128", "--set", "batch_size=512"],
    "ppo": ["--set", "n_steps=128", "--set", "batch_size=512"],
    "dqn": ["--set", "gradient_steps=8", "--set", "learning_starts=1000"],
    "a2c": [],
}
"""What differs from SB3's own settings: wide batches, which one core gets through in minutes."""


def run(algorithm: str, puzzle: str, steps: int, episodes: int, folder: Path) -> None:
    """Train and evaluate one agent in a process of its own, on one core."""
    name = f"sb3-{algorithm.replace('_', '-')}"
    command = [sys.executable, "-m", "puzzleport", "train", "--algo", name, "--puzzle", puzzle, *OPTIONS]
    command += ALGORITHMS[algorithm]
    command += ["--steps", str(steps), "--episodes", str(episodes), "--out", str(folder), "--resume", "--device", "cpu"]
    one_core = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=one_core, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    print(algorithm, done.stdout.strip().splitlines()[-1], flush=True)


def main() -> None:
    """Train what is missing, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--puzzle", default=",".join(PUZZLES), help="names with commas between them")
    parser.add_argument("--algorithms", nargs="*", default=list(ALGORITHMS), choices=list(ALGORITHMS))
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    wanted = [(algorithm, puzzle) for puzzle in chosen.puzzle.split(",") for algorithm in chosen.algorithms]
    with ThreadPoolExecutor(chosen.jobs) as pool:
        waiting = [
            pool.submit(run, algorithm, puzzle, chosen.steps, chosen.episodes, chosen.runs / f"{algorithm}-{puzzle}")
            for algorithm, puzzle in wanted
            if not (chosen.runs / f"{algorithm}-{puzzle}" / "results.json").exists()
        ]
        for one in waiting:
            one.result()
    found = [chosen.runs / f"{algorithm}-{puzzle}" / "results.json" for algorithm, puzzle in wanted]
    save([result for path in found for result in load(path)], chosen.table)


if __name__ == "__main__":
    main()
