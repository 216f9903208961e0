"""An episode as an animation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .session import Session


def record(
    session: Session,
    actions: Iterable[int | str],
    path: str | Path,
    *,
    width: int = 256,
    height: int = 256,
    fps: float = 5.0,
) -> int:
    """Take the actions and write what is seen into a GIF (or APNG or WebP, by the suffix); returns the number of frames.

    The session itself is not touched: a clone plays.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("recording needs an extra: pip install 'puzzleport[record]'") from error
    player = session.clone()
    frames = [Image.fromarray(player.pixels(width, height))]
    for action in actions:
        player.step(action)
        frames.append(Image.fromarray(player.pixels(width, height)))
    path = Path(path)
    aside = path.with_name(f".{path.name}.part{path.suffix}")  # never half a file under the final name
    frames[0].save(aside, save_all=True, append_images=frames[1:], duration=round(1000 / fps), loop=0)
    aside.replace(path)
    return len(frames)
