"""Kinds of observation: one file for each. An encoder tells its arrays as a tree and fills them, for one game or many.

    >>> import puzzleport as pp
    >>> encoder = pp.encode.encoder("flat", pp.Task("fifteen", "2x2"))
    >>> encoder.tree
    Leaf(shape=(6,), dtype=dtype('float32'), low=0.0, high=1.0, name='flat')
    >>> encoder.attach(pp.Session("fifteen", "2x2", seed=1))().shape
    (6,)

Every module in this package that defines an ``Encoder`` with a ``kind`` adds that kind to every adapter.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from ..errors import UnknownOption, quote
from .base import Encoder, Leaf, Tree, leaves

if TYPE_CHECKING:
    from ..task import Task

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

KINDS: dict[str, type[Encoder]] = {kind.kind: kind for kind in Encoder.kinds}
"""All kinds of observation by name."""

Kind = str | Callable[["Task"], Encoder]
"""What ``observation=`` takes: the name of a kind, or what makes an encoder from a task: ``partial(Tokens, largest="5x5")``."""


def encoder(kind: Kind, task: Task) -> Encoder:
    """The encoder of a kind for a task."""
    if callable(kind):
        return kind(task)
    if kind not in KINDS:
        raise UnknownOption(f"there is no kind of observation {quote(kind)}; there are {', '.join(sorted(KINDS))}")
    return KINDS[kind](task)


__all__ = ["KINDS", "Encoder", "Kind", "Leaf", "Tree", "encoder", "leaves"]
