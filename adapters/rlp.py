"""A drop-in for the paper's own environment: its ids, keywords, defaults, observations, infos, methods and rewards.

Its package is called ``rlp``, and so is another well-known one; here it is ``import puzzleport.adapters.rlp as rlp``. That
registers ``rlp/Puzzle-v0`` (with ``puzzle=``), ``rlp/Bridges-v0`` and its 39 siblings.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import puzzleport as pp
from puzzleport.adapters.gymnasium import PuzzleEnv, env_id
from puzzleport.encode import Encoder, Leaf
from puzzleport.encode.state import State
from puzzleport.errors import quote
from puzzleport.puzzle_spec import handle
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
_GROUND = np.frombuffer(b"bswm", np.int8)  # the engine's letters for open ground, stop, wall, mine


def _netslide(fields: Fields) -> dict[str, Any]:
    height, width = fields["wires"].shape[:2]
    tiles, barriers = (np.dot(fields[name], _SIDES).ravel().astype(np.uint16) for name in ("wires", "barriers"))
    return {"tiles": tiles, "barriers": barriers, "width": width, "height": height}


def _tents(fields: Fields) -> dict[str, Any]:
    height, width = fields["trees"].shape
    marks = fields["marks"]
    grid = np.where(marks, marks + 1, fields["trees"]).ravel()
    numbers = np.concatenate([fields["column_clues"], fields["row_clues"]])
    return {"grid": grid, "numbers": numbers, "w": width, "h": height}


def _inertia(fields: Fields) -> dict[str, Any]:
    height, width = fields["squares"].shape
    gems = fields["gems"].ravel()
    grid = _GROUND[fields["squares"].ravel()]
    grid[gems == 1] = ord("g")
    ball = {"px": int(fields["ball_x"]), "py": int(fields["ball_y"]), "dead": int(fields["dead"])}
    return {"grid": grid, **ball, "gems": int(np.count_nonzero(gems)), "w": width, "h": height}


def _samegame(fields: Fields) -> dict[str, Any]:
    height, width = fields["tiles"].shape
    tiles = fields["tiles"].flatten()
    return {"tiles": tiles, "score": int(fields["score"]), "complete": int(not tiles.any()), "w": width, "h": height}


BY_THE_PAPERS_NAMES: dict[str, tuple[Callable[[Fields], dict[str, Any]], dict[str, int]]] = {
    "netslide": (_netslide, {"tiles": 15, "barriers": 15}),
    "tents": (_tents, {"grid": 3}),
    "inertia": (_inertia, {"grid": 127, "dead": 1}),
    "samegame": (_samegame, {"complete": 1}),
}
"""For puzzles whose state the paper's listings and scripts read: what makes it of our fields, and the largest values."""


