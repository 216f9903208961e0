"""Gymnasium wrappers: intermediate rewards, and observations as tokens or as a graph.

They wrap a ``PuzzleEnv``, alone or under other wrappers, whatever its observation type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

import puzzleport as pp

try:
    import gymnasium as gym
    from gymnasium import spaces
except ImportError as error:
    raise ImportError("the Gymnasium wrappers need an extra: pip install 'puzzleport[gymnasium]'") from error

Array = np.ndarray[Any, Any]
Env = gym.Env[Any, Any]

# ---- rewards


class _ShapedReward(gym.Wrapper[Any, Any, Any, Any]):
    """Pays each step's change of a potential, so that no detour is worth anything."""

    def __init__(self, env: Env, scale: float) -> None:
        super().__init__(env)
        self.scale = scale
        self.session: pp.Session
        self._last: float | None = None

    def potential(self) -> float | None:
        """How good the present state is; None where that cannot be said yet."""
        raise NotImplementedError

    def start(self) -> None:
        """Prepare for a new episode."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        result = self.env.reset(seed=seed, options=options)
        self.session = self.get_wrapper_attr("session")
        self.start()
        self._last = self.potential()
        return result

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:  # noqa: ANN401 (Gymnasium's signature)
        """Take an action; the reward is raised by what the potential rose."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        before, self._last = self._last, self.potential()
        if before is not None and self._last is not None:
            reward = float(reward) + self.scale * (self._last - before)
        return observation, reward, terminated, truncated, info


class SolutionReward(_ShapedReward):
    """Pays for what comes closer to the solution: ``scale`` times the change of the share of the board that is right.

    The engine's solution is computed once per episode. What counts is each field of the board that the solution changes,
    or those of ``fields``. Where a puzzle has several solutions, the engine's is the one that pays. Mines has none before
    its first square is opened: until then nothing is paid.

        >>> from puzzleport.adapters.gymnasium import PuzzleEnv
        >>> env = SolutionReward(PuzzleEnv("unruly", "6x6dt"), scale=36)
        >>> _ = env.reset(seed=1)
        >>> int(env.session.solution()["colours"][0, 0])  # white
        2
        >>> round(env.step("SELECT2")[1], 6), round(env.step("SELECT")[1], 6)
        (1.0, -1.0)
        >>> env.close()

    Args:
        env: the environment.
        scale: the pay for the whole way from nothing right to everything.
        fields: names of the fields that count; ``None`` for those that the solution changes.
    """

    def __init__(self, env: Env, scale: float = 1.0, fields: Sequence[str] | None = None) -> None:
        super().__init__(env, scale)
        about: pp.PuzzleSpec = env.get_wrapper_attr("spec_of_puzzle")
        if not about.can_solve:
            raise pp.NoSolution(f"{about.title} has no solver: there is no solution to pay for")
        self._fields = _checked(env, fields) if fields is not None else None

    def start(self) -> None:
        """Forget the last episode's solution."""
        self._solution: pp.session.Observation | None = None

    def potential(self) -> float | None:
        """The share of the board that is right."""
        now = self.session.observe(copy=False)
        if self._solution is None and not self._solve(now):
            return None
        assert self._solution is not None
        right = sum(int((now[name] == wanted).sum()) for name, wanted in self._solution.items())
        return right / max(1, sum(wanted.size for wanted in self._solution.values()))

    def _solve(self, now: pp.session.Observation) -> bool:
        try:
            solution = self.session.solution()
        except pp.NoSolution:
            return False
        names = self._fields or [
            field.name
            for field in self.session.fields
            if not field.is_ui and not np.array_equal(solution[field.name], now[field.name])
        ]
        self._solution = {name: solution[name] for name in names}
        return True


class ErrorReward(_ShapedReward):
    """Pays for rules kept: ``-scale`` for each error that the engine newly shows, ``scale`` for each that goes away.

    Errors are the fields with that word in their name; others, such as Untangle's ``crossed``, can be named.

        >>> from puzzleport.adapters.gymnasium import PuzzleEnv
        >>> env = ErrorReward(PuzzleEnv("untangle", "4"), fields=["crossed"])
        >>> _ = env.reset(seed=1)
        >>> env.potential()  # two lines cross, in a symmetric matrix
        -4.0
        >>> env.close()
        >>> ErrorReward(PuzzleEnv("fifteen", "2x2"))
        Traceback (most recent call last):
        ValueError: fifteen shows no errors; its fields are tiles, gap

    Args:
        env: the environment.
        scale: the pay for one error.
        fields: names of the fields that count errors; ``None`` for those that are called so.
    """

    def __init__(self, env: Env, scale: float = 1.0, fields: Sequence[str] | None = None) -> None:
        super().__init__(env, scale)
        about, params = env.get_wrapper_attr("spec_of_puzzle"), env.get_wrapper_attr("params")
        names = [field.name for field in about.fields(params)]
        if fields is None:
            fields = [name for name in names if "errors" in name.split("_")]
            if not fields:
                raise ValueError(f"{about.name} shows no errors; its fields are {', '.join(names)}")
        self._fields = _checked(env, fields)

    def potential(self) -> float:
        """Minus the number of errors."""
        now = self.session.observe(copy=False)
        return -float(sum(np.count_nonzero(now[name]) for name in self._fields))


