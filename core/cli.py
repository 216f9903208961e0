"""The ``puzzleport`` command."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

try:
    import click
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table
except ImportError as error:  # pragma: no cover
    sys.exit(f"the command line needs an extra: pip install 'puzzleport[cli]' ({error})")

from . import bench as benchmark
from .batch import rollout
from .errors import PuzzleError
from .record import record
from .session import Session
from .spec import canonical_params, puzzles, spec

console = Console()
errors = Console(stderr=True)


class Chosen(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """``all`` or a list of puzzle names."""

    name = "puzzles"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:  # noqa: ANN401 (click's signature)
        """Split and check the names."""
        if isinstance(value, list):
            return value
        names = puzzles() if value == "all" else value.split(",")
        for name in names:
            spec(name)
        return names


class Commands(click.Group):
    """A group in which every mistake of the user ends in one line and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 (click's signature)
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (PuzzleError, ValueError, ImportError, OSError) as error:
            errors.print(f"puzzleport: {error}", style="red", markup=False, highlight=False)
            sys.exit(2)


PUZZLES = click.option("--puzzles", "names", type=Chosen(), default="all", help="all, or names with commas between.")
LEVEL = click.option(
    "--level", type=click.Choice(["easiest", "human", "default"]), default="easiest", help="Which parameters."
)
SECONDS = click.option("--seconds", default=0.2, help="How long each figure is measured.")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="puzzleport")
def main() -> None:
    """The 40 puzzles of Simon Tatham's collection, for reinforcement learning."""


@main.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_puzzles(as_json: bool) -> None:
    """All puzzles, with their actions and levels."""
    if as_json:
        click.echo(json.dumps([{**asdict(spec(name))} for name in puzzles()], indent=1))
        return
    table = Table("puzzle", "title", "actions", "easiest", "human")
    for name in puzzles():
        about = spec(name)
        table.add_row(name, about.title, " ".join(about.actions), about.easiest_params, about.human_params)
    console.print(table)


@main.command()
@click.argument("puzzle")
@click.argument("params", required=False)
@click.option("--seed", type=int, default=None, help="Which instance to show.")
@click.option("--png", type=click.Path(dir_okay=False, path_type=Path), help="Write a picture instead.")
@click.option("--size", default=256, help="Width and height of the picture.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(puzzle: str, params: str | None, seed: int | None, png: Path | None, size: int, as_json: bool) -> None:
    """What a puzzle is: rules, actions, parameters, fields, presets, a board."""
    about = spec(puzzle)
    if as_json:
        shown = {
            **asdict(about),
            "fields": [{**asdict(field), "dtype": str(field.dtype)} for field in about.fields(params)],
        }
        click.echo(json.dumps(shown, indent=1))
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


@main.command()
@click.option("--episodes", default=100, help="Episodes of random play for each puzzle.")
@click.option("--seconds", default=0.1, help="How long to measure the speed of each puzzle.")
def demo(episodes: int, seconds: float) -> None:
    """Play all 40 puzzles: steps a second, how often random play solves them, and a board."""
    table = Table("puzzle", "params", "steps/s", "solved", "mean steps", "board", title="random legal actions, in C")
    started = time.perf_counter()
    for name in track(puzzles(), description="playing", console=errors):
        params = canonical_params(name, spec(name).easiest_params)
        speed = benchmark.c_loop(name, params, seconds, mask=True)
        result = rollout(name, params, policy="masked", episodes=episodes, max_steps=2000)
        board = Session(name, params, seed=1).text().rstrip()
        mean = f"{result.mean_successful_steps:,.0f}" if result.solved.any() else "-"
        table.add_row(name, params, f"{speed:,.0f}", f"{result.success_rate:.0%}", mean, board, end_section=True)
    console.print(table, markup=False, highlight=False)
    console.print(f"40 puzzles in {time.perf_counter() - started:.0f} s")


@main.group(name="bench", invoke_without_command=True)
@PUZZLES
@click.option(
    "--level", type=click.Choice(["easiest", "human", "default"]), default="easiest", help="Which parameters."
)
@click.option("--seconds", default=0.2, help="How long each figure is measured.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def bench(ctx: click.Context, names: list[str], level: str, seconds: float, as_json: bool) -> None:
    """Throughput of the C loop, of Session and of Batch, with their ratios."""
    if ctx.invoked_subcommand:
        return
    rows = [
        benchmark.measure(name, level, seconds)
        for name in track(names, description="measuring", console=errors, disable=as_json)
    ]
    rows.append(benchmark.mean_row(rows))
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=1))
        return
    table = Table("puzzle", "params", title=f"thousand steps a second, level {level}")
    for title in ("C step", "C loop", "Session", "copies", "Batch 1", "Batch all", "Python adds", "Batch 1/C", "all/C"):
        table.add_column(title, justify="right")
    for row in rows:
        figures = (row.c_step, row.c_loop, row.session, row.session_copies, row.batch_one, row.batch_all)
        table.add_row(
            row.puzzle,
            row.params,
            *(f"{figure / 1000:,.0f}" for figure in figures),
            f"{row.session_over:.2f} us",
            f"{row.batch_one / row.c_loop:.2f}",
            f"{row.batch_all / row.c_loop:.2f}",
            end_section=row is rows[-2],
        )
    console.print(table)
    console.print(
        "C loop: step, observe, mask and repeat count on one session; C step leaves out the last two. Batch: 1,024 sessions "
        "with autoreset, on one thread and on all cores. All in one run, on random actions that are checked to change the state."
    )


