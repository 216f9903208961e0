"""Measure everything on the page about speed, in one run, and write the page: ``python tools/speed.py [PART...]``.

The parts are written to docs/results/*.csv and the page is made from these files; without a part, all are measured anew. How
we stand to the paper's implementation cannot be measured without it: docs/results/paper_speed.csv holds that.
"""

from __future__ import annotations

import csv
import math
import os
import platform
import re
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

import puzzleport as pp
from puzzleport.benchmark import speed

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS / "results"
CROWD = ("fifteen", "net", "mines", "solo")
"""Of which 100,000 sessions are made at once: those of all 40 would take minutes."""

Rows = list[dict[str, Any]]


def by_puzzle(measure: Callable[[str], Any]) -> Rows:
    """A row of each puzzle."""
    rows = []
    for name in pp.puzzles():
        click.echo(f"  {name}", err=True)
        rows.append(asdict(measure(name)))
    return rows


def gymnasium_rows(seconds: float) -> Rows:
    """Environments beside the loops underneath."""
    from puzzleport.adapters.gymnasium_bench import measure

    return by_puzzle(lambda name: measure(name, "easiest", seconds))


def reset_rows(seconds: float) -> Rows:
    """What resets cost."""
    from puzzleport.adapters.gymnasium_bench import measure_resets

    return by_puzzle(lambda name: measure_resets(name, "easiest", seconds))


def rate_rows(seconds: float) -> Rows:
    """Simulations a second."""
    from puzzleport.adapters.openspiel_bench import measure_rates

    return [asdict(row) for row in measure_rates(seconds)]


def costs(level: str) -> Callable[[float], Rows]:
    """What measures the costs at a level."""
    return lambda seconds: by_puzzle(lambda name: speed.measure_costs(name, level, seconds))


PARTS: dict[str, Callable[[float], Rows]] = {
    "speed": lambda seconds: by_puzzle(lambda name: speed.measure(name, "easiest", seconds)),
    "gymnasium": gymnasium_rows,
    "resets": reset_rows,
    "pixels": lambda seconds: by_puzzle(lambda name: speed.measure_pixels(name, "easiest", seconds)),
    "costs_easiest": costs("easiest"),
    "costs_human": costs("human"),
    "costs_largest": costs("largest"),
    "crowd": lambda _: [asdict(speed.crowd(name, "easiest", 100_000)) for name in CROWD],
    "rates": rate_rows,
}


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


class Figures:
    """One part, as it was measured."""

    def __init__(self, part: str) -> None:
        with (RESULTS / f"{part}.csv").open() as file:
            self.rows = [row for row in csv.DictReader(file) if row.get("puzzle") != "geometric mean"]

    def mean(self, name: str) -> float:
        """The geometric mean of a figure."""
        return mean([float(row[name]) for row in self.rows])

    def ratio(self, over: str, under: str) -> list[tuple[float, str]]:
        """The ratio of two figures of each puzzle, the least first."""
        return sorted((float(row[over]) / float(row[under]), row["puzzle"]) for row in self.rows)

    def told(self, over: str, under: str, worst: int = 0) -> str:
        """The mean of a ratio, and the puzzle where it is least (worst=0) or most (-1)."""
        ratios = self.ratio(over, under)
        return f"{mean([ratio for ratio, _ in ratios]):.2f} ({ratios[worst][1]} {ratios[worst][0]:.2f})"


def machine() -> str:
    """Where and when this was measured."""
    name = platform.processor()
    if Path("/proc/cpuinfo").exists():
        found = re.search("model name\\s*: (.*)", Path("/proc/cpuinfo").read_text())
        name = found[1] if found else name
    cores, load, today = os.cpu_count() or 1, os.getloadavg()[0], datetime.now(timezone.utc).date()
    told = f"{cores} cores, {name}, Python {platform.python_version()}, {today}, load {load:.0f} when it ended"
    if load > cores + 1:
        told += (
            ": **others worked beside it, so what is measured by the clock, on both cores or as a wait, says little**"
        )
    return told


def table(*rows: tuple[str, ...]) -> str:
    """A table of Markdown; its first row is the head."""
    head, *rest = rows
    rule = "|".join(["---", *["---:"] * (len(head) - 1)])
    return "\n".join(f"| {' | '.join(row)} |" if row else f"|{rule}|" for row in (head, (), *rest))


