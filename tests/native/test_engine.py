"""Where the engine comes from: what is refused before the compiler meets it, and each refusal's sentence."""

from __future__ import annotations

import importlib.util
import io
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from puzzleport import _native

NATIVE = Path(__file__).resolve().parents[2] / "native"


@pytest.fixture
def engine() -> ModuleType:
    """native/engine.py, which is a script of the build and no part of the package."""
    definition = importlib.util.spec_from_file_location("puzzleport_engine_finder", NATIVE / "engine.py")
    module = importlib.util.module_from_spec(definition)
    definition.loader.exec_module(module)
    return module


def tarball(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:xz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_a_plain_tarball_is_unpacked(engine, tmp_path):
    file = tarball(
        tmp_path / "a.tar.xz", (tarfile.TarInfo("top/puzzles.h"), b"x"), (tarfile.TarInfo("top/d/e.c"), b"y")
    )
    top = engine.unpack(file, tmp_path / "into")
    assert top.name == "top"
    assert (top / "puzzles.h").read_bytes() == b"x"
    assert (top / "d" / "e.c").read_bytes() == b"y"


@pytest.mark.parametrize("name", ["../out.c", "top/../../out.c", "/out.c", "top/../../../tmp/out.c"])
def test_a_path_that_leaves_the_folder_is_refused(engine, tmp_path, name):
    file = tarball(tmp_path / "a.tar.xz", (tarfile.TarInfo("top/a.c"), b"x"), (tarfile.TarInfo(name), b"evil"))
    with pytest.raises(engine.EngineNotFound, match="leaves its folder"):
        engine.unpack(file, tmp_path / "deep" / "into")
    assert not list(tmp_path.rglob("out.c"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_not_followed(engine, tmp_path, kind):
    """A link to the outside and then a file through it: the file lands inside, the outside stays as it was."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.c").write_bytes(b"kept")
    file = tarball(
        tmp_path / "a.tar.xz",
        (tarfile.TarInfo("top/a.c"), b"x"),
        (link("top/way", str(outside), kind), b""),
        (tarfile.TarInfo("top/way/kept.c"), b"evil"),
    )
    top = engine.unpack(file, tmp_path / "into")
    assert (outside / "kept.c").read_bytes() == b"kept"
    assert not (top / "way").is_symlink()


def test_more_than_one_folder_is_refused(engine, tmp_path):
    file = tarball(tmp_path / "a.tar.xz", (tarfile.TarInfo("one/a.c"), b""), (tarfile.TarInfo("two/a.c"), b""))
    with pytest.raises(engine.EngineNotFound, match="exactly one folder"):
        engine.unpack(file, tmp_path / "into")


def test_another_tarball_than_the_pinned_one_is_refused(engine, tmp_path):
    file = tarball(tmp_path / engine.TARBALL, (tarfile.TarInfo("top/puzzles.h"), b"x"))
    with pytest.raises(engine.EngineNotFound, match=engine.SHA256) as refused:
        engine.verify(file)
    assert engine.VERSION in str(refused.value)


def test_nothing_is_unpacked_before_it_is_verified(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(
        engine, "_download", lambda scratch: tarball(scratch / engine.TARBALL, (tarfile.TarInfo("top/puzzles.h"), b"x"))
    )
    with pytest.raises(engine.EngineNotFound, match="SHA-256"):
        engine._fetch(tmp_path / "cache" / "tree")
    assert not list(tmp_path.rglob("puzzles.h"))
    assert not list((tmp_path / "cache").iterdir())


def test_an_override_that_is_no_engine_is_named(engine, tmp_path, monkeypatch):
    monkeypatch.setenv(engine.OVERRIDE, str(tmp_path))
    with pytest.raises(engine.EngineNotFound, match=r"puzzles\.h is missing") as refused:
        engine.find()
    assert str(tmp_path) in str(refused.value)
    assert engine.COMMIT in str(refused.value)


def test_without_apt_the_sentence_says_what_to_do(engine, tmp_path, monkeypatch):
    if (NATIVE / "engine").is_dir():
        pytest.skip("this tree carries the engine: nothing is ever fetched")
    monkeypatch.delenv(engine.OVERRIDE, raising=False)
    monkeypatch.setenv("PUZZLEPORT_CACHE", str(tmp_path / "empty"))
    monkeypatch.setenv("PATH", str(tmp_path))
    done = subprocess.run([sys.executable, NATIVE / "engine.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no apt-get" in done.stderr
    assert engine.OVERRIDE in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_module_shows_nothing_but_its_entry():
    """Hidden symbols cannot clash with another library's smalloc or random_new in the same process."""
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", _native.__file__], capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[-1] for line in shown.splitlines()] == ["PyInit__native"]


def fresh(monkeypatch, engine, tmp_path):
    for name in (engine.TREE, engine.URL):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PUZZLEPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(engine, "NATIVE", tmp_path / "clone" / "native")  # a clone without anything beside it
    (tmp_path / "clone" / "native").mkdir(parents=True)


@pytest.fixture
def bundle(engine, tmp_path, monkeypatch):
    """The real tarball, which apt gave or somebody put there."""
    try:
        return engine.bundle(tmp_path / "bundle")
    except engine.EngineNotFound as error:
        pytest.skip(f"the tarball cannot be had here: {error}")


def test_the_tarball_is_taken_from_where_it_is_named(engine, tmp_path, monkeypatch, bundle):
    fresh(monkeypatch, engine, tmp_path)
    for where in (str(bundle), bundle.as_uri()):
        monkeypatch.setenv(engine.URL, where)
        monkeypatch.setenv("PUZZLEPORT_CACHE", str(tmp_path / where.replace("/", "-")))
        assert (engine.find() / "puzzles.h").is_file()


def test_the_tarball_beside_the_clone_is_used(engine, tmp_path, monkeypatch, bundle):
    fresh(monkeypatch, engine, tmp_path)
    (tmp_path / "clone" / "engine").mkdir()
    shutil.copy(bundle, tmp_path / "clone" / "engine")
    monkeypatch.setattr(engine, "_download", lambda scratch: pytest.fail("nothing is to be fetched"))
    assert engine.tree_digest(engine.find()) == engine.TREE_SHA256


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("http://127.0.0.1:9/a.tar.xz", "Connection refused"),
        ("nowhere.tar.xz", "there is no such file"),
        ("strange://x", "unknown url type"),
        (__file__, "SHA-256"),
    ],
)
def test_a_tarball_that_cannot_be_had_is_named(engine, tmp_path, monkeypatch, where, said):
    fresh(monkeypatch, engine, tmp_path)
    monkeypatch.setenv(engine.URL, where)
    with pytest.raises(engine.EngineNotFound, match=said):
        engine.find()
    assert not [path for path in (tmp_path / "cache").iterdir() if path.is_dir()]


def test_a_tree_of_another_version_is_refused(engine, tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("puzzles.h", "midend.c", "untangle.c", "LICENCE"):
        (tree / name).write_text("of another version")
    monkeypatch.setenv(engine.TREE, str(tree))
    with pytest.raises(engine.EngineNotFound, match="another version of the engine"):
        engine.find()


def test_the_cause_is_not_apts_last_line(engine):
    said = (
        "W: Failed to fetch http://archive/debian/dists/sid/InRelease  Could not resolve 'archive'\n"
        "W: Some index files failed to download. They have been ignored, or old ones used instead.\n"
    )
    assert "Could not resolve 'archive'" in engine._cause(said)
    assert engine._cause("E: The repository has no Release file.\nW: Some index files failed to download.") == (
        "The repository has no Release file."
    )
    assert engine._cause("") == ""


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("http://a/debian/ bookworm main", ["http://a/debian/"]),
        ("http://a/debian-security/ bookworm-security main", []),
        ("mirror+file:/etc/apt/mirrors/x.list stable main", ["mirror+file:/etc/apt/mirrors/x.list"]),
        ("http://ports/ubuntu-ports/ noble universe", ["http://ports/ubuntu-ports/"]),
        ("http://proxy:3142/repository/apt-proxy/ testing main", ["http://proxy:3142/repository/apt-proxy/"]),
        ("https://vendor/apt cloud-sdk main", []),
    ],
)
def test_archives_are_found_in_every_form(engine, tmp_path, monkeypatch, shown, found):
    (tmp_path / "apt-get").write_text(f"#!/bin/sh\necho '{shown}'\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert engine._archive_uris() == found


def test_what_apt_fails_at_is_said(engine, tmp_path, monkeypatch):
    (tmp_path / "apt-get").write_text("#!/bin/sh\necho 'E: Unable to mkstemp' >&2\nexit 100\n")
    (tmp_path / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(engine.EngineNotFound, match="E: Unable to mkstemp"):
        engine._archive_uris()


@pytest.mark.parametrize(
    ("hidden", "said"),
    [("compiler", "no C compiler"), ("headers", "headers are missing"), ("venv", "venv is missing")],
)
def test_what_a_build_lacks_is_said_in_one_sentence(tmp_path, hidden, said):
    """native/check.py with one thing taken away."""
    code = "import runpy, sys, sysconfig, importlib.util as u\n"
    if hidden == "headers":
        code += "sysconfig.get_paths = lambda: {'include': '/nowhere'}\n"
    if hidden == "venv":
        code += "real = u.find_spec; u.find_spec = lambda name: None if name == 'ensurepip' else real(name)\n"
    code += f"sys.argv = ['check.py']; runpy.run_path({str(NATIVE / 'check.py')!r}, run_name='__main__')"
    env = {"PATH": str(tmp_path)} if hidden == "compiler" else None
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
