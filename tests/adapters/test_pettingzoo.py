from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pettingzoo
import pytest
from gymnasium.utils.env_checker import data_equivalence
from pettingzoo.test import (
    api_test,
    max_cycles_test,
    parallel_api_test,
    parallel_seed_test,
    render_test,
    seed_test,
    state_test,
)

import puzzleport as pp
from puzzleport.adapters import pettingzoo as adapter
from puzzleport.adapters.pettingzoo import coop_v0, race_v0, solo_v0

from ..conftest import same

VERSIONS = {"solo_v0": solo_v0, "coop_v0": coop_v0, "race_v0": race_v0}

# What PettingZoo says of every environment with a Dict observation that is not one of its own.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be"),
]


@pytest.fixture(params=VERSIONS)
def version(request):
    return VERSIONS[request.param]


def easiest(puzzle: str) -> tuple[str, str]:
    return puzzle, pp.spec(puzzle).easiest_params


def seeded(constructor, *args, **options):
    """An environment whose puzzles, and whose agents' random actions, are the same in every run."""
    env = constructor(*args, seed=1, **{"undo": True, **options})
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(number)
    return env


def act(env, agent, random) -> int:
    return int(random.choice(np.flatnonzero(env.observe(agent)["action_mask"])))


def state_of(*args, **options) -> dict[str, np.ndarray]:
    """The fields of a new session as environments show them: a single number is a vector of one."""
    return {name: np.atleast_1d(values) for name, values in pp.Session(*args, **options).observe().items()}


# ---- PettingZoo's own tests, on all puzzles


@pytest.mark.parametrize("observation", ["flat", "state"])  # the other kinds: see every_kind below
def test_api(version, puzzle, observation):
    constructor = version.raw_env if observation == "state" else version.env
    env = seeded(constructor, *easiest(puzzle), observation=observation, render_mode="rgb_array")
    api_test(env, num_cycles=50)
    env.close()


@pytest.mark.parametrize("observation", ["flat", "state"])  # the other kinds: see every_kind below
def test_parallel_api(version, puzzle, observation):
    env = seeded(version.parallel_env, *easiest(puzzle), observation=observation)
    parallel_api_test(env, num_cycles=50)
    env.close()


def test_seeds(version, puzzle):
    seed_test(partial(version.env, *easiest(puzzle), undo=True), num_cycles=60)
    parallel_seed_test(partial(version.parallel_env, *easiest(puzzle), undo=True), num_cycles=60)


def every_kind():
    """All kinds of observation, each with puzzles of which it can be made."""
    return [
        pytest.param(kind, puzzle, id=f"{kind}-{puzzle}")
        for kind in sorted(pp.encode.KINDS)
        for puzzle in ("fifteen", "mines", "net", "untangle")
        if kind != "graph" or puzzle in {"net", "untangle"}
    ]


@pytest.mark.parametrize(("kind", "game"), every_kind())
def test_every_kind_of_observation_passes_all_checks(version, kind, game):
    options = {"observation": kind, "width": 48, "height": 48}
    for constructor in (version.env, version.raw_env):
        env = seeded(constructor, *easiest(game), **options)
        if kind != "text":  # PettingZoo's test asks every observation for its dtype, which a string does not have
            api_test(env, num_cycles=30)
        env.reset(seed=6)
        for agent in env.agent_iter(60):
            observation, _, terminated, truncated, _ = env.last()
            assert env.observation_space(agent).contains(observation)
            over = terminated or truncated
            env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
        env.close()
    env = seeded(version.parallel_env, *easiest(game), **options)
    parallel_api_test(env, num_cycles=30)
    observations, _ = env.reset(seed=5)
    assert all(env.observation_space(agent).contains(observations[agent]) for agent in env.agents)
    assert env.state_space.contains(env.state())
    env.close()
    seed_test(partial(version.env, *easiest(game), **options), num_cycles=30)
    parallel_seed_test(partial(version.parallel_env, *easiest(game), **options), num_cycles=30)


