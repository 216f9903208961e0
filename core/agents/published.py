"""Agents that have learned: small files of weights, played with NumPy alone.

    >>> import puzzleport as pp
    >>> agent = pp.agents.load("net")
    >>> session = pp.Session("net", agent.params, seed=1)
    >>> while not session.ended:
    ...     _ = session.step(agent(session))
    >>> session.status.name
    'SOLVED'

The folder ``trained`` beside this file has one for each puzzle and level: ``PUZZLE-LEVEL.safetensors`` with the weights, and
``PUZZLE-LEVEL.json``, the model card: how it was trained, and what it reaches.

A file of weights has the format of https://github.com/huggingface/safetensors: eight bytes with the length of a header
(little-endian), the header as JSON, then the arrays, one after the other, row by row, little-endian. For each array the header
has ``{"dtype": "F16" or "I32", "shape": [...], "data_offsets": [first byte, byte after the last]}``, counted from the end of the
header. ``"__metadata__"`` holds texts: ``puzzle``, ``params``, ``actions`` (names with spaces between them), ``masked`` (``1``
where actions that change nothing are left out), ``temperature`` (the logits are divided by it; with ``0`` the largest one wins),
and the network: ``kind`` (one of ``network.KINDS``), ``layers``, ``width``, ``height_cells``, ``width_cells``, ``features``.
``network.py`` says in a page how logits follow from these.

To run a ``dense`` one: ``x[i] = numbers[item[i]] == value[i]``, where ``numbers`` are all fields of an observation in order; for
each layer k from 0 ``x = max(0, x @ hidden.k.weight + hidden.k.bias)``; ``logits = x @ policy.weight + policy.bias``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import asdict, fields
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnknownOption
from ..files import aside
from ..puzzle_spec import canonical_params, layout, spec
from ..session import Observation, Session
from . import network, sight
from .token_sight import token_sight

if TYPE_CHECKING:
    from ..batch import Batch
    from ..task import Task

Array = np.ndarray[Any, Any]
SUFFIX = ".safetensors"
_DTYPES: dict[str, np.dtype[Any]] = {"F16": np.dtype("<f2"), "F32": np.dtype("<f4"), "I32": np.dtype("<i4")}
_LARGEST_HEADER = 2**20


class Agent:
    """A trained network that plays one puzzle at one setting: ``agent(session)`` gives the next action.

    It is a policy for ``puzzleport.benchmark.evaluation.evaluate`` too, which calls it with the fields and masks of many games.

    Args:
        about: the metadata of its file, as the module says.
        weights: its arrays by name.
        temperature: instead of its own: 1 draws actions as in training, 0 takes the likeliest.
        seed: of the actions that it draws for sessions.
    """

    def __init__(
        self, about: Mapping[str, str], weights: Mapping[str, Array], *, temperature: float | None = None, seed: int = 0
    ) -> None:
        self.about = dict(about)
        try:
            self.puzzle = spec(about["puzzle"]).name
            self.params = canonical_params(self.puzzle, about["params"])
            self.actions = tuple(about["actions"].split())
            self.masked = about["masked"] == "1"
            self.temperature = float(about["temperature"]) if temperature is None else float(temperature)
            plain = {field.name: about[field.name] for field in fields(network.Shape)}
            self.shape = network.Shape(plain.pop("kind"), **{name: int(value) for name, value in plain.items()})
        except (KeyError, ValueError) as error:
            raise ValueError(f"this is no agent of puzzleport: {error!s:.80}") from None
        self.layout = layout(self.puzzle, self.params)
        self.weights = {
            name: one.astype(np.float32 if one.dtype.kind == "f" else np.int32) for name, one in weights.items()
        }
        self._random = np.random.default_rng(seed)
        self._check_weights()

    def _check_weights(self) -> None:
        """Play one state that nobody meets, so that weights that do not fit are found here."""
        blank: Any = {field.name: np.zeros((1, *field.shape), np.int32) for field in self.layout.fields}
        if self.shape.kind == "pixels":
            blank = np.zeros((1, self.shape.height_cells, self.shape.width_cells, self.shape.features), np.uint8)
        try:
            logits, _ = self.logits_and_values(blank)
            sound = logits.shape == (1, len(self.actions))
        except (KeyError, ValueError, IndexError):
            sound = False
        if not sound:
            raise ValueError(f"the weights do not fit {self.puzzle} {self.params:.80}")

    @property
    def fingerprint(self) -> str:
        """Tells apart agents of the same name, by their weights and how they choose."""
        digest = hashlib.sha256()
        for name in sorted(self.weights):
            digest.update(name.encode() + self.weights[name].tobytes())
        return f"{digest.hexdigest()[:16]} temperature {self.temperature:g}"

    def at(self, temperature: float) -> Agent:
        """The same agent at another temperature."""
        twin = copy(self)
        twin.temperature = float(temperature)
        return twin

    def on(self, params: str) -> Agent:
        """The same agent on a board of another size, which only networks of ``network.ANY_SIZE`` can play."""
        kind, params = self.shape.kind, canonical_params(self.puzzle, params)
        if kind not in network.ANY_SIZE:
            raise UnknownOption(f"the network of this agent is {kind}: it fits {self.puzzle} {self.params} alone")
        if _seen_of_each(kind, self.puzzle, params) != _seen_of_each(kind, self.puzzle, self.params):
            raise UnknownOption(f"{self.puzzle} {params:.80} is seen otherwise than {self.params}")
        arrays, (height, width, _) = seen_on(kind, self.puzzle, params, self.weights)
        about = {**self.about, "params": params, "height_cells": str(height), "width_cells": str(width)}
        return Agent(about, {**self.weights, **arrays}, temperature=self.temperature)

    def check(self, task: Task) -> None:
        """An error where it was trained on something else."""
        if (task.puzzle, task.params) != (self.puzzle, self.params) or task.actions != self.actions:
            told = f"{task.puzzle} {task.params:.80} with {len(task.actions)} actions"
            raise UnknownOption(
                f"the agent plays {self.puzzle} {self.params} with {len(self.actions)} actions, not {told}"
            )

    def __call__(
        self, seen: Session | Observation, mask: Array | None = None, random: np.random.Generator | None = None
    ) -> Any:  # noqa: ANN401 (one action, or an array of them)
        """The next action of a session; or those of many games, from their fields and masks."""
        if isinstance(seen, Session):
            return int(draw(self.probabilities(seen)[None], self._random)[0])
        assert random is not None
        return draw(self.probabilities(seen, mask), random)

    def probabilities(self, seen: Session | Observation, mask: Array | None = None) -> Array:
        """The chance of each action in a session; or in each of many games, from their fields and masks."""
        if not isinstance(seen, Session):
            assert mask is not None
            return self._chances(seen, mask)
        session = seen
        if (session.puzzle, session.params) != (self.puzzle, self.params):
            raise UnknownOption(
                f"the agent plays {self.puzzle} {self.params}, not {session.puzzle} {session.params:.80}"
            )
        observed: Any = session.observe(copy=False)
        if self.shape.kind == "pixels":
            observed = session.painter(self.shape.width_cells, self.shape.height_cells)()
        chances = self._chances(observed, session.mask(copy=False)[: len(self.actions)])
        more = len(session.actions) - len(self.actions)  # UNDO, which it never learned
        return np.append(chances, np.zeros(more)) if more else chances

    def logits_and_values(self, seen: Any) -> tuple[Array, Array]:  # noqa: ANN401 (fields, or pictures)
        """What the network says of a game's fields or its picture, or of many games' along a leading axis."""
        if self.shape.kind == "pixels":
            vector = seen.reshape(*seen.shape[:-3], -1)
        else:
            vector = network.look(self.weights, network.numbers(self.layout, seen))
        logits, values = network.forward(self.shape, self.weights, vector)
        return logits, values

    def watch(self, batch: Batch) -> Callable[[], Any]:
        """What gives the fields of all games of a batch, or their pictures, as the network wants them."""
        if self.shape.kind != "pixels":
            return lambda: batch.result.observation
        frames, _ = batch.draw_along(self.shape.width_cells, self.shape.height_cells)
        return lambda: frames

    def _chances(self, seen: Any, mask: Array) -> Array:  # noqa: ANN401 (fields, or pictures)
        logits, _ = self.logits_and_values(seen)
        if self.masked:
            # Where nothing has an effect, all actions are as good.
            logits = np.where(mask | ~mask.any(-1, keepdims=True), logits, -np.inf)
        if self.temperature == 0:
            return np.asarray(np.arange(logits.shape[-1]) == logits.argmax(-1)[..., None], np.float64)
        chances = np.exp((logits - logits.max(-1, keepdims=True)).astype(np.float64) / self.temperature)
        return np.asarray(chances / chances.sum(-1, keepdims=True))


def _seen_of_each(kind: str, puzzle: str, params: str) -> int:
    """How much there is to see of each cell or token."""
    if kind == "tokens":
        return token_sight(puzzle, params).board[-1]
    return len(sight.read_board(puzzle, params).columns)


def seen_on(
    kind: str, puzzle: str, params: str, known: Mapping[str, Array]
) -> tuple[dict[str, Array], tuple[int, int, int]]:
    """What a network of any size sees on a board: the arrays that are its own there, and height, width and features.

    Args:
        kind: one of ``network.ANY_SIZE``.
        puzzle: its name.
        params: of the board.
        known: what it sees on another board.
    """
    if kind == "tokens":
        tokens = token_sight(puzzle, params)
        return {"item": tokens.item, "value": tokens.value, "bit": tokens.bit}, tokens.board
    cells = sight.on(puzzle, params, known["column"], known["compared"])
    return {"item": cells.item, "value": cells.value}, cells.board


def draw(chances: Array, random: np.random.Generator) -> Array:
    """An action for each game. The last legal one is there for a sum that rounding left below one."""
    totals = chances.cumsum(-1)
    return np.asarray((totals <= random.random(len(chances))[:, None] * totals[:, -1:]).sum(-1))


class Published:
    """The published agents as one policy, of whatever puzzle is played.

    Args:
        temperature: instead of each agent's own.
    """

    fingerprint = ""

    def __init__(self, temperature: float | None = None) -> None:
        self.temperature = temperature
        self._agent: Agent | None = None

    def check(self, task: Task) -> None:
        """An error where there is no agent for this."""
        self._of(task.puzzle, task.params).check(task)

    def start(self, batch: Batch, random: np.random.Generator) -> None:
        """Take the agent of this batch's puzzle."""
        self._agent = self._of(batch.spec.name, batch.params)

    def __call__(self, seen: Observation, mask: Array, random: np.random.Generator) -> Array:
        """The actions of many games."""
        assert self._agent is not None
        return np.asarray(self._agent(seen, mask, random))

    def probabilities(self, seen: Observation, mask: Array) -> Array:
        """The chance of each action in each of many games."""
        assert self._agent is not None
        return self._agent.probabilities(seen, mask)

    def _of(self, puzzle: str, params: str) -> Agent:
        for name in available():
            about = card(name)
            if (about["puzzle"], about["params"]) == (puzzle, params):
                return read(_FOLDER / f"{name}{SUFFIX}", temperature=self.temperature)
        raise UnknownOption(f"there is no published agent for {puzzle} {params:.80}; there are {_told()}")


