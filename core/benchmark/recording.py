"""Recordings of evaluations: every game action by action, so that anyone can replay and check it.

A recording is a file of JSON lines, compressed with gzip; one that was unpacked can be read too. It has one section for each
setting that was played. A section is a header and then one line for each game, in the order of the header's seeds:

    {"format": "puzzleport recording 1", "version": "0.2.0", "policy": "random", "fingerprint": "", "puzzle": "net",
     "params": "5x5", "seeds": "evalset v1", "episodes": 100, "undo": false, "max_steps": 10000, "max_repeats": 0,
     "actions": ["UP", "DOWN", "LEFT", "RIGHT", "SELECT"]}
    {"game": "5x5#9223372036854775808", "actions": "3340412", "status": 1, "steps": 7}

Each of these is one line in the file. In a header:

- ``version`` is the version of puzzleport that wrote it; ``policy`` and ``fingerprint`` tell who played.
- ``puzzle``, ``params``, ``undo``, ``max_steps`` and ``max_repeats`` are those of ``Task``.
- ``seeds`` tells which instances were played, ``evalset NAME`` or ``seed NUMBER``; ``episodes`` how many were asked for.
- ``actions`` are the names of the actions, by their numbers.

In the line of a game:

- ``game`` is its id: ``Session(puzzle, game_id=game)`` starts it.
- ``actions`` has one character for each action that was taken, with effect or without: its number as a digit of ``DIGITS``.
- ``status`` (1 solved, -1 lost, 0 neither) and ``steps`` are what the player claims; ``puzzleport verify`` replays the game.
- ``told``, where there is more to tell, has numbers by their names: turns, problems and tokens of a player in words.
- ``probabilities``, where the player told them, has one list for each action that was taken: how likely each of the header's
  actions was just then, to four decimal places.

A reader ignores members that it does not know. Blocks of games are compressed one by one, so that a run that was cut off
goes on where its last whole block ended, and the file is the same, byte for byte, whoever played the blocks.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from .. import __version__
from ..errors import quote
from .results import Result

FORMAT = "puzzleport recording 1"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The characters of actions: the number of an action is the place of its character."""
SUFFIX = ".jsonl.gz"
MAX_LINE = 2**26
"""The longest line that is read, in bytes: a file may be small and its lines endless."""


class BadRecording(ValueError):
    """A file that is no recording, or one that does not hold what it claims."""


@dataclass(frozen=True)
class Game:
    """One game: its id, what was done, and what is claimed to have come of it."""

    game: str
    actions: str
    status: int
    steps: int
    told: dict[str, int] = field(default_factory=dict)
    probabilities: list[list[float]] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        """The actions by their numbers."""
        return [DIGITS.index(digit) for digit in self.actions]


@dataclass(frozen=True)
class Header:
    """What the games of a section have in common."""

    version: str
    policy: str
    fingerprint: str
    puzzle: str
    params: str
    seeds: str
    episodes: int
    undo: bool
    max_steps: int
    max_repeats: int
    actions: list[str]

    @classmethod
    def of(cls, result: Result, actions: Sequence[str]) -> Header:
        """The header of a result's games."""
        known = {name: getattr(result, name) for name in _TYPES[cls] if hasattr(result, name)}
        return cls(version=__version__, actions=list(actions), **known)

    def result(self) -> Result:
        """The result that such games belong to, before the first of them."""
        names = ("policy", "puzzle", "params", "seeds", "max_steps", "undo", "fingerprint", "episodes", "max_repeats")
        return Result(**{name: getattr(self, name) for name in names})


@dataclass
class Section:
    """One setting: its header and its games."""

    header: Header
    games: list[Game] = field(default_factory=list)

    def result(self) -> Result:
        """The result that the games claim."""
        result = self.header.result()
        for game in self.games:
            result.status.append(game.status)
            result.steps.append(game.steps)
            for name, number in game.told.items():
                result.told.setdefault(name, []).append(number)
        return result


_TYPES: dict[type, dict[str, type | tuple[type, ...]]] = {
    Header: {
        "version": str,
        "policy": str,
        "fingerprint": str,
        "puzzle": str,
        "params": str,
        "seeds": str,
        "episodes": int,
        "undo": bool,
        "max_steps": int,
        "max_repeats": int,
        "actions": list,
    },
    Game: {"game": str, "actions": str, "status": int, "steps": int, "told": dict, "probabilities": list},
}
_OPTIONAL = {"told", "probabilities"}


def as_text(actions: bytes | Sequence[int]) -> str:
    """Actions as a recording writes them."""
    return bytes(actions).translate(_TO_TEXT).decode("ascii")


def as_shares(probabilities: np.ndarray[Any, Any]) -> list[list[float]]:
    """Probabilities as a recording writes them: four decimal places are enough to look at."""
    shares: list[list[float]] = probabilities.astype(np.float64).round(4).tolist()
    return shares


