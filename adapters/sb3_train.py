"""Stable-Baselines3 agents: trained with the paper's settings, kept safe on the way, and played as policies."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import puzzleport as pp
from puzzleport.adapters.gymnasium import Observer
from puzzleport.adapters.sb3 import sb3_vec_env
from puzzleport.files import aside, write

try:
    import sb3_contrib
    import stable_baselines3 as sb3
    import torch
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
except ImportError as error:
    raise ImportError("training needs an extra: pip install 'puzzleport[sb3]'") from error

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
OBSERVATIONS: dict[str, dict[str, Any]] = {
    "state": {"obs_type": "state"},
    "flat": {"obs_type": "flat"},
    "one-hot": {"obs_type": "flat", "one_hot": True},
    "pixels": {"obs_type": "pixels"},
}
"""What an agent may see, and how the environment is told so."""
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
    """A model as a policy over a batch. What it sees follows from the space that it was trained on."""

    def __init__(
        self,
        model: Any,  # noqa: ANN401 (each algorithm's own class)
        puzzle: str,
        params: str | None = None,
        undo: bool = False,
        deterministic: bool = False,
    ) -> None:
        about = pp.spec(puzzle)
        actions = about.n_actions(undo)
        self.model, self.deterministic = model, deterministic
        self._explores = isinstance(model, OffPolicyAlgorithm)
        self._masked = isinstance(model, sb3_contrib.MaskablePPO)
        if model.action_space.n != actions:
            raise ValueError(
                f"the model has {model.action_space.n} actions, {puzzle} {actions}"
                + (f" (with{'out' if undo else ''} UNDO {about.n_actions(not undo)})" if about.undo else "")
            )
        for options in OBSERVATIONS.values():
            self._size = (128, 128)
            if options["obs_type"] == "pixels":  # SB3 keeps pictures as (3, height, width)
                shape = model.observation_space.shape
                if shape is None or len(shape) != 3:
                    continue
                self._size = (int(shape[2]), int(shape[1]))
            observer = Observer(
                about.fields(params), vectors=True, mask_size=0, picture=self._size, **{"one_hot": False, **options}
            )
            if options["obs_type"] == "pixels" or observer.space() == model.observation_space:
                self._observer = observer
                return
        raise ValueError(f"the model was trained on other observations than those of {puzzle} {params}")

    def start(self, batch: pp.Batch, random: np.random.Generator) -> None:
        """Forget the last games; all chance comes from the generator."""
        torch.manual_seed(int(random.integers(2**63)))
        self.model.policy.action_space.seed(int(random.integers(2**31)))
        self._batch, self._memory = batch, None
        self._first = np.ones(batch.n, np.bool_)

    @one_thread()
    def __call__(self, observation: dict[str, Array], mask: Array, random: np.random.Generator) -> Array:
        """The model's actions."""
        lead = (len(mask),)
        pixels = self._batch.pixels(*self._size, channels_first=True) if self._observer.needs_pixels else None
        seen = self._observer.observation(self._observer.live(observation, lead), pixels, mask, lead)
        masks = {"action_masks": mask} if self._masked else {}
        if self._explores and not self.deterministic:
            # A value network has no distribution to draw from: it explores as it did at the end of its training.
            actions, _ = self.model.policy.predict(seen, deterministic=True)
            explore = random.random(len(mask)) < self.model.exploration_final_eps
            return np.where(explore, random.integers(self.model.action_space.n, size=len(mask)), actions)
        actions, self._memory = self.model.predict(
            seen, state=self._memory, episode_start=self._first, deterministic=self.deterministic, **masks
        )
        self._first = np.zeros(len(mask), np.bool_)
        return np.asarray(actions)


# ---- training


