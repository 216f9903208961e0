"""Tianshou plays the Gymnasium environments, and never takes an action that the mask forbids."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest
from tianshou.data import Collector, CollectStats
from tianshou.env import DummyVectorEnv

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import tianshou_dqn

    return tianshou_dqn


@pytest.mark.parametrize(("puzzle", "params"), [("fifteen", "2x2"), ("pegs", "4x4random")])
def test_every_action_that_is_taken_is_legal(example, puzzle, params):
    from tianshou.algorithm import DQN
    from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
    from tianshou.algorithm.optim import AdamOptimizerFactory
    from tianshou.data import VectorReplayBuffer
    from tianshou.utils.net.common import Net

    single = example.make_env(puzzle, params)
    network = Net(
        state_shape=single.observation_space["obs"].shape, action_shape=single.action_space.n, hidden_sizes=(8,)
    )
    policy = DiscreteQLearningPolicy(model=network, action_space=single.action_space, eps_inference=0.5)
    envs = DummyVectorEnv([lambda: example.make_env(puzzle, params, 20) for _ in range(4)])
    memory = VectorReplayBuffer(1000, 4)
    algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3))
    collector = Collector[CollectStats](algorithm, envs, memory, exploration_noise=True)
    collector.reset()
    collector.collect(n_step=400)
    data, _ = memory.sample(0)
    assert len(data) >= 400
    assert np.take_along_axis(data.obs.mask, data.act[:, None].astype(int), 1).all()
    assert not data.obs.mask.all()
    for env in (envs, single):
        env.close()


@pytest.mark.slow
def test_the_example_learns(example):
    options = argparse.Namespace(steps=15_000, seconds=float("inf"), episodes=50, seed=0)
    assert example.train("fifteen", options) >= 0.95
