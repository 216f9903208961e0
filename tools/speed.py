"""Measure everything on the page about speed, in one run, and write the page: ``python tools/speed.py [PART...]``.

The parts are written to docs/results/*.csv and the page is made from these files; without a part, all are measured anew, in some
six minutes on two idle cores. ``--seconds 0.001 --into build/speed`` tries in a minute or two whether it runs through, and leaves
the page and its files as they are.
"""

from __future__ import annotations

import csv
import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

import puzzleport as pp
from puzzleport.benchmark import speed

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = "results"
"""The folder beside the page that has the figures."""
CROWD = ("fifteen", "net", "mines", "solo")
"""Of which 100,000 sessions are made at once: those of all 40 would take minutes."""
SEARCHED = 5
"""Instances of each puzzle on which searches are compared: OpenSpiel's takes seconds for one."""

Rows = list[dict[str, Any]]


def named() -> Iterator[str]:
    """All puzzles, each told when its turn comes."""
    for name in pp.puzzles():
        click.echo(f"  {name}", err=True)
        yield name


def by_puzzle(measure: Callable[[str], Any]) -> Rows:
    """A row of each puzzle."""
    return [asdict(measure(name)) for name in named()]


def gymnasium_rows(seconds: float) -> Rows:
    """Environments beside the loops underneath."""
    from puzzleport.adapters.gymnasium_bench import measure

    return by_puzzle(lambda name: measure(name, "easiest", seconds))


def reset_rows(seconds: float) -> Rows:
    """What resets cost."""
    from puzzleport.adapters.gymnasium_bench import measure_resets

    return by_puzzle(lambda name: measure_resets(name, "easiest", seconds))


def paper_rows(seconds: float) -> Rows:
    """What gym.make gives beside the paper's implementation."""
    from puzzleport.adapters.gymnasium_bench import measure_beside

    return [measure_beside(name, seconds).figures() for name in named()]


def search_rows(_: float) -> Rows:
    """Two searches on the same instances."""
    from puzzleport.adapters.openspiel_bench import PUZZLES, measure

    return [asdict(measure(name, SEARCHED)) for name in PUZZLES]


def rate_rows(seconds: float) -> Rows:
    """Simulations a second."""
    from puzzleport.adapters.openspiel_bench import measure_rates

    return [asdict(row) for row in measure_rates(seconds)]


def peer_rows(seconds: float) -> Rows:
    """Our games inside jax.jit beside environments that are written in JAX."""
    from puzzleport.adapters.jax_bench import measure_peers

    rows, _ = measure_peers(seconds)
    return [{**asdict(row), "ratio": row.ours / row.peer} for row in rows]


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
    "paper_speed": paper_rows,
    "peers": peer_rows,
    "rates": rate_rows,
    "search": search_rows,
}


BY_CLOCK = {
    "speed": ("c_loop_all", "batch_all"),
    "gymnasium": ("c_loop_all", "vector", "batch"),
    "pixels": ("batch_all",),
    "resets": ("wait", "wait_ahead"),
    "paper_speed": ("resets_in_play", "resets_in_play_times"),
    "peers": ("peer", "ours", "ratio"),
    "rates": ("both",),
}
"""What says nothing where others work beside it: then the files have nothing there, and the page leaves it out."""
MOST_OF_OTHERS = 0.2
"""How much of one core others may take."""


class Neighbours:
    """How much of the machine others take, from when this was made on."""

    def __init__(self) -> None:
        self.started, self.theirs = time.perf_counter(), self.seconds()

    @staticmethod
    def seconds() -> float:
        """Processor time of all processes on this machine but this one; 0 where that cannot be known."""
        if not Path("/proc/stat").exists():
            return 0.0
        user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
        return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK") - time.process_time()

    def cores(self) -> float:
        """How many cores they kept busy."""
        return (self.seconds() - self.theirs) / (time.perf_counter() - self.started)


def measure(part: str, seconds: float) -> Rows:
    """The rows of a part, without what others spoiled."""
    others = Neighbours()
    rows = PARTS[part](seconds)
    cores = others.cores()
    click.echo(f"  took {time.perf_counter() - others.started:.0f} seconds; others took {cores:.2f} cores", err=True)
    if cores > MOST_OF_OTHERS:
        for row in rows:
            row.update(dict.fromkeys(BY_CLOCK.get(part, ()), ""))
    return rows


class Figures:
    """One part, as it was measured."""

    def __init__(self, into: Path, part: str) -> None:
        with (into / RESULTS / f"{part}.csv").open() as file:
            self.rows = [row for row in csv.DictReader(file) if row.get("puzzle") != "geometric mean"]

    def mean(self, name: str) -> float:
        """The geometric mean of a figure."""
        return speed.geometric_mean(float(row[name]) for row in self.rows)

    def ratio(self, over: str, under: str) -> list[tuple[float, str]]:
        """The ratio of two figures of each puzzle, the least first."""
        return sorted((float(row[over]) / float(row[under]), row["puzzle"]) for row in self.rows)

    def told(self, over: str, under: str, worst: int = 0) -> str:
        """The mean of a ratio, and the puzzle where it is least (worst=0) or most (-1)."""
        ratios = self.ratio(over, under)
        return f"{speed.geometric_mean(ratio for ratio, _ in ratios):.2f} ({ratios[worst][1]} {ratios[worst][0]:.2f})"


