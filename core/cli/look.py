"""Commands that show what there is: list, show, demo."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path

import click
from rich.progress import track
from rich.table import Table

from ..animation import record
from ..batch import rollout
from ..benchmark import speed
from ..puzzle_spec import canonical_params, puzzles, spec
from ..session import Session
from .common import Options, OutputFile, PuzzleName, check_free, console, emit, errors


@click.command(name="list")
@Options.formats
def list_puzzles(form: str | None) -> None:
    """List all puzzles, with their actions and levels."""
    if form == "json":
        emit([asdict(spec(name)) for name in puzzles()], form)
        return
    columns = ("puzzle", "title", "actions", "easiest", "human")
    table, rows = Table(*columns), []
    for about in map(spec, puzzles()):
        row = (about.name, about.title, " ".join(about.actions), about.easiest_params, about.human_params)
        rows.append(dict(zip(columns, row, strict=True)))
        table.add_row(*row)
    emit(rows, form, table)


@click.command()
@click.argument("puzzle", type=PuzzleName())
@click.argument("params", required=False)
@click.option("--seed", type=int, help="Which instance to show. Without it, any.")
@click.option("--png", type=OutputFile(".png"), help="Write a picture instead.")
@click.option("--size", default=256, help="Width and height of the picture.")
@Options.force
@Options.formats
def show(
    puzzle: str, params: str | None, seed: int | None, png: Path | None, size: int, force: bool, form: str | None
) -> None:
    """Show a puzzle: rules, actions, parameters, fields, presets and a board. CSV has the fields only."""
    check_free([png] if png else [], force)
    about = spec(puzzle)
    fields = [{**asdict(field), "dtype": str(field.dtype)} for field in about.fields(params)]
    if form == "json":
        click.echo(json.dumps({**asdict(about), "fields": fields}, indent=1))
        return
    if form == "csv":
        emit(fields, form)
        return
    session = Session(puzzle, params, seed=seed)
    if png:
        record(session, [], png, width=size, height=size)
        return
    console.print(f"[bold]{about.title}[/bold]\n{about.rules}\n", highlight=False)
    console.print(f"actions: {' '.join(about.actions)}", highlight=False)
    console.print("parameters:", *about.params_help, sep="\n  ", highlight=False, markup=False)
    console.print("presets:", *(f"{one.params}: {one.title}" for one in about.presets), sep="\n  ", highlight=False)
    table = Table("field", "type", "shape", "bounds", "meaning")
    for field in about.fields(params):
        table.add_row(field.name, str(field.dtype), str(field.shape), f"{field.low}..{field.high}", field.about)
    console.print(table)
    console.print(f"{session.game_id}\n{session.text()}", highlight=False, markup=False)


@click.command()
@click.option("--episodes", default=100, help="Episodes of random play for each puzzle.")
@click.option("--seconds", default=0.1, help="How long to measure the speed of each puzzle.")
@Options.formats
def demo(episodes: int, seconds: float, form: str | None) -> None:
    """Play all 40 puzzles and show steps a second, how often random play solves them, and a board."""
    table = Table("puzzle", "params", "steps/s", "solved", "mean steps", "board", title="random legal actions, in C")
    rows = []
    started = time.perf_counter()
    for name in track(puzzles(), description="playing", console=errors):
        params = canonical_params(name, spec(name).easiest_params)
        rate = speed.c_loop(name, params, seconds, mask=True)
        result = rollout(name, params, policy="masked", episodes=episodes, max_steps=2000)
        board = Session(name, params, seed=1).text().rstrip()
        mean = f"{result.mean_successful_steps:,.0f}" if result.solved.any() else "-"
        rows.append(
            {
                "puzzle": name,
                "params": params,
                "steps_per_second": round(rate),
                "success_percent": round(100 * result.success_rate, 1),
                "mean_successful_steps": round(result.mean_successful_steps, 1) if result.solved.any() else None,
                "board": board,
            }
        )
        table.add_row(name, params, f"{rate:,.0f}", f"{result.success_rate:.0%}", mean, board, end_section=True)
    emit(rows, form, table)
    if form is None:
        console.print(f"40 puzzles in {time.perf_counter() - started:.0f} s")
