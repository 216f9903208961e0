from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.agents import search
from puzzleport.cli import main

pyspiel = pytest.importorskip("pyspiel", reason="the openspiel extra is not installed")

import puzzleport.adapters.openspiel as openspiel  # noqa: E402
import puzzleport.adapters.openspiel_race as openspiel_race  # noqa: E402
from tests.conftest import levels  # noqa: E402

PLAYTHROUGHS = Path(__file__).parent / "playthroughs"
GOLDEN = {
    "fifteen": "puzzleport_fifteen(params=2x2,seed=3,max_steps=12)",
    "mines": "puzzleport_mines(params=4x4n2,seed=1,max_steps=12,undo=True)",
    "flood": "puzzleport_flood(params=3x3c6m5,seed=0,instances=4,max_steps=15)",
    "singles": "puzzleport_singles(params=2x3de,seed=0,max_steps=10,solution=1.0)",
}


def load(puzzle, **parameters):
    return pyspiel.load_game(openspiel.game_name(puzzle), parameters)


def easiest(puzzle, **parameters):
    return load(puzzle, params=pp.spec(puzzle).easiest_params, **parameters)


def portrait(state):
    """All that a state tells of itself."""
    shown = (state.history(), state.move_number(), state.is_terminal(), state.current_player(), str(state))
    if state.is_chance_node():
        return shown
    session = state.session
    counters = (session.steps, session.moves, session.repeats, session.status)
    worth = (state.returns(), state.rewards())
    return (*shown, state.legal_actions(), state.observation_tensor(0), session.hash(), counters, worth)


# ---- the rules of OpenSpiel


@pytest.mark.parametrize("options", [{}, {"instances": 3, "undo": True, "masked": False}])
def test_openspiels_own_simulation_passes(puzzle, options):
    pyspiel.random_sim_test(
        easiest(puzzle, max_steps=16, **options), num_sims=1, serialize=True, verbose=False, mask_test=True
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"instances": 2, "undo": True}, {"step": -0.25, "no_effect": -0.5, "masked": False, "observation": "flat"}],
)
def test_clones_undo_and_serialized_states_agree(puzzle, options):
    chooser = random.Random(7)
    game = easiest(puzzle, max_steps=12, **options)
    state = game.new_initial_state()
    trace = [portrait(state)]
    while not state.is_terminal():
        before = portrait(state)
        twin = state.clone()
        action = chooser.choice(state.legal_actions())
        state.apply_action(action)
        assert portrait(twin) == before
        twin.apply_action(action)
        assert portrait(twin) == portrait(state)
        for copied in (
            game.deserialize_state(state.serialize()),
            pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))[1],
        ):
            assert portrait(copied) == portrait(state)
        trace.append(portrait(state))
    for player, action in [(item.player, item.action) for item in reversed(state.full_history())]:
        assert portrait(state) == trace.pop()
        state.undo_action(player, action)
    assert portrait(state) == trace.pop()
    # An undone state goes on as if nothing had been.
    action = state.legal_actions()[0]
    fresh = game.new_initial_state()
    for one in (state, fresh):
        one.apply_action(action)
    assert portrait(state) == portrait(fresh) == portrait(state.clone()) == portrait(copy.deepcopy(state))


def test_only_the_last_action_can_be_undone():
    state = easiest("net").new_initial_state()
    with pytest.raises(pyspiel.SpielError):
        state.undo_action(0, 0)
    state.apply_action(0)
    with pytest.raises(pyspiel.SpielError):
        state.undo_action(0, 1)


