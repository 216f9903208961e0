"""A picture of the board."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..limits import check_size, picture_shape
from ..session import painter
from .base import Array, Encoder, Fields, Leaf, Look

if TYPE_CHECKING:
    from ..batch import Batch
    from ..session import Session
    from ..task import Task


class Pixels(Encoder):
    """The board as uint8 (height, width, 3), drawn with the largest tiles that fit.

    Args:
        task: what is played; its width and height are those of the picture.
        channels_first: (3, height, width) instead.
        grey: one channel, (height, width), instead.
    """

    kind = "pixels"

    def __init__(self, task: Task, *, channels_first: bool = False, grey: bool = False) -> None:
        super().__init__(task)
        self.size = check_size(task.width, task.height, task.puzzle, task.params)
        self.channels_first, self.grey = channels_first, grey
        self.tree = Leaf(picture_shape(*self.size, channels_first, grey), np.dtype(np.uint8), 0, 255, "pixels")

    def encode(self, fields: Fields) -> Array:
        """Not possible: a picture is of a game, not of its fields."""
        raise NotImplementedError("a picture is drawn from a session or a batch, not from its fields")

    def attach(self, session: Session) -> Look:
        """What draws one session."""
        paint = painter(*self.size, self.channels_first, self.grey)
        return lambda copy=True: paint(session)

    def attach_batch(self, batch: Batch) -> tuple[Look, Look]:
        """What looks at the pictures that the batch draws along with every step, and at those of its ends."""
        frames, final = batch.draw_along(*self.size, channels_first=self.channels_first, grey=self.grey)
        return lambda copy=True: frames.copy() if copy else frames, lambda slot: final[slot].copy()
