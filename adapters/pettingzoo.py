"""PettingZoo: one agent on one puzzle, several on one board, or several in a race.

Three environments, each with PettingZoo's ``env()``, ``raw_env()`` and ``parallel_env()``:

- ``solo_v0``: one agent, one puzzle.
- ``coop_v0``: the agents take turns on one board (in the parallel form they act in order within a step). Each has its own
  cursor, with what is held or selected by it, where the puzzle has one; reward and UNDO are shared.
- ``race_v0``: the same instance for every agent, each on its own board; who solves it first wins. Each agent sees how far the
  others are, not their boards.

    >>> from puzzleport.adapters.pettingzoo import coop_v0
    >>> env = coop_v0.env("net", "2x2", agents=2)
    >>> env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.last()
    >>> env.step(env.action_space(env.agent_selection).sample(observation["action_mask"]))

Every action is paid once. On one board its pay goes to all agents alike, no matter which of them acted, and a step of
the parallel form pays the sum over the actions that were taken in it. In a race each agent is paid for its own actions.

Importing this module also registers ``puzzleport/solo_v0``, ``puzzleport/coop_v0`` and ``puzzleport/race_v0`` for
``pettingzoo.make("aec", ...)`` and ``pettingzoo.make("parallel", ...)``.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import puzzleport as pp
from puzzleport.encode import Leaf, Tree
from puzzleport.encode.flat import Flat, Scaler
from puzzleport.encode.state import State
from puzzleport.errors import quote
from puzzleport.limits import MAX_LIMIT, MAX_PLAYERS

try:
    import pettingzoo
    from pettingzoo.utils import wrappers
    from pettingzoo.utils.conversions import parallel_to_aec
    from pettingzoo.utils.env import AECEnv, ParallelEnv
except ImportError as error:
    raise ImportError("the PettingZoo adapter needs an extra: pip install 'puzzleport[pettingzoo]'") from error

# PettingZoo's spaces are Gymnasium's.
from gymnasium import spaces

from puzzleport.adapters.gymnasium_spaces import RENDER_MODES, check_render_mode, space_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = np.ndarray[Any, Any]
ParallelStep = tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]


class MultiAgentPuzzle:
    """The agents, their boards and what each sees: what all environments of this module have in common.

    An observation is ``{"observation": ..., "action_mask": int8}``, as in PettingZoo's classic games. The mask is exact: the
    actions that would change the game or this agent's cursor. Every ``info`` has ``puzzle_state`` (the fields),
    ``action_mask``, ``game_id``, ``state_repeats`` and ``is_success``.

    Args:
        puzzle: one of ``puzzleport.puzzles()``, or a ``puzzleport.Task``.
        params: the engine's parameter string; ``None`` for the default. ``"4x4#42"`` or ``"4x4:description"`` plays that one
            instance in every episode.
        agents: how many (not for ``solo_v0``), at most 64.
        max_cycles: PettingZoo's word for ``max_steps``: after how many actions of each agent an episode is truncated. An agent
            that waits uses up an action too.
        render_mode: human, rgb_array or ansi.
        options: those of ``puzzleport.Task``: seed, undo, max_steps, max_repeats, rewards, observation, width, height, timeout.
    """

    name = ""
    shared = True
    """Whether the agents play on one board."""
    fewest_agents = 1
    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 10}  # noqa: RUF012 (PettingZoo's form)

    def __init__(
        self,
        puzzle: str | pp.Task,
        params: str | None = None,
        *,
        agents: int = 2,
        max_cycles: int | None = None,
        render_mode: str | None = None,
        **options: Unpack[pp.TaskOptions],
    ) -> None:
        if max_cycles is not None and options.setdefault("max_steps", max_cycles) != max_cycles:
            raise pp.UnknownOption("max_cycles is another name for max_steps: give one of them")
        self.task = pp.Task.of(puzzle, params, options)
        self.max_cycles = self.task.max_steps  # an attribute that PettingZoo's own tests set
        self.render_mode = check_render_mode(render_mode)
        agents = self._check_agents(agents)
        self.action_names = self.task.actions
        self.metadata = {**self.metadata, "name": self.name, "is_parallelizable": not self.shared or agents == 1}
        self.possible_agents = [f"agent_{index}" for index in range(agents)]
        self.agents: list[str] = []
        self._fields, self._scaler = State(self.task), Scaler(self.task.layout.fields)
        tree = self._tree()
        self.observation_spaces = {agent: space_of(tree) for agent in self.possible_agents}
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            agent: spaces.Discrete(len(self.action_names)) for agent in self.possible_agents
        }
        self.state_space = spaces.Box(0.0, 1.0, (agents * self._vector_size(),), np.float32)
        # The boards count no steps: a cycle uses up an action of every agent, also of one that waits.
        endless = pp.Task.of(self.task, None, {"max_steps": 0})
        self._boards = [pp.Episodes(endless, players=agents if self.shared else 1)]
        self._cycles = 0
        self._window: Any = None

    def _check_agents(self, agents: object) -> int:
        try:
            number = operator.index(agents)  # type: ignore[arg-type]
        except TypeError:
            number = 0
        if not self.fewest_agents <= number <= MAX_PLAYERS:
            raise pp.UnknownOption(
                f"agents is a number from {self.fewest_agents} to {MAX_PLAYERS}, not {quote(agents)}"
            )
        return number

    # ---- what an agent sees

    def _tree(self) -> dict[str, Tree]:
        """What ``observe`` gives, as a tree of arrays."""
        mask = Leaf((len(self.action_names),), np.dtype(np.int8), 0, 1, "action_mask")
        return {"observation": self.task.encoder.tree, "action_mask": mask}

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent sees now."""
        board = self._board(agent)
        return {"observation": board.observation(), "action_mask": board.mask().view(np.int8)}

    def _vector_size(self) -> int:
        return len(self._scaler.low)

    def _vector(self, agent: str) -> Array:
        """All that an agent sees, as one vector scaled to [0, 1]."""
        return self._scaler(self._board(agent).session.observe(copy=False))

    def state(self) -> Array:
        """What all agents see, as one vector scaled to [0, 1], whatever the kind of observation."""
        return np.concatenate([self._vector(agent) for agent in self.possible_agents])

    def _info(self, agent: str) -> dict[str, Any]:
        board = self._board(agent)
        state = self._fields.encode(board.session.observe(copy=False))
        return board.info(board.mask().view(np.int8), state)

    # ---- play

    def _start(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Set up the puzzle that the seed decides, without one the next of the stream, or the one that is named."""
        # PettingZoo's own checker resets with an option that means nothing, so others are left alone.
        named = {name: value for name, value in (options or {}).items() if name in {"game_id", "params"}}
        self._boards[0].start(seed, **named)
        self.agents = self.possible_agents[:]
        self._cycles = 0

    def _board(self, agent: str) -> pp.Episodes:
        """The game that an agent plays, with the turn given to it."""
        number = self.possible_agents.index(agent)
        board = self._boards[0 if self.shared else number]
        if not board.started:
            raise RuntimeError("call reset first")
        if self.shared and board.session.player != number:
            board.turn(number)
        return board

    def _act(self, agent: str, action: Any) -> float:  # noqa: ANN401 (whatever is an integer)
        """Let an agent act; what that pays."""
        board = self._board(agent)
        return board.step(action)

    def _checked(self, actions: dict[str, Any]) -> dict[str, int]:
        """The actions of a parallel step in the order of the agents, each of them valid: all are taken or none."""
        unknown = actions.keys() - set(self.possible_agents)
        if unknown:
            raise pp.InvalidAction(
                f"there is no agent {quote(min(unknown, key=str))}; there are {self.possible_agents}"
            )
        session = self._board(self.possible_agents[0]).session
        return {agent: session.action_number(actions[agent]) for agent in self.agents if agent in actions}

    def _out_of_cycles(self) -> bool:
        return 0 < self.max_cycles <= self._cycles

    # ---- what both of PettingZoo's interfaces have

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's actions."""
        return self.action_spaces[agent]

    def render(self) -> Any:  # noqa: ANN401 (depends on the mode)
        """A picture, the text board, or a window: the board as the agent that acts next sees it, or all boards."""
        if self.render_mode is None:
            return None
        if not self._boards[0].started:
            raise RuntimeError("call reset before render")
        if self.render_mode == "ansi":
            return "\n".join(board.session.text() for board in self._boards)
        if self.render_mode == "rgb_array":
            size = self.task.width, self.task.height
            return np.concatenate([board.session.pixels(*size) for board in self._boards], axis=1)
        if self._window is None:
            from puzzleport.window import Window

            self._window = Window(self.task.spec.title, self.metadata["render_fps"])
        self._window.show_row([board.session for board in self._boards])
        return None

    def _follow(self) -> None:
        """Show the present state where a window follows the game."""
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        """Free the native side and the window. Closing twice is fine."""
        for board in self._boards:
            board.close()
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}


