"""Find the source of Simon Tatham's Portable Puzzle Collection, the engine under every session.

The engine is a build dependency and never part of this repository. ``find()`` looks, in this order, at

1. ``PUZZLEPORT_ENGINE_SRC``: an unpacked tree of the wanted version;
2. ``PUZZLEPORT_ENGINE_URL``: the address or the path of its tarball;
3. ``engine/`` beside this file: the copy that an sdist carries;
4. ``engine/*.tar.xz`` at the top of the clone: the tarball that ``make engine-bundle`` writes and a release carries;
5. the per-user cache (``PUZZLEPORT_CACHE``, else ``$XDG_CACHE_HOME/puzzleport``, else ``~/.cache/puzzleport``);
6. Debian's source package, through ``apt-get source`` with lists and state of its own under that cache: it needs no
   root and changes nothing outside the cache.

A tarball is checked against the pinned SHA-256, a tree against that of its sources. Run as a script it prints the tree's
path, which is how CMake asks for it; ``--bundle FOLDER`` writes the tarball there.
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
import urllib.error
import urllib.request
from pathlib import Path

VERSION = "20250730.a7c7826"
COMMIT = "a7c7826"
PACKAGE = "sgt-puzzles"
TARBALL = f"{PACKAGE}_{VERSION}.orig.tar.xz"
SHA256 = "875f78df7359135bac47de0bc4d2c05061719d144638c3373e0ade640ca0d73f"
TREE_SHA256 = "43590b81a41d9ab872b0fad8d0d4caabd5e5b454bca940db1b8de687f203fca1"
SUITES = ("forky main", "sid main", "devel universe")  # the last is Ubuntu's name for its newest
RELEASES = {"stable", "oldstable", "testing", "unstable", "sid", "devel"}
DOWNLOAD_TIMEOUT = 60.0

TREE = "PUZZLEPORT_ENGINE_SRC"
URL = "PUZZLEPORT_ENGINE_URL"
OVERRIDE = TREE
NATIVE = Path(__file__).resolve().parent
ADVICE = (
    f"puzzleport needs version {VERSION} of Simon Tatham's puzzles: set {TREE} to an unpacked tree of it, for instance a "
    f"checkout of upstream's git at commit {COMMIT}, or {URL} to the address or path of {TARBALL}, or put that file into "
    f"the folder engine/ of the clone."
)


class EngineNotFound(RuntimeError):
    """The engine's source could not be had; the message says what to do."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason.rstrip('.')}. {ADVICE}")


def find() -> Path:
    """Return the path of an unpacked engine tree, fetching it into the cache when it is nowhere yet."""
    override = os.environ.get(TREE)
    if override:
        return _checked_tree(Path(override).expanduser().resolve(), f"{TREE}={override}")
    carried = NATIVE / "engine"
    if carried.is_dir() and not os.environ.get(URL):
        return _checked_tree(carried, "the engine carried by this sdist")
    cached = cache_dir() / f"{PACKAGE}-{VERSION}"
    if not cached.is_dir() or os.environ.get(URL):
        try:
            _fetch(cached)
        except OSError as error:
            raise EngineNotFound(f"{error.filename or cached}: {error.strerror or error}") from error
    return _checked_tree(cached, "the cached engine")


def bundle(folder: Path) -> Path:
    """Write the engine's tarball into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder.resolve() / TARBALL
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as scratch:
        tarball = _get(Path(scratch))
        if tarball != target:
            aside = Path(scratch) / "bundle"
            shutil.copyfile(tarball, aside)
            aside.replace(target)
    return target


def cache_dir() -> Path:
    """The folder that holds what was fetched, shared by all builds of one user."""
    explicit = os.environ.get("PUZZLEPORT_CACHE")
    if explicit:
        return Path(explicit).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "puzzleport"


def tree_digest(tree: Path) -> str:
    """A SHA-256 of all C sources of a tree, whether it came from a tarball or from git; version.h differs between these."""
    digest = hashlib.sha256()
    for path in sorted(tree.glob("*.[ch]")):
        if path.name != "version.h":
            digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _checked_tree(tree: Path, what: str) -> Path:
    """Refuse a folder that is not the engine, or another version of it, before the compiler meets it."""
    for needed in ("puzzles.h", "midend.c", "untangle.c", "LICENCE"):
        if not (tree / needed).is_file():
            raise EngineNotFound(f"{what} is not an unpacked tree of the engine ({needed} is missing in {tree})")
    found = tree_digest(tree)
    if found != TREE_SHA256:
        raise EngineNotFound(
            f"{what} is another version of the engine, or was changed: its C sources have the digest {found[:12]}, "
            f"not {TREE_SHA256[:12]}"
        )
    return tree


def _fetch(destination: Path) -> None:
    """Get the tarball, verify and unpack it aside, then rename: a second build never sees half a tree."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination.parent, prefix="fetch-") as scratch:
        tarball = _get(Path(scratch))
        if destination.is_dir():  # it was verified, and is what the cache holds already
            return
        tree = unpack(tarball, Path(scratch) / "tree")
        try:
            tree.rename(destination)
        except OSError:
            if not destination.is_dir():  # a concurrent build may have been faster, with the same content
                raise