# ---- files

_FOLDER = files(__package__).joinpath("trained")


def _told() -> str:
    return ", ".join(available()) or "none"


def available() -> list[str]:
    """The names of the published agents: PUZZLE-LEVEL."""
    if not _FOLDER.is_dir():
        return []
    return sorted(file.name.removesuffix(SUFFIX) for file in _FOLDER.iterdir() if file.name.endswith(SUFFIX))


def load(puzzle: str, level: str = "easiest", *, temperature: float | None = None, seed: int = 0) -> Agent:
    """The published agent of a puzzle.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        level: ``easiest`` or ``human``; ``available()`` lists what there is.
        temperature: instead of the agent's own: 1 draws actions as in training, 0 takes the likeliest.
        seed: of the actions that it draws for sessions.
    """
    name = f"{spec(puzzle).name}-{level}"
    if name not in available():
        raise UnknownOption(f"there is no published agent {name!r:.80}; there are {_told()}")
    return read(_FOLDER / f"{name}{SUFFIX}", temperature=temperature, seed=seed)


@lru_cache(maxsize=256)
def card(name: str) -> Mapping[str, Any]:
    """The model card of a published agent: recipe, command, seed and figures."""
    found: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def read(path: Any, *, temperature: float | None = None, seed: int = 0) -> Agent:  # noqa: ANN401 (a path or a resource)
    """The agent in a file."""
    path = Path(path) if isinstance(path, str) else path
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    try:
        size = int.from_bytes(content[:8], "little")
        if not 0 < size <= min(_LARGEST_HEADER, len(content) - 8):
            raise ValueError("its header does not fit into the file")
        header = json.loads(content[8 : 8 + size])
        about = header.pop("__metadata__")
        arrays = {name: _array(one, content[8 + size :]) for name, one in header.items()}
        return Agent(about, arrays, temperature=temperature, seed=seed)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{path} holds no agent: {error!s:.200}") from None


