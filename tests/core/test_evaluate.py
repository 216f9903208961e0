from __future__ import annotations

from threading import Barrier

import pytest

import puzzleport as pp
from puzzleport.agents.search import bfs
from puzzleport.benchmark.evaluation import BLOCK, MAX_EPISODES, evaluate
from puzzleport.benchmark.evaluation_sets import SIZE, evalset
from puzzleport.benchmark.instance_banks import generate
from puzzleport.benchmark.paper import table
from puzzleport.benchmark.playing import Block, Playing, _play_each
from puzzleport.benchmark.results import Result, load, load_rows, save
from puzzleport.benchmark.settings import settings
from puzzleport.files import aside
from puzzleport.game_id import episode_seed


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


@pytest.mark.parametrize("policy", ["random", "masked", chance])
def test_threads_change_no_number(policy):
    one, two = (evaluate(policy, "samegame", "5x5c3s2", episodes=200, max_steps=300, seed=0, threads=n) for n in (1, 2))
    assert one == two
    assert 0 < one.summary()["success_percent"] < 100
    assert evaluate(policy, "samegame", "5x5c3s2", episodes=200, max_steps=300, seed=1).steps != one.steps


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_so_many_games_are_thought_about_at_once_as_there_are_threads(threads):
    """Each waits for as many as may be under way."""
    together = Barrier(threads, timeout=10)
    block = Block(pp.Task("net", "2x2"), [*range(2 * threads)], threads)
    outcome = _play_each(block, lambda session: ([], {"waited": together.wait()}))
    waited = outcome.told["waited"]
    assert sorted(waited) == sorted([*range(threads)] * 2)


def test_a_policy_over_the_batch_plays_what_single_sessions_would():
    result = evaluate(first_legal, "inertia", "4x4", episodes=40, max_steps=50, seed=0)
    for episode, (status, steps) in enumerate(zip(result.status, result.steps, strict=True)):
        seed = pp.game_id.episode_seed(0, episode)
        session = pp.Session("inertia", "4x4", seed, undo=False, max_steps=50)
        while not session.ended:
            session.step(int(session.mask().argmax()))
        assert (status, steps) == (session.status, session.steps)
    assert set(result.status) >= {-1, 0}


def test_a_summary_is_sums_over_the_episodes():
    """Solved, lost and cut off are three things; lengths are those of solved games only."""
    status, steps = [1, -1, 0, 0, 1, 0, 0, 0], [4, 9, 50, 50, 900, 50, 50, 50]
    row = Result("p", "fifteen", "2x2", "seed 0", 1000, False, episodes=8, status=status, steps=steps).summary()
    assert (row["success_percent"], row["failed_percent"], row["episodes"]) == (25.0, 12.5, 8)
    assert (row["mean_successful_steps"], row["std"]) == (452.0, 448.0)
    assert 4 <= row["optimal_upper_bound"] < 900
    assert row["within_bound_percent"] == 12.5
    only = Result("p", "fifteen", "2x2", "seed 0", 1000, False, status=[1], steps=[4]).summary()
    assert (only["success_percent"], only["within_bound_percent"], only["failed_percent"]) == (100.0, 100.0, 0.0)
    nothing = Result("p", "fifteen", "2x2", "seed 0", 1000, False, status=[0], steps=[50]).summary()
    assert (nothing["mean_successful_steps"], nothing["std"], nothing["success_percent"]) == (None, None, 0.0)


def test_random_in_c_and_in_python_are_the_same_policy():
    native = evaluate("masked", "fifteen", "2x2", episodes=1000, seed=0).summary()
    ours = evaluate(chance, "fifteen", "2x2", episodes=1000, seed=0).summary()
    assert native["success_percent"] == ours["success_percent"] == 100
    standard_error = native["std"] / 1000**0.5
    assert abs(native["mean_successful_steps"] - ours["mean_successful_steps"]) < 5 * standard_error


def test_the_expert_solves_within_the_bound_in_fewer_steps_than_chance():
    expert = evaluate("expert", "bridges", "3x3", episodes=30, seed=0).summary()
    assert expert["success_percent"] == 100
    assert expert["mean_successful_steps"] < expert["optimal_upper_bound"]
    assert (
        expert["mean_successful_steps"]
        < evaluate("random", "bridges", "3x3", episodes=30, seed=0).summary()["mean_successful_steps"]
    )


