"""Fill the tables of docs/model-based.md and draw its curves.

    python tools/model_based_table.py --runs runs

It reads what ``puzzleport table docs/results/model-based.csv`` and ``puzzleport ablation docs/results/ablation.csv`` wrote.
The learning curves of the runs in the folder, where it is given, are kept in docs/results/model-based-curves.csv.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from puzzleport.benchmark.learned import BASELINES, read_rows
from puzzleport.benchmark.paper import table as paper_table
from puzzleport.benchmark.results import as_csv
from puzzleport.benchmark.settings import level_params
from puzzleport.files import write

ROOT = Path(__file__).parents[1]
PAGE, RESULTS = ROOT / "docs" / "model-based.md", ROOT / "docs" / "results"
CURVES = RESULTS / "model-based-curves.csv"
PUZZLES = ("fifteen", "net", "flood", "bridges", "dominosa", "netslide", "samegame", "mines", "guess", "blackbox")
RECIPES = ("alphazero", "muzero")
Row = dict[str, str]


def keep_curves(rows: list[Row], runs: Path) -> None:
    """Copy the learning curves of the runs; those of runs that are not there stay."""
    known = {}
    for one in read_rows(CURVES):
        known.setdefault((one["puzzle"], one["recipe"], one["seed"]), []).append(one)
    for row in rows:
        path = runs / f"{row['puzzle']}-{row['level']}-{row['recipe']}-{row['seed']}" / "curve.csv"
        if path.exists():
            about = {name: row[name] for name in ("puzzle", "recipe", "seed")}
            known[tuple(about.values())] = [{**about, **one} for one in read_rows(path)]
    write(CURVES, as_csv([one for key in sorted(known) for one in known[key]]))


def shown(row: Row | None, expert: Row | None = None) -> str:
    """Steps, and the percentage within the bound; in bold where the steps are within 20% of the expert's."""
    if row is None:
        return "not run"
    steps = f"{float(row['own_steps']):,.1f}" if row["own_steps"] else "-"
    near = expert is not None and float(row["own_within"]) >= 95 and row["own_steps"] != ""
    if near and expert is not None and float(row["own_steps"]) <= 1.2 * float(expert["own_steps"]):
        steps = f"**{steps}**"
    return f"{steps} ({float(row['own_within']):.1f}%)"


def paper(puzzle: str, algorithm: str) -> str:
    """The paper's figure: steps, and the percentage that is solved within 10,000."""
    params = {
        level_params(puzzle, "easiest"),
        next(r["easiest"] for r in paper_table("parameters") if r["puzzle"] == puzzle),
    }
    for row in paper_table("results"):
        if row["puzzle"] == puzzle and row["params"] in params and row["algorithm"] == algorithm:
            return f"{float(row['mean_successful_steps']):,.0f} ({row['success_percent']}%)"
    return "-"


def figures(rows: list[Row]) -> str:
    """The table of the ten puzzles."""

    def of(puzzle: str, recipe: str) -> Row | None:
        found = [row for row in rows if (row["puzzle"], row["recipe"]) == (puzzle, recipe)]
        return found[0] if found else None

    lines = [
        "| puzzle | bound | random | masked random | expert | AlphaZero | MuZero | the paper's MuZero | the paper's DreamerV3 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for puzzle in PUZZLES:
        expert = of(puzzle, "expert")
        cells = [shown(of(puzzle, name)) for name in BASELINES] + [shown(of(puzzle, name), expert) for name in RECIPES]
        bound = f"{puzzle} {level_params(puzzle, 'easiest')} | {expert['bound'] if expert else '-'}"
        lines.append(f"| {bound} | {' | '.join(cells)} | {paper(puzzle, 'MuZero')} | {paper(puzzle, 'DreamerV3')} |")
    return "\n".join(lines)


def cost(rows: list[Row]) -> str:
    """What the trainings took."""
    lines = [
        "| puzzle | recipe | steps | CPU seconds | ended because | command |",
        "| --- | --- | ---: | ---: | --- | --- |",
    ]
    own = [row for row in rows if row["recipe"] in RECIPES]
    for row in own:
        why, what = row["finished"] or "it was stopped", row["command"]
        lines.append(
            f"| {row['puzzle']} | {row['recipe']} | {int(row['steps']):,} | {row['cpu_seconds']} | {why} | `{what}` |"
        )
    hours = sum(float(row["cpu_seconds"]) for row in own) / 3600
    return "\n".join(lines) + f"\n\n{len(own)} runs, {hours:.2f} CPU hours of training."


def ablation() -> str:
    """Ours beside the paper's."""
    ours = {(row["puzzle"], row["max_steps"], row["max_repeats"]): row for row in read_rows(RESULTS / "ablation.csv")}
    lines = [
        "| puzzle | longest episode | ends at repeats | masked PPO | of it within the bound | the paper's DreamerV3 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in paper_table("ablation"):
        own = ours.get((row["puzzle"], row["max_steps"], row["max_repeats"]))
        mine, within = "not run", ""
        if own:
            mine = f"{float(own['mean_steps'] or 'nan'):,.1f} ({float(own['success']):.1f}%)".replace("nan", "-")
            within = f"{float(own['within']):.1f}%"
        told = "-"
        if row["success_percent"]:
            told = f"{float(row['mean_successful_steps']):,.1f} ({row['success_percent']}%)"
        limit, ends = f"{int(row['max_steps']):,}", row["max_repeats"] if row["max_repeats"] != "0" else "no"
        lines.append(f"| {row['puzzle']} {row['params']} | {limit} | {ends} | {mine} | {within} | {told} |")
    return "\n".join(lines)


def chart() -> None:
    """Steps of validation games beside the expert's, by steps of training."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "puzzleport"  # the same figures give the same file
    import matplotlib.pyplot as plt

    curves = read_rows(CURVES)
    figure, both = plt.subplots(1, 2, figsize=(12, 4), sharey=True)
    for axes, what in zip(both, ("steps", "cpu_seconds"), strict=True):
        for i, puzzle in enumerate(PUZZLES):
            for recipe, line in zip(RECIPES, ("-", ":"), strict=True):
                own = [one for one in curves if (one["puzzle"], one["recipe"]) == (puzzle, recipe)]
                name = f"{puzzle}, {recipe}" if own else None
                x, y = [float(one[what]) for one in own], [float(one["spl"]) for one in own]
                axes.plot(x, y, line, color=f"C{i}", label=name, marker=".")
        axes.set_xlabel({"steps": "steps of training", "cpu_seconds": "CPU seconds, compiling included"}[what])
    both[0].set_ylabel("SPL of validation games")
    both[1].legend(loc="lower right", fontsize="small")
    figure.savefig(RESULTS / "model-based-curves.svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def main() -> None:
    """Fill the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, help="folder of the runs whose curves are kept")
    chosen = parser.parse_args()
    rows = read_rows(RESULTS / "model-based.csv")
    if chosen.runs:
        keep_curves(rows, chosen.runs)
    # What needs no training was measured on the same instances for the page of the other agents.
    rows += [
        row for row in read_rows(RESULTS / "agents.csv") if row["recipe"] in BASELINES and row["level"] == "easiest"
    ]
    text = PAGE.read_text(encoding="utf-8")
    for name, content in {"figures": figures(rows), "cost": cost(rows), "ablation": ablation()}.items():
        mark = re.compile(f"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not mark.search(text):
            raise SystemExit(f"{PAGE} has no mark {name}")
        text = mark.sub(lambda found, content=content: f"{found[1]}\n{content}\n\n{found[2]}", text)
    write(PAGE, text)
    chart()


if __name__ == "__main__":
    main()
