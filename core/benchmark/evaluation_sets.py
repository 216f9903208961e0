"""Frozen sets of instances to evaluate on, with what the engine made of them when they were frozen."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from ..errors import quote
from ..game_id import check_seed
from ..puzzle_spec import canonical_params, puzzles, spec
from ..session import Session

# A set is a rule, not a list: its k-th seed is FIRST + k. All streams of episodes, those of random seeds too, keep to
# seeds below 2**53, so no training that was not given such a seed itself meets one of these.
FIRST = {"v1": 2**63}
SIZE = 1000
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
    head: str | None
    """The digest of the first instances, as it was committed; None for a setting that was not."""
    digest: str | None
    """The digest of all instances."""

    def computed(self, count: int = SIZE) -> str:
        """The digest of the first so many instances as this engine generates them."""
        digest = hashlib.sha256()
        with Session(self.puzzle, self.params, self.seeds[0]) as session:
            for seed in self.seeds[:count]:
                session.reset(seed)
                digest.update(session.instance_hash.to_bytes(8, "little"))
        return digest.hexdigest()[:16]

    def verify(self, quick: bool = False) -> bool:
        """Whether this engine still generates the instances that were committed."""
        return self.computed(HEAD) == self.head if quick else self.computed() == self.digest


def check_training_seed(seed: int) -> int:
    """A seed that is not an evaluation set's, or ValueError."""
    for name, first in FIRST.items():
        if first <= check_seed(seed) < first + SIZE:
            raise ValueError(f"the seed {seed} is one of the evaluation set {name}: choose another")
    return seed


def frozen_hashes(name: str, puzzle: str) -> list[int]:
    """The hashes of a puzzle's instances in a frozen set, at all of its settings."""
    known = [name for name in FIRST if name != "v1"]
    if name not in known:
        raise ValueError(
            f"there is no evaluation set {quote(name)} whose instances can be excluded; there is {', '.join(known) or 'none'}"
            + (". The seeds of v1 are above 2**63, where no training draws any" if name == "v1" else "")
        )
    with files(__package__).joinpath(f"sets/{name}.csv").open(encoding="utf-8") as source:
        rows = [row for row in csv.DictReader(source) if row["puzzle"] == puzzle]
    return [int(digits, 16) for row in rows for digits in row["hashes"].split()]


def evalset(name: str, level: str = "easiest", *, params_of: Mapping[str, str] | None = None) -> dict[str, EvalSet]:
    """The evaluation set of each puzzle at a level, ``easiest`` or ``human``.

    Args:
        name: of the set: ``v1``.
        level: whose parameters.
        params_of: instead of a level: the parameters of the puzzles that are wanted.
    """
    if name not in FIRST:
        raise ValueError(f"there is no evaluation set {quote(name)}; there is {', '.join(FIRST)}")
    if params_of is None:
        if level not in {"easiest", "human"}:
            raise ValueError(f"an evaluation set has the levels easiest and human, not {quote(level)}")
        params_of = {puzzle: getattr(spec(puzzle), f"{level}_params") for puzzle in puzzles()}
    with files(__package__).joinpath(f"sets/{name}.csv").open(encoding="utf-8") as source:
        committed = {(row["puzzle"], row["params"]): row for row in csv.DictReader(source)}
    seeds = list(range(FIRST[name], FIRST[name] + SIZE))
    sets = {}
    for puzzle, params in params_of.items():
        params = canonical_params(puzzle, params)
        row = committed.get((puzzle, params), {})
        sets[puzzle] = EvalSet(puzzle, params, seeds, row.get("head"), row.get("digest"))
    return sets
