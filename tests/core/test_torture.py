"""``make torture`` in small, and odd objects in the place of every argument."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import puzzleport as pp
from puzzleport.agents import search

from .. import torture

SUBJECTS = {"pairs": ["session", "batch", "tree", "gymnasium"], "forks": ["session", "batch"], "forged": ["bridges"]}


@pytest.mark.parametrize("kind", torture.KINDS)
def test_torture(kind):
    for subject in SUBJECTS.get(kind, torture.KINDS[kind][1][:2]):
        assert torture.run(kind, subject, 1, 0.8) is None


def test_every_adapter_is_tortured():
    """A new one gets a function in tests/torture.py, whose name starts with that of its file."""
    files = (Path(__file__).parents[2] / "adapters").glob("*.py")
    names = {file.stem for file in files if not file.stem.endswith(("_bench", "_spaces", "__init__"))}
    assert {name for name in names if not any(thing.startswith(name) for thing in torture.THINGS)} == set(
        torture.NO_OBJECT
    )


class Odd:
    """Says something else each time, or raises."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def answer(self, *_):
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    __index__ = __len__ = __bool__ = __repr__ = __hash__ = __iter__ = __eq__ = __str__ = __float__ = answer


odd = (
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats()
    | st.text(max_size=12)
    | st.binary(max_size=8)
    | st.lists(st.integers(-3, 3), max_size=3)
    | st.sampled_from([object(), {}, Odd, (1, 2), 1j, pp, Ellipsis, memoryview(b"abc")])
    | st.builds(Odd, st.integers(-3, 3), st.integers(-(2**70), 2**70), st.just(KeyError("odd")))
)
LARGE = {
    "num_envs": 64,
    "episodes": 8,
    "threads": 4,
    "max_nodes": 500,
    "simulations": 8,
    "rollout_depth": 20,
    "batch": 8,
}
"""What is refused only far above what a test has time for."""


def within(name: str, value: object) -> object:
    return min(value, LARGE[name]) if name in LARGE and type(value) is int else value


TREE = search.Tree(pp.Session("net", "2x2", 1), max_nodes=500)
CALLS = {
    "Session": (pp.Session, {"puzzle": "net", "params": "2x2", "seed": 1, "timeout": 0.5}),
    "Batch": (pp.Batch, {"puzzle": "net", "params": "2x2", "num_envs": 2, "threads": 1, "timeout": 0.5}),
    "rollout": (
        pp.rollout,
        {"puzzle": "net", "params": "2x2", "episodes": 2, "max_steps": 5, "threads": 1, "timeout": 0.5},
    ),
    "Task": (pp.Task, {"puzzle": "net", "params": "2x2"}),
    "Tree": (search.Tree, {"session": pp.Session("net", "2x2", 1), "max_nodes": 50}),
    "simulate": (TREE.simulate, {"simulations": 2, "rollout_depth": 3}),
    "load": (pp.Session.load, {"saved": pp.Session("net", "2x2", 1).save()}),
    "pixels": (pp.Session("net", "2x2", 1).pixels, {}),
    "plan": (pp.Session("net", "2x2", 1).plan, {}),
    "reset": (pp.Session("net", "2x2", 1).reset, {}),
    "limit": (pp.Session("net", "2x2", 1).limit, {}),
    "turn": (pp.Session("net", "2x2", 1).turn, {}),
    "step": (pp.Session("net", "2x2", 1).step, {}),
    "spec": (pp.spec, {}),
    "optimal_steps": (pp.optimal_steps, {"puzzle": "net"}),
}


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=20)
@given(data=st.data())
def test_any_argument_may_be_odd(name, data):
    """It is taken, or refused with an exception of ours or of the odd object itself; nothing dies."""
    call, usual = CALLS[name]
    names = [one for one, about in inspect.signature(call).parameters.items() if about.kind is not about.VAR_KEYWORD]
    given_ = dict(usual)
    for which in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)):
        if which not in ("progress", "session"):
            given_[which] = within(which, data.draw(odd))
    try:
        call(**given_)
    except (pp.PuzzleError, TypeError, ValueError, KeyError, IndexError, OverflowError, MemoryError):
        return
