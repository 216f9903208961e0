from __future__ import annotations

import doctest
import importlib
from functools import partial
from pkgutil import iter_modules

import numpy as np
import pytest

import puzzleport as pp
from puzzleport.encode import leaves
from puzzleport.encode.graph import Graph
from puzzleport.encode.tokens import Tokens

from ..conftest import PUZZLES

GRAPHS = ["bridges", "loopy", "map", "net", "untangle"]
KINDS = sorted(pp.encode.KINDS)


def task(puzzle: str, params: str | None = None, **options) -> pp.Task:
    return pp.Task(puzzle, params or pp.spec(puzzle).easiest_params, **options)


@pytest.mark.parametrize("module", [one.name for one in iter_modules(pp.encode.__path__)])
def test_the_docstrings_examples(module):
    assert not doctest.testmod(importlib.import_module(f"puzzleport.encode.{module}")).failed


def test_there_is_one_file_for_each_kind():
    assert sorted({one.name for one in iter_modules(pp.encode.__path__)} - {"base"}) == KINDS
    with pytest.raises(pp.UnknownOption, match="both, flat, graph, one_hot, pixels, state, text, tokens"):
        pp.Task("net", "2x2", observation="smell").encoder  # noqa: B018 (a property)


def fits(tree, seen, lead: tuple[int, ...] = ()) -> None:
    """Shapes, types and bounds are as the tree tells them."""
    if isinstance(tree, dict):
        assert tree.keys() == seen.keys()
        for name, part in tree.items():
            fits(part, seen[name], lead)
    elif tree.dtype.kind == "U":
        assert np.shape(seen) == lead
        assert tree.low <= len(str(np.ravel(seen)[0])) <= tree.high
    else:
        assert (seen.shape, seen.dtype) == (lead + tree.shape, tree.dtype)
        assert seen.min(initial=tree.high) >= tree.low
        assert seen.max(initial=tree.low) <= tree.high


def same(a, b) -> bool:
    return all(same(a[name], b[name]) for name in a) if isinstance(a, dict) else np.array_equal(a, b)


def at(seen, slot):
    return {name: at(part, slot) for name, part in seen.items()} if isinstance(seen, dict) else seen[slot]


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_keeps_its_tree_and_sees_many_as_it_sees_one(puzzle, kind):
    if kind == "graph" and puzzle not in GRAPHS:
        with pytest.raises(pp.UnknownOption, match=f"{puzzle} is no graph; these are: bridges"):
            task(puzzle, observation="graph").encoder  # noqa: B018 (a property)
        return
    played = task(puzzle, observation=kind, max_steps=11, width=64, height=64)
    many = pp.BatchEpisodes(played, 3, threads=1, autoreset="next_step")
    single = [pp.Episodes(played) for _ in range(3)]
    many.start(seed=5)
    for slot, one in enumerate(single):
        one.start(seed=5 + slot)
    random = np.random.default_rng(0)
    for _ in range(30):
        seen = many.observation()
        fits(played.encoder.tree, seen, (3,))
        for slot, one in enumerate(single):
            fits(played.encoder.tree, one.observation())
            assert same(at(seen, slot), one.observation())
        actions = random.integers(len(played.actions), size=3)
        for slot, one in enumerate(single):
            if one.ended:
                one.start()
            else:
                one.step(int(actions[slot]))
        many.step(actions)
    many.close()


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"text", "graph"}))
def test_the_last_observation_of_an_episode_is_kept(kind):
    played = task("samegame", observation=kind, max_steps=7, width=64, height=64)
    many, single = pp.BatchEpisodes(played, 2, threads=1), [pp.Episodes(played) for _ in range(2)]
    many.start(seed=3)
    for slot, one in enumerate(single):
        one.start(seed=3 + slot)
    random, ends = np.random.default_rng(1), 0
    for _ in range(40):
        actions = random.integers(len(played.actions), size=2)
        many.step(actions)
        for slot, one in enumerate(single):
            one.step(int(actions[slot]))
            if one.ended:
                ends += 1
                assert same(many.final_observation(slot), one.observation())
                one.start()
    assert ends > 4
    many.close()


