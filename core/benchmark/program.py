"""A program as a policy: ``program:'python player.py'``. It reads observations and writes actions, each as one line.

Before each decision the program gets one line of JSON and answers with one line:

    {"puzzle": "net", "params": "2x2", "actions": ["UP", "DOWN", "LEFT", "RIGHT", "SELECT"], "steps": 0,
     "observation": {"wires": [[...]], "cursor_x": 1}, "mask": [true, true, true, true, true], "done": false}
    4

That is one line in each direction. ``observation`` has the fields of the puzzle's page as numbers and lists, ``mask`` tells
which actions have an effect. An answer is the number or the name of an action, or a JSON list of several, which are taken one
after the other while the game goes on. With ``done`` the game is over: ``status`` (1 solved, -1 lost, 0 neither) tells how, and
nothing is to be answered. The program stays for all games of a block and is ended by the end of its input. What it writes to
standard error goes to ours. A game that is answered with anything else, or not within ten minutes, ends unsolved where it
stands, and the program is started anew.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..session import Session
from .command import Program, Silent
from .recording import as_text

if TYPE_CHECKING:
    from .playing import Block

PREFIX = "program:"


def play(command: str, block: Block) -> tuple[list[int], list[int], list[str], dict[str, list[int]]]:
    """Play a block of episodes with a program."""
    status, steps, actions = list[int](), list[int](), list[str]()
    program = Program(command)
    try:
        for seed in block.seeds:
            with block.task.session(seed) as session:
                taken = list[int]()
                try:
                    _play(program, session, taken)
                except Silent:
                    program.close()
                    program = Program(command)
                status.append(int(session.status))
                steps.append(session.steps)
                if block.record:
                    actions.append(as_text(taken))
    finally:
        program.close()
    return status, steps, actions, {}


def _play(program: Program, session: Session, taken: list[int]) -> None:
    """Play one game, and keep the actions that were taken."""
    about: dict[str, object] = {"puzzle": session.puzzle, "params": session.params, "actions": list(session.actions)}
    while True:
        seen = {name: view.tolist() for name, view in session.observe(copy=False).items()}
        state = {"steps": session.steps, "observation": seen, "mask": session.mask(copy=False).tolist()}
        program.tell({**about, **state, "done": bool(session.ended), "status": int(session.status)})
        if session.ended:
            return
        _take(session, _actions(program.line(), session.actions), taken)


def _take(session: Session, actions: list[int], taken: list[int]) -> None:
    """Take actions while the game goes on."""
    for action in actions:
        if session.ended:
            return
        session.act(action)
        taken.append(action)


def _actions(line: str, names: tuple[str, ...]) -> list[int]:
    """The actions that an answer means, at least one; Silent where it means none."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        told = line.strip()
    chosen = [names.index(one) if one in names else one for one in (told if isinstance(told, list) else [told])]
    if not chosen or not all(type(one) is int and 0 <= one < len(names) for one in chosen):
        raise Silent
    return chosen