class CoopEnv(MultiAgentPuzzle, AECEnv[str, Any, Any]):
    """Agents take turns on one board. An episode ends for all at once, and what an action pays goes to all alike."""

    name = "puzzleport_coop_v0"

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start the puzzle that the seed decides; without one, the next of the present stream.

        Options: ``{"game_id": ...}`` or ``{"params": ...}`` starts a given one, as long as observations keep their shape.
        """
        self._start(seed, options)
        self.agent_selection = self.agents[0]
        self._skip_agent_selection: str | None = None
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        # From the last to the first, so that the first has the turn.
        self.infos = {agent: self._info(agent) for agent in reversed(self.agents)}
        self._follow()

    def step(self, action: Any) -> None:  # noqa: ANN401 (PettingZoo's signature)
        """Take an action for the agent whose turn it is."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        paid = self._act(agent, action)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(self.agents, paid)
        self._accumulate_rewards()
        following = (self.agents.index(agent) + 1) % len(self.agents)
        self._cycles += following == 0
        self.agent_selection = self.agents[following]
        ended = self._boards[0].ended
        if ended or self._out_of_cycles():
            self.terminations = dict.fromkeys(self.agents, ended == 1)
            self.truncations = dict.fromkeys(self.agents, ended != 1)
            self.infos = {each: self._info(each) for each in self.agents}
        else:
            self.infos[self.agent_selection] = self._info(self.agent_selection)
        self._follow()


