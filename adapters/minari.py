"""Minari: an expert's games as a dataset, for imitation and offline reinforcement learning.

Minari builds on Gymnasium, and so does this module: a dataset holds what the Gymnasium adapter's environment shows and
pays, and ``recover_environment()`` makes that environment again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import puzzleport as pp
from puzzleport.benchmark.evaluation_sets import check_training_seed
from puzzleport.errors import quote
from puzzleport.files import aside, write
from puzzleport.game_id import episode_seed, random_seed

try:
    import h5py  # noqa: F401 (Minari takes its storage for granted)
    import minari
    from minari.data_collector.episode_buffer import EpisodeBuffer
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.dataset.minari_storage import MinariStorage
    from minari.namespace import NAMESPACE_METADATA_FILENAME
    from minari.storage.datasets_root_dir import get_dataset_path
    from PIL import Image  # noqa: F401 (as above)
except ImportError as error:
    raise ImportError(f"demonstrations need an extra: pip install 'puzzleport[minari]' ({error})") from error

import gymnasium as gym

from puzzleport.adapters.gymnasium import PuzzleEnv, env_id

if TYPE_CHECKING:
    from typing_extensions import Unpack

OBSERVATIONS = ("state", "flat", "one_hot", "tokens", "graph")
"""What a dataset may show. Pictures would make it huge: play its actions again where they are wanted."""


EPISODES_AT_ONCE = 32
ROOM = 4 << 20  # bytes that must be free beside the data; 32 empty episodes take about one megabyte


def default_id(puzzle: str, params: str) -> str:
    """What a dataset of an expert's games is called.

    >>> default_id("solo", "2x2")
    'puzzleport/solo-2x2/expert-v0'
    """
    return f"puzzleport/{puzzle}-{re.sub('[^0-9A-Za-z]', '_', params)}/expert-v0"


def collect_demos(
    puzzle: str,
    params: str | None = None,
    policy: Callable[[pp.Session], int] | None = None,
    *,
    episodes: int = 1000,
    dataset_id: str | None = None,
    root: str | Path | None = None,
    keep_failures: bool = False,
    progress: Callable[[int], None] | None = None,
    **options: Unpack[pp.TaskOptions],
) -> minari.MinariDataset:
    """Let an expert play, and write its games as a Minari dataset.

    Besides observations, actions, rewards, terminations and truncations, ``infos["action_mask"]`` has the exact mask of
    every observation. The metadata of an episode has its ``seed``, with which the environment plays the same instance
    again, its ``game_id``, and ``is_success``.

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``None`` for the default.
        policy: who plays: called with the session, it gives the next action, or raises NoPlan to give up. ``None`` for
            ``puzzleport.ExpertPolicy``.
        episodes: how many are played.
        dataset_id: as Minari writes them, ``namespace/name-v0``; ``None`` for ``default_id``.
        root: the folder of all datasets; ``None`` for Minari's own, ``MINARI_DATASETS_PATH`` or ``~/.minari/datasets``.
        keep_failures: keep episodes that were lost, cut off or given up; the latter end truncated. Without it they are left out.
        progress: called with the number of episodes played.
        options: those of ``puzzleport.Task``. No instance of the stream has a seed of the frozen evaluation sets.
    """
    task = pp.Task.of(puzzle, params, options)
    puzzle, params = task.puzzle, task.params
    if episodes < 1:
        raise ValueError("a dataset takes at least one episode")
    if task.observation not in OBSERVATIONS:
        raise pp.UnknownOption(f"a dataset shows one of {', '.join(OBSERVATIONS)}, not {quote(task.observation)}")
    seed = random_seed() if task.seed is None else check_training_seed(task.seed)
    policy = policy or pp.ExpertPolicy(puzzle)
    player = getattr(policy, "__name__", type(policy).__name__)
    dataset_id = dataset_id or default_id(puzzle, params)
    root = Path(
        get_dataset_path() if root is None else root
    ).resolve()  # HDF5 reads a relative path from the file's folder
    path = _place(root, dataset_id)
    about: list[dict[str, Any]] = []
    with gym.make(env_id(puzzle), params=task.game_id or params, **options) as env, aside(path) as part:
        part.mkdir()
        storage = MinariStorage.new(
            part / "data", observation_space=env.observation_space, action_space=env.action_space, env_spec=env.spec
        )
        storage.update_metadata(
            {
                "dataset_id": dataset_id,
                "minari_version": minari.__version__,
                "algorithm_name": player,
                "description": f"{puzzle} {params} as {player} plays it, {episodes} episodes from seed {seed}",
                "requirements": [f"puzzleport=={pp.__version__}"],
            }
        )
        inner = env.unwrapped
        assert isinstance(inner, PuzzleEnv)
        seeds = [episode_seed(seed, episode) for episode in range(episodes)]
        played = _play(inner, policy, seeds, keep_failures, about, progress)
        while some := list(islice(played, EPISODES_AT_ONCE)):
            _make_sure_of_room(part, sum(_size(episode) for episode in some))
            storage.update_episodes(some)
        if not about:
            raise ValueError(f"{puzzle} {params}: {player} solved none of {episodes} games")
        _make_sure_of_room(part, sum(len(str(one)) for one in about))
        storage.update_episode_metadata(about)
    for namespace in list(path.relative_to(root).parents)[:-1]:
        if not (root / namespace / NAMESPACE_METADATA_FILENAME).exists():
            write(root / namespace / NAMESPACE_METADATA_FILENAME, "{}")
    return minari.MinariDataset(path / "data")


def _place(root: Path, dataset_id: str) -> Path:
    """Where a new dataset belongs."""
    try:
        parse_dataset_id(dataset_id)
    except (ValueError, TypeError):  # the latter where the version is missing
        raise ValueError(f"a dataset id is written namespace/name-v0, not {quote(dataset_id)}") from None
    path = root / dataset_id
    if path.exists():
        raise ValueError(f"there is a dataset {dataset_id} in {root} already: remove it, or choose another id")
    return path


def _make_sure_of_room(folder: Path, size: int) -> None:
    """OSError where the disk does not hold so many bytes more.

    The HDF5 library does not survive a full disk: it fails to close its file, and takes the process with it. So it is never
    given more than there was room for just before. Zeros are written at the end of its own file, so that a quota or a limit
    on the size of files counts too.
    """
    (data,) = folder.rglob("*.hdf5")
    before = data.stat().st_size
    try:
        with data.open("ab", buffering=0) as file:
            missing = ROOM + 4 * size  # HDF5 takes about twice the size of arrays, and kilobytes for every name
            while missing > 0:
                missing -= file.write(bytes(min(missing, 1 << 20)))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder.parent)) from None
    finally:
        os.truncate(data, before)


def _size(episode: EpisodeBuffer) -> int:
    """Bytes of an episode's arrays."""
    observations: Any = episode.observations
    arrays = observations.values() if isinstance(observations, dict) else [observations]
    masks: Any = episode.infos
    return sum(int(array.nbytes) for array in [*arrays, masks["action_mask"]]) + 16 * len(episode)


