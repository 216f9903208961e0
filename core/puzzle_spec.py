"""What there is to know of a puzzle without starting one."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ._native import ffi, lib
from .arguments import real, text
from .errors import InvalidParams, UnknownPuzzle, quote, raise_for

MAX_CELLS = 2**24
MAX_PARAMS = 511
"""The most that a field of an observation may have."""

_DTYPES: dict[int, np.dtype[Any]] = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32)}


def _text(pointer: Any) -> str:  # noqa: ANN401 (a cffi pointer)
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode()


class Preset(NamedTuple):
    """A setting that the engine's author suggests."""

    title: str
    params: str


@dataclass(frozen=True)
class Field:
    """One array of an observation: the same shape, type and bounds for all games with the same parameters."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    low: int
    high: int
    about: str
    is_ui: bool
    """Whether it belongs to the cursor, or to what is held or selected with it, and not to the board."""
    offset: int
    """Where it starts in the record of all fields, in bytes."""


@dataclass(frozen=True)
class Layout:
    """All fields of an observation, and the size of the observation record that holds them."""

    fields: tuple[Field, ...]
    record_size: int

    def views(self, records: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
        """Each field as a view into one record, or into many along the leading axis."""
        lead, strides = records.shape[:-1], records.strides[:-1]
        return {
            field.name: np.ndarray(
                lead + field.shape,
                field.dtype,
                buffer=records,
                offset=field.offset,
                strides=strides + _strides(field.shape, field.dtype.itemsize),
            )
            for field in self.fields
        }


def _strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides = []
    for size in reversed(shape):
        strides.append(itemsize)
        itemsize *= size
    return tuple(reversed(strides))


@dataclass(frozen=True)
class PuzzleSpec:
    """What a puzzle is and what it provides."""

    name: str
    title: str
    rules: str
    words: tuple[str, ...]
    """How boards and moves are written in words: what ``puzzleport.language`` goes by."""
    goal: tuple[str, ...]
    """The fields that make a solution; empty where the puzzle does not say."""
    actions: tuple[str, ...]
    presets: tuple[Preset, ...]
    default_params: str
    easiest_params: str
    """The easiest setting that the paper evaluates."""
    human_params: str
    """The easiest setting that the paper calls fit for people."""
    params_help: tuple[str, ...]
    params_pattern: str
    params_alias: str
    can_solve: bool
    has_text: bool
    undo: bool
    """Whether UNDO is among the actions."""
    hidden: bool
    """Whether the player must not know all of the state."""
    draws: str = ""
    """What we draw over the engine's picture, so that it shows all that decides what the next key does; often nothing."""

    def fields(self, params: str | None = None) -> tuple[Field, ...]:
        """The fields of an observation under these parameters."""
        return layout(self.name, canonical_params(self.name, params, described=True)).fields

    def n_actions(self, undo: bool = True) -> int:
        """The number of actions, with UNDO or without."""
        return len(self.actions) - (self.undo and not undo)


@lru_cache(maxsize=1)
def _handles() -> dict[str, Any]:
    pointers = [lib.pz_puzzle_at(index) for index in range(lib.pz_count())]
    return {_text(pointer.name): pointer for pointer in pointers}


def handle(puzzle: str) -> Any:  # noqa: ANN401 (a cffi pointer)
    """The C side's record of a puzzle."""
    name = text(puzzle)
    if name not in _handles():
        near = difflib.get_close_matches((name or "")[:80].lower().replace(" ", ""), _handles(), n=1, cutoff=0.0)
        raise UnknownPuzzle(f"there is no puzzle {quote(puzzle)}; did you mean {near[0]!r}?")
    return _handles()[name]


def puzzles() -> list[str]:
    """The names of all puzzles, sorted."""
    return sorted(_handles())


def spec(puzzle: str) -> PuzzleSpec:
    """The record of one puzzle."""
    return _spec(puzzle) if type(puzzle) is str else _spec(_text(handle(puzzle).name))


