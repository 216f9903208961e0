"""Published agents: their files, how they play, and whether they do what their cards say."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.agents import network, published, sight
from puzzleport.agents.token_sight import token_sight
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.benchmark.evaluation_sets import evalset
from puzzleport.benchmark.learned import (
    RECIPES,
    Played,
    add_row,
    agree,
    agreement,
    first_sight,
    instances,
    interval,
    joined,
    measure,
    play_agent,
    read_rows,
    sights,
    withheld,
)
from puzzleport.cli import main
from puzzleport.cli.agents import check
from puzzleport.encode.tokens import Tokens

from ..conftest import solved_alone

NAMES = pp.agents.available()
MEGABYTES = 15


@pytest.fixture
def agent_file(tmp_path):
    """A network that has learned nothing."""
    task = pp.Task("net", "2x2")
    random = np.random.default_rng(0)
    with task.batch(64, threads=1) as batch:
        samples = network.numbers(task.layout, batch.reset(0).observation)
    item, value = network.dense_sight(task.layout, samples)
    shape = network.Shape("dense", 2, 8)
    weights = network.initial(shape, len(task.actions), len(item), random)
    path = tmp_path / "net.safetensors"
    published.write(
        path, shape, {**weights, "item": item, "value": value}, puzzle="net", params="2x2", actions=task.actions
    )
    return path


def test_a_file_is_read_as_it_was_written(agent_file):
    agent = published.read(agent_file)
    assert (agent.puzzle, agent.params, agent.masked, agent.temperature) == ("net", "2x2", True, 1.0)
    with pp.Session("net", "2x2", seed=1) as session:
        chances = agent.probabilities(session)
        assert chances.sum() == pytest.approx(1)
        assert not chances[~session.mask()].any()
        assert agent.at(0).probabilities(session).max() == 1
        assert session.mask()[agent(session)]
    with (
        pp.Session("net", "3x3", seed=1) as session,
        pytest.raises(pp.UnknownOption, match="plays net 2x2, not net 3x3"),
    ):
        agent(session)


@pytest.mark.parametrize(("puzzle", "params"), [("flip", "3x3c"), ("tents", "4x4de")])
@pytest.mark.parametrize("sight", [network.dense_sight, network.cells_sight])
def test_boards_that_differ_look_different_to_a_network(puzzle, params, sight):
    layout, random, samples = pp.puzzle_spec.layout(puzzle, params), np.random.default_rng(0), []
    for seed in range(10):
        with pp.Session(puzzle, params, seed) as session:
            for _ in range(20):
                samples.append(network.numbers(layout, session.observe()))
                session.act(int(random.integers(len(session.actions))))
    boards = np.unique(samples, axis=0)
    item, value, *cells = sight(layout, boards)
    seen = network.look({"item": item, "value": value}, boards)
    assert len(np.unique(seen, axis=0)) == len(boards)
    for height, width, features in cells:  # the last two of each cell tell whether the cursor is in its row and column
        of_cells = seen[:, : height * width * features].reshape(len(boards), height, width, features)
        x, y = boards[:, -2:].T[:, :, None, None]
        assert (of_cells[..., -2] == (y == np.arange(height)[:, None])).all()
        assert (of_cells[..., -1] == (x == np.arange(width))).all()


@pytest.mark.parametrize(
    ("puzzle", "params", "rows", "columns"),
    [
        ("tents", "4x4de", "row_clues", "column_clues"),
        ("tents", "5x4de", "row_clues", "column_clues"),
        ("net", "2x2", None, None),  # here and below there are lists as long as a row that are of no row or column
        ("netslide", "2x3b1", None, None),
        ("undead", "3x3de", None, None),
    ],
)
def test_a_cell_is_told_what_is_on_it_and_the_clues_of_its_row_and_column_alone(puzzle, params, rows, columns):
    layout, start = pp.puzzle_spec.layout(puzzle, params), 0
    count = sum(int(np.prod(field.shape)) for field in layout.fields)
    item, _, (height, width, features) = network.cells_sight(layout, np.indices((2, count))[0])
    cells, beside = np.split(item, [height * width * features])
    expected, rest = {place: set() for place in np.ndindex(height, width)}, set()
    for field in layout.fields:
        for number, at in enumerate(np.ndindex(field.shape), start):
            on = [
                (y, x)
                for y, x in expected
                if at[:2] == (y, x) or (field.name == rows and at == (y,)) or (field.name == columns and at == (x,))
            ]
            for place in on:
                expected[place].add(number)
            rest |= set() if on else {number}
        start += int(np.prod(field.shape))
    # The last two features of a cell ask for the cursor.
    told = [set(one) for one in cells.reshape(height * width, features)[:, :-2].tolist()]
    assert told == list(expected.values())
    assert set(beside.tolist()) == rest


def test_any_reader_of_safetensors_can_read_it(agent_file):
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    theirs = safetensors.load_file(agent_file)
    ours = published.read(agent_file).weights
    assert theirs.keys() == ours.keys()
    assert all(np.array_equal(theirs[name].astype(np.float32), ours[name]) for name in theirs)


def test_a_damaged_file_is_an_error_of_one_line(agent_file):
    whole = agent_file.read_bytes()
    random = np.random.default_rng(0)
    for cut in [0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1]:
        agent_file.write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="holds no agent"):
            published.read(agent_file)
    for _ in range(200):
        content = bytearray(whole)
        for place in random.integers(min(len(whole), 1500), size=3):
            content[place] = int(random.integers(256))
        agent_file.write_bytes(bytes(content))
        with suppress(ValueError, pp.PuzzleError):  # nothing else, and some damage makes just another network
            published.read(agent_file)
    with pytest.raises(ValueError, match="there is no file"):
        published.read(agent_file.with_name("nothing.safetensors"))


@pytest.mark.parametrize("name", ["policy.weight", "hidden.1.bias", "item"])
def test_a_file_that_lacks_weights_is_refused(agent_file, name):
    agent = published.read(agent_file)
    rest = {one: of for one, of in agent.weights.items() if one != name}
    about = {"puzzle": agent.puzzle, "params": agent.params, "actions": agent.actions}
    published.write(agent_file, agent.shape, rest, **about)
    with pytest.raises(ValueError, match="the weights do not fit net 2x2"):
        published.read(agent_file)


def test_a_file_is_a_policy_by_its_name(agent_file):
    result = evaluate(str(agent_file), "net", "2x2", episodes=5, seed=0, max_steps=50)
    again = evaluate(published.read(agent_file), "net", "2x2", episodes=5, seed=0, max_steps=50)
    assert (result.steps, result.status, result.fingerprint) == (again.steps, again.status, again.fingerprint)
    with pytest.raises(pp.UnknownOption, match="the agent plays net 2x2"):
        evaluate(str(agent_file), "net", "3x3", episodes=5)


def test_games_that_are_over_change_nothing_for_the_others(agent_file):
    agent = published.read(agent_file)
    task = pp.Task("net", "2x2", max_steps=40)
    played = play_agent(agent, task, list(range(20)), temperature=0.0)
    assert played.solved.tolist() == solved_alone(agent, task, range(20))


def test_intervals():
    low, high = interval(500, 500)
    assert (round(low, 4), round(high, 4)) == (0.9924, 1.0)
    assert agree((500, 500), (200, 200))
    assert agree((450, 500), (170, 200))
    assert not agree((500, 500), (180, 200))
    pairs = [(8, 10), (90, 100), (900, 1000), (850, 1000)]
    assert [[agree(one, other) for other in pairs] for one in pairs] == [
        [True, True, True, True],
        [True, True, True, True],
        [True, True, True, False],
        [True, True, False, True],
    ]


def test_an_agent_whose_network_is_of_one_size_stays_there(agent_file):
    with pytest.raises(pp.UnknownOption, match="is dense: it fits net 2x2 alone"):
        published.read(agent_file).on("3x3")


READABLE = [
    name for name in pp.puzzles() if name not in {"cube", "flip", "guess", "loopy", "map", "pattern", "untangle"}
]


@pytest.mark.parametrize("puzzle", READABLE)
def test_a_relative_network_sees_the_same_features_on_boards_of_any_size(puzzle):
    about = pp.spec(puzzle)
    small, large = (sight.read_board(puzzle, params) for params in (about.easiest_params, about.human_params))
    assert len(small.columns) == len(large.columns)
    assert len(small.cursor) == len(large.cursor) == network.CURSOR
    with pp.Session(puzzle, about.human_params, seed=1) as session:
        of = network.numbers(session.layout, session.observe())
    seen = sight.choose(puzzle, about.human_params, {about.human_params: np.stack([of, of + 1])})
    cells = network.look({"item": seen.item, "value": seen.value}, of).reshape(seen.board)
    # The cursor is in one row, one column, or beside the board.
    half = "half" in " ".join(field.about for field in session.fields if field.is_ui)
    at = cells[..., -network.CURSOR :]
    assert at[:, 0, 0].sum() <= 1
    assert at[0, :, 3].sum() <= 1
    assert half or not at[..., [1, 2, 4, 5]].any()


@pytest.mark.parametrize(
    ("puzzle", "params", "expected"),
    [
        ("tents", "4x4de", ["4x5de", "5x4de", "5x5de"]),
        ("palisade", "2x3n3", ["3x3n3", "3x4n3", "4x3n3"]),  # 2x4 is not divided by three
        ("dominosa", "1dt", ["2dt", "3dt", "4dt"]),
        ("blackbox", "w2h2m2M2", ["w3h2m2M2", "w4h2m2M2", "w5h2m2M2"]),
    ],
)
def test_the_next_larger_boards_differ_in_their_size_alone(puzzle, params, expected):
    assert sight.larger(puzzle, params) == expected
    with pytest.raises(pp.UnknownOption, match="cannot read"):
        sight.larger("map", "3x3n5de")


def test_a_cell_sees_the_walls_around_it():
    with pp.Session("palisade", "5x5n5", seed=1) as session:
        fields = session.observe()
        of = network.numbers(session.layout, fields)
    board = sight.read_board("palisade", "5x5n5")
    assert (board.height, board.width) == (5, 5)
    walls = [of[column.items].reshape(5, 5) for column in board.columns[1:5]]
    upright, flat = fields["vertical_edges"], fields["horizontal_edges"]
    for ours, theirs in zip(walls, (upright[:, :-1], upright[:, 1:], flat[:-1], flat[1:]), strict=True):
        assert np.array_equal(ours, theirs)


def test_a_cell_sees_the_lines_around_it_where_there_are_fewer_lines_than_cells():
    """At the rim there is none."""
    with pp.Session("pearl", "5x6de", seed=2) as session:
        session.solve()
        fields = session.observe()
        of = network.numbers(session.layout, fields)
    board = sight.read_board("pearl", "5x6de")
    seen = [np.where(column.items >= 0, of[column.items], 0).reshape(6, 5) for column in board.columns]
    flat, upright = (
        np.pad(fields["horizontal_lines"], ((0, 0), (1, 1))),
        np.pad(fields["vertical_lines"], ((1, 1), (0, 0))),
    )
    for line in (flat[:, :-1], flat[:, 1:], upright[:-1], upright[1:]):
        assert any(np.array_equal(one, line) for one in seen)


def test_between_two_cells_the_cursor_is_half_in_each():
    cells, height, width = 12, 3, 4
    board = sight.read_board("dominosa", "2dt")
    shape = network.Shape("relative", 0, cells, height, width, cells + network.CURSOR)
    zeros = {"cell.bias": np.zeros(cells), "side.bias": np.zeros(cells)}
    zeros |= {"rim": np.zeros((4, cells)), "side.weight": np.zeros((4, cells))}
    weights = {"cell.weight": np.eye(cells + network.CURSOR, cells), **zeros}
    with pp.Session("dominosa", "2dt", seed=1) as session:
        for _ in range(5):
            seen = session.observe()
            y, x = int(seen["cursor_y"]), int(seen["cursor_x"])
            of = network.numbers(session.layout, seen)
            cursor = [of[column.items] == column.places for column in board.cursor]
            # Each cell shows which it is, so what is read at the cursor is how much of it is in each.
            told = network._relative_cells(shape, weights, np.stack([*np.eye(cells), *cursor], axis=-1).ravel(), np)
            under = np.zeros((height, width))
            under[y // 2 : (y + 1) // 2 + 1, x // 2 : (x + 1) // 2 + 1] = 1
            assert np.allclose(told[:cells] / told[:cells].sum(), under.ravel() / under.sum())
            session.step("RIGHT" if x < 3 else "DOWN")
        assert (y, x) == (1, 3)


def test_fresh_layers_keep_the_length_of_what_they_are_given():
    """Half of it is lost where negative numbers become 0: so each is made longer by the root of two."""
    random = np.random.default_rng(0)
    weights = network.initial(network.Shape("dense", 2, 8), 4, 20, random)
    for name, layer in {"hidden.0": (20, 8), "hidden.1": (8, 8)}.items():
        of = weights[f"{name}.weight"]
        assert of.shape == layer
        assert np.allclose(of.T @ of, 2 * np.eye(8), atol=1e-5)
    wide = network.initial(network.Shape("axial", 1, 8, 3, 3, 5), 4, 50, random)["block.0.inside.weight"]
    assert np.allclose(wide @ wide.T, 2 * np.eye(8), atol=1e-5)


@pytest.mark.parametrize("kind", network.KINDS)
def test_every_fresh_layer_is_orthogonal_and_tells_inputs_apart(kind):
    random = np.random.default_rng(0)
    shape = network.Shape(kind, 2, 8, 12, 12, 3)
    weights = network.initial(shape, 4, 12 * 12 * 3 + 5, random)
    layers = {name: one.astype(float) for name, one in weights.items() if name.endswith(".weight")}
    assert {"policy.weight", "worth.weight"} < set(layers)
    for name, layer in layers.items():
        lines = layer if layer.shape[0] <= layer.shape[1] else layer.T
        gram = lines @ lines.T
        assert gram[0, 0] > 0, name
        assert np.allclose(gram / gram[0, 0], np.eye(len(gram)), atol=1e-5), name


def test_attention_tells_how_far_apart_two_cells_are_in_a_relative_network_alone():
    """In the others each cell is told by its number: in another order the cells of a line see the same in that order."""
    random = np.random.default_rng(0)
    line, order = random.normal(size=(6, 8)), random.permutation(6)
    for kind, knows in (("axial", False), ("relative", True)):
        weights = network.initial(network.Shape(kind, 2, 8, 6, 6, 9), 4, 6 * 6 * 9 + 3, random)
        for name in (f"block.{block}.{way}" for block in range(2) for way in ("row", "column")):
            seen, moved = (network._attend(weights, name, cells, np) for cells in (line, line[order]))
            assert np.allclose(moved, seen[order]) != knows


def test_several_processes_may_add_to_one_table(tmp_path):
    path = tmp_path / "table.csv"
    code = (
        "import sys; from pathlib import Path; from puzzleport.benchmark.learned import add_row\n"
        "for seed in range(20):\n"
        "    add_row(Path(sys.argv[1]), {'puzzle': sys.argv[2], 'level': 'easiest', 'recipe': 'ppo', 'seed': seed})"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("net", "map", "solo")]
    assert [one.wait() for one in running] == [0, 0, 0]
    assert len(read_rows(path)) == 60
    assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]


def test_the_rows_of_our_tables_tell_the_commands_of_their_recipes():
    """Who changes a recipe must make its rows anew. What was tested on larger boards was trained on another level."""
    met = set()
    for path in (Path(__file__).parents[2] / "docs" / "results").glob("*.csv"):
        for row in read_rows(path):
            if row.get("recipe") in RECIPES and "command" in row:
                told, _, withheld = row["command"].partition(" --withhold ")
                level = "easiest" if path.stem == "agents-larger" else row["level"]
                assert told == RECIPES[row["recipe"]].command(row["puzzle"], level, int(row["seed"]))
                assert bool(withheld) == (path.stem == "agents-withheld")
                met.add(row["recipe"])
    assert met >= {"ppo", "dagger", "dagger-long", "dagger-axial", "dagger-relative", "alphazero", "muzero", "dreamer"}


# ---- those in the package


@pytest.mark.skipif(not NAMES, reason="no agent is published yet")
def test_all_together_are_small():
    sizes = [one.stat().st_size for one in published._FOLDER.iterdir()]
    assert sum(sizes) <= MEGABYTES * 2**20


@pytest.mark.parametrize("name", NAMES)
def test_a_published_agent_acts_and_its_card_says_how_it_was_made(name):
    about = pp.agents.card(name)
    agent = pp.agents.load(about["puzzle"], about["level"])
    assert (agent.puzzle, agent.params) == (about["puzzle"], about["params"])
    assert about["command"].startswith(f"puzzleport train --algo {about['algorithm']} --puzzle {about['puzzle']}")
    assert f"--seed {about['seed']}" in about["command"]
    low, high = about["within_interval_95"]
    assert low <= about["figures"]["own_within"] <= high + 0.01
    with pp.Session(agent.puzzle, agent.params, seed=5) as session:
        for _ in range(10):
            if session.ended:
                break
            action = agent(session)
            assert session.mask()[action]
            session.step(action)


@pytest.mark.parametrize("name", NAMES)
def test_a_published_agent_does_on_fresh_games_what_its_card_says(name):
    told = check(name, list(range(10**6, 10**6 + 100)))
    assert told["agrees"], told


@pytest.mark.skipif("net-easiest" not in NAMES, reason="no agent for Net is published yet")
def test_the_command_line_knows_them():
    result = CliRunner().invoke(main, ["agents", "list", "--json"])
    assert result.exit_code == 0, result.output
    assert {row["agent"] for row in json.loads(result.stdout)} == set(NAMES)
    result = CliRunner().invoke(main, ["agents", "verify", "--agent", "net-easiest", "--episodes", "20", "--seed", "1"])
    assert result.exit_code == 0, result.output
    words = ["evaluate", "--policy", "published", "--puzzle", "net", "--episodes", "20", "--seed", "1", "--json"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[0]["success_percent"] == 100.0
    result = CliRunner().invoke(main, ["watch", "published", "net", "--seed", "1", "--where", "terminal"])
    assert result.exit_code == 0, result.output
    assert "solved" in result.output.lower()
    result = CliRunner().invoke(main, ["evaluate", "--policy", "published", "--puzzle", "net", "--level", "7x7"])
    assert result.exit_code == 2
    assert "there is no published agent for net 7x7" in result.output


def test_a_picture_is_seen_in_squares_and_as_shares_of_white():
    """By plain loops: each square of a picture, then of what was made of it, is one product; what is below 0 is cut off."""
    random, size = np.random.default_rng(1), network.PICTURE
    shape = network.Shape("pixels", 1, 8, size, size, 3)
    weights = network.initial(shape, 4, size * size * 3, random)
    weights = {name: one + random.normal(scale=0.1, size=one.shape).astype(np.float32) for name, one in weights.items()}
    picture = random.integers(256, size=(size, size, 3))
    now = picture / 255.0
    for number, (side, made) in enumerate(network.SQUARES):
        count = now.shape[0] // side
        after = np.zeros((count, count, made))
        for y in range(count):
            for x in range(count):
                square = now[y * side : (y + 1) * side, x * side : (x + 1) * side].ravel()
                after[y, x] = np.maximum(
                    square @ weights[f"square.{number}.weight"] + weights[f"square.{number}.bias"], 0
                )
        now = after
    expected = np.maximum(now.ravel() @ weights["hidden.0.weight"] + weights["hidden.0.bias"], 0)
    found = network.represent(shape, weights, picture.ravel())
    assert expected.max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_an_agent_that_nobody_published_is_named_beside_those_that_are():
    with pytest.raises(pp.UnknownOption, match="no published agent 'solo-human'; there are blackbox-easiest, bridges"):
        pp.agents.load("solo", "human")


def test_larger_boards_differ_in_their_size_alone():
    from puzzleport.agents import sight

    assert sight.larger("tents", "4x4de", 2) == ["4x5de", "5x4de"]
    for puzzle, params, why in (("net", "wide", "no size is told"), ("untangle", "4", "no cursor on a board")):
        with pytest.raises(pp.UnknownOption, match=why):
            sight.larger(puzzle, params)


def test_the_rim_of_a_board_is_its_outermost_cells():
    from puzzleport.agents.network import _rim

    rim = _rim(3, 4)
    for side, line in enumerate((rim[0], rim[-1], rim[:, 0], rim[:, -1])):
        assert line[..., side].all()
        assert rim[..., side].sum() == len(line)


@pytest.mark.parametrize("z", [1.0, 1.96, 3.29])
def test_the_ends_of_an_interval_are_the_shares_that_are_z_deviations_away(z):
    """That is how Wilson's interval is defined: by the deviation that a share of the end's would have."""
    for successes, count in ((0, 7), (1, 20), (3, 10), (200, 500), (19, 20), (30, 30)):
        low, high = interval(successes, count, z)
        share = successes / count
        assert low <= share + 1e-12
        assert share <= high + 1e-12
        for end in (low, high):
            assert (share - end) ** 2 == pytest.approx(z * z * end * (1 - end) / count, abs=1e-12)
    assert interval(3, 10) == interval(3, 10, 1.96)


def test_shares_agree_unless_chi_squared_of_their_table_is_too_large():
    random, found = np.random.default_rng(0), set()
    for _ in range(500):
        counts = random.integers(20, 300, 2)
        solved = [int(random.integers(1, count)) for count in counts]
        if random.random() < 0.5:  # shares that are near to each other, so that both answers come
            solved[1] = min(
                max(round(solved[0] * counts[1] / counts[0]) + int(random.integers(-15, 15)), 1), counts[1] - 1
            )
        (a, c), (b, d) = solved, counts - solved
        chi_squared = (a + b + c + d) * (a * d - b * c) ** 2 / ((a + b) * (c + d) * (a + c) * (b + d))
        assert agree((a, int(counts[0])), (c, int(counts[1]))) == (chi_squared <= 3.29**2)
        found.add(chi_squared <= 3.29**2)
    assert found == {True, False}


def test_figures_of_games_are_shares_and_means_of_those_that_were_solved():
    solved, steps = np.array([True, True, False, True]), np.array([4, 12, 50, 10])
    told = Played(solved, steps).figures("own", 10, np.array([4, 5, 5, 20, 99]))
    assert told == {
        "own_episodes": 4,
        "own_success": 75.0,
        "own_within": 50.0,  # in at most ten steps
        "own_steps": round((4 + 12 + 10) / 3, 2),
        "own_spl": round((4 / 4 + 5 / 12 + 0 + 20 / 20) / 4, 4),
    }
    nothing = Played(~solved & False, steps).figures("own", 10, np.full(4, 5))
    assert [nothing[f"own_{what}"] for what in ("success", "within", "steps", "spl")] == [0, 0, "", 0]


def test_larger_boards_come_by_their_longer_side_then_by_their_area():
    sizes = ["5x5", "5x6", "6x5", "6x6", "4x7", "7x4", "5x7", "7x5", "6x7", "7x6", "7x7", "4x8"]
    for params in ("4x6de", "6x4de"):
        assert sight.larger("tents", params, 12) == [f"{size}de" for size in sizes]
        # As far as three more than the longer side, whatever is asked for.
        every = {f"{a}x{b}de" for a in range(4, 10) for b in range(4, 10) if a * b > 4 * 6}
        assert set(sight.larger("tents", params, 1000)) == every


# The numbers of a field that a cell sees, by row y and column x on a board of that height and width; -1 for none.
SEEN = [
    ("magnets", "6x5de", (5, 6), "dominoes", [lambda y, x: y * 6 + x]),
    ("magnets", "6x5de", (5, 6), "row_minus", [lambda y, x: y]),
    ("magnets", "6x5de", (5, 6), "column_plus", [lambda y, x: x]),
    ("tracks", "6x4de", (4, 6), "row_clues", [lambda y, x: y]),
    ("tracks", "6x4de", (4, 6), "column_errors", [lambda y, x: x]),
    # Clues above, below, left and right: those at its column's number, then those at its row's.
    ("towers", "4de", (4, 4), "clues", [lambda y, x, k=k: 4 * (k % 4) + (x, y)[k // 4] for k in range(8)]),
    ("undead", "5x4de", (4, 5), "sightings", [lambda y, x, k=k: (x, 5 + x, 10 + y, 14 + y)[k] for k in range(4)]),
    ("undead", "5x4de", (4, 5), "counts", [lambda y, x, k=k: k for k in range(3)]),
    ("blackbox", "w4h3m2M2", (3, 4), "shots", [lambda y, x, k=k: (x, 4 + x, 8 + y, 11 + y)[k] for k in range(4)]),
    ("net", "4x3", (3, 4), "wires", [lambda y, x, k=k: (y * 4 + x) * 4 + k for k in range(4)]),
    (
        "unequal",
        "4de",
        (4, 4),
        "signs_across",
        [lambda y, x, k=k: y * 3 + x - k if 0 <= x - k < 3 else -1 for k in (1, 0)],
    ),
    (
        "unequal",
        "4de",
        (4, 4),
        "signs_down",
        [lambda y, x, k=k: (y - k) * 4 + x if 0 <= y - k < 3 else -1 for k in (1, 0)],
    ),
    ("rect", "4x3", (3, 4), "vertical_edges", [lambda y, x, k=k: y * 5 + x + k for k in (0, 1)]),
    ("rect", "4x3", (3, 4), "dragging", [lambda y, x: 0]),
    ("slant", "4x3de", (3, 4), "clues", [lambda y, x, k=k: (y + k // 2) * 5 + x + k % 2 for k in range(4)]),
    ("flood", "4x3c6m5", (3, 4), "move_limit", [lambda y, x: 0]),
    # Dots lie on cells, between them and on their corners, but for the rim.
    (
        "galaxies",
        "4x3dn",
        (3, 4),
        "dots",
        [
            lambda y, x, i=i, j=j: (2 * y + i) * 7 + 2 * x + j if 0 <= 2 * y + i < 5 and 0 <= 2 * x + j < 7 else -1
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
        ],
    ),
]


@pytest.mark.parametrize(("puzzle", "params", "size", "name", "where"), SEEN)
def test_a_cell_sees_what_is_on_it_around_it_and_in_its_row_and_column(puzzle, params, size, name, where):
    board, start = sight.read_board(puzzle, params), 0
    assert (board.height, board.width) == size
    for field in pp.puzzle_spec.layout(puzzle, params).fields:
        count = int(np.prod(field.shape))
        if field.name == name:
            break
        start += count
    found = [
        np.where(column.items < 0, -1, column.items - start).tolist()
        for column in board.columns
        if column.places is None and column.items.max() in range(start, start + count)
    ]
    height, width = size
    # In this order: an agent's file tells its features by the number of their column.
    assert found == [[of(y, x) for y in range(height) for x in range(width)] for of in where]


@pytest.mark.parametrize("puzzle", READABLE)
def test_no_number_of_a_board_is_lost_to_a_relative_network(puzzle):
    params = pp.spec(puzzle).easiest_params
    board = sight.read_board(puzzle, params)
    seen = {item for column in (*board.columns, *board.cursor) for item in column.items.tolist()} - {-1}
    assert seen == set(range(sum(int(np.prod(field.shape)) for field in pp.puzzle_spec.layout(puzzle, params).fields)))


def test_a_relative_network_asks_for_every_value_that_was_met_on_any_board():
    random, sizes = np.random.default_rng(0), ["4x4de", "5x4de"]
    samples = {}
    for params in sizes:
        of = pp.puzzle_spec.layout("tents", params)
        samples[params] = np.stack(
            [
                np.concatenate(
                    [random.integers(field.low, field.high + 1, int(np.prod(field.shape))) for field in of.fields]
                )
                for _ in range(2)
            ]
        )
        cells = int(np.prod(of.fields[0].shape))
        samples[params][:, :cells] = np.arange(cells) == 0  # of the trees the very first alone
        samples[params][:, cells : 2 * cells] = 1  # what is the same everywhere tells nothing
    boards = {params: sight.read_board("tents", params) for params in sizes}
    expected = []
    for number, column in enumerate(boards["4x4de"].columns):
        if column.places is not None:
            expected.append((number, 0))
            continue
        met = set()
        for params in sizes:
            for item in boards[params].columns[number].items.tolist():
                met |= set(samples[params][:, item].tolist()) if item >= 0 else set()
        expected += [(number, value) for value in sorted(met)] if len(met) > 1 else []
    seen = sight.choose("tents", "4x4de", samples)
    assert list(zip(seen.column.tolist(), seen.compared.tolist(), strict=True)) == expected
    assert (0, 1) in expected
    assert not any(number == 1 for number, _ in expected)
    # And what it sees is where a cell's number is that value, or the cell's own place.
    board, of = boards["4x4de"], samples["4x4de"][0]
    found = network.look({"item": seen.item, "value": seen.value}, of).reshape(16, -1)
    asked = [*((board.columns[number], value) for number, value in expected), *((one, 0) for one in board.cursor)]
    for feature, (column, value) in enumerate(asked):
        for cell in range(16):
            item = column.items[cell]
            than = value if column.places is None else column.places[cell]
            assert found[cell, feature] == (item >= 0 and of[item] == than)


def plain_attention(weights, name, line):
    """Each cell of a line takes from all of it, by four heads: how alike they are, and how far away."""
    heads, near = network.HEADS, network.NEAR
    size = line.shape[1] // heads
    parts = (line @ weights[f"{name}.in.weight"] + weights[f"{name}.in.bias"]).reshape(len(line), 3, heads, size)
    mixed = np.zeros_like(line)
    for head in range(heads):
        for i in range(len(line)):
            score = np.array([parts[i, 0, head] @ parts[j, 1, head] / size**0.5 for j in range(len(line))])
            if f"{name}.near" in weights:
                score += [weights[f"{name}.near"][head, min(max(i - j, -near), near) + near] for j in range(len(line))]
            share = np.exp(score) / np.exp(score).sum()
            mixed[i, head * size : (head + 1) * size] = sum(share[j] * parts[j, 2, head] for j in range(len(line)))
    return mixed @ weights[f"{name}.out.weight"] + weights[f"{name}.out.bias"]


def plain_norm(x):
    return x / np.sqrt((x * x).mean(-1, keepdims=True))


def plain_layers(weights, name, line):
    inside = np.maximum(line.ravel() @ weights[f"{name}.in.weight"] + weights[f"{name}.in.bias"], 0)
    return (inside @ weights[f"{name}.out.weight"] + weights[f"{name}.out.bias"]).reshape(line.shape)


def plain_inside(weights, name, x):
    """The two layers through which each cell passes alone."""
    inside = np.maximum(x @ weights[f"{name}.inside.weight"] + weights[f"{name}.inside.bias"], 0)
    return inside @ weights[f"{name}.outside.weight"] + weights[f"{name}.outside.bias"]


@pytest.mark.parametrize("kind", ["axial", "lines", "relative"])
def test_cells_look_along_their_rows_and_then_along_their_columns(kind):
    """By plain loops: what a cell is, two blocks, what is at the cursor, and means; for three games in random states."""
    height, width, features, size = 3, network.NEAR + 3, 9, 8
    rest = 0 if kind == "relative" else 5
    along = plain_layers if kind == "lines" else plain_attention
    shape, random = network.Shape(kind, 2, size, height, width, features), np.random.default_rng(2)
    seen = height * width * features + rest
    weights = {
        name: one + random.normal(scale=0.2, size=one.shape)
        for name, one in network.initial(shape, 4, seen, random).items()
    }
    games = random.integers(2, size=(3, seen)).astype(bool)
    found = network.represent(shape, weights, games)
    for game, ours in zip(games.astype(float), found, strict=True):
        cells = game[: height * width * features].reshape(height, width, features)
        x = cells @ weights["cell.weight"] + weights["cell.bias"]
        if kind != "relative":
            x = x + game[-rest:] @ weights["rest.weight"] + weights["rest.bias"] + weights["place"]
        else:
            # The last six features: the cursor is in this row, half above it, half below it; and the same of columns.
            row, column = (cells[..., k - 6] + (cells[..., k - 5] + cells[..., k - 4]) / 2 for k in (0, 3))
            for i in range(height):
                for j in range(width):
                    sides = [row[:i, j].sum(), row[i + 1 :, j].sum(), column[i, :j].sum(), column[i, j + 1 :].sum()]
                    rim = [i == 0, i == height - 1, j == 0, j == width - 1]
                    x[i, j] += sides @ weights["side.weight"] + weights["side.bias"] + rim @ weights["rim"]
        for block in range(2):
            x = x + np.stack([along(weights, f"block.{block}.row", plain_norm(x)[i]) for i in range(height)])
            turned = [along(weights, f"block.{block}.column", plain_norm(x)[:, j]) for j in range(width)]
            x = x + np.stack(turned, axis=1)
            x = x + plain_inside(weights, f"block.{block}", plain_norm(x))
        x = plain_norm(x)
        if kind != "relative":
            parts = [sum(x[i, j] * cells[i, j, -2] * cells[i, j, -1] for i in range(height) for j in range(width))]
        else:
            parts = [
                (x * (row * column)[..., None]).sum((0, 1)),
                (x * row[..., None]).sum((0, 1)) / width,
                (x * column[..., None]).sum((0, 1)) / height,
            ]
        told = np.concatenate([*parts, x.reshape(-1, size).mean(0)])
        expected = np.maximum(told @ weights["hidden.0.weight"] + weights["hidden.0.bias"], 0)
        assert expected.max() > 0.1
        np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-4)


# ---- tokens


@pytest.mark.parametrize("puzzle", pp.puzzles())
def test_tokens_tell_every_number_of_the_board_and_of_which_group_they_are(puzzle):
    """On the boards of both levels the features of a token have the same meaning, and no number is lost or told twice."""
    about = pp.spec(puzzle)
    features = set()
    for params in (about.easiest_params, about.human_params):
        seen = token_sight(puzzle, params)
        task = pp.Task(puzzle, params)
        encoder = Tokens(task)
        assert seen.board[:2] == (1, encoder.length)
        features.add(seen.board[2])
        with task.session(1) as session:
            for key in range(20):
                session.step(key % len(session.actions))
            of = network.numbers(session.layout, session.observe())
            plain = encoder.tokens(session.observe())
        look = network.look({"item": seen.item, "value": seen.value, "bit": seen.bit}, of).reshape(seen.board[1:])
        item, value, bit = (one.reshape(seen.board[1:]) for one in (seen.item, seen.value, seen.bit))
        told = {}
        for token, feature in np.argwhere((bit >= 0) & (bit < 31)).tolist():
            at, place = item[token, feature], (token, bit[token, feature])
            total, places = told.setdefault(at, (value[token, feature], []))
            told[at] = total + (int(look[token, feature]) << place[1]), [*places, place]
        assert sorted(told) == list(range(len(of)))
        for at, (total, places) in told.items():
            assert total == of[at]
            assert len({token for token, _ in places}) == 1
            assert [bit for _, bit in places] == list(range(len(places)))
        # Tokens of one group, and of no other, have one and the same feature that all of them have always.
        groups = plain[:, 4 : 4 + 1 + max(part.group for part in encoder.parts)]
        always = (bit == 31) & (value == 2**30)
        for group in groups.T:
            assert any(np.array_equal(always[:, feature], group == 1) for feature in range(seen.board[2]))
        assert np.array_equal(look[always], np.ones(always.sum()))
    assert len(features) == 1


def test_a_token_knows_its_place_from_both_ends_and_whether_the_cursor_is_there():
    seen = token_sight("net", "3x5")  # three columns, five rows; the last token is of no cell
    with pp.Session("net", "3x5", seed=3) as session:
        for key in ("DOWN", "DOWN", "RIGHT"):
            session.step(key)
        at = [int(session.observe()[name]) for name in ("cursor_y", "cursor_x")]
        of = network.numbers(session.layout, session.observe())
    look = network.look({"item": seen.item, "value": seen.value, "bit": seen.bit}, of).reshape(seen.board[1:])
    bit = seen.bit.reshape(seen.board[1:])
    here = [feature for feature in range(seen.board[2]) if (bit[:15, feature] == -1).all() and look[:15, feature].any()]
    columns, rows = (look[:15, feature].reshape(5, 3) for feature in here)
    assert np.array_equal(rows, np.repeat(np.arange(5) == at[0], 3).reshape(5, 3))
    assert np.array_equal(columns, np.tile(np.arange(3) == at[1], (5, 1)))
    assert not look[15, here].any()
    constant = {tuple(look[:15, feature]) for feature in range(seen.board[2]) if (bit[:15, feature] == 31).any()}
    down, across = np.indices((5, 3)).reshape(2, -1)
    for place in (down, 4 - down, across, 2 - across):
        for which in range(int(place.max()).bit_length()):
            assert tuple(place >> which & 1 == 1) in constant


def test_untangles_points_and_the_lines_between_them_know_which_point_is_chosen():
    seen = token_sight("untangle", "4")
    with pp.Session("untangle", "4", seed=1) as session:
        session.step("LEFT")
        chosen = int(session.observe()["cursor_point"])
        of = network.numbers(session.layout, session.observe())
    look = network.look({"item": seen.item, "value": seen.value, "bit": seen.bit}, of).reshape(seen.board[1:])
    bit, value = (one.reshape(seen.board[1:]) for one in (seen.bit, seen.value))
    here = look & (bit == -1) & (value < 4)
    assert here[:4].any(1).tolist() == [point == chosen for point in range(4)]
    pairs = here[4:20].sum(1).reshape(4, 4)
    assert pairs.tolist() == [[(i == chosen) + (j == chosen) for j in range(4)] for i in range(4)]
    assert not here[20].any()


def test_bits_are_of_whole_numbers_of_either_sign():
    of = np.array([[5, -1, 1000]], np.int32)
    item, value, bit = (
        np.array([0, 0, 0, 1, 1, 1, 2, 2]),
        np.array([0, 0, 5, -1, 0, -1, 1000, 1001]),
        [0, 1, -1, 0, 31, -1, 31, 31],
    )
    seen = network.look({"item": item, "value": value, "bit": np.array(bit)}, of)
    assert seen.tolist() == [[True, False, True, False, True, True, False, True]]


def test_every_token_attends_to_all_in_each_block():
    """By plain loops, for three games: what a token is, two blocks, the last token and the mean of all."""
    count, features, size = 5, 7, 8
    shape, random = network.Shape("tokens", 2, size, 1, count, features), np.random.default_rng(2)
    weights = {
        name: one + random.normal(scale=0.2, size=one.shape)
        for name, one in network.initial(shape, 4, count * features, random).items()
    }
    assert not any("column" in name or "near" in name for name in weights)
    games = random.integers(2, size=(3, count * features)).astype(bool)
    found = network.represent(shape, weights, games)
    for game, ours in zip(games.astype(float), found, strict=True):
        x = game.reshape(count, features) @ weights["cell.weight"] + weights["cell.bias"]
        for block in range(2):
            x = x + plain_attention(weights, f"block.{block}.row", plain_norm(x))
            x = x + plain_inside(weights, f"block.{block}", plain_norm(x))
        x = plain_norm(x)
        told = np.concatenate([x[-1], x.mean(0)])
        expected = np.maximum(told @ weights["hidden.0.weight"] + weights["hidden.0.bias"], 0)
        assert expected.max() > 0.1
        np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-4)


# ---- the rows of a table


@pytest.mark.skipif("net-easiest" not in NAMES, reason="no agent for Net is published yet")
def test_a_row_is_of_games_at_each_temperature_and_of_those_that_were_not_met():
    agent, episodes = pp.agents.load("net", "easiest").at(4.0), 40  # so hot that it wanders about
    task = pp.Task("net", agent.params)
    bound = pp.puzzle_spec.optimal_steps("net", task.params)
    seeds = instances(task, episodes)
    assert seeds == evalset("v1", params_of={"net": task.params})["net"].seeds[:episodes]
    unseen = np.arange(episodes + 5) % 3 == 0  # of more games than are played
    row = measure(agent, episodes=episodes, unseen=unseen)
    alone = solved_alone(agent, task, seeds)
    assert row["greedy_success"] == round(100 * sum(alone) / episodes, 2)
    played = {t: play_agent(agent, task, seeds, temperature=t) for t in (1.0, 0.0, 4.0)}
    ways = []
    for seed in seeds:
        with task.session(seed) as session:
            ways.append(len(session.plan()))
    for name, temperature in (("sampled", 1.0), ("greedy", 0.0), ("own", 4.0)):
        expected = played[temperature].figures(name, bound, np.array(ways))
        assert {one: row[one] for one in expected} == expected
    assert row["own_steps"] != row["sampled_steps"]
    new = [k for k in range(episodes) if unseen[k]]
    within = [bool(played[4.0].solved[k] and played[4.0].steps[k] <= bound) for k in new]
    assert (row["unseen_episodes"], row["unseen_within"]) == (len(new), round(100 * sum(within) / len(new), 2))
    assert row["temperature"] == 4.0
    with pp.Session("net", task.params) as session:
        starts = set()
        for seed in seeds:
            session.reset(seed)
            starts.add(session.record().tobytes())
    assert row["instances"] == len(starts)
    # None are new, and nothing is known of any.
    for of, told in ((np.zeros(episodes, bool), (0, "")), (None, ("", ""))):
        row = measure(agent, episodes=episodes, unseen=of)
        assert (row["unseen_episodes"], row["unseen_within"]) == told


def test_a_withheld_instance_is_one_whose_first_number_lies_below_the_share():
    first = np.array([0, 2**30 - 1, 2**30, 2**32 - 2, 2**32 - 1], np.uint32)
    sight_of = np.stack([first, first[::-1]], -1)
    assert withheld(sight_of, 0.25).tolist() == [True, True, False, False, False]
    assert withheld(sight_of, 1.0).tolist() == [True, True, True, True, False]  # the largest number that there is stays
    assert not withheld(sight_of, 0.0).any()
    task = pp.Task("net", "3x3")
    some, every = instances(task, 50, 0.3), instances(task, 10_000)
    low, _ = sights(task, every).T
    assert some == [seed for seed, number in zip(every, low.tolist(), strict=True) if number < 0.3 * 2**32][:50]


class Half:
    """Presses the expert's key in every other step."""

    puzzle, params = "net", "3x3"

    def __init__(self):
        self.asked = 0

    def at(self, temperature):
        assert temperature == 0
        return self

    def __call__(self, session):
        self.asked += 1
        key = session.plan()[0]
        return key if self.asked % 2 else (key + 1) % len(session.actions)


