"""What the commands of ``puzzleport`` share: kinds of arguments, options, tables, bars and errors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem
from rich.cells import cell_len
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from ..benchmark.results import as_csv
from ..benchmark.settings import LEVELS
from ..benchmark.workers import Workers
from ..encode import KINDS
from ..errors import PuzzleError, UnknownOption, quote
from ..limits import DEFAULT_MAX_STEPS, DEFAULT_TIMEOUT
from ..puzzle_spec import puzzles, spec
from ..rewards import Rewards

console = Console(emoji=False)  # ":x:" of a file or an id is no picture
errors = Console(stderr=True, emoji=False)

RENAMED = {"--puzzles": "--puzzle", "--engine": "--backend", "--envs": "--num-envs"}
"""What options were called in 0.1, and what they are called now."""
LONGEST_MESSAGE = 1000
NARROW = 60


class WholeHelp(click.Group):
    """A group whose list of commands wraps what each is for, instead of cutting it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(limit=1000)) for name, one in found if one and not one.hidden]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


class Commands(WholeHelp):
    """A group in which every mistake of the user ends in one line and exit code 2."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:  # noqa: ANN401 (click's signature)
        """Read the options of the group itself."""
        try:
            return super().make_context(*arguments, **options)
        except click.UsageError as error:
            raise _shortened(error) from None

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 (click's signature)
        """Run the command."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.option_name not in RENAMED:
                raise _shortened(error) from None
            _fail(f"there is no option {error.option_name}; it is called {RENAMED[error.option_name]} now")
        except click.UsageError as error:
            raise _shortened(error) from None
        except OSError as error:
            _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except (PuzzleError, ValueError, ImportError) as error:
            _fail(str(error))


def _line(message: str) -> str:
    """A message in one line, however long the word that it repeats."""
    line = " ".join(message.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}..."


def _shortened(error: click.UsageError) -> click.UsageError:
    """Click's own message about options, which repeats what was given whole."""
    return click.UsageError(_line(error.format_message()), error.ctx)


