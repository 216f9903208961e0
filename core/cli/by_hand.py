"""Play by hand, with the same actions that an agent has."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import NoPlan, PuzzleError
from ..session import Session

Key = str
"""A key press by name: an action's name in upper case, or a character."""

# Keys that do the same for every puzzle; digits are actions themselves.
KEYS = {"w": "UP", "s": "DOWN", "a": "LEFT", "d": "RIGHT", "\r": "SELECT", "\n": "SELECT", " ": "SELECT2", "c": "CTRL"}
ARROWS = {"\x1b[A": "UP", "\x1b[B": "DOWN", "\x1b[C": "RIGHT", "\x1b[D": "LEFT"}
ARROWS |= {code.replace("[", "O"): name for code, name in ARROWS.items()}
SAID = {
    "UP": "arrows or WASD", "DOWN": "", "LEFT": "", "RIGHT": "", "SELECT": "Enter: SELECT", "SELECT2": "Space: SELECT2",
    "CTRL": "C: CTRL", "UNDO": "",
}  # fmt: skip


def help_line(session: Session) -> str:
    """The keys of this puzzle on one line."""
    digits = "".join(name for name in session.actions if name.isdigit())
    named = [SAID[name] for name in session.actions if SAID.get(name)]
    return ", ".join(
        [*named, *([f"{digits[0]}-{digits[-1]}"] if digits else []), "U: undo, H: hint, V: solve, N: new, Q: quit"]
    )


def hint(session: Session) -> str:
    """What to do next: an expert's word where there is one, else the first square that differs from the solution."""
    try:
        action, purpose = session.hint()
        return f"hint: {session.actions[action]}, {purpose}"
    except NoPlan:
        pass
    try:
        now, then = session.observe(), session.solution()
    except PuzzleError as error:
        return f"no hint: {error}"
    for field in session.fields:
        wrong = np.argwhere(np.atleast_1d(now[field.name] != then[field.name]))
        if not field.is_ui and len(wrong):
            place = tuple(int(one) for one in wrong[0])
            value = int(np.atleast_1d(then[field.name])[place])
            return f"hint: {field.name} at {', '.join(map(str, place))} is {value} in the solution ({field.about})"
    return "no hint: the board is as in the solution"


def press(session: Session, key: Key) -> str | None:
    """Do what a key asks for; a message to show, or None to quit."""
    if key in {"q", "\x03", "\x04", "\x1b"}:
        return None
    if key == "h":
        return hint(session)
    try:
        if key == "u":
            return "" if session.undo() else "nothing to take back"
        if key == "v":
            session.solve()
            return "solved by the engine"
        if key == "n":
            session.reset()
            return f"a new one: {session.game_id}"
        action = ARROWS.get(key) or KEYS.get(key, key)
        # Puzzles that move by the digits of a number pad have no arrows: these are 8, 2, 4 and 6.
        if action not in session.actions:
            action = {"UP": "8", "DOWN": "2", "LEFT": "4", "RIGHT": "6"}.get(action, action)
        if action not in session.actions:
            return "no such key"
        return "" if session.step(action).changed else "no effect"
    except PuzzleError as error:
        return str(error)


def _state(session: Session, message: str) -> str:
    return f"{session.status.name.lower()}, {session.steps} steps, {session.moves} moves   {message}"


def play(session: Session, read: Callable[[], Key], show: Callable[[Session, str], None]) -> None:
    """Show, read, do, until the person leaves."""
    message: str | None = help_line(session)
    while message is not None:
        show(session, _state(session, message))
        message = press(session, read())


def has_screen() -> bool:
    """Whether a window could be opened."""
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def in_terminal(session: Session) -> None:
    """Play with the text board."""
    import click

    def show(session: Session, line: str) -> None:
        click.clear()
        click.echo(f"{session.spec.title} {session.game_id}\n\n{session.text()}\n{line}\n{help_line(session)}")

    def read() -> Key:
        try:  # from a pipe, one character is one key
            key = click.getchar() if sys.stdin.isatty() else sys.stdin.read(1) or "q"
        except (EOFError, KeyboardInterrupt):
            return "q"
        return key if key in ARROWS else key.lower()

    play(session, read, show)


def in_window(session: Session, size: int = 512) -> None:
    """Play with the picture."""
    import pygame

    from ..window import Window

    window = Window(session.spec.title, fps=30)
    names = {pygame.K_UP: "UP", pygame.K_DOWN: "DOWN", pygame.K_LEFT: "LEFT", pygame.K_RIGHT: "RIGHT"}
    names |= {pygame.K_RETURN: "\r", pygame.K_KP_ENTER: "\r", pygame.K_ESCAPE: "q"}

    def show(session: Session, line: str) -> None:
        window.show(session.pixels(size, size))
        pygame.display.set_caption(f"{session.spec.title}: {line}")

    def read() -> Key:
        while True:
            event: Any = pygame.event.wait()
            if event.type == pygame.QUIT:
                return "q"
            if event.type == pygame.KEYDOWN and (event.key in names or event.unicode):
                return names.get(event.key) or str(event.unicode).lower()

    try:
        play(session, read, show)
    finally:
        window.close()
