"""The paper's own environment, by its keywords, rewards and observation: ``gym.make("rlp/Puzzle-v0", puzzle="bridges")``."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import puzzleport as pp
from puzzleport.adapters.gymnasium import PuzzleEnv
from puzzleport.encode.pixels import Pixels

try:
    from gymnasium import spaces
except ImportError as error:
    raise ImportError("the paper's environment needs an extra: pip install 'puzzleport[gymnasium]'") from error


class PaperEnv(PuzzleEnv):
    """The environment of the paper.

    ``obs_type="rgb"`` gives ``{"pixels": uint8[3, height, width]}``, ``"puzzle_state"`` the Dict of fields.
    """

    def __init__(
        self,
        puzzle: str,
        params: str | None = None,
        *,
        render_mode: str | None = None,
        obs_type: Literal["rgb", "puzzle_state"] = "rgb",
        window_width: int = 128,
        window_height: int = 128,
        allow_undo: bool = False,
        max_state_repeats: int = 10_000,
        max_steps: int = 10_000,
        rewards: pp.Rewards = pp.PAPER_REWARDS,
        **options: Any,  # noqa: ANN401 (what else PuzzleEnv takes)
    ) -> None:
        if obs_type not in {"rgb", "puzzle_state"}:
            raise pp.UnknownOption(f"obs_type is rgb or puzzle_state, not {obs_type!r:.80}")
        self._rgb = obs_type == "rgb"
        super().__init__(
            puzzle,
            params,
            observation=partial(Pixels, channels_first=True) if self._rgb else "state",
            render_mode=render_mode,
            width=window_width,
            height=window_height,
            undo=allow_undo,
            max_steps=max_steps,
            max_repeats=max_state_repeats,
            rewards=rewards,
            **options,
        )
        if self._rgb:
            self.observation_space = spaces.Dict({"pixels": self.observation_space})

    def _result(self) -> tuple[Any, dict[str, Any]]:
        observation, info = super()._result()
        return {"pixels": observation} if self._rgb else observation, info
