from __future__ import annotations

import pytest

import puzzleport as pp
from puzzleport.benchmark.evaluation_sets import SIZE, evalset
from puzzleport.benchmark.evaluation import BLOCK, Result, evaluate, load, load_rows, save, settings
from puzzleport.files import aside
from puzzleport.benchmark.paper import table


def chance(observation, mask, random):
    """Random legal actions, in Python."""
    return (random.random(mask.shape) * mask).argmax(axis=1)


def first_legal(observation, mask, random):
    return mask.argmax(axis=1)


class Impatient:
    """Plays by chance, and is interrupted in its third block."""

    def __init__(self):
        self.blocks = 0

    def start(self, batch, random):
        self.blocks += 1
        if self.blocks == 3:
            raise KeyboardInterrupt

    __call__ = staticmethod(chance)


@pytest.mark.parametrize("policy", ["random", "masked-random", chance])
def test_threads_change_no_number(policy):
    one, two = (evaluate(policy, "samegame", "5x5c3s2", episodes=200, max_steps=300, threads=n) for n in (1, 2))
    assert one == two
    assert 0 < one.summary()["success_percent"] < 100
    assert evaluate(policy, "samegame", "5x5c3s2", episodes=200, max_steps=300, seed=1).steps != one.steps


def test_a_policy_over_the_batch_plays_what_single_sessions_would():
    result = evaluate(first_legal, "inertia", "4x4", episodes=40, max_steps=50)
    for episode, (status, steps) in enumerate(zip(result.status, result.steps, strict=True)):
        seed = pp.session.episode_seed(0, episode)
        session = pp.Session("inertia", "4x4", seed, undo=False, max_steps=50)
        while not session.ended:
            session.step(int(session.mask().argmax()))
        assert (status, steps) == (session.status, session.steps)
    assert set(result.status) >= {-1, 0}


def test_random_in_c_and_in_python_are_the_same_policy():
    native = evaluate("masked-random", "fifteen", "2x2", episodes=1000).summary()
    ours = evaluate(chance, "fifteen", "2x2", episodes=1000).summary()
    assert native["success_percent"] == ours["success_percent"] == 100
    standard_error = native["std"] / 1000**0.5
    assert abs(native["mean_successful_steps"] - ours["mean_successful_steps"]) < 5 * standard_error


def test_the_expert_solves_within_the_bound_in_fewer_steps_than_chance():
    expert = evaluate("expert", "bridges", "3x3", episodes=30).summary()
    assert expert["success_percent"] == 100
    assert expert["mean_successful_steps"] < expert["optimal_upper_bound"]
    assert (
        expert["mean_successful_steps"]
        < evaluate("random", "bridges", "3x3", episodes=30).summary()["mean_successful_steps"]
    )


def test_an_interrupted_evaluation_goes_on_to_the_same_numbers(tmp_path):
    options = {"episodes": 3 * BLOCK + 10, "max_steps": 60, "name": "chance"}
    kept: list[Result] = []
    with pytest.raises(KeyboardInterrupt):
        evaluate(Impatient(), "fifteen", "2x2", progress=lambda result: kept.append(result), **options)
    assert len(kept[-1].steps) == 2 * BLOCK
    save(kept[-1:], tmp_path / "kept.json")
    played: list[int] = []
    known = load(tmp_path / "kept.json")
    resumed = evaluate(
        chance, "fifteen", "2x2", known=known, progress=lambda one: played.append(len(one.steps)), **options
    )
    assert played[0] == 2 * BLOCK
    assert resumed == evaluate(chance, "fifteen", "2x2", **options)


def test_a_longer_evaluation_begins_with_the_shorter_one():
    short = evaluate(chance, "fifteen", "2x2", episodes=BLOCK + 5, max_steps=40)
    whole = evaluate(chance, "fifteen", "2x2", episodes=3 * BLOCK, max_steps=40)
    assert evaluate(chance, "fifteen", "2x2", episodes=3 * BLOCK, max_steps=40, known=[short]) == whole


