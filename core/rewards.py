"""What an agent is paid: one rule for every adapter, for one game and for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import NoSolution, UnknownOption, quote
from .session import Observation, Session

if TYPE_CHECKING:
    from .batch import Batch
    from .puzzle_spec import PuzzleSpec

Array = np.ndarray[Any, Any]
Hook = Callable[[Observation, Observation], Any]
"""An intermediate reward: it sees the fields before and after a step, and returns what to pay."""


@dataclass(frozen=True)
class Rewards:
    """Rewards at the end of an episode, for each step, for progress, and from a function of your own.

        >>> Rewards(solved=10.0, step=-0.01).solved
        10.0

    ``solution`` and ``errors`` pay the change of a potential, so a detour gains nothing.

    Args:
        solved: paid when the game is solved.
        failed: paid when the game is lost.
        step: paid for every action.
        no_effect: paid on top for an action that changes nothing.
        solution: paid for the whole way from the start to the solution, bit by bit: each item of the board that becomes
            as in the solution earns its share, and loses it again when it is undone. The engine's solution counts where
            there are several; a solved game always counts as complete. Mines has no solution before its first square is
            opened, so nothing is paid until then.
        errors: paid for each error that the board newly shows, and taken back when it goes: a negative number.
        hook: called as ``hook(before, after)`` with the fields of one game as ``Session.observe()`` gives them; returns a
            number. It is called once for each game, in a vector environment too.
        batched: the hook takes many games at once instead: every field has a leading axis of n games (n is 1 in a single
            environment), and it returns n numbers.
        solution_fields: the fields that ``solution`` compares; by default those that the solution changes.
        error_fields: the fields that ``errors`` counts; by default those with "errors" in their name.
    """

    solved: float = 1.0
    failed: float = -1.0
    step: float = 0.0
    no_effect: float = 0.0
    solution: float = 0.0
    errors: float = 0.0
    hook: Hook | None = None
    batched: bool = False
    solution_fields: Sequence[str] | None = None
    error_fields: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for field in fields(self)[:6]:
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
                raise TypeError(f"{field.name} is a number, not {quote(value)}")
            if not np.isfinite(value):
                raise ValueError(f"{field.name} is a finite number, not {value}")
        for name in ("solution_fields", "error_fields"):  # a record that may be hashed holds no lists
            if getattr(self, name) is not None:
                object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.hook is not None and not callable(self.hook):
            raise TypeError(f"a hook is a function of (before, after), not {quote(self.hook)}")
        if self.batched and self.hook is None:
            raise ValueError("batched=True needs a hook")

    def __call__(self, status: int) -> float:
        """What a step pays that leads to this status, without what depends on the board."""
        return self.step + (self.solved if status > 0 else self.failed if status < 0 else 0.0)

    @property
    def looks(self) -> bool:
        """Whether anything that is paid depends on the board."""
        return bool(self.hook or self.solution or self.errors)

    @property
    def by_status(self) -> Array:
        """What each status pays; the index is the status, and that of a failure, -1, is the last."""
        return np.array([self(0), self(1), self(-1)])

    def bounds(self) -> tuple[float, float] | None:
        """The least and the most that one step pays; None where that cannot be told beforehand."""
        if self.looks:
            return None
        least, most = float(self.by_status.min()), float(self.by_status.max())
        return least + min(self.no_effect, 0.0), most + max(self.no_effect, 0.0)

    def return_bounds(self, spec: PuzzleSpec, params: str, max_steps: int) -> tuple[float, float] | None:
        """The least and the most that an episode can have paid after any number of steps; None with a hook or no limit."""
        if self.hook is not None or not max_steps:
            return None
        least = max_steps * min(0.0, self.step + min(self.no_effect, 0.0)) + min(0.0, self.solved, self.failed)
        most = max_steps * max(0.0, self.step + max(self.no_effect, 0.0)) + max(0.0, self.solved, self.failed)
        items = {field.name: int(np.prod(field.shape)) for field in spec.fields(params)}
        if self.solution:  # at the worst one item was wrong at the start, and all are wrong at the end
            compared = self.solution_fields or [field.name for field in spec.fields(params) if not field.is_ui]
            ends = -self.solution * sum(items[name] for name in compared), self.solution
            least, most = least + min(ends), most + max(ends)
        if self.errors:  # from none to all, or back
            swing = abs(self.errors) * sum(items[name] for name in self.counted(spec, params))
            least, most = least - swing, most + swing
        return float(least), float(most)

    def checked(self, spec: PuzzleSpec, params: str) -> Rewards:
        """These rewards, after a look whether this puzzle can pay them."""
        names = [field.name for field in spec.fields(params)]
        for given in (self.solution_fields, self.error_fields):
            unknown = [name for name in given or () if name not in names]
            if unknown:
                raise UnknownOption(f"{spec.name} has no fields {quote(unknown)}; it has {', '.join(names)}")
        if self.solution and not spec.can_solve:
            raise NoSolution(f"{spec.title} has no solver, so there is no solution to pay for")
        if self.errors and not self.counted(spec, params):
            raise UnknownOption(f"{spec.name} shows no errors; its fields are {', '.join(names)}")
        return self

    def counted(self, spec: PuzzleSpec, params: str) -> tuple[str, ...]:
        """The fields that ``errors`` counts."""
        if self.error_fields is not None:
            return tuple(self.error_fields)
        return tuple(field.name for field in spec.fields(params) if "errors" in field.name.split("_"))

    def numbers(self, spec: PuzzleSpec, params: str) -> dict[str, float | int]:
        """All but the hook as the C side takes it: numbers, and the fields of ``solution`` and ``errors`` as bits."""
        names = [field.name for field in spec.fields(params)]
        counted = self.counted(spec, params) if self.errors else ()
        return {
            **{field.name: float(getattr(self, field.name)) for field in fields(self)[:6]},
            "compared": sum(1 << names.index(name) for name in set(self.solution_fields or ())),
            "counted": sum(1 << names.index(name) for name in set(counted)),
        }


PAPER_REWARDS = Rewards(solved=100.0, failed=-100.0)
"""What the paper's environment pays."""


