"""DreamerV3 of sheeprl on puzzles: training into a folder, and its checkpoints as policies.

    >>> path = train("net", "2x2", steps=100_000, seed=0, folder=Path("run"))  # doctest: +SKIP
    >>> evaluate(str(path), "net", "2x2")  # doctest: +SKIP

DreamerV3 learns in its imagination, where no mask can be known: so its actions are not masked, neither there nor in play, as
in the paper. An action that changes nothing costs a step.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import puzzleport as pp
from puzzleport.adapters.gymnasium import PuzzleEnv
from puzzleport.benchmark.results import as_csv
from puzzleport.files import write

try:
    import torch
    from hydra import compose, initialize_config_module
    from lightning import Fabric
    from omegaconf import OmegaConf, open_dict
    from sheeprl.algos.dreamer_v3.agent import build_agent
    from sheeprl.algos.dreamer_v3.utils import prepare_obs
    from sheeprl.cli import check_configs, run_algorithm
    from sheeprl.utils.env import make_env as wrapped_env
    from sheeprl.utils.utils import dotdict
except ImportError as error:
    raise ImportError("DreamerV3 needs an extra: pip install 'puzzleport[dreamer]'") from error

Array = np.ndarray[Any, Any]
RUN, CURVE = "run.json", "curve.csv"
SIZES = ("tiny", "XS", "S", "M", "L", "XL")
"""Sizes of the networks: sheeprl's own, and one for puzzles of few cells on one core."""
TINY: dict[str, Any] = {
    "algo.dense_units": 64,
    "algo.world_model.recurrent_model.recurrent_state_size": 64,
    "algo.world_model.transition_model.hidden_size": 64,
    "algo.world_model.representation_model.hidden_size": 64,
    "algo.world_model.discrete_size": 8,
    "algo.world_model.stochastic_size": 8,
    "algo.world_model.encoder.cnn_channels_multiplier": 4,
    "algo.world_model.reward_model.bins": 41,
    "algo.critic.bins": 41,
    "algo.per_rank_sequence_length": 8,
    "algo.per_rank_batch_size": 32,
    "algo.horizon": 8,
    "algo.learning_starts": 512,
    "algo.replay_ratio": 0.125,
    "algo.world_model.optimizer.lr": 2e-3,
    "algo.actor.optimizer.lr": 5e-4,
    "algo.critic.optimizer.lr": 1e-3,
    "algo.actor.ent_coef": 3e-3,
}
"""What the size tiny changes in XS. sheeprl's rates of learning are for millions of steps, these for thousands."""
POINTS = 32
"""Of the learning curve of a run."""
SEEN = {"one_hot": "mlp", "flat": "mlp", "pixels": "cnn"}
"""The kinds of observation that sheeprl's encoders take, and by which of them."""


@dataclass(frozen=True)
class Report:
    """How far a training is."""

    steps: int
    reward: float | None
    """The mean over the last 100 episodes, None before the first one ends."""
    success: float | None
    """The share of them that was solved."""


