from __future__ import annotations

import numpy as np
import pytest

import puzzleport as pp

from ..conftest import PUZZLES

SOLVABLE = [name for name in PUZZLES if pp.spec(name).can_solve]
MARKING = [
    name
    for name in PUZZLES
    if any("errors" in field.name.split("_") for field in pp.spec(name).fields(pp.spec(name).easiest_params))
]


def task(puzzle: str, rewards: pp.Rewards, **options) -> pp.Task:
    return pp.Task(puzzle, pp.spec(puzzle).easiest_params, rewards=rewards, **options)


def plays(episodes: pp.Episodes, games: int = 3, steps: int = 60):
    """Random episodes; yields the reward of each step, the session before it, the action, and the session after it."""
    random = np.random.default_rng(0)
    for seed in range(games):
        episodes.start(seed=seed)
        for _ in range(steps):
            if episodes.ended:
                break
            before, action = episodes.session.clone(), int(random.integers(len(episodes.task.actions)))
            yield episodes.step(action), before, action, episodes.session


def test_a_step_pays_by_its_status():
    rewards = pp.Rewards(solved=5, failed=-3, step=-0.5)
    assert [rewards(status) for status in (1, 0, -1)] == [4.5, -0.5, -3.5]
    assert rewards.by_status[[1, 0, -1]].tolist() == [4.5, -0.5, -3.5]
    assert rewards.bounds() == (-3.5, 4.5)
    assert pp.Rewards(solved=100.0, failed=-100.0) == pp.PAPER_REWARDS


@pytest.mark.parametrize("puzzle", ["flood", "fifteen", "inertia", "mines"])
def test_what_is_paid_follows_the_table(puzzle):
    """A plain model: step, and solved or failed at the end."""
    rewards = pp.Rewards(solved=7.0, failed=-2.0, step=-0.25)
    for paid, _, _, after in plays(pp.Episodes(task(puzzle, rewards)), games=12, steps=400):
        assert paid == -0.25 + {1: 7.0, 0: 0.0, -1: -2.0}[int(after.status)]


def wrong(now: dict, wanted: dict, names) -> int:
    return sum(int((now[name] != wanted[name]).sum()) for name in names)


@pytest.mark.parametrize("puzzle", SOLVABLE)
def test_the_way_to_the_solution_is_worth_its_pay(puzzle):
    """Replayed against a count of wrong items; all of it together is the whole pay."""
    episodes = pp.Episodes(task(puzzle, pp.Rewards(solved=0, failed=0, solution=3.0)))
    for seed in range(2):
        episodes.start(seed=seed)
        if puzzle == "mines":  # no solution is known before the first square is opened
            assert episodes.step("SELECT") == 0.0
        if episodes.ended:
            continue
        start, wanted = episodes.session.observe(), episodes.session.solution()
        names = [
            field.name
            for field in episodes.session.fields
            if not field.is_ui and not np.array_equal(start[field.name], wanted[field.name])
        ]
        left, random, paid = wrong(start, wanted, names), np.random.default_rng(0), 0.0
        for _ in range(40):
            reward = episodes.step(int(random.integers(len(episodes.task.actions))))
            paid += reward
            if episodes.ended == 1:
                break
            now = episodes.session.observe()
            assert paid == pytest.approx(3.0 * (1 - wrong(now, wanted, names) / left))


def test_a_solved_game_has_the_whole_pay_however_it_was_solved():
    episodes = pp.Episodes(task("fifteen", pp.Rewards(solved=0, failed=0, solution=1.0)))
    for seed in range(5):
        episodes.start(seed=seed)
        assert sum(episodes.step(action) for action in episodes.session.plan()) == pytest.approx(1.0)
        assert episodes.solved


def test_chosen_fields_count_alone():
    episodes = pp.Episodes(task("singles", pp.Rewards(solution=1.0, solution_fields=["black"], solved=0)))
    episodes.start(seed=1)
    paid = sum(episodes.step(action) for action in episodes.session.plan())
    assert paid == pytest.approx(1.0)
    with pytest.raises(pp.UnknownOption, match=r"singles has no fields \['grey'\]"):
        task("singles", pp.Rewards(solution=1.0, solution_fields=["grey"]))
    with pytest.raises(pp.NoSolution, match="Pegs has no solver"):
        task("pegs", pp.Rewards(solution=1.0))
    with pytest.raises(pp.UnknownOption, match="fifteen shows no errors; its fields are tiles, gap"):
        task("fifteen", pp.Rewards(errors=-1.0))


