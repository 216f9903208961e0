"""TorchRL: many games as one batched ``EnvBase``, with masks as ``ActionMask`` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import puzzleport as pp
from puzzleport.batch import Part
from puzzleport.encode import Leaf, Tree
from puzzleport.encode.state import State
from puzzleport.encode.text import Text

try:
    import torch
    from tensordict import TensorDict, TensorDictBase
    from torchrl.data import Binary, Bounded, Categorical, Composite, TensorSpec, Unbounded
    from torchrl.envs import ActionMask, EnvBase, TransformedEnv
except ImportError as error:
    raise ImportError("the TorchRL adapter needs an extra: pip install 'puzzleport[torchrl]'") from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = np.ndarray[Any, Any]


def spec_of(tree: Tree, n: int) -> TensorSpec:
    """A tree of arrays as a spec, for n games."""
    if isinstance(tree, Leaf):
        dtype = torch.from_numpy(np.zeros(0, tree.dtype)).dtype
        return Bounded(tree.low, tree.high, (n, *tree.shape), dtype=dtype)
    return Composite({name: spec_of(part, n) for name, part in tree.items()}, shape=(n,))


def tensors_of(arrays: Any, size: torch.Size) -> Any:  # noqa: ANN401 (an array or a dict of them)
    """Arrays as tensors over the same memory."""
    if isinstance(arrays, dict):
        return TensorDict._new_unsafe({name: tensors_of(part, size) for name, part in arrays.items()}, size)
    return torch.from_numpy(arrays)


def column(part: Part) -> Part:
    """A vector as TorchRL has single numbers: with an axis of one behind."""
    return part._replace(shape=(*part.shape, 1), strides=(*part.strides, part.dtype.itemsize))


class PuzzleEnv(EnvBase):
    """Many puzzles stepped together in C, as one batch-locked environment of TorchRL.

        >>> from torchrl.envs import ActionMask, TransformedEnv
        >>> env = TransformedEnv(PuzzleEnv("fifteen", "2x2", num_envs=4), ActionMask())
        >>> env.rollout(10, break_when_any_done=False)["action"].shape
        torch.Size([4, 10])

    A TensorDict has ``observation`` (a tensor, or a nest of them), ``action_mask``, ``is_success``, ``reward``, ``done``,
    ``terminated`` and ``truncated``. Episodes that ended wait for a reset, as TorchRL's rollouts and collectors give it: the
    ``_reset`` mask says in which games. Where a game is over and no action is legal, the mask has all of them, because TorchRL's
    sampling needs one: none has an effect. ``set_seed(s)`` starts game i at the stream of ``s + i`` with the next reset.

    Args:
        puzzle: one of ``puzzleport.puzzles()``, or a ``puzzleport.Task``.
        params: the engine's parameter string; ``None`` for the default.
        num_envs: how many games.
        threads: how many threads step them; 0 for all cores.
        options: those of ``puzzleport.Task``.
    """

    _batch_locked = True

    def __init__(
        self,
        puzzle: str | pp.Task,
        params: str | None = None,
        num_envs: int = 64,
        *,
        threads: int = 0,
        **options: Unpack[pp.TaskOptions],
    ) -> None:
        task = pp.Task.of(puzzle, params, options)
        if isinstance(task.encoder, Text):
            raise pp.UnknownOption('tensors hold no text: choose another observation than "text"')
        episodes = pp.BatchEpisodes(task, num_envs, threads=threads, autoreset="off")
        episodes.batch.leave_out_repeats()  # which no tensor holds
        n = episodes.num_envs
        super().__init__(device="cpu", batch_size=torch.Size([n]))
        self.task, self._episodes = task, episodes
        self._next_seed: int | None = None
        self._size = torch.Size([n])
        self._hook = task.rewards.hook
        apart = episodes.batch.apart
        parts = {"reward": apart.reward, "terminated": apart.terminated, "truncated": apart.truncated}
        parts |= {"done": apart.done, "is_success": apart.solved}
        self._parts = [(name, *column(part)) for name, part in parts.items()]
        self._mask = apart.mask
        self._fields = None
        if isinstance(task.encoder, State):
            fields = apart.fields.items()
            self._fields = [(name, *(part if len(part.shape) > 1 else column(part))) for name, part in fields]
        n_actions = len(task.actions)
        self.observation_spec = Composite(
            observation=spec_of(task.encoder.tree, n),
            action_mask=Binary(n_actions, (n, n_actions), dtype=torch.bool),
            is_success=Binary(1, (n, 1), dtype=torch.bool),
            shape=(n,),
        )
        self.action_spec = Categorical(n_actions, (n,))
        self.reward_spec = Unbounded((n, 1))
        done = Categorical(2, (n, 1), dtype=torch.bool)
        self.done_spec = Composite(done=done, terminated=done.clone(), truncated=done.clone(), shape=(n,))

    @property
    def batch(self) -> pp.Batch:
        """The batch underneath."""
        return self._episodes.batch

    def _reset(self, tensordict: TensorDictBase | None = None, **options: Any) -> TensorDictBase:  # noqa: ANN401
        which = None if tensordict is None else tensordict.get("_reset", None)
        if which is not None and (which := which.reshape(-1)).all():
            which = None
        self._episodes.start(self._next_seed, None if which is None else which.numpy())
        self._next_seed = None
        result = self.batch.result
        ended = result.ended[:, None]
        tensors = {
            "terminated": torch.from_numpy(ended == 1),
            "truncated": torch.from_numpy(ended == 2),
            "done": torch.from_numpy(ended != 0),
            "is_success": torch.from_numpy(result.status[:, None] > 0),
        }
        return self._completed(tensors, tensors_of(self._episodes.observation(), self._size), result.mask.copy())

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        if tensordict.get("_step", None) is not None:
            raise NotImplementedError("all games are stepped together: there is no _step mask for some of them")
        # Into fresh memory: what TorchRL keeps must not change with the next step. What follows is most of what this
        # environment adds to a step of the batch, so no function is called that can be done without.
        block = self.batch.step_apart(tensordict.get("action").numpy())
        tensor, array = torch.from_numpy, np.ndarray
        tensors = {
            name: tensor(array(shape, dtype, block, offset, strides))
            for name, shape, dtype, offset, strides in self._parts
        }
        if self._hook is not None:
            tensors["reward"] = tensor(self._episodes.paid().astype(np.float32)[:, None])
        if self._fields is None:
            observation = tensors_of(self._episodes.observation(), self._size)
        else:
            fields = {
                name: tensor(array(shape, dtype, block, offset, strides))
                for name, shape, dtype, offset, strides in self._fields
            }
            observation = TensorDict._new_unsafe(fields, self._size)
        return self._completed(tensors, observation, self._mask.of(block))

    def _completed(self, tensors: dict[str, Any], observation: Any, mask: Array) -> TensorDictBase:  # noqa: ANN401
        done = tensors["done"].numpy()
        if np.count_nonzero(done):
            over = np.flatnonzero(done)
            mask[over[~mask[over].any(axis=1)]] = True
        tensors["observation"], tensors["action_mask"] = observation, torch.from_numpy(mask)
        return TensorDict._new_unsafe(tensors, self._size, device=self.device)

    def _step_proc_data(self, next_tensordict_out: TensorDictBase) -> TensorDictBase:
        # Shapes and ends are whole already, and this runs with every step.
        return super()._step_proc_data(next_tensordict_out) if self.run_type_checks else next_tensordict_out

    def _set_seed(self, seed: int | None) -> None:
        self._next_seed = seed

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Free the games and threads. Closing twice is fine."""
        self._episodes.close()
        super().close(raise_if_closed=False)


def masked_env(*arguments: Any, **options: Any) -> TransformedEnv:  # noqa: ANN401 (those of PuzzleEnv)
    """A ``PuzzleEnv`` whose random actions are legal ones: TorchRL's own ``ActionMask`` over it."""
    return TransformedEnv(PuzzleEnv(*arguments, **options), ActionMask())
