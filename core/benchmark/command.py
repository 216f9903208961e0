"""A program as a policy: ``command:'python player.py'``. It reads and writes lines, so a model behind a script can be measured.

For each message the program gets one line of JSON and answers with one line:

    {"puzzle": "solo", "params": "2x2", "turn": 0, "text": "<prompt>", "done": false}
    R1C1=4; R1C2=1

``text`` is the prompt at turn 0 and the reply to the last answer from then on. With ``done`` the game is over: the line
is the last one of that game, and nothing is to be answered. An answer is a line of moves, or JSON such as
``{"say": "R1C1=4\\nR1C2=1", "tokens": 120}``; tokens are added up. The program stays for all games of a block and is ended by the
end of its input. What it writes to standard error goes to ours.
"""

from __future__ import annotations

import json
import select
import shlex
import subprocess
import time
from typing import IO, TYPE_CHECKING, Any

from ..errors import quote
from ..language.dialogue import MAX_MESSAGE, Dialogue
from ..session import Status
from .recording import as_text

if TYPE_CHECKING:
    from .playing import Block

PREFIX = "command:"
MAX_TURNS = 200
"""How many messages a game takes at most: a player that never presses a key would otherwise never end."""
ANSWER_TIME = 600.0
"""Seconds that a program may take for one answer."""
MAX_LINE = 8 * MAX_MESSAGE
"""The longest line that is read from a program, in bytes."""


class Silent(Exception):
    """The program ended, or did not answer in time."""


class Program:
    """A running program that answers lines with lines."""

    def __init__(self, command: str) -> None:
        words = shlex.split(command)
        if not words:
            raise ValueError("command: needs a program, such as command:'python player.py'")
        try:
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise ValueError(f"the program {quote(words[0])} cannot be started: {error}") from None
        self._rest = b""

    @property
    def _input(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def tell(self, message: dict[str, Any]) -> None:
        """Send one line."""
        try:
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()
        except OSError:
            raise Silent from None

    def answer(self) -> tuple[str, int]:
        """The next line as a message, and the tokens that it took."""
        line = self.line()
        try:
            told = json.loads(line)
        except ValueError:
            told = None
        if not isinstance(told, dict):
            return line, 0
        tokens = told.get("tokens", 0)
        return str(told.get("say", "")), tokens if isinstance(tokens, int) and 0 <= tokens < 2**31 else 0

    def line(self) -> str:
        """The next line, as it is."""
        output, until = self._process.stdout, time.monotonic() + ANSWER_TIME
        assert output is not None
        while b"\n" not in self._rest:
            ready, _, _ = select.select([output], [], [], max(0.0, until - time.monotonic()))
            more = output.read1(65536) if ready else b""  # type: ignore[attr-defined]
            if not more or len(self._rest) > MAX_LINE:
                raise Silent
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace")

    def close(self) -> None:
        """End the program."""
        try:
            self._input.close()
            self._process.wait(5)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def play(command: str, block: Block) -> tuple[list[int], list[int], list[str], dict[str, list[int]]]:
    """Play a block of episodes with a program. One that falls silent has lost nothing but its game."""
    status, steps, actions = list[int](), list[int](), list[str]()
    told = {"turns": list[int](), "problems": list[int](), "tokens": list[int]()}
    program = Program(command)
    try:
        for seed in block.seeds:
            task = block.task
            with Dialogue(
                task.puzzle,
                task.game_id or task.params,
                None if task.game_id else seed,
                undo=task.undo,
                max_steps=task.max_steps,
                max_repeats=task.max_repeats,
                max_turns=MAX_TURNS,
                timeout=task.timeout,
            ) as game:
                try:
                    problems, tokens = _play(program, game)
                except Silent:
                    problems = tokens = 0
                    program.close()
                    program = Program(command)
                status.append(int(game.status if game.status != Status.ONGOING else 0))
                steps.append(game.session.steps)
                if block.record:
                    actions.append(as_text(game.keys))
                for name, number in (("turns", game.turns), ("problems", problems), ("tokens", tokens)):
                    told[name].append(number)
    finally:
        program.close()
    return status, steps, actions, told


def _play(program: Program, game: Dialogue) -> tuple[int, int]:
    text, problems, tokens = game.prompt(), 0, 0
    about = {"puzzle": game.session.puzzle, "params": game.session.params}
    while True:
        program.tell({**about, "turn": game.turns, "text": text, "done": game.done})
        if game.done:
            return problems, tokens
        said, cost = program.answer()
        reply = game.say(said)
        text, problems, tokens = str(reply), problems + len(reply.problems), tokens + cost
