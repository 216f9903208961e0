"""JAX: environments that are stepped inside ``jax.jit``, ``lax.scan`` and ``lax.while_loop``, on the CPU.

    >>> import jax
    >>> env = PuzzleEnv("fifteen", "2x2", num_envs=4)
    >>> handle, timestep = env.reset(seed=1)
    >>> @jax.jit
    ... def play(handle, timestep, key):
    ...     def step(carry, key):
    ...         handle, timestep = carry
    ...         carry = env.step(handle, masked_random(key, timestep.mask))
    ...         return carry, carry[1].reward
    ...     return jax.lax.scan(step, (handle, timestep), jax.random.split(key, 100))
    >>> (handle, timestep), rewards = play(handle, timestep, jax.random.key(0))
    >>> rewards.shape
    (100, 4)

Two forms in one environment: ``reset`` and ``step`` play ``num_envs`` games in C, which a handle names; ``init`` and
``step_pure`` have the whole game in an array of bytes, so that searches can branch and ``jax.vmap`` works.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import puzzleport as pp
from puzzleport import encode, xla
from puzzleport.arguments import whole
from puzzleport.batch import fixed_game
from puzzleport.encode import Encoder, Leaf, Tree
from puzzleport.encode.both import Both
from puzzleport.encode.flat import Flat
from puzzleport.encode.one_hot import OneHot
from puzzleport.encode.pixels import Pixels
from puzzleport.encode.state import State
from puzzleport.encode.text import Text
from puzzleport.encode.tokens import Tokens, position
from puzzleport.errors import quote
from puzzleport.game_id import check_seed, random_seed
from puzzleport.limits import check_num_envs, picture_form

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
except ImportError as error:
    raise ImportError("the JAX adapter needs an extra: pip install 'puzzleport[jax]'") from error

if TYPE_CHECKING:
    from typing_extensions import Unpack

Fields = dict[str, jax.Array]
MAX_STATE, MAX_UNDO = 2**30, 256


class Handle(NamedTuple):
    """Names the games of an environment at one moment. Each call takes the last one and returns the next."""

    token: jax.Array
    returns: jax.Array
    """What the present episodes have paid so far."""


class Timestep(NamedTuple):
    """What a step led to. Every array has one entry for each game."""

    observation: Any
    """As the task's kind of observation has it: an array, or a dict of them. The next episode's first where one ended."""
    mask: jax.Array
    """Exactly the actions that change the game or the cursor."""
    reward: jax.Array
    terminated: jax.Array
    """Whether the episode ended because the game is solved or failed."""
    truncated: jax.Array
    """Whether a limit cut it off."""
    solved: jax.Array
    """Whether the game is solved."""
    length: jax.Array
    """Steps of the episode so far; where it ended, of all of it."""
    episode_return: Any
    """What the episode has paid so far; where it ended, all of it. None from ``step_pure``, which keeps no sum."""
    final_observation: Any = None
    """With ``final_observation=True``: what the step led to, before the next episode began in its place."""
    final_mask: Any = None

    @property
    def done(self) -> jax.Array:
        """Whether the episode ended."""
        return self.terminated | self.truncated


def masked_random(key: jax.Array, mask: jax.Array) -> jax.Array:
    """A random legal action for each row of a mask, each as likely; 0 where nothing is legal.

    The same key and mask give the same actions. They are drawn in C: a number for each row, where ``jax.random.categorical``
    draws one for each action.
    """
    mask = jnp.asarray(mask, bool)
    words = jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
    if words.ndim != 1 or not mask.ndim or not mask.shape[-1]:
        raise pp.UnknownOption(f"one key and masks of actions are needed, not {key.shape} and {mask.shape}")
    _register()
    shape = jax.ShapeDtypeStruct(mask.shape[:-1], jnp.int32)
    actions: jax.Array = jax.ffi.ffi_call("puzzleport_choose", shape, vmap_method="broadcast_all")(words, mask)
    return actions


class PuzzleEnv:
    """Many games of one puzzle for JAX. A finished episode is followed by the next one in the same step.

    Errors of the C side (a handle used twice, an action out of range, a generator that takes too long) are raised as
    ``jax.errors.JaxRuntimeError``, by the call that waits for the result; the process goes on.

    Args:
        puzzle: one of ``puzzleport.puzzles()``, or a ``puzzleport.Task``.
        params: the engine's parameter string; ``None`` for the default.
        num_envs: how many games ``reset`` and ``step`` play.
        threads: how many threads step them; 0 for all cores.
        final_observation: also hand out the last observation and mask of episodes that ended.
        state_size: bytes of a state of ``init`` and ``step_pure``; ``None`` for what is enough for nearly all instances: a
            state that does not fit raises an error that says so.
        undo_depth: with ``undo=True``, how many moves back such a state holds. UNDO is illegal where none is left.
        options: those of ``puzzleport.Task``. All rewards but a hook are paid, in C.
    """

    def __init__(
        self,
        puzzle: str | pp.Task,
        params: str | None = None,
        num_envs: int = 1024,
        *,
        threads: int = 0,
        final_observation: bool = False,
        state_size: int | None = None,
        undo_depth: int = 16,
        **options: Unpack[pp.TaskOptions],
    ) -> None:
        self.task = pp.Task.of(puzzle, params, options)
        self.num_envs, self.threads = check_num_envs(num_envs), threads
        self.actions = self.task.actions
        self._form = _form(self.task, final_observation)
        self._state_size = None if state_size is None else whole(state_size, "state_size", 64, MAX_STATE)
        self._pure = _Pure(threads, whole(undo_depth, "undo_depth", 1, MAX_UNDO) if self.task.undo else 0)
        self._access: xla.BatchAccess | None = None
        self._closed = False

    # ---- many games behind a handle

    def reset(self, seed: Any = None, handle: Handle | None = None) -> tuple[Handle, Timestep]:  # noqa: ANN401 (below)
        """Start new episodes in all games.

        Inside ``jax.jit`` pass the handle too where steps come before: it is what keeps the order.

        Args:
            seed: game i begins the stream of ``seed + i``; or an array with a seed for each; or a key of ``jax.random``. Without
                one, each game goes on with the next episode of its stream.
            handle: the present one. All others are void afterwards.
        """
        token = self._token() if handle is None else handle.token
        words = _words(seed, self.num_envs)
        result: tuple[Handle, Timestep] = _jitted_reset(self._form, self.num_envs, token, words)
        return result

    def step(self, handle: Handle, actions: Any) -> tuple[Handle, Timestep]:  # noqa: ANN401 (whatever is like an array)
        """Take one action in each game."""
        if not isinstance(handle, Handle):
            raise pp.InvalidAction(f"a step takes the handle that the last call returned, not {quote(handle)}")
        if handle.returns.shape != (self.num_envs,):
            games = handle.returns.shape
            raise pp.InvalidAction(f"this handle is of an environment with {games} games, not ({self.num_envs},)")
        result: tuple[Handle, Timestep] = _jitted_step(
            self._form, self.num_envs, handle, _actions(actions, (self.num_envs,))
        )
        return result

    def _token(self) -> jax.Array:
        if self._closed:
            raise pp.SessionClosed("this environment was closed")
        if self._access is None:
            batch = self.task.batch(self.num_envs, threads=self.threads)
            if self._form.picture is not None:
                width, height, form = self._form.picture
                batch.draw_along(width, height, channels_first=form == 1, grey=form == 2)
            self._access = xla.BatchAccess(batch, self.task.rewards, self.task.seed)
        return jnp.asarray(self._access.token)

    def close(self) -> None:
        """Free the games. Their handles are refused from now on."""
        self._closed = True
        if self._access is not None:
            self._access.close()
            self._access = None

    # ---- one game as a value

    @property
    def state_size(self) -> int:
        """Bytes of a state of ``init`` and ``step_pure``."""
        if self._state_size is None:
            self._state_size = xla.snapshot_bound(self.task, self._pure.undo_depth)
        return self._state_size

    def init(self, seed: Any = None) -> jax.Array:  # noqa: ANN401 (below)
        """The first state of the game of a seed: uint8[state_size].

        Args:
            seed: a whole number, an array of them (for as many states), or a key of ``jax.random``. None draws one.
        """
        return self.init_timestep(seed)[0]

    def init_timestep(self, seed: Any = None) -> tuple[jax.Array, Timestep]:  # noqa: ANN401 (as above)
        """The first state of a game, and what is seen there."""
        words = _words(random_seed() if seed is None else seed, None)
        result: tuple[jax.Array, Timestep] = _jitted_init(self._form, self.state_size, self._pure, words)
        return result

    def step_pure(self, state: jax.Array, action: Any) -> tuple[jax.Array, Timestep]:  # noqa: ANN401 (like an array)
        """Take an action: the next state, and what is seen there. No episode follows: a game that is over stays as it is.

        The same state and action give the same result, always; states may be kept, copied and branched from.
        """
        state = jnp.asarray(state)
        if state.dtype != jnp.uint8 or state.shape[-1:] != (self.state_size,):
            raise pp.CorruptState(f"a state is uint8[{self.state_size}], not {state.dtype}{list(state.shape)}")
        actions = _actions(action, state.shape[:-1])
        result: tuple[jax.Array, Timestep] = _jitted_step_pure(self._form, self._pure, state, actions)
        return result


# ---- what goes in


def _actions(given: Any, shape: tuple[int, ...]) -> jax.Array:  # noqa: ANN401 (whatever is like an array)
    wanted = f"{shape[0]} games take {shape[0]} whole numbers" if shape else "a game takes one whole number"
    try:
        plain = None if isinstance(given, jax.Array) else np.asarray(given)
    except Exception:  # a list of what is traced is for JAX to read
        plain = None
    if plain is not None:
        if plain.dtype.kind not in "biufc":
            raise pp.InvalidAction(f"{wanted}, not {quote(given)}")
        # JAX would cut a wide number off, and a wrong action could become a right one.
        wide = plain.dtype.kind in "iu" and (plain < -(2**31)) | (plain >= 2**31)
        if np.any(wide):
            raise pp.InvalidAction(f"there is no action {plain[wide].flat[0]}")
    actions = jnp.asarray(given)
    if actions.shape != shape or not jnp.issubdtype(actions.dtype, jnp.integer):
        raise pp.InvalidAction(f"{wanted}, not {actions.dtype}{list(actions.shape)}")
    # Wide numbers stay wide: C refuses what is out of range, and cutting them off would hide that.
    return actions.astype(jnp.int64 if actions.dtype.itemsize == 8 else jnp.int32)


def _words(seed: Any, n: int | None) -> jax.Array:  # noqa: ANN401 (a number, an array or a key)
    """Seeds as C takes them: low and high half, and whether there is one. For n games, or for as many as are given."""
    if seed is None:
        return jnp.zeros((n, 3), jnp.uint32)
    if isinstance(seed, jax.Array) and jnp.issubdtype(seed.dtype, jax.dtypes.prng_key):
        bits = jax.random.bits(seed, (2,) if n is None else (n, 2))  # 53 of them, as all seeds that are drawn have
        return jnp.stack([bits[..., 0], bits[..., 1] >> 11, jnp.ones_like(bits[..., 0])], -1)
    if not isinstance(seed, jax.Array):
        numbers = np.asarray(seed, object)
        if n is not None and not numbers.shape:
            numbers = np.array([check_seed(seed) + slot for slot in range(n)], object)
        whole = np.array([check_seed(one) for one in numbers.ravel()], np.uint64).reshape(numbers.shape)
        parts = [whole & np.uint64(0xFFFFFFFF), whole >> np.uint64(32), np.ones_like(whole)]
        words = jnp.asarray(np.stack(parts, -1).astype(np.uint32))
    else:
        if not jnp.issubdtype(seed.dtype, jnp.integer):
            raise pp.InvalidSeed(f"a seed is a whole number or a key of jax.random, not {seed.dtype}{list(seed.shape)}")
        each = seed
        if n is not None and not seed.shape:
            each = seed + jnp.arange(n, dtype=seed.dtype)
        high = (each >> 32).astype(jnp.uint32) if seed.dtype.itemsize == 8 else jnp.zeros(each.shape, jnp.uint32)
        sound = jnp.where(each < 0, jnp.uint32(2), jnp.uint32(1))
        words = jnp.stack([each.astype(jnp.uint32), high, sound], -1)
    if n is not None and words.shape != (n, 3):
        raise pp.InvalidSeed(f"{n} games need {n} seeds, not the shape {words.shape[:-1]}")
    return words


# ---- what comes out


class _Form:
    """What calls look like: all that compiled programs need to know of a task. It holds nothing of any game."""

    def __init__(self, task: pp.Task, final: bool = False) -> None:
        if task.rewards.hook is not None:
            raise pp.UnknownOption(
                "a reward hook is Python and cannot run inside jax.jit: write it as a function of the observation, "
                "and add what it pays to the timestep's reward"
            )
        encoder = task.encoder
        if isinstance(encoder, Text):
            raise pp.UnknownOption('JAX has no arrays of text: choose another observation than "text"')
        self.task, self.encoder, self.final = task, encoder, final
        self.picture: tuple[int, int, int] | None = None
        if isinstance(encoder, Pixels):
            self.picture = (*encoder.size, picture_form(encoder.channels_first, encoder.grey))
        elif isinstance(encoder, Both):
            self.picture = (task.width, task.height, picture_form(False, False))
        pictures = [leaf for leaf in encode.leaves(encoder.tree) if leaf.name == "pixels"]
        self.picture_shape = pictures[0].shape if pictures else ()

    def shapes(self, lead: tuple[int, ...], *, paid: bool = False, final: bool = False) -> list[jax.ShapeDtypeStruct]:
        """The results of a call behind the first: what is seen, the reward, how the episodes stand; of a step what they have
        paid; pictures; and what was seen last of those that ended.
        """
        records = jax.ShapeDtypeStruct((*lead, self.task.layout.record_size), jnp.uint8)
        masks = jax.ShapeDtypeStruct((*lead, len(self.task.actions)), jnp.bool_)
        numbers, flags = jax.ShapeDtypeStruct(lead, jnp.float32), jax.ShapeDtypeStruct(lead, jnp.bool_)
        pictures = [jax.ShapeDtypeStruct((*lead, *self.picture_shape), jnp.uint8)] if self.picture else []
        ends = [flags, flags, flags, jax.ShapeDtypeStruct(lead, jnp.int32)]
        last = [records, masks, *pictures] if final else []
        return [records, masks, numbers, *ends, *([numbers, numbers] if paid else []), *pictures, *last]

    def observe(self, records: jax.Array, pictures: Any) -> Any:  # noqa: ANN401 (as the tree has it)
        """The observations of records."""
        if isinstance(self.encoder, Pixels):
            return pictures
        fields = _fields(self.task, records)
        if isinstance(self.encoder, Both):
            return {**_state(self.encoder, fields), "pixels": pictures}
        encoding: Callable[[Any, Fields], Any] = _ENCODE.get(type(self.encoder), _by_callback)
        return encoding(self.encoder, fields)

    def timestep(self, results: list[jax.Array], total: Any = None) -> Timestep:  # noqa: ANN401 (an array or None)
        """What a step led to, from the results of its call without the first and without what was paid."""
        records, mask, reward, terminated, truncated, solved, length, *rest = results
        now = rest.pop(0) if self.picture else None
        final_observation = final_mask = None
        if rest:
            final_observation, final_mask = self.observe(rest[0], rest[2] if self.picture else None), rest[1]
        return Timestep(
            observation=self.observe(records, now),
            mask=mask,
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            solved=solved,
            length=length,
            episode_return=total,
            final_observation=final_observation,
            final_mask=final_mask,
        )


@lru_cache(maxsize=256)
def _form(task: pp.Task, final: bool) -> _Form:
    """The form of a task: the same one for equal tasks, so that what was compiled for one serves the next."""
    return _Form(task, final)


def _fields(task: pp.Task, records: jax.Array) -> Fields:
    """The fields of records, as ``Layout.views`` has them."""
    lead, result = records.shape[:-1], {}
    for field in task.layout.fields:
        size = field.dtype.itemsize
        part = records[..., field.offset : field.offset + int(np.prod(field.shape)) * size]
        part = part.reshape(*lead, *field.shape, *((size,) if size > 1 else ()))
        result[field.name] = lax.bitcast_convert_type(part, field.dtype)
    return result


def _state(encoder: Encoder, fields: Fields) -> Fields:
    scalars = {field.name for field in encoder.layout.fields if not field.shape}
    return {name: value[..., None] if name in scalars else value for name, value in fields.items()}


def _items(encoder: Encoder, fields: Fields) -> list[jax.Array]:
    lead = encoder.lead(fields)  # type: ignore[arg-type] # only their shapes are looked at
    return [fields[field.name].reshape(*lead, -1) for field in encoder.layout.fields]


def _flat(encoder: Flat, fields: Fields) -> jax.Array:
    columns = [column.astype(jnp.float32) for column in _items(encoder, fields)]
    vector: jax.Array = (jnp.concatenate(columns, -1) - encoder.scaler.low) * encoder.scaler.scale
    return vector


def _one_hot(encoder: OneHot, fields: Fields) -> jax.Array:
    parts = []
    for field, column in zip(encoder.layout.fields, _items(encoder, fields), strict=True):
        values = jnp.arange(field.low, field.high + 1, dtype=jnp.int32)
        parts.append((column[..., None] == values).astype(jnp.float32).reshape(*column.shape[:-1], -1))
    return jnp.concatenate(parts, -1)


def _tokens(encoder: Tokens, fields: Fields) -> dict[str, jax.Array]:
    lead = encoder.lead(fields)  # type: ignore[arg-type]
    tokens = jnp.broadcast_to(encoder.blank, (*lead, *encoder.blank.shape))
    for part in encoder.parts:
        values = jnp.transpose(fields[part.field.name], (*range(len(lead)), *(len(lead) + axis for axis in part.order)))
        start, count = encoder.starts[part.group], encoder.counts[part.group]
        numbers = values.reshape(*lead, count, -1).astype(jnp.int32) - part.low
        bits = ((numbers[..., None] >> jnp.arange(part.bits)) & 1).astype(jnp.float32).reshape(*lead, count, -1)
        tokens = tokens.at[..., start : start + count, part.column : part.column + bits.shape[-1]].set(bits)
    for column, name, size in encoder.cursor:
        # From a table: sine and cosine have last digits that differ between libraries.
        field = next(field for field in encoder.layout.fields if field.name == name)
        places = jnp.asarray(position(np.arange(field.low, field.high + 1, dtype=field.dtype), size))
        here = places[fields[name].astype(jnp.int32) - field.low]
        tokens = tokens.at[..., encoder.length - 1, column : column + 2].set(here)
    return {"tokens": tokens, "length": jnp.full((*lead, 1), encoder.length, jnp.int32)}


def _by_callback(encoder: Encoder, fields: Fields) -> Any:  # noqa: ANN401 (as the tree has it)
    """Any other encoder, by its own code: slower, as each step leaves the compiled program."""
    lead = encoder.lead(fields)  # type: ignore[arg-type]

    def shape(tree: Tree) -> Any:  # noqa: ANN401
        if isinstance(tree, Leaf):
            return jax.ShapeDtypeStruct((*lead, *tree.shape), tree.dtype)
        return {name: shape(part) for name, part in tree.items()}

    def call(fields: Fields) -> Any:  # noqa: ANN401
        return encoder.encode({name: np.asarray(value) for name, value in fields.items()})

    return jax.pure_callback(call, shape(encoder.tree), fields, vmap_method="broadcast_all")


_ENCODE: dict[type[Encoder], Callable[[Any, Fields], Any]] = {
    State: _state,
    Flat: _flat,
    OneHot: _one_hot,
    Tokens: _tokens,
}


# ---- the calls. They hold a form, never an environment: what is compiled must not keep games alive.


@lru_cache(maxsize=1)
def _register() -> None:
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    found = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", header.read_text())) if header.exists() else {}
    for name, target in xla.targets(int(found.get("MAJOR", 0)), int(found.get("MINOR", 0))).items():
        jax.ffi.register_ffi_target(name, target, platform="cpu")


_TOKEN = jax.ShapeDtypeStruct((4,), jnp.uint32)
_PAID = slice(8, 10)
"""Where the results of a step have the returns, before the next step and with this one."""


@partial(jax.jit, static_argnums=(0, 1))
def _jitted_reset(form: _Form, n: int, token: jax.Array, words: jax.Array) -> tuple[Handle, Timestep]:
    _register()
    shapes = [_TOKEN, *form.shapes((n,), final=form.final)]
    token, *results = jax.ffi.ffi_call("puzzleport_reset", shapes, has_side_effect=True)(token, words)
    returns = jnp.zeros(n, jnp.float32)
    return Handle(token, returns), form.timestep(results, returns)


@partial(jax.jit, static_argnums=(0, 1))
def _jitted_step(form: _Form, n: int, handle: Handle, actions: jax.Array) -> tuple[Handle, Timestep]:
    _register()
    shapes = [_TOKEN, *form.shapes((n,), paid=True, final=form.final)]
    # The returns are written where they were read: in a loop nothing is copied then.
    step = jax.ffi.ffi_call("puzzleport_step", shapes, has_side_effect=True, input_output_aliases={2: _PAID.start})
    results = step(handle.token, actions, handle.returns.astype(jnp.float32))
    returns, total = results[_PAID]
    return Handle(results[0], returns), form.timestep([*results[1 : _PAID.start], *results[_PAID.stop :]], total)


class _Pure(NamedTuple):
    """What the pure form needs besides: all that compiled programs depend on."""

    threads: int
    undo_depth: int


def _call_pure(
    form: _Form, name: str, size: int, pure: _Pure, lead: tuple[int, ...], *arguments: jax.Array
) -> tuple[jax.Array, Timestep]:
    _register()
    task = form.task
    which = fixed_game(task.puzzle, task.game_id or task.params)
    width, height, picture = form.picture or (0, 0, 0)
    attributes = {
        "puzzle": task.puzzle,
        "params": which.params,
        "seed": "" if which.seed is None else str(which.seed),
        "desc": which.desc or "",
        "max_steps": np.int64(task.max_steps),
        "timeout": np.int64(np.ceil(task.timeout * 1000)),
        "threads": np.int64(pure.threads),
        "undo": np.int64(task.undo and task.spec.undo),
        "undo_depth": np.int64(pure.undo_depth),
        "max_repeats": np.int64(task.max_repeats),
        "width": np.int64(width),
        "height": np.int64(height),
        "form": np.int64(picture),
        **{
            name: (np.int64 if isinstance(number, int) else np.float64)(number)
            for name, number in task.rewards.numbers(task.spec, task.params).items()
        },
    }
    shapes = [jax.ShapeDtypeStruct((*lead, size), jnp.uint8), *form.shapes(lead)]
    state, *results = jax.ffi.ffi_call(name, shapes, vmap_method="broadcast_all")(*arguments, **attributes)
    return state, form.timestep(results)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _jitted_init(form: _Form, size: int, pure: _Pure, words: jax.Array) -> tuple[jax.Array, Timestep]:
    return _call_pure(form, "puzzleport_init", size, pure, words.shape[:-1], words)


@partial(jax.jit, static_argnums=(0, 1))
def _jitted_step_pure(form: _Form, pure: _Pure, state: jax.Array, actions: jax.Array) -> tuple[jax.Array, Timestep]:
    return _call_pure(form, "puzzleport_step_pure", state.shape[-1], pure, state.shape[:-1], state, actions)
