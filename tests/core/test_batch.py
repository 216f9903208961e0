from __future__ import annotations

import os

import numpy as np
import pytest

import puzzleport as pp
from puzzleport._native import lib
from puzzleport.batch import Told
from puzzleport.game_id import episode_seed

from ..conftest import same


def singles(puzzle, params, seeds, **options):
    return [pp.Session(puzzle, params, seed=seed, **options) for seed in seeds]


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "off"])
def test_a_batch_equals_its_sessions_step_by_step(puzzle, autoreset):
    params = pp.spec(puzzle).easiest_params
    n, limits = 6, {"max_steps": 40, "max_repeats": 15}
    batch = pp.Batch(puzzle, params, n, threads=2, autoreset=autoreset, **limits)
    seeds = [100 + slot for slot in range(n)]
    batch.reset(seed=seeds)
    sessions = singles(puzzle, params, seeds, **limits)
    episodes = [0] * n
    random = np.random.default_rng(3)
    for _ in range(120):
        actions = random.integers(len(batch.actions), size=n)
        step = batch.step(actions)
        for slot, session in enumerate(sessions):
            over = session.terminated or session.truncated
            if over and autoreset == "next_step":
                episodes[slot] += 1
                session.reset(seed=episode_seed(seeds[slot], episodes[slot]))
            elif not over:
                session.step(int(actions[slot]))
            shown = {name: values[slot] for name, values in step.observation.items()}
            mask = step.mask[slot]
            assert (step.status[slot], step.moves[slot]) == (session.status, session.moves)
            assert (step.repeats[slot], step.steps[slot]) == (session.repeats, session.steps)
            assert step.ended[slot] == (1 if session.terminated else 2 if session.truncated else 0)
            if autoreset == "same_step" and step.ended[slot]:
                final, final_mask = batch.final
                assert same({name: values[slot] for name, values in final.items()}, session.observe())
                assert np.array_equal(final_mask[slot], session.mask())
                episodes[slot] += 1
                session.reset(seed=episode_seed(seeds[slot], episodes[slot]))
            assert same(shown, session.observe())
            assert np.array_equal(mask, session.mask())


def test_threads_do_not_change_anything():
    def run(threads):
        batch = pp.Batch("samegame", "5x5c3s2", 64, threads=threads, max_steps=60)
        batch.reset(seed=5)
        random = np.random.default_rng(5)
        trace = []
        for _ in range(100):
            step = batch.step(random.integers(len(batch.actions), size=64))
            trace.append(
                (step.status.tobytes(), step.mask.tobytes(), *[v.tobytes() for v in step.observation.values()])
            )
        return trace

    assert run(1) == run(2) == run(5)


def test_rollouts_do_not_depend_on_threads(puzzle):
    params = pp.spec(puzzle).easiest_params
    for policy in ("random", "masked"):
        a = pp.rollout(puzzle, params, policy=policy, episodes=12, max_steps=400, seed=1, threads=1)
        b = pp.rollout(puzzle, params, policy=policy, episodes=12, max_steps=400, seed=1, threads=3)
        assert np.array_equal(a.status, b.status)
        assert np.array_equal(a.steps, b.steps)
        assert (a.steps[a.status == 0] == 400).all() or policy == "masked"


def test_a_rollout_is_what_playing_would_give():
    """The masked policy from C never takes an action without effect, so it solves fifteen in fewer steps."""
    plain = pp.rollout("fifteen", "2x2", episodes=300, seed=0)
    masked = pp.rollout("fifteen", "2x2", policy="masked", episodes=300, seed=0)
    assert plain.success_rate == masked.success_rate == 1.0
    assert masked.mean_successful_steps < plain.mean_successful_steps * 0.7
    assert np.array_equal(plain.seeds, masked.seeds)


def test_rollout_reports_progress():
    seen: list[int] = []
    pp.rollout("fifteen", "3x3", episodes=40, max_steps=10_000, progress=seen.append)
    assert seen[-1] == 40
    assert seen == sorted(seen)


def test_partial_resets_leave_the_others_alone():
    batch = pp.Batch("net", "5x5", 4, autoreset="off")
    batch.reset(seed=1)
    batch.step([0, 1, 2, 3])
    before = {name: values.copy() for name, values in batch.result.observation.items()}
    steps = batch.result.steps.copy()
    batch.reset(seed=[None, 77, None, None], which=np.array([False, True, False, False]))
    for slot in (0, 2, 3):
        assert all(np.array_equal(before[name][slot], batch.result.observation[name][slot]) for name in before)
    assert (batch.result.steps == np.where([False, True, False, False], 0, steps)).all()
    fresh = pp.Session("net", "5x5", seed=77)
    assert same({name: values[1] for name, values in batch.result.observation.items()}, fresh.observe())


