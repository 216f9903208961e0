"""The charts that compare: what chance reaches on each puzzle, and how fast others are. ``python tools/charts.py`` draws them.

They are drawn from the CSV files in docs/results. ``--measure`` first plays at random again, which takes a minute. Each chart
holds the digest of what it was drawn from, so that ``python tools/docs.py --check`` can tell a stale one.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tree import ROOT

RESULTS = ROOT / "docs" / "results"
EPISODES = 1000
CHANCE, PEERS = "chance.csv", "peers.csv"
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
    rows = read(PEERS)
    ratios = [float(row["ratio"]) for row in rows]
    figure, axes = pyplot.subplots(figsize=(7, 0.8 + 0.45 * len(rows)), layout="constrained")
    axes.barh(range(len(rows)), [ratio - 1 for ratio in ratios], left=1, color="#3f51b5")
    for at, ratio in enumerate(ratios):
        axes.text(max(ratio, 1) * 1.08, at, f"{ratio:g}x", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{row['ours']}\nbeside {row['peer']}" for row in rows], fontsize=8)
    axes.set_xscale("log")
    axes.set(xlim=(0.5, 3 * max(ratios)), xlabel="times as many a second (logarithmic)")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    return figure


DRAWN = {"chance": (chance, CHANCE), "peers": (speed, PEERS)}
"""The charts by name: what draws them, and from what."""


def digest(source: str) -> str:
    """What tells whether a chart is of the present figures."""
    return hashlib.sha256((RESULTS / source).read_bytes()).hexdigest()[:16]


def stale() -> Iterator[Path]:
    """Charts that were not drawn from the present figures."""
    for name, (_, source) in DRAWN.items():
        chart = RESULTS / f"{name}.svg"
        if not chart.exists() or digest(source) not in chart.read_text(encoding="utf-8"):
            yield chart


def draw() -> None:
    """Draw all charts."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "puzzleport"  # the same figures give the same file
    from matplotlib import pyplot

    for name, (chart, source) in DRAWN.items():
        figure = chart(pyplot)
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
        about = {"Date": None, "Description": f"drawn from {source}, digest {digest(source)}"}
        figure.savefig(RESULTS / f"{name}.svg", metadata=about)
        pyplot.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="play at random again first")
    if parser.parse_args().measure:
        measure()
    draw()
