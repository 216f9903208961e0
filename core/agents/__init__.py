"""Agents: policies that need no training, by name; and published ones, which have learned.

    >>> import puzzleport as pp
    >>> sorted(pp.agents.POLICIES)
    ['expert', 'masked', 'random']
    >>> session = pp.Session("fifteen", "2x2", seed=1)
    >>> expert = pp.agents.policy("expert")("fifteen")
    >>> while not session.ended:
    ...     _ = session.step(expert(session))
    >>> session.status.name
    'SOLVED'

``random`` and ``masked`` choose for many games at once, ``expert`` for one session. ``pp.agents.load("solo")`` is a trained one.
Search is in ``puzzleport.agents.search``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import UnknownOption, quote
from ..session import Observation
from . import published, search
from .expert import ExpertPolicy, Hint
from .published import Agent, available, card, load

Array = np.ndarray[Any, Any]


class BatchPolicy(Protocol):
    """Any callable that chooses an action for each of n games.

    If it has a method ``start(batch, random)`` too, that is called before the games of each batch begin. If it has a method
    ``probabilities(observation, mask)``, a recording has them, and its actions are drawn by them.
    """

    def __call__(self, observation: Observation, mask: Array, random: np.random.Generator) -> Sequence[int] | Array:
        """The actions, from fields and masks with a leading n. All chance comes from ``random``."""


def random_actions(observation: Observation, mask: Array, random: np.random.Generator) -> Array:
    """Every action is equally likely."""
    return random.integers(mask.shape[1], size=len(mask))


def masked_actions(observation: Observation, mask: Array, random: np.random.Generator) -> Array:
    """Every action that has an effect is equally likely; the first one where none has."""
    return np.asarray((random.random(mask.shape) * mask).argmax(axis=1))


POLICIES: dict[str, Callable[..., Any]] = {
    "random": random_actions,
    "masked": masked_actions,
    "expert": ExpertPolicy,
}
"""All policies by name. ``evaluate``, ``rollout`` and the command line know them by these names."""

RENAMED = {"masked-random": "masked"}
"""What policies were called in 0.1, and what they are called now."""


def policy(name: str) -> Callable[..., Any]:
    """The policy of a name; an error that lists all of them where there is none."""
    if name in POLICIES:
        return POLICIES[name]
    told = f", which is called {RENAMED[name]} now" if name in RENAMED else ""
    raise UnknownOption(f"there is no policy {quote(name)}{told}; there are {', '.join(POLICIES)}")


__all__ = [
    "POLICIES",
    "Agent",
    "BatchPolicy",
    "ExpertPolicy",
    "Hint",
    "available",
    "card",
    "load",
    "masked_actions",
    "policy",
    "published",
    "random_actions",
    "search",
]
