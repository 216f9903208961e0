"""The command train."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..benchmark.evaluation import evaluate as measure
from ..benchmark.evaluation_sets import SIZE
from ..benchmark.results import PAPER_EPISODES, save
from ..benchmark.settings import level_params
from ..errors import quote
from ..game_id import names_instance, random_seed
from .common import Options, RewardPairs, console, emit, errors, progress_bar, steps_and_success

NAMES = ("maskable_ppo", "ppo", "trpo", "a2c", "dqn", "qrdqn", "recurrent_ppo")
EVALSET = "v1"


@click.command()
@click.option(
    "--algo",
    "algorithm",
    type=click.Choice(NAMES),
    default="maskable_ppo",
    show_default=True,
    help="Of Stable-Baselines3 or sb3-contrib.",
)
@Options.one_or_more
@Options.level_or_params
@click.option("--steps", default=2_000_000, show_default=True, help="How many are trained; the paper's two million.")
@click.option("--seed", type=int, help="Of the instances and the network. Without it, one is drawn and printed.")
@click.option("--num-envs", default=16, show_default=True, help="How many games are played together.")
@Options.observation
@Options.undo
@Options.max_steps
@Options.max_repeats
@Options.timeout
@click.option(
    "--reward",
    "rewards",
    type=RewardPairs(),
    help=f"What is paid, such as solved=1,step=-0.01. There are {', '.join(RewardPairs.names)}.",
)
@click.option("--device", default="auto", show_default=True, help="Where the network is: auto, cpu, cuda.")
@click.option(
    "--set", "pairs", multiple=True, metavar="NAME=VALUE", help="A setting of the algorithm, such as n_steps=256."
)
@click.option("--every", default=50_000, show_default=True, help="The model is saved after so many steps.")
@click.option(
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the run. With several puzzles, each has a folder in it.",
)
@click.option("--resume", is_flag=True, help="Go on with the run in that folder.")
@click.option("--episodes", default=PAPER_EPISODES, show_default=True, help="Of the evaluation at the end; 0 for none.")
@Options.formats
def train(
    names: list[str],
    level: str,
    seed: int | None,
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
    if options["resume"] and folder is None:
        raise ValueError("--resume needs --out, the folder of the run")
    if seed is None and not options["resume"]:
        seed = random_seed()
    settings = dict(map(_setting, pairs))
    rows = []
    for puzzle in names:
        params = level_params(puzzle, level)
        run = f"{options['algorithm']}-{puzzle}-{re.sub('[^A-Za-z0-9#]+', '_', params)[:80]}-{seed}"
        place = Path("runs") / run if folder is None else folder if len(names) == 1 else folder / puzzle
        path = _train(puzzle, params, place, form, settings=settings, seed=seed, **options)
        if episodes:
            rows.append(_evaluate(puzzle, params, path, episodes, options, form))
    emit(rows, form)


def _train(
    puzzle: str,
    params: str,
    folder: Path,
    form: str | None,
    **options: Any,  # noqa: ANN401 (handed on)
) -> Path:
    """Train one agent with a live bar, and print what it came to."""
    from ..adapters.sb3_train import train as learn

    last: list[Any] = []
    with _training_bar() as bar:
        show = _shown_on(bar, f"{options['algorithm']} {puzzle} {params:.40}", options["steps"])

        def progress(report: Any) -> None:  # noqa: ANN401 (the adapter's Report)
            last[:] = [report]
            show(report)

        try:
            path = learn(puzzle=puzzle, params=params, folder=folder, progress=progress, **options)
        except KeyboardInterrupt:
            bar.stop()
            errors.print(f"puzzleport: interrupted; --resume --out {folder} goes on", markup=False, highlight=False)
            raise SystemExit(130) from None
    if form is None:
        told = f"{last[0].steps:,} steps, {_figures(last[0])}, seed {options['seed']}" if last else "no steps were left"
        told = told.replace(", seed None", "")
        console.print(f"trained {puzzle} {params}: {told}\n{path}", highlight=False, markup=False, soft_wrap=True)
    return path


def _evaluate(
    puzzle: str, params: str, path: Path, episodes: int, options: dict[str, Any], form: str | None
) -> dict[str, Any]:
    """Evaluate what was trained, on instances that no training meets; the row of its result."""
    evalset = EVALSET if episodes <= SIZE and not names_instance(params) else None
    with progress_bar() as bar:
        task = bar.add_task("evaluating", total=episodes)
        result = measure(
            str(path),
            puzzle,
            params,
            episodes=episodes,
            undo=options["undo"],
            timeout=options["timeout"],
            evalset=evalset,
            name=options["algorithm"],
            progress=lambda one: bar.update(task, completed=len(one.steps)),
        )
    save([result], path.parent / "results.json")
    row = result.summary()
    if form is None:
        measured = steps_and_success(row["mean_successful_steps"], row["success_percent"])
        told = f"evaluated {puzzle} {params}: {measured} steps, bound {row['optimal_upper_bound']:,}, {row['seeds']}"
        console.print(told, highlight=False, markup=False, soft_wrap=True)
    return row


# ---- the bar


def _training_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=errors,
        transient=True,
    )


def _shown_on(bar: Progress, title: str, total: int) -> Callable[[Any], None]:
    """What shows reports on a bar. Rate and time left count the time for optimisation, too."""
    task = bar.add_task(title, total=total, figures="", left="")
    started, first = time.monotonic(), -1

    def show(report: Any) -> None:  # noqa: ANN401 (the adapter's Report)
        nonlocal first
        first = report.steps if first < 0 else first
        rate = (report.steps - first) / max(time.monotonic() - started, 1e-9)
        seconds = max(total - report.steps, 0) / rate if rate else 0
        left = f"{seconds // 3600:.0f}:{seconds // 60 % 60:02.0f}:{seconds % 60:02.0f} left" if rate else ""
        doing = f", update {report.updates:,}" if report.updates else ""
        figures = f"{rate:,.0f} steps/s, {_figures(report)}{doing}"
        bar.update(task, completed=min(report.steps, total), figures=figures, left=left)

    return show


def _figures(report: Any) -> str:  # noqa: ANN401 (the adapter's Report)
    """Mean reward and success of the last episodes."""
    reward = "-" if report.reward is None else f"{report.reward:.3g}"
    return f"reward {reward}, solved {'-' if report.success is None else f'{report.success:.0%}'}"


def _setting(pair: str) -> tuple[str, Any]:
    """A setting as Python would read it; what is no literal is text."""
    name, equals, value = pair.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(f"a setting is written NAME=VALUE, not {quote(pair)}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
