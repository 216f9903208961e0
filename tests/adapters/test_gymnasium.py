from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import puzzleport as pp
from puzzleport.adapters import gymnasium as adapter
from puzzleport.adapters import gymnasium_bench
from puzzleport.benchmark import paper_speed

KINDS = ["state", "flat", "one_hot", "pixels", "both", "tokens"]


def make(puzzle: str, **options) -> adapter.PuzzleEnv:
    return adapter.PuzzleEnv(puzzle, pp.spec(puzzle).easiest_params, **options)


def equal(a, b) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return np.array_equal(a, b)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("observation", ["state", "flat", "pixels"])
def test_gymnasiums_own_checker_is_content(puzzle, observation, monkeypatch):
    monkeypatch.setitem(
        adapter.PuzzleEnv.metadata, "render_fps", 1000
    )  # it shows some pictures, and need not wait between
    env = gym.make(
        adapter.env_id(puzzle), params=pp.spec(puzzle).easiest_params, observation=observation, render_mode="rgb_array"
    )
    check_env(env.unwrapped)
    env.close()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("observation", ["state", "flat", "pixels"])
def test_sb3s_own_checker_is_content(puzzle, observation):
    from stable_baselines3.common.env_checker import check_env as sb3_check_env

    env = make(puzzle, observation=observation)
    with warnings.catch_warnings():
        # SB3 recommends vectors, and takes boards with three axes for pictures; its MultiInputPolicy flattens them all.
        warnings.filterwarnings("ignore", message=".*(unconventional shape|is an image|an image is|image space)")
        sb3_check_env(env)
    env.close()


