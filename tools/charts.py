"""The charts: what chance reaches on each puzzle, how fast others are, and the ladder. ``python tools/charts.py`` draws them.

They are drawn from the CSV files in docs/results. ``--measure`` first plays at random again, which takes a minute. Each chart
holds the digest of what it was drawn from, so that ``python tools/docs.py --check`` can tell a stale one.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tree import ROOT

RESULTS = ROOT / "docs" / "results"
EPISODES = 1000
CHANCE, PAPER, PEERS = "chance.csv", "paper_speed.csv", "peers.csv"
RUNGS, CLIMBED = "rungs.csv", "leaderboard-rungs.csv"
MOST_NODES = 100_000
PLAYERS = {"random": ("any action", "#e0803a"), "masked": ("an action that changes something", "#3f51b5")}


def read(name: str) -> list[dict[str, str]]:
    """The rows of a file of results."""
    with (RESULTS / name).open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def measure() -> None:
    """Play every puzzle at random, for no more steps than the paper's bound."""
    import puzzleport as pp

    rows = []
    for puzzle in pp.puzzles():
        params = pp.canonical_params(puzzle, pp.spec(puzzle).easiest_params)
        bound = pp.optimal_steps(puzzle, params)
        row: dict[str, Any] = {"puzzle": puzzle, "params": params, "bound": bound}
        for policy in PLAYERS:
            played = pp.rollout(puzzle, params, policy=policy, episodes=EPISODES, seed=0, max_steps=bound)
            row[policy] = round(100 * played.success_rate, 1)
        rows.append(row)
    with (RESULTS / CHANCE).open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def chance(pyplot: Any) -> Any:  # noqa: ANN401 (matplotlib's)
    """What random play solves within the bound: the puzzles where success says something are at the bottom."""
    rows = sorted(read(CHANCE), key=lambda row: -float(row["masked"]))
    figure, axes = pyplot.subplots(figsize=(7, 8), layout="constrained")
    for at, row in enumerate(rows):
        axes.plot([0, 100], [at, at], color="#e4e4e4", linewidth=1, zorder=1)
        for policy, (_, colour) in PLAYERS.items():
            axes.plot(float(row[policy]), at, marker="o", markersize=6, color=colour, zorder=2)
    for told, colour in PLAYERS.values():
        axes.plot([], [], "o", color=colour, label=told)
    axes.set_yticks(range(len(rows)), [f"{row['puzzle']} {row['params']}" for row in rows], fontsize=8)
    axes.set(xlim=(-2, 102), ylim=(len(rows), -1), xlabel="percent of 1,000 games solved within the paper's bound")
    axes.legend(loc="lower right", frameon=False, title="random play takes")
    return figure


