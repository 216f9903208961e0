"""What is played and how: one record under every adapter, and the episodes that follow from it.

An adapter translates: it makes a ``Task`` from its options, plays its episodes with ``Episodes`` (one game) or
``BatchEpisodes`` (many), and turns the tree of arrays of the task's encoder into its framework's spaces.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ._native import lib
from .arguments import whole
from .batch import Autoreset, Batch, Told
from .benchmark.evaluation_sets import frozen_hashes
from .blocks import Blocks
from .encode import Encoder, Kind, encoder
from .errors import InvalidGameID, InvalidParams, SessionClosed, UnknownOption, quote
from .game_id import MAX_SEED, check_seed, episode_seed, names_instance, parse_game_id, random_seed
from .limits import DEFAULT_MAX_STEPS, DEFAULT_TIMEOUT, check_limit, check_timeout
from .puzzle_spec import Layout, PuzzleSpec, canonical_params, layout, spec
from .rewards import BatchPay, GamePay, Rewards
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

Array = np.ndarray[Any, Any]


class TaskOptions(TypedDict, total=False):
    """The options that every adapter takes beside ``puzzle`` and ``params``; ``Task`` says what they mean."""

    seed: int | None
    undo: bool
    max_steps: int
    max_repeats: int
    rewards: Rewards
    observation: Kind
    width: int
    height: int
    timeout: float
    exclude: Collection[int] | str
    ahead: bool


RENAMED = {
    "allow_undo": "undo",
    "batch_size": "num_envs",
    "engine": "backend",
    "evaluation_set": "evalset",
    "max_cycles": "max_steps",
    "max_state_repeats": "max_repeats",
    "n": "num_envs",
    "n_envs": "num_envs",
    "obs_type": "observation",
    "one_hot": 'observation="one_hot"',
    "vectors": 'observation="flat"',
    "window_height": "height",
    "window_width": "width",
}
"""What options were called in 0.1, and what they are called now."""


def unknown_option(names: set[str] | list[str], known: list[str] | tuple[str, ...], what: str = "") -> UnknownOption:
    """The error about options that do not exist; it names what they are called now, and lists what there is."""
    told = [
        f"{quote(name)}, which is called {RENAMED[name]} now" if name in RENAMED else f"{quote(name)}"
        for name in sorted(names)
    ]
    return UnknownOption(f"{what or 'there is'} no option {' nor '.join(told)}; there are {', '.join(known)}")


@dataclass(frozen=True)
class Task:
    """What is played and how. Every adapter takes these options by these names, and has these defaults.

        >>> task = Task("net", "5x5", max_steps=1000)
        >>> task.actions
        ('UP', 'DOWN', 'LEFT', 'RIGHT', 'SELECT')

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default. ``"7x7#42"`` or ``"7x7:description"`` is that one
            instance in every episode, whatever seed a reset gives.
        seed: of the stream of episodes that are played one after the other; ``None`` draws one.
        undo: whether UNDO is in the action space, where the puzzle has it.
        max_steps: after how many steps an episode is truncated; 0 for never.
        max_repeats: at how many repeats of a state an episode is truncated; 0 for never.
        rewards: what is paid.
        observation: what an agent sees: one of ``puzzleport.encode.KINDS``, or what makes an encoder from a task.
        width: of pictures.
        height: of pictures.
        timeout: seconds that generating one puzzle may take; 0 for no limit.
        exclude: instances that are never drawn, such as those of an evaluation: their ``instance_hash``, or the name of a
            frozen set, ``"v2"``. A stream passes over them; a game that is named by its id is played all the same.
        ahead: where games take long to make, have a thread make the next one while the present one is played. The games are
            the same either way.
        game_id: set by ``params`` where that names one instance.
    """

    puzzle: str
    params: str = None  # type: ignore[assignment] # None is replaced by the default in __post_init__
    seed: int | None = None
    undo: bool = False
    max_steps: int = DEFAULT_MAX_STEPS
    max_repeats: int = 0
    rewards: Rewards = field(default_factory=Rewards)
    observation: Kind = "state"
    width: int = 128
    height: int = 128
    timeout: float = DEFAULT_TIMEOUT
    exclude: Collection[int] | str = field(default=(), repr=False)
    ahead: bool = True
    game_id: str | None = None

    def __post_init__(self) -> None:
        def settle(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        settle("puzzle", spec(self.puzzle).name)
        if names_instance(self.params):
            settle("game_id", self.params)
            settle("params", None)
        if self.game_id is not None:
            params = parse_game_id(self.puzzle, self.game_id).params
            if self.params is not None and canonical_params(self.puzzle, self.params) != params:
                raise InvalidGameID(
                    f"{self.puzzle}: the game {self.game_id:.80} has other parameters than {self.params}"
                )
            settle("params", params)
        else:
            settle("params", canonical_params(self.puzzle, self.params))
        if self.seed is not None:
            settle("seed", check_seed(self.seed))
        settle("undo", bool(self.undo))
        settle("max_steps", check_limit("max_steps", self.max_steps))
        settle("max_repeats", check_limit("max_repeats", self.max_repeats))
        settle("timeout", check_timeout(self.timeout))
        settle("exclude", _hashes(self.puzzle, self.exclude))
        settle("ahead", bool(self.ahead))
        if not isinstance(self.rewards, Rewards):
            raise UnknownOption(f"rewards is a puzzleport.Rewards, not {quote(self.rewards)}")
        self.rewards.checked(self.spec, self.params)

    @classmethod
    def of(cls, puzzle: str | Task, params: str | None = None, options: Mapping[str, Any] | None = None) -> Task:
        """The task of an adapter's arguments: a puzzle, parameters and options, or a task and what is to differ."""
        given = dict(options or {})
        known = tuple(TaskOptions.__annotations__)
        unknown = given.keys() - set(known)
        if unknown:
            raise unknown_option(unknown, known)
        if given.get("rewards", True) is None:
            del given["rewards"]
        if isinstance(puzzle, Task):
            if params is not None:
                given.update(params=params, game_id=None)
            return replace(puzzle, **given)
        return cls(puzzle, params, **given)  # type: ignore[arg-type]

    # ---- what follows from it

    @property
    def spec(self) -> PuzzleSpec:
        """What there is to know of the puzzle."""
        return spec(self.puzzle)

    @property
    def layout(self) -> Layout:
        """The fields of its observations."""
        return layout(self.puzzle, self.params)

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of its actions."""
        return self.spec.actions[: self.spec.n_actions(self.undo)]

    @cached_property
    def encoder(self) -> Encoder:
        """What turns a game into what an agent sees."""
        return encoder(self.observation, self)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # an encoder may hold what cannot be copied

    def session(self, seed: int | None = None, **more: Any) -> Session:  # noqa: ANN401 (what else Session takes)
        """A session of this task: its one instance, the seed's, or one of a seed that is drawn."""
        which: dict[str, Any] = {"params": self.params, "seed": self.seed if seed is None else seed}
        if self.game_id is not None:
            which = {"game_id": self.game_id}
        session = Session(self.puzzle, **{**which, **self._limits, **more})
        for episode in range(1, MOST_EXCLUDED + 1):
            if self.game_id is not None or not self.excludes(session):
                return session
            first = which["seed"]
            session.restart(None if first is None else episode_seed(first, episode))
        raise self.all_excluded()

    def excludes(self, session: Session) -> bool:
        """Whether a game is one that is never drawn."""
        return bool(self.exclude) and session.instance_hash in self.exclude

    def all_excluded(self) -> InvalidParams:
        """The error about parameters that leave nothing to draw."""
        return InvalidParams(f"{self.puzzle} {self.params}: {MOST_EXCLUDED} instances in a row are excluded")

    def batch(self, num_envs: int = 1, *, threads: int = 0, autoreset: Autoreset = "same_step") -> Batch:
        """A batch of this task."""
        params = self.game_id or self.params
        given = {"threads": threads, "autoreset": autoreset, "exclude": list(self.exclude), "ahead": self.ahead}
        return Batch(self.puzzle, params, num_envs, **given, **self._limits)  # type: ignore[arg-type]

    @property
    def _limits(self) -> dict[str, Any]:
        return {
            "undo": self.undo,
            "max_steps": self.max_steps,
            "max_repeats": self.max_repeats,
            "timeout": self.timeout,
        }

    def pay(self) -> GamePay:
        """What pays for one game after the other."""
        return GamePay(self.rewards, self.spec, self.params)


