"""The commands evaluate and evalset."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from ..benchmark.evaluation_sets import FIRST, HEAD, SIZE
from ..benchmark.evaluation_sets import evalset as frozen
from ..benchmark.evaluation import (
    PAPER_EPISODES,
    PAPER_STEPS,
    Outcome,
    Player,
    Result,
    Task,
    batch_player,
    load,
    play_jobs,
    player,
    prepare,
    save,
    settings,
)
from ..files import write
from ..puzzle_spec import puzzles, spec
from .common import File, Short, cluster, emit, errors, figure, progress_bar

SAVE_EVERY = 5.0  # seconds


class Policy:
    """What ``--policy`` names, as a player of any puzzle. A worker loads it anew: a model from its content, the rest by name."""

    def __init__(self, name: str, deterministic: bool, content: bytes | None = None) -> None:
        self.name, self.fingerprint = name, ""
        self._deterministic, self._content = deterministic, content
        self._player = None if name.endswith(".zip") else player(name)
        if self._player is None:
            from ..adapters.sb3_train import load_model, read_model

            self._content = read_model(Path(name)) if content is None else content
            self._model = load_model(Path(name), self._content)
            self.fingerprint = hashlib.sha256(self._content).hexdigest()[:16] + " deterministic" * deterministic
        self._players: dict[tuple[str, str, bool], Player] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Policy, (self.name, self._deterministic, self._content)

    def __call__(self, task: Task) -> Outcome:
        """Play a block."""
        return self.player(task.puzzle, task.params, task.undo)(task)

    def player(self, puzzle: str, params: str, undo: bool) -> Player:
        """Who plays this setting."""
        if self._player is not None:
            return self._player
        from ..adapters.sb3_train import ModelPolicy

        setting = puzzle, params, undo
        if setting not in self._players:
            self._players[setting] = batch_player(ModelPolicy(self._model, *setting, self._deterministic))
        return self._players[setting]


@click.command()
@click.option(
    "--policy",
    "named",
    default="random",
    help="random, masked-random, expert, MODEL.zip (saved by SB3) or module:function.",
)
@Short.puzzles
@click.option("--level", default="easiest", help="easiest, human, default, paper (all of its table), or parameters.")
@click.option("--episodes", default=PAPER_EPISODES, help="For each setting.")
@click.option("--max-steps", default=PAPER_STEPS, help="After which an episode counts as not solved.")
@click.option("--seed", default=0, help="Of the stream of instances.")
@click.option("--evalset", "evaluation_set", help="Play a frozen set of instances instead, such as v1.")
@click.option("--undo/--no-undo", default=False, help="UNDO among the actions; the paper's figures are without.")
@click.option("--deterministic", is_flag=True, help="A model's likeliest action rather than one drawn.")
@click.option("--name", help="What to call the policy in tables.")
@Short.threads
@Short.engine
@click.option(
    "--out",
    "outputs",
    multiple=True,
    type=File(".json", ".csv"),
    help="Write results: .json with every episode, .csv with one row for each setting. May be given twice.",
)
@click.option("--resume", is_flag=True, help="Go on with what the .json of --out already has.")
@Short.formats
def evaluate(
    named: str,
    names: list[str],
    level: str,
    outputs: tuple[Path, ...],
    resume: bool,
    form: str | None,
    deterministic: bool,
    name: str | None,
    undo: bool,
    threads: int,
    engine: str,
    address: str | None,
    **options: Any,  # noqa: ANN401 (handed on)
) -> None:
    """Measure a policy as the paper does: success rate, and mean steps of the solved episodes.

    The same seed gives the same numbers whoever plays and on how many threads. Ctrl-C writes what is done.
    A function is called as f(observation, mask, random) with arrays of n games and returns n actions.
    """
    results = _earlier(outputs, resume)
    known = list(results)
    policy = Policy(named, deterministic)
    jobs = [
        prepare(
            name or named,
            puzzle,
            params,
            undo=undo and spec(puzzle).undo,
            threads=1 if engine == "ray" else threads,
            fingerprint=policy.fingerprint,
            known=known,
            **options,
        )
        for puzzle, params in settings(names, level)
    ]
    for job in jobs:  # a model that does not fit says so before anything is played
        policy.player(job.result.puzzle, job.result.params, job.result.undo)
    finished: list[Result] = []
    interrupted = False

    with cluster(engine, address, threads) as workers, progress_bar() as bar:
        task = bar.add_task("", total=options["episodes"] * len(jobs))
        saved = time.monotonic()

        def progress(result: Result) -> None:
            nonlocal saved
            before = sum(len(one.steps) for one in finished if one is not result)
            bar.update(task, completed=before + len(result.steps), description=f"{result.puzzle} {result.params}")
            if not finished or finished[-1] is not result:
                finished.append(result)
            if time.monotonic() - saved > SAVE_EVERY:
                _save(known, finished, outputs)
                saved = time.monotonic()

        try:
            play_jobs(jobs, policy, progress=progress, workers=workers or map)
        except KeyboardInterrupt:
            interrupted = True
        finally:  # a cluster may be lost too
            finished = [result for result in finished if result.steps]
            if finished or interrupted:
                _save(known, finished, outputs)
    rows = [result.summary() for result in finished]
    table = Table("puzzle", "params", title=f"{name or named}: mean steps of solved episodes, and how many were solved")
    for title in ("episodes", "optimal ≤", "steps (solved)", "lost"):
        table.add_column(title, justify="right")
    for row in rows:
        measured = figure(row["mean_successful_steps"], row["success_percent"])
        optimal, lost = f"{row['optimal_upper_bound']:,}", f"{row['failed_percent']:.1f}%"
        table.add_row(row["puzzle"], row["params"], f"{row['episodes']:,}", optimal, measured, lost)
    emit(rows, form, table)
    if interrupted:
        played = sum(len(result.steps) for result in finished)
        kept = (
            f"kept in {', '.join(map(str, outputs))}; --resume goes on" if outputs else "nothing was written: no --out"
        )
        errors.print(f"puzzleport: interrupted after {played:,} episodes, {kept}", markup=False, highlight=False)
        raise SystemExit(130)


def _earlier(outputs: tuple[Path, ...], resume: bool) -> list[Result]:
    """The results that this run goes on with, or one line about files that are in the way."""
    if resume:
        sources = [path for path in outputs if path.suffix == ".json"]
        if not sources:
            raise ValueError("--resume needs --out with a name that ends in .json")
        return [result for path in sources if path.exists() for result in load(path)]
    for path in outputs:
        if path.exists():
            raise ValueError(f"{path} exists: remove it, or --resume with a .json to go on")
    return []


def _save(known: list[Result], now: list[Result], outputs: tuple[Path, ...]) -> None:
    """Write what is known from before and not replaced, and what this run has."""
    keys = {result.key for result in now}
    results = [result for result in known if result.key not in keys] + [result for result in now if result.steps]
    for path in outputs:
        save(results, path)


@click.command()
@click.argument("name", type=click.Choice(list(FIRST)), default="v1")
@Short.puzzles
@click.option("--quick", is_flag=True, help=f"Look at {HEAD} instances of each setting rather than {SIZE:,}.")
@click.option("--freeze", type=File(".csv"), hidden=True, help="Write the digests of this engine.")
@Short.formats
def evalset(name: str, names: list[str], quick: bool, freeze: Path | None, form: str | None) -> None:
    """Check that this engine still generates the instances of a frozen evaluation set."""
    rows, checked = [], []
    with progress_bar() as bar:
        for level in ("easiest", "human"):
            sets = frozen(name, level)
            for puzzle in bar.track(names, description=level):
                one = sets[puzzle]
                if freeze:
                    rows.append((puzzle, level, one.params, one.computed(HEAD), one.computed()))
                else:
                    same = one.verify(quick)
                    checked.append({"puzzle": puzzle, "level": level, "params": one.params, "as frozen": same})
    if freeze:
        write(freeze, "".join(",".join(row) + "\n" for row in [("puzzle", "level", "params", "head", "digest"), *rows]))
        return
    emit(checked, form)
    changed = [f"{one['puzzle']} {one['params']}" for one in checked if not one["as frozen"]]
    if changed:
        raise ValueError(f"{name}: these instances are no longer what was frozen: {', '.join(changed)}")
    if form is None:
        which = "all 40 puzzles" if names == puzzles() else ", ".join(names)
        click.echo(f"{name}: the instances of {which} are the ones that were frozen")
