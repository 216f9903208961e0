"""Training in JAX: PPO and DAgger, their files, and what they reach."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

pytest.importorskip("jax", reason="the extra jax is not installed")
pytest.importorskip("optax", reason="the extra jax is not installed")

import jax.numpy as jnp
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.adapters import jax_train
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


@pytest.mark.parametrize("kind", ["dense", "axial", "relative"])
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
    counts = np.flatnonzero(steps.weight)
    norm = (gain - gain[counts].mean()) / gain[counts].std()
    losses = []
    for at in counts:
        ratio = chances[at, steps.action[at]] / np.exp(steps.log_prob[at])
        policy = min(ratio * norm[at], min(max(ratio, 0.8), 1.2) * norm[at])
        legal = chances[at][steps.mask[at]]
        losses.append(-policy + (value[at] - target[at]) ** 2 / 2 + entropy * (legal * np.log(legal)).sum())
    found = ppo._loss(
        ppo.model.initial, Step(*map(jnp.asarray, steps)), jnp.asarray(gain), jnp.asarray(target), entropy
    )
    assert float(found) == pytest.approx(np.mean(losses), rel=1e-3)


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
@pytest.mark.parametrize(("puzzle", "algorithm"), [("net", "ppo"), ("pegs", "dagger")])
def test_agents_reach_the_bound_in_seconds(tmp_path, puzzle, algorithm):
    """On puzzles that random play hardly ever solves within it: Fifteen's is so wide that it says nothing."""
    params = pp.canonical_params(puzzle, pp.spec(puzzle).easiest_params)
    whole = Setup(training_task(puzzle, params), 0, threads=1, width=128 if algorithm == "ppo" else 256)
    path = train(algorithm, whole, steps=600_000 if algorithm == "ppo" else 100_000, folder=tmp_path)
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
