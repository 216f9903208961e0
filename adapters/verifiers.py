"""verifiers: puzzles as tasks. ``PuzzleEnv`` plays turn by turn; in a single turn the answer is judged as a whole.

The framework finds a taskset by the name of a module, so give it one of your own, ``puzzles.py``:

    from puzzleport.adapters.verifiers import PuzzleEnv, PuzzleTaskset

    __all__ = ["PuzzleEnv", "PuzzleTaskset"]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import puzzleport as pp
from puzzleport.game_id import episode_seed
from puzzleport.language import Dialogue, verdict

try:
    import verifiers.v1 as vf
except ImportError as error:
    raise ImportError("the verifiers adapter needs an extra: pip install 'puzzleport[verifiers]'") from error

__all__ = ["PuzzleEnv", "PuzzleTaskset"]

SYSTEM = "You solve puzzles. Think first if you like, then give your moves in one ``` block, one on each line."


class PuzzleConfig(vf.TasksetConfig):
    """Which puzzles are played."""

    puzzle: str = "solo"
    """Names separated by commas, or ``all``: the tasks take turns."""
    params: str | None = None
    """Parameters of the one puzzle; None for the easiest level of each."""
    seed: int = 0
    """Decides all instances."""


class PuzzleData(vf.TaskData):
    """One instance."""

    puzzle: str
    game_id: str


class PuzzleTask(vf.Task[PuzzleData, vf.State, vf.TaskConfig]):
    """One instance, and what an answer to it is worth."""

    @vf.reward
    async def puzzle_score(self, trace: Any) -> float:  # noqa: ANN401 (the framework's)
        """The score of the game that was played, or of the one answer."""
        if "score" in trace.info:
            return float(trace.info["score"])
        return verdict(self.data.puzzle, self.data.game_id, trace.last_reply).score


class PuzzleTaskset(vf.Taskset[PuzzleTask, PuzzleConfig]):
    """Instances without end; the k-th is always the same."""

    INFINITE = True

    def load(self) -> Iterator[PuzzleTask]:
        """One task after the other."""
        names = pp.puzzles() if self.config.puzzle == "all" else self.config.puzzle.split(",")
        for number in itertools.count():
            puzzle, seed = names[number % len(names)], episode_seed(self.config.seed, number // len(names))
            params = self.config.params or pp.spec(puzzle).easiest_params
            with Dialogue(puzzle, params, seed) as dialogue:
                game_id = f"{dialogue.session.params}#{seed}"
                data = PuzzleData(
                    name=f"{puzzle}-{game_id}",
                    prompt=dialogue.prompt(),
                    system_prompt=SYSTEM,
                    puzzle=puzzle,
                    game_id=game_id,
                )
            yield PuzzleTask(data, self.config.task)


class PuzzleEnvConfig(vf.EnvConfig):
    """Who plays, and how long."""

    # A game needs no tools and no sandbox: the null harness only talks.
    player: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime={"type": "subprocess"})
    max_turns: int = 0
    """How many messages a game takes, 0 for no limit. The last one counts in full."""


class PuzzleEnv(vf.Env[PuzzleEnvConfig]):
    """One game turn by turn: every reply is played at once, and the answer to it is the next message."""

    async def run(self, task: Any, agents: Any) -> None:  # noqa: ANN401 (the framework's)
        """Play one game."""
        with Dialogue(task.data.puzzle, game_id=task.data.game_id, max_turns=self.config.max_turns) as dialogue:
            async with agents.player.interaction(task) as interaction:
                segment = await interaction.turn()
                while not segment.terminated:
                    reply = dialogue.say(segment.last_reply)
                    interaction.trace.info["score"] = dialogue.score
                    if reply.done:
                        break
                    segment = await interaction.turn(str(reply))
