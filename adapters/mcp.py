"""The Model Context Protocol: puzzles as tools, for any client over stdio. ``puzzleport mcp`` starts it."""

from __future__ import annotations

import io
from collections import OrderedDict
from typing import Any

import puzzleport as pp
from puzzleport.language import Dialogue
from puzzleport.limits import DEFAULT_TIMEOUT

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Image
    from mcp.server.mcpserver.exceptions import ToolError
    from PIL import Image as Picture
except ImportError as error:
    raise ImportError("the MCP adapter needs an extra: pip install 'puzzleport[mcp]'") from error


def server(max_games: int = 64, timeout: float = DEFAULT_TIMEOUT) -> MCPServer[Any]:
    """A server with tools to start, see and play games.

    Args:
        max_games: how many games are kept; the one that was left alone longest makes room for the next.
        timeout: seconds that generating a puzzle may take.
    """
    app: MCPServer[Any] = MCPServer("puzzleport", version=pp.__version__)
    games: OrderedDict[int, Dialogue] = OrderedDict()
    started = 0

    def game_of(game: int) -> Dialogue:
        if game not in games:
            raise ToolError(f"there is no game {game}; new_game starts one")
        games.move_to_end(game)
        return games[game]

    @app.tool()
    def list_puzzles() -> str:
        """All puzzles, with an easy and a harder setting for each."""
        return "\n".join(
            f"{about.name}: {about.title}, params {about.easiest_params} or {about.human_params}"
            for about in map(pp.spec, pp.puzzles())
        )

    @app.tool()
    def new_game(puzzle: str, params: str | None = None, seed: int | None = None) -> str:
        """Start a game. Returns its number, the rules, how moves are written, and the board."""
        nonlocal started
        try:
            dialogue = Dialogue(puzzle, params, seed, timeout=timeout)
        except (pp.PuzzleError, ValueError) as error:
            raise ToolError(str(error)) from None
        started += 1
        games[started] = dialogue
        while len(games) > max_games:
            games.popitem(last=False)[1].close()
        return f"Game {started}.\n{dialogue.prompt()}"

    @app.tool(structured_output=False)
    def look(game: int) -> list[Any]:
        """The board of a game as text and as a picture."""
        dialogue, out = game_of(game), io.BytesIO()
        Picture.fromarray(dialogue.session.pixels(512, 512)).save(out, "png")
        return [dialogue.board(), Image(data=out.getvalue(), format="png")]

    @app.tool()
    def act(game: int, moves: str) -> str:
        """Play moves as new_game describes them. Returns what was played, problems, and the board."""
        dialogue = game_of(game)
        reply = dialogue.say(moves)
        return f"{reply}\n{dialogue.verdict_line()}"

    @app.tool()
    def hint(game: int) -> str:
        """A good next move, as act takes it."""
        try:
            return game_of(game).hint()
        except pp.NoPlan as error:
            raise ToolError(str(error)) from None

    @app.tool()
    def undo(game: int) -> str:
        """Take back the last change of the board."""
        dialogue = game_of(game)
        return ("Taken back." if dialogue.undo() else "There is nothing to take back.") + f"\n{dialogue.board()}"

    return app
