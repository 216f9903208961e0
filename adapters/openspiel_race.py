"""OpenSpiel: two players race for the solution of the same instance, each on a board of its own.

    >>> import pyspiel
    >>> import puzzleport.adapters.openspiel_race
    >>> game = pyspiel.load_game("puzzleport_race_fifteen(params=2x2,seed=42,max_steps=50)")
    >>> game.num_players()
    2

Importing this registers ``puzzleport_race_NAME`` for each puzzle. The players move in turn. Whoever has solved the puzzle after a
round wins, and whoever has lost it (a mine) loses; where both did the same in the same round, or neither within ``max_steps`` of
each, it is a draw. So to move first is no advantage. Both see both boards. What is paid comes at the end and adds up to zero, as
OpenSpiel's own AlphaZero and most of its other algorithms for two players want it.

The parameters are those of ``puzzleport_NAME`` in ``openspiel.py`` without the rewards.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

import puzzleport as pp
from puzzleport.adapters import openspiel
from puzzleport.encode import leaves

try:
    import pyspiel
except ImportError as error:
    raise ImportError("this adapter needs OpenSpiel: pip install 'puzzleport[openspiel]'") from error

Array = np.ndarray[Any, Any]
PLAYERS = 2


def game_name(puzzle: str) -> str:
    """The name under which the race for a puzzle is registered."""
    return f"{openspiel.PREFIX}_race_{puzzle}"


def _game_type(about: pp.PuzzleSpec, *, chance: bool = False) -> Any:  # noqa: ANN401 (pyspiel is untyped)
    kind = pyspiel.GameType
    return kind(
        short_name=game_name(about.name),
        long_name=f"Race for {about.title} (puzzleport)",
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=kind.ChanceMode.EXPLICIT_STOCHASTIC if chance else kind.ChanceMode.DETERMINISTIC,
        information=kind.Information.IMPERFECT_INFORMATION if about.hidden else kind.Information.PERFECT_INFORMATION,
        utility=kind.Utility.ZERO_SUM,
        reward_model=kind.RewardModel.TERMINAL,
        max_num_players=PLAYERS,
        min_num_players=PLAYERS,
        provides_information_state_string=True,
        provides_information_state_tensor=False,  # as for one player: learners would prefer it
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification=openspiel.specification(about.name, rewards=False),
    )


class RaceGame(openspiel.SeededGame):
    """A race for one puzzle with one set of parameters; each puzzle has a class of its own, made below."""

    name: ClassVar[str]

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        about = pp.spec(self.name)
        known = openspiel.specification(self.name, rewards=False)
        try:
            self.task, given = openspiel.task_of(self.name, params or {}, known)
            self.root = lru_cache(maxsize=openspiel.ROOTS)(self._root)
            self.task.encoder.attach(self.root(0))()  # what cannot be seen is an error now
        except (pp.PuzzleError, TypeError, ValueError) as error:
            raise pyspiel.SpielError(str(error)) from None
        self.seed, self.instances, self.masked = given["seed"], given["instances"], given["masked"]
        self.actions, self.max_steps = self.task.actions, self.task.max_steps
        info = pyspiel.GameInfo(
            num_distinct_actions=len(self.actions),
            max_chance_outcomes=self.instances,
            num_players=PLAYERS,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            max_game_length=PLAYERS * self.max_steps,
        )
        super().__init__(_game_type(about, chance=bool(self.instances)), info, given)
        self.made = True

    def _state(self) -> RaceState:
        return RaceState(self)

    def _observer(self, kind: Any, params: Mapping[str, Any] | None) -> Observer:  # noqa: ANN401 (pyspiel is untyped)
        return Observer(self, kind, params)


class RaceState(pyspiel.State):
    """Two sessions as a state. C++ clones it by deep-copying what is in its dict, and the sessions copy themselves."""

    def __init__(self, game: RaceGame) -> None:
        super().__init__(game)
        self._game = game
        self._sessions: list[pp.Session] = []
        self._turn = 0
        if not game.instances:
            self._start(0)

    def _start(self, instance: int) -> None:
        self._sessions = [self._game.root(instance).clone() for _ in range(PLAYERS)]

    def session(self, player: int) -> pp.Session:
        """The board of a player."""
        if not self._sessions:
            raise pyspiel.SpielError("the instance is not drawn yet")
        return self._sessions[player]

    def started(self) -> bool:
        """Whether the instance is drawn."""
        return bool(self._sessions)

    # ---- whose turn, and what can be done

    def current_player(self) -> int:
        """Who moves, chance before the instance is drawn, or nobody."""
        if not self._sessions:
            return int(pyspiel.PlayerId.CHANCE)
        return int(pyspiel.PlayerId.TERMINAL) if self.is_terminal() else self._turn

    def is_terminal(self) -> bool:
        """Whether a round is over in which somebody came to an end."""
        return self._turn == 0 and any(session.ended for session in self._sessions)

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The instances, all equally likely."""
        count = self._game.instances
        return [(instance, 1.0 / count) for instance in range(count)]

    def _legal_actions(self, player: int) -> list[int]:
        if self._game.masked:
            legal: list[int] = self.session(player).mask(copy=False).nonzero()[0].tolist()
            if legal:
                return legal
        return list(range(len(self._game.actions)))

    def _apply_action(self, action: int) -> None:
        if not self._sessions:
            self._start(action)
            return
        self._sessions[self._turn].act(action)
        self._turn = 1 - self._turn

    # ---- what it is worth

    def returns(self) -> list[float]:
        """1 and -1, or zeros for a draw and while nothing is decided."""
        if not self.is_terminal():
            return [0.0] * PLAYERS
        first, second = (int(session.status) for session in self._sessions)
        won = float(np.sign(first - second))
        return [won, 0.0 - won]

    # ---- how it looks

    def _action_to_string(self, player: int, action: int) -> str:
        if player == int(pyspiel.PlayerId.CHANCE):
            return f"seed {self._game.seed + action}"
        return str(self._game.actions[action])

    def __str__(self) -> str:
        if not self._sessions:
            return "an instance is to be drawn"
        parts = [f"{self._turn} to move\n"]
        for player, session in enumerate(self._sessions):
            parts.append(f"player {player}, {session.steps} steps:\n{openspiel.board(session)}")
        return "".join(parts)


