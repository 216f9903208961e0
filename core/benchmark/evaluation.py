"""Policies measured as the paper does it: how many episodes they solve, and in how many steps."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..batch import Array, Batch, rollout
from ..errors import NoPlan
from .evaluation_sets import evalset
from ..agents.expert import ExpertPolicy
from ..files import write
from .paper import table
from ..session import Observation, Session, Status, check_seed, episode_seed
from ..puzzle_spec import canonical_params, optimal_steps, spec
from .workers import Workers

BLOCK = 125
"""Episodes that are played together. A block is a pure function of its seeds, so an evaluation can go on at any of them."""

PAPER_EPISODES = 1000
PAPER_STEPS = 10_000


class BatchPolicy(Protocol):
    """Any callable that chooses an action for each of n games.

    If it has a method ``start(batch, random)`` too, that is called before each block of episodes.
    """

    def __call__(self, observation: Observation, mask: Array, random: np.random.Generator) -> Sequence[int] | Array:
        """The actions, from fields and masks with a leading n. All chance comes from ``random``."""


@dataclass(frozen=True)
class Task:
    """What is played in one block."""

    puzzle: str
    params: str
    seeds: list[int]
    max_steps: int
    undo: bool
    threads: int


Outcome = tuple[list[int], list[int]]
"""Status and steps of each episode."""
Player = Callable[[Task], Outcome]


@dataclass
class Result:
    """What became of one policy on one setting, episode by episode."""

    policy: str
    puzzle: str
    params: str
    seeds: str
    """Where the seeds come from: ``seed 0`` or ``evalset v1``."""
    max_steps: int
    undo: bool
    fingerprint: str = ""
    """Of what the policy was read from, where that may change under the same name."""
    episodes: int = PAPER_EPISODES
    """How many were asked for."""
    status: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    @property
    def key(self) -> tuple[Any, ...]:
        """What must be equal for one result to be the continuation of another."""
        return self.policy, self.fingerprint, self.puzzle, self.params, self.seeds, self.max_steps, self.undo

    @property
    def complete(self) -> bool:
        """Whether all episodes were played."""
        return len(self.steps) >= self.episodes

    def summary(self) -> dict[str, Any]:
        """One row, with the columns of the paper's table of results first."""
        status = np.array(self.status, np.int64)
        lengths = np.array(self.steps, np.int64)[status == Status.SOLVED]
        played = max(len(status), 1)
        return {
            "puzzle": self.puzzle,
            "params": self.params,
            "optimal_upper_bound": optimal_steps(self.puzzle, self.params),
            "algorithm": self.policy,
            "mean_successful_steps": round(float(lengths.mean()), 1) if len(lengths) else None,
            "std": round(float(lengths.std()), 1) if len(lengths) else None,
            "success_percent": round(100 * len(lengths) / played, 1),
            "failed_percent": round(100 * int((status == Status.FAILED).sum()) / played, 1),
            "episodes": len(status),
            "max_steps": self.max_steps,
            "undo": self.undo,
            "seeds": self.seeds,
        }


@dataclass(frozen=True)
class Job:
    """A result, and the blocks that it still lacks."""

    result: Result
    tasks: list[Task]


# ---- who plays


def _by_chance(policy: Any) -> Player:  # noqa: ANN401 (one of the batch's policies)
    def play(task: Task) -> Outcome:
        played = rollout(
            task.puzzle,
            task.params,
            policy=policy,
            seeds=task.seeds,
            max_steps=task.max_steps,
            undo=task.undo,
            threads=task.threads,
        )
        return played.status.tolist(), played.steps.tolist()

    return play


def batch_player(policy: BatchPolicy) -> Player:
    """A player from a policy that sees many games at once."""

    def play(task: Task) -> Outcome:
        n = len(task.seeds)
        random = np.random.default_rng(task.seeds)
        options: dict[str, Any] = {"threads": task.threads, "undo": task.undo, "max_steps": task.max_steps}
        with Batch(task.puzzle, task.params, n, autoreset="off", **options) as batch:
            step = batch.reset(task.seeds)
            if hasattr(policy, "start"):
                policy.start(batch, random)
            while not (step.ended != 0).all():
                step = batch.step(np.asarray(policy(step.observation, step.mask, random)))
            return step.status.tolist(), step.steps.tolist()

    return play


