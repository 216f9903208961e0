"""Files and folders that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def aside(path: str | Path) -> Iterator[Path]:
    """A path to write to that becomes ``path`` when all went well, and disappears otherwise, with folders made for it.

    It keeps the suffix, by which many writers choose a format.
    """
    path = Path(path)
    part = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    made = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        part.replace(path)
    finally:
        if part.is_dir():
            shutil.rmtree(part)
        part.unlink(missing_ok=True)
        for folder in made:
            with suppress(OSError):  # someone else's file may be in it by now, and after a success ours is
                folder.rmdir()


def write(path: str | Path, text: str) -> None:
    """Write a text file at once."""
    with aside(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def alone(path: str | Path) -> Iterator[None]:
    """No other process is in here with the same path: for files that are read, changed and written.

    What is locked is the folder. A file that is replaced would take its lock with it, and one beside it would be left over.
    """
    import fcntl  # not there on every system, and most of what is here does without

    folder = Path(path).parent
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
