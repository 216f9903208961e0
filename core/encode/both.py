"""The fields and a picture together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Encoder, Fields, Look
from .pixels import Pixels
from .state import State

if TYPE_CHECKING:
    from ..batch import Batch
    from ..session import Session
    from ..task import Task


class Both(Encoder):
    """The dict of ``state`` with one entry more, ``pixels``."""

    kind = "both"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._state, self._pixels = State(task), Pixels(task)
        assert isinstance(self._state.tree, dict)
        self.tree = {**self._state.tree, "pixels": self._pixels.tree}

    def encode(self, fields: Fields) -> Any:  # noqa: ANN401 (never returns)
        """Not possible: a picture is of a game, not of its fields."""
        return self._pixels.encode(fields)

    def attach(self, session: Session) -> Look:
        """What looks at and draws one session."""
        return _together(self._state.attach(session), self._pixels.attach(session))

    def attach_batch(self, batch: Batch) -> tuple[Look, Look]:
        """What looks at a batch and its pictures, and at its ends."""
        now, final = zip(self._state.attach_batch(batch), self._pixels.attach_batch(batch), strict=True)
        return _together(*now), _together(*final)


def _together(state: Look, pixels: Look) -> Look:
    return lambda *arguments, **keywords: {
        **state(*arguments, **keywords),
        "pixels": pixels(*arguments, **keywords),
    }
