"""Training in JAX: PPO and DAgger, their files, and what they reach."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra jax is not installed")
pytest.importorskip("optax", reason="the extra jax is not installed")

import jax
import jax.numpy as jnp
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.adapters import jax_dagger, jax_train
from puzzleport.adapters.jax_ppo import PPO, Settings, Step
from puzzleport.adapters.jax_train import (
    LAST,
    VALIDATION,
    Model,
    Score,
    Setup,
    Validation,
    _enough,
    train,
    training_task,
    unseen,
    validation_seeds,
)
from puzzleport.agents import network, published
from puzzleport.benchmark.learned import expert_steps, first_sight, joined, play_agent, sights, withheld
from puzzleport.cli import main

from ..conftest import solved_alone

TINY = {
    "ppo": {"num_envs": 16, "rollout": 8, "updates": 2, "minibatches": 2, "epochs": 1},
    "dagger": {"num_envs": 8, "rounds": 3, "updates": 3, "batch": 16},
}
STEPS = {"ppo": 3 * 2 * 16 * 8, "dagger": 300}


@pytest.fixture(autouse=True)
def few_games(request, monkeypatch):
    """Agents that have hardly learned anything take all steps in every game of validation."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(jax_train, "VALIDATED", 30)


def setup(puzzle="fifteen", params="2x2", seed=1, **options):
    return Setup(training_task(puzzle, params), seed, threads=1, width=16, **options)


def arrays(folder):
    with np.load(folder / LAST) as saved:
        return {name: saved[name] for name in saved.files if name != "run"}


class Stop(Exception):
    pass


SIZES = {"kind": "relative", "layers": 1, "also": ("2x3",)}
"""Of runs that learn from boards of two sizes. They have as many steps too, and so the same compiled programs."""
STEPS_OF_SIZES = 600


@pytest.mark.parametrize(("algorithm", "more"), [("ppo", {}), ("dagger", {}), ("dagger", SIZES)])
def test_an_interrupted_run_ends_with_the_same_weights_as_one_that_was_not(tmp_path, algorithm, more):
    this = partial(setup, **more)
    steps = STEPS_OF_SIZES if more else STEPS[algorithm]
    options = {"steps": steps, "settings": TINY[algorithm], "patience": False}
    best = train(algorithm, this(), folder=tmp_path / "whole", **options)
    told = []

    def interrupt(report):
        told.append(report)
        if report.score is not None and report.steps < options["steps"]:
            raise Stop  # in the second round: the first is saved

    with pytest.raises(Stop):
        train(algorithm, this(), folder=tmp_path / "cut", progress=interrupt, **options)
    with pytest.raises(ValueError, match="--resume goes on"):
        train(algorithm, this(), folder=tmp_path / "cut", **options)
    with pytest.raises(ValueError, match="another seed"):
        train(algorithm, this(seed=2), folder=tmp_path / "cut", resume=True, **options)
    again = train(algorithm, this(), folder=tmp_path / "cut", resume=True, **options)
    whole, cut = arrays(tmp_path / "whole"), arrays(tmp_path / "cut")
    assert whole.keys() == cut.keys()
    assert all(np.array_equal(whole[name], cut[name]) for name in whole)
    assert best.read_bytes() == again.read_bytes()
    run = json.loads((tmp_path / "cut" / "run.json").read_text())
    assert (run["rounds"], run["finished"]) == (3, "all steps are taken")
    # A run that has ended is left as it is.
    assert train(algorithm, this(), folder=tmp_path / "cut", resume=True, **options) == again


ELSEWHERE = """
import json, sys
from pathlib import Path
import jax, numpy as np
from puzzleport.adapters import jax_dagger, jax_ppo, jax_train
from puzzleport.agents import published

algorithm, settings, folder = sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3])
setup = jax_train.Setup(jax_train.training_task("net", "2x2"), 1, threads=1, width=16)
options = {"steps": 600, "settings": settings, "patience": False}
jax_train.VALIDATED = 30
here = published.read(jax_train.train(algorithm, setup, folder=folder / "here", **options)).weights
used, move = set(), jax_train.learn_on

def noted(device, learn, *arguments):
    def learn_there(*moved):
        learned = learn(*moved)
        used.update(one for leaf in jax.tree.leaves(learned) for one in leaf.devices())
        return learned
    return move(device, learn_there, *arguments)

other = jax.devices()[1]
for module in (jax_train, jax_ppo, jax_dagger):
    module.learning_device, module.learn_on = lambda: other, noted
there = published.read(jax_train.train(algorithm, setup, folder=folder / "there", **options)).weights
assert used == {other}, used
assert here.keys() == there.keys()
for name in here:
    np.testing.assert_allclose(here[name], there[name], rtol=1e-2, atol=1e-3)
print("alike")
"""


@pytest.mark.parametrize("algorithm", ["ppo", "dagger"])
def test_a_network_may_learn_on_another_device_than_the_games_are_played_on(tmp_path, algorithm):
    """As where there is a GPU; this machine may have none, but JAX can make two devices of its processor."""
    words = [sys.executable, "-c", ELSEWHERE, algorithm, json.dumps(TINY[algorithm]), str(tmp_path)]
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "alike", done.stderr[-3000:]


def test_a_gpu_is_where_networks_learn(monkeypatch):
    assert jax_train.learning_device() is None  # the tests have none
    gpu = SimpleNamespace(platform="gpu")
    monkeypatch.setattr(jax_train.jax, "local_devices", lambda: [gpu])
    assert jax_train.learning_device() is gpu


