"""Stable-Baselines3 agents: trained with the paper's settings, saved along the way, and played as policies."""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from math import ceil, gcd
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

import puzzleport as pp
from puzzleport.adapters.gymnasium_spaces import space_of
from puzzleport.adapters.sb3 import sb3_vec_env
from puzzleport.errors import quote
from puzzleport.files import aside, write

try:
    import sb3_contrib
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
    from stable_baselines3.common.preprocessing import is_image_space, is_image_space_channels_first
    from stable_baselines3.common.utils import safe_mean
    from stable_baselines3.common.vec_env import VecTransposeImage
except ImportError as error:
    raise ImportError("models of Stable-Baselines3 need an extra: pip install 'puzzleport[sb3]'") from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = np.ndarray[Any, Any]

ALGORITHMS: dict[str, type[BaseAlgorithm]] = {
    "maskable_ppo": sb3_contrib.MaskablePPO,
    "ppo": sb3.PPO,
    "trpo": sb3_contrib.TRPO,
    "a2c": sb3.A2C,
    "dqn": sb3.DQN,
    "qrdqn": sb3_contrib.QRDQN,
    "recurrent_ppo": sb3_contrib.RecurrentPPO,
}
MODEL, STATE = "model.zip", "run.json"


def read_model(path: Path) -> bytes:
    """The content of a model's file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None


def algorithm_of(path: Path, content: bytes | None = None) -> str:
    """Which algorithm saved a model. SB3 does not say, but what it saved tells."""
    content = read_model(path) if content is None else content
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            data = json.loads(archive.read("data"))
        policy = str(data["policy_class"].get("__module__", ""))
    except (zipfile.BadZipFile, KeyError, ValueError, AttributeError):
        raise ValueError(f"{path} is no model saved by Stable-Baselines3") from None
    for part, name in (
        ("maskable", "maskable_ppo"),
        ("recurrent", "recurrent_ppo"),
        ("qrdqn", "qrdqn"),
        (".dqn", "dqn"),
    ):
        if part in policy:
            return name
    return "trpo" if "cg_max_steps" in data else "ppo" if "clip_range" in data else "a2c"


def load_model(path: Path, content: bytes | None = None) -> BaseAlgorithm:
    """A saved model of any of the algorithms. With the file's content no file is read."""
    content = read_model(path) if content is None else content
    name = algorithm_of(path, content)
    try:
        return ALGORITHMS[name].load(io.BytesIO(content), device="cpu")
    except (KeyError, ValueError, RuntimeError, AssertionError, AttributeError) as error:
        raise ValueError(f"{path} cannot be loaded as a model of {name}: {error}") from None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let Torch compute on one thread: the last bits of its sums depend on how many share them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class ModelPolicy:
    """A model as a policy over a batch, of any puzzle that fits. What it sees follows from the space that it was trained on.

        >>> evaluate("model.zip", "net", "2x2")  # makes one, as does evaluate(model, "net", "2x2")

    Args:
        model: of one of ``ALGORITHMS``, or the file that one was saved to.
        puzzle: what it will play, to be told at once whether it fits.
        params: the engine's parameter string.
        undo: whether UNDO is in the action space.
        deterministic: whether it takes its likeliest action, rather than one that it draws.
        observation: what it sees, if that is not one of ``puzzleport.encode.KINDS``.
    """

    def __init__(
        self,
        model: BaseAlgorithm | str | Path,
        puzzle: str | None = None,
        params: str | None = None,
        *,
        undo: bool = False,
        deterministic: bool = False,
        observation: pp.encode.Kind | None = None,
    ) -> None:
        content = None
        if isinstance(model, (str, Path)):
            content = read_model(Path(model))
            model = load_model(Path(model), content)
        self._adopt(model, content, deterministic, observation)
        if puzzle is not None:
            self.check(pp.Task(puzzle, params, undo=undo))  # type: ignore[arg-type] # None is the default

    def _adopt(
        self, model: BaseAlgorithm, content: bytes | None, deterministic: bool, observation: pp.encode.Kind | None
    ) -> None:
        self.model, self.deterministic, self.observation = model, deterministic, observation
        self._content = content
        self._explores = isinstance(model, OffPolicyAlgorithm)
        self._masked = isinstance(model, sb3_contrib.MaskablePPO)
        self._seen: dict[tuple[str, str, bool], pp.Task] = {}

    @property
    def fingerprint(self) -> str:
        """Tells apart models of the same name, by their weights, and whether they draw their actions."""
        digest = hashlib.sha256()
        for name, weights in sorted(self.model.policy.state_dict().items()):
            digest.update(name.encode() + weights.cpu().numpy().tobytes())
        return digest.hexdigest()[:16] + " deterministic" * self.deterministic

    def _bytes(self) -> bytes:
        """The content of its file, or of the one that it would be saved to."""
        if self._content is not None:
            return self._content
        saved = io.BytesIO()
        self.model.save(saved)
        return saved.getvalue()

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (self._bytes(), self.deterministic, self.observation)

    def check(self, task: pp.Task) -> pp.Task:
        """The task as this model sees it; an error where it was trained on something else."""
        setting = task.puzzle, task.params, task.undo
        if setting not in self._seen:
            actions, space = len(task.actions), self.model.action_space
            if not isinstance(space, spaces.Discrete) or space.n != actions:
                other = f" (with{'out' if task.undo else ''} UNDO {task.spec.n_actions(not task.undo)})"
                raise ValueError(
                    f"the model has {getattr(space, 'n', 'other')} actions, {task.puzzle} {actions}"
                    + (other if task.spec.undo else "")
                )
            self._seen[setting] = self._recognise(*setting)
        return self._seen[setting]

    def _recognise(self, puzzle: str, params: str, undo: bool) -> pp.Task:
        """The task with the kind of observation whose space is the model's."""
        wanted = self.model.observation_space
        for kind in pp.encode.KINDS if self.observation is None else (self.observation,):
            try:
                task = pp.Task(puzzle, params, undo=undo, observation=kind, **_picture_size(wanted))  # type: ignore[arg-type]
                space = _as_sb3_sees(space_of(task.encoder.tree))
            except (pp.PuzzleError, ValueError):  # not every puzzle has every kind
                continue
            if space == wanted:
                return task
        raise ValueError(f"the model was trained on other observations than those of {puzzle} {params:.80}")

    def start(self, batch: pp.Batch, random: np.random.Generator) -> None:
        """Forget the last games. All chance comes from the generator."""
        torch.manual_seed(int(random.integers(2**63)))
        self.model.policy.action_space.seed(int(random.integers(2**31)))
        task = self.check(pp.Task(batch.spec.name, batch.params, undo=batch.undo))
        self._look, _ = task.encoder.attach_batch(batch)
        self._memory: Any = None
        self._first = np.ones(batch.num_envs, np.bool_)

    def __call__(self, observation: dict[str, Array], mask: Array, random: np.random.Generator) -> Array:
        """The model's actions."""
        with one_thread():
            return self._actions(self._look(copy=False), mask, random)

    def _actions(self, seen: Any, mask: Array, random: np.random.Generator) -> Array:  # noqa: ANN401 (arrays as its space has them)
        masks = {"action_masks": mask} if self._masked else {}
        if self._explores and not self.deterministic:
            # A value network has no distribution to draw from: it explores as it did at the end of its training.
            actions, _ = self.model.policy.predict(seen, deterministic=True)
            explore = random.random(len(mask)) < self.model.exploration_final_eps  # type: ignore[attr-defined]
            return np.where(explore, random.integers(mask.shape[1], size=len(mask)), actions)
        actions, self._memory = self.model.predict(
            seen, state=self._memory, episode_start=self._first, deterministic=self.deterministic, **masks
        )
        self._first = np.zeros(len(mask), np.bool_)
        return np.asarray(actions)