class PaperState(Encoder):
    """The state of a puzzle as the paper's environment names it.

    ``cursor_pos`` is (x, y). The other names are those of the engine's own structure for the puzzles in
    ``BY_THE_PAPERS_NAMES``, with boards as one row of cells and single numbers as plain ones; and ours for the rest.

    Args:
        task: what is played.
        cursor: whether ``cursor_pos`` is part of it.
    """

    def __init__(self, task: pp.Task, *, cursor: bool = True) -> None:
        super().__init__(task)
        of_board, highest = BY_THE_PAPERS_NAMES.get(task.puzzle, (None, {}))
        self._of_board = of_board
        mine = {field.name: field for field in self.layout.fields}
        self._has_cursor = "cursor_x" in mine and "cursor_y" in mine
        self._cursor = cursor and self._has_cursor
        self._rest = State(task)
        example = self.encode(self.layout.views(np.zeros(self.layout.record_size, np.uint8)))
        rest: Any = self._rest.tree
        largest = max(np.prod(field.shape, dtype=int) for field in mine.values())

        def leaf(name: str, value: Any) -> Leaf:  # noqa: ANN401 (an array or a number)
            array = np.asarray(value)
            if name == "cursor_pos":
                ends = [mine["cursor_x"], mine["cursor_y"]]
                return Leaf((2,), array.dtype, min(one.low for one in ends), max(one.high for one in ends), name)
            if of_board is None:
                found: Leaf = rest[name]
                return found
            same = name in mine and np.prod(mine[name].shape) == array.size
            return Leaf(array.shape, array.dtype, 0, highest.get(name, mine[name].high if same else largest), name)

        self.tree = {name: leaf(name, value) for name, value in example.items()}

    def encode(self, fields: Fields) -> dict[str, Any]:
        """The state of one game."""
        state = self._rest.encode(fields) if self._of_board is None else self._of_board(fields)
        if self._has_cursor:
            state.pop("cursor_x", None), state.pop("cursor_y", None)
            if self._cursor:
                state["cursor_pos"] = np.array([fields["cursor_x"], fields["cursor_y"]], np.int32)
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
        params: the engine's parameter string; ``None`` for the default. ``"4x4#42"`` is that one instance in every episode.
        window_width: of pictures.
        window_height: of pictures.
        allow_undo: whether UNDO is an action, where the puzzle has it.
        max_state_repeats: an episode is truncated when a state is seen for this time; 0 for never.
        include_cursor_in_state_info: whether the state has ``cursor_pos``.
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
        params: str | None = None,
        window_width: int = 128,
        window_height: int = 128,
        allow_undo: bool = False,
        max_state_repeats: int = MAX_REPEATS,
        include_cursor_in_state_info: bool = True,
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
        state = partial(PaperState, cursor=include_cursor_in_state_info)
        super().__init__(
            puzzle,
            params,
            observation="pixels" if self._rgb else state,
            render_mode=render_mode,
            width=window_width,
            height=window_height,
            undo=allow_undo,
            max_steps=max_steps,
            # Ours counts how often a state was seen before; the first time does not count.
            max_repeats=max(max_state_repeats - 1, 1) if max_state_repeats else 0,
            rewards=rewards,
            **options,
        )
        if self._rgb:
            upright = spaces.Box(0, 255, (3, self.task.height, self.task.width), np.uint8)
            self.observation_space = spaces.Dict({"pixels": upright})
        self._paper_state = state(self.task)
        way = pp.Rewards(solved=0.0, failed=0.0, solution=1.0)
        self._way = GamePay(way, self.task.spec, self.task.params) if self.task.spec.can_solve else None

    # ---- what it tells

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start the next puzzle; with a seed the one that it decides, unless ``params`` names one instance."""
        self._histogram: dict[int, int] = {}
        self._moves = 0
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
        moved = outcome.changed and outcome.moves != self._moves
        info["state_histogram"] = self._histogram
        info["current_state_repeats"] = outcome.repeats + 1
        info["current_move_was_toward_solution"] = bool(toward)
        info["current_move_was_cursor_move"] = bool(outcome.changed and not moved and not self._fresh)
        self._moves, self._fresh = outcome.moves, False
        # Channels come first in a view, for no time at all: to write them one after the other would double the step's.
        return {"pixels": observation.transpose(2, 0, 1)} if self._rgb else observation, info

    # ---- by its names

    @property
    def puzzle(self) -> pp.Session:
        """The game underneath."""
        return self.session

    @property
    def action_keys(self) -> tuple[int, ...]:
        """The engine's key for each action."""
        keys = handle(self.task.puzzle).actions
        return tuple(int(keys[number].key) for number in range(len(self.action_names)))

    @property
    def state_dict(self) -> dict[str, Any]:
        """The present state, as ``info["puzzle_state"]`` has it."""
        state: dict[str, Any] = self._paper_state.encode(self.session.observe(copy=False))
        return state

    def get_state(self) -> bytes:
        """The whole game as bytes, for ``set_state``."""
        return self.session.save()

    def set_state(self, state: bytes) -> tuple[Any, dict[str, Any]]:
        """Go on with a game that ``get_state`` told; returns observation and info as ``reset`` does."""
        self._episodes.go_on(pp.Session.load(state, self.task.timeout))
        self._attach()
        self._over = self._episodes.ended == 1
        self._histogram, self._moves, self._fresh = {}, self._outcome.moves, True
        return self._result()


def make_puzzle_parser() -> argparse.ArgumentParser:
    """A parser for scripts, whose results are the keywords of ``PaperEnv``, and ``seed``.

    >>> vars(make_puzzle_parser().parse_args(["-p", "net"]))["puzzle"]
    'net'
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("-p", "--puzzle", choices=pp.puzzles(), required=True, metavar="NAME", help="Which puzzle.")
    parser.add_argument("-a", "--params", "--arg", help="Its parameters, such as 4x4 or 4x4#42.")
    parser.add_argument("-o", "--obs-type", type=str.lower, choices=OBSERVATIONS, default="rgb", help="What is seen.")
    parser.add_argument("-r", "--render-mode", choices=PaperEnv.metadata["render_modes"], help="How it is shown.")
    parser.add_argument("--window-width", type=int, default=128, help="Of pictures.")
    parser.add_argument("--window-height", type=int, default=128, help="Of pictures.")
    parser.add_argument("--allow-undo", action="store_true", help="Whether UNDO is an action.")
    parser.add_argument("--max-state-repeats", type=int, default=MAX_REPEATS, help="Of one state; 0 for no limit.")
    parser.add_argument("-s", "--seed", type=int, help="Of the stream of instances.")
    return parser


def _register() -> None:
    entry = f"{__name__}:PaperEnv"
    for name in pp.puzzles():
        gym.register(env_id(name).replace("puzzleport/", "rlp/"), entry_point=entry, kwargs={"puzzle": name})
    if "rlp/Puzzle-v0" not in gym.registry:  # the Gymnasium adapter registers it too
        gym.register("rlp/Puzzle-v0", entry_point=entry)


_register()