def test_a_slot_can_be_taken_out_as_a_session():
    batch = pp.Batch("pegs", "5x7cross", 2)
    batch.reset(seed=1)
    batch.step([3, 3])
    session = batch.session(1)
    assert same(session.observe(), {name: values[1] for name, values in batch.result.observation.items()})
    batch.close()
    assert session.step("UP").status == pp.Status.ONGOING


def test_wrong_use_of_a_batch_is_said():
    batch = pp.Batch("fifteen", "2x2", 3)
    with pytest.raises(pp.InvalidAction, match="reset"):
        batch.step([0, 0, 0])
    batch.reset(seed=0)
    for actions in ([0, 0], [0, 0, 4], [0, 0, -1], [0.5, 0, 0], [[0, 0, 0]], "abc"):
        with pytest.raises(pp.InvalidAction):
            batch.step(actions)
    with pytest.raises(pp.InvalidSeed):
        batch.reset(seed=[1, 2])
    batch.step([0, 1, 2])
    batch.close()
    batch.close()
    with pytest.raises(pp.SessionClosed):
        batch.step([0, 0, 0])
    with pytest.raises(pp.SessionClosed):
        batch.reset(seed=1)
    with pytest.raises(ValueError, match="num_envs"):
        pp.Batch("fifteen", "2x2", 0)
    with pytest.raises(ValueError, match="policy"):
        pp.rollout("fifteen", "2x2", policy="clever")


def test_a_slot_that_finds_no_memory_is_named_and_the_others_go_on():
    batch, limit = pp.Batch("mines", "4x4n2", 3, undo=True, max_steps=0, autoreset="next_step"), lib.pz_pool_limit
    flag, undo = batch.actions.index("SELECT2"), batch.actions.index("UNDO")
    result = batch.reset(seed=7)

    def play() -> None:
        for _ in range(256):  # UNDO keeps all boards of slot 1
            batch.step([undo, flag, undo])

    try:
        lib.pz_pool_limit = 1
        with pytest.raises(pp.EngineError, match=r"slot 1\b.*out of memory"):
            play()
    finally:
        lib.pz_pool_limit = limit
    steps = int(result.steps[0])
    assert result.steps[2] == steps
    assert batch.step([undo, flag, undo]).steps.tolist() == [steps + 1, 0, steps + 1]
    assert batch.session(1).game_id == pp.Session("mines", "4x4n2", seed=episode_seed(8, 1)).game_id


