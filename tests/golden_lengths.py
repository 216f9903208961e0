"""How many keys the expert takes, and how many are enough: ``python -m tests.golden_lengths`` writes tests/golden/lengths.csv.

The positions are the first instances of the paper's easiest level, of a board that is not square and of the human level; some
after legal random play, where wrong entries must be mended; and one that is so many keys of the expert's before the end (a
negative number of actions), where a shortest way can be proved for every puzzle.

Enough is what breadth first search proves without UNDO; it knows what is hidden too. It is left blank where search did not
come to an end within LOOK states. What decides in Mines, Guess and Black Box is hidden from the expert, which plays by sight.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

import puzzleport as pp
from puzzleport.agents import search
from puzzleport.agents.expert import ExpertPolicy
from puzzleport.benchmark.positions import after_random_play

from .golden_fields import oblong

PATH = Path(__file__).parent / "golden" / "lengths.csv"
LOOK = 60_000
AGAIN = 5_000
"""Searches that looked at no more states than this are made again by the test."""


def positions(puzzle: str) -> list[tuple[str, int, int]]:
    """Parameters, seed, and how many random actions come first, or how many of the expert's are left."""
    about = pp.spec(puzzle)
    found = [(about.easiest_params, seed, 0) for seed in range(3)]
    found += [(about.easiest_params, 3, 8), (about.easiest_params, 4, -5)]
    found += [(about.easiest_params, seed, 20) for seed in range(5)]
    found += [(oblong(puzzle), seed, 0) for seed in range(2)]
    return [*found, *((about.human_params, seed, 0) for seed in range(2)), (about.human_params, 2, 20)]


def start(puzzle: str, params: str, seed: int, actions: int) -> pp.Session:
    """The game after some legal actions that did not end it, or so many keys before the end of the expert's way."""
    session, random = pp.Session(puzzle, params, seed, max_steps=0), np.random.default_rng(seed)
    if actions < 0:
        for action in way(session)[:actions]:
            session.step(action)
    return after_random_play(session, actions, random)


def way(session: pp.Session) -> list[int]:
    """The expert's keys from here to the end."""
    if not session.spec.hidden:
        return session.plan()
    policy, game, taken = ExpertPolicy(session.puzzle), session.clone(), []
    while game.status == pp.Status.ONGOING:
        taken.append(policy(game))
        game.step(taken[-1])
    return taken if game.status == pp.Status.SOLVED else []


def expert(session: pp.Session) -> str:
    """How many keys the expert takes from here; else why there is no plan."""
    try:
        return str(len(way(session)) or "lost")
    except pp.errors.NoPlan as error:
        return str(error).split(": ")[-1]


def shortest(session: pp.Session, states: int) -> tuple[str, str]:
    """The least number of keys and the states that were looked at to prove it."""
    found = search.bfs(session, max_nodes=states)
    return ("", "") if found.actions is None else (str(len(found.actions)), str(found.nodes))


def main() -> None:
    """Write the file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["puzzle", "params", "seed", "actions", "expert", "shortest", "states"])
    for puzzle in pp.puzzles():
        print(puzzle, flush=True)
        for params, seed, actions in positions(puzzle):
            session = start(puzzle, params, seed, actions)
            human = pp.spec(puzzle).human_params == params
            few = shortest(session, AGAIN if human else LOOK)
            writer.writerow([puzzle, params, seed, actions, expert(session), *few])
    PATH.write_text(text.getvalue())


if __name__ == "__main__":
    main()
