"""What a ``relative`` network sees of a board: the same features for each cell, whatever the size.

A column is something that is known of every cell: the numbers that are compared, one for each cell, and what they are compared
with. That is either the same value for all cells, chosen by what is met in play, or the cell's own place. Columns come in the
same order for all sizes of a puzzle, so a feature is a column and a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..encode.tokens import token_axes
from ..errors import PuzzleError, UnknownOption
from ..puzzle_spec import Field, canonical_params, layout
from .network import CURSOR

Array = np.ndarray[Any, Any]
NEVER = 2**30
"""What no number is."""
WHERE = ("cursor", "ball", "position", "gap")
"""What tells the place where a player acts, the first that a puzzle has."""


class Column(NamedTuple):
    """Which number is looked at for each cell, row by row, -1 for none; and its place, where that is what it is compared with."""

    items: Array
    places: Array | None = None


class Board(NamedTuple):
    """The cells of a board, and what is known of them."""

    height: int
    width: int
    columns: list[Column]
    cursor: list[Column]
    """As many as ``network.CURSOR``."""


class Sight(NamedTuple):
    """What a network sees, as ``network.look`` needs it."""

    item: Array
    value: Array
    column: Array
    """The column of each feature, by which it is found again on a board of another size."""
    compared: Array
    """Its value; nothing where the column compares with places."""
    board: tuple[int, int, int]
    """Height, width and features."""


def choose(puzzle: str, params: str, samples: Mapping[str, Array]) -> Sight:
    """The features of a board: every value that is met in samples of ``network.numbers``.

    Args:
        puzzle: its name.
        params: of the board.
        samples: by the parameters where they were met, of other sizes perhaps.
    """
    boards = {one: read_board(puzzle, one) for one in samples}
    column, compared = [], []
    for number, first in enumerate(read_board(puzzle, params).columns):
        if first.places is not None:
            taken = np.array([0])
        else:
            items = {one: board.columns[number].items for one, board in boards.items()}
            taken = np.unique(
                np.concatenate([met[:, items[one][items[one] >= 0]].ravel() for one, met in samples.items()])
            )
            taken = taken if len(taken) > 1 else taken[:0]
        column += [number] * len(taken)
        compared += taken.tolist()
    return on(puzzle, params, np.array(column, np.int32), np.array(compared, np.int32))


def larger(puzzle: str, params: str, count: int = 3) -> list[str]:
    """Parameters of the next larger boards, which are seen as this one is and differ in nothing but their size."""
    found = re.match(r"(\D*)(\d+)(?:x(\d+))?(.*)", params)
    if found is None:
        raise UnknownOption(f"{puzzle} {params:.80}: no size is told at the start of the parameters")
    before, first, second, rest = found[1], int(found[2]), found[3], found[4]
    if second is None:
        sizes = [f"{first + more}" for more in range(1, count + 1)]
    else:
        least, most = sorted((first, int(second)))
        pairs = [(a, b) for a in range(least, most + 4) for b in range(least, most + 4) if a * b > first * int(second)]
        sizes = [f"{a}x{b}" for a, b in sorted(pairs, key=lambda pair: (max(pair), pair[0] * pair[1], pair))]
    known = len(read_board(puzzle, params).columns)
    chosen: list[str] = []
    for size in sizes:
        try:
            one = canonical_params(puzzle, f"{before}{size}{rest}")
            if len(read_board(puzzle, one).columns) == known:
                chosen.append(one)
        except PuzzleError:
            continue
        if len(chosen) == count:
            break
    return chosen


def on(puzzle: str, params: str, column: Array, compared: Array) -> Sight:
    """The same features on a board of any size."""
    board = read_board(puzzle, params)
    cells = board.height * board.width
    item = np.zeros((cells, len(column) + CURSOR), np.int32)
    value = np.full_like(item, NEVER)
    chosen = [(board.columns[number], one) for number, one in zip(column.tolist(), compared.tolist(), strict=True)]
    for number, (one, alike) in enumerate([*chosen, *((one, 0) for one in board.cursor)]):
        there = one.items >= 0
        item[there, number] = one.items[there]
        value[there, number] = alike if one.places is None else one.places[there]
    return Sight(item.ravel(), value.ravel(), column, compared, (board.height, board.width, len(column) + CURSOR))


def read_board(puzzle: str, params: str) -> Board:
    """What is known of the cells of a puzzle's board."""
    fields = layout(puzzle, params).fields
    axes = token_axes(puzzle, params)
    starts = np.cumsum([0, *(int(np.prod(field.shape)) for field in fields)]).tolist()
    grids = {field.name: tuple(field.shape[axis] for axis in axes[field.name][0]) for field in fields}
    cursor = _cursor(fields)
    if cursor is None:
        raise UnknownOption(f"{puzzle} has no cursor on a board: choose a dense network")
    height, width = _size(fields, grids, cursor)
    down, across = np.indices((height, width)).reshape(2, -1)
    columns: list[Column] = []
    where: dict[str, list[Column]] = {}
    for field, start in zip(fields, starts, strict=False):
        each = np.arange(start, start + int(np.prod(field.shape))).reshape(field.shape)
        way = _way(field)
        if way is not None:
            for axis, item in zip(way, each.ravel().tolist(), strict=True):
                found = _places(item, down if axis == "y" else across, "half" in field.about)
                if field.name in cursor:
                    where[axis] = found
                else:
                    columns += found
            # Beside the board, or nowhere: whatever the size, the ends of what is possible are known.
            ends = [np.full(len(down), end) for end in (field.low, field.high)]
            columns += [Column(np.full(len(down), item), end) for item in each.ravel() for end in ends]
            continue
        order = (*axes[field.name][0], *(axis for axis in range(each.ndim) if axis not in axes[field.name][0]))
        flat = each.transpose(order).reshape(*grids[field.name], -1)
        try:
            columns += [Column(items) for items in _spread(field, flat, (height, width), (down, across))]
        except UnknownOption:
            raise UnknownOption(f"{puzzle}: a relative network cannot read {field.name}: choose a dense one") from None
    return Board(height, width, columns, [*where["y"], *where["x"]])