def test_an_interrupted_evaluation_goes_on_to_the_same_numbers(tmp_path):
    options = {"episodes": 3 * BLOCK + 10, "max_steps": 60, "seed": 0, "name": "chance"}
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
    short = evaluate(chance, "fifteen", "2x2", episodes=BLOCK + 5, max_steps=40, seed=0)
    whole = evaluate(chance, "fifteen", "2x2", episodes=3 * BLOCK, max_steps=40, seed=0)
    assert evaluate(chance, "fifteen", "2x2", episodes=3 * BLOCK, max_steps=40, seed=0, known=[short]) == whole


def test_results_of_other_settings_are_not_taken_over():
    known = evaluate("random", "fifteen", "2x2", episodes=20, max_steps=5, seed=0)
    assert (
        evaluate("random", "fifteen", "2x2", episodes=20, max_steps=500, seed=0, known=[known]).summary()[
            "success_percent"
        ]
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
    ours = evaluate("random", puzzle, params, seed=0).summary()
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
    results = [
        evaluate("random", name, pp.spec(name).easiest_params, episodes=30, seed=0) for name in ("fifteen", "pegs")
    ]
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


# ---- options


def test_without_a_seed_one_is_drawn_and_told():
    one, two = (evaluate("masked", "fifteen", "2x2", episodes=30) for _ in range(2))
    assert one.seed != two.seed
    assert one == evaluate("masked", "fifteen", "2x2", episodes=30, seed=one.seed)
    bank = generate("fifteen", "3x3", count=3)
    assert bank.seed != generate("fifteen", "3x3", count=3).seed
    assert generate("fifteen", "3x3", count=3, seed=bank.seed).instances[0].game_id == bank.instances[0].game_id


def test_a_setting_is_exhausted_after_a_thousand_repeats_in_a_row():
    seeds = [pp.game_id.episode_seed(0, at) for at in range(2000)]
    games = [pp.Session("fifteen", "2x2", seed).instance_hash for seed in seeds]
    last = max(games.index(game) for game in set(games))  # where the last new one came
    bank = generate("fifteen", "2x2", count=1000, seed=0)
    assert bank.exhausted
    assert [one.seed for one in bank.instances] == [
        seeds[at] for at in sorted(games.index(game) for game in set(games))
    ]
    assert (bank.tried, bank.repeated) == (last + 1 + 1000, last + 1 + 1000 - len(set(games)))


def test_an_evaluation_that_goes_on_takes_the_seed_of_the_earlier_one():
    short = evaluate(chance, "fifteen", "2x2", episodes=BLOCK, max_steps=40)
    other = evaluate("random", "fifteen", "2x2", episodes=5, max_steps=40)
    more = evaluate(chance, "fifteen", "2x2", episodes=BLOCK + 5, max_steps=40, known=[other, short])
    assert more.seeds == short.seeds
    assert more.steps[:BLOCK] == short.steps


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"evaluation_set": "v1"}, "which is called evalset now"),
        ({"max_state_repeats": 3}, "which is called max_repeats now"),
        ({"wisdom": 3}, "no option 'wisdom'; there are episodes, seed, evalset"),
        ({"evalset": "v1", "seed": 1}, "a seed or an evalset, not both"),
        ({"episodes": 10**12}, f"at most {MAX_EPISODES:,} episodes"),
        ({"episodes": 0}, "at least one episode"),
        ({"episodes": 1.5}, "a whole number"),
        ({"max_steps": 0}, "needs a limit"),
    ],
)
def test_an_option_that_cannot_be_is_refused_at_once(options, said):
    with pytest.raises(ValueError, match=said):
        evaluate("random", "fifteen", "2x2", **options)


def test_old_names_of_policies_and_options_name_the_new_ones():
    with pytest.raises(pp.UnknownOption, match="which is called masked now; there are random, masked, expert"):
        evaluate("masked-random", "fifteen", "2x2")
    with pytest.raises(pp.UnknownOption, match="generate has no option 'size'; there are count, seed"):
        generate("fifteen", "2x2", size=3)
    with pytest.raises(pp.UnknownOption, match="list is no policy"):
        evaluate([], "fifteen", "2x2")


@pytest.mark.parametrize("policy", ["random", "masked", "expert", chance])
def test_repeats_end_an_episode(policy):
    """Where a state came back once, the next state is not played on from."""
    options = {"episodes": 40, "max_steps": 200, "seed": 0}
    free = evaluate(policy, "inertia", "4x4", undo=True, **options)
    cut = evaluate(policy, "inertia", "4x4", undo=True, max_repeats=1, **options)
    assert free.key != cut.key
    if policy == "expert":  # it repeats nothing
        assert cut.steps == free.steps
    else:
        assert sum(cut.steps) < sum(free.steps)


