"""Many sessions stepped together in C, on several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ._native import ffi, lib
from .arguments import array, text, whole
from .blocks import Part
from .errors import InvalidAction, InvalidSeed, SessionClosed, UnknownOption, quote, raise_for
from .game_id import MAX_SEED, GameID, check_seed, episode_seed, names_instance, native_id, parse_game_id, random_seed
from .limits import (
    DEFAULT_MAX_STEPS,
    DEFAULT_TIMEOUT,
    check_limit,
    check_num_envs,
    check_size,
    check_threads,
    check_timeout,
    picture_form,
    picture_shape,
)
from .puzzle_spec import PuzzleSpec, canonical_params, handle, layout, spec
from .session import Observation, Session, Status

if TYPE_CHECKING:
    from .rewards import Rewards

Array = np.ndarray[Any, Any]
Policy = Literal["random", "masked"]
Autoreset = Literal["off", "next_step", "same_step"]

_AUTORESET = {"off": 0, "next_step": 1, "same_step": 2}
MAX_EPISODES = 2**27  # a rollout keeps every one in memory
_POLICIES = {"random": 0, "masked": 1}
_OUTCOME = np.dtype([(name, np.int32) for name in ("changed", "status", "moves", "repeats", "steps", "ended")])


@dataclass(frozen=True)
class BatchStep:
    """The batch's arrays after a step. They are live: the next step overwrites them, so copy what must last."""

    observation: Observation
    mask: Array
    changed: Array
    status: Array
    moves: Array
    repeats: Array
    steps: Array
    ended: Array
    """0 goes on, 1 terminated (solved or failed), 2 truncated."""


class Apart(NamedTuple):
    """The arrays in a copy of what a step led to."""

    fields: dict[str, Part]
    reward: Part
    mask: Part
    terminated: Part
    truncated: Part
    done: Part
    solved: Part


class Told(NamedTuple):
    """How the episodes stand after a step, in arrays that no later step changes."""

    reward: Array
    """float64: what the step paid, without a hook."""
    repeats: Array
    terminated: Array
    truncated: Array
    done: Array
    solved: Array
    first: Array
    """Where no step was taken yet."""