def _revived(content: bytes, deterministic: bool, observation: pp.encode.Kind | None) -> ModelPolicy:
    """A policy in another process, from the content of its file."""
    policy = ModelPolicy.__new__(ModelPolicy)
    policy._adopt(load_model(Path("the model"), content), content, deterministic, observation)
    return policy


def _as_sb3_sees(space: spaces.Space[Any]) -> spaces.Space[Any]:
    """A space as SB3's algorithms keep it: pictures have their channels first."""
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: _as_sb3_sees(part) for name, part in space.items()})
    if isinstance(space, spaces.Box) and is_image_space(space) and not is_image_space_channels_first(space):
        return VecTransposeImage.transpose_space(space)
    return space


def _picture_size(space: spaces.Space[Any]) -> dict[str, int]:
    """Width and height of the pictures in a space that has some."""
    for part in space.values() if isinstance(space, spaces.Dict) else (space,):
        if isinstance(part, spaces.Box) and len(part.shape) == 3 and part.dtype == np.uint8:
            return {"height": part.shape[1], "width": part.shape[2]}
    return {}


# ---- training


@dataclass(frozen=True)
class Report:
    """How far a training is."""

    steps: int
    reward: float | None
    """The mean over the last 100 episodes, None before the first one ends."""
    success: float | None
    """The share of them that was solved."""
    updates: int
    """Of the network, since the last step was played: 0 while it plays."""


