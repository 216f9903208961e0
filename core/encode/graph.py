"""The puzzle as a graph, where it is one.

This is the one module that knows puzzles by name: what the nodes and edges of a puzzle are is a choice of this encoder.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UnknownOption
from .base import Array, Encoder, Fields, Leaf

if TYPE_CHECKING:
    from ..task import Task

Parts = tuple[Array, Array, Array]
"""Features of the nodes, features of the edges, and the two nodes of each edge."""


def _one_hot(values: Array, size: int) -> Array:
    return np.eye(size, dtype=np.float32)[values]


def _columns(*columns: Array) -> Array:
    """Features side by side, each a vector or a matrix."""
    return np.concatenate([column.reshape(len(column), -1) for column in columns], axis=1, dtype=np.float32)


def _untangle(state: dict[str, Array], high: dict[str, int]) -> Parts:
    points = state["points"] / high["points"]
    chosen = np.arange(len(points)) == state["cursor_point"]
    links = np.argwhere(np.triu(state["edges"]))
    return _columns(points, chosen), _columns(state["crossed"][tuple(links.T)]), links


def _map(state: dict[str, Array], high: dict[str, int]) -> Parts:
    regions, colours = state["regions"], state["colours"]
    under = regions[state["cursor_y"], state["cursor_x"], state["cursor_quarter"]]
    numbers = np.arange(len(colours))
    belongs = regions.reshape(-1, 1) == numbers
    rows, columns, _ = np.indices(regions.shape)
    places = np.stack([columns.ravel() / regions.shape[1], rows.ravel() / regions.shape[0]], axis=1)
    middles = belongs.T @ places / belongs.sum(axis=0)[:, None]
    links = np.argwhere(np.triu(state["neighbours"]))
    ends = colours[links]
    clash = (ends[:, 0] == ends[:, 1]) & (ends[:, 0] > 0)
    return _columns(_one_hot(colours, 5), state["fixed"], numbers == under, middles), _columns(clash), links


def _loopy(state: dict[str, Array], high: dict[str, int]) -> Parts:
    ends = state["edge_ends"]
    dots, links = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
    clues = np.append(state["clues"], -1)[state["edge_faces"]]  # the outside, face -1, has none
    edges = _columns(
        _one_hot(state["lines"], 3),
        state["errors"],
        np.arange(len(ends)) == state["cursor_edge"],
        clues / high["clues"],
        clues >= 0,
    )
    edges[:, 5:7] *= edges[:, 7:9]
    return _columns(dots / high["edge_ends"]), edges, links.reshape(-1, 2)


def _bridges(state: dict[str, Array], high: dict[str, int]) -> Parts:
    islands = state["islands"]
    rows, columns = np.nonzero(islands)
    number = np.full(islands.shape, -1)
    number[rows, columns] = np.arange(len(rows))
    links, edges = [], []
    for across, field in ((True, "horizontal"), (False, "vertical")):
        lines = zip(number if across else number.T, state[field] if across else state[field].T, strict=True)
        for line, bridges in lines:
            stops = np.flatnonzero(line >= 0)
            for a, b in pairwise(stops):
                if b - a > 1:  # neighbouring islands leave no room for a bridge
                    links.append((line[a], line[b]))
                    edges.append((bridges[a + 1] / 2, across))
    here = (rows == state["cursor_y"]) & (columns == state["cursor_x"])
    nodes = _columns(
        islands[rows, columns] / 8,
        state["marked"][rows, columns],
        state["errors"][rows, columns],
        here,
        columns / islands.shape[1],
        rows / islands.shape[0],
    )
    return nodes, np.array(edges, np.float32).reshape(-1, 2), np.array(links, np.int64).reshape(-1, 2)


def _net(state: dict[str, Array], high: dict[str, int]) -> Parts:
    wires, barriers = state["wires"], state["barriers"]
    height, width = wires.shape[:2]
    number = np.arange(height * width).reshape(height, width)
    links, edges = [], []
    for side, back, axis in ((1, 0, 0), (3, 2, 1)):  # the bottom side meets a top side, the right one a left
        other = np.roll(number, -1, axis)
        joined = barriers[..., side] == 0
        links.append(np.stack([number[joined], other[joined]], axis=1))
        edges.append(np.stack([wires[..., side], np.roll(wires[..., back], -1, axis)], axis=-1)[joined])
    rows, columns = np.indices((height, width))
    nodes = _columns(
        wires.reshape(-1, 4),
        ((rows == state["source"][0]) & (columns == state["source"][1])).ravel(),
        ((rows == state["cursor_y"]) & (columns == state["cursor_x"])).ravel(),
        columns.ravel() / width,
        rows.ravel() / height,
    )
    return nodes, np.concatenate(edges).astype(np.float32), np.concatenate(links)


_BUILDERS: dict[str, Callable[[dict[str, Array], dict[str, int]], Parts]] = {
    "bridges": _bridges,
    "loopy": _loopy,
    "map": _map,
    "net": _net,
    "untangle": _untangle,
}

# How many nodes and edges a puzzle has at most, from the shapes of its fields.
_MOST: dict[str, Callable[[dict[str, tuple[int, ...]]], tuple[int, int]]] = {
    # Every cell an island; each is linked to the next one to the right and below.
    "bridges": lambda shape: (_cells(shape["islands"]), 2 * _cells(shape["islands"])),
    # A loop may not even touch itself, but grids have no more points than twice their edges.
    "loopy": lambda shape: (2 * shape["edge_ends"][0], shape["edge_ends"][0]),
    "map": lambda shape: (shape["colours"][0], _planar(shape["colours"][0])),
    "net": lambda shape: (_cells(shape["wires"][:2]), 2 * _cells(shape["wires"][:2])),
    "untangle": lambda shape: (shape["points"][0], _planar(shape["points"][0])),
}


def _cells(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape))


def _planar(nodes: int) -> int:
    """The most edges of a planar graph."""
    return max(nodes * (nodes - 1) // 2 if nodes < 4 else 3 * nodes - 6, 1)


class Graph(Encoder):
    """Nodes, edges and which nodes each edge links, with all features in [0, 1].

    ========  ==============================================  ===============================================
    puzzle    nodes and their features                        edges and their features
    ========  ==============================================  ===============================================
    bridges   islands: bridges wanted, marked, error,         islands in view of each other: bridges between,
              cursor, x, y                                    whether horizontal
    loopy     grid points: x, y                               grid edges: undecided, line, none; error, cursor;
                                                              the clues on both sides, and whether there are any
    map       regions: colour (one-hot), fixed, cursor, x, y  borders: both sides have the same colour
    net       tiles: four wires, source, cursor, x, y         sides without a barrier: a wire from the one, from
                                                              the other tile
    untangle  points: x, y, chosen                            lines: crosses another
    ========  ==============================================  ===============================================

    The fields of the cursor that are single numbers follow as further features of every node.

        >>> import puzzleport as pp
        >>> encoder = Graph(pp.Task("untangle", "4"))
        >>> graph = encoder.attach(pp.Session("untangle", "4", seed=1))()
        >>> graph["nodes"].shape, graph["edge_links"][: graph["n_edges"][0]].tolist()
        ((4, 5), [[0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])

    The arrays have the same shape for all games with the same parameters: ``nodes[: n_nodes]``, ``edges[: n_edges]`` and
    ``edge_links[: n_edges]`` are in use, the rest is zero.
    """

    kind = "graph"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        if task.puzzle not in _BUILDERS:
            raise UnknownOption(f"{task.puzzle} is no graph; these are: {', '.join(_BUILDERS)}")
        self._build = _BUILDERS[task.puzzle]
        fields = self.layout.fields
        self._high = {field.name: field.high for field in fields}
        self._ui = [field for field in fields if field.is_ui and not field.shape]
        most_nodes, most_edges = _MOST[task.puzzle]({field.name: field.shape for field in fields})
        with task.session(seed=0) as session:
            nodes, edges, _ = self._build(session.observe(), self._high)
        width = nodes.shape[1] + len(self._ui)
        real, whole = np.dtype(np.float32), np.dtype(np.int32)
        self.tree = {
            "nodes": Leaf((most_nodes, width), real, 0.0, 1.0, "nodes"),
            "edges": Leaf((most_edges, edges.shape[1]), real, 0.0, 1.0, "edges"),
            "edge_links": Leaf((most_edges, 2), whole, 0, most_nodes - 1, "edge_links"),
            "n_nodes": Leaf((1,), whole, 0, most_nodes, "n_nodes"),
            "n_edges": Leaf((1,), whole, 0, most_edges, "n_edges"),
        }

    def encode(self, fields: Fields) -> dict[str, Array]:
        """The graphs of fields."""
        lead = self.lead(fields)
        out = {name: np.zeros((*lead, *leaf.shape), leaf.dtype) for name, leaf in self._leaves.items()}
        for at in np.ndindex(*lead):
            nodes, edges, links = self.graph({name: view[at] for name, view in fields.items()})
            out["nodes"][at][: len(nodes)] = nodes
            out["edges"][at][: len(edges)] = edges
            out["edge_links"][at][: len(links)] = links
            out["n_nodes"][at], out["n_edges"][at] = len(nodes), len(edges)
        return out

    @property
    def _leaves(self) -> dict[str, Leaf]:
        return self.tree  # type: ignore[return-value]

    def graph(self, state: dict[str, Array]) -> Parts:
        """Nodes, edges and links of one state, without padding."""
        nodes, edges, links = self._build(state, self._high)
        ui = [(state[field.name] - field.low) / max(field.high - field.low, 1) for field in self._ui]
        return _columns(nodes, np.broadcast_to(np.array(ui, np.float32), (len(nodes), len(ui)))), edges, links
