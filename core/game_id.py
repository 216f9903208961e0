"""Which instance: seeds, the streams of episodes that follow from them, and game ids."""

from __future__ import annotations

import re
import secrets
from typing import Any, NamedTuple

from ._native import ffi, lib
from .arguments import text, whole
from .errors import InvalidGameID, InvalidSeed, quote
from .puzzle_spec import canonical_params, spec

MAX_SEED = 2**64 - 1


def check_seed(seed: object) -> int:
    """A seed as a plain int, or InvalidSeed."""
    return whole(seed, "a seed", 0, MAX_SEED, InvalidSeed)


def random_seed() -> int:
    """A fresh seed from the system's entropy, small enough to be exact as a float too."""
    return secrets.randbits(53)


def episode_seed(seed: int, episode: int) -> int:
    """The seed of the k-th episode in the stream of a seed; episode 0 has the seed itself."""
    return int(lib.pz_episode_seed(check_seed(seed), whole(episode, "an episode", 0, MAX_SEED)))


class GameID(NamedTuple):
    """The parts of a game id; exactly one of seed and desc is set."""

    params: str
    seed: int | None
    desc: str | None


def names_instance(params: object) -> bool:
    """Whether what was given as parameters is the id of one game."""
    given = text(params)
    return given is not None and ("#" in given or ":" in given)


def parse_game_id(puzzle: str, game_id: str) -> GameID:
    """Take apart ``params``, ``params#seed`` or ``params:desc``; a bare ``params`` gets a random seed."""
    plain = text(game_id)
    if plain is None:
        raise InvalidGameID(
            f"{puzzle}: a game id is a string such as '{spec(puzzle).easiest_params}#42', not {quote(game_id)}"
        )
    game_id = plain
    params, mark, rest = re.fullmatch(r"([^:#]*)([:#]?)(.*)", game_id, re.DOTALL).groups()  # type: ignore[union-attr]
    params = canonical_params(puzzle, params, described=mark == ":")
    if mark == ":":
        if not rest or not rest.isascii() or not rest.isprintable():
            raise InvalidGameID(f"{puzzle}: no description stands behind the colon of {quote(game_id)}")
        return GameID(params, None, rest)
    if mark == "#":
        if not re.fullmatch("0|[1-9][0-9]{0,19}", rest) or int(rest) > MAX_SEED:
            raise InvalidGameID(f"{puzzle}: a number from 0 to 2**64 - 1 must stand behind the # of {quote(game_id)}")
        return GameID(params, int(rest), None)
    return GameID(params, random_seed(), None)


def native_id(which: GameID) -> tuple[bytes, Any, Any]:
    """A game id in the form of the C side's arguments."""
    seed = ffi.NULL if which.seed is None else str(which.seed).encode()
    desc = ffi.NULL if which.desc is None else which.desc.encode()
    return which.params.encode(), seed, desc
