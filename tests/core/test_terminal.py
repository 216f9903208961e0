"""The board in a terminal against the engine's own picture: what is drawn, how large, and that nothing is cut off."""

from __future__ import annotations

import numpy as np
import pytest

import puzzleport as pp

pytest.importorskip("rich", reason="the terminal needs the extra cli")
from puzzleport.cli import board as terminal


def colours(rows) -> np.ndarray:
    """The pixels that the characters of a terminal show: two in each, one above the other."""
    lines = []
    for row in rows:
        below = [tuple(segment.style.bgcolor.triplet) for segment in row]
        above = [tuple(s.style.color.triplet) if s.text == "▀" else b for s, b in zip(row, below, strict=True)]
        lines += [above, below]
    return np.array(lines)


def test_the_board_is_the_engines_picture_without_its_margin(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, 1)
    board = terminal.Board(session, 200, 100)
    assert board.fits
    rows = board.rows(session)
    assert (len(rows), {len(row) for row in rows}) == (board.lines, {board.columns})
    sketch, (left, top) = session.sketch(*board._size), board._corner
    shown, picture = colours(rows), sketch.pixels
    letters = np.array([[segment.text not in " ▀" for segment in row] for row in rows]).repeat(2, axis=0)
    margin, outside = picture[0, 0], np.ones(picture.shape[:2], bool)
    outside[top : top + 2 * board.lines, left : left + board.columns] = False
    assert (picture[outside] == margin).all()  # nothing is cut off
    for (y, x), letter in np.ndenumerate(letters):
        if not letter:
            inside = top + y < len(picture) and left + x < picture.shape[1]
            assert (shown[y, x] == (picture[top + y, left + x] if inside else margin)).all()
    drawn = np.argwhere((shown != margin).any(axis=2) | letters)
    assert drawn[:, 1].min() <= terminal.FRAME  # and little is margin
    assert board.columns - 1 - drawn[:, 1].max() <= terminal.FRAME
    assert drawn[:, 0].min() <= terminal.FRAME
    assert 2 * board.lines - 1 - drawn[:, 0].max() <= terminal.FRAME + 1


def test_every_letter_of_the_picture_is_shown_where_it_belongs(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).human_params, 1)
    board = terminal.Board(session, 200, 100)
    lines = ["".join(segment.text for segment in row) for row in board.rows(session)]
    for label in session.sketch(*board._size).labels:
        x, line = label.x - board._corner[0], lines[(label.y - board._corner[1]) // 2]
        half = len(label.text) // 2
        start = {-1: x, 0: x - half, 1: x - len(label.text)}[label.align]
        assert line[start : start + len(label.text)] == label.text


@pytest.mark.parametrize(("width", "height"), [(60, 40), (40, 60)])
def test_a_picture_of_nothing_but_margin_is_shown_whole(width, height):
    sketch = pp.Session("net", "2x2", 1).sketch(width, height)
    blank = sketch._replace(pixels=np.full_like(sketch.pixels, 200), labels=[])
    assert terminal._box(blank) == (0, 0, width, height)


@pytest.mark.parametrize(
    ("puzzle", "params"), [("unequal", "4de"), ("keen", "4de"), ("net", "5x4"), ("tents", "8x8de")]
)
def test_no_size_of_squares_is_left_out_where_a_side_has_four_and_more(puzzle, params):
    session = pp.Session(puzzle, params, 1)
    offered = [session.sketch(width, height).tile for width, height, *_ in terminal._sizes(session)]
    assert offered == [*range(terminal.LEAST_TILE, terminal.MOST_TILE + 1)]


@pytest.mark.parametrize(
    ("puzzle", "params"), [("solo", "3x3"), ("untangle", "10"), ("net", "5x4"), ("tents", "8x8de")]
)
def test_the_largest_board_that_fits_is_drawn(puzzle, params):
    session = pp.Session(puzzle, params, 1)
    columns, lines = terminal.needed(session)
    assert not terminal.Board(session, columns - 1, lines).fits
    assert not terminal.Board(session, columns, lines - 1).fits
    least = terminal.Board(session, columns, lines)
    assert (least.columns, least.lines) == (columns, lines)
    sizes = [terminal.Board(session, width, width).columns for width in range(columns, 150, 5)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > columns
    for width, found in zip(range(columns, 150, 5), sizes, strict=True):
        assert found <= width
    tile = session.sketch(*terminal.Board(session, 1000, 1000)._size).tile
    assert terminal.LEAST_TILE < tile <= terminal.MOST_TILE
