"""What rounds of tools/fuzz.sh reached, written into docs/robustness.md: python tools/fuzz_table.py LINES... --at COMMIT

LINES are files with what fuzz.sh printed, one round after the other. Cases and processor time are added up over the rounds;
of the edges the largest number counts, since each round starts from what the ones before it kept.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/robustness.md"
PLACE = re.compile(r"(?<=<!-- fuzz -->\n).*?(?=<!-- end of fuzz -->)", re.DOTALL)
LINE = re.compile(r"^(\w+): (\d+) cases, (\d+) edges, (\d+) seconds of processor time$", re.MULTILINE)


def table(lines: str, commit: str) -> str:
    """The table in Markdown, and a sentence with the sums above it."""
    cases: dict[str, int] = {}
    edges: dict[str, int] = {}
    seconds: dict[str, int] = {}
    for puzzle, *numbers in LINE.findall(lines):
        more, reached, lasted = map(int, numbers)
        cases[puzzle] = cases.get(puzzle, 0) + more
        edges[puzzle] = max(edges.get(puzzle, 0), reached)
        seconds[puzzle] = seconds.get(puzzle, 0) + lasted
    rows = [f"| {name} | {cases[name]:,} | {edges[name]:,} | {seconds[name]:,} |" for name in sorted(cases)]
    total, lasted = sum(cases.values()), sum(seconds.values())
    head = [
        f"{total:,} cases on {len(cases)} puzzles in {lasted:,} seconds of processor time, at {commit}.",
        "",
        "| puzzle | cases | edges | seconds of processor time |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("lines", nargs="+", type=Path)
    parser.add_argument("--at", required=True, metavar="COMMIT", help="what was fuzzed")
    args = parser.parse_args()
    made = table("\n".join(path.read_text() for path in args.lines), args.at)
    page, count = PLACE.subn(lambda _: made, PAGE.read_text())
    if count != 1:
        raise SystemExit(f"{PAGE} has no place for the table")
    PAGE.write_text(page)
    print(made.splitlines()[0])


if __name__ == "__main__":
    main()