LOOKS = 2
"""So many times in a row a run must be found perfect, as the model is saved, before it stops early."""


class Keep(BaseCallback):
    """Save the model from time to time with how far it is, and report, while it plays and while it learns.

    With a bound, the training stops early: once the last 100 games were all solved within it, at several savings in a row;
    or after half of its steps, if no saving saw a game that was.
    """

    def __init__(
        self,
        folder: Path,
        run: dict[str, Any],
        every: int,
        progress: Callable[[Report], None] | None,
        bound: int | None = None,
        steps: int = 0,
    ) -> None:
        super().__init__()
        self.folder, self.run, self.every, self.progress = folder, run, every, progress
        self.bound, self.steps = bound, steps
        self._kept = run["steps_done"]
        self._began = time.process_time() - run.get("cpu", 0.0)
        self._updates = 0
        self._told = 0.0

    def _on_training_start(self) -> None:
        self._hook = self.model.policy.optimizer.register_step_post_hook(self._on_update)

    def _on_training_end(self) -> None:
        self._hook.remove()

    def _on_step(self) -> bool:
        self._updates = 0
        if self.num_timesteps - self._kept >= self.every:
            if self.bound is not None:
                self._look(self.bound)
            self.keep()
        self.tell()
        return not self.run.get("finished")

    def _look(self, bound: int) -> None:
        """Decide by the last games whether this is enough."""
        games, solved = self.model.ep_info_buffer or (), self.model.ep_success_buffer or ()
        within = [bool(well) and one["l"] <= bound for one, well in zip(games, solved, strict=True)]
        run = self.run
        run["perfect"] = run.get("perfect", 0) + 1 if len(within) == 100 and all(within) else 0
        run["hopeful"] = run.get("hopeful", False) or any(within)
        if run["perfect"] >= LOOKS:
            run["finished"] = "the last 100 games were all solved within the bound, twice in a row"
        elif not run["hopeful"] and 2 * self.num_timesteps >= self.steps:
            run["finished"] = "no game was solved within the bound, at any saving of the first half of the steps"

    def _on_update(self, *about: object) -> None:
        self._updates += 1
        if time.monotonic() - self._told > 0.1:
            self.tell()

    def tell(self) -> None:
        """Report now."""
        self._told = time.monotonic()
        if self.progress:
            episodes, solved = self.model.ep_info_buffer, self.model.ep_success_buffer
            reward = safe_mean([one["r"] for one in episodes]) if episodes else None
            self.progress(
                Report(self.num_timesteps, reward, float(np.mean(list(solved))) if solved else None, self._updates)
            )

    def keep(self) -> None:
        """Save now."""
        self._kept = self.num_timesteps
        with aside(self.folder / MODEL) as part:
            self.model.save(part)
        self.run.update(steps_done=self.num_timesteps, cpu=round(time.process_time() - self._began, 2))
        write(self.folder / STATE, json.dumps(self.run, indent=1) + "\n")