def test_the_type_is_true(puzzle):
    kind, about = pyspiel.GameType, pp.spec(puzzle)
    fixed, drawn = easiest(puzzle), easiest(puzzle, instances=5, seed=3)
    assert fixed.get_type().chance_mode == kind.ChanceMode.DETERMINISTIC
    assert drawn.get_type().chance_mode == kind.ChanceMode.EXPLICIT_STOCHASTIC
    hidden = fixed.get_type().information == kind.Information.IMPERFECT_INFORMATION
    assert hidden == (puzzle in {"mines", "blackbox", "guess"}) == about.hidden
    assert fixed.get_type().reward_model == kind.RewardModel.TERMINAL
    assert (fixed.num_players(), fixed.num_distinct_actions()) == (1, about.n_actions(undo=False))
    assert easiest(puzzle, undo=True).num_distinct_actions() == len(about.actions)
    assert (drawn.max_chance_outcomes(), drawn.max_chance_nodes_in_history()) == (5, 1)
    state = drawn.new_initial_state()
    assert state.is_chance_node()
    assert state.chance_outcomes() == [(i, 0.2) for i in range(5)]
    assert state.action_to_string(state.current_player(), 4) == "seed 7"
    state.apply_action(4)
    assert state.session.game_id == pp.Session(puzzle, about.easiest_params, seed=7).game_id


def test_one_name_for_all():
    game = pyspiel.load_game("puzzleport(puzzle=bridges,params=3x3,seed=42)")
    assert str(game) == str(pyspiel.load_game("puzzleport_bridges(params=3x3,seed=42)"))
    game = pyspiel.load_game("puzzleport(puzzle=untangle,params='4',seed=1)")
    assert str(game) == str(pyspiel.load_game("puzzleport_untangle(params='4',seed=1)"))
    assert str(game.new_initial_state())


def test_legal_actions_are_the_mask_or_all():
    state = load("bridges", params="3x3", seed=42).new_initial_state()
    names = [state.action_to_string(0, action) for action in state.legal_actions()]
    session = pp.Session("bridges", "3x3", seed=42, undo=False)
    assert names == [name for name, legal in zip(session.actions, session.mask(), strict=True) if legal]
    assert state.string_to_action("DOWN") == 1
    state = load("bridges", params="3x3", masked=False).new_initial_state()
    assert state.legal_actions() == list(range(5))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("puzzleport_bridges(params=zzz)", "no parameter string"),
        ("puzzleport_bridges(params=1x1)", "Width and height must be at least 3"),
        ("puzzleport(puzzle=sodoku)", "no puzzle 'sodoku'"),
        ("puzzleport_net(rewards=shaped)", "rewards=shaped is solution=1.0 now"),
        ("puzzleport_net(rewards=terminal)", "rewards are numbers now: solved, failed, step"),
        ("puzzleport_net(allow_undo=True)", "'allow_undo', which is called undo now"),
        ("puzzleport(puzzle=net,allow_undo=True)", "'allow_undo', which is called undo now"),
        ("puzzleport_net(observation=text)", "text is no tensor; observation_string"),
        ("puzzleport_net(observation=smell)", "no kind of observation 'smell'; there are both, flat"),
        ("puzzleport_fifteen(observation=graph)", "fifteen is no graph"),
        ("puzzleport_net(observation=pixels,width=9)", "needs at least"),
        ("puzzleport_net(seed=-2)", "a seed is a whole number"),
        ("puzzleport_net(instances=-1)", "instances"),
        ("puzzleport_net(params=2x2#7,instances=2)", "2x2#7 is one instance"),
        ("puzzleport_net(params=2x2#x)", "behind the #"),
        ("puzzleport_twiddle(solution=1.0,params=zzz)", "no parameter string"),
        ("puzzleport_fifteen(errors=1.0)", "shows no errors"),
        ("puzzleport_untangle(params=4)", "params. Expected type: kString"),
        ("puzzleport_net(max_steps=0)", "max_steps"),
        ("puzzleport_net(colour=3)", "Unknown parameter"),
    ],
)
def test_wrong_parameters_are_ordinary_errors(text, words):
    with pytest.raises(pyspiel.SpielError, match=words):
        pyspiel.load_game(text)
    assert load("net", params="2x2").new_initial_state().legal_actions()


@pytest.mark.parametrize("kind", [openspiel.PuzzleGame, openspiel_race.RaceGame])
def test_a_game_that_could_not_be_made_can_be_shown(kind):
    """As debuggers and tracebacks with local variables do."""
    game = next(iter(kind.__subclasses__()))
    unmade = game.__new__(game)
    with pytest.raises(pyspiel.SpielError):
        unmade.__init__({"params": "99x"})
    assert repr(unmade) == str(unmade) == f"<a {game.__name__} that could not be made>"