def test_observations_are_fresh_unless_live_ones_are_wanted():
    for kind in ("state", "flat", "one_hot", "pixels", "both", "tokens"):
        episodes = pp.Episodes(task("fifteen", observation=kind))
        episodes.start(seed=1)
        first = episodes.observation()
        kept = {name: part.copy() for name, part in first.items()} if isinstance(first, dict) else first.copy()
        episodes.step(int(np.flatnonzero(episodes.mask())[0]))
        assert same(first, kept)
        assert not same(episodes.observation(), kept)


def test_flat_is_scaled_by_the_bounds_and_one_hot_marks_every_value(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=1)
    flat, hot = (task(puzzle, observation=kind).encoder.attach(session)() for kind in ("flat", "one_hot"))
    place = 0
    numbers = []
    for field in session.fields:
        for value in session.observe()[field.name].ravel().tolist():
            numbers.append((value - field.low) / max(field.high - field.low, 1))
            width = field.high - field.low + 1
            assert hot[place : place + width].tolist() == [float(field.low + k == value) for k in range(width)]
            place += width
    assert np.allclose(flat, numbers, atol=1e-6)
    assert place == hot.size


def test_pictures_come_in_three_forms():
    session = pp.Session("net", "3x2", seed=1)
    plain = session.pixels(90, 60)
    assert np.array_equal(session.pixels(90, 60, channels_first=True), plain.transpose(2, 0, 1))
    assert session.pixels(90, 60, grey=True).shape == (60, 90)
    batch = pp.Batch("net", "3x2", 2)
    batch.reset(seed=1)
    assert np.array_equal(batch.pixels(90, 60, grey=True)[0], session.pixels(90, 60, grey=True))


# ---- tokens


def play(session: pp.Session, steps: int = 60):
    random = np.random.default_rng(0)
    for _ in range(steps):
        session.step(int(random.integers(len(session.actions))))
        yield session


def test_tokens_tell_all_and_are_padded(puzzle):
    encoder = Tokens(task(puzzle), max_length=600)
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=2)
    look, seen = encoder.attach(session), {}
    for _ in play(session):
        observation = look()
        assert not observation["tokens"][observation["length"][0] :].any()
        assert (
            seen.setdefault(observation["tokens"].tobytes(), session.record().tobytes()) == session.record().tobytes()
        )


def test_boards_of_all_sizes_share_a_tree(puzzle):
    about = pp.spec(puzzle)
    largest = "3x3n2" if puzzle == "twiddle" else about.default_params  # Twiddle's default counts rows only
    small, large = Tokens(task(puzzle), largest=largest), Tokens(task(puzzle, largest))
    assert small.tree == large.tree
    assert small.length <= large.length


def test_a_token_is_a_cell():
    encoder = Tokens(task("fifteen", "3x4"))
    session = pp.Session("fifteen", "3x4", seed=1)
    tokens = encoder.tokens(session.observe())
    assert tokens.shape == (13, encoder.width)
    bits = tokens[:12, 6:10] @ [1, 2, 4, 8]  # after four features of position and two of kind
    assert np.array_equal(bits, session.observe()["tiles"].ravel())
    places = tokens[:12, :4].reshape(4, 3, 4)
    assert (places[:, :, 1] == places[0, :, 1]).all()  # the column's cosine
    assert (places[:, :, 3] == places[:, :1, 3]).all()  # the row's
    assert len({tuple(place) for place in tokens[:12, :4]}) == 12