class CoopParallelEnv(MultiAgentPuzzle, ParallelEnv[str, Any, Any]):
    """The same with a step in which all agents act, one after the other in the order of ``possible_agents``.

    Every agent is paid the sum over the actions of the step. Actions that come after the end of the game are dropped.
    """

    name = "puzzleport_coop_v0"

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start the puzzle that the seed decides; without one, the next of the present stream (see ``CoopEnv.reset``)."""
        self._start(seed, options)
        return self._seen()

    def _seen(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        observations, infos = {}, {}
        for agent in self.agents:
            observations[agent], infos[agent] = self.observe(agent), self._info(agent)
        self._follow()
        return observations, infos

    def step(self, actions: dict[str, Any]) -> ParallelStep:
        """Take an action for each agent; an agent without one waits."""
        board, paid = self._boards[0], 0.0
        for agent, action in self._checked(actions).items():
            paid += self._act(agent, action)
            if board.ended:
                break
        self._cycles += 1
        over = board.ended == 1
        cut = not over and (board.ended == 2 or self._out_of_cycles())
        agents, (observations, infos) = self.agents, self._seen()
        if over or cut:
            self.agents = []
        every = dict.fromkeys
        return observations, every(agents, paid), every(agents, over), every(agents, cut), infos


class SoloEnv(CoopEnv):
    """One agent on one puzzle."""

    name = "puzzleport_solo_v0"

    def __init__(self, puzzle: str | pp.Task, params: str | None = None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(puzzle, params, **_for_one(options))


class SoloParallelEnv(CoopParallelEnv):
    """One agent on one puzzle, in the parallel form."""

    name = "puzzleport_solo_v0"

    def __init__(self, puzzle: str | pp.Task, params: str | None = None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(puzzle, params, **_for_one(options))


def _for_one(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a game of one agent, which has no choice of how many."""
    if "agents" in options:
        raise pp.UnknownOption("solo_v0 has one agent and no option 'agents'; coop_v0 and race_v0 have it")
    return {**options, "agents": 1}