def test_a_constructor_of_its_own_checks_as_loading_does():
    for params, words in (
        ({"undo": 3, "colour": 1}, "no option 'colour'"),
        ({"params": 4}, "write params='4' for 4"),
        ({"solved": "much"}, "solved is a number"),
        ({"step": float("nan")}, "step is a finite number"),
    ):
        with pytest.raises(pyspiel.SpielError, match=words):
            openspiel.GAMES["untangle"](params)


# ---- which game


def test_a_game_id_is_one_instance_in_text_and_dict(puzzle):
    about = pp.spec(puzzle)
    seed = 2**63 + 5
    session = pp.Session(puzzle, about.easiest_params, seed=seed)
    for game_id in (f"{about.easiest_params}#{seed}", f"{session.params}:{session.desc}"):
        names = openspiel.game_name(puzzle), openspiel.PREFIX
        games = [
            pyspiel.load_game(names[0], {"params": game_id}),
            pyspiel.load_game(names[1], {"params": game_id, "puzzle": puzzle}),
            pyspiel.load_game(f"{names[0]}(params={openspiel.as_parameter(game_id)},max_steps=10000)"),
            pyspiel.load_game(f"{names[1]}(puzzle={puzzle},params={openspiel.as_parameter(game_id)})"),
        ]
        assert len({str(game) for game in games}) == 1
        state = games[0].new_initial_state()
        again = pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(games[0], state))
        games += [pyspiel.load_game(str(games[0])), pickle.loads(pickle.dumps(games[0])), again[0]]
        for game in games:
            assert game.new_initial_state().session.instance_hash == session.instance_hash
            assert game.get_parameters() == games[0].get_parameters()


def test_a_seed_that_is_drawn_is_in_the_text_of_the_game():
    drawn = [load("solo") for _ in range(3)]
    assert len({game.seed for game in drawn}) > 1  # they are 31 bits: three equal ones are no chance
    for game in drawn:
        assert game.get_parameters()["seed"] == game.seed >= 0
        twin = pyspiel.load_game(str(game))
        assert twin.new_initial_state().session.game_id == game.new_initial_state().session.game_id
    assert drawn[0].new_initial_state().session.seed == drawn[0].seed


def test_numbers_keep_their_value_in_the_text_of_a_game():
    game = load("net", params="2x2", step=-1 / 3, no_effect=1e-7, solved=123456789.123)
    assert pyspiel.load_game(str(game)).task == game.task


def test_the_defaults_are_those_of_a_task():
    game = pyspiel.load_game("puzzleport_net(seed=5)")
    assert game.task == pp.Task("net", seed=5)
    assert game.max_game_length() == pp.Task("net").max_steps


# ---- what is paid


def play_beside_a_model(puzzle, params, seed, rewards, steps=60, **options):
    """Play at random; every step is paid by the obvious sum over what it changed. Returns how the game stands at the end."""
    numbers = {name: float(getattr(rewards, name)) for name in openspiel._REWARDS}
    game = load(puzzle, params=params, seed=seed, max_steps=steps, masked=False, **numbers, **options)
    session = pp.Session(puzzle, params, seed, max_steps=steps)
    start, wanted = session.observe(), session.solution() if rewards.solution else {}
    board = [field.name for field in session.fields if not field.is_ui]
    compared = [name for name in board if wanted and not np.array_equal(start[name], wanted[name])]
    way = sum(int((start[name] != wanted[name]).sum()) for name in compared)

    def left():
        if session.status == pp.Status.SOLVED:
            return 0.0
        return sum(int((session.observe()[name] != wanted[name]).sum()) for name in compared) / max(way, 1)

    def errors():
        return sum(int((session.observe()[name] != 0).sum()) for name in board if "errors" in name.split("_"))

    chooser, state, total = random.Random(seed), game.new_initial_state(), 0.0
    assert (state.returns(), state.rewards()) == ([0.0], [0.0])
    while not state.is_terminal():
        before_left, before_errors = left(), errors()
        action = chooser.randrange(game.num_distinct_actions())
        changed = session.step(action).changed
        reward = rewards.step + (0 if changed else rewards.no_effect)
        reward += rewards.solution * (before_left - left()) + rewards.errors * (errors() - before_errors)
        reward += {1: rewards.solved, -1: rewards.failed, 0: 0}[int(session.status)]
        total += reward
        twin = state.clone()
        state.apply_action(action)
        for one in (state, state.clone()):
            assert one.rewards() == pytest.approx([reward])
            assert one.returns() == pytest.approx([total])
        twin.apply_action(action)
        assert (twin.rewards(), twin.returns()) == (state.rewards(), state.returns())
        assert game.min_utility() - 1e-9 <= total <= game.max_utility() + 1e-9
    assert session.ended
    return session.status