class NoOpPenalty(gym.Wrapper[Any, Any, Any, Any]):
    """Takes ``penalty`` off the reward of an action without effect.

    >>> from puzzleport.adapters.gymnasium import PuzzleEnv
    >>> env = NoOpPenalty(PuzzleEnv("fifteen", "2x2"), penalty=0.5)
    >>> _, info = env.reset(seed=1)
    >>> env.step(info["action_mask"].argmin())[1]
    -0.5
    >>> env.close()
    """

    def __init__(self, env: Env, penalty: float = 0.1) -> None:
        super().__init__(env)
        self.penalty = penalty

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:  # noqa: ANN401 (Gymnasium's signature)
        """Take an action. The mask before it knows whether it has an effect."""
        session: pp.Session = self.get_wrapper_attr("session")
        mask = session.mask()
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not mask[session.action_number(action)]:
            reward = float(reward) - self.penalty
        return observation, reward, terminated, truncated, info


def _checked(env: Env, names: Sequence[str]) -> tuple[str, ...]:
    """Names of fields, or ValueError."""
    about, params = env.get_wrapper_attr("spec_of_puzzle"), env.get_wrapper_attr("params")
    known = [field.name for field in about.fields(params)]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{about.name} has no fields {unknown}; it has {', '.join(known)}")
    return tuple(names)


# ---- tokens


@dataclass(frozen=True)
class _Part:
    """How one field becomes columns of tokens."""

    field: pp.Field
    order: tuple[int, ...]
    """Its axes: first those that are positions, then those that are features."""
    group: int
    """Which kind of token it is part of; 0 is the last token, which holds the rest."""
    column: int
    low: int
    bits: int


@cache
def _token_axes(puzzle: str, params: str | None) -> dict[str, tuple[tuple[int, ...], int]]:
    """For each field, the axes whose length depends on the parameters, and its group: fields that vary alike.

    Found by a look at all presets, so that it is the same for all sizes. A field that only some of them have joins the
    group whose shape it has.
    """
    about = pp.spec(puzzle)
    settings = [about.easiest_params, about.human_params, *(preset.params for preset in about.presets)]
    *presets, own = [{field.name: field.shape for field in about.fields(setting)} for setting in (*settings, params)]
    groups: dict[tuple[Any, ...], int] = {(): 0}
    members: list[tuple[str, tuple[int, ...]]] = []
    result = {}
    for name in sorted(own, key=lambda name: not all(name in preset for preset in presets)):
        shapes = [preset[name] for preset in presets if name in preset]
        if len(shapes) == len(presets):
            lengths = list(zip(*shapes, strict=True))
            axes = tuple(axis for axis, seen in enumerate(lengths) if len(set(seen)) > 1)
            key = tuple(lengths[axis] for axis in axes)
            if key not in groups:
                groups[key] = len(groups)
                members.append((name, axes))
            result[name] = axes, groups[key]
        else:
            result[name] = (), 0
            for group, (member, axes) in enumerate(members, start=1):
                if own[name][: len(axes)] == tuple(own[member][axis] for axis in axes):
                    result[name] = tuple(range(len(axes))), group
                    break
    return result