def train(
    algorithm: str,
    puzzle: str | pp.Task,
    params: str | None = None,
    *,
    steps: int,
    folder: Path,
    num_envs: int = 16,
    device: str = "auto",
    every: int = 50_000,
    resume: bool = False,
    settings: dict[str, Any] | None = None,
    patience: bool = False,
    progress: Callable[[Report], None] | None = None,
    **options: Unpack[pp.TaskOptions],
) -> Path:
    """Train an agent into a folder: ``model.zip``, ``run.json`` and TensorBoard's logs. Returns the model's path.

    The paper's settings: the algorithms' own defaults, a reward only at the end of an episode, episodes of at most 10,000
    steps, the discrete state as observation. An interrupted run, by Ctrl-C too, goes on with ``resume``; the replay buffer
    of DQN and QRDQN is not kept and fills again.

    Args:
        algorithm: one of ``ALGORITHMS``.
        puzzle: one of ``puzzleport.puzzles()``, or a ``puzzleport.Task``.
        params: the engine's parameter string; ``None`` for the default.
        steps: how many are trained in all. The last rollout may go beyond them by less than its length, which is at most a
            tenth of them unless ``settings`` say otherwise.
        folder: of the run.
        num_envs: how many games are played together.
        device: where the network is, as Torch names it; ``auto`` takes a GPU where there is one.
        every: the model is saved after so many steps.
        resume: go on with the run in the folder, with its seed where none is given.
        settings: of the algorithm, by the names that SB3 gives them.
        patience: whether to stop early: once the last 100 games were all solved within the bound, at two savings in a row; or
            after half of the steps, if no saving saw a game that was.
        progress: called with a ``Report`` after each step and during optimisation.
        options: those of ``puzzleport.Task``.
    """
    if algorithm not in ALGORITHMS:
        raise pp.UnknownOption(f"there is no algorithm {quote(algorithm)}; there are {', '.join(ALGORITHMS)}")
    task = pp.Task.of(puzzle, params, options)
    num_envs = pp.limits.check_num_envs(num_envs)
    if steps < 1:
        raise ValueError("training takes at least one step")
    given = dict(settings or {})
    device = given.pop("device", device)
    logs = given.pop("tensorboard_log", None) or _log_folder(folder)
    run, done = _begin_run(folder, algorithm, task, num_envs, given, resume)
    _check_settings(algorithm, given)
    target = folder / MODEL
    if done >= steps or run.get("finished"):
        return target
    environment = sb3_vec_env(task, num_envs=num_envs)
    try:
        kind = ALGORITHMS[algorithm]
        with _clear_errors(algorithm):
            if done:
                model = kind.load(target, env=environment, device=device)
            else:
                chosen = {**_rollout_length(kind, steps, num_envs, given), **given}
                policy = chosen.pop("policy", _policy_name(algorithm, environment.observation_space))
                seed = run["seed"] % 2**32  # NumPy's old generator, which SB3 seeds too, takes no more
                model = kind(policy, environment, seed=seed, device=device, tensorboard_log=logs, **chosen)
        # SB3 seeds the environment with the network's seed. A run that goes on would meet the same puzzles again.
        environment.seed(pp.game_id.episode_seed(run["seed"], done))
        bound = pp.optimal_steps(task.puzzle, task.params) if patience else None
        keeper = Keep(folder, run, every, progress, bound, steps)
        try:
            model.learn(steps - done, callback=keeper, reset_num_timesteps=not done, tb_log_name=algorithm)
        finally:
            if keeper.num_timesteps > done:  # after Ctrl-C, too
                keeper.keep()
                keeper.tell()
    finally:
        environment.close()
    return target