@pytest.mark.parametrize("puzzle", MARKING)
def test_errors_cost_what_they_pay_back(puzzle):
    episodes = pp.Episodes(task(puzzle, pp.Rewards(solved=0, failed=0, errors=-0.5)))
    names = [field.name for field in episodes.task.layout.fields if "errors" in field.name.split("_")]
    for paid, before, _, after in plays(episodes):
        counts = [sum(np.count_nonzero(s.observe()[name]) for name in names) for s in (before, after)]
        assert paid == 0.5 * (counts[0] - counts[1])


def test_some_play_makes_errors():
    assert any(paid < 0 for paid, *_ in plays(pp.Episodes(task("unequal", pp.Rewards(errors=-1.0)))))
    crossing = pp.Rewards(solved=0, errors=-1.0, error_fields=["crossed"])
    assert any(paid for paid, *_ in plays(pp.Episodes(task("untangle", crossing))))


def test_an_action_without_effect_costs():
    seen = set()
    for paid, before, action, _ in plays(pp.Episodes(task("fifteen", pp.Rewards(solved=0, no_effect=-0.25)))):
        assert paid == (0.0 if before.mask()[action] else -0.25)
        seen.add(paid)
    assert seen == {0.0, -0.25}


# ---- hooks


def tiles_in_place(before, after):
    """For one game."""
    assert after["tiles"].shape == (2, 2)
    target = np.array([[1, 2], [3, 0]])
    return 0.1 * float((after["tiles"] == target).sum() - (before["tiles"] == target).sum())


def tiles_in_place_of_many(before, after):
    """The same for n games at once."""
    target = np.array([[1, 2], [3, 0]])
    right = [(state["tiles"] == target).sum(axis=(1, 2)) for state in (before, after)]
    return 0.1 * (right[1] - right[0])


REWARDS = {
    "hook": pp.Rewards(hook=tiles_in_place),
    "batched hook": pp.Rewards(hook=tiles_in_place_of_many, batched=True),
    "shaped": pp.Rewards(step=-0.1, no_effect=-0.5, solution=2.0),
}


@pytest.mark.parametrize("autoreset", ["off", "next_step", "same_step"])
@pytest.mark.parametrize("rewards", REWARDS)
def test_many_are_paid_as_one_is(rewards, autoreset):
    played = task("fifteen", REWARDS[rewards], max_steps=9)
    many = pp.BatchEpisodes(played, 5, threads=1, autoreset=autoreset)
    single = [pp.Episodes(played) for _ in range(5)]
    many.start(seed=11)
    for slot, one in enumerate(single):
        one.start(seed=11 + slot)
    random, seen = np.random.default_rng(0), set()
    for _ in range(60):
        actions = random.integers(4, size=5)
        expected = []
        for slot, one in enumerate(single):
            if one.ended and autoreset == "next_step":
                one.start()
                expected.append(0.0)
            else:
                expected.append(one.step(int(actions[slot])))
                if one.ended and autoreset == "same_step":
                    one.start()
        paid = many.step(actions)
        assert paid == pytest.approx(expected)
        seen.update(paid.round(6).tolist())
        if autoreset == "off" and many.batch.result.ended.any():
            which = many.batch.result.ended != 0
            many.start(which=which)
            for slot in np.flatnonzero(which):
                single[slot].start()
    assert len(seen) > 3
    many.close()


def shaped(puzzle: str) -> pp.Rewards:
    """All that this puzzle can pay without a hook."""
    return pp.Rewards(
        step=-0.1,
        no_effect=-0.3,
        solution=2.0 if puzzle in SOLVABLE else 0.0,
        errors=-0.25 if puzzle in MARKING else 0.0,
    )


@pytest.mark.parametrize("puzzle", PUZZLES)
def test_every_puzzle_pays_many_as_one(puzzle):
    """Reckoned in C for many and in Python for one: the same numbers, to the last bit."""
    played = task(puzzle, shaped(puzzle), max_steps=40)
    many, single = pp.BatchEpisodes(played, 3), [pp.Episodes(played) for _ in range(3)]
    many.start(seed=5)
    for slot, one in enumerate(single):
        one.start(seed=5 + slot)
    random = np.random.default_rng(2)
    for _ in range(100):
        actions = random.integers(len(played.actions), size=3)
        paid = []
        for one, action in zip(single, actions, strict=True):
            paid.append(one.step(int(action)))
            if one.ended:
                one.start()
        assert many.step(actions).tolist() == paid
    many.close()


