"""What can go wrong, each with the engine's own words where it has some."""

from __future__ import annotations

from typing import NoReturn

from ._native import ffi, lib


class PuzzleError(Exception):
    """The base of all errors of this package."""


class UnknownPuzzle(PuzzleError, LookupError):
    """There is no puzzle of that name; the message names the nearest."""


class InvalidParams(PuzzleError, ValueError):
    """A parameter string that is not wholly understood, or that the engine refuses."""


class InvalidGameID(PuzzleError, ValueError):
    """A game id whose parts do not fit together, or whose description the engine refuses."""


class InvalidSeed(PuzzleError, ValueError):
    """A seed that is not a whole number from 0 to 2**64 - 1."""


class InvalidAction(PuzzleError, ValueError):
    """An action that this session does not have."""


class GenerationTimeout(PuzzleError, TimeoutError):
    """The engine did not finish within its time."""


class EngineError(PuzzleError, RuntimeError):
    """The engine failed; the session that it happened in must be reset, everything else goes on."""


class NoSolution(PuzzleError):
    """The engine has no solution to give from here."""


class NoPlan(PuzzleError):
    """No sequence of actions that solves the game from here is known; the message says why."""


class CorruptState(PuzzleError, ValueError):
    """Saved bytes that are truncated, altered, foreign or of another version."""


class UnknownOption(PuzzleError, TypeError, ValueError):
    """An option, or a choice for one, that does not exist; the message lists what there is."""


class SessionClosed(PuzzleError, RuntimeError):
    """The session was used after its close()."""


LONGEST_QUOTE = 80


def quote(value: object) -> str:
    """What was given, for a message: at most a line of it, however large it is.

    >>> quote("x" * 10_000_000)[-5:]
    'xx...'
    """
    try:
        if isinstance(value, (str, bytes)):
            value = value[: LONGEST_QUOTE + 1]
        told = repr(value)
    except Exception:  # its own repr may fail, and Python refuses to write out numbers of thousands of digits
        told = f"a number of {value.bit_length():,} bits" if type(value) is int else f"a {type(value).__name__[:80]}"
    return told if len(told) <= LONGEST_QUOTE else f"{told[: LONGEST_QUOTE - 3]}..."


_BY_CODE: dict[int, type[PuzzleError]] = {
    lib.PZ_BAD_PARAMS: InvalidParams,
    lib.PZ_BAD_ID: InvalidGameID,
    lib.PZ_TIMEOUT: GenerationTimeout,
    lib.PZ_ENGINE: EngineError,
    lib.PZ_NO_SOLUTION: NoSolution,
    lib.PZ_CORRUPT: CorruptState,
    lib.PZ_NO_PLAN: NoPlan,
    lib.PZ_BAD_ACTION: InvalidAction,
}


def raise_for(code: int, what: str) -> NoReturn:
    """Raise the exception for an error code of the C side; `what` says what was being done."""
    if code == lib.PZ_INTERRUPTED:
        raise KeyboardInterrupt
    reason = ffi.string(lib.pz_last_error()).decode(errors="replace")
    raise _BY_CODE[code](f"{what}: {reason}")