def _get(scratch: Path) -> Path:
    """The verified tarball: the one that is named, or lies beside the clone, or comes from Debian."""
    named = os.environ.get(URL)
    beside = sorted((NATIVE.parent / "engine").glob("*.tar.xz"))
    tarball = _named(named, scratch) if named else beside[0].resolve() if beside else _download(scratch)
    verify(tarball)
    return tarball


def _named(where: str, scratch: Path) -> Path:
    """The tarball of PUZZLEPORT_ENGINE_URL."""
    if "://" not in where:
        path = Path(where).expanduser().resolve()
        if not path.is_file():
            raise EngineNotFound(f"{URL}={where}: there is no such file")
        return path
    tarball = scratch / TARBALL
    try:
        with urllib.request.urlopen(where, timeout=DOWNLOAD_TIMEOUT) as answer, tarball.open("wb") as out:
            shutil.copyfileobj(answer, out)
    except (OSError, ValueError) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        raise EngineNotFound(f"{URL}={where} cannot be fetched ({cause})") from error
    return tarball


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
    uris = _archive_uris()
    if not uris:
        raise EngineNotFound("the engine's source is not cached and apt has no archive configured to fetch it from")
    sources = scratch / "sources.list"
    # Signatures are not needed: the tarball is checked against the pinned SHA-256.
    sources.write_text("".join(f"deb-src [trusted=yes] {uri} {suite}\n" for uri in uris for suite in SUITES))
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
        words = {**os.environ, "LC_ALL": "C"}
        return subprocess.run([*command, *own], cwd=scratch, capture_output=True, text=True, check=False, env=words)

    # One archive with one of the suites is enough: an update that fails for another is no reason to stop.
    updated = run("apt-get", "-q", "update")
    versions = re.findall(r"^Version: (\S+)$", run("apt-cache", "showsrc", PACKAGE).stdout, flags=re.MULTILINE)
    wanted = [version for version in versions if version.startswith(VERSION)]
    if not wanted and versions:
        has = ", ".join(dict.fromkeys(versions))
        raise EngineNotFound(f"the archives of this machine's apt have {PACKAGE} {has}, and no longer {VERSION}")
    if not wanted:
        cause = _cause(updated.stderr) or f"the archives {' '.join(uris)} do not have it"
        raise EngineNotFound(f"apt-get found no {PACKAGE} {VERSION} ({cause})")
    fetched = run("apt-get", "-q", "--download-only", "--tar-only", "source", f"{PACKAGE}={wanted[0]}")
    tarball = scratch / TARBALL
    if not tarball.is_file():
        raise EngineNotFound(f"apt-get could not fetch {TARBALL} ({_cause(fetched.stderr) or 'it said nothing'})")
    return tarball


def _cause(said: str) -> str:
    """Of what apt said, the line that tells why. Its last line only counts the failures."""
    lines = [line.strip().removeprefix("E: ").removeprefix("W: ") for line in said.splitlines() if line.strip()]
    reasons = ("could not", "cannot", "temporary failure", "timed out", "refused", "proxy", "permission", "no space")
    for line in lines:
        if any(reason in line.lower() for reason in reasons):
            return line[:300]
    lines = [line for line in lines if not line.startswith("Some index files failed")]
    return lines[0][:300] if lines else ""


def _archive_uris() -> list[str]:
    """The main archives of this machine's own apt configuration, in whatever form it is written.

    Security updates and vendors' archives do not have the package, and would each cost failed requests.
    """
    asked = ["apt-get", "indextargets", "--no-release-info", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        cause = (done.stderr.strip().splitlines() or ["it says nothing"])[0]
        raise EngineNotFound(f"the engine's source is not cached and apt-get cannot tell its archives: {cause}")
    releases = RELEASES | {_codename()}
    found = set()
    for line in done.stdout.splitlines():
        uri, release, component = (*line.split(), "", "", "")[:3]
        usual = re.search(r"/(debian|ubuntu|ubuntu-ports)/?$", uri)
        if usual or (release in releases and component in {"main", "universe"}):
            found.add(uri)
    return sorted(found)


def _codename() -> str:
    """What this machine's release calls itself: bookworm, noble."""
    try:
        about = Path("/etc/os-release").read_text()
    except OSError:
        return ""
    found = re.search(r"^VERSION_CODENAME=\"?([\w-]+)", about, flags=re.MULTILINE)
    return found[1] if found else ""


if __name__ == "__main__":
    try:
        print(bundle(Path(sys.argv[2])) if sys.argv[1:2] == ["--bundle"] else find())
    except EngineNotFound as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
