"""Commands that show what there is: list, show, demo."""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import asdict
from pathlib import Path

import click
from rich.live import Live
from rich.table import Table

from ..animation import gallery, record, save_film, save_picture
from ..batch import rollout
from ..benchmark import speed
from ..benchmark.playing import Playing
from ..puzzle_spec import canonical_params, puzzles, spec
from ..session import Session, Status
from ..task import Task
from .board import Board, Drawn, can_draw
from .common import Options, OutputFile, PuzzleName, check_free, console, emit, tracked


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
        table.add_row(field.name, str(field.dtype), str(field.shape), f"{field.low} to {field.high}", field.about)
    emit(fields, form, table)
    console.print(f"{session.game_id}\n{session.text()}", highlight=False, markup=False)


SHOWN = {"tents": "6x6", "net": "4x4", "untangle": "8", "mines": "7x7n6"}
"""What the demo solves before your eyes."""
FILMED = ("tents", "8x8de")
FRAMES_A_SECOND = 12.0
MOST_FRAMES = 60
LINES_BELOW = 4

GO_ON = {
    "play bridges": "by hand, in a window or in this terminal",
    "watch expert solo": "an agent, step by step",
    "demo --all": "every puzzle in a table",
}


@click.command()
@click.option("--all", "everything", is_flag=True, help="The table of all 40 puzzles instead.")
@click.option("--episodes", default=100, help="Episodes of random play for each puzzle of the table.")
@click.option("--seconds", default=0.1, help="How long to measure the speed of each puzzle of the table.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("puzzleport-demo"),
    show_default=True,
    help="Folder for the gallery and the film.",
)
@Options.formats
def demo(everything: bool, episodes: int, seconds: float, out: Path, form: str | None) -> None:
    """Watch the expert solve puzzles, and see what all 40 can do."""
    if everything or form:
        _table(episodes, seconds, form)
        return
    started = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)  # an error about it comes before the show
    for name, params in SHOWN.items():
        _solve_live(name, params)
    _summary()
    _write_pictures(out)
    command = Path(sys.argv[0]).name if shutil.which(Path(sys.argv[0]).name) else sys.argv[0]
    lines = (f"  {f'{command} {words}':<38} {what}" for words, what in GO_ON.items())
    console.print("To go on:", *lines, sep="\n", highlight=False, markup=False, soft_wrap=True)
    console.print(f"All of this took {time.perf_counter() - started:.0f} s.", highlight=False)


def _solve_live(puzzle: str, params: str) -> None:
    """The expert solves one game: step by step in a terminal, in one line anywhere else."""
    task = Task.of(puzzle, params, {"max_steps": 2000})
    states = Playing("expert").follow(task, seed=1)
    session = next(states)
    title = f"{session.spec.title} {params}"
    board = Board(session, console.width, console.height - LINES_BELOW) if can_draw(console) else None
    if board is None or not board.fits:
        for _ in states:
            pass
        console.print(f"{title}: {_ending(session)}", highlight=False)
        return
    steps = len(list(Playing("expert").follow(task, seed=1)))
    every = -(-steps // MOST_FRAMES)  # long games lose frames
    with Live(console=console, auto_refresh=False) as live:
        live.update(Drawn(board, session, f"{title}: the expert starts"), refresh=True)
        for number, _ in enumerate(states):
            if number % every == 0 or session.ended:
                said = _ending(session) if session.ended else f"step {session.steps}"
                live.update(Drawn(board, session, f"{title}: {said}"), refresh=True)
                time.sleep(1 / FRAMES_A_SECOND)
    time.sleep(0.5)


def _ending(session: Session) -> str:
    """How a game that the expert played ended."""
    verdict = {Status.SOLVED: "solved", Status.FAILED: "lost"}.get(session.status, "not solved")
    return f"{verdict} by the expert with {session.steps} keys"


def _summary() -> None:
    """What all 40 puzzles can do, in a few lines."""
    solved, rates, chance = 0, [], []
    for name in tracked(puzzles(), "playing all 40 puzzles"):
        params = canonical_params(name, spec(name).easiest_params)
        rates.append(speed.c_loop(name, params, 0.02, mask=True))
        chance.append(rollout(name, params, policy="masked", episodes=20, max_steps=1000).success_rate)
        *_, session = Playing("expert").follow(Task.of(name, params, {}), seed=1)
        solved += session.status == Status.SOLVED
    console.print(
        f"{len(rates)} of {len(puzzles())} puzzles played, at the easiest parameters of the paper\n"
        f"{solved} of {len(puzzles())} solved by the expert, through the keys that an agent has\n"
        f"{sum(chance) / len(chance):.0%} of games solved within 1,000 random legal actions, on average\n"
        f"{speed.geometric_mean(rates):,.0f} steps a second on one core, with observation and mask (geometric mean)",
        highlight=False,
    )


def _write_pictures(folder: Path) -> None:
    """The gallery, and a game that the expert solves as a film."""
    sheet, film = folder / "gallery.png", folder / f"{FILMED[0]}.gif"
    save_picture(gallery(), sheet)
    states = Playing("expert").follow(Task.of(*FILMED, {}), seed=1)
    save_film((session.pixels(256, 256) for session in states), film)
    console.print(f"Written: {sheet} (all 40), {film} (a solved game)", highlight=False, markup=False, soft_wrap=True)


def _table(episodes: int, seconds: float, form: str | None) -> None:
    """All 40 puzzles: steps a second, and how often random play solves them."""
    table = Table("puzzle", "params", title="random legal actions, in C")
    for title in ("steps/s", "solved", "mean steps"):
        table.add_column(title, justify="right")
    rows = []
    started = time.perf_counter()
    for name in tracked(puzzles(), "playing"):
        params = canonical_params(name, spec(name).easiest_params)
        rate = speed.c_loop(name, params, seconds, mask=True)
        result = rollout(name, params, policy="masked", episodes=episodes, max_steps=2000)
        mean = f"{result.mean_successful_steps:,.0f}" if result.solved.any() else "-"
        rows.append(
            {
                "puzzle": name,
                "params": params,
                "steps_per_second": round(rate),
                "success_percent": round(100 * result.success_rate, 1),
                "mean_successful_steps": round(result.mean_successful_steps, 1) if result.solved.any() else None,
                "board": Session(name, params, seed=1).text().rstrip(),
            }
        )
        table.add_row(name, params, f"{rate:,.0f}", f"{result.success_rate:.0%}", mean)
    emit(rows, form, table)
    if form is None:
        console.print(f"{len(rows)} puzzles in {time.perf_counter() - started:.0f} s")