def test_ids_are_registered_by_import_and_by_prefix():
    assert adapter.env_id("samegame") == "puzzleport/SameGame-v0"
    code = """
import gymnasium as gym
env = gym.make("puzzleport.adapters.gymnasium:puzzleport/LightUp-v0")
print(env.reset(seed=1)[1]["game_id"])
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{pp.spec('lightup').default_params}#1"
    env = gym.make("puzzleport/Puzzle-v0", puzzle="net", params="2x2")
    assert env.reset(seed=3)[1]["game_id"] == "2x2#3"
    env.close()


def test_the_papers_environment():
    env = gym.make(
        "rlp/Puzzle-v0", puzzle="bridges", render_mode="rgb_array", params="4x4#42", window_width=100, window_height=80
    )
    observation, info = env.reset()
    assert observation["pixels"].shape == (3, 80, 100)
    assert info["game_id"] == "4x4#42"
    assert np.array_equal(
        observation["pixels"].transpose(1, 2, 0), pp.Session("bridges", game_id="4x4#42").pixels(100, 80)
    )
    assert env.reset()[1]["game_id"] == info["game_id"]
    env.close()
    env = gym.make(
        "rlp/Puzzle-v0", puzzle="fifteen", params="2x2", obs_type="puzzle_state", allow_undo=True, max_state_repeats=50
    )
    env.reset(seed=1)
    reward = 0.0
    random = np.random.default_rng(0)
    for _ in range(2000):
        _, reward, terminated, truncated, _info = env.step(int(random.integers(4)))
        if terminated or truncated:
            break
    assert reward == (100.0 if terminated else 0.0)
    env.close()


def test_the_seed_decides_the_puzzle_at_every_reset(puzzle):
    env = make(puzzle)
    seen = []
    for seed in (3, 4, 3):
        observation, info = env.reset(seed=seed)
        session = pp.Session(puzzle, env.task.params, seed=seed)
        assert pp.Session(puzzle, info["game_id"]).instance_hash == session.instance_hash
        fields = {name: np.atleast_1d(values) for name, values in session.observe().items()}
        assert equal(info["puzzle_state"], fields)
        assert equal(observation, fields)
        seen.append([env.reset()[1]["game_id"] for _ in range(6)])
    assert seen[0] == seen[2]
    if puzzle not in {"untangle", "dominosa"}:  # with five and four instances in all
        assert len(set(seen[0])) > 1
    env.close()


def test_a_given_game_can_be_started():
    env = make("bridges")
    wanted = pp.Session("bridges", "3x3", seed=99).game_id
    assert env.reset(options={"game_id": wanted})[1]["game_id"] == wanted
    assert env.reset(options={"params": "3x3i20e10m2d0"}, seed=1)[1]["game_id"].startswith("3x3i20")
    with pytest.raises(pp.InvalidParams, match="other observations"):
        env.reset(options={"params": "4x4"})
    with pytest.raises(pp.InvalidParams):
        env.reset(options={"game_id": "junk"})
    with pytest.raises(ValueError, match="unknown reset options"):
        env.reset(options={"gameid": wanted})
    env.step(0)
    env.close()


@pytest.mark.parametrize("observation", KINDS)
def test_info_says_what_it_should(observation):
    env = make("fifteen", observation=observation, max_steps=5000)
    _, info = env.reset(seed=1)
    random = np.random.default_rng(1)
    terminated = truncated = False
    while not (terminated or truncated):
        assert info["action_mask"].dtype == np.int8
        assert np.array_equal(info["action_mask"], env.action_masks())
        assert env.action_masks()[env.action_space.sample(env.action_masks())]
        assert np.array_equal(info["puzzle_state"]["tiles"], env.session.observe()["tiles"])
        assert info["state_repeats"] == env.session.repeats
        assert info["is_success"] is False
        _, reward, terminated, truncated, info = env.step(int(random.choice(np.flatnonzero(env.action_masks()))))
    assert terminated
    assert info["is_success"]
    assert reward == 1.0
    env.close()


def test_observations_are_fresh_unless_live_ones_are_wanted():
    fresh, live = make("fifteen"), make("fifteen", copy=False)
    for env, alike in ((fresh, False), (live, True)):
        first, info = env.reset(seed=1)
        second = env.step(int(np.flatnonzero(info["action_mask"])[0]))[0]
        assert np.array_equal(first["tiles"], second["tiles"]) == alike
        env.close()


def test_flat_is_scaled_by_the_bounds_and_one_hot_by_keyword(puzzle):
    env, hot = make(puzzle, observation="flat"), make(puzzle, observation="one_hot")
    observation, info = env.reset(seed=1)
    wide, _ = hot.reset(seed=1)
    fields = pp.spec(puzzle).fields(env.task.params)
    items = [
        ((info["puzzle_state"][field.name].ravel().astype(float) - field.low), max(field.high - field.low, 1))
        for field in fields
    ]
    assert np.allclose(observation, np.concatenate([values / span for values, span in items]))
    count = sum(values.size for values, _ in items)
    assert wide.sum() == count
    assert set(np.unique(wide)) <= {0.0, 1.0}
    at = 0
    for field, (values, _) in zip(fields, items, strict=True):
        width = field.high - field.low + 1
        for value in values:
            assert wide[at + int(value)] == 1.0
            at += width
    assert at == wide.size
    env.close()
    hot.close()


def test_rewards_and_their_hook():
    calls = []

    def hook(before, after):
        calls.append((before["tiles"].copy(), after["tiles"].copy()))
        return 0.25

    env = make("fifteen", rewards=pp.Rewards(solved=10, step=-1, hook=hook))
    env.reset(seed=1)
    env.session.mask()
    legal, illegal = int(np.flatnonzero(env.action_masks())[0]), int(np.flatnonzero(env.action_masks() == 0)[0])
    assert env.step(illegal)[1] == -0.75
    assert np.array_equal(*calls[-1])
    reward, terminated = env.step(legal)[1:3]
    assert reward == (9.25 if terminated else -0.75)
    assert not np.array_equal(*calls[-1])
    env.close()


def test_the_expert_solves_what_it_is_asked_about(puzzle):
    env = make(puzzle, expert_action=True, undo=False)
    _, info = env.reset(seed=2)
    for _ in range(1000):
        assert info["action_mask"][info["expert_action"]]
        _, _, terminated, _, info = env.step(info["expert_action"])
        if terminated:
            break
    assert info["is_success"] or pp.spec(puzzle).hidden
    assert info["expert_action"] == -1
    env.close()


def test_max_repeats_truncates():
    env = make("net", max_repeats=3)
    env.reset(seed=1)
    steps = 0
    truncated = False
    while not truncated:
        _, _, terminated, truncated, info = env.step(steps % 2)  # UP and DOWN
        steps += 1
        assert not terminated
    assert info["state_repeats"] == 3
    assert info["is_success"] is False
    env.close()


def test_render_modes():
    for mode in ("rgb_array", "ansi"):
        env = make("solo", render_mode=mode, width=200, height=100)
        env.reset(seed=1)
        shown = env.render()
        if mode == "ansi":
            assert shown == env.session.text()
        else:
            assert shown.shape == (100, 200, 3)
            assert shown.std() > 10
        env.close()
    with pytest.raises(ValueError, match="render_mode"):
        make("solo", render_mode="hologram")
    env = gym.make("puzzleport/Solo-v0", render_mode="rgb_array_list")
    env.reset(seed=1)
    env.step(0)
    assert len(env.render()) == 2
    env.close()


@pytest.mark.parametrize("live", [False, True])
def test_pickle_and_deepcopy_in_the_middle_of_an_episode(puzzle, live):
    """A copy goes on as an environment does that played the same from the start, not merely as another copy."""
    for duplicate in (lambda env: pickle.loads(pickle.dumps(env)), copy.deepcopy):
        original, env = (make(puzzle, seed=1, undo=True, copy=not live) for _ in range(2))
        random = np.random.default_rng(0)
        original.reset(seed=1), env.reset(seed=1)
        for action in random.integers(env.action_space.n, size=15):
            original.step(action)
            if env.step(action)[2]:
                original.reset(), env.reset()
        twin = duplicate(env)
        for _ in range(20):
            action = int(random.integers(env.action_space.n))
            a, b = original.step(action), twin.step(action)
            assert equal(a[0], b[0])
            assert a[1:4] == b[1:4]
            assert np.array_equal(a[4]["action_mask"], b[4]["action_mask"])
            assert equal(a[4]["puzzle_state"], b[4]["puzzle_state"])
            if a[2] or a[3]:
                a, b = original.reset(), twin.reset()
                assert equal(a[0], b[0])
        for one in (original, env, twin):
            one.close()


def test_a_forgotten_environment_is_freed_with_a_warning():
    from puzzleport._native import lib

    gc.collect()
    before = lib.pz_live_pools()
    env = make("fifteen")
    env.reset(seed=1)
    with pytest.warns(ResourceWarning):
        del env
        gc.collect()
    assert lib.pz_live_pools() == before


def test_what_gym_make_gives_asks_for_a_reset_once():
    """The environment asks itself: no wrapper around it need do so again with every step."""
    env = gym.make("puzzleport/Fifteen-v0", params="2x2", render_mode="rgb_array")
    assert "OrderEnforcing" not in str(env)
    for call in (lambda: env.step(0), env.render):
        with pytest.raises(gym.error.ResetNeeded):
            call()
    env.reset(seed=1)
    env.step(0)
    assert env.render().shape == (128, 128, 3)
    env.close()


def test_mistakes_are_said_and_the_environment_goes_on():
    with pytest.raises(pp.UnknownPuzzle, match="did you mean 'bridges'"):
        gym.make("puzzleport/Puzzle-v0", puzzle="bridge")
    with pytest.raises(pp.InvalidParams, match="Width and height must be at least 3"):
        adapter.PuzzleEnv("bridges", "2x2")
    with pytest.raises(ValueError, match="observation"):
        make("bridges", observation="smell")
    env = make("fifteen")
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)
    with pytest.raises(gym.error.ResetNeeded):
        env.render()
    env.reset(seed=1)
    with pytest.raises(pp.InvalidAction):
        env.step(4)
    random = np.random.default_rng(0)
    while not env.step(int(random.integers(4)))[2]:
        pass
    with pytest.raises(gym.error.ResetNeeded, match="over"):
        env.step(0)
    env.reset()
    env.step(0)
    env.close()
    env.close()
    env.reset(seed=2)
    env.close()


# ---- the vector environment


def test_vector_ids():
    envs = gym.make_vec("puzzleport/Net-v0", num_envs=3, vectorization_mode="vector_entry_point", params="2x2")
    assert isinstance(envs.unwrapped, adapter.PuzzleVectorEnv)
    assert envs.metadata["render_fps"] == adapter.PuzzleEnv.metadata["render_fps"]
    envs.reset(seed=1)
    envs.close()


def of_slot(info: dict, slot: int) -> dict:
    """One sub-environment's part of a vector environment's info."""
    assert all(f"_{name}" in info for name in info if not name.startswith("_"))
    plain = {name: value for name, value in info.items() if not name.startswith(("_", "final_"))}
    return {name: of_slot(value, slot) if isinstance(value, dict) else value[slot] for name, value in plain.items()}


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_vector_environment_equals_single_ones(puzzle, mode):
    n, options = 4, {"max_steps": 30, "max_repeats": 12, "undo": True}
    envs = adapter.PuzzleVectorEnv(puzzle, pp.spec(puzzle).easiest_params, n, threads=2, autoreset_mode=mode, **options)
    assert envs.metadata["autoreset_mode"] == mode
    singles = [make(puzzle, **options) for _ in range(n)]
    observation, info = envs.reset(seed=50)
    over = np.zeros(n, bool)
    for slot, env in enumerate(singles):
        first, first_info = env.reset(seed=50 + slot)
        assert equal({name: values[slot] for name, values in observation.items()}, first)
        assert equal(of_slot(info, slot), first_info)
    random = np.random.default_rng(2)
    for _ in range(80):
        actions = random.integers(envs.single_action_space.n, size=n)
        observation, rewards, terminations, truncations, info = envs.step(actions)
        for slot, env in enumerate(singles):
            if over[slot] and mode == AutoresetMode.NEXT_STEP:
                expected, single_info = env.reset()
                reward, terminated, truncated = 0.0, False, False
            else:
                expected, reward, terminated, truncated, single_info = env.step(int(actions[slot]))
            assert (rewards[slot], terminations[slot], truncations[slot]) == (reward, terminated, truncated)
            over[slot] = terminated or truncated
            if over[slot]:
                success = single_info["is_success"]
                if mode == AutoresetMode.SAME_STEP:
                    assert info["_final_info"][slot]
                    assert equal(of_slot(info["final_info"], slot), single_info)
                    assert equal(info["final_obs"][slot], expected)
                    expected, single_info = env.reset()
                else:
                    assert info["is_success"][slot] == success
            assert equal({name: values[slot] for name, values in observation.items()}, expected)
            assert equal(of_slot(info, slot), single_info)
            assert np.array_equal(envs.action_masks()[slot], single_info["action_mask"])
        if mode == AutoresetMode.DISABLED and over.any():
            with pytest.raises(gym.error.ResetNeeded):
                envs.step(actions)
            observation, info = envs.reset(options={"reset_mask": over})
            for slot in np.flatnonzero(over):
                expected, single_info = singles[slot].reset()
                assert equal({name: values[slot] for name, values in observation.items()}, expected)
            over[:] = False
    for env in (envs, *singles):
        env.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("observation", KINDS)
def test_what_a_vector_environment_returned_stays_as_it_was(observation, mode):
    """With copy=True nothing that was handed out changes in later steps: not the mask, not what an episode ended with."""
    envs = adapter.PuzzleVectorEnv(
        "flood", "3x3c3m0", 3, observation=observation, autoreset_mode=mode, max_steps=4, mask_in_observation=True
    )
    random, kept = np.random.default_rng(0), [envs.reset(seed=1)]
    as_it_was = [copy.deepcopy(kept[0])]
    for _ in range(12):
        result = envs.step(random.integers(envs.single_action_space.n, size=3))
        kept.append(result)
        as_it_was.append(copy.deepcopy(result))
        over = result[2] | result[3]
        if mode == AutoresetMode.DISABLED and over.any():
            envs.reset(options={"reset_mask": over})
    masks = [result[-1]["action_mask"].tobytes() for result in kept]
    assert len(set(masks)) > 1
    for result, before in zip(kept, as_it_was, strict=True):
        for now, then in zip(result, before, strict=True):
            assert equal_throughout(now, then)
    envs.close()


def test_how_episodes_stand_stays_as_it_was_even_without_copies():
    """Only observations, masks and ids are live there: rewards, ends, repeats and success are the caller's."""
    envs = adapter.PuzzleVectorEnv("flood", "3x3c3m0", 3, max_steps=4, copy=False)
    random, kept = np.random.default_rng(0), []
    envs.reset(seed=1)
    for _ in range(40):
        _, *ends, info = envs.step(random.integers(envs.single_action_space.n, size=3))
        told = [*ends, info["state_repeats"], info["is_success"]]
        kept.append((told, copy.deepcopy(told)))
    assert all(equal_throughout(now, then) for told in kept for now, then in zip(*told, strict=True))
    assert len({told[2].tobytes() for told, _ in kept}) > 1
    envs.close()