def _fail(message: str) -> None:
    """Say what is wrong in one line, and end."""
    errors.print(f"puzzleport: {_line(message)}", style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(2)


# ---- kinds of arguments


class PuzzleNames(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """``all``, or names of puzzles with commas between them."""

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
        """The names that may come last in the list."""
        given, comma, last = incomplete.rpartition(",")
        names = [*puzzles(), *([] if comma else ["all"])]
        return [CompletionItem(given + comma + name) for name in names if name.startswith(last)]


class PuzzleName(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """One puzzle."""

    name = "puzzle"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:  # noqa: ANN401 (click's signature)
        """Check the name."""
        return spec(value).name

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[Any]:  # noqa: ANN401 (click's signature)
        """The names that start like this."""
        return [CompletionItem(name) for name in puzzles() if name.startswith(incomplete)]


class OutputFile(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A file to write, with one of several suffixes."""

    name = "file"

    def __init__(self, *suffixes: str) -> None:
        self.suffixes = suffixes

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:  # noqa: ANN401 (click's signature)
        """Check that it can be written before any work is done."""
        path = Path(value)
        if path.is_dir():
            raise ValueError(f"{path} is a folder; give a file whose name ends in {' or '.join(self.suffixes)}")
        if path.suffix not in self.suffixes:
            raise ValueError(f"{path} cannot be written: the name must end in {' or '.join(self.suffixes)}")
        above = next((folder for folder in path.parents if folder.exists()), path.parent)
        if not above.is_dir():
            raise ValueError(f"{path} cannot be written: {above} is not a folder")
        if not os.access(above, os.W_OK):
            raise ValueError(f"{path} cannot be written: the folder {above.resolve()} is read-only for you")
        return path


class RewardPairs(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Rewards as names and numbers: ``solved=1,step=-0.01``."""

    name = "NAME=NUMBER,..."
    names = tuple(field.name for field in fields(Rewards)[:6])

    def convert(self, value: Any, param: Any, ctx: Any) -> Rewards:  # noqa: ANN401 (click's signature)
        """Read the pairs."""
        if isinstance(value, Rewards):
            return value
        numbers = {}
        for pair in value.split(","):
            name, _, number = pair.partition("=")
            if name.strip() not in self.names:
                raise UnknownOption(f"there is no reward {quote(name)}; there are {', '.join(self.names)}")
            try:
                numbers[name.strip()] = float(number)
            except ValueError:
                raise ValueError(f"a reward is written NAME=NUMBER, not {quote(pair)}") from None
        return Rewards(**numbers)  # type: ignore[arg-type]


# ---- options


class Options:
    """Options that several commands share: one name, one default and one text for each."""

    _puzzle = partial(
        click.option,
        *("--puzzle", "names"),
        type=PuzzleNames(),
        metavar="NAME[,NAME...]|all",
        help="Names with commas between them, or all.",
    )
    puzzle = _puzzle(default="all", show_default=True)
    one_or_more = _puzzle(required=True)
    level = click.option(
        "--level", type=click.Choice(LEVELS), default="easiest", show_default=True, help="Which parameters."
    )
    level_or_params = click.option(
        "--level", default="easiest", show_default=True, help=f"{', '.join(LEVELS)}, or parameters such as 5x5."
    )
    seed = click.option("--seed", type=int, help="Of the stream of instances. Without it, one is drawn and printed.")
    undo = click.option("--undo/--no-undo", default=False, help="Whether UNDO is one of the actions.")
    max_steps = click.option(
        "--max-steps", default=DEFAULT_MAX_STEPS, show_default=True, help="After how many steps an episode is cut off."
    )
    max_repeats = click.option(
        "--max-repeats", default=0, help="At how many repeats of a state an episode is cut off; 0 for never."
    )
    timeout = click.option(
        "--timeout", default=DEFAULT_TIMEOUT, show_default=True, help="Seconds that generating one instance may take."
    )
    observation = click.option(
        "--observation",
        type=click.Choice(sorted(KINDS)),
        default="state",
        show_default=True,
        help="What an agent sees.",
    )
    seconds = click.option("--seconds", default=0.2, help="How long each figure is measured.")
    threads = click.option("--threads", default=0, help="How many threads; 0 for all cores. The results are the same.")
    agent = click.argument("policy")
    deterministic = click.option(
        "--deterministic", is_flag=True, help="Take a model's likeliest action rather than draw one."
    )
    where = click.option(
        "--where", type=click.Choice(["auto", "window", "terminal"]), default="auto", help="Where it is shown."
    )
    window_size = click.option("--size", default=512, show_default=True, help="Of the window, in pixels.")
    force = click.option("--force", is_flag=True, help="Overwrite files that exist.")

    @staticmethod
    def backend(command: Callable[..., Any]) -> Callable[..., Any]:
        """``--backend`` and ``--address``, for ``cluster``."""
        command = click.option(
            "--address",
            help="Of a Ray cluster: HOST:PORT, or auto for this machine's. Without it, Ray is started here.",
        )(command)
        return click.option(
            "--backend",
            type=click.Choice(["threads", "ray"]),
            default="threads",
            help="Where work runs: on threads of this machine, or on Ray. The results are the same.",
        )(command)

    @staticmethod
    def formats(command: Callable[..., Any]) -> Callable[..., Any]:
        """``--json`` and ``--csv``, for ``emit``."""
        command = click.option("--csv", "form", flag_value="csv", help="Print CSV.")(command)
        return click.option("--json", "form", flag_value="json", help="Print JSON.")(command)


def check_free(paths: Sequence[Path], force: bool) -> None:
    """An error where a file would be overwritten."""
    for path in paths:
        if path.exists() and not force:
            raise ValueError(f"{path} exists; --force overwrites it")


def in_window_or_terminal(where: str, window: Callable[[], None], terminal: Callable[[], None], doing: str) -> None:
    """Do it in a window where one was asked for, or where there is a screen; else in the terminal."""
    if where != "terminal":
        try:
            from ..window import NoDisplay, has_screen
        except ImportError:
            if where == "window":
                raise
            terminal()
            return
        if where == "window" or has_screen():
            try:
                window()
                return
            except NoDisplay as error:
                if where == "window":
                    raise NoDisplay(f"{error}; --where terminal needs none") from None
                told = f"puzzleport: {doing} in the terminal, because {error}"
                errors.print(told, markup=False, highlight=False, soft_wrap=True)
    terminal()


# ---- output


def emit(rows: Sequence[dict[str, Any]], form: str | None, shown: Table | None = None) -> None:
    """Print rows as JSON or CSV, or else the table."""
    if form == "json":
        click.echo(json.dumps(rows, indent=1))
    elif form == "csv":
        click.echo(as_csv(rows), nl=False)
    elif shown is not None:
        for part in in_parts(shown, console.width):
            console.print(part, markup=False, highlight=False)


KEY_COLUMNS = 2
"""The columns that say what a row is about: they stand in every part of a table."""


def in_parts(table: Table, width: int) -> list[Table]:
    """A table as one or several that fit, with the first columns in each. No figure is ever cut."""
    least, whole = [], []
    for column in table.columns:
        cells = [str(cell) for cell in column.cells]
        # Figures stay whole, words may go on in the next line.
        pieces = cells if column.justify == "right" else [piece for cell in cells for piece in cell.split()]
        least.append(max(map(cell_len, [*str(column.header).split(), *pieces, ""])))
        whole.append(max(map(cell_len, [str(column.header), *cells])))
    keys = list(range(min(KEY_COLUMNS, len(least))))
    groups: list[list[int]] = [[*keys]]
    for number in range(len(keys), len(least)):
        if _room([*groups[-1], number], least) > width and len(groups[-1]) > len(keys):
            groups.append([*keys])
        groups[-1].append(number)
    parts = []
    for group in groups:
        part = Table(title=table.title if group is groups[0] else None)
        spare = max(width - _room(group, least), 0)
        for number in group:
            column, more = table.columns[number], min(spare, whole[number] - least[number])
            spare -= more
            part.add_column(column.header, justify=column.justify, overflow="fold", width=least[number] + more)
        columns = [list(table.columns[number].cells) for number in group]
        for row, about in zip(zip(*columns, strict=True), table.rows, strict=True):
            part.add_row(*row, end_section=about.end_section)
        parts.append(part)
    return parts


def _room(columns: list[int], widths: list[int]) -> int:
    """How wide a table of these columns is, with its lines."""
    return sum(widths[number] + 3 for number in columns) + 1


@contextmanager
def cluster(backend: str, address: str | None, threads: int, chunk: int = 1) -> Iterator[Workers | None]:
    """The workers of ``--backend ray``; None for threads."""
    if backend == "threads":
        if address:
            raise ValueError("--address is for --backend ray")
        yield None
        return
    if address and threads:
        raise ValueError("--threads is for this machine; the cluster at --address has its own CPUs")
    from ..adapters.ray import Cluster

    # Ray reports lost workers on standard output, which is for results.
    with redirect_stdout(sys.stderr), Cluster(address, cpus=threads, chunk=chunk) as found:
        yield found.map


class Rate(ProgressColumn):
    """How much is done a second, or a minute where that is little."""

    def render(self, task: Task) -> Text:
        """The rate as text."""
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:,.0f}/s" if speed >= 10 else f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min")


T = TypeVar("T")


def tracked(items: Sequence[T], doing: str) -> Iterator[T]:
    """The items, with a bar that tells how many are done."""
    with progress_bar() as bar:
        yield from bar.track(items, description=doing)


def progress_bar() -> Progress:
    """A bar with what is done, at which rate, the time that it took, and the time that is left."""
    start = [TextColumn("{task.description}"), BarColumn(bar_width=None), MofNCompleteColumn()]
    # A narrow terminal has no room for the times, and half of one says nothing.
    times = [TimeElapsedColumn(), TextColumn("ETA"), TimeRemainingColumn()] if errors.width >= NARROW else []
    return Progress(*start, Rate(), *times, console=errors, transient=True)


def steps_and_success(mean: float | None, success: float | None) -> str:
    """Mean steps and success rate as the paper prints them; a dash for the steps where nothing was solved."""
    steps = "-" if mean is None else f"{mean:,.0f}"
    return steps if success is None else f"{steps} ({success:.1f}%)"
