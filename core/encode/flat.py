"""All fields in one vector, scaled by their bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..puzzle_spec import Field
from .base import Array, Encoder, Fields, Leaf

if TYPE_CHECKING:
    from ..task import Task


class Scaler:
    """All fields in one vector, scaled from their bounds to [0, 1]. Every adapter uses this scaler."""

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.fields = fields
        counts = [int(np.prod(field.shape)) for field in fields]
        self.low = np.repeat([field.low for field in fields], counts).astype(np.float32)
        high = np.repeat([field.high for field in fields], counts).astype(np.float32)
        # A field whose bounds are equal says nothing: it becomes 0.
        self.scale = (1.0 / np.maximum(high - self.low, 1.0)).astype(np.float32)
        ends = np.cumsum(counts).tolist()
        self.parts = {
            field.name: (slice(end - count, end), field.shape)
            for field, count, end in zip(fields, counts, ends, strict=True)
        }
        """Where each field lies in the vector, and its own shape."""

    def __call__(self, state: dict[str, Array], out: Array | None = None) -> Array:
        """The vector of one state, or of many along leading axes; written into ``out`` where that is given."""
        first = self.fields[0]
        lead = state[first.name].shape[: state[first.name].ndim - len(first.shape)]
        columns = [state[field.name].reshape(*lead, -1) for field in self.fields]
        if out is None:
            out = np.concatenate(columns, axis=-1, dtype=np.float32)
        else:
            np.concatenate(columns, axis=-1, out=out, casting="unsafe")
        out -= self.low
        out *= self.scale
        return out


class Flat(Encoder):
    """One float32 vector, each number scaled to [0, 1] by the bounds of its field."""

    kind = "flat"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.scaler = Scaler(self.layout.fields)
        self.tree = Leaf(self.scaler.low.shape, np.dtype(np.float32), 0.0, 1.0, "flat")

    def encode(self, fields: Fields) -> Array:
        """The vectors of fields."""
        return self.scaler(fields)
