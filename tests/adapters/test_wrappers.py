from __future__ import annotations

import doctest
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import puzzleport as pp
from puzzleport.adapters import gymnasium_wrappers as wrappers
from puzzleport.adapters.gymnasium import PuzzleEnv

from ..conftest import PUZZLES

SOLVABLE = [name for name in PUZZLES if pp.spec(name).can_solve]
MARKING = [
    name
    for name in PUZZLES
    if any("errors" in field.name.split("_") for field in pp.spec(name).fields(pp.spec(name).easiest_params))
]
GRAPHS = ["bridges", "loopy", "map", "net", "untangle"]


def make(puzzle: str, params: str | None = None, **options) -> PuzzleEnv:
    return PuzzleEnv(puzzle, params or pp.spec(puzzle).easiest_params, **options)


def test_the_docstrings_examples():
    results = doctest.testmod(wrappers)
    assert results.attempted > 20
    assert not results.failed


def check(env: gym.Env) -> None:
    """Gymnasium's own checker, with no warning but that there is a wrapper."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*different from the unwrapped version")
        check_env(env, skip_render_check=True)


def plays(env: gym.Env, episodes: int = 3, steps: int = 60):
    """Random episodes; yields the reward of each step, and the session before and after it."""
    random = np.random.default_rng(0)
    for seed in range(episodes):
        env.reset(seed=seed)
        over, count = env.unwrapped.session.terminated, 0
        while not over and count < steps:
            action = int(random.integers(env.action_space.n))
            before = env.unwrapped.session.clone()
            _, reward, terminated, truncated, _ = env.step(action)
            yield reward, before, action, env.unwrapped.session, terminated
            over, count = terminated or truncated, count + 1


# ---- rewards


@pytest.mark.parametrize("puzzle", SOLVABLE)
def test_the_solution_is_worth_the_whole_pay(puzzle):
    env = wrappers.SolutionReward(make(puzzle))
    env.reset(seed=3)
    if puzzle == "mines":
        env.step("SELECT")
    before = env.potential()
    assert before is not None
    assert before < 1.0 or env.session.terminated
    env.session.solve()
    assert env.potential() == 1.0
    env.close()


@pytest.mark.parametrize("puzzle", ["bridges", "fifteen", "mines", "net", "solo"])
def test_what_is_paid_is_what_comes_right(puzzle):
    env = wrappers.SolutionReward(make(puzzle, rewards=pp.Rewards(solved=0, failed=0)), scale=2.0)
    known = None
    for reward, before, _, _, _ in plays(env):
        if before.steps == 0:
            known = None if puzzle == "mines" else before
        if known is None:  # Mines has no solution before the first square is opened
            assert reward == 0.0
            known = env.session if env.session.observe()["laid"] else None
        else:
            fields = env._solution
            share = [
                np.concatenate([(now[name] == fields[name]).ravel() for name in fields]).mean()
                for now in (before.observe(), env.session.observe())
            ]
            assert reward == pytest.approx(2.0 * (share[1] - share[0]))
    env.close()


def test_chosen_fields_count_alone():
    env = wrappers.SolutionReward(make("singles"), fields=["black"])
    env.reset(seed=1)
    assert env.potential() == 1 - env.session.solution()["black"].mean()
    env.close()
    with pytest.raises(ValueError, match=r"singles has no fields \['grey'\]"):
        wrappers.SolutionReward(make("singles"), fields=["grey"])
    with pytest.raises(pp.NoSolution, match="Pegs has no solver"):
        wrappers.SolutionReward(make("pegs"))


@pytest.mark.parametrize("puzzle", MARKING)
def test_errors_cost_what_they_pay_back(puzzle):
    env = wrappers.ErrorReward(make(puzzle, rewards=pp.Rewards(solved=0, failed=0)), scale=0.5)
    fields = pp.spec(puzzle).fields(env.unwrapped.params)
    names = [field.name for field in fields if "errors" in field.name.split("_")]
    for reward, before, _, after, _ in plays(env):
        counts = [sum(np.count_nonzero(s.observe()[name]) for name in names) for s in (before, after)]
        assert reward == 0.5 * (counts[0] - counts[1])
    env.close()


def test_some_play_makes_errors():
    env = wrappers.ErrorReward(make("unequal"))
    assert any(reward < 0 for reward, *_ in plays(env))
    env.close()


def test_an_action_without_effect_costs():
    env = wrappers.NoOpPenalty(make("fifteen", rewards=pp.Rewards(solved=0)), penalty=0.25)
    seen = set()
    for reward, before, action, _, _ in plays(env):
        assert reward == (0.0 if before.mask()[action] else -0.25)
        seen.add(reward)
    assert seen == {0.0, -0.25}
    env.close()
    with pytest.raises(gym.error.ResetNeeded):
        env.step(0)


# ---- tokens


def test_tokens_satisfy_gymnasiums_checker(puzzle):
    env = wrappers.TokenObservation(make(puzzle))
    check(env)
    env.close()


def test_tokens_tell_all_and_are_padded(puzzle):
    env = wrappers.TokenObservation(make(puzzle), max_length=600)
    seen: dict[bytes, bytes] = {}
    for *_, session, _ in plays(env):
        observation = env.observation(None)
        assert observation in env.observation_space
        assert not observation["tokens"][observation["length"][0] :].any()
        state = b"".join(values.tobytes() for values in session.observe().values())
        assert seen.setdefault(observation["tokens"].tobytes(), state) == state
    env.close()


def test_boards_of_all_sizes_share_a_space(puzzle):
    about = pp.spec(puzzle)
    largest = "3x3n2" if puzzle == "twiddle" else about.default_params  # Twiddle's default counts rows only
    small, large = wrappers.TokenEncoder(puzzle, about.easiest_params, largest), wrappers.TokenEncoder(puzzle, largest)
    assert small.space() == large.space()
    assert small.length <= large.length


def test_a_token_is_a_cell():
    encoder = wrappers.TokenEncoder("fifteen", "3x4")
    session = pp.Session("fifteen", "3x4", seed=1)
    tokens = encoder(session.observe())
    assert tokens.shape == (13, encoder.width)
    bits = tokens[:12, 6:10] @ [1, 2, 4, 8]  # after four features of position and two of kind
    assert np.array_equal(bits, session.observe()["tiles"].ravel())
    places = tokens[:12, :4].reshape(4, 3, 4)
    assert (places[:, :, 1] == places[0, :, 1]).all()  # the column's cosine
    assert (places[:, :, 3] == places[:, :1, 3]).all()  # the row's
    assert len({tuple(place) for place in tokens[:12, :4]}) == 12


def test_many_states_are_encoded_at_once(puzzle):
    params = pp.spec(puzzle).easiest_params
    encoder = wrappers.TokenEncoder(puzzle, params)
    batch = pp.Batch(puzzle, params, 3)
    states = batch.reset(seed=5).observation
    together = encoder(states)
    for slot in range(3):
        assert np.array_equal(together[slot], encoder({name: values[slot] for name, values in states.items()}))
    batch.close()


def test_boards_that_are_too_large_are_refused():
    with pytest.raises(pp.InvalidParams, match="larger under 4x4"):
        wrappers.TokenEncoder("netslide", "4x4", largest="3x3")
    with pytest.raises(pp.InvalidParams, match="different fields"):
        wrappers.TokenEncoder("twiddle", "3x3n2", largest="4x4n2o")
    with pytest.raises(ValueError, match="10 tokens, more than 5"):
        wrappers.TokenEncoder("netslide", "3x3", max_length=5)


# ---- graphs


@pytest.mark.parametrize("puzzle", GRAPHS)
def test_graphs_satisfy_gymnasiums_checker(puzzle):
    env = wrappers.GraphObservation(make(puzzle))
    check(env)
    env.close()


@pytest.mark.parametrize("params", ["easiest", "default"])
@pytest.mark.parametrize("puzzle", GRAPHS)
def test_graphs_stay_in_their_space(puzzle, params):
    env = wrappers.GraphObservation(make(puzzle, getattr(pp.spec(puzzle), f"{params}_params")))
    for _ in plays(env):
        graph = env.observation(None)
        assert graph in env.observation_space
        assert graph.edge_links.max() < len(graph.nodes)
    env.close()


def solved(puzzle: str, seed: int):
    """The graph of a solved game, and the degrees that edges with a weight give its nodes."""
    env = wrappers.GraphObservation(make(puzzle, pp.spec(puzzle).human_params))
    env.reset(seed=seed)
    env.unwrapped.session.solve()
    graph = env.observation(None)
    env.close()
    return graph


def degrees(graph, weights) -> np.ndarray:
    total = np.zeros(len(graph.nodes))
    np.add.at(total, graph.edge_links, np.repeat(weights[:, None], 2, axis=1))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_a_solved_graph_obeys_the_rules(seed):
    bridges = solved("bridges", seed)
    assert np.allclose(degrees(bridges, 2 * bridges.edges[:, 0]), 8 * bridges.nodes[:, 0])
    loopy = solved("loopy", seed)
    assert set(degrees(loopy, loopy.edges[:, 1])) <= {0, 2}
    assert loopy.edges[:, 1].any()
    coloured = solved("map", seed)
    assert not coloured.edges.any()
    assert (coloured.nodes[:, 1:5].sum(axis=1) == 1).all()
    net = solved("net", seed)
    assert np.array_equal(net.edges[:, 0], net.edges[:, 1])
    assert degrees(net, net.edges[:, 0]).all()
    assert not solved("untangle", seed).edges.any()


def test_other_puzzles_are_no_graphs():
    with pytest.raises(ValueError, match="solo is no graph; these are: bridges"):
        wrappers.GraphObservation(make("solo"))
