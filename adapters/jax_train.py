"""Training in JAX: runs in folders, which validate, keep the best, and go on where they were.

A run is a sequence of rounds. What a round does follows from the weights before it, the run's seed and the number of the round
alone: so a run that was interrupted and goes on ends with the same weights, bit for bit, as one that was not.

How a round learns is in ``jax_ppo.py``, ``jax_dagger.py``, ``jax_alphazero.py`` and ``jax_muzero.py``.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import puzzleport as pp
from puzzleport.adapters.jax import PuzzleEnv
from puzzleport.agents import ExpertPolicy, network, published, sight
from puzzleport.agents.token_sight import token_sight
from puzzleport.arguments import whole
from puzzleport.benchmark.learned import expert_steps, instances, joined, sights, withheld
from puzzleport.benchmark.results import as_csv
from puzzleport.benchmark.score import path_weighted
from puzzleport.files import aside, write

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError("training in JAX needs an extra: pip install 'puzzleport[jax]'") from error

Array = np.ndarray[Any, Any]
Weights = dict[str, jax.Array]

VALIDATION = 2**62
"""The first seed of the validation instances: neither a stream of episodes nor an evaluation set comes there."""
LONGEST = 500
"""Steps after which validation gives up, where the bound is higher."""
VALIDATED = 200
"""How many games validation plays, of all sizes together."""
TEMPERATURES = (1.0, 0.5, 0.0)
"""What a policy is validated with: as it is, sharper, and with its likeliest action alone."""
ALGORITHMS = {"ppo": "PPO", "dagger": "DAgger", "alphazero": "AlphaZero", "muzero": "MuZero"}
"""What each is called in its file, ``jax_NAME.py``."""
BEST, LATEST, LAST, RUN, CURVE = "best.safetensors", "last.safetensors", "last.npz", "run.json", "curve.csv"


@dataclass(frozen=True)
class Setup:
    """What is trained, whatever the algorithm."""

    task: pp.Task
    seed: int
    masked: bool = True
    kind: str = "dense"
    layers: int = 2
    width: int = 128
    withhold: float = 0.0
    """The share of the instances, told by what is seen at their start, from which nothing is learned."""
    threads: int = 0
    start: str | None = None
    """A file of an agent to start from, of another size perhaps; arrays that do not fit are fresh."""
    also: tuple[str, ...] = ()
    """Parameters of boards of other sizes that are learned from too; nothing of them is withheld."""

    def __post_init__(self) -> None:
        whole(self.layers, "layers", 1, 64)
        whole(self.width, "width", 1, 8192)
        if self.kind in network.ATTENDING and self.width % network.HEADS:
            raise pp.UnknownOption(
                f"a network that attends has {network.HEADS} heads: its width is a multiple of that, not {self.width}"
            )

    @property
    def bound(self) -> int:
        """The paper's bound."""
        return pp.optimal_steps(self.task.puzzle, self.task.params)


def training_limit(puzzle: str, params: str) -> int:
    """After how many steps an episode of training is cut off."""
    return int(np.clip(3 * pp.optimal_steps(puzzle, params), 100, 500))


def training_task(puzzle: str, params: str, **options: Any) -> pp.Task:  # noqa: ANN401 (of a Task)
    """The task that agents are trained on: a small price for each step, and episodes that end at three times the bound."""
    chosen = {
        "rewards": pp.Rewards(solved=1.0, failed=-0.1, step=-0.005),
        "max_steps": training_limit(puzzle, params),
        **{name: value for name, value in options.items() if value is not None},
    }
    return pp.Task.of(puzzle, params, chosen)


# ---- where it is computed


def learning_device() -> Any:  # noqa: ANN401 (jax.Device)
    """Where networks learn: a GPU where JAX finds one; None for the CPU, where all games are played."""
    first = jax.local_devices()[0]
    return None if first.platform == "cpu" else first


