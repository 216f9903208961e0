"""Observations as one vector of numbers from 0 to 1, for networks that take nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .spec import Field

Array = np.ndarray[Any, Any]


class Flattener:
    """Turns the fields of one session, or of many along leading axes, into float32 in [0, 1].

        >>> import puzzleport as pp
        >>> flatten = Flattener(pp.spec("fifteen").fields("2x2"))
        >>> with pp.Session("fifteen", "2x2", seed=1) as session:
        ...     flatten(session.observe()).shape == (flatten.size,)
        True

    Args:
        fields: of the observation, as a spec, session or batch tells them.
        one_hot: every number as a one-hot vector, instead of scaled by its field's bounds.
    """

    def __init__(self, fields: Sequence[Field], *, one_hot: bool = False) -> None:
        self.fields, self.one_hot = tuple(fields), one_hot
        counts = [int(np.prod(field.shape)) for field in self.fields]
        low = np.repeat([field.low for field in self.fields], counts)
        high = np.repeat([field.high for field in self.fields], counts)
        self._low = low.astype(np.float32)
        # A field whose bounds are equal says nothing: it becomes 0.
        self._scale = (1.0 / np.maximum(high - low, 1)).astype(np.float32)
        widths = high - low + 1
        self._starts = np.cumsum(widths) - widths
        self.size = int(widths.sum()) if one_hot else len(low)
        """Numbers in the vector."""

    def __call__(self, state: Mapping[str, Array], lead: tuple[int, ...] = ()) -> Array:
        """The vector of each state; ``lead`` is the shape in front of the fields' own."""
        items = np.concatenate(
            [state[field.name].reshape(*lead, -1) for field in self.fields], axis=-1, dtype=np.float32
        )
        items -= self._low
        if not self.one_hot:
            items *= self._scale
            return items
        result = np.zeros((*lead, self.size), np.float32)
        np.put_along_axis(result, items.astype(np.int64) + self._starts, 1.0, axis=-1)
        return result
