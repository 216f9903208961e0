"""The command generate."""

from __future__ import annotations

from pathlib import Path

import click

from ..benchmark import instance_banks
from ..benchmark.evaluation import level_params
from ..puzzle_spec import canonical_params
from .common import File, Puzzle, Short, cluster, emit, progress_bar

CHUNK = 16  # instances that a worker of a cluster makes at a time


@click.command()
@click.argument("puzzle", type=Puzzle())
@click.option("--params", "--level", "params", default="default", help="Parameters, or easiest, human, default.")
@click.option("--count", default=1000, help="How many distinct instances.")
@click.option("--seed", default=0, help="Of the stream of instances.")
@click.option("--out", type=File(*instance_banks.SUFFIXES), required=True, help="The bank: .parquet or .csv.")
@click.option(
    "--apart-from",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Another bank, such as the training split: none of its instances is taken. May be given several times.",
)
@click.option("--timeout", default=60.0, help="Seconds that one instance may take.")
@Short.threads
@Short.engine
@Short.formats
def generate(
    puzzle: str,
    params: str,
    count: int,
    seed: int,
    out: Path,
    others: tuple[Path, ...],
    timeout: float,
    threads: int,
    engine: str,
    address: str | None,
    form: str | None,
) -> None:
    """Write a bank of distinct instances, with hash, generation time, optimal bound and solution.

    A small setting may have fewer than asked for: then the bank holds all that there seem to be, and says so.
    """
    if out.suffix == ".parquet":
        instance_banks.arrow()
    params = canonical_params(puzzle, level_params(puzzle, params))
    taken = [code for path in others for code in instance_banks.hashes(path)]
    with cluster(engine, address, threads, CHUNK) as workers, progress_bar() as bar:
        task = bar.add_task(f"{puzzle} {params}", total=count)
        bank = instance_banks.generate(
            puzzle,
            params,
            size=count,
            seed=seed,
            apart_from=taken,
            threads=threads,
            timeout=timeout,
            progress=lambda done: bar.update(task, completed=done),
            workers=workers,
        )
    if not bank.instances:
        raise ValueError(f"{puzzle} {params}: all instances that were found are in {', '.join(map(str, others))}")
    instance_banks.save(bank, out)
    times = sorted(instance.generation_ms for instance in bank.instances)
    about = {
        "puzzle": puzzle,
        "params": params,
        "instances": len(bank.instances),
        "seeds tried": bank.tried,
        "repeated": bank.repeated,
        "in other banks": bank.elsewhere,
        "exhausted": bank.exhausted,
        "median generation ms": times[len(times) // 2],
    }
    emit([about], form)
    if form is None:
        only = "all that there seem to be" if bank.exhausted else "distinct"
        click.echo(
            f"{out}: {len(bank.instances):,} instances of {puzzle} {params}, {only}, from {bank.tried:,} seeds "
            f"({bank.repeated:,} repeated, {bank.elsewhere:,} in other banks)"
        )