def test_games_made_ahead_are_the_same_games():
    """A slow generator's next games are made by a thread of their own while the present ones are played."""
    params = "10x10b20s2d2"  # tens of milliseconds each
    batch = pp.Batch("lightup", params, 4, threads=2, max_steps=3)
    batch.reset(seed=5)
    for step in range(12):
        batch.step([0, 1, 2, 3])
        seeds, episodes = batch.streams()
        assert episodes.tolist() == [(step + 1) // 3] * 4
    for slot in range(4):
        expected = pp.Session("lightup", params, seed=episode_seed(int(seeds[slot]), int(episodes[slot])))
        assert batch.session(slot).game_id == expected.game_id
    batch.reset(seed=6)  # another stream: what was made ahead is of no use
    assert batch.session(0).game_id == pp.Session("lightup", params, seed=6).game_id
    batch.close()


def test_a_batch_is_closed_while_games_are_made_ahead():
    for _ in range(3):
        batch = pp.Batch("lightup", "14x14b20s2d2", 3, max_steps=2)
        batch.reset(seed=1)
        batch.close()


def test_a_step_apart_is_a_copy_of_what_it_led_to():
    with pp.Batch("net", "2x2", 70, threads=2, max_steps=5) as batch:
        paid = batch.pay_along(pp.Rewards(step=-0.5))
        batch.reset(1)
        kept = []
        for _ in range(7):
            block = batch.step_apart(batch.result.mask.argmax(axis=1))
            live = batch.result
            now = [
                *(live.observation[name] for name in batch.apart.fields),
                paid.astype(np.float32),
                live.mask,
                live.ended == 1,
                live.ended == 2,
                live.ended != 0,
                live.status > 0,
            ]
            kept.append((block, [array.copy() for array in now]))
        for block, then in kept:  # which later steps did not change
            for part, array in zip([*batch.apart.fields.values(), *batch.apart[1:]], then, strict=True):
                copy = part.of(block)
                assert copy.dtype == array.dtype
                assert np.array_equal(copy, array)
        with pytest.raises(pp.InvalidAction):
            batch.step_apart([9] * 70)


@pytest.mark.parametrize("autoreset", ["off", "next_step", "same_step"])
def test_what_a_step_tells_is_what_the_live_arrays_say(autoreset):
    with pp.Batch("fifteen", "2x2", 70, threads=2, max_steps=9, autoreset=autoreset) as batch:
        batch.reset(1)
        random, paid, seen = np.random.default_rng(0), np.zeros(70), set()
        for step in range(20):
            if step == 3:  # until then nothing is paid
                paid = batch.pay_along(pp.Rewards(step=-0.5))
            block = np.full(batch.told_size, 7, np.uint8)
            batch.step_told(random.integers(4, size=70), block)
            told, live = Told(*(part.of(block) for part in batch.told)), batch.result
            now = (
                paid,
                live.repeats,
                live.ended == 1,
                live.ended == 2,
                live.ended != 0,
                live.status > 0,
                live.steps == 0,
            )
            for one, other in zip(told, now, strict=True):
                assert one.dtype == other.dtype
                assert np.array_equal(one, other)
            seen |= {name for name, array in told._asdict().items() if array.any()}
            starts = zip(*(numbers.tolist() for numbers in batch.streams()), strict=True)
            assert batch.game_seeds.tolist() == [episode_seed(*start) for start in starts]
        assert seen == set(Told._fields) - ({"first"} if autoreset != "next_step" else set())


def test_a_step_that_has_no_room_to_tell_is_not_taken():
    with pp.Batch("net", "2x2", 3) as batch:
        batch.reset(1)
        right = batch.told_size
        for block in (np.empty(right - 1, np.uint8), np.empty(right + 1, np.uint8), np.empty(right + 1, np.uint8)[1:]):
            with pytest.raises(pp.EngineError, match="size"):
                batch.step_told([0, 0, 0], block)
        fixed = np.empty(right, np.uint8)
        fixed.flags.writeable = False
        with pytest.raises((ValueError, BufferError)):
            batch.step_told([0, 0, 0], fixed)
        assert not batch.result.steps.any()


def test_repeats_are_left_out_unless_a_limit_needs_them():
    for limit, counted in ((0, False), (3, True)):
        with pp.Batch("net", "2x2", 2, max_repeats=limit) as batch:
            batch.leave_out_repeats()
            batch.reset(1)
            seen = [int(batch.step([0, 0]).repeats.max()) for _ in range(4)]
            assert any(seen) == counted


def test_a_step_apart_with_something_to_do_meanwhile_is_the_same_step():
    for threads in (1, 2, 3):
        with pp.Batch("net", "2x2", 70, threads=threads) as one, pp.Batch("net", "2x2", 70, threads=threads) as other:
            one.reset(1)
            other.reset(1)
            for _ in range(40):
                actions, called = one.result.mask.argmax(axis=1), []
                seen = other.step_apart(actions, meanwhile=lambda: called.append(1))  # noqa: B023 (called at once)
                assert called == [1]
                assert np.array_equal(seen, one.step_apart(actions))


def test_whatever_happens_meanwhile_a_step_comes_to_its_end():
    def stop() -> None:
        raise KeyboardInterrupt

    def meddle() -> None:
        for call in (batch.reset, batch.pixels, batch.streams, lambda: batch.step([0] * 70), again):
            with pytest.raises(pp.EngineError, match="in use"):
                call()
        refused.append(len(refused))

    def again() -> None:
        batch.step_apart([0] * 70, meanwhile=stop)

    refused: list[int] = []
    with pp.Batch("net", "2x2", 70, threads=2) as batch:
        batch.reset(1)
        with pytest.raises(KeyboardInterrupt):
            batch.step_apart([0] * 70, meanwhile=stop)
        assert (batch.result.steps == 1).all()
        batch.step_apart([0] * 70, meanwhile=meddle)
        assert refused == [0]
        assert (batch.result.steps == 2).all()
        batch.step_apart([0] * 70, meanwhile=batch.close)  # the step keeps what it works on
        with pytest.raises(pp.SessionClosed):
            batch.step([0] * 70)


def test_a_fork_meanwhile_leaves_a_batch_that_wants_a_reset():
    with pp.Batch("net", "2x2", 70, threads=2) as batch:
        batch.reset(1)
        children: list[int] = []
        refused = False
        try:
            batch.step_apart([0] * 70, meanwhile=lambda: children.append(os.fork()))
        except pp.EngineError as error:
            refused = "forked" in str(error)
        if children == [0]:
            try:
                batch.reset(1)
                batch.step([0] * 70)
            except BaseException:
                os._exit(2)
            os._exit(0 if refused else 1)
        assert not refused
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
        assert (batch.result.steps == 1).all()


def test_what_is_asked_too_early_is_refused():
    with pp.Batch("net", "2x2", num_envs=2) as batch:
        with pytest.raises(pp.InvalidAction, match="reset the batch before its first picture"):
            batch.pixels(64, 64)
        batch.reset(0)
        assert batch.pixels(64, 64).shape == (2, 64, 64, 3)
    with pytest.raises(pp.UnknownOption, match="needs max_steps"):
        pp.rollout("net", "2x2", episodes=1, max_steps=0, record=True)