class _Watch:
    """Counts the steps of all environments of a run, reports, and keeps the learning curve in the run's folder."""

    def __init__(
        self, folder: Path, told: dict[str, Any], done: int, progress: Callable[[Report], None] | None
    ) -> None:
        self.folder, self.progress, self.steps = folder, progress, done
        self.told = {**told, "curve": [one for one in told["curve"] if one["steps"] <= done]}
        self._every = max(told["about"]["steps"] // POINTS, 1)
        self._before: float = told["cpu"]
        self._began = time.process_time()
        self.rewards: deque[float] = deque(maxlen=100)
        self.solved: deque[bool] = deque(maxlen=100)

    def __call__(self, over: bool, reward: float, solved: bool) -> None:
        self.steps += 1
        if over:
            self.rewards.append(reward)
            self.solved.append(solved)
        if self.steps % self._every == 0 and self.rewards:
            now = self._report()
            point = {"steps": now.steps, "cpu_seconds": self._cpu, "reward": now.reward, "success": now.success}
            self.told["curve"].append(point)
            self.keep()
        if self.progress is not None and self.steps % 64 == 0:
            self.progress(self._report())

    @property
    def _cpu(self) -> float:
        return round(self._before + time.process_time() - self._began, 2)

    def _report(self) -> Report:
        known = bool(self.rewards)
        mean = float(np.mean(self.rewards)) if known else None
        return Report(self.steps, mean, float(np.mean(self.solved)) if known else None)

    def keep(self, finished: str = "") -> None:
        """Write what is known of the run."""
        self.told.update(cpu=self._cpu, finished=finished)
        write(self.folder / RUN, json.dumps(self.told, indent=1) + "\n")
        write(self.folder / CURVE, as_csv(self.told["curve"]))


_watch: _Watch | None = None


class WatchedEnv(PuzzleEnv):
    """What sheeprl's configuration makes: an environment whose steps are counted."""

    def __init__(self, puzzle: str, params: str, *, rewards: dict[str, Any], **options: Any) -> None:  # noqa: ANN401
        super().__init__(puzzle, params, rewards=pp.Rewards(**rewards), render_mode="rgb_array", **options)
        self._sum = 0.0

    def step(self, action: Any) -> Any:  # noqa: ANN401 (as Gymnasium has it)
        """Take an action."""
        result = super().step(int(action))
        self._sum += float(result[1])
        over = bool(result[2] or result[3])
        if _watch is not None:
            _watch(over, self._sum, self.session.status > 0)
        if over:
            self._sum = 0.0
        return result


def configuration(
    task: pp.Task,
    *,
    steps: int,
    seed: int,
    folder: Path,
    num_envs: int,
    every: int,
    size: str,
    settings: dict[str, Any],
) -> Any:  # noqa: ANN401 (omegaconf is untyped)
    """sheeprl's configuration of a run: DreamerV3 on the CPU. Settings are named as sheeprl names them."""
    if size not in SIZES:
        raise pp.UnknownOption(f"DreamerV3 has the sizes {', '.join(SIZES)}, not {size!s:.80}")
    kind = SEEN.get(str(task.observation))
    if kind is None:
        raise pp.UnknownOption(f"DreamerV3 sees {', '.join(SEEN)}, not {task.observation!s:.80}")
    options = ("undo", "max_steps", "max_repeats", "observation", "width", "height", "timeout")
    wrapper = {
        "_target_": f"{__name__}.WatchedEnv",
        "puzzle": task.puzzle,
        "params": task.game_id or task.params,
        "rewards": _plain(task.rewards),
        **{name: getattr(task, name) for name in options},
    }
    keys = {one: {"encoder": ["seen"], "decoder": ["seen"]} if one == kind else _NO_KEYS for one in ("mlp", "cnn")}
    chosen: dict[str, Any] = {
        "seed": seed,
        "algo.total_steps": steps,
        "algo.run_test": False,
        "algo.mlp_keys": keys["mlp"],
        "algo.cnn_keys": keys["cnn"],
        "env.id": f"{task.puzzle}-{task.params}",
        "env.num_envs": num_envs,
        "env.sync_env": True,
        "env.capture_video": False,
        "env.screen_size": 64,
        "env.wrapper": wrapper,
        "buffer.size": min(max(steps, 64 * num_envs), 1_000_000),  # of all environments together
        "buffer.memmap": False,
        "checkpoint.every": every,
        "metric.log_level": 0,
        "fabric.accelerator": "cpu",
        "log_root": str(folder.absolute()),
        "root_dir": "sheeprl",
        "run_name": "run",
        "exp_name": "run",
    }
    with initialize_config_module("sheeprl.configs", version_base="1.3"):
        known = "XS" if size == "tiny" else size
        found = compose("config", ["exp=dreamer_v3", f"algo=dreamer_v3_{known}", "env=dummy"])
    with open_dict(found):
        for name, value in chosen.items():
            OmegaConf.update(found, name, value, merge=False)
        for name, value in {**(TINY if size == "tiny" else {}), **settings}.items():
            if OmegaConf.select(found, name) is None:
                raise pp.UnknownOption(f"sheeprl's configuration of DreamerV3 has no {name!r:.80}")
            OmegaConf.update(found, name, value)
    return found


def _plain(rewards: pp.Rewards) -> dict[str, Any]:
    """Rewards as a configuration can hold them."""
    return {name: value for name, value in asdict(rewards).items() if isinstance(value, (int, float))}


_NO_KEYS: dict[str, list[str]] = {"encoder": [], "decoder": []}


def train(
    puzzle: str,
    params: str,
    *,
    steps: int,
    seed: int,
    folder: Path,
    resume: bool = False,
    num_envs: int = 4,
    every: int = 50_000,
    size: str = "XS",
    settings: dict[str, Any] | None = None,
    progress: Callable[[Report], None] | None = None,
    **options: Any,  # noqa: ANN401 (of a Task)
) -> Path:
    """Train DreamerV3 into a folder. Returns the path of its last checkpoint.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string.
        steps: in all environments together.
        seed: of everything.
        folder: of the run. It gets ``run.json``, ``curve.csv`` and sheeprl's own folder.
        resume: go on with the run in the folder, from its last checkpoint.
        num_envs: how many games are played together.
        every: a checkpoint is written after so many steps.
        size: one of ``SIZES``.
        settings: of sheeprl's configuration, such as ``{"algo.replay_ratio": 0.5}``.
        progress: called with a ``Report`` from time to time.
        options: those of ``puzzleport.Task``. The observation is one of ``SEEN``.
    """
    global _watch
    task = pp.Task.of(puzzle, params, {"observation": "one_hot", **options})
    about = {"algorithm": "dreamer", "puzzle": task.puzzle, "params": task.params, "seed": seed}
    about.update(steps=steps, num_envs=num_envs, size=size, settings=settings or {}, rewards=_plain(task.rewards))
    about.update({name: getattr(task, name) for name in ("observation", "undo", "max_steps", "max_repeats")})
    told, before = _before(folder, about, resume)
    if told["finished"] and before is not None:
        return before
    found = configuration(
        task, steps=steps, seed=seed, folder=folder, num_envs=num_envs, every=every, size=size, settings=settings or {}
    )
    if before is not None:
        with open_dict(found):
            found.checkpoint.resume_from = str(before)
    plain = dotdict(OmegaConf.to_container(found, resolve=True, throw_on_missing=True))
    _watch = _Watch(folder, told, 0 if before is None else _steps_of(before), progress)
    _watch.keep()
    try:
        check_configs(plain)
        run_algorithm(plain)
        last = checkpoints(folder)
        if not last:
            raise ValueError(f"sheeprl wrote no checkpoint into {folder}")
        _watch.keep("all steps are taken")
    except BaseException:
        _watch.keep()
        raise
    finally:
        _watch = None
    return last[-1]


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run, the last one last."""
    return sorted(folder.glob("sheeprl/run/version_*/checkpoint/*.ckpt"), key=lambda path: (_steps_of(path), path))


def _steps_of(path: Path) -> int:
    return int(path.stem.split("_")[1])


def _before(folder: Path, about: dict[str, Any], resume: bool) -> tuple[dict[str, Any], Path | None]:
    """What is known of the run in the folder, or of a new one, and the checkpoint that it goes on from."""
    about = json.loads(json.dumps(about, default=str))
    fresh = {"about": about, "cpu": 0.0, "finished": "", "curve": []}
    if not (folder / RUN).exists():
        return fresh, None
    if not resume:
        raise ValueError(f"{folder} holds a run: --resume goes on with it")
    told = json.loads((folder / RUN).read_text(encoding="utf-8"))
    for name, value in about.items():
        if told["about"].get(name) != value:
            raise ValueError(f"the run in {folder} has another {name}: {told['about'].get(name)!r:.80}")
    found = checkpoints(folder)
    return {**fresh, **told}, found[-1] if found else None


class CheckpointPolicy:
    """A checkpoint of DreamerV3 as a policy over a batch; it remembers what it has seen of each game.

    A checkpoint is a pickle: open only what you trust.

    Args:
        path: the file, in the folder that sheeprl wrote it to.
        deterministic: whether it takes its likeliest action, rather than one that it draws.
    """

    def __init__(self, path: str | Path, *, deterministic: bool = False) -> None:
        self.path, self.deterministic = Path(path), deterministic
        try:
            told = OmegaConf.load(self.path.parent.parent / "config.yaml")
        except FileNotFoundError:
            raise ValueError(
                f"{self.path} is no checkpoint of sheeprl: there is no config.yaml two folders up"
            ) from None
        self._cfg = dotdict(OmegaConf.to_container(told, resolve=True))
        given = dict(self._cfg.env.wrapper)
        self.puzzle, self.params = given["puzzle"], given["params"]
        names = ("undo", "observation", "width", "height")
        self._task = pp.Task.of(self.puzzle, self.params, {name: given[name] for name in names})
        self._fabric = Fabric(accelerator="cpu", devices=1)
        state = self._fabric.load(self.path, weights_only=False)  # sheeprl's own classes are in it
        env = wrapped_env(self._cfg, 0, 0)()
        space = env.observation_space
        env.close()
        self._player = build_agent(
            self._fabric, (len(self._task.actions),), False, self._cfg, space, state["world_model"], state["actor"]
        )[-1]

    @property
    def fingerprint(self) -> str:
        """Tells apart models of the same name."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()[:16] + " deterministic" * self.deterministic

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (str(self.path), self.deterministic)

    def check(self, task: pp.Task) -> None:
        """An error where it was trained on something else."""
        ours = self._task
        if (task.puzzle, task.params, task.undo) != (ours.puzzle, ours.params, ours.undo):
            told = f"{ours.puzzle} {ours.params:.80} with{'' if ours.undo else 'out'} UNDO"
            raise pp.UnknownOption(f"the checkpoint plays {told}, not {task.puzzle} {task.params:.80}")

    def start(self, batch: pp.Batch, random: np.random.Generator) -> None:
        """Forget the last games. All chance comes from the generator."""
        torch.manual_seed(int(random.integers(2**63)))
        self._look, _ = self._task.encoder.attach_batch(batch)
        self._player.num_envs = batch.num_envs
        self._player.init_states()

    def __call__(self, observation: dict[str, Array], mask: Array, random: np.random.Generator) -> Array:
        """The actions of many games."""
        seen = self._look(copy=False)
        pixels = list(self._cfg.algo.cnn_keys.encoder)
        if pixels:
            size = self._cfg.env.screen_size
            seen = np.stack([_resized(one, size) for one in seen])
        with torch.no_grad():
            given = prepare_obs(self._fabric, {"seen": np.asarray(seen)}, cnn_keys=pixels, num_envs=len(mask))
            (actions,) = self._player.get_actions(given, self.deterministic)
        return np.asarray(actions[0].argmax(-1).cpu().numpy())


def _resized(picture: Array, size: int) -> Array:
    """A picture as sheeprl's environments hand it out: channels first."""
    import cv2

    if picture.shape[:2] != (size, size):
        picture = cv2.resize(picture, (size, size), interpolation=cv2.INTER_AREA)
    return np.asarray(picture.transpose(2, 0, 1))


def _revived(path: str, deterministic: bool) -> CheckpointPolicy:
    return CheckpointPolicy(path, deterministic=deterministic)