def _expert(task: Task) -> Outcome:
    """Plays one game after the other; where the expert knows no way on, the episode is not solved."""
    policy = ExpertPolicy(task.puzzle)
    status, steps = [], []
    for seed in task.seeds:
        with Session(task.puzzle, task.params, seed, undo=task.undo, max_steps=task.max_steps) as session:
            while not session.ended:
                try:
                    session.step(policy(session))
                except NoPlan:
                    break
            status.append(int(session.status))
            steps.append(session.steps)
    return status, steps


PLAYERS: dict[str, Player] = {
    "random": _by_chance("random"),
    "masked-random": _by_chance("masked"),
    "expert": _expert,
}


def player(policy: str | BatchPolicy) -> Player:
    """The player for ``random``, ``masked-random``, ``expert``, ``module:function``, or a callable."""
    if not isinstance(policy, str):
        return batch_player(policy)
    if policy in PLAYERS:
        return PLAYERS[policy]
    module, colon, function = policy.partition(":")
    if not colon:
        raise ValueError(f"there is no policy {policy!r}: give {', '.join(PLAYERS)}, MODEL.zip or module:function")
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules beside the user, as with python -m
    try:
        found = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"the policy {policy!r} cannot be had: {error}") from None
    if not callable(found):
        raise ValueError(f"the policy {policy!r} is no function of (observation, mask, random)")
    return batch_player(found() if isinstance(found, type) else found)


# ---- what is played

LEVELS = ("easiest", "human", "default", "paper")


def settings(names: Iterable[str], level: str) -> list[tuple[str, str]]:
    """Puzzles and their parameters at a level, or at one parameter string.

    ``paper`` stands for all that the paper's table of results lists: every puzzle at its easiest, and three at human level too.
    """
    if level == "paper":
        listed = dict.fromkeys(
            (row["puzzle"], canonical_params(row["puzzle"], row["params"])) for row in table("results")
        )
        return [(puzzle, params) for name in names for puzzle, params in listed if puzzle == name]
    return [(name, canonical_params(name, level_params(name, level))) for name in names]


def level_params(puzzle: str, level: str) -> str:
    """The parameters of a level; what names none is a parameter string itself."""
    return str(getattr(spec(puzzle), f"{level}_params")) if level in LEVELS else level


def evaluate(
    policy: str | BatchPolicy,
    puzzle: str,
    params: str | None = None,
    *,
    episodes: int = PAPER_EPISODES,
    seed: int = 0,
    evaluation_set: str | None = None,
    max_steps: int = PAPER_STEPS,
    undo: bool = False,
    threads: int = 0,
    name: str | None = None,
    fingerprint: str = "",
    known: Iterable[Result] = (),
    progress: Callable[[Result], None] | None = None,
    play: Player | None = None,
    workers: Workers = map,
) -> Result:
    """Play episodes with a policy: the result is a function of policy, setting and seed, whoever plays and on how many threads.

    Args:
        policy: ``random``, ``masked-random``, ``expert``, ``module:function`` or a ``BatchPolicy``.
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default.
        episodes: how many.
        seed: of the stream of instances.
        evaluation_set: instead of a seed: the name of a frozen set of instances.
        max_steps: after how many steps an episode counts as not solved.
        undo: whether UNDO is in the action space; the paper's evaluation is without.
        threads: how many threads play; 0 for all cores.
        name: of the policy in the result.
        fingerprint: of the policy, where its name may come to mean another.
        known: earlier results; a block that one of them has is not played again.
        progress: called with the growing result after each block.
        play: a player made before, instead of the policy's.
        workers: who plays the blocks; ``map`` plays one after the other.
    """
    called = policy if isinstance(policy, str) else str(getattr(policy, "__name__", type(policy).__name__))
    job = prepare(
        name or called,
        puzzle,
        params,
        episodes=episodes,
        seed=seed,
        evaluation_set=evaluation_set,
        max_steps=max_steps,
        undo=undo,
        threads=threads,
        fingerprint=fingerprint,
        known=known,
    )
    play_jobs([job], play or player(policy), progress=progress, workers=workers)
    return job.result


