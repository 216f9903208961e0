"""JAX: the same games as Batch inside jit and scan, the pure form, and what is refused."""

from __future__ import annotations

import gc
import json
import pickle
import struct
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.adapters.jax import Handle, PuzzleEnv, _words, masked_random
from puzzleport.benchmark.settings import level_params
from puzzleport.cli import main
from puzzleport.xla import with_room

STEPS, CHUNK, ENVS = 1000, 100, 4


def scanned(env: PuzzleEnv, length: int):
    """A jitted scan of so many masked random steps, with what was done and seen."""

    @jax.jit
    def play(handle, mask, key):
        def step(carry, key):
            handle, mask = carry
            actions = masked_random(key, mask)
            handle, timestep = env.step(handle, actions)
            return (handle, timestep.mask), (actions, timestep)

        return jax.lax.scan(step, (handle, mask), jax.random.split(key, length))

    return play


def plain(tree):
    return jax.tree.map(np.asarray, tree)


def same(ours, theirs, what=""):
    """Bit for bit, types too."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            same(ours[name], value, f"{what}/{name}")
        return
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.dtype == theirs.dtype, what
    assert ours.shape == theirs.shape, what
    assert ours.tobytes() == theirs.tobytes(), what


@pytest.mark.parametrize("puzzle", pp.puzzles())
def test_scan_equals_batch_bit_for_bit(puzzle):
    task = pp.Task(puzzle, level_params(puzzle, "easiest"), max_steps=90, rewards=pp.Rewards(step=-0.1, no_effect=-0.3))
    env = PuzzleEnv(task, num_envs=ENVS, final_observation=True)
    episodes = pp.BatchEpisodes(task, ENVS)
    handle, timestep = env.reset(seed=5)
    episodes.start(5)
    same(timestep.observation, episodes.observation())
    same(timestep.mask, episodes.batch.result.mask)
    play, mask, returns = scanned(env, CHUNK), timestep.mask, np.zeros(ENVS, np.float32)
    ended = 0
    for chunk in range(STEPS // CHUNK):
        (handle, mask), seen = play(handle, mask, jax.random.key(chunk))
        actions, now = plain(seen)
        steps = []
        for at in range(CHUNK):
            paid = episodes.step(actions[at])
            result = episodes.batch.result
            over = result.ended != 0
            returns += paid.astype(np.float32)
            steps.append(
                {
                    "observation": episodes.observation(),
                    "mask": result.mask.copy(),
                    "reward": paid.astype(np.float32),
                    "terminated": result.ended == 1,
                    "truncated": result.ended == 2,
                    "solved": result.status > 0,
                    "length": result.steps.copy(),
                    "episode_return": returns.copy(),
                }
            )
            returns[over] = 0
            for slot in np.flatnonzero(over):
                last = jax.tree.map(lambda array, at=at, slot=slot: array[at, slot], now.final_observation)
                same(last, episodes.final_observation(slot))
                same(now.final_mask[at, slot], episodes.batch.final[1][slot])
            same(now.final_mask[at, ~over], result.mask[~over])
            ended += int(over.sum())
        for name, values in jax.tree.map(lambda *each: np.stack(each), *steps).items():
            same(getattr(now, name), values, name)
    assert ended


@pytest.mark.parametrize(
    ("puzzle", "history"),
    [(name, False) for name in pp.puzzles()]
    + [(name, True) for name in pp.puzzles() if pp.spec(name).undo or name in ("fifteen", "untangle")],
)
def test_pure_steps_equal_sessions(puzzle, history):
    params = level_params(puzzle, "easiest")
    limits = {"max_steps": 60, "undo": history, "max_repeats": 6 * history}
    env = PuzzleEnv(puzzle, params, undo_depth=60, **limits)
    seeds = [1, 2, 3]
    states, seen = env.init_timestep(np.array(seeds))
    sessions = [pp.Session(puzzle, params, seed=seed, **limits) for seed in seeds]
    step = jax.jit(jax.vmap(env.step_pure))
    random = np.random.default_rng(1)
    for _ in range(60):
        records = [session.record() for session in sessions]
        fields = [session.layout.views(record) for session, record in zip(sessions, records, strict=True)]
        for name, view in seen.observation.items():
            same(np.asarray(view), np.stack([field[name].reshape(view.shape[1:]) for field in fields]), name)
        same(seen.mask, np.stack([session.mask() for session in sessions]))
        same(seen.solved, np.array([session.status > 0 for session in sessions]))
        same(seen.terminated, np.array([session.terminated for session in sessions]))
        same(seen.truncated, np.array([session.truncated for session in sessions]))
        same(seen.length, np.array([session.steps for session in sessions], np.int32))
        actions = random.integers(len(env.actions), size=len(seeds))
        before = states
        states, seen = step(states, actions)
        again, _ = step(before, actions)
        same(states, again)
        for session, action, paid in zip(sessions, actions, np.asarray(seen.reward), strict=True):
            over = session.ended
            if not over:
                session.step(int(action))
            assert paid == (0 if over else pp.Rewards()(session.status))


SHAPED = {
    "mines": pp.Rewards(step=-0.1, solution=1.0),
    "net": pp.Rewards(no_effect=-0.3, solution=2.0),
    "singles": pp.Rewards(solution=1.0, solution_fields=["black"], errors=-0.5),
    "untangle": pp.Rewards(errors=-1.0, error_fields=["crossed"]),
}


@pytest.mark.parametrize("puzzle", SHAPED)
def test_shaped_rewards_inside_jit(puzzle):
    task = pp.Task(puzzle, level_params(puzzle, "easiest"), max_steps=40, rewards=SHAPED[puzzle])
    env, many = PuzzleEnv(task, num_envs=3), pp.BatchEpisodes(task, 3)
    handle, timestep = env.reset(5)
    many.start(5)
    _, seen = scanned(env, 100)(handle, timestep.mask, jax.random.key(1))
    actions, timesteps = plain(seen)
    for at in range(100):
        same(timesteps.reward[at], many.step(actions[at]).astype(np.float32))
    unshaped = np.float32([paid + more for paid in task.rewards.by_status for more in (0, task.rewards.no_effect)])
    assert set(timesteps.reward.ravel().tolist()) - set(unshaped.tolist())
    many.close()


@pytest.mark.parametrize("puzzle", SHAPED)
def test_shaped_rewards_of_the_pure_form(puzzle):
    task = pp.Task(puzzle, level_params(puzzle, "easiest"), max_steps=40, rewards=SHAPED[puzzle])
    env, episodes = PuzzleEnv(task), pp.Episodes(task)
    step, random = jax.jit(env.step_pure), np.random.default_rng(1)
    for seed in range(3):
        state = env.init(seed)
        episodes.start(seed)
        while not episodes.ended:
            action = int(random.integers(len(task.actions)))
            state, seen = step(state, action)
            assert np.float32(episodes.step(action)) == np.asarray(seen.reward)


@pytest.mark.parametrize("puzzle", SHAPED)
def test_a_pure_step_pays_the_same_whatever_was_played_meanwhile(puzzle):
    """Each state of a game is played on, then all of them once more from the last to the first."""
    task = pp.Task(puzzle, level_params(puzzle, "easiest"), max_steps=40, rewards=SHAPED[puzzle])
    env = PuzzleEnv(task)
    step, random = jax.jit(env.step_pure), np.random.default_rng(2)
    state, taken = env.init(4), []
    for _ in range(30):
        action = int(random.integers(len(task.actions)))
        after, seen = step(state, action)
        taken.append((state, action, np.asarray(seen.reward)))
        state = after
    for before, action, paid in reversed(taken):
        assert np.asarray(step(before, action)[1].reward) == paid


@pytest.mark.parametrize("kind", ["state", "flat", "one_hot", "tokens", "graph", "pixels", "both"])
def test_every_kind_of_observation_that_arrays_can_carry(kind):
    task = pp.Task("net", "3x3", observation=kind, max_steps=8)
    env, episodes = PuzzleEnv(task, num_envs=3, final_observation=True), pp.BatchEpisodes(task, 3)
    handle, timestep = env.reset(9)
    episodes.start(9)
    same(timestep.observation, episodes.observation())
    (_, _), seen = scanned(env, 20)(handle, timestep.mask, jax.random.key(1))
    actions, timesteps = plain(seen)
    for at in range(20):
        episodes.step(actions[at])
        same(jax.tree.map(lambda array, at=at: array[at], timesteps.observation), episodes.observation())
        for slot in np.flatnonzero(episodes.batch.result.ended):
            last = jax.tree.map(lambda array, at=at, slot=slot: array[at, slot], timesteps.final_observation)
            same(last, episodes.final_observation(slot))
    state, first = env.init_timestep(9)
    with pp.Session("net", "3x3", seed=9) as session:
        same(plain(first.observation), task.encoder.attach(session)())
        session.step("SELECT")
        same(plain(env.step_pure(state, 4)[1].observation), task.encoder.attach(session)())


SOME = ("bridges", "fifteen", "loopy", "map", "mines", "net", "solo", "untangle")


# The fields themselves are compared for all puzzles above, and what is made of them knows no puzzle.
@pytest.mark.parametrize("kind", ["flat", "one_hot", "tokens"])
@pytest.mark.parametrize("puzzle", SOME)
def test_encodings_inside_jit_equal_those_of_core(kind, puzzle):
    task = pp.Task(puzzle, level_params(puzzle, "easiest"), observation=kind)
    env, episodes = PuzzleEnv(task, num_envs=3), pp.BatchEpisodes(task, 3)
    handle, timestep = env.reset(3)
    episodes.start(3)
    for _ in range(5):
        same(timestep.observation, episodes.observation())
        actions = np.asarray(masked_random(jax.random.key(0), timestep.mask))
        handle, timestep = env.step(handle, actions)
        episodes.step(actions)


@pytest.mark.parametrize("n_actions", [1, 4, 7, 8, 9, 16, 17, 729])
def test_random_actions_are_legal_and_each_as_likely(n_actions):
    mask = np.random.default_rng(n_actions).random((500, n_actions)) < 0.4
    mask[:3] = False
    actions = np.asarray(masked_random(jax.random.key(1), mask))
    some = mask.any(axis=1)
    assert mask[some, actions[some]].all()
    assert (actions[~some] == 0).all()
    again = np.asarray(jax.jit(masked_random)(jax.random.key(1), mask))
    assert (again == actions).all()
    row = np.tile(mask[np.argmax(mask.sum(axis=1))], (20_000, 1))
    legal, drawn = row[0].nonzero()[0], np.asarray(masked_random(jax.random.key(2), row))
    found = np.bincount(drawn, minlength=n_actions)[legal]
    wanted = len(row) / len(legal)
    # Chi square has this mean and deviation; the key is fixed, so this holds or it does not.
    assert ((found - wanted) ** 2 / wanted).sum() < len(legal) + 5 * (2 * len(legal)) ** 0.5


def test_random_actions_of_many_keys():
    mask = np.random.default_rng(1).random((3, 20, 6)) < 0.5
    keys = jax.random.split(jax.random.key(0), 3)
    many = jax.vmap(masked_random)(keys, mask)
    for key, rows, actions in zip(keys, mask, many, strict=True):
        same(actions, masked_random(key, rows))
    for wrong in (keys, jax.random.key(0)):
        with pytest.raises(pp.UnknownOption, match="one key and masks of actions are needed"):
            masked_random(wrong, mask if wrong is keys else np.zeros(()))


def refused(match, call, *arguments):
    # What is wrong with an argument is a ValueError where JAX ran the program before it returned.
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match=match):
        jax.block_until_ready(call(*arguments))


@pytest.fixture
def env():
    return PuzzleEnv("fifteen", "2x2", num_envs=2)


def test_a_handle_serves_once(env):
    handle, _ = env.reset(1)
    after, _ = env.step(handle, np.zeros(2, int))
    refused("used before.*its step is 1, the environment is at 2", env.step, handle, np.zeros(2, int))
    env.step(after, np.zeros(2, int))  # the environment goes on
    refused("used before", jax.jit(lambda handle: env.step(handle, jnp.zeros(2, int))), handle)


def test_a_reset_is_made_though_nobody_reads_what_it_led_to(env):
    handle, _ = env.reset(1)
    jax.block_until_ready(jax.jit(lambda handle: (env.reset(2, handle), handle.returns)[1])(handle))
    refused("used before", env.step, handle, np.zeros(2, int))


def test_both_uses_of_a_handle_in_one_program(env):
    handle, _ = env.reset(1)
    refused("used before", jax.jit(lambda handle: [env.step(handle, jnp.zeros(2, int)) for _ in range(2)]), handle)
    handle, _ = env.reset(1)
    jax.block_until_ready(env.step(handle, np.zeros(2, int)))


def test_a_handle_of_an_environment_that_is_gone():
    env = PuzzleEnv("fifteen", "2x2", num_envs=2)
    handle, _ = env.reset(1)
    other = PuzzleEnv("fifteen", "2x2", num_envs=2)
    env.close()
    refused("closed or deleted", env.step, handle, np.zeros(2, int))
    with pytest.raises(pp.SessionClosed):
        env.reset(1)
    env = PuzzleEnv("fifteen", "2x2", num_envs=2)
    handle, _ = env.reset(1)
    del env
    gc.collect()
    refused("closed or deleted", other.step, handle, np.zeros(2, int))


def test_deletion_waits_for_what_is_under_way():
    for seed in range(5):
        env = PuzzleEnv("fifteen", "2x2", num_envs=64)
        handle, timestep = env.reset(seed)
        (_, _), (_, timesteps) = scanned(env, 200)(handle, timestep.mask, jax.random.key(seed))
        del env
        gc.collect()
        assert timesteps.length.shape == (200, 64)


def test_a_handle_in_another_process(env):
    handle, _ = env.reset(1)
    code = (
        "import pickle, sys, jax, numpy as np\n"
        "from puzzleport.adapters.jax import Handle, PuzzleEnv\n"
        "token, returns = pickle.load(sys.stdin.buffer)\n"
        "env = PuzzleEnv('fifteen', '2x2', num_envs=2); env.reset(1)\n"
        "jax.block_until_ready(env.step(Handle(token, returns), np.zeros(2, int)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(tuple(plain(handle))), capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"this handle was made in another process" in done.stderr


def test_a_handle_of_another_environment(env):
    handle, _ = env.reset(1)
    other = PuzzleEnv("fifteen", "3x3", num_envs=2)
    other.reset(1)
    refused("2 games of another form", other.step, handle, np.zeros(2, int))
    jax.block_until_ready(env.step(handle, np.zeros(2, int)))


def test_a_step_before_the_reset(env):
    token = env._token()
    refused("reset the environment before", env.step, Handle(token, jnp.zeros(2)), np.zeros(2, int))
    with pytest.raises(pp.InvalidAction, match="takes the handle"):
        env.step(np.zeros(4, np.uint32), np.zeros(2, int))


@pytest.mark.parametrize(
    "wrong", [np.zeros(3, int), np.zeros((2, 1), int), np.zeros(2), np.zeros(2, bool), 0, [0, 0.5]]
)
def test_actions_of_the_wrong_form(env, wrong):
    handle, _ = env.reset(1)
    with pytest.raises(pp.InvalidAction, match="2 games take 2 whole numbers, not"):
        env.step(handle, wrong)
    with pytest.raises(pp.InvalidAction):
        jax.jit(lambda handle: env.step(handle, jnp.asarray(wrong)))(handle)


@pytest.mark.parametrize("wrong", [4, -1, 2**31 - 1])
def test_actions_out_of_range(env, wrong):
    handle, before = env.reset(1)
    refused(f"slot 1: the action {wrong}; the actions are 0 to 3", env.step, handle, np.array([0, wrong]))
    _, after = env.step(handle, np.array([0, 0]))  # nothing was done, so the handle still holds
    assert (np.asarray(after.length) == 1).all()
    assert (np.asarray(before.length) == 0).all()


@pytest.mark.parametrize("wrong", [np.array([0, 2**32]), np.array([0, 2**63], np.uint64), [0, -(2**40)], [0, 2**70]])
def test_actions_too_wide_for_jax(env, wrong):
    handle, _ = env.reset(1)
    with pytest.raises(pp.InvalidAction):
        env.step(handle, wrong)
    with pytest.raises(pp.InvalidAction):
        env.step_pure(env.init(1), wrong[1])
    jax.block_until_ready(env.step(handle, np.zeros(2, int)))


def test_what_is_no_number_and_a_handle_of_fewer_games(env):
    handle, _ = env.reset(1)
    for wrong in (["a", "b"], None, object(), [None, 0]):
        with pytest.raises(pp.InvalidAction, match="2 games take 2 whole numbers, not"):
            env.step(handle, wrong)
    other = PuzzleEnv("fifteen", "2x2", num_envs=3)
    with pytest.raises(pp.InvalidAction, match="this handle is of an environment with"):
        other.step(handle, np.zeros(3, int))


def test_two_environments_interleaved():
    tasks = [pp.Task("fifteen", "2x2", max_steps=20), pp.Task("net", "2x2", max_steps=20)]
    envs = [PuzzleEnv(task, num_envs=3) for task in tasks]
    batches = [pp.BatchEpisodes(task, 3) for task in tasks]

    @jax.jit
    def play(handles, key):
        def step(handles, key):
            actions = [jax.random.randint(key, (3,), 0, len(env.actions)) for env in envs]
            both = [env.step(handle, action) for env, handle, action in zip(envs, handles, actions, strict=True)]
            return [handle for handle, _ in both], (actions, [timestep.observation for _, timestep in both])

        return jax.lax.scan(step, handles, jax.random.split(key, 100))

    for batch in batches:
        batch.start(4)
    _, (actions, seen) = plain(play([env.reset(4)[0] for env in envs], jax.random.key(2)))
    for at in range(100):
        for batch, action, observation in zip(batches, actions, seen, strict=True):
            batch.step(action[at])
            same({name: value[at] for name, value in observation.items()}, batch.observation())


def test_reset_in_the_middle(env):
    first, start = env.reset(7)

    @jax.jit
    def play(handle):
        handle, _ = env.step(handle, jnp.array([1, 1]))
        handle, after = env.reset(7, handle)
        handle, last = env.step(handle, jnp.array([1, 2]))
        return handle, after, last

    handle, after, last = play(first)
    same(plain(after.observation), plain(start.observation))
    assert (np.asarray(last.length) == 1).all()
    _, third = env.reset()  # on with each stream
    with pp.Batch("fifteen", "2x2", 2) as batch:
        batch.reset(7)
        same(plain(third.observation)["tiles"], batch.reset().observation["tiles"])
    refused("used before", env.step, handle, np.zeros(2, int))


def test_seeds(env):
    tiles = lambda seed: np.asarray(env.reset(seed)[1].observation["tiles"])  # noqa: E731
    with pp.Batch("fifteen", "2x2", 2) as batch:
        for seed in (0, 2**40 + 3, 2**64 - 2):
            same(tiles(seed), batch.reset(seed).observation["tiles"])
        same(tiles([5, 2**50]), batch.reset([5, 2**50]).observation["tiles"])
        same(tiles(jnp.int32(5)), batch.reset(5).observation["tiles"])
    same(tiles(jax.random.key(1)), tiles(jax.random.key(1)))
    for wrong in (-1, 2**64, 1.5, "a", [1, 2, 3]):
        with pytest.raises(pp.InvalidSeed):
            env.reset(wrong)
    refused("a seed is a whole number from 0 on", env.reset, jnp.int32(-5))
    refused("a seed is a whole number from 0 on", env.init, jnp.int32(-5))
    same(env.init(3), jax.vmap(env.init)(jnp.array([1, 3]))[1])


def test_a_key_draws_each_of_53_bits_of_a_seed_by_itself():
    low, high, given = np.asarray(_words(jax.random.key(1), 2000)).astype(np.uint64).T
    bits = (low | high << np.uint64(32))[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    assert given.all()
    assert not bits[:, 53:].any()
    # Of so many seeds, two bits that have nothing to do with each other are correlated by 0.02 or so.
    assert np.abs(np.corrcoef(bits[:, :53].T) - np.eye(53)).max() < 0.2


def test_a_generator_that_takes_too_long_raises_and_all_goes_on(env):
    slow = PuzzleEnv("solo", "3x3du", num_envs=1, timeout=0.001, state_size=1024)
    refused("DEADLINE_EXCEEDED.*slot 0: no result within 0.001 seconds", slow.reset, 1)
    refused("DEADLINE_EXCEEDED", slow.init_timestep, 1)
    jax.block_until_ready(env.reset(1))


def test_in_a_while_loop(env):
    handle, timestep = env.reset(1)

    @jax.jit
    def until_solved(handle, timestep):
        def step(carry):
            handle, timestep, key = carry
            key, now = jax.random.split(key)
            return *env.step(handle, masked_random(now, timestep.mask)), key

        carry = handle, timestep, jax.random.key(0)
        return jax.lax.while_loop(lambda carry: ~carry[1].solved.any(), step, carry)

    _, timestep, _ = until_solved(handle, timestep)
    assert timestep.solved.any()
    assert (timestep.reward == timestep.solved).all()


def test_a_handle_has_no_vmap_and_states_have(env):
    handle, _ = env.reset(1)
    with pytest.raises(NotImplementedError):
        jax.vmap(lambda actions: env.step(handle, actions))(jnp.zeros((3, 2), int))
    state = env.init(1)
    branches, timestep = jax.vmap(env.step_pure, (None, 0))(state, jnp.arange(4))
    assert branches.shape == (4, env.state_size)
    assert (np.asarray(timestep.length) == 1).all()
    twice = jax.vmap(jax.vmap(env.step_pure, (0, None)), (None, 0))(branches, jnp.arange(4))[0]
    assert twice.shape == (4, 4, env.state_size)


def test_states_that_are_none(env):
    state = env.init(1)
    for at in (0, 9, 40, 70):
        refused("these bytes are no state, or were altered", env.step_pure, state.at[at].add(1), 0)
    refused("these bytes are no state", env.step_pure, jnp.zeros_like(state), 0)
    refused("the action 9; fifteen has the actions 0 to 3", env.step_pure, state, 9)
    refused("game 1: the action -1", env.step_pure, jnp.stack([state, state]), np.array([0, -1]))
    with pytest.raises(pp.CorruptState, match="a state is uint8"):
        env.step_pure(state[:-1], 0)
    other = PuzzleEnv("fifteen", "3x2", state_size=env.state_size)
    refused("another puzzle or of other parameters", other.step_pure, state, 0)
    refused("does not fit into a state of 64 bytes.*state_size", PuzzleEnv("net", "5x5", state_size=64).init, 1)
    jax.block_until_ready(env.step_pure(state, 0))


def digest(data: bytes) -> bytes:
    """What a state begins with, of all that follows: as in repeats.c."""
    word, value = 2**64 - 1, 0x9AE16A3B2F90404F
    whole = len(data) - len(data) % 8
    for at in range(0, whole, 8):
        value = (value ^ int.from_bytes(data[at : at + 8], "little")) * 0x9E3779B97F4A7C15 & word
        value ^= value >> 29
    rest = data[whole:] + len(data[whole:]).to_bytes(8, "little")[len(data[whole:]) :]
    value = (value ^ int.from_bytes(rest, "little")) * 0xBF58476D1CE4E5B9 & word
    return (value ^ value >> 32).to_bytes(8, "little")


def test_a_state_that_play_cannot_reach_is_refused_though_its_digest_is_right(env):
    state, timestep = env.init_timestep(1)
    sound = np.asarray(state).tobytes()
    used = 16 + sum(struct.unpack("<II", sound[8:16]))
    assert digest(sound[8:used]) == sound[:8]
    tiles = np.asarray(timestep.observation["tiles"]).ravel().astype("<i4")
    gap = sound.rindex(tiles.tobytes()) + tiles.nbytes
    assert struct.unpack_from("<i", sound, gap) == (int(tiles.argmin()),)
    for number in {*range(-1, 5), 2**31 - 1} - {int(tiles.argmin())}:
        forged = sound[8:gap] + struct.pack("<i", number) + sound[gap + 4 : used]
        bytes_of = np.frombuffer(digest(forged) + forged + sound[used:], np.uint8)
        refused("holds a state that play cannot reach", env.step_pure, jnp.asarray(bytes_of), 0)


def test_a_game_that_is_over_stays_as_it_is():
    env = PuzzleEnv("fifteen", "2x2", max_steps=2, rewards=pp.Rewards(step=-1))
    state = env.init(1)
    for paid, truncated in ((-1, False), (-1, True), (0, True), (0, True)):
        state, timestep = env.step_pure(state, int(np.argmax(env.step_pure(state, 0)[1].mask)))
        assert (float(timestep.reward), bool(timestep.truncated)) == (paid, truncated)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (
            {"rewards": pp.Rewards(hook=lambda before, after: 0)},
            "a reward hook is Python and cannot run inside jax.jit",
        ),
        ({"observation": "text"}, "no arrays of text"),
    ],
)
def test_what_cannot_be_inside_jit_is_refused(options, match):
    with pytest.raises(pp.UnknownOption, match=match):
        PuzzleEnv("fifteen", "2x2", **options)


def test_moves_that_a_state_can_take_back():
    env = PuzzleEnv("inertia", "5x5", undo=True, undo_depth=2, max_repeats=2, max_steps=0)
    undo = env.actions.index("UNDO")
    state, first = env.init_timestep(1)
    assert not first.mask[undo]
    move = int(np.argmax(first.mask))
    after, moved = env.step_pure(state, move)
    back, seen = env.step_pure(after, undo)
    same(plain(seen.observation), plain(first.observation))
    assert not np.array_equal(seen.mask, moved.mask)
    assert not seen.truncated
    back, _ = env.step_pure(back, move)
    assert env.step_pure(back, undo)[1].truncated  # there for the third time
    env = PuzzleEnv("inertia", "5x5", undo=True, undo_depth=2)
    state, seen = env.init_timestep(1)
    for _ in range(3):  # moves after which others are legal
        branches = [env.step_pure(state, int(move)) for move in np.flatnonzero(seen.mask[:undo])]
        state, seen = next(branch for branch in branches if branch[1].mask[:undo].any())
    backwards = 0
    while seen.mask[undo]:
        state, seen = env.step_pure(state, undo)
        backwards += 1
    assert backwards == 2
    without = PuzzleEnv("inertia", "5x5", state_size=env.state_size)
    refused("another puzzle or of other parameters", without.step_pure, state, 0)


def test_a_full_list_of_moves_to_take_back_is_that_of_a_session():
    """After more flags than it holds moves: the last ones, in their order."""
    options = {"undo": True, "max_steps": 0}
    env, session = PuzzleEnv("mines", "4x4n2", undo_depth=256, **options), pp.Session("mines", "4x4n2", 1, **options)
    flag, undo = env.actions.index("SELECT2"), env.actions.index("UNDO")
    arrows = [env.actions.index(name) for name in ("UP", "DOWN", "LEFT", "RIGHT")]
    random = np.random.default_rng(1)
    actions = np.where(random.random(300) < 0.9, flag, random.choice(arrows, 300)).tolist() + [undo] * 257
    records, masks = [], []
    for action in actions:
        session.step(action)
        records.append(session.record())
        masks.append(session.mask())
    assert session.moves > 256
    assert not masks[-1][undo]

    _, seen = jax.jit(lambda state, actions: jax.lax.scan(env.step_pure, state, actions))(
        env.init(1), jnp.array(actions)
    )
    same(seen.mask, np.stack(masks))
    for name, view in session.layout.views(np.stack(records)).items():
        same(np.asarray(seen.observation[name]).reshape(view.shape), view, name)


def test_a_state_has_a_quarter_of_room_and_little_more():
    for size in range(1, 3000):
        found, least = with_room(size), size + size / 4 + 64
        assert found % 64 == 0
        assert least - 1 < found < least + 64


@pytest.mark.parametrize("wrong", [{"undo_depth": 0}, {"undo_depth": 257}, {"state_size": -1}, {"state_size": 1.5}])
def test_sizes_of_states_that_are_none(wrong):
    with pytest.raises(pp.UnknownOption, match="is a whole number from"):
        PuzzleEnv("fifteen", "2x2", undo=True, **wrong)


def test_one_instance_in_every_episode():
    env = PuzzleEnv("fifteen", "2x2#42", num_envs=3)
    with pp.Session("fifteen", "2x2", seed=42) as session:
        tiles = session.observe()["tiles"]
    assert (np.asarray(env.reset(1)[1].observation["tiles"]) == tiles).all()
    assert (np.asarray(env.init_timestep(8)[1].observation["tiles"]) == tiles).all()


def test_its_benchmark_measures_what_it_says(monkeypatch):
    from puzzleport.adapters import jax_bench

    monkeypatch.setattr(jax_bench, "LENGTH", 2)
    rows = json.loads(CliRunner().invoke(main, ["bench", "jax", "--seconds", "0", "--puzzle", "net", "--json"]).stdout)
    assert [row["puzzle"] for row in rows] == ["net", "geometric mean"]
    assert all(row[rate] > 0 for row in rows for rate in ("rollout", "batch", "scan", "read", "pure"))