def page(where: str) -> str:
    """docs/speed.md."""
    loops, envs, resets, pixels = (Figures(part) for part in ("speed", "gymnasium", "resets", "pixels"))
    levels = {level: Figures(f"costs_{level}") for level in speed.LEVELS if level != "default"}
    paper = Figures("paper_speed")
    each = "{:,.0f}".format
    micro = "{:.1f}".format
    standing = [("", "geometric mean", "least")]
    for name, what in (("env", "`gym.make`, state and mask"), ("pictures", "pictures"), ("resets", "resets")):
        ratios = sorted((float(row[name]), row["puzzle"]) for row in paper.rows)
        standing.append((what, f"{mean([ratio for ratio, _ in ratios]):.1f}", f"{ratios[0][0]:.1f} ({ratios[0][1]})"))
    grown = [("", *levels)]
    for name, what in (
        ("items", "numbers in an observation"),
        ("generate_us", "a new game, microseconds"),
        ("step_us", "a step in C"),
        ("mask_us", "mask and repeats add"),
        ("picture_us", "a picture"),
        ("kib", "memory of a session after 1,000 steps, KiB"),
    ):
        grown.append((what, *(f"{figures.mean(name):,.2f}" for figures in levels.values())))
    dearest = []
    for name, what in (("generate_us", "a new game"), ("mask_us", "mask"), ("picture_us", "picture"), ("kib", "KiB")):
        most = sorted(levels["largest"].rows, key=lambda row, name=name: -float(row[name]))[:4]  # type: ignore[misc]
        dearest.append(f"{what}: " + ", ".join(f"{row['puzzle']} {float(row[name]):,.0f}" for row in most))
    with (RESULTS / "crowd.csv").open() as file:
        crowds = [
            (f"{row['puzzle']} {row['params']}", f"{float(row['kib_each']):.1f}", f"{float(row['kib_left']):.2f}")
            for row in csv.DictReader(file)
        ]
    with (RESULTS / "rates.csv").open() as file:
        rates = [
            (
                row["game"],
                row["by"],
                each(float(row["one"])),
                each(float(row["both"])) if float(row["both"]) else "",
                f"{float(row['both']) / float(row['one']):.2f}" if float(row["both"]) else "",
            )
            for row in csv.DictReader(file)
        ]
    with (RESULTS / "search.csv").open() as file:
        searches = [
            (
                f"{row['puzzle']} {row['params']}",
                f"{row['bot_solved']} of {row['instances']}",
                f"{float(row['bot_seconds']):.1f}",
                f"{row['search_solved']} of {row['instances']}",
                f"{float(row['search_seconds']):.3f}",
                each(float(row["bot_seconds"]) / float(row["search_seconds"])),
            )
            for row in csv.DictReader(file)
        ]
    return TEMPLATE.format(
        where=where,
        loops=table(
            ("", "steps a second", "to the C loop"),
            ("C step: no mask, no repeats", each(loops.mean("c_step")), ""),
            ("C loop", each(loops.mean("c_loop")), "1"),
            ("C loop on both cores at once", each(loops.mean("c_loop_all")), loops.told("c_loop_all", "c_loop")),
            ("`Session` from Python, live views", each(loops.mean("session")), ""),
            ("`Session` from Python, copies", each(loops.mean("session_copies")), ""),
            ("`Batch` of 1,024 on one thread", each(loops.mean("batch_one")), loops.told("batch_one", "c_loop")),
            ("`Batch` of 1,024 on both cores", each(loops.mean("batch_all")), loops.told("batch_all", "c_loop")),
        ),
        mask=loops.told("c_loop", "c_step"),
        envs=table(
            ("", "steps a second", ""),
            ("`Session`, copies", each(envs.mean("session")), ""),
            (
                "`PuzzleEnv`, state and mask, fresh arrays",
                each(envs.mean("env")),
                f"takes {envs.told('session', 'env', -1)} times as long",
            ),
            ("`PuzzleEnv`, `copy=False`", each(envs.mean("env_live")), ""),
            (
                "`PuzzleVectorEnv` of 1,024 on both cores",
                each(envs.mean("vector")),
                f"{envs.told('vector', 'batch')} of `Batch`",
            ),
        ),
        resets=table(
            ("", "microseconds", ""),
            ("`Session.reset`", micro(resets.mean("session")), "processor time"),
            (
                "`PuzzleEnv.reset` with a seed",
                micro(resets.mean("seeded")),
                f"{resets.told('seeded', 'session', -1)} of it",
            ),
            ("`PuzzleEnv.reset`, next of the stream", micro(resets.mean("env")), "processor time"),
            ("wait for the next game, made when it is asked for", micro(resets.mean("wait")), "by the clock"),
            ("wait for the next game, made ahead", micro(resets.mean("wait_ahead")), "by the clock"),
        ),
        dear=table(
            ("", "`PuzzleEnv.reset`, processor time", "wait", "wait, made ahead"),
            *(
                (f"{row['puzzle']} {row['params']}", *(micro(float(row[n])) for n in ("env", "wait", "wait_ahead")))
                for row in sorted(resets.rows, key=lambda row: -float(row["env"]))[:5]
            ),
        ),
        pixels=table(
            ("", "a second", ""),
            ("`Session.step` alone", each(pixels.mean("session")), ""),
            ("step and picture, one session", each(pixels.mean("single")), ""),
            ("step and picture, a batch of 64 on one thread", each(pixels.mean("batch_one")), ""),
            ("the same on both cores", each(pixels.mean("batch_all")), pixels.told("batch_all", "batch_one")),
        ),
        paper=table(*standing),
        grown=table(*grown),
        dearest="\n".join(f"- {line}" for line in dearest),
        crowds=table(("100,000 sessions of", "KiB each", "left when freed"), *crowds),
        rates=table(("game", "search", "one thread", "two threads", "ratio"), *rates),
        searches=table(("puzzle", "MCTSBot solves", "seconds", "native search solves", "seconds", "ratio"), *searches),
    )


