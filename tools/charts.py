"""The charts of the pages on results, drawn from the CSV files beside them.

    python tools/charts.py                    # draws docs/charts/*.svg
    python tools/charts.py --curves runs      # first takes the learning curves of the runs of `puzzleport table`

Each chart holds the digest of what it was drawn from, so that ``python tools/docs.py --check`` can tell a stale one.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tree import ROOT

RESULTS = ROOT / "docs" / "results"
CHARTS = ROOT / "docs" / "charts"
RUN = re.compile(r"(?P<puzzle>[a-z]+)-(?P<level>[a-z]+)-(?P<recipe>[\w-]+)-(?P<seed>\d+)")
"""How ``puzzleport table`` names the folder of a run."""
PLAYERS = {
    "random": ("random play", "#b0b0b0"),
    "masked": ("random legal play", "#7f8c99"),
    "plain-ppo": ("PPO without masks", "#c9a227"),
    "ppo": ("PPO with masks", "#3f51b5"),
    "dagger": ("taught by the expert", "#2e8b57"),
    "dagger-axial": ("taught, attention network", "#8e44ad"),
    "expert": ("the expert", "#222222"),
}
"""The recipes of agents.csv that are drawn, in this order: what they are called, and their colours."""
COLOUR = "#3f51b5"


def read(name: str) -> list[dict[str, str]]:
    """The rows of a file of results."""
    with (RESULTS / name).open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def gather(runs: Path) -> None:
    """Write the learning curves of all runs of a folder to curves.csv."""
    rows = []
    for path in sorted(runs.glob("*/curve.csv")):
        named = RUN.fullmatch(path.parent.name)
        if named is None:
            continue
        with path.open(encoding="utf-8", newline="") as source:
            for row in csv.DictReader(source):
                within = round(100 * float(row["within"]), 1)
                rows.append({**named.groupdict(), "steps": row["steps"], "within": within})
    if not rows:
        sys.exit(f"there is no run of `puzzleport table` in {runs}")
    with (RESULTS / "curves.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# ---- the charts


def within(pyplot: Any) -> Any:  # noqa: ANN401 (matplotlib's)
    """Success within the bound, for each puzzle and player."""
    best: dict[str, dict[str, float]] = {}
    for row in read("agents.csv"):
        if row["level"] == "easiest" and row["recipe"] in PLAYERS and row["own_within"]:
            of_puzzle = best.setdefault(row["puzzle"], {})
            of_puzzle[row["recipe"]] = max(float(row["own_within"]), of_puzzle.get(row["recipe"], 0.0))
    figure, axes = pyplot.subplots(figsize=(7, 1 + 0.26 * len(best)), layout="constrained")
    for at, of_puzzle in enumerate(best.values()):
        axes.plot([0, 100], [at, at], color="#e4e4e4", linewidth=1, zorder=1)
        for recipe, percent in of_puzzle.items():
            axes.plot(percent, at, marker="o", markersize=7, color=PLAYERS[recipe][1], alpha=0.85, zorder=2)
    shown = [recipe for recipe in PLAYERS if any(recipe in of_puzzle for of_puzzle in best.values())]
    for recipe in shown:
        axes.plot([], [], "o", color=PLAYERS[recipe][1], label=PLAYERS[recipe][0])
    axes.set_yticks(range(len(best)), list(best))
    axes.set(xlim=(-3, 103), xlabel="percent of games solved within the paper's bound on steps")
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=min(len(shown), 4), frameon=False)
    return figure


def curves(pyplot: Any) -> Any:  # noqa: ANN401 (matplotlib's)
    """What an agent solves within the bound as it learns."""
    runs: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for row in read("curves.csv"):
        key = row["puzzle"], row["recipe"], row["seed"]
        runs.setdefault(key, []).append((float(row["steps"]) / 1e6, float(row["within"])))
    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for (puzzle, recipe, seed), points in runs.items():
        # An agent that has learned nothing yet solves about nothing.
        steps, percent = zip((0.0, 0.0), *points, strict=True)
        several = sum(one[:2] == (puzzle, recipe) for one in runs) > 1
        axes.plot(steps, percent, marker="o", markersize=3, label=f"{puzzle}{f', seed {seed}' if several else ''}")
    axes.set(xlabel="million steps", ylabel="percent within the bound", ylim=(-3, 103), xlim=(0, None))
    axes.legend(frameon=False, ncols=2)
    return figure


def speed(pyplot: Any) -> Any:  # noqa: ANN401 (matplotlib's)
    """How many times as fast as others the same work is done here."""
    rows = read("peers.csv")
    figure, axes = pyplot.subplots(figsize=(7, 0.8 + 0.42 * len(rows)), layout="constrained")
    ratios = [float(row["ratio"]) for row in rows]
    axes.barh(range(len(rows)), ratios, left=0, color=[COLOUR if ratio >= 1 else "#b0455a" for ratio in ratios])
    for at, ratio in enumerate(ratios):
        axes.text(ratio * 1.08, at, f"{ratio:g}x", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [f"{row['ours']}\nagainst {row['peer']}" for row in rows], fontsize=8)
    axes.set_xscale("log")
    axes.set(xlim=(0.5, 3 * max(ratios)), xlabel="times as many a second (logarithmic); 1 is as fast")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    return figure


DRAWN = {"within": (within, "agents.csv"), "curves": (curves, "curves.csv"), "speed": (speed, "peers.csv")}
"""The charts by name: what draws them, and from what."""


def digest(source: str) -> str:
    """What tells whether a chart is of the present figures."""
    return hashlib.sha256((RESULTS / source).read_bytes()).hexdigest()[:16]


def stale() -> Iterator[Path]:
    """Charts that were not drawn from the present figures."""
    for name, (_, source) in DRAWN.items():
        chart = CHARTS / f"{name}.svg"
        if not chart.exists() or digest(source) not in chart.read_text():
            yield chart


def draw(folder: Path = CHARTS) -> None:
    """Draw all charts."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "puzzleport", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    for name, (chart, source) in DRAWN.items():
        figure = chart(pyplot)
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
        about = {"Date": None, "Description": f"drawn from {source}, digest {digest(source)}"}
        figure.savefig(folder / f"{name}.svg", metadata=about)
        pyplot.close(figure)


def main() -> None:
    """Gather if asked to, then draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curves", type=Path, metavar="RUNS", help="take the learning curves of these runs")
    chosen = parser.parse_args()
    if chosen.curves:
        gather(chosen.curves)
    draw()


if __name__ == "__main__":
    main()
