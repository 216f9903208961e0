from __future__ import annotations

import argparse
import doctest
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.policies import MultiInputActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

import puzzleport as pp
from puzzleport.adapters import sb3
from puzzleport.adapters.gymnasium import PuzzleEnv
from puzzleport.adapters.sb3 import PuzzleVecEnv, sb3_vec_env

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMITS = {"max_steps": 25, "max_repeats": 9}


def equal(a, b) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return np.array_equal(a, b)


def test_the_docstrings_example():
    results = doctest.testmod(sb3)
    assert results.attempted
    assert not results.failed


@pytest.mark.parametrize("observation", ["state", "flat", "pixels", "both"])
@pytest.mark.parametrize("puzzle", ["fifteen", "inertia", "samegame"])
def test_the_native_one_equals_a_dummy(puzzle, observation):
    params, n = pp.spec(puzzle).easiest_params, 4
    options = {"observation": observation, "width": 40, "height": 40, "undo": False, **LIMITS}
    native = PuzzleVecEnv(puzzle, params, n, threads=2, **options)
    dummy = DummyVecEnv([lambda: PuzzleEnv(puzzle, params, **options) for _ in range(n)])
    assert isinstance(native, VecEnv)
    assert native.observation_space == dummy.observation_space
    assert native.action_space == dummy.action_space
    for env in (native, dummy):
        env.seed(7)
    assert equal(native.reset(), dummy.reset())
    random = np.random.default_rng(0)
    endings = set()
    for _ in range(120):
        assert np.array_equal(get_action_masks(native), get_action_masks(dummy))
        actions = random.integers(native.action_space.n, size=n)
        (seen, rewards, dones, infos), expected = native.step(actions), dummy.step(actions)
        assert equal(seen, expected[0])
        assert rewards.dtype == np.float32
        assert np.array_equal(rewards, expected[1])
        assert np.array_equal(dones, expected[2])
        for done, info, wanted in zip(dones, infos, expected[3], strict=True):
            assert all(np.array_equal(info[name], wanted[name]) for name in sb3.INFO)
            if not done:
                assert set(info) == set(sb3.INFO)
                continue
            assert equal(info["terminal_observation"], wanted["terminal_observation"])
            assert info["TimeLimit.truncated"] == wanted["TimeLimit.truncated"]
            assert info["is_success"] == wanted["is_success"]
            endings.add((info["TimeLimit.truncated"], info["is_success"]))
    assert len(endings) >= 2  # solved, failed or cut off
    native.close()
    dummy.close()


def test_the_seed_decides_the_stream():
    def stream(seed):
        env = sb3_vec_env("twiddle", "2x3n2", 5, observation="flat", max_steps=10)
        env.seed(seed)
        seen = [env.reset()] + [env.step(np.full(5, step % 6))[0] for step in range(50)]
        env.close()
        return b"".join(observation.tobytes() for observation in seen)

    assert stream(3) == stream(3) != stream(4)


def test_a_reset_without_a_seed_goes_on():
    env = sb3_vec_env("sixteen", "3x3", 2, observation="flat")
    env.seed(1)
    first, second = env.reset(), env.reset()
    assert not np.array_equal(first, second)
    env.seed(1)
    assert np.array_equal(env.reset(), first)
    env.close()


def test_what_can_be_asked_of_sub_environments():
    env = sb3_vec_env("net", "2x2", 3, render_mode="rgb_array", width=50, height=40)
    env.reset()
    assert is_masking_supported(env)
    assert env.env_method("action_masks")[0].dtype == np.int8
    assert len(env.env_method("action_masks", indices=[0, 2])) == 2
    assert [task.params for task in env.get_attr("task")] == [pp.canonical_params("net", "2x2")] * 3
    assert env.get_attr("render_mode", indices=1) == ["rgb_array"]
    assert env.env_is_wrapped(Monitor) == [False] * 3
    assert [image.shape for image in env.get_images()] == [(40, 50, 3)] * 3
    assert env.render().ndim == 3
    with pytest.raises(AttributeError, match="know action_masks only, not 'flap'"):
        env.env_method("flap")
    with pytest.raises(AttributeError, match="take no attribute 'wings'"):
        env.set_attr("wings", 2)
    with pytest.raises(AttributeError):
        env.get_attr("wings")
    env.set_options({"game_id": "2x2#1"})
    with pytest.raises(ValueError, match="no reset options"):
        env.reset()
    env.close()


def test_episodes_are_counted_as_sb3_logs_them():
    env = sb3_vec_env("fifteen", "2x2", 2, max_steps=6, rewards=pp.Rewards(solved=5, step=-1))
    env.seed(0)
    env.reset()
    episodes = []
    for step in range(40):
        _, _, _, infos = env.step(np.full(2, step % 4))
        episodes += [info for info in infos if "episode" in info]
    assert episodes
    for info in episodes:
        assert info["episode"]["r"] == -info["episode"]["l"] + 5 * info["is_success"]
    env.close()


@pytest.mark.parametrize(
    ("algorithm", "policy", "options"),
    [
        (PPO, "CnnPolicy", {"observation": "pixels", "width": 36, "height": 36}),
        (PPO, "MultiInputPolicy", {"observation": "state"}),
        (DQN, "MlpPolicy", {"observation": "flat"}),
        (MaskablePPO, "MlpPolicy", {"observation": "one_hot"}),
    ],
)
@pytest.mark.filterwarnings("error")
def test_algorithms_take_it(algorithm, policy, options):
    env = sb3_vec_env("fifteen", "2x2", 4, max_steps=20, **options)
    settings = {"learning_starts": 8} if algorithm is DQN else {"n_steps": 8, "batch_size": 16, "n_epochs": 1}
    model = algorithm(policy, env, seed=1, **settings)
    model.learn(64)
    assert model.num_timesteps >= 64
    _, lengths = evaluate_policy(model, env, n_eval_episodes=4, return_episode_rewards=True)
    assert max(lengths) <= 20
    env.close()


@pytest.mark.parametrize("puzzle", pp.puzzles())
def test_a_network_for_fields_can_be_made_for_every_puzzle(puzzle):
    """It keeps a part for each field under the field's name, and so has no room for names of its own, such as values."""
    env = sb3_vec_env(puzzle, pp.spec(puzzle).easiest_params, 2)
    policy = MultiInputActorCriticPolicy(env.observation_space, env.action_space, lambda _: 1e-3)
    actions, _ = policy.predict(env.reset())
    assert actions.shape == (2,)
    env.close()


def test_a_missing_framework_names_the_extra():
    code = "import sys; sys.modules['stable_baselines3'] = None; import puzzleport.adapters.sb3"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'puzzleport[sb3]'" in done.stderr


@pytest.mark.slow
def test_maskable_ppo_reaches_the_papers_level(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import sb3_maskable_ppo

    options = argparse.Namespace(steps=300_000, seconds=float("inf"), episodes=1000, seed=0)
    level = sb3_maskable_ppo.train("twiddle", options)
    assert level.reached
    assert level.measured.solved >= 0.99
    assert level.measured.length <= 7 + 2
    assert level.num_timesteps <= 300_000


def test_how_sb3_goes_on_after_an_episode_cannot_be_chosen():
    with pytest.raises(pp.UnknownOption, match="there is no autoreset_mode here"):
        sb3_vec_env("net", "2x2", num_envs=2, autoreset_mode="NextStep")
