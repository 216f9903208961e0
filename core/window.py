"""A window that shows a session, for playing by hand, for watching an agent and for ``render_mode="human"``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from .errors import PuzzleError
from .session import Session, Status

try:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import pygame
except ImportError as error:
    raise ImportError("a window needs an extra: pip install 'puzzleport[window]'") from error

LEAST_SIDE = 160
MARGIN = 6
FONT_SIZE = 18
TICK = 50
"""Milliseconds between two looks at the keyboard: Ctrl-C in the terminal waits no longer than this."""
UNSEEN = {"dummy", "offscreen", "evdev"}
"""SDL's drivers that show nothing."""
INK, PAPER = (20, 20, 20), (235, 235, 235)
BANNERS = {Status.SOLVED: ("SOLVED", (20, 120, 40)), Status.FAILED: ("LOST", (170, 30, 30))}


class NoDisplay(PuzzleError, RuntimeError):
    """There is no screen to open a window on."""


class Event(NamedTuple):
    """What a person did: pressed a key, used the mouse, closed the window, or changed its size."""

    kind: str
    """key, press, drag, release, quit or draw."""
    key: str = ""
    x: int = 0
    y: int = 0
    button: int = 0


def has_screen() -> bool:
    """Whether a window could be opened."""
    if os.environ.get("SDL_VIDEODRIVER"):
        return True
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_display() -> None:
    """Start SDL's video, or NoDisplay: left alone, SDL would draw on a screen that nobody sees."""
    asked = os.environ.get("SDL_VIDEODRIVER")
    only_x11 = not asked and os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY")
    if only_x11 and sys.platform.startswith("linux"):
        os.environ["SDL_VIDEODRIVER"] = "x11"
    try:
        pygame.display.init()
    except pygame.error as error:
        raise NoDisplay(f"no window can be opened on display {os.environ.get('DISPLAY', '')!r} ({error})") from None
    finally:
        if not asked:
            os.environ.pop("SDL_VIDEODRIVER", None)
    if not asked and pygame.display.get_driver() in UNSEEN:
        pygame.display.quit()
        raise NoDisplay("no window can be opened: the display does not answer")


class Window:
    """A window of any size: the board above, lines of text below it.

    Args:
        title: of the window.
        fps: how many times a second it is drawn, at most.
        size: its width and height at first, in pixels.
    """

    def __init__(self, title: str, fps: int = 10, size: int = 512) -> None:
        if not has_screen():
            raise NoDisplay("there is no display to open a window on: DISPLAY is not set")
        _open_display()
        pygame.font.init()
        self._font = pygame.font.Font(None, FONT_SIZE)
        pygame.display.set_caption(title)
        self._screen: Any = pygame.display.set_mode((max(size, LEAST_SIDE), max(size, LEAST_SIDE)), pygame.RESIZABLE)
        self._fps, self._clock = fps, pygame.time.Clock()
        self.picture = (0, 0)
        """Width and height of the board's picture, which lies at the top left."""

    def show(self, session: Session, *lines: str) -> None:
        """Draw the board with these lines below it, and whether it is solved or lost, at most so many times a second."""
        width, height = self._screen.get_size()
        written = [part for line in lines if line for part in self._wrapped(line, width - 2 * MARGIN)]
        banner = BANNERS.get(session.status)
        row = self._font.get_linesize()
        below = row * (len(written) + (banner is not None)) + (2 * MARGIN if written or banner else 0)
        self.picture = width, max(height - below, 1)
        self._screen.fill(PAPER)
        try:
            pixels = session.pixels(*self.picture)
            self._screen.blit(pygame.surfarray.make_surface(pixels.transpose(1, 0, 2)), (0, 0))
        except PuzzleError:  # the window was made too small for the board
            written = ["make the window larger", *written]
        y = self.picture[1] + MARGIN
        if banner is not None:
            word, colour = banner
            pygame.draw.rect(self._screen, colour, (0, self.picture[1], width, row + MARGIN))
            self._screen.blit(self._font.render(f"{word} after {session.steps} steps", True, PAPER), (MARGIN, y))
            y += row + MARGIN // 2
        for line in written:
            self._screen.blit(self._font.render(line, True, INK), (MARGIN, y))
            y += row
        self._flip()

    def show_row(self, sessions: Sequence[Session]) -> None:
        """Draw several boards side by side."""
        width, height = self._screen.get_size()
        each = max(width // len(sessions), 1)
        self._screen.fill(PAPER)
        for at, session in enumerate(sessions):
            with suppress(PuzzleError):  # the window was made too small for so many boards
                pixels = session.pixels(each, height)
                self._screen.blit(pygame.surfarray.make_surface(pixels.transpose(1, 0, 2)), (at * each, 0))
        self._flip()

    def _flip(self) -> None:
        pygame.display.flip()
        pygame.event.pump()
        self._clock.tick(self._fps)

    def _wrapped(self, line: str, width: int) -> list[str]:
        """A line in pieces that fit."""
        pieces = [""]
        for word in line.split():
            longer = f"{pieces[-1]} {word}".strip()
            if self._font.size(longer)[0] > width and pieces[-1]:
                pieces.append(word)
            else:
                pieces[-1] = longer
        return pieces

    def events(self, patience: float | None = None) -> Iterator[Event]:
        """What was done, as it is done; without patience (in seconds) until the window is closed."""
        waited = 0.0
        while patience is None or waited < patience:
            # A short wait and back to Python: there Ctrl-C is heard.
            event = pygame.event.wait(TICK)
            found = _translated(event)
            if found is not None:
                yield found
            if event.type == pygame.NOEVENT:
                waited += TICK / 1000

    def close(self) -> None:
        """Close the window. Closing twice is fine."""
        if self._screen is not None:
            pygame.display.quit()
            self._screen = None


_KEYS = {
    pygame.K_UP: "UP",
    pygame.K_DOWN: "DOWN",
    pygame.K_LEFT: "LEFT",
    pygame.K_RIGHT: "RIGHT",
    pygame.K_RETURN: "\r",
    pygame.K_KP_ENTER: "\r",
    pygame.K_ESCAPE: "q",
}


def _translated(event: Any) -> Event | None:  # noqa: ANN401 (pygame's)
    """An event of pygame as one of ours, or None where it says nothing to us."""
    if event.type == pygame.QUIT:
        return Event("quit")
    if event.type == pygame.KEYDOWN and (event.key in _KEYS or event.unicode):
        return Event("key", _KEYS.get(event.key) or str(event.unicode).lower())
    if event.type in {pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP} and 1 <= event.button <= 3:
        kind = "press" if event.type == pygame.MOUSEBUTTONDOWN else "release"
        return Event(kind, "", event.pos[0], event.pos[1], event.button - 1)
    if event.type == pygame.MOUSEMOTION and any(event.buttons):
        return Event("drag", "", event.pos[0], event.pos[1], event.buttons.index(1))
    if event.type in {pygame.VIDEORESIZE, pygame.VIDEOEXPOSE}:
        return Event("draw")
    return None
