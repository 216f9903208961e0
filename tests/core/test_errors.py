"""What is wrong is told in a line, however large it is."""

from __future__ import annotations

import numpy as np
import pytest

import puzzleport as pp
from puzzleport.adapters.gymnasium import PuzzleEnv, PuzzleVectorEnv
from puzzleport.adapters.rlp import PaperEnv
from puzzleport.arguments import real, whole
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.errors import quote

TEXT = "x" * 10_000_000
NUMBER = 10**10_000  # Python itself refuses to write out so many digits
LARGE = {
    "text": TEXT,
    "digits": "9" * 10_000_000,
    "number": NUMBER,
    "negative": -NUMBER,
    "list": [1] * 1_000_000,
    "list of numbers": [NUMBER],
    "description": f"2x2:{TEXT}",
    "seed": "2x2#" + "9" * 10_000_000,
}
TAKERS = {
    "puzzle": pp.Session,
    "params": lambda value: pp.Session("fifteen", value),
    "seed": lambda value: pp.Session("fifteen", seed=value),
    "game_id": lambda value: pp.Session("fifteen", game_id=value),
    "action": lambda value: pp.Session("fifteen").step(value),
    "max_steps": lambda value: pp.Session("fifteen", max_steps=value),
    "timeout": lambda value: pp.Session("fifteen", timeout=value),
    "players": lambda value: pp.Session("fifteen", players=value),
    "player": lambda value: pp.Session("fifteen").turn(value),
    "width": lambda value: pp.Session("fifteen").pixels(value, 32),
    "observation": lambda value: pp.Task("fifteen", observation=value).encoder,
    "option": lambda value: pp.Task.of("fifteen", None, {str(value)[:10_000_000]: 1}),
    "rewards": lambda value: pp.Task("fifteen", rewards=value),
    "reward": lambda value: pp.Rewards(hook=value),
    "solution_fields": lambda value: pp.Task("fifteen", rewards=pp.Rewards(solution=1, solution_fields=[value])),
    "num_envs": lambda value: pp.Batch("fifteen", "2x2", value),
    "autoreset": lambda value: pp.Batch("fifteen", "2x2", 1, autoreset=value),
    "policy": lambda value: pp.rollout("fifteen", policy=value),
    "episodes": lambda value: pp.rollout("fifteen", "2x2", episodes=value),
    "episodes of evaluate": lambda value: evaluate("random", "fifteen", "2x2", episodes=value),
    "render_mode": lambda value: PuzzleEnv("fifteen", render_mode=value),
    "obs_type": lambda value: PaperEnv("fifteen", obs_type=value),
    "reset option": lambda value: PuzzleEnv("fifteen").reset(options={str(value)[:10_000_000]: 1}),
    "reset game_id": lambda value: PuzzleEnv("fifteen").reset(options={"game_id": value}),
    "vector seed": lambda value: PuzzleVectorEnv("fifteen", "2x2", 2).reset(seed=value),
}


@pytest.mark.parametrize("what", TAKERS)
@pytest.mark.parametrize("large", LARGE)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_message_is_short_and_ours(what, large):
    value = LARGE[large]
    if isinstance(value, (int, list)) and what in {"option", "reset option"}:
        pytest.skip("the name of an option is a string")
    with pytest.raises((pp.PuzzleError, ValueError, TypeError)) as error:
        TAKERS[what](value)
    message = str(error.value)
    assert len(message) < 700
    assert "Exceeds the limit" not in message


def test_a_quote_is_at_most_a_line():
    assert quote("4x4") == "'4x4'"
    assert len(quote(TEXT)) == len(quote([1] * 1000)) == 80
    assert quote(10**5000) == "a number of 16,610 bits"
    assert "\n" not in quote("\n" * 1000)


def test_a_number_is_taken_from_its_least_to_its_largest_value():
    for value in (3, 7, np.int8(5), 4.0, "4", True, np.True_, None, 2, 8, float("nan")):
        fits = type(value) in (int, np.int8) and 3 <= value <= 7
        if fits:
            assert type(whole(value, "it", 3, 7)) is int
            assert whole(value, "it", 3, 7) == value
        else:
            with pytest.raises(pp.InvalidParams, match="it is a whole number from 3 to 7, not "):
                whole(value, "it", 3, 7, pp.InvalidParams)
    for value in (0.5, 2, np.float32(1.5), 2.001, 0.499, True, "1", b"1", float("nan"), float("inf"), -float("inf")):
        fits = not isinstance(value, (bool, str, bytes)) and 0.5 <= value <= 2
        if fits:
            assert (type(real(value, "so it is", 0.5, 2)), real(value, "so it is", 0.5, 2)) == (float, value)
        else:
            with pytest.raises(pp.UnknownOption, match="so it is, not "):
                real(value, "so it is", 0.5, 2)
    assert real(10**300, "large", 0) == 1e300
    with pytest.raises(pp.UnknownOption, match="finite, not inf"):
        real(float("inf"), "finite", 0)


def test_a_quotation_is_cut_after_its_eightieth_letter():
    for letters in (1, 77, 78, 79, 500):  # and two quotation marks
        told = quote("x" * letters)
        assert told == (repr("x" * letters) if letters <= 78 else "'" + "x" * 76 + "...")
        assert len(told) == min(letters + 2, 80)