MOST_EXCLUDED = 1000
"""How many instances in a row may be excluded: after that there is hardly anything else."""


def _hashes(puzzle: str, exclude: object) -> frozenset[int]:
    """What ``exclude`` stands for."""
    if isinstance(exclude, str):
        return frozenset(frozen_hashes(exclude, puzzle))
    try:
        return frozenset(whole(one, "the hash of an instance", 0, 2**64 - 1) for one in exclude)  # type: ignore[attr-defined]
    except TypeError:
        raise UnknownOption(
            f"exclude is a collection of instance hashes or the name of a set, not {quote(exclude)}"
        ) from None


class Stream:
    """Which game comes next: the games of a task, one after the other, all with observations of the same shape.

    They are a pure function of the seed: the first is the seed's own instance, the k-th that of ``episode_seed(seed, k)``. A
    task whose parameters name one instance plays that one every time.

    >>> stream = Stream(Task("fifteen", "2x2", seed=7))
    >>> stream.next()
    {'params': '2x2', 'seed': 7}
    >>> stream.next(seed=9)
    {'params': '2x2', 'seed': 9}
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.seed = random_seed() if task.seed is None else task.seed
        """Of the games that come now."""
        self.episode = -1
        """The number of the present one among them."""

    def advance(self, seed: int | None = None) -> None:
        """Pass to the next game, or with a seed to the first of that seed's."""
        if seed is None:
            self.episode += 1
            return
        if type(seed) is not int or not 0 <= seed <= MAX_SEED:
            seed = check_seed(seed)
        self.seed, self.episode = seed, 0

    def next(self, seed: int | None = None, *, params: str | None = None, game_id: str | None = None) -> dict[str, Any]:
        """What to start a session with: the next game; with a seed the first of that seed's; or the game that is named."""
        task = self.task
        if params is not None and game_id is None and names_instance(params):
            params, game_id = None, params
        self.advance(seed)
        if game_id is None and params is None:
            game_id = task.game_id
        if game_id is not None:
            chosen = parse_game_id(task.puzzle, game_id).params
            start: dict[str, Any] = {"game_id": game_id}
        else:
            chosen = task.params if params is None else canonical_params(task.puzzle, params)
            start = {"params": chosen, "seed": episode_seed(self.seed, self.episode)}
        if chosen != task.params and layout(task.puzzle, chosen) != task.layout:
            raise InvalidParams(
                f"{task.puzzle}: {chosen:.80} has other observations than {task.params}; make an environment for it"
            )
        return start


