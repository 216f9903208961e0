"""OpenSpiel: importing this registers ``puzzleport_NAME`` for each puzzle, and ``puzzleport(puzzle=NAME)``.

    >>> import pyspiel
    >>> import puzzleport.adapters.openspiel
    >>> game = pyspiel.load_game("puzzleport_bridges(params=3x3,seed=42)")

Parameters of a game:

- ``params``: the engine's parameter string; the puzzle's default if left out.
- ``seed``: which instance; the game is deterministic.
- ``instances``: with N > 0 the root is a chance node over the instances ``seed`` to ``seed + N - 1``.
- ``max_steps``: after how many steps a game is cut off.
- ``allow_undo``: whether UNDO is an action, where the puzzle has it.
- ``masked``: legal actions are exactly those that change something; otherwise all are legal.
- ``rewards``: ``terminal`` pays 1 for solved, -1 for lost and 0 for cut off; ``shaped`` also pays the growth of the share
  of the board that agrees with the engine's solution, where it has one.

MCTS: use ``mcts_bot``, or ``search_bot`` for the native search. ``pyspiel.MCTSBot.step`` itself ends the process on any game
written in Python (open_spiel 1.6.13 to 2.0.2): it lets go of the interpreter's lock and then calls back into Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

import puzzleport as pp
from puzzleport.agents import search

try:
    import pyspiel
except ImportError as error:
    raise ImportError("this adapter needs OpenSpiel: pip install 'puzzleport[openspiel]'") from error

Array = np.ndarray[Any, Any]

PREFIX = "puzzleport"
_DEFAULTS: dict[str, Any] = {
    "seed": 0,
    "instances": 0,
    "max_steps": 1000,
    "allow_undo": False,
    "masked": True,
    "rewards": "terminal",
}
_TERMINAL, _CHANCE = int(pyspiel.PlayerId.TERMINAL), int(pyspiel.PlayerId.CHANCE)
_ROOTS = 256  # instances kept ready by a game


def game_name(puzzle: str) -> str:
    """The name under which a puzzle is registered."""
    return f"{PREFIX}_{puzzle}"


def _as_parameter(params: str) -> str | int:
    """OpenSpiel reads what looks like a number as one, and insists on the type: Untangle's parameters are numbers."""
    return int(params) if params.isdecimal() else params


def _specification(puzzle: str) -> dict[str, Any]:
    return {"params": _as_parameter(pp.spec(puzzle).default_params), **_DEFAULTS}


def _game_type(about: pp.PuzzleSpec, *, chance: bool = False, shaped: bool = False) -> Any:  # noqa: ANN401 (pyspiel is untyped)
    kind = pyspiel.GameType
    return kind(
        short_name=game_name(about.name),
        long_name=f"{about.title} (puzzleport)",
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=kind.ChanceMode.EXPLICIT_STOCHASTIC if chance else kind.ChanceMode.DETERMINISTIC,
        information=kind.Information.IMPERFECT_INFORMATION if about.hidden else kind.Information.PERFECT_INFORMATION,
        utility=kind.Utility.GENERAL_SUM,
        reward_model=kind.RewardModel.REWARDS if shaped else kind.RewardModel.TERMINAL,
        max_num_players=1,
        min_num_players=1,
        provides_information_state_string=True,
        # There is such a tensor, but who sees this flag prefers it, and to a learner every path would be a new state.
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=_specification(about.name),
    )


