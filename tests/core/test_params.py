from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import puzzleport as pp
from puzzleport.benchmark.paper import table
from puzzleport.puzzle_spec import MAX_CELLS, MAX_PARAMS

PAPERS = sorted(
    {(row["puzzle"], row[level]) for row in table("parameters") for level in ("easiest", "human_easy")}
    | {(row["puzzle"], row["params"]) for row in table("results")}
)

# The examples of the paper's table of optional parameters.
EXAMPLES = [
    ("blackbox", "w8h8m5M5"), ("bridges", "7x7i5e2m2d0"), ("cube", "c4x4"), ("dominosa", "6db"), ("fifteen", "4x4"),
    ("filling", "13x9"), ("flip", "5x5c"), ("flood", "12x12c6m5"), ("galaxies", "7x7dn"), ("guess", "c6p4g10Bm"),
    ("inertia", "10x8"), ("keen", "6dn"), ("lightup", "7x7b20s4d0"), ("loopy", "10x10t12dh"), ("magnets", "6x5dtS"),
    ("map", "20x15n30dn"), ("mines", "9x9n10"), ("mosaic", "10x10h0"), ("net", "5x5wb0.5"), ("netslide", "4x4wb1m2"),
    ("palisade", "5x5n5"), ("pattern", "15x15"), ("pearl", "8x8dtn"), ("pegs", "7x7cross"), ("range", "9x6"),
    ("rect", "7x7e4"), ("samegame", "5x5c3s2"), ("signpost", "4x4c"), ("singles", "5x5de"), ("sixteen", "5x5m2"),
    ("slant", "8x8de"), ("solo", "3x3"), ("tents", "8x8de"), ("towers", "5de"), ("tracks", "8x8dto"),
    ("twiddle", "3x3n2"), ("undead", "4x4dn"), ("unequal", "5adk"), ("unruly", "8x8dt"), ("untangle", "25"),
]  # fmt: skip


@pytest.mark.parametrize(("puzzle", "params"), PAPERS)
def test_everything_in_the_papers_tables_generates(puzzle, params):
    session = pp.Session(puzzle, params, seed=1)
    assert session.status == pp.Status.ONGOING
    assert session.mask().any()


@pytest.mark.parametrize(("puzzle", "params"), EXAMPLES)
def test_the_papers_examples_are_understood(puzzle, params):
    assert pp.spec(puzzle).fields(params)


def test_an_example_that_the_engine_has_come_to_refuse():
    with pytest.raises(pp.InvalidParams, match="Order must be at least 5 for Adjacent puzzles of this difficulty"):
        pp.Session("unequal", "4adk")


def test_every_preset_generates_a_game_that_its_id_starts_again(puzzle):
    slow = 0
    for preset in pp.spec(puzzle).presets:
        try:
            session = pp.Session(puzzle, preset.params, seed=3, timeout=5)
        except pp.GenerationTimeout:
            slow += 1
            continue
        assert session.params == preset.params
        assert pp.Session(puzzle, game_id=session.game_id).hash() == session.hash() or pp.spec(puzzle).hidden
    assert slow == 0


def test_canonical_params_are_a_fixed_point(puzzle):
    about = pp.spec(puzzle)
    for params in (about.easiest_params, about.human_params):
        full = pp.canonical_params(puzzle, params)
        assert pp.canonical_params(puzzle, full) == full


@pytest.mark.parametrize(
    ("puzzle", "game_id"),
    [
        ("bridges", "3x3i99:1a1f"),
        ("lightup", "2x2b1:d"),
        ("mines", "1x12n3:0,0,m0f0"),
        ("mines", "2x9n3:r0,u,abcdef0123456789"),
        ("net", "2x2w:3131"),
        ("palisade", "2x2n4:d"),
        ("palisade", "2x2n2:d"),
        ("pegs", "4x4:PPPOPPHPPPPPPPPP"),
        ("pegs", "3x1:PPH"),
        ("range", "2x2:d"),
        ("signpost", "1x1:1a"),
    ],
)
def test_a_description_needs_no_parameters_that_a_generator_takes(puzzle, game_id):
    """As in the original programs. What was described plays; a game from a seed is refused under these parameters."""
    params = game_id.split(":")[0]
    with pytest.raises(pp.InvalidParams):
        pp.Session(puzzle, params, seed=1)
    session = pp.Session(puzzle, game_id)
    session.pixels()
    for action in session.actions * 3:
        session.step(action)
    assert pp.Session.load(session.save()).hash() == session.clone().hash() == session.hash()
    with pytest.raises(pp.InvalidParams):
        session.reset(seed=1)
    task = pp.Task(puzzle, game_id)
    assert pp.optimal_steps(puzzle, task.params) > 0
    with pp.Batch(puzzle, game_id, 2) as batch:
        batch.reset(seed=1)
        batch.step([0, 1])