def least(ratios: list[tuple[str, str]]) -> str:
    """The least of the ratios, and whose it is."""
    puzzle, ratio = min(ratios, key=lambda one: float(one[1]))
    return f"{float(ratio):.1f} ({puzzle})"


def machine(into: Path, apart: bool) -> str:
    """Where and when this was measured, and whether undisturbed."""
    name = platform.processor()
    if Path("/proc/cpuinfo").exists():
        found = re.search("model name\\s*: (.*)", Path("/proc/cpuinfo").read_text())
        name = found[1] if found else name
    told = f"{os.cpu_count()} cores, {name}, Python {platform.python_version()}, {datetime.now(timezone.utc).date()}"
    if apart:
        told += ", some parts measured apart"
    spoiled = [part for part, names in BY_CLOCK.items() if any(not row[names[0]] for row in Figures(into, part).rows)]
    if spoiled:
        told += f". **Others worked on the machine: what needs the clock is left out of {', '.join(spoiled)}**"
    return told


def table(*rows: tuple[str, ...]) -> str:
    """A table of Markdown; its first row is the head."""
    head, *rest = rows
    rule = "|".join(["---", *["---:"] * (len(head) - 1)])
    return "\n".join(f"| {' | '.join(row)} |" if row else f"|{rule}|" for row in (head, (), *rest))


def page(into: Path, where: str) -> str:
    """docs/speed.md."""
    loops, envs, resets, pixels = (Figures(into, part) for part in ("speed", "gymnasium", "resets", "pixels"))
    levels = {level: Figures(into, f"costs_{level}") for level in speed.LEVELS if level != "default"}
    paper = Figures(into, "paper_speed")
    each = "{:,.0f}".format
    micro = "{:.1f}".format

    def clocked(tell: Callable[[], str]) -> str:
        try:
            return tell()
        except ValueError:  # a figure that was left out
            return ""

    standing = [("", "geometric mean", "least")]
    for name, what in (
        ("env", "`gym.make`, state and mask"),
        ("pictures", "pictures"),
        ("resets", "resets, the next game made when it is asked for"),
        ("resets_in_play", "resets in play, dear games made ahead: the wait, by the clock"),
    ):
        ratios = [(row["puzzle"], row[f"{name}_times"]) for row in paper.rows]
        standing.append(
            (
                what,
                clocked(lambda ratios=ratios: f"{speed.geometric_mean(float(ratio) for _, ratio in ratios):.1f}"),  # type: ignore[misc]
                clocked(lambda ratios=ratios: least(ratios)),  # type: ignore[misc]
            )
        )
    made = {row["puzzle"]: float(row["generate_us"]) for row in levels["easiest"].rows}
    dearer = [("", "a new game in C", "a tenth of the paper's reset", "times as fast", "in play")]
    for row in sorted(paper.rows, key=lambda row: float(row["resets_times"])):
        times = float(row["resets_times"])
        if times >= 10:
            break
        in_play = clocked(lambda row=row: f"{float(row['resets_in_play_times']):.1f}")  # type: ignore[misc]
        tenth = 1e5 * times / float(row["resets"])
        dearer.append(
            (f"{row['puzzle']} {row['params']}", micro(made[row["puzzle"]]), micro(tenth), micro(times), in_play)
        )
    beside = [("our game", "theirs", "steps a second, ours", "theirs", "ratio")]
    for row in Figures(into, "peers").rows:
        told = [clocked(lambda row=row, name=name: f"{float(row[name]):,.0f}") for name in ("ours", "peer")]  # type: ignore[misc]
        ratio = clocked(lambda row=row: f"{float(row['ratio']):.1f}")  # type: ignore[misc]
        beside.append((f"{row['puzzle']} {row['params']}", row["peer_name"], *told, ratio))
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
    with (into / RESULTS / "crowd.csv").open() as file:
        crowds = [
            (f"{row['puzzle']} {row['params']}", f"{float(row['kib_each']):.1f}", f"{float(row['kib_left']):.2f}")
            for row in csv.DictReader(file)
        ]
    with (into / RESULTS / "rates.csv").open() as file:
        rates = [
            (
                row["game"],
                row["by"],
                each(float(row["one"])),
                clocked(lambda row=row: each(float(row["both"])) if float(row["both"]) else ""),  # type: ignore[misc]
                clocked(lambda row=row: f"{float(row['both']) / float(row['one']):.2f}" if float(row["both"]) else ""),  # type: ignore[misc]
            )
            for row in csv.DictReader(file)
        ]
    with (into / RESULTS / "search.csv").open() as file:
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
            (
                "C loop on both cores at once",
                clocked(lambda: each(loops.mean("c_loop_all"))),
                clocked(lambda: loops.told("c_loop_all", "c_loop")),
            ),
            ("`Session` from Python, live views", each(loops.mean("session")), ""),
            ("`Session` from Python, copies", each(loops.mean("session_copies")), ""),
            ("`Batch` of 1,024 on one thread", each(loops.mean("batch_one")), loops.told("batch_one", "c_loop")),
            (
                "`Batch` of 1,024 on both cores",
                clocked(lambda: each(loops.mean("batch_all"))),
                clocked(lambda: loops.told("batch_all", "c_loop")),
            ),
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
                clocked(lambda: each(envs.mean("vector"))),
                clocked(lambda: f"{envs.told('vector', 'batch')} of `Batch`"),
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
            (
                "wait for the next game, made when it is asked for",
                clocked(lambda: micro(resets.mean("wait"))),
                "by the clock",
            ),
            ("wait for the next game, made ahead", clocked(lambda: micro(resets.mean("wait_ahead"))), "by the clock"),
        ),
        dear=table(
            ("", "`PuzzleEnv.reset`, processor time", "wait", "wait, made ahead"),
            *(
                (
                    f"{row['puzzle']} {row['params']}",
                    micro(float(row["env"])),
                    *(clocked(lambda row=row, name=name: micro(float(row[name]))) for name in BY_CLOCK["resets"]),  # type: ignore[misc]
                )
                for row in sorted(resets.rows, key=lambda row: -float(row["env"]))[:5]
            ),
        ),
        pixels=table(
            ("", "a second", ""),
            ("`Session.step` alone", each(pixels.mean("session")), ""),
            ("step and picture, one session", each(pixels.mean("single")), ""),
            ("step and picture, a batch of 64 on one thread", each(pixels.mean("batch_one")), ""),
            (
                "the same on both cores",
                clocked(lambda: each(pixels.mean("batch_all"))),
                clocked(lambda: pixels.told("batch_all", "batch_one")),
            ),
        ),
        paper=table(*standing),
        dearer=table(*dearer),
        peers=table(*beside),
        yardstick=f"{paper.mean('yardstick'):,.0f}",
        instances=SEARCHED,
        grown=table(*grown),
        dearest="\n".join(f"- {line}" for line in dearest),
        crowds=table(("100,000 sessions of", "KiB each", "left when freed"), *crowds),
        rates=table(("game", "search", "one thread", "two threads", "ratio"), *rates),
        searches=table(("puzzle", "MCTSBot solves", "seconds", "native search solves", "seconds", "ratio"), *searches),
    )