class Observer:
    """Fills one tensor with what a player sees: the own board, the other one's, and whose turn it is."""

    def __init__(self, game: RaceGame, kind: Any, params: Mapping[str, Any] | None) -> None:  # noqa: ANN401
        if params:
            raise ValueError(f"this observer takes no parameters, but was given {dict(params)}")
        self._public = kind is None or kind.public_info
        self._recall = kind is not None and kind.perfect_recall
        self._encoder = game.task.encoder
        self.tensor: Array | None = None
        self.dict: dict[str, Array] = {}
        if not self._public:
            return  # nothing is private
        shapes: dict[str, tuple[int, ...]] = {"history": (PLAYERS * game.max_steps,)} if self._recall else {}
        shapes["turn"] = (1,)
        for whose in ("own", "other"):
            shapes.update({f"{whose}_{leaf.name}": leaf.shape for leaf in leaves(self._encoder.tree)})
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    def set_from(self, state: RaceState, player: int) -> None:
        """Write what the player sees in this state."""
        if self.tensor is None:
            return
        self.tensor.fill(0)
        if not state.started():
            return
        self.dict["turn"][0] = state._turn == player
        for whose, number in (("own", player), ("other", 1 - player)):
            seen = openspiel.arrays(self._encoder.attach(state.session(number))(copy=False))
            for leaf, array in zip(leaves(self._encoder.tree), seen, strict=True):
                self.dict[f"{whose}_{leaf.name}"][...] = array
        if self._recall:
            taken = [item.action + 1 for item in state.full_history() if item.player >= 0]
            self.dict["history"][: len(taken)] = taken

    def string_from(self, state: RaceState, player: int) -> str:
        """Both boards as text, from a player's side; with perfect recall all actions before them."""
        if not self._public:
            return ""
        told = f"player {player}: {state}"
        if not self._recall:
            return told
        names = state._game.actions
        return " ".join(names[item.action] for item in state.full_history() if item.player >= 0) + "\n" + told


# ---- registration. OpenSpiel lets go of its creators when Python has already ended, which only a class survives.

GAMES: dict[str, type[RaceGame]] = {
    name: type(f"{pp.spec(name).title.replace(' ', '')}Race", (RaceGame,), {"name": name}) for name in pp.puzzles()
}
for _name, _game in GAMES.items():
    pyspiel.register_game(_game_type(pp.spec(_name)), _game)
