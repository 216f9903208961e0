"""TorchRL: its own checker for all puzzles, the same games as Batch, masks and resets."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torchrl.envs.utils import check_env_specs, step_mdp

import puzzleport as pp
from puzzleport.adapters import torchrl_bench
from puzzleport.adapters.torchrl import PuzzleEnv, masked_env
from puzzleport.cli import main


@pytest.mark.parametrize("make", [PuzzleEnv, masked_env])
def test_torchrls_own_checks_pass(puzzle, make):
    env = make(puzzle, pp.spec(puzzle).easiest_params, num_envs=3, max_steps=5)
    check_env_specs(env, break_when_any_done="both", seed=1)
    env.close()


KINDS = sorted(set(pp.encode.KINDS) - {"text"})


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_observation(kind):
    env = masked_env("net", "2x2", num_envs=3, max_steps=5, observation=kind)
    check_env_specs(env, break_when_any_done="both")
    env.close()


def test_text_is_refused():
    with pytest.raises(pp.UnknownOption, match="tensors hold no text"):
        PuzzleEnv("net", "2x2", observation="text")


def test_the_same_games_as_a_batch(puzzle):
    task = pp.Task(puzzle, pp.spec(puzzle).easiest_params, max_steps=20, rewards=pp.Rewards(step=-0.1))
    env, batch = masked_env(task, num_envs=3), pp.BatchEpisodes(task, 3, autoreset="off")
    env.set_seed(7)
    data = env.reset()
    batch.start(7)
    ended = 0
    for _ in range(60):
        data = env.rand_step(data)
        assert data["action_mask"].gather(1, data["action"][:, None]).all()
        paid = batch.step(data["action"].numpy())
        result, seen = batch.batch.result, data["next"]
        for name, value in batch.observation().items():
            assert np.array_equal(seen["observation", name].numpy(), value)
        nothing = ~result.mask.any(axis=1)
        assert (result.ended[nothing] == 1).all()
        assert np.array_equal(seen["action_mask"].numpy(), result.mask | nothing[:, None])
        assert np.array_equal(seen["reward"].numpy()[:, 0], paid.astype(np.float32))
        assert np.array_equal(seen["terminated"].numpy()[:, 0], result.ended == 1)
        assert np.array_equal(seen["truncated"].numpy()[:, 0], result.ended == 2)
        assert np.array_equal(seen["is_success"].numpy()[:, 0], result.status > 0)
        over = result.ended != 0
        ended += int(over.sum())
        data = env.maybe_reset(step_mdp(data))
        if over.any():
            batch.start(which=over)
            assert np.array_equal(data["action_mask"].numpy(), batch.batch.result.mask)
    assert ended
    env.close()


def test_what_was_kept_does_not_change():
    env = PuzzleEnv("fifteen", "2x2", num_envs=4)
    env.set_seed(1)
    first = env.reset()
    kept = first["observation", "tiles"].clone()
    env.rollout(20, auto_reset=False, tensordict=first.clone(), break_when_any_done=False)
    assert torch.equal(first["observation", "tiles"], kept)


def test_what_is_held_in_any_form_does_not_change_while_memory_is_used_again():
    env = PuzzleEnv("fifteen", "2x2", num_envs=4, max_steps=7, rewards=pp.Rewards(step=-0.5, no_effect=-0.25))
    env.set_seed(1)
    data = env.reset()
    weights = torch.ones(4, 1, requires_grad=True)
    held, graphs, places = [], [], set()
    for step in range(150):
        data = env.step(data.set("action", torch.full((4,), step % 4)))
        seen = data["next"]
        places.add(seen["reward"].data_ptr())
        forms = [
            lambda seen: seen["observation", "tiles"][1:],
            lambda seen: seen["reward"].numpy(),
            lambda seen: seen["action_mask"].view(torch.uint8),
            lambda seen: np.asarray(seen["done"]),
        ]
        if step % 3 == 0:
            kept = forms[step % len(forms)](seen)
            held.append((kept, np.asarray(kept).copy()))
        if step % 10 == 0:  # autograd alone holds the reward now
            graphs.append(((weights * seen["reward"]).sum(), seen["reward"].clone()))
        data = env.maybe_reset(step_mdp(data))
        del seen
    assert len(places) < 150
    assert all(np.array_equal(np.asarray(kept), before) for kept, before in held)
    for graph, reward in graphs:
        weights.grad = None
        graph.backward()
        assert torch.equal(weights.grad, reward)
    env.close()


def test_a_step_with_more_in_it_is_that_of_torchrl():
    env = PuzzleEnv("net", "2x2", num_envs=2)
    data = env.reset().set("action", torch.zeros(2, dtype=torch.int64))
    preset = data.clone().set("next", {"mark": torch.ones(2)})
    following = env.step(preset)["next"]
    assert following["mark"].all()
    assert "reward" in following
    with pytest.raises(NotImplementedError, match="stepped together"):
        env.step(data.clone().set("_step", torch.tensor([True, False])))
    with pytest.raises(RuntimeError, match="shape"):
        env.step(data[:1])
    named = data.clone()
    named.names = ["games"]
    assert env.step(named)["next"].names == ["games"]
    env.close()


def test_seeds_give_the_same_games():
    env = masked_env("fifteen", "2x2", num_envs=4)
    starts = []
    for _ in range(2):
        env.set_seed(3)
        starts.append(env.reset()["observation", "tiles"])
    assert torch.equal(*starts)
    env.close()
    with pytest.raises(pp.SessionClosed):
        env.base_env.reset()


@pytest.mark.parametrize("wrong", [torch.full((4,), 9), torch.zeros(4), torch.zeros(4, 2, dtype=torch.int64)])
def test_wrong_actions_are_refused_and_the_games_go_on(wrong):
    env = PuzzleEnv("fifteen", "2x2", num_envs=4)
    data = env.reset()
    with pytest.raises(pp.InvalidAction):
        env.step(data.clone().set("action", wrong))
    assert env.step(data.set("action", torch.zeros(4, dtype=torch.int64)))["next", "reward"].shape == (4, 1)
    with pytest.raises(NotImplementedError, match="all games are stepped together"):
        env.step(data.set("_step", torch.tensor([True, False, True, True])))


def test_its_benchmark_measures_what_it_says():
    rows = json.loads(
        CliRunner()
        .invoke(main, [*["bench", "torchrl", "--seconds", "0.0001", "--json", "--puzzle"], "net,fifteen"])
        .stdout
    )
    assert [row["puzzle"] for row in rows] == ["net", "fifteen", "geometric mean"]
    assert all(row[rate] > 0 for row in rows for rate in ("batch", "floor", "env"))


def test_a_hook_pays_what_it_pays_in_a_batch():
    rewards = pp.Rewards(hook=lambda before, after: float(after["cursor_x"] - before["cursor_x"]))
    task = pp.Task("net", "2x2", max_steps=20, rewards=rewards)
    env, batch = masked_env(task, num_envs=3), pp.BatchEpisodes(task, 3, autoreset="off")
    env.set_seed(7)
    data, seen = env.reset(), []
    batch.start(7)
    for _ in range(12):
        data = env.rand_step(data)
        seen.append(batch.step(data["action"].numpy()).astype(np.float32))
        np.testing.assert_array_equal(data["next", "reward"][:, 0], seen[-1])
        data = step_mdp(data)
    assert {-1.0, 1.0} <= set(np.unique(seen))
    env.close()
    batch.close()


def test_a_rate_is_of_the_steps_alone_and_not_of_what_starts_them(monkeypatch):
    """By a clock that only these steps and restarts move on."""
    clock, calls = [0.0], []

    def work(name, seconds):
        calls.append(name)
        clock[0] += seconds

    monkeypatch.setattr(torchrl_bench.time, "perf_counter", lambda: clock[0])
    steps = [lambda: work("step", 2)] * 3
    rate = torchrl_bench.rate(lambda: work("restart", 5), steps, seconds=12)
    assert calls == ["restart", "step", "step", "step"] * 2  # each round takes 6 seconds
    assert rate == torchrl_bench.BATCH / 2


def test_what_is_measured_plays_the_same_games_again_from_each_start():
    batch = pp.Batch("net", "2x2", torchrl_bench.BATCH, autoreset="off")
    actions = torchrl_bench.choices(len(batch.actions))
    assert len(np.unique(actions)) == len(batch.actions)
    for kind in (PuzzleEnv, torchrl_bench.Floor):
        env = kind("net", "2x2", torchrl_bench.BATCH)
        restart, steps = torchrl_bench.env_player(env, actions)
        assert len(steps) == len(actions)
        for _ in range(2):
            restart()
            batch.reset(1)
            for step, one in zip(steps, actions, strict=True):
                step()
                batch.step(one)
                for name, field in batch.result.observation.items():
                    assert np.array_equal(env.batch.result.observation[name], field)
                assert np.array_equal(env.batch.result.steps, batch.result.steps)
        env.close()
    batch.close()