TEMPLATE = """# Speed

{where}.

The easiest parameters of the paper where nothing else is said; figures are geometric means over the 40 puzzles, and
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

How many times as fast, by processor time where nothing else is said.
`puzzleport bench paper`, [paper_speed.csv](results/paper_speed.csv)

{paper}

Ours was measured in this run, as `gym.make` gives it. The paper's implementation was measured once, on such a machine and in
turns with ours as it was then; its rates are kept in `core/benchmark/paper/speed.csv`. How much faster or slower this machine
is just now is told by a yardstick of plain Python and NumPy, measured in turns with every puzzle ({yardstick} rounds a second
in this run); what it would have read then is known from our build of then, which was measured again beside it. So a ratio here
is one of this run times a number that relates the two days and is the same for all puzzles, and may be a tenth off. In turns with
that build itself, on 19 November 2026, it was 82 (steps), 44 (pictures) and 26 times (resets). Resets are those of a stream. The
last row is what a user waits for: a game of 1,000 random steps, some 2 milliseconds, and then the reset, as `gym.make` gives it;
the mean of all waits. In the row above it nothing was made ahead, so it says what a reset costs. Where that is less than ten
times as fast, it is the engine's search for a puzzle that nearly all of it goes to, and the paper's implementation makes the same
search, of the same engine. In microseconds:

{dearer}

Random play in Flood is over in a dozen steps, sooner than another thread can make the next game.

## Beside environments in JAX

1,024 games at once inside `jax.jit`, on all cores, with random legal actions and new games by themselves: Jumanji's and pgx's
beside ours of the same kind. `puzzleport bench peers`, [peers.csv](results/peers.csv)

{peers}

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
{instances} instances of each puzzle; seconds of processor time until all are solved.
`puzzleport bench search --instances {instances}`, [search.csv](results/search.csv)

{searches}
"""


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice([*PARTS, "page"]))
@click.option("--seconds", default=0.06, show_default=True, help="Of each measurement.")
@click.option("--into", type=click.Path(path_type=Path), default=DOCS, help="Where to write, instead of docs.")
def main(parts: tuple[str, ...], seconds: float, into: Path) -> None:
    """Measure all PARTS, or those that are named, and write docs/speed.md."""
    (into / RESULTS).mkdir(parents=True, exist_ok=True)
    for part in parts or PARTS:
        if part == "page":
            continue
        click.echo(part, err=True)
        rows = measure(part, seconds)
        with (into / RESULTS / f"{part}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(
                {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}
                for row in rows
            )
    (into / "speed.md").write_text(page(into, machine(into, apart=bool(parts))))


if __name__ == "__main__":
    main()
