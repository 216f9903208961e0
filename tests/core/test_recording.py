"""Recordings: what is written can be read, what is cut off goes on, and what is none is refused."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from puzzleport.benchmark.recording import FORMAT, BadRecording, Game, Header, Recorder, as_text, load
from puzzleport.benchmark.verification import verify

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


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"actions": ["UP", 1]}, "actions has something that is no name"),
        ({"episodes": 0}, "at least one episode"),
    ],
)
def test_a_header_that_tells_nonsense_is_refused(tmp_path: Path, change: dict[str, object], why: str) -> None:
    path = tmp_path / "run.jsonl"
    header = {"format": FORMAT, **vars(HEADER), **change}
    path.write_text(json.dumps(header) + "\n")
    with pytest.raises(BadRecording, match=why):
        verify(path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"told": {"turns": "3"}}, "told has something that is no number"),
        ({"probabilities": [0.5]}, "no list of numbers"),
        ({"probabilities": [["0.5"]]}, "no list of numbers"),
    ],
)
def test_a_game_that_tells_nonsense_is_refused(tmp_path: Path, change: dict[str, object], why: str) -> None:
    path = tmp_path / "run.jsonl"
    game = {"game": "1", "actions": "0", "status": 1, "steps": 1, **change}
    path.write_text(json.dumps({"format": FORMAT, **vars(HEADER)}) + "\n" + json.dumps(game) + "\n")
    with pytest.raises(BadRecording, match=why):
        load(path)


def test_a_run_with_other_options_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    Recorder(path).write(HEADER, GAMES[:2])
    recorder = Recorder(path, go_on=True)
    recorder.check(HEADER, 2)
    recorder.check(replace(HEADER, params="3x3"), 0)
    for header, played in ((HEADER, 1), (replace(HEADER, max_steps=HEADER.max_steps + 1), 2)):
        with pytest.raises(ValueError, match="with other options: name another file"):
            recorder.check(header, played)
