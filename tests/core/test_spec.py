from __future__ import annotations

import numpy as np
import pytest

import puzzleport as pp
from puzzleport.benchmark.paper import table

from ..conftest import levels

ACTIONS = {row["puzzle"]: row for row in table("actions")}


def test_there_are_the_papers_40_puzzles():
    assert pp.puzzles() == sorted(ACTIONS)
    assert len(pp.puzzles()) == 40


def test_actions_are_the_papers_in_its_order(puzzle):
    row = ACTIONS[puzzle]
    assert pp.spec(puzzle).actions == tuple(row["actions"].split())
    assert len(pp.spec(puzzle).actions) == int(row["cardinality"])


def test_undo_can_be_left_out_exactly_where_the_paper_has_it(puzzle):
    about = pp.spec(puzzle)
    assert about.undo == (ACTIONS[puzzle]["actions"].split()[-1] == "UNDO")
    without = pp.Session(puzzle, about.easiest_params, seed=1, undo=False)
    assert without.actions == tuple(name for name in about.actions if name != "UNDO")


def test_levels_are_the_papers(puzzle):
    row = next(row for row in table("parameters") if row["puzzle"] == puzzle)
    assert (pp.spec(puzzle).easiest_params, pp.spec(puzzle).human_params) == (row["easiest"], row["human_easy"])


def narrowest(low: int, high: int) -> np.dtype:
    kinds = (np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32))
    return next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def test_a_field_is_as_narrow_as_its_bounds_allow(puzzle):
    for params in levels(puzzle):
        fields = pp.Session(puzzle, params, seed=1).layout.fields
        assert [field.dtype for field in fields] == [narrowest(field.low, field.high) for field in fields]


@pytest.mark.parametrize(("params", "highest"), [("16x8", 127), ("43x3", 128), ("3x43", 128)])
def test_the_last_number_that_a_byte_holds(params, highest):
    tiles = next(field for field in pp.Session("fifteen", params, seed=1).layout.fields if field.name == "tiles")
    assert (tiles.high, tiles.dtype) == (highest, narrowest(0, highest))


def test_the_spec_says_what_a_newcomer_needs(puzzle):
    about = pp.spec(puzzle)
    assert about.title
    assert len(about.rules) > 100
    assert about.params_help
    for params in levels(puzzle):
        for field in about.fields(params):
            assert field.about, field.name
            assert len(field.about) < 159, f"{field.name}: cut off"
            assert field.low <= field.high


def test_hidden_puzzles():
    assert [name for name in pp.puzzles() if pp.spec(name).hidden] == ["blackbox", "guess", "mines"]


def test_presets_are_understood_and_canonical(puzzle):
    about = pp.spec(puzzle)
    assert about.presets
    for preset in about.presets:
        assert pp.canonical_params(puzzle, preset.params) == preset.params


def test_unknown_puzzle_names_the_nearest():
    with pytest.raises(pp.UnknownPuzzle, match="did you mean 'bridges'"):
        pp.spec("bridge")
    with pytest.raises(pp.UnknownPuzzle, match="did you mean"):
        pp.Session("Sudoku")


def test_optimal_steps_are_the_papers(puzzle):
    """All bounds in the paper's table of results. It prints those of Untangle 4 and 6 in each other's place."""
    rows = [row for row in table("results") if row["puzzle"] == puzzle]
    assert rows
    for row in rows:
        params = {"4": "6", "6": "4"}[row["params"]] if puzzle == "untangle" else row["params"]
        assert pp.optimal_steps(puzzle, params) == int(row["optimal_upper_bound"])
