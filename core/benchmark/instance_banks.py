"""Banks of instances: frozen sets for training and testing that share no instance."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count as numbers
from pathlib import Path
from typing import Any

from ..errors import NoSolution
from ..files import aside
from ..game_id import check_seed, episode_seed, random_seed
from ..limits import DEFAULT_TIMEOUT
from ..puzzle_spec import canonical_params, optimal_steps
from ..session import Session
from ..task import unknown_option
from .workers import Workers, on_threads

PATIENCE = 10
"""A setting counts as exhausted after so many times as many repeated instances in a row as it has shown, and at least 1,000."""


@dataclass(frozen=True)
class Instance:
    """One row of a bank."""

    puzzle: str
    params: str
    seed: int
    game_id: str
    instance_hash: str
    generation_ms: float
    optimal_upper_bound: int
    solution: str | None
    """The fields of the solved board as JSON; None where the engine has no solution to give."""


@dataclass(frozen=True)
class Bank:
    """Distinct instances, and a count of what was found and left out."""

    instances: list[Instance]
    seed: int
    """Of the stream that they are taken from."""
    tried: int
    repeated: int
    """Seeds whose instance the bank already had."""
    elsewhere: int
    """Seeds whose instance is in one of the banks that it must not share any with."""
    exhausted: bool
    """Whether the setting seems to have no more."""


def _make(puzzle: str, params: str, timeout: float, seed: int) -> Instance:
    started = time.perf_counter()
    with Session(puzzle, params, seed, timeout=timeout) as session:
        elapsed = 1000 * (time.perf_counter() - started)
        try:
            fields = {field.name for field in session.fields if not field.is_ui}
            solution = json.dumps({name: view.tolist() for name, view in session.solution().items() if name in fields})
        except NoSolution:
            solution = None
        code = f"{session.instance_hash:016x}"
        bound = optimal_steps(puzzle, params)
        return Instance(puzzle, params, seed, session.game_id, code, round(elapsed, 3), bound, solution)


def generate(
    puzzle: str,
    params: str | None = None,
    *,
    count: int = 1000,
    seed: int | None = None,
    apart_from: Iterable[str] = (),
    threads: int = 0,
    timeout: float = DEFAULT_TIMEOUT,
    progress: Callable[[int], None] | None = None,
    workers: Workers | None = None,
    **unknown: Any,  # noqa: ANN401 (for an error that names what was meant)
) -> Bank:
    """So many distinct instances of a setting from the seed's stream, or all that there seem to be.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default.
        count: how many.
        seed: of the stream; ``None`` draws one, and ``Bank.seed`` tells which.
        apart_from: hashes of instances that must not be among them.
        threads: how many generate; 0 for all cores. It changes nothing but the times.
        timeout: seconds that generating one instance may take; 0 for no limit.
        progress: called with the number of instances found.
        workers: where instances are generated, instead of on threads.
    """
    if unknown:
        raise unknown_option(set(unknown), tuple(generate.__kwdefaults__ or ()), "generate has")
    params = canonical_params(puzzle, params)
    if count < 1:
        raise ValueError(f"a bank has at least one instance, not {count}")
    first = random_seed() if seed is None else check_seed(seed)
    forbidden, found = frozenset(apart_from), dict[str, Instance]()
    met = set[str]()
    tried = repeated = elsewhere = in_a_row = 0
    make, seeds = partial(_make, puzzle, params, timeout), (episode_seed(first, at) for at in numbers())
    for instance in (workers or on_threads(threads))(make, seeds):
        tried += 1
        code = instance.instance_hash
        in_a_row = in_a_row + 1 if code in met else 0
        met.add(code)
        if code in forbidden:
            elsewhere += 1
        elif code in found:
            repeated += 1
        else:
            found[code] = instance
            if progress:
                progress(len(found))
        exhausted = in_a_row >= max(1000, PATIENCE * len(met))
        if len(found) == count or exhausted:
            break
    return Bank(list(found.values()), first, tried, repeated, elsewhere, len(found) < count)


# ---- files

SUFFIXES = (".parquet", ".csv")


def save(bank: Bank, path: Path) -> None:
    """Write a bank as Parquet or CSV, by the suffix."""
    rows = [asdict(instance) for instance in bank.instances]
    with aside(path) as part:
        if path.suffix == ".parquet":
            pyarrow = arrow()
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, _schema(pyarrow)), part)
            return
        with part.open("w", encoding="utf-8", newline="") as target:
            writer = csv.DictWriter(target, list(Instance.__annotations__), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def hashes(path: Path) -> list[str]:
    """The hashes of the instances in a bank."""
    try:
        if path.suffix == ".parquet":
            column = arrow().parquet.read_table(path, columns=["instance_hash"]).column("instance_hash")
            return [str(code) for code in column.to_pylist()]
        with path.open(encoding="utf-8", newline="") as source:
            reader = csv.DictReader(source)
            if "instance_hash" not in (reader.fieldnames or ()):
                raise KeyError
            return [row["instance_hash"] for row in reader]
    except (KeyError, ValueError):
        raise ValueError(f"{path} is no bank of instances") from None


def arrow() -> Any:  # noqa: ANN401 (a module)
    """Pyarrow, or an ImportError that names the extra."""
    try:
        import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
        import pyarrow.parquet  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise ImportError("Parquet needs an extra: pip install 'puzzleport[banks]', or write .csv") from error
    return pyarrow


def _schema(pyarrow: Any) -> Any:  # noqa: ANN401 (pyarrow's)
    """The columns: a seed needs all 64 bits."""
    types = {"seed": pyarrow.uint64(), "generation_ms": pyarrow.float64(), "optimal_upper_bound": pyarrow.int64()}
    return pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in Instance.__annotations__])
