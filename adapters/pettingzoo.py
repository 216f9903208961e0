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

Importing this module also registers ``puzzleport/solo_v0``, ``puzzleport/coop_v0`` and ``puzzleport/race_v0`` for
``pettingzoo.make("aec", ...)`` and ``pettingzoo.make("parallel", ...)``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

import puzzleport as pp
from puzzleport.session import check_seed, check_size, episode_seed, parse_game_id, random_seed

try:
    import pettingzoo
    from gymnasium import spaces
    from pettingzoo.utils import wrappers
    from pettingzoo.utils.conversions import parallel_to_aec
    from pettingzoo.utils.env import AECEnv, ParallelEnv
except ImportError as error:
    raise ImportError("the PettingZoo adapter needs an extra: pip install 'puzzleport[pettingzoo]'") from error

Array = np.ndarray[Any, Any]
ObsType = Literal["flat", "state", "pixels"]
OBS_TYPES = ("flat", "state", "pixels")
RENDER_MODES = ("human", "rgb_array", "ansi")


class View:
    """What an agent sees: ``observation`` in one of three types beside its ``action_mask``, as in PettingZoo's classic games."""

    def __init__(
        self,
        fields: Sequence[pp.Field],
        extra: Sequence[pp.Field],
        n_actions: int,
        obs_type: ObsType,
        size: tuple[int, int],
    ) -> None:
        if obs_type not in OBS_TYPES:
            raise ValueError(f"obs_type is one of {', '.join(OBS_TYPES)}, not {obs_type!r}")
        self.fields, self.obs_type, self.size = (*fields, *extra), obs_type, check_size(*size)
        self._extra, self._n_actions = tuple(extra), n_actions
        counts = [int(np.prod(field.shape)) for field in self.fields]
        self._low = np.repeat([field.low for field in self.fields], counts).astype(np.float32)
        high = np.repeat([field.high for field in self.fields], counts).astype(np.float32)
        self._scale = (1.0 / np.maximum(high - self._low, 1.0)).astype(np.float32)

    def space(self) -> spaces.Dict:
        """A space of its own for one agent."""
        beside: dict[str, spaces.Space[Any]] = {}
        if self.obs_type == "flat":
            seen: spaces.Space[Any] = spaces.Box(0.0, 1.0, self._low.shape, np.float32)
        elif self.obs_type == "state":
            seen = spaces.Dict({field.name: _box(field) for field in self.fields})
        else:
            width, height = self.size
            seen = spaces.Box(0, 255, (height, width, 3), np.uint8)
            beside = {field.name: _box(field) for field in self._extra}
        return spaces.Dict(
            {"observation": seen, "action_mask": spaces.Box(0, 1, (self._n_actions,), np.int8), **beside}
        )

    def state_space(self, agents: int) -> spaces.Box:
        """The space of what all agents see, for centralised critics."""
        return spaces.Box(0.0, 1.0, (agents * len(self._low),), np.float32)

    def __call__(self, session: pp.Session, extra: dict[str, Array]) -> dict[str, Any]:
        """The observation of the session's present player."""
        mask = session.mask().view(np.int8)
        if self.obs_type == "flat":
            return {"observation": self.flat(session, extra), "action_mask": mask}
        if self.obs_type == "state":
            return {"observation": {**session.observe(), **extra}, "action_mask": mask}
        return {"observation": session.pixels(*self.size), "action_mask": mask, **extra}

    def flat(self, session: pp.Session, extra: dict[str, Array]) -> Array:
        """All fields as one vector, scaled to [0, 1] by their bounds."""
        views = {**session.observe(copy=False), **extra}
        items = np.concatenate([views[field.name].reshape(-1) for field in self.fields], dtype=np.float32)
        items -= self._low
        items *= self._scale
        return items


def _box(field: pp.Field) -> spaces.Box:
    return spaces.Box(field.low, field.high, field.shape, field.dtype.type)


