"""Broken rules: each is told when the board breaks it, none when it does not, and none by what is hidden."""

from __future__ import annotations

import re

import numpy as np
import pytest

import puzzleport as pp
from puzzleport.language import Dialogue
from puzzleport.language.grammar import grammar
from puzzleport.language.rules import RULES

WITH_RULES = [name for name in pp.puzzles() if any(line.startswith("rule ") for line in pp.spec(name).words)]


@pytest.mark.parametrize("name", pp.puzzles())
def test_a_rule_names_what_there_is(name: str) -> None:
    for preset in pp.spec(name).presets:
        words = grammar(name, pp.canonical_params(name, preset.params))
        for kind, *items in words.rules:
            assert kind in RULES
            for item in items:
                field, _, symbol = item.partition("=")
                if symbol:
                    assert symbol == "." or words.layers[field].read(symbol) is not None
                elif not field.isdigit() and kind != "once":
                    assert field in words.by_name


@pytest.mark.parametrize("level", ["easiest", "human"])
@pytest.mark.parametrize("name", WITH_RULES)
def test_the_way_to_a_solution_breaks_no_rule(name: str, level: str) -> None:
    for seed in range(3):
        with Dialogue(name, getattr(pp.spec(name), f"{level}_params"), seed) as game:
            while not game.done:
                assert not [told for told in game.say(game.hint()).problems if "errors" not in told]
            assert game.solved


BROKEN = {
    "unruly 6x6dt#1": (
        "few",
        r"R\dC\d to R\dC\d are three [BW] in a line",
        r"(row|column) \d has [456] [BW], 3 is half of it",
    ),
    "tents 8x8de#1": (
        "A",
        r"R\dC\d and R\dC\d are both A and touch",
        r"R\dC\d is A with none of the trees beside it",
        r"(row|column) \d has \d A, its number is \d",
    ),
    "lightup 7x7b20s4d0#1": (
        "o",
        r"R\dC\d and R\dC\d are both o and see each other",
        r"R\dC\d has \d o around it, its number is \d",
    ),
    "filling 9x7#1": ("2", r": [3-9] places with 2 hang together"),
    "range 9x6#1": (
        "B",
        r"R\dC\d and R\dC\d are both B and share a side",
        r"R\dC\d sees \d places at most, its number is \d+",
        r"the B cut R\dC\d.* off from the other places",
    ),
    "pattern 5x5#1": ("B", r"(row|column) \d has runs of B of 5, its numbers are [\d ]+"),
    "dominosa 3dt#1": ("edge", r"R\dC\d-R\dC\d and R\dC\d-R\dC\d are the same domino, \d and \d"),
    "map 20x15n30de#1": ("paint", r"G\d+ and G\d+ are neighbours and both have [1-4]"),
    "solo 2x2#1": ("1", r"row \d has two 1s", r"block \d has two 1s"),
}


@pytest.mark.parametrize("which", BROKEN)
def test_a_board_that_breaks_a_rule_is_told_so(which: str) -> None:
    """One symbol is put wherever it goes: whatever the rule, that breaks it somewhere."""
    (name, game_id), (symbol, *wanted) = which.split(), BROKEN[which]
    with Dialogue(name, game_id=game_id, max_steps=0) as game:
        told = set()
        for text in game.legal():
            if symbol in ("few", "edge", "paint") or text.endswith(f"={symbol}"):
                told.update(game.say(text).problems)
                told.update(game.broken_rules())
        for pattern in wanted:
            assert any(re.search(pattern, one) for one in told), (pattern, told)


def test_three_in_a_line_are_named_by_the_first_and_the_last() -> None:
    with Dialogue("unruly", game_id="6x6dt#1") as game:
        free = game.session.observe()["colours"] == 0
        for way, (dy, dx) in {"row": (0, 1), "column": (1, 0)}.items():
            y, x = next(
                (y, x)
                for y, x in np.argwhere(free[: 6 - 2 * dy, : 6 - 2 * dx])
                if all(free[y + i * dy, x + i * dx] for i in range(3))
            )
            places = [f"R{y + i * dy + 1}C{x + i * dx + 1}" for i in range(3)]
            with Dialogue("unruly", game_id="6x6dt#1") as fresh:
                told = fresh.say("; ".join(f"{place}=B" for place in places)).problems
                assert f"{places[0]} to {places[2]} are three B in a line" in told, way


def test_flags_are_counted_by_what_is_open() -> None:
    """Every square around a number is marked: more than it says. Before anything is open no number can complain."""
    with Dialogue("mines", "9x9n10", seed=1) as game:
        assert not game.say("R1C1=F; R1C2=F; R2C1=F").problems
    with Dialogue("mines", "9x9n10", seed=1) as game:
        game.say("R5C5 open")
        marked = ";".join(text for text in game.legal() if text.endswith("=F"))
        assert any(re.search(r"has \d F around it, its number is \d", told) for told in game.say(marked).problems)


def test_a_region_that_cannot_grow_is_told() -> None:
    with Dialogue("filling", "4x4", seed=2) as game:
        for text in game.legal():
            if text.endswith(("=9", "=1")):
                game.say(text)
        assert any("are shut in" in told for told in game.broken_rules())
