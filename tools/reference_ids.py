"""Write tests/golden/original_ids.csv: what Tatham's own programs generate, so that our instances can be compared with theirs.

    python tools/reference_ids.py FOLDER     # with the programs: net, solo, ... as the engine's own build makes them

The programs must be those of the engine's version that native/engine.py pins; a build of them needs GTK:
    cmake -S "$(python native/engine.py)" -B FOLDER -DCMAKE_BUILD_TYPE=Release && cmake --build FOLDER
"""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

from tree import ROOT

import puzzleport as pp

TABLE = ROOT / "tests" / "golden" / "original_ids.csv"
SEEDS = (42, 7, 2**53 + 1)  # one for each level


def main(folder: Path) -> None:
    """Ask each program for one game at each level."""
    with TABLE.open("w", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(["puzzle", "params", "seed", "command", "printed"])
        for puzzle in pp.puzzles():
            about = pp.spec(puzzle)
            for params, seed in zip(
                (about.easiest_params, about.human_params, about.default_params), SEEDS, strict=True
            ):
                command = [puzzle, "--generate", "1", f"{params}#{seed}"]
                done = subprocess.run(
                    [folder / puzzle, *command[1:]], capture_output=True, text=True, check=True, timeout=600
                )
                writer.writerow([puzzle, params, seed, " ".join(command), done.stdout.strip()])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
