"""Recordings: what is written can be read, what is cut off goes on, and what is none is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from puzzleport.benchmark.recording import BadRecording, Game, Header, Recorder, as_text, load

HEADER = Header("0", "me", "", "slant", "2x2de", "seed 0", 4, False, 100, 0, ["UP", "DOWN"])
GAMES = [
    Game("2x2de#1", as_text([0, 1, 1]), 1, 3),
    Game("2x2de#2", "", 0, 0, {"turns": 3}, []),
    Game("2x2de#3", "1", -1, 1, {}, [[0.25, 0.75]]),
    Game("2x2de#4", as_text(b"\x00\x0b"), 0, 2),
]


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    recorder = Recorder(path)
    recorder.write(HEADER, GAMES[:2])
    recorder.write(HEADER, GAMES[2:])
    (section,) = load(path)
    assert (section.header, section.games) == (HEADER, GAMES)
    assert section.games[3].numbers == [0, 11]
    assert section.result().status == [1, 0, -1, 0]
    plain = tmp_path / "run.jsonl"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    assert load(plain) == load(path)


def test_a_run_that_was_cut_off_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    recorder = Recorder(path)
    sizes = [0]
    for at in range(4):
        recorder.write(HEADER, GAMES[at : at + 1])
        sizes.append(path.stat().st_size)
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        recorder = Recorder(path, go_on=True)
        played = sum(len(section.games) for section in recorder.sections)
        assert played == sum(size <= cut for size in sizes) - 1
        for at in range(played, 4):
            recorder.write(HEADER, GAMES[at : at + 1])
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ("banana\n", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]\n", "neither a header nor a game"),
        ('{"format": "other"}\n', "can be read"),
        (json.dumps({"game": "1", "actions": "0", "status": 1, "steps": 1}), "a header must come"),
        (json.dumps({"game": "1", "actions": "0!0", "status": 1, "steps": 1}), "actions has '!'"),
        (json.dumps({"game": "1", "actions": "0", "status": True, "steps": 1}), "status is True"),
        (json.dumps({"game": "1", "actions": "0", "steps": 1}), "status is None"),
        ('{"game": "1", "actions": "0", "status": 1, "steps": ' + "9" * 5000 + "}", "is no JSON"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(BadRecording, match=why.replace("(", ".")):
        load(path)


def test_a_small_file_of_an_endless_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(gzip.compress(b"0" * (2**26 + 2), 1))
    with pytest.raises(BadRecording, match="more than"):
        load(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadRecording):
        load(path)
