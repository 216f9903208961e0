"""What an agent is paid: one rule for every adapter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .session import Observation, Status

Hook = Callable[[Observation, Observation], float]
"""An intermediate reward: sees the state before and after a step."""


@dataclass(frozen=True)
class Rewards:
    """Rewards at the end of an episode, for each step, and from a hook of one's own.

    >>> Rewards(solved=10.0, step=-0.01)
    Rewards(solved=10.0, failed=-1.0, step=-0.01, hook=None)
    """

    solved: float = 1.0
    failed: float = -1.0
    step: float = 0.0
    hook: Hook | None = None

    def __call__(self, status: Status, before: Observation | None, after: Observation | None) -> float:
        """The reward of one step; before and after are needed only where there is a hook."""
        reward = self.step
        if status:
            reward += self.solved if status > 0 else self.failed
        if self.hook is not None:
            if before is None or after is None:
                raise ValueError("a reward hook needs the states before and after the step")
            reward += self.hook(before, after)
        return reward


PAPER_REWARDS = Rewards(solved=100.0, failed=-100.0)
"""What the paper's environment pays."""