def speed(pyplot: Any) -> Any:  # noqa: ANN401 (matplotlib's)
    """How many times as fast as others the same work is done here."""
    from puzzleport.benchmark.speed import geometric_mean

    paper, peers = read(PAPER), [row for row in read(PEERS) if row["ratio"]]
    told = {"env": "environment with state and mask", "pictures": "environment with pictures", "resets": "new games"}
    bars = [
        (f"{what}\nbeside the paper's environment", geometric_mean(float(row[f"{kind}_times"]) for row in paper))
        for kind, what in told.items()
    ]
    bars += [
        (f"1,024 x {row['puzzle']} {row['params']}\nbeside {row['peer_name']}", float(row["ratio"])) for row in peers
    ]
    rows, ratios = zip(*bars, strict=True)
    figure, axes = pyplot.subplots(figsize=(7, 0.8 + 0.45 * len(rows)), layout="constrained")
    axes.barh(range(len(rows)), [ratio - 1 for ratio in ratios], left=1, color="#3f51b5")
    for at, ratio in enumerate(ratios):
        axes.text(max(ratio, 1) * 1.08, at, f"{ratio:.3g}x", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.set_xscale("log")
    axes.set(xlim=(0.5, 3 * max(ratios)), xlabel="times as many a second (logarithmic)")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    return figure


def ladder(puzzle: str, pyplot: Any) -> Any:  # noqa: ANN401 (matplotlib's)
    """The rungs of one puzzle: how long the way is, how much there is to search, and what chance solves."""
    rows = [row for row in read(RUNGS) if row["puzzle"] == puzzle]
    places = range(1, len(rows) + 1)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
    steps = [float(row["expert_steps"]) for row in rows]
    spread = [[float(row["expert_steps"]) - float(row["expert_low"]) for row in rows],
              [float(row["expert_high"]) - float(row["expert_steps"]) for row in rows]]  # fmt: skip
    left.errorbar(
        places, steps, [[max(0, one) for one in side] for side in spread], color="#2e7d32", marker="o", capsize=3
    )
    left.plot([], [], color="#2e7d32", marker="o", label="expert's steps, quartiles")
    searched = [(at, row["nodes"]) for at, row in zip(places, rows, strict=True) if row.get("nodes")]
    if searched:
        within = [(at, int(nodes)) for at, nodes in searched if not nodes.startswith(">")]
        beyond = [at for at, nodes in searched if nodes.startswith(">")]
        left.plot(*(zip(*within, strict=True) if within else ([], [])), color="#8e24aa", marker="s",
                  label="nodes of breadth-first search")  # fmt: skip
        left.plot(beyond, [MOST_NODES] * len(beyond), linestyle="", marker="^", color="#8e24aa",
                  label=f"more than {MOST_NODES:,} nodes")  # fmt: skip
    left.set_yscale("log")
    left.minorticks_off()
    for policy, (told, colour) in PLAYERS.items():
        size = 9 if policy == "random" else 5  # where both are equal, both can be seen
        shown = [float(row[f"{policy}_percent"]) for row in rows]
        right.plot(places, shown, marker="o", markersize=size, color=colour, label=told)
    right.set(ylim=(-4, 104), ylabel="% solved in 10,000 steps")
    for axes, title in ((left, None), (right, "random play takes")):
        axes.set_xticks(places, [row["params"] for row in rows], rotation=30, ha="right", fontsize=7)
        axes.legend(frameon=False, fontsize=7, title=title, title_fontsize=7)
    return figure


AGENTS = ("random", "masked", "search-1k", "search-100k", "published", "expert")


def climbed(pyplot: Any) -> Any:  # noqa: ANN401 (matplotlib's)
    """How far up each agent gets: the rungs from the lowest on of which it solves half within the paper's bound."""
    ladders: dict[str, list[str]] = {}
    for row in read(RUNGS):
        ladders.setdefault(row["puzzle"], []).append(row["params"])
    within = {(row["run"], row["puzzle"], row["params"]): float(row["within_bound"]) for row in read(CLIMBED)}
    runs = sorted({run for run, _, _ in within}, key=lambda run: (AGENTS.index(run) if run in AGENTS else 99, run))
    figure, axes = pyplot.subplots(figsize=(1.6 + 0.95 * len(runs), 9), layout="constrained")
    shares = []
    for at, (puzzle, rungs) in enumerate(ladders.items()):
        shares.append([])
        for column, run in enumerate(runs):
            height = next(
                (k for k, params in enumerate(rungs) if within.get((run, puzzle, params), 0) < 0.5), len(rungs)
            )
            shares[-1].append(height / len(rungs))
            colour = "white" if height / len(rungs) > 0.6 else "black"
            axes.text(column, at, f"{height}/{len(rungs)}", ha="center", va="center", fontsize=7, color=colour)
    axes.imshow(shares, cmap="YlGnBu", vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(len(ladders)), list(ladders), fontsize=8)
    axes.set_xticks(range(len(runs)), runs, fontsize=8)
    axes.xaxis.tick_top()
    axes.set_xlabel("rungs climbed: half of the games or more within the paper's bound, on it and on all below")
    return figure


def puzzles() -> list[str]:
    """All that have a ladder."""
    return list(dict.fromkeys(row["puzzle"] for row in read(RUNGS))) if (RESULTS / RUNGS).exists() else []


DRAWN: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "chance": (chance, (CHANCE,)),
    "peers": (speed, (PAPER, PEERS)),
    "climbed": (climbed, (CLIMBED,)),
    **{f"ladder/{name}": (partial(ladder, name), (RUNGS,)) for name in puzzles()},
}
"""The charts by name: what draws them, and from what."""


def digest(sources: tuple[str, ...]) -> str:
    """What tells whether a chart is of the present figures."""
    return hashlib.sha256(b"".join((RESULTS / source).read_bytes() for source in sources)).hexdigest()[:16]


def stale() -> Iterator[Path]:
    """Charts that were not drawn from the present figures."""
    for name, (_, sources) in DRAWN.items():
        chart = RESULTS / f"{name}.svg"
        if not chart.exists() or digest(sources) not in chart.read_text(encoding="utf-8"):
            yield chart


def draw(again: bool = False) -> None:
    """Draw the charts that are stale, or all again."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "puzzleport"  # the same figures give the same file
    from matplotlib import pyplot

    old = set(stale())
    for name, (chart, sources) in DRAWN.items():
        path = RESULTS / f"{name}.svg"
        if path not in old and not again:
            continue
        path.parent.mkdir(exist_ok=True)
        # Forty small charts: letters as text, not as drawings, make them a tenth as large.
        mpl.rcParams["svg.fonttype"] = "none" if name.startswith("ladder/") else "path"
        figure = chart(pyplot)
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
        about = {"Date": None, "Description": f"drawn from {', '.join(sources)}, digest {digest(sources)}"}
        figure.savefig(path, metadata=about)
        pyplot.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="play at random again first")
    if parser.parse_args().measure:
        measure()
    draw(again=True)
