"""The command bench: how fast it all is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from rich.table import Table

from ..benchmark import speed, words
from ..benchmark.settings import LEVELS
from ..puzzle_spec import spec
from .common import Options, WholeHelp, console, emit, tracked

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def _emit(rows: Sequence[DataclassInstance], form: str | None, table: Table, remark: str) -> None:
    """Print figures, and below their table what they mean."""
    emit([asdict(row) for row in rows], form, table)
    if form is None:
        console.print(remark)


_level = click.option(
    "--level", type=click.Choice(speed.LEVELS), default="easiest", show_default=True, help="Which parameters."
)


@click.group(name="bench", cls=WholeHelp, invoke_without_command=True)
@Options.puzzle
@_level
@Options.seconds
@Options.formats
@click.pass_context
def bench(ctx: click.Context, names: list[str], level: str, seconds: float, form: str | None) -> None:
    """Throughput of the C loop, of Session and of Batch, with their ratios."""
    if ctx.invoked_subcommand:
        return
    rows = [speed.measure(name, level, seconds) for name in tracked(names, "measuring")]
    rows.append(speed.mean_row(rows))
    table = Table("puzzle", "params", title=f"thousand steps a second, level {level}")
    titles = (
        "C step",
        "C loop",
        "C all",
        "Session",
        "copies",
        "Batch 1",
        "Batch all",
        "mask/step",
        "Python adds",
        "Batch 1/C",
        "all/C",
    )
    for title in titles:
        table.add_column(title, justify="right")
    for row in rows:
        figures = (
            row.c_step,
            row.c_loop,
            row.c_loop_all,
            row.session,
            row.session_copies,
            row.batch_one,
            row.batch_all,
        )
        table.add_row(
            row.puzzle,
            row.params,
            *(f"{figure / 1000:,.0f}" for figure in figures),
            f"{row.c_loop / row.c_step:.2f}",
            f"{row.session_over:.2f} us",
            f"{row.batch_one / row.c_loop:.2f}",
            f"{row.batch_all / row.c_loop:.2f}",
            end_section=row is rows[-2],
        )
    remark = (
        "C loop: step, observe, mask and repeat count on one session; C step leaves out the last two, C all runs it on every "
        "core at once. Batch: 1,024 sessions "
        "with autoreset, on one thread and on all cores. All in one run, on random actions that are checked to change the state."
    )
    _emit(rows, form, table, remark)


@bench.command(name="pixels")
@Options.puzzle
@_level
@Options.seconds
@Options.formats
def bench_pixels(names: list[str], level: str, seconds: float, form: str | None) -> None:
    """Pictures a second at 128x128, single and batched, beside the rate without pictures."""
    rows = [speed.measure_pixels(name, level, seconds) for name in tracked(names, "drawing")]
    rows.append(speed.mean_row(rows))
    table = Table("puzzle", "params", title=f"per second, 128x128, level {level}")
    for title in ("steps alone", "step + picture", "batch, 1 thread", "batch, all", "all/1"):
        table.add_column(title, justify="right")
    for row in rows:
        figures = (row.session, row.single, row.batch_one, row.batch_all)
        table.add_row(
            row.puzzle,
            row.params,
            *(f"{figure:,.0f}" for figure in figures),
            f"{row.batch_all / row.batch_one:.2f}",
            end_section=row is rows[-2],
        )
    _emit(rows, form, table, f"The paper's implementation draws about {PAPER_PICTURES:,} a second on such a core.")


@bench.command(name="gymnasium")
@Options.puzzle
@_level
@Options.seconds
@Options.formats
def bench_gymnasium(names: list[str], level: str, seconds: float, form: str | None) -> None:
    """The Gymnasium environment and its vector form, beside the C loop that does the same work."""
    from ..adapters.gymnasium_bench import measure

    rows = [measure(name, level, seconds) for name in tracked(names, "measuring")]
    rows.append(speed.mean_row(rows))
    table = Table("puzzle", "params", title=f"thousand steps a second, level {level}")
    titles = (
        "C loop",
        "C all",
        "Session, copies",
        "PuzzleEnv",
        "live buffers",
        "vector 1,024",
        "Batch 1,024",
        "Session/env",
        "env/paper",
        "vector/Batch",
    )
    for title in titles:
        table.add_column(title, justify="right")
    for row in rows:
        figures = (row.c_loop, row.c_loop_all, row.session, row.env, row.env_live, row.vector, row.batch)
        table.add_row(
            row.puzzle,
            row.params,
            *(f"{figure / 1000:,.0f}" for figure in figures),
            f"{row.session / row.env:.2f}",
            f"{row.env / PAPER_STEPS:.0f}x",
            f"{row.vector / row.batch:.2f}",
            end_section=row is rows[-2],
        )
    _emit(
        rows,
        form,
        table,
        f"The paper's implementation takes about {PAPER_STEPS:,} steps a second with masks on such a core.",
    )


@bench.command(name="resets")
@Options.puzzle
@_level
@Options.seconds
@Options.formats
def bench_resets(names: list[str], level: str, seconds: float, form: str | None) -> None:
    """What a reset costs, and how long one waits for it where games are made ahead."""
    from ..adapters.gymnasium_bench import measure_resets

    rows = [measure_resets(name, level, seconds) for name in tracked(names, "resetting")]
    rows.append(speed.mean_row(rows))
    table = Table("puzzle", "params", title=f"microseconds for a reset, level {level}")
    titles = ("Session", "env, seed", "env", "env/Session", "paper/env", "wait", "wait, ahead", "paper/wait, ahead")
    for title in titles:
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            row.puzzle,
            row.params,
            *(f"{figure:,.1f}" for figure in (row.session, row.seeded, row.env)),
            f"{row.seeded / row.session:.2f}",
            f"{1e6 / PAPER_RESETS / row.env:.0f}x",
            *(f"{figure:,.1f}" for figure in (row.wait, row.wait_ahead)),
            f"{1e6 / PAPER_RESETS / row.wait_ahead:.0f}x",
            end_section=row is rows[-2],
        )
    remark = (
        f"The first three are processor time; the paper's implementation makes about {PAPER_RESETS:,} resets a second on such a "
        "core. wait: by the clock, 5 ms after the last reset; ahead: the next game is made by another thread meanwhile."
    )
    _emit(rows, form, table, remark)


@bench.command(name="paper")
@Options.puzzle
@Options.seconds
@Options.formats
def bench_paper(names: list[str], seconds: float, form: str | None) -> None:
    """What gym.make gives beside the paper's implementation: steps, pictures and resets, with the easiest parameters."""
    from ..adapters.gymnasium_bench import BESIDE, measure_beside

    rows = [measure_beside(name, seconds) for name in tracked(names, "measuring")]
    table = Table("puzzle", "params", title="a second, and times the paper's implementation")
    for title in ("steps", "pictures", "resets", "resets in play"):
        table.add_column(title, justify="right")
        table.add_column("times", justify="right")
    for row in rows:
        cells = [cell for what in BESIDE for cell in (f"{getattr(row, what):,.0f}", f"{row.times(what):.1f}")]
        table.add_row(row.puzzle, row.params, *cells, end_section=row is rows[-1])
    means = [("", f"{speed.geometric_mean(row.times(what) for row in rows):.1f}") for what in BESIDE]
    table.add_row("geometric mean", "", *(cell for pair in means for cell in pair))
    remark = (
        "The paper's implementation was measured once; a yardstick of plain Python, measured in turns with each puzzle, brings "
        f"its rates to this machine: {speed.geometric_mean(row.yardstick for row in rows):,.0f} rounds a second. Processor time; "
        "resets in play: by the clock, each after 1,000 steps, dear games made ahead by another thread meanwhile."
    )
    emit([row.figures() for row in rows], form, table)
    if form is None:
        console.print(remark)


