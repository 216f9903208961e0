"""The command generate."""

from __future__ import annotations

from pathlib import Path

import click

from ..benchmark import instance_banks
from ..benchmark.settings import LEVELS, level_params
from .common import Options, OutputFile, PuzzleName, check_free, cluster, emit, progress_bar

CHUNK = 16  # instances that a worker of a cluster makes at a time


@click.command()
@click.argument("puzzle", type=PuzzleName())
@click.option(
    "--params", "--level", "params", default="default", show_default=True, help=f"Parameters, or {', '.join(LEVELS)}."
)
@click.option("--count", default=1000, show_default=True, help="How many distinct instances.")
@Options.seed
@click.option("--out", type=OutputFile(*instance_banks.SUFFIXES), required=True, help="The bank: .parquet or .csv.")
@click.option(
    "--apart-from",
    "others",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Another bank, such as the training split: none of its instances is taken. May be given several times.",
)
@Options.timeout
@Options.threads
@Options.backend
@Options.force
@Options.formats
def generate(
    puzzle: str,
    params: str,
    count: int,
    seed: int | None,
    out: Path,
    others: tuple[Path, ...],
    timeout: float,
    threads: int,
    backend: str,
    address: str | None,
    force: bool,
    form: str | None,
) -> None:
    """Write a bank of distinct instances, with hash, generation time, the paper's bound and solution.

    A small setting may have fewer instances than you ask for. Then the bank holds all that were found, and says so.
    """
    check_free([out], force)
    if out.suffix == ".parquet":
        instance_banks.arrow()
    params = level_params(puzzle, params)
    taken = [code for path in others for code in instance_banks.hashes(path)]
    with cluster(backend, address, threads, CHUNK) as workers, progress_bar() as bar:
        task = bar.add_task(f"{puzzle} {params}", total=count)
        bank = instance_banks.generate(
            puzzle,
            params,
            count=count,
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
        "seed": bank.seed,
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
            f"of the stream of seed {bank.seed} ({bank.repeated:,} repeated, {bank.elsewhere:,} in other banks)"
        )
