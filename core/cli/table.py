"""The command table: trains and measures agents, one row for each."""

from __future__ import annotations

import io
import json
import shlex
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..agents.published import read
from ..benchmark.learned import (
    BASELINES,
    KEY,
    RECIPES,
    Played,
    add_row,
    agreement,
    baseline,
    expert_steps,
    instances,
    measure,
    measure_as,
    read_rows,
)
from ..benchmark.settings import LEVELS, level_params
from ..puzzle_spec import optimal_steps
from ..task import Task
from .common import Options, OutputFile, console
from .train import OWN, train

GOAL = 95.0
"""Percent within the bound from which on a puzzle counts as solved."""


@click.command()
@click.argument("table", type=OutputFile(".csv"))
@Options.puzzle
@click.option("--level", type=click.Choice(LEVELS), default="easiest", show_default=True, help="Which parameters.")
@click.option(
    "--recipe",
    "recipes",
    type=click.Choice([*BASELINES, *RECIPES]),
    multiple=True,
    default=[*BASELINES, "ppo"],
    show_default=True,
    help="What is measured; may be given several times.",
)
@click.option("--first-seed", "seed", default=0, show_default=True, help="Of the first agent of each puzzle.")
@click.option("--seeds", default=1, show_default=True, help="How many agents of each puzzle and recipe.")
@click.option(
    "--unsolved", is_flag=True, help=f"Only puzzles that no row solves within the bound {GOAL:g}% of the time."
)
@click.option("--episodes", default=500, show_default=True, help="Of each measurement, at most.")
@click.option(
    "--test",
    "tested",
    metavar="LEVEL",
    type=click.Choice(LEVELS),
    help="Measure on these parameters instead; the network must be one that fits boards of any size.",
)
@click.option(
    "--withhold",
    default=0.0,
    help="The share of the instances from which nothing is learned; all rows are then of those alone.",
)
@click.option(
    "--runs", type=click.Path(file_okay=False, path_type=Path), default=Path("runs"), help="Folder of the runs."
)
@click.option("--threads", default=1, show_default=True, help="That step the games.")
def table(
    table: Path,
    names: list[str],
    level: str,
    recipes: tuple[str, ...],
    seed: int,
    seeds: int,
    unsolved: bool,
    episodes: int,
    tested: str | None,
    withhold: float,
    runs: Path,
    threads: int,
) -> None:
    """Train and measure agents by fixed recipes, and write one row for each run to a CSV file.

    Rows that are there are not made again, and a run that was interrupted goes on: start it anew at any time. Several processes
    may write to one table.
    """
    if withhold or tested:
        for name in recipes:
            if name in RECIPES and RECIPES[name].algorithm not in OWN:
                raise ValueError(f"--{'withhold' if withhold else 'test'} is not for the recipe {name}")
        if withhold and tested:
            raise ValueError("--withhold and --test exclude each other: on other parameters all instances are new")
    measured = tested or level
    if withhold:
        names = [name for name in names if _can_withhold(name, level, withhold)]
    for recipe in recipes:
        for number in [""] if recipe in BASELINES else range(seed, seed + seeds):
            for puzzle in names:
                rows = read_rows(table)
                key = (puzzle, measured, recipe, str(number))
                if any(tuple(row[name] for name in KEY) == key for row in rows):
                    continue
                if unsolved and _solved(rows, puzzle, measured):
                    continue
                params = level_params(puzzle, measured)
                about = {"puzzle": puzzle, "level": measured, "params": params, "bound": optimal_steps(puzzle, params)}
                about.update(recipe=recipe, seed=number)
                if recipe in BASELINES:
                    row = {**about, **baseline(recipe, puzzle, params, episodes=episodes, withhold=withhold)}
                elif RECIPES[recipe].algorithm in OWN:
                    which = (puzzle, level, recipe, int(number))
                    row = {**about, **_trained(*which, episodes, withhold, tested and params, runs, threads)}
                else:
                    row = {**about, **_trained_by_others(puzzle, level, recipe, int(number), episodes, runs)}
                add_row(table, row)
                told = f"{puzzle} {recipe} {number}: {row['own_within']}% within the bound, {row['own_steps'] or '-'} steps"
                console.print(told, highlight=False, markup=False, soft_wrap=True)