def equal_throughout(a, b) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal_throughout(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) and a.dtype == object:
        return len(a) == len(b) and all(equal_throughout(one, other) for one, other in zip(a, b, strict=True))
    return np.array_equal(a, b)


@pytest.mark.parametrize("observation", KINDS)
def test_vector_observations_are_in_their_space(observation):
    envs = adapter.PuzzleVectorEnv(
        "samegame",
        "2x3c3s2",
        3,
        observation=observation,
        autoreset_mode="SameStep",
        mask_in_observation=True,
        max_steps=9,
    )
    single = make("samegame", observation=observation, mask_in_observation=True, max_steps=9)
    observation, _ = envs.reset(seed=5)
    assert observation in envs.observation_space
    first, _ = single.reset(seed=5)
    assert first in envs.single_observation_space
    random = np.random.default_rng(0)
    for _ in range(40):
        actions = random.integers(envs.single_action_space.n, size=3)
        observation, _, _, _, info = envs.step(actions)
        assert observation in envs.observation_space
        expected, _, terminated, truncated, _ = single.step(int(actions[0]))
        if terminated or truncated:
            assert equal(info["final_obs"][0], expected)
            expected, _ = single.reset()
        gathered = gym.vector.utils.iterate(envs.observation_space, observation)
        assert equal(next(gathered), expected)
    envs.close()
    single.close()


