"""Reasoning Gym: every puzzle as a procedural dataset, with a curriculum from the easiest parameters to the presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import puzzleport as pp
from puzzleport.game_id import episode_seed
from puzzleport.language import Dialogue, verdict

try:
    from reasoning_gym.coaching import BaseCurriculum, ScalarAttributeDefinition
    from reasoning_gym.dataset import ProceduralDataset
    from reasoning_gym.factory import DATASETS, register_dataset
except ImportError as error:
    raise ImportError("the Reasoning Gym adapter needs an extra: pip install 'puzzleport[reasoning-gym]'") from error

ASK = "\n\nAnswer with all moves that solve the puzzle, in order, one on each line."


@dataclass
class PuzzleConfig:
    """What a dataset holds.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: as a ``Session`` takes them; ``None`` for the easiest level of the paper.
        seed: decides all instances; ``None`` draws one.
        size: how many.
        timeout: seconds that generating one puzzle may take; 0 for no limit.
    """

    puzzle: str = "solo"
    params: str | None = None
    seed: int | None = None
    size: int = 500
    timeout: float = 60.0

    def validate(self) -> None:
        """Raise where the parameters are not the puzzle's."""
        if self.params is None:
            self.params = pp.spec(self.puzzle).easiest_params
        pp.canonical_params(self.puzzle, self.params)


class PuzzleDataset(ProceduralDataset):
    """Instances of one puzzle; the answer of an entry is one way to solve it, and any other counts as much."""

    def __init__(self, config: PuzzleConfig) -> None:
        config.validate()
        super().__init__(config=config, seed=config.seed, size=config.size)

    def __getitem__(self, idx: int) -> dict[str, Any]:
        """The entry of one instance; its seed is the idx-th in the stream of the dataset's."""
        config, seed = self.config, episode_seed(self.seed, idx)
        with Dialogue(config.puzzle, config.params, seed, max_steps=0, timeout=config.timeout) as dialogue:
            game_id = f"{dialogue.session.params}#{seed}"
            question, moves = dialogue.prompt() + ASK, dialogue.solve()
        return {
            "question": question,
            "answer": "\n".join(moves),
            "metadata": {
                "source_dataset": dataset_name(config.puzzle),
                "source_index": idx,
                "puzzle": config.puzzle,
                "game_id": game_id,
                "difficulty": {"params": config.params},
            },
        }

    def score_answer(self, answer: str | None, entry: dict[str, Any]) -> float:
        """The score of the verdict: 1 for any solution, 0 for nothing of one."""
        metadata = entry["metadata"]
        return verdict(metadata["puzzle"], metadata["game_id"], answer or "", timeout=self.config.timeout).score


def dataset_name(puzzle: str) -> str:
    """The name under which a puzzle is registered."""
    return f"puzzleport_{puzzle}"


def _levels(puzzle: str) -> list[str]:
    """Parameters from easy to hard: the paper's two levels, then the presets, each once."""
    about = pp.spec(puzzle)
    given = [about.easiest_params, about.human_params, *(preset.params for preset in about.presets)]
    return list(dict.fromkeys(pp.canonical_params(puzzle, params) for params in given))


def register() -> list[str]:
    """Register all puzzles with ``reasoning_gym.create_dataset``; returns their names. Doing so twice is fine."""
    for puzzle in pp.puzzles():
        if dataset_name(puzzle) in DATASETS:
            continue
        config: type[PuzzleConfig] = dataclass(
            type(f"{puzzle.title()}Config", (PuzzleConfig,), {"puzzle": puzzle, "__annotations__": {"puzzle": str}})
        )

        def start(self: Any, config: Any = config, puzzle: str = puzzle) -> None:  # noqa: ANN401 (the framework's)
            BaseCurriculum.__init__(self, type(self).__name__, config)
            self._define_attributes(
                ScalarAttributeDefinition(
                    name="params", field_name="params", levels=_levels(puzzle), description="the puzzle's parameters"
                )
            )

        curriculum = type(f"{puzzle.title()}Curriculum", (BaseCurriculum,), {"__init__": start})
        register_dataset(dataset_name(puzzle), PuzzleDataset, config, curriculum)
    return [dataset_name(puzzle) for puzzle in pp.puzzles()]