class RaceParallelEnv(MultiAgentPuzzle, ParallelEnv[str, Any, Any]):
    """Agents solve the same instance, each on its own board; all act at once.

    When somebody solves it, the race is over: agents that solved it in this cycle are paid as solved, all others as
    failed. An agent that fails on its own, or is cut off by ``max_repeats``, drops out, and the others go on. An agent
    that waits is paid nothing.

    What is seen of the others says how far they came without giving anything away, neither their boards nor how near to
    the solution they are: ``others_moves``, how often each has changed its board (up to ``max_steps``), and
    ``others_status``, how each stands (0, or -1 for an agent that dropped out). The order is that of the agents from
    the next one on. Where ``observation`` is a Dict, these are two entries more; in ``"flat"`` they stand at the end of
    the vector; with all other kinds they stand beside ``observation``.
    """

    name = "puzzleport_race_v0"
    shared = False
    fewest_agents = 2

    # ---- what is seen of the others

    def _tree(self) -> dict[str, Tree]:
        others = (len(self.possible_agents) - 1,)
        moves = "how often each of the others has changed its board"
        status = "how each of the others stands: 1 solved, -1 failed, 0 neither"
        self._most_moves = self.task.max_steps or MAX_LIMIT
        fields = (
            pp.Field("others_moves", others, np.dtype(np.int32), 0, self._most_moves, moves, is_ui=False, offset=0),
            pp.Field("others_status", others, np.dtype(np.int8), -1, 1, status, is_ui=False, offset=0),
        )
        self._others_scaler = Scaler(fields)
        leaves = {field.name: Leaf(field.shape, field.dtype, field.low, field.high, field.name) for field in fields}
        tree = super()._tree()
        seen = tree["observation"]
        if isinstance(seen, dict):
            return {**tree, "observation": {**seen, **leaves}}
        if isinstance(self.task.encoder, Flat):
            return {**tree, "observation": seen._replace(shape=(self._vector_size(),))}
        return {**tree, **leaves}

    def _others(self, agent: str) -> dict[str, Array]:
        number = self.possible_agents.index(agent)
        others = [board.session for board in self._boards[number + 1 :] + self._boards[:number]]
        return {
            "others_moves": np.array([min(session.moves, self._most_moves) for session in others], np.int32),
            "others_status": np.array([session.status for session in others], np.int8),
        }

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent sees now."""
        result = super().observe(agent)
        seen, others = result["observation"], self._others(agent)
        if isinstance(seen, dict):
            return {**result, "observation": {**seen, **others}}
        if isinstance(self.task.encoder, Flat):
            return {**result, "observation": np.concatenate([seen, self._others_scaler(others)])}
        return {**result, **others}

    def _vector_size(self) -> int:
        return super()._vector_size() + len(self._others_scaler.low)

    def _vector(self, agent: str) -> Array:
        return np.concatenate([super()._vector(agent), self._others_scaler(self._others(agent))])

    # ---- play

    def _start(self, seed: int | None, options: dict[str, Any] | None) -> None:
        super()._start(seed, options)
        first, *rest = self._boards
        for board in rest:
            board.close()
        # The instance is generated once. A hook belongs to all boards, so it is not copied with them.
        kept = {id(each): each for each in (first.task, first.task.rewards)}
        self._boards = [first, *(copy.deepcopy(first, dict(kept)) for _ in self.possible_agents[1:])]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start the puzzle that the seed decides; without one, the next of the present stream (see ``CoopEnv.reset``)."""
        self._start(seed, options)
        self._follow()
        return {agent: self.observe(agent) for agent in self.agents}, {
            agent: self._info(agent) for agent in self.agents
        }

    def step(self, actions: dict[str, Any]) -> ParallelStep:
        """Take an action for each agent; an agent without one waits."""
        taken, racing = self._checked(actions), self.agents
        rewards = {agent: self._act(agent, taken[agent]) if agent in taken else 0.0 for agent in racing}
        self._cycles += 1
        boards = {agent: self._board(agent) for agent in racing}
        won = any(board.solved for board in boards.values())
        terminations, truncations = {}, {}
        for agent, board in boards.items():
            if won and board.ended != 1:
                rewards[agent] += self.task.rewards.failed
            terminations[agent] = won or board.ended == 1
            truncations[agent] = not terminations[agent] and (board.ended == 2 or self._out_of_cycles())
        observations = {agent: self.observe(agent) for agent in racing}
        infos = {agent: self._info(agent) for agent in racing}
        self.agents = [agent for agent in racing if not (terminations[agent] or truncations[agent])]
        self._follow()
        return observations, rewards, terminations, truncations, infos


def _race(puzzle: str | pp.Task, params: str | None = None, **options: Any) -> AECEnv[str, Any, Any]:  # noqa: ANN401
    """The race with agents that act one after the other; a cycle is one moment, and what it leads to is seen after it."""
    return parallel_to_aec(RaceParallelEnv(puzzle, params, **options))


class Constructors(NamedTuple):
    """What makes an environment, by PettingZoo's names. All take the arguments of ``MultiAgentPuzzle``."""

    raw_env: Callable[..., AECEnv[str, Any, Any]]
    parallel_env: Callable[..., ParallelEnv[str, Any, Any]]

    def env(self, puzzle: str | pp.Task, params: str | None = None, **options: Any) -> AECEnv[str, Any, Any]:  # noqa: ANN401
        """The AEC environment, in wrappers that say what is used wrongly."""
        raw = self.raw_env(puzzle, params, **options)
        return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(raw))


solo_v0 = Constructors(SoloEnv, SoloParallelEnv)
coop_v0 = Constructors(CoopEnv, CoopParallelEnv)
race_v0 = Constructors(_race, RaceParallelEnv)

for _name, _constructors in {"solo_v0": solo_v0, "coop_v0": coop_v0, "race_v0": race_v0}.items():
    pettingzoo.register("aec", f"puzzleport/{_name}", _constructors.env)
    pettingzoo.register("parallel", f"puzzleport/{_name}", _constructors.parallel_env)
