"""One game of one puzzle."""

from __future__ import annotations

import threading
from enum import IntEnum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._native import ffi, lib
from .arguments import text, whole
from .errors import (
    CorruptState,
    InvalidAction,
    InvalidGameID,
    SessionClosed,
    quote,
    raise_for,
)
from .game_id import (
    MAX_SEED,
    GameID,
    check_seed,
    episode_seed,
    names_instance,
    native_id,
    parse_game_id,
    random_seed,
)
from .limits import (
    DEFAULT_MAX_STEPS,
    DEFAULT_TIMEOUT,
    MAX_PLAYERS,
    MAX_SIDE,
    check_limit,
    check_size,
    check_timeout,
    picture_form,
    picture_shape,
)
from .puzzle_spec import Layout, PuzzleSpec, canonical_params, handle, layout, spec

if TYPE_CHECKING:
    from collections.abc import Callable

    from .agents.expert import Hint

Observation = dict[str, np.ndarray[Any, Any]]
Picture = np.ndarray[Any, np.dtype[np.uint8]]


MAX_LABELS = 4096
GESTURES = ("press", "drag", "release")


class Status(IntEnum):
    """How a game stands."""

    FAILED = -1
    ONGOING = 0
    SOLVED = 1


# Indexed by the C side's status; -1 is the last.
_STATUS = (Status.ONGOING, Status.SOLVED, Status.FAILED)


class Step(NamedTuple):
    """What an action led to."""

    changed: bool
    """Whether it had any effect."""
    status: Status
    moves: int
    """Changes of the game, the cursor's apart, since the start."""
    repeats: int
    """How often the present observation was seen before in this episode."""


class Label(NamedTuple):
    """A piece of text in a picture."""

    x: int
    y: int
    align: int
    """Whether x is its left end (-1), its middle (0) or its right end (1)."""
    colour: tuple[int, ...]
    text: str


class Sketch(NamedTuple):
    """A picture with its text apart."""

    pixels: Picture
    labels: list[Label]
    tile: int
    """The side of a square in pixels."""


class _Buffers:
    """What a session's native side writes to, for one layout of observations."""

    def __init__(self, now: Layout, mask: np.ndarray[Any, Any], outcome: Any) -> None:  # noqa: ANN401 (a cffi struct)
        self.layout = now
        self.record = np.zeros(now.record_size, np.uint8)[:]  # a view cannot be resized by who gets it
        self.views = now.views(self.record)
        self.copiers = [(name, view.copy) for name, view in self.views.items()]
        self.kept = ffi.from_buffer("uint8_t[]", self.record), ffi.from_buffer("uint8_t[]", mask), outcome
        self.native = ffi.new("pz_buffers *")
        self.native.record, self.native.mask, self.native.outcome = self.kept
        self.native.record_size, self.native.mask_size = len(self.record), len(mask)