def test_render(version, puzzle, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(adapter.MultiAgentPuzzle.metadata, "render_fps", 1000)
    render_test(partial(seeded, version.env, *easiest(puzzle)), {"ansi": lambda text: len(text) > 1})


def test_max_cycles(version, puzzle):
    # At the default parameters, where four keys at random solve nothing.
    module = SimpleNamespace(
        env=partial(seeded, version.env, puzzle), parallel_env=partial(seeded, version.parallel_env, puzzle)
    )
    max_cycles_test(module)


def test_state(version):
    env = version.env("net", "2x2")
    state_test(env, version.parallel_env("net", "2x2"))
    env.reset(seed=1)
    assert env.state_space.contains(env.state())
    env.close()


# ---- what the environments promise


def test_they_are_registered_with_pettingzoo():
    for name, version in VERSIONS.items():
        env = pettingzoo.make("aec", f"puzzleport/{name}", puzzle="net", params="2x2")
        assert str(env.unwrapped) == f"puzzleport_{name}"
        env.close()
        env = pettingzoo.make("parallel", f"puzzleport/{name}", puzzle="net", params="2x2", max_cycles=3)
        assert isinstance(env, version.parallel_env)
        assert env.max_cycles == 3
        env.close()


def test_masks_are_exact_and_int8(version, puzzle):
    env = version.parallel_env(*easiest(puzzle), seed=3, undo=True)
    random = np.random.default_rng(0)
    observations, infos = env.reset()
    for _ in range(12):
        for agent in env.agents:
            mask = observations[agent]["action_mask"]
            assert mask.dtype == np.int8
            assert np.array_equal(mask, infos[agent]["action_mask"])
            for action in range(len(mask)):
                twin = env._board(agent).session.clone()
                assert twin.step(action).changed == bool(mask[action])
        actions = {
            agent: int(random.choice(np.flatnonzero(observations[agent]["action_mask"]))) for agent in env.agents[:1]
        }
        observations, _, _, _, infos = env.step(actions)
        if not env.agents:
            observations, infos = env.reset()
    env.close()


def test_the_seed_decides_the_puzzle(version):
    env = version.env("bridges", "4x4")
    seen = []
    for seed in (3, 4, 3):
        env.reset(seed=seed)
        first = env.infos["agent_0"]
        assert pp.Session("bridges", game_id=first["game_id"]).desc == pp.Session("bridges", "4x4", seed=seed).desc
        assert same(first["puzzle_state"], state_of("bridges", "4x4", seed=seed))
        env.reset()
        seen.append(env.infos["agent_0"]["game_id"])
    assert seen[0] == seen[2] != seen[1]
    wanted = pp.Session("bridges", "4x4", seed=99).game_id
    env.reset(options={"game_id": wanted})
    assert env.infos["agent_0"]["game_id"] == wanted
    with pytest.raises(pp.InvalidParams, match="other observations"):
        env.reset(options={"game_id": "5x5#1"})
    env.close()


@pytest.mark.parametrize("named", ["4x4#42", "described"])
def test_parameters_that_name_an_instance_hold_whatever_the_seed(version, named):
    wanted = pp.Session("bridges", "4x4", seed=42)
    game_id = named if "#" in named else wanted.game_id
    assert "#" in named or ":" in game_id
    env = version.parallel_env("bridges", game_id, seed=5)
    for seed in (None, None, 1, 2, None):
        _, infos = env.reset(seed=seed)
        for info in infos.values():
            assert same(info["puzzle_state"], state_of("bridges", "4x4", seed=42))
            assert pp.Session("bridges", game_id=info["game_id"]).desc == wanted.desc
    env.close()


def test_without_a_seed_one_is_drawn(version):
    games = set()
    for _ in range(2):
        env = version.parallel_env("bridges", "7x7")
        games.add(env.reset()[1]["agent_0"]["game_id"])
        env.close()
    assert len(games) == 2


def test_a_reset_forgets_what_was_played(version, puzzle):
    random = np.random.default_rng(0)
    env, fresh = (version.parallel_env(*easiest(puzzle)) for _ in range(2))
    env.reset(seed=1)
    for _ in range(10):
        if env.agents:
            env.step({agent: act(env, agent, random) for agent in env.agents})
    a, b = env.reset(seed=9), fresh.reset(seed=9)
    assert data_equivalence(a, b)
    assert np.array_equal(env.state(), fresh.state())
    env.close()
    fresh.close()


def test_a_solo_agent_plays_what_a_session_plays(puzzle):
    env = solo_v0.env(*easiest(puzzle), undo=True)
    env.reset(seed=11)
    session = pp.Session(*easiest(puzzle), seed=11, undo=True)
    random = np.random.default_rng(1)
    for agent in env.agent_iter(40):
        observation, reward, terminated, _, _ = env.last()
        for name, values in session.observe().items():
            assert np.array_equal(observation["observation"][name], np.atleast_1d(values))
        assert reward == float(session.status)
        if terminated:
            break
        action = act(env, agent, random)
        env.step(action)
        session.step(action)
    env.close()


def solved_by(session: pp.Session) -> int | None:
    """The action that solves this game at once, if one does."""
    for action in np.flatnonzero(session.mask()):
        if session.clone().step(int(action)).status == pp.Status.SOLVED:
            return int(action)
    return None


def test_each_has_a_cursor_of_its_own_on_the_one_board():
    env = coop_v0.env("lightup", "4x4", agents=3)
    env.reset(seed=1)
    names = env.unwrapped.action_names
    fields = pp.spec("lightup").fields("4x4")

    def cursor(agent):
        return [env.observe(agent)["observation"][field.name].tolist() for field in fields if field.is_ui]

    def board(agent):
        return [env.observe(agent)["observation"][field.name].tolist() for field in fields if not field.is_ui]

    start, empty = cursor("agent_0"), board("agent_0")
    env.step(names.index("RIGHT"))
    assert env.agent_selection == "agent_1"
    moved = cursor("agent_0")
    assert moved != start
    assert cursor("agent_1") == cursor("agent_2") == start
    env.step(names.index("SELECT"))
    assert cursor("agent_0") == moved
    assert cursor("agent_1") == cursor("agent_2") == start
    assert board("agent_0") == board("agent_1") == board("agent_2") != empty
    env.close()


def test_a_common_success_is_paid_to_all_at_once():
    for parallel in (False, True):
        session = pp.Session("fifteen", "2x2", seed=2)
        random = np.random.default_rng(0)
        env = (coop_v0.parallel_env if parallel else coop_v0.env)("fifteen", "2x2", agents=3)
        env.reset(seed=2)
        agents = env.agents[:]
        paid = []
        while env.agents:
            last = solved_by(session)
            action = last if last is not None else int(random.choice(np.flatnonzero(session.mask())))
            if parallel:
                # The second agent acts; the third would spoil the solution if it were still asked.
                session.step(action)
                third = action ^ 1 if last is not None else None
                actions = {agents[1]: action} if third is None else {agents[1]: action, agents[2]: third}
                _, rewards, terminations, truncations, infos = env.step(actions)
            else:
                session.step(action)
                env.step(action)
                rewards, terminations = dict(env.rewards), dict(env.terminations)
                truncations, infos = dict(env.truncations), dict(env.infos)
                while env.agents and any(env.terminations.values()):
                    env.step(None)
            paid.append(rewards)
            assert not any(truncations.values())
        assert session.status == pp.Status.SOLVED
        assert paid[-1] == dict.fromkeys(agents, 1.0)
        assert all(rewards == dict.fromkeys(agents, 0.0) for rewards in paid[:-1])
        assert terminations == dict.fromkeys(agents, True)
        assert all(info["is_success"] for info in infos.values())
        env.close()


def test_the_first_to_solve_wins_the_race():
    for winner in range(3):
        env = race_v0.parallel_env("fifteen", "2x2", agents=3)
        env.reset(seed=7)
        agents = env.agents[:]
        session = pp.Session("fifteen", "2x2", seed=7)
        random = np.random.default_rng(0)
        while env.agents:
            last = solved_by(session)
            action = last if last is not None else int(random.choice(np.flatnonzero(session.mask())))
            session.step(action)
            observations, rewards, terminations, _, infos = env.step({agents[winner]: action})
            other = observations[agents[winner - 1]]["observation"]
            assert list(other["others_moves"]) == [session.moves, 0]
            assert list(other["others_status"]) == [int(session.status), 0]
            assert list(observations[agents[winner]]["observation"]["others_moves"]) == [0, 0]
            start = state_of("fifteen", "2x2", seed=7)
            assert all(np.array_equal(other[name], start[name]) for name in start)
        assert rewards == {agent: 1.0 if agent == agents[winner] else -1.0 for agent in agents}
        assert all(terminations.values())
        assert [infos[agent]["is_success"] for agent in agents] == [agent == agents[winner] for agent in agents]
        env.close()


def test_all_who_solve_in_the_same_cycle_win():
    results = []
    for parallel in (True, False):
        env = (race_v0.parallel_env if parallel else race_v0.env)("fifteen", "2x2", agents=2)
        env.reset(seed=7)
        agents = env.agents[:]
        session = pp.Session("fifteen", "2x2", seed=7)
        random = np.random.default_rng(0)
        while session.status == pp.Status.ONGOING:
            last = solved_by(session)
            action = last if last is not None else int(random.choice(np.flatnonzero(session.mask())))
            session.step(action)
            if parallel:
                _, rewards, terminations, _, _ = env.step(dict.fromkeys(agents, action))
            else:
                env.step(action)
                env.step(action)
                rewards, terminations = dict(env.rewards), dict(env.terminations)
        results.append((rewards, terminations))
        env.close()
    assert results[0] == results[1] == (dict.fromkeys(agents, 1.0), dict.fromkeys(agents, True))


def test_who_fails_drops_out_of_the_race_and_the_others_go_on():
    # Without UNDO, a mine is the end of it.
    env = race_v0.parallel_env("mines", agents=3)
    random = np.random.default_rng(0)
    env.reset(seed=1)
    rewards = {}
    while len(env.agents) == 3:
        observations, rewards, terminations, _, infos = env.step({"agent_1": act(env, "agent_1", random)})
    assert env.agents == ["agent_0", "agent_2"]
    assert rewards == {"agent_0": 0.0, "agent_1": -1.0, "agent_2": 0.0}
    assert terminations["agent_1"]
    assert infos["agent_1"]["is_success"] is False
    observations, rewards, *_ = env.step({"agent_0": 0, "agent_2": 0})
    assert list(rewards) == ["agent_0", "agent_2"]
    assert list(observations["agent_0"]["observation"]["others_status"]) == [-1, 0]
    env.close()


def test_reward_hooks_see_the_states():
    hook = lambda before, after: float(not np.array_equal(before["tiles"], after["tiles"]))  # noqa: E731
    for version in VERSIONS.values():
        env = version.env("fifteen", "3x3", rewards=pp.Rewards(hook=hook, step=-0.5))
        env.reset(seed=1)
        agents = env.agents[:]
        for agent in agents:
            env.step(int(np.flatnonzero(env.observe(agent)["action_mask"])[0]))
        assert set(env.rewards.values()) == {0.5}
        env.close()


class Ledger:
    """A plain account of one board: what each action of each player ought to pay, by the words of ``pp.Rewards``."""

    def __init__(self, rewards: pp.Rewards, session: pp.Session) -> None:
        self.rewards, self.session = rewards, session

    def act(self, player: int, action: int) -> float:
        rewards, session = self.rewards, self.session
        if session.players > 1:
            session.turn(player)
        before, errors = session.observe(), self.errors()
        step = session.step(action)
        paid = rewards.step + (0.0 if step.changed else rewards.no_effect)
        paid += {1: rewards.solved, -1: rewards.failed, 0: 0.0}[int(step.status)]
        paid += rewards.errors * (self.errors() - errors)
        return paid + travelled(before, session.observe())

    def errors(self) -> int:
        now = self.session.observe()
        return sum(int(np.count_nonzero(now[name])) for name in now if "errors" in name.split("_"))


def travelled(before, after) -> float:
    """How far the cursor moved: a hook that tells whose cursor it was shown."""
    return 0.25 * sum(abs(int(after[name]) - int(before[name])) for name in ("cursor_x", "cursor_y"))


class Counted:
    """A hook that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, before, after) -> float:
        self.calls += 1
        return travelled(before, after)


def pay_of_everything(puzzle: str) -> pp.Rewards:
    errors = 0.0 if puzzle == "mines" else -2.0  # Mines has failures instead
    return pp.Rewards(solved=8.0, failed=-4.0, step=-0.125, no_effect=-0.5, errors=errors, hook=Counted())


PAID = [("slant", "2x2"), ("bridges", "4x4"), ("tracks", "4x4"), ("mines", "9x9n10")]


@pytest.mark.parametrize("game", PAID, ids=lambda game: game[0])
def test_an_action_on_a_shared_board_is_paid_once_and_to_all_alike(game):
    rewards = pay_of_everything(game[0])
    env = coop_v0.env(*game, agents=3, rewards=rewards, undo=True, max_steps=400)
    env.reset(seed=4)
    agents = env.agents[:]
    ledger = Ledger(rewards, pp.Session(*game, seed=4, undo=True, players=3))
    random, owed, total = np.random.default_rng(0), dict.fromkeys(agents, 0.0), 0.0
    for count, agent in enumerate(env.agent_iter(), start=1):
        _, reward, terminated, truncated, _ = env.last()
        assert reward == pytest.approx(owed[agent])
        if terminated or truncated:
            break
        action = int(random.integers(env.action_space(agent).n))
        paid = ledger.act(agents.index(agent), action)
        env.step(action)
        assert env.rewards == pytest.approx(dict.fromkeys(agents, paid))
        assert rewards.hook.calls == count
        owed[agent] = 0.0
        owed = {each: value + paid for each, value in owed.items()}
        total += paid
    assert total != pytest.approx(-0.125 * count)  # something else than steps was paid
    env.close()


@pytest.mark.parametrize("game", PAID, ids=lambda game: game[0])
def test_a_parallel_step_on_a_shared_board_pays_the_sum_of_its_actions(game):
    rewards = pay_of_everything(game[0])
    env = coop_v0.parallel_env(*game, agents=3, rewards=rewards, max_steps=400)
    env.reset(seed=4)
    agents = env.agents[:]
    ledger = Ledger(rewards, pp.Session(*game, seed=4, players=3))
    random, taken = np.random.default_rng(0), 0
    while env.agents:
        # Some wait, and the order of the dict is not that of the agents.
        acting = [agent for agent in reversed(agents) if random.random() < 0.7]
        actions = {agent: int(random.integers(env.action_space(agent).n)) for agent in acting}
        owed = 0.0
        for number, agent in enumerate(agents):
            if agent in actions and ledger.session.status == pp.Status.ONGOING:
                owed += ledger.act(number, actions[agent])
                taken += 1
        _, paid, _, _, _ = env.step(actions)
        assert paid == pytest.approx(dict.fromkeys(agents, owed))
        assert rewards.hook.calls == taken
    env.close()


def test_a_solution_is_paid_once_whoever_finds_it(version):
    # The way from the start to the solution pays 10 in all, bit by bit; only who acts in a race earns it.
    env = version.parallel_env("fifteen", "3x3", rewards=pp.Rewards(solved=1.0, solution=10.0))
    env.reset(seed=1)
    agents, earned = env.agents[:], {}
    for action in pp.Session("fifteen", "3x3", seed=1).plan():
        _, rewards, _, _, _ = env.step({agents[0]: action})
        earned = {agent: earned.get(agent, 0.0) + reward for agent, reward in rewards.items()}
    assert not env.agents
    first, *others = earned.values()
    assert first == pytest.approx(11.0)
    assert others == pytest.approx({"coop": [11.0], "race": [-1.0], "solo": []}[env.metadata["name"].split("_")[1]])
    env.close()


@pytest.mark.parametrize("game", PAID, ids=lambda game: game[0])
def test_in_a_race_each_is_paid_for_its_own_actions(game):
    rewards = pay_of_everything(game[0])
    env = race_v0.parallel_env(*game, agents=3, rewards=rewards, max_steps=400)
    env.reset(seed=4)
    ledgers = {agent: Ledger(rewards, pp.Session(*game, seed=4)) for agent in env.agents}
    random, taken = np.random.default_rng(0), 0
    while env.agents:
        agents = env.agents
        actions = {agent: int(random.integers(env.action_space(agent).n)) for agent in agents if random.random() < 0.7}
        owed = {agent: ledgers[agent].act(0, actions[agent]) if agent in actions else 0.0 for agent in agents}
        taken += len(actions)
        if any(ledger.session.status == pp.Status.SOLVED for ledger in ledgers.values()):
            for agent in agents:
                owed[agent] += rewards.failed if ledgers[agent].session.status == pp.Status.ONGOING else 0.0
        _, paid, _, _, _ = env.step(actions)
        assert paid == pytest.approx(owed)
        # One hook serves all boards: it is not copied with them.
        assert rewards.hook.calls == taken
    env.close()


INFO_KEYS = ["action_mask", "game_id", "is_success", "puzzle_state", "state_repeats"]


@pytest.mark.parametrize("kind", ["state", "flat"])
def test_every_info_has_the_same_keys(version, puzzle, kind):
    random = np.random.default_rng(0)
    env = version.env(*easiest(puzzle), observation=kind, max_steps=15)
    env.reset(seed=1)
    for agent in env.agent_iter():
        *_, terminated, truncated, info = env.last()
        assert sorted(info) == INFO_KEYS
        board = env.observe(agent)
        assert isinstance(info["is_success"], bool)
        assert np.array_equal(info["action_mask"], board["action_mask"])
        if kind == "state":
            assert all(
                np.array_equal(info["puzzle_state"][name], board["observation"][name]) for name in info["puzzle_state"]
            )
        env.step(None if terminated or truncated else act(env, agent, random))
    env.close()
    env = version.parallel_env(*easiest(puzzle), observation=kind, max_steps=15)
    _, infos = env.reset(seed=1)
    while env.agents:
        assert all(sorted(info) == INFO_KEYS for info in infos.values())
        assert list(infos) == env.agents
        *_, infos = env.step({agent: act(env, agent, random) for agent in env.agents})
    assert all(sorted(info) == INFO_KEYS for info in infos.values())
    env.close()


def test_options_have_the_names_and_defaults_of_a_task(version):
    env = version.parallel_env("net", "2x2")
    assert env.task == pp.Task("net", "2x2")
    assert "UNDO" not in env.action_names
    env.close()
    options = {"seed": 3, "undo": True, "max_steps": 7, "max_repeats": 2, "width": 60, "height": 50, "timeout": 9.0}
    env = version.parallel_env("net", "2x2", observation="both", **options)
    assert env.task == pp.Task("net", "2x2", observation="both", **options)
    assert env.observation_space("agent_0")["observation"]["pixels"].shape == (50, 60, 3)
    env.close()
    task = pp.Task("net", "2x2", observation="flat")
    env = version.parallel_env(task, max_cycles=9)
    assert env.task == pp.Task("net", "2x2", observation="flat", max_steps=9)
    env.close()


def test_the_step_limit_counts_the_actions_of_each_agent(version):
    for word in ("max_steps", "max_cycles"):
        env = version.env("net", "5x5", **{word: 4})
        env.reset(seed=1)
        steps = dict.fromkeys(env.agents, 0)
        for agent in env.agent_iter():
            *_, terminated, truncated, info = env.last()
            assert not terminated
            assert not info["is_success"]
            steps[agent] += not truncated
            env.step(None if truncated else 0)
        assert set(steps.values()) == {4}
        env.close()
    env = version.parallel_env("net", "5x5", max_steps=0)
    env.reset(seed=1)
    for _ in range(10_050):
        env.step({})
    assert env.agents == env.possible_agents
    assert env.observation_space("agent_0").contains(env.observe("agent_0"))
    env.close()


def test_states_that_repeat_end_an_episode():
    names = pp.spec("net").actions
    there_and_back = [names.index("LEFT"), names.index("RIGHT")]
    for version in (solo_v0, coop_v0):
        env = version.parallel_env("net", "5x5", max_repeats=2)
        env.reset(seed=1)
        for count in range(20):
            *_, truncations, infos = env.step({"agent_0": there_and_back[count % 2]})
            repeats = infos["agent_0"]["state_repeats"]
            assert all(truncations.values()) == (repeats >= 2) == (not env.agents)
            if not env.agents:
                break
        assert not env.agents
        env.close()
    # Who only walks to and fro drops out of the race; the others go on.
    env = race_v0.parallel_env("net", "5x5", agents=3, max_repeats=2)
    env.reset(seed=1)
    for count in range(20):
        *_, truncations, _ = env.step({"agent_1": there_and_back[count % 2]})
        if len(env.agents) < 3:
            break
    assert env.agents == ["agent_0", "agent_2"]
    assert truncations == {"agent_0": False, "agent_1": True, "agent_2": False}
    env.close()


def test_the_common_state_is_what_each_agent_sees_in_one_vector(puzzle):
    random = np.random.default_rng(0)
    envs = [
        version.parallel_env(*easiest(puzzle), observation=kind)
        for version in VERSIONS.values()
        for kind in ("flat", "state")
    ]
    for flat, other in zip(envs[::2], envs[1::2], strict=True):
        flat.reset(seed=2)
        other.reset(seed=2)
        for _ in range(8):
            if not flat.agents:
                break
            actions = {agent: act(flat, agent, random) for agent in flat.agents}
            flat.step(actions)
            other.step(actions)
            seen = np.concatenate([flat.observe(agent)["observation"] for agent in flat.possible_agents])
            assert np.array_equal(flat.state(), seen)
            assert np.array_equal(other.state(), seen)
        flat.close()
        other.close()


def test_what_is_seen_of_the_others_stands_where_the_kind_has_room():
    for kind in sorted(pp.encode.KINDS):
        env = race_v0.parallel_env("net", "2x2", agents=3, observation=kind, max_steps=100)
        alone = solo_v0.parallel_env("net", "2x2", observation=kind, max_steps=100)
        observations, _ = env.reset(seed=1)
        plain = alone.reset(seed=1)[0]["agent_0"]["observation"]
        observations, *_ = env.step({"agent_2": int(np.flatnonzero(observations["agent_2"]["action_mask"])[-1])})
        told = observations["agent_1"]
        if isinstance(plain, dict):
            assert set(told["observation"]) == {*plain, "others_moves", "others_status"}
            assert list(told["observation"]["others_moves"]) == [1, 0]
        elif kind == "flat":
            assert told["observation"][len(plain) :] == pytest.approx([0.01, 0.0, 0.5, 0.5])
        else:
            assert list(told["others_moves"]) == [1, 0]
            assert data_equivalence(told["observation"], plain)
        env.close()
        alone.close()


def test_a_parallel_step_takes_all_actions_or_none():
    for version in (coop_v0, race_v0):
        env = version.parallel_env("net", "2x2")
        env.reset(seed=1)
        before = env.state()
        for wrong in (99, "JUMP", None, 0.5):
            with pytest.raises(pp.InvalidAction):
                env.step({"agent_0": 4, "agent_1": wrong})
        with pytest.raises(pp.InvalidAction, match="there is no agent 'agent_7'"):
            env.step({"agent_0": 4, "agent_7": 0})
        assert np.array_equal(env.state(), before)
        env.step({"agent_0": 4, "agent_1": 4})
        assert not np.array_equal(env.state(), before)
        env.close()


def test_copies_go_on_alike(version, puzzle):
    env = version.parallel_env(*easiest(puzzle), seed=3, undo=True)
    random = np.random.default_rng(0)
    env.reset()
    for _ in range(5):
        if env.agents:
            env.step({agent: act(env, agent, random) for agent in env.agents})
    if not env.agents:
        env.reset()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        original = copy.deepcopy(env)
        for _ in range(5):
            if not original.agents:
                break
            actions = {agent: act(original, agent, random) for agent in original.agents}
            a, b = original.step(actions), twin.step(actions)
            assert a[1:4] == b[1:4]
            assert data_equivalence(a[0], b[0])
            assert data_equivalence(a[4], b[4])
        original.close()
        twin.close()
    env.close()


def test_wrong_use_is_named():
    with pytest.raises(pp.UnknownOption, match="no kind of observation 'rgb'; there are both, flat"):
        solo_v0.env("net", observation="rgb")
    with pytest.raises(pp.UnknownOption, match="'obs_type', which is called observation now"):
        coop_v0.env("net", obs_type="flat")
    with pytest.raises(pp.UnknownOption, match="no option 'colour'; there are seed, undo, max_steps"):
        race_v0.parallel_env("net", colour="red")
    with pytest.raises(ValueError, match="render_mode is one of"):
        solo_v0.env("net", render_mode="rgb")
    for wrong in (1, 65, "two", 2.0):
        with pytest.raises(ValueError, match="a number from 2 to 64"):
            race_v0.env("net", agents=wrong)
    for wrong in (0, 65, None):
        with pytest.raises(ValueError, match="a number from 1 to 64"):
            coop_v0.raw_env("net", agents=wrong)
    for word in ("max_cycles", "max_steps"):
        with pytest.raises(ValueError, match="max_steps, 0 for no limit, is a whole number from 0"):
            coop_v0.env("net", **{word: -1})
    with pytest.raises(ValueError, match="another name for max_steps"):
        coop_v0.env("net", max_cycles=3, max_steps=4)
    with pytest.raises(TypeError, match="agents"):
        solo_v0.env("net", agents=2)
    env = solo_v0.raw_env("net", "2x2")
    with pytest.raises(RuntimeError, match="call reset first"):
        env.observe("agent_0")
    env.close()


def test_a_missing_pettingzoo_is_named():
    code = """
import sys
sys.modules["pettingzoo"] = None
try:
    import puzzleport.adapters.pettingzoo
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "puzzleport[pettingzoo]" in done.stdout


def test_the_example_races():
    example = Path(__file__).parents[2] / "examples" / "pettingzoo_race.py"
    done = subprocess.run([sys.executable, str(example), "--races", "60"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("60 races of fifteen 2x2")
    with_mask, without = map(int, re.findall(r"won (\d+), without it (\d+)", done.stdout)[0])
    assert with_mask > without


@pytest.mark.parametrize("version", [solo_v0, coop_v0, race_v0])
def test_nothing_is_drawn_without_a_mode_or_before_the_first_reset(version):
    plain, drawn = version.env("net", "2x2"), version.env("net", "2x2", render_mode="ansi")
    plain.reset(seed=1)
    assert plain.unwrapped.render() is None
    with pytest.raises(RuntimeError, match="call reset before render"):
        drawn.unwrapped.render()
