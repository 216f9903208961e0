from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import puzzleport as pp

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_missing_ray_is_named():
    code = """
import sys
sys.modules["ray"] = None
try:
    import puzzleport.adapters.rllib
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "puzzleport[rllib]" in done.stdout


@pytest.fixture(scope="module")
def creators():
    """The registered names and what Ray's registry makes of them."""
    pytest.importorskip("ray.rllib", reason="RLlib is an extra of its own")
    from ray.tune.registry import ENV_CREATOR, _global_registry

    from puzzleport.adapters import rllib

    return {name: _global_registry.get(ENV_CREATOR, name) for name in rllib.register()}


def test_a_single_agent_sees_its_mask(creators, puzzle):
    env = creators["puzzleport"]({"puzzle": puzzle, "params": pp.spec(puzzle).easiest_params})
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1)
    assert np.array_equal(observation["action_mask"], session.mask())
    assert observation["observation"].dtype == np.float32
    env.close()


@pytest.mark.parametrize("version", ["solo_v0", "coop_v0", "race_v0"])
def test_many_agents_play_until_none_is_left(creators, puzzle, version):
    config = {"puzzle": puzzle, "params": pp.spec(puzzle).easiest_params, "max_cycles": 12, "undo": False}
    env = creators[f"puzzleport/{version}"](config)
    random = np.random.default_rng(0)
    observations, _ = env.reset(seed=1)
    assert set(observations) == set(env.possible_agents)
    for _ in range(12):
        actions = {}
        for agent, seen in observations.items():
            assert env.observation_space[agent].contains(seen)
            actions[agent] = int(random.choice(np.flatnonzero(seen["action_mask"])))
        observations, _, terminateds, truncateds, _ = env.step(actions)
        assert terminateds["__all__"] + truncateds["__all__"] == (not env.par_env.agents)
        observations = {agent: observations[agent] for agent in env.par_env.agents}
        if not observations:
            break
    assert not env.par_env.agents
    assert truncateds["__all__"] == (not any(terminateds.values()))
    env.close()


def test_an_episode_ends_when_one_agent_fails_as_the_others_are_cut_off(creators):
    # Without UNDO the first mine is the end for who stepped on it; find the cycle, and let the limit fall on it.
    config = {"puzzle": "mines", "undo": False}
    random = np.random.default_rng(0)
    env = creators["puzzleport/race_v0"](config)
    observations, _ = env.reset(seed=1)
    taken = []
    while len(env.par_env.agents) == 2:
        taken.append(int(random.choice(np.flatnonzero(observations["player_0"]["action_mask"]))))
        observations, *_ = env.step({"player_0": taken[-1]})
    env.close()
    env = creators["puzzleport/race_v0"]({**config, "max_cycles": len(taken)})
    env.reset(seed=1)
    for action in taken:
        _, _, terminateds, truncateds, _ = env.step({"player_0": action})
    assert terminateds == {"player_0": True, "player_1": False, "__all__": True}
    assert truncateds == {"player_0": False, "player_1": True, "__all__": False}
    env.close()


@pytest.mark.slow
@pytest.mark.parametrize("env", ["puzzleport", "puzzleport/coop_v0", "puzzleport/race_v0"])
def test_the_example_trains_on_a_local_ray(creators, env):
    command = [sys.executable, str(EXAMPLES / "rllib_ppo.py"), "--env", env, "--iterations", "2", "--batch", "512"]
    workers = "1" if env == "puzzleport" else "0"
    done = subprocess.run(
        [*command, "--max-steps", "40", "--workers", workers], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = re.findall(r"^ *(\d+)  return +(-?[0-9.]+)  steps per episode +([0-9.]+)$", done.stdout, re.MULTILINE)
    assert [line[0] for line in lines] == ["1", "2"]
    assert all(0 < float(steps) <= 80 for _, _, steps in lines)
