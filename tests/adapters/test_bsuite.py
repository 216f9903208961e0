"""bsuite's JAX baselines, as published, on our environments."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from puzzleport.adapters.dm_env import PuzzleEnvironment

experiment = pytest.importorskip("bsuite.baselines.experiment", reason="bsuite is an extra: puzzleport[bsuite]")
pytest.importorskip("rlax", reason="bsuite's JAX baselines need Haiku, Optax and RLax: puzzleport[bsuite]")


class Watched(PuzzleEnvironment):
    """Counts the ends of episodes."""

    lasts = 0

    def step(self, action):
        timestep = super().step(action)
        self.lasts += timestep.last()
        return timestep


@pytest.mark.parametrize("baseline", ["dqn", "boot_dqn", "actor_critic", "actor_critic_rnn"])
def test_the_baselines_run_on_flat_observations(baseline):
    module = importlib.import_module(f"bsuite.baselines.jax.{baseline}")
    env = Watched("net", "2x2", seed=1, observation="flat", max_steps=32)  # one length of sequences, compiled once
    np.random.seed(0)  # the baselines explore with numpy's global generator
    options = {"num_ensemble": 2} if baseline == "boot_dqn" else {}
    agent = module.default_agent(env.observation_spec(), env.action_spec(), **options)
    before = weights(agent)
    experiment.run(agent, env, num_episodes=5)
    assert env.lasts == 5
    assert any(not np.array_equal(a, b) for a, b in zip(before, weights(agent), strict=True))
    env.close()


def weights(agent) -> list[np.ndarray]:
    import jax

    state = agent._ensemble[0] if hasattr(agent, "_ensemble") else agent._state
    return [np.asarray(leaf).copy() for leaf in jax.tree_util.tree_leaves(state.params)]