class Episodes:
    """Plays the episodes of a task one after the other on one session: what a single environment is made of.

    >>> episodes = Episodes(Task("fifteen", "2x2"))
    >>> episodes.start(seed=1)
    >>> reward = episodes.step("LEFT")
    >>> episodes.observation()["tiles"].shape, episodes.ended
    ((2, 2), 0)
    """

    def __init__(self, task: Task, **session_options: Any) -> None:  # noqa: ANN401 (players, for several cursors)
        self.task = task
        self.encoder = task.encoder
        self.stream = Stream(task)
        self._pay = task.pay()
        self._session_options = session_options
        self._session: Session | None = None
        self.game_id = ""
        """What starts the present game again: ``params#seed``, or the id that named it."""

    @property
    def session(self) -> Session:
        """The session underneath, from the first start on."""
        if self._session is None:
            raise SessionClosed("no game was started yet: reset first")
        return self._session

    @property
    def started(self) -> bool:
        """Whether there is a game to step."""
        return self._session is not None and not self._session.closed

    @property
    def ended(self) -> int:
        """0 while the episode goes on, 1 when it terminated (solved or failed), 2 when it was truncated."""
        return int(self._outcome.ended) if self._session is not None else 0

    @property
    def solved(self) -> bool:
        """Whether the game is solved."""
        return self._session is not None and self._outcome.status == 1

    def start(self, seed: int | None = None, *, params: str | None = None, game_id: str | None = None) -> None:
        """Start the next game; with a seed the first of that seed's stream; or the game that is named."""
        session, task, stream = self._session, self.task, self.stream
        now = task.params
        same = params is None and game_id is None and task.game_id is None
        if same and session is not None and session._params == now and session._pointer is not None:
            # The usual case, for which nothing needs to be looked up: the session goes on with the next game.
            stream.advance(seed)
            first, episode = stream.seed, stream.episode
            number = lib.pz_episode_seed(first, episode) if episode else first
            if task.ahead:
                session.follow(first, episode)
            else:
                session.restart(number)
            self.game_id, by_id = f"{now}#{number}", False
        else:
            which = stream.next(seed, params=params, game_id=game_id)
            session, by_id = self._open(which), "game_id" in which
        if task.exclude and not by_id:
            self._pass_over(session, params)
        self._pay.start(session)

    def _pass_over(self, session: Session, params: str | None) -> None:
        """Go on to a game that is not excluded."""
        for _ in range(MOST_EXCLUDED):
            if not self.task.excludes(session):
                return
            self._open(self.stream.next(params=params))
        raise self.task.all_excluded()

    def _open(self, which: dict[str, Any]) -> Session:
        """The session, with this game."""
        session = self._session
        if session is None or session.closed:
            self._session = session = Session(self.task.puzzle, **which, **self.task._limits, **self._session_options)
            self._attach(session)
        else:
            session.restart(**which)
        self.game_id = which.get("game_id") or f"{which['params']}#{which['seed']}"
        return session

    def go_on(self, session: Session) -> None:
        """Go on with a game of this task that was saved or cloned."""
        task = self.task
        if (session.puzzle, session.layout, session.actions) != (task.puzzle, task.layout, task.actions):
            raise InvalidGameID(
                f"this is a game of {session.puzzle} {session.params}, not of {task.puzzle} {task.params}"
            )
        self._session = session
        self._attach(session)
        self.game_id = session.game_id
        self._pay.start(session)

    def _attach(self, session: Session) -> None:
        self.observation = self.encoder.attach(session)
        """The present observation, as the encoder's tree describes it."""
        self.mask = session.mask(copy=False).copy
        """Exactly the actions that change the game or the cursor, as fresh booleans."""
        self._outcome = session.outcome

    def step(self, action: int | str) -> float:
        """Take an action; what it pays."""
        session = self._session or self.session
        session.act(action)
        return self._pay(session)

    def turn(self, player: int) -> None:
        """Give the turn to one of several players on the board: what is seen, acted on and paid is now that player's."""
        self.session.turn(player)
        self._pay.turn(self.session)

    def info(self, mask: Array, puzzle_state: dict[str, Array]) -> dict[str, Any]:
        """What every adapter tells beside the observation, with the same keys after every step."""
        outcome = self._outcome
        return {
            "puzzle_state": puzzle_state,
            "action_mask": mask,
            "game_id": self.game_id,
            "state_repeats": outcome.repeats,
            "is_success": outcome.status == 1,
        }

    def close(self) -> None:
        """Free the native side. Closing twice is fine; a start opens it again."""
        if self._session is not None:
            self._session.close()

    def __getstate__(self) -> dict[str, Any]:
        """Views and what looks at them belong to one session: a copy makes its own."""
        mine = ("observation", "mask", "_outcome", "encoder")
        return {name: value for name, value in self.__dict__.items() if name not in mine}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.encoder = self.task.encoder
        if self.started:
            self._attach(self.session)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class BatchEpisodes:
    """Plays the episodes of a task in many slots at once: what a vector environment is made of.

    Slot i that is reset with the seed s plays the same games as ``Episodes`` with the seed ``s + i``.

    >>> episodes = BatchEpisodes(Task("fifteen", "2x2"), num_envs=3)
    >>> episodes.start(seed=1)
    >>> episodes.step([0, 1, 2]).shape, episodes.observation()["tiles"].shape
    ((3,), (3, 2, 2))
    """

    def __init__(self, task: Task, num_envs: int = 1, *, threads: int = 0, autoreset: Autoreset = "same_step") -> None:
        self.task, self.num_envs = task, num_envs
        self.encoder = task.encoder
        self.batch = task.batch(num_envs, threads=threads, autoreset=autoreset)
        self._pay = BatchPay(task.rewards, self.batch)
        self.observation, self.final_observation = self.encoder.attach_batch(self.batch)
        self._seed = task.seed
        self._blocks = Blocks(self.batch.told_size, self.batch.told)
        self.game_ids = np.full(num_envs, task.game_id or "", object)
        """What starts the present game of each slot again."""
        self.last_game_ids = self.game_ids
        """With ``autoreset="same_step"``: the same as it was before the last step that began new games."""
        self.told: Told
        """What the last step led to, from the first one on. The arrays are nobody else's."""

    def start(self, seed: int | Sequence[int | None] | None = None, which: Array | None = None) -> None:
        """Start new episodes in all slots or in some: slot i with ``seed + i``, or with the i-th of several seeds."""
        if seed is None and which is None:
            seed = self._seed  # the task's own seed begins the streams once
        self.batch.reset(seed, which=which)
        self._seed = None  # only now: a reset that failed does not use it up
        self._name_games(np.arange(self.num_envs) if which is None else np.flatnonzero(which))
        self._pay.start(self.batch)

    def _name_games(self, slots: Array) -> None:
        if self.task.game_id is None and len(slots):
            params = self.task.params
            self.game_ids[slots] = [f"{params}#{seed}" for seed in self.batch.game_seeds[slots].tolist()]

    def step(self, actions: Sequence[int] | Array) -> Array:
        """Take one action in each slot; what each pays, 0 where a new game began instead."""
        batch, block = self.batch, self._blocks.take()
        batch.step_told(actions, block.memory)
        self._blocks.give(block)
        self.told = told = Told._make(block.arrays)
        if batch.autoreset != "off":
            at_once = batch.autoreset == "same_step"
            begun = (told.done if at_once else told.first).nonzero()[0]
            if len(begun):
                if at_once:
                    self.last_game_ids = self.game_ids.copy()
                self._name_games(begun)
        self._pay.add_hooked(batch, told.reward)
        return told.reward

    def paid(self) -> Array:
        """What the last step of the batch paid in each slot. To be asked once after each."""
        return self._pay(self.batch)

    def close(self) -> None:
        """Free the sessions and threads. Closing twice is fine."""
        self.batch.close()
