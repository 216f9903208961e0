from __future__ import annotations

import json
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
    assert observation["observations"].dtype == np.float32
    env.close()


def test_what_rllib_takes_by_default_is_a_vector_and_every_other_kind_on_request(creators):
    for name, create in creators.items():
        for kind in (None, *sorted(pp.encode.KINDS)):
            env = create({"puzzle": "net", "params": "2x2", **({"observation": kind} if kind else {})})
            seen, _ = env.reset(seed=1)
            if name != "puzzleport":
                assert env.observation_space.contains(seen)
                seen = seen["agent_0"]
            else:
                assert env.observation_space.contains(seen)
                assert env.task == pp.Task("net", "2x2", observation=kind or "flat")
            assert {"observations", "action_mask"} <= seen.keys()
            if kind is None:
                assert seen["observations"].ndim == 1
            env.close()


def test_a_task_keeps_its_own_kind_of_observation(creators):
    for name, create in creators.items():
        env = create({"puzzle": pp.Task("net", "2x2", observation="pixels")})
        seen, _ = env.reset(seed=1)
        assert (seen if name == "puzzleport" else seen["agent_0"])["observations"].shape == (128, 128, 3)
        env.close()


def test_without_the_mask_the_observation_is_plain(creators):
    env = creators["puzzleport"]({"puzzle": "net", "params": "2x2", "mask_in_observation": False})
    seen, info = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    assert seen.shape == env.observation_space.shape
    seen, *_, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert env.observation_space.contains(seen)
    env.close()


def test_old_names_of_options_are_told(creators):
    for create in creators.values():
        with pytest.raises(pp.UnknownOption, match="'obs_type', which is called observation now"):
            create({"puzzle": "net", "params": "2x2", "obs_type": "flat"})


@pytest.mark.parametrize("version", ["solo_v0", "coop_v0", "race_v0"])
def test_many_agents_play_until_none_is_left(creators, puzzle, version):
    config = {"puzzle": puzzle, "params": pp.spec(puzzle).easiest_params, "max_steps": 12}
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
    config = {"puzzle": "mines"}
    random = np.random.default_rng(0)
    env = creators["puzzleport/race_v0"](config)
    observations, _ = env.reset(seed=1)
    taken = []
    while len(env.par_env.agents) == 2:
        taken.append(int(random.choice(np.flatnonzero(observations["agent_0"]["action_mask"]))))
        observations, *_ = env.step({"agent_0": taken[-1]})
    env.close()
    env = creators["puzzleport/race_v0"]({**config, "max_steps": len(taken)})
    env.reset(seed=1)
    for action in taken:
        _, _, terminateds, truncateds, _ = env.step({"agent_0": action})
    assert terminateds == {"agent_0": True, "agent_1": False, "__all__": True}
    assert truncateds == {"agent_0": False, "agent_1": True, "__all__": False}
    env.close()


# ---- training, all in one process: to import RLlib, or to start and end a Ray, takes longer than these trainings

BRIEF = ["--iterations", "2", "--batch", "512", "--max-steps", "40"]
EXAMPLE = {
    "puzzleport": [*BRIEF, "--workers", "1"],
    "puzzleport/coop_v0": [*BRIEF, "--workers", "0"],
    "puzzleport/race_v0": [*BRIEF, "--workers", "0"],
    # Eight environments play 64 steps each, far from the limit and, at random on this board, from the solution.
    "no end": ["--iterations", "1", "--batch", "512", "--workers", "0", "--params", "7x7", "--max-steps", "10000"],
}
TRAIN = """
import json
import sys
import traceback

import ray
import rllib_ppo
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import puzzleport as pp
from puzzleport.adapters import rllib


def example(name, words):
    sys.argv = ["rllib_ppo.py", *words, *(["--env", name] if name.startswith("puzzleport") else [])]
    rllib_ppo.main()


def rllibs_own_module(name):
    rllib.register()
    # An action outside of the mask costs 1000: the worst return tells whether the module ever took one.
    rewards = pp.Rewards(no_effect=-1000.0)
    module = RLModuleSpec(module_class=ActionMaskingTorchRLModule, model_config={"head_fcnet_hiddens": [16]})
    config = (
        PPOConfig()
        .environment(name, env_config={"puzzle": "fifteen", "params": "3x3", "max_steps": 20, "rewards": rewards})
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=256, minibatch_size=64, num_epochs=1)
        .debugging(seed=0, log_level="ERROR")
    )
    if name == "puzzleport":
        config.rl_module(rl_module_spec=module)
    else:
        config.multi_agent(policies={"shared"}, policy_mapping_fn=lambda *_, **__: "shared")
        config.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={"shared": module}))
    algorithm = config.build_algo()
    played = algorithm.train()["env_runners"]
    print("played", int(played["num_episodes"]), float(played["episode_return_min"]))
    algorithm.stop()


trainings = {f"example {name}": (example, name, words) for name, words in json.loads(sys.argv[1]).items()}
trainings |= {f"module {name}": (rllibs_own_module, name) for name in ("puzzleport", "puzzleport/race_v0")}
for number, (title, (train, *arguments)) in enumerate(trainings.items()):
    print(f"\\n== {title}", flush=True)
    try:
        train(*arguments)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
    if number == 0:  # that one started and ended a Ray of its own; the others share one
        ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
        ray.init = ray.shutdown = lambda *_, **__: None
"""


@pytest.fixture(scope="module")
def trained(creators) -> dict[str, str]:
    """What each training printed."""
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, json.dumps(EXAMPLE)], cwd=EXAMPLES, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {part.split("\n")[0]: part.partition("\n")[2] for part in done.stdout.split("\n== ")[1:]}


@pytest.mark.slow
@pytest.mark.parametrize("env", ["puzzleport", "puzzleport/coop_v0", "puzzleport/race_v0"])
def test_the_example_trains_on_a_local_ray(trained, env):
    said = trained[f"example {env}"]
    lines = re.findall(r"^ *(\d+)  return +(-?[0-9.]+)  steps per episode +([0-9.]+)$", said, re.MULTILINE)
    assert [line[0] for line in lines] == ["1", "2"], said
    assert all(0 < float(steps) <= 80 for _, _, steps in lines)


@pytest.mark.slow
def test_the_example_says_so_where_no_episode_ended(trained):
    assert trained["example no end"].splitlines() == ["  1  no episode ended yet"]


@pytest.mark.slow
@pytest.mark.parametrize("env", ["puzzleport", "puzzleport/race_v0"])
def test_rllibs_own_masking_module_trains_as_it_is(trained, env):
    said = trained[f"module {env}"]
    ((episodes, worst),) = re.findall(r"^played (\d+) (\S+)$", said, re.MULTILINE)
    assert int(episodes) > 0
    assert float(worst) > -1000.0