def test_a_game_that_is_over_pays_no_more():
    many = pp.BatchEpisodes(task("fifteen", pp.Rewards(step=-1.0, solution=1.0), max_steps=2), 2, autoreset="off")
    many.start(seed=1)
    many.step([0, 0])
    many.step([0, 0])
    assert many.step([0, 0]).tolist() == [0.0, 0.0]


def test_pay_that_begins_in_the_middle_of_games():
    with pp.Batch("fifteen", "2x2", 2) as batch:
        batch.reset(seed=3)
        paid = batch.pay_along(pp.Rewards(solution=1.0))
        batch.step([0, 1])
        assert abs(paid).max() <= 2.0
        assert batch.result.steps.tolist() == [1, 1]


def test_both_forms_of_a_hook_pay_the_same():
    totals = []
    for rewards in (REWARDS["hook"], REWARDS["batched hook"]):
        totals.append([paid for paid, *_ in plays(pp.Episodes(task("fifteen", rewards)))])
    assert totals[0] == pytest.approx(totals[1])
    assert any(totals[0])


def test_a_hook_that_returns_the_wrong_shape_says_what_was_expected():
    many_for_one = pp.Rewards(hook=lambda before, after: np.zeros(4))
    episodes = pp.Episodes(task("fifteen", many_for_one))
    episodes.start(seed=1)
    with pytest.raises(ValueError, match=r"one number for one game, not an array of shape \(4,\).*batched=True"):
        episodes.step(0)
    one_for_many = pp.Rewards(hook=lambda before, after: 1.0, batched=True)
    batch = pp.BatchEpisodes(task("fifteen", one_for_many), 3)
    batch.start(seed=1)
    with pytest.raises(ValueError, match=r"3 numbers for 3 games, not the shape \(\)"):
        batch.step([0, 1, 2])
    batch.close()


@pytest.mark.parametrize("wrong", [{"solved": "1"}, {"step": None}, {"failed": True}, {"hook": 3}])
def test_what_is_no_reward_is_refused(wrong):
    with pytest.raises(TypeError):
        pp.Rewards(**wrong)
    with pytest.raises(ValueError, match="finite"):
        pp.Rewards(solved=float("nan"))
    with pytest.raises(ValueError, match="needs a hook"):
        pp.Rewards(batched=True)


def test_no_bounds_are_told_where_a_hook_pays():
    assert pp.Rewards(solved=2.0, failed=-3.0, step=-0.5, no_effect=-0.25).bounds() == (-3.75, 1.5)
    assert pp.Rewards(hook=lambda before, after: 0.0).bounds() is None


def test_bounds_are_the_least_and_the_most_of_all_episodes_that_can_be():
    """Whatever number of steps was taken, each with effect or without, and however the last one ended."""
    random, about = np.random.default_rng(0), pp.spec("net")
    size = {field.name: int(np.prod(field.shape)) for field in about.fields("2x2")}
    for _ in range(200):
        solved, failed, step, no_effect = random.choice([-2.0, -0.5, 0.0, 0.25, 1.0], 4).tolist()
        rewards = pp.Rewards(solved=solved, failed=failed, step=step, no_effect=no_effect)
        single = [step + end + more for end in (0.0, solved, failed) for more in (0.0, no_effect)]
        assert rewards.bounds() == (min(single), max(single))
        for most in (1, 2, 5):
            paid = [
                count * (step + more) + end
                for count in range(most + 1)
                for more in (0.0, no_effect)
                for end in (0.0, solved, failed)
            ]
            assert rewards.return_bounds(about, "2x2", most) == (min(paid), max(paid))
            # At the worst all places are wrong in the end, at the best the one that was wrong is right.
            shaped = pp.Rewards(
                solved=solved, failed=failed, step=step, no_effect=no_effect, solution=0.5, solution_fields=["wires"]
            )
            assert shaped.return_bounds(about, "2x2", most) == (min(paid) - 0.5 * size["wires"], max(paid) + 0.5)
        assert rewards.return_bounds(about, "2x2", 0) is None


def test_only_finite_numbers_pay():
    for name in ("solved", "failed", "step", "no_effect", "solution", "errors"):
        for wrong in (True, "1", None, [1.0]):
            with pytest.raises(TypeError, match=f"{name} is a number, not "):
                pp.Rewards(**{name: wrong})
        for wrong in (float("nan"), float("inf"), -float("inf"), np.float32("inf")):
            with pytest.raises(ValueError, match=f"{name} is a finite number, not "):
                pp.Rewards(**{name: wrong})
        for fine in (1, -2.5, np.int8(3), np.float32(0.5)):
            assert getattr(pp.Rewards(**{name: fine}), name) == fine
