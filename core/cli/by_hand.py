"""Play by hand, with the same actions that an agent has; in a window with the mouse too."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import numpy as np
from rich.console import Console

from ..errors import NoPlan, PuzzleError
from ..session import Session, Status
from .board import Board, Drawn, can_draw, needed

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
LINES_BELOW = 5
MOST_KEYS = 12


def help_line(session: Session) -> str:
    """The keys of this puzzle on one line."""
    digits = "".join(name for name in session.actions if name.isdigit())
    named = [SAID[name] for name in session.actions if SAID.get(name)]
    return ", ".join(
        [*named, *([f"{digits[0]}-{digits[-1]}"] if digits else []), "U: undo, H: hint, V: solve, N: new, Q: quit"]
    )


# ---- hints in plain words


def hint(session: Session) -> str:
    """What to do next, in words and as keys; where no plan is known, a square that differs from the solution."""
    if session.status != Status.ONGOING:
        return "no hint: the game is over"
    try:
        return f"hint: {_planned(session)}"
    except NoPlan:
        pass
    try:
        action, purpose = session.hint()
        return f"hint: {purpose}: {session.actions[action]}"
    except NoPlan:
        pass
    try:
        now, then = session.observe(), session.solution()
    except PuzzleError as error:
        return f"no hint: {error}"
    changes = _changes(session, now, then)
    return f"hint: in the solution, {changes[0]}" if changes else "no hint: the board is as in the solution"


def _planned(session: Session) -> str:
    """The next move of a plan: what it does, where, and the keys for it."""
    plan = session.plan()
    if not plan:
        raise NoPlan("nothing is left to do")
    copy, before, keys = session.clone(), session.observe(), []
    for action in plan:
        keys.append(session.actions[action])
        if copy.step(action).moves != session.moves:
            break
    more = ["..."] if len(keys) > MOST_KEYS else []
    shown = ", ".join([*keys[:MOST_KEYS], *more])
    changes = _changes(session, before, copy.observe())
    return f"{changes[0]}: {shown}" if changes else shown


def _changes(session: Session, before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> list[str]:
    """What differs between two observations, in words; marks that only follow from the board come last."""
    told = []
    for field in session.fields:
        if field.is_ui:
            continue
        for at in np.argwhere(np.atleast_1d(before[field.name] != after[field.name])):
            place = tuple(int(one) for one in at)
            value = int(np.atleast_1d(after[field.name])[place])
            where = _where(session, field.shape, place)
            told.append(("error" in field.name, f"{_meaning(field.name, field.about, value)} {where}".strip()))
    return [text for _, text in sorted(told, key=lambda one: one[0])]


def _meaning(name: str, about: str, value: int) -> str:
    """What a value of a field means, in the words of the field's own description."""
    yes = re.match(r"1 where (?:the |an? )?(.*?)(?:[;,]|$)", about)
    if yes:
        article = about[len("1 where ") :][: len(about)].split(yes[1])[0]
        return f"{article}{yes[1]}" if value else f"no longer: {article}{yes[1]}"
    listed = re.search(rf"(?:^|[,:;] ){value} (?:for )?([^,;:]+)", about)
    one = name.replace("_", " ")
    one = one[:-1] if one.endswith("s") and not one.endswith("ss") else one
    return listed[1] if listed else f"{one} {value}"


def _where(session: Session, shape: tuple[int, ...], place: tuple[int, ...]) -> str:
    """A place, seen from the cursor where the board has one."""
    if len(shape) < 2:
        return f"at number {place[0] + 1}" if shape else ""
    seen = session.observe(copy=False)
    if "cursor_x" not in seen:
        return f"in row {place[0] + 1}, column {place[1] + 1}"
    right, down = place[1] - int(seen["cursor_x"]), place[0] - int(seen["cursor_y"])
    ways = [f"{abs(right)} {'right' if right > 0 else 'left'}"] * (right != 0)
    ways += [f"{abs(down)} {'down' if down > 0 else 'up'}"] * (down != 0)
    return f"{' and '.join(ways)} of the cursor" if ways else "at the cursor"


