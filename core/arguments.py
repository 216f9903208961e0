"""What callers hand in, as plain values of Python's own types, or an exception.

Everything is converted once and the result is used from then on: an object may answer differently each time it is asked.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .errors import PuzzleError, UnknownOption, quote


def whole(value: object, what: str, low: int, high: int, error: type[PuzzleError] = UnknownOption) -> int:
    """A whole number from low to high as a plain int; ``what`` says in the message what it is."""
    number = None
    if not isinstance(value, (bool, np.bool_)):
        try:
            number = operator.index(value)  # type: ignore[arg-type]
        except Exception:  # whatever the object's own method raises
            number = None
    if number is None or not low <= number <= high:
        raise error(f"{what} is a whole number from {low} to {high}, not {quote(value)}")
    return number


def real(value: object, what: str, low: float, high: float = float("inf")) -> float:
    """A finite number from low to high as a plain float."""
    number = float("nan")
    if not isinstance(value, (bool, np.bool_, str, bytes, bytearray)):
        try:
            number = float(value)  # type: ignore[arg-type]
        except Exception:  # as above
            number = float("nan")
    if not low <= number <= high or number == float("inf"):
        raise UnknownOption(f"{what}, not {quote(value)}")
    return number


def text(value: object) -> str | None:
    """A plain str of the same letters, or None for what is no string."""
    return str.__str__(value) if isinstance(value, str) and issubclass(type(value), str) else None


def array(value: object, what: str, shape: tuple[int, ...], dtype: Any, error: type[Exception] = ValueError) -> Any:  # noqa: ANN401
    """A contiguous array of this shape and type, of numpy's own class."""
    try:
        made = np.ascontiguousarray(value, dtype)
    except Exception as wrong:
        raise error(f"{what}: {wrong!s:.80}") from None
    if made.shape != shape:
        raise error(f"{what} has the shape {shape}, not {made.shape!s:.80}")
    return made
