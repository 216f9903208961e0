"""An observation that is cheap to hand out where few look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .spec import Layout


class Glance(dict[str, "np.ndarray[Any, Any]"]):
    """A dict of fields that was copied as bytes when it was made, and becomes arrays when first looked at.

    An environment hands out the whole state with every step, and most agents never read it.
    """

    __slots__ = ("_layout", "_record")

    def __init__(self, layout: Layout, record: bytes) -> None:
        self._layout: Layout | None = layout
        self._record = record

    def _unpack(self) -> None:
        layout, self._layout = self._layout, None
        if layout is not None:
            dict.update(self, layout.views(np.frombuffer(self._record, np.uint8).copy()))

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


def _looking(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def look(self: Glance, *arguments: Any, **keywords: Any) -> Any:  # noqa: ANN401 (whatever dict's method takes)
        self._unpack()
        return method(self, *arguments, **keywords)

    look.__name__ = name
    return look


for _name in (
    *("__contains__", "__delitem__", "__eq__", "__getitem__", "__ior__", "__iter__", "__len__", "__ne__", "__or__"),
    *("__repr__", "__reversed__", "__ror__", "__setitem__", "clear", "copy", "get", "items", "keys", "pop", "popitem"),
    *("setdefault", "update", "values"),
):
    setattr(Glance, _name, _looking(_name))
