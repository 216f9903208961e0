from __future__ import annotations

import csv

from .. import golden_fields, golden_hints, golden_lengths, golden_words
from ..golden_playthrough import FOLDER, playthrough


def test_play_is_what_it_was(puzzle):
    """After a wanted change, `make golden` writes the files anew: read the difference before you commit it."""
    assert playthrough(puzzle) == (FOLDER / f"{puzzle}.txt").read_text()


def test_every_field_is_what_it_was_on_a_board_that_is_not_square(puzzle):
    """Names the field that differs. After a wanted change, `make golden` writes the file anew."""
    with golden_fields.PATH.open(newline="") as source:
        kept = [row for row in csv.reader(source) if row[0] == puzzle]
    now = golden_fields.rows(puzzle, kept[0][1])
    assert [row[:5] for row in now] == [row[:5] for row in kept]
    assert [row[2] for row, old in zip(now, kept, strict=True) if row != old] == []


def test_hints_say_what_they_said(puzzle):
    """What to do, where it is seen from the cursor, and the keys. After a wanted change: `make golden`."""
    with golden_hints.PATH.open(newline="") as source:
        kept = [row for row in csv.reader(source) if row[0] == puzzle]
    assert golden_hints.rows(puzzle) == kept


def test_an_expert_takes_as_many_keys_as_it_took_and_no_fewer_than_the_shortest_way(puzzle):
    """The shortest way is searched for again where that is quick. After a wanted change: `make golden`."""
    with golden_lengths.PATH.open(newline="") as source:
        kept = [row for row in csv.DictReader(source) if row["puzzle"] == puzzle]
    proved = 0
    for row in kept:
        session = golden_lengths.start(puzzle, row["params"], int(row["seed"]), int(row["actions"]))
        assert golden_lengths.expert(session) == row["expert"], row
        if row["shortest"]:
            assert not row["expert"].isdigit() or int(row["shortest"]) <= int(row["expert"])
            if int(row["states"]) <= golden_lengths.AGAIN:
                assert golden_lengths.shortest(session, golden_lengths.AGAIN) == (row["shortest"], row["states"])
            proved += 1
    assert proved


def test_words_say_what_they_said(puzzle):
    """Moves in words, the expert's, and the answers to what is almost a move. After a wanted change: `make golden`."""
    kept = golden_words.PATH.read_text().split("== ")
    assert "\n".join(golden_words.lines(puzzle)) + "\n" in [f"== {part}" for part in kept[1:]]