def test_threads_do_not_change_a_stream():
    def stream(threads):
        envs = adapter.PuzzleVectorEnv("twiddle", "3x3n2", 32, threads=threads, max_steps=20, observation="flat")
        envs.reset(seed=1)
        random = np.random.default_rng(1)
        seen = [envs.step(random.integers(6, size=32))[0].tobytes() for _ in range(100)]
        envs.close()
        return seen

    assert stream(1) == stream(2) == stream(7)


def test_vector_mistakes():
    envs = adapter.PuzzleVectorEnv("net", "2x2", 2)
    with pytest.raises(gym.error.ResetNeeded):
        envs.step([0, 0])
    envs.reset(seed=1)
    with pytest.raises(pp.InvalidAction):
        envs.step([0, 9])
    with pytest.raises(pp.InvalidAction):
        envs.step([0])
    with pytest.raises(pp.InvalidSeed):
        envs.reset(seed=[1])
    envs.step([0, 0])
    envs.close()
    envs.close()


def test_a_vector_environment_shows_its_games_until_it_is_closed():
    envs = adapter.PuzzleVectorEnv("net", "2x2", 3, render_mode="ansi", width=48, height=40)
    envs.reset(seed=1)
    assert envs.render() == tuple(pp.Session("net", "2x2", seed).text() for seed in (1, 2, 3))
    envs.render_mode = "rgb_array"
    for seed, picture in enumerate(envs.render(), start=1):
        assert np.array_equal(picture, pp.Session("net", "2x2", seed).pixels(48, 40))
    envs.render_mode = None
    with pytest.warns(UserWarning, match="render needs a render_mode"):
        assert envs.render() is None
    with pytest.raises(pp.UnknownOption, match="unknown reset options \\['where'\\]; there is reset_mask"):
        envs.reset(options={"where": 1})
    envs.close()
    with pytest.raises(gym.error.ClosedEnvironmentError, match="was closed"):
        envs.reset()
    single = adapter.PuzzleEnv("net", "2x2")
    single.reset(seed=1)
    with pytest.warns(UserWarning, match="render needs a render_mode"):
        assert single.render() is None