def test_agreement_is_counted_on_the_way_of_the_expert():
    seeds, keys = [3, 4, 5], 0
    for seed in seeds:
        with pp.Session("net", "3x3", seed) as session:
            keys += len(session.plan())
    half = Half()
    assert agreement(half, seeds) == round(100 * ((keys + 1) // 2) / keys, 1)
    assert half.asked == keys
    assert keys % 2 or agreement(half, seeds[:1]) > 40


def test_a_table_of_what_needs_no_training(tmp_path):
    """A row for each recipe, once; and with --unsolved none of a puzzle that an agent has solved."""
    path, runner = tmp_path / "table.csv", CliRunner()
    words = ["table", str(path), "--puzzle", "net", "--recipe", "masked", "--recipe", "expert", "--episodes", "6"]
    for more, rows in (([], 2), ([], 2), (["--level", "human"], 4)):
        result = runner.invoke(main, [*words, *more])
        assert result.exit_code == 0, result.output
        assert len(read_rows(path)) == rows
    ways = []
    task = pp.Task("net", pp.spec("net").easiest_params)
    for seed in instances(task, 6):
        with task.session(seed) as session:
            ways.append(len(session.plan()))
    row = next(row for row in read_rows(path) if (row["recipe"], row["level"]) == ("expert", "easiest"))
    assert [row[f"own_{what}"] for what in ("episodes", "success", "spl")] == ["6", "100.0", "1.0"]
    assert (row["seed"], float(row["own_steps"])) == ("", round(sum(ways) / 6, 2))
    bound = pp.puzzle_spec.optimal_steps("net", task.params)
    assert (row["params"], row["bound"]) == (task.params, str(bound))
    assert float(row["own_within"]) == round(100 * sum(way <= bound for way in ways) / 6, 2)
    for within, rows in ((95.0, 3), (94.9, 4)):  # beside the row of a trained agent there are two, or three
        other = tmp_path / f"{within}.csv"
        for recipe, own in (("ppo", within), ("masked", 100.0), ("dagger", 10.0)):
            add_row(other, {"puzzle": "net", "level": "easiest", "recipe": recipe, "seed": 0, "own_within": own})
        told = ["table", str(other), *words[2:4], "--recipe", "expert", "--episodes", "2", "--unsolved"]
        assert runner.invoke(main, told).exit_code == 0
        assert len(read_rows(other)) == rows
        # Those that need no training are not counted among the agents, and another level is another matter.
        assert runner.invoke(main, [*told, "--level", "human"]).exit_code == 0
        assert len(read_rows(other)) == rows + 1


def test_what_tells_instances_apart_is_a_sum_of_products_that_is_mixed_twice():
    """In Python's own numbers. An agent's card says which share it never saw: with other numbers that would be another share."""
    random = np.random.default_rng(1)
    seen = random.integers(-5, 2000, (30, 17))
    odd = np.random.default_rng(0).integers(2**31, size=(17, 2), dtype=np.uint32).tolist()
    for board, both in zip(seen.tolist(), first_sight(seen).tolist(), strict=True):
        for way in range(2):
            mixed = sum((number + 1) * (2 * odd[at][way] + 1) for at, number in enumerate(board)) % 2**32
            mixed = (mixed ^ mixed // 2**16) * 0x45D9F3B % 2**32
            assert both[way] == mixed ^ mixed // 2**16
    high, low = first_sight(seen[0]).tolist()
    assert int(joined(first_sight(seen[0]))) == high * 2**32 + low
