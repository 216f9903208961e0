"""All fields in one vector, every number as a one-hot vector of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .base import Array, Encoder, Fields, Leaf

if TYPE_CHECKING:
    from ..task import Task


class OneHot(Encoder):
    """One float32 vector: for each number of each field as many places as it has values, with a 1 in its own."""

    kind = "one_hot"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        fields = self.layout.fields
        counts = [int(np.prod(field.shape)) for field in fields]
        low = np.repeat([field.low for field in fields], counts)
        widths = np.repeat([field.high - field.low + 1 for field in fields], counts)
        self.places = np.cumsum(widths) - widths - low
        """Added to the numbers of all fields, in order, this gives the places of the ones."""
        self.tree = Leaf((int(widths.sum()),), np.dtype(np.float32), 0.0, 1.0, "one_hot")

    def encode(self, fields: Fields) -> Array:
        """The vectors of fields."""
        lead = self.lead(fields)
        items = np.concatenate(
            [fields[field.name].reshape(*lead, -1) for field in self.layout.fields], axis=-1, dtype=np.int64
        )
        result = np.zeros((*lead, *self.tree.shape), np.float32)  # type: ignore[union-attr]
        np.put_along_axis(result, items + self.places, 1.0, axis=-1)
        return result
