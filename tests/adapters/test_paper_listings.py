"""The four listings of the paper (Estermann et al., arXiv:2407.00401), run as they are printed.

They are not ours to copy, so they are read from the paper's LaTeX source: PUZZLEPORT_PAPER names the file, which arXiv hands
out with the paper. test_rlp.py has scripts of our own that do the same.
"""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import puzzleport.adapters.rlp as rlp

SOURCE = Path(os.environ.get("PUZZLEPORT_PAPER", ""))
pytestmark = pytest.mark.skipif(
    not SOURCE.is_file(), reason="PUZZLEPORT_PAPER names no copy of the paper's LaTeX source"
)


def listing(number):
    """A listing, with the one line changed that has to be."""
    text = re.findall(r"\\begin{lstlisting}.*?\]\n(.*?)\\end{lstlisting}", SOURCE.read_text(), re.DOTALL)[number - 1]
    return text.replace("import rlp\n", "import puzzleport.adapters.rlp as rlp\n")


def test_the_first_listing_plays_an_episode():
    class Agent:
        create = classmethod(lambda cls: cls())

        @staticmethod
        def choose(env):
            return int(env.unwrapped.puzzle.plan()[0])

    assert "import rlp" not in listing(1)
    names = {"Agent": Agent}
    exec(listing(1), names)
    assert names["reward"] == 100.0
    assert names["observation"]["pixels"].shape == (3, 128, 128)
    assert not names["truncated"]
    assert names["info"]["is_success"]


def test_the_second_listing_pays_by_the_state():
    names = {}
    # The listing leaves a comment where its users write their own line.
    comment = '# Modify the reward by using members of info["puzzle_state"]'
    exec(listing(2).replace(comment, 'reward += info["puzzle_state"]["score"]'), names)
    env = names["PuzzleRewardWrapper"](gym.make("rlp/SameGame-v0", params="4x4c3s2#3", obs_type="puzzle_state"))
    env.reset()
    random, paid = np.random.default_rng(0), 0
    terminated = False
    while not terminated and paid == 0:
        _, paid, terminated, _, info = env.step(random.integers(env.action_space.n))
    assert paid == info["puzzle_state"]["score"] > 0
    env.close()


@pytest.fixture
def tokens_env():
    """The third listing. Its methods are printed beside their class, and have to stand in it."""
    head, methods = listing(3).split("(gym.ObservationWrapper):\n")
    names = {}
    exec(f"{head}(gym.ObservationWrapper):\n{textwrap.indent(methods, '    ')}", names)
    made = []

    def make(params):
        env = gym.make("rlp/Puzzle-v0", puzzle="netslide", obs_type="puzzle_state", params=params)
        made.append(names["NetslideTransformerWrapper"](env))
        return made[-1]

    yield make
    for env in made:
        env.close()


def test_the_third_listing_makes_tokens(tokens_env):
    env = tokens_env("3x3b1#2")
    observation, _ = env.reset()
    assert observation["len"] == [2 * 9 + 1]
    assert observation["obs"].shape == env.observation_space["obs"].shape
    again, _ = (
        env.reset()
    )  # the listing changes the cursor in place: neither the state nor the next observation may change
    np.testing.assert_equal(again, observation)


def test_the_fourth_listing_learns_from_tokens(tokens_env):
    pytest.importorskip("stable_baselines3", reason="the extra sb3 is not installed")
    env = tokens_env("2x3b1")
    arguments = ["--puzzle", "netslide", "--arg", "2x3b1"]
    parser = rlp.puzzle.make_puzzle_parser()
    for name, value in {"embedding_dim": 8, "nhead": 2, "layers": 1, "ff_dim": 16, "dropout": 0.0}.items():
        parser.add_argument(f"--transformer_{name}", type=type(value), default=value)
    names = {"__name__": "__main__", "env": env, "args": parser.parse_args(arguments), "data_dims": {"netslide": 20}}
    exec(listing(4), names)
    model = names["model"]
    model.n_steps = model.rollout_buffer.buffer_size = 32  # brief; the listing has PPO's own settings
    model.rollout_buffer.reset()
    model.batch_size, model.n_epochs = 16, 1
    model.learn(32)
    assert model.num_timesteps == 32
    action, _ = model.predict(tokens_env("3x3b1").reset()[0])
    assert 0 <= action < env.action_space.n