def test_boards_that_are_too_large_are_refused():
    with pytest.raises(pp.InvalidParams, match="larger under 4x4"):
        Tokens(task("netslide", "4x4"), largest="3x3")
    with pytest.raises(pp.InvalidParams, match="different fields"):
        Tokens(task("twiddle", "3x3n2"), largest="4x4n2o")
    with pytest.raises(ValueError, match="10 tokens, more than 5"):
        Tokens(task("netslide", "3x3"), max_length=5)


@pytest.mark.parametrize(
    ("puzzle", "few", "many", "field"),
    [("flood", "3x3c3m0", "3x3c4m0", "colours"), ("unequal", "5adk", "5de", "signs_across")],
)
def test_values_beyond_those_of_the_largest_board_are_refused_at_either_end(puzzle, few, many, field):
    """Of Flood the highest value is greater, of Unequal the lowest is less, on boards of one size."""
    assert Tokens(task(puzzle, few), largest=many).tree == Tokens(task(puzzle, many)).tree
    with pytest.raises(pp.InvalidParams, match=f"{field} is larger under {many} than under {few}"):
        Tokens(task(puzzle, many), largest=few)


def test_an_encoder_with_options_is_an_observation_too():
    small = task("netslide", "2x3b1", observation=partial(Tokens, largest="3x3b1"))
    assert small.encoder.tree == task("netslide", "3x3b1", observation="tokens").encoder.tree


# ---- graphs


@pytest.mark.parametrize("level", ["easiest", "default"])
@pytest.mark.parametrize("puzzle", GRAPHS)
def test_graphs_stay_in_their_tree(puzzle, level):
    played = task(puzzle, getattr(pp.spec(puzzle), f"{level}_params"))
    encoder = Graph(played)
    for seed in range(3):
        session = played.session(seed)
        look = encoder.attach(session)
        for _ in play(session, 20):
            graph = look()
            fits(encoder.tree, graph)
            assert graph["edge_links"][: graph["n_edges"][0]].max() < graph["n_nodes"][0]


def solved(puzzle: str, seed: int):
    """The graph of a solved game: nodes, edges, links."""
    played = task(puzzle, pp.spec(puzzle).human_params)
    session = played.session(seed)
    session.solve()
    return Graph(played).graph(session.observe())


def degrees(nodes, links, weights) -> np.ndarray:
    total = np.zeros(len(nodes))
    np.add.at(total, links, np.repeat(weights[:, None], 2, axis=1))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_a_solved_graph_obeys_the_rules(seed):
    nodes, edges, links = solved("bridges", seed)
    assert np.allclose(degrees(nodes, links, 2 * edges[:, 0]), 8 * nodes[:, 0])
    nodes, edges, links = solved("loopy", seed)
    assert set(degrees(nodes, links, edges[:, 1])) <= {0, 2}
    assert edges[:, 1].any()
    nodes, edges, _ = solved("map", seed)
    assert not edges.any()
    assert (nodes[:, 1:5].sum(axis=1) == 1).all()
    nodes, edges, links = solved("net", seed)
    assert np.array_equal(edges[:, 0], edges[:, 1])
    assert degrees(nodes, links, edges[:, 0]).all()
    assert not solved("untangle", seed)[1].any()


def graph_of_bridges(seen):
    islands, nodes, edges = seen["islands"], [], []
    height, width = islands.shape
    where = [(y, x) for y in range(height) for x in range(width) if islands[y, x]]
    for y, x in where:
        here = (y, x) == (seen["cursor_y"], seen["cursor_x"])
        nodes.append([islands[y, x] / 8, seen["marked"][y, x], seen["errors"][y, x], here, x / width, y / height])
        for dy, dx, field in ((0, 1, "horizontal"), (1, 0, "vertical")):
            far = 1
            while y + far * dy < height and x + far * dx < width and not islands[y + far * dy, x + far * dx]:
                far += 1
            other = (y + far * dy, x + far * dx)
            if far > 1 and other in where:  # neighbours leave no room for a bridge
                edges.append(((where.index((y, x)), where.index(other)), [seen[field][y + dy, x + dx] / 2, dx]))
    return nodes, edges


