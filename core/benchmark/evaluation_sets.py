"""Frozen sets of instances to evaluate on, with what the engine made of them when they were frozen.

``v1`` has 1,000 instances of any setting: its k-th seed is ``FIRST["v1"] + k``. ``v2`` has up to 100 instances of each rung of
the ladder, all different, with the expert's steps: seeds whose instance had come before are left out, so it is a list. Its
file ``sets/v2.npz`` has, one rung after the other, how many instances there are (``count``), and for each instance its seed
less ``FIRST["v2"]`` (``seed``), its ``instance_hash`` (``hash``) and the expert's steps (``expert``), 0 where the expert fails.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files

import numpy as np

from ..errors import quote
from ..game_id import check_seed
from ..puzzle_spec import canonical_params, optimal_steps, puzzles, spec
from ..session import Session

# All streams of episodes, those of random seeds too, keep to seeds below 2**53, so no training that was not given such a seed
# itself meets one of these.
FIRST = {"v1": 2**63, "v2": 2**63 + 2**32}
SIZE = 1000
"""How many instances v1 has of a setting."""
SIZES = {"v1": SIZE, "v2": 100}
"""How many instances a set has of a setting at most."""
SPAN = {"v1": SIZE, "v2": 2**20}
"""How many seeds from the first one on a set may use."""
HEAD = 10
"""How many instances the quick check looks at."""


@dataclass(frozen=True)
class EvalSet:
    """The instances of one puzzle at one setting.

    >>> len(evalset("v1", level="human")["bridges"].seeds)
    1000
    """

    puzzle: str
    params: str
    seeds: list[int]
    head: str | None = None
    """The digest of the first instances, as it was committed; None for a setting that was not."""
    digest: str | None = None
    """The digest of all instances."""
    hashes: tuple[int, ...] = ()
    """In v2: the ``instance_hash`` of each instance, as it was committed."""
    expert_steps: tuple[int, ...] = ()
    """In v2: the steps of the expert; the paper's bound where it does not solve the instance, as by chance in Mines."""

    def computed(self, count: int = SIZE) -> str:
        """The digest of the first so many instances as this engine generates them."""
        digest = hashlib.sha256()
        for one in self._generated(count):
            digest.update(one.to_bytes(8, "little"))
        return digest.hexdigest()[:16]

    def verify(self, quick: bool = False) -> bool:
        """Whether this engine still generates the instances that were committed."""
        if self.hashes:
            count = HEAD if quick else len(self.seeds)
            return self._generated(count) == list(self.hashes[:count])
        return self.computed(HEAD) == self.head if quick else self.computed() == self.digest

    def _generated(self, count: int) -> list[int]:
        with Session(self.puzzle, self.params, self.seeds[0]) as session:
            found = []
            for seed in self.seeds[:count]:
                session.reset(seed)
                found.append(session.instance_hash)
        return found


def check_training_seed(seed: int) -> int:
    """A seed that is not an evaluation set's, or ValueError."""
    for name, first in FIRST.items():
        if first <= check_seed(seed) < first + SPAN[name]:
            raise ValueError(f"the seed {seed} is one of the evaluation set {name}: choose another")
    return seed


def frozen_hashes(name: str, puzzle: str) -> list[int]:
    """The hashes of a puzzle's instances in a frozen set, at all of its settings."""
    if name != "v2":
        raise ValueError(
            f"there is no evaluation set {quote(name)} whose instances can be excluded; there is v2"
            + (". The seeds of v1 are above 2**63, where no training draws any" if name == "v1" else "")
        )
    return [one for (of, _), rung in _v2().items() if of == puzzle for one in rung.hashes]


def evalset(name: str, level: str = "easiest", *, params_of: Mapping[str, str] | None = None) -> dict[str, EvalSet]:
    """The evaluation set of each puzzle at a level, ``easiest`` or ``human``; in v2 also ``rung3``.

    Args:
        name: of the set: ``v1`` or ``v2``.
        level: whose parameters. In v2 puzzles that do not have that level as a rung are left out.
        params_of: instead of a level: the parameters of the puzzles that are wanted.
    """
    if name not in FIRST:
        raise ValueError(f"there is no evaluation set {quote(name)}; there is {', '.join(FIRST)}")
    if params_of is not None:
        wanted = {puzzle: canonical_params(puzzle, params) for puzzle, params in params_of.items()}
    elif level in {"easiest", "human"}:
        wanted = {puzzle: canonical_params(puzzle, getattr(spec(puzzle), f"{level}_params")) for puzzle in puzzles()}
    elif name == "v2" and re.fullmatch("rung[1-9]", level):
        wanted = {puzzle: params for puzzle in puzzles() for params in _rungs(puzzle)[int(level[4]) - 1 :][:1]}
    else:
        raise ValueError(f"the evaluation set {name} has no level {quote(level)}")
    if name == "v2":
        return {
            puzzle: _rung(puzzle, params)
            for puzzle, params in wanted.items()
            if params_of is not None or (puzzle, params) in _v2()
        }
    with files(__package__).joinpath(f"sets/{name}.csv").open(encoding="utf-8") as source:
        committed = {(row["puzzle"], row["params"]): row for row in csv.DictReader(source)}
    seeds = list(range(FIRST[name], FIRST[name] + SIZE))
    sets = {}
    for puzzle, params in wanted.items():
        row = committed.get((puzzle, params), {})
        sets[puzzle] = EvalSet(puzzle, params, seeds, row.get("head"), row.get("digest"))
    return sets


def _rung(puzzle: str, params: str) -> EvalSet:
    if (puzzle, params) not in _v2():
        raise ValueError(f"v2 has the rungs of {spec(puzzle).name}, {', '.join(_rungs(puzzle))}, not {params:.80}")
    return _v2()[puzzle, params]


def _rungs(puzzle: str) -> list[str]:
    return [params for of, params in _v2() if of == puzzle]


@cache
def _v2() -> dict[tuple[str, str], EvalSet]:
    """All rungs by puzzle and parameters."""
    with files(__package__).joinpath("sets/ladder.csv").open(encoding="utf-8") as source:
        names = [(row["puzzle"], row["params"]) for row in csv.DictReader(source)]
    with as_file(files(__package__).joinpath("sets/v2.npz")) as path, np.load(path) as data:
        ends = np.cumsum(data["count"])[:-1]
        columns = zip(*(np.split(data[name], ends) for name in ("seed", "hash", "expert")), strict=True)
    found = {}
    for (puzzle, params), (seeds, hashes, expert) in zip(names, columns, strict=True):
        steps = np.where(expert > 0, expert, optimal_steps(puzzle, params))
        instances = [FIRST["v2"] + seed for seed in seeds.tolist()]
        found[puzzle, params] = EvalSet(
            puzzle, params, instances, hashes=tuple(hashes.tolist()), expert_steps=tuple(steps.tolist())
        )
    return found
