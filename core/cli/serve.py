"""The command that serves games in words to OpenEnv clients."""

from __future__ import annotations

import click

from ..limits import DEFAULT_TIMEOUT
from .common import PuzzleName


@click.command()
@click.argument("puzzle", type=PuzzleName(), default="solo")
@click.argument("params", required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="Who may connect; by default only this machine.")
@click.option("--port", default=8000, show_default=True, help="Where to listen.")
@click.option("--max-sessions", default=1000, show_default=True, help="How many games are played at once.")
@click.option("--session-timeout", default=600.0, show_default=True, help="Seconds after which an idle game is closed.")
@click.option("--max-turns", default=0, show_default=True, help="How many messages a game takes, 0 for no limit.")
@click.option(
    "--timeout", default=DEFAULT_TIMEOUT, show_default=True, help="Seconds that generating a puzzle may take."
)
def serve(
    puzzle: str,
    params: str | None,
    host: str,
    port: int,
    max_sessions: int,
    session_timeout: float,
    max_turns: int,
    timeout: float,
) -> None:
    """Serve games in words to OpenEnv clients. A client may ask for another puzzle when it starts a game."""
    from ..adapters.openenv import serve as serve_games

    serve_games(
        puzzle,
        params,
        host=host,
        port=port,
        max_turns=max_turns,
        timeout=timeout,
        max_sessions=max_sessions,
        session_timeout=session_timeout,
    )