def test_results_of_other_settings_are_not_taken_over():
    known = evaluate("random", "fifteen", "2x2", episodes=20, max_steps=5)
    assert (
        evaluate("random", "fifteen", "2x2", episodes=20, max_steps=500, known=[known]).summary()["success_percent"]
        == 100
    )


def test_the_settings_of_the_paper():
    listed = settings(pp.puzzles(), "paper")
    assert len(listed) == 43
    assert [name for name, _ in listed if sum(one == name for one, _ in listed) == 2][::2] == [
        "netslide",
        "samegame",
        "untangle",
    ]


@pytest.mark.parametrize(
    ("puzzle", "params"),
    [("bridges", "3x3"), ("fifteen", "2x2"), ("flood", "3x3c6m5"), ("guess", "c2p3g10Bm"), ("slant", "2x2de")],
)
def test_random_play_is_the_papers(puzzle, params):
    """Some of docs/random.md: within 3 points and 15 per cent."""
    (paper,) = (
        row
        for row in table("results")
        if (row["puzzle"], row["params"], row["algorithm"]) == (puzzle, params, "Random")
    )
    ours = evaluate("random", puzzle, params).summary()
    assert abs(ours["success_percent"] - float(paper["success_percent"])) <= 3
    assert abs(ours["mean_successful_steps"] / float(paper["mean_successful_steps"]) - 1) <= 0.15


def test_a_file_is_whole_or_not_there(tmp_path):
    target = tmp_path / "results.json"
    target.write_text("before")

    def fail():
        with aside(target) as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_results_survive_files(tmp_path):
    results = [evaluate("random", name, pp.spec(name).easiest_params, episodes=30) for name in ("fifteen", "pegs")]
    save(results, tmp_path / "a.json")
    assert load(tmp_path / "a.json") == results
    save(results, tmp_path / "a.csv")
    columns = ("puzzle", "params", "algorithm", "mean_successful_steps", "success_percent", "optimal_upper_bound")
    for before, after in zip(results, load_rows(tmp_path / "a.csv"), strict=True):
        assert [before.summary()[name] for name in columns] == [after[name] for name in columns]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"format": "other", "results": []}', '{"format": "puzzleport results 1"}']
)
def test_what_is_no_file_of_results_is_said_so(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="holds no results"):
        load(path)


# ---- frozen sets


@pytest.mark.parametrize("level", ["easiest", "human"])
def test_the_frozen_instances_are_still_the_same(puzzle, level):
    one = evalset("v1", level)[puzzle]
    assert len(one.seeds) == len(set(one.seeds)) == SIZE
    assert one.verify(quick=True)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["easiest", "human"])
def test_all_frozen_instances_are_still_the_same(puzzle, level):
    assert evalset("v1", level)[puzzle].verify()


def test_frozen_seeds_are_no_training_seeds():
    """Streams of episodes, and seeds that are drawn, keep below 2**53."""
    frozen = evalset("v1")["fifteen"].seeds
    assert min(frozen) >= 2**53
    assert all(
        pp.session.episode_seed(seed, episode) < 2**53 for seed in (0, 7, frozen[0]) for episode in range(1, 200)
    )
    assert all(pp.session.random_seed() < 2**53 for _ in range(200))


def test_an_evaluation_on_a_frozen_set():
    result = evaluate("random", "fifteen", "2x2", episodes=30, evaluation_set="v1")
    assert result.seeds == "evalset v1"
    assert result.steps != evaluate("random", "fifteen", "2x2", episodes=30).steps
    with pytest.raises(ValueError, match="has 1000 instances"):
        evaluate("random", "fifteen", "2x2", episodes=1001, evaluation_set="v1")
    with pytest.raises(ValueError, match="no evaluation set"):
        evalset("v9")


def test_the_instance_hash_is_of_the_instance_alone():
    session = pp.Session("bridges", "7x7", seed=3)
    before, state = session.instance_hash, session.hash()
    session.step("SELECT")
    session.step("RIGHT")
    assert session.hash() != state
    assert session.instance_hash == before == session.clone().instance_hash
    assert session.instance_hash != pp.Session("bridges", "7x7", seed=4).instance_hash
