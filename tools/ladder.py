"""The ladder of difficulty: measures parameters of each puzzle, and chooses the rungs by what was measured.

python tools/ladder.py measure [PUZZLE ...] [--instances 3]    writes docs/results/ladder.csv, and goes on where it stopped
python tools/ladder.py choose                                  writes core/benchmark/sets/ladder.csv and docs/ladder.md from it

Candidates are the paper's two levels, steps between and beyond them, and the engine's presets. A rung must be generated in
under a second in the median and solved by the expert. Rungs rise by the median length of the expert's way: each is at least
``RISE`` times as long as the one below. The lowest is the paper's easiest, and its human level is always one.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import re
import time
from pathlib import Path
from statistics import median

import puzzleport as pp
from puzzleport.game_id import episode_seed

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "results" / "ladder.csv"
CHOSEN = ROOT / "core" / "benchmark" / "sets" / "ladder.csv"
PAGE = ROOT / "docs" / "ladder.md"
RISE = 1.2
MOST_RUNGS = 8
MOST_SECONDS = 5.0
"""Processor seconds for the instances of one candidate: what takes longer is too large to be a rung."""
MOST_STEPS = 10_000
COLUMNS = [
    "puzzle",
    "params",
    "level",
    "instances",
    "generation_ms",
    "expert_steps",
    "bound",
    "random_percent",
    "masked_percent",
    "masked_bound_percent",
    "distinct",
    "tried_for_distinct",
    "why_not",
]


def numbers_of(params: str) -> list[int]:
    """The numbers in a parameter string."""
    return [int(number) for number in re.findall(r"\d+", params)]


def with_numbers(params: str, numbers: list[int]) -> str:
    """The parameter string with other numbers."""
    left = iter(numbers)
    return re.sub(r"\d+", lambda _: str(next(left)), params)


def candidates(puzzle: str) -> dict[str, str]:
    """Parameters to measure, and where they come from."""
    about = pp.spec(puzzle)
    easiest, human = (pp.canonical_params(puzzle, params) for params in (about.easiest_params, about.human_params))
    found = {easiest: "easiest"}
    if human not in found:
        found[human] = "human"
    low, high = numbers_of(easiest), numbers_of(human)
    drafts = []
    if len(low) == len(high):
        for share in (0.25, 0.5, 0.75):
            between = [round(a + share * (b - a)) for a, b in zip(low, high, strict=True)]
            drafts.append((with_numbers(human, between), "between"))
    sizes = 2 if re.search(r"\d+[xhX]\d+", human) else 1
    for grow in (1.25, 1.5, 2.0, 3.0):
        larger = [round(number * grow) if at < sizes else number for at, number in enumerate(high)]
        drafts.append((with_numbers(human, larger), "beyond"))
    drafts += [(preset.params, "preset") for preset in about.presets]
    for params, origin in drafts:
        try:
            found.setdefault(pp.canonical_params(puzzle, params), origin)
        except pp.PuzzleError:
            continue
    return found


def expert_length(puzzle: str, session: pp.Session, until: float) -> int | None:
    """The steps of an expert's game; None where it does not solve it, or not by then."""
    expert = pp.ExpertPolicy(puzzle)
    try:
        while not session.ended and time.process_time() < until:
            session.act(expert(session))
    except pp.NoPlan:
        return None
    return session.steps if session.status == pp.Status.SOLVED else None