TEMPLATE = """# Speed

{where}. The easiest parameters of the paper where nothing else is said; figures are geometric means over the 40 puzzles, and
beside a ratio stands the puzzle where it is worst. What one thread does is measured by its processor time, what several do and
what is waited for by the clock: those need an idle machine. Everything that is compared is measured in turns in one run, the
best of three rounds, on random actions that are checked to change the state. This page is written by `python tools/speed.py`
from one run; each puzzle's row is in the file that is named.

## Session and Batch

`puzzleport bench`, [speed.csv](results/speed.csv)

{loops}

The C loop is the reference: one session in plain C that steps, observes, masks and counts repeats. *C step* leaves out the last
two; with them it is {mask} as fast. *Batch* plays 1,024 sessions with observations, masks and new episodes by itself; where a
puzzle takes long to generate, the next games are made ahead on a thread of their own, which is how Flood's batch can be faster
than its loop.

## Gymnasium

`puzzleport bench gymnasium`, [gymnasium.csv](results/gymnasium.csv)

{envs}

## Resets

`puzzleport bench resets`, [resets.csv](results/resets.csv)

{resets}

A single environment that is reset without a seed plays a stream, and so its next game is known. Where games take more than 40
microseconds to make, a thread makes the next one while the present one is played (`ahead=False` turns that off). The same work is
done on another core, no less of it: what becomes shorter is the wait. It is measured 5 milliseconds after the last reset; who
resets without playing waits as long as before. The dearest:

{dear}

## Pictures

128 x 128 pixels, one after every step. `puzzleport bench pixels`, [pixels.csv](results/pixels.csv)

{pixels}

## Beside the paper's implementation

How many times as fast, by processor time. [paper_speed.csv](results/paper_speed.csv)

{paper}

The paper's implementation was measured once, beside ours as it was then, in turns in one run. Since then ours was measured
against that old build, again in turns in one run; the product of the two ratios stands here. Resets are those of a stream,
without games made ahead: where they are, the wait is what the table above says.

## Larger boards

`puzzleport bench costs --level human` and `--level largest`, the engine's largest preset:
[easiest](results/costs_easiest.csv), [human](results/costs_human.csv), [largest](results/costs_largest.csv)

{grown}

The dearest at the largest preset, in microseconds and KiB:

{dearest}

## Memory

`puzzleport bench crowd`: resident size of the process, with the arrays of the batch. [crowd.csv](results/crowd.csv)

{crowds}

A session that can take back moves keeps up to 256 positions: that is most of its memory on large boards. How memory grows with
play is on the page about [robustness](robustness.md).

## Search

Simulations a second (`puzzleport bench rates`, [rates.csv](results/rates.csv)): the native search with rollouts of 20 steps, and
OpenSpiel's bot in C++ on its own games in C++, with rollouts to the end, some 8 moves in tic-tac-toe and 21 in connect four.
Two threads grow a tree each and share what they know at the end (`search.mcts(..., threads=2)`): results are the same in every
run with as many threads.

{rates}

MCTS with 1,000 simulations a move at most, by OpenSpiel's bot in C++ on the OpenSpiel game and by the native search, on the same
20 instances of each puzzle; seconds of processor time until all are solved. `puzzleport bench search --instances 20`,
[search.csv](results/search.csv)

{searches}
"""


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS, "page"]))
@click.option("--seconds", default=0.2, help="Of each measurement.")
def main(parts: tuple[str, ...], seconds: float) -> None:
    """Measure all PARTS, or those that are named, and write docs/speed.md."""
    for part in parts or PARTS:
        if part == "page":
            continue
        click.echo(part, err=True)
        rows = PARTS[part](seconds)
        with (RESULTS / f"{part}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(
                {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}
                for row in rows
            )
    (DOCS / "speed.md").write_text(page(machine()))


if __name__ == "__main__":
    main()
