"""OpenSpiel: importing this registers ``puzzleport_NAME`` for each puzzle, and ``puzzleport(puzzle=NAME)``.

    >>> import pyspiel
    >>> import puzzleport.adapters.openspiel
    >>> game = pyspiel.load_game("puzzleport_bridges(params=3x3,seed=42)")

A game has the options of ``puzzleport.Task`` as its parameters, by the same names and with the same defaults. The numbers of
``puzzleport.Rewards`` are parameters of their own: ``solved``, ``failed``, ``step``, ``no_effect``, ``solution`` and ``errors``,
written with a decimal point. These differ, or are OpenSpiel's alone:

- ``params``: ``3x3``, or one instance, ``3x3#42`` or ``3x3:description``. The text of a game writes it as ``as_parameter`` does.
- ``seed``: which instance; -1 draws one, which is then among the game's parameters. OpenSpiel's numbers end at 2**31 - 1; a
  larger seed goes into ``params``.
- ``instances``: with N > 0 the root is a chance node over the instances ``seed`` to ``seed + N - 1``.
- ``masked``: legal actions are exactly those that change something; otherwise all are legal.
- ``max_steps``: at least 1, since OpenSpiel's games are finite.

MCTS: use ``mcts_bot``, or ``search_bot`` for the native search. ``pyspiel.MCTSBot.step`` itself ends the process on any game
written in Python (open_spiel 1.6.13 to 2.0.2): it lets go of the interpreter's lock and then calls back into Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

import numpy as np

import puzzleport as pp
from puzzleport.agents import search
from puzzleport.encode import leaves
from puzzleport.errors import quote
from puzzleport.game_id import names_instance, random_seed
from puzzleport.task import unknown_option

try:
    import pyspiel
except ImportError as error:
    raise ImportError("this adapter needs OpenSpiel: pip install 'puzzleport[openspiel]'") from error

if TYPE_CHECKING:
    from puzzleport.rewards import GamePay

Array = np.ndarray[Any, Any]

PREFIX = "puzzleport"
_TASK = ("undo", "max_steps", "max_repeats", "observation", "width", "height", "timeout")
_REWARDS = ("solved", "failed", "step", "no_effect", "solution", "errors")
_DEFAULTS: dict[str, Any] = {
    "params": "",
    "seed": -1,
    "instances": 0,
    "masked": True,
    **{name: getattr(pp.Task, name) for name in _TASK},
    **{name: getattr(pp.Rewards, name) for name in _REWARDS},
}
# OpenSpiel itself refuses names that it does not know, without a word about new ones: so it knows these, and we refuse them.
_OLD: dict[str, Any] = {"allow_undo": False, "rewards": ""}
_TERMINAL, _CHANCE = int(pyspiel.PlayerId.TERMINAL), int(pyspiel.PlayerId.CHANCE)
ROOTS = 256
"""Instances that are kept ready by a game."""
_UNDRAWN = {"bridges": ("marked",), "filling": ("fixed",), "pearl": ("drag_order",)}
"""Fields that the text of a board does not show: they are written below it."""


def game_name(puzzle: str) -> str:
    """The name under which a puzzle is registered."""
    return f"{PREFIX}_{puzzle}"


def as_parameter(params: str) -> str:
    """Parameters as the text of a game has to write them; a dict of parameters takes them as they are, too.

    OpenSpiel ends a value at a comma, counts parentheses, and reads digits alone as a number, which is the wrong type.

    >>> as_parameter("3x3:4,7,9,3,8,1,2,5,6")
    '3x3:4%2C7%2C9%2C3%2C8%2C1%2C2%2C5%2C6'
    >>> as_parameter("4")
    "'4'"
    """
    if re.fullmatch(r"[-+.\d]+", params):
        return f"'{params}'"
    return re.sub(r"[%,()=]", lambda found: f"%{ord(found[0]):02X}", params)


def _params(parameter: str) -> str:
    """The parameters that were written so."""
    quoted = len(parameter) > 1 and parameter[0] == parameter[-1] == "'"
    return unquote(parameter[1:-1] if quoted else parameter)


def specification(puzzle: str, *, rewards: bool = True) -> dict[str, Any]:
    """The parameters of a game, and their defaults."""
    known = {name: value for name, value in _DEFAULTS.items() if rewards or name not in _REWARDS}
    return {**known, "params": as_parameter(pp.spec(puzzle).default_params)}


def _given(puzzle: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a game: in their types, the seed drawn, and such that their text gives the same ones again."""
    given = {**specification(puzzle), **params}
    if given.pop("allow_undo", False):
        raise unknown_option(["allow_undo"], tuple(_DEFAULTS))
    if given.pop("rewards", ""):
        raise pp.UnknownOption(
            f"{puzzle}: rewards are numbers now: {', '.join(_REWARDS)}; rewards=shaped is solution=1.0 now"
        )
    if given.keys() - _DEFAULTS.keys():
        raise unknown_option(given.keys() - _DEFAULTS.keys(), tuple(_DEFAULTS))
    if not isinstance(given["params"], str):
        raise pp.InvalidParams(f"{puzzle}: params is a string, not {quote(given['params'])}: write params='4' for 4")
    for name in (*_REWARDS, "timeout"):
        if isinstance(given[name], (int, float)) and not isinstance(given[name], bool):
            given[name] = round(float(given[name]), 15)  # more places are not in the text of a game
    given["params"] = as_parameter(_params(given["params"]))
    if given["seed"] == -1 and not names_instance(given["params"]):
        given["seed"] = random_seed() % 2**31
    return given


