"""The table of trained agents: what each recipe reaches on each puzzle, one row for each run.

``puzzleport table`` trains and measures; the rows that it writes say with which command, seed and steps. What counts as unseen is
told by the first observation: an instance whose start was seen in training is not new, whatever its seed.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.expert import ExpertPolicy
from ..agents.network import numbers
from ..agents.published import Agent
from ..files import alone, write
from ..puzzle_spec import optimal_steps
from ..task import Task
from .evaluation_sets import evalset
from .playing import NAMED, Block
from .results import as_csv
from .score import path_weighted, reference_steps

Array = np.ndarray[Any, Any]
EVALSET = "v1"
BASELINES = ("random", "masked", "expert")
_WIDE = ("n_steps=128", "batch_size=512", "learning_rate=0.001")
"""With 64 games, a quarter of the time of the defaults: mini-batches are eight times as large, and the rate suits them."""
_SMALL_LSTM = "\"policy_kwargs={'lstm_hidden_size': 64, 'shared_lstm': True, 'enable_critic_lstm': False}\""
SB3: dict[str, dict[str, str | int | tuple[str, ...]]] = {
    "sb3-maskable-ppo": {"num-envs": 64, "set": _WIDE, "patience": ""},
    "sb3-ppo": {"num-envs": 64, "set": _WIDE, "patience": ""},
    "sb3-trpo": {"num-envs": 64, "set": ("n_steps=128", "batch_size=1024"), "patience": ""},
    "sb3-a2c": {"patience": ""},
    "sb3-dqn": {},
    "sb3-qrdqn": {"set": "\"policy_kwargs={'n_quantiles': 50}\""},
    "sb3-recurrent-ppo": {"num-envs": 64, "set": (*_WIDE, "n_epochs=4", _SMALL_LSTM), "patience": ""},
}
"""The paper's algorithms, by Stable-Baselines3, and what differs from its defaults, with which the paper trained."""


@dataclass(frozen=True)
class Recipe:
    """How agents are trained: one setting for all puzzles and seeds."""

    algorithm: str
    steps: int
    options: dict[str, str | int | tuple[str, ...]] = field(default_factory=dict)
    """Of ``puzzleport train``, by their names on the command line; several values for one that is given several times."""

    def command(self, puzzle: str, level: str, seed: int) -> str:
        """What trains such an agent."""
        pairs = [
            (name, one)
            for name, value in self.options.items()
            for one in (value if isinstance(value, tuple) else (value,))
        ]
        more = [f"--{name} {value}" if value != "" else f"--{name}" for name, value in pairs]
        told = ["puzzleport train --algo", self.algorithm, "--puzzle", puzzle, "--level", level, *more]
        return " ".join([*told, f"--steps {self.steps} --seed {seed}"])


RECIPES = {
    "ppo": Recipe("ppo", 2_000_000),
    "plain-ppo": Recipe("ppo", 2_000_000, {"no-mask": ""}),
    "dagger": Recipe("dagger", 300_000, {"width": 256}),
    "dagger-long": Recipe("dagger", 1_000_000, {"width": 384, "set": "rounds=30"}),
    "ppo-pixels": Recipe("ppo", 600_000, {"network": "pixels", "set": "num_envs=128"}),
    "alphazero": Recipe("alphazero", 500_000),
    "muzero": Recipe("muzero", 250_000),
    "dreamer": Recipe(
        "dreamer",
        8192,
        {"size": "tiny", "num-envs": 16, "max-steps": 100, "reward": "solved=1,failed=-0.1,step=-0.02", "every": 2048},
    ),
    **{name: Recipe(name, 2_000_000, {**options, "every": 20_000}) for name, options in SB3.items()},
    "dagger-axial": Recipe("dagger", 300_000, {"network": "axial", "layers": 2, "width": 32}),
    "dagger-lines": Recipe(
        "dagger", 1_000_000, {"network": "lines", "layers": 2, "width": 32, "set": ("rounds=20", "batch=256")}
    ),
    "dagger-relative": Recipe(
        "dagger",
        100_000,
        {"network": "relative", "layers": 2, "width": 32, "set": ("rounds=6", "updates=300", "batch=128")},
    ),
    "dagger-tokens": Recipe(
        "dagger",
        100_000,
        {"network": "tokens", "layers": 2, "width": 32, "set": ("rounds=6", "updates=300", "batch=128")},
    ),
    "ppo-tokens": Recipe(
        "ppo", 600_000, {"network": "tokens", "layers": 2, "width": 32, "set": ("num_envs=128", "updates=16")}
    ),
    "dagger-sizes": Recipe(
        "dagger",
        200_000,
        {"network": "relative", "layers": 2, "width": 48, "also": "larger", "set": ("updates=400", "batch=256")},
    ),
}
"""All recipes by name. Their settings were fixed before the table was made."""


