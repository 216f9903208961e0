from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from puzzleport.adapters.dm_env import PuzzleEnvironment

acme = pytest.importorskip("acme", reason="Acme is an extra: puzzleport[acme]")

EXAMPLE = Path(__file__).parents[2] / "examples" / "dm_env_masked_dqn.py"


def test_acmes_loop_runs_an_actor_on_every_puzzle(puzzle):
    from acme import core
    from acme.utils import counting, loggers

    import puzzleport as pp

    class RandomActor(core.Actor):
        """Takes any legal action, and keeps account of what it is told."""

        def __init__(self, spec):
            self.spec, self.random = spec, np.random.default_rng(0)
            self.firsts = self.lasts = self.steps = self.updates = 0
            self.paid = 0.0

        def select_action(self, observation):
            return self.random.choice(np.flatnonzero(observation.legal_actions)).astype(self.spec.actions.dtype)

        def observe_first(self, timestep):
            assert timestep.first()
            self.firsts += 1

        def observe(self, action, next_timestep):
            self.spec.actions.validate(action)
            self.spec.rewards.validate(next_timestep.reward)
            self.spec.discounts.validate(next_timestep.discount)
            self.spec.observations.observation.validate(next_timestep.observation.observation)
            self.spec.observations.legal_actions.validate(next_timestep.observation.legal_actions)
            self.steps += 1
            self.paid += next_timestep.reward
            self.lasts += next_timestep.last()

        def update(self, wait=False):
            self.updates += 1

    class Kept(loggers.Logger):
        def __init__(self):
            self.rows = []

        def write(self, data):
            self.rows.append(data)

        def close(self):
            pass

    options = {"observation": "flat", "olt": True, "undo": True, "max_steps": 40}
    env = PuzzleEnvironment(puzzle, pp.spec(puzzle).easiest_params, seed=1, **options)
    actor = RandomActor(acme.make_environment_spec(env))
    counter, logger = counting.Counter(), Kept()
    acme.EnvironmentLoop(env, actor, counter=counter, logger=logger).run(num_episodes=4)
    assert actor.firsts == actor.lasts == counter.get_counts()["episodes"] == 4
    assert actor.steps == actor.updates == counter.get_counts()["steps"]
    assert sum(row["episode_return"] for row in logger.rows) == pytest.approx(actor.paid)
    env.close()


@pytest.mark.parametrize("loop", ["acme", "plain"])
def test_the_example_runs_in_both_loops(loop, tmp_path, forks):
    pytest.importorskip("rlax", reason="the example needs JAX, Flax, Optax and RLax: puzzleport[jax]")
    done = forks.run(EXAMPLE, "--steps", "300", "--episodes", "20", "--loop", loop, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "of 20 net 2x2 with other seeds solved" in done.stdout.splitlines()[-1]


def test_the_example_learns_and_takes_legal_actions_only():
    """Of one puzzle a few thousand steps suffice; in Fifteen, unlike in Net, half of the actions are illegal."""
    pytest.importorskip("rlax", reason="the example needs JAX, Flax, Optax and RLax: puzzleport[jax]")
    example = runpy.run_path(str(EXAMPLE))
    env = PuzzleEnvironment("fifteen", "2x2", seed=1, observation="flat", olt=True, max_steps=50)
    spec = acme.make_environment_spec(env)
    replay = example["Replay"](10_000, spec, 0)
    learner = example["DQNLearner"](spec, replay, 0, batch_size=32)
    before, _ = example["evaluate"](learner, "fifteen", "2x2", 200)
    actor = example["DQNActor"](learner, replay, 3_000, 0)

    class Witness(type(actor)):
        def observe(self, action, next_timestep):
            assert self._last.legal_actions[action] == 1.0
            super().observe(action, next_timestep)

    actor.__class__ = Witness
    example["run_plain"](env, actor, 3_000, float("inf"))
    after, _ = example["evaluate"](learner, "fifteen", "2x2", 200)
    assert after > 0.9 > before
    assert len(learner.get_variables(["params", "target"])) == 2
    env.close()
