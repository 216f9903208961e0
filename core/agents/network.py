"""The networks of trained agents: one definition, which NumPy plays with and JAX trains.

What a network sees is a vector of zeros and ones. Let ``numbers`` be all fields of an observation in the order of the layout,
each flattened row by row. Entry i of the vector is 1 where ``numbers[item[i]] == value[i]``, else 0. Where a network has ``bit``
too, and ``bit[i]`` is not -1, the entry is that bit of ``numbers[item[i]] - value[i]``, an int32 whose bit 31 is its sign.

``dense``: hidden layers of ``relu(x @ weight + bias)``, then a policy and a value, which are linear.

``axial``: the board's cells, each with features of its own, then blocks in which a cell attends to its row, then to its
column, then passes through two layers. The policy reads the cell at the cursor and the mean of all cells.

``lines``: the same, but instead of attention each row, as a whole, passes through two layers, then each column. It takes a third
of the time, and what a row as a whole must be like, such as Unruly's balance of colours, is told by fewer layers.

``relative``: the same, but a cell is not told by its number: it knows on which side of the cursor it is and whether at the rim,
and attention knows how far apart two cells are. So the weights fit boards of any size; ``sight.py`` says what is seen of one.
The policy reads the cell at the cursor, the mean of its row and of its column, and the mean of all cells.

``tokens`` sees a sequence of tokens, as ``encode/tokens.py`` has them; ``token_sight.py`` says what of each. In a block every
token attends to all others. The policy reads the last token, which holds what is of no cell, and the mean of all. So it reads
what is no grid too, and its weights fit any number of tokens.

``pixels`` sees a picture of the board instead: numbers from 0 to 255, row by row. Two convolutions, whose squares do not
overlap, then a hidden layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import UnknownOption
from ..puzzle_spec import Layout

Array = Any
"""An array of NumPy or of JAX."""
Weights = Mapping[str, Array]
HEADS = 4
NEAR = 3
"""Cells in a row that are farther apart than this are as good as that far apart."""
PICTURE = 36
"""Width and height of the pictures that are looked at."""
SQUARES = (4, 16), (3, 32)
"""Of each convolution: the width of its squares, and how many numbers it makes of each."""
CURSOR = 6
"""So many features at the end of a relative cell tell whether the cursor is in its row, half a cell before or after it; and so
for its column."""


@dataclass(frozen=True)
class Shape:
    """What a network is, beside its weights."""

    kind: str
    """One of ``KINDS``."""
    layers: int
    """Hidden layers, or blocks."""
    width: int
    """Of a hidden layer, or of a cell."""
    height_cells: int = 0
    width_cells: int = 0
    features: int = 0
    """Of each cell: the vector begins with those of all cells, row by row; of ``axial`` and ``lines`` the last two tell row and
    column of the cursor. A sequence of tokens is a board of one row."""


def numbers(layout: Layout, fields: Mapping[str, Array], xp: Any = np) -> Array:  # noqa: ANN401 (numpy or jax.numpy)
    """All numbers of an observation, or of many along leading axes."""
    first = layout.fields[0]
    found = fields[first.name]
    lead = found.shape[: len(found.shape) - len(first.shape)]
    parts = [fields[field.name].reshape(*lead, -1).astype(np.int32) for field in layout.fields]
    return xp.concatenate(parts, axis=-1)


def look(weights: Weights, of: Array, xp: Any = np) -> Array:  # noqa: ANN401 (numpy or jax.numpy)
    """What the network sees of ``numbers``: a boolean vector for each game."""
    taken = xp.take(of, weights["item"], axis=-1)
    same = taken == weights["value"]
    if "bit" not in weights:
        return same
    bit = weights["bit"]
    one = (taken - weights["value"]) >> xp.maximum(bit, 0) & 1
    return xp.where(bit < 0, same, one == 1)


def forward(shape: Shape, weights: Weights, seen: Array, xp: Any = np) -> tuple[Array, Array]:  # noqa: ANN401
    """The logits of the actions, and the value of each game, from what is seen of it."""
    return predict(weights, represent(shape, weights, seen, xp))


def represent(shape: Shape, weights: Weights, seen: Array, xp: Any = np) -> Array:  # noqa: ANN401
    """The last hidden layer: all that policy and value know of a game."""
    x = seen.astype(np.float32)
    if shape.kind != "dense":
        x = _FIRST[shape.kind](shape, weights, x, xp)
    for layer in range(shape.layers if shape.kind == "dense" else 1):
        x = xp.maximum(linear(weights, f"hidden.{layer}", x), 0)
    return x


def predict(weights: Weights, hidden: Array) -> tuple[Array, Array]:
    """Logits and value from the last hidden layer."""
    return linear(weights, "policy", hidden), linear(weights, "worth", hidden)[..., 0]


def linear(weights: Weights, name: str, x: Array) -> Array:
    """One layer, without what follows it."""
    return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _squares(shape: Shape, weights: Weights, x: Array, xp: Any) -> Array:  # noqa: ANN401
    """What the convolutions make of a picture, in one row."""
    lead = x.shape[:-1]
    x = (x / 255).reshape(*lead, shape.height_cells, shape.width_cells, shape.features)
    for number, (side, _) in enumerate(SQUARES):
        height, width, depth = x.shape[-3:]
        x = x.reshape(*lead, height // side, side, width // side, side, depth)
        x = xp.swapaxes(x, -3, -4).reshape(*lead, height // side, width // side, side * side * depth)
        x = xp.maximum(linear(weights, f"square.{number}", x), 0)
    return x.reshape(*lead, -1)


def _cells(shape: Shape, weights: Weights, x: Array, xp: Any) -> Array:  # noqa: ANN401
    """The cell at the cursor and the mean of all, after the blocks."""
    board = shape.height_cells, shape.width_cells, shape.features
    own = board[0] * board[1] * board[2]
    cells = x[..., :own].reshape(*x.shape[:-1], *board)
    here = cells[..., -2:-1] * cells[..., -1:]
    rest = linear(weights, "rest", x[..., own:])[..., None, None, :]
    x = linear(weights, "cell", cells) + rest + weights["place"]
    x = _blocks(shape, weights, x, xp)
    return xp.concatenate([(x * here).sum((-2, -3)), x.mean((-2, -3))], axis=-1)


def _relative_cells(shape: Shape, weights: Weights, x: Array, xp: Any) -> Array:  # noqa: ANN401
    """The cell at the cursor, and the means of its row, its column and the board, after the blocks."""
    height, width = shape.height_cells, shape.width_cells
    cells = x.reshape(*x.shape[:-1], height, width, shape.features)
    # Between two cells the cursor is half in each.
    at = [cells[..., shape.features - CURSOR + i, None] for i in range(CURSOR)]
    row, column = (at[i] + 0.5 * (at[i + 1] + at[i + 2]) for i in (0, 3))
    above, left = xp.cumsum(row, -3) - row, xp.cumsum(column, -2) - column
    below, right = row.sum(-3, keepdims=True) - row - above, column.sum(-2, keepdims=True) - column - left
    x = linear(weights, "cell", cells) + linear(weights, "side", xp.concatenate([above, below, left, right], -1))
    x = _blocks(shape, weights, x + _rim(height, width) @ weights["rim"], xp)
    seen = [(x * row * column).sum((-2, -3)), (x * row).sum((-2, -3)) / width, (x * column).sum((-2, -3)) / height]
    return xp.concatenate([*seen, x.mean((-2, -3))], axis=-1)


def _rim(height: int, width: int) -> Array:
    """Whether each cell is in the first row, the last, the first column, the last."""
    down, across = np.indices((height, width))
    sides = (down == 0, down == height - 1, across == 0, across == width - 1)
    return np.stack(sides, -1).astype(np.float32)


def _tokens(shape: Shape, weights: Weights, x: Array, xp: Any) -> Array:  # noqa: ANN401
    """The last token and the mean of all, after the blocks."""
    tokens = x.reshape(*x.shape[:-1], shape.height_cells, shape.width_cells, shape.features)
    x = _blocks(shape, weights, linear(weights, "cell", tokens), xp)
    return xp.concatenate([x[..., -1, -1, :], x.mean((-2, -3))], axis=-1)


_FIRST = {"axial": _cells, "lines": _cells, "relative": _relative_cells, "tokens": _tokens, "pixels": _squares}
"""What comes before the last hidden layer, by the kind of network."""
KINDS = ("dense", *_FIRST)
ATTENDING = ("axial", "relative", "tokens")
ANY_SIZE = ("relative", "tokens")
"""Those whose weights fit boards of any size."""


def _blocks(shape: Shape, weights: Weights, x: Array, xp: Any) -> Array:  # noqa: ANN401
    along = _pass if shape.kind == "lines" else _attend
    for block in range(shape.layers):
        x = x + along(weights, f"block.{block}.row", _norm(x, xp), xp)
        if shape.kind != "tokens":
            turned = xp.swapaxes(_norm(x, xp), -2, -3)
            x = x + xp.swapaxes(along(weights, f"block.{block}.column", turned, xp), -2, -3)
        inside = xp.maximum(linear(weights, f"block.{block}.inside", _norm(x, xp)), 0)
        x = x + linear(weights, f"block.{block}.outside", inside)
    return _norm(x, xp)


def _norm(x: Array, xp: Any) -> Array:  # noqa: ANN401
    return x / xp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def _attend(weights: Weights, name: str, x: Array, xp: Any) -> Array:  # noqa: ANN401
    """Attention of the cells along the last axis but one, with four heads."""
    size = x.shape[-1] // HEADS
    parts = linear(weights, f"{name}.in", x).reshape(*x.shape[:-1], 3, HEADS, size)
    query, key, value = (xp.swapaxes(parts[..., i, :, :], -2, -3) for i in range(3))
    score = query @ xp.swapaxes(key, -1, -2) * np.float32(size**-0.5)
    if f"{name}.near" in weights:
        each = np.arange(x.shape[-2])
        score = score + weights[f"{name}.near"][:, np.clip(each[:, None] - each, -NEAR, NEAR) + NEAR]
    score = xp.exp(score - score.max(-1, keepdims=True))
    mixed = xp.swapaxes(score / score.sum(-1, keepdims=True) @ value, -2, -3)
    return linear(weights, f"{name}.out", mixed.reshape(x.shape))


def _pass(weights: Weights, name: str, x: Array, xp: Any) -> Array:  # noqa: ANN401
    """Lines of cells, along the last axis but one, each through two layers that see all of the line."""
    line = x.reshape(*x.shape[:-2], -1)
    return linear(weights, f"{name}.out", xp.maximum(linear(weights, f"{name}.in", line), 0)).reshape(x.shape)


# ---- what a fresh network is


def fresh_linear(name: str, inputs: int, outputs: int, scale: float, random: np.random.Generator) -> dict[str, Array]:
    """An orthogonal layer, and a bias of zeros."""
    square = random.normal(size=(max(inputs, outputs), min(inputs, outputs)))
    q, r = np.linalg.qr(square)
    q = q * np.sign(np.diag(r))
    weight = (scale * (q if inputs >= outputs else q.T)).astype(np.float32)
    return {f"{name}.weight": weight, f"{name}.bias": np.zeros(outputs, np.float32)}


def initial(shape: Shape, actions: int, seen: int, random: np.random.Generator) -> dict[str, Array]:
    """Weights to start from: orthogonal, with a policy that is nearly uniform. ``item`` and ``value`` are not among them."""
    found: dict[str, Array] = {}

    def linear(name: str, inputs: int, outputs: int, scale: float) -> None:
        found.update(fresh_linear(name, inputs, outputs, scale, random))

    width, last = shape.width, shape.width
    if shape.kind == "pixels":
        side, depth = shape.height_cells, shape.features
        for number, (square, made) in enumerate(SQUARES):
            linear(f"square.{number}", square * square * depth, made, 2**0.5)
            side, depth = side // square, made
        linear("hidden.0", side * side * depth, width, 2**0.5)
    elif shape.kind != "dense":
        board = shape.height_cells, shape.width_cells
        linear("cell", shape.features, width, 1.0)
        if shape.kind not in ANY_SIZE:
            linear("rest", seen - board[0] * board[1] * shape.features, width, 1.0)
            found["place"] = (0.1 * random.normal(size=(*board, width))).astype(np.float32)
        elif shape.kind == "relative":
            linear("side", 4, width, 1.0)
            found["rim"] = (0.5 * random.normal(size=(4, width))).astype(np.float32)
        for block in range(shape.layers):
            for way, cells in (("row", board[1]), ("column", board[0]))[: 1 if shape.kind == "tokens" else 2]:
                if shape.kind == "lines":
                    linear(f"block.{block}.{way}.in", cells * width, cells * width, 2**0.5)
                    linear(f"block.{block}.{way}.out", cells * width, cells * width, 0.3)
                    continue
                linear(f"block.{block}.{way}.in", width, 3 * width, 1.0)
                linear(f"block.{block}.{way}.out", width, width, 0.3)
                if shape.kind == "relative":
                    near = random.normal(size=(HEADS, 2 * NEAR + 1))
                    found[f"block.{block}.{way}.near"] = near.astype(np.float32)
            linear(f"block.{block}.inside", width, 2 * width, 2**0.5)
            linear(f"block.{block}.outside", 2 * width, width, 0.3)
        last = 2 * width
        linear("hidden.0", (4 if shape.kind == "relative" else 2) * width, last, 2**0.5)
    else:
        for layer in range(shape.layers):
            linear(f"hidden.{layer}", width if layer else seen, width, 2**0.5)
    linear("policy", last, actions, 0.01)
    linear("worth", last, 1, 1.0)
    return found


def dense_sight(layout: Layout, samples: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """``item`` and ``value`` of every number that changes and every value that it takes, in samples of ``numbers``."""
    items, values = [], []
    for item in range(samples.shape[1]):
        taken = np.unique(samples[:, item])
        if len(taken) > 1:
            items += [item] * len(taken)
            values += taken.tolist()
    return np.array(items, np.int32), np.array(values, np.int32)


def cells_sight(
    layout: Layout, samples: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], tuple[int, int, int]]:
    """``item`` and ``value`` of the cells of a board and of what is beside it; and height, width and features of the cells."""
    starts = np.cumsum([0, *(int(np.prod(field.shape)) for field in layout.fields)]).tolist()
    boards = [field.shape[:2] for field in layout.fields if len(field.shape) >= 2 and not field.is_ui]
    fields = {field.name: (field, start) for field, start in zip(layout.fields, starts, strict=False)}
    if not boards or not {"cursor_x", "cursor_y"} <= fields.keys():
        raise UnknownOption("a network of cells needs a board with a cursor: choose a dense one")
    height, width = max(boards, key=lambda shape: (boards.count(shape), shape))
    features: list[tuple[np.ndarray[Any, Any], int]] = []  # for each feature the items of all cells, and its value
    rest: list[int] = []
    for field, start in zip(layout.fields, starts, strict=False):
        count = int(np.prod(field.shape))
        each = np.arange(start, start + count)
        if field.shape[:2] == (height, width):
            columns = each.reshape(height * width, -1).T
        elif field.shape == (height,) and "row" in field.name:
            columns = np.repeat(each, width)[None]
        elif field.shape == (width,) and "column" in field.name:
            columns = np.tile(each, height)[None]
        else:
            rest += each.tolist()
            continue
        for items in columns:
            taken = np.unique(samples[:, items])
            features += [(items, int(value)) for value in taken] if len(taken) > 1 else []
    item = np.empty((height * width, len(features) + 2), np.int32)
    value = np.empty_like(item)
    for number, (items, one) in enumerate(features):
        item[:, number], value[:, number] = items, one
    down, across = np.indices((height, width)).reshape(2, -1)
    item[:, -2], value[:, -2] = fields["cursor_y"][1], down
    item[:, -1], value[:, -1] = fields["cursor_x"][1], across
    more = dense_sight(layout, samples[:, rest])
    places = np.array(rest, np.int32)[more[0]] if len(more[0]) else more[0]
    return np.append(item, places), np.append(value, more[1]), (height, width, len(features) + 2)
