"""Find the source of Simon Tatham's Portable Puzzle Collection, the engine under every session.

The engine is a build dependency and never part of this repository. ``find()`` looks, in this order, at

1. ``PUZZLEPORT_ENGINE_SRC``: an unpacked tree of the wanted version;
2. ``engine/`` beside this file: the copy that an sdist carries;
3. the per-user cache (``PUZZLEPORT_CACHE``, else ``$XDG_CACHE_HOME/puzzleport``, else ``~/.cache/puzzleport``);
4. Debian's source package, through ``apt-get source`` with lists and state of its own under that cache: it needs no
   root and changes nothing outside the cache.

Run as a script it prints the tree's path, which is how CMake asks for it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "20250730.a7c7826"
COMMIT = "a7c7826"
PACKAGE = "sgt-puzzles"
TARBALL = f"{PACKAGE}_{VERSION}.orig.tar.xz"
SHA256 = "875f78df7359135bac47de0bc4d2c05061719d144638c3373e0ade640ca0d73f"
SUITES = ("forky main", "sid main", "devel universe")  # the last is Ubuntu's name for its newest

OVERRIDE = "PUZZLEPORT_ENGINE_SRC"
ADVICE = (
    f"puzzleport needs version {VERSION} of Simon Tatham's puzzles: set {OVERRIDE} to an unpacked tree of it, "
    f"for instance a checkout of upstream's git at commit {COMMIT}."
)


class EngineNotFound(RuntimeError):
    """The engine's source could not be had; the message says what to do."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason.rstrip('.')}. {ADVICE}")


def find() -> Path:
    """Return the path of an unpacked engine tree, fetching it into the cache when it is nowhere yet."""
    override = os.environ.get(OVERRIDE)
    if override:
        return _checked_tree(Path(override).expanduser().resolve(), f"{OVERRIDE}={override}")
    carried = Path(__file__).resolve().parent / "engine"
    if carried.is_dir():
        return _checked_tree(carried, "the engine carried by this sdist")
    cached = cache_dir() / f"{PACKAGE}-{VERSION}"
    if not cached.is_dir():
        _fetch(cached)
    return _checked_tree(cached, "the cached engine")


def cache_dir() -> Path:
    """The folder that holds what was fetched, shared by all builds of one user."""
    explicit = os.environ.get("PUZZLEPORT_CACHE")
    if explicit:
        return Path(explicit).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "puzzleport"


def _checked_tree(tree: Path, what: str) -> Path:
    """Refuse a folder that is not the engine, with its name, before the compiler meets it."""
    for needed in ("puzzles.h", "midend.c", "untangle.c", "LICENCE"):
        if not (tree / needed).is_file():
            raise EngineNotFound(f"{what} is not an unpacked tree of the engine ({needed} is missing in {tree})")
    return tree


def _fetch(destination: Path) -> None:
    """Download, verify and unpack aside, then rename: a second build never sees half a tree."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination.parent, prefix="fetch-") as scratch:
        tarball = _download(Path(scratch))
        verify(tarball)
        tree = unpack(tarball, Path(scratch) / "tree")
        try:
            tree.rename(destination)
        except OSError:
            if not destination.is_dir():  # a concurrent build may have been faster, with the same content
                raise


def verify(tarball: Path) -> None:
    """Raise unless the tarball is the pinned one."""
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    if digest != SHA256:
        raise EngineNotFound(f"{tarball.name} has SHA-256 {digest}, not the pinned {SHA256}")


def unpack(tarball: Path, into: Path) -> Path:
    """Unpack plain files and folders only, refuse every path that leaves the folder, and return the one top folder."""
    into.mkdir(parents=True)
    root = into.resolve()
    with tarfile.open(tarball, "r:xz") as archive:
        for member in archive.getmembers():
            target = (root / member.name).resolve()
            if not target.is_relative_to(root):
                raise EngineNotFound(f"{tarball.name} holds the path {member.name!r}, which leaves its folder")
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif member.isreg():
                target.parent.mkdir(parents=True, exist_ok=True)
                source = archive.extractfile(member)
                assert source is not None
                with source, target.open("wb") as out:
                    shutil.copyfileobj(source, out)
    tops = [entry for entry in root.iterdir() if entry.is_dir()]
    if len(tops) != 1:
        raise EngineNotFound(f"{tarball.name} does not hold exactly one folder")
    return tops[0]


def _download(scratch: Path) -> Path:
    """Fetch the upstream tarball with apt, as whoever runs this, with nothing of the machine's apt changed."""
    if shutil.which("apt-get") is None:
        raise EngineNotFound("the engine's source is not cached and this machine has no apt-get to fetch it with")
    sources = scratch / "sources.list"
    sources.write_text("".join(f"deb-src {uri} {suite}\n" for uri in _archive_uris() for suite in SUITES))
    if not sources.read_text():
        raise EngineNotFound("the engine's source is not cached and apt has no archive configured to fetch it from")
    (scratch / "lists" / "partial").mkdir(parents=True)
    (scratch / "cache" / "archives" / "partial").mkdir(parents=True)
    options = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": scratch / "lists",
        "Dir::Cache": scratch / "cache",
        "APT::Sandbox::User": "",  # the scratch folder belongs to us, not to apt's own user
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
    }
    own = [f"-o{key}={value}" for key, value in options.items()]

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *own], cwd=scratch, capture_output=True, text=True, check=False)

    # One archive with one of the suites is enough: an update that fails for another is no reason to stop.
    updated = run("apt-get", "-q", "update")
    shown = run("apt-cache", "showsrc", PACKAGE).stdout
    revisions = re.findall(rf"^Version: ({re.escape(VERSION)}\S*)$", shown, flags=re.MULTILINE)
    if not revisions:
        said = (updated.stderr.strip().splitlines() or ["the configured archives do not have it"])[-1]
        raise EngineNotFound(f"apt-get knows no {PACKAGE} {VERSION} ({said})")
    fetched = run("apt-get", "-q", "--download-only", "--tar-only", "source", f"{PACKAGE}={revisions[0]}")
    tarball = scratch / TARBALL
    if not tarball.is_file():
        said = (fetched.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise EngineNotFound(f"apt-get could not fetch {TARBALL} ({said})")
    return tarball


def _archive_uris() -> list[str]:
    """The archive URIs of this machine's own apt configuration."""
    asked = ["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI)"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    # Only the main archive has the suites; the others (security, vendors) would each cost a failed request.
    return sorted({uri for uri in shown.split() if re.search(r"/(debian|ubuntu)/?$", uri)})


if __name__ == "__main__":
    try:
        print(find())
    except EngineNotFound as error:
        sys.exit(str(error))