def prepare(
    name: str,
    puzzle: str,
    params: str | None,
    *,
    episodes: int,
    seed: int,
    evaluation_set: str | None,
    max_steps: int,
    undo: bool,
    threads: int,
    fingerprint: str,
    known: Iterable[Result],
) -> Job:
    """The job that ``evaluate`` does with these arguments, of which nothing is played yet."""
    params = canonical_params(puzzle, params)
    if episodes < 1 or max_steps < 1:
        raise ValueError("an evaluation takes at least one episode of at least one step")
    if evaluation_set is not None:
        frozen = evalset(evaluation_set, params_of={puzzle: params})[puzzle]
        if episodes > len(frozen.seeds):
            raise ValueError(f"the evaluation set {evaluation_set} has {len(frozen.seeds)} instances, not {episodes}")
        seeds, source = frozen.seeds[:episodes], f"evalset {evaluation_set}"
    else:
        check_seed(seed)
        seeds, source = [episode_seed(seed, episode) for episode in range(episodes)], f"seed {seed}"
    result = Result(name, puzzle, params, source, max_steps, undo, fingerprint, episodes)
    for other in known:
        if other.key == result.key:
            whole = episodes if len(other.steps) >= episodes == other.episodes else len(other.steps) // BLOCK * BLOCK
            result.status, result.steps = other.status[:whole][:episodes], other.steps[:whole][:episodes]
    blocks = [seeds[start : start + BLOCK] for start in range(len(result.steps), episodes, BLOCK)]
    return Job(result, [Task(puzzle, params, block, max_steps, undo, threads) for block in blocks])


def play_jobs(
    jobs: Sequence[Job],
    play: Player,
    *,
    progress: Callable[[Result], None] | None = None,
    workers: Workers = map,
) -> None:
    """Complete the results of jobs, in their order. Workers have the blocks of all of them to choose from."""
    outcomes = iter(workers(play, [task for job in jobs for task in job.tasks]))
    for job in jobs:
        if progress:
            progress(job.result)
        for _ in job.tasks:
            status, steps = next(outcomes)
            job.result.status += status
            job.result.steps += steps
            if progress:
                progress(job.result)


# ---- files

FORMAT = "puzzleport results 1"


def save(results: Sequence[Result], path: Path) -> None:
    """Write results: every episode as JSON, or one summarising row for each as CSV, by the suffix."""
    if path.suffix == ".csv":
        write(path, as_csv([result.summary() for result in results]))
        return
    lines = ",\n".join(json.dumps(asdict(result)) for result in results)
    write(path, f'{{"format": {json.dumps(FORMAT)}, "results": [\n{lines}\n]}}\n')


def load(path: Path) -> list[Result]:
    """Read results from JSON."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise KeyError
        known = {one.name for one in fields(Result)}
        return [Result(**{name: value for name, value in row.items() if name in known}) for row in data["results"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} holds no results of puzzleport evaluate") from None


def load_rows(path: Path) -> list[dict[str, Any]]:
    """The summaries in a file of results, from JSON or CSV."""
    if path.suffix != ".csv":
        return [result.summary() for result in load(path)]
    try:
        with path.open(encoding="utf-8", newline="") as source:
            reader = csv.DictReader(source)
            rows: list[dict[str, Any]] = list(reader)
        if not {"puzzle", "params", "algorithm", "mean_successful_steps"} <= set(reader.fieldnames or ()):
            raise KeyError
        for row in rows:
            row["params"] = canonical_params(row["puzzle"], row["params"])
            for column in ("mean_successful_steps", "success_percent", "std"):
                row[column] = float(row[column]) if row.get(column) else None
            row["optimal_upper_bound"] = optimal_steps(row["puzzle"], row["params"])
            row["algorithm"] = str(row["algorithm"])
    except (KeyError, TypeError, UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path} holds no results of puzzleport evaluate") from None
    return rows


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as CSV, with the first one's columns."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
