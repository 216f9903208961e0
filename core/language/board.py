"""A board as text, and back: what is written holds every field of the observation, so it can be read again."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..puzzle_spec import Field
from ..session import Observation
from .grammar import EMPTY, Grammar, Layer

Array = np.ndarray[Any, Any]


class Board:
    """Writes boards. What did not change since the last board is not written anew."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self._known: dict[str, tuple[bytes, str]] = {}
        drawn = grammar.layers
        self._lists = [field for field in grammar.fields if field.name not in drawn and field.shape]
        self._places = grammar.by_name[grammar.place_field].high + 1 if grammar.letter else 0
        self._numbers = [field for field in grammar.fields if field.name not in drawn and not field.shape]

    def write(self, seen: Observation) -> str:
        """The whole board."""
        parts = []
        for layers in self.grammar.grids:
            now = b"".join(seen[layer.name].tobytes() for layer in layers)
            parts.append(
                self._section(_title(layers), now, lambda title, layers=layers: self._write_grid(title, layers, seen))
            )  # type: ignore[misc]
        for field in self._lists:
            view = seen[field.name]
            parts.append(
                self._section(field.name, view.tobytes(), lambda title, view=view: self._write_list(title, view))
            )  # type: ignore[misc]
        parts.extend(f"{field.name}: {int(seen[field.name])}" for field in self._numbers)
        return "\n".join(parts)

    def _section(self, title: str, now: bytes, write: Any) -> str:  # noqa: ANN401 (a function)
        known = self._known.get(title)
        if known is None or known[0] != now:
            known = self._known[title] = now, write(title)
        return known[1]

    def _write_grid(self, title: str, layers: tuple[Layer, ...], seen: Observation) -> str:
        shape = layers[0].field.shape[:2]
        columns = []
        for layer in layers:
            if layer.is_sides:
                columns.append([layer.write(value) for value in seen[layer.name].reshape(-1, layer.field.shape[2])])
            else:
                low, texts = layer.field.low, layer.texts
                columns.append([texts[value - low] for value in seen[layer.name].ravel().tolist()])
        return self._write_rows(title, ["".join(token) or EMPTY for token in zip(*columns, strict=True)], shape)

    def _write_list(self, title: str, view: Array) -> str:
        if view.ndim == 1:
            return f"{title}: " + " ".join(map(str, view.tolist()))
        if view.ndim == 2:
            return self._write_rows(title, list(map(str, view.ravel().tolist())), view.shape)
        tokens = []
        for values in view.reshape(view.shape[0] * view.shape[1], -1).tolist():
            tokens.append(str(values[0]) if len(set(values)) == 1 else "/".join(map(str, values)))
        return self._write_rows(title, tokens, view.shape[:2])

    def _write_rows(self, title: str, tokens: list[str], shape: tuple[int, ...]) -> str:
        """Rows of tokens under their headings; a list of numbered places is one row."""
        rows = ["is"] if len(shape) == 1 else self._labels("R", shape[0])
        heads = self._labels("C", shape[-1])
        wide = max(map(len, [*tokens, heads[-1]]))
        side = len(max(rows, key=len)) + 1
        lines = [f"{title}:", (" " * side + " ".join(head.ljust(wide) for head in heads)).rstrip()]
        for y, label in enumerate(rows):
            row = " ".join(token.ljust(wide) for token in tokens[y * shape[-1] : (y + 1) * shape[-1]])
            lines.append((label.ljust(side) + row).rstrip())
        return "\n".join(lines)

    def _labels(self, letter: str, count: int) -> list[str]:
        if self.grammar.letter and count == self._places:
            return [f"{self.grammar.letter}{number}" for number in range(count)]
        return [f"{letter}{number + 1}" for number in range(count)]


def _title(layers: tuple[Layer, ...]) -> str:
    return " ".join(layer.name for layer in layers)


_TITLE = re.compile(r"^([a-z_]+(?: [a-z_]+)*):(.*)$")
_HEADER = re.compile(r"^\s*(?:C1|[A-Z]0)(?:\s+[A-Z]\d+)*\s*$")
_ROW = re.compile(r"^\s*(?:[A-Z]\d{1,4}|is)(?:\s+(.*))?$")


def read(grammar: Grammar, text: str) -> tuple[dict[str, Array], list[str]]:
    """The fields that a written board holds, and what was wrong with it."""
    titles = {_title(layers): layers for layers in grammar.grids}
    fields: dict[str, Array] = {}
    problems: list[str] = []
    title, rows = "", list[list[str]]()

    def finish() -> None:
        if title and rows:
            if title in titles:
                _read_grid(titles[title], rows, fields, problems)
            else:
                _read_list(grammar.by_name[title], rows, fields, problems)

    for line in text.splitlines():
        start = _TITLE.match(line.strip())
        if start and (start[1] in titles or start[1] in grammar.by_name):
            finish()
            title, rows = start[1], [start[2].split()] if start[2].strip() else []
        elif title and _HEADER.match(line):
            continue
        elif title and (row := _ROW.match(line)):
            rows.append((row[1] or "").split())
    finish()
    return fields, problems


def _read_grid(layers: tuple[Layer, ...], rows: list[list[str]], fields: dict[str, Array], problems: list[str]) -> None:
    shape = layers[0].field.shape
    height, width = shape[:2] if len(shape) > 1 else (1, shape[0])
    if len(rows) != height or any(len(row) != width for row in rows):
        problems.append(f"{_title(layers)}: the board has {height} rows of {width} places")
        return
    pattern = re.compile("".join(f"({layer.pattern})" for layer in layers))
    values: list[list[Any]] = [[] for _ in layers]
    for y, row in enumerate(rows):
        for x, token in enumerate(row):
            found = pattern.fullmatch("" if token == EMPTY else token)
            read_here = (
                [layer.read(text) for layer, text in zip(layers, found.groups(), strict=True)] if found else [None]
            )
            if any(value is None for value in read_here):
                problems.append(f"R{y + 1}C{x + 1}: {token[:20]!r} is no symbol of this board")
                return
            for known, value in zip(values, read_here, strict=True):
                known.append(value)
    for layer, known in zip(layers, values, strict=True):
        fields[layer.name] = np.array(known, layer.field.dtype).reshape(layer.field.shape)


def _read_list(field: Field, rows: list[list[str]], fields: dict[str, Array], problems: list[str]) -> None:
    items = int(np.prod(field.shape[:2]))
    each = int(np.prod(field.shape)) // items if items else 1
    values: list[int] = []
    for token in (token for row in rows for token in row):
        parts = token.split("/")
        parts = parts * each if len(parts) == 1 else parts
        if len(parts) != each or not all(re.fullmatch("-?[0-9]{1,9}", part, re.ASCII) for part in parts):
            problems.append(f"{field.name}: {token[:20]!r} is no number")
            return
        values.extend(map(int, parts))
    if len(values) != items * each or not all(field.low <= value <= field.high for value in values):
        problems.append(f"{field.name}: {items} values from {field.low} to {field.high} belong here")
        return
    fields[field.name] = np.array(values, field.dtype).reshape(field.shape)
