"""MCP: a real server over stdio, the framework's own client."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import sys

import pytest

import puzzleport as pp
from puzzleport.language import Dialogue

pytest.importorskip("mcp", reason="MCP is an extra: puzzleport[mcp]")
Image = pytest.importorskip("PIL.Image", reason="the pictures of MCP need Pillow: puzzleport[mcp]")

from mcp import ClientSession, StdioServerParameters  # noqa: E402 (behind the skip)
from mcp.client.stdio import stdio_client  # noqa: E402


def with_client(play, *arguments):
    """Run a coroutine with a client of ``puzzleport mcp``."""

    async def run():
        words = ["-m", "puzzleport", "mcp", *arguments]
        # Left alone, the client hands on no PYTHONPATH: the server would be of another copy of the package.
        command = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with stdio_client(command) as streams, ClientSession(*streams) as client:
            await client.initialize()

            async def call(tool, **what):
                result = await client.call_tool(tool, what)
                return result.is_error, result.content

            await play(client, call)

    asyncio.run(asyncio.wait_for(run(), 600))


def test_tools_play_every_puzzle():
    async def play(client, call):
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"list_puzzles", "new_game", "look", "act", "hint", "undo"}
        assert "solo" in (await call("list_puzzles"))[1][0].text
        games = [
            (name, params)
            for name in pp.puzzles()
            for params in {pp.spec(name).easiest_params, pp.spec(name).human_params}
        ]
        for number, (name, params) in enumerate(games, start=1):
            _, content = await call("new_game", puzzle=name, params=params, seed=5)
            with Dialogue(name, params, 5) as mirror:
                assert content[0].text == f"Game {number}.\n{mirror.prompt()}"
            _, content = await call("act", game=number, moves="banana")
            assert "not understood" in content[0].text
            for _ in range(300):
                _, hint = await call("hint", game=number)
                _, content = await call("act", game=number, moves=hint[0].text)
                if "Not solved yet" not in content[0].text:
                    break
            assert content[0].text.endswith("Solved."), name

    with_client(play)


def test_look_undo_and_mistakes():
    async def play(client, call):
        await call("new_game", puzzle="slant", params="2x2de", seed=1)
        _, before = await call("look", game=1)
        assert Image.open(io.BytesIO(base64.b64decode(before[1].data))).size == (512, 512)
        (look,) = [tool for tool in (await client.list_tools()).tools if tool.name == "look"]
        seen = await client.call_tool("look", {"game": 1})
        assert [part.type for part in seen.content] == ["text", "image"]
        assert look.output_schema is seen.structured_content is None  # a picture is sent once, and not as data too
        await call("act", game=1, moves="R1C1=/")
        assert (await call("look", game=1))[1][0].text != before[0].text
        assert "Taken back" in (await call("undo", game=1))[1][0].text
        board = (await call("look", game=1))[1][0].text
        assert board.splitlines()[2:4] == before[0].text.splitlines()[2:4]
        for tool, what in (
            ("new_game", {"puzzle": "banana"}),
            ("new_game", {"puzzle": "solo", "params": "banana"}),
            ("look", {"game": 99}),
            ("act", {"game": -1, "moves": "UP"}),
            ("act", {"game": 1}),
        ):
            failed, _ = await call(tool, **what)
            assert failed
        _, content = await call("act", game=1, moves="x" * 100_000)
        assert "characters" in content[0].text
        for seed in range(3):
            await call("new_game", puzzle="slant", params="2x2de", seed=seed)
        assert (await call("look", game=1))[0]  # two games are kept
        assert not (await call("look", game=4))[0]

    with_client(play, "--max-games", "2")