class Table:
    """The agents, their boards and what each sees: what all environments of this module have in common.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default. ``"4x4#42"`` or ``"4x4:description"`` plays that one
            instance in every episode.
        agents: how many (not for ``solo_v0``).
        obs_type: what ``observation`` is: ``"flat"``, one vector scaled to [0, 1]; ``"state"``, a Dict of the puzzle's fields;
            ``"pixels"``, uint8 (H, W, 3).
        seed: of the stream of episodes that resets without a seed play; ``None`` draws one.
        undo: whether UNDO is in the action space, where the puzzle has it.
        max_cycles: after how many actions of each agent an episode is truncated.
        rewards: what is paid.
        render_mode: human, rgb_array or ansi.
        width: of pictures.
        height: of pictures.
        timeout: seconds that generating a puzzle may take.
    """

    name = ""
    shared = True
    """Whether the agents sit at one board."""
    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 10}  # noqa: RUF012 (PettingZoo's form)

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        *,
        agents: int = 2,
        obs_type: ObsType = "flat",
        seed: int | None = None,
        undo: bool = True,
        max_cycles: int = 10_000,
        rewards: pp.Rewards | None = None,
        render_mode: str | None = None,
        width: int = 128,
        height: int = 128,
        timeout: float = 60.0,
    ) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode is one of {', '.join(RENDER_MODES)}, not {render_mode!r}")
        if max_cycles < 1:
            raise ValueError(f"an episode has at least one cycle, not {max_cycles}")
        self.spec_of_puzzle = pp.spec(puzzle)
        self.render_mode, self.max_cycles = render_mode, max_cycles
        self._pay = rewards or pp.Rewards()
        self._fixed = None
        if params is not None and (":" in params or "#" in params):
            self._fixed = params
            params = parse_game_id(puzzle, params).params
        self.params = pp.canonical_params(puzzle, params)
        self._options: dict[str, Any] = {"undo": undo, "timeout": timeout, "players": agents if self.shared else 1}
        self._stream = random_seed() if seed is None else check_seed(seed)
        self._episode = -1
        self.action_names = self.spec_of_puzzle.actions[: self.spec_of_puzzle.n_actions(undo)]
        self._fields = self.spec_of_puzzle.fields(self.params)
        self._view = View(self._fields, self._extra_fields(agents), len(self.action_names), obs_type, (width, height))
        self.metadata = {**self.metadata, "name": self.name, "is_parallelizable": not self.shared or agents == 1}
        self.possible_agents = [f"player_{index}" for index in range(agents)]
        self.agents: list[str] = []
        self.observation_spaces: dict[str, spaces.Space[Any]] = {
            agent: self._view.space() for agent in self.possible_agents
        }
        self.action_spaces: dict[str, spaces.Space[Any]] = {
            agent: spaces.Discrete(len(self.action_names)) for agent in self.possible_agents
        }
        self.state_space = self._view.state_space(agents)
        self._boards: list[pp.Session] = []
        self._window: Any = None

    # ---- what the kinds of play differ in

    def _extra_fields(self, agents: int) -> tuple[pp.Field, ...]:
        """What an agent sees beside the board."""
        return ()

    def _extra(self, agent: str) -> dict[str, Array]:
        return {}

    # ---- play

    def _start(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Set up the boards of the puzzle that the seed decides, without one of the next in the stream."""
        if seed is not None:
            self._stream, self._episode = check_seed(seed), 0
        else:
            self._episode += 1
        game_id = (options or {}).get("game_id", self._fixed if seed is None else None)
        start: dict[str, Any] = {"params": self.params, "seed": episode_seed(self._stream, self._episode)}
        if game_id is not None:
            start = {"game_id": game_id}
            params = parse_game_id(self.spec_of_puzzle.name, game_id).params
            if self.spec_of_puzzle.fields(params) != self._fields:
                raise pp.InvalidParams(
                    f"{self.spec_of_puzzle.name}: {params} has other observations than {self.params}"
                )
        first = pp.Session(self.spec_of_puzzle.name, **start, **self._options)
        self._close_boards()
        self._boards = [first] if self.shared else [first, *(first.clone() for _ in self.possible_agents[1:])]
        self._game_id = first.game_id
        self.agents = self.possible_agents[:]
        self._cycles = 0

    def _board(self, agent: str) -> pp.Session:
        """The session that an agent plays on, with the turn given to it."""
        number = self.possible_agents.index(agent)
        if not self._boards:
            raise RuntimeError("call reset first")
        if not self.shared:
            return self._boards[number]
        self._boards[0].turn(number)
        return self._boards[0]

    def _act(self, agent: str, action: Any) -> tuple[pp.Status, Any, Any]:  # noqa: ANN401 (whatever is an integer)
        """Let an agent act: how its board stands, and its state before and after where a reward hook wants them."""
        board = self._board(agent)
        before = self._look(board)
        return board.step(action).status, before, self._look(board)

    def _look(self, board: pp.Session) -> Any:  # noqa: ANN401 (an observation or nothing)
        return None if self._pay.hook is None else board.observe()

    def _info(self, agent: str, over: bool = False) -> dict[str, Any]:
        board = self._board(agent)
        info = {"action_mask": board.mask().view(np.int8), "game_id": self._game_id, "state_repeats": board.repeats}
        if over:
            info["is_success"] = board.status == pp.Status.SOLVED
        return info

    # ---- what both of PettingZoo's interfaces have

    def observe(self, agent: str) -> dict[str, Any]:
        """What an agent sees now. The mask is exact: the actions that would change the game or this agent's cursor."""
        return self._view(self._board(agent), self._extra(agent))

    def state(self) -> Array:
        """What all agents see, as one vector."""
        return np.concatenate(
            [self._view.flat(self._board(agent), self._extra(agent)) for agent in self.possible_agents]
        )

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's actions."""
        return self.action_spaces[agent]

    def render(self) -> Any:  # noqa: ANN401 (depends on the mode)
        """A picture, the text board, or a window: the board with the cursor of who is to move, or all boards in a row."""
        if self.render_mode is None:
            return None
        if not self._boards:
            raise RuntimeError("call reset before render")
        if self.render_mode == "ansi":
            return "\n".join(board.text() for board in self._boards)
        picture = np.concatenate([board.pixels(*self._view.size) for board in self._boards], axis=1)
        if self.render_mode == "rgb_array":
            return picture
        if self._window is None:
            from puzzleport.window import Window

            self._window = Window(self.spec_of_puzzle.title, self.metadata["render_fps"])
        self._window.show(picture)
        return None

    def close(self) -> None:
        """Free the native side and the window. Closing twice is fine."""
        self._close_boards()
        if self._window is not None:
            self._window.close()
            self._window = None

    def _close_boards(self) -> None:
        for board in self._boards:
            board.close()
        self._boards = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        twin = self.__class__.__new__(self.__class__)
        twin.__dict__.update(copy.deepcopy(self.__getstate__(), memo))
        return twin


class CoopEnv(Table, AECEnv[str, Any, Any]):
    """Agents take turns on one board; an episode ends for all at once, and every action is paid to all alike."""

    name = "puzzleport_coop_v0"

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start the puzzle that the seed decides; without one, the next of the present stream.

        The option ``game_id`` starts a given one, as long as observations keep their shape.
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
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:  # noqa: ANN401 (PettingZoo's signature)
        """Take an action for the agent whose turn it is."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        status, before, after = self._act(agent, action)
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(self.agents, self._pay(status, before, after))
        self._accumulate_rewards()
        following = (self.agents.index(agent) + 1) % len(self.agents)
        self._cycles += following == 0
        self.agent_selection = self.agents[following]
        over = status != pp.Status.ONGOING
        cut = not over and self._cycles >= self.max_cycles
        if over or cut:
            self.terminations = dict.fromkeys(self.agents, over)
            self.truncations = dict.fromkeys(self.agents, cut)
            self.infos = {each: self._info(each, over=True) for each in self.agents}
        else:
            self.infos[self.agent_selection] = self._info(self.agent_selection)
        if self.render_mode == "human":
            self.render()


class CoopParallelEnv(Table, ParallelEnv[str, Any, Any]):
    """The same with a step in which all agents act, one after the other. What stands behind the end of the game is dropped."""

    name = "puzzleport_coop_v0"

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start the puzzle that the seed decides; without one, the next of the present stream (see ``CoopEnv.reset``)."""
        self._start(seed, options)
        return self._seen(), {agent: self._info(agent) for agent in self.agents}

    def _seen(self) -> dict[str, Any]:
        observations = {agent: self.observe(agent) for agent in self.agents}
        if self.render_mode == "human":
            self.render()
        return observations

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Take an action for each agent; who gives none waits."""
        paid, status = 0.0, pp.Status.ONGOING
        for agent in self.agents:
            if agent in actions and status == pp.Status.ONGOING:
                status, before, after = self._act(agent, actions[agent])
                paid += self._pay(status, before, after)
        self._cycles += 1
        over = status != pp.Status.ONGOING
        cut = not over and self._cycles >= self.max_cycles
        agents, observations = self.agents, self._seen()
        infos = {agent: self._info(agent, over or cut) for agent in agents}
        if over or cut:
            self.agents = []
        every = dict.fromkeys
        return observations, every(agents, paid), every(agents, over), every(agents, cut), infos


class SoloEnv(CoopEnv):
    """One agent on one puzzle."""

    name = "puzzleport_solo_v0"

    def __init__(self, puzzle: str, params: str | None = None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(puzzle, params, agents=1, **options)


class SoloParallelEnv(CoopParallelEnv):
    """One agent on one puzzle, in the parallel form."""

    name = "puzzleport_solo_v0"

    def __init__(self, puzzle: str, params: str | None = None, **options: Any) -> None:  # noqa: ANN401
        super().__init__(puzzle, params, agents=1, **options)


class RaceParallelEnv(Table, ParallelEnv[str, Any, Any]):
    """Agents solve the same instance, each on its own board; all act at once.

    When somebody solves it, the race is over: who solved it in this cycle is paid as solved, everybody else as failed. Who
    fails on its own drops out, and the others go on.

    What is seen of the others says how far they came without giving anything away, neither their boards nor how near to the
    solution they are: ``others_moves``, how often each has changed its board (up to ``max_cycles``), and ``others_status``, how
    each stands (0, or -1 for who dropped out). The order is that of the agents from the next one on. In ``"flat"`` and
    ``"state"`` this is part of the observation, with ``"pixels"`` it stands beside it.
    """

    name = "puzzleport_race_v0"
    shared = False

    def __init__(self, puzzle: str, params: str | None = None, *, agents: int = 2, **options: Any) -> None:  # noqa: ANN401
        if agents < 2:
            raise ValueError(f"it takes at least two for a race, not {agents}")
        super().__init__(puzzle, params, agents=agents, **options)

    def _extra_fields(self, agents: int) -> tuple[pp.Field, ...]:
        others = (agents - 1,)
        moves = "how often each of the others has changed its board"
        status = "how each of the others stands: 1 solved, -1 failed, 0 neither"
        self._most_moves = self.max_cycles
        return (
            pp.Field("others_moves", others, np.dtype(np.int32), 0, self._most_moves, moves, is_ui=False, offset=0),
            pp.Field("others_status", others, np.dtype(np.int8), -1, 1, status, is_ui=False, offset=0),
        )

    def _extra(self, agent: str) -> dict[str, Array]:
        number = self.possible_agents.index(agent)
        others = self._boards[number + 1 :] + self._boards[:number]
        return {
            "others_moves": np.array([min(board.moves, self._most_moves) for board in others], np.int32),
            "others_status": np.array([board.status for board in others], np.int8),
        }

    def _wait(self, agent: str) -> tuple[pp.Status, Any, Any]:
        state = self._look(self._board(agent))
        return pp.Status.ONGOING, state, state

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Start the puzzle that the seed decides; without one, the next of the present stream (see ``CoopEnv.reset``)."""
        self._start(seed, options)
        if self.render_mode == "human":
            self.render()
        return {agent: self.observe(agent) for agent in self.agents}, {
            agent: self._info(agent) for agent in self.agents
        }

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Take an action for each agent; who gives none waits."""
        turns = {
            agent: self._act(agent, actions[agent]) if agent in actions else self._wait(agent) for agent in self.agents
        }
        self._cycles += 1
        won = any(status == pp.Status.SOLVED for status, _, _ in turns.values())
        rewards, terminations, truncations = {}, {}, {}
        for agent, (status, before, after) in turns.items():
            verdict = pp.Status.FAILED if won and status != pp.Status.SOLVED else status
            rewards[agent] = self._pay(verdict, before, after)
            terminations[agent] = verdict != pp.Status.ONGOING
            truncations[agent] = not terminations[agent] and self._cycles >= self.max_cycles
        observations = {agent: self.observe(agent) for agent in turns}
        infos = {agent: self._info(agent, terminations[agent] or truncations[agent]) for agent in turns}
        self.agents = [agent for agent in turns if not (terminations[agent] or truncations[agent])]
        if self.render_mode == "human":
            self.render()
        return observations, rewards, terminations, truncations, infos


def _race(puzzle: str, params: str | None = None, **options: Any) -> AECEnv[str, Any, Any]:  # noqa: ANN401
    """The race with agents that act one after the other; a cycle is one moment, and what it leads to is seen after it."""
    return parallel_to_aec(RaceParallelEnv(puzzle, params, **options))


class Version(NamedTuple):
    """An environment's three constructors, by PettingZoo's names. All take the arguments of ``Table``."""

    raw_env: Callable[..., AECEnv[str, Any, Any]]
    parallel_env: Callable[..., ParallelEnv[str, Any, Any]]

    def env(self, puzzle: str, params: str | None = None, **options: Any) -> AECEnv[str, Any, Any]:  # noqa: ANN401
        """The AEC environment, in wrappers that say what is used wrongly."""
        raw = self.raw_env(puzzle, params, **options)
        return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(raw))


solo_v0 = Version(SoloEnv, SoloParallelEnv)
coop_v0 = Version(CoopEnv, CoopParallelEnv)
race_v0 = Version(_race, RaceParallelEnv)

for _name, _version in {"solo_v0": solo_v0, "coop_v0": coop_v0, "race_v0": race_v0}.items():
    pettingzoo.register("aec", f"puzzleport/{_name}", _version.env)
    pettingzoo.register("parallel", f"puzzleport/{_name}", _version.parallel_env)
