"""What scripts for the paper's own environment need: its ids, keywords, observations, infos, methods; and its four listings."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import puzzleport as pp
import puzzleport.adapters.rlp as rlp

PAPER_INFO = {
    "puzzle_state",
    "action_mask",
    "state_histogram",
    "current_state_repeats",
    "current_move_was_toward_solution",
    "current_move_was_cursor_move",
}


@pytest.fixture
def make():
    made = []

    def make(puzzle, *arguments, **options):
        made.append(rlp.PaperEnv(puzzle, *arguments, **options))
        return made[-1]

    yield make
    for env in made:
        env.close()


def test_importing_it_registers_all_ids():
    code = """
import gymnasium as gym
import puzzleport.adapters.rlp as rlp
ids = [name for name in gym.registry if name.startswith("rlp/")]
print(len(ids), gym.make("rlp/SameGame-v0").unwrapped.puzzle_name, gym.make("rlp/Puzzle-v0", puzzle="net").unwrapped.puzzle_name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["41", "samegame", "net"]


@pytest.mark.parametrize("puzzle", pp.puzzles())
@pytest.mark.filterwarnings("ignore:.*not within the|.*Box observation space|.*image")
def test_gymnasium_s_checker_and_the_infos_of_every_step(make, puzzle):
    easiest = pp.spec(puzzle).easiest_params
    check_env(make(puzzle, params=easiest), skip_render_check=True)
    env = make(puzzle, None, "puzzle_state", easiest)
    check_env(env, skip_render_check=True)
    random = np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    for _ in range(50):
        assert info.keys() >= PAPER_INFO
        assert observation in env.observation_space
        np.testing.assert_equal(info["puzzle_state"], observation)
        np.testing.assert_equal(env.state_dict, observation)
        observation, _, terminated, truncated, info = env.step(random.integers(env.action_space.n))
        if terminated or truncated:
            observation, info = env.reset()


def test_positions_keywords_and_defaults(make):
    env = make("bridges", "rgb_array", "RGB")
    assert (env.render_mode, env.obs_type, env.window_width, env.puzzle_name) == ("rgb_array", "rgb", 128, "bridges")
    assert (env.task.max_steps, env.task.max_repeats) == (0, 200)
    assert env.task.rewards == pp.PAPER_REWARDS
    env = make(
        puzzle="net",
        render_mode=None,
        obs_type="puzzle_state",
        params="3x3",
        window_width=64,
        window_height=48,
        allow_undo=True,
        max_state_repeats=5,
        include_cursor_in_state_info=False,
        n_envs=4,
    )
    observation, info = env.reset()
    assert "cursor_pos" in observation  # as there, the option is about the info alone
    assert "cursor_pos" not in info["puzzle_state"]
    assert "cursor_pos" in make("net").reset()[1]["puzzle_state"]
    env = make("tents", None, "puzzle_state", 96, 64, False, 7, True, "4x4#3", 1)
    assert (env.task.width, env.task.height, env.task.max_repeats, env.task.game_id) == (96, 64, 7, "4x4#3")
    with pytest.raises(pp.UnknownOption, match="rgb or puzzle_state"):
        make("net", obs_type="sound")


def test_pictures_are_upright_and_not_moved_about(make):
    env = make("inertia", params="6x4#42", window_width=90, window_height=60)
    observation, _ = env.reset()
    picture = pp.Session("inertia", "6x4#42").pixels(90, 60)
    assert observation["pixels"].shape == (3, 60, 90)
    assert np.array_equal(observation["pixels"], picture.transpose(2, 0, 1))
    assert observation["pixels"].transpose(1, 2, 0).flags.c_contiguous  # as it was drawn
    before = observation["pixels"].copy()
    env.step(int(np.flatnonzero(env.action_masks())[0]))
    assert np.array_equal(observation["pixels"], before)


def test_masks_are_what_spaces_sample_with(make):
    env = make("bridges", params="4x4#42")
    _, info = env.reset()
    for mask in (env.action_masks(), info["action_mask"]):
        assert mask.dtype == np.int8
        assert mask[env.action_space.sample(mask)]


def test_repeats_are_counted_with_the_present_time_and_end_the_episode(make):
    env = make("net", params="3x3#1", max_state_repeats=4)
    _, info = env.reset()
    assert info["current_state_repeats"] == 1
    truncated = False
    while not truncated:
        for name in ("RIGHT", "LEFT"):
            _, _, terminated, truncated, info = env.step(env.action_names.index(name))
            assert not terminated
            assert info["current_state_repeats"] in info["state_histogram"].values()
            if truncated:
                break
    assert info["current_state_repeats"] == 5  # more often than 4 times
    assert len(info["state_histogram"]) == 2
    _, info = env.reset()
    assert list(info["state_histogram"].values()) == [1]


def test_what_a_move_was(make):
    env = make("solo", params="2x2#7", obs_type="puzzle_state")
    _, info = env.reset()
    assert not info["current_move_was_cursor_move"]
    plan, seen = pp.Session("solo", "2x2#7").plan(), []
    for action in plan:
        _, reward, terminated, _, info = env.step(action)
        seen.append((info["current_move_was_cursor_move"], info["current_move_was_toward_solution"]))
    assert terminated
    assert reward == 100.0
    for action, (cursor, toward) in zip(plan, seen, strict=True):
        moves = env.action_names[action] in {"UP", "DOWN", "LEFT", "RIGHT"}
        assert (cursor, toward) == (moves, not moves)


def test_a_state_can_be_taken_and_set(make):
    env, other = (make("fifteen", params="3x3", obs_type="puzzle_state") for _ in range(2))
    env.reset(seed=1)
    env.step(int(np.flatnonzero(env.action_masks())[0]))
    saved, seen = env.get_state(), env.state_dict
    env.reset(seed=2)
    for one in (env, other):
        told = one.set_state(saved)
        np.testing.assert_equal(one.state_dict, seen)
        np.testing.assert_equal(told["obs"], gym.spaces.flatten(one.observation_space, seen))
        assert (told["action_mask"] == one.action_masks()).all()
        assert one.puzzle.moves == 1
        *_, info = one.step(int(np.flatnonzero(one.action_masks())[0]))
        assert not info["current_move_was_cursor_move"]
    with pytest.raises(pp.InvalidGameID, match="not of net"):
        make("net").set_state(saved)
    with pytest.raises(pp.CorruptState):
        env.set_state(saved[:-1])


def test_keys_copies_and_games(make):
    env = make("inertia", params="4x4#1", obs_type="puzzle_state", allow_undo=True)
    assert len(env.action_keys) == len(set(env.action_keys)) == env.action_space.n == 9
    env.reset()
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        np.testing.assert_equal(twin.state_dict, env.state_dict)
        assert twin.puzzle is not env.puzzle
        twin.step(0)
        twin.close()


def test_the_keys_are_pygames(make):
    pygame = pytest.importorskip("pygame", reason="the extra play is not installed")
    names = [pygame.key.name(key) for key in rlp.specific_api.get_action_keys("samegame", True)]
    assert names == ["up", "down", "left", "right", "return", "u"]
    assert make("undead").action_keys[-3:] == [pygame.K_1, pygame.K_2, pygame.K_3]
    assert make("palisade").action_keys[-1] == pygame.K_LCTRL
    keypad = [getattr(pygame, f"K_KP{digit}") for digit in (1, 2, 3, 4, 6, 7, 8, 9)]
    assert make("inertia").action_keys == keypad
    for name in pp.puzzles():
        assert rlp.specific_api.get_action_keys(name) == make(name).action_keys


def test_the_parser_has_the_words_of_its_scripts():
    parser = rlp.puzzle.make_puzzle_parser()
    parser.add_argument("-s", "--seed", type=int)  # a letter that is in use: it becomes the script's
    args = parser.parse_args(["-p", "tents", "-a", "4x4#4", "-hl", "--allowundo", "-s", "3"])
    assert (args.puzzle, args.arg, args.headless, args.allowundo, args.seed) == ("tents", "4x4#4", True, True, 3)
    assert vars(rlp.puzzle.make_puzzle_parser().parse_args([])) == {
        "puzzle": "net",
        "size": (880, 880),
        "arg": None,
        "headless": False,
        "allowundo": False,
    }


# ---- the names that listings and scripts read


def state(make, puzzle, game_id, *actions):
    env = make(puzzle, obs_type="puzzle_state", params=game_id)
    env.reset()
    for action in actions:
        env.step(env.action_names.index(action))
    assert env.state_dict in env.observation_space
    return env.state_dict, env.session


def test_netslide_by_the_paper_s_names(make):
    seen, session = state(make, "netslide", "2x3b1#5")
    assert (seen["width"], seen["height"]) == (2, 3)
    assert seen["tiles"].dtype == seen["barriers"].dtype == np.uint16
    # A description has a hexadecimal digit for the wires of each tile, then v and h for barriers to the right and below.
    digits = session.desc.replace("v", "").replace("h", "")
    assert "".join(f"{tile:x}" for tile in seen["tiles"]) == digits
    assert tuple(seen["cursor_pos"]) == (session.observe()["cursor_x"], session.observe()["cursor_y"])


def test_tents_by_the_paper_s_names(make):
    seen, session = state(make, "tents", "4x4de#5")
    assert seen["numbers"].tolist() == [int(number) for number in session.desc.split(",")[1:]]
    assert (seen["grid"].reshape(4, 4) == session.observe()["trees"]).all()
    free = int(np.flatnonzero(seen["grid"] == 0)[0])
    steps = ["RIGHT"] * (free % 4) + ["DOWN"] * (free // 4)
    assert state(make, "tents", "4x4de#5", *steps, "SELECT")[0]["grid"][free] == 2
    assert state(make, "tents", "4x4de#5", *steps, "SELECT2")[0]["grid"][free] == 3
    assert state(make, "tents", "4x4de#5", *steps)[0]["cursor_pos"].tolist() == [free % 4, free // 4]


def test_inertia_by_the_paper_s_names(make):
    seen, session = state(make, "inertia", "5x4#5")
    # The description has the letters of the grid; S is where the ball starts, on a stop.
    letters = "".join("bgmsw"[square] for square in seen["grid"])
    assert letters == session.desc.replace("S", "s")
    assert set(letters) == set("bgmsw")
    assert session.desc.index("S") == seen["py"] * 5 + seen["px"]
    assert seen["gems"] == letters.count("g")
    assert not seen["dead"]


def test_same_game_by_the_paper_s_names(make):
    seen, session = state(make, "samegame", "3x4c3s2#5")
    assert ",".join(map(str, seen["tiles"])) == session.desc
    assert (seen["score"].tolist(), seen["complete"], seen["w"], seen["h"]) == ([0], 0, 3, 4)
    assert (seen["n"], seen["ncols"], seen["scoresub"], seen["nselected"]) == (12, 3, 2, 0)
    group = state(make, "samegame", "3x4c3s2#5", "SELECT")[0]
    assert group["nselected"] == (group["selected_tiles"] == 256).sum() >= 2
    assert len(set(group["tiles"][group["selected_tiles"] == 256])) == 1


def test_fifteen_by_the_paper_s_names(make):
    seen, session = state(make, "fifteen", "3x2#5")
    assert ",".join(map(str, seen["tiles"])) == session.desc
    assert (seen["n"], seen["w"], seen["h"]) == (6, 3, 2)
    assert seen["tiles"][seen["gap_pos"]] == 0


def test_untangle_by_the_paper_s_names(make):
    seen, session = state(make, "untangle", "5#5")
    pairs = seen["edges"].reshape(-1, 2)
    assert seen["n"] == 5
    assert len(pairs) == 5 * 4 / 2
    assert [f"{a}-{b}" for a, b in pairs if a >= 0] == sorted(session.desc.split(","))
    assert (seen["pts"]["d"] == 64).all()
    assert seen["cursor_pos"].tolist() == [seen["pts"][axis][session.observe()["cursor_point"]] for axis in "xy"]
    held, session = state(make, "untangle", "5#5", "SELECT", "DOWN")
    assert held["cursor_pos"].tolist() == session.observe()["held_position"].tolist()
    whole = make("untangle", obs_type="puzzle_state", params="5#5").observation_space
    space = whole["pts"]
    assert space["x"] == space["y"]
    # The cursor is where a point may be.
    for side in ("low", "high"):
        assert set(getattr(whole["cursor_pos"], side)) == set(getattr(space["x"], side))
    at_the_edge, _ = state(make, "untangle", "5#5", "SELECT", *["LEFT"] * 12)
    assert at_the_edge["cursor_pos"][0] == 0


# ---- scripts of our own that do what the paper's four listings do; test_paper_listings.py runs those as they are printed


def test_the_first_listing_plays_an_episode():
    class Agent:
        @staticmethod
        def choose(env):
            return int(env.unwrapped.puzzle.plan()[0])

    agent = Agent()
    env = gym.make("rlp/Puzzle-v0", puzzle="bridges", render_mode="rgb_array", params="4x4#42")
    observation, info = env.reset()
    terminated = False
    while not terminated:
        action = agent.choose(env)
        observation, reward, terminated, truncated, info = env.step(action)
    assert reward == 100.0
    assert observation["pixels"].shape == (3, 128, 128)
    assert not truncated
    assert info["is_success"]
    env.close()


class RewardForScore(gym.Wrapper):
    """The second listing, with the reward for which it leaves room."""

    def step(self, action):
        before = self.env.unwrapped.state_dict["score"]
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward + info["puzzle_state"]["score"] - before, terminated, truncated, info


def test_the_second_listing_pays_by_the_state():
    env = RewardForScore(gym.make("rlp/SameGame-v0", params="4x4c3s2#3", obs_type="puzzle_state"))
    env.reset()
    random, paid = np.random.default_rng(0), 0
    terminated = False
    while not terminated and paid == 0:
        _, paid, terminated, _, info = env.step(random.integers(env.action_space.n))
    assert paid == info["puzzle_state"]["score"] > 0
    env.close()


class Tokens(gym.ObservationWrapper):
    """The third listing: bits of tiles and barriers with sines and cosines of their places, then the cursor."""

    length, size = 512, 16 + 4

    def __init__(self, env):
        super().__init__(env)
        tokens = gym.spaces.Box(-1, 1, (self.length, self.size), np.float32)
        self.observation_space = gym.spaces.Dict({"obs": tokens, "len": gym.spaces.Box(0, 512, (1,), np.int32)})

    def observation(self, obs):
        rows = []
        for name in ("barriers", "tiles"):
            bits = np.unpackbits(obs[name].view(np.uint8)).reshape(-1, 16)
            rows.append(np.hstack([bits, self.places(np.arange(len(bits)), obs["width"], obs["height"])]))
        cursor = self.cursor(obs["cursor_pos"], obs["width"], obs["height"])
        rows = np.vstack([*rows, np.hstack([np.ones((1, 16)), cursor])])
        tokens = np.zeros((self.length, self.size), np.float32)
        tokens[: len(rows)] = rows
        return {"obs": tokens, "len": np.array([len(rows)], np.int32)}

    @staticmethod
    def places(pos, width, height):
        turns = 2 * np.pi * np.array([pos % width / width, pos // width / height])
        return np.stack([np.sin(turns[0]), np.cos(turns[0]), np.sin(turns[1]), np.cos(turns[1])], axis=1)

    @staticmethod
    def cursor(pos, width, height):
        x, y = pos
        x += 1  # in place, as the listing has it: neither the state nor the next observation may change by it
        y += 1
        width += 1
        height += 1
        embedding = np.zeros((1, 4))
        embedding[0, 0] = np.sin(2 * np.pi * x / width)
        embedding[0, 1] = np.cos(2 * np.pi * x / width)
        embedding[0, 2] = np.sin(2 * np.pi * y / height)
        embedding[0, 3] = np.cos(2 * np.pi * y / height)
        return embedding


def tokens_env(params):
    return Tokens(gym.make("rlp/Puzzle-v0", puzzle="netslide", obs_type="puzzle_state", params=params))


def test_the_third_listing_makes_tokens():
    env = tokens_env("3x3b1#2")
    observation, _ = env.reset()
    assert observation["len"] == [2 * 9 + 1]
    assert observation in env.observation_space
    again, _ = env.reset()
    np.testing.assert_equal(again, observation)
    env.close()


def test_the_fourth_listing_learns_from_tokens():
    torch = pytest.importorskip("torch", reason="the extra sb3 is not installed")
    sb3 = pytest.importorskip("stable_baselines3", reason="the extra sb3 is not installed")
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

    class Extractor(BaseFeaturesExtractor):
        def __init__(self, observation_space, data_dim, embedding_dim):
            super().__init__(observation_space, embedding_dim)
            self.first = torch.nn.Linear(data_dim, embedding_dim)
            layer = torch.nn.TransformerEncoderLayer(embedding_dim, 2, 16, batch_first=True)
            self.encoder = torch.nn.TransformerEncoder(layer, 1)

        def forward(self, observations):
            length = int(observations["len"][0])
            return self.encoder(self.first(observations["obs"][:, :length]))[:, -1, :]

    about = {
        "features_extractor_class": Extractor,
        "features_extractor_kwargs": {"data_dim": Tokens.size, "embedding_dim": 8},
    }
    env = tokens_env("2x3b1")
    model = sb3.PPO("MultiInputPolicy", env, policy_kwargs=about, n_steps=32, batch_size=16, n_epochs=1, device="cpu")
    model.learn(32)
    assert model.num_timesteps == 32
    env.close()
    larger = tokens_env("3x3b1")
    action, _ = model.predict(larger.reset()[0])
    assert 0 <= action < larger.action_space.n
    larger.close()