class Session:
    """One game: a puzzle, its parameters, and an instance that is a pure function of these and the seed.

    A session belongs to one thread at a time; a clone may go to another.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default. ``"7x7#42"`` or ``"7x7:description"`` names one
            instance, whatever the seed.
        seed: decides the instance; ``None`` draws one, which ``seed`` then tells.
        game_id: instead of params and seed: ``"7x7#42"`` or ``"7x7:description"``.
        undo: whether UNDO is in the action space, where the puzzle has it.
        max_steps: after how many steps ``ended`` says truncated; 0 for never.
        max_repeats: at how many repeats of a state ``ended`` says truncated; 0 for never.
        timeout: seconds that generating a puzzle may take; 0 for no limit.
        players: how many share the board, 1 to 64, each with a cursor of its own; see ``turn``.
    """

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        seed: int | None = None,
        *,
        game_id: str | None = None,
        undo: bool = False,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_repeats: int = 0,
        timeout: float = DEFAULT_TIMEOUT,
        players: int = 1,
    ) -> None:
        self._handle: Any = None
        self._pointer: Any = None
        pointer = handle(puzzle)
        if game_id is not None and (params is not None or seed is not None):
            raise InvalidGameID(f"{puzzle}: give either a game_id or params and seed, not both")
        players = whole(players, "the number of players who share a board", 1, MAX_PLAYERS)
        max_steps, max_repeats = check_limit("max_steps", max_steps), check_limit("max_repeats", max_repeats)
        self.timeout = check_timeout(timeout)
        which = self._which(puzzle, params, seed, game_id)
        flags = lib.PZ_FLAG_HISTORY | (lib.PZ_FLAG_UNDO if undo else 0)
        result = ffi.new("pz_session **")
        code = lib.pz_session_new(pointer, *native_id(which), flags, self.timeout, result)
        if code:
            raise_for(code, f"{puzzle} {which.params}")
        self._adopt(result[0])
        self._check(lib.pz_session_limit(self._pointer, max_steps, max_repeats), "limit")
        self._check(lib.pz_session_players(self._pointer, players), "players")

    @staticmethod
    def _which(puzzle: str, params: str | None, seed: int | None, game_id: str | None) -> GameID:
        if game_id is None and names_instance(params):
            game_id = params
        if game_id is not None:
            return parse_game_id(puzzle, game_id)
        params = canonical_params(puzzle, params)
        return GameID(params, random_seed() if seed is None else check_seed(seed), None)

    def _adopt(self, pointer: Any) -> None:  # noqa: ANN401 (a cffi pointer)
        """Own a native session: free it when we go, and give it our buffers to write to."""
        self._handle = ffi.gc(pointer, lib.pz_session_free, lib.pz_session_memory(pointer))
        self._pointer = self._handle  # so that a call in another thread keeps alive what it works on
        # The last one asked for, and what draws it.
        self._picture: tuple[object, Callable[[Session], Picture]] = None, painter(128, 128, False, False)
        self._ahead: tuple[str, float, Any] | None = None  # what makes games ahead, with these parameters and timeout
        native = lib.pz_session_puzzle(pointer)
        self.spec: PuzzleSpec = spec(ffi.string(native.name).decode())
        self.actions: tuple[str, ...] = self.spec.actions[: lib.pz_n_actions(pointer)]
        self._action_numbers = {name: number for number, name in enumerate(self.actions)}
        self._n_actions = len(self.actions)
        self._mask = np.zeros(self._n_actions, np.bool_)[:]  # a view cannot be resized by who gets it
        self._outcome = ffi.new("pz_outcome *")
        params = self._names()[0]
        buffers = _Buffers(layout(self.spec.name, params), self._mask, self._outcome)
        self._check(lib.pz_session_bind(self._pointer, buffers.native), "bind")
        self._show(buffers, params)

    def _show(self, buffers: _Buffers, params: str) -> None:
        """From now on these are the buffers that the native side writes to."""
        self._params = params
        self._layout: Layout = buffers.layout
        self._record = buffers.record
        self._views = buffers.views
        self._copiers = buffers.copiers
        self._buffers = buffers
        self._given: tuple[_Buffers, ...] = (buffers,)

    # ---- what it is

    @property
    def puzzle(self) -> str:
        """The name of the puzzle."""
        return self.spec.name

    @property
    def params(self) -> str:
        """The parameters in full."""
        return self._params

    @property
    def seed(self) -> int | None:
        """The seed that made this instance, or None when it came from a description."""
        seed = self._names()[1]
        return int(seed) if seed else None

    @property
    def desc(self) -> str:
        """The engine's description of the instance. In Mines it is complete only after the first click."""
        return self._names()[2]

    @property
    def game_id(self) -> str:
        """A string that starts this instance again; it never tells what the player must not know.

        ``params:desc``, or ``params#seed`` where the description would give the answer away.
        """
        params, seed, desc = self._names()
        return f"{params}#{seed}" if self.spec.hidden and seed else f"{params}:{desc}"

    @property
    def instance_hash(self) -> int:
        """64 bits that are equal for equal instances: of puzzle, parameters and description, whatever was played since."""
        return self._hashes()[1]

    @property
    def fields(self) -> tuple[Any, ...]:
        """The fields of an observation."""
        return self._layout.fields

    @property
    def undo_allowed(self) -> bool:
        """Whether UNDO is in the action space."""
        return "UNDO" in self._action_numbers

    # ---- how it stands

    @property
    def status(self) -> Status:
        """Solved, failed, or neither yet."""
        if self._handle is None:
            self._open()
        return _STATUS[self._outcome.status]

    @property
    def moves(self) -> int:
        """Changes of the game, the cursor's apart, since the start."""
        if self._handle is None:
            self._open()
        return int(self._outcome.moves)

    @property
    def steps(self) -> int:
        """Actions since the start, with or without effect."""
        if self._handle is None:
            self._open()
        return int(self._outcome.steps)

    @property
    def repeats(self) -> int:
        """How often the present observation was seen before in this episode."""
        if self._handle is None:
            self._open()
        return int(self._outcome.repeats)

    @property
    def ended(self) -> int:
        """0 while it goes on, 1 when solved or failed (terminated), 2 when a limit cut it off (truncated)."""
        if self._handle is None:
            self._open()
        return int(self._outcome.ended)

    @property
    def outcome(self) -> Any:  # noqa: ANN401 (a cffi struct)
        """What the last action led to, live: changed, status, moves, repeats, steps, ended as plain integers."""
        return self._outcome

    @property
    def layout(self) -> Layout:
        """Where each field lies in the observation record."""
        return self._layout

    @property
    def terminated(self) -> bool:
        """Whether the game is solved or failed."""
        return self.ended == 1

    @property
    def truncated(self) -> bool:
        """Whether a limit cut the episode off."""
        return self.ended == 2

    def observe(self, copy: bool = True) -> Observation:
        """What a player may see, field by field. Without copy: live views, which the next step overwrites."""
        if self._handle is None:
            self._open()
        if not copy:
            return self._views
        fresh = {}
        for name, duplicate in self._copiers:  # faster than a comprehension, which is a call of its own
            fresh[name] = duplicate()
        return fresh

    def record(self, copy: bool = True) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The observation record: all fields as bytes, each where its ``offset`` says. Without copy: a live view."""
        self._open()
        return self._record.copy() if copy else self._record

    def mask(self, copy: bool = True) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Exactly the actions that change the game or the cursor. Without copy: a live view."""
        if self._handle is None:
            self._open()
        return self._mask.copy() if copy else self._mask

    def text(self) -> str:
        """The board as text, with the cursor below it."""
        result = ffi.new("char **")
        self._check(lib.pz_session_text(self._open(), result), "text")
        return _text(result[0])

    def pixels(
        self, width: int = 128, height: int = 128, *, channels_first: bool = False, grey: bool = False
    ) -> Picture:
        """The board as a picture with the largest tiles that fit, the rest background.

        uint8 (height, width, 3), or (3, height, width), or in grey (height, width).
        """
        wanted = width, height, channels_first, grey
        asked, paint = self._picture
        if wanted != asked or type(width) is not int or type(height) is not int:
            paint = painter(*check_size(width, height), bool(channels_first), bool(grey))
            self._picture = wanted, paint
        return paint(self)

    def painter(
        self, width: int = 128, height: int = 128, *, channels_first: bool = False, grey: bool = False
    ) -> Callable[[], Picture]:
        """What draws this game whenever it is called, as ``pixels`` does: for who wants many pictures of one kind."""
        return partial(painter(*check_size(width, height), bool(channels_first), bool(grey)), self)

    def sketch(self, width: int, height: int) -> Sketch:
        """The picture without its text, and the text apart: for terminals, which have letters of their own."""
        size = check_size(width, height)
        picture = np.empty(picture_shape(*size, False, False), np.uint8)
        labels, numbers = ffi.new("pz_label[]", MAX_LABELS), ffi.new("int[2]")
        code = lib.pz_session_labels(
            self._open(), *size, ffi.from_buffer("uint8_t[]", picture), labels, MAX_LABELS, numbers, numbers + 1
        )
        self._check(code, "sketch")
        found = [
            Label(one.x, one.y, one.align, tuple(one.colour)[:3], ffi.string(one.text).decode(errors="replace"))
            for one in labels[0 : numbers[0]]
        ]
        return Sketch(picture, found, numbers[1])

    def mouse(self, gesture: str, x: int, y: int, *, width: int, height: int, button: int = 0) -> bool:
        """The mouse at a place of the picture of this size; True when it made a move.

        A click is a ``press`` and a ``release``, with any number of ``drag`` between them. What the engine makes of it
        becomes a move of this game, as if keys had made it.

        Args:
            gesture: press, drag or release.
            x: from the left edge, in pixels.
            y: from the top.
            width: of the picture.
            height: likewise.
            button: 0 for the left one, 1 for the middle one, 2 for the right one.
        """
        if gesture not in GESTURES:
            raise ValueError(f"the mouse can {', '.join(GESTURES)}, not {quote(gesture)}")
        size = check_size(width, height)
        across, down = (whole(at, "a place of the mouse", -MAX_SIDE, 2 * MAX_SIDE) for at in (x, y))
        number = whole(button, "a button of the mouse", 0, 2)
        code = lib.pz_session_mouse(self._open(), *size, across, down, number, GESTURES.index(gesture))
        self._check(code, "mouse")
        return bool(self._outcome.changed)

    def hash(self) -> int:
        """64 bits that are equal for equal instances in equal states."""
        return self._hashes()[0]

    # ---- what can be done with it

    def step(self, action: int | str) -> Step:
        """Take an action, by its number or name."""
        self.act(action)
        outcome = self._outcome
        return Step(outcome.changed != 0, _STATUS[outcome.status], outcome.moves, outcome.repeats)

    def act(self, action: int | str) -> None:
        """Take an action as ``step`` does, without a summary: ``outcome`` tells what it led to."""
        if type(action) is not int or not 0 <= action < self._n_actions:
            action = self.action_number(action)
        pointer = self._pointer
        if pointer is None:
            pointer = self._open()
        code = lib.pz_session_step(pointer, action)
        if code:
            self._check(code, "step")

    def action_number(self, action: object) -> int:
        """The number of an action given by number or name, or InvalidAction."""
        name = text(action)
        if name is not None:
            number = self._action_numbers.get(name.upper())
            if number is None:
                raise InvalidAction(f"{self.puzzle} has no action {quote(name)}; it has {', '.join(self.actions)}")
            return number
        return whole(action, f"an action of {self.puzzle} is a name, or", 0, self._n_actions - 1, InvalidAction)

    @property
    def players(self) -> int:
        """How many share the board."""
        return int(lib.pz_session_n_players(self._open()))

    @property
    def player(self) -> int:
        """Whose turn it is: who acts, and whose cursor is observed and drawn."""
        number = ffi.new("int *")
        self._check(lib.pz_session_player(self._open(), number), "player")
        return int(number[0])

    def turn(self, player: int) -> None:
        """Give the turn to a player, 0 to ``players - 1``: observation and mask become those of that player.

        The board, the moves and what UNDO takes back are everybody's; the cursor, and what is held or selected with it,
        is the player's own. No turn passes by itself.
        """
        number = whole(player, "a player", 0, self.players - 1)
        self._check(lib.pz_session_turn(self._open(), number), "turn")

    def undo(self) -> bool:
        """Take back the last move, whether or not UNDO is an action; False when there is none to take back."""
        self._check(lib.pz_session_undo(self._open()), "undo")
        return bool(self._outcome.changed)

    def solution(self) -> Observation:
        """The observation of the solved game. NoSolution where the engine has none to give."""
        now = self._layout
        record = np.zeros(now.record_size, np.uint8)
        code = lib.pz_session_solution(self._open(), ffi.from_buffer("char[]", record), now.record_size)
        self._check(code, "solution")
        return now.views(record)

    def solve(self) -> Step:
        """Bring the game to its solution at once."""
        self._check(lib.pz_session_solve(self._open()), "solve")
        outcome = self._outcome
        return Step(outcome.changed != 0, _STATUS[outcome.status], outcome.moves, outcome.repeats)

    def plan(self, timeout: float = 30.0) -> list[int]:
        """Legal actions that lead from here to the solved game. NoPlan where none is known.

        Keys only, never the engine's solve command, and replayed on a clone before they are returned.

        Args:
            timeout: seconds that all of it may take, NoPlan after that; 0 for no limit.
        """
        actions, count = ffi.new("int32_t **"), ffi.new("int32_t *")
        self._check(lib.pz_session_plan(self._open(), check_timeout(timeout), actions, count), "plan")
        plan = list(ffi.unpack(actions[0], count[0]))
        lib.pz_free(actions[0])
        return plan

    def hint(self) -> Hint:
        """The next action of an expert, and what it is for. NoPlan where it knows none.

        Where something is hidden from the player, the expert does not know it either.
        """
        from .agents.expert import hint

        return hint(self)

    def reset(self, seed: int | None = None, *, params: str | None = None, game_id: str | None = None) -> Observation:
        """Start another game of this puzzle; without params with the present ones. Returns the observation."""
        self.restart(seed, params=params, game_id=game_id)
        return self.observe()

    def restart(self, seed: int | None = None, *, params: str | None = None, game_id: str | None = None) -> None:
        """Start another game as ``reset`` does, without a copy of the observation."""
        pointer = self._pointer or self._open()
        if game_id is None and (params is None or params == self._params):
            if seed is None:
                seed = random_seed()
            elif type(seed) is not int or not 0 <= seed <= MAX_SEED:
                seed = check_seed(seed)
            code = lib.pz_session_restart(pointer, seed, self.timeout)
            if not code:
                return
            if code != lib.PZ_UNREADABLE:
                self._check(code, self._params)
        if game_id is not None and (params is not None or seed is not None):
            raise InvalidGameID(f"{self.puzzle}: give either a game_id or params and seed, not both")
        which = self._which(self.puzzle, self._params if params is None else params, seed, game_id)
        try:
            self._check(lib.pz_session_hold(pointer), "reset")
            self._reset(pointer, which)
        finally:
            lib.pz_session_let_go(pointer)

    def follow(self, seed: int, episode: int) -> None:
        """Start the k-th game of a seed's stream, that of ``episode_seed(seed, k)``, with the present parameters.

        Where games take long to make, a thread makes the next one of the stream while this one is played: from the second
        on, as who gives a seed with every reset never plays that. It is the same game as without.
        """
        if type(seed) is not int or not 0 <= seed <= MAX_SEED:
            seed = check_seed(seed)
        if type(episode) is not int or not 0 <= episode <= MAX_SEED:
            episode = whole(episode, "an episode", 0, MAX_SEED)
        ahead = self._ahead
        if ahead is None or ahead[0] != self._params or ahead[1] != self.timeout:
            made = ffi.new("pz_ahead **")
            self._check(lib.pz_ahead_new(self._open(), self.timeout, made), "follow")
            self._ahead = ahead = self._params, self.timeout, ffi.gc(made[0], lib.pz_ahead_free)
        code = lib.pz_ahead_start(ahead[2], self._pointer or self._open(), seed, episode)
        if code == lib.PZ_UNREADABLE:
            self.restart(episode_seed(seed, episode))
        elif code:
            self._check(code, self._params)

    def _reset(self, pointer: Any, which: GameID) -> None:  # noqa: ANN401 (a cffi pointer)
        """Reset a session that this thread holds, so that what C writes to and what Python shows change as one."""
        now = layout(self.spec.name, which.params)
        # Views that were handed out follow the session as long as they fit.
        buffers = self._buffers if now == self._layout else _Buffers(now, self._mask, self._outcome)
        self._given = self._buffers, buffers  # C writes to one of them, whatever interrupts us here
        code = lib.PZ_INTERRUPTED
        try:
            code = lib.pz_session_reset_held(pointer, *native_id(which), self.timeout, buffers.native)
            self._check(code, which.params)
        finally:
            if lib.pz_session_writes_to(pointer, buffers.native):
                self._show(buffers, self._params if code else which.params)

    def limit(self, max_steps: int = 0, max_repeats: int = 0) -> None:
        """Set after how many steps, and at how many repeats of a state, the episode counts as truncated; 0 for never."""
        limits = check_limit("max_steps", max_steps), check_limit("max_repeats", max_repeats)
        self._check(lib.pz_session_limit(self._open(), *limits), "limit")

    # ---- copies

    def clone(self) -> Session:
        """An independent copy, in the middle of the game; it may go to another thread."""
        result = ffi.new("pz_session **")
        self._check(lib.pz_session_clone(self._open(), result), "clone")
        return self._from(result[0], self.timeout)

    def __copy__(self) -> Session:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Session:
        return self.clone()

    def save(self) -> bytes:
        """The whole session as bytes, versioned and checked at load."""
        data, size = ffi.new("uint8_t **"), ffi.new("int64_t *")
        self._check(lib.pz_session_save(self._open(), data, size), "save")
        saved = bytes(ffi.buffer(data[0], size[0]))
        lib.pz_free(data[0])
        return saved

    @classmethod
    def load(cls, saved: bytes, timeout: float = DEFAULT_TIMEOUT) -> Session:
        """A session from what save() gave; CorruptState for anything else."""
        seconds = check_timeout(timeout)
        if type(saved) is not bytes:
            try:
                saved = memoryview(saved).tobytes()  # its own length, and nobody changes it while it is read
            except Exception:  # no buffer, or one that cannot be read
                raise CorruptState(f"a saved session is bytes, not {quote(saved)}") from None
        result = ffi.new("pz_session **")
        code = lib.pz_session_load(ffi.from_buffer("uint8_t[]", saved), len(saved), result)
        if code:
            raise_for(code, "load")
        return cls._from(result[0], seconds)

    @classmethod
    def _from(cls, pointer: Any, timeout: float) -> Session:  # noqa: ANN401 (a cffi pointer)
        session = cls.__new__(cls)
        session.timeout = timeout
        session._adopt(pointer)
        return session

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (self.save(), self.timeout)

    # ---- the end of it

    def close(self) -> None:
        """Free the native side now rather than when the last reference goes. Closing twice is fine."""
        if self._handle is not None:
            self._handle = self._pointer = self._ahead = None

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._handle is None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._handle is None:
            return f"<puzzleport.Session {self.puzzle}, closed>"
        return f"<puzzleport.Session {self.puzzle} {self.game_id}, {self.status.name.lower()}>"

    def _open(self) -> Any:  # noqa: ANN401 (a cffi pointer)
        pointer = self._pointer  # once: another thread may be closing it
        if pointer is None:
            raise SessionClosed("this session was closed")
        return pointer

    def _names(self) -> tuple[str, str, str]:
        """Parameters, seed (empty where there is none) and description."""
        names = [ffi.new("char **") for _ in range(3)]
        self._check(lib.pz_session_names(self._open(), *names), "names")
        params, seed, desc = (_text(name[0]) for name in names)
        return params, seed, desc

    def _hashes(self) -> tuple[int, int]:
        """Of instance and state, and of the instance alone."""
        state, instance = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        self._check(lib.pz_session_hashes(self._open(), state, instance), "hash")
        return int(state[0]), int(instance[0])

    def _check(self, code: int, what: str) -> None:
        if code:
            raise_for(code, f"{self.puzzle}: {what}")


def _text(pointer: Any) -> str:  # noqa: ANN401 (a cffi pointer)
    """Text that the C side gave us, which is freed."""
    chars = str(ffi.string(pointer).decode())
    lib.pz_free(pointer)
    return chars


@lru_cache(64)
def painter(width: int, height: int, channels_first: bool, grey: bool) -> Callable[[Session], Picture]:
    """What draws any session in one size and form; it looks nothing up, because it runs with every step."""
    shape, form = picture_shape(width, height, channels_first, grey), picture_form(channels_first, grey)
    empty, byte, from_buffer, draw = np.empty, np.dtype(np.uint8), ffi.from_buffer, lib.pz_session_pixels

    def paint(session: Session) -> Picture:
        picture = empty(shape, byte)
        code = draw(session._pointer or session._open(), width, height, form, from_buffer("uint8_t[]", picture))
        if code:
            session._check(code, "pixels")
        return picture

    return paint


def _load(saved: bytes, timeout: float) -> Session:
    return Session.load(saved, timeout)


lib.pz_watch_signals(threading.main_thread().ident or 0)