class Batch:
    """N sessions of one puzzle with the same parameters.

    Each slot plays a stream of episodes that is a pure function of the slot's seed, whatever the number of threads.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default. ``"7x7#42"`` or ``"7x7:description"`` is that one
            instance in every slot and episode.
        num_envs: how many sessions.
        threads: how many threads step them; 0 for all cores.
        undo: whether UNDO is in the action space, where the puzzle has it.
        max_steps: after how many steps an episode is truncated; 0 for never.
        max_repeats: at how many repeats of a state an episode is truncated; 0 for never.
        timeout: seconds that generating one puzzle may take.
        autoreset: ``"same_step"``: a finished episode is followed by the next one at once, and its last observation is in
            ``final``; ``"next_step"``: by the next step, whose action is ignored; ``"off"``: only by ``reset``.
        exclude: the ``instance_hash`` of instances that the streams pass over.
        ahead: where games take long to make, have a thread make the next ones while the present ones are played.
    """

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        num_envs: int = 1,
        *,
        threads: int = 0,
        undo: bool = False,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_repeats: int = 0,
        timeout: float = DEFAULT_TIMEOUT,
        autoreset: Autoreset = "same_step",
        exclude: Sequence[int] = (),
        ahead: bool = True,
    ) -> None:
        self._handle: Any = None
        self.spec = spec(puzzle)
        which = fixed_game(puzzle, params)
        self.params = which.params
        n = self.num_envs = check_num_envs(num_envs)
        self.undo, self.timeout, self.autoreset = bool(undo), check_timeout(timeout), _choice(_AUTORESET, autoreset)
        max_steps, max_repeats = check_limit("max_steps", max_steps), check_limit("max_repeats", max_repeats)
        result = ffi.new("pz_batch **")
        task, self._texts = native_task(which, self.spec, self.undo, max_steps, max_repeats, self.timeout)
        excluded = np.unique(np.array(exclude, np.uint64))
        task.ahead = bool(ahead)
        task.excluded, task.n_excluded = ffi.from_buffer("uint64_t[]", excluded), len(excluded)
        code = lib.pz_batch_new(task, n, check_threads(threads), result)
        if code:
            raise_for(code, f"{self.spec.name} {self.params}")
        self._handle = ffi.gc(result[0], lib.pz_batch_free)
        self.actions = self.spec.actions[: self.spec.n_actions(self.undo)]
        self._layout = layout(self.spec.name, self.params)
        # Views, which cannot be resized by who gets them.
        self._records = np.zeros((n, self._layout.record_size), np.uint8)[:]
        self._masks = np.zeros((n, len(self.actions)), np.bool_)[:]
        self._outcomes = np.zeros(n, _OUTCOME)[:]
        self.apart_size = self._records.nbytes + self._masks.nbytes + n * (4 + 4)  # a reward, and four flags
        self._started = False
        outcomes = self._outcomes
        self._result = BatchStep(
            self._layout.views(self._records), self._masks, *(outcomes[name] for name in outcomes.dtype.names or ())
        )
        final_records, final_masks = np.zeros_like(self._records)[:], np.zeros_like(self._masks)[:]
        self.records, self.final_records = self._records, final_records
        """The observation records of all slots, live; and with ``autoreset="same_step"`` those of ended episodes."""
        self.final = (self._layout.views(final_records), final_masks)
        """With ``autoreset="same_step"``: observation and mask of the episodes that ended in the last step."""
        self.game_seeds = np.zeros(n, np.uint64)[:]
        """The seed that the stream of each slot has for its present game, live."""
        self._buffers = ffi.new("pz_batch_buffers *")
        self._kept = [
            ffi.from_buffer("uint8_t[]", array)
            for array in (self._records, self._masks, outcomes, final_records, final_masks, self.game_seeds)
        ]
        self._buffers.records, self._buffers.masks = self._kept[0], self._kept[1]
        self._buffers.outcomes = ffi.cast("pz_outcome *", self._kept[2])
        self._buffers.final_records, self._buffers.final_masks = self._kept[3], self._kept[4]
        self._buffers.game_seeds = ffi.cast("uint64_t *", self._kept[5])
        self._buffers.game_seeds_size = self.game_seeds.nbytes
        self._buffers.records_size, self._buffers.masks_size = self._records.nbytes, self._masks.nbytes
        self._buffers.outcomes_size = outcomes.nbytes
        self._check(lib.pz_batch_bind(self._handle, self._buffers))

    def reset(
        self,
        seed: int | Sequence[int | None] | None = None,
        *,
        episodes: Sequence[int] | None = None,
        which: Array | None = None,
    ) -> BatchStep:
        """Start new episodes in all slots, or in those of the boolean array ``which``.

        A single seed gives slot i the seed ``seed + i``; a sequence gives each its own. Where there is no seed, a slot
        that has played goes on with the next episode of its stream, and one that has not draws a seed.
        """
        n = self.num_envs
        chosen = None if which is None else array(which, "which", (n,), np.bool_)
        wanted: list[object]
        if seed is None:
            wanted = [None] * n
        elif isinstance(seed, (int, np.integer)):
            first = check_seed(seed)
            wanted = [first + slot for slot in range(n)]
        else:
            try:
                wanted = list(seed)
            except TypeError:
                raise InvalidSeed(f"seed is a whole number or a sequence of them, not {quote(seed)}") from None
        if len(wanted) != n:
            raise InvalidSeed(f"{n} sessions need {n} seeds, not {len(wanted)}")
        seeds, counts, begun = self._streams()
        for slot, given in enumerate(wanted):
            if chosen is not None and not chosen[slot]:
                continue
            if given is not None:
                seeds[slot], counts[slot] = check_seed(given), 0
            elif begun[slot]:
                counts[slot] += 1
            else:
                seeds[slot], counts[slot] = random_seed(), 0
        if episodes is not None:
            given_counts = list(episodes)
            if len(given_counts) != n:
                raise UnknownOption(f"{n} sessions have {n} episodes, not {len(given_counts)}")
            counts[:] = [whole(count, "an episode", 0, MAX_SEED) for count in given_counts]
        code = lib.pz_batch_reset(
            self._open(),
            n,
            ffi.from_buffer("uint64_t[]", seeds),
            ffi.from_buffer("uint64_t[]", counts),
            ffi.NULL if chosen is None else ffi.from_buffer("uint8_t[]", chosen),
        )
        self._check(code)
        self._started = True
        return self._result

    def step(self, actions: Sequence[int] | Array) -> BatchStep:
        """Take one action in each slot."""
        given = self._checked(actions)
        code = lib.pz_batch_step(
            self._handle or self._open(),
            self.num_envs,
            ffi.from_buffer("int64_t[]", given),
            _AUTORESET[self.autoreset],
        )
        if code:
            self._check(code)
        return self._result

    def step_told(self, actions: Sequence[int] | Array, block: Array) -> None:
        """The same, and tell how the episodes stand, in memory of ``told_size`` bytes: ``told`` says where what lies.

        The threads write it while they have the games at hand: that is quicker than to look through the live arrays.
        """
        given = self._checked(actions)
        room = ffi.from_buffer("uint8_t[]", block, require_writable=True)
        code = lib.pz_batch_step_told(
            self._handle or self._open(),
            self.num_envs,
            ffi.from_buffer("int64_t[]", given),
            _AUTORESET[self.autoreset],
            room,
            len(room),
        )
        if code:
            self._check(code)

    def step_apart(
        self,
        actions: Sequence[int] | Array,
        block: Array | None = None,
        *,
        choosable: bool = False,
        meanwhile: Callable[[], object] | None = None,
    ) -> Array:
        """The same, and a copy of what it led to in one array of ``apart_size`` bytes: ``apart`` says where.

        The threads make the copies while they have the games at hand: that is quicker than copying the live arrays.

        Args:
            actions: one for each slot.
            block: where to write; a fresh one if None.
            choosable: in the copy, masks of games that are over have every action where none is legal.
            meanwhile: called while the other threads step. It may prepare what is made of the block, but not look
                into it, nor use the batch.
        """
        given = self._checked(actions)
        if block is None:
            block = np.empty(self.apart_size, np.uint8)
        handle, room = self._handle or self._open(), ffi.from_buffer("uint8_t[]", block, require_writable=True)
        wanted, n, autoreset = ffi.from_buffer("int64_t[]", given), self.num_envs, _AUTORESET[self.autoreset]
        refused, code = None, 0
        try:
            refused = lib.pz_batch_begin_apart(handle, n, wanted, autoreset, room, len(room), choosable)
            if not refused and meanwhile is not None:
                meanwhile()
        finally:
            # A step that was begun comes to its end, whatever happened meanwhile: Ctrl-C even before we knew that it began.
            if not refused:
                code = lib.pz_batch_end_apart(handle)
        if refused or code:
            self._check(refused or code)
        return block

    def _checked(self, actions: Sequence[int] | Array) -> Array:
        if not self._started:
            raise InvalidAction("reset the batch before its first step")
        given = np.asarray(actions)
        if given.dtype.kind not in "iu" or given.shape != (self.num_envs,):
            raise InvalidAction(
                f"{self.num_envs} sessions take {self.num_envs} whole numbers, not {given.dtype} of shape {given.shape}"
            )
        return np.ascontiguousarray(given, np.int64)  # C copies it, and looks whether each action exists

    @property
    def told_size(self) -> int:
        """How many bytes ``step_told`` writes."""
        return self.num_envs * (8 + 4 + 5)  # a reward, how many repeats, and five flags

    @property
    def told(self) -> list[Part]:
        """Where the arrays of ``Told`` lie in what ``step_told`` wrote."""
        return _in_a_row(self.num_envs, [np.float64, np.int32, *[np.bool_] * 5])

    @cached_property
    def apart(self) -> Apart:
        """Where the arrays lie in what ``step_apart`` returns."""
        n = self.num_envs
        views = self._result.observation
        fields = {
            field.name: Part(views[field.name].shape, field.dtype, field.offset, views[field.name].strides)
            for field in self._layout.fields
        }
        parts, at = [], self._records.nbytes
        for like in (np.empty(n, np.float32), self._masks, *[np.empty(n, np.bool_)] * 4):
            parts.append(Part(like.shape, like.dtype, at, like.strides))
            at += like.nbytes
        return Apart(fields, *parts)

    def pixels(
        self,
        width: int = 128,
        height: int = 128,
        *,
        channels_first: bool = False,
        grey: bool = False,
        out: Array | None = None,
    ) -> Array:
        """The boards as pictures: uint8 (n, height, width, 3), (n, 3, height, width) or, in grey, (n, height, width)."""
        size = check_size(width, height)
        shape = (self.num_envs, *picture_shape(*size, channels_first, grey))
        if out is None:
            out = np.empty(shape, np.uint8)
        elif not issubclass(type(out), np.ndarray):
            raise ValueError(f"out must be an array, not {quote(out)}")
        else:
            there = np.asarray(out)  # what numpy itself says of it, not a subclass
            if there.shape != shape or there.dtype != np.uint8 or not there.flags.c_contiguous:
                raise ValueError(f"out must be contiguous uint8{list(shape)}, not {there.dtype}{list(there.shape)}")
            if not there.flags.writeable:
                raise ValueError("out cannot be written to")
        if not self._started:
            raise InvalidAction("reset the batch before its first picture")
        room = ffi.from_buffer("uint8_t[]", np.asarray(out), require_writable=True)
        form = picture_form(channels_first, grey)
        self._check(lib.pz_batch_pixels(self._open(), *size, form, room, len(room)))
        return out

    def draw_along(
        self, width: int = 128, height: int = 128, *, channels_first: bool = False, grey: bool = False
    ) -> tuple[Array, Array]:
        """From now on draw with every reset and step, in the same call.

        Returns two live arrays: the pictures, and with ``autoreset="same_step"`` those of the episodes that just ended.
        """
        size = check_size(width, height)
        shape = (self.num_envs, *picture_shape(*size, channels_first, grey))
        frames, final = np.zeros(shape, np.uint8)[:], np.zeros(shape, np.uint8)[:]
        room = ffi.from_buffer("uint8_t[]", frames), ffi.from_buffer("uint8_t[]", final)
        self._kept.extend(room)  # for good: of two threads that come here, nobody knows who was last
        buffers = ffi.new("pz_batch_buffers *", self._buffers[0])
        buffers.frames, buffers.final_frames = room
        buffers.frames_size = len(room[0])
        buffers.width, buffers.height = size
        buffers.form = picture_form(channels_first, grey)
        self._check(lib.pz_batch_bind(self._open(), buffers))
        self._buffers = buffers
        return frames, final

    def pay_along(self, rewards: Rewards) -> Array:
        """From now on reckon with every step what it pays, in the same call, by all of ``rewards`` but its hook.

        Returns a live array: float64, 0 where a step only began the next episode.
        """
        paid = np.zeros(self.num_envs)[:]
        self._kept.append(ffi.from_buffer("double[]", paid))
        buffers = ffi.new("pz_batch_buffers *", self._buffers[0])
        buffers.rewards, buffers.rewards_size = self._kept[-1], paid.nbytes
        for name, number in rewards.numbers(self.spec, self.params).items():
            setattr(buffers.pay, name, number)
        self._check(lib.pz_batch_bind(self._open(), buffers))
        self._buffers = buffers
        return paid

    def leave_out_repeats(self) -> None:
        """From now on ``repeats`` stays 0, unless ``max_repeats`` needs it: steps are cheaper without the count."""
        lib.pz_batch_uncounted(self._open())

    def session(self, slot: int) -> Session:
        """An independent copy of the session in a slot."""
        try:
            number = whole(slot, "a slot", 0, self.num_envs - 1)
        except UnknownOption as wrong:
            raise IndexError(str(wrong)) from None
        if not self._started:
            raise InvalidAction(f"reset slot {number} before copying its session")
        result = ffi.new("pz_session **")
        self._check(lib.pz_batch_clone(self._open(), number, result))
        return Session._from(result[0], self.timeout)

    def streams(self) -> tuple[Array, Array]:
        """Each slot's seed and the number of the episode in that seed's stream."""
        seeds, episodes, _ = self._streams()
        return seeds, episodes

    def _streams(self) -> tuple[Array, Array, Array]:
        """The same, and which slots have a stream yet."""
        n = self.num_envs
        seeds, episodes, begun = np.zeros(n, np.uint64), np.zeros(n, np.uint64), np.zeros(n, np.bool_)
        code = lib.pz_batch_streams(
            self._open(),
            n,
            ffi.from_buffer("uint64_t[]", seeds),
            ffi.from_buffer("uint64_t[]", episodes),
            ffi.from_buffer("uint8_t[]", begun),
        )
        self._check(code)
        return seeds, episodes, begun

    @property
    def result(self) -> BatchStep:
        """The live arrays, as the last reset or step left them."""
        return self._result

    @property
    def fields(self) -> tuple[Any, ...]:
        """The fields of an observation, without the leading dimension."""
        return self._layout.fields

    @property
    def threads(self) -> int:
        """How many threads step the sessions."""
        return int(lib.pz_batch_threads(self._open()))

    def rollout(
        self,
        policy: Policy = "random",
        episodes: int = 1000,
        *,
        seed: int | None = None,
        max_steps: int = DEFAULT_MAX_STEPS,
        progress: Callable[[int], None] | None = None,
    ) -> Rollout:
        """Whole episodes in C with this batch's puzzle, parameters and threads; its own sessions are not touched."""
        return rollout(
            self.spec.name,
            self.params,
            policy=policy,
            episodes=episodes,
            max_steps=max_steps,
            seed=seed,
            undo=self.undo,
            threads=self.threads,
            timeout=self.timeout,
            progress=progress,
        )

    def close(self) -> None:
        """Free the sessions and threads now."""
        if self._handle is not None:
            self._handle = None  # a call in another thread keeps what it works on until it is done

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open(self) -> Any:  # noqa: ANN401 (a cffi pointer)
        if self._handle is None:
            raise SessionClosed("this batch was closed")
        return self._handle

    def _check(self, code: int) -> None:
        if code == lib.PZ_BAD_ACTION:
            raise InvalidAction(f"{self.spec.name} has the actions 0 to {len(self.actions) - 1}")
        if code:
            slot = lib.pz_failed_slot()
            raise_for(code, f"{self.spec.name} {self.params}{f', slot {slot}' if slot >= 0 else ''}")


