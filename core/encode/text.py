"""The board as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .base import Array, Encoder, Fields, Leaf, Look

if TYPE_CHECKING:
    from ..batch import Batch
    from ..session import Session
    from ..task import Task

MAX_LENGTH = 65_536
"""Of a text, in characters: the largest boards that the default limit of cells admits stay well below."""


class Text(Encoder):
    """A string, as ``Session.text()`` gives it. In a tree the type ``str`` has lengths as its bounds."""

    kind = "text"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.tree = Leaf((), np.dtype(str), 0, MAX_LENGTH, "text")

    def encode(self, fields: Fields) -> Array:
        """Not possible: the text is of a game, not of its fields."""
        raise NotImplementedError("a text is written from a session or a batch, not from its fields")

    def attach(self, session: Session) -> Look:
        """What reads one session."""
        return lambda copy=True: session.text()

    def attach_batch(self, batch: Batch) -> tuple[Look, Look]:
        """What reads a batch: an array of n strings."""

        def final(slot: int) -> str:
            raise NotImplementedError(
                'the text of an episode that ended is gone with autoreset "same_step": use "next_step" or "off"'
            )

        def now(copy: bool = True) -> Array:
            return np.array([batch.session(slot).text() for slot in range(batch.num_envs)])

        return now, final