def _array(about: dict[str, Any], content: bytes) -> Array:
    first, last = about["data_offsets"]
    found: Array = np.frombuffer(content[first:last], _DTYPES[about["dtype"]]).reshape(about["shape"])
    return found


def write(
    path: Path,
    shape: network.Shape,
    weights: Mapping[str, Array],
    *,
    puzzle: str,
    params: str,
    actions: tuple[str, ...],
    masked: bool = True,
    temperature: float = 1.0,
) -> None:
    """Write an agent's file. Weights are rounded to 16 bits."""
    about = {
        "puzzle": puzzle,
        "params": params,
        "actions": " ".join(actions),
        "masked": str(int(masked)),
        "temperature": f"{temperature:g}",
        **{name: str(value) for name, value in asdict(shape).items()},
    }
    header: dict[str, Any] = {"__metadata__": about}
    parts, at = [], 0
    # Whole numbers first: they then begin at a multiple of four bytes.
    for name in sorted(weights, key=lambda one: (np.asarray(weights[one]).dtype.kind == "f", one)):
        one = np.asarray(weights[name])
        kind = "F16" if one.dtype.kind == "f" else "I32"
        parts.append(np.ascontiguousarray(one, _DTYPES[kind]).tobytes())
        header[name] = {"dtype": kind, "shape": list(one.shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with aside(path) as part:
        part.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