@bench.command(name="costs")
@Options.puzzle
@_level
@Options.seconds
@Options.formats
def bench_costs(names: list[str], level: str, seconds: float, form: str | None) -> None:
    """Processor time of a game, a step, a mask and a picture, and the memory of a session, at any level."""
    rows = [speed.measure_costs(name, level, seconds) for name in tracked(names, "measuring")]
    rows.append(speed.mean_row(rows))
    table = Table("puzzle", "params", title=f"microseconds of processor time, level {level}")
    for title in ("items", "generate", "step", "mask adds", "picture", "KiB"):
        table.add_column(title, justify="right")
    for row in rows:
        times = (f"{row.generate_us:,.0f}", f"{row.step_us:.2f}", f"{row.mask_us:.2f}", f"{row.picture_us:.1f}")
        table.add_row(
            row.puzzle, row.params, f"{row.items:,.0f}", *times, f"{row.kib:.0f}", end_section=row is rows[-2]
        )
    _emit(
        rows, form, table, "items: numbers in an observation. KiB: of a session after 1,000 steps, without a picture."
    )


@bench.command(name="rates")
@Options.seconds
@Options.formats
def bench_rates(seconds: float, form: str | None) -> None:
    """Simulations a second of the native search, beside OpenSpiel's bot on its own games in C++."""
    from ..adapters.openspiel_bench import measure_rates

    rows = measure_rates(seconds)
    table = Table("game", "search", title="thousand simulations a second")
    for title in ("one thread", "two threads", "two/one"):
        table.add_column(title, justify="right")
    for row in rows:
        both = (f"{row.both / 1000:,.0f}", f"{row.both / row.one:.2f}") if row.both else ("", "")
        table.add_row(row.game, row.by, f"{row.one / 1000:,.0f}", *both)
    remark = (
        "One thread by its processor time, two by the clock. Rollouts of 20 steps, and to the end in OpenSpiel's games."
    )
    _emit(rows, form, table, remark)