@pytest.mark.parametrize("kind", ["dense", "axial", "lines", "relative", "tokens"])
def test_numpy_and_jax_say_the_same(kind):
    model = Model(setup("solo", "2x2", kind=kind))
    weights = {name: np.asarray(one) for name, one in {**model.initial, **model.sight}.items()}
    random = np.random.default_rng(0)
    weights = {
        name: one + random.normal(size=one.shape).astype(np.float32) * 0.1 if one.dtype.kind == "f" else one
        for name, one in weights.items()
    }
    with model.setup.task.batch(32, threads=1) as batch:
        step = batch.reset(1)
        for _ in range(20):
            step = batch.step(pp.agents.masked_actions(step.observation, step.mask, random))
        seen = network.numbers(model.layout, step.observation)
    plain = network.forward(model.shape, weights, network.look(weights, seen))
    there = {name: jnp.asarray(one) for name, one in weights.items()}
    compiled = model(there, model.look_at(jnp.asarray(seen)))
    for ours, theirs in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-4, atol=1e-4)


def test_a_dense_network_sees_what_its_file_says():
    model = Model(setup("net", "2x2"))
    with pp.Session("net", "2x2", seed=3) as session:
        of = network.numbers(model.layout, session.observe())
    flat = np.concatenate([np.ravel(one) for one in session_fields("net", "2x2", 3)])
    assert np.array_equal(of, flat)
    seen = network.look({name: np.asarray(one) for name, one in model.sight.items()}, of)
    item, value = (np.asarray(model.sight[name]) for name in ("item", "value"))
    assert seen.tolist() == [int(flat[i]) == int(v) for i, v in zip(item, value, strict=True)]


def session_fields(puzzle, params, seed):
    with pp.Session(puzzle, params, seed=seed) as session:
        seen = session.observe()
        return [seen[field.name] for field in session.fields]


@pytest.fixture(scope="module")
def ppo():
    made = PPO(Model(setup("net", "2x2")), Settings(num_envs=2, clip=0.2, discount=0.9, trace=0.8), 100)
    yield made
    made.close()


def steps_of_chance(ppo, count):
    """Steps that nobody took: for each an action that is legal, and numbers that lie about."""
    random = np.random.default_rng(0)
    actions = len(ppo.model.setup.task.actions)
    mask = random.random((count, actions)) < 0.6
    action = random.integers(actions, size=count)
    mask[np.arange(count), action] = True
    seen = random.random((count, len(ppo.model.sight["item"]))) < 0.5
    numbers = random.normal(size=(3, count)).astype(np.float32)
    return Step(
        seen, mask, action, numbers[0] - 1, *numbers[1:], random.random(count) < 0.2, random.random(count) < 0.7
    )


def test_advantages_are_sums_of_discounted_surprises(ppo):
    steps, last = steps_of_chance(ppo, 12), np.float32(0.7)
    carry, found = (np.float32(0), last), []
    for at in reversed(range(12)):
        carry, gain = ppo._advantage(carry, Step(*(one[at] for one in steps)))
        found.insert(0, float(gain))
    after = [*steps.value[1:], last]
    surprise = [
        r + 0.9 * v * (not d) - w for r, v, d, w in zip(steps.reward, after, steps.done, steps.value, strict=True)
    ]
    for at, gain in enumerate(found):
        ends = next((end for end in range(at, 12) if steps.done[end]), 11)
        assert gain == pytest.approx(sum((0.9 * 0.8) ** (k - at) * surprise[k] for k in range(at, ends + 1)), rel=1e-4)


def test_the_loss_of_ppo_is_that_of_its_paper(ppo):
    """With the mean of the games that count, and advantages of mean 0 and spread 1 over these."""
    count, entropy = 40, 0.3
    steps, random = steps_of_chance(ppo, count), np.random.default_rng(1)
    gain, target = random.normal(2, 3, count), random.normal(size=count)
    logits, value = (np.asarray(one, float) for one in ppo.model(ppo.model.initial, steps.seen))
    chances = np.where(steps.mask, np.exp(logits), 0)
    chances /= chances.sum(1, keepdims=True)
    loss = jax.jit(ppo._loss)
    for counts in (np.flatnonzero(steps.weight), [3], []):  # one game alone, and none, can be left by what is withheld
        norm = (gain - gain[counts].mean()) / (gain[counts].std() or 1) if len(counts) else gain
        losses = []
        for at in counts:
            ratio = chances[at, steps.action[at]] / np.exp(steps.log_prob[at])
            policy = min(ratio * norm[at], min(max(ratio, 0.8), 1.2) * norm[at])
            legal = chances[at][steps.mask[at]]
            losses.append(-policy + (value[at] - target[at]) ** 2 / 2 + entropy * (legal * np.log(legal)).sum())
        given = steps._replace(weight=np.isin(np.arange(count), counts).astype(np.float32))
        found = loss(ppo.model.initial, Step(*map(jnp.asarray, given)), jnp.asarray(gain), jnp.asarray(target), entropy)
        assert float(found) == pytest.approx(np.mean(losses) if losses else 0, rel=1e-3)