def graph_of_loopy(seen):
    ends = [[tuple(point) for point in edge] for edge in seen["edge_ends"].tolist()]
    dots, most = sorted({point for edge in ends for point in edge}), max(field_of("loopy", "edge_ends").high, 1)
    edges = []
    for k, (a, b) in enumerate(ends):
        clues = [seen["clues"][face] if face >= 0 else -1 for face in seen["edge_faces"][k].tolist()]
        told = [max(clue, 0) / field_of("loopy", "clues").high for clue in clues] + [clue >= 0 for clue in clues]
        line = [seen["lines"][k] == value for value in range(3)]
        edges.append(((dots.index(a), dots.index(b)), [*line, seen["errors"][k], k == seen["cursor_edge"], *told]))
    return [[x / most, y / most] for x, y in dots], edges


def graph_of_map(seen):
    regions, colours = seen["regions"], seen["colours"].tolist()
    height, width, _ = regions.shape
    nodes = []
    for number, colour in enumerate(colours):
        quarters = [(y, x) for y in range(height) for x in range(width) for k in range(4) if regions[y, x, k] == number]
        middle = [
            sum(x for _, x in quarters) / len(quarters) / width,
            sum(y for y, _ in quarters) / len(quarters) / height,
        ]
        under = regions[seen["cursor_y"], seen["cursor_x"], seen["cursor_quarter"]] == number
        nodes.append([*(colour == value for value in range(5)), seen["fixed"][number], under, *middle])
    pairs = [(a, b) for a in range(len(colours)) for b in range(a, len(colours)) if seen["neighbours"][a, b]]
    return nodes, [((a, b), [colours[a] == colours[b] != 0]) for a, b in pairs]


def graph_of_net(seen):
    wires, nodes, edges = seen["wires"], [], []
    height, width, _ = wires.shape
    for y in range(height):
        for x in range(width):
            at = [(y, x) == tuple(seen["source"]), (y, x) == (seen["cursor_y"], seen["cursor_x"])]
            nodes.append([*wires[y, x], *at, x / width, y / height])
            for side, back, dy, dx in (
                (1, 0, 1, 0),
                (3, 2, 0, 1),
            ):  # top, bottom, left, right; round the edge of the board
                other = ((y + dy) % height, (x + dx) % width)
                if not seen["barriers"][y, x, side]:
                    edges.append(
                        ((y * width + x, other[0] * width + other[1]), [wires[y, x, side], wires[other][back]])
                    )
    return nodes, edges


def graph_of_untangle(seen):
    points, most = seen["points"].tolist(), field_of("untangle", "points").high
    nodes = [[x / most, y / most, k == seen["cursor_point"]] for k, (x, y) in enumerate(points)]
    pairs = [(a, b) for a in range(len(points)) for b in range(a, len(points)) if seen["edges"][a, b]]
    return nodes, [((a, b), [seen["crossed"][a, b]]) for a, b in pairs]


GRAPH_PARAMS = {"bridges": "6x5", "loopy": "4x3t0de", "map": "6x5n8de", "net": "4x3w", "untangle": "7"}


def field_of(puzzle: str, name: str):
    return next(field for field in pp.spec(puzzle).fields(GRAPH_PARAMS[puzzle]) if field.name == name)