@bench.command(name="crowd")
@Options.puzzle
@_level
@click.option("--sessions", default=100_000, show_default=True, help="How many at once.")
@Options.formats
def bench_crowd(names: list[str], level: str, sessions: int, form: str | None) -> None:
    """The memory of very many sessions at once, and what is left of it when they are freed."""
    rows = [speed.crowd(name, level, sessions) for name in tracked(names, "crowding")]
    table = Table("puzzle", "params", title=f"{sessions:,} sessions at once, level {level}")
    for title in ("KiB each", "left when freed"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(row.puzzle, row.params, f"{row.kib_each:.1f}", f"{row.kib_left:.2f}")
    _emit(rows, form, table, "Resident size of the process, with the arrays of the batch.")


@bench.command(name="search")
@click.option("--instances", default=10, help="How many of each puzzle.")
@click.option("--simulations", default=1000, help="For each move, at most.")
@Options.formats
def bench_search(instances: int, simulations: int, form: str | None) -> None:
    """MCTS by OpenSpiel's bot in C++ and by the native search, on the same instances of five small puzzles."""
    from ..adapters.openspiel_bench import PUZZLES, measure

    rows = [measure(name, instances, simulations) for name in tracked(list(PUZZLES), "searching")]
    table = Table("puzzle", "params", title=f"of {instances} instances, {simulations:,} simulations a move at most")
    for title in ("MCTSBot solves", "seconds", "native solves", "seconds", "ratio"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            row.puzzle,
            row.params,
            str(row.bot_solved),
            f"{row.bot_seconds:.2f}",
            str(row.search_solved),
            f"{row.search_seconds:.3f}",
            f"{row.bot_seconds / row.search_seconds:,.0f}x",
        )
    _emit(rows, form, table, "Seconds of processor time until all are solved or cut off after 40 steps.")


@bench.command(name="jax")
@Options.puzzle
@Options.level
@Options.seconds
@Options.formats
def bench_jax(names: list[str], level: str, seconds: float, form: str | None) -> None:
    """Steps inside jax.jit and lax.scan, beside rollouts and batches in C."""
    from ..adapters.jax_bench import measure

    rows = [measure(name, level, seconds) for name in tracked(names, "measuring")]
    rows.append(speed.mean_row(rows))
    table = Table("puzzle", "params", title=f"thousand steps a second, level {level}")
    for title in ("rollout", "Batch 1,024", "scan 1,024", "read", "pure 128", "scan/rollout", "read/rollout"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            row.puzzle,
            row.params,
            *(f"{figure / 1000:,.0f}" for figure in (row.rollout, row.batch, row.scan, row.read, row.pure)),
            f"{row.scan / row.rollout:.2f}",
            f"{row.read / row.rollout:.2f}",
            end_section=row is rows[-2],
        )
    _emit(rows, form, table, "Random legal actions on all cores; Batch takes random ones. All in one run.")


@bench.command(name="torchrl")
@Options.puzzle
@Options.level
@Options.seconds
@Options.formats
def bench_torchrl(names: list[str], level: str, seconds: float, form: str | None) -> None:
    """TorchRL's EnvBase.step beside Batch.step, both over 1,024 games."""
    from ..adapters.torchrl_bench import measure

    rows = [measure(name, level, seconds) for name in tracked(names, "measuring")]
    rows.append(speed.mean_row(rows))
    table = Table("puzzle", "params", title=f"thousand steps a second, level {level}")
    for title in ("Batch 1,024", "floor", "EnvBase 1,024", "floor/Batch", "EnvBase/Batch"):
        table.add_column(title, justify="right")
    for row in rows:
        figures = [f"{figure / 1000:,.0f}" for figure in (row.batch, row.floor, row.env)]
        ratios = [f"{figure / row.batch:.2f}" for figure in (row.floor, row.env)]
        table.add_row(row.puzzle, row.params, *figures, *ratios, end_section=row is rows[-2])
    remark = "The same random actions on all cores, in one run. Floor: the same without tensors of each step."
    _emit(rows, form, table, remark)


@bench.command(name="peers")
@Options.seconds
@Options.formats
def bench_peers(seconds: float, form: str | None) -> None:
    """Our games inside jax.jit beside environments that are written in JAX: Jumanji's and pgx's."""
    from ..adapters.jax_bench import measure_peers

    rows, missing = measure_peers(seconds)
    table = Table("puzzle", "params", "beside", title="thousand steps a second, 1,024 games")
    for title in ("theirs", "ours", "ratio"):
        table.add_column(title, justify="right")
    for row in rows:
        figures = (f"{row.peer / 1000:,.0f}", f"{row.ours / 1000:,.0f}", f"{row.ours / row.peer:.1f}x")
        table.add_row(row.puzzle, row.params, row.peer_name, *figures)
    remark = "jit, scan, random legal actions and autoreset, on the same cores in one run."
    _emit(rows, form, table, remark + (f" Not installed: {', '.join(missing)}." if missing else ""))


@bench.command(name="language")
@Options.puzzle
@click.option("--level", type=click.Choice(LEVELS), default="human", show_default=True, help="Which parameters.")
@Options.seconds
@click.option("--dialogues", default=1000, show_default=True, help="How many games are kept at once, over all puzzles.")
@Options.formats
def bench_language(names: list[str], level: str, seconds: float, dialogues: int, form: str | None) -> None:
    """Games in words: time of a turn and of a verdict, and memory of many games at once."""
    size = words.memory(names, level, dialogues)
    rows = [words.measure(name, level, seconds) for name in tracked(names, "talking")]
    rows.append(speed.mean_row(rows))
    table = Table("puzzle", "params", title=f"games in words, level {level}")
    for title in ("turn, ms", "verdict, ms", "moves for a key"):
        table.add_column(title, justify="right")
    for row in rows:
        figures = (row.turn_ms, row.verdict_ms, row.moves_for_key)
        table.add_row(row.puzzle, row.params, *(f"{figure:.2f}" for figure in figures), end_section=row is rows[-2])
    remark = (
        f"{dialogues:,} games at once took {size / 2**20:.0f} MiB. Times are processor time of one thread, the best of "
        "several rounds; a turn is one move of the expert, with its reply and board."
    )
    _emit(rows, form, table, remark)


# What was measured of the paper's implementation on one core of the kind that this was developed on.
PAPER_STEPS = 2_600
PAPER_PICTURES = 2_500
PAPER_RESETS = 1_860


@bench.command(name="memory")
@Options.puzzle
@click.option("--steps", default=10_000_000, help="Random steps for each puzzle.")
@click.option("--sessions", default=10_000, help="Sessions made and freed for each puzzle.")
@click.option("--pictures", default=100_000, help="Pictures of a batch for each puzzle.")
@Options.formats
def bench_memory(names: list[str], steps: int, sessions: int, pictures: int, form: str | None) -> None:
    """How much the resident size grows with play, with sessions made and freed, and with a batch that draws."""
    table = Table("puzzle", "params", f"{steps:,} steps", f"{sessions:,} sessions", f"{pictures:,} pictures")
    rows = []
    for name in tracked(names, "playing"):
        row = speed.memory(name, spec(name).easiest_params, steps, sessions, pictures)
        rows.append(row)
        grown = (row.steps, row.sessions, row.pictures)
        table.add_row(row.puzzle, row.params, *(f"{size / 1024:+,.0f} KiB" for size in grown))
    emit([asdict(row) for row in rows], form, table)
