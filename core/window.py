"""A window that shows pictures, for ``render_mode="human"`` and for playing by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    import pygame
except ImportError as error:
    raise ImportError("a window needs an extra: pip install 'puzzleport[window]'") from error


class Window:
    """A window of the size of the first picture that it is shown."""

    def __init__(self, title: str, fps: int = 10) -> None:
        self._title, self._fps = title, fps
        self._screen: Any = None
        self._clock = pygame.time.Clock()

    def show(self, picture: np.ndarray[Any, Any]) -> None:
        """Show a picture (height, width, 3), at most so many times a second."""
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption(self._title)
            self._screen = pygame.display.set_mode((picture.shape[1], picture.shape[0]))
        pygame.surfarray.blit_array(self._screen, picture.transpose(1, 0, 2))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window."""
        if self._screen is not None:
            pygame.display.quit()
            self._screen = None