@pytest.mark.parametrize(
    ("puzzle", "model"),
    [
        ("bridges", graph_of_bridges),
        ("loopy", graph_of_loopy),
        ("map", graph_of_map),
        ("net", graph_of_net),
        ("untangle", graph_of_untangle),
    ],
)
def test_a_graph_is_what_its_table_says(puzzle, model):
    """By plain loops, over random play on boards that are not square."""
    played = pp.Task(puzzle, GRAPH_PARAMS[puzzle])
    encoder = Graph(played)
    met = []
    for seed in range(4):
        with played.session(seed) as session:
            for _ in play(session, 40):
                seen = session.observe()
                nodes, edges = model(seen)
                cursor = [int(seen[one.name]) / one.high for one in session.fields if one.is_ui and not one.shape]
                found = encoder.graph(seen)
                np.testing.assert_allclose(found[0], [[*map(float, node), *cursor] for node in nodes], atol=1e-6)
                ours = sorted(
                    (tuple(link), tuple(edge)) for link, edge in zip(found[2].tolist(), found[1].tolist(), strict=True)
                )
                theirs = sorted((link, tuple(map(float, edge))) for link, edge in edges)
                assert [link for link, _ in ours] == [link for link, _ in theirs]
                np.testing.assert_allclose([edge for _, edge in ours], [edge for _, edge in theirs], atol=1e-6)
                met += [edge for _, edge in theirs]
    assert len(set(met)) > 1


def test_islands_without_water_between_them_have_no_bridge():
    """The generator puts none side by side; whatever stands where, the graph is what its table says."""
    played, random = pp.Task("bridges", GRAPH_PARAMS["bridges"]), np.random.default_rng(0)
    with played.session(1) as session:
        seen = session.observe()
    for _ in range(30):
        for name in ("islands", "horizontal", "vertical"):
            high = field_of("bridges", name).high
            seen[name] = random.integers(high + 1, size=seen[name].shape) * (random.random(seen[name].shape) < 0.6)
        nodes, edges = graph_of_bridges(seen)
        found = Graph(played).graph(seen)
        assert len(found[0]) == len(nodes)
        ours = sorted((tuple(link), *edge) for link, edge in zip(found[2].tolist(), found[1].tolist(), strict=True))
        assert ours == sorted((link, *map(float, edge)) for link, edge in edges)


def test_there_is_room_for_the_largest_graph_and_no_more():
    """Bridges and Net: two edges for each cell. A graph without crossings has at most three edges for each point, less six."""
    for puzzle, params, nodes, edges in (
        ("bridges", "6x5", 30, 60),
        ("net", "4x3", 12, 24),
        ("untangle", "4", 4, 6),
        ("untangle", "9", 9, 21),
        ("map", "6x5n8de", 8, 18),
    ):
        tree = Graph(pp.Task(puzzle, params)).tree
        rooms = [tree[name].shape[0] for name in ("nodes", "edges", "edge_links")]
        assert rooms == [nodes, edges, edges]
        assert [tree[name].high for name in ("n_nodes", "n_edges", "edge_links")] == [nodes, edges, nodes - 1]


def test_leaves_are_in_order():
    tree = task("fifteen", observation="both").encoder.tree
    assert [leaf.name for leaf in leaves(tree)] == list(tree)
    assert PUZZLES


@pytest.mark.parametrize("kind", ["pixels", "both", "text"])
def test_what_is_drawn_or_written_needs_the_game(kind):
    task = pp.Task("net", "2x2", observation=kind)
    with task.session(1) as session, pytest.raises(NotImplementedError, match="from a session or a batch"):
        task.encoder.encode(session.observe())


def test_the_text_of_an_episode_that_is_over_is_gone():
    task = pp.Task("net", "2x2", observation="text")
    with task.batch(2) as batch:
        now, final = task.encoder.attach_batch(batch)
        batch.reset([1, 2])
        assert now().tolist() == [task.session(seed).text() for seed in (1, 2)]
        with pytest.raises(NotImplementedError, match="next_step"):
            final(0)


def test_a_vector_can_be_written_where_there_is_room():
    task = pp.Task("net", "2x2")
    flat = pp.encode.flat.Scaler(task.spec.fields(task.params))
    with task.session(1) as session:
        room = np.full(flat(session.observe()).shape, 7, np.float32)
        assert flat(session.observe(), room) is room
        np.testing.assert_array_equal(room, flat(session.observe()))