def _task(puzzle: str, given: Mapping[str, Any]) -> pp.Task:
    """What is played, after a look whether OpenSpiel can."""
    task = pp.Task(
        puzzle,
        _params(given["params"]),
        None if given["seed"] == -1 else given["seed"],
        rewards=pp.Rewards(**{name: given[name] for name in _REWARDS}),
        **{name: given[name] for name in _TASK},
    )
    if task.max_steps < 1:
        raise ValueError(f"{puzzle}: max_steps is at least 1: a game of OpenSpiel has an end")
    if given["instances"] < 0:
        raise ValueError(f"{puzzle}: instances is at least 0, not {given['instances']}")
    if given["instances"] and task.game_id is not None:
        raise ValueError(f"{puzzle}: {task.game_id:.80} is one instance, and instances={given['instances']} draws one")
    if any(leaf.dtype.kind == "U" for leaf in leaves(task.encoder.tree)):
        raise ValueError(f"{puzzle}: {task.observation} is no tensor; observation_string gives it with every kind")
    return task


def task_of(puzzle: str, params: Mapping[str, Any], known: Mapping[str, Any]) -> tuple[pp.Task, dict[str, Any]]:
    """What is played, and all parameters of the game, of which there are the known ones."""
    if params.keys() - known.keys():
        raise unknown_option(params.keys() - known.keys(), tuple(known))
    given = _given(puzzle, params)
    return _task(puzzle, given), {name: given[name] for name in known}


def _game_type(about: pp.PuzzleSpec, *, chance: bool = False, stepwise: bool = False, old: bool = False) -> Any:  # noqa: ANN401 (pyspiel is untyped)
    kind = pyspiel.GameType
    return kind(
        short_name=game_name(about.name),
        long_name=f"{about.title} (puzzleport)",
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=kind.ChanceMode.EXPLICIT_STOCHASTIC if chance else kind.ChanceMode.DETERMINISTIC,
        information=kind.Information.IMPERFECT_INFORMATION if about.hidden else kind.Information.PERFECT_INFORMATION,
        utility=kind.Utility.GENERAL_SUM,
        reward_model=kind.RewardModel.REWARDS if stepwise else kind.RewardModel.TERMINAL,
        max_num_players=1,
        min_num_players=1,
        provides_information_state_string=True,
        # There is such a tensor, but learners that see this flag prefer it, and then every path is a new state to them.
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={**specification(about.name), **(_OLD if old else {})},
    )