def _in_a_row(n: int, dtypes: list[type[np.generic]]) -> list[Part]:
    """Arrays of n items, one behind the other."""
    sizes = [np.dtype(dtype).itemsize for dtype in dtypes]
    return [Part((n,), np.dtype(dtype), n * sum(sizes[:at]), (sizes[at],)) for at, dtype in enumerate(dtypes)]


def _choice(choices: dict[str, int], given: object) -> Any:  # noqa: ANN401 (the literal that the caller declares)
    """One of these names as a plain str, or UnknownOption; the message calls it as the caller's argument is called."""
    name = text(given)
    if name not in choices:
        what = "autoreset" if choices is _AUTORESET else "policy"
        raise UnknownOption(f"{what} is one of {', '.join(choices)}, not {quote(given)}")
    return name


def native_task(
    which: GameID, about: PuzzleSpec, undo: bool, max_steps: int, max_repeats: int, timeout: float
) -> tuple[Any, list[Any]]:
    """The C side's record of what is played, and the texts that it points to."""
    texts = [text if text == ffi.NULL else ffi.new("char[]", text) for text in native_id(which)]
    task = ffi.new("pz_task *")
    task.puzzle = handle(about.name)
    task.params, task.seed, task.desc = texts
    task.flags = lib.PZ_FLAG_UNDO if undo and about.undo else 0
    task.max_steps, task.max_repeats, task.timeout = max_steps, max_repeats, timeout
    return task, texts


