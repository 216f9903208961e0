"""What an evaluation came to, episode by episode, and the files that keep it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write
from ..game_id import names_instance, parse_game_id
from ..puzzle_spec import canonical_params, optimal_steps
from ..session import Status

PAPER_EPISODES = 1000
FORMAT = "puzzleport results 1"


@dataclass
class Result:
    """What became of one policy on one setting, episode by episode."""

    policy: str
    puzzle: str
    params: str
    seeds: str
    """Where the seeds come from: ``seed 0`` or ``evalset v1``."""
    max_steps: int
    undo: bool
    fingerprint: str = ""
    """Tells apart policies of the same name, such as a model that was trained further."""
    episodes: int = PAPER_EPISODES
    """How many were asked for."""
    max_repeats: int = 0
    status: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    told: dict[str, list[int]] = field(default_factory=dict)
    """What else is known of each episode: turns, problems and tokens of a player in words."""

    @property
    def task_key(self) -> tuple[Any, ...]:
        """What must be equal for two results to differ by their seeds alone."""
        return self.policy, self.fingerprint, self.puzzle, self.params, self.max_steps, self.max_repeats, self.undo

    @property
    def key(self) -> tuple[Any, ...]:
        """What must be equal for one result to be the continuation of another."""
        return (*self.task_key, self.seeds)

    @property
    def seed(self) -> int | None:
        """The seed of the stream of instances; None where they are an evaluation set's."""
        word, _, number = self.seeds.partition(" ")
        return int(number) if word == "seed" and number.isdecimal() else None

    @property
    def complete(self) -> bool:
        """Whether all episodes were played."""
        return len(self.steps) >= self.episodes

    def summary(self) -> dict[str, Any]:
        """One row, with the columns of the paper's table of results first."""
        status = np.array(self.status, np.int64)
        lengths = np.array(self.steps, np.int64)[status == Status.SOLVED]
        played = max(len(status), 1)
        most = bound(self.puzzle, self.params)
        return {
            "puzzle": self.puzzle,
            "params": self.params,
            "optimal_upper_bound": most,
            "algorithm": self.policy,
            "mean_successful_steps": round(float(lengths.mean()), 1) if len(lengths) else None,
            "std": round(float(lengths.std()), 1) if len(lengths) else None,
            "success_percent": round(100 * len(lengths) / played, 1),
            "within_bound_percent": round(100 * int((lengths <= most).sum()) / played, 1),
            "failed_percent": round(100 * int((status == Status.FAILED).sum()) / played, 1),
            "episodes": len(status),
            "max_steps": self.max_steps,
            "max_repeats": self.max_repeats,
            "undo": self.undo,
            "seeds": self.seeds,
            **{f"mean_{name}": round(float(np.mean(numbers)), 1) for name, numbers in self.told.items() if numbers},
        }


BOUND = "bound: the paper's upper bound on the steps of an optimal play, cursor moves included; a good policy stays below it"
"""What the column ``bound`` of every table means."""


def bound(puzzle: str, params: str) -> int:
    """The paper's upper bound for parameters or for one instance."""
    return optimal_steps(puzzle, parse_game_id(puzzle, params).params if names_instance(params) else params)


def save(results: Sequence[Result], path: Path) -> None:
    """Write results: every episode as JSON, or one summarising row for each as CSV, by the suffix."""
    if path.suffix == ".csv":
        write(path, as_csv([result.summary() for result in results]))
        return
    lines = ",\n".join(json.dumps(asdict(result)) for result in results)
    write(path, f'{{"format": {json.dumps(FORMAT)}, "results": [\n{lines}\n]}}\n')


def load(path: Path) -> list[Result]:
    """Read results from JSON."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise KeyError
        known = {one.name for one in fields(Result)}
        return [Result(**{name: value for name, value in row.items() if name in known}) for row in data["results"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} holds no results of puzzleport evaluate") from None


def load_rows(path: Path) -> list[dict[str, Any]]:
    """The summaries in a file of results, from JSON or CSV."""
    if path.suffix != ".csv":
        return [result.summary() for result in load(path)]
    try:
        with path.open(encoding="utf-8", newline="") as source:
            reader = csv.DictReader(source)
            rows: list[dict[str, Any]] = list(reader)
        if not {"puzzle", "params", "algorithm", "mean_successful_steps"} <= set(reader.fieldnames or ()):
            raise KeyError
        for row in rows:
            if not names_instance(row["params"]):
                row["params"] = canonical_params(row["puzzle"], row["params"])
            for column in ("mean_successful_steps", "success_percent", "std"):
                row[column] = float(row[column]) if row.get(column) else None
            row["optimal_upper_bound"] = bound(row["puzzle"], row["params"])
            row["algorithm"] = str(row["algorithm"])
    except (KeyError, TypeError, UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path} holds no results of puzzleport evaluate") from None
    return rows


def as_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as CSV, with the columns of all of them."""
    text = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