_TO_TEXT = bytes(ord(DIGITS[number]) if number < len(DIGITS) else ord("?") for number in range(256))


class Recorder:
    """Writes a recording, block by block.

    Args:
        path: of the file, which ends in ``.jsonl.gz``.
        go_on: whether to go on with the file that is there, after its last whole block.
    """

    def __init__(self, path: Path, go_on: bool = False) -> None:
        self.path = path
        self.sections = list[Section]()
        """What was in the file before: all of its whole blocks."""
        if go_on and path.exists():
            self.sections, size = _whole_blocks(path)
            with path.open("r+b") as file:
                file.truncate(size)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        self._last = self.sections[-1].header if self.sections else None

    def check(self, header: Header, played: int) -> None:
        """An error where the file has games of this setting that a run cannot go on with."""
        for section in self.sections:
            same = (section.header.puzzle, section.header.params) == (header.puzzle, header.params)
            if same and (section.header != header or len(section.games) != played):
                raise ValueError(
                    f"{self.path} has {header.puzzle} {header.params:.80} with other options: name another file"
                )

    def write(self, header: Header, games: Iterable[Game]) -> None:
        """Add a block of games, under a header where their setting is not the last one's."""
        lines = [] if header == self._last else [_line({"format": FORMAT, **asdict(header)})]
        for game in games:
            lines.append(_line({name: value for name, value in vars(game).items() if value or name not in _OPTIONAL}))
        with self.path.open("ab") as file:
            file.write(gzip.compress("".join(lines).encode(), 6, mtime=0))
        self._last = header


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":")) + "\n"


def _whole_blocks(path: Path) -> tuple[list[Section], int]:
    """The sections of a file that may have been cut off, and how many of its bytes are whole blocks."""
    data, size = path.read_bytes(), 0
    text = bytearray()
    while size < len(data):
        inflate = zlib.decompressobj(wbits=31)
        try:
            block = inflate.decompress(data[size:])
        except zlib.error:
            break
        if not inflate.eof:
            break
        text += block
        size = len(data) - len(inflate.unused_data)
    return _sections(_lines(io.BytesIO(bytes(text)), path), path) if text else [], size


def load(path: str | Path) -> list[Section]:
    """The whole recording. BadRecording where the file is none."""
    path = Path(path)
    return _sections(read(path), path)


def _sections(lines: Iterator[Header | Game], path: Path) -> list[Section]:
    sections = list[Section]()
    for line in lines:
        if isinstance(line, Header):
            sections.append(Section(line))
        elif not sections:
            raise BadRecording(f"{path}: a header must come before the first game")
        else:
            sections[-1].games.append(line)
    return sections


def read(path: str | Path) -> Iterator[Header | Game]:
    """Headers and games as they come. BadRecording, with the number of the line, where one is neither."""
    path = Path(path)
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if zipped else raw
        yield from _lines(file, path)


def _lines(file: IO[bytes], path: Path) -> Iterator[Header | Game]:
    number = 0
    try:
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise BadRecording(f"the line has more than {MAX_LINE:,} bytes")
            yield _parse(line)
    except BadRecording as error:
        raise BadRecording(f"{path}, line {number}: {error}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise BadRecording(f"{path}, line {number + 1}: the file is damaged ({error})") from None
    if not number:
        raise BadRecording(f"{path} is empty")


def _parse(line: bytes) -> Header | Game:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise BadRecording(f"{quote(line)} is no JSON") from None
    if not isinstance(row, dict):
        raise BadRecording(f"{quote(line)} is neither a header nor a game")
    kind: type[Header | Game] = Header if "format" in row else Game
    if kind is Header and row["format"] != FORMAT:
        raise BadRecording(f"the format is {quote(row['format'])}; {FORMAT!r} can be read")
    found: dict[str, Any] = {}
    for name, wanted in _TYPES[kind].items():
        if name not in row and name in _OPTIONAL:
            continue
        value = row.get(name)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise BadRecording(f"{name} is {quote(value)}")
        found[name] = value
    if kind is Game and (strange := set(found["actions"]) - set(DIGITS)):
        raise BadRecording(f"actions has {quote(min(strange))}")
    _check_inside(found)
    return kind(**found)


def _check_inside(found: dict[str, Any]) -> None:
    """Lists and numbers by name hold what they should."""
    if isinstance(found.get("actions"), list) and not all(isinstance(name, str) for name in found["actions"]):
        raise BadRecording("actions has something that is no name")
    if not all(type(number) is int for number in found.get("told", {}).values()):
        raise BadRecording("told has something that is no number")
    for row in found.get("probabilities", ()):
        if not isinstance(row, list) or not all(type(number) in (int, float) for number in row):
            raise BadRecording("probabilities has something that is no list of numbers")