def fixed_game(puzzle: str, params: str | None) -> GameID:
    """Parameters, and the one instance that they name, if any."""
    if names_instance(params):
        return parse_game_id(puzzle, params)  # type: ignore[arg-type]
    return GameID(canonical_params(puzzle, params), None, None)


@dataclass(frozen=True)
class Rollout:
    """What became of a number of episodes."""

    status: Array
    """Status of each episode when it ended."""
    steps: Array
    """Steps that each took."""
    seeds: Array
    """Seed of each instance."""
    actions: Array | None = None
    """With ``record``: the actions of each episode, a row of ``max_steps`` of which the first ``steps`` count."""

    @property
    def solved(self) -> Array:
        """Which episodes were solved."""
        return np.asarray(self.status == Status.SOLVED)

    @property
    def failed(self) -> Array:
        """Which episodes were lost (not those that ran out of steps)."""
        return np.asarray(self.status == Status.FAILED)

    @property
    def success_rate(self) -> float:
        """The share of episodes that were solved."""
        return float(self.solved.mean())

    @property
    def mean_successful_steps(self) -> float:
        """The mean length of the solved episodes; NaN when there are none."""
        return float(self.steps[self.solved].mean()) if self.solved.any() else float("nan")


def rollout(
    puzzle: str,
    params: str | None = None,
    *,
    policy: Policy = "random",
    episodes: int = 1000,
    seed: int | None = None,
    seeds: Sequence[int] | Array | None = None,
    undo: bool = False,
    max_steps: int = DEFAULT_MAX_STEPS,
    max_repeats: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
    threads: int = 0,
    record: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Rollout:
    """Play whole episodes in C with uniformly random actions, or random ones among the legal.

    Episode k plays instance k of the seed's stream (or ``seeds[k]``), with actions that are a function of that
    instance's seed: the result does not depend on the number of threads. With ``record`` the actions are kept.
    """
    policy = _choice(_POLICIES, policy)
    threads = check_threads(threads)
    about = spec(puzzle)
    which = fixed_game(puzzle, params)
    params = which.params
    limits = check_limit("max_steps", max_steps), check_limit("max_repeats", max_repeats), check_timeout(timeout)
    task, _texts = native_task(which, about, bool(undo), *limits)
    if seeds is None:
        first = random_seed() if seed is None else check_seed(seed)
        count = whole(episodes, "episodes", 0, MAX_EPISODES)
        seeds = [episode_seed(first, episode) for episode in range(count)]
    each = np.array([check_seed(one) for one in seeds], np.uint64)
    status, steps = np.zeros(len(each), np.int32), np.zeros(len(each), np.int32)
    if record and not limits[0]:
        raise UnknownOption("to record, a rollout needs max_steps")
    actions = np.zeros((len(each), limits[0]), np.uint8) if record else None
    done = np.zeros(1, np.int64)
    finished = threading.Event()

    def report() -> None:
        while not finished.wait(0.1):
            progress(int(done[0]))  # type: ignore[misc]

    reporter = threading.Thread(target=report, daemon=True) if progress else None
    if reporter:
        reporter.start()
    try:
        code = lib.pz_rollout(
            task,
            _POLICIES[policy],
            threads,
            len(each),
            ffi.from_buffer("uint64_t[]", each),
            ffi.from_buffer("int32_t[]", status),
            ffi.from_buffer("int32_t[]", steps),
            ffi.NULL if actions is None else ffi.from_buffer("uint8_t[]", actions),
            ffi.from_buffer("int64_t[]", done),
        )
    finally:
        finished.set()
        if reporter:
            reporter.join()
    if code:
        raise_for(code, f"{about.name} {params}")
    if progress:
        progress(len(each))
    return Rollout(status, steps, each, actions)
