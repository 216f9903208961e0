"""A tree of arrays as Gymnasium's spaces, for all adapters whose frameworks use them."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

import puzzleport as pp
from puzzleport.encode import Leaf, Tree
from puzzleport.errors import quote

try:
    from gymnasium import spaces
except ImportError as error:
    raise ImportError("these spaces need an extra: pip install 'puzzleport[gymnasium]'") from error

Array = np.ndarray[Any, Any]
RENDER_MODES = ("human", "rgb_array", "ansi")


def space_of(tree: Tree, mask_size: int = 0) -> spaces.Space[Any]:
    """A tree of arrays as a space; with a mask beside them, one of as many actions."""
    if isinstance(tree, Leaf):
        if tree.dtype.kind == "U":
            space: spaces.Space[Any] = spaces.Text(int(tree.high), min_length=int(tree.low), charset=string.printable)
        elif tree.shape == ():
            space = spaces.Discrete(int(tree.high) + 1)
        else:
            # Gymnasium warns of a range of one value: a field that these parameters leave no choice gets a second.
            space = spaces.Box(tree.low, max(tree.high, tree.low + 1), tree.shape, tree.dtype.type)
        return space if not mask_size else spaces.Dict({"observation": space, "action_mask": mask_space(mask_size)})
    parts = {name: space_of(part) for name, part in tree.items()}
    return spaces.Dict({**parts, "action_mask": mask_space(mask_size)} if mask_size else parts)


def mask_space(size: int) -> spaces.MultiBinary:
    """The space of masks of so many actions: int8, as ``Discrete.sample`` takes them."""
    return spaces.MultiBinary(size)


def with_mask(observation: Any, mask: Array) -> dict[str, Any]:  # noqa: ANN401 (one array or a dict of them)
    """An observation with the mask in it: beside the fields, or beside the one array."""
    if not isinstance(observation, dict):
        observation = {"observation": observation}
    return {**observation, "action_mask": mask}


def check_render_mode(mode: str | None, modes: Sequence[str] = RENDER_MODES) -> str | None:
    """One of the modes, or UnknownOption."""
    if mode is not None and mode not in modes:
        raise pp.UnknownOption(f"render_mode is one of {', '.join(modes)}, not {quote(mode)}")
    return mode
