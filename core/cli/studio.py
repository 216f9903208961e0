"""The command that shows games and recordings in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from .common import console


@click.command()
@click.argument("recording", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Where to listen; by default where it is free.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Whether to open a browser.")
def studio(recording: Path | None, port: int, browser: bool) -> None:
    """Play all puzzles in a browser as an agent sees them, or step through a RECORDING (evaluate --record).

    Everything comes from this machine, and nothing leaves it.
    """
    from ..studio import Studio, recorded_lines

    with Studio(port, recorded_lines(recording) if recording else b"") as server:
        console.print(f"{server.address} shows the studio; Ctrl-C ends it", soft_wrap=True)
        if browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            console.print("ended")