class TokenEncoder:
    """Turns the fields of one puzzle into tokens whose width does not depend on the size of the board.

    Each cell of the board is one token, with all that is known of the cell; so is each item of other lists and grids
    (clues at the rim, edges). The last token holds the rest: scalars such as the cursor's place. A number becomes bits.
    Four more features say where on the board a token stands, and a one-hot vector what kind of token it is.

        >>> small, large = TokenEncoder("netslide", "2x3b1", largest="3x3b1"), TokenEncoder("netslide", "3x3b1")
        >>> small.length, large.length, small.width == large.width
        (7, 10, True)
        >>> small(pp.Session("netslide", "2x3b1", seed=1).observe()).shape
        (10, 22)

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: of the boards to encode.
        largest: of the largest boards that the same agent shall see; ``None`` for the same as params.
        max_length: pad to so many tokens; ``None`` for as many as the largest board has.
    """

    def __init__(
        self, puzzle: str, params: str | None = None, largest: str | None = None, max_length: int | None = None
    ) -> None:
        about = pp.spec(puzzle)
        fields, largest_fields = about.fields(params), about.fields(params if largest is None else largest)
        if [field.name for field in fields] != [field.name for field in largest_fields]:
            raise pp.InvalidParams(f"{puzzle}: {params} and {largest} have different fields")
        axes = _token_axes(puzzle, params)
        n_groups = 1 + max(group for _, group in axes.values())
        self._parts: list[_Part] = []
        shapes: dict[int, tuple[int, ...]] = {}
        largest_shapes: dict[int, tuple[int, ...]] = {}
        column = 4 + n_groups
        for field, big in zip(fields, largest_fields, strict=True):
            token_axes, group = axes[field.name]
            order = (*token_axes, *(axis for axis in range(len(field.shape)) if axis not in token_axes))
            bits = max(1, int(big.high - big.low).bit_length())
            fits = big.low <= field.low and field.high <= big.high
            if not fits or any(a > b for a, b in zip(field.shape, big.shape, strict=True)):
                raise pp.InvalidParams(f"{puzzle}: {field.name} is larger under {params} than under {largest}")
            self._parts.append(_Part(field, order, group, column, big.low, bits))
            shapes[group] = tuple(field.shape[axis] for axis in token_axes)
            largest_shapes[group] = tuple(big.shape[axis] for axis in token_axes)
            column += bits * int(np.prod([field.shape[axis] for axis in order[len(token_axes) :]], dtype=int))
        self.width = column
        # The rest comes last: it is there in every puzzle, and an encoder can take its place as the summary.
        groups = [*range(1, n_groups), 0]
        counts = {group: int(np.prod(shapes.get(group, ()), dtype=int)) for group in groups}
        self._starts = dict(zip(groups, np.cumsum([0, *counts.values()]).tolist(), strict=False))
        self._counts = counts
        self.length = sum(counts.values())
        largest_length = sum(int(np.prod(largest_shapes.get(group, ()), dtype=int)) for group in groups)
        self.max_length = largest_length if max_length is None else max_length
        if self.length > self.max_length:
            raise ValueError(f"{puzzle} {params} makes {self.length} tokens, more than {self.max_length}")
        self._blank = np.zeros((self.max_length, self.width), np.float32)
        for group in groups:
            rows = slice(self._starts[group], self._starts[group] + counts[group])
            self._blank[rows, 4 + group] = 1.0
            shape = shapes.get(group, ())
            for axis, place in enumerate(np.indices(shape)[::-1]):  # columns first
                self._blank[rows, 2 * axis : 2 * axis + 2] = _position(place.ravel(), shape[-1 - axis])
        self._cursor = [
            (2 * axis, field.name, field.high + 1 + min(field.low, 0))
            for axis, name in enumerate(("cursor_x", "cursor_y"))
            for field in fields
            if field.name == name
        ]

    def space(self) -> spaces.Dict:
        """The space of what the wrapper hands out."""
        return spaces.Dict(
            {
                "tokens": spaces.Box(-1.0, 1.0, (self.max_length, self.width), np.float32),
                "length": spaces.Box(1, self.max_length, (1,), np.int32),
            }
        )

    def __call__(self, state: dict[str, Array]) -> Array:
        """The tokens of one state, or of many along leading axes, padded with zeros."""
        some = self._parts[0].field
        lead = state[some.name].shape[: state[some.name].ndim - len(some.shape)]
        tokens: Array = np.broadcast_to(self._blank, (*lead, *self._blank.shape)).copy()
        for part in self._parts:
            values = state[part.field.name]
            values = np.transpose(values, (*range(len(lead)), *(len(lead) + axis for axis in part.order)))
            start, count = self._starts[part.group], self._counts[part.group]
            numbers = values.reshape(*lead, count, -1).astype(np.int64) - part.low
            bits = (numbers[..., None] >> np.arange(part.bits)) & 1
            bits = bits.reshape(*lead, count, -1)
            tokens[..., start : start + count, part.column : part.column + bits.shape[-1]] = bits
        for column, name, size in self._cursor:
            tokens[..., self.length - 1, column : column + 2] = _position(state[name], size)
        return tokens


def _position(place: Array, size: int) -> Array:
    """Half a turn from one end of an axis to the other: cells beside the board are told from those on it."""
    angle = np.pi * (place.astype(np.float32) + 0.5) / size
    both: Array = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
    return both


