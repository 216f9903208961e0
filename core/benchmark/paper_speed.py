"""How fast the paper's own implementation is: measured once, and brought to the machine at hand by a yardstick."""

from __future__ import annotations

import time
from functools import cache

import numpy as np

from .paper import table

YARDSTICK = {"env": 225_000.0, "pictures": 231_000.0, "resets": 215_000.0}
"""What is compared: steps with state and mask, steps with a picture of 128 x 128, and resets, all as gym.make gives them; and
what ``yardstick`` would have read where the paper's implementation was measured.

It did not exist then, but a build of ours was measured in the same run, by the same calls. Measured again beside the yardstick
on two machines, at 277,000 and at 456,000 rounds a second, that build ran 1.32 and 1.90, 1.25 and 1.89, 1.34 and 2.03 times as
fast in the geometric mean over the 40 puzzles. The two machines would put the numbers 9 to 14% apart; here stand their means.
"""


@cache
def rates() -> dict[str, dict[str, float]]:
    """Calls of the paper's implementation in a second of processor time, by puzzle and kind."""
    return {row["puzzle"]: {name: float(row[name]) for name in YARDSTICK} for row in table("speed")}


def yardstick(seconds: float) -> float:
    """Rounds a second of plain Python and NumPy, of what environments are made of: how fast this machine is just now."""
    picture = np.zeros((128, 128, 3), np.uint8)
    fields = {f"field {number}": np.zeros((4, 4), np.int8) for number in range(6)}
    rounds = total = 0
    started = time.thread_time()
    while time.thread_time() - started < seconds:
        for number in range(64):
            info = {name: field.copy() for name, field in fields.items()}
            info["picture"] = picture.copy()
            for step in range(20):
                total += step * number
        rounds += 64
    return rounds / (time.thread_time() - started)