MIXED = {"solved": 5.0, "failed": -3.0, "step": -0.125, "no_effect": -0.5}


@pytest.mark.parametrize(
    ("puzzle", "params", "rewards", "statuses"),
    [
        ("flood", "3x3c6m5", pp.Rewards(solution=1.0), {1}),
        ("flood", "3x3c6m0", pp.Rewards(solution=1.0), {-1}),
        ("inertia", "4x4", pp.Rewards(solution=1.0), {-1}),
        ("flood", "3x3c6m0", pp.Rewards(**MIXED, solution=2.0), {-1}),
        ("fifteen", "2x2", pp.Rewards(**MIXED, solution=-2.0), {1}),
        ("inertia", "4x4", pp.Rewards(solved=0.0, step=0.5), {-1}),
        ("inertia", "4x4", pp.Rewards(**MIXED), {-1}),
        ("singles", "2x3de", pp.Rewards(**MIXED, errors=-0.25, solution=1.0), {0}),
        ("singles", "2x3de", pp.Rewards(errors=0.25), {0}),
    ],
)
def test_every_step_is_paid_also_a_lost_one(puzzle, params, rewards, statuses):
    ends = {int(play_beside_a_model(puzzle, params, seed, rewards)) for seed in range(12)}
    assert statuses <= ends


def test_the_way_to_the_solution_pays_its_whole_sum():
    game = load("net", params="3x3", seed=1, solution=1.0)
    assert game.get_type().reward_model == pyspiel.GameType.RewardModel.REWARDS
    state = game.new_initial_state()
    rewards = []
    for action in state.session.plan():
        state.apply_action(action)
        rewards.append(state.rewards()[0])
    assert state.is_terminal()
    assert sum(0 < reward < 1 for reward in rewards) > 2
    assert state.returns()[0] == pytest.approx(sum(rewards)) == pytest.approx(2.0) == pytest.approx(game.max_utility())


def test_clones_learn_each_its_own_solution():
    """Mines lays its mines at the first opening: where a clone opens must not decide what the others are paid for."""
    game = load("mines", params="4x4n2", seed=1, solution=1.0, max_steps=40)
    chooser, root = random.Random(1), game.new_initial_state()
    root.apply_action(root.legal_actions()[0])
    for _ in range(8):
        clone, fresh = root.clone(), game.new_initial_state()
        fresh.apply_action(root.history()[0])
        while not clone.is_terminal():
            action = chooser.choice(clone.legal_actions())
            clone.apply_action(action)
            fresh.apply_action(action)
            assert (clone.rewards(), clone.returns()) == (fresh.rewards(), fresh.returns())


def test_bounds_of_what_a_game_pays():
    plain = load("net", params="2x2")
    assert (plain.min_utility(), plain.max_utility()) == (-1.0, 1.0)
    assert plain.get_type().reward_model == pyspiel.GameType.RewardModel.TERMINAL
    paid = load("net", params="2x2", max_steps=8, step=-0.5, no_effect=-0.25, solved=10.0)
    assert (paid.min_utility(), paid.max_utility()) == (-7.0, 10.0)
    assert paid.get_type().reward_model == pyspiel.GameType.RewardModel.REWARDS


