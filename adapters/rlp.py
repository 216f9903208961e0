"""A drop-in for the paper's own environment: its ids, keywords, defaults, observations, infos, methods and rewards.

Its package is called ``rlp``, and so is another well-known one; here it is ``import puzzleport.adapters.rlp as rlp``. That
registers ``rlp/Puzzle-v0`` (with ``puzzle=``), ``rlp/Bridges-v0`` and its 39 siblings.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

import puzzleport as pp
from puzzleport.adapters.gymnasium import PuzzleEnv, env_id
from puzzleport.encode import Encoder, Leaf
from puzzleport.encode.state import State
from puzzleport.errors import quote
from puzzleport.rewards import GamePay

try:
    import gymnasium as gym
    from gymnasium import spaces
except ImportError as error:
    raise ImportError("the paper's environment needs an extra: pip install 'puzzleport[gymnasium]'") from error

if TYPE_CHECKING:
    from puzzleport.encode.base import Fields, Look

Array = np.ndarray[Any, Any]
OBSERVATIONS = ("rgb", "puzzle_state")
MAX_REPEATS = 200


# ---- the state by the paper's names


_SIDES = np.array([2, 8, 4, 1], np.uint16)  # the engine's bits for up, down, left, right
_GROUND = np.array([0, 3, 4, 2], np.uint16)  # open ground, stop, wall, mine; a gem is 1
_SELECTED = 256


def _cells(board: Array, dtype: type = np.uint8) -> Array:
    """A board as one row of cells."""
    return board.ravel().astype(dtype)


def _netslide(fields: Fields, params: str) -> dict[str, Any]:
    height, width = fields["wires"].shape[:2]
    tiles, barriers = (_cells(np.dot(fields[name], _SIDES), np.uint16) for name in ("wires", "barriers"))
    return {"tiles": tiles, "barriers": barriers, "width": width, "height": height, "wrapping": int("w" in params)}


def _tents(fields: Fields, params: str) -> dict[str, Any]:
    height, width = fields["trees"].shape
    marks = fields["marks"]
    grid = _cells(np.where(marks, marks + 1, fields["trees"]))
    numbers = _cells(np.concatenate([fields["column_clues"], fields["row_clues"]]))
    return {"grid": grid, "numbers": numbers, "w": width, "h": height}


def _inertia(fields: Fields, params: str) -> dict[str, Any]:
    height, width = fields["squares"].shape
    gems = fields["gems"].ravel()
    grid = np.where(gems == 1, np.uint16(1), _GROUND[fields["squares"].ravel()])
    ball = {"px": int(fields["ball_x"]), "py": int(fields["ball_y"]), "dead": int(fields["dead"])}
    return {"grid": grid, **ball, "gems": int(np.count_nonzero(gems)), "w": width, "h": height}


def _samegame(fields: Fields, params: str) -> dict[str, Any]:
    height, width = fields["tiles"].shape
    tiles, selected = _cells(fields["tiles"]), _cells(fields["selected"], np.uint16)
    rules = dict(re.findall(r"([cs])(\d+)", params))
    return {
        "tiles": tiles,
        "selected_tiles": selected * _SELECTED,
        "nselected": int(selected.sum()),
        "score": np.array([fields["score"]], np.uint32),
        "complete": int(not tiles.any()),
        "n": tiles.size,
        "ncols": int(rules["c"]),
        "scoresub": int(rules["s"]),
        "w": width,
        "h": height,
    }


def _fifteen(fields: Fields, params: str) -> dict[str, Any]:
    height, width = fields["tiles"].shape
    row, column = fields["gap"]
    return {
        "tiles": _cells(fields["tiles"], np.uint16),
        "gap_pos": int(row) * width + int(column),
        "n": width * height,
        "w": width,
        "h": height,
    }


def _untangle(fields: Fields, params: str) -> dict[str, Any]:
    points = fields["points"].astype(np.int64)
    count, chosen = len(points), int(fields["cursor_point"])
    first, second = np.triu_indices(count, 1)
    joined = fields["edges"][first, second, None] == 1
    edges = np.where(joined, np.stack([first, second], axis=1), -1).astype(np.int32).ravel()
    there = fields["held_position"] if fields["holding"] else points[chosen]
    pts = {"x": points[:, 0], "y": points[:, 1], "d": np.full(count, 64, np.int64)}
    return {"n": count, "pts": pts, "edges": edges, "cursor_pos": there.astype(np.int32)}


BY_THE_PAPERS_NAMES: dict[str, tuple[Callable[[Fields, str], dict[str, Any]], dict[str, tuple[int, int]]]] = {
    "netslide": (_netslide, {"tiles": (0, 15), "barriers": (0, 15), "wrapping": (0, 1)}),
    "tents": (_tents, {"grid": (0, 3), "numbers": (0, 127)}),
    "inertia": (_inertia, {"grid": (0, 4), "dead": (0, 1)}),
    "samegame": (
        _samegame,
        {
            "complete": (0, 1),
            "selected_tiles": (0, _SELECTED),
            "ncols": (1, 9),
            "scoresub": (1, 2),
            "score": (0, 2**31),
        },
    ),
    "fifteen": (_fifteen, {}),
    "untangle": (
        _untangle,
        {"x": (0, 2**15), "y": (0, 2**15), "d": (64, 64), "edges": (-1, 2**15), "cursor_pos": (0, 2**15)},
    ),
}
"""For puzzles whose state the paper's listings and scripts read: what makes it of our fields, and bounds of the values."""