def _begin_run(
    folder: Path, algorithm: str, task: pp.Task, num_envs: int, settings: dict[str, Any], resume: bool
) -> tuple[dict[str, Any], int]:
    """What ``run.json`` says of this run, and how many steps it has done. A seed that is missing is the run's own, or drawn."""
    rewards = {name: value for name, value in asdict(task.rewards).items() if isinstance(value, (int, float))}
    run: dict[str, Any] = {
        "algorithm": algorithm,
        "puzzle": task.puzzle,
        "params": task.game_id or task.params,
        "seed": task.seed,
        "num_envs": num_envs,
        "observation": task.observation if isinstance(task.observation, str) else "custom",
        "undo": task.undo,
        "max_steps": task.max_steps,
        "max_repeats": task.max_repeats,
        "rewards": rewards,
        "settings": settings,
        "steps_done": 0,
        "cpu": 0.0,
    }
    run = json.loads(json.dumps(run, default=str))  # as it will be read again
    if (folder / STATE).exists():
        if not resume:
            raise ValueError(f"{folder} holds a run: --resume goes on with it")
        before = json.loads((folder / STATE).read_text(encoding="utf-8"))
        if run["seed"] is None:
            run["seed"] = before.get("seed")
        for name, value in run.items():
            if name not in ("steps_done", "cpu") and value != before.get(name):
                raise ValueError(f"the run in {folder} has another {name}: {quote(before.get(name))}")
        return before, int(before["steps_done"])
    if run["seed"] is None:
        run["seed"] = pp.game_id.random_seed()
    return run, 0


NOT_SETTINGS = ("self", "env", "seed", "_init_setup_model")


def _check_settings(algorithm: str, settings: dict[str, Any]) -> None:
    """An error that lists the settings of an algorithm, where one is given that it does not have."""
    known = [name for name in inspect.signature(ALGORITHMS[algorithm].__init__).parameters if name not in NOT_SETTINGS]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise pp.UnknownOption(f"{algorithm} has no setting {quote(unknown[0])}; it has {', '.join(known)}")


@contextmanager
def _clear_errors(algorithm: str) -> Iterator[None]:
    """What an algorithm raises on settings that it cannot use, as an error of one line."""
    try:
        yield
    except (TypeError, AssertionError, RuntimeError, KeyError) as error:
        raise ValueError(f"{algorithm} cannot be made with these settings: {error!s:.400}") from error


def _rollout_length(kind: type[BaseAlgorithm], steps: int, num_envs: int, settings: dict[str, Any]) -> dict[str, int]:
    """The setting that keeps a rollout to a tenth of the training, where the algorithm's own would not.

    Of the lengths that do, one is taken that makes whole mini-batches and ends as near to the wanted steps as possible.
    """
    parameters = inspect.signature(kind.__init__).parameters
    name = "train_freq" if "train_freq" in parameters else "n_steps"  # DQN has n_steps too, which means something else
    own = parameters[name].default
    if name in settings or own * num_envs <= steps // 10:
        return {}
    longest = max(steps // (10 * num_envs), 1 if name == "train_freq" or num_envs > 1 else 2)
    batch = settings.get("batch_size", parameters["batch_size"].default if "batch_size" in parameters else 1) or 1
    whole = batch // gcd(batch, num_envs)
    possible = range(longest, longest // 2, -1)
    lengths = [length for length in possible if length % whole == 0]
    return {name: min(lengths or possible, key=lambda length: ceil(steps / (length * num_envs)) * length)}


def _policy_name(algorithm: str, space: spaces.Space[Any]) -> str:
    """SB3's policy for what the agent sees."""
    name = "MultiInput" if isinstance(space, spaces.Dict) else "Cnn" if is_image_space(space) else "Mlp"
    return f"{name}LstmPolicy" if algorithm == "recurrent_ppo" else f"{name}Policy"


def _log_folder(folder: Path) -> str | None:
    """Where TensorBoard's logs go; nowhere without TensorBoard."""
    try:
        import tensorboard  # type: ignore[import-untyped, import-not-found, unused-ignore]  # noqa: F401
    except ImportError:
        return None
    return str(folder / "logs")
