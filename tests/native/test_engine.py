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
