"""Recorded runs: the same file from any threads, replayed to the same figures, and refused where they claim what is not so."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import puzzleport as pp
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.benchmark.recording import BadRecording, Recorder, load
from puzzleport.benchmark.score import figures
from puzzleport.benchmark.verification import scored, verify
from puzzleport.cli import main

PUZZLES = ("slant", "mines", "fifteen")


def first_legal(observation: Any, mask: Any, random: Any) -> Any:
    """A policy over a batch."""
    return mask.argmax(axis=1)


def recorded(path: Path, policy: Any, threads: int = 1, episodes: int = 6, puzzles: tuple[str, ...] = PUZZLES) -> Path:
    recorder = Recorder(path)
    for name in puzzles:
        params = pp.spec(name).easiest_params
        evaluate(
            policy, name, params, episodes=episodes, evalset="v1", max_steps=300, threads=threads, recorder=recorder
        )
    return path


@pytest.mark.parametrize("policy", ["random", "masked", "expert", first_legal])
def test_a_recording_is_the_same_from_any_threads_and_replays(policy: Any, tmp_path: Path) -> None:
    one, two = recorded(tmp_path / "1.jsonl.gz", policy, 1), recorded(tmp_path / "2.jsonl.gz", policy, 2)
    assert one.read_bytes() == two.read_bytes()
    run = verify(one)
    for result in run.results:
        params = pp.spec(result.puzzle).easiest_params
        alone = evaluate(policy, result.puzzle, params, episodes=6, evalset="v1", max_steps=300)
        assert (result.status, result.steps) == (alone.status, alone.steps)


def test_the_expert_has_all_of_the_score(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run.jsonl.gz", "expert", puzzles=("slant", "fifteen", "net", "solo"))
    told = figures(scored([verify(path)]))
    assert told["success"].mean == told["spl"].mean == 1.0
    assert told["spl"].interval == (1.0, 1.0)


def test_figures_weigh_steps_and_puzzles(tmp_path: Path) -> None:
    """Random play on Slant and Fifteen: what SPL says by hand, game for game."""
    path = recorded(tmp_path / "run.jsonl.gz", "masked", puzzles=("slant", "fifteen"))
    run = verify(path)
    settings = scored([run])
    for setting, result in zip(settings, run.results, strict=True):
        expert = evaluate("expert", result.puzzle, result.params, episodes=6, evalset="v1")
        for k, (status, steps) in enumerate(zip(result.status, result.steps, strict=True)):
            wanted = expert.steps[k] / max(expert.steps[k], steps) if status == 1 else 0.0
            assert setting.values[2][0][k] == pytest.approx(wanted)
    each = [figures([setting])["spl"] for setting in settings]
    both = figures(settings)["spl"]
    assert both.mean == pytest.approx((each[0].mean + each[1].mean) / 2)
    assert all(one.interval and one.interval[0] <= one.mean <= one.interval[1] for one in (*each, both))
    several = figures(scored([run, run]))["spl"]
    assert several.mean == pytest.approx(both.mean)


def test_recordings_of_other_settings_are_not_weighed_together_in_any_order(tmp_path: Path) -> None:
    two = [verify(recorded(tmp_path / f"{name}.jsonl.gz", "masked", puzzles=(name,))) for name in ("slant", "fifteen")]
    more = [verify(recorded(tmp_path / "more.jsonl.gz", "masked", episodes=7, puzzles=("slant",)))]
    for runs in ([two[0], two[1]], [two[1], two[0]], [two[0], two[0], two[1]], [two[0], *more], [*more, two[0]]):
        with pytest.raises(ValueError, match="of different settings"):
            scored(runs)


def test_evaluate_records_goes_on_and_verifies(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    arguments = ["evaluate", "--policy", "masked", "--puzzle", "slant,net", "--episodes", "130", "--evalset", "v1"]
    arguments += ["--max-steps", "200", "--record", str(path)]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    whole = path.read_bytes()
    assert isinstance(CliRunner().invoke(main, arguments).exception, (SystemExit, ValueError))
    assert path.read_bytes() == whole
    for cut in (0, len(whole) // 3, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert CliRunner().invoke(main, [*arguments, "--resume"]).exit_code == 0
        assert path.read_bytes() == whole
    done = CliRunner().invoke(main, ["verify", str(path), "--json"])
    assert done.exit_code == 0
    rows = json.loads(done.stdout)
    assert [row["puzzle"] for row in rows] == ["slant", "net", "all"]
    assert rows[0]["games"] == 130


@pytest.mark.parametrize("by_file", [False, True])
def test_a_trained_agent_records_how_likely_each_action_was(by_file: bool, tmp_path: Path) -> None:
    path, agent = tmp_path / "run.jsonl.gz", pp.agents.load("net")
    folder = Path(pp.agents.published.__file__).parent / "trained"
    policy = str(folder / "net-easiest.safetensors") if by_file else "published"
    arguments = ["evaluate", "--policy", policy, "--puzzle", "net", "--episodes", "6", "--seed", "3"]
    assert CliRunner().invoke(main, [*arguments, "--record", str(path)]).exit_code == 0
    (section,) = load(path)
    for game in section.games:
        session = pp.Session("net", game_id=game.game)
        assert len(game.probabilities) == len(game.actions)
        for action, chances in zip(game.numbers, game.probabilities, strict=True):
            assert chances == pytest.approx(agent.probabilities(session), abs=0.0001)
            session.step(action)
        assert int(session.status) == game.status
    # Whether it is recorded changes nothing of what is played.
    alone = evaluate(policy, "net", agent.params, episodes=6, seed=3)
    (replayed,) = verify(path).results
    assert (replayed.status, replayed.steps) == (alone.status, alone.steps)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def write_lines(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return path


TAMPERED: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "is claimed, but replayed": lambda lines: lines[1].update(status=-lines[1]["status"] or 1),
    "not solved after 300 steps is claimed|solved after .* is claimed": lambda lines: lines[1].update(steps=300),
    "comes next": lambda lines: lines.insert(1, lines.pop(2)),
    "of 6 games are there": lambda lines: lines.pop(6),
    "more games than": lambda lines: lines[0].update(episodes=3),
    "UNDO": lambda lines: lines[0].update(undo=True),
    "the actions are": lambda lines: lines[0].update(actions=["UP"]),
    "neither an evaluation set": lambda lines: lines[0].update(seeds="banana 7"),
    "there is no evaluation set": lambda lines: lines[0].update(seeds="evalset v99"),
    "stands twice": lambda lines: lines.extend(lines[:7]),
    "several policies": lambda lines: lines[7].update(policy="another"),
    "the game is over after": lambda lines: lines[1].update(actions=lines[1]["actions"] + "0"),
    "actions are more than the limit": lambda lines: lines[1].update(actions="0" * 301),
    "at least one episode": lambda lines: lines[0].update(max_steps=0),
    "did you mean|no puzzle": lambda lines: lines[0].update(puzzle="slants"),
    "the probabilities are not": lambda lines: lines[1].update(probabilities=[[1.0]]),
    "an action of": lambda lines: lines[1].update(actions="Z" + lines[1]["actions"][1:]),
}


@pytest.mark.parametrize("why", TAMPERED)
def test_what_is_forged_is_refused_and_told(why: str, tmp_path: Path) -> None:
    lines = lines_of(recorded(tmp_path / "run.jsonl.gz", "expert"))
    TAMPERED[why](lines)
    with pytest.raises(BadRecording, match=why):
        verify(write_lines(tmp_path / "forged.jsonl.gz", lines))


def test_a_thousand_tampered_recordings(tmp_path: Path) -> None:
    """Each is refused, or holds exactly what its actions play: nothing is gained, and nothing ends the process."""
    path = recorded(tmp_path / "run.jsonl.gz", "masked", episodes=3)
    text = gzip.decompress(path.read_bytes())
    values: list[Any] = [None, True, -1, 0, 1, 2**63, 10**30, 1.5, "", "x" * 1000, [], {}, [[0.5]], {"turns": "x"}]
    random_ = random.Random(1)
    refused = 0
    forged = tmp_path / "forged.jsonl.gz"
    for number in range(1000):
        kind = number % 4
        if kind == 0:  # bytes of the text
            data = bytearray(text)
            for _ in range(random_.randrange(1, 4)):
                data[random_.randrange(len(data))] = random_.randrange(256)
            forged.write_bytes(gzip.compress(bytes(data), 1))
        elif kind == 1:  # bytes of the file
            data = bytearray(path.read_bytes())
            data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
            forged.write_bytes(data[: random_.choice([len(data), random_.randrange(len(data))])])
        else:
            lines = [json.loads(line) for line in text.splitlines()]
            line = random_.choice(lines)
            name = random_.choice(list(line))
            if kind == 2:
                line[name] = random_.choice(values)
            elif "game" in line:
                line["actions"] = "".join(random_.choice("012345") for _ in range(random_.randrange(40)))
                line["status"], line["steps"] = 1, len(line["actions"])
            else:
                random_.shuffle(lines)
            write_lines(forged, lines)
        try:
            run = verify(forged)
        except BadRecording:
            refused += 1
            continue
        for section, result in zip(load(forged), run.results, strict=True):
            for game, status, steps in zip(section.games, result.status, result.steps, strict=True):
                with pp.Session(result.puzzle, game_id=game.game, max_steps=result.max_steps) as session:
                    for action in game.numbers:
                        session.act(action)
                    assert (int(session.status), session.steps) == (status, steps)
    assert refused > 500


def test_a_folder_to_publish_to_is_refused_before_the_replay(tmp_path: Path) -> None:
    folder = tmp_path / "folder.jsonl.gz"
    folder.mkdir()
    for force in ([], ["--force"]):
        words = ["verify", str(tmp_path / "none.jsonl.gz"), "--publish", str(folder), *force]
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 2
        assert "folder.jsonl.gz' is a directory" in done.output


def test_what_a_file_says_is_quoted_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl.gz").write_text("root:x:0:0\n")
    done = CliRunner().invoke(main, ["verify", str(tmp_path / "run.jsonl.gz")])
    assert done.exit_code == 2
    assert "root:x:0:0" in done.output.replace("\n", "")