# ---- observers


@pytest.mark.parametrize("race", [False, True])
def test_nothing_is_private_and_nothing_is_seen_before_the_instance_is_drawn(race):
    if race:
        from puzzleport.adapters import openspiel_race

        game = pyspiel.load_game(openspiel_race.game_name("net"), {"params": "2x2", "instances": 3})
    else:
        game = easiest("net", instances=3)
    state = game.new_initial_state()
    private = game.make_py_observer(
        pyspiel.IIGObservationType(public_info=False, perfect_recall=False, private_info=pyspiel.PrivateInfoType.NONE)
    )
    with pytest.raises(pyspiel.SpielError, match="the instance is not drawn yet"):
        state.session(0) if race else state.session
    seen = game.make_py_observer()
    seen.set_from(state, 0)
    assert not seen.tensor.any()
    state.apply_action(1)
    private.set_from(state, 0)
    assert (private.tensor, private.dict, private.string_from(state, 0)) == (None, {}, "")
    seen.set_from(state, 0)
    assert seen.tensor.any()
    with pytest.raises(ValueError, match=r"takes no parameters, but was given \{'wide': 1\}"):
        game.make_py_observer(None, {"wide": 1})
    with pytest.raises(pyspiel.SpielError, match="a puzzle starts from its seed"):
        game.new_initial_state("R1C1")


def test_the_observer_fills_one_tensor_in_place():
    from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

    game = easiest("net", max_steps=9)
    state, observation = game.new_initial_state(), make_observation(game)
    kept = observation.tensor
    observation.set_from(state, 0)
    first = kept.copy()
    state.apply_action(state.legal_actions()[0])
    observation.set_from(state, 0)
    assert observation.tensor is kept
    assert not np.array_equal(kept, first)
    assert all(np.shares_memory(view, kept) for view in observation.dict.values())
    assert kept.tolist() == state.observation_tensor()
    assert game.observation_tensor_size() == kept.size
    recall = make_observation(game, INFO_STATE_OBS_TYPE)
    recall.set_from(state, 0)
    assert recall.dict["history"].tolist() == [state.history()[0] + 1] + [0] * 8
    assert recall.tensor.tolist() == state.information_state_tensor()
    assert state.information_state_string().startswith(state.action_to_string(0, state.history()[0]))
    assert observation.string_from(state, 0) == str(state) == state.observation_string()


@pytest.mark.parametrize("kind", sorted(pp.encode.KINDS.keys() - {"text"}))
def test_the_tensor_holds_what_the_encoder_gives(kind):
    task = pp.Task("net", "3x3", seed=2, observation=kind, width=64, height=48)
    game = load("net", params="3x3", seed=2, observation=kind, width=64, height=48)
    session, state = task.session(), game.new_initial_state()
    look = task.encoder.attach(session)
    chooser = random.Random(1)
    for _ in range(12):
        seen = look()
        arrays = seen.values() if isinstance(seen, dict) else [seen]
        wanted = np.concatenate([array.ravel() for array in arrays], dtype=np.float32)
        for one in (state, state.clone()):
            assert one.observation_tensor() == wanted.tolist()
        action = chooser.choice(state.legal_actions())
        session.step(action)
        state.apply_action(action)
    leaves = list(pp.encode.leaves(task.encoder.tree))
    observer = game.make_py_observer()
    observer.set_from(state, 0)
    assert {name: part.shape for name, part in observer.dict.items()} == {leaf.name: leaf.shape for leaf in leaves}
    assert observer.tensor.dtype == np.float32
    for leaf in leaves:
        assert observer.dict[leaf.name].min() >= leaf.low
        assert observer.dict[leaf.name].max() <= leaf.high


