"""The command train."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import click

from ..benchmark.evaluation import PAPER_EPISODES, level_params, save
from ..benchmark.evaluation import evaluate as measure
from ..puzzle_spec import canonical_params
from .common import Puzzle, Short, console, emit, errors, figure, progress_bar

NAMES = ("maskable_ppo", "ppo", "trpo", "a2c", "dqn", "qrdqn", "recurrent_ppo")


@click.command()
@click.option("--algo", "algorithm", type=click.Choice(NAMES), default="maskable_ppo", help="Of SB3 or sb3-contrib.")
@click.option("--puzzle", type=Puzzle(), required=True, help="What to learn.")
@click.option("--level", default="easiest", help="easiest, human, default, or parameters.")
@click.option("--steps", default=2_000_000, help="Of training in all; the paper's two million.")
@click.option("--seed", default=0, help="Of the instances and the network.")
@click.option("--envs", default=16, help="How many games are played together.")
@click.option(
    "--observation",
    type=click.Choice(["state", "flat", "one-hot", "pixels"]),
    default="state",
    help="What the agent sees; the paper's baselines see the state.",
)
@click.option("--undo/--no-undo", default=False, help="UNDO among the actions.")
@click.option("--max-steps", default=10_000, help="After which a training episode is cut off.")
@click.option("--max-repeats", default=0, help="Of one state, at which a training episode is cut off; 0 for never.")
@click.option(
    "--set", "pairs", multiple=True, metavar="NAME=VALUE", help="A setting of the algorithm, such as n_steps=256."
)
@click.option("--every", default=50_000, help="Save after so many steps.")
@click.option("--out", "folder", type=click.Path(file_okay=False, path_type=Path), help="The folder of the run.")
@click.option("--resume", is_flag=True, help="Go on with the run in that folder.")
@click.option("--episodes", default=PAPER_EPISODES, help="Of the evaluation at the end; 0 for none.")
@Short.formats
def train(
    level: str,
    pairs: tuple[str, ...],
    folder: Path | None,
    episodes: int,
    form: str | None,
    **options: Any,  # noqa: ANN401 (handed on)
) -> None:
    """Train an agent, and evaluate it as the paper does.

    The folder gets model.zip, run.json, TensorBoard's logs and results.json. Ctrl-C saves what is learned.
    JSON and CSV are of the evaluation.
    """
    from ..adapters.sb3_train import ModelPolicy, load_model
    from ..adapters.sb3_train import train as learn

    puzzle = options["puzzle"]
    params = canonical_params(puzzle, level_params(puzzle, level))
    folder = folder or Path("runs") / f"{options['algorithm']}-{puzzle}-{params}-{options['seed']}"
    settings = dict(map(_setting, pairs))
    try:
        with progress_bar() as bar:
            task = bar.add_task(f"{options['algorithm']} {puzzle} {params}", total=options["steps"])
            path = learn(
                params=params,
                folder=folder,
                settings=settings,
                progress=lambda done: bar.update(task, completed=done),
                **options,
            )
    except KeyboardInterrupt:
        errors.print(f"puzzleport: interrupted; --resume --out {folder} goes on", markup=False, highlight=False)
        raise SystemExit(130) from None
    if form is None:
        console.print(f"trained: {path}", highlight=False, markup=False)
    rows = []
    if episodes:
        undo = options["undo"]
        policy = ModelPolicy(load_model(path), puzzle, params, undo)
        with progress_bar() as bar:
            task = bar.add_task("evaluating", total=episodes)
            result = measure(
                policy,
                puzzle,
                params,
                episodes=episodes,
                undo=undo,
                name=options["algorithm"],
                progress=lambda one: bar.update(task, completed=len(one.steps)),
            )
        save([result], folder / "results.json")
        row = result.summary()
        rows.append(row)
        if form is None:
            measured = figure(row["mean_successful_steps"], row["success_percent"])
            bound = f"optimal ≤ {row['optimal_upper_bound']:,}"
            console.print(f"{puzzle} {params}: {measured} steps, {bound}", highlight=False)
    emit(rows, form)


def _setting(pair: str) -> tuple[str, Any]:
    """A setting as Python would read it; what is no literal is text."""
    name, equals, value = pair.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(f"a setting is written NAME=VALUE, not {pair!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
