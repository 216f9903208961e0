"""The module whose name verifiers takes as the id of a taskset."""

from puzzleport.adapters.verifiers import PuzzleEnv, PuzzleTaskset

__all__ = ["PuzzleEnv", "PuzzleTaskset"]
