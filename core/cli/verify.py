"""The command verify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ..benchmark.leaderboard import is_entry, publish, whole_ladder
from ..benchmark.recording import SUFFIX, Header
from ..benchmark.score import MEASURES, Figure, figures
from ..benchmark.verification import scored
from ..benchmark.verification import verify as replay
from .common import Options, check_free, console, emit, progress_bar


@click.command()
@click.argument("recordings", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--publish",
    "published",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Write the run without what proves nothing, for the leaderboard, to a file that ends in {SUFFIX}.",
)
@Options.force
@Options.formats
def verify(recordings: tuple[Path, ...], published: Path | None, force: bool, form: str | None) -> None:
    """Replay recordings of evaluate and print what they are worth: for each setting, each puzzle and all together.

    Refuses what does not hold what it claims, and says where. Several recordings are runs of one agent with different
    seeds of its own: they must have played the same settings. Of runs on the evaluation set v2 the last row is the whole
    ladder, where a rung that was not played counts as not solved.
    """
    if published is not None:
        if len(recordings) != 1 or not published.name.endswith(SUFFIX):
            raise ValueError(f"--publish takes one recording, and a name that ends in {SUFFIX}")
        check_free([published], force)
    runs = []
    with progress_bar() as bar:
        for path in recordings:
            task_id = bar.add_task(path.name, total=None)

            def progress(header: Header, played: int, task_id: Any = task_id) -> None:  # noqa: ANN401 (rich's)
                bar.update(task_id, completed=played, total=header.episodes, description=f"{header.puzzle:.20}")

            runs.append(replay(path, progress))
        bar.update(task_id, description="the expert")
        settings = scored(runs)
    rows = []
    for setting, result in zip(settings, runs[0].results, strict=True):
        rows.append(_row(setting.puzzle, setting.params, result.episodes, result.seeds, figures([setting])))
        of_puzzle = [one for one in settings if one.puzzle == setting.puzzle]
        if len(of_puzzle) > 1 and setting is of_puzzle[-1]:
            played = sum(one.episodes for one in runs[0].results if one.puzzle == setting.puzzle)
            rows.append(_row(setting.puzzle, "all", played, result.seeds, figures(of_puzzle)))
    seeds = ", ".join(dict.fromkeys(result.seeds for result in runs[0].results))
    games = sum(result.episodes for result in runs[0].results)
    rows.append(_row("all", "", games, seeds, figures(settings)))
    if all(map(is_entry, runs)):
        rows.append(_row("all", "whole ladder", games, seeds, figures(whole_ladder(settings))))
    elif published is not None:
        raise ValueError("the leaderboard takes runs on the evaluation set v2")
    if published is not None:
        publish(recordings[0], published)
    table = Table("puzzle", "params", title=f"{runs[0].policy[:80]}, replayed")
    for title in ("games", *(measure.replace("_", " ") for measure in MEASURES)):
        table.add_column(title, justify="right")
    for row in rows:
        shown = (str(Figure(row[name], _interval(row, name))) for name in MEASURES)
        table.add_row(row["puzzle"], row["params"], f"{row['games']:,}", *shown, end_section=row["params"] == "all")
    emit(rows, form, table)
    if form is None:
        console.print(
            "spl: solved, times the expert's steps over the larger of the expert's and one's own. "
            f"all: the interquartile mean over puzzles. In brackets: 95% bootstrap intervals.\n{seeds}",
            highlight=False,
            markup=False,
        )


def _row(puzzle: str, params: str, games: int, seeds: str, told: dict[str, Figure]) -> dict[str, Any]:
    row: dict[str, Any] = {"puzzle": puzzle, "params": params, "games": games, "seeds": seeds}
    for name, figure in told.items():
        low, high = figure.interval or (None, None)
        row |= {name: figure.mean, f"{name}_low": low, f"{name}_high": high}
    return row


def _interval(row: dict[str, Any], name: str) -> tuple[float, float] | None:
    return None if row[f"{name}_low"] is None else (row[f"{name}_low"], row[f"{name}_high"])
