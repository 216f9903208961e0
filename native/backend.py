"""The build backend: scikit-build-core's, with an sdist that also carries the engine.

The engine is never part of the repository, yet a build from an sdist needs no apt: its sources and its licence are
added to the finished archive under ``native/engine``, where ``engine.py`` looks for them. The source tree is not touched.
"""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
from pathlib import Path
from typing import Any

import engine
from scikit_build_core.build import (
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from scikit_build_core.build import build_sdist as build_plain_sdist

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Make the sdist and put the engine into it."""
    name = build_plain_sdist(sdist_directory, config_settings)
    archive = Path(sdist_directory) / name
    aside = archive.with_suffix(".part")
    add_engine(archive, aside)
    aside.replace(archive)
    return name


def add_engine(plain: Path, full: Path) -> None:
    """Copy an sdist and append the engine's sources; the same input gives the same bytes."""
    tree = engine.find()
    with tarfile.open(plain) as source, full.open("wb") as raw:
        top = source.getnames()[0].split("/")[0]
        with (
            gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target,
        ):
            for member in source.getmembers():
                if not member.name.startswith(f"{top}/native/engine/"):
                    target.addfile(member, source.extractfile(member) if member.isreg() else None)
            for path in sorted(tree.iterdir()):
                if path.suffix in {".c", ".h"} or path.name in {"LICENCE", "README"}:
                    _add(target, f"{top}/native/engine/{path.name}", path.read_bytes())
    shutil.copymode(plain, full)


def _add(target: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    target.addfile(member, io.BytesIO(content))