def learn_on(device: Any, learn: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 (arrays, or trees of them)
    """Call what is compiled on a device, and bring back what it returns."""
    if device is None:
        return learn(*arguments)
    return jax.device_put(learn(*jax.device_put(arguments, device)), _cpu())


def _cpu() -> Any:  # noqa: ANN401 (jax.Device)
    return jax.local_devices(backend="cpu")[0]


# ---- what a network sees, in JAX


def numbers(layout: Any, fields: dict[str, jax.Array]) -> jax.Array:  # noqa: ANN401 (a Layout)
    """All numbers of the observations of many games."""
    parts = [fields[one.name] for one in layout.fields]
    return jnp.concatenate([part.reshape(len(part), -1).astype(jnp.int32) for part in parts], -1)


def log_chances(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Log-probabilities with the illegal actions left out; where nothing is legal, all are as good."""
    return jax.nn.log_softmax(jnp.where(mask | ~mask.any(-1, keepdims=True), logits, -1e9))


def samples(task: pp.Task, seed: int, games: int = 256, steps: int = 60) -> Array:
    """Numbers that are met in random play and on the expert's way: what the columns of a network are chosen by."""
    found = []
    random = np.random.default_rng([seed, 1])
    seeds = random.integers(2**53, size=games).tolist()
    with task.batch(games, threads=1) as batch:
        step = batch.reset(seeds)
        for _ in range(steps):
            found.append(network.numbers(task.layout, step.observation).copy())
            step = batch.step(pp.agents.masked_actions(step.observation, step.mask, random))
    expert = ExpertPolicy(task.puzzle)
    for one in seeds[:64]:
        with task.session(one) as session:
            while not session.ended:
                found.append(network.numbers(task.layout, session.observe(copy=False))[None])
                try:
                    session.step(expert(session))
                except pp.NoPlan:
                    break
    return np.concatenate(found)


class Model:
    """A network for a task: its shape, what it sees, and weights to start from."""

    def __init__(self, setup: Setup) -> None:
        task, layout = setup.task, setup.task.layout
        self.setup, self.layout = setup, layout
        before = None if setup.start is None else published.read(Path(setup.start))
        if before is not None and before.puzzle != task.puzzle:
            raise ValueError(f"the agent in {setup.start} plays {before.puzzle}, not {task.puzzle}")
        found = samples(replace(task, observation="state"), setup.seed)
        others = [replace(task, params=one, max_steps=training_limit(task.puzzle, one)) for one in setup.also]
        columns: dict[str, Array] = {}
        if before is not None and before.layout == layout:
            self.shape, item, value = before.shape, before.weights["item"], before.weights["value"]
            columns = {name: before.weights[name] for name in ("column", "compared", "bit") if name in before.weights}
        elif setup.kind == "pixels":
            self.shape = network.Shape("pixels", 1, setup.width, network.PICTURE, network.PICTURE, 3)
            item = value = np.zeros(0, np.int32)
        elif setup.kind == "relative":
            met = {one.params: samples(one, setup.seed) for one in others}
            seen = sight.choose(task.puzzle, task.params, {task.params: found, **met})
            item, value = seen.item, seen.value
            self.shape = network.Shape("relative", setup.layers, setup.width, *seen.board)
            columns = {"column": seen.column, "compared": seen.compared}
        elif setup.kind == "tokens":
            item, value, bit, board = token_sight(task.puzzle, task.params)
            self.shape = network.Shape("tokens", setup.layers, setup.width, *board)
            columns = {"bit": bit}
        elif setup.kind in ("axial", "lines"):
            item, value, board = network.cells_sight(layout, found)
            self.shape = network.Shape(setup.kind, setup.layers, setup.width, *board)
        else:
            item, value = network.dense_sight(layout, found)
            self.shape = network.Shape("dense", setup.layers, setup.width)
        self.sight = {name: jnp.asarray(one) for name, one in {"item": item, "value": value, **columns}.items()}
        random = np.random.default_rng([setup.seed, 2])
        fresh = network.initial(self.shape, len(task.actions), len(item), random)
        for name, one in {} if before is None else before.weights.items():
            if name in fresh and fresh[name].shape == one.shape:
                fresh[name] = one
        self.initial: Weights = {name: jnp.asarray(one) for name, one in fresh.items()}
        self.sizes = [self, *map(self._on, others)]

    def _on(self, task: pp.Task) -> Model:
        """The same network on a board of another size."""
        known = {name: np.asarray(one) for name, one in self.sight.items()}
        arrays, board = published.seen_on(self.shape.kind, task.puzzle, task.params, known)
        other = copy(self)
        other.setup, other.layout = replace(self.setup, task=task, withhold=0.0, also=()), task.layout
        other.shape = replace(self.shape, height_cells=board[0], width_cells=board[1])
        other.sight = {**self.sight, **{name: jnp.asarray(one) for name, one in arrays.items()}}
        return other

    def numbers(self, observation: Any) -> jax.Array:  # noqa: ANN401 (fields, or pictures)
        """All numbers of the observations of many games."""
        pixels = self.shape.kind == "pixels"
        return observation.reshape(len(observation), -1) if pixels else numbers(self.layout, observation)

    def look(self, observation: Any) -> jax.Array:  # noqa: ANN401
        """What the network sees of many games."""
        return self.look_at(self.numbers(observation))

    def look_at(self, of: jax.Array) -> jax.Array:
        """The same, from their numbers."""
        if self.shape.kind == "pixels":
            return of
        seen: jax.Array = network.look(self.sight, of, jnp)
        return seen

    def __call__(self, weights: Weights, seen: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Logits and values."""
        return network.forward(self.shape, weights, seen, jnp)

    def legal(self, mask: jax.Array) -> jax.Array:
        """The actions that it chooses among."""
        return mask if self.setup.masked else jnp.ones_like(mask)

    def write(self, path: Path, weights: Weights, temperature: float) -> None:
        """Write the agent's file."""
        task = self.setup.task
        arrays = {name: np.asarray(one) for name, one in {**weights, **self.sight}.items()}
        published.write(
            path,
            self.shape,
            arrays,
            puzzle=task.puzzle,
            params=task.params,
            actions=task.actions,
            masked=self.setup.masked,
            temperature=temperature,
        )


# ---- validation


@dataclass(frozen=True)
class Score:
    """What a policy is worth on the validation instances."""

    within: float
    """The share that is solved within the bound."""
    spl: float
    """Success weighted by path length: the mean of expert's steps / own steps, at most 1 each, 0 where it is not solved."""
    mean_steps: float
    temperature: float

    @property
    def rank(self) -> tuple[float, float]:
        """By what the best is chosen: a difference in success of one game counts for more than all lengths."""
        return round(self.within, 6), self.spl


def validation_seeds(task: pp.Task, games: int, withhold: float) -> list[int]:
    """The seeds of validation instances. What is withheld from training chooses no agent either."""
    if not withhold or task.spec.hidden:
        return list(range(VALIDATION, VALIDATION + games))
    seeds = np.arange(VALIDATION, VALIDATION + 4 * games)
    found: list[int] = seeds[~withheld(sights(task, seeds.tolist()), withhold)][:games].tolist()
    if not found:
        raise ValueError(f"no instance of {task.puzzle} {task.params:.80} is left to validate with")
    return found


class Games:
    """The validation instances of one size."""

    def __init__(self, model: Model, count: int) -> None:
        task = model.setup.task
        self.limit = min(model.setup.bound, LONGEST)
        plain = replace(task, max_steps=self.limit, rewards=pp.Rewards())
        self.seeds = validation_seeds(task, count, model.setup.withhold)
        self.expert = expert_steps(plain, self.seeds)
        self.env = PuzzleEnv(plain, num_envs=len(self.seeds), threads=model.setup.threads)
        self._play = jax.jit(self._playing(model, len(self.seeds)))

    def _playing(self, model: Model, games: int) -> Callable[..., Any]:
        env = self.env

        def play(weights: Weights, handle: Any, timestep: Any, key: jax.Array, temperature: jax.Array) -> Any:  # noqa: ANN401
            def step(carry: Any) -> Any:  # noqa: ANN401
                handle, timestep, over, solved, length, key = carry
                key, now = jax.random.split(key)
                logits = log_chances(model(weights, model.look(timestep.observation))[0], model.legal(timestep.mask))
                drawn = jax.random.categorical(now, logits / jnp.maximum(temperature, 1e-6))
                action = jnp.where(temperature == 0, logits.argmax(-1), drawn)
                handle, timestep = env.step(handle, action)
                first = timestep.done & ~over
                solved = jnp.where(first, timestep.solved, solved)
                return handle, timestep, over | first, solved, jnp.where(first, timestep.length, length), key

            none = jnp.zeros(games, bool)
            carry = handle, timestep, none, none, jnp.zeros(games, jnp.int32), key
            return jax.lax.while_loop(lambda carry: ~carry[2].all(), step, carry)[3:5]

        return play

    def play(self, weights: Weights, temperature: float, seed: int) -> tuple[Array, Array]:
        """Which are solved within the bound, and after how many steps."""
        handle, timestep = self.env.reset(seed=self.seeds)
        told = self._play(weights, handle, timestep, jax.random.key(seed), jnp.float32(temperature))
        solved, length = (np.asarray(one) for one in told)
        return solved, length


class Validation:
    """Instances that a policy is measured on during its training, of all sizes; they are not those of any evaluation set."""

    def __init__(self, model: Model) -> None:
        self.sizes = [Games(one, VALIDATED // len(model.sizes)) for one in model.sizes]
        self.expert = np.concatenate([one.expert for one in self.sizes])

    def __call__(self, weights: Weights, temperature: float, seed: int) -> Score:
        """Measure a policy."""
        played = [one.play(weights, temperature, seed) for one in self.sizes]
        solved, length = (np.concatenate(one) for one in zip(*played, strict=True))
        weighted = path_weighted(solved, length, self.expert)
        mean = float(length[solved].mean()) if solved.any() else float("nan")
        return Score(float(solved.mean()), float(weighted.mean()), mean, temperature)

    def best(self, weights: Weights, seed: int) -> Score:
        """The score at the temperature that suits the policy best."""
        return max((self(weights, one, seed) for one in TEMPERATURES), key=lambda score: score.rank)

    def close(self) -> None:
        """Free the games."""
        for one in self.sizes:
            one.env.close()


# ---- runs


@dataclass(frozen=True)
class Report:
    """How far a training is."""

    steps: int
    success: float | None
    """The share of the last episodes of training that were solved within the bound."""
    score: Score | None
    """The last validation."""


class Algorithm(Protocol):
    """How a round learns."""

    weights: Weights
    seen: set[int]
    """The first sights of the instances that were learned from."""
    steps: int

    def round(self, number: int, tell: Callable[[int, float | None], None]) -> None:
        """Do round ``number``, and tell after each update how many steps were taken and the success of training."""

    def state(self) -> dict[str, Array]:
        """All that the next round depends on."""

    def restore(self, state: dict[str, Array]) -> None:
        """Go on from there."""

    def close(self) -> None:
        """Free the games."""


@dataclass
class Run:
    """The files of a run in a folder."""

    folder: Path
    about: dict[str, Any]
    rounds: int = 0
    cpu: float = 0.0
    finished: str = ""
    """Why the run ended, empty while it has not."""
    curve: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def begin(cls, folder: Path, about: dict[str, Any], resume: bool) -> Run:
        """A new run, or the one in the folder."""
        about = json.loads(json.dumps(about, default=str))
        path = folder / LAST
        if not path.exists():
            return cls(folder, about)
        if not resume:
            raise ValueError(f"{folder} holds a run: --resume goes on with it")
        with np.load(path) as saved:
            before = json.loads(bytes(saved["run"]))
        for name, value in about.items():
            if before["about"].get(name) != value:
                raise ValueError(f"the run in {folder} has another {name}: {before['about'].get(name)!r:.80}")
        return cls(folder, **before)

    def keep(self, algorithm: Algorithm) -> None:
        """Save everything. What goes on reads one file alone; the others are for people."""
        told = asdict(self)
        del told["folder"]
        state = {f"state/{name}": one for name, one in algorithm.state().items()}
        state["seen"] = np.array(sorted(algorithm.seen), np.uint64)
        state["run"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
        with aside(self.folder / LAST) as part:
            np.savez(part, **state)  # type: ignore[arg-type] # arrays by name
        write(self.folder / RUN, json.dumps(told, indent=1) + "\n")
        write(self.folder / CURVE, as_csv(self.curve))

    def restore(self, algorithm: Algorithm) -> None:
        """Bring an algorithm to where the run is."""
        if not self.rounds:
            return
        with np.load(self.folder / LAST) as saved:
            algorithm.seen |= set(saved["seen"].tolist())
            state = [name for name in saved.files if name.startswith("state/")]
            algorithm.restore({name.removeprefix("state/"): saved[name] for name in state})


def train(
    algorithm: str,
    setup: Setup,
    *,
    steps: int,
    folder: Path,
    resume: bool = False,
    settings: dict[str, Any] | None = None,
    patience: bool = True,
    progress: Callable[[Report], None] | None = None,
) -> Path:
    """Train an agent into a folder. Returns the path of the best one by validation.

    The folder gets ``best.safetensors`` and ``last.safetensors`` (agents for ``puzzleport.agents.published.read``), ``last.npz``
    (all that the next round depends on), ``run.json`` and ``curve.csv``. The same arguments give the same files on one machine.

    Args:
        algorithm: one of ``ALGORITHMS``.
        setup: what is trained.
        steps: of training: those that are played, or those that an expert comments on in DAgger.
        folder: of the run.
        resume: go on with the run in the folder.
        settings: of the algorithm: the fields of ``Settings`` in its file.
        patience: whether to stop early: when all validation games are solved within the bound, either in two rounds in a row
            and as fast as by the expert on average, or in four and no faster; or when none is after half of the steps.
        progress: called with a ``Report`` after each update.
    """
    if algorithm not in ALGORITHMS:
        raise pp.UnknownOption(f"there is no algorithm {algorithm!r:.80}; there are {', '.join(ALGORITHMS)}")
    if steps < 1:
        raise ValueError("training takes at least one step")
    if setup.kind == "pixels" and (algorithm != "ppo" or setup.withhold):
        raise ValueError("pictures are for ppo alone, and without instances that are withheld")
    if setup.also and (algorithm != "dagger" or setup.kind not in network.ANY_SIZE):
        raise ValueError("boards of other sizes are for dagger alone, and for a network of relative cells or of tokens")
    module = import_module(f"puzzleport.adapters.jax_{algorithm}")
    chosen = _settings(module.Settings, settings or {})
    about = {"algorithm": algorithm, **_told(setup), "steps": steps, "settings": asdict(chosen)}
    run = Run.begin(folder, about, resume)
    if run.finished:
        return folder / BEST
    with nullcontext() if learning_device() is None else jax.default_device(_cpu()):
        _go_on(run, module, algorithm, Model(setup), chosen, steps, patience, progress)
    return folder / BEST


def _go_on(
    run: Run,
    module: Any,  # noqa: ANN401 (of the algorithm)
    algorithm: str,
    model: Model,
    settings: Any,  # noqa: ANN401 (the module's Settings)
    steps: int,
    patience: bool,
    progress: Callable[[Report], None] | None,
) -> None:
    """Train until the run is finished."""
    began, before, folder = time.process_time(), run.cpu, run.folder
    learner: Algorithm = getattr(module, ALGORITHMS[algorithm])(model, settings, steps)
    validation = Validation(model)
    try:
        run.restore(learner)
        scores = [_score(row) for row in run.curve]
        expert = float(validation.expert.mean())
        while learner.steps < steps:

            def tell(taken: int, success: float | None) -> None:
                if progress:
                    progress(Report(taken, success, scores[-1] if scores else None))

            learner.round(run.rounds, tell)
            run.rounds += 1
            scores.append(validation.best(learner.weights, run.rounds))
            if all(scores[-1].rank > one.rank for one in scores[:-1]):
                model.write(folder / BEST, learner.weights, scores[-1].temperature)
            model.write(folder / LATEST, learner.weights, scores[-1].temperature)
            run.cpu = round(before + time.process_time() - began, 2)
            run.curve.append(
                {"steps": learner.steps, "cpu_seconds": run.cpu, "expert_steps": expert, **asdict(scores[-1])}
            )
            if learner.steps >= steps:
                run.finished = "all steps are taken"
            elif patience:
                run.finished = _enough(scores, expert, learner.steps / steps)
            run.keep(learner)
            tell(learner.steps, None)
            if run.finished:
                break
    finally:
        learner.close()
        validation.close()


def _enough(scores: list[Score], expert: float, share: float) -> str:
    """Why a run ends before all of its steps are taken; empty where it does not."""
    perfect = [one.within == 1 for one in scores]
    if len(scores) >= 2 and all(perfect[-2:]) and all(one.mean_steps <= expert for one in scores[-2:]):
        return "all validation games are solved, as fast as by the expert"
    if len(scores) >= 4 and all(perfect[-4:]) and max(one.spl for one in scores[-3:]) <= scores[-4].spl + 0.005:
        return "all validation games are solved, and it gets no faster"
    hopeless = share >= 0.5 and not any(one.within for one in scores)
    return "no validation game is solved after half of the steps" if hopeless else ""


def _score(row: dict[str, Any]) -> Score:
    return Score(**{name: float(row[name]) for name in ("within", "spl", "mean_steps", "temperature")})


def _told(setup: Setup) -> dict[str, Any]:
    """What a run's file says of its setup."""
    task = setup.task
    rewards = {name: value for name, value in asdict(task.rewards).items() if isinstance(value, (int, float))}
    more = {name: value for name, value in asdict(replace(setup, task=None)).items() if name not in {"task", "threads"}}  # type: ignore[arg-type]
    if task.max_repeats:
        more["max_repeats"] = task.max_repeats
    if not setup.also:
        del more["also"]
    return {"puzzle": task.puzzle, "params": task.params, "max_steps": task.max_steps, "rewards": rewards, **more}


def _settings(kind: type[Any], given: dict[str, Any]) -> Any:  # noqa: ANN401 (of that kind)
    known = list(kind.__dataclass_fields__)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise pp.UnknownOption(f"there is no setting {unknown[0]!r:.80}; there are {', '.join(known)}")
    return kind(**given)


def forget_compiled() -> None:
    """Free what was compiled: a process that trains many agents would grow with each."""
    jax.clear_caches()
    gc.collect()


def unseen(last: Path, agent: published.Agent, episodes: int) -> Array | None:
    """Which instances of the evaluation set were not met in training; None where the start of a game does not tell them apart."""
    task = pp.Task(agent.puzzle, agent.params)
    if task.spec.hidden or agent.shape.kind == "pixels":
        return None
    with np.load(last) as saved:
        known = saved["seen"]
    return ~np.isin(joined(sights(task, instances(task, episodes))), known)
