"""Plays episodes of verifiers with scripted models behind a local endpoint. Run by test_verifiers.py."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import verifiers.v1 as vf

import puzzleport as pp
from puzzleport.adapters.verifiers import PuzzleConfig, PuzzleEnv, PuzzleEnvConfig, PuzzleTaskset
from puzzleport.language import Dialogue

ID = "verifiers_puzzles"


class Player:
    """The model: its next reply. A new game begins with its task."""

    def begin(self, task, garbage: bool, whole: bool) -> None:
        self.garbage = garbage
        with Dialogue(task.data.puzzle, game_id=task.data.game_id) as game:
            moves = game.solve()
        # A harness takes seconds for a turn, so the game is played in two.
        half = len(moves) if whole else (len(moves) + 1) // 2
        self.left = [part for part in (moves[:half], moves[half:]) if part]

    def reply(self) -> str:
        if self.garbage:
            return "banana"
        return "I think so:\n```\n" + "\n".join(self.left.pop(0)) + "\n```"


player = Player()


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": player.reply()}
        about = {"id": "x", "created": 0, "model": "scripted"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if asked.get("stream"):
            kind, about = "text/event-stream", {**about, "object": "chat.completion.chunk"}
            parts = [
                {**about, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
                {**about, "choices": [], "usage": usage},
            ]
            data = "".join(f"data: {part}\n\n" for part in (*map(json.dumps, parts), "[DONE]")).encode()
        else:
            kind, about = "application/json", {**about, "object": "chat.completion"}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            data = json.dumps({**about, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Nothing is logged."""


async def episodes(url: str, levels: list[str], names: list[str]) -> None:
    context = vf.ModelContext(model="scripted", client=vf.EvalClientConfig(base_url=url, api_key_var="SCRIPTED_KEY"))
    for params in levels:
        for name in names:
            about = pp.spec(name)
            taskset = PuzzleConfig(id=ID, puzzle=name, params=getattr(about, f"{params}_params"), seed=5)
            task = next(iter(PuzzleTaskset(taskset)))
            several = PuzzleEnv(PuzzleEnvConfig(taskset=taskset))  # as many messages as it takes
            single = vf.SingleAgentEnv(
                vf.SingleAgentEnvConfig(
                    taskset=taskset, agent={"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}
                )
            )
            for env, garbage in ((several, False), (single, False), (single, True)):
                player.begin(task, garbage, env is single)
                async with env.serving():
                    episode = await env.run_episode(task, context)
                assert not episode.errors, episode.errors
                (trace,) = episode.traces
                assert not trace.errors, trace.errors
                assert trace.reward == (0.0 if garbage else 1.0), (name, params, garbage, trace.rewards)
            limited = PuzzleEnv(PuzzleEnvConfig(taskset=taskset, max_turns=2))
            player.begin(task, True, False)
            async with limited.serving():
                (trace,) = (await limited.run_episode(task, context)).traces
            assert trace.reward == 0.0
            print(name, params, flush=True)


def main() -> None:
    os.environ["SCRIPTED_KEY"] = "none"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    levels, *names = sys.argv[1:]
    asyncio.run(episodes(f"http://127.0.0.1:{server.server_address[1]}/v1", levels.split(","), names))
    print("all is well")


main()