def test_galaxies_alias():
    assert pp.canonical_params("galaxies", "3x3de") == "3x3dn"


@pytest.mark.parametrize(
    "junk", ["garbage", "3x3;rm", "-3x3", "3x3 ", " 3x3", "3x3\n", "３x３", "\0", "garbage#1", "3x3;rm:a"]
)
def test_junk_is_refused_with_what_is_understood(puzzle, junk):
    with pytest.raises(pp.InvalidParams, match=r"understood"):
        pp.Session(puzzle, junk, seed=1)


@pytest.mark.parametrize("game_id", ["3x3#1", "3x3:a"])
def test_a_game_id_is_no_parameter_string(puzzle, game_id):
    with pytest.raises(pp.InvalidParams, match=r"understood"):
        pp.canonical_params(puzzle, game_id)


@pytest.mark.parametrize("junk", [3, 3.5, b"3x3", ["3x3"], True])
def test_what_is_no_string_is_refused(junk):
    with pytest.raises((pp.InvalidParams, TypeError)):
        pp.Session("bridges", junk, seed=1)


def test_the_engines_own_words_come_through():
    with pytest.raises(pp.InvalidParams, match="Width and height must be at least 3"):
        pp.Session("bridges", "2x2")
    with pytest.raises(pp.InvalidParams, match="Grid size must be between 3 and 9"):
        pp.Session("keen", "2")


@pytest.mark.parametrize(
    ("puzzle", "params", "why"),
    [
        ("galaxies", "3x3du", "width or height must be at least 4"),
        ("lightup", "2x2b20s0d1", "Tricky needs at least 6 squares"),
        ("lightup", "2x4b20s0d2", "Hard needs at least 9 squares"),
        ("lightup", "3x3b20s4d2", "Hard needs at least 10 squares with symmetry"),
        ("loopy", "3x3t11de", "Width and height for this grid type must both be at least 4"),
        ("loopy", "5x4t12de", "Width and height for this grid type must both be at least 5"),
        ("loopy", "5x6t11dn", "Width and height for this grid type and difficulty must both be at least 6"),
        ("magnets", "3x6dtS", "Tricky is not possible with 3 by 6 squares"),
        ("magnets", "6x3dtS", "Tricky is not possible with 3 by 6 squares"),
        ("solo", "2x1r4", "Two digits cannot be placed with this symmetry"),
    ],
)
def test_parameters_for_which_no_board_is_found_are_refused_at_once(puzzle, params, why):
    """The engine would look for one for ever. One step further there are boards."""
    with pytest.raises(pp.InvalidParams, match=re.escape(why)):
        pp.Session(puzzle, params, seed=1, timeout=10)


@pytest.mark.parametrize(
    ("puzzle", "params"),
    [("lightup", "2x3b20s0d1"), ("lightup", "3x3b20s0d2"), ("loopy", "4x4t11de"), ("loopy", "5x5t12de"),
     ("magnets", "3x7dtS"), ("solo", "2x1"), ("galaxies", "4x3du")],
)  # fmt: skip
def test_parameters_one_step_further_are_played(puzzle, params):
    assert pp.Session(puzzle, params, seed=1, timeout=60).params == pp.canonical_params(puzzle, params)


def test_the_message_says_how_far_it_was_understood():
    with pytest.raises(pp.InvalidParams, match=re.escape("only its start '3x3' is understood")):
        pp.Session("bridges", "3x3;rm")