@pytest.mark.parametrize("algorithm", ["ppo", "dagger"])
def test_nothing_is_learned_from_instances_that_are_withheld(tmp_path, algorithm):
    half = setup("tents", "4x4de", withhold=0.5)
    train(algorithm, half, steps=STEPS[algorithm], folder=tmp_path, settings=TINY[algorithm], patience=False)
    seen = arrays(tmp_path)["seen"]
    assert len(seen)
    pairs = np.stack([seen >> np.uint64(32), seen & np.uint64(0xFFFFFFFF)], -1).astype(np.uint32)
    assert not withheld(pairs, 0.5).any()
    agent = published.read(tmp_path / "best.safetensors")
    new = unseen(tmp_path / LAST, agent, 100)
    assert new.mean() > 0.3
    # Nor do they choose the agent that is kept.
    assert not withheld(sights(half.task, validation_seeds(half.task, 200, 0.5)), 0.5).any()
    with pytest.raises(ValueError, match="no instance of tents 4x4de is left"):
        validation_seeds(half.task, 200, 1.0)


def test_first_sights_tell_instances_apart():
    task = pp.Task("solo", "2x2")
    with task.batch(500, threads=1) as batch:
        numbers = network.numbers(task.layout, batch.reset(0).observation)
    sights = first_sight(numbers)
    assert len(np.unique(joined(sights))) == len(np.unique(numbers, axis=0))
    assert np.array_equal(sights, np.asarray(first_sight(jnp.asarray(numbers), jnp)))
    assert 0.1 < withheld(sights, 0.2).mean() < 0.3


def test_boards_that_differ_in_one_bit_have_other_first_sights():
    places, bits = 20, np.left_shift(1, np.arange(32)).astype(np.uint32).view(np.int32)
    changed = np.eye(places, dtype=np.int32)[:, None] * bits[:, None]
    board = np.arange(places, dtype=np.int32)
    assert (first_sight(board ^ changed) != first_sight(board)).all()


def test_validation_and_numpy_measure_the_same_policy(tmp_path):
    """Not the same games of chance, but with the likeliest action there is no chance."""
    folder = tmp_path / "run"
    path = train("ppo", setup(), steps=STEPS["ppo"], folder=folder, settings=TINY["ppo"], patience=False)
    agent = published.read(path)
    model = Model(setup())
    weights = {name: jnp.asarray(agent.weights[name]) for name in model.initial}
    validation = Validation(model)
    (games,) = validation.sizes
    score = validation(weights, 0.0, 0)
    task = pp.Task("fifteen", "2x2", max_steps=games.limit)
    played = play_agent(agent, task, games.seeds, temperature=0.0)
    assert played.solved.mean() == score.within
    if played.solved.any():
        assert played.steps[played.solved].mean() == pytest.approx(score.mean_steps)
    assert games.seeds[0] == VALIDATION
    assert np.array_equal(validation.expert, expert_steps(task, games.seeds))
    validation.close()


def test_an_agent_can_start_from_another(tmp_path):
    first = train("dagger", setup(), steps=300, folder=tmp_path / "a", settings=TINY["dagger"], patience=False)
    warm = {**TINY["ppo"], "warmup": 100}
    more = setup(seed=2, start=str(first))
    second = train("ppo", more, steps=256, folder=tmp_path / "b", settings=warm, patience=False)
    before, after = (published.read(one).weights for one in (first, second))
    # Only the value is taught while PPO warms up.
    assert all(np.array_equal(before[name], after[name]) for name in before if not name.startswith("worth"))
    assert not np.array_equal(before["worth.weight"], after["worth.weight"])
    with pytest.raises(ValueError, match="plays fifteen, not net"):
        train("ppo", setup("net", start=str(first)), steps=256, folder=tmp_path / "c", settings=TINY["ppo"])


