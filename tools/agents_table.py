"""Publish the best trained agents, and write docs/agents.md and its charts, from the table that ``puzzleport table`` makes.

    python tools/agents_table.py publish docs/results/agents.csv --runs runs
    python tools/agents_table.py page docs/results/agents.csv

``publish`` copies the best agent of each puzzle into the package, with its model card, and its learning curve into the docs.
``page`` draws the charts and fills the tables of the page between its marks; all else in it is written by hand.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

import puzzleport as pp
from puzzleport.agents import sight
from puzzleport.agents.published import read
from puzzleport.benchmark.learned import BASELINES, RECIPES, SB3, interval, read_rows
from puzzleport.benchmark.paper import table as paper_table
from puzzleport.benchmark.settings import level_params
from puzzleport.files import write
from puzzleport.studio import PLAYED

ROOT = Path(__file__).parents[1]
TRAINED = ROOT / "core" / "agents" / "trained"
PAGE = ROOT / "docs" / "agents.md"
RESULTS = ROOT / "docs" / "results"
CURVES = RESULTS / "agents-curves.csv"
NUMBERS = ("seed", "bound", "steps", "cpu_seconds", "validation_within", "temperature")
FIGURES = ("episodes", "success", "within", "steps", "spl")
BESIDE = (*BASELINES, "plain-ppo", *SB3)
"""What stands beside our agents: it is measured, and never published."""
Row = dict[str, str]


def best(rows: list[Row], puzzle: str, level: str) -> Row | None:
    """The first seed's agent by the recipe with the most games within the bound; of equals the one with the shorter ways.

    The mean over seeds decides between recipes, and nothing between seeds: the luckiest of several would look better than it is.
    """
    own = [row for row in rows if (row["puzzle"], row["level"]) == (puzzle, level) and row["recipe"] not in BESIDE]

    def rank(recipe: str) -> tuple[float, ...]:
        seeds = [row for row in own if row["recipe"] == recipe]
        return tuple(sum(float(row[name]) for row in seeds) / len(seeds) for name in ("own_within", "own_spl"))

    chosen = max({row["recipe"]: None for row in own}, key=rank, default=None)
    return min((row for row in own if row["recipe"] == chosen), key=lambda row: int(row["seed"]), default=None)


def number(text: str) -> float | int | str:
    """A cell as a number where it is one."""
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and "." not in text else value


# ---- publish


def publish(rows: list[Row], runs: Path, least: float) -> None:
    """Copy agents that solve at least so many percent within the bound."""
    TRAINED.mkdir(exist_ok=True)
    curves: list[dict[str, Any]] = []
    for row in rows:
        folder = runs / f"{row['puzzle']}-{row['level']}-{row['recipe']}-{row['seed']}"
        if row["recipe"] in BASELINES or not (folder / "curve.csv").exists():
            continue
        with (folder / "curve.csv").open(encoding="utf-8", newline="") as source:
            about = {name: row[name] for name in ("puzzle", "level", "recipe", "seed")}
            curves += [{**about, **one} for one in csv.DictReader(source)]
        chosen = best(rows, row["puzzle"], row["level"])
        if row is not chosen or float(row["own_within"]) < least:
            continue
        name = f"{row['puzzle']}-{row['level']}"
        if (kind := read(folder / "best.safetensors").shape.kind) not in PLAYED:
            print(f"{name} is left out: the pages cannot play a {kind} network")
            continue
        shutil.copyfile(folder / "best.safetensors", TRAINED / f"{name}.safetensors")
        write(TRAINED / f"{name}.json", json.dumps(card(row), indent=1) + "\n")
        print(name, row["recipe"], row["own_within"])
    if curves:
        known = []
        if CURVES.exists():
            with CURVES.open(encoding="utf-8", newline="") as source:
                known = list(csv.DictReader(source))
        keys = ("puzzle", "level", "recipe", "seed")
        fresh = {tuple(one[name] for name in keys) for one in curves}
        rest = [one for one in known if tuple(one[name] for name in keys) not in fresh]
        from puzzleport.benchmark.results import as_csv

        ordered = sorted([*rest, *curves], key=lambda one: (*(one[name] for name in keys), int(one["steps"])))
        write(CURVES, as_csv(ordered))


def card(row: Row) -> dict[str, Any]:
    """The model card of a row."""
    recipe = RECIPES[row["recipe"]]
    low, high = interval(float(row["own_within"]) / 100 * int(row["own_episodes"]), int(row["own_episodes"]))
    names = [f"{how}_{what}" for how in ("own", "sampled", "greedy") for what in FIGURES]
    return {
        "puzzle": row["puzzle"],
        "level": row["level"],
        "params": row["params"],
        "recipe": row["recipe"],
        "algorithm": recipe.algorithm,
        "command": row["command"],
        **{name: number(row[name]) for name in NUMBERS},
        "finished": row["finished"],
        "evaluation": "the first instances of the evaluation set v1, at most 10,000 steps, without UNDO; percentages",
        "figures": {name: number(row[name]) for name in (*names, "unseen_episodes", "unseen_within")},
        "within_interval_95": [round(100 * low, 2), round(100 * high, 2)],
        "engine": "20250730.a7c7826",
    }


# ---- the page


def cell(row: Row | None, name: str, digits: int = 1) -> str:
    """A figure, or why there is none."""
    if row is None:
        return "not run"
    return f"{float(row[name]):,.{digits}f}" if row[name] else "-"


def of(rows: list[Row], puzzle: str, level: str, recipe: str) -> list[Row]:
    """The rows of a puzzle by one recipe."""
    return [row for row in rows if (row["puzzle"], row["level"], row["recipe"]) == (puzzle, level, recipe)]


def papers(puzzle: str, params: str) -> dict[str, Row]:
    """What the paper tells of its algorithms on a setting, by their names."""
    return {
        row["algorithm"]: row
        for row in paper_table("results")
        if row["puzzle"] == puzzle and pp.canonical_params(puzzle, row["params"]) == params
    }


def papers_best(puzzle: str, params: str) -> str:
    """The paper's agent with the fewest steps among those that solve the most."""
    found = [
        row
        for name, row in papers(puzzle, params).items()
        if name != "Random" and row["success_percent"] and row["mean_successful_steps"]
    ]
    if not found:
        return "-"
    one = max(found, key=lambda row: (float(row["success_percent"]), -float(row["mean_successful_steps"])))
    return f"{float(one['mean_successful_steps']):,.0f} ({float(one['success_percent']):.1f}%), {one['algorithm']}"


