from __future__ import annotations

import inspect
import itertools
import json
import pickle
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("sb3_contrib", reason="training needs the extra sb3")

import torch

import puzzleport as pp
from puzzleport.adapters.sb3_train import (
    ALGORITHMS,
    Keep,
    ModelPolicy,
    Report,
    _rollout_length,
    algorithm_of,
    load_model,
    train,
)
from puzzleport.benchmark import learned
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.benchmark.playing import Playing
from puzzleport.cli import main
from puzzleport.cli.train import SB3_NAMES

SMALL = {"n_steps": 16, "batch_size": 16}
LSTM = {**SMALL, "policy_kwargs": {"lstm_hidden_size": 8}}
QUICK = {
    "maskable_ppo": SMALL, "ppo": SMALL, "recurrent_ppo": LSTM, "trpo": SMALL, "a2c": {},
    "dqn": {"learning_starts": 10, "buffer_size": 1000}, "qrdqn": {"learning_starts": 10, "buffer_size": 1000},
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread():
    """These networks are too small to share out."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_the_command_knows_all_algorithms():
    assert set(SB3_NAMES.values()) == set(ALGORITHMS)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_trains_is_recognised_and_plays(tmp_path, algorithm):
    path = train(algorithm, "fifteen", "2x2", steps=64, folder=tmp_path, num_envs=2, settings=QUICK[algorithm])
    assert algorithm_of(path) == algorithm
    policy = ModelPolicy(load_model(path), "fifteen", "2x2")
    one, two = (evaluate(policy, "fifteen", "2x2", episodes=12, max_steps=60, seed=0, threads=n) for n in (1, 2))
    assert one == two
    assert any(one.steps)
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


@pytest.mark.parametrize("observation", ["flat", "one_hot", pytest.param("pixels", marks=pytest.mark.slow)])
def test_a_model_tells_what_it_wants_to_see(tmp_path, observation):
    path = train(
        "maskable_ppo",
        "pegs",
        "4x4random",
        steps=32,
        folder=tmp_path,
        num_envs=2,
        observation=observation,
        settings=SMALL,
        seed=0,
    )
    model = load_model(path)
    evaluate(ModelPolicy(model, "pegs", "4x4random"), "pegs", "4x4random", episodes=2, max_steps=10)
    with pytest.raises(ValueError, match=r"5 actions, pegs 6 \(without|5 actions, pegs 6 \(with"):
        ModelPolicy(model, "pegs", "4x4random", undo=True)
    if observation != "pixels":
        with pytest.raises(ValueError, match="other observations"):
            ModelPolicy(model, "pegs", "5x7cross")


class Interrupt:
    """A progress report in which the user presses Ctrl-C."""

    def __init__(self, at):
        self.at = at

    def __call__(self, report):
        if report.steps >= self.at:
            raise KeyboardInterrupt


def test_an_interrupted_run_is_kept_and_resumes(tmp_path):
    options = {"folder": tmp_path, "num_envs": 2, "settings": SMALL}
    with pytest.raises(KeyboardInterrupt):
        train("ppo", "fifteen", "2x2", steps=256, progress=Interrupt(100), **options)
    assert json.loads((tmp_path / "run.json").read_text())["steps_done"] == 100
    with pytest.raises(ValueError, match="--resume goes on"):
        train("ppo", "fifteen", "2x2", steps=256, **options)
    with pytest.raises(ValueError, match="has another algorithm"):
        train("a2c", "fifteen", "2x2", steps=256, resume=True, **options)
    path = train("ppo", "fifteen", "2x2", steps=256, resume=True, **options)
    assert load_model(path).num_timesteps == json.loads((tmp_path / "run.json").read_text())["steps_done"] >= 256


def test_a_table_of_agents_goes_on_with_a_run_and_measures_it(tmp_path, monkeypatch):
    brief = learned.Recipe("sb3-ppo", 64, {"num-envs": 2, "set": ("n_steps=16", "batch_size=16")})
    monkeypatch.setitem(learned.RECIPES, "sb3-ppo", brief)
    words = ["table", str(tmp_path / "table.csv"), "--puzzle", "net", "--recipe", "sb3-ppo", "--episodes", "5"]
    folder, options = tmp_path / "net-easiest-sb3-ppo-0", {"num_envs": 2, "settings": SMALL, "seed": 0}
    train("ppo", "net", pp.spec("net").easiest_params, steps=32, folder=folder, **options)
    before = json.loads((folder / "run.json").read_text())
    result = CliRunner().invoke(main, [*words, "--runs", str(tmp_path)])
    assert result.exit_code == 0, result.output
    (row,) = learned.read_rows(tmp_path / "table.csv")
    assert row["command"] == (
        "puzzleport train --algo sb3-ppo --puzzle net --level easiest --num-envs 2"
        " --set n_steps=16 --set batch_size=16 --steps 64 --seed 0"
    )
    assert (before["steps_done"], row["steps"], row["own_episodes"]) == (32, "64", "5")
    assert float(row["cpu_seconds"]) > before["cpu"] > 0
    played = json.loads((folder / "results.json").read_text())["results"][0]
    within = [s == 1 and n <= int(row["bound"]) for n, s in zip(played["steps"], played["status"], strict=True)]
    assert float(row["own_within"]) == 100 * sum(within) / 5


def test_the_command_trains_and_evaluates(tmp_path):
    words = [
        "train",
        "--algo",
        "sb3-maskable-ppo",
        "--puzzle",
        "fifteen",
        "--steps",
        "64",
        "--num-envs",
        "2",
        "--set",
        "n_steps=16",
        "--set",
        "batch_size=16",
    ]
    result = CliRunner().invoke(main, [*words, "--episodes", "5", "--out", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert "trained fifteen 2x2: 64 steps, reward " in result.stdout
    assert "bound 256, evalset v1" in result.stdout
    evaluated = CliRunner().invoke(
        main,
        [
            "evaluate",
            "--policy",
            str(tmp_path / "run" / "model.zip"),
            "--puzzle",
            "fifteen",
            "--episodes",
            "5",
            "--evalset",
            "v1",
            "--json",
        ],
    )
    stored = json.loads((tmp_path / "run" / "results.json").read_text())["results"][0]
    row = json.loads(evaluated.stdout)[0]
    assert row["episodes"] == len(stored["steps"]) == 5
    solved = [steps for steps, status in zip(stored["steps"], stored["status"], strict=True) if status == 1]
    assert row["success_percent"] == 100 * len(solved) / 5
    wrong = CliRunner().invoke(main, [*words[:3], "--set", "n_steps", "--out", str(tmp_path / "other")])
    assert wrong.exit_code == 2


# ---- how long, and what is told meanwhile


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("steps", "num_envs"), [(640, 2), (1000, 3)])
def test_a_training_takes_the_steps_that_it_is_told(tmp_path, algorithm, steps, num_envs):
    """Within one rollout, which is at most a tenth of them, with the algorithm's own settings."""
    settings = {name: value for name, value in QUICK[algorithm].items() if name not in SMALL} | {"learning_rate": 1e-3}
    told: list[Report] = []
    path = train(
        algorithm,
        "fifteen",
        "2x2",
        steps=steps,
        folder=tmp_path,
        num_envs=num_envs,
        settings=settings,
        progress=told.append,
    )
    model = load_model(path)
    assert steps <= model.num_timesteps < 1.1 * steps
    assert told[-1].steps == model.num_timesteps
    if hasattr(model, "n_epochs"):
        assert model.n_steps * num_envs <= steps // 10
        if num_envs == 2 and algorithm != "recurrent_ppo":  # 64 is a whole mini-batch of 32 steps, and a tenth
            assert model.n_steps * num_envs == model.batch_size


def test_a_long_training_keeps_the_algorithms_own_settings(tmp_path):
    def stop(report):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("ppo", "fifteen", "2x2", steps=2_000_000, folder=tmp_path, progress=stop)
    assert load_model(tmp_path / "model.zip").n_steps == 2048


def test_reports_tell_reward_and_success_also_during_optimisation(tmp_path):
    told: list[Report] = []
    settings = {"n_steps": 64, "batch_size": 4, "n_epochs": 20}
    train(
        "maskable_ppo",
        "fifteen",
        "2x2",
        steps=256,
        folder=tmp_path,
        num_envs=4,
        settings=settings,
        progress=told.append,
    )
    assert told[0].reward is told[0].success is None
    assert told[-1].reward == told[-1].success == 1
    learning = [report for report in told if report.updates]
    assert len(learning) > 1
    assert all(report.steps == 256 for report in learning)
    assert sorted(report.updates for report in learning) == [report.updates for report in learning]


def test_settings_that_an_algorithm_has_not_are_named_with_those_that_it_has(tmp_path):
    with pytest.raises(pp.UnknownOption, match="ppo has no setting 'nsteps'; it has policy, learning_rate, n_steps, "):
        train("ppo", "fifteen", "2x2", steps=64, folder=tmp_path, settings={"nsteps": 3})
    with pytest.raises(ValueError, match="ppo cannot be made with these settings"):
        train("ppo", "fifteen", "2x2", steps=64, folder=tmp_path, settings={"n_steps": "many"})
    with pytest.raises(ValueError, match="ppo cannot be made with these settings"):
        train("ppo", "fifteen", "2x2", steps=64, folder=tmp_path, device="nowhere")
    with pytest.raises(pp.UnknownOption, match="which is called num_envs now"):
        train("ppo", "fifteen", "2x2", steps=64, folder=tmp_path, n_envs=3)
    assert list(tmp_path.iterdir()) == []


def test_device_and_tensorboard_log_may_be_set(tmp_path):
    words = "train --algo sb3-maskable-ppo --puzzle fifteen --steps 64 --num-envs 2 --episodes 0 --set device=auto"
    words += " --reward solved=2,step=-0.5"
    logs = tmp_path / "logs-of-mine"
    done = CliRunner().invoke(
        main, [*words.split(), "--set", f"tensorboard_log={logs}", "--out", str(tmp_path / "run")]
    )
    assert done.exit_code == 0, done.output
    assert list(logs.rglob("events.*"))
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (run["rewards"]["solved"], run["rewards"]["step"]) == (2, -0.5)
    assert f"seed {run['seed']}" in done.stdout  # drawn, and told


def test_a_run_that_goes_on_has_its_own_seed_and_other_puzzles(tmp_path, monkeypatch):
    from stable_baselines3.common.vec_env import VecMonitor

    seeds: list[int] = []
    monkeypatch.setattr(VecMonitor, "seed", lambda self, seed=None: seeds.append(seed) or self.venv.seed(seed))
    options = {"folder": tmp_path, "num_envs": 2, "settings": SMALL}
    train("ppo", "fifteen", "2x2", steps=64, **options)
    train("ppo", "fifteen", "2x2", steps=128, resume=True, **options)
    run = json.loads((tmp_path / "run.json").read_text())
    assert seeds[1] == run["seed"]
    assert seeds[-1] == pp.game_id.episode_seed(run["seed"], 64)


# ---- models as policies


def test_evaluate_takes_a_file_and_a_model(tmp_path):
    path = train("ppo", "fifteen", "2x2", steps=64, folder=tmp_path, num_envs=2, settings=SMALL)
    options = {"episodes": 12, "max_steps": 60, "seed": 0, "name": "mine"}
    by_file = evaluate(str(path), "fifteen", "2x2", **options)
    assert any(by_file.steps)
    assert evaluate(load_model(path), "fifteen", "2x2", **options) == by_file
    assert evaluate(ModelPolicy(path), "fifteen", "2x2", **options) == by_file
    greedy = evaluate(str(path), "fifteen", "2x2", deterministic=True, **options)
    assert greedy.key != by_file.key
    assert evaluate(str(path), "fifteen", "2x2").policy == str(path)
    for given in (str(path), load_model(path)):
        here = Playing(given)
        there = pickle.loads(pickle.dumps(here))
        assert (there.name, there.fingerprint) == (here.name, here.fingerprint)
        assert evaluate(there, "fifteen", "2x2", **options) == by_file
    with pytest.raises(ValueError, match="other observations"):
        evaluate(str(path), "fifteen", "3x3")


@pytest.mark.slow
def test_a_model_sees_the_first_picture(tmp_path):
    path = train(
        "ppo", "fifteen", "2x2", steps=8, folder=tmp_path, num_envs=2, observation="pixels", width=64, height=48
    )
    policy, seen = ModelPolicy(path), []
    act = policy._actions
    policy._actions = lambda observation, *rest: seen.append(observation.copy()) or act(observation, *rest)
    evaluate(policy, "fifteen", "2x2", episodes=2, max_steps=2, seed=3)
    expected = pp.Session("fifteen", "2x2", seed=3).pixels(64, 48)
    assert (seen[0][0] == expected).all()


def test_a_training_that_cannot_be_is_refused_before_it_writes(tmp_path):
    from puzzleport.adapters.sb3_train import train

    with pytest.raises(pp.UnknownOption, match="no algorithm 'ppo3'; there are"):
        train("ppo3", "net", "2x2", steps=10, folder=tmp_path / "run")
    with pytest.raises(ValueError, match="at least one step"):
        train("ppo", "net", "2x2", steps=0, folder=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_rollout_is_a_tenth_in_whole_batches_that_ends_nearest(algorithm):
    """Of all lengths between a twentieth and a tenth of the training, by looking at each."""
    kind = ALGORITHMS[algorithm]
    known = inspect.signature(kind.__init__).parameters
    name = "train_freq" if "train_freq" in known else "n_steps"
    own, batches = known[name].default, [None, 16, 24] if "batch_size" in known else [None]
    tried = 0
    for steps, num_envs, batch in itertools.product(
        (9, 10, 200, 640, 1000, 4096, 10_000, 10**7), (1, 2, 3, 16), batches
    ):
        settings = {} if batch is None else {"batch_size": batch}
        found = _rollout_length(kind, steps, num_envs, settings)
        assert _rollout_length(kind, steps, num_envs, {**settings, name: 7}) == {}
        if own * num_envs <= steps // 10:
            assert found == {}
            continue
        (length,) = found.values()
        assert [*found] == [name]
        least = 2 if name == "n_steps" and num_envs == 1 else 1  # advantages of one step have no spread
        longest = max(steps // (10 * num_envs), least)
        possible = [one for one in range(1, longest + 1) if one > longest // 2]
        size = batch or (known["batch_size"].default if "batch_size" in known else 1)
        whole = [one for one in possible if one * num_envs % size == 0]
        assert length in (whole or possible)

        def over(one, num_envs=num_envs, steps=steps):
            return -steps % (one * num_envs)

        assert over(length) == min(map(over, whole or possible))
        tried += 1
    assert tried


def test_a_run_goes_on_only_as_what_it_was(tmp_path):
    options = {"steps": 8, "folder": tmp_path, "num_envs": 2, "seed": 3}
    path = train("a2c", "fifteen", "2x2", settings={"n_steps": 2}, **options)
    content = path.read_bytes()
    told = []
    this = {**options, "settings": {"n_steps": 2}, "resume": True, "progress": told.append}
    assert train("a2c", "fifteen", "2x2", **this) == path
    assert (path.read_bytes(), told) == (content, [])  # it has taken all of its steps
    others = {
        "seed": 4,
        "num_envs": 3,
        "observation": "flat",
        "undo": True,
        "max_steps": 9,
        "max_repeats": 9,
        "rewards": pp.Rewards(step=-1.0),
        "settings": {"n_steps": 4},
    }
    for name, value in others.items():
        with pytest.raises(ValueError, match=f"has another {name}: "):
            train("a2c", "fifteen", "2x2", **{**this, name: value})
    for words, puzzle, params in (("puzzle", "net", "2x2"), ("params", "fifteen", "3x2")):
        with pytest.raises(ValueError, match=f"has another {words}: "):
            train("a2c", puzzle, params, **this)
    run = json.loads((tmp_path / "run.json").read_text())
    assert {name: run[name] for name in others if name != "rewards"} == {
        "seed": 3,
        "num_envs": 2,
        "observation": "state",
        "undo": False,
        "max_steps": 10_000,
        "max_repeats": 0,
        "settings": {"n_steps": 2},
    }


def test_a_model_is_saved_after_so_many_steps(tmp_path):
    seen = []

    def look(report):
        saved = tmp_path / "run.json"
        seen.append((report.steps, json.loads(saved.read_text())["steps_done"] if saved.exists() else 0))

    train(
        "a2c", "fifteen", "2x2", steps=50, folder=tmp_path, num_envs=2, every=12, progress=look, settings={"n_steps": 1}
    )
    while_it_played = dict(seen[:-1])
    assert {steps: saved for steps, saved in while_it_played.items() if steps < 50} == {
        steps: steps // 12 * 12 for steps in range(2, 50, 2)
    }
    assert seen[-1] == (50, 50)


def test_a_run_stops_early_when_it_is_perfect_twice_in_a_row(tmp_path):
    """Random play solves the 2x2 Fifteen within its bound, so the first two looks at a hundred games are perfect."""
    options = {"num_envs": 8, "every": 4000, "seed": 0, "settings": {"n_steps": 50, "learning_rate": 1e-3}}
    long = train("a2c", "fifteen", "2x2", steps=24_000, folder=tmp_path / "long", **options)
    assert load_model(long).num_timesteps == 24_000
    assert "finished" not in json.loads((tmp_path / "long" / "run.json").read_text())
    path = train("a2c", "fifteen", "2x2", steps=24_000, folder=tmp_path / "short", patience=True, **options)
    told = json.loads((tmp_path / "short" / "run.json").read_text())
    assert told["steps_done"] == load_model(path).num_timesteps < 24_000
    assert told["finished"].startswith("the last 100 games")
    before = path.read_bytes()
    train("a2c", "fifteen", "2x2", steps=24_000, folder=tmp_path / "short", patience=True, resume=True, **options)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("lengths", "solved", "perfect"),
    [
        ([5] * 100, [True] * 100, 1),
        ([5] * 99 + [6], [True] * 100, 0),
        ([5] * 100, [True] * 99 + [False], 0),
        ([5] * 99, [True] * 99, 0),
    ],
)
def test_a_look_is_perfect_when_a_hundred_games_were_solved_within_the_bound(tmp_path, lengths, solved, perfect):
    keeper = Keep(tmp_path, {"steps_done": 0}, 1, None, bound=5, steps=10)
    keeper.model = SimpleNamespace(ep_info_buffer=[{"l": one} for one in lengths], ep_success_buffer=solved)
    keeper._look(5)
    assert keeper.run["perfect"] == perfect
    assert "finished" not in keeper.run
    keeper._look(5)
    assert ("finished" in keeper.run) == bool(perfect)


@pytest.mark.parametrize(("steps", "within", "stops"), [(4, 0, False), (5, 0, True), (5, 1, False)])
def test_a_run_stops_after_half_of_its_steps_if_no_game_was_solved_within_the_bound(tmp_path, steps, within, stops):
    keeper = Keep(tmp_path, {"steps_done": 0}, 1, None, bound=5, steps=10)
    keeper.model = SimpleNamespace(ep_info_buffer=[{"l": 6 - within}, {"l": 5}], ep_success_buffer=[True, False])
    keeper._look(5)
    keeper.model = SimpleNamespace(ep_info_buffer=[{"l": 6}], ep_success_buffer=[True])
    keeper.num_timesteps = steps
    keeper._look(5)
    assert ("finished" in keeper.run) == stops


def test_a_value_network_explores_as_it_did_at_the_end_of_its_training(tmp_path):
    model = load_model(
        train("dqn", "fifteen", "2x2", steps=16, folder=tmp_path, num_envs=2, settings=QUICK["dqn"], seed=1)
    )
    drawn = {}
    with pp.Batch("fifteen", "2x2", 400, threads=1) as batch:
        result = batch.reset(1)
        for share in (0.0, 0.3, 1.0):
            model.exploration_final_eps = share
            for deterministic in (False, True):
                policy = ModelPolicy(model, "fifteen", "2x2", deterministic=deterministic)
                random = np.random.default_rng(5)
                policy.start(batch, random)
                drawn[share, deterministic] = policy(result.observation, result.mask, random)
    best = drawn[0.0, False]
    for share in (0.0, 0.3, 1.0):
        assert np.array_equal(drawn[share, True], best)
        others = (drawn[share, False] != best).mean()  # of four actions one is the best
        assert others == pytest.approx(share * 3 / 4, abs=0.08 if share else 0)
    assert set(drawn[1.0, False].tolist()) == set(range(4))


def test_a_file_that_is_no_model_is_named(tmp_path):
    path = tmp_path / "model.zip"
    with pytest.raises(ValueError, match=r"there is no file .*model\.zip"):
        load_model(path)
    for content in (b"", b"PK", b"{}"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"model\.zip is no model saved by Stable-Baselines3"):
            algorithm_of(path)
    for name, data in (("other", "{}"), ("data", "{}"), ("data", '{"policy_class": "mine"}'), ("data", "no JSON")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, data)
        with pytest.raises(ValueError, match=r"model\.zip is no model saved by Stable-Baselines3"):
            load_model(path)
