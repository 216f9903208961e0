"""puzzleport: the 40 logic puzzles of Simon Tatham's Portable Puzzle Collection, for any reinforcement-learning stack.

    >>> import puzzleport as pp
    >>> s = pp.Session("bridges", params="7x7", seed=42)
    >>> s.step("SELECT").changed
    True

This package knows no framework: see ``puzzleport.adapters`` for Gymnasium and the others.
"""

from . import agents, encode, language
from .agents.expert import ExpertPolicy, Hint
from .animation import record
from .batch import Batch, BatchStep, Rollout, rollout
from .benchmark.evaluation_sets import EvalSet, evalset
from .errors import (
    CorruptState,
    EngineError,
    GenerationTimeout,
    InvalidAction,
    InvalidGameID,
    InvalidParams,
    InvalidSeed,
    NoPlan,
    NoSolution,
    PuzzleError,
    SessionClosed,
    UnknownOption,
    UnknownPuzzle,
)
from .puzzle_spec import Field, Preset, PuzzleSpec, canonical_params, optimal_steps, puzzles, set_max_cells, spec
from .rewards import PAPER_REWARDS, Rewards
from .session import Session, Status, Step
from .task import BatchEpisodes, Episodes, Stream, Task, TaskOptions

__version__ = "0.2.0.dev0"

__all__ = [
    "PAPER_REWARDS",
    "Batch",
    "BatchEpisodes",
    "BatchStep",
    "CorruptState",
    "EngineError",
    "Episodes",
    "EvalSet",
    "ExpertPolicy",
    "Field",
    "GenerationTimeout",
    "Hint",
    "InvalidAction",
    "InvalidGameID",
    "InvalidParams",
    "InvalidSeed",
    "NoPlan",
    "NoSolution",
    "Preset",
    "PuzzleError",
    "PuzzleSpec",
    "Rewards",
    "Rollout",
    "Session",
    "SessionClosed",
    "Status",
    "Step",
    "Stream",
    "Task",
    "TaskOptions",
    "UnknownOption",
    "UnknownPuzzle",
    "agents",
    "canonical_params",
    "encode",
    "evalset",
    "language",
    "optimal_steps",
    "puzzles",
    "record",
    "rollout",
    "set_max_cells",
    "spec",
]
