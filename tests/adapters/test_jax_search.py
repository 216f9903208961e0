"""AlphaZero and MuZero in JAX: that they learn, go on where they stopped, and search what they say."""

from __future__ import annotations

import importlib
import io
import json
import re

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra jax is not installed")
pytest.importorskip("mctx", reason="the extra mctx is not installed")

import jax
import jax.numpy as jnp
from click.testing import CliRunner
from rich.console import Console

import puzzleport as pp
from puzzleport.adapters import jax_alphazero, jax_muzero
from puzzleport.adapters.jax_train import LAST, Model, Setup, train, training_task, withheld
from puzzleport.agents import network, published
from puzzleport.benchmark.learned import instances, play_agent, play_baseline, read_rows
from puzzleport.cli import main

SMALL = {"num_envs": 64, "rollout": 8, "updates": 4, "simulations": 8, "instances": 64, "batch": 128, "replay": 8}
SETTINGS = {"alphazero": {**SMALL, "lessons": 8}, "muzero": {**SMALL, "lessons": 32, "unroll": 3}}
ROUND = SMALL["num_envs"] * SMALL["rollout"] * SMALL["updates"]
KINDS = {
    "alphazero": (jax_alphazero.AlphaZero, jax_alphazero.Settings),
    "muzero": (jax_muzero.MuZero, jax_muzero.Settings),
}


@pytest.fixture(scope="module", autouse=True)
def kept_programs(tmp_path_factory):
    """What is compiled is kept for the tests of this file: compiling is nearly all that they take."""
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
    yield
    jax.config.update("jax_compilation_cache_dir", before)


def setup(puzzle="fifteen", params="2x2", seed=1, **options):
    return Setup(training_task(puzzle, params), seed, threads=1, width=32, **options)


def learner(algorithm, model, **settings):
    kind, known = KINDS[algorithm]
    return kind(model, known(**{**SETTINGS[algorithm], **settings}), 1000)


class Stop(Exception):
    pass


@pytest.mark.parametrize(("algorithm", "rounds"), [("alphazero", 4), ("muzero", 8)])
def test_it_learns_and_an_interrupted_run_ends_with_the_same_weights(tmp_path, algorithm, rounds):
    options = {"steps": rounds * ROUND, "settings": SETTINGS[algorithm], "patience": False}
    best = train(algorithm, setup(), folder=tmp_path / "whole", **options)
    agent, task = published.read(best), pp.Task("fifteen", "2x2", max_steps=500)
    trained = play_agent(agent, task, range(100), temperature=agent.temperature)
    model = Model(setup())
    model.write(tmp_path / "fresh.safetensors", model.initial, temperature=1.0)
    fresh = play_agent(published.read(tmp_path / "fresh.safetensors"), task, range(100), temperature=1.0)
    expert = play_baseline("expert", task, range(100))
    assert trained.solved.all()
    assert fresh.steps.mean() > 5 * expert.steps.mean()
    assert trained.steps.mean() <= 1.5 * expert.steps.mean()

    def interrupt(report):
        if report.steps >= (rounds - 1) * ROUND:
            raise Stop  # before this round is saved

    with pytest.raises(Stop):
        train(algorithm, setup(), folder=tmp_path / "cut", progress=interrupt, **options)
    for other, words in (
        (setup("net"), "another puzzle"),
        (setup("fifteen", "3x2"), "another params"),
        (setup(seed=2), "another seed"),
    ):
        with pytest.raises(ValueError, match=words):
            train(algorithm, other, folder=tmp_path / "cut", resume=True, **options)
    again = train(algorithm, setup(), folder=tmp_path / "cut", resume=True, **options)
    with np.load(tmp_path / "whole" / LAST) as whole, np.load(tmp_path / "cut" / LAST) as cut:
        assert whole.files == cut.files
        assert all(np.array_equal(whole[name], cut[name]) for name in whole.files if name != "run")
    assert best.read_bytes() == again.read_bytes()