@dataclass(frozen=True)
class Played:
    """What became of the games."""

    solved: Array
    steps: Array

    def figures(self, name: str, bound: int, expert: Array) -> dict[str, Any]:
        """Columns of a row: success within all steps and within the bound, mean steps, and success weighted by path length."""
        count = len(self.solved)
        weighted = path_weighted(self.solved, self.steps, expert[:count])
        return {
            f"{name}_episodes": count,
            f"{name}_success": round(100 * float(self.solved.mean()), 2),
            f"{name}_within": round(100 * float((self.solved & (self.steps <= bound)).mean()), 2),
            f"{name}_steps": round(float(self.steps[self.solved].mean()), 2) if self.solved.any() else "",
            f"{name}_spl": round(float(weighted.mean()), 4),
        }


# ---- which instance it is


def first_sight(of: Any, xp: Any = np) -> Any:  # noqa: ANN401 (arrays of NumPy or JAX)
    """Two 32-bit numbers that tell instances apart by what is seen at their start."""
    random = np.random.default_rng(0)
    odd = random.integers(2**31, size=(of.shape[-1], 2), dtype=np.uint32) * 2 + 1
    # A sum of products alone would keep patterns of the board in its last bits.
    mixed = ((of.astype(np.uint32) + 1)[..., None] * odd).sum(-2, dtype=np.uint32)
    mixed = (mixed ^ (mixed >> 16)) * np.uint32(0x45D9F3B)
    return mixed ^ (mixed >> 16)


def withheld(sight: Any, share: float) -> Any:  # noqa: ANN401 (arrays of NumPy or JAX)
    """Whether nothing is learned from these instances."""
    return sight[..., 0] < np.uint32(min(int(share * 2**32), 2**32 - 1))


def joined(sights: Array) -> Array:
    """Both numbers of a first sight as one."""
    high, low = (sights[..., i].astype(np.uint64) for i in range(2))
    return np.asarray(high << np.uint64(32) | low)


def sights(task: Task, seeds: Sequence[int]) -> Array:
    """What is seen of instances at their start, as two numbers each."""
    with task.batch(len(seeds), threads=1) as batch:
        return np.asarray(first_sight(numbers(task.layout, batch.reset(list(seeds)).observation)))


def instances(task: Task, episodes: int, withhold: float = 0.0) -> list[int]:
    """The seeds of the first instances of the evaluation set; of those alone that are withheld from training, if a share is."""
    seeds = evalset(EVALSET, params_of={task.puzzle: task.params})[task.puzzle].seeds
    if withhold:
        seeds = np.array(seeds)[withheld(sights(task, seeds), withhold)].tolist()
    return seeds[:episodes]


# ---- playing


def play_agent(agent: Agent, task: Task, seeds: Sequence[int], *, temperature: float, threads: int = 1) -> Played:
    """Play each instance once. Only games that go on are thought about."""
    agent = agent.at(temperature)
    random = np.random.default_rng(list(seeds))
    if temperature == 0:
        # Who always does the same in the same state never gets out of a circle: the first repeat tells all.
        task = replace(task, max_repeats=1)
    with task.batch(len(seeds), threads=threads, autoreset="off") as batch:
        look = agent.watch(batch)
        step = batch.reset(list(seeds))
        actions = np.zeros(len(seeds), np.int64)
        while True:
            going = np.flatnonzero(step.ended == 0)
            if not len(going):
                break
            seen = look()
            seen = {name: view[going] for name, view in seen.items()} if isinstance(seen, Mapping) else seen[going]
            actions[going] = agent(seen, step.mask[going], random)
            step = batch.step(actions)
        return Played(step.status > 0, step.steps.copy())


def play_baseline(name: str, task: Task, seeds: Sequence[int], threads: int = 1) -> Played:
    """The same for what needs no training."""
    played = NAMED[name](Block(task, list(seeds), threads))
    return Played(np.array(played.status) > 0, np.array(played.steps))


def expert_steps(task: Task, seeds: Sequence[int]) -> Array:
    """How many steps the expert takes on each instance; the paper's bound where it does not solve it."""
    played = play_baseline("expert", task, seeds)
    return reference_steps(played.solved, played.steps, optimal_steps(task.puzzle, task.params))


