"""Recordings replayed: what a run really played, or why it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import PuzzleError, quote
from ..game_id import check_seed, episode_seed
from ..session import Session, Status
from ..task import Task
from .evaluation_sets import evalset
from .recording import BadRecording, Game, Header, read
from .results import Result
from .score import Setting, expert_steps

MAX_EPISODES = 1_000_000
MAX_SETTINGS = 10_000


@dataclass(frozen=True)
class Run:
    """A recording that was replayed, and holds what it claims."""

    policy: str
    results: list[Result]
    """One for each setting, as it was really played."""


def verify(path: str | Path, progress: Callable[[Header, int], None] | None = None) -> Run:
    """Replay a recording. BadRecording tells which game of which setting does not hold what is claimed.

    Refused are games that end otherwise than claimed, go on after their end, or are not the instances of the header's
    seeds in their order; sections that lack games or stand twice; UNDO among the actions; and several policies in one file.
    """
    results = list[Result]()
    section: _Section | None = None
    seen = set[tuple[str, str]]()
    for line in read(path):
        if isinstance(line, Header):
            if section is not None:
                results.append(section.finished())
                if (line.policy, line.fingerprint) != (section.header.policy, section.header.fingerprint):
                    raise BadRecording(f"{path}: several policies in one recording")
            section = _Section(Path(path), line)
            if section.key in seen or len(seen) >= MAX_SETTINGS:
                raise BadRecording(f"{section.name}: this setting stands twice in the recording")
            seen.add(section.key)
        elif section is None:
            raise BadRecording(f"{path}: a header must come before the first game")
        else:
            section.play(line)
            if progress:
                progress(section.header, len(section.result.steps))
    assert section is not None  # an empty file is no recording
    results.append(section.finished())
    return Run(results[0].policy, results)


class _Section:
    """The games of one setting, as they come."""

    def __init__(self, path: Path, header: Header) -> None:
        self.name = f"{path}: {header.puzzle[:20]} {header.params[:80]}"
        self.header, self.result = header, header.result()
        try:
            self._task = task = self._read_task(header)
            self._games = game_ids(self.result)
        except (PuzzleError, ValueError) as error:
            raise BadRecording(f"{self.name}: {error}") from None
        if list(task.actions) != header.actions:
            raise BadRecording(f"{self.name}: the actions are {', '.join(task.actions)}")
        self.key = task.puzzle, task.game_id or task.params
        self._session: Session | None = None

    def _read_task(self, header: Header) -> Task:
        if header.undo or "UNDO" in header.actions:
            raise BadRecording("played with UNDO")
        if not 1 <= header.episodes <= MAX_EPISODES or header.max_steps < 1:
            raise BadRecording("a recording has at least one episode of at least one step")
        task = Task(header.puzzle, header.params, max_steps=header.max_steps, max_repeats=header.max_repeats)
        if header.params != (task.game_id or task.params):
            raise BadRecording(f"the parameters are written {task.params}")
        return task

    def play(self, game: Game) -> None:
        """Replay the next game, and compare."""
        number = len(self.result.steps)
        where = f"{self.name}, game {number + 1}"
        if number >= self.header.episodes:
            raise BadRecording(f"{where}: there are more games than the {self.header.episodes} of the header")
        wanted = next(self._games)
        if game.game != wanted:
            raise BadRecording(f"{where}: the instance is {quote(game.game)}, but {wanted:.80} comes next")
        if len(game.actions) > self._task.max_steps:
            raise BadRecording(f"{where}: {len(game.actions):,} actions are more than the limit")
        if game.probabilities and (
            len(game.probabilities) != len(game.actions)
            or any(len(row) != len(self.header.actions) for row in game.probabilities)
        ):
            raise BadRecording(f"{where}: the probabilities are not one for each action at each step")
        try:
            status, steps = self._replay(wanted, game.numbers) if game != _unplayed(wanted) else (Status.ONGOING, 0)
        except (PuzzleError, ValueError) as error:
            raise BadRecording(f"{where}: {error}") from None
        if (int(status), steps) != (game.status, game.steps):
            claimed, real = _told(game.status, game.steps), _told(status, steps)
            raise BadRecording(f"{where}: {claimed} is claimed, but replayed it is {real}")
        self.result.status.append(int(status))
        self.result.steps.append(steps)
        for name, told in game.told.items():
            self.result.told.setdefault(name, []).append(told)

    def _replay(self, game_id: str, actions: Sequence[int]) -> tuple[Status, int]:
        session = self._session
        if session is None:
            session = self._session = replace(self._task, game_id=game_id).session()
        else:
            session.restart(game_id=game_id)
        act, outcome = session.act, session.outcome
        for number, action in enumerate(actions):
            if outcome.ended:
                raise ValueError(f"the game is over after {number} actions, but there are {len(actions)}")
            act(action)
        return session.status, session.steps

    def finished(self) -> Result:
        """The whole result, or BadRecording."""
        if self._session is not None:
            self._session.close()
        if not self.result.complete:
            raise BadRecording(f"{self.name}: {len(self.result.steps)} of {self.header.episodes} games are there")
        return self.result


def _unplayed(game_id: str) -> Game:
    """A game of which nothing is claimed: it need not be generated to be believed."""
    return Game(game_id, "", 0, 0)


def _told(status: int, steps: int) -> str:
    word = {1: "solved", -1: "lost", 0: "not solved"}.get(int(status), "no such status")
    return f"{word} after {steps:,} steps" if abs(steps) < 2**31 else word


def game_ids(result: Result) -> Iterator[str]:
    """The ids of the games that a result is about. An error now where there are none such."""
    task = Task(result.puzzle, result.params)
    kind, _, name = result.seeds.partition(" ")
    if kind == "evalset":
        if task.game_id is not None:
            raise BadRecording("an evaluation set has its own instances")
        instances = evalset(name, params_of={task.puzzle: task.params})[task.puzzle].seeds
        if result.episodes > len(instances):
            raise BadRecording(f"the evaluation set {quote(name)} has {len(instances)} instances")
        return (f"{task.params}#{seed}" for seed in instances[: result.episodes])
    if kind != "seed" or not name.isascii() or not name.isdecimal() or len(name) > 20:
        raise BadRecording(f"seeds is {quote(result.seeds)}: neither an evaluation set nor a seed")
    first = check_seed(int(name))
    return (task.game_id or f"{task.params}#{episode_seed(first, k)}" for k in range(result.episodes))


def scored(runs: Sequence[Run]) -> list[Setting]:
    """The settings of runs of one agent, which must have played the same instances."""
    first = runs[0]
    for other in runs[1:]:
        if [_instances(result) for result in other.results] != [_instances(result) for result in first.results]:
            raise ValueError("these recordings are of different settings: verify them one by one")
    settings = []
    for number, result in enumerate(first.results):
        expert = _expert(result)
        plays = [(run.results[number].status, run.results[number].steps) for run in runs]
        settings.append(Setting.of(result.puzzle, result.params, plays, expert))
    return settings


def _expert(result: Result) -> list[int]:
    """What the paths of a result are weighed against: as it was frozen, where it was."""
    kind, _, name = result.seeds.partition(" ")
    if kind == "evalset":
        known = evalset(name, params_of={result.puzzle: result.params})[result.puzzle].expert_steps
        if known:
            return list(known[: result.episodes])
    return [expert_steps(result.puzzle, game) for game in game_ids(result)]


def _instances(result: Result) -> tuple[str, str, str, int]:
    return result.puzzle, result.params, result.seeds, result.episodes