def test_alphazero_searches_only_what_is_legal_and_finds_what_is_near():
    """One step from the solution, the search takes it, whatever the policy thinks, and the improved policy says so."""
    model = Model(setup("net"))
    alphazero = learner("alphazero", model, simulations=16, sharpness=1.0)
    task, states, seeds = model.setup.task, [], range(16)
    for seed in seeds:
        with task.session(seed) as session:
            plan = session.plan()
        state, now = alphazero.env.init_timestep(seed)
        for action in plan[:-1]:
            state, now = alphazero.env.step_pure(state, action)
        states.append((state, now, plan[-1]))
    state = jnp.stack([one[0] for one in states])
    seen = jnp.concatenate([model.look({k: v[None] for k, v in one[1].observation.items()}) for one in states])
    mask = jnp.stack([one[1].mask for one in states])
    games = jax_alphazero.Games(state, seen, mask)
    weights = {**alphazero.weights, "worth.weight": jnp.zeros((32, 1))}  # values of a fresh network are mere chance
    action, policy, _ = jax.jit(alphazero._search)(weights, games, jax.random.key(0))
    assert np.array_equal(action, [one[2] for one in states])
    assert not np.asarray(policy)[~np.asarray(mask)].any()
    assert (np.asarray(policy)[np.arange(16), action] > 0.5).all()
    alphazero.close()


def test_withheld_instances_are_not_played():
    for algorithm in KINDS:
        one = learner(algorithm, Model(setup("tents", "4x4de", withhold=0.5)))
        one._starts(np.random.default_rng(0))
        pairs = np.array([(sight >> 32, sight & 0xFFFFFFFF) for sight in one.seen], np.uint32)
        assert 0 < len(pairs) < SMALL["instances"]
        assert not withheld(pairs, 0.5).any()
        one.close()


def test_returns_end_with_the_episode():
    one = learner("alphazero", Model(setup()), discount=0.5, trace=1.0)
    steps = jax_alphazero.Steps(
        *(None,) * 4,
        value=jnp.array([[7.0], [8.0], [9.0], [5.0]]),
        reward=jnp.array([[1.0], [2.0], [3.0], [4.0]]),
        terminated=jnp.array([[False], [True], [False], [False]]),
        truncated=jnp.array([[False], [False], [True], [False]]),
    )
    last = jnp.array([6.0])
    _, worth = jax.lax.scan(one._return, (last, last), steps, reverse=True)
    # 4 + 6 / 2; cut off, so what the search thought; solved, so nothing follows; 1 + 2 / 2.
    assert np.asarray(worth)[:, 0].tolist() == [2.0, 2.0, 9.0, 7.0]
    one.close()


def test_mistakes_are_told(tmp_path):
    with pytest.raises(ValueError, match="unroll is at least 1 and less than rollout, 8, not 8"):
        train("muzero", setup(), steps=1, folder=tmp_path, settings={**SETTINGS["muzero"], "unroll": 8})
    with pytest.raises(pp.UnknownOption, match="no setting 'unroll'"):
        train("alphazero", setup(), steps=1, folder=tmp_path, settings={"unroll": 8})


