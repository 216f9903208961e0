"""Plays all puzzles over the wire with OpenEnv's own client: an expert, and one that says garbage. Run by test_openenv.py."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from pathlib import Path

from openenv.core import GenericEnvClient

import puzzleport as pp
from puzzleport.language import Dialogue

SESSIONS = 1000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def play(url: str) -> None:
    async with GenericEnvClient(base_url=url) as client:
        for name in pp.puzzles():
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


def main() -> None:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "puzzleport",
        "serve",
        "solo",
        "2x2",
        "--port",
        str(port),
        "--max-sessions",
        "1001",
    ]
    server = subprocess.Popen(command)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None, "the server ended"
                time.sleep(0.1)
        asyncio.run(play(f"http://127.0.0.1:{port}"))
        asyncio.run(many(f"http://127.0.0.1:{port}"))
        status = Path(f"/proc/{server.pid}/status").read_text() if sys.platform == "linux" else ""
        print(next((line for line in status.splitlines() if line.startswith("VmHWM")), ""))
        print("all is well")
    finally:
        server.terminate()
        server.wait(30)


main()