def _named(fields: Any, name: str) -> Field:  # noqa: ANN401 (Fields)
    found: Field = next(field for field in fields if field.name == name)
    return found


def _cursor(fields: Any) -> list[str] | None:  # noqa: ANN401 (Fields)
    """The names of the fields that tell where a player acts, in their order."""
    for name in WHERE:
        found = [field.name for field in fields if field.name in {name, f"{name}_x", f"{name}_y"}]
        if found:
            return found if sum(len(_way(_named(fields, one)) or "") for one in found) == 2 else None
    return None


def _way(field: Field) -> str | None:
    """Whether a number is a row (y), a column (x), or two are both; None for what is no place."""
    if field.shape == (2,) and field.about.startswith("row and column"):
        return "yx"
    if field.shape:
        return None
    if field.name.endswith("_x") or field.about.startswith("column "):
        return "x"
    return "y" if field.name.endswith("_y") or field.about.startswith("row ") else None


def _size(fields: Any, grids: dict[str, tuple[int, ...]], cursor: list[str]) -> tuple[int, int]:  # noqa: ANN401
    """Height and width: of the grid that most fields have, among those over which the cursor goes if there are any."""
    boards = [grids[field.name] for field in fields if len(grids[field.name]) == 2 and not field.is_ui]
    if not boards:
        raise UnknownOption("there is no board")
    for name in cursor:
        field, way = _named(fields, name), _way(_named(fields, name))
        most = field.high // 2 if "half" in field.about else field.high + min(field.low, 0)
        if way in {"x", "y"}:
            boards = [one for one in boards if one["yx".index(way)] == most + 1] or boards
    height, width = max(boards, key=lambda shape: (boards.count(shape), shape))
    return height, width


def _places(item: int, place: Array, half: bool) -> list[Column]:
    """Whether a number is a cell's row or column, or half a cell before it or after it."""
    items = np.full(len(place), item)
    beside = [2 * place - 1, 2 * place + 1] if half else [np.full(len(place), NEVER)] * 2
    return [Column(items, 2 * place if half else place), *(Column(items, one) for one in beside)]


def _spread(field: Field, flat: Array, size: tuple[int, int], cell: tuple[Array, Array]) -> Iterator[Array]:
    """The items of all cells, column by column; the last axis of ``flat`` is of features."""
    (height, width), (down, across) = size, cell
    grid = flat.shape[:-1]
    ways: list[tuple[Array, ...]] = []
    if not grid:
        ways = [()]
    elif len(grid) == 1 and ("row" in field.name or "column" in field.name):
        ways = [(down if "row" in field.name else across,)]
    elif grid == (height + width,):
        ways = [(across,), (width + down,)]
    elif grid == (2 * (height + width),):
        ways = [(across,), (width + across,), (2 * width + down,), (2 * width + height + down,)]
    elif len(grid) == 1 and height == width == grid[0]:
        ways = [(across,), (down,)]
    elif len(grid) == 2 and all(abs(a - b) <= 1 for a, b in zip(grid, size, strict=True)):
        steps = [(0,) if a == b else (0, 1) if a > b else (-1, 0) for a, b in zip(grid, size, strict=True)]
        ways = [(down + i, across + j) for i in steps[0] for j in steps[1]]
    elif len(grid) == 2 and grid == (2 * height - 1, 2 * width - 1):
        ways = [(2 * down + i, 2 * across + j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    else:
        raise UnknownOption("")
    for way in ways:
        inside = np.ones(len(down), np.bool_)
        for place, count in zip(way, grid, strict=True):
            inside &= (place >= 0) & (place < count)
        taken = flat[tuple(np.where(inside, place, 0) for place in way)] if way else np.repeat(flat[None], len(down), 0)
        for number in range(flat.shape[-1]):
            yield np.where(inside, taken[:, number], -1)
