"""The fields of a puzzle by name, as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..blocks import copier
from .base import Array, Encoder, Fields, Leaf, Look

if TYPE_CHECKING:
    from ..batch import Batch
    from ..session import Session
    from ..task import Task


class State(Encoder):
    """A dict of the puzzle's fields. Boards are (height, width); a single number is a vector of one, as networks want it."""

    kind = "state"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.tree = {
            field.name: Leaf(field.shape or (1,), field.dtype, field.low, field.high, field.name)
            for field in self.layout.fields
        }
        self._scalars = [field.name for field in self.layout.fields if not field.shape]

    def views(self, fields: Fields) -> dict[str, Array]:
        """The fields in the shapes of the tree, still views."""
        return {**fields, **{name: fields[name][..., None] for name in self._scalars}}

    def encode(self, fields: Fields) -> dict[str, Array]:
        """The fields, in arrays of their own."""
        return {name: view.copy() for name, view in self.views(fields).items()}

    def attach(self, session: Session) -> Look:
        """What looks at one session."""
        record, layout = session.record(copy=False), session.layout
        return copier(record, lambda memory: self.views(layout.views(memory)))

    def attach_batch(self, batch: Batch) -> tuple[Look, Look]:
        """What looks at a batch, and at the ends of its episodes."""
        final = self.views(batch.final[0])
        views = self.views(batch.result.observation)

        def now(copy: bool = True) -> dict[str, Array]:
            return {name: view.copy() for name, view in views.items()} if copy else views.copy()

        return now, lambda slot: {name: view[slot].copy() for name, view in final.items()}