def measure(agent: Agent, *, episodes: int, unseen: Array | None = None) -> dict[str, Any]:
    """The figures of an agent: with drawn actions, the likeliest ones, and at its own temperature, there also on unseen games.

    Args:
        agent: who plays.
        episodes: how many instances of the evaluation set.
        unseen: which of them were not met in training, for as many or more.
    """
    task = Task(agent.puzzle, agent.params)
    bound, seeds = optimal_steps(agent.puzzle, agent.params), instances(task, episodes)
    expert = expert_steps(task, seeds)
    played = {
        temperature: play_agent(agent, task, seeds, temperature=temperature)
        for temperature in dict.fromkeys((1.0, 0.0, agent.temperature))
    }
    own = played[agent.temperature]
    row = {
        "temperature": agent.temperature,
        "instances": distinct(task, seeds),
        **played[1.0].figures("sampled", bound, expert),
        **played[0.0].figures("greedy", bound, expert),
        **own.figures("own", bound, expert),
        "unseen_episodes": "",
        "unseen_within": "",
    }
    if unseen is not None:
        new = unseen[:episodes]
        row["unseen_episodes"] = int(new.sum())
        if new.any():
            row["unseen_within"] = round(100 * float((own.solved & (own.steps <= bound))[new].mean()), 2)
    return row


def distinct(task: Task, seeds: Sequence[int]) -> int | str:
    """How many instances these are; empty where their start does not tell them apart."""
    return "" if task.spec.hidden else len(np.unique(joined(sights(task, seeds))))


def baseline(name: str, puzzle: str, params: str, *, episodes: int, withhold: float = 0.0) -> dict[str, Any]:
    """The figures of what needs no training."""
    task = Task(puzzle, params)
    seeds, bound = instances(task, episodes, withhold), optimal_steps(puzzle, params)
    expert = play_baseline("expert", task, seeds)
    played = expert if name == "expert" else play_baseline(name, task, seeds)
    figures = played.figures("own", bound, reference_steps(expert.solved, expert.steps, bound))
    return {"instances": distinct(task, seeds), **figures}


def measure_as(name: str, agent: Agent, *, episodes: int, withhold: float = 0.0) -> dict[str, Any]:
    """The figures of an agent at its own temperature alone, under that name; on withheld instances, if a share is."""
    task = Task(agent.puzzle, agent.params)
    seeds = instances(task, episodes, withhold)
    played = play_agent(agent, task, seeds, temperature=agent.temperature)
    figures = played.figures(name, optimal_steps(agent.puzzle, agent.params), expert_steps(task, seeds))
    return {"temperature": agent.temperature, "instances": distinct(task, seeds), **figures}


def agreement(agent: Agent, seeds: Sequence[int]) -> float:
    """On the expert's way through each instance: the share of its keys, in percent, that are the agent's likeliest too."""
    task, likeliest = Task(agent.puzzle, agent.params), agent.at(0)
    alike, count = 0, 0
    for seed in seeds:
        with task.session(seed) as session:
            expert = ExpertPolicy(agent.puzzle)
            while not session.ended:
                key = expert(session)
                alike += likeliest(session) == key
                count += 1
                session.step(key)
    return round(100 * alike / count, 1)


# ---- intervals


def interval(successes: float, count: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share, 95% by default."""
    share = successes / count
    middle = share + z * z / (2 * count)
    half = z * float(np.sqrt(share * (1 - share) / count + z * z / (4 * count * count)))
    return (middle - half) / (1 + z * z / count), (middle + half) / (1 + z * z / count)


def agree(first: tuple[float, int], second: tuple[float, int], z: float = 3.29) -> bool:
    """Whether two shares, each as successes and count, may be of the same policy: once in a thousand such a pair does not."""
    pooled = (first[0] + second[0]) / (first[1] + second[1])
    spread = np.sqrt(pooled * (1 - pooled) * (1 / first[1] + 1 / second[1]))
    return bool(abs(first[0] / first[1] - second[0] / second[1]) <= z * spread + 1e-9)


# ---- rows

KEY = ("puzzle", "level", "recipe", "seed")
_ABOUT = (*KEY, "params", "bound", "command", "steps", "cpu_seconds", "finished", "validation_within", "temperature")
_FIGURES = tuple(
    f"{how}_{what}"
    for how in ("own", "sampled", "greedy", "last")
    for what in ("episodes", "success", "within", "steps", "spl")
)
COLUMNS = (*_ABOUT, "instances", *_FIGURES, "unseen_episodes", "unseen_within", "agreed_before", "agreed")


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows that are there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def add_row(path: Path, row: dict[str, Any]) -> None:
    """Add a row, in the place of an earlier one of the same run. Several processes may add to one table."""
    key = tuple(str(row[name]) for name in KEY)
    with alone(path):
        rows: list[dict[str, Any]] = [one for one in read_rows(path) if tuple(one[name] for name in KEY) != key]
        rows = sorted([*rows, row], key=lambda one: tuple(str(one[name]) for name in KEY))
        write(path, as_csv([{name: one.get(name, "") for name in COLUMNS} for one in rows]))
