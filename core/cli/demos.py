"""The command demos."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from ..benchmark.settings import level_params
from ..game_id import random_seed
from .common import Options, emit, progress_bar


@click.command()
@Options.one_or_more
@Options.level_or_params
@click.option("--episodes", default=1000, show_default=True, help="How many the expert plays of each puzzle.")
@Options.seed
@click.option(
    "--out",
    "root",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of all datasets. Without it Minari's own: MINARI_DATASETS_PATH, or ~/.minari/datasets.",
)
@click.option("--id", "dataset_id", help="Of the dataset. Without it puzzleport/PUZZLE-PARAMS/expert-v0.")
@Options.observation
@Options.undo
@Options.max_steps
@click.option("--keep-failures", is_flag=True, help="Also keep episodes that the expert did not solve.")
@Options.timeout
@Options.formats
def demos(
    names: list[str],
    level: str,
    seed: int | None,
    root: Path | None,
    dataset_id: str | None,
    form: str | None,
    **options: Any,  # noqa: ANN401 (handed on)
) -> None:
    """Write an expert's games as a Minari dataset, with masks: demonstrations to learn from.

    No instance is one of the frozen evaluation sets' seeds. Games that the expert does not solve are left out.
    """
    from ..adapters.minari import collect_demos

    if dataset_id and len(names) > 1:
        raise ValueError("--id names one dataset, but there are several puzzles")
    options["seed"] = random_seed() if seed is None else seed
    rows = []
    for puzzle in names:
        params = level_params(puzzle, level)
        with progress_bar() as bar:
            update = partial(bar.update, bar.add_task(f"{puzzle} {params:.40}", total=options["episodes"]))
            dataset = collect_demos(
                puzzle,
                params,
                root=root,
                dataset_id=dataset_id,
                progress=lambda done, update=update: update(completed=done),  # type: ignore[misc]
                **options,
            )
        rows.append(
            {
                "dataset": dataset.id,
                "path": str(dataset.spec.data_path),
                "puzzle": puzzle,
                "params": params,
                "seed": options["seed"],
                "episodes": dataset.total_episodes,
                "steps": dataset.total_steps,
                "left out": options["episodes"] - dataset.total_episodes,
            }
        )
    emit(rows, form)
    if form is None:
        where = f"MINARI_DATASETS_PATH={root} " if root else ""
        for row in rows:
            click.echo(
                f"{row['path']}: {row['episodes']:,} episodes of {row['puzzle']} {row['params']} from seed {row['seed']}, "
                f"{row['steps']:,} steps, {row['left out']:,} left out\n"
                f"{where}python -c 'import minari; minari.load_dataset(\"{row['dataset']}\")'"
            )
