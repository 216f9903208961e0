"""The command compare."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from ..benchmark import report
from ..benchmark.results import load_rows
from .common import Options, OutputFile, check_free, console, emit

SHOWN = "Random,PPO,DreamerV3,MaskablePPO (Internal State)"


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="RESULTS...", type=click.Path(path_type=Path))
@click.option("--paper", default=SHOWN, show_default=True, help="Columns of the paper, or all, or none.")
@click.option(
    "--out",
    "outputs",
    multiple=True,
    type=OutputFile(*report.SUFFIXES),
    help="Write plots (.png, .svg), a page with everything (.html) or the table (.md, .csv). May be given several times.",
)
@Options.force
@Options.formats
def compare(sources: tuple[Path, ...], paper: str, outputs: tuple[Path, ...], force: bool, form: str | None) -> None:
    """Show results of evaluate beside the paper's, as a table and as its plots."""
    check_free(outputs, force)
    columns = {"all": list(report.ALGORITHMS), "none": []}.get(paper, paper.split(","))
    comparison = report.compare([row for path in sources for row in load_rows(path)], columns)
    for path in outputs:
        report.save(comparison, path)
    titles, lines = comparison.printed()
    shown = Table(
        *titles[:2], title="mean steps of solved episodes (solved); our first column against the paper's first"
    )
    for title in titles[2:]:
        shown.add_column(title, justify="right")
    for line in lines:
        shown.add_row(*line)
    emit(comparison.rows(), form, shown)
    if form is None:
        console.print("\n".join(report.NOTES), highlight=False, markup=False)
