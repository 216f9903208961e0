"""A board in a terminal: the engine's picture in coloured half blocks, with its text as letters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.color import Color
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style

from ..limits import MAX_SIDE
from ..puzzle_spec import least_picture
from ..session import Session, Sketch

LEAST_TILE = 3
"""Pixels: below this, squares and the marks in them run together."""
MOST_TILE = 11
"""Pixels: beyond this, a board only gets larger."""
FRAME = 1
"""Pixels around the board."""


def can_draw(console: Console) -> bool:
    """Whether a console is a terminal with colours and block characters."""
    return console.is_terminal and console.color_system is not None and console.encoding.lower().startswith("utf")


class Board:
    """Where and how large a session is drawn. The same for the whole game, so that the board does not jump.

    Args:
        session: what is drawn; anything with the same parameters can be drawn later.
        columns: of the terminal, at most.
        lines: likewise.
    """

    def __init__(self, session: Session, columns: int, lines: int) -> None:
        self.columns = self.lines = 0
        self._size = self._corner = (0, 0)
        for width, height, left, top, right, bottom in _sizes(session):
            if right - left > columns or bottom - top > 2 * lines:
                break
            self._size, self._corner = (width, height), (left, top)
            self.columns, self.lines = right - left, (bottom - top + 1) // 2

    @property
    def fits(self) -> bool:
        """Whether there is room at all."""
        return self.columns > 0

    def rows(self, session: Session) -> list[list[Segment]]:
        """The board, line by line."""
        sketch = session.sketch(*self._size)
        left, top = self._corner
        letters = _letters(sketch, left, top)
        bottom = np.broadcast_to(sketch.pixels[0, 0], (2 * self.lines, self.columns, 3)).copy()
        seen = sketch.pixels[top : top + 2 * self.lines, left : left + self.columns]
        bottom[: len(seen), : seen.shape[1]] = seen
        pixels = bottom.tolist()
        return [
            [
                _character(pixels[2 * line][column], pixels[2 * line + 1][column], letters.get((line, column)))
                for column in range(self.columns)
            ]
            for line in range(self.lines)
        ]


class Drawn:
    """A board and lines of text below it, for rich to print."""

    def __init__(self, board: Board, session: Session, text: str = "", style: str = "") -> None:
        self._rows, self._text, self._style, self._columns = board.rows(session), text, style, board.columns

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = Segment(" " * max((min(options.max_width, 80) - self._columns) // 2, 0))
        for row in self._rows:
            yield indent
            yield from row
            yield Segment.line()
        if self._text:
            yield from console.render(console.render_str(self._text, style=self._style, markup=False, highlight=False))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self._columns, options.max_width)


def needed(session: Session) -> tuple[int, int]:
    """Columns and lines that the smallest board needs."""
    _, _, left, top, right, bottom = next(_sizes(session))
    return right - left, (bottom - top + 1) // 2


def _sizes(session: Session) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Ever larger pictures, and where the board lies in each: some have wide margins, which no terminal has room for."""
    least = least_picture(session.puzzle, session.params)
    last = 0
    for larger in range(4, MAX_SIDE - max(least), 4):
        width, height = least[0] + larger, least[1] + larger
        sketch = session.sketch(width, height)
        if sketch.tile == last or sketch.tile < LEAST_TILE:
            continue
        if sketch.tile > MOST_TILE and last:
            return
        last = sketch.tile
        yield width, height, *_box(sketch)


def _box(sketch: Sketch) -> tuple[int, int, int, int]:
    """The part of a picture that is not margin: left, top, right, bottom."""
    drawn = (sketch.pixels != sketch.pixels[0, 0]).any(axis=2)
    for label in sketch.labels:
        start = _start(label.x, label.align, label.text)
        drawn[min(max(label.y, 0), len(drawn) - 1), max(start, 0) : start + len(label.text)] = True
    rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
    if not len(rows):
        return 0, 0, drawn.shape[1], drawn.shape[0]
    top = max(int(rows[0]) - FRAME, 0)
    left = max(int(columns[0]) - FRAME, 0)
    return left, top, int(columns[-1]) + 1 + FRAME, int(rows[-1]) + 1 + FRAME


def _start(x: int, align: int, text: str) -> int:
    return x - (0, len(text) // 2, len(text))[align + 1]


def _letters(sketch: Sketch, left: int, top: int) -> dict[tuple[int, int], tuple[str, tuple[int, ...]]]:
    """Which letter stands in which character of the terminal."""
    return {
        ((label.y - top) // 2, _start(label.x, label.align, label.text) - left + place): (letter, label.colour)
        for label in sketch.labels
        for place, letter in enumerate(label.text)
    }


def _character(above: list[int], below: list[int], letter: tuple[str, tuple[int, ...]] | None) -> Segment:
    """Two pixels, one above the other, or a letter in front of them."""
    if letter is not None:
        style = Style(color=Color.from_rgb(*letter[1]), bgcolor=Color.from_rgb(*below), bold=True)
        return Segment(letter[0], style)
    if above == below:
        return Segment(" ", Style(bgcolor=Color.from_rgb(*above)))
    return Segment("▀", Style(color=Color.from_rgb(*above), bgcolor=Color.from_rgb(*below)))
