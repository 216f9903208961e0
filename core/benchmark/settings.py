"""What is played: the levels of the paper, and the parameters that they stand for."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import InvalidParams, quote
from ..game_id import names_instance, parse_game_id
from ..puzzle_spec import canonical_params, spec
from .paper import table

LEVELS = ("easiest", "human", "default")
"""The paper's two levels, and the engine's own default."""


def level_params(puzzle: str, level: str, levels: tuple[str, ...] = LEVELS) -> str:
    """The parameters of a level. Anything else must be a parameter string or a game id itself.

    An error names ``levels``, where more than these three would be understood.
    """
    about = spec(puzzle)
    if level in LEVELS:
        return canonical_params(puzzle, str(getattr(about, f"{level}_params")))
    if names_instance(level):
        parse_game_id(puzzle, level)
        return level
    try:
        return canonical_params(puzzle, level)
    except InvalidParams as error:
        raise InvalidParams(f"{quote(level)} is no level ({', '.join(levels)}), and as parameters: {error}") from None


def settings(names: Iterable[str], level: str) -> list[tuple[str, str]]:
    """Puzzles and their parameters at a level, or at one parameter string.

    ``paper`` stands for all that the paper's table of results lists: every puzzle at its easiest, and three at human level too.
    """
    if level == "paper":
        listed = dict.fromkeys(
            (row["puzzle"], canonical_params(row["puzzle"], row["params"])) for row in table("results")
        )
        return [(puzzle, params) for name in names for puzzle, params in listed if puzzle == name]
    return [(name, level_params(name, level, (*LEVELS, "paper"))) for name in names]