def test_large_boards_need_permission():
    with pytest.raises(pp.InvalidParams, match="limit"):
        pp.Session("fifteen", "200x200", seed=1)
    pp.set_max_cells(50_000)
    try:
        assert pp.Session("fifteen", "200x200", seed=1).observe()["tiles"].shape == (200, 200)
    finally:
        pp.set_max_cells(2500)


# The field with an item for each cell, where it is not the first grid of the board.
CELLS = {"galaxies": "arrow_x", "loopy": "clues", "pattern": "squares", "slant": "slashes", "towers": "digits"}
# Boards that are not square, or whose cells are no squares.
OBLONG = [
    *[
        ("blackbox", "w4h3m2M3"),
        ("cube", "c3x4"),
        ("cube", "t1x2"),
        ("cube", "o2x2"),
        ("cube", "i3x2"),
        ("dominosa", "2dt"),
    ],
    *[
        ("galaxies", "4x6"),
        ("guess", "c4p3g7Bm"),
        ("mines", "4x6"),
        ("range", "4x6"),
        ("slant", "4x6"),
        ("solo", "2x3"),
    ],
    *[("undead", "4x5"), ("untangle", "7")],
]


@pytest.mark.parametrize(("puzzle", "params"), dict.fromkeys([*EXAMPLES, *OBLONG]))
def test_a_board_is_refused_exactly_above_the_limit_of_cells(puzzle, params):
    """Cells are what the board shows of them; three for each point of Untangle, whose lines count too."""
    board = pp.Session(puzzle, params, seed=1, timeout=60)
    first = next(field.name for field in board.fields if len(field.shape) > 1)
    shown = np.asarray(board.observe()[CELLS.get(puzzle, first)])
    cells = {"cube": int((shown >= 0).sum()), "loopy": shown.size, "untangle": 3 * len(shown)}.get(
        puzzle, int(np.prod(shown.shape[:2]))
    )
    try:
        pp.set_max_cells(cells)
        assert pp.canonical_params(puzzle, params) == board.params
        pp.set_max_cells(cells - 1)
        with pytest.raises(pp.InvalidParams, match=f"{cells} cells are more than the limit of {cells - 1} "):
            pp.canonical_params(puzzle, params)
    finally:
        pp.set_max_cells(2500)


@given(data=st.data())
def test_mutated_params_never_pass_unread(data):
    """A character more or less is either understood, in full, or refused."""
    puzzle = data.draw(st.sampled_from(pp.puzzles()))
    params = data.draw(st.sampled_from([pp.spec(puzzle).easiest_params, pp.spec(puzzle).default_params]))
    at = data.draw(st.integers(0, len(params)))
    extra = data.draw(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=2))
    written = params[:at] + extra + params[at + data.draw(st.integers(0, 1)) :]
    try:
        full = pp.canonical_params(puzzle, written)
    except pp.InvalidParams:
        return
    # Every number that was written is in what was understood.
    for number in re.findall(r"\d+\.?\d*", written):
        assert float(number) in [float(one) for one in re.findall(r"\d+\.?\d*", full)] or puzzle == "mosaic"


def test_boards_of_as_many_cells_as_are_allowed_and_no_more():
    least, most = 1, MAX_CELLS
    try:
        for wrong in (least - 1, most + 1, -1, float("nan"), "many", None):
            with pytest.raises(pp.UnknownOption, match=f"a number of cells from 1 to {most}, not "):
                pp.set_max_cells(wrong)
        for cells in (6, least, most):
            pp.set_max_cells(cells)
            for width, height in ((2, 2), (2, 3), (3, 2), (7, 1), (3, 3)):
                if min(width, height) > 1 and width * height <= cells:
                    assert pp.canonical_params("fifteen", f"{width}x{height}") == f"{width}x{height}"
                elif min(width, height) > 1:
                    with pytest.raises(pp.InvalidParams):
                        pp.canonical_params("fifteen", f"{width}x{height}")
    finally:
        pp.set_max_cells(2500)


def test_parameters_have_at_most_so_many_characters():
    for length in (MAX_PARAMS, MAX_PARAMS + 1):
        with pytest.raises(pp.InvalidParams) as told:
            pp.canonical_params("fifteen", "x" * length)
        too_long = f"fifteen: parameters may have at most {MAX_PARAMS} characters, not {length}"
        assert (str(told.value) == too_long) == (length > MAX_PARAMS)