def test_strings_differ_where_tensors_differ(puzzle):
    for params in levels(puzzle):
        tensors = {}
        for seed in (0, 0, 0, 0, 1, 2, 3, 4):
            game = load(puzzle, params=params, seed=seed, undo=True, max_steps=150)
            state, chooser = game.new_initial_state(), random.Random(len(tensors))
            observer = game.make_py_observer()
            while not state.is_terminal():
                observer.set_from(state, 0)
                tensor = observer.tensor.tobytes()
                assert tensors.setdefault(state.observation_string(0), tensor) == tensor
                state.apply_action(chooser.choice(state.legal_actions()))


def test_marks_that_the_board_does_not_draw_are_in_the_string():
    state = load("bridges", params="3x3", seed=42).new_initial_state()
    assert state.session.observe()["islands"][0, 0]
    board, text = str(state), state.session.text()
    for key in ("SELECT", "SELECT"):
        state.apply_action(state.string_to_action(key))
    assert state.session.observe()["marked"].any()
    assert state.session.text() == text
    assert str(state) == state.observation_string() != board


def test_given_digits_and_own_ones_have_other_strings():
    by_solution = {}
    for seed in range(40):
        state = load("filling", params="2x3", seed=seed).new_initial_state()
        given = state.session.observe()["fixed"].tobytes()
        by_solution.setdefault(state.session.solution()["digits"].tobytes(), {})[given] = state
    states = max(by_solution.values(), key=len).values()
    assert len(states) > 1
    for state in states:
        for action in state.session.plan():
            state.apply_action(action)
        while state.session.observe()["cursor_x"] or state.session.observe()["cursor_y"]:
            moved = "LEFT" if state.session.observe()["cursor_x"] else "UP"
            state.session.step(moved)
    assert len({state.session.text() for state in states}) < len({str(state) for state in states}) == len(states)


def test_what_the_player_cannot_know_is_in_no_string():
    one, other = (load("blackbox", params="w2h2m1M1", seed=seed).new_initial_state() for seed in (1, 3))
    assert one.session.desc != other.session.desc
    assert one.observation_tensor() == other.observation_tensor()
    assert one.information_state_string() == other.information_state_string()


# ---- copies across processes


def _legal(state):
    return state.legal_actions(), state.session.hash()


def test_games_and_states_travel_to_spawned_workers():
    game = easiest("samegame", seed=5)
    twin = pickle.loads(pickle.dumps(game))
    assert (twin.params, twin.seed, str(twin)) == (game.params, game.seed, str(game))
    assert copy.deepcopy(game).params == game.params
    state = game.new_initial_state()
    state.apply_action(state.legal_actions()[0])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_legal, (state,)) == _legal(state)