class Keep(BaseCallback):
    """Save the model now and then, whole, with how far it came; and say how far."""

    def __init__(self, folder: Path, run: dict[str, Any], every: int, progress: Any) -> None:  # noqa: ANN401 (a callable)
        super().__init__()
        self.folder, self.run, self.every, self.progress = folder, run, every, progress
        self._kept = run["steps_done"]

    def _on_step(self) -> bool:
        if self.num_timesteps - self._kept >= self.every:
            self.keep()
        if self.progress:
            self.progress(self.num_timesteps)
        return True

    def keep(self) -> None:
        """Save now."""
        self._kept = self.num_timesteps
        with aside(self.folder / MODEL) as part:
            self.model.save(part)
        self.run["steps_done"] = self.num_timesteps
        write(self.folder / STATE, json.dumps(self.run, indent=1) + "\n")


def train(
    algorithm: str,
    puzzle: str,
    params: str | None = None,
    *,
    steps: int,
    folder: Path,
    seed: int = 0,
    envs: int = 16,
    observation: str = "state",
    undo: bool = False,
    max_steps: int = 10_000,
    max_repeats: int = 0,
    every: int = 50_000,
    resume: bool = False,
    settings: dict[str, Any] | None = None,
    progress: Any = None,  # noqa: ANN401 (called with the number of steps)
) -> Path:
    """Train an agent into a folder: ``model.zip``, ``run.json`` and TensorBoard's logs. Returns the model's path.

    The paper's settings: the algorithms' own defaults, a reward only at the end of an episode, episodes of at most 10,000
    steps, the discrete state as observation. An interrupted run, by Ctrl-C too, goes on with ``resume``; the replay buffer
    of DQN and QRDQN is not kept and fills anew.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"there is no algorithm {algorithm!r}; there are {', '.join(ALGORITHMS)}")
    if observation not in OBSERVATIONS:
        raise ValueError(f"there is no observation {observation!r}; there are {', '.join(OBSERVATIONS)}")
    if steps < 1 or envs < 1:
        raise ValueError("training takes at least one step in at least one environment")
    run: dict[str, Any] = {
        "algorithm": algorithm,
        "puzzle": puzzle,
        "params": pp.canonical_params(puzzle, params),
        "seed": seed,
        "envs": envs,
        "observation": observation,
        "undo": undo,
        "max_steps": max_steps,
        "max_repeats": max_repeats,
        "settings": settings or {},
        "steps_done": 0,
    }
    target = folder / MODEL
    if (folder / STATE).exists():
        if not resume:
            raise ValueError(f"{folder} holds a run: --resume goes on with it")
        before = json.loads((folder / STATE).read_text(encoding="utf-8"))
        other = [name for name in run if name != "steps_done" and run[name] != before.get(name)]
        if other:
            raise ValueError(f"the run in {folder} has another {other[0]}: {before.get(other[0])!r}")
        run = before
    done = int(run["steps_done"])
    if done >= steps:
        return target
    # Another stream of puzzles after each interruption: the old one would begin again.
    environment = sb3_vec_env(
        puzzle,
        run["params"],
        envs,
        undo=undo,
        max_steps=max_steps,
        max_state_repeats=max_repeats,
        seed=pp.session.episode_seed(seed, done),
        **OBSERVATIONS[observation],
    )
    try:
        kind = ALGORITHMS[algorithm]
        if done:
            model = kind.load(target, env=environment, device="cpu")
        else:
            policy = {"state": "MultiInputPolicy", "pixels": "CnnPolicy"}.get(observation, "MlpPolicy")
            if algorithm == "recurrent_ppo":
                policy = policy.replace("Policy", "LstmPolicy")
            model = kind(
                policy, environment, seed=seed, device="cpu", tensorboard_log=_log_folder(folder), **(settings or {})
            )
        keeper = Keep(folder, run, every, progress)
        try:
            model.learn(steps - done, callback=keeper, reset_num_timesteps=not done, tb_log_name=algorithm)
        finally:
            if keeper.num_timesteps > done:  # Ctrl-C comes this way too
                keeper.keep()
    finally:
        environment.close()
    return target


def _log_folder(folder: Path) -> str | None:
    """Where TensorBoard's logs go; nowhere without TensorBoard."""
    try:
        import tensorboard  # type: ignore[import-untyped, import-not-found, unused-ignore]  # noqa: F401
    except ImportError:
        return None
    return str(folder / "logs")
