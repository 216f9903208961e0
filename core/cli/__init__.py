"""The ``puzzleport`` command."""

from __future__ import annotations

import sys

try:
    import click
    import rich  # noqa: F401 (all commands need it)
    from click.shell_completion import get_completion_class
except ImportError as error:  # pragma: no cover
    sys.exit(f"the command line needs an extra: pip install 'puzzleport[cli]' ({error})")

from .ablation import ablation
from .agents import agents
from .bench import bench
from .common import Commands
from .compare import compare
from .demos import demos
from .evaluate import evalset, evaluate
from .export import export
from .generate import generate
from .look import demo, list_puzzles, show
from .mcp import mcp
from .play import play
from .record import record
from .serve import serve
from .studio import studio
from .table import table
from .train import train
from .verify import verify
from .watch import watch


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="puzzleport")
def main() -> None:
    """The 40 puzzles of Simon Tatham's collection, for reinforcement learning."""


@main.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """The code that teaches a shell to complete this command: eval "$(puzzleport completion bash)"."""
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, "puzzleport", "_PUZZLEPORT_COMPLETE").source())


for command in (
    list_puzzles,
    show,
    demo,
    play,
    watch,
    record,
    evaluate,
    evalset,
    verify,
    compare,
    train,
    agents,
    table,
    ablation,
    demos,
    generate,
    bench,
    studio,
    export,
    serve,
    mcp,
):
    main.add_command(command)

if __name__ == "__main__":
    main()
