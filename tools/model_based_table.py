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
RECIPES = ("alphazero", "muzero", "dreamer")
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


def shown(rows: list[Row], expert: Row | None = None) -> str:
    """Steps, and the percentage within the bound; in bold where the steps are within 20% of the expert's.

    Of several seeds the mean, and from the least to the most.
    """
    if not rows:
        return "not run"
    steps, within = ([float(row[name]) for row in rows if row[name]] for name in ("own_steps", "own_within"))
    length = spread(steps, "{:,.1f}") if steps else "-"
    near = expert is not None and min(within) >= 95 and len(steps) == len(rows)
    if near and expert is not None and max(steps) <= 1.2 * float(expert["own_steps"]):
        length = f"**{length}**"
    return f"{length} ({spread(within, '{:.1f}%')})"


def spread(values: list[float], form: str) -> str:
    """The mean, and of several values that differ from where to where they go."""
    low, high = form.format(min(values)), form.format(max(values))
    mean = form.format(sum(values) / len(values))
    return mean if low == high else f"{mean}, {low} to {high}"


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

    def of(puzzle: str, recipe: str) -> list[Row]:
        return [row for row in rows if (row["puzzle"], row["recipe"]) == (puzzle, recipe)]

    names = ["random", "masked random", "expert", "AlphaZero", "MuZero", "DreamerV3"]
    names += ["the paper's MuZero", "the paper's DreamerV3"]
    lines = [f"| puzzle | bound | {' | '.join(names)} |", "| --- |" + " ---: |" * (len(names) + 1)]
    for puzzle in PUZZLES:
        expert = next(iter(of(puzzle, "expert")), None)
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
        "| puzzle | longest episode | ends at repeats | random | masked random | masked PPO | of it within the bound "
        "| the paper's DreamerV3 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]

    def told(row: Row, steps: str, success: str) -> str:
        return f"{float(row[steps]):,.1f} ({float(row[success]):.1f}%)" if row[steps] else "- (0.0%)"

    for row in paper_table("ablation"):
        own = ours.get((row["puzzle"], row["max_steps"], row["max_repeats"]))
        mine, within, chance = "not run", "", ["", ""]
        if own:
            mine, within = told(own, "mean_steps", "success"), f"{float(own['within']):.1f}%"
            chance = [told(own, f"{who}_mean_steps", f"{who}_success") for who in ("random", "masked")]
        theirs = told(row, "mean_successful_steps", "success_percent") if row["success_percent"] else "-"
        limit, ends = f"{int(row['max_steps']):,}", row["max_repeats"] if row["max_repeats"] != "0" else "no"
        cells = [f"{row['puzzle']} {row['params']}", limit, ends, *chance, mine, within, theirs]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def chart() -> None:
    """How the agents learn: those in JAX by validation games, DreamerV3 by the episodes that it trains on."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "puzzleport"  # the same figures give the same file
    import matplotlib.pyplot as plt

    curves = [one for one in read_rows(CURVES) if one["seed"] == "0"]
    figure, axes = plt.subplots(2, 2, figsize=(12, 8.5), layout="constrained")
    labels = {"steps": "steps of training", "cpu_seconds": "CPU seconds, set-up and compiling included"}
    places = (("alphazero", "cpu_seconds"), ("muzero", "cpu_seconds"), ("dreamer", "steps"), ("dreamer", "cpu_seconds"))
    for one, (recipe, by) in zip(axes.flat, places, strict=True):
        height = "reward" if recipe == "dreamer" else "spl"
        for i, puzzle in enumerate(PUZZLES):
            own = [row for row in curves if (row["puzzle"], row["recipe"]) == (puzzle, recipe)]
            if own:
                x, y = ([float(row[name]) for row in own] for name in (by, height))
                one.plot(x, y, color=f"C{i}", label=puzzle, marker=".")
        one.set(title={"alphazero": "AlphaZero", "muzero": "MuZero", "dreamer": "DreamerV3"}[recipe], xlabel=labels[by])
        one.set_ylabel("return of the last 100 episodes" if recipe == "dreamer" else "SPL of validation games")
        if one.lines:
            one.legend(loc="lower right", fontsize="small")
    figure.savefig(RESULTS / "model-based-curves.svg", metadata={"Date": None})
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
