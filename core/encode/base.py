"""What every kind of observation has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Union

import numpy as np

if TYPE_CHECKING:
    from ..batch import Batch
    from ..session import Session
    from ..task import Task

Array = np.ndarray[Any, Any]
Fields = dict[str, Array]
"""The fields of a game by name, as ``Session.observe()`` gives them."""


class Leaf(NamedTuple):
    """One array of an observation."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    low: float
    high: float
    name: str


Tree = Union[Leaf, dict[str, "Tree"]]
"""The arrays of an observation: a single one, or several by name."""

Look = Callable[..., Any]
"""Gives the present observation. ``look()`` hands out fresh arrays; ``look(copy=False)`` may hand out live ones."""


def leaves(tree: Tree) -> Iterator[Leaf]:
    """All leaves of a tree, in order."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for part in tree.values():
            yield from leaves(part)


class Encoder(ABC):
    """Turns what a player sees into arrays. It belongs to a task, and holds nothing of any one game.

    A subclass names its ``kind``, sets ``tree``, and says in ``encode`` how fields become arrays; one that needs more than
    fields (a picture, a text) attaches itself to sessions and batches in its own way.
    """

    kind: ClassVar[str] = ""
    kinds: ClassVar[list[type[Encoder]]] = []
    tree: Tree

    def __init_subclass__(cls) -> None:
        if cls.__dict__.get("kind"):
            Encoder.kinds.append(cls)

    def __init__(self, task: Task) -> None:
        self.task = task
        self.layout = task.layout

    @abstractmethod
    def encode(self, fields: Fields) -> Any:  # noqa: ANN401 (arrays as the tree has them)
        """The observation of one game's fields, or of many games' along leading axes, in fresh arrays."""

    def lead(self, fields: Fields) -> tuple[int, ...]:
        """The leading axes of fields: none for one game."""
        first = self.layout.fields[0]
        shape = fields[first.name].shape
        return shape[: len(shape) - len(first.shape)]

    def attach(self, session: Session) -> Look:
        """What looks at one session, for as long as its fields keep their shapes."""
        fields = session.observe(copy=False)
        return lambda copy=True: self.encode(fields)

    def attach_batch(self, batch: Batch) -> tuple[Look, Look]:
        """What looks at a batch, and what looks at the last observation of the episode that ended in one slot."""
        now, final = batch.result.observation, batch.final[0]
        return lambda copy=True: self.encode(now), lambda slot: self.encode(
            {name: view[slot] for name, view in final.items()}
        )