class TokenObservation(gym.ObservationWrapper[Any, Any, Any]):
    """The board as a sequence of tokens, for transformers that shall work on boards of several sizes.

    The observation is ``{"tokens": float32[max_length, width], "length": int32[1]}``; see ``TokenEncoder``. Environments
    of different sizes with the same ``largest`` have the same space.

        >>> from puzzleport.adapters.gymnasium import PuzzleEnv
        >>> env = TokenObservation(PuzzleEnv("netslide", "2x3b1"), largest="3x3b1")
        >>> observation, _ = env.reset(seed=1)
        >>> observation["tokens"].shape, observation["length"]
        ((10, 22), array([7], dtype=int32))
        >>> larger = TokenObservation(PuzzleEnv("netslide", "3x3b1"))
        >>> larger.observation_space == env.observation_space
        True
        >>> env.close(), larger.close()
        (None, None)

    Args:
        env: the environment.
        largest: parameters of the largest board that the same agent shall see; ``None`` for the environment's.
        max_length: pad to so many tokens; ``None`` for as many as the largest board has.
    """

    def __init__(self, env: Env, largest: str | None = None, max_length: int | None = None) -> None:
        super().__init__(env)
        about, params = env.get_wrapper_attr("spec_of_puzzle"), env.get_wrapper_attr("params")
        self.encoder = TokenEncoder(about.name, params, largest, max_length)
        self.observation_space = self.encoder.space()

    def observation(self, observation: Any) -> dict[str, Array]:  # noqa: ANN401 (Gymnasium's signature)
        """The tokens of the present state, whatever the environment's own observation."""
        state = self.get_wrapper_attr("session").observe(copy=False)
        return {"tokens": self.encoder(state), "length": np.array([self.encoder.length], np.int32)}


# ---- graphs

Graph = tuple[Array, Array, Array]
"""Features of the nodes, features of the edges, and the two nodes of each edge."""


def _one_hot(values: Array, size: int) -> Array:
    return np.eye(size, dtype=np.float32)[values]


def _columns(*columns: Array) -> Array:
    """Features side by side, each a vector or a matrix."""
    return np.concatenate([column.reshape(len(column), -1) for column in columns], axis=1, dtype=np.float32)


def _untangle(state: dict[str, Array], high: dict[str, int]) -> Graph:
    points = state["points"] / high["points"]
    chosen = np.arange(len(points)) == state["cursor_point"]
    links = np.argwhere(np.triu(state["edges"]))
    return _columns(points, chosen), _columns(state["crossed"][tuple(links.T)]), links


def _map(state: dict[str, Array], high: dict[str, int]) -> Graph:
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


def _loopy(state: dict[str, Array], high: dict[str, int]) -> Graph:
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


def _bridges(state: dict[str, Array], high: dict[str, int]) -> Graph:
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


def _net(state: dict[str, Array], high: dict[str, int]) -> Graph:
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


_GRAPHS: dict[str, Callable[[dict[str, Array], dict[str, int]], Graph]] = {
    "bridges": _bridges,
    "loopy": _loopy,
    "map": _map,
    "net": _net,
    "untangle": _untangle,
}


class GraphObservation(gym.ObservationWrapper[Any, Any, Any]):
    """The puzzle as a graph: a ``GraphInstance`` of nodes, edges and ``edge_links``, with all features in [0, 1].

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

    The cursor and its kin (the scalar fields that belong to the ui) follow as further features of every node.

        >>> from puzzleport.adapters.gymnasium import PuzzleEnv
        >>> env = GraphObservation(PuzzleEnv("untangle", "4"))
        >>> graph, _ = env.reset(seed=1)
        >>> graph.nodes.shape, graph.edge_links.tolist()
        ((4, 5), [[0, 2], [0, 3], [1, 2], [1, 3], [2, 3]])
        >>> env.close()
    """

    def __init__(self, env: Env) -> None:
        super().__init__(env)
        about, params = env.get_wrapper_attr("spec_of_puzzle"), env.get_wrapper_attr("params")
        if about.name not in _GRAPHS:
            raise ValueError(f"{about.name} is no graph; these are: {', '.join(_GRAPHS)}")
        self._build = _GRAPHS[about.name]
        fields = about.fields(params)
        self._high = {field.name: field.high for field in fields}
        self._ui = [field for field in fields if field.is_ui and not field.shape]
        with pp.Session(about.name, params, seed=0) as session:
            nodes, edges, _ = self._build(session.observe(), self._high)
        width = nodes.shape[1] + len(self._ui)
        self.observation_space = spaces.Graph(
            spaces.Box(0.0, 1.0, (width,), np.float32), spaces.Box(0.0, 1.0, (edges.shape[1],), np.float32)
        )

    def observation(self, observation: Any) -> spaces.GraphInstance:  # noqa: ANN401 (Gymnasium's signature)
        """The graph of the present state, whatever the environment's own observation."""
        state = self.get_wrapper_attr("session").observe(copy=False)
        nodes, edges, links = self._build(state, self._high)
        ui = [(state[field.name] - field.low) / max(field.high - field.low, 1) for field in self._ui]
        nodes = _columns(nodes, np.broadcast_to(np.array(ui, np.float32), (len(nodes), len(ui))))
        return spaces.GraphInstance(nodes, edges, links.astype(np.int32))