def test_gymnasium_wrappers_fit():
    envs = gym.wrappers.vector.RecordEpisodeStatistics(adapter.PuzzleVectorEnv("fifteen", "2x2", 4))
    envs.reset(seed=1)
    random = np.random.default_rng(0)
    seen = 0
    for _ in range(300):
        *_, info = envs.step(random.integers(4, size=4))
        seen += "episode" in info
    assert seen
    envs.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = gym.wrappers.FlattenObservation(make("fifteen"))
        assert env.reset(seed=1)[0].ndim == 1
        env.close()


@pytest.mark.parametrize("make", [adapter.PuzzleEnv, adapter.PuzzleVectorEnv])
def test_a_picture_that_is_too_small_is_refused_at_construction(make):
    with pytest.raises(pp.UnknownOption, match=r"needs at least \d+ x \d+ pixels, not 9 x 9"):
        make("net", "5x5", observation="pixels", width=9, height=9)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_vector_environment_that_was_never_made_goes_silently():
    with pytest.raises(pp.UnknownOption, match="called num_envs now"):
        adapter.PuzzleVectorEnv("fifteen", n_envs=2)
    gc.collect()


def test_gymnasiums_play_knows_the_keys(puzzle, monkeypatch):
    pytest.importorskip("pygame", reason="gymnasium.utils.play needs pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    from gymnasium.utils.play import PlayableGame

    env = gym.make(adapter.env_id(puzzle), render_mode="rgb_array", undo=True)
    env.reset(seed=1)
    keys = env.unwrapped.get_keys_to_action()
    assert set(keys.values()) == set(range(env.action_space.n))
    game = PlayableGame(env, {tuple(map(code, one)): action for one, action in keys.items()})
    assert {code("w"), code("8")} & game.relevant_keys
    env.close()


def code(key):
    """A key's number, as ``play`` itself makes it of a character."""
    return ord(key) if isinstance(key, str) else key


def test_a_person_can_see_the_window(monkeypatch):
    """The picture that an agent sees may be tiny; the window is not."""
    pygame = pytest.importorskip("pygame", reason="a window needs the extra window")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = gym.make("puzzleport/Net-v0", params="2x2", render_mode="human", width=64, height=64)
    env.reset(seed=1)
    env.step(0)
    assert min(pygame.display.get_surface().get_size()) >= 400
    env.close()


# ---- its benchmark


class Timed(adapter.PuzzleEnv):
    """Steps and resets that take whole seconds of a clock that nothing else moves on."""

    now, steps, resets = 0, 0, 0

    def step(self, action):
        Timed.now, Timed.steps = Timed.now + 2, Timed.steps + 1
        return super().step(action)

    def reset(self, **options):
        Timed.now, Timed.resets = Timed.now + 7, Timed.resets + 1
        return super().reset(**options)


@pytest.fixture
def clock(monkeypatch):
    for name in ("thread_time", "perf_counter"):
        monkeypatch.setattr(gymnasium_bench.time, name, lambda: float(Timed.now))
    monkeypatch.setattr(Timed, "steps", 0)
    monkeypatch.setattr(Timed, "resets", 0)


def test_a_rate_is_steps_by_the_time_that_they_and_the_resets_between_them_took(clock):
    rate = gymnasium_bench.env_loop(Timed("net", "2x2", max_steps=50), seconds=1000)
    steps, resets = Timed.steps - 1, Timed.resets - 2  # without the first step and the resets around it
    assert resets >= steps // 50 > 0
    assert rate == steps / (2 * steps + 7 * resets)
    assert steps % 128 == 0  # the clock is looked at after so many
    assert 1000 <= 2 * steps + 7 * resets < 1000 + 2 * 128 + 7 * 128


def test_a_rate_of_resets_is_of_those_alone_that_are_timed(clock):
    assert gymnasium_bench.resets_in_play(Timed("net", "2x2", max_steps=50), seconds=0) == 1 / 7
    assert Timed.steps == 5 * 1000  # as many rounds, however little time there is
    env = Timed("net", "2x2")
    assert gymnasium_bench.reset_loop(lambda seed: env.reset(seed=seed), seconds=30) == 7e6  # in microseconds


def test_a_comparison_is_of_rates_on_machines_that_are_as_fast():
    for puzzle, paper in paper_speed.rates().items():
        for what, kind in gymnasium_bench.BESIDE.items():
            rates = dict.fromkeys(gymnasium_bench.BESIDE, 1.0) | {what: 3 * paper[kind]}
            for faster in (1, 2):  # a machine on which the paper's would be twice as fast, too
                yardstick = faster * paper_speed.YARDSTICK[kind]
                beside = gymnasium_bench.Beside(puzzle, "", **rates, yardstick=yardstick)
                assert beside.times(what) == pytest.approx(3 / faster)
                assert beside.figures()[f"{what}_times"] == beside.times(what)
