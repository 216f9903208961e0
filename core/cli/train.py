"""The command train."""

from __future__ import annotations

import ast
import itertools
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..agents.network import KINDS, PICTURE
from ..agents.sight import larger
from ..benchmark.evaluation import evaluate as measure
from ..benchmark.evaluation_sets import SIZE
from ..benchmark.learned import SB3
from ..benchmark.results import PAPER_EPISODES, save
from ..benchmark.settings import level_params
from ..errors import quote
from ..game_id import names_instance, random_seed
from ..limits import DEFAULT_MAX_STEPS
from .common import Options, RewardPairs, console, emit, errors, progress_bar, steps_and_success

SB3_NAMES = {name: name.removeprefix("sb3-").replace("-", "_") for name in SB3}
"""What the algorithms of Stable-Baselines3 are called here, and what the adapter calls them."""
OWN = ("ppo", "dagger", "alphazero", "muzero")
"""In JAX, with the games inside what is compiled."""
DREAMER = "dreamer"
"""DreamerV3 of sheeprl."""
ONLY_SB3 = {"observation", "device", "every"}
ONLY_OWN = {"mask", "curriculum", "network", "layers", "width", "withhold", "start", "also", "threads"}
ONLY_DREAMER = {"size"}
DREAMER_DEFAULTS = {"num_envs": 4, "max_steps": DEFAULT_MAX_STEPS}
SB3_DEFAULTS = {"num_envs": 16, "max_steps": DEFAULT_MAX_STEPS}
EVALSET = "v1"


@click.command()
@click.option(
    "--algo",
    "algorithm",
    type=click.Choice([*OWN, DREAMER, *SB3_NAMES]),
    default="ppo",
    show_default=True,
    help="In JAX: PPO, imitation of the expert, search; dreamer: DreamerV3 of sheeprl; sb3-: of Stable-Baselines3.",
)
@Options.one_or_more
@Options.level_or_params
@click.option(
    "--steps",
    type=int,
    default=2_000_000,
    show_default=True,
    help="How many are trained; the paper's two million. With dagger: steps of the expert to learn from.",
)
@click.option("--seed", type=int, help="Of the instances and the network. Without it, one is drawn and printed.")
@click.option("--seeds", default=1, show_default=True, help="Train so many agents, with this seed and those after it.")
@click.option("--num-envs", type=int, help="Games at a time.  [default: 16; ppo 256; others in JAX 128; dreamer 4]")
@click.option("--mask/--no-mask", default=True, help="Whether actions that change nothing are left out (in JAX).")
@click.option(
    "--network",
    type=click.Choice(KINDS),
    default="dense",
    help="Of those in JAX.",
)
@click.option("--layers", default=2, show_default=True, help="Hidden layers, or blocks of a network of cells.")
@click.option("--width", default=128, show_default=True, help="Of a layer, or of a cell in a network of cells.")
@click.option(
    "--size", default="XS", show_default=True, help="Of dreamer: XS to XL, or tiny for few cells on one core."
)
@click.option("--withhold", default=0.0, help="The share of the instances from which nothing is learned (in JAX).")
@click.option(
    "--also",
    metavar="PARAMS[,PARAMS...]",
    help="Learn from boards of these sizes too; larger for the next larger ones (dagger with relative or tokens).",
)
@click.option("--from", "start", help="A .safetensors file of an agent to start from (in JAX).")
@click.option(
    "--curriculum",
    metavar="PARAMS[,PARAMS...]",
    help="Train on these first, one after the other, each from the last one's agent and for as many steps (in JAX).",
)
@Options.threads
@Options.observation
@Options.undo
@click.option(
    "--max-steps",
    type=int,
    help="After how many steps an episode is cut off.  [default: 10000; in JAX three times the bound, 100 to 500]",
)
@Options.max_repeats
@Options.timeout
@click.option(
    "--reward",
    "rewards",
    type=RewardPairs(),
    help=f"What is paid, such as solved=1,step=-0.01. There are {', '.join(RewardPairs.names)}.",
)
@click.option("--device", default="auto", show_default=True, help="Where SB3's network is: auto, cpu, cuda.")
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the algorithm, such as n_steps=256.",
)
@click.option(
    "--every", default=50_000, show_default=True, help="A model of SB3 or of dreamer is saved after so many steps."
)
@click.option(
    "--out",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the run. With several puzzles or seeds, each has a folder in it.",
)
@click.option(
    "--patience/--no-patience",
    default=None,
    help="Whether to stop early: when all games are solved within the bound, or after half of the steps when none is."
    "  [default: in JAX yes, of SB3 no]",
)
@click.option("--resume", is_flag=True, help="Go on with the run in that folder.")
@click.option("--episodes", default=PAPER_EPISODES, show_default=True, help="Of the evaluation at the end; 0 for none.")
@Options.formats
@click.pass_context
def train(
    context: click.Context,
    /,
    names: list[str],
    level: str,
    seed: int | None,
    seeds: int,
    pairs: tuple[str, ...],
    folder: Path | None,
    episodes: int,
    form: str | None,
    curriculum: str | None,
    **options: Any,  # noqa: ANN401 (handed on)
) -> None:
    """Train an agent, and evaluate it as the paper does.

    Those in JAX (ppo, dagger, alphazero, muzero) write best.safetensors (the best by validation), last.safetensors, last.npz,
    run.json and curve.csv into the folder, those of SB3 model.zip, run.json and TensorBoard's logs, dreamer run.json, curve.csv
    and sheeprl's checkpoints; all add results.json. Ctrl-C keeps what is learned. Settings of dreamer have sheeprl's names,
    such as algo.replay_ratio=0.5.
    JSON and CSV are of the evaluation.
    """
    if options["resume"] and folder is None:
        raise ValueError("--resume needs --out, the folder of the run")
    _check_family(context, options["algorithm"])
    if seed is None and (not options["resume"] or options["algorithm"] not in SB3_NAMES):
        seed = random_seed()
    settings = dict(map(_setting, pairs))
    rows = []
    for puzzle, number in itertools.product(names, range(seeds)):
        params = level_params(puzzle, level)
        own = None if seed is None else seed + number
        run = f"{options['algorithm']}-{puzzle}-{re.sub('[^A-Za-z0-9#]+', '_', params)[:80]}-{own}"
        parts = ([puzzle] if len(names) > 1 else []) + ([f"seed-{own}"] if seeds > 1 else [])
        place = Path("runs") / run if folder is None else folder.joinpath(*parts)
        chosen = {**options, "settings": settings, "seed": own}
        for stage in curriculum.split(",") if curriculum else ():
            chosen["start"] = str(_train(puzzle, level_params(puzzle, stage), place / stage, form, **chosen))
        path = _train(puzzle, params, place, form, **chosen)
        if episodes:
            rows.append(_evaluate(puzzle, params, path, place, episodes, options, form))
    if rows:
        emit(rows, form)


