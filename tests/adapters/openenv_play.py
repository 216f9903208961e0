"""Plays all puzzles over the wire with OpenEnv's own client: an expert, and one that says garbage. Run by test_openenv.py."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from openenv.core import GenericEnvClient
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

import puzzleport as pp
from puzzleport.language import Dialogue

SESSIONS = 1000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def play(url: str, names: list[str]) -> None:
    async with GenericEnvClient(base_url=url) as client:
        for name in names:
            for params in {pp.spec(name).easiest_params, pp.spec(name).human_params}:
                told = await client.reset(seed=5, puzzle=name, params=params)
                with Dialogue(name, params, 5) as expert:
                    assert told.observation["text"] == expert.prompt()
                    total = 0.0
                    while not told.done:
                        move = expert.hint()
                        told = await client.step({"message": move})
                        assert told.observation["text"] == str(expert.say(move))
                        total += told.reward
                assert told.observation["solved"], name
                assert abs(total - 1.0) < 1e-9, name
                await client.reset(seed=5, puzzle=name, params=params)
                told = await client.step({"message": "banana"})
                assert told.observation["score"] == told.reward == 0.0
        told = await client.reset(puzzle="no such puzzle")
        assert "did you mean" in told.observation["text"]


async def many(url: str) -> None:
    """A thousand games at once in one process."""
    clients = [GenericEnvClient(base_url=url) for _ in range(SESSIONS)]
    for start in range(0, SESSIONS, 50):
        await asyncio.gather(*(client.connect() for client in clients[start : start + 50]))
    for start in range(0, SESSIONS, 50):
        told = await asyncio.gather(
            *(client.reset(seed=start + k) for k, client in enumerate(clients[start : start + 50]))
        )
        assert all("Solo" in one.observation["text"] for one in told)
    told = await clients[-1].step({"message": "R1C1=1"})
    assert told.observation["text"]
    for start in range(0, SESSIONS, 50):
        await asyncio.gather(*(client.close() for client in clients[start : start + 50]))


async def limits(url: str) -> None:
    """What is too long, too many or no message is refused, and the server goes on. It takes three sessions."""
    socket_url = url.replace("http", "ws") + "/ws"

    async def said(connection: Any, message: Any) -> dict[str, Any]:
        await connection.send(message if isinstance(message, str) else json.dumps(message))
        return json.loads(await asyncio.wait_for(connection.recv(), 30))

    def refused(told: dict[str, Any]) -> bool:
        return told["type"] == "error" or bool(told["data"]["done"])

    games = [{"seed": "x"}, {"puzzle": "banana"}, {"params": "banana"}, {"puzzle": "net", "params": "9999x9999"}]
    messages = [{"type": "reset", "data": game} for game in (*games, {"puzzle": 7, "params": 7})]
    messages += [{"type": "step", "data": {"message": message}} for message in (7, "x" * 20_001)]
    async with connect(socket_url) as one:
        for message in ("banana", "{}", *messages):
            assert refused(await said(one, message)), message
        async with connect(socket_url), connect(socket_url), connect(socket_url) as fourth:
            with suppress(ConnectionClosed):
                assert refused(await said(fourth, {"type": "reset", "data": {}}))
        assert not refused(await said(one, {"type": "reset", "data": {"seed": 1}}))
    async with connect(socket_url) as large:
        with suppress(ConnectionClosed):
            assert refused(await said(large, "x" * 1_000_000))
    for path in ("/reset", "/step"):
        request = urllib.request.Request(url + path, b" " * 10_000_000, {"content-type": "application/json"})
        try:
            code = urllib.request.urlopen(request, timeout=60).status
        except urllib.error.HTTPError as error:
            code = error.code
        except urllib.error.URLError:
            code = 413  # the server hung up before all of it was sent
        assert code in (400, 413), code
    async with GenericEnvClient(base_url=url) as client:
        assert "Solo" in (await client.reset(seed=1)).observation["text"]


@contextmanager
def served(max_sessions: int) -> Iterator[tuple[str, int]]:
    """A server, as its address and its process."""
    port = free_port()
    command = [sys.executable, "-m", "puzzleport", "serve", "solo", "2x2", "--port", str(port)]
    server = subprocess.Popen([*command, "--max-sessions", str(max_sessions)])
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None, "the server ended"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", server.pid
        assert server.poll() is None, "the server ended"
    finally:
        server.terminate()
        server.wait(30)


def main() -> None:
    with served(SESSIONS + 1) as (url, process):
        asyncio.run(play(url, sys.argv[1:]))
        asyncio.run(many(url))
        status = Path(f"/proc/{process}/status").read_text() if sys.platform == "linux" else ""
        print(next((line for line in status.splitlines() if line.startswith("VmHWM")), ""))
    with served(3) as (url, _):
        asyncio.run(limits(url))
    print("all is well")


main()
