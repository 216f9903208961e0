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
import json
import math
import re
import time
from pathlib import Path
from statistics import median
from typing import Any

import puzzleport as pp
from puzzleport.benchmark.evaluation_sets import FIRST, SIZES
from puzzleport.game_id import episode_seed

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "results" / "ladder.csv"
CHOSEN = ROOT / "core" / "benchmark" / "sets" / "ladder.csv"
RUNGS = ROOT / "docs" / "results" / "rungs.csv"
FROZEN = ROOT / "build" / "ladder" / "frozen.jsonl"
MOST_SEEDS = 2000
"""How many seeds are tried where instances come back."""
RISE = 1.2
FEW = 1000
"""Where there are fewer instances than this, a rung is marked."""
LEAST_RISE, CHANCE = 1.1, 0.01
"""Each rung lies so many times as high as the one below, and a Mann-Whitney test gives chance less than this."""
MOST_RUNGS = 8
MOST_SECONDS = 5.0
"""Processor seconds for the instances of one candidate: what takes longer is too large to be a rung."""
MOST_EXPERT = 0.25
"""Processor seconds that the expert may take for an instance in the mean."""
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


MORE = {
    "flip": ["4x3c", "4x4c", "5x4c", "5x5c", "4x4r"],
    "netslide": ["3x3b1m4", "4x3b1m6", "4x3b1", "4x4b1m3", "4x4b1m4", "4x4b1m5", "5x4b1m4", "5x5b1m4"],
    "pegs": ["5x4random", "6x5random", "6x6random", "7x6random"],
    "sixteen": ["3x3m3", "3x3m4", "3x3m5", "3x3m6", "4x3m5", "4x3m6", "4x3m7", "4x4m4", "4x4m5"],
    "solo": ["5jdb", "7jdb", "2x4db"],
    "twiddle": ["4x3n2r", "5x4n2r", "4x4n2m4", "4x4n2m6", "4x4n2m7"],
    "unequal": ["5de", "6de", "7de", "8de", "9de"],
    "unruly": ["8x6dt", "10x8dt"],
    "untangle": ["5", "8", "10", "12", "13"],
}
"""Candidates beside those that follow from the paper's levels and the presets, where those are too few."""
BY_HAND = {
    "cube": ["c3x3", "c4x4", "c5x5", "c6x6", "c8x8"],
    "flip": ["3x3c", "4x4c", "4x4r", "5x4c", "5x5c"],
    "netslide": ["2x3b1", "3x3b1m4", "3x3b1", "4x3b1m6", "4x3b1"],
    "pegs": ["4x4random", "5x5random", "6x5random", "6x6random", "5x7cross", "7x7random"],
    "sixteen": ["2x3", "3x3m4", "3x3m5", "3x3", "4x3m7"],
    "twiddle": ["2x3n2", "3x3n2r", "4x3n2r", "4x4n2m7", "4x4n2r", "5x4n2r"],
}
"""Rungs that the rule does not find, because they lie closer than ``RISE``, or rise by another measure."""


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
    drafts += [(params, "more") for params in MORE.get(puzzle, ())]
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
    if 10 * len(lengths) < 9 * instances and not pp.spec(puzzle).hidden:
        return {**row, "why_not": "the expert does not solve it"}
    row["expert_steps"] = int(median(lengths))
    if (time.process_time() - begun) / instances - median(generation) / 1000 > MOST_EXPERT:
        return {**row, "why_not": f"the expert takes more than {MOST_EXPERT} seconds"}
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


def draft() -> list[tuple[str, str, str]]:
    """Puzzle, parameters and level of what seems to be a rung, by the small samples."""
    rows = [row for row in read(MEASURED) if not row["why_not"]]
    drawn = []
    for puzzle, group in itertools.groupby(sorted(rows, key=lambda row: row["puzzle"]), lambda row: row["puzzle"]):
        known = {row["params"]: row["level"] for row in rows if row["puzzle"] == puzzle}
        chosen = BY_HAND.get(puzzle) or [row["params"] for row in climb(list(group))]
        drawn += [(puzzle, params, known.get(params, "more")) for params in chosen]
    return drawn


