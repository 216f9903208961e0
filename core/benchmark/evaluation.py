"""Policies measured as the paper does it: how many episodes they solve, and in how many steps."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..agents import BatchPolicy
from ..errors import UnknownOption, quote
from ..game_id import check_seed, episode_seed, random_seed
from ..limits import DEFAULT_MAX_STEPS, DEFAULT_TIMEOUT
from ..task import Task, unknown_option
from .evaluation_sets import SIZES
from .evaluation_sets import evalset as frozen
from .playing import Block, Outcome, Playing
from .recording import Game, Header, Recorder, as_shares
from .results import PAPER_EPISODES, Result
from .workers import Workers

BLOCK = 125
"""Episodes that are played together. An interrupted evaluation goes on at the next block."""

MAX_EPISODES = 1_000_000
"""Of one setting: more would fill the memory, since every episode is kept."""


@dataclass(frozen=True)
class Job:
    """A result, and how to play the blocks that it still lacks."""

    result: Result
    task: Task
    threads: int
    seeds: Callable[[int], int]
    """The seed of each episode."""
    recorder: Recorder | None = None
    """What keeps every action."""

    @property
    def header(self) -> Header:
        """What a recording says of this job."""
        return Header.of(self.result, self.task.actions)

    def game_id(self, number: int) -> str:
        """The id of the game of an episode."""
        return self.task.game_id or f"{self.task.params}#{self.seeds(number)}"

    def blocks(self) -> Iterator[Block]:
        """The blocks that are not played yet."""
        episodes = self.result.episodes
        for start in range(len(self.result.steps), episodes, BLOCK):
            numbers = range(start, min(start + BLOCK, episodes))
            yield Block(self.task, [self.seeds(number) for number in numbers], self.threads, self.recorder is not None)

    def add(self, outcome: Outcome) -> None:
        """Take in what became of the next block."""
        first = len(self.result.steps)
        self.result.status += outcome.status
        self.result.steps += outcome.steps
        for name, numbers in outcome.told.items():
            self.result.told.setdefault(name, []).extend(numbers)
        if self.recorder is not None:
            self.recorder.write(self.header, self._games(first, outcome))

    def _games(self, first: int, outcome: Outcome) -> Iterator[Game]:
        """The games of a block for a recording, one by one: as lists of numbers all of them would fill the memory."""
        for k, (actions, status, steps) in enumerate(zip(outcome.actions, outcome.status, outcome.steps, strict=True)):
            told = {name: numbers[k] for name, numbers in outcome.told.items()}
            likely = as_shares(outcome.probabilities[k]) if outcome.probabilities else []
            yield Game(self.game_id(first + k), actions, status, steps, told, likely)


def evaluate(
    policy: str | BatchPolicy | object,
    puzzle: str,
    params: str | None = None,
    *,
    episodes: int | None = None,
    seed: int | None = None,
    evalset: str | None = None,
    undo: bool = False,
    max_steps: int = DEFAULT_MAX_STEPS,
    max_repeats: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
    deterministic: bool = False,
    threads: int = 0,
    name: str | None = None,
    known: Iterable[Result] = (),
    recorder: Recorder | None = None,
    progress: Callable[[Result], None] | None = None,
    workers: Workers = map,
    **unknown: Any,  # noqa: ANN401 (for an error that names what was meant)
) -> Result:
    """Play episodes with a policy and tell what became of each.

    The result is a function of policy, setting and seed, whatever the number of threads and wherever it is played.

        >>> evaluate("masked", "fifteen", "2x2", episodes=20, seed=0).summary()["success_percent"]
        100.0

    Args:
        policy: ``random``, ``masked``, ``expert``, ``search:NODES``, ``MODEL.zip`` or a model of Stable-Baselines3,
            ``module:function``, ``program:'COMMAND'``, or a ``BatchPolicy``.
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default. ``"7x7#42"`` is one instance in every episode.
        episodes: how many; ``None`` for 1,000, or for all that the evaluation set has. Where it has fewer, all are played.
        seed: of the stream of instances; ``None`` draws one, and ``Result.seeds`` tells which.
        evalset: instead of a seed: the name of a frozen set of instances, ``v1`` or ``v2``.
        undo: whether UNDO is in the action space; the paper's evaluation is without.
        max_steps: after how many steps an episode counts as not solved.
        max_repeats: at how many repeats of a state an episode counts as not solved; 0 for never.
        timeout: seconds that generating one puzzle may take; 0 for no limit.
        deterministic: whether a model takes its likeliest action, rather than one that it draws.
        threads: how many threads play; 0 for all cores.
        name: of the policy in the result.
        recorder: keeps every action, for ``verify``. What it had before is not played again.
        known: earlier results. Blocks that they have are not played again, and without a seed theirs is taken.
        progress: called with the growing result after each block.
        workers: where the blocks are played; ``map`` plays one after the other.
    """
    if unknown:
        raise unknown_option(set(unknown), tuple(evaluate.__kwdefaults__ or ()), "evaluate has")
    limits = {"undo": undo, "max_steps": max_steps, "max_repeats": max_repeats, "timeout": timeout}
    task = Task.of(puzzle, params, limits)
    playing = policy if isinstance(policy, Playing) else Playing(policy, deterministic=deterministic)
    job = prepare(
        playing,
        task,
        episodes=episodes,
        seed=seed,
        evalset=evalset,
        threads=threads,
        name=name,
        known=list(known),
        recorder=recorder,
    )
    play_jobs([job], playing, progress=progress, workers=workers)
    return job.result


def prepare(
    playing: Playing,
    task: Task,
    *,
    episodes: int | None,
    seed: int | None,
    evalset: str | None,
    threads: int,
    name: str | None,
    known: Sequence[Result],
    recorder: Recorder | None = None,
) -> Job:
    """The job that ``evaluate`` does with these arguments, of which nothing is played yet."""
    episodes = check_episodes(episodes, evalset)
    if task.max_steps < 1 and not task.max_repeats:
        raise ValueError("an evaluation needs a limit: an episode of a bad policy never ends without max_steps")
    if recorder is not None and task.max_steps < 1:
        raise ValueError("a recording needs max_steps")
    playing.check(task)
    if recorder is not None:
        known = [section.result() for section in recorder.sections]
    params = task.game_id or task.params
    result = Result(name or playing.name, task.puzzle, params, "", task.max_steps, task.undo, playing.fingerprint)
    result.max_repeats = task.max_repeats
    seeds: Callable[[int], int]
    if evalset is not None:
        if seed is not None:
            raise UnknownOption("an evaluation has a seed or an evalset, not both")
        if task.game_id is not None:
            raise UnknownOption(f"an evalset has its own instances, but {task.game_id:.80} names one")
        instances = frozen(evalset, params_of={task.puzzle: params})[task.puzzle].seeds
        episodes = min(episodes, len(instances))
        result.seeds, seeds = f"evalset {evalset}", lambda number: instances[number]
    else:
        first = _adopted_seed(result, known) if seed is None else check_seed(seed)
        result.seeds, seeds = f"seed {first}", lambda number: episode_seed(first, number)
    result.episodes = episodes
    for other in known:
        if other.key == result.key:
            whole = episodes if len(other.steps) >= episodes == other.episodes else len(other.steps) // BLOCK * BLOCK
            result.status, result.steps = other.status[:whole][:episodes], other.steps[:whole][:episodes]
            result.told = {name: numbers[:whole][:episodes] for name, numbers in other.told.items()}
    job = Job(result, task, threads, seeds, recorder)
    if recorder is not None:
        recorder.check(job.header, len(result.steps))
    return job


def check_episodes(episodes: object, evalset: str | None = None) -> int:
    """A number of episodes for each setting, or an error that says what is possible."""
    if episodes is None:
        return PAPER_EPISODES if evalset is None else SIZES.get(evalset, PAPER_EPISODES)
    try:
        number = operator.index(episodes)  # type: ignore[arg-type]
    except TypeError:
        raise UnknownOption(f"episodes is a whole number, not {quote(episodes)}") from None
    if number < 1:
        raise ValueError("an evaluation takes at least one episode of at least one step")
    if evalset in SIZES and number > SIZES[evalset]:
        raise ValueError(f"the evaluation set {evalset} has {SIZES[evalset]} instances, not {quote(number)}")
    if number > MAX_EPISODES:
        raise ValueError(
            f"an evaluation takes at most {MAX_EPISODES:,} episodes for each setting, not {quote(number)}: every episode is "
            "kept in memory. Use several seeds for more."
        )
    return number


def _adopted_seed(result: Result, known: Sequence[Result]) -> int:
    """The seed of the earlier result that this one goes on with; that of any other earlier one; else a new one."""
    same = [one.seed for one in known if one.task_key == result.task_key and one.seed is not None]
    others = [one.seed for one in known if one.seed is not None]
    return [*same, *others, random_seed()][0]


def play_jobs(
    jobs: Sequence[Job],
    play: Callable[[Block], Outcome],
    *,
    progress: Callable[[Result], None] | None = None,
    workers: Workers = map,
) -> None:
    """Complete the results of jobs, in their order. Workers have the blocks of all of them to choose from."""
    missing = [len(range(len(job.result.steps), job.result.episodes, BLOCK)) for job in jobs]
    outcomes = iter(workers(play, (block for job in jobs for block in job.blocks())))
    for job, blocks in zip(jobs, missing, strict=True):
        if progress:
            progress(job.result)
        for _ in range(blocks):
            job.add(Outcome(*next(outcomes)))
            if progress:
                progress(job.result)