def test_the_command_trains_and_evaluates(tmp_path):
    words = ["train", "--algo", "alphazero", "--puzzle", "fifteen", "--level", "2x2", "--seed", "1", "--width", "32"]
    words += [word for name, value in SETTINGS["alphazero"].items() for word in ("--set", f"{name}={value}")]
    steps = ROUND - SMALL["num_envs"] * SMALL["rollout"]  # the round is cut short
    words += ["--steps", str(steps), "--episodes", "20", "--threads", "1", "--out", str(tmp_path), "--json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    assert row["success_percent"] == 100
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["about"]["algorithm"] == "alphazero"
    assert [row["steps"] for row in run["curve"]] == [steps]


def test_the_ablation_makes_the_cells_that_are_missing(tmp_path, monkeypatch):
    """Three of four cells of a puzzle are there: one is trained, by the settings that its row tells."""
    table = tmp_path / "table.csv"
    lines = [f"cube,ppo,{limit},{repeats},0,x" for limit, repeats in ((10000, 0), (100000, 10), (100000, 0))]
    table.write_text("\n".join(["puzzle,algorithm,max_steps,max_repeats,seed,params", *lines]) + "\n")
    words = ["ablation", str(table), "--puzzle", "cube", "--steps", "2048", "--episodes", "2", "--runs", str(tmp_path)]
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, color_system="truecolor")
    monkeypatch.setattr(importlib.import_module("puzzleport.cli.ablation"), "console", console)
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    said = shown.getvalue()
    assert re.fullmatch(r"cube 10,000 steps, 10 repeats: [\d.]+% solved\n", said)  # plain, in a terminal too
    rows = read_rows(table)
    assert len(rows) == 4
    (made,) = [row for row in rows if row["command"]]
    assert (made["max_steps"], made["max_repeats"], made["episodes"]) == ("10000", "10", "2")
    assert "--level human --max-steps 10000 --max-repeats 10" in made["command"]
    task = pp.Task("cube", made["params"])
    for who in ("random", "masked"):
        played = play_baseline(who, task, instances(task, 2))
        assert float(made[f"{who}_success"]) == 100 * played.solved.mean()
        lengths = played.steps[played.solved]
        assert made[f"{who}_mean_steps"] == (str(round(lengths.mean(), 1)) if len(lengths) else "")
    about = json.loads((tmp_path / "ppo-cube-10000-10-0" / "run.json").read_text())["about"]
    assert (about["max_steps"], about["max_repeats"]) == (10000, 10)
    assert CliRunner().invoke(main, words).output == ""  # nothing is left to do
    assert shown.getvalue() == said


def test_a_search_is_cut_off_where_the_task_is_and_another_game_begins():
    limit, n = 2, 16
    task = training_task("net", "2x2", max_steps=limit)
    one = learner("alphazero", Model(Setup(task, 1, threads=1, width=16)), num_envs=n, simulations=2)
    starts = one._starts(np.random.default_rng(0))
    games, length = jax.tree.map(lambda x: x[:n], starts), np.zeros(n, int)
    act, known = jax.jit(one._act), {bytes(state) for state in np.asarray(starts.state)}
    for key in jax.random.split(jax.random.key(0), 5):
        before = games
        games, (step, (over, solved)) = act(one.weights, starts, before, key)
        length += 1
        assert np.asarray(before.mask)[np.arange(n), step.action].all()
        assert np.array_equal(np.unpackbits(step.seen, axis=-1, count=before.seen.shape[1]), before.seen)
        assert np.array_equal(step.mask, before.mask)
        assert np.array_equal(step.truncated, (length == limit) & ~np.asarray(step.terminated))
        assert np.array_equal(over, step.terminated | step.truncated)
        assert np.array_equal(solved, step.terminated)  # Net is never lost
        assert [bytes(state) in known for state in np.asarray(games.state)] == over.tolist()
        length[over] = 0
    assert one.env.task.max_steps == 0  # the search itself looks on
    one.close()


def distances(logits, value, mask, wanted, worth, entropy):
    """Cross entropy to a wanted policy, less the entropy times its weight, and half the square of the value's error."""
    chances = np.where(mask, np.exp(logits), 0)
    chances = chances / chances.sum()
    legal = np.flatnonzero(mask)
    return -sum((wanted[a] - entropy * chances[a]) * np.log(chances[a]) for a in legal) + (value - worth) ** 2 / 2


def steps_of_chance(model, lead, random):
    actions = len(model.setup.task.actions)
    mask = random.random((*lead, actions)) < 0.6
    mask[..., 0] = True
    policy = np.where(mask, random.random((*lead, actions)), 0).astype(np.float32)
    seen = random.random((*lead, len(model.sight["item"]))) < 0.5
    numbers = random.normal(size=(2, *lead)).astype(np.float32)
    ended = random.random(lead) < 0.25
    steps = jax_alphazero.Steps(
        np.packbits(seen, axis=-1),
        mask,
        random.integers(actions, size=lead).astype(np.int32),
        policy / policy.sum(-1, keepdims=True),
        *numbers,
        ended,
        (random.random(lead) < 0.25) & ~ended,
    )
    return seen, steps