def positions(puzzle: str, params: str) -> int | None:
    """How many positions there are to search, for puzzles where the expert's way tells little; None for the others.

    Flip: boards that selecting squares can make, times places of the cursor. Cube: ways to spread the six blue squares over
    the board and the cube, times places of the cube. Sixteen: orders of the tiles, or ways to shuffle where those are fewer,
    times places of the cursor.
    """
    if puzzle == "sixteen":
        width, height, *moves = numbers_of(params)
        slides = 2 * (width + height)
        orders = math.factorial(width * height)
        return slides * (min(orders, slides ** moves[0]) if moves else orders)
    if puzzle == "cube":
        cells = math.prod(numbers_of(params))
        return math.comb(cells + 6, 6) * cells
    if puzzle != "flip":
        return None
    with pp.Session(puzzle, params, FIRST["v2"]) as session:
        effects = [int("".join(map(str, row)), 2) for row in session.observe()["effects"].tolist()]
    squares, rank = len(effects), 0
    while effects:
        row = effects.pop()
        if row:
            rank += 1
            low = row & -row
            effects = [other ^ row if other & low else other for other in effects]
    return 2**rank * squares


def freeze(puzzle: str, params: str) -> dict[str, Any]:
    """The instances of a rung for the evaluation set, and what they tell of it.

    An instance that came before is left out, and so is one that the expert does not solve although it sees everything. Where
    few instances exist, half of them are frozen: the others are left for training.
    """
    hidden, size = pp.spec(puzzle).hidden, SIZES["v2"]
    seen, seeds, hashes, lengths, times = set[int](), list[int](), list[int](), list[int](), list[float]()
    tried = unsolved = 0
    while tried < MOST_SEEDS and not (len(seeds) >= size and len(seen) > tried / 2):
        begun = time.process_time()
        with pp.Session(puzzle, params, FIRST["v2"] + tried, max_steps=100_000) as session:
            times.append(1000 * (time.process_time() - begun))
            tried += 1
            if session.instance_hash in seen:
                continue
            seen.add(session.instance_hash)
            if len(seeds) >= size:
                continue
            found = session.instance_hash
            length = expert_length(puzzle, session, time.process_time() + 30)
            if length is None and not hidden:
                unsolved += 1
                continue
            seeds.append(tried - 1)
            hashes.append(found)
            lengths.append(length or 0)
    if len(seen) < 2 * len(seeds):
        kept = max(1, len(seen) // 2) if tried >= MOST_SEEDS else size
        seeds, hashes, lengths = seeds[:kept], hashes[:kept], lengths[:kept]
    row = {"puzzle": puzzle, "params": params, "tried": tried, "distinct": len(seen), "unsolved": unsolved}
    return {**row, "generation_ms": round(median(times), 2), "seed": seeds, "hash": hashes, "expert": lengths}


def freeze_all(puzzles: list[str]) -> None:
    """Freeze what is not frozen yet, rung by rung. Several processes may do it together: each claims its rungs."""
    claims = FROZEN.parent / "claims"
    claims.mkdir(parents=True, exist_ok=True)
    known = {(row["puzzle"], row["params"]) for row in frozen()}
    for puzzle, params, _ in draft():
        if puzzle not in puzzles or (puzzle, params) in known:
            continue
        try:
            (claims / f"{puzzle} {params}").touch(exist_ok=False)
        except FileExistsError:
            continue
        row = freeze(puzzle, params)
        print(puzzle, params, row["tried"], row["distinct"], row["unsolved"], median(row["expert"]), flush=True)
        with FROZEN.open("a", encoding="utf-8") as target:
            target.write(json.dumps(row) + "\n")


def frozen() -> list[dict[str, Any]]:
    """The rungs that are frozen."""
    return [json.loads(line) for line in FROZEN.read_text().splitlines()] if FROZEN.exists() else []


def hardness(row: dict[str, Any]) -> float:
    """By what the rungs of a puzzle rise."""
    return float(row["positions"] or solved_median(row))


def solved_median(row: dict[str, Any]) -> float:
    """The median of the expert's steps where it solves the instance."""
    return median([steps for steps in row["expert"] if steps] or [0])


def rises(below: dict[str, Any], above: dict[str, Any]) -> bool:
    """Whether a rung is harder than another: by a tenth at least, and not by chance."""
    if hardness(above) < LEAST_RISE * hardness(below):
        return False
    if above["positions"] or min(len(below["expert"]), len(above["expert"])) < 5:
        return True
    from scipy.stats import mannwhitneyu

    return bool(mannwhitneyu(above["expert"], below["expert"], alternative="greater").pvalue < CHANCE)


def settle(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rungs of one puzzle that rise; of two that lie too close, one of the paper's levels is kept before another."""
    kept: list[dict[str, Any]] = []
    for row in sorted(rows, key=hardness):
        while kept and not rises(kept[-1], row) and row["level"] == "human" and kept[-1]["level"] != "easiest":
            kept.pop()
        if not kept and row["level"] != "easiest":
            continue
        if not kept or rises(kept[-1], row):
            kept.append(row)
    return kept


def choose() -> None:
    """Write the rungs, the evaluation set, and what is known of each rung."""
    import numpy as np

    found = {(row["puzzle"], row["params"]): row for row in frozen()}
    drawn = [
        {**found[puzzle, params], "level": level, "positions": positions(puzzle, params)}
        for puzzle, params, level in draft()
        if (puzzle, params) in found
    ]
    chosen = []
    for puzzle in pp.puzzles():
        for number, row in enumerate(settle([row for row in drawn if row["puzzle"] == puzzle]), start=1):
            chosen.append({**row, "rung": number, "measure": "positions" if row["positions"] else "expert steps"})
    lines, told = [], []
    for row in chosen:
        steps = [one for one in row["expert"] if one]
        low, high = (round(float(np.quantile(steps, share))) for share in (0.25, 0.75))
        repeats = row["tried"] - row["distinct"]
        # As birthdays tell how many days a year has; where most come back, nearly all were seen.
        few = row["distinct"] < FEW if 2 * repeats > row["tried"] else row["tried"] ** 2 < 2 * repeats * FEW
        line = {name: row[name] for name in ("puzzle", "rung", "params", "level")}
        line |= {"expert_steps": round(solved_median(row)), "measure": row["measure"], "hardness": round(hardness(row))}
        lines.append({**line, "few_instances": int(few)})
        told.append(
            {**lines[-1], "frozen": len(row["seed"]), "expert_low": low, "expert_high": high,
             "expert_solved": len(steps), "passed_over": row["unsolved"], "bound": pp.optimal_steps(row["puzzle"], row["params"]),
             "distinct": row["distinct"], "tried": row["tried"], "generation_ms": row["generation_ms"]}
        )  # fmt: skip
    write(CHOSEN, lines)
    write(RUNGS, told)
    np.savez_compressed(
        CHOSEN.with_name("v2.npz"),
        count=np.array([len(row["seed"]) for row in chosen], np.uint8),
        seed=np.array([one for row in chosen for one in row["seed"]], np.uint16),
        hash=np.array([one for row in chosen for one in row["hash"]], np.uint64),
        expert=np.array([one for row in chosen for one in row["expert"]], np.uint16),
    )


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


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
    parser.add_argument("what", choices=["measure", "freeze", "choose"])
    parser.add_argument("puzzles", nargs="*")
    parser.add_argument("--instances", type=int, default=3)
    given = parser.parse_args()
    if given.what == "measure":
        run(given.puzzles or pp.puzzles(), given.instances)
    elif given.what == "freeze":
        freeze_all(given.puzzles or pp.puzzles())
    else:
        choose()
