"""Episodes as films and stills, and all puzzles in one picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .puzzle_spec import puzzles, spec
from .session import Session, Status

Picture = np.ndarray[Any, np.dtype[np.uint8]]

GALLERY_COLUMNS = 8
GALLERY_GAP = 8


def record(
    session: Session,
    actions: Iterable[int | str],
    path: str | Path,
    *,
    width: int = 256,
    height: int = 256,
    fps: float = 5.0,
) -> int:
    """Take the actions and write what is seen into a GIF (or APNG, WebP, MP4, by the suffix); returns the number of frames.

    The session itself is not touched: a clone plays.
    """

    def frames() -> Iterator[Picture]:
        player = session.clone()
        yield player.pixels(width, height)
        for action in actions:
            player.step(action)
            yield player.pixels(width, height)

    return save_film(frames(), path, fps=fps)


def save_film(frames: Iterable[Picture], path: str | Path, *, fps: float = 5.0) -> int:
    """Write pictures as a film, by the suffix: .gif, .png (APNG), .webp or .mp4; returns their number."""
    path = Path(path)
    aside = path.with_name(f".{path.name}.part{path.suffix}")  # never half a file under the final name
    try:
        count = _save_mp4(frames, aside, fps) if path.suffix == ".mp4" else _save_images(frames, aside, fps)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    return count


def _save_images(frames: Iterable[Picture], path: Path, fps: float) -> int:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("recording needs an extra: pip install 'puzzleport[record]'") from error
    images = [Image.fromarray(frame) for frame in frames]
    # The last frame stays for a while: it shows how the game ended.
    durations = [round(1000 / fps)] * (len(images) - 1) + [max(round(1000 / fps), 1500)]
    images[0].save(path, save_all=True, append_images=images[1:], duration=durations, loop=0)
    return len(images)


def _save_mp4(frames: Iterable[Picture], path: Path, fps: float) -> int:
    try:
        from imageio_ffmpeg import write_frames
    except ImportError as error:
        raise ImportError("MP4 needs an extra: pip install 'puzzleport[video]'") from error
    count, writer = 0, None
    for frame in frames:
        even = np.ascontiguousarray(
            frame[: frame.shape[0] // 2 * 2, : frame.shape[1] // 2 * 2]
        )  # as the codec wants it
        if writer is None:
            writer = write_frames(str(path), (even.shape[1], even.shape[0]), fps=fps, macro_block_size=2)
            writer.send(None)
        writer.send(even)
        count += 1
    if writer is not None:
        writer.close()
    return count


def save_picture(picture: Picture, path: str | Path) -> None:
    """Write one picture."""
    save_film([picture], path)


def gallery(size: int = 128) -> Picture:
    """All puzzles on one sheet, eight in a row, each played at a little so that there is something to see."""
    names, cell = puzzles(), size + GALLERY_GAP
    rows = -(-len(names) // GALLERY_COLUMNS)
    sheet = np.full((rows * cell + GALLERY_GAP, GALLERY_COLUMNS * cell + GALLERY_GAP, 3), 255, np.uint8)
    for number, name in enumerate(names):
        y, x = (GALLERY_GAP + cell * at for at in divmod(number, GALLERY_COLUMNS))
        sheet[y : y + size, x : x + size] = _played_at(name, size)
    return sheet


def _played_at(puzzle: str, size: int) -> Picture:
    session = Session(puzzle, spec(puzzle).human_params, seed=4)
    random = np.random.default_rng(1)
    for _ in range(60):
        if session.status == Status.ONGOING:
            session.step(int(random.choice(np.flatnonzero(session.mask()))))
    return session.pixels(size, size)