class PaperState(Encoder):
    """The state of a puzzle as the paper's environment names it.

    ``cursor_pos`` is (x, y). The other names are those of its observations for the puzzles in ``BY_THE_PAPERS_NAMES``, with
    boards as one row of cells and single numbers as plain ones; and ours for the rest.

    Args:
        task: what is played.
        cursor: whether ``cursor_pos`` is part of it.
    """

    def __init__(self, task: pp.Task, *, cursor: bool = True) -> None:
        super().__init__(task)
        of_board, bounds = BY_THE_PAPERS_NAMES.get(task.puzzle, (None, {}))
        self._of_board: Callable[[Fields, str], dict[str, Any]] | None = of_board
        mine = {field.name: field for field in self.layout.fields}
        self._has_cursor = "cursor_x" in mine and "cursor_y" in mine
        self._cursor = cursor
        self._rest = State(task)
        example = self.encode(self.layout.views(np.zeros(self.layout.record_size, np.uint8)))
        rest: Any = self._rest.tree
        largest = max(np.prod(field.shape, dtype=int) for field in mine.values())

        def leaf(name: str, value: Any) -> Any:  # noqa: ANN401 (an array, a number, or several by name)
            if isinstance(value, dict):
                return {part: leaf(part, inner) for part, inner in value.items()}
            array = np.asarray(value)
            if name == "cursor_pos" and self._has_cursor:
                ends = [mine["cursor_x"], mine["cursor_y"]]
                return Leaf((2,), array.dtype, min(one.low for one in ends), max(one.high for one in ends), name)
            if self._of_board is None:
                return rest[name]
            same = name in mine and np.prod(mine[name].shape) == array.size
            low, high = bounds.get(name, (0, mine[name].high if same else largest))
            return Leaf(array.shape, array.dtype, low, high, name)

        self.tree = {name: leaf(name, value) for name, value in example.items()}

    def encode(self, fields: Fields) -> dict[str, Any]:
        """The state of one game."""
        of_board = self._of_board
        state = self._rest.encode(fields) if of_board is None else of_board(fields, self.task.params)
        if self._has_cursor:
            state.pop("cursor_x", None), state.pop("cursor_y", None)
            state["cursor_pos"] = np.array([fields["cursor_x"], fields["cursor_y"]], np.int32)
        if not self._cursor:
            state.pop("cursor_pos", None)
        return state


# ---- the environment


