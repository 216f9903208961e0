"""The race of two players in OpenSpiel: its rules, what players see, and OpenSpiel's own algorithms on it."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest

import puzzleport as pp

pyspiel = pytest.importorskip("pyspiel", reason="the openspiel extra is not installed")

from puzzleport.adapters import openspiel, openspiel_race  # noqa: E402


def load(puzzle, **parameters):
    given = {"params": pp.spec(puzzle).easiest_params, **parameters}
    return pyspiel.load_game(openspiel_race.game_name(puzzle), given)


def play(game, *plans):
    """The race in which each player follows a plan; who has come to its end moves at random."""
    state, chooser = game.new_initial_state(), random.Random(1)
    plans = [list(plan) for plan in plans]
    while not state.is_terminal():
        plan = plans[state.current_player()]
        state.apply_action(plan.pop(0) if plan else chooser.choice(state.legal_actions()))
    return state


@pytest.mark.parametrize("options", [{}, {"instances": 3, "undo": True, "masked": False, "observation": "flat"}])
def test_openspiels_own_simulation_passes(puzzle, options):
    game = load(puzzle, max_steps=10, **options)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False, mask_test=True)


def test_the_type_is_what_alphazero_asks_for(puzzle):
    game, kind = load(puzzle), pyspiel.GameType
    about = game.get_type()
    assert (game.num_players(), game.utility_sum()) == (2, 0.0)
    assert (about.utility, about.reward_model) == (kind.Utility.ZERO_SUM, kind.RewardModel.TERMINAL)
    assert about.dynamics == kind.Dynamics.SEQUENTIAL
    assert (about.information == kind.Information.IMPERFECT_INFORMATION) == pp.spec(puzzle).hidden


@pytest.mark.parametrize("puzzle", ["fifteen", "net", "dominosa"])
def test_who_needs_fewer_steps_wins_whoever_moves_first(puzzle):
    game = load(puzzle, seed=3, max_steps=200)
    plan = game.root(0).plan()
    # One action more, which changes something and is taken back by starting the plan from there.
    detour = game.root(0).clone()
    first = next(action for action in np.flatnonzero(detour.mask()) if action != plan[0])
    detour.step(int(first))
    longer = [int(first), *detour.plan()]
    assert len(longer) > len(plan)
    assert play(game, plan, longer).returns() == [1.0, -1.0]
    assert play(game, longer, plan).returns() == [-1.0, 1.0]
    both = play(game, plan, plan)
    assert both.returns() == [0.0, 0.0]
    assert [both.session(player).status for player in range(2)] == [pp.Status.SOLVED] * 2


def test_a_race_that_nobody_finishes_is_a_draw():
    game = load("net", seed=3, max_steps=3)
    state = play(game, [], [])
    assert (state.returns(), state.move_number()) == ([0.0, 0.0], 6)
    assert game.max_game_length() == 6


def test_who_loses_the_puzzle_loses_the_race():
    seen = set()
    for seed in range(30):
        state = play(load("mines", seed=seed, max_steps=60), [], [])
        fates = tuple(int(state.session(player).status) for player in range(2))
        seen.add(fates)
        assert state.returns()[0] == np.sign(fates[0] - fates[1])
    assert {(0, -1), (-1, 0)} & seen  # or the test says nothing


def test_each_player_sees_the_own_board_first():
    game = load("flood", seed=1, max_steps=9)
    state = game.new_initial_state()
    state.apply_action(state.legal_actions()[-1])
    observer = game.make_py_observer()
    told = []
    for player in range(2):
        observer.set_from(state, player)
        told.append({name: part.copy() for name, part in observer.dict.items()})
        assert observer.tensor.tolist() == state.observation_tensor(player)
    names = [name.removeprefix("own_") for name in told[0] if name.startswith("own_")]
    assert names
    for name in names:
        for player in range(2):
            ours = state.session(player).observe()[name]
            assert np.array_equal(told[player][f"own_{name}"], ours.reshape(told[player][f"own_{name}"].shape))
            assert np.array_equal(told[player][f"own_{name}"], told[1 - player][f"other_{name}"])
    assert [one["turn"][0] for one in told] == [0.0, 1.0]
    assert state.observation_string(0) != state.observation_string(1)


def test_copies_are_apart():
    state = load("fifteen", seed=4, instances=3).new_initial_state()
    assert state.is_chance_node()
    assert str(state) == "an instance is to be drawn"
    state.apply_action(2)
    for player in range(2):
        assert f"player {player}, 0 steps:\n{openspiel.board(state.session(player))}" in str(state)
    assert state.session(0).seed == 6
    state.apply_action(state.legal_actions()[0])
    before = str(state)
    for twin in (state.clone(), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert str(twin) == before
        twin.apply_action(twin.legal_actions()[0])
        assert str(state) == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("puzzleport_race_net(solved=2.0)", "Unknown parameter"),
        ("puzzleport_race_net(params=zzz)", "no parameter string"),
        ("puzzleport_race_net(max_steps=0)", "max_steps is at least 1"),
        ("puzzleport_race_net(observation=text)", "text is no tensor"),
    ],
)
def test_wrong_parameters_are_ordinary_errors(text, words):
    with pytest.raises(pyspiel.SpielError, match=words):
        pyspiel.load_game(text)
    with pytest.raises(pyspiel.SpielError, match="no option 'colour'"):
        openspiel_race.GAMES["net"]({"colour": 3})


def test_search_beats_chance():
    game = load("fifteen", seed=0, instances=8, max_steps=12)
    chooser, won = random.Random(0), 0.0
    for race in range(8):
        state, bot, searcher = game.new_initial_state(), openspiel.mcts_bot(game, 40, seed=race), race % 2
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(race)
            elif state.current_player() == searcher:
                state.apply_action(bot.step(state))
            else:
                state.apply_action(chooser.choice(state.legal_actions()))
        won += state.returns()[searcher]
    assert won >= 4


SCRIPT = """
import runpy, sys
from pathlib import Path
import open_spiel.python.algorithms
import puzzleport.adapters.openspiel_race
if __name__ == "__main__":
    folder = Path(open_spiel.python.algorithms.__path__[0]).parent / "examples"
    sys.argv[0] = str(folder / "alpha_zero.py")
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.whole
def test_openspiels_alphazero_trains_on_a_race(tmp_path):
    """OpenSpiel's own script, with our games registered before it: an actor, a learner and an evaluator in processes."""
    pytest.importorskip("flax", reason="the extra jax is not installed")
    (tmp_path / "script.py").write_text(SCRIPT)
    game = "puzzleport_race_fifteen(params=2x2,seed=0,instances=8,max_steps=12)"
    words = ["--nn_model", "mlp", "--nn_width", "32", "--actors", "1", "--evaluators", "1", "--eval_levels", "1"]
    words += ["--max_simulations", "10", "--max_steps", "2", "--replay_buffer_size", "512", "--train_batch_size", "64"]
    command = [sys.executable, tmp_path / "script.py", "--game", game, *words, "--path", tmp_path / "run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "learner exiting" in done.stdout
    assert (tmp_path / "run" / "learner.jsonl").stat().st_size


def test_with_perfect_recall_the_actions_of_both_are_seen():
    game = load("solo", max_steps=6)  # which nobody solves by chance, whatever instance it is
    observer = game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=True))
    state, chooser = game.new_initial_state(), random.Random(3)
    while not state.is_terminal() and state.move_number() < 5:
        state.apply_action(chooser.choice(state.legal_actions()))
        observer.set_from(state, 0)
        taken = [item.action for item in state.full_history() if item.player >= 0]
        assert observer.dict["history"][: len(taken)].tolist() == [action + 1 for action in taken]
        assert not observer.dict["history"][len(taken) :].any()
    assert state.move_number() == 5


@pytest.mark.parametrize("recall", [False, True])
def test_a_text_tells_the_actions_of_both_where_they_are_recalled_and_only_there(recall):
    game = load("solo", max_steps=6, instances=3)
    observer = game.make_py_observer(pyspiel.IIGObservationType(perfect_recall=recall))
    state, chooser = game.new_initial_state(), random.Random(3)
    state.apply_action(1)  # that of chance is no player's
    taken = []
    for _ in range(5):
        action = chooser.choice(state.legal_actions())
        taken.append(state.action_to_string(state.current_player(), action))
        state.apply_action(action)
        for player in range(2):
            before = " ".join(taken) + "\n" if recall else ""
            assert observer.string_from(state, player) == f"{before}player {player}: {state}"