def _check_family(context: click.Context, algorithm: str) -> None:
    """An error about options that this algorithm does not have."""
    others = ONLY_OWN | ({"device", "patience"} if algorithm == DREAMER else ONLY_DREAMER)
    for name in ONLY_SB3 | ONLY_DREAMER if algorithm in OWN else others:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            told = next(one.opts[0] for one in context.command.params if one.name == name)
            raise ValueError(f"{told} is not for --algo {algorithm}")


def _train(
    puzzle: str,
    params: str,
    folder: Path,
    form: str | None,
    **options: Any,  # noqa: ANN401 (handed on)
) -> Path:
    """Train one agent with a live bar, and print what it came to."""
    last: list[Any] = []
    learn = _own if options["algorithm"] in OWN else _dreamer if options["algorithm"] == DREAMER else _sb3
    with _training_bar() as bar:
        show = _shown_on(bar, f"{options['algorithm']} {puzzle} {params:.40}", options["steps"])

        def progress(report: Any) -> None:  # noqa: ANN401 (the adapter's Report)
            last[:] = [report]
            show(report)

        try:
            path = learn(puzzle, params, folder, progress, options)
        except KeyboardInterrupt:
            bar.stop()
            errors.print(f"puzzleport: interrupted; --resume --out {folder} goes on", markup=False, highlight=False)
            raise SystemExit(130) from None
    if form is None:
        told = f"{last[0].steps:,} steps, {_figures(last[0])}, seed {options['seed']}" if last else "no steps were left"
        told = told.replace(", seed None", "")
        console.print(f"trained {puzzle} {params}: {told}\n{path}", highlight=False, markup=False, soft_wrap=True)
    return path


def _own(puzzle: str, params: str, folder: Path, progress: Any, options: dict[str, Any]) -> Path:  # noqa: ANN401
    """Train in JAX."""
    from ..adapters.jax_train import Setup, train, training_task

    names = ("undo", "max_steps", "max_repeats", "rewards", "timeout")
    picture = {"observation": "pixels", "width": PICTURE, "height": PICTURE} if options["network"] == "pixels" else {}
    task = training_task(puzzle, params, **{name: options[name] for name in names}, **picture)
    setup = Setup(
        task,
        options["seed"],
        masked=options["mask"],
        kind=options["network"],
        also=_sizes(puzzle, task.params, options["also"]),
        **{name: options[name] for name in ("layers", "width", "withhold", "start", "threads")},
    )
    settings = dict(options["settings"])
    if options["num_envs"] is not None:
        settings["num_envs"] = options["num_envs"]
    which = {"steps": options["steps"], "folder": folder, "resume": options["resume"], "settings": settings}
    which["patience"] = options["patience"] is not False
    return train(options["algorithm"], setup, progress=progress, **which)