def _play(
    env: PuzzleEnv,
    policy: Callable[[pp.Session], int],
    seeds: list[int],
    keep_failures: bool,
    about: list[dict[str, Any]],
    progress: Callable[[int], None] | None,
) -> Iterator[EpisodeBuffer]:
    """The episodes that are kept, with what is to be known of each added to ``about``."""
    summary = minari.EpisodeMetadataCallback()
    for number, seed in enumerate(seeds, 1):
        episode, game_id = _episode(env, policy, seed)
        solved = env.session.status == pp.Status.SOLVED
        if len(episode) and (solved or keep_failures):
            about.append(
                {**summary({"rewards": np.array(episode.rewards)}), "game_id": game_id, "is_success": bool(solved)}
            )
            yield episode
        if progress:
            progress(number)


def _episode(env: PuzzleEnv, policy: Callable[[pp.Session], int], seed: int) -> tuple[EpisodeBuffer, str]:
    """One game, until it ends or is given up, and its game id."""
    observation, info = env.reset(seed=seed)
    observations, masks = [observation], [info["action_mask"]]
    actions, rewards = [], []
    terminated = truncated = False
    while not (terminated or truncated):
        try:
            action = policy(env.session)
        except pp.NoPlan:
            break
        observation, reward, terminated, truncated, info = env.step(action)
        observations.append(observation)
        masks.append(info["action_mask"])
        actions.append(action)
        rewards.append(reward)
    before_last = [False] * (len(actions) - 1)
    episode = EpisodeBuffer(
        seed=seed,
        observations=_stacked(observations),
        actions=actions,
        rewards=rewards,
        terminations=[*before_last, terminated],
        truncations=[*before_last, not terminated],
        infos={"action_mask": np.stack(masks)},
    )
    return episode, info["game_id"]


def _stacked(observations: list[Any]) -> Any:  # noqa: ANN401 (as the environment's, with a leading axis)
    if isinstance(observations[0], dict):
        return {name: np.stack([one[name] for one in observations]) for name in observations[0]}
    return np.stack(observations)