@cache
def _spec(puzzle: str) -> PuzzleSpec:
    pointer = handle(puzzle)
    names: list[str] = []
    keys: list[int] = []
    while pointer.actions[len(names)].name != ffi.NULL:
        action = pointer.actions[len(names)]
        names.append(_text(action.name))
        keys.append(action.key)
    title, params = ffi.new("char **"), ffi.new("char **")
    presets = []
    for index in range(lib.pz_preset_count(pointer)):
        code = lib.pz_preset(pointer, index, title, params)
        if code:
            raise_for(code, f"{puzzle}: preset {index}")
        presets.append(Preset(_text(title[0]), _text(params[0])))
    code = lib.pz_params_canonical(pointer, b"", lib.PZ_TO_READ, params)
    if code:
        raise_for(code, f"{puzzle}: default parameters")
    return PuzzleSpec(
        name=puzzle,
        title=_text(pointer.title),
        rules=_text(pointer.rules),
        words=tuple(_text(pointer.words).splitlines()),
        goal=tuple(_text(pointer.goal).split()),
        actions=tuple(names),
        presets=tuple(presets),
        default_params=presets[0].params if presets else _text(params[0]),
        easiest_params=_text(pointer.easiest),
        human_params=_text(pointer.human),
        params_help=tuple(_text(pointer.params_help).splitlines()),
        params_pattern=_text(pointer.params_pattern),
        params_alias=_text(pointer.params_alias),
        can_solve=bool(lib.pz_can_solve(pointer)),
        has_text=bool(lib.pz_has_text(pointer)),
        undo=lib.PZ_UNDO in keys,
        hidden=bool(pointer.hidden),
        draws=_text(pointer.draws),
    )


def canonical_params(puzzle: str, params: str | None = None, *, described: bool = False) -> str:
    """The full form of a parameter string; what is not wholly understood is an error.

    The engine itself never complains: it reads ``garbage`` as its default and ``3x3;rm`` as ``3x3``.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: None for the default.
        described: whether a description goes with them. Then they need not be such as a generator takes.
    """
    about = spec(puzzle)
    if params is None:
        return about.default_params
    plain = text(params)
    if plain is None:
        raise InvalidParams(
            f"{about.name}: parameters are a string such as {about.default_params!r}, not {quote(params)}"
        )
    return _canonical(about.name, plain, lib.PZ_TO_PLAY if described else lib.PZ_TO_GENERATE)


@lru_cache(maxsize=1024)
def _canonical(puzzle: str, params: str, use: int) -> str:
    about = spec(puzzle)
    if len(params) > MAX_PARAMS:
        raise InvalidParams(f"{puzzle}: parameters may have at most {MAX_PARAMS} characters, not {len(params)}")
    if not re.fullmatch(about.params_pattern, params, re.ASCII):
        start = re.match(about.params_pattern, params, re.ASCII)
        understood = (
            f"only its start {quote(start[0])} is understood" if start and start[0] else "nothing of it is understood"
        )
        raise InvalidParams(
            f"{puzzle}: {quote(params)} is no parameter string: {understood}. "
            f"Write {about.easiest_params!r} or {about.default_params!r}: {'; '.join(about.params_help)}."
        )
    if about.params_alias:
        written, meant = about.params_alias.split("=")
        params = params.replace(written, meant)
    result = ffi.new("char **")
    code = lib.pz_params_canonical(handle(puzzle), params.encode(), use, result)
    if code:
        raise_for(code, f"{puzzle}: params {quote(params)}")
    return _text(result[0])


def set_max_cells(cells: int) -> None:
    """Allow larger boards. The limit (2,500 cells at first) is there because generators slow down steeply with size."""
    lib.pz_max_cells = real(cells, f"the limit is a number of cells from 1 to {MAX_CELLS}", 1, MAX_CELLS)
    _canonical.cache_clear()


@lru_cache(maxsize=256)
def layout(puzzle: str, params: str) -> Layout:
    """The layout of observations under canonical parameters."""
    native = ffi.new("pz_layout *")
    code = lib.pz_layout_of(handle(puzzle), params.encode(), native)
    if code:
        raise_for(code, f"{puzzle}: params {quote(params)}")
    fields = tuple(
        Field(
            name=_text(field.name),
            shape=tuple(field.shape[axis] for axis in range(field.ndim)),
            dtype=_DTYPES[field.itemsize],
            low=field.low,
            high=field.high,
            about=_text(field.about),
            is_ui=bool(field.is_ui),
            offset=field.offset,
        )
        for field in (native.fields[index] for index in range(native.n_fields))
    )
    return Layout(fields, native.record_size)


def optimal_steps(puzzle: str, params: str | None = None) -> int:
    """The paper's upper bound on the number of steps that an optimal player needs."""
    steps = ffi.new("double *")
    params = canonical_params(puzzle, params, described=True)
    code = lib.pz_optimal_steps(handle(puzzle), params.encode(), steps)
    if code:
        raise_for(code, f"{puzzle}: params {quote(params)}")
    bound: float = steps[0]
    return round(bound)


@lru_cache(maxsize=256)
def least_picture(puzzle: str, params: str) -> tuple[int, int]:
    """Width and height of the smallest picture of a board with canonical parameters."""
    width, height = ffi.new("int *"), ffi.new("int *")
    code = lib.pz_least_picture(handle(puzzle), params.encode(), width, height)
    if code:
        raise_for(code, f"{puzzle}: params {quote(params)}")
    return width[0], height[0]