def _sizes(puzzle: str, params: str, also: str | None) -> tuple[str, ...]:
    """The parameters of other sizes."""
    if also == "larger":
        return tuple(larger(puzzle, params))
    return tuple(level_params(puzzle, one) for one in also.split(",")) if also else ()


def _dreamer(puzzle: str, params: str, folder: Path, progress: Any, options: dict[str, Any]) -> Path:  # noqa: ANN401
    """Train with sheeprl."""
    from ..adapters.sheeprl import train

    chosen = {
        name: value for name, value in options.items() if name not in {"algorithm", "device", "patience", *ONLY_OWN}
    }
    for name, value in DREAMER_DEFAULTS.items():
        chosen[name] = value if chosen[name] is None else chosen[name]
    if chosen["rewards"] is None:
        del chosen["rewards"]
    if chosen["observation"] == "state":
        chosen["observation"] = "one_hot"  # the state, as its encoder takes it
    return train(puzzle, params, folder=folder, progress=progress, **chosen)


def _sb3(puzzle: str, params: str, folder: Path, progress: Any, options: dict[str, Any]) -> Path:  # noqa: ANN401
    """Train with Stable-Baselines3."""
    from ..adapters.sb3_train import train

    chosen = {name: value for name, value in options.items() if name not in {"algorithm", *ONLY_OWN, *ONLY_DREAMER}}
    for name, value in SB3_DEFAULTS.items():
        chosen[name] = value if chosen[name] is None else chosen[name]
    chosen["patience"] = bool(options["patience"])
    algorithm = SB3_NAMES[options["algorithm"]]
    return train(algorithm, puzzle, params, folder=folder, progress=progress, **chosen)


def _evaluate(
    puzzle: str, params: str, path: Path, folder: Path, episodes: int, options: dict[str, Any], form: str | None
) -> dict[str, Any]:
    """Evaluate what was trained, on instances that no training meets; the row of its result."""
    evalset = EVALSET if episodes <= SIZE and not names_instance(params) else None
    with progress_bar() as bar:
        task = bar.add_task("evaluating", total=episodes)
        result = measure(
            str(path),
            puzzle,
            params,
            episodes=episodes,
            undo=options["undo"],
            timeout=options["timeout"],
            evalset=evalset,
            name=options["algorithm"],
            progress=lambda one: bar.update(task, completed=len(one.steps)),
        )
    save([result], folder / "results.json")
    row = result.summary()
    if form is None:
        measured = steps_and_success(row["mean_successful_steps"], row["success_percent"])
        told = f"evaluated {puzzle} {params}: {measured} steps, bound {row['optimal_upper_bound']:,}, {row['seeds']}"
        console.print(told, highlight=False, markup=False, soft_wrap=True)
    return row


# ---- the bar


def _training_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=errors,
        transient=True,
    )


def _shown_on(bar: Progress, title: str, total: int) -> Callable[[Any], None]:
    """What shows reports on a bar. Rate and time left count the time for optimisation, too."""
    task = bar.add_task(title, total=total, figures="", left="")
    started, first = time.monotonic(), -1

    def show(report: Any) -> None:  # noqa: ANN401 (the adapter's Report)
        nonlocal first
        first = report.steps if first < 0 else first
        rate = (report.steps - first) / max(time.monotonic() - started, 1e-9)
        seconds = max(total - report.steps, 0) / rate if rate else 0
        left = f"{seconds // 3600:.0f}:{seconds // 60 % 60:02.0f}:{seconds % 60:02.0f} left" if rate else ""
        doing = f", update {report.updates:,}" if getattr(report, "updates", 0) else ""
        figures = f"{rate:,.0f} steps/s, {_figures(report)}{doing}"
        bar.update(task, completed=min(report.steps, total), figures=figures, left=left)

    return show


def _figures(report: Any) -> str:  # noqa: ANN401 (the adapter's Report)
    """Mean reward and success of the last episodes; of our own algorithms success within the bound, and on validation."""
    if hasattr(report, "score"):
        told = "" if report.success is None else f"training {report.success:.0%} within the bound"
        score = report.score
        if score is not None:
            told += f"{', ' * bool(told)}validation {score.within:.1%} within the bound, {score.mean_steps:.1f} steps"
        return told or "starting"
    reward = "-" if report.reward is None else f"{report.reward:.3g}"
    return f"reward {reward}, solved {'-' if report.success is None else f'{report.success:.0%}'}"


def _setting(pair: str) -> tuple[str, Any]:
    """A setting as Python would read it; what is no literal is text."""
    name, equals, value = pair.partition("=")
    if not equals or not all(part.isidentifier() for part in name.split(".")):
        raise ValueError(f"a setting is written NAME=VALUE, not {quote(pair)}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