def measure(puzzle: str, params: str, level: str, instances: int) -> dict[str, object]:
    """One row."""
    row: dict[str, object] = dict.fromkeys(COLUMNS, "")
    row.update(puzzle=puzzle, params=params, level=level, instances=0, bound=pp.optimal_steps(puzzle, params))
    begun = time.process_time()
    generation, lengths = [], []
    for number in range(instances):
        start = time.process_time()
        try:
            session = pp.Session(puzzle, params, episode_seed(0, number), timeout=20, max_steps=100_000)
        except pp.PuzzleError as error:
            return {**row, "why_not": f"not generated: {type(error).__name__}"}
        generation.append(1000 * (time.process_time() - start))
        with session:
            length = expert_length(puzzle, session, begun + MOST_SECONDS)
        if length is not None:
            lengths.append(length)
        row.update(instances=number + 1, generation_ms=round(median(generation), 2))
        if time.process_time() - begun > MOST_SECONDS:
            return {**row, "why_not": "takes too long"}
    if 2 * len(lengths) < instances:
        return {**row, "why_not": "the expert does not solve it"}
    row["expert_steps"] = int(median(lengths))
    if median(generation) > 1000:
        return {**row, "why_not": "generated in more than a second"}
    seeds = [episode_seed(0, number) for number in range(10 if median(generation) < 100 else 3)]
    for policy in ("random", "masked"):
        played = pp.rollout(puzzle, params, policy=policy, seeds=seeds, max_steps=MOST_STEPS, threads=1)
        row[f"{policy}_percent"] = round(100 * played.success_rate, 1)
    row["masked_bound_percent"] = round(100 * float((played.solved & (played.steps <= row["bound"])).mean()), 1)
    hashes, tried, start = set(), 0, time.process_time()
    while tried < 1000 and time.process_time() - start < 0.3:
        with pp.Session(puzzle, params, episode_seed(0, tried)) as session:
            hashes.add(session.instance_hash)
        tried += 1
    return {**row, "distinct": len(hashes), "tried_for_distinct": tried}


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a table, if it is there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def run(puzzles: list[str], instances: int) -> None:
    """Measure what is not measured yet, and write every row at once."""
    known = {(row["puzzle"], row["params"]) for row in read(MEASURED)}
    fresh = not MEASURED.exists()
    with MEASURED.open("a", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        for puzzle in puzzles:
            for params, level in candidates(puzzle).items():
                if (puzzle, params) not in known:
                    row = measure(puzzle, params, level, instances)
                    print(*row.values(), flush=True)
                    writer.writerow(row)
                    target.flush()


def choose() -> None:
    """Write the rungs of the puzzles of which every candidate was measured."""
    measured = read(MEASURED)
    known = {(row["puzzle"], row["params"]) for row in measured}
    whole = [name for name in pp.puzzles() if all((name, params) in known for params in candidates(name))]
    rows = [row for row in measured if row["puzzle"] in whole and not row["why_not"]]
    chosen = []
    for puzzle, group in itertools.groupby(sorted(rows, key=lambda row: row["puzzle"]), lambda row: row["puzzle"]):
        rungs = climb(list(group))
        for number, row in enumerate(rungs, start=1):
            few = int(row["tried_for_distinct"]) >= 200 and 2 * int(row["distinct"]) < int(row["tried_for_distinct"])
            chosen.append({"puzzle": puzzle, "rung": number, "params": row["params"], "level": row["level"],
                           "expert_steps": row["expert_steps"], "few_instances": int(few)})  # fmt: skip
    with CHOSEN.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, list(chosen[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(chosen)
    before, start, rest = PAGE.read_text(encoding="utf-8").partition("<!-- rungs -->\n")
    _, end, after = rest.partition("<!-- end of rungs -->\n")
    lines = ["| puzzle | rungs |", "|---|---|"]
    for puzzle, group in itertools.groupby(chosen, lambda row: row["puzzle"]):
        told = [f"`{row['params']}`{'*' * int(row['few_instances'])} ({row['expert_steps']})" for row in group]
        lines.append(f"| [{puzzle}](puzzles/{puzzle}.md) | {', '.join(told)} |")
    PAGE.write_text(before + start + "\n".join(lines) + "\n" + end + after, encoding="utf-8")


def climb(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rungs of one puzzle: easiest, human, and what lies far enough from both and from each other."""
    rows = sorted(rows, key=lambda row: (int(row["expert_steps"]), row["params"]))
    fixed = [row for row in rows if row["level"] in ("easiest", "human")]
    start = min(fixed, key=lambda row: row["level"], default=rows[0])
    rungs = [row for row in fixed if int(row["expert_steps"]) >= int(start["expert_steps"])]
    # The longest first, so that the ladder reaches as high as it can; then what fills the gaps.
    for row in sorted(rows, key=lambda row: -int(row["expert_steps"])):
        length = int(row["expert_steps"])
        others = [int(rung["expert_steps"]) for rung in rungs]
        apart = all(max(length, other) >= RISE * max(1, min(length, other)) for other in others)
        if apart and length > int(start["expert_steps"]):
            rungs.append(row)
    rungs.sort(key=lambda row: int(row["expert_steps"]))
    while len(rungs) > MOST_RUNGS:  # drop the one whose neighbours are closest
        inner = [k for k in range(1, len(rungs) - 1) if rungs[k]["level"] != "human"]
        gaps = {k: int(rungs[k + 1]["expert_steps"]) / max(1, int(rungs[k - 1]["expert_steps"])) for k in inner}
        del rungs[min(gaps, key=lambda k: gaps[k])]
    return rungs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "choose"])
    parser.add_argument("puzzles", nargs="*")
    parser.add_argument("--instances", type=int, default=3)
    given = parser.parse_args()
    if given.what == "measure":
        run(given.puzzles or pp.puzzles(), given.instances)
    else:
        choose()
