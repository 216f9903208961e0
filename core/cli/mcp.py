"""The command that offers puzzles as tools of the Model Context Protocol."""

from __future__ import annotations

import click


@click.command()
@click.option("--max-games", default=64, show_default=True, help="How many games are kept at once.")
@click.option("--timeout", default=10.0, show_default=True, help="Seconds that generating a puzzle may take.")
def mcp(max_games: int, timeout: float) -> None:
    """Serve puzzles as tools to an MCP client over standard input and output."""
    from ..adapters.mcp import server

    server(max_games, timeout).run("stdio")
