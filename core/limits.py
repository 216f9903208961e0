"""The options that many calls share: their defaults, their limits, and what checks them."""

from __future__ import annotations

from .arguments import real, whole
from .errors import UnknownOption, quote
from .puzzle_spec import least_picture

DEFAULT_TIMEOUT = 60.0
DEFAULT_MAX_STEPS = 10_000

MAX_LIMIT = 2**31 - 1
MAX_ENVS = 2**24
MAX_THREADS = 1024
MAX_SIDE = 4096
MAX_PLAYERS = 64


def check_limit(name: str, limit: object) -> int:
    """A limit of steps or repeats as a plain int, or ValueError."""
    return whole(limit, f"{name}, 0 for no limit,", 0, MAX_LIMIT)


def check_timeout(timeout: object) -> float:
    """Seconds as a float, or ValueError."""
    return real(timeout, "timeout is a number of seconds, 0 for no limit", 0)


def check_num_envs(num_envs: object) -> int:
    """A number of games as a plain int, or ValueError."""
    return whole(num_envs, "num_envs", 1, MAX_ENVS)


def check_threads(threads: object) -> int:
    """A number of threads as a plain int, or ValueError."""
    return whole(threads, "threads, 0 for all cores,", 0, MAX_THREADS)


def check_size(width: int, height: int, puzzle: str = "", params: str = "") -> tuple[int, int]:
    """Width and height of a picture as plain ints, or ValueError; of a puzzle's, also whether its board fits."""
    size = width, height
    plain = width.__class__ is int and height.__class__ is int  # as nearly always, and then nothing needs converting
    if not (plain and 1 <= width <= MAX_SIDE and 1 <= height <= MAX_SIDE):
        try:
            size = whole(width, "width", 1, MAX_SIDE), whole(height, "height", 1, MAX_SIDE)
        except UnknownOption:
            asked = f"{quote(width)} x {quote(height)}"
            raise UnknownOption(f"a picture is 1 to {MAX_SIDE} pixels wide and high, not {asked}") from None
    if puzzle:
        least = least_picture(puzzle, params)
        if size[0] < least[0] or size[1] < least[1]:
            raise UnknownOption(
                f"a picture of {puzzle} {params} needs at least {least[0]} x {least[1]} pixels, not {size[0]} x {size[1]}"
            )
    return size


def picture_shape(width: int, height: int, channels_first: bool, grey: bool) -> tuple[int, ...]:
    """The shape of a picture in one of its forms."""
    if grey:
        return height, width
    return (3, height, width) if channels_first else (height, width, 3)


def picture_form(channels_first: bool, grey: bool) -> int:
    """What the C side calls that form."""
    return 2 if grey else int(channels_first)
