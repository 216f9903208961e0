"""Which game comes next: one rule for every adapter."""

from __future__ import annotations

from typing import Any

from .errors import InvalidParams
from .session import check_seed, episode_seed, parse_game_id, random_seed
from .spec import canonical_params, spec


class Stream:
    """The games that an environment plays one after the other, all with observations of the same shape.

    They are a pure function of the seed: the first is the seed's own instance, the k-th that of ``episode_seed(seed, k)``.

        >>> stream = Stream("fifteen", "2x2", seed=7)
        >>> stream.next()
        {'params': '2x2', 'seed': 7}
        >>> stream.next(seed=9)
        {'params': '2x2', 'seed': 9}

    Args:
        puzzle: one of ``puzzleport.puzzles()``.
        params: the engine's parameter string; ``"4x4#42"`` or ``"4x4:description"`` is that one instance for ever.
        seed: where the stream starts; ``None`` draws one.
    """

    def __init__(self, puzzle: str, params: str | None = None, seed: int | None = None) -> None:
        self.spec = spec(puzzle)
        self._fixed: str | None = None
        if isinstance(params, str) and (":" in params or "#" in params):
            self._fixed = params
            params = parse_game_id(puzzle, params).params
        self.params = canonical_params(puzzle, params)
        self.fields = self.spec.fields(self.params)
        self._seed = random_seed() if seed is None else check_seed(seed)
        self._episode = -1

    def next(self, seed: int | None = None, *, params: str | None = None, game_id: str | None = None) -> dict[str, Any]:
        """What to start a session with: the next game; with a seed the first of that seed; or the game that is named."""
        if seed is not None:
            self._seed, self._episode = check_seed(seed), 0
        else:
            self._episode += 1
        name = self.spec.name
        if game_id is None and seed is None and params is None:
            game_id = self._fixed
        if game_id is not None:
            chosen = parse_game_id(name, game_id).params
            start: dict[str, Any] = {"game_id": game_id}
        else:
            chosen = self.params if params is None else canonical_params(name, params)
            start = {"params": chosen, "seed": episode_seed(self._seed, self._episode)}
        if self.spec.fields(chosen) != self.fields:
            raise InvalidParams(
                f"{name}: {chosen} has other observations than {self.params}; make an environment for it"
            )
        return start