class PaperEnv(PuzzleEnv):
    """The environment of the paper.

    Every ``info`` also has ``state_histogram`` (how often each state of this episode was seen), ``current_state_repeats``
    (how often the present one, this time included), ``current_move_was_toward_solution`` and
    ``current_move_was_cursor_move``.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        render_mode: human, rgb_array or ansi.
        obs_type: rgb gives ``{"pixels": uint8[3, height, width]}``, upright; puzzle_state the state as a Dict.
        window_width: of pictures.
        window_height: of pictures.
        allow_undo: whether UNDO is an action, where the puzzle has it.
        max_state_repeats: an episode is truncated when a state is seen more often than this; 0 for never.
        include_cursor_in_state_info: whether ``info["puzzle_state"]`` has ``cursor_pos``; observations always have it.
        params: the engine's parameter string; ``None`` for the default. ``"4x4#42"`` is that one instance in every episode.
        n_envs: taken so that scripts which pass it run; one environment is one game.
        max_steps: after how many steps an episode is truncated; 0 for never.
        rewards: what is paid.
        options: what else ``PuzzleEnv`` takes: seed, timeout, copy, mask_in_observation, expert_action.
    """

    def __init__(
        self,
        puzzle: str,
        render_mode: str | None = None,
        obs_type: str = "rgb",
        window_width: int = 128,
        window_height: int = 128,
        allow_undo: bool = False,
        max_state_repeats: int = MAX_REPEATS,
        include_cursor_in_state_info: bool = True,
        params: str | None = None,
        n_envs: int = 1,
        *,
        max_steps: int = 0,
        rewards: pp.Rewards = pp.PAPER_REWARDS,
        **options: Any,  # noqa: ANN401 (what else PuzzleEnv takes)
    ) -> None:
        self.obs_type = obs_type.lower() if isinstance(obs_type, str) else obs_type
        if self.obs_type not in OBSERVATIONS:
            raise pp.UnknownOption(f"obs_type is {' or '.join(OBSERVATIONS)}, not {quote(obs_type)}")
        self.n_envs = n_envs
        self.puzzle_name, self.window_width, self.window_height = puzzle, window_width, window_height
        self._rgb = self.obs_type == "rgb"
        super().__init__(
            puzzle,
            params,
            observation="pixels" if self._rgb else PaperState,
            render_mode=render_mode,
            width=window_width,
            height=window_height,
            undo=allow_undo,
            max_steps=max_steps,
            max_repeats=max_state_repeats,
            rewards=rewards,
            **options,
        )
        if self._rgb:
            upright = spaces.Box(0, 255, (3, self.task.height, self.task.width), np.uint8)
            self.observation_space = spaces.Dict({"pixels": upright})
        self._paper_state = PaperState(self.task, cursor=include_cursor_in_state_info)
        way = pp.Rewards(solved=0.0, failed=0.0, solution=1.0)
        self._way = GamePay(way, self.task.spec, self.task.params) if self.task.spec.can_solve else None

    # ---- what it tells

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start the next puzzle; with a seed the one that it decides, unless ``params`` names one instance."""
        self._histogram: dict[int, int] = {}
        self._fresh = True
        return super().reset(seed=seed, options=options)

    def _attach(self) -> None:
        super()._attach()
        self._state: Look = self._paper_state.attach(self._episodes.session)

    def _result(self) -> tuple[Any, dict[str, Any]]:
        observation, info = super()._result()
        session, outcome = self._episodes.session, self._outcome
        state = hash(session.record(copy=False).tobytes())
        self._histogram[state] = outcome.repeats + 1
        toward = False
        if self._way is not None:
            if self._fresh:
                self._way.start(session)
            else:
                toward = outcome.changed and self._way(session) > 0
        info["state_histogram"] = self._histogram
        info["current_state_repeats"] = outcome.repeats + 1
        info["current_move_was_toward_solution"] = bool(toward)
        info["current_move_was_cursor_move"] = bool(
            not self._fresh and outcome.changed and outcome.moves == self._moves
        )
        self._moves: int = outcome.moves
        self._fresh = False
        # Channels come first in a view, for no time at all: to write them one after the other would double the step's.
        return {"pixels": observation.transpose(2, 0, 1)} if self._rgb else observation, info

    # ---- by its names

    @property
    def puzzle(self) -> pp.Session:
        """The game underneath."""
        return self.session

    @property
    def action_keys(self) -> list[int]:
        """The key for each action, by pygame's numbers."""
        return _keys(self.task.puzzle, self.action_names)

    @property
    def state_dict(self) -> dict[str, Any]:
        """The present state, as ``info["puzzle_state"]`` has it."""
        state: dict[str, Any] = self._paper_state.encode(self.session.observe(copy=False))
        return state

    def get_state(self) -> bytes:
        """The whole game as bytes, for ``set_state``."""
        return self.session.save()

    def set_state(self, state: bytes) -> dict[str, Array]:
        """Go on with a game that ``get_state`` told; returns the flat observation as ``obs``, and ``action_mask``."""
        self._episodes.go_on(pp.Session.load(state, self.task.timeout))
        self._attach()
        self._over = self._episodes.ended == 1
        self._histogram, self._fresh = {}, True
        observation, info = self._result()
        return {"obs": spaces.utils.flatten(self.observation_space, observation), "action_mask": info["action_mask"]}


