"""The leaderboard: plays the baselines on the evaluation set, and writes what the runs in docs/leaderboard are worth.

python tools/leaderboard.py play [BASELINE ...]    plays baselines, goes on where it stopped, and publishes their runs
python tools/leaderboard.py page                   verifies all runs, and writes docs/results/{leaderboard,rungs}.csv and the page

Some baselines are dear. The table below says how many instances of each rung they play. One that stops above the first rung
of a puzzle where it solves nothing has nothing recorded there, which counts as not solved.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tree import ROOT

import puzzleport as pp
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.benchmark.ladder import rungs
from puzzleport.benchmark.leaderboard import height, is_entry, publish, whole_ladder
from puzzleport.benchmark.playing import Playing
from puzzleport.benchmark.recording import SUFFIX, Recorder, load
from puzzleport.benchmark.score import MEASURES, figures
from puzzleport.benchmark.verification import scored, verify

PLAYED = ROOT / "build" / "ladder"
RUNS = ROOT / "docs" / "leaderboard"
RESULTS = ROOT / "docs" / "results"
PAGE = ROOT / "docs" / "leaderboard.md"


@dataclass(frozen=True)
class Baseline:
    """What is played."""

    policy: str
    episodes: int
    """Instances of each rung, at most."""
    stops: bool = False
    """Whether it plays no rung above one where it solved nothing."""
    max_steps: int = 10_000


BASELINES = {
    "random": Baseline("random", 20),
    "masked": Baseline("masked", 20),
    "search-1k": Baseline("search:1000", 20),
    "search-100k": Baseline("search:100000", 5, stops=True),
    "published": Baseline("published", 50, max_steps=1000),
    "expert": Baseline("expert", 10),
}


def play(name: str, puzzles: list[str]) -> None:
    """Play a baseline on all rungs that it can play, and publish its run."""
    baseline, path = BASELINES[name], PLAYED / f"{name}{SUFFIX}"
    recorder, playing = Recorder(path, go_on=True), Playing(baseline.policy)
    for puzzle in puzzles:
        for rung in rungs(puzzle):
            try:
                playing.check(pp.Task(puzzle, rung.params))
            except ValueError:
                continue
            limits = {"episodes": baseline.episodes, "max_steps": baseline.max_steps}
            done = evaluate(playing, puzzle, rung.params, **limits, evalset="v2", threads=1, recorder=recorder)
            print(name, puzzle, rung.params, done.summary()["success_percent"], flush=True)
            if baseline.stops and not any(status == 1 for status in done.status):
                break
    RUNS.mkdir(exist_ok=True)
    publish(path, RUNS / path.name)


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write a table."""
    with path.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(target, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def survey() -> None:
    """Add to what is known of each rung what random play and search made of it, as far as they were played here."""
    path = RESULTS / "rungs.csv"
    with path.open(encoding="utf-8", newline="") as source:
        rows: list[dict[str, Any]] = list(csv.DictReader(source))
    for name in ("random", "masked", "search-100k"):
        if not (PLAYED / f"{name}{SUFFIX}").exists():
            continue
        found = {(one.header.puzzle, one.header.params): one for one in load(PLAYED / f"{name}{SUFFIX}")}
        for row in rows:
            section = found.get((row["puzzle"], row["params"]))
            if name == "search-100k":
                nodes = [g.told["nodes"] if g.status == 1 else 10**9 for g in section.games] if section else []
                typical = median(nodes) if nodes else 10**9
                hidden = pp.spec(row["puzzle"]).hidden
                row["nodes"] = "" if hidden else round(typical) if typical < 10**9 else ">100000"
                row["nodes_games"] = len(nodes)
            elif section:
                done = section.result().summary()
                row |= {f"{name}_percent": done["success_percent"], f"{name}_games": done["episodes"]}
                row[f"{name}_bound_percent"] = done["within_bound_percent"]
    write(path, rows)


def page() -> None:
    """Verify all runs, and write what they are worth."""
    rows, each = [], []
    for path in sorted(RUNS.glob(f"*{SUFFIX}")):
        run = verify(path)
        if not is_entry(run):
            raise SystemExit(f"{path.name} is no run on the evaluation set")
        settings = scored([run])
        told = figures(whole_ladder(settings))
        row: dict[str, Any] = {"run": path.name.removesuffix(SUFFIX), "agent": run.policy}
        row["games"] = sum(result.episodes for result in run.results)
        row["rungs"] = len(run.results)
        for measure, figure in told.items():
            low, high = figure.interval or (figure.mean, figure.mean)
            row |= {measure: round(figure.mean, 4), f"{measure}_low": round(low, 4), f"{measure}_high": round(high, 4)}
        climbed = {name: height(name, settings) for name in pp.puzzles()}
        row["climbed"] = sum(climbed.values())
        rows.append(row)
        for setting, result in zip(settings, run.results, strict=True):
            means = dict(zip(MEASURES, setting.values.mean(axis=(1, 2)).round(4).tolist(), strict=True))
            known = {"run": row["run"], "puzzle": setting.puzzle, "params": setting.params, "games": result.episodes}
            each.append({**known, **means})
    rows.sort(key=lambda row: -row["spl"])
    write(RESULTS / "leaderboard.csv", rows)
    write(RESULTS / "leaderboard-rungs.csv", each)
    before, start, rest = PAGE.read_text(encoding="utf-8").partition("<!-- runs -->\n")
    _, end, after = rest.partition("<!-- end of runs -->\n")
    PAGE.write_text(before + start + table(rows) + end + after, encoding="utf-8")


def table(rows: list[dict[str, Any]]) -> str:
    """The runs, best first."""
    total = sum(len(rungs(name)) for name in pp.puzzles())
    lines = [
        "| run | agent | games | rungs climbed | SPL | within the bound | success |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        shown = [f"{row[name]:.3f} [{row[f'{name}_low']:.3f}, {row[f'{name}_high']:.3f}]" for name in MEASURES[::-1]]
        link = f"[{row['run']}](leaderboard/{row['run']}{SUFFIX})"
        climbed = f"{row['climbed']} of {total}"
        lines.append(f"| {link} | {row['agent']} | {row['games']:,} | {climbed} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["play", "survey", "page"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--puzzles", help="names with commas between them; all in their order without it")
    given = parser.parse_args()
    if given.what == "play":
        for one in given.names or BASELINES:
            play(one, given.puzzles.split(",") if given.puzzles else pp.puzzles())
    elif given.what == "survey":
        survey()
    else:
        page()