@bench.command(name="pixels")
@PUZZLES
@LEVEL
@SECONDS
def bench_pixels(names: list[str], level: str, seconds: float) -> None:
    """Pictures a second at 128x128, single and batched, beside the rate without pictures."""
    rows = [
        benchmark.measure_pixels(name, level, seconds) for name in track(names, description="drawing", console=errors)
    ]
    rows.append(benchmark.mean_row(rows))
    table = Table("puzzle", "params", title=f"per second, 128x128, level {level}")
    for title in ("steps alone", "step + picture", "batch, 1 thread", "batch, all", "all/1"):
        table.add_column(title, justify="right")
    for row in rows:
        figures = (row.session, row.single, row.batch_one, row.batch_all)
        table.add_row(
            row.puzzle,
            row.params,
            *(f"{figure:,.0f}" for figure in figures),
            f"{row.batch_all / row.batch_one:.2f}",
            end_section=row is rows[-2],
        )
    console.print(table)
    console.print(f"The paper's implementation draws about {PAPER_PICTURES:,} a second on such a core.")


@bench.command(name="gymnasium")
@PUZZLES
@LEVEL
@SECONDS
def bench_gymnasium(names: list[str], level: str, seconds: float) -> None:
    """The Gymnasium environment and its vector form, beside the C loop that does the same work."""
    from .adapters.gymnasium_bench import measure

    rows = [measure(name, level, seconds) for name in track(names, description="measuring", console=errors)]
    rows.append(benchmark.mean_row(rows))
    table = Table("puzzle", "params", title=f"thousand steps a second, level {level}")
    for title in ("C loop", "PuzzleEnv", "live buffers", "vector 1,024", "env/paper", "vector/(C x threads)"):
        table.add_column(title, justify="right")
    for row in rows:
        figures = (row.c_loop, row.env, row.env_live, row.vector)
        table.add_row(
            row.puzzle,
            row.params,
            *(f"{figure / 1000:,.0f}" for figure in figures),
            f"{row.env / PAPER_STEPS:.0f}x",
            f"{row.vector / (row.c_loop * row.threads):.2f}",
            end_section=row is rows[-2],
        )
    console.print(table)
    console.print(f"The paper's implementation takes about {PAPER_STEPS:,} steps a second with masks on such a core.")


# What was measured of the paper's implementation on one core of the kind that this was developed on.
PAPER_STEPS = 2_600
PAPER_PICTURES = 2_500


@bench.command(name="memory")
@PUZZLES
@click.option("--steps", default=10_000_000, help="Random steps for each puzzle.")
@click.option("--cycles", default=10_000, help="Sessions made and freed for each puzzle.")
def bench_memory(names: list[str], steps: int, cycles: int) -> None:
    """How much the resident size grows with play, and with sessions made and freed."""
    table = Table("puzzle", "params", f"after {steps:,} steps", f"after {cycles:,} sessions")
    for name in track(names, description="playing", console=errors):
        params = spec(name).easiest_params
        by_steps, by_cycles = benchmark.memory(name, params, steps, cycles)
        table.add_row(name, params, f"{by_steps / 1024:+,.0f} KiB", f"{by_cycles / 1024:+,.0f} KiB")
    console.print(table)


if __name__ == "__main__":
    main()
