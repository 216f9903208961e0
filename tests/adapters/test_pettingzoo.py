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
    env = constructor(*args, seed=1, **options)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(number)
    return env


def act(env, agent, random) -> int:
    return int(random.choice(np.flatnonzero(env.observe(agent)["action_mask"])))


# ---- PettingZoo's own tests, on all puzzles


@pytest.mark.parametrize("obs_type", ["flat", "state", "pixels"])
def test_api(version, puzzle, obs_type):
    constructor = version.raw_env if obs_type == "state" else version.env
    env = seeded(constructor, *easiest(puzzle), obs_type=obs_type, render_mode="rgb_array")
    api_test(env, num_cycles=50)
    env.close()


@pytest.mark.parametrize("obs_type", ["flat", "state", "pixels"])
def test_parallel_api(version, puzzle, obs_type):
    env = seeded(version.parallel_env, *easiest(puzzle), obs_type=obs_type)
    parallel_api_test(env, num_cycles=50)
    env.close()


def test_seeds(version, puzzle):
    seed_test(partial(version.env, *easiest(puzzle)), num_cycles=60)
    parallel_seed_test(partial(version.parallel_env, *easiest(puzzle)), num_cycles=60)


def test_render(version, puzzle, monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(adapter.Table.metadata, "render_fps", 1000)
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
    env = version.parallel_env(*easiest(puzzle), seed=3, obs_type="state")
    random = np.random.default_rng(0)
    observations, infos = env.reset()
    for _ in range(12):
        for agent in env.agents:
            mask = observations[agent]["action_mask"]
            assert mask.dtype == np.int8
            assert np.array_equal(mask, infos[agent]["action_mask"])
            for action in range(len(mask)):
                twin = env._board(agent).clone()
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
        assert env.infos["player_0"]["game_id"] == pp.Session("bridges", "4x4", seed=seed).game_id
        env.reset()
        seen.append(env.infos["player_0"]["game_id"])
    assert seen[0] == seen[2] != seen[1]
    wanted = pp.Session("bridges", "4x4", seed=99).game_id
    env.reset(options={"game_id": wanted})
    assert env.infos["player_0"]["game_id"] == wanted
    with pytest.raises(pp.InvalidParams, match="other observations"):
        env.reset(options={"game_id": "5x5#1"})
    env.close()
    env = version.parallel_env("bridges", "4x4#42")
    games = {env.reset()[1]["player_0"]["game_id"] for _ in range(3)}
    assert games == {pp.Session("bridges", game_id="4x4#42").game_id}
    env.close()


def test_a_solo_agent_plays_what_a_session_plays(puzzle):
    env = solo_v0.env(*easiest(puzzle), obs_type="state")
    env.reset(seed=11)
    session = pp.Session(*easiest(puzzle), seed=11)
    random = np.random.default_rng(1)
    for agent in env.agent_iter(40):
        observation, reward, terminated, _, _ = env.last()
        for name, values in session.observe().items():
            assert np.array_equal(observation["observation"][name], values)
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
    env = coop_v0.env("lightup", "4x4", agents=3, obs_type="state")
    env.reset(seed=1)
    names = env.unwrapped.action_names
    fields = pp.spec("lightup").fields("4x4")

    def cursor(agent):
        return [env.observe(agent)["observation"][field.name].tolist() for field in fields if field.is_ui]

    def board(agent):
        return [env.observe(agent)["observation"][field.name].tolist() for field in fields if not field.is_ui]

    start, empty = cursor("player_0"), board("player_0")
    env.step(names.index("RIGHT"))
    assert env.agent_selection == "player_1"
    moved = cursor("player_0")
    assert moved != start
    assert cursor("player_1") == cursor("player_2") == start
    env.step(names.index("SELECT"))
    assert cursor("player_0") == moved
    assert cursor("player_1") == cursor("player_2") == start
    assert board("player_0") == board("player_1") == board("player_2") != empty
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
        env = race_v0.parallel_env("fifteen", "2x2", agents=3, obs_type="state")
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
            start = pp.Session("fifteen", "2x2", seed=7).observe()
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
    env = race_v0.parallel_env("mines", agents=3, undo=False, obs_type="state")
    random = np.random.default_rng(0)
    env.reset(seed=1)
    rewards = {}
    while len(env.agents) == 3:
        observations, rewards, terminations, _, infos = env.step({"player_1": act(env, "player_1", random)})
    assert env.agents == ["player_0", "player_2"]
    assert rewards == {"player_0": 0.0, "player_1": -1.0, "player_2": 0.0}
    assert terminations["player_1"]
    assert infos["player_1"]["is_success"] is False
    observations, rewards, *_ = env.step({"player_0": 0, "player_2": 0})
    assert list(rewards) == ["player_0", "player_2"]
    assert list(observations["player_0"]["observation"]["others_status"]) == [-1, 0]
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


def test_copies_go_on_alike(version, puzzle):
    env = version.parallel_env(*easiest(puzzle), seed=3)
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
            assert all(np.array_equal(a[0][agent]["observation"], b[0][agent]["observation"]) for agent in a[0])
        original.close()
        twin.close()
    env.close()


def test_wrong_use_is_named():
    with pytest.raises(ValueError, match="obs_type is one of"):
        solo_v0.env("net", obs_type="rgb")
    with pytest.raises(ValueError, match="render_mode is one of"):
        solo_v0.env("net", render_mode="rgb")
    with pytest.raises(ValueError, match="at least two"):
        race_v0.env("net", agents=1)
    with pytest.raises(ValueError, match="at least one cycle"):
        coop_v0.env("net", max_cycles=0)
    with pytest.raises(ValueError, match="1 to 64 players"):
        coop_v0.raw_env("net", agents=65).reset()
    with pytest.raises(TypeError, match="agents"):
        solo_v0.env("net", agents=2)
    env = solo_v0.raw_env("net", "2x2")
    with pytest.raises(RuntimeError, match="call reset first"):
        env.observe("player_0")
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