# ---- keys


def press(session: Session, key: Key) -> str | None:
    """Do what a key asks for; a message to show, or None to quit."""
    if key in {"q", "\x03", "\x04", "\x1b"}:
        return None
    try:
        if key == "h":
            return hint(session)
        if key == "u":
            return "" if session.undo() else "nothing to take back"
        if key == "v":
            session.solve()
            return "solved by the engine"
        if key == "n":
            session.reset()
            return f"a new one: {session.game_id:.60}"
        action = ARROWS.get(key) or KEYS.get(key, key)
        # Puzzles that move by the digits of a number pad have no arrows: these are 8, 2, 4 and 6.
        if action not in session.actions:
            action = {"UP": "8", "DOWN": "2", "LEFT": "4", "RIGHT": "6"}.get(action, action)
        if action not in session.actions:
            return "no such key"
        return "" if session.step(action).changed else "no effect"
    except PuzzleError as error:
        return str(error)


def state_line(session: Session, message: str = "") -> str:
    """How the game stands, in one line."""
    stands = {Status.SOLVED: "SOLVED", Status.FAILED: "LOST"}.get(session.status, "ongoing")
    return f"{stands}, {session.steps} steps, {session.moves} moves   {message}".rstrip()


def play(session: Session, read: Callable[[], Key], show: Callable[[Session, str], None]) -> None:
    """Show, read, do, until the person leaves."""
    message: str | None = ""
    while message is not None:
        show(session, message)
        message = press(session, read())


# ---- where it is played


def in_terminal(session: Session) -> None:
    """Play with the board in colours, or as plain text where the terminal has none."""
    import click

    console = Console()
    drawn = can_draw(console) and sys.stdin.isatty()
    if drawn:
        check_room(session, console)

    def show(session: Session, message: str) -> None:
        heading = f"{session.spec.title} {session.game_id}"
        if drawn:
            board = Board(session, console.width, console.height - LINES_BELOW)
            console.clear()
            if board.fits:
                below = f"{heading:.{console.width}}\n{state_line(session, message)}\n{help_line(session)}"
                console.print(Drawn(board, session, below))
                return
            console.print(f"this board needs {room(session)}", highlight=False)
        click.echo(f"{heading}\n\n{session.text()}\n{state_line(session, message)}\n{help_line(session)}")

    def read() -> Key:
        try:  # from a pipe, one character is one key
            key = click.getchar() if sys.stdin.isatty() else sys.stdin.read(1) or "q"
        except (EOFError, KeyboardInterrupt):
            return "q"
        return key if key in ARROWS else key.lower()

    play(session, read, show)


def room(session: Session) -> str:
    """The terminal that a board needs, in words."""
    columns, lines = needed(session)
    return f"a terminal of at least {columns} columns and {lines + LINES_BELOW} lines"


def check_room(session: Session, console: Console) -> None:
    """An error where the terminal is too small for the board."""
    if not Board(session, console.width, console.height - LINES_BELOW).fits:
        raise ValueError(
            f"{session.puzzle} {session.params} needs {room(session)}, and this one has {console.width} and "
            f"{console.height}: enlarge it, or give smaller parameters"
        )


def in_window(session: Session, size: int = 512) -> None:
    """Play with the picture, by keys and by mouse."""
    from ..window import Window

    window = Window(session.spec.title, fps=60, size=size)
    keys = f"mouse, {help_line(session)}"
    try:
        window.show(session, state_line(session), keys)
        for event in window.events():
            message: str | None = ""
            if event.kind == "quit":
                return
            if event.kind == "key":
                message = press(session, event.key)
            elif event.kind in {"press", "drag", "release"}:
                width, height = window.picture
                try:
                    session.mouse(event.kind, event.x, event.y, width=width, height=height, button=event.button)
                except PuzzleError as error:
                    message = str(error)
            if message is None:
                return
            window.show(session, state_line(session), message, keys)
    finally:
        window.close()
