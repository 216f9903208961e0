"""What programs that XLA compiled call of the C side: an adapter registers it, and nothing of XLA is needed here."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._native import ffi, lib
from .batch import fixed_game, native_task
from .errors import EngineError, UnknownOption, raise_for
from .game_id import check_seed, random_seed

if TYPE_CHECKING:
    from .batch import Batch
    from .rewards import Rewards
    from .task import Task

Array = np.ndarray[Any, Any]

MEASURED = 16
"""How many instances are looked at to tell how large a snapshot may get."""


def targets(major: int, minor: int) -> dict[str, Any]:
    """The handlers by name, as capsules, for a runtime with this version of XLA's interface for foreign functions."""
    code = lib.pz_xla_use_version(major, minor)
    if code:
        raise_for(code, "this version of JAX")
    if not lib.pz_xla_capsules():
        raise EngineError("the handlers for XLA could not be made")
    return _native.xla_targets  # type: ignore[attr-defined, no-any-return] # what the call above has set


class BatchAccess:
    """Lets compiled programs step a batch, until it is closed or deleted.

    Args:
        batch: to be stepped with the same-step autoreset; nobody else may step it.
        rewards: what is paid, all but a hook.
        seed: slot i that is reset without a seed begins with the stream of ``seed + i``; ``None`` draws one for each.
    """

    def __init__(self, batch: Batch, rewards: Rewards, seed: int | None = None) -> None:
        batch.pay_along(rewards)
        batch.leave_out_repeats()  # programs do not see them
        n = batch.num_envs
        seeds = [random_seed() if seed is None else check_seed(seed + slot) for slot in range(n)]
        self.token = np.zeros(4, np.uint32)
        """What a first reset takes."""
        code = lib.pz_xla_open(
            batch._open(),
            batch._buffers,
            n,
            len(batch.actions),
            ffi.from_buffer("uint64_t[]", np.array(seeds, np.uint64)),
            ffi.from_buffer("uint32_t[]", self.token),
        )
        if code:
            raise_for(code, batch.spec.name)
        self._batch = batch
        # Waits for a call that is under way, so it comes before anything of the batch is freed.
        self.close = weakref.finalize(self, lib.pz_xla_close, int(self.token[1]))


def snapshot_bound(task: Task, undo_depth: int) -> int:
    """How many bytes to give to snapshots of a task: somewhat more than the largest of several instances takes.

    What history they may hold is counted in full, so only the length of a description can exceed it.
    """
    if task.exclude:
        raise UnknownOption("exclude needs a batch: what is pure starts exactly the instance of its key")
    which = fixed_game(task.puzzle, task.game_id or task.params)
    native, _texts = native_task(which, task.spec, task.undo, task.max_steps, task.max_repeats, task.timeout)
    native.undo_depth = undo_depth
    native.pay = pay = ffi.new("pz_pay *", task.rewards.numbers(task.spec, task.params))
    size, most = ffi.new("int64_t *"), 0
    for seed in range(MEASURED):
        code = lib.pz_snapshot_measure(native, seed, size)
        if code:
            raise_for(code, f"{task.puzzle} {task.params}")
        most = max(most, size[0])
    del pay  # which had to live until here: the task points to it
    return with_room(most)


def with_room(size: int) -> int:
    """A quarter and 64 bytes more, up to a multiple of 64."""
    return -(-(size * 5 // 4 + 64) // 64) * 64
