"""The command demos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..benchmark.evaluation import level_params
from ..puzzle_spec import canonical_params
from .common import Puzzle, Short, emit, progress_bar


@click.command()
@click.option("--puzzle", type=Puzzle(), required=True, help="What is played.")
@click.option("--level", default="easiest", help="easiest, human, default, or parameters.")
@click.option("--episodes", default=1000, help="How many the expert plays.")
@click.option("--seed", default=0, help="Of the stream of instances.")
@click.option(
    "--out",
    "root",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of all datasets. Without it Minari's own: MINARI_DATASETS_PATH, or ~/.minari/datasets.",
)
@click.option("--id", "dataset_id", help="Of the dataset. Without it puzzleport/PUZZLE-PARAMS/expert-v0.")
@click.option(
    "--observation", type=click.Choice(["state", "flat", "one-hot"]), default="state", help="What the dataset shows."
)
@click.option("--undo/--no-undo", default=False, help="UNDO among the actions.")
@click.option("--max-steps", default=10_000, help="After which an episode is cut off.")
@click.option("--keep-failures", is_flag=True, help="Keep episodes that the expert did not solve too.")
@click.option("--timeout", default=60.0, help="Seconds that generating one instance may take.")
@Short.formats
def demos(puzzle: str, level: str, root: Path | None, form: str | None, **options: Any) -> None:  # noqa: ANN401 (handed on)
    """Write an expert's games as a Minari dataset, with masks: demonstrations to learn from.

    No instance is one of the frozen evaluation sets' seeds. Games that the expert does not solve are left out.
    """
    from ..adapters.minari import collect_demos

    params = canonical_params(puzzle, level_params(puzzle, level))
    episodes = options["episodes"]
    with progress_bar() as bar:
        task = bar.add_task(f"{puzzle} {params}", total=episodes)
        dataset = collect_demos(
            puzzle, params, root=root, progress=lambda done: bar.update(task, completed=done), **options
        )
    about = {
        "dataset": dataset.id,
        "path": str(dataset.spec.data_path),
        "puzzle": puzzle,
        "params": params,
        "episodes": dataset.total_episodes,
        "steps": dataset.total_steps,
        "left out": episodes - dataset.total_episodes,
    }
    emit([about], form)
    if form is None:
        where = f"MINARI_DATASETS_PATH={root} " if root else ""
        click.echo(
            f"{about['path']}: {about['episodes']:,} episodes of {puzzle} {params}, {about['steps']:,} steps, "
            f"{about['left out']:,} left out\n{where}python -c 'import minari; minari.load_dataset(\"{dataset.id}\")'"
        )