def _can_withhold(puzzle: str, level: str, share: float) -> bool:
    """Whether instances are withheld. Where all games begin with the same sight, that cannot be told."""
    task = Task(puzzle, level_params(puzzle, level))
    why = "all games look the same at first" if task.spec.hidden else "too few instances exist"
    if task.spec.hidden or not instances(task, 1, share):
        console.print(f"{puzzle}: nothing is withheld, {why}", highlight=False, markup=False, soft_wrap=True)
        return False
    return True


def _solved(rows: list[dict[str, str]], puzzle: str, level: str) -> bool:
    return any(
        (row["puzzle"], row["level"]) == (puzzle, level)
        and row["recipe"] not in BASELINES
        and float(row["own_within"]) >= GOAL
        for row in rows
    )


def _trained(
    puzzle: str,
    level: str,
    recipe: str,
    seed: int,
    episodes: int,
    withhold: float,
    tested: str | None,
    runs: Path,
    threads: int,
) -> dict[str, Any]:
    """Train one agent, or go on with it, and measure it."""
    from ..adapters.jax_train import BEST, LAST, LATEST, RUN, forget_compiled, unseen

    command = RECIPES[recipe].command(puzzle, level, seed) + (f" --withhold {withhold:g}" if withhold else "")
    folder = runs / f"{puzzle}-{level}-{recipe}-{seed}{f'-withheld-{withhold:g}' if withhold else ''}"
    more = ["--out", str(folder), "--resume", "--episodes", "0", "--threads", str(threads), "--json"]
    train.main([*shlex.split(command)[2:], *more], standalone_mode=False)
    told = json.loads((folder / RUN).read_text(encoding="utf-8"))
    agent = read(folder / BEST)
    best = max(told["curve"], key=lambda one: (one["within"], one["spl"]))
    # Who is lost takes 10,000 steps for every game: fewer games tell enough of that.
    episodes = min(episodes, 500 if best["within"] >= 0.5 else 100 if best["within"] else 50)
    if tested:
        # The temperature was chosen on small boards. Where that is 0, who goes in a circle on a large one never leaves it.
        there = agent.on(tested)
        row = measure_as("last", read(folder / LATEST).on(tested), episodes=episodes)
        row.update(measure_as("sampled", there.at(1.0), episodes=episodes))
        row.update(measure_as("own", there, episodes=episodes))
        for name, one in (("agreed_before", agent), ("agreed", there)):
            row[name] = agreement(one, instances(Task(puzzle, one.params), episodes))
    elif withhold:
        row = measure_as("own", agent, episodes=episodes, withhold=withhold)
    else:
        row = measure(agent, episodes=episodes, unseen=unseen(folder / LAST, agent, episodes))
    forget_compiled()
    return {
        "command": command,
        "steps": told["curve"][-1]["steps"],
        "cpu_seconds": told["cpu"],
        "finished": told["finished"],
        "validation_within": round(100 * best["within"], 2),
        **row,
    }


def _trained_by_others(puzzle: str, level: str, recipe: str, seed: int, episodes: int, runs: Path) -> dict[str, Any]:
    """The same with SB3 or DreamerV3, whose last model plays. It thinks slowly: 100 games at most."""
    command = RECIPES[recipe].command(puzzle, level, seed)
    folder = runs / f"{puzzle}-{level}-{recipe}-{seed}"
    more = ["--out", str(folder), "--resume", "--episodes", str(min(episodes, 100)), "--json"]
    with redirect_stdout(io.StringIO()):  # its evaluation is told by our row
        train.main([*shlex.split(command)[2:], *more], standalone_mode=False)
    told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    kept = json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"][-1]
    task = Task(kept["puzzle"], kept["params"])
    played = Played(np.array(kept["status"]) > 0, np.array(kept["steps"]))
    expert = expert_steps(task, instances(task, len(played.steps)))
    return {
        "command": command,
        "steps": told["steps_done"] if "steps_done" in told else told["about"]["steps"],
        "cpu_seconds": told["cpu"],
        "finished": told.get("finished", "all steps are taken"),
        **played.figures("own", optimal_steps(task.puzzle, task.params), expert),
    }
