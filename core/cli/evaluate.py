"""The commands evaluate and evalset."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.table import Table

from ..benchmark.evaluation import check_episodes, play_jobs, prepare
from ..benchmark.evaluation_sets import FIRST, HEAD
from ..benchmark.evaluation_sets import evalset as frozen
from ..benchmark.ladder import MOST_RUNGS
from ..benchmark.playing import Playing
from ..benchmark.recording import SUFFIX, Recorder
from ..benchmark.results import BOUND, PAPER_EPISODES, Result, load, save
from ..benchmark.settings import LEVELS, settings
from ..files import write
from ..game_id import random_seed
from ..puzzle_spec import puzzles, spec
from ..task import Task
from .common import (
    Options,
    OutputFile,
    check_free,
    cluster,
    console,
    emit,
    errors,
    progress_bar,
    steps_and_success,
)

SAVE_EVERY = 5.0  # seconds


@click.command()
@click.argument("agent", required=False)
@click.option(
    "--policy",
    help="The same as AGENT, by name: random (if none is given), masked, expert, search:NODES, published (our trained agents), "
    "AGENT.safetensors, MODEL.zip (saved by Stable-Baselines3), module:function, program:'COMMAND' or command:'COMMAND'.",
)
@Options.puzzle
@click.option(
    "--level",
    help=f"{', '.join(LEVELS)}, paper (all settings of its table), ladder (all rungs), rung3, or parameters such as 5x5. "
    "Without it easiest, and with --evalset v2 ladder.",
)
@click.option(
    "--episodes",
    type=int,
    help=f"For each setting, at most. Without it {PAPER_EPISODES:,}, or all that the evaluation set has.",
)
@Options.seed
@click.option("--evalset", help="Play a frozen set of instances instead: v1, or v2 with all rungs of the ladder.")
@Options.undo
@Options.max_steps
@Options.max_repeats
@Options.timeout
@Options.deterministic
@click.option("--name", help="What to call the policy in tables.")
@Options.threads
@Options.backend
@click.option(
    "--out",
    "outputs",
    multiple=True,
    type=OutputFile(".json", ".csv"),
    help="Write results: .json with every episode, .csv with one row for each setting. May be given twice.",
)
@click.option(
    "--record",
    "recording",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Keep every action in a file that ends in {SUFFIX}; puzzleport verify replays it.",
)
@click.option("--resume", is_flag=True, help="Go on with what --record or the .json of --out has, and with its seed.")
@Options.force
@Options.formats
def evaluate(
    agent: str | None,
    policy: str | None,
    names: list[str],
    level: str | None,
    episodes: int | None,
    seed: int | None,
    evalset: str | None,
    undo: bool,
    max_steps: int,
    max_repeats: int,
    timeout: float,
    deterministic: bool,
    name: str | None,
    threads: int,
    backend: str,
    address: str | None,
    outputs: tuple[Path, ...],
    recording: Path | None,
    resume: bool,
    force: bool,
    form: str | None,
) -> None:
    """Measure a policy as the paper does: success rate, and mean steps of the solved episodes.

    The same seed gives the same numbers on any machine and any number of threads. Ctrl-C writes what is done.
    A function is called as f(observation, mask, random) with arrays of n games and returns n actions. Of a ladder, an agent
    that was made for some settings plays those.
    """
    if agent is not None and policy is not None:
        raise ValueError(f"name the agent once: {agent:.80} or --policy {policy:.80}")
    policy = agent or policy or "random"
    level = level or ("ladder" if evalset == "v2" else "easiest")
    check_episodes(episodes, evalset)
    known = [] if recording and resume else _earlier(outputs, resume, force)
    recorder = None if recording is None else _recorder(recording, resume, force)
    if recorder is not None:
        known = [section.result() for section in recorder.sections]
    playing = Playing(policy, deterministic=deterministic)
    if seed is None and evalset is None and not any(one.seed is not None for one in known):
        seed = random_seed()  # one for all settings
    jobs = []
    unfit: ValueError | None = None
    for puzzle, params in settings(names, level):
        limits = {"max_steps": max_steps, "max_repeats": max_repeats, "timeout": timeout}
        task = Task.of(puzzle, params, {"undo": undo and spec(puzzle).undo, **limits})
        own = 1 if backend == "ray" else threads
        if level == "ladder":
            try:
                playing.check(task)
            except ValueError as error:  # what a framework's model says, too
                unfit = error
                continue
        jobs.append(
            prepare(
                playing,
                task,
                episodes=episodes,
                seed=seed,
                evalset=evalset,
                threads=own,
                name=name,
                known=known,
                recorder=recorder,
            )
        )
    if not jobs and unfit:
        raise unfit
    finished: list[Result] = []
    interrupted = False

    with cluster(backend, address, threads) as workers, progress_bar() as bar:
        task_id = bar.add_task("", total=sum(job.result.episodes for job in jobs))
        saved = time.monotonic()

        def progress(result: Result) -> None:
            nonlocal saved
            before = sum(len(one.steps) for one in finished if one is not result)
            bar.update(
                task_id, completed=before + len(result.steps), description=f"{result.puzzle} {result.params:.40}"
            )
            if not finished or finished[-1] is not result:
                finished.append(result)
            if time.monotonic() - saved > SAVE_EVERY:
                _save(known, finished, outputs)
                saved = time.monotonic()

        try:
            play_jobs(jobs, playing, progress=progress, workers=workers or map)
        except KeyboardInterrupt:
            interrupted = True
        finally:  # what is done is kept when a cluster is lost, too
            finished = [result for result in finished if result.steps]
            if finished or interrupted:
                _save(known, finished, outputs)
    _report(finished, name or policy, form)
    if interrupted:
        played = sum(len(result.steps) for result in finished)
        files = [*outputs, *([recording] if recording else [])]
        kept = f"kept in {', '.join(map(str, files))}; --resume goes on" if files else "nothing was written: no --out"
        errors.print(f"puzzleport: interrupted after {played:,} episodes, {kept}", markup=False, highlight=False)
        raise SystemExit(130)


def _report(results: list[Result], name: str, form: str | None) -> None:
    """Print one line for each setting, and what the columns mean."""
    rows = [result.summary() for result in results]
    table = Table("puzzle", "params", title=f"{name}: mean steps of solved episodes, and how many were solved")
    for title in ("episodes", "bound", "steps (solved)", "lost"):
        table.add_column(title, justify="right")
    for row in rows:
        measured = steps_and_success(row["mean_successful_steps"], row["success_percent"])
        bound, lost = f"{row['optimal_upper_bound']:,}", f"{row['failed_percent']:.1f}%"
        table.add_row(row["puzzle"], row["params"], f"{row['episodes']:,}", bound, measured, lost)
    emit(rows, form, table)
    if form is None and rows:
        seeds = ", ".join(dict.fromkeys(row["seeds"] for row in rows))
        console.print(f"{BOUND}\n{seeds}", highlight=False, markup=False)


def _earlier(outputs: tuple[Path, ...], resume: bool, force: bool) -> list[Result]:
    """The results that this run goes on with, or an error about files that are in the way."""
    if resume:
        sources = [path for path in outputs if path.suffix == ".json"]
        if not sources:
            raise ValueError("--resume needs --out with a name that ends in .json")
        return [result for path in sources if path.exists() for result in load(path)]
    for path in outputs:
        if path.exists() and path.suffix == ".json" and not force:
            raise ValueError(f"{path} exists; --resume goes on with it, --force overwrites it")
    check_free(outputs, force)
    return []


def _recorder(path: Path, resume: bool, force: bool) -> Recorder:
    """What keeps the actions, or an error about a file that is in the way."""
    if not path.name.endswith(SUFFIX):
        raise ValueError(f"{path} cannot be written: the name must end in {SUFFIX}")
    if path.exists() and not resume and not force:
        raise ValueError(f"{path} exists; --resume goes on with it, --force overwrites it")
    return Recorder(path, go_on=resume)


def _save(known: list[Result], now: list[Result], outputs: tuple[Path, ...]) -> None:
    """Write what is known from before and not replaced, and what this run has."""
    keys = {result.key for result in now}
    results = [result for result in known if result.key not in keys] + [result for result in now if result.steps]
    for path in outputs:
        save(results, path)


@click.command()
@click.argument("name", type=click.Choice(list(FIRST)), default="v1")
@Options.puzzle
@click.option("--quick", is_flag=True, help=f"Check {HEAD} instances of each setting rather than all.")
@click.option("--freeze", type=OutputFile(".csv"), hidden=True, help="Write the digests of this engine.")
@Options.formats
def evalset(name: str, names: list[str], quick: bool, freeze: Path | None, form: str | None) -> None:
    """Check that this engine still generates the instances of a frozen evaluation set."""
    rows, checked = [], []
    with progress_bar() as bar:
        levels = ("easiest", "human") if name == "v1" else tuple(f"rung{number}" for number in range(1, MOST_RUNGS + 1))
        for level in levels:
            sets = frozen(name, level)
            for puzzle in bar.track([puzzle for puzzle in names if puzzle in sets], description=level):
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
