"""The commands of ``puzzleport``, one module for each kind, and what they share."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ..errors import PuzzleError
from ..benchmark.evaluation import as_csv
from ..puzzle_spec import puzzles, spec
from ..benchmark.workers import Workers

console = Console()
errors = Console(stderr=True)


class Commands(click.Group):
    """A group in which every mistake of the user ends in one line and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 (click's signature)
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (PuzzleError, ValueError, ImportError, OSError) as error:
            message = " ".join(str(error).split())
            if isinstance(error, OSError) and error.filename:
                message = f"{error.filename}: {error.strerror}"
            errors.print(f"puzzleport: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
            sys.exit(2)


class Chosen(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """``all`` or a list of puzzle names."""

    name = "puzzles"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:  # noqa: ANN401 (click's signature)
        """Split and check the names."""
        if isinstance(value, list):
            return value
        names = puzzles() if value == "all" else list(dict.fromkeys(value.split(",")))
        for name in names:
            spec(name)
        return names

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:  # noqa: ANN401 (click's signature)
        """The names that may end a list."""
        given, comma, last = incomplete.rpartition(",")
        names = [*puzzles(), *([] if comma else ["all"])]
        return [CompletionItem(given + comma + name) for name in names if name.startswith(last)]


class Puzzle(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """One puzzle."""

    name = "puzzle"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:  # noqa: ANN401 (click's signature)
        """Check the name."""
        return spec(value).name

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:  # noqa: ANN401 (click's signature)
        """The names that begin so."""
        return [CompletionItem(name) for name in puzzles() if name.startswith(incomplete)]


class File(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A file to write, of one of some suffixes."""

    name = "file"

    def __init__(self, *suffixes: str) -> None:
        self.suffixes = suffixes

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:  # noqa: ANN401 (click's signature)
        """Check the suffix before any work is done."""
        path = Path(value)
        if path.suffix not in self.suffixes:
            raise ValueError(f"{path} cannot be written: the name must end in {' or '.join(self.suffixes)}")
        return path


class Short:
    """Options that several commands share."""

    puzzles = click.option(
        "--puzzles", "names", type=Chosen(), default="all", help="all, or names with commas between."
    )
    level = click.option(
        "--level", type=click.Choice(["easiest", "human", "default"]), default="easiest", help="Which parameters."
    )
    seconds = click.option("--seconds", default=0.2, help="How long each figure is measured.")
    threads = click.option("--threads", default=0, help="How many threads; 0 for all cores. It changes no number.")

    @staticmethod
    def engine(command: Callable[..., Any]) -> Callable[..., Any]:
        """``--engine`` and ``--address``, for ``cluster``."""
        command = click.option(
            "--address",
            help="Of a Ray cluster: HOST:PORT, or auto for this machine's. Without one, Ray is started here.",
        )(command)
        return click.option(
            "--engine",
            type=click.Choice(["threads", "ray"]),
            default="threads",
            help="Who works: the threads of this machine, or Ray. It changes no number.",
        )(command)

    @staticmethod
    def formats(command: Callable[..., Any]) -> Callable[..., Any]:
        """``--json`` and ``--csv``, for ``emit``."""
        command = click.option("--csv", "form", flag_value="csv", help="Print CSV.")(command)
        return click.option("--json", "form", flag_value="json", help="Print JSON.")(command)


def emit(rows: Sequence[dict[str, Any]], form: str | None, shown: Table | None = None) -> None:
    """Print rows in the form that was asked for; in none, the table."""
    if form == "json":
        click.echo(json.dumps(rows, indent=1))
    elif form == "csv":
        click.echo(as_csv(rows), nl=False)
    elif shown is not None:
        console.print(shown, markup=False, highlight=False)


@contextmanager
def cluster(engine: str, address: str | None, threads: int, chunk: int = 1) -> Iterator[Workers | None]:
    """The workers of ``--engine ray``; None for threads."""
    if engine == "threads":
        if address:
            raise ValueError("--address is for --engine ray")
        yield None
        return
    if address and threads:
        raise ValueError("--threads is for this machine; the cluster at --address has its own CPUs")
    from ..adapters.ray import Cluster

    # Ray reports lost workers on standard output, which is for results.
    with redirect_stdout(sys.stderr), Cluster(address, cpus=threads, chunk=chunk) as found:
        yield found.map


def progress_bar(quiet: bool = False) -> Progress:
    """A bar with what is done, since when and for how long still."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
        console=errors,
        disable=quiet,
        transient=True,
    )


def figure(mean: float | None, success: float | None) -> str:
    """Mean steps and success rate as the paper prints them; a dash where nothing was solved."""
    return "-" if mean is None else f"{mean:,.0f} ({success:.1f}%)"