class _Solution:
    """How far one game is from its solution: the potential behind ``Rewards.solution``."""

    def __init__(self, session: Session, names: Sequence[str] | None) -> None:
        self._names, self._wanted = names, dict[str, Array]()
        self._look_for(session)

    @property
    def known(self) -> bool:
        """Whether the solution was found, from when on nothing in here changes."""
        return bool(self._wanted)

    def _look_for(self, session: Session) -> None:
        try:
            solution = session.solution()
        except NoSolution:
            return
        now = session.observe(copy=False)
        names = self._names or [
            field.name
            for field in session.fields
            if not field.is_ui and not np.array_equal(solution[field.name], now[field.name])
        ]
        self._wanted = {name: solution[name] for name in names}
        self._wrong_at_start = self._wrong(now)

    def _wrong(self, now: Observation) -> int:
        return sum(int(np.count_nonzero(now[name] != wanted)) for name, wanted in self._wanted.items())

    def value(self, session: Session) -> float | None:
        """Minus the share of the way that is left; None where no solution is known yet."""
        if not self._wanted:
            self._look_for(session)
            if not self._wanted:
                return None
        return 0.0 if session.status > 0 else -self._wrong(session.observe(copy=False)) / max(1, self._wrong_at_start)


class GamePay:
    """Pays for the steps of one game after the other: ``start`` at each new game, then a call after each step."""

    def __init__(self, rewards: Rewards, spec: PuzzleSpec, params: str) -> None:
        self.rewards = rewards.checked(spec, params)
        self._by_status = (rewards(0), rewards(1), rewards(-1))
        self._no_effect = rewards.no_effect
        self._looks = rewards.looks
        self._counted = rewards.counted(spec, params) if rewards.errors else ()
        self._before: Observation = {}
        self._solution: _Solution | None = None
        self._potential: float | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> GamePay:
        # A step replaces what it changes and writes into nothing, so a copy may share the rest: search copies often.
        twin = object.__new__(GamePay)
        twin.__dict__.update(self.__dict__)
        if self._solution is not None and not self._solution.known:
            twin._solution = copy(self._solution)
        return twin

    def start(self, session: Session) -> None:
        """A new game begins."""
        if not self._looks:
            return
        if self.rewards.hook is not None:
            self._before = session.observe()
        if self.rewards.solution:
            self._solution = _Solution(session, self.rewards.solution_fields)
        self._potential = self._value(session)

    def turn(self, session: Session) -> None:
        """Another player acts next: a hook sees the board before that through this player's cursor."""
        if self.rewards.hook is not None:
            self._before = session.observe()

    def __call__(self, session: Session) -> float:
        """What the step that was just taken pays."""
        outcome = session._outcome
        paid = self._by_status[outcome.status]
        if self._no_effect and not outcome.changed:
            paid += self._no_effect
        return paid + self._for_board(session) if self._looks else paid

    def _value(self, session: Session) -> float | None:
        """What ``solution`` and ``errors`` pay the change of, as native/session/pay.c has it for many games at once."""
        total = 0.0
        if self._solution is not None:
            way = self._solution.value(session)
            if way is None:
                return None
            total += self.rewards.solution * way
        now = session.observe(copy=False)
        return total + self.rewards.errors * sum(int(np.count_nonzero(now[name])) for name in self._counted)

    def _for_board(self, session: Session) -> float:
        paid = 0.0
        before, self._potential = self._potential, self._value(session)
        if before is not None and self._potential is not None:
            paid += self._potential - before
        if self.rewards.hook is not None:
            seen, self._before = self._before, session.observe()
            paid += _hooked(self.rewards, seen, self._before)
        return paid


