"""Measure the experts: for every puzzle at the paper's two levels, how many games they solve, and with how many keys.

    python tools/experts_table.py --seeds 200

Writes docs/experts.csv and docs/experts.md. Times are CPU time of one thread, from the start of the game to the last
decision: for a plan the call of plan(), for an expert that plays by sight the sum over the game.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import puzzleport as pp
from puzzleport.agents.expert import ExpertPolicy
from puzzleport.errors import NoPlan

DOCS = Path(__file__).resolve().parent.parent / "docs"
LONGEST = 5000


class Row(NamedTuple):
    """One line of the table."""

    puzzle: str
    level: str
    params: str
    expert: str
    seeds: int
    solved: int
    mean_length: float
    bound: float
    median_ms: float
    worst_ms: float

    @property
    def share(self) -> float:
        """Solved games in percent."""
        return 100 * self.solved / self.seeds


def solve(session: pp.Session) -> tuple[bool, float]:
    """Play one game to its end: whether it was solved, and the milliseconds of thought."""
    policy, start, thought = ExpertPolicy(session.puzzle), 0.0, 0.0
    try:
        while session.status == pp.Status.ONGOING and session.steps < LONGEST:
            start = time.thread_time()
            action = policy(session)
            thought += time.thread_time() - start
            session.step(action)
    except NoPlan:
        thought += time.thread_time() - start
    return session.status == pp.Status.SOLVED, 1e3 * thought


def measure(puzzle: str, level: str, params: str, seeds: int) -> Row:
    """One line: games with the seeds from 0 on, without UNDO so that a lost game is lost."""
    lengths, times = [], []
    for seed in range(seeds):
        session = pp.Session(puzzle, params, seed, undo=False)
        solved, thought = solve(session)
        times.append(thought)
        if solved:
            lengths.append(session.steps)
    return Row(
        puzzle,
        level,
        params,
        "sight" if pp.spec(puzzle).hidden else "plan",
        seeds,
        len(lengths),
        round(statistics.fmean(lengths), 1) if lengths else float("nan"),
        round(pp.optimal_steps(puzzle, params), 1),
        round(statistics.median(times), 2),
        round(max(times), 2),
    )


def rows(puzzles: list[str], seeds: int) -> Iterator[Row]:
    """All lines; a puzzle whose two levels are the same has one."""
    for puzzle in puzzles:
        about = pp.spec(puzzle)
        levels = {about.human_params: "human"} | {about.easiest_params: "easiest"}
        if len(levels) == 1:
            levels = {about.human_params: "both"}
        for params, level in reversed(levels.items()):
            row = measure(puzzle, level, params, seeds)
            print(*row, flush=True)
            yield row


def markdown(table: list[Row]) -> str:
    """The page."""
    seeds = table[0].seeds
    lines = [
        "# Experts",
        "",
        f"How the experts play {seeds} games of each puzzle (seeds 0 to {seeds - 1}) at the paper's easiest and human "
        "levels, with the puzzle's own keys and without UNDO. `plan` follows `Session.plan()`; `sight` decides by the "
        "observation alone, since something is hidden from the player. The bound is the paper's upper bound on an "
        "optimal play. Milliseconds are CPU time of one thread: for `plan` one call, for `sight` the whole game.",
        "",
        "| puzzle | level | parameters | expert | solved | mean keys | bound | median ms | worst ms |",
        "|---|---|---|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {r.puzzle} | {r.level} | `{r.params}` | {r.expert} | {r.share:.1f}% | {r.mean_length:.1f} | {r.bound:.0f} "
        f"| {r.median_ms:.1f} | {r.worst_ms:.0f} |"
        for r in table
    ]
    short = [f"{r.puzzle} `{r.params}` ({r.share:.1f}%)" for r in table if r.solved < r.seeds]
    long = [f"{r.puzzle} `{r.params}`" for r in table if not r.mean_length <= r.bound]
    slow = [f"{r.puzzle} `{r.params}` ({r.median_ms:.0f} ms)" for r in table if r.median_ms > 50]
    lines += [
        "",
        f"Not always solved: {', '.join(short) or 'none'}.",
        f"Longer than the bound on average: {', '.join(long) or 'none'}.",
        f"Slower than 50 ms in the median: {', '.join(slow) or 'none'}.",
        "",
    ]
    return "\n".join(lines)


def after_play(path: Path) -> list[str]:
    """The section about plans after random play, by what tools/plans_table.py wrote."""
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    by_puzzle: dict[str, list[dict[str, str]]] = {}
    for line in lines:
        by_puzzle.setdefault(line["puzzle"], []).append(line)
    section = [
        "## Plans after random play",
        "",
        f"`python tools/plans_table.py --seeds {lines[0]['positions']} --csv docs/plans.csv`: at the human level, after "
        f"0, 5, 50 and 500 random legal actions, without those that would end the game; {lines[0]['positions']} "
        "positions each. Either a plan is found, or it is shown that the game cannot be solved any more; *given up* is "
        "neither. The whole table is `plans.csv`.",
        "",
        "| puzzle | planned | cannot be solved | given up | worst p99 ms | worst ms |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for puzzle, group in by_puzzle.items():
        planned, unsolvable, given_up = (
            sum(int(line[name]) for line in group) for name in ("planned", "unsolvable", "given_up")
        )
        p99, worst = (max(float(line[name]) for line in group) for name in ("p99_ms", "worst_ms"))
        section.append(f"| {puzzle} | {planned} | {unsolvable} | {given_up} | {p99:.1f} | {worst:.1f} |")
    return [*section, ""]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--puzzle", default=",".join(pp.puzzles()), help="names with commas between them")
    parser.add_argument("--out", type=Path, default=DOCS)
    options = parser.parse_args()
    table = list(rows(options.puzzle.split(","), options.seeds))
    options.out.mkdir(exist_ok=True)
    with (options.out / "experts.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(table)
    page, plans = markdown(table), options.out / "plans.csv"
    if plans.exists():
        page += "\n" + "\n".join(after_play(plans))
    (options.out / "experts.md").write_text(page)


if __name__ == "__main__":
    main()
