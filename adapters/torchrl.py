"""TorchRL: many games as one batched ``EnvBase``, with masks as ``ActionMask`` reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import puzzleport as pp
from puzzleport.blocks import Blocks, Part
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
        self._size, self._here = torch.Size([n]), (torch.device("cpu"), None)
        self._hook = task.rewards.hook
        apart = episodes.batch.apart
        parts = {"reward": apart.reward, "terminated": apart.terminated, "truncated": apart.truncated}
        parts |= {"done": apart.done, "is_success": apart.solved}
        parts = {"action_mask": apart.mask, **{name: column(part) for name, part in parts.items()}}
        fields = apart.fields if isinstance(task.encoder, State) else {}
        fields = {name: part if len(part.shape) > 1 else column(part) for name, part in fields.items()}
        self._names, self._fields = list(parts), list(fields)
        self._blocks = Blocks(episodes.batch.apart_size, [*parts.values(), *fields.values()])
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
        ended, mask = result.ended[:, None], result.mask.copy()
        mask[(result.ended != 0) & ~mask.any(axis=1)] = True
        tensors = {
            "terminated": torch.from_numpy(ended == 1),
            "truncated": torch.from_numpy(ended == 2),
            "done": torch.from_numpy(ended != 0),
            "is_success": torch.from_numpy(result.status[:, None] > 0),
            "action_mask": torch.from_numpy(mask),
            "observation": tensors_of(self._episodes.observation(), self._size),
        }
        return TensorDict._new_unsafe(tensors, self._size, device=self.device)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        if "_step" in tensordict.keys():  # noqa: SIM118 (a TensorDict is no dict)
            raise NotImplementedError("all games are stepped together: there is no _step mask for some of them")
        # Into memory of its own: what TorchRL keeps must not change with the next step.
        block, made = self._blocks.take(), []

        def make() -> None:
            made.append(self._tensors(block.arrays))

        # To make tensors takes longer than many a step: it is done while the other threads step.
        self.batch.step_apart(tensordict.get("action").numpy(), block.memory, choosable=True, meanwhile=make)
        self._blocks.give(block)
        (result,) = made
        if self._hook is not None:
            result.set("reward", torch.from_numpy(self._episodes.paid().astype(np.float32)[:, None]))
        if not self._fields:
            result.set("observation", tensors_of(self._episodes.observation(), self._size))
        return result

    def _tensors(self, arrays: list[Array]) -> TensorDict:
        """All that lies in a block. No function is called that can be done without."""
        seen = [*map(torch.from_numpy, arrays)]
        tensors: dict[str, Any] = dict(zip(self._names, seen))  # noqa: B905 (the fields follow)
        if self._fields:
            fields = dict(zip(self._fields, seen[len(self._names) :], strict=True))
            tensors["observation"] = TensorDict._new_unsafe(fields, self._size)
        return TensorDict._new_unsafe(tensors, self._size, device=self._here[0])

    def step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """As ``EnvBase.step``; where nothing unusual is asked for, without its many questions."""
        held = tensordict.keys()
        plain = type(tensordict) is TensorDict and not tensordict._has_names() and tensordict.device in self._here
        unusual = self.run_type_checks or tensordict.batch_size != self._size or "_step" in held or "next" in held
        if unusual or not plain:
            return super().step(tensordict)
        result = self._step(tensordict)
        return tensordict._set_str("next", result, inplace=False, validated=True, non_blocking=False)

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