def test_the_loss_of_alphazero_is_the_distance_to_what_the_search_found():
    model, random = Model(setup("net")), np.random.default_rng(0)
    one = learner("alphazero", model)
    seen, steps = steps_of_chance(model, (1, 12), random)
    weights = {name: np.asarray(each) for name, each in model.initial.items()}
    logits, value = network.forward(model.shape, weights, seen[0])
    expected = [
        distances(logits[i], value[i], steps.mask[0, i], steps.policy[0, i], steps.value[0, i], 0.3) for i in range(12)
    ]
    found = jax.jit(one._loss)(model.initial, jax.tree.map(jnp.asarray, steps), 0.3)
    assert float(found) == pytest.approx(np.mean(expected), rel=1e-4)
    one.close()


def test_the_loss_of_muzero_follows_its_model_until_the_end_of_a_game():
    """One game at a time, in plain numbers, by what the file of the algorithm says."""
    model, random, unroll, alike, entropy = Model(setup("net")), np.random.default_rng(1), 3, 0.7, 0.3
    one = learner("muzero", model, unroll=unroll, alike=alike)
    weights = {n: np.asarray(w) + random.normal(0, 0.05, w.shape).astype(np.float32) for n, w in one.weights.items()}
    lead = unroll + 1, 40
    seen, steps = steps_of_chance(model, lead, random)

    def layer(name, x):
        return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def represented(seen):
        return network.represent(model.shape, weights, seen)

    losses, kinds = [], set()
    for game in range(lead[1]):
        hidden, state, total = represented(seen[0, game]), "goes on", 0.0
        for at in range(unroll + 1):
            now = jax.tree.map(lambda x, at=at, game=game: x[at, game], steps)
            logits, value = layer("policy", hidden), layer("worth", hidden)[0]
            share = 1 / unroll if at else 1
            kinds.add(state)
            if state == "goes on":
                legal = np.exp(logits)[now.mask].sum()
                total += share * distances(logits, value, now.mask, now.policy, now.value, entropy)
                total += share * np.log(np.exp(logits).sum() / legal)
                if at:
                    truth = represented(seen[at, game])
                    cosine = hidden @ truth / np.linalg.norm(hidden) / np.linalg.norm(truth)
                    total += share * alike * (1 - cosine)
            elif state == "over":
                total += share * value**2 / 2
            if at == unroll:
                break
            inside = np.maximum(layer("dynamics.in", np.r_[hidden, np.eye(len(logits))[now.action]]), 0)
            hidden = np.maximum(hidden + layer("dynamics.out", inside), 0)
            reward = layer("dynamics.reward", inside)[0]
            if state != "unknown":
                total += (reward - (now.reward if state == "goes on" else 0)) ** 2 / unroll
            if state == "goes on":
                state = "over" if now.terminated else "unknown" if now.truncated else state
        losses.append(total)
    assert kinds == {"goes on", "over", "unknown"}
    found = jax.jit(one._loss)(jax.tree.map(jnp.asarray, weights), jax.tree.map(jnp.asarray, steps), entropy)
    assert float(found) == pytest.approx(np.mean(losses), rel=1e-4)
    one.close()


def test_how_unlike_hidden_states_are_is_one_less_the_cosine_of_their_angle():
    angles = np.linspace(0, np.pi, 7)
    for size, other in ((0.3, 0.5), (2.0, 0.4), (7.0, 7.0)):
        hidden = size * np.stack([np.cos(angles), np.sin(angles), 0 * angles], -1)
        truth = other * np.array([[1.0, 0.0, 0.0]] * len(angles))
        found = jax_muzero._unlike(jnp.asarray(hidden), jnp.asarray(truth))
        np.testing.assert_allclose(found, 1 - np.cos(angles), atol=1e-4)