class SeededGame(pyspiel.Game):
    """What games for one player and for two have in common: they start from the session of a seed."""

    task: pp.Task
    instances: int
    made = False

    def _root(self, instance: int) -> pp.Session:
        return self.task.session(None if self.task.seed is None else self.task.seed + instance)

    def _state(self) -> Any:  # noqa: ANN401 (pyspiel is untyped)
        raise NotImplementedError

    def _observer(self, kind: Any, params: Mapping[str, Any] | None) -> Any:  # noqa: ANN401
        raise NotImplementedError

    def new_initial_state(self, state: None = None) -> Any:  # noqa: ANN401
        """The start of a game."""
        if state is not None:
            raise pyspiel.SpielError("a puzzle starts from its seed: choose that with the game's parameters")
        return self._state()

    def max_chance_nodes_in_history(self) -> int:
        """One if the instance is drawn, else none."""
        return int(self.instances > 0)

    def make_py_observer(self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401
        """What fills the tensors and strings."""
        if isinstance(iig_obs_type, Mapping):  # C++ leaves out what it does not have
            iig_obs_type, params = None, iig_obs_type
        return self._observer(iig_obs_type, params)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        # The base class would make a copy without our attributes.
        return _load_game, (str(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> SeededGame:
        return self

    def __repr__(self) -> str:
        # Where the constructor has failed there is no game in C++: who shows it with a traceback would end the process.
        return str(super().__repr__()) if self.made else f"<a {type(self).__name__} that could not be made>"

    __str__ = __repr__


def _load_game(text: str) -> Any:  # noqa: ANN401 (pyspiel is untyped)
    return pyspiel.load_game(text)


class PuzzleGame(SeededGame):
    """One puzzle with one set of parameters; each puzzle has a class of its own, made below."""

    name: ClassVar[str]

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        self.puzzle = about = pp.spec(self.name)
        try:
            given = _given(self.name, params or {})
            self.task = task = _task(self.name, given)
            self.root = lru_cache(maxsize=ROOTS)(self._root)
            self.start_of_pay = lru_cache(maxsize=ROOTS)(self._start_of_pay)
            self.start_of_pay(0)
            task.encoder.attach(self.root(0))()  # what cannot be seen, such as too small a picture, is an error now
        except (pp.PuzzleError, TypeError, ValueError) as error:
            raise pyspiel.SpielError(str(error)) from None
        self.params, self.seed, self.max_steps = task.params, given["seed"], task.max_steps
        self.instances, self.masked = given["instances"], given["masked"]
        self.actions, self.fields = task.actions, task.layout.fields
        rewards = task.rewards
        self.follows_play = bool(rewards.looks or rewards.no_effect)
        """Whether what is paid depends on more than the number of steps and how the game stands."""
        self.by_status: list[float] = rewards.by_status.tolist()
        bounds = rewards.return_bounds(about, task.params, task.max_steps)
        assert bounds is not None  # there is no hook
        info = pyspiel.GameInfo(
            num_distinct_actions=len(self.actions),
            max_chance_outcomes=self.instances,
            num_players=1,
            min_utility=bounds[0],
            max_utility=bounds[1],
            max_game_length=task.max_steps,
        )
        stepwise = self.follows_play or rewards.step != 0
        super().__init__(_game_type(about, chance=bool(self.instances), stepwise=stepwise), info, given)
        self.made = True

    def _start_of_pay(self, instance: int) -> GamePay:
        pay = self.task.pay()
        pay.start(self.root(instance))
        return pay

    def _state(self) -> PuzzleState:
        return PuzzleState(self)

    def _observer(self, kind: Any, params: Mapping[str, Any] | None) -> Observer:  # noqa: ANN401 (pyspiel is untyped)
        return Observer(self, kind, params)


def board(session: pp.Session) -> str:
    """A board as text, with all that an observation has."""
    lines = [session.text()]
    for name in _UNDRAWN.get(session.puzzle, ()):
        lines.append(f"{name}:\n")
        lines.extend(" ".join(map(str, row)) + "\n" for row in session.observe(copy=False)[name].tolist())
    return "".join(lines)


class PuzzleState(pyspiel.State):
    """A session as a state.

    C++ clones it by making an initial state and deep-copying every attribute in its dict: so there are few, what belongs
    to the game lies in a slot, and the session of an initial state is copied from the game's only when it is needed.
    """

    __slots__ = ("__dict__", "_game", "_look", "_seen_session")
    _look: Any

    def __init__(self, game: PuzzleGame) -> None:
        super().__init__(game)
        self._game = game
        self._seen_session: pp.Session | None = None
        self._session: pp.Session | None = None
        self._instance = -1 if game.instances else 0
        self._over = not game.instances and game.root(0).ended != 0
        self._taken: list[tuple[int, int]] | None = None  # the history, once undo_action has made C++'s own untrue
        if game.follows_play:
            self._pay: GamePay | None = None
            self._reward = self._return = 0.0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (what the slots hold)
        # After unpickling, which fills the dict only.
        if name == "_game":
            self._game = game = self.get_game()
            return game
        if name == "_seen_session":
            return None
        raise AttributeError(name)

    @property
    def session(self) -> pp.Session:
        """The session underneath."""
        if self._session is None:
            if self._instance < 0:
                raise pyspiel.SpielError("the instance is not drawn yet")
            self._session = self._game.root(self._instance).clone()
        return self._session

    def look(self) -> Any:  # noqa: ANN401 (arrays as the encoder's tree has them)
        """The observation of the task's encoder; the next step may overwrite it."""
        session = self.session
        if self._seen_session is not session:
            self._look, self._seen_session = self._game.task.encoder.attach(session), session
        return self._look(copy=False)

    # ---- whose turn, and what can be done

    def current_player(self) -> int:
        """The player, chance before the instance is drawn, or nobody."""
        if self._over:
            return _TERMINAL
        return 0 if self._instance >= 0 else _CHANCE

    def is_terminal(self) -> bool:
        """Whether the puzzle is solved, lost or cut off."""
        return self._over

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The instances, all equally likely."""
        n = self._game.instances
        return [(instance, 1.0 / n) for instance in range(n)]

    def _legal_actions(self, player: int) -> list[int]:
        if self._game.masked:
            session = self._session or self.session
            legal: list[int] = session.mask(copy=False).nonzero()[0].tolist()
            if legal:
                return legal
        return list(range(len(self._game.actions)))

    def _apply_action(self, action: int) -> None:
        if self._taken is not None:
            self._taken.append((self.current_player(), action))
        if self._instance < 0:
            self._instance = action
            session = self.session
        else:
            session = self._session or self.session
            session.act(action)
            if self._game.follows_play:
                self._earn(session)
        self._over = session.outcome.ended != 0

    def _earn(self, session: pp.Session) -> None:
        """Take the pay of a step that depends on what was played before."""
        if self._pay is None:
            self._pay = deepcopy(self._game.start_of_pay(self._instance))
        self._reward = self._pay(session)
        self._return += self._reward

    def undo_action(self, player: int, action: int) -> None:
        """Take the last action back, cursor, counters and all. The history in C++ cannot be shortened from Python."""
        taken = self._history()
        if not taken or taken[-1] != (player, action):
            raise pyspiel.SpielError(f"the last action was not {action} of player {player}")
        fresh = self._game.new_initial_state()
        self.__dict__.update(fresh.__dict__)
        for _, earlier in taken[:-1]:
            self._apply_action(earlier)
        self._taken = taken[:-1]

    # ---- what it is worth

    def returns(self) -> list[float]:
        """The sum of rewards so far."""
        game, session = self._game, self._session
        if game.follows_play:
            return [self._return]
        if session is None:
            return [0.0]
        outcome = session.outcome
        steps = outcome.steps
        return [game.by_status[outcome.status] + game.by_status[0] * (steps - 1) if steps else 0.0]

    def rewards(self) -> list[float]:
        """The reward of the last action."""
        game, session = self._game, self._session
        if game.follows_play:
            return [self._reward]
        if session is None or not session.outcome.steps:
            return [0.0]
        return [game.by_status[session.outcome.status]]

    # ---- how it looks

    def _action_to_string(self, player: int, action: int) -> str:
        if player == _CHANCE:
            return f"seed {self._game.seed + action}"
        return str(self._game.actions[action])

    def __str__(self) -> str:
        if self._instance < 0:
            return "an instance is to be drawn"
        return board(self.session)

    # ---- the history, which C++ keeps, until an action is taken back

    def _history(self) -> list[tuple[int, int]]:
        if self._taken is not None:
            return self._taken
        return [(item.player, item.action) for item in super().full_history()]

    def history(self) -> list[int]:
        """The actions so far."""
        return [action for _, action in self._history()]

    def history_str(self) -> str:
        """The actions so far, as text."""
        return ", ".join(map(str, self.history()))

    def move_number(self) -> int:
        """How many actions were taken."""
        return len(self._history())

    def is_initial_state(self) -> bool:
        """Whether nothing was done yet."""
        return not self._history()


class Observer:
    """Fills one tensor in place with what the task's encoder gives, as float32, each array under its name.

    With perfect recall the actions so far precede them, one place for each step: number + 1, then zeros.
    """

    def __init__(self, game: PuzzleGame, kind: Any, params: Mapping[str, Any] | None) -> None:  # noqa: ANN401
        if params:
            raise ValueError(f"this observer takes no parameters, but was given {dict(params)}")
        self._public = kind is None or kind.public_info
        self._recall = kind is not None and kind.perfect_recall
        self.tensor: Array | None = None
        self.dict: dict[str, Array] = {}
        if not self._public:
            return  # nothing is private: what the player sees is all that anyone sees
        shapes: dict[str, tuple[int, ...]] = {"history": (game.max_steps,)} if self._recall else {}
        shapes.update({leaf.name: leaf.shape for leaf in leaves(game.task.encoder.tree)})
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
        self._parts = list(self.dict.values())[self._recall :]

    def set_from(self, state: PuzzleState, player: int) -> None:
        """Write what the player sees in this state."""
        if self.tensor is None:
            return
        if state._instance < 0:
            self.tensor.fill(0)
            return
        for part, seen in zip(self._parts, arrays(state.look()), strict=True):
            part[...] = seen
        if self._recall:
            steps = self.dict["history"]
            steps.fill(0)
            taken = [action + 1 for whose, action in state._history() if whose >= 0]
            steps[: len(taken)] = taken

    def string_from(self, state: PuzzleState, player: int) -> str:
        """The board as text; with perfect recall the player's actions before it."""
        if not self._public:
            return ""
        if not self._recall:
            return str(state)
        names = state._game.actions
        return " ".join(names[action] for whose, action in state._history() if whose >= 0) + "\n" + str(state)


def arrays(seen: Any) -> Iterator[Array]:  # noqa: ANN401 (a tree of arrays)
    """The arrays of an observation, in the order of the tree's leaves."""
    if isinstance(seen, dict):
        for part in seen.values():
            yield from arrays(part)
    else:
        yield seen


# ---- players


class _MCTSBot(pyspiel.MCTSBot):
    """OpenSpiel's bot with a step that holds the interpreter's lock."""

    def step(self, state: PuzzleState) -> int:
        return int(self.step_with_policy(state)[1])


def mcts_bot(
    game: PuzzleGame,
    simulations: int = 1000,
    c: float = 1.4,
    seed: int = 0,
    *,
    rollouts: int = 1,
    solve: bool = True,
    memory_mb: int = 1000,
) -> Any:  # noqa: ANN401 (pyspiel is untyped)
    """OpenSpiel's own MCTS in C++ on a puzzle, with random rollouts; ``step`` is safe to call here.

    The game needs terminal rewards. A small ``max_steps`` helps: rollouts go on to the end of the game.
    """
    evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=rollouts, seed=seed)
    return _MCTSBot(game, evaluator, c, simulations, memory_mb, solve, seed, False)


class SearchBot(pyspiel.Bot):
    """The native search as an OpenSpiel bot."""

    def __init__(self, player: search.MCTS) -> None:
        super().__init__()
        self.player = player

    def step(self, state: PuzzleState) -> int:
        """The action to take."""
        return self.player.step(state)

    def step_with_policy(self, state: PuzzleState) -> tuple[list[tuple[int, float]], int]:
        """The chance of each legal action, and the one to take."""
        return self.player.step_with_policy(state)

    def get_policy(self, state: PuzzleState) -> list[tuple[int, float]]:
        """The chance of each legal action."""
        return self.player.get_policy(state)

    def provides_policy(self) -> bool:
        """It does."""
        return True

    def restart(self) -> None:
        """Forget everything, for a new game."""
        self.player.restart()

    def restart_at(self, state: PuzzleState) -> None:
        """Forget everything, for a game that starts from this state."""
        self.player.restart()


def search_bot(
    simulations: int = 1000,
    rollout_depth: int = 100,
    c: float = 1.4,
    seed: int = 0,
    **more: Any,  # noqa: ANN401 (what MCTS takes)
) -> SearchBot:
    """A bot that searches in C; takes what ``puzzleport.agents.search.MCTS`` takes."""
    return SearchBot(search.MCTS(simulations, rollout_depth, c, seed, **more))


# ---- registration. OpenSpiel lets go of its creators when Python has already ended, which only a class survives.

GAMES: dict[str, type[PuzzleGame]] = {
    name: type(f"{pp.spec(name).title.replace(' ', '')}Game", (PuzzleGame,), {"name": name}) for name in pp.puzzles()
}


class AnyPuzzle:
    """``puzzleport(puzzle=bridges,…)`` is another way to write ``puzzleport_bridges(…)``."""

    def __new__(cls, params: Mapping[str, Any]) -> Any:  # noqa: ANN401 (a game, not one of these)
        """The game of the puzzle that the parameters name."""
        given = dict(params)
        try:
            about = pp.spec(given.pop("puzzle"))
        except pp.PuzzleError as error:
            raise pyspiel.SpielError(str(error)) from None
        given["params"] = given["params"] or about.default_params
        return GAMES[about.name](given)


def _register() -> None:
    for name, game in GAMES.items():
        pyspiel.register_game(_game_type(pp.spec(name), old=True), game)
    kind = pyspiel.GameType
    pyspiel.register_game(
        kind(
            short_name=PREFIX,
            long_name="Any puzzle of puzzleport",
            dynamics=kind.Dynamics.SEQUENTIAL,
            chance_mode=kind.ChanceMode.DETERMINISTIC,
            information=kind.Information.PERFECT_INFORMATION,
            utility=kind.Utility.GENERAL_SUM,
            reward_model=kind.RewardModel.TERMINAL,
            max_num_players=1,
            min_num_players=1,
            provides_information_state_string=True,
            provides_information_state_tensor=False,
            provides_observation_string=True,
            provides_observation_tensor=True,
            parameter_specification={"puzzle": "", **_DEFAULTS, **_OLD},
            default_loadable=False,
        ),
        AnyPuzzle,
    )


_register()
