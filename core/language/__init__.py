"""Puzzles in words: boards, moves and verdicts as text, for players that read and write.

    >>> import puzzleport as pp
    >>> dialogue = pp.language.Dialogue("solo", "2x2", seed=1)
    >>> dialogue.say(dialogue.hint()).problems
    ()

No framework is known here; the adapters for language models are thin layers over ``Dialogue`` and ``verdict``.
"""

from .dialogue import Dialogue, Reply
from .verdict import Verdict, verdict

__all__ = ["Dialogue", "Reply", "Verdict", "verdict"]
