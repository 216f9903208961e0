"""``python -m puzzleport`` is the ``puzzleport`` command."""

from .cli import main

main()