class PuzzleGame(pyspiel.Game):
    """One puzzle with one set of parameters; each puzzle has a class of its own, made below."""

    name: ClassVar[str]

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        puzzle = self.name
        given = {**_specification(puzzle), **(params or {})}
        try:
            self.puzzle = pp.spec(puzzle)
            self.params = pp.canonical_params(puzzle, str(given["params"]))
            if given["instances"] < 0 or given["seed"] < 0 or given["max_steps"] < 1:
                raise ValueError(f"{puzzle}: seed and instances are at least 0, and max_steps 1")
            if given["rewards"] not in {"terminal", "shaped"}:
                raise ValueError(f"{puzzle}: rewards are terminal or shaped, not {given['rewards']}")
            self.seed, self.instances = given["seed"], given["instances"]
            self.max_steps, self.masked = given["max_steps"], given["masked"]
            self.shaped = given["rewards"] == "shaped"
            self.undo = bool(given["allow_undo"]) and self.puzzle.undo
            self.root = lru_cache(maxsize=_ROOTS)(self._root)
            self.solution = lru_cache(maxsize=_ROOTS)(self._solution)
            first = self.root(0)
            if self.shaped:
                self.solution(0)
        except (pp.PuzzleError, ValueError) as error:
            raise pyspiel.SpielError(str(error)) from None
        self.actions = first.actions
        self.fields = first.fields
        limit = 2.0 if self.shaped else 1.0
        info = pyspiel.GameInfo(
            num_distinct_actions=len(self.actions),
            max_chance_outcomes=self.instances,
            num_players=1,
            min_utility=-limit,
            max_utility=limit,
            max_game_length=self.max_steps,
        )
        given["params"] = _as_parameter(str(given["params"]))
        super().__init__(_game_type(self.puzzle, chance=bool(self.instances), shaped=self.shaped), info, given)

    def _root(self, instance: int) -> pp.Session:
        return pp.Session(self.puzzle.name, self.params, self.seed + instance, undo=self.undo, max_steps=self.max_steps)

    def _solution(self, instance: int) -> dict[str, Array]:
        return self.root(instance).solution()

    def new_initial_state(self, state: None = None) -> PuzzleState:
        """The start of a game."""
        if state is not None:
            raise pyspiel.SpielError("a puzzle starts from its seed: choose that with the game's parameters")
        return PuzzleState(self)

    def max_chance_nodes_in_history(self) -> int:
        """One if the instance is drawn, else none."""
        return int(self.instances > 0)

    def make_py_observer(self, iig_obs_type: Any = None, params: Mapping[str, Any] | None = None) -> Observer:  # noqa: ANN401
        """What fills the tensors and strings."""
        if isinstance(iig_obs_type, Mapping):  # C++ leaves out what it does not have
            iig_obs_type, params = None, iig_obs_type
        return Observer(self, iig_obs_type, params)

    def progress(self, instance: int, session: pp.Session) -> float:
        """The share of the board that agrees with the engine's solution; 1 when solved in any way."""
        if session.status > 0:
            return 1.0
        target, now = self.solution(instance), session.observe(copy=False)
        board = [field.name for field in self.fields if not field.is_ui]
        agree = sum(int((now[name] == target[name]).sum()) for name in board)
        return agree / sum(now[name].size for name in board)

    def __reduce_ex__(self, protocol: object) -> tuple[Any, ...]:
        # The base class would make a copy without our attributes.
        return _load_game, (str(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> PuzzleGame:
        return self


def _load_game(text: str) -> Any:  # noqa: ANN401 (pyspiel is untyped)
    return pyspiel.load_game(text)


class PuzzleState(pyspiel.State):
    """A session as a state.

    C++ clones it by making an initial state and deep-copying every attribute in its dict: so there are few, what belongs
    to the game lies in a slot, and the session of an initial state is copied from the game's only when it is needed.
    """

    __slots__ = ("__dict__", "_game")

    def __init__(self, game: PuzzleGame) -> None:
        super().__init__(game)
        self._game = game
        self._session: pp.Session | None = None
        self._instance = -1 if game.instances else 0
        self._over = not game.instances and game.root(0).ended != 0
        self._taken: list[tuple[int, int]] | None = None  # the history, once undo_action has made C++'s own untrue
        if game.shaped:
            self._gained: float | None = None  # the progress at the start
            self._progress = self._reward = 0.0

    def __getattr__(self, name: str) -> PuzzleGame:
        if name != "_game":
            raise AttributeError(name)
        self._game = game = self.get_game()  # after unpickling, which fills the dict only
        return game  # type: ignore[no-any-return]

    @property
    def session(self) -> pp.Session:
        """The session underneath."""
        if self._session is None:
            if self._instance < 0:
                raise pyspiel.SpielError("the instance is not drawn yet")
            self._session = self._game.root(self._instance).clone()
        return self._session

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
            session.step(action)
        self._over = session.ended != 0
        if self._game.shaped:
            self._pay(session)

    def _pay(self, session: pp.Session) -> None:
        """Reckon the shaped reward."""
        game, before = self._game, self._progress
        if self._gained is None:
            self._gained = before = game.progress(self._instance, game.root(self._instance))
        self._progress = game.progress(self._instance, session)
        self._reward = self._progress - before + int(session.status)

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
        if self._instance < 0:
            return [0.0]
        status = float(self.session.status)
        if not self._game.shaped or self._gained is None:
            return [status]
        return [self._progress - self._gained + status]

    def rewards(self) -> list[float]:
        """The reward of the last action."""
        return [self._reward] if self._game.shaped else self.returns()

    # ---- how it looks

    def _action_to_string(self, player: int, action: int) -> str:
        if player == _CHANCE:
            return f"seed {self._game.seed + action}"
        return str(self._game.actions[action])

    def __str__(self) -> str:
        return "an instance is to be drawn" if self._instance < 0 else self.session.text()

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
    """Fills one tensor in place: each field scaled to the range from 0 to 1, under its name.

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
        shapes = {"history": (game.max_steps,)} if self._recall else {}
        shapes.update({field.name: field.shape for field in game.fields})
        sizes = [int(np.prod(shape, dtype=int)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
        self._scales = [
            (field.name, self.dict[field.name], field.low, np.float32(1 / max(field.high - field.low, 1)))
            for field in game.fields
        ]

    def set_from(self, state: PuzzleState, player: int) -> None:
        """Write what the player sees in this state."""
        if self.tensor is None:
            return
        if state._instance < 0:
            self.tensor.fill(0)
            return
        seen = state.session.observe(copy=False)
        for name, to, low, scale in self._scales:
            np.subtract(seen[name], low, out=to, dtype=np.float32, casting="unsafe")
            np.multiply(to, scale, out=to)
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
    """A bot that searches in C; takes what ``puzzleport.search.MCTS`` takes."""
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
        pyspiel.register_game(_game_type(pp.spec(name)), game)
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
            parameter_specification={"puzzle": "", "params": "", **_DEFAULTS},
            default_loadable=False,
        ),
        AnyPuzzle,
    )


_register()