def test_a_curriculum_carries_over_what_fits(tmp_path):
    words = ["train", "--algo", "dagger", "--puzzle", "solo", "--level", "3x2", "--seed", "1", "--network", "axial"]
    words += [
        "--layers",
        "1",
        "--width",
        "8",
        "--steps",
        "100",
        "--set",
        "rounds=1",
        "--set",
        "updates=0",
        "--episodes",
        "0",
    ]
    result = CliRunner().invoke(main, [*words, "--curriculum", "2x2", "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    small, large = (published.read(tmp_path / "run" / part / "best.safetensors").weights for part in ("2x2", "."))
    kept = {
        name for name in small if small[name].shape == large[name].shape and np.array_equal(small[name], large[name])
    }
    assert kept >= {"block.0.row.in.weight", "block.0.column.out.weight", "hidden.0.weight", "worth.weight"}
    assert "place" not in kept


def test_an_agent_plays_boards_larger_than_it_was_trained_on(tmp_path, monkeypatch):
    from puzzleport.benchmark import learned

    # In Same Game who has learned nothing is soon lost, and need not be watched for 10,000 steps.
    small = learned.Recipe(
        "dagger", 200, {"network": "relative", "width": 8, "layers": 1, "set": ("rounds=1", "updates=3")}
    )
    monkeypatch.setitem(learned.RECIPES, "dagger-relative", small)
    path = tmp_path / "table.csv"
    words = ["table", str(path), "--puzzle", "samegame", "--episodes", "2", "--test", "human", "--runs", str(tmp_path)]
    result = CliRunner().invoke(main, [*words, "--recipe", "expert", "--recipe", "dagger-relative"])
    assert result.exit_code == 0, result.output
    trained, expert = learned.read_rows(path)
    assert trained["params"] == expert["params"] == "5x5c3s2"
    assert "--level easiest" in trained["command"]
    assert "--set rounds=1 --set updates=3" in trained["command"]
    assert trained["own_episodes"] == trained["last_episodes"] == trained["sampled_episodes"] == "2"
    best = published.read(tmp_path / "samegame-easiest-dagger-relative-0" / "best.safetensors")
    for name, one in (("agreed_before", best), ("agreed", best.on("5x5c3s2"))):
        task, alike = pp.Task("samegame", one.params), []
        for seed in learned.instances(task, 2):
            session = task.session(seed)
            for key in session.plan():
                alike.append(key == one.probabilities(session).argmax())
                session.step(key)
        assert float(trained[name]) == pytest.approx(100 * np.mean(alike), abs=0.05)
    agent = published.read(tmp_path / "samegame-easiest-dagger-relative-0" / "last.safetensors")
    with pp.Session("samegame", "2x3c3s2", seed=1) as session:
        assert np.array_equal(agent.probabilities(session), agent.on("2x3c3s2").probabilities(session))
    with pp.Session("samegame", "5x4c3s2", seed=1) as session:
        assert session.mask()[agent.on("5x4c3s2")(session)]
    result = CliRunner().invoke(main, [*words, "--withhold", "0.2"])
    assert "--withhold and --test exclude each other" in result.output


def test_an_agent_that_sees_tokens_plays_what_is_no_grid_and_other_sizes_of_it(tmp_path):
    task = setup("untangle", "4", kind="tokens", layers=1, also=("5",))
    settings = {"rounds": 1, "updates": 3, "batch": 8, "num_envs": 8}
    agent = published.read(train("dagger", task, steps=200, folder=tmp_path / "run", settings=settings))
    assert agent.shape.kind == "tokens"
    small, large = agent.on("4"), agent.on("6")
    assert {name for name in agent.weights if not np.array_equal(agent.weights[name], large.weights[name])} == {
        "item", "value", "bit",
    }  # fmt: skip
    with pp.Session("untangle", "4", seed=1) as session:
        assert np.array_equal(agent.probabilities(session), small.probabilities(session))
    with pp.Session("untangle", "6", seed=1) as session:
        assert session.mask()[large(session)]
    again = Model(setup("untangle", "4", kind="tokens", start=str(tmp_path / "run" / "best.safetensors")))
    assert np.array_equal(again.sight["bit"], agent.weights["bit"])


def test_boards_of_several_sizes_have_equal_shares_and_are_all_validated(tmp_path):
    several, options = setup(withhold=0.2, **SIZES), {"settings": TINY["dagger"], "patience": False}
    path = train("dagger", several, steps=STEPS_OF_SIZES, folder=tmp_path / "run", **options)
    kept = arrays(tmp_path / "run")
    # A share is full when the game is over that filled it.
    longest = pp.optimal_steps("fifteen", "2x3")
    assert all(300 <= len(kept[f"state/action/{size}"]) < 300 + 8 * longest for size in range(2))
    first = sights(several.task, range(500))
    assert set(kept["seen"].tolist()) <= set(joined(first[~withheld(first, 0.2)]).tolist())
    model = Model(several)
    assert [one.layout for one in model.sizes] == [pp.Task("fifteen", one).layout for one in ("2x2", "2x3")]
    agent = published.read(path)
    twin, other = agent.on("2x3"), model.sizes[1]  # what the package plays there is what was trained there
    assert np.array_equal(twin.weights["item"], other.sight["item"])
    assert np.array_equal(twin.weights["value"], other.sight["value"])
    validation = Validation(model)
    weights = {name: jnp.asarray(agent.weights[name]) for name in model.initial}
    each = [one.play(weights, 0.0, 0)[0] for one in validation.sizes]
    assert [len(one) for one in each] == [15, 15]
    assert validation(weights, 0.0, 0).within == pytest.approx(np.mean(each))
    validation.close()
    with pytest.raises(ValueError, match="of other sizes are for dagger alone"):
        train("ppo", several, steps=600, folder=tmp_path / "other", settings=TINY["ppo"])


def test_an_agent_learns_from_pictures(tmp_path):
    words = ["train", "--algo", "ppo", "--puzzle", "fifteen", "--network", "pixels", "--width", "16", "--seed", "1"]
    words += [word for name, value in TINY["ppo"].items() for word in ("--set", f"{name}={value}")]
    result = CliRunner().invoke(main, [*words, "--steps", "256", "--episodes", "0", "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    agent = published.read(tmp_path / "run" / "best.safetensors")
    task = pp.Task("fifteen", "2x2", max_steps=20)
    seeds = list(range(20))
    played = play_agent(agent, task, seeds, temperature=0.0)
    assert played.solved.tolist() == solved_alone(agent, task, seeds)  # the same pictures are seen
    assert unseen(tmp_path / "run" / LAST, agent, 10) is None


def test_training_ends_when_it_is_perfect_and_fast_or_gets_no_faster_or_is_hopeless():
    def rounds(*told):
        return [Score(within, spl, steps, 0.0) for within, spl, steps in told]

    expert, fast, slow, failing = 10.0, (1.0, 1.0, 10.0), (1.0, 0.5, 20.0), (0.9, 0.9, 10.0)
    for scores in (rounds(fast, fast), rounds(failing, fast, fast)):
        assert _enough(scores, expert, 0.1) == "all validation games are solved, as fast as by the expert"
    for scores in (rounds(*[slow] * 4), rounds(failing, *[slow] * 4), rounds(slow, slow, slow, (1.0, 0.505, 19.8))):
        assert _enough(scores, expert, 0.1) == "all validation games are solved, and it gets no faster"
    for scores in (
        rounds(fast),
        rounds(fast, slow),
        rounds(failing, fast),
        rounds(*[slow] * 3),
        rounds(failing, slow, slow, slow),
        rounds(slow, slow, slow, (1.0, 0.51, 19.6)),
        rounds(*[failing] * 4),
    ):
        assert _enough(scores, expert, 0.9) == ""
    lost, met = rounds(*[(0.0, 0.0, np.nan)] * 9), rounds(*[(0.0, 0.0, np.nan)] * 9, (0.01, 0.0, 20.0))
    assert _enough(lost, expert, 0.49) == ""
    assert _enough(lost, expert, 0.5) == "no validation game is solved after half of the steps"
    assert _enough(met, expert, 0.9) == ""


def test_mistakes_are_told(tmp_path):
    with pytest.raises(pp.UnknownOption, match="no algorithm 'sarsa'; there are ppo, dagger"):
        train("sarsa", setup(), steps=1, folder=tmp_path)
    with pytest.raises(pp.UnknownOption, match="no setting 'lr'; there are num_envs"):
        train("ppo", setup(), steps=1, folder=tmp_path, settings={"lr": 1})
    with pytest.raises(ValueError, match="pictures are for ppo alone"):
        train("dagger", setup(kind="pixels"), steps=1, folder=tmp_path)
    with pytest.raises(ValueError, match="boards of other sizes are for dagger alone"):
        train("ppo", setup(kind="relative", also=("2x3",)), steps=1, folder=tmp_path)
    with pytest.raises(ValueError, match="at least one step"):
        train("ppo", setup(), steps=0, folder=tmp_path)
    with pytest.raises(pp.UnknownOption, match="needs a board with a cursor"):
        Model(setup(kind="axial"))
    with pytest.raises(pp.UnknownOption, match="untangle has no cursor on a board"):
        Model(setup("untangle", "4", kind="relative"))
    with pytest.raises(pp.UnknownOption, match="map: a relative network cannot read fixed"):
        Model(setup("map", "3x3n5de", kind="relative"))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--layers", "0"], "layers is a whole number from 1 to 64, not 0"),
        (["--width", "-3"], "width is a whole number from 1 to 8192, not -3"),
        (["--network", "tokens", "--width", "10"], "its width is a multiple of that, not 10"),
        (["--network", "axial", "--width", "10"], "its width is a multiple of that, not 10"),
    ],
)
def test_a_network_that_cannot_be_is_refused_in_one_line(tmp_path, options, told):
    result = CliRunner().invoke(main, ["train", "--puzzle", "solo", "--out", str(tmp_path / "run"), *options])
    assert result.exit_code == 2
    assert result.output.strip().endswith(told)
    assert "Traceback" not in result.output
    assert not (tmp_path / "run").exists()


def test_the_command_trains_several_seeds_without_masks(tmp_path):
    words = [
        "train",
        "--algo",
        "ppo",
        "--puzzle",
        "fifteen",
        "--seed",
        "3",
        "--seeds",
        "2",
        "--no-mask",
        "--width",
        "16",
    ]
    words += [word for name, value in TINY["ppo"].items() for word in ("--set", f"{name}={value}")]
    result = CliRunner().invoke(main, [*words, "--steps", "256", "--episodes", "5", "--out", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.stdout)) == 2
    for seed in (3, 4):
        folder = tmp_path / f"seed-{seed}"
        assert {one.name for one in folder.iterdir()} >= {"best.safetensors", "last.npz", "run.json", "curve.csv"}
        assert not published.read(folder / "best.safetensors").masked
    for name, value in (("--every", "5"), ("--size", "tiny")):
        result = CliRunner().invoke(main, ["train", "--algo", "ppo", "--puzzle", "fifteen", name, value])
        assert result.exit_code == 2
        assert f"{name} is not for --algo ppo" in result.output


def test_the_table_goes_on_where_it_was(tmp_path, monkeypatch):
    from puzzleport.benchmark import learned

    small = learned.Recipe("dagger", 300, {"width": 16, "set": "rounds=1"})
    monkeypatch.setitem(learned.RECIPES, "dagger", small)
    path = tmp_path / "table.csv"
    words = ["table", str(path), "--puzzle", "fifteen", "--episodes", "5", "--runs", str(tmp_path / "runs")]
    result = CliRunner().invoke(main, [*words, "--recipe", "expert", "--recipe", "dagger"])
    assert result.exit_code == 0, result.output
    rows = learned.read_rows(path)
    assert [row["recipe"] for row in rows] == ["dagger", "expert"]
    assert rows[0]["command"].startswith("puzzleport train --algo dagger --puzzle fifteen")
    assert rows[1]["own_spl"] == "1.0"
    before = path.stat().st_mtime_ns
    result = CliRunner().invoke(main, [*words, "--recipe", "expert", "--recipe", "dagger"])
    assert (result.exit_code, result.output) == (0, "")
    assert path.stat().st_mtime_ns == before


def test_a_table_of_withheld_instances_has_nothing_else(tmp_path, monkeypatch):
    from puzzleport.benchmark import learned

    monkeypatch.setitem(learned.RECIPES, "dagger", learned.Recipe("dagger", 300, {"width": 16, "set": "rounds=1"}))
    path = tmp_path / "table.csv"
    words = ["table", str(path), "--puzzle", "palisade,mines,untangle", "--episodes", "50", "--withhold", "0.2"]
    words += ["--recipe", "masked", "--recipe", "dagger", "--runs", str(tmp_path / "runs")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "mines: nothing is withheld, all games look the same at first" in result.output
    assert "untangle: nothing is withheld, too few instances exist" in result.output
    trained, masked = learned.read_rows(path)
    assert trained["command"].endswith("--seed 0 --withhold 0.2")
    assert trained["instances"] == masked["instances"] == "4"
    assert trained["own_episodes"] == masked["own_episodes"] == "50"
    result = CliRunner().invoke(main, [*words, "--recipe", "dreamer"])
    assert result.exit_code == 2
    assert "--withhold is not for the recipe dreamer" in result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("puzzle", "algorithm", "steps", "width"),
    [("net", "ppo", 600_000, 128), ("twiddle", "ppo", 200_000, 64), ("towers", "dagger", 40_000, 256)],
)
def test_agents_reach_the_bound_in_seconds(tmp_path, puzzle, algorithm, steps, width):
    """On puzzles that random play hardly ever solves within it: Fifteen's is so wide that it says nothing."""
    params = pp.canonical_params(puzzle, pp.spec(puzzle).easiest_params)
    path = train(
        algorithm, Setup(training_task(puzzle, params), 0, threads=1, width=width), steps=steps, folder=tmp_path
    )
    agent = published.read(path)
    task = pp.Task(puzzle, params, max_steps=pp.optimal_steps(puzzle, params))
    played = play_agent(agent, task, list(range(200)), temperature=agent.temperature)
    assert played.solved.mean() >= 0.95


def test_the_rates_of_ppo_fall_evenly_to_a_tenth_and_to_a_third():
    from puzzleport.adapters.jax_ppo import Settings

    settings = Settings(rate=0.02, entropy=0.3)
    falling = np.array([settings.rates(left) for left in (1, 0.75, 0.5, 0.25, 0)])
    np.testing.assert_allclose(falling[[0, -1]], [[0.02, 0.3], [0.002, 0.1]])
    np.testing.assert_allclose(np.diff(falling, axis=0), [np.diff(falling[[0, -1]], axis=0)[0] / 4] * 4)


def test_the_task_of_training_costs_little_and_ends_at_three_times_the_bound():
    """Rows of our tables were trained on this: with another one their commands would not give them again."""
    limits = set()
    for puzzle in pp.puzzles():
        params = pp.spec(puzzle).easiest_params
        task = training_task(puzzle, params, max_repeats=7, observation=None)
        assert task.max_steps == sorted((100, 3 * pp.optimal_steps(puzzle, params), 500))[1]
        assert (task.rewards.solved, task.rewards.failed, task.rewards.step) == (1.0, -0.1, -0.005)
        assert (task.max_repeats, task.observation) == (7, pp.Task.observation)  # what is None is not given
        limits.add(task.max_steps)
    assert len(limits - {100, 500}) > 5
    assert {100, 500} < limits
    assert training_task("fifteen", "2x2", max_steps=9).max_steps == 9


def test_columns_are_chosen_by_random_play_and_by_the_experts_way():
    task, seed, games, steps = pp.Task("fifteen", "3x3"), 3, 256, 60
    found = jax_train.samples(task, seed)
    seeds = np.random.default_rng([seed, 1]).integers(2**53, size=games).tolist()
    played, way = found[: games * steps].reshape(steps, games, -1), found[games * steps :]
    with task.batch(games, threads=1) as batch:
        assert np.array_equal(played[0], network.numbers(task.layout, batch.reset(seeds).observation))
    assert (played[1:] != played[:-1]).any(-1).all()  # each step is a legal one
    expected = []
    for one in seeds[:64]:
        with task.session(one) as session:
            for key in session.plan():
                expected.append(network.numbers(task.layout, session.observe()))
                session.step(key)
    assert np.array_equal(way, expected)


def test_validation_takes_the_first_instances_that_are_not_withheld():
    task, games = pp.Task("tents", "4x4de"), 50
    seeds = range(VALIDATION, VALIDATION + 4 * games)  # so many are looked at
    for share in (0.1, 0.5, 0.9):
        left = [seed for seed, out in zip(seeds, withheld(sights(task, list(seeds)), share), strict=True) if not out]
        assert validation_seeds(task, games, share) == left[:games]
    assert len(left) < games
    for one, share in ((task, 0.0), (pp.Task("mines", "4x4n2"), 0.9)):  # all games of Mines look the same at first
        assert validation_seeds(one, games, share) == list(seeds[:games])


def test_validation_draws_by_the_temperature(monkeypatch):
    monkeypatch.setattr(jax_train, "LONGEST", 12)
    model, random = Model(setup()), np.random.default_rng(0)
    (games,) = Validation(model).sizes
    assert games.limit == 12
    weights = {name: one + random.normal(0, 0.2, one.shape).astype(np.float32) for name, one in model.initial.items()}
    nothing = {name: jnp.zeros_like(one) for name, one in weights.items()}  # all legal actions are as good

    def played(weights, temperature):
        solved, length = games.play(weights, temperature, 5)
        assert (length[~solved] == games.limit).all()
        assert (length[solved] <= games.limit).all()
        return length.tolist(), solved.tolist()

    greedy, drawn, even = played(weights, 0.0), played(weights, 1.0), played(nothing, 1.0)
    assert played(weights, 1e-5) == greedy
    assert played(weights, 1e7) == even
    assert drawn not in (greedy, even)
    # Logits that are twice as large, at twice the temperature. The layer of the policy is linear.
    last = {name: one * 2 if name.startswith("policy") else one for name, one in weights.items()}
    assert played(last, 2.0) == drawn
    games.env.close()


def test_a_run_keeps_the_first_of_its_best_agents_and_says_what_it_was(tmp_path):
    this, latest = replace(setup(), task=training_task("fifteen", "2x2", max_repeats=9)), {}
    options, update = TINY["ppo"], 16 * 8

    def look(report):
        if (tmp_path / "last.safetensors").exists():
            latest[(tmp_path / "last.safetensors").read_bytes()] = report.steps

    train("ppo", this, steps=5 * update, folder=tmp_path, settings=options, patience=False, progress=look)
    run = json.loads((tmp_path / "run.json").read_text())
    curve = run["curve"]
    scores = [Score(*(row[name] for name in ("within", "spl", "mean_steps", "temperature"))) for row in curve]
    best = max(range(len(curve)), key=lambda i: (round(scores[i].within, 6), scores[i].spl))
    assert (tmp_path / "best.safetensors").read_bytes() == list(latest)[best]
    assert published.read(tmp_path / "best.safetensors").temperature == curve[best]["temperature"]
    assert [row["steps"] for row in curve] == [2 * update, 4 * update, 5 * update]  # no round goes on behind its end
    plain = pp.Task("fifteen", "2x2", max_steps=pp.optimal_steps("fifteen", "2x2"))
    expert = expert_steps(plain, range(VALIDATION, VALIDATION + jax_train.VALIDATED)).mean()
    assert {row["expert_steps"] for row in curve} == {float(expert)}
    cpu = [row["cpu_seconds"] for row in curve]
    assert cpu == sorted(cpu)
    assert cpu[0] > 0
    assert run["cpu"] == cpu[-1]
    with (tmp_path / "curve.csv").open() as file:
        assert [[float(row[name]) for name in row] for row in csv.DictReader(file)] == [
            pytest.approx(list(row.values()), nan_ok=True) for row in curve
        ]
    about = run["about"]
    assert about["settings"] == asdict(Settings(**options))
    assert about["rewards"] == {n: v for n, v in asdict(this.task.rewards).items() if isinstance(v, (int, float))}
    told = {"algorithm": "ppo", "puzzle": "fifteen", "params": "2x2", "max_repeats": 9, "steps": 640}
    told |= {"seed": 1, "masked": True, "kind": "dense", "layers": 2, "width": 16, "withhold": 0.0, "start": None}
    told["max_steps"] = this.task.max_steps
    assert {name: value for name, value in about.items() if name not in ("settings", "rewards")} == told


def test_what_was_cut_off_is_paid_by_its_last_value():
    """Each step of PPO, replayed by sessions: its pay and, where a limit ended the game, what its last board is worth."""
    task, games, seeds = pp.Task("net", "2x2", max_steps=3, rewards=pp.Rewards(step=-0.25)), 6, range(6)
    algorithm = PPO(Model(Setup(task, 1, width=16)), Settings(num_envs=games, discount=0.5), 100)
    model, act = algorithm.model, jax.jit(algorithm._act)
    weights, sight = ({name: np.asarray(w) for name, w in part.items()} for part in (model.initial, model.sight))
    sessions, ends = [task.session(seed) for seed in seeds], set()

    def look(session):
        return network.look(sight, network.numbers(task.layout, session.observe()))

    now, _ = algorithm._begin(*algorithm.env.reset(seed=np.array(seeds)))
    for key in jax.random.split(jax.random.key(3), 3):
        before = now
        now, (step, (done, solved, length, _, _)) = act(algorithm.weights, before, key)
        assert np.array_equal(step.seen, [look(one) for one in sessions])
        assert np.array_equal(step.mask, [one.mask() for one in sessions])
        logits, value = network.forward(model.shape, weights, np.asarray(step.seen))
        chances = np.where(step.mask, np.exp(logits), 0)
        chances = (chances / chances.sum(1, keepdims=True))[np.arange(games), step.action]
        np.testing.assert_allclose(step.log_prob, np.log(chances), rtol=1e-4)
        np.testing.assert_allclose(step.value, value, rtol=1e-5)
        paid = []
        for number, session in enumerate(sessions):
            session.step(int(step.action[number]))
            rest = 0.5 * network.forward(model.shape, weights, look(session))[1] if session.truncated else 0
            paid.append(task.rewards(session.status) + rest)
            assert (bool(done[number]), int(length[number])) == (session.ended != 0, session.steps)
            assert bool(solved[number]) == (session.status > 0)
            ends.add(session.ended)
        np.testing.assert_allclose(step.reward, paid, rtol=1e-4, atol=1e-6)
        assert np.array_equal(step.done, done)
        if np.asarray(done).any():
            break  # other games have begun
    assert 2 in ends
    algorithm.close()


def test_a_game_counts_until_its_end_by_what_was_seen_at_its_start():
    task = pp.Task("tents", "4x4de", max_steps=2)
    algorithm = PPO(Model(Setup(task, 1, width=16, withhold=0.5)), Settings(num_envs=40), 100)
    games, first = algorithm._begin(*algorithm.env.reset(seed=np.arange(40)))
    act = jax.jit(algorithm._act)
    counts = np.asarray(~withheld(np.asarray(first), 0.5))
    assert np.array_equal(games.weight, counts)
    for key in jax.random.split(jax.random.key(0), 4):
        games, (step, (done, _, _, sights, weight)) = act(algorithm.weights, games, key)
        assert np.array_equal(step.weight, counts)
        counts = np.where(done, ~withheld(np.asarray(sights), 0.5), counts)
        assert np.array_equal(weight, counts)
        assert np.array_equal(games.weight, counts)
    assert 0 < counts.sum() < 40
    algorithm.close()


@pytest.fixture
def dagger():
    model = Model(setup("net", "2x2"))
    made = jax_dagger.DAgger(model, jax_dagger.Settings(num_envs=2, discount=0.8), 100)
    yield made
    made.close()


def test_a_lesson_is_a_step_of_the_experts_way_and_how_far_it_is_from_its_end(dagger):
    (source,) = dagger._sources
    task, at = dagger.model.setup.task, 0
    for seed in range(3):
        with task.session(seed) as session:
            plan = session.plan()
            asked = session.clone()
            source.ask(asked)
            lessons = jax_dagger.Lessons(*(one[at : at + len(plan)] for one in source.lessons))
            at += len(plan)
            assert (source.steps, dagger.steps) == (at, at)
            assert lessons.action.tolist() == plan
            assert lessons.left.tolist() == list(range(len(plan), 0, -1))
            for key, seen, mask in zip(plan, lessons.seen, lessons.mask, strict=True):
                there = dagger.model.look_at(network.numbers(task.layout, session.observe())[None])[0]
                assert np.array_equal(np.unpackbits(seen, count=len(there)), there)
                assert np.array_equal(mask, session.mask())
                session.step(key)
    # A way that is cut off is no lesson.
    with replace(task, max_steps=1).session(0) as session:
        assert len(session.plan()) > 1
        source.ask(session)
    assert source.steps == at


def test_the_loss_of_dagger_is_of_the_experts_actions_and_of_what_its_way_pays(dagger):
    """The value learns the discounted sum of what a game pays on this way, which is played here."""
    (source,) = dagger._sources
    model = dagger.model
    weights, sight = ({name: np.asarray(w) for name, w in part.items()} for part in (model.initial, model.sight))
    task, losses = model.setup.task, []
    for seed in range(4):
        with task.session(seed) as session:
            way, paid = [], []
            for key in session.plan():
                seen = network.look(sight, network.numbers(task.layout, session.observe()))
                logits, value = network.forward(model.shape, weights, seen)
                chances = np.where(session.mask(), np.exp(logits), 0)
                way.append((np.log(chances[key] / chances.sum()), value))
                session.step(key)
                paid.append(task.rewards(session.status))
            for at, (chance, value) in enumerate(way):
                worth = sum(0.8**k * pay for k, pay in enumerate(paid[at:]))
                losses.append(-chance + (value - worth) ** 2 / 2)
            source.ask(task.session(seed))
    lessons = jax_dagger.Lessons(*(one[: source.steps] for one in source.lessons))
    found = jax.jit(dagger._loss, static_argnums=1)(model.initial, model, lessons)
    assert float(found) == pytest.approx(np.mean(losses), rel=1e-4)


def test_dagger_asks_first_from_the_start_then_along_its_way_and_learns_ever_more_slowly(monkeypatch):
    rates, asked, ask = [], [], jax_dagger.Source.ask

    class Idle(jax_dagger.DAgger):
        """Tells how fast it would learn, and does not."""

        def _learn(self, weights, moments, lessons, counts, key, of_round):
            assert [int(one) for one in counts] == [self.steps]
            rates.extend(np.asarray(of_round).tolist())
            return weights, moments

    def told_ask(self, session):
        asked.append(session.steps)
        ask(self, session)

    monkeypatch.setattr(jax_dagger.Source, "ask", told_ask)
    rounds, updates, total = 4, 300, 400
    settings = jax_dagger.Settings(num_envs=8, rounds=rounds, updates=updates, rate=0.01, prefix=1.5)
    learner, task = Idle(Model(setup()), settings, total), pp.Task("fifteen", "2x2")
    longest = learner._sources[0].longest - 1
    assert longest == pytest.approx(1.5 * expert_steps(task, range(300)).mean(), abs=1)
    for number in range(rounds):
        told = []
        asked.clear()
        learner.round(number, lambda *now, told=told: told.append(now))
        share = total * (number + 1) // rounds
        assert share <= learner.steps
        assert told[-1][0] == share
        assert all(steps <= share for steps, _ in told)
        # At first it has learned nothing, and only the expert plays.
        assert (max(asked) == 0) == (number == 0)
        assert max(asked) <= longest
        assert (told[-1][1] is None) == (number == 0)
    learner.close()
    steps = rounds * updates
    assert len(rates) == steps
    rising, falling = rates[:198], rates[198:]
    assert rising == sorted(rising)
    assert rates[0] == pytest.approx(0.01 / 100)
    assert rates[50] == pytest.approx(0.01 * 0.26, rel=0.02)
    assert falling == sorted(falling, reverse=True)
    for at in range(
        200, steps - 200, 50
    ):  # half of a wave, which is as far below the rate at first as above nothing at last
        assert rates[at] + rates[steps - at] == pytest.approx(0.01)
    assert rates[steps // 2] == pytest.approx(0.01 / 2)
    assert rates[steps * 2 // 3] == pytest.approx(0.01 / 4)
