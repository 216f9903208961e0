"""How a policy plays a block of episodes, and how to find the policy that is meant.

A policy is ``random``, ``masked``, ``expert``, ``search:NODES`` or ``published``, an agent's file, a ``module:function``, a
program as ``program:'...'`` (keys) or ``command:'...'`` (words), a callable over a batch, or a model: a file or an object of a
framework. What plays models is not known here.
A package says so with an entry point of the group ``puzzleport.policies``, named after the file's suffix or the framework's top
module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import agents
from ..agents import BatchPolicy, ExpertPolicy
from ..agents.published import SUFFIX, Published, draw, read
from ..agents.search import bfs
from ..batch import rollout
from ..errors import NoPlan, UnknownOption, quote
from ..session import Session
from ..task import Task
from . import command, program
from .recording import as_text
from .workers import on_threads


class Outcome(NamedTuple):
    """What became of the episodes of a block, one after the other."""

    status: list[int]
    steps: list[int]
    actions: list[str]
    """What was done in each, as a recording writes it; empty where nothing is recorded."""
    told: dict[str, list[int]]
    """What else is told of each, by name."""
    probabilities: Sequence[np.ndarray[Any, Any]] = ()
    """How likely each action was at each step of each; empty where nothing is recorded, or the policy does not tell."""


@dataclass(frozen=True)
class Block:
    """Episodes that are played together. What becomes of them is a pure function of the policy and this."""

    task: Task
    seeds: list[int]
    threads: int
    record: bool = False
    """Whether the actions are kept."""


Play = Callable[[Block], Outcome]


def _play_in_c(name: str) -> Play:
    """Random play, which the native side has a loop for."""

    def play(block: Block) -> Outcome:
        task = block.task
        played = rollout(
            task.puzzle,
            task.game_id or task.params,
            policy=name,  # type: ignore[arg-type]
            seeds=block.seeds,
            undo=task.undo,
            max_steps=task.max_steps,
            max_repeats=task.max_repeats,
            timeout=task.timeout,
            threads=block.threads,
            record=block.record,
        )
        steps = played.steps.tolist()
        rows = () if played.actions is None else zip(played.actions, steps, strict=True)
        return Outcome(played.status.tolist(), steps, [as_text(row[:taken].tobytes()) for row, taken in rows], {})

    return play


def play_batch(policy: BatchPolicy, block: Block) -> Outcome:
    """Play with a policy that sees all games of the block at once."""
    random = np.random.default_rng(block.seeds)
    with block.task.batch(len(block.seeds), threads=block.threads, autoreset="off") as batch:
        if hasattr(policy, "start"):
            policy.start(batch, random)
        step = batch.reset(block.seeds)
        taken, likely = list[Any](), list[Any]()
        tells = block.record and hasattr(policy, "probabilities")
        while not (step.ended != 0).all():
            if tells:
                chances = policy.probabilities(step.observation, step.mask)  # type: ignore[attr-defined]
                likely.append(chances.astype(np.float32))
                actions = draw(chances, random)  # as the policy does, without asking the network twice
            else:
                actions = np.asarray(policy(step.observation, step.mask, random))
            step = batch.step(actions)
            if block.record:
                taken.append(actions.astype(np.uint8))
        steps = step.steps.tolist()
        games = np.stack(taken, axis=1) if taken else ()
        actions_of = [as_text(row[:count].tobytes()) for row, count in zip(games, steps, strict=False)]
        told = [np.array([row[k] for row in likely[:count]]) for k, count in enumerate(steps)] if likely else ()
        return Outcome(step.status.tolist(), steps, actions_of, {}, told)


def _play_each(block: Block, play: Callable[[Session], tuple[list[int], dict[str, int]]]) -> Outcome:
    """Play games that are thought about one by one, several at a time."""

    def played(seed: int) -> tuple[int, int, list[int], dict[str, int]]:
        with block.task.session(seed) as session:
            taken, told = play(session)
            return int(session.status), session.steps, taken, told

    outcome = Outcome([], [], [], {})
    for status, steps, taken, told in (map if block.threads == 1 else on_threads(block.threads))(played, block.seeds):
        outcome.status.append(status)
        outcome.steps.append(steps)
        if block.record:
            outcome.actions.append(as_text(taken))
        for name, number in told.items():
            outcome.told.setdefault(name, []).append(number)
    return outcome


def _play_expert(block: Block) -> Outcome:
    """Where the expert knows no way on, the episode is not solved."""

    def play(session: Session) -> tuple[list[int], dict[str, int]]:
        policy, taken = ExpertPolicy(block.task.puzzle), list[int]()
        while not session.ended:
            try:
                taken.append(policy(session))
            except NoPlan:
                break
            session.act(taken[-1])
        return taken, {}

    return _play_each(block, play)


class Search:
    """Breadth-first search with so many nodes for each game. Where it finds no way, it does nothing.

    A recording tells the ``nodes`` that it looked at.
    """

    PREFIX = "search:"

    def __init__(self, name: str) -> None:
        digits = name.removeprefix(self.PREFIX)
        if not digits.isascii() or not digits.isdecimal() or not 1 <= int(digits[:12]) <= MOST_NODES:
            raise UnknownOption(f"search:NODES takes 1 to {MOST_NODES:,} nodes for each game, not {quote(digits)}")
        self.nodes = int(digits)

    def check(self, task: Task) -> None:
        """It looks ahead in the game itself, and would see what is hidden from players."""
        if task.spec.hidden:
            raise UnknownOption(f"{task.puzzle}: a search would know what is hidden from players")

    def play(self, block: Block) -> Outcome:
        """Play a block."""

        def play(session: Session) -> tuple[list[int], dict[str, int]]:
            found = bfs(session, max_nodes=self.nodes)
            taken = list(found.actions or ())[: block.task.max_steps or None]
            for action in taken:
                session.act(action)
            return taken, {"nodes": found.nodes}

        return _play_each(block, play)


MOST_NODES = 10_000_000
NAMED: dict[str, Play] = {"random": _play_in_c("random"), "masked": _play_in_c("masked"), "expert": _play_expert}


class Playing:
    """A policy that plays blocks. A worker elsewhere gets what was given here, and finds the policy anew.

    Args:
        policy: what is to play; the module says what that may be.
        deterministic: whether a model takes its likeliest action, rather than one that it draws.
    """

    def __init__(self, policy: str | BatchPolicy | object, *, deterministic: bool = False) -> None:
        self._play: Play | None = None
        self._policy: Any = policy
        if isinstance(policy, str):
            self.name = policy
            self._play = NAMED.get(policy)
            if policy.startswith(command.PREFIX):
                words = policy.removeprefix(command.PREFIX)
                self._play = lambda block: Outcome(*command.play(words, block))
            elif policy.startswith(program.PREFIX):
                words = policy.removeprefix(program.PREFIX)
                self._play = lambda block: Outcome(*program.play(words, block))
            elif policy.startswith(Search.PREFIX):
                self._policy = Search(policy)
                self._play = self._policy.play
            if self._play is None:
                self._policy = _by_name(policy, deterministic)
        else:
            self.name = str(getattr(policy, "__name__", type(policy).__name__))
            if not callable(policy):
                self._policy = _model_policy(policy, deterministic)
        # A function is found by its name elsewhere too. A model is not: another file may have its name there.
        self._given = self._policy if self.fingerprint or not isinstance(policy, str) else policy

    @property
    def fingerprint(self) -> str:
        """Tells apart models of the same name; empty where the name says it all."""
        return str(getattr(self._policy, "fingerprint", ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._given, self.name)

    def check(self, task: Task) -> None:
        """An error where the policy cannot play this task, before anything is played."""
        if hasattr(self._policy, "check"):
            self._policy.check(task)

    def follow(self, task: Task, seed: int) -> Iterator[Session]:
        """One episode to look at: its session at the start, and again after every action."""
        session = task.session(seed)
        yield session
        if self.name == "expert":
            expert = ExpertPolicy(task.puzzle)
            while not session.ended:
                try:
                    session.step(expert(session))
                except NoPlan:
                    return
                yield session
            return
        policy = agents.POLICIES.get(self.name, self._policy)
        random = np.random.default_rng([seed])
        with task.batch(1, autoreset="off") as batch:  # policies choose for many games at once
            if hasattr(policy, "start"):
                policy.start(batch, random)
            step = batch.reset([seed])
            while not step.ended[0]:
                actions = np.asarray(policy(step.observation, step.mask, random))
                session.step(int(actions[0]))
                step = batch.step(actions)
                yield session

    def __call__(self, block: Block) -> Outcome:
        """Play a block."""
        return self._play(block) if self._play is not None else play_batch(self._policy, block)


def _again(policy: Any, name: str) -> Playing:  # noqa: ANN401 (whatever was given)
    playing = Playing(policy)
    playing.name = name
    return playing


def _by_name(name: str, deterministic: bool) -> Any:  # noqa: ANN401 (a policy)
    """A policy from a file or from a module."""
    temperature = 0.0 if deterministic else None
    if name == "published":
        return Published(temperature)
    if name.endswith(SUFFIX):
        return read(Path(name), temperature=temperature)
    found = _entry(Path(name).suffix[1:])
    if found is not None:
        return found(name, deterministic=deterministic)
    module, colon, function = name.partition(":")
    if not colon:
        try:
            agents.policy(name)
        except UnknownOption as error:
            more = f"search:NODES, published, AGENT{SUFFIX}, MODEL.zip, module:function and program:'...'"
            raise UnknownOption(f"{error}, {more}") from None
    if "" not in sys.path:
        sys.path.insert(0, "")  # modules in the present folder, as with python -m
    try:
        policy = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"the policy {quote(name)} cannot be loaded: {error}") from None
    if not callable(policy):
        raise ValueError(f"the policy {quote(name)} is not a function of (observation, mask, random)")
    return policy() if isinstance(policy, type) else policy


def _model_policy(model: object, deterministic: bool) -> Any:  # noqa: ANN401 (a policy)
    """The policy of a framework's own model, found by where its class comes from."""
    for kind in type(model).__mro__:
        found = _entry(kind.__module__.partition(".")[0])
        if found is not None:
            return found(model, deterministic=deterministic)
    raise UnknownOption(
        f"{type(model).__name__} is no policy: give {', '.join(NAMED)}, MODEL.zip, module:function, a model of "
        "Stable-Baselines3 or a function of (observation, mask, random)"
    )


def _entry(name: str) -> Callable[..., Any] | None:
    """What plays files of this suffix, or models of this framework, if anything does."""
    for entry in entry_points(group="puzzleport.policies", name=name):
        found: Callable[..., Any] = entry.load()
        return found
    return None