def _hooked(rewards: Rewards, before: Observation, after: Observation) -> float:
    """What the hook pays for one game."""
    assert rewards.hook is not None
    if rewards.batched:
        lead = ({name: view[None] for name, view in state.items()} for state in (before, after))
        return float(_checked_batch(rewards.hook(*lead), 1)[0])
    paid = rewards.hook(before, after)
    if np.shape(paid) != ():
        raise ValueError(
            f"a reward hook returns one number for one game, not an array of shape {np.shape(paid)}; "
            "a hook for many games at once is declared as Rewards(hook=..., batched=True)"
        )
    return float(paid)


def _checked_batch(paid: Any, n: int) -> Array:  # noqa: ANN401 (whatever a hook returns)
    if np.shape(paid) != (n,):
        raise ValueError(f"a batched reward hook returns {n} numbers for {n} games, not the shape {np.shape(paid)}")
    return np.asarray(paid, np.float64)


class BatchPay:
    """Pays for the steps of many games: ``start`` at a reset, then a call after each step of the batch."""

    def __init__(self, rewards: Rewards, batch: Batch) -> None:
        self.rewards = rewards.checked(batch.spec, batch.params)
        self._paid = batch.pay_along(rewards)
        self._before: Observation = {}

    def start(self, batch: Batch) -> None:
        """New games begin in all slots, or in some."""
        if self.rewards.hook is not None:
            self._before = _copies(batch.result.observation)

    def __call__(self, batch: Batch) -> Array:
        """What the step that was just taken pays in each slot; nothing where it only began the next game."""
        paid: Array = self._paid.copy()
        self.add_hooked(batch, paid)
        return paid

    def add_hooked(self, batch: Batch, paid: Array) -> None:
        """Add what the hook pays, if there is one, to what the batch reckoned for the step that was just taken."""
        if self.rewards.hook is None:
            return
        result, now = batch.result, _copies(batch.result.observation)
        over, fresh = result.ended != 0, result.steps == 0
        after = now
        if batch.autoreset == "same_step" and over.any():
            # The next game is there already: what the step led to is the end of the last one.
            final = batch.final[0]
            after = {
                name: np.where(over.reshape(-1, *[1] * (view.ndim - 1)), final[name], view)
                for name, view in now.items()
            }
        paid += np.where(fresh, 0.0, self._hooked(after, fresh))
        self._before = now

    def _hooked(self, after: Observation, fresh: Array) -> Array:
        n, hook = len(fresh), self.rewards.hook
        assert hook is not None
        if self.rewards.batched:
            return _checked_batch(hook(self._before, after), n)
        paid = np.zeros(n)
        for slot in np.flatnonzero(~fresh):
            states = ({name: view[slot] for name, view in fields.items()} for fields in (self._before, after))
            paid[slot] = _hooked(self.rewards, *states)
        return paid


def _copies(fields: Observation) -> Observation:
    return {name: view.copy() for name, view in fields.items()}
