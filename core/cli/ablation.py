"""The command ablation: the paper's study of episode length and early termination."""

from __future__ import annotations

import csv
import io
import json
import shlex
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import click

from ..benchmark.learned import instances, play_baseline
from ..benchmark.paper import table as paper_table
from ..benchmark.results import as_csv
from ..files import write
from ..puzzle_spec import optimal_steps
from ..task import Task
from .common import OutputFile, console
from .train import DREAMER, train

PUZZLES = tuple(dict.fromkeys(row["puzzle"] for row in paper_table("ablation")))
SETTINGS = {
    "ppo": "--set num_envs=16 --set rollout=128 --set updates=800",
    DREAMER: "",
    "sb3-maskable-ppo": "",
}
"""Of each algorithm, so that an episode can get that long: PPO in JAX starts new games in every round of updates."""
KEY = ("puzzle", "algorithm", "max_steps", "max_repeats", "seed")
CHANCE = ("random", "masked")
"""Who plays the same instances without having learned anything."""
FIGURES = ("success", "mean_steps", "within")
ABOUT = ("params", "steps", "cpu_seconds", "episodes", *FIGURES, "bound")
COLUMNS = (*KEY, *ABOUT, *(f"{who}_{what}" for who in CHANCE for what in FIGURES), "command")


@click.command()
@click.argument("table", type=OutputFile(".csv"))
@click.option(
    "--puzzle", "puzzles", type=click.Choice(PUZZLES), multiple=True, help="May be given several times; all without it."
)
@click.option(
    "--algo", "algorithm", type=click.Choice(list(SETTINGS)), default="ppo", show_default=True, help="Who learns."
)
@click.option("--steps", default=2_000_000, show_default=True, help="Of each training.")
@click.option("--seed", type=int, help="Of each training; 0 without it.")
@click.option("--episodes", default=100, show_default=True, help="Of each evaluation, of at most 10,000 steps.")
@click.option(
    "--runs", type=click.Path(file_okay=False, path_type=Path), default=Path("runs"), help="Folder of the runs."
)
def ablation(
    table: Path, puzzles: tuple[str, ...], algorithm: str, steps: int, seed: int | None, episodes: int, runs: Path
) -> None:
    """Train with episodes of at most 10,000 and 100,000 steps, with and without early termination, as the paper does.

    Ten puzzles at the human level, four settings each: an episode ends at the limit, or as soon as a state is seen more than
    10 times. One row of the CSV file for each, which tells beside it what random and masked random play solve; rows that are
    there are not made again, and a run that was interrupted goes on.
    """
    seed = seed or 0
    for row in paper_table("ablation"):
        puzzle, limit, repeats = row["puzzle"], int(row["max_steps"]), int(row["max_repeats"])
        if puzzles and puzzle not in puzzles:
            continue
        key = (puzzle, algorithm, str(limit), str(repeats), str(seed))
        rows = _rows(table)
        if any(tuple(one[name] for name in KEY) == key for one in rows):
            continue
        words = f"puzzleport train --algo {algorithm} --puzzle {puzzle} --level human --max-steps {limit}"
        words += f" --max-repeats {repeats} {SETTINGS[algorithm]}".rstrip() + f" --steps {steps} --seed {seed}"
        folder = runs / "-".join(key[i] for i in (1, 0, 2, 3, 4))
        made = dict(zip(KEY, key, strict=True))
        made.update(command=f"{words} --episodes {episodes}", **_trained(words, folder, episodes))
        made.update(_chance(puzzle, made["params"], made["episodes"]))
        rows = sorted([*rows, made], key=lambda one: (one["puzzle"], int(one["max_steps"]), -int(one["max_repeats"])))
        write(table, as_csv([{name: one.get(name, "") for name in COLUMNS} for one in rows]))
        told = (
            f"{puzzle} {limit:,} steps, {f'{repeats} repeats' if repeats else 'to the end'}: {made['success']}% solved"
        )
        console.print(told, highlight=False, markup=False, soft_wrap=True)


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def _trained(words: str, folder: Path, episodes: int) -> dict[str, Any]:
    """Train one agent, or go on with it; what it reaches."""
    more = ["--out", str(folder), "--resume", "--episodes", str(episodes), "--json"]
    with redirect_stdout(io.StringIO()):  # its evaluation is told by our row
        train.main([*shlex.split(words)[2:], *more], standalone_mode=False)
    told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    kept = json.loads((folder / "results.json").read_text(encoding="utf-8"))["results"][-1]
    bound = optimal_steps(kept["puzzle"], kept["params"])
    curve = told.get("curve") or [{}]
    return {
        "params": kept["params"],
        "steps": curve[-1].get("steps", told.get("about", {}).get("steps", "")),
        "cpu_seconds": told.get("cpu", ""),
        "episodes": len(kept["steps"]),
        **_figures([one > 0 for one in kept["status"]], kept["steps"], bound),
        "bound": bound,
    }


@cache
def _chance(puzzle: str, params: str, episodes: int) -> dict[str, Any]:
    """What play by chance reaches on the same instances, in as many steps."""
    task, bound, row = Task(puzzle, params), optimal_steps(puzzle, params), {}
    for who in CHANCE:
        played = play_baseline(who, task, instances(task, episodes))
        figures = _figures(played.solved.tolist(), played.steps.tolist(), bound)
        row.update({f"{who}_{name}": value for name, value in figures.items()})
    return row


def _figures(solved: list[bool], steps: list[int], bound: int) -> dict[str, Any]:
    """Percent solved, mean steps of those, percent solved within the bound."""
    lengths = [one for one, good in zip(steps, solved, strict=True) if good]
    return {
        "success": round(100 * len(lengths) / len(steps), 2),
        "mean_steps": round(sum(lengths) / len(lengths), 1) if lengths else "",
        "within": round(100 * sum(one <= bound for one in lengths) / len(steps), 2),
    }