def summary(rows: list[Row], level: str) -> str:
    """The main table: one line for each puzzle."""
    lines = [
        "| puzzle | bound | random | masked random | expert steps | best recipe | within the bound | steps | SPL "
        "| within 10,000 | sampled | greedy | unseen | the paper's best: steps (solved) |",
        "| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for puzzle in pp.puzzles():
        params = pp.canonical_params(puzzle, getattr(pp.spec(puzzle), f"{level}_params"))
        base = {name: next(iter(of(rows, puzzle, level, name)), None) for name in BASELINES}
        row = best(rows, puzzle, level)
        unseen = "not run"
        if row is not None:
            count = row["unseen_episodes"]
            unseen = (
                "cannot be told"
                if count == ""
                else "none"
                if count == "0"
                else f"{cell(row, 'unseen_within')} of {count}"
            )
        lines.append(
            f"| {puzzle} {params} | {pp.optimal_steps(puzzle, params):,} | {cell(base['random'], 'own_within')} "
            f"| {cell(base['masked'], 'own_within')} | {cell(base['expert'], 'own_steps')} "
            f"| {row['recipe'] if row else 'not run'} | {cell(row, 'own_within')} | {cell(row, 'own_steps')} "
            f"| {cell(row, 'own_spl', 3)} | {cell(row, 'own_success')} | {cell(row, 'sampled_within')} "
            f"| {cell(row, 'greedy_within')} | {unseen} | {papers_best(puzzle, params)} |"
        )
    return "\n".join(lines)


def by_recipe(rows: list[Row], level: str) -> str:
    """Success within the bound of every recipe: the mean over its seeds, and from the worst to the best."""
    used = [name for name in RECIPES if any(row["recipe"] == name and row["level"] == level for row in rows)]
    lines = ["| puzzle | " + " | ".join(used) + " |", "| --- |" + " ---: |" * len(used)]
    for puzzle in pp.puzzles():
        cells = []
        for name in used:
            found = [float(row["own_within"]) for row in of(rows, puzzle, level, name)]
            mean = f"{sum(found) / len(found):.1f}" if found else "not run"
            cells.append(
                mean + (f" ({min(found):.1f} to {max(found):.1f}, {len(found)} seeds)" if len(found) > 1 else "")
            )
        lines.append(f"| {puzzle} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def counts(rows: list[Row], level: str) -> str:
    """How many puzzles are solved, and what it took."""
    chosen = [row for puzzle in pp.puzzles() if (row := best(rows, puzzle, level)) is not None]
    trained = [row for row in rows if row["level"] == level and row["recipe"] not in BASELINES]
    hours = {
        what: (len(some), sum(float(row["cpu_seconds"]) for row in some) / 3600)
        for what in (False, True)
        if (some := [row for row in trained if (row["recipe"] in BESIDE) == what])
    }
    lines = ["| | puzzles |", "| --- | ---: |", f"| with a trained agent | {len(chosen)} of 40 |"]
    for least in (100, 95, 90, 50):
        count = sum(float(row["own_within"]) >= least for row in chosen)
        lines.append(f"| at least {least}% within the bound | {count} |")
    expert = {row["puzzle"]: row for row in rows if row["recipe"] == "expert" and row["level"] == level}
    as_fast = sum(
        float(row["own_within"]) >= 95 and float(row["own_steps"]) <= float(expert[row["puzzle"]]["own_steps"])
        for row in chosen
        if row["puzzle"] in expert
    )
    beside = sum(float(row["own_within"]) >= 95 and row["puzzle"] in expert for row in chosen)
    lines.append(
        f"| as few steps as the expert, or fewer, of the {beside} with 95% where the expert was measured | {as_fast} |"
    )
    by_seed = [[float(one["own_within"]) for one in of(rows, row["puzzle"], level, row["recipe"])] for row in chosen]
    several = [one for one in by_seed if len(one) > 1]
    lines.append(
        f"| at least 95% by every seed, of the {len(several)} with two or more | {sum(min(one) >= 95 for one in several)} |"
    )
    told = "{} runs, {:.2f} CPU hours of training on one core"
    more = (
        f"; of plain PPO and Stable-Baselines3, which stand beside them, {told.format(*hours[True])}"
        if True in hours
        else ""
    )
    return "\n".join(lines) + f"\n\n{told.format(*hours[False])}{more}."


def beside(rows: list[Row], puzzle: str, level: str) -> str:
    """Cells of what needs no training: random and masked random play within the bound, the expert's steps."""
    base = {name: next(iter(of(rows, puzzle, level, name)), None) for name in BASELINES}
    figures = (("random", "own_within"), ("masked", "own_within"), ("expert", "own_within"), ("expert", "own_steps"))
    return " | ".join(cell(base[name], figure) for name, figure in figures)


PAPERS = {
    "random": "Random",
    "ppo": "MaskablePPO (Internal State)",
    "plain-ppo": "PPO",
    "sb3-maskable-ppo": "MaskablePPO (Internal State)",
    "sb3-ppo": "PPO",
    "sb3-trpo": "TRPO",
    "sb3-a2c": "A2C",
    "sb3-dqn": "DQN",
    "sb3-qrdqn": "QRDQN",
    "sb3-recurrent-ppo": "RecurrentPPO",
}
"""The paper's algorithm of each recipe that is one of its."""


def by_algorithm(rows: list[Row], level: str) -> str:
    """The paper's summary rows again: each recipe over all puzzles that were run, and the paper's agents on the same puzzles."""
    lines = [
        "| recipe | puzzles | seeds | solved within 10,000 | within the bound | mean steps within the bound "
        "| the paper's algorithm | solved | mean steps within the bound |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: |",
    ]
    for recipe in (*BASELINES, *RECIPES):
        found = {puzzle: seeds for puzzle in pp.puzzles() if (seeds := of(rows, puzzle, level, recipe))}
        if not found:
            continue
        name = PAPERS.get(recipe)
        kept = [(papers(puzzle, seeds[0]["params"])[name], seeds[0]) for puzzle, seeds in found.items() if name]
        solved = [float(row["success_percent"] or 0) for row, _ in kept]
        steps = [(row["mean_successful_steps"], float(own["bound"])) for row, own in kept]
        quick = sum(float(mean) <= bound for mean, bound in steps if mean)
        counts = [len(seeds) for seeds in found.values()]
        several = " to ".join(map(str, dict.fromkeys((min(counts), max(counts)))))
        lines.append(
            f"| {recipe} | {len(found)} | {'-' if recipe in BASELINES else several} "
            f"| {_mean(found, 'own_success'):.1f} | {_mean(found, 'own_within'):.1f} "
            f"| {sum(_within_on_average(seeds) for seeds in found.values())} "
            f"| {f'{name} | {sum(solved) / len(solved):.1f} | {quick}' if name else '- | - | -'} |"
        )
    return "\n".join(lines)


def _mean(found: dict[str, list[Row]], name: str) -> float:
    """A figure's mean over puzzles, of each the mean over its seeds."""
    return fmean(fmean(float(row[name]) for row in seeds) for seeds in found.values())


def _mean_steps(seeds: list[Row]) -> float | None:
    """Of the games that were solved, the mean over the seeds that solved any."""
    steps = [float(row["own_steps"]) for row in seeds if row["own_steps"]]
    return fmean(steps) if steps else None


def _within_on_average(seeds: list[Row]) -> bool:
    """The paper's measure: games that are solved take at most the bound on average, however few they are."""
    steps = _mean_steps(seeds)
    return steps is not None and steps <= float(seeds[0]["bound"])


def by_setting(rows: list[Row], human: list[Row]) -> str:
    """The paper's whole table again: on each of its settings what our agents reach, and below it what the paper's do."""
    lines = [f"| puzzle | bound | {' | '.join(PAPERS)} |", "| --- | ---: |" + " ---: |" * len(PAPERS)]
    done = 0
    settings = dict.fromkeys((row["puzzle"], row["params"]) for row in paper_table("results"))
    for puzzle, told in settings:
        params = pp.canonical_params(puzzle, told)
        theirs, cells = papers(puzzle, params), []
        for recipe, name in PAPERS.items():
            seeds = [
                row
                for row in (*rows, *human)
                if (row["puzzle"], row["params"], row["recipe"]) == (puzzle, params, recipe)
            ]
            done += bool(seeds)
            cells.append(f"{_ours(seeds)}<br>*{_theirs(theirs[name])}*")
        lines.append(f"| {puzzle} {params} | {pp.optimal_steps(puzzle, params):,} | {' | '.join(cells)} |")
    return "\n".join(lines) + f"\n\n{done} of {len(settings) * len(PAPERS)} cells were run."


def _ours(seeds: list[Row]) -> str:
    """Mean steps of solved games, how many are solved, and how many within the bound."""
    if not seeds:
        return "not run"
    steps = _mean_steps(seeds)
    solved, within = (fmean(float(row[name]) for row in seeds) for name in ("own_success", "own_within"))
    return f"{'-' if steps is None else f'{steps:,.0f}'} ({solved:.0f}%) **{within:.0f}%**"


def _theirs(row: Row) -> str:
    """Mean steps of solved games and how many are solved, as the paper tells them."""
    if not row["mean_successful_steps"]:
        return "-"
    return f"{float(row['mean_successful_steps']):,.0f} ({float(row['success_percent']):.0f}%)"


FEW = 5
"""Fewer instances than these say little."""
COLUMNS = "random | masked random | expert | expert steps"


def withheld(rows: list[Row], main: list[Row], level: str) -> str:
    """What agents reach on instances that were withheld from training, by the best recipe for that.

    Where no instance of the main table's games was ever met in training, nothing need be withheld.
    """
    lines = [
        f"| puzzle | withheld instances | games | {COLUMNS} | recipe | within the bound | within 10,000 | steps | SPL |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    found = []
    for puzzle in pp.puzzles():
        row, base = best(rows, puzzle, level), beside(rows, puzzle, level)
        params = pp.canonical_params(puzzle, getattr(pp.spec(puzzle), f"{level}_params"))
        if row is None:
            row = best(main, puzzle, level)
            if row is None or row["unseen_episodes"] != row["own_episodes"]:
                hidden, some = (
                    pp.spec(puzzle).hidden,
                    of(rows, puzzle, level, "expert"),
                )  # the expert plays what there is
                why = "cannot be told" if hidden else "not run" if some else "none"
                lines.append(f"| {puzzle} {params} | {why} |" + " - |" * 10)
                continue
            row, base = {**row, "instances": row["unseen_episodes"]}, beside(main, puzzle, level)
        found.append(row)
        lines.append(
            f"| {puzzle} {params} | {row['instances']}{'' if 'withhold' in row['command'] else ', never met'} "
            f"| {row['own_episodes']} | {base} | {row['recipe']} | {cell(row, 'own_within')} | {cell(row, 'own_success')} "
            f"| {cell(row, 'own_steps')} | {cell(row, 'own_spl', 3)} |"
        )
    several = [row for row in found if int(row["instances"]) >= FEW]
    told = ", ".join(
        f"{sum(float(row['own_within']) >= least for row in found)} reach {least}% "
        f"({sum(float(row['own_within']) >= least for row in several)} of the {len(several)} with {FEW} instances or more)"
        for least in (95, 80, 50)
    )
    return "\n".join(lines) + f"\n\nOf {len(found)} puzzles with such instances, {told}."


def trained_at(rows: list[Row], level: str) -> str:
    """What agents reach at a level, by the best recipe of each puzzle that was run."""
    lines = [
        f"| puzzle | bound | {COLUMNS} | recipe | games | within the bound | within 10,000 | steps | SPL | unseen |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    found = [row for puzzle in pp.puzzles() if (row := best(rows, puzzle, level)) is not None]
    if not found:
        return "None was run yet."
    for row in found:
        new = row["unseen_episodes"]
        unseen = "cannot be told" if new == "" else "none" if new == "0" else f"{cell(row, 'unseen_within')} of {new}"
        lines.append(
            f"| {row['puzzle']} {row['params']} | {int(row['bound']):,} | {beside(rows, row['puzzle'], level)} "
            f"| {row['recipe']} | {row['own_episodes']} | {cell(row, 'own_within')} | {cell(row, 'own_success')} "
            f"| {cell(row, 'own_steps')} | {cell(row, 'own_spl', 3)} | {unseen} |"
        )
    told = ", ".join(
        f"{sum(float(row['own_within']) >= least for row in found)} reach {least}%" for least in (95, 80, 50)
    )
    return "\n".join(lines) + f"\n\nOf {len(found)} puzzles, {told}."


def as_human(rows: list[Row]) -> list[Row]:
    """The rows of puzzles whose easiest parameters are those of the human level too."""
    alike = {name for name in pp.puzzles() if level_params(name, "easiest") == level_params(name, "human")}
    return [{**row, "level": "human"} for row in rows if row["puzzle"] in alike and row["level"] == "easiest"]


def larger(rows: list[Row], level: str) -> str:
    """What agents reach on boards larger than those that they were trained on."""
    lines = [
        "| puzzle | trained on | recipe | tested on | bound | random | masked random | expert | last agent | best agent "
        "| its steps | SPL | with drawn actions | expert's keys: before | there |",
        "| --- | --- | --- | --- |" + " ---: |" * 11,
    ]
    for puzzle in pp.puzzles():
        small = pp.canonical_params(puzzle, pp.spec(puzzle).easiest_params)
        base = [(next(iter(of(rows, puzzle, level, name)), None), "own") for name in BASELINES]
        for recipe in (name for name in RECIPES if of(rows, puzzle, level, name)):
            (row,) = of(rows, puzzle, level, recipe)
            sizes = [small, *(sight.larger(puzzle, small) if RECIPES[recipe].options.get("also") == "larger" else ())]
            both = [
                f"{cell(one, f'{name}_within')} ({cell(one, f'{name}_success')})"
                for one, name in (*base, (row, "last"), (row, "own"), (row, "sampled"))
            ]
            lines.append(
                f"| {puzzle} | {', '.join(sizes)} | {recipe} | {row['params']} | {int(row['bound']):,} "
                f"| {' | '.join(both[:-1])} | {cell(row, 'own_steps')} | {cell(row, 'own_spl', 3)} | {both[-1]} "
                f"| {cell(row, 'agreed_before')} | {cell(row, 'agreed')} |"
            )
    return "\n".join(lines)


def page(rows: list[Row], level: str) -> None:
    """Fill the page and draw its charts."""
    text = PAGE.read_text(encoding="utf-8")
    more = {name: read_rows(RESULTS / f"agents-{name}.csv") for name in ("withheld", "human", "larger", "pixels")}
    parts = {
        "counts": counts(rows, level),
        "summary": summary(rows, level),
        "algorithms": by_algorithm(rows, level),
        "settings": by_setting(rows, more["human"]),
        "recipes": by_recipe(rows, level),
        "withheld": withheld(more["withheld"], rows, level),
        "human": trained_at([*more["human"], *as_human(rows)], "human"),
        "larger": larger(more["larger"], "human"),
        "pixels": trained_at([*more["pixels"], *(row for row in rows if row["recipe"] in BASELINES)], level),
    }
    for name, content in parts.items():
        mark = re.compile(f"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        if not mark.search(text):
            raise SystemExit(f"{PAGE} has no mark {name}")
        text = mark.sub(lambda found, content=content: f"{found[1]}\n{content}\n\n{found[2]}", text)
    write(PAGE, text)
    charts(rows, level)


def charts(rows: list[Row], level: str) -> None:
    """The heat map, the bars of path lengths, and the learning curves."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "puzzleport"  # the same figures give the same file
    import matplotlib.pyplot as plt

    folder = RESULTS
    keep: dict[str, Any] = {"metadata": {"Date": None}, "bbox_inches": "tight"}
    names = pp.puzzles()
    used = [
        name for name in (*BASELINES, *RECIPES) if any(row["recipe"] == name and row["level"] == level for row in rows)
    ]
    figure, axes = plt.subplots(figsize=(12, 0.45 * len(used) + 1.5))
    grid = []
    for recipe in used:
        found = [[float(row["own_within"]) for row in of(rows, puzzle, level, recipe)] for puzzle in names]
        grid.append([sum(one) / len(one) if one else float("nan") for one in found])
    shown = axes.imshow(grid, aspect="auto", vmin=0, vmax=100, cmap="viridis")
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(used)), used)
    axes.set_facecolor("0.9")
    figure.colorbar(shown, label="% within the bound; grey: not run")
    figure.savefig(folder / "agents-heat.svg", **keep)
    plt.close(figure)

    chosen = [row for puzzle in names if (row := best(rows, puzzle, level)) is not None]
    figure, axes = plt.subplots(figsize=(12, 3))
    axes.bar([row["puzzle"] for row in chosen], [float(row["own_spl"]) for row in chosen], label="best agent")
    for recipe, told, mark in (("masked", "random legal actions", "o"), ("random", "random actions", "x")):
        base = [row for one in chosen for row in of(rows, one["puzzle"], level, recipe)]
        spl = [float(row["own_spl"]) for row in base]
        axes.scatter([row["puzzle"] for row in base], spl, color="black", marker=mark, s=18, label=told)
    axes.set_ylabel("success weighted by path length")
    axes.set_ylim(0, 1.02)
    axes.margins(x=0.01)
    axes.tick_params(axis="x", rotation=90)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
    figure.savefig(folder / "agents-spl.svg", **keep)
    plt.close(figure)

    with CURVES.open(encoding="utf-8", newline="") as source:
        curves = [one for one in csv.DictReader(source) if one["level"] == level]
    figure, both = plt.subplots(1, 2, figsize=(12, 4), sharey=True)
    kinds = {name: f"C{i}" for i, name in enumerate(RECIPES)}
    for puzzle, recipe, seed in sorted({(one["puzzle"], one["recipe"], one["seed"]) for one in curves}):
        own = [one for one in curves if (one["puzzle"], one["recipe"], one["seed"]) == (puzzle, recipe, seed)]
        within = [100 * float(one["within"]) for one in own]
        for axes, what in zip(both, ("steps", "cpu_seconds"), strict=True):
            axes.plot([float(one[what]) for one in own], within, color=kinds[recipe], alpha=0.5, lw=1)
    for axes, what in zip(both, ("steps of training", "CPU seconds"), strict=True):
        axes.set_xlabel(what)
    both[0].set_xscale("log")
    both[0].set_ylabel("% of validation games within the bound")
    for name in dict.fromkeys(one["recipe"] for one in curves):  # a set would draw another file every time
        both[1].plot([], [], color=kinds[name], label=name)
    both[1].legend(loc="lower right")
    figure.savefig(folder / "agents-curves.svg", **keep)
    plt.close(figure)


def main() -> None:
    """Publish, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["publish", "page"])
    parser.add_argument("table", type=Path)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--level", default="easiest")
    parser.add_argument(
        "--least", type=float, default=50.0, help="percent within the bound of an agent that is published"
    )
    chosen = parser.parse_args()
    rows = read_rows(chosen.table)
    if chosen.what == "publish":
        publish(rows, chosen.runs, chosen.least)
    else:
        page(rows, chosen.level)


if __name__ == "__main__":
    main()