def test_a_process_that_played_ends_in_peace():
    code = (
        "import pyspiel, puzzleport.adapters.openspiel as o\n"
        "g = pyspiel.load_game('puzzleport_net(params=2x2)')\n"
        "print(o.mcts_bot(g, 20).step(g.new_initial_state()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# ---- what runs on it


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_playthrough(name):
    from open_spiel.python.algorithms.generate_playthrough import playthrough

    text = "\n".join(line.rstrip() for line in playthrough(GOLDEN[name], None, seed=11).splitlines()) + "\n"
    path = PLAYTHROUGHS / f"{name}.txt"
    if os.environ.get("PUZZLEPORT_WRITE_PLAYTHROUGHS"):
        path.write_text(text)
    assert text == path.read_text()


def test_the_bots_can_be_swapped():
    game = load("fifteen", params="2x2", seed=3, max_steps=40)
    for bot in (openspiel.mcts_bot(game, 300), openspiel.search_bot(300), search.MCTS(300)):
        bot.restart()
        state = game.new_initial_state()
        while not state.is_terminal():
            policy, action = bot.step_with_policy(state)
            assert dict(policy)[action] == 1.0
            state.apply_action(action)
        assert state.returns() == [1.0]
    bots = [openspiel.search_bot(300)]
    assert pyspiel.evaluate_bots(game.new_initial_state(), bots, 1) == [1.0]


@pytest.mark.parametrize("max_steps", [4, 8, 40])
def test_a_benchmark_counts_the_games_that_a_bot_solves(max_steps):
    from puzzleport.adapters.openspiel_bench import solve

    class Expert:
        def step(self, state):
            return state.session.plan()[0]

    lengths = [len(pp.Session("fifteen", "2x2", seed).plan()) for seed in range(6)]
    solved, seconds = solve("fifteen", "2x2", 6, max_steps, lambda _: Expert())
    assert solved == sum(length <= max_steps for length in lengths)
    assert seconds >= 0


def test_a_benchmark_has_the_rates_of_both_searches():
    rows = json.loads(CliRunner().invoke(main, ["bench", "rates", "--seconds", "0.0001", "--json"]).stdout)
    assert [row["by"] for row in rows] == ["MCTSBot, C++"] * 2 + ["native"] * 3
    assert all(row["one"] > 0 for row in rows)
    assert [row["both"] > 0 for row in rows] == [False] * 2 + [True] * 3


def test_python_mcts_runs():
    from open_spiel.python.algorithms import mcts

    game = load("fifteen", params="2x2", seed=3, max_steps=30)
    evaluator = mcts.RandomRolloutEvaluator(1, np.random.RandomState(1))
    bot = mcts.MCTSBot(game, 1.4, 200, evaluator, random_state=np.random.RandomState(1))
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(bot.step(state))
    assert state.returns() == [1.0]


def train(env, agent, episodes):
    for _ in range(episodes):
        step = env.reset()
        while not step.last():
            step = env.step([agent.step(step).action])
        agent.step(step)
    return step.rewards[0]


def test_tabular_q_learning_learns():
    from open_spiel.python import rl_environment
    from open_spiel.python.algorithms.tabular_qlearner import QLearner

    np.random.seed(1)
    env = rl_environment.Environment(load("fifteen", params="2x2", seed=3, max_steps=60), discount=0.9)
    agent = QLearner(0, env.action_spec()["num_actions"], discount_factor=0.9)
    train(env, agent, 60)
    step, steps = env.reset(), 0
    while not step.last():
        step, steps = env.step([agent.step(step, is_evaluation=True).action]), steps + 1
    shortest = len(search.bfs(pp.Session("fifteen", "2x2", seed=3, undo=False)).actions)
    assert (step.rewards, steps) == ([1.0], shortest)


def test_dqn_runs():
    pytest.importorskip("torch", reason="OpenSpiel's DQN is written in PyTorch")
    from open_spiel.python import rl_environment
    from open_spiel.python.pytorch.dqn import DQN

    env = rl_environment.Environment(load("flood", params="3x3c6m5", instances=4, max_steps=20))
    agent = DQN(
        player_id=0,
        state_representation_size=env.observation_spec()["info_state"][0],
        num_actions=env.action_spec()["num_actions"],
        hidden_layers_sizes=[16],
        batch_size=8,
        min_buffer_size_to_learn=8,
    )
    train(env, agent, 3)
    assert agent.loss is not None


@pytest.mark.slow
@pytest.mark.parametrize(("name", "params"), [("fifteen", "2x2"), ("singles", "2x3de"), ("samegame", "2x3c3s2")])
def test_openspiels_mcts_solves(name, params):
    solved = 0
    for seed in range(4):
        game = load(name, params=params, seed=seed, max_steps=40)
        state, bot = game.new_initial_state(), openspiel.mcts_bot(game, 1000)
        while not state.is_terminal():
            state.apply_action(bot.step(state))
        solved += state.returns() == [1.0]
    assert solved == 4


def test_a_state_knows_that_nothing_was_done_and_the_bot_starts_anew():
    game = pyspiel.load_game("puzzleport_fifteen(params=2x2,seed=42)")
    state, bot = game.new_initial_state(), openspiel.search_bot(50)
    assert state.is_initial_state()
    policy, action = bot.step_with_policy(state)
    assert bot.provides_policy()
    bot.restart()
    assert bot.get_policy(state) == policy == [(a, float(a == action)) for a in state.legal_actions()]
    state.apply_action(action)
    assert not state.is_initial_state()
    assert state.move_number() == 1
    bot.restart_at(state)
    assert bot.step(state) in state.legal_actions()