@pytest.mark.parametrize("policy", ["random", "expert", chance])
def test_one_instance_is_played_in_every_episode(policy):
    result = evaluate(policy, "fifteen", "2x2#5", episodes=20, seed=0)
    assert result.params == "2x2#5"
    assert result.summary()["optimal_upper_bound"] == 256
    if policy == "expert":
        assert len(set(result.steps)) == 1
    else:
        assert len(set(result.steps)) > 1


@pytest.mark.parametrize("name", ["random", "masked"])
def test_the_named_policies_play_in_python_as_in_c(name):
    in_c = evaluate(name, "fifteen", "2x2", episodes=1000, seed=0).summary()
    in_python = evaluate(pp.agents.policy(name), "fifteen", "2x2", episodes=1000, seed=0).summary()
    standard_error = in_c["std"] / 1000**0.5
    assert abs(in_c["mean_successful_steps"] - in_python["mean_successful_steps"]) < 5 * standard_error


BIG = "x" * 10_000_000


@pytest.mark.parametrize(
    "call",
    [
        lambda: pp.Session("net", BIG),
        lambda: pp.Session(BIG),
        lambda: pp.Session("net", "2x2#" + BIG),
        lambda: pp.Session("net", "2x2:" + BIG),
        lambda: pp.Session("net", seed=BIG),
        lambda: pp.Session("net", seed=10**5000),
        lambda: pp.Session("net", "2x2").step(BIG),
        lambda: pp.Task("net", BIG),
        lambda: pp.evalset(BIG),
        lambda: pp.evalset("v1", level=BIG),
        lambda: settings(["net"], BIG),
        lambda: evaluate(BIG, "net"),
        lambda: evaluate("random", "net", BIG),
        lambda: generate("net", BIG, count=1),
    ],
)
def test_an_error_quotes_at_most_a_line_of_what_it_is_about(call):
    with pytest.raises((pp.PuzzleError, ValueError)) as caught:
        call()
    assert len(str(caught.value)) < 1000


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
        pp.game_id.episode_seed(seed, episode) < 2**53 for seed in (0, 7, frozen[0]) for episode in range(1, 200)
    )
    assert all(pp.game_id.random_seed() < 2**53 for _ in range(200))


def test_an_evaluation_on_a_frozen_set():
    result = evaluate("random", "fifteen", "2x2", episodes=30, evalset="v1")
    assert result.seeds == "evalset v1"
    assert result.steps != evaluate("random", "fifteen", "2x2", episodes=30, seed=0).steps
    with pytest.raises(ValueError, match="has 1000 instances"):
        evaluate("random", "fifteen", "2x2", episodes=1001, evalset="v1")
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


def test_success_within_the_bound_is_told():
    result = evaluate("masked", "flood", "3x3c6m5", episodes=50, seed=0)
    within = sum(status == 1 and steps <= 63 for status, steps in zip(result.status, result.steps, strict=True))
    assert result.summary()["within_bound_percent"] == 2 * within
    assert 0 < 2 * within < result.summary()["success_percent"]


def test_a_search_is_given_its_number_of_nodes():
    for nodes in ("1", "10000000", "0005"):
        assert Playing(f"search:{nodes}").name == f"search:{nodes}"
    for nodes in ("0", "10000001", "", "-1", "1.5", "\u0665", "9" * 1000):
        with pytest.raises(pp.UnknownOption, match="takes 1 to 10,000,000 nodes for each game, not "):
            Playing(f"search:{nodes}")
    # What it looked at is told, and is no more than it may. Where that is enough it takes a shortest way.
    for nodes in (1, 40, 10_000):
        result = evaluate(f"search:{nodes}", "fifteen", "2x2", episodes=12, seed=3)
        for number, (status, steps, looked) in enumerate(
            zip(result.status, result.steps, result.told["nodes"], strict=True)
        ):
            assert 0 < looked <= nodes
            with pp.Task("fifteen", "2x2").session(episode_seed(3, number)) as session:
                found = bfs(session, max_nodes=nodes)
            assert (status, steps) == ((1, len(found.actions)) if found.actions is not None else (0, 0))
    assert set(result.status) == {1}