# ---- what its scripts call besides

_KEYS = {
    "UP": 1073741906, "DOWN": 1073741905, "LEFT": 1073741904, "RIGHT": 1073741903,
    "SELECT": 13, "SELECT2": 32, "UNDO": 117, "CTRL": 1073742048,
}  # fmt: skip
_KEYPAD = 1073741912  # 1 on the keypad is the next


def _keys(puzzle_name: str, actions: Sequence[str]) -> list[int]:
    # Digits are those of the keypad, but for Undead.
    digits = ord("0") if puzzle_name == "undead" else _KEYPAD
    return [digits + int(name) if name.isdigit() else _KEYS[name] for name in actions]


def get_action_keys(puzzle: str, allow_undo: bool = False) -> list[int]:
    """The key for each action of a puzzle, by pygame's numbers.

    >>> get_action_keys("cube")
    [1073741906, 1073741905, 1073741904, 1073741903]
    """
    return _keys(puzzle, pp.Task(puzzle, undo=allow_undo).actions)


def make_puzzle_parser() -> argparse.ArgumentParser:
    """A parser for scripts: ``puzzle``, ``arg`` (the parameters), ``size``, ``headless`` and ``allowundo``.

    >>> make_puzzle_parser().parse_args(["-p", "tents", "-a", "4x4"]).arg
    '4x4'
    """
    # Scripts add options of their own; where they take a letter that is in use here, it becomes theirs.
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    parser.add_argument("-p", "--puzzle", choices=pp.puzzles(), default="net", metavar="NAME", help="Which puzzle.")
    parser.add_argument(
        "-s", "--size", type=int, nargs=2, default=(880, 880), metavar=("W", "H"), help="Of the window."
    )
    parser.add_argument("-a", "--arg", metavar="PARAMS", help="Its parameters, such as 4x4 or 4x4#42.")
    parser.add_argument("-hl", "--headless", action="store_true", help="Without a window.")
    parser.add_argument("-undo", "--allowundo", action="store_true", help="Whether UNDO is an action.")
    return parser


puzzle = SimpleNamespace(make_puzzle_parser=make_puzzle_parser)
specific_api = SimpleNamespace(get_action_keys=get_action_keys)
"""Both by the names under which its scripts call them: ``rlp.puzzle``, ``rlp.specific_api``."""


def _register() -> None:
    entry = f"{__name__}:PaperEnv"
    for name in pp.puzzles():
        gym.register(env_id(name).replace("puzzleport/", "rlp/"), entry_point=entry, kwargs={"puzzle": name})
    if "rlp/Puzzle-v0" not in gym.registry:  # the Gymnasium adapter registers it too
        gym.register("rlp/Puzzle-v0", entry_point=entry)


_register()
