"""What is generated is fresh, the site builds without a warning, and every snippet of its pages runs."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import puzzleport as pp

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = sorted(path for path in DOCS.rglob("*.md") if SNIPPET.search(path.read_text()))


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_pages_of_puzzles_are_fresh():
    run("tools/docs.py", "--check")


def test_the_typed_stub_is_fresh():
    run("tools/stub.py", "--check")


def test_every_puzzle_has_its_pictures():
    pictures = DOCS / "puzzles" / "pictures"
    for name in pp.puzzles():
        for stage in ("initial", "mid", "solved"):
            assert (pictures / f"{name}-{stage}.png").read_bytes().startswith(b"\x89PNG")
    assert sum(path.stat().st_size for path in pictures.iterdir()) < 4_000_000


def settings(page: Path) -> dict[str, str]:
    """The lines between the rulers at the head of a page."""
    head = re.match(r"---\n(.*?)---\n", page.read_text(), re.DOTALL)
    return dict(re.findall(r"(\w+): (.*)", head[1])) if head else {}


def missing(page: Path) -> list[str]:
    """What the page needs and this environment does not have."""
    return [name for name in settings(page).get("requires", "").split() if importlib.util.find_spec(name) is None]


def parameter(page: Path):
    marks = [pytest.mark.slow] if "slow" in settings(page) else []
    return pytest.param(page, id=page.relative_to(DOCS).as_posix(), marks=marks)


@pytest.mark.parametrize("page", [parameter(page) for page in PAGES])
def test_snippets_of_a_page_run_one_after_the_other(page):
    if missing(page):
        pytest.skip(f"{', '.join(missing(page))} is not installed")
    snippets = SNIPPET.findall(page.read_text())
    run("-W", "error::DeprecationWarning", "-c", "\n".join(snippets))


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("material", reason="the extra docs is not installed")
    pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
    run("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path))
    assert (tmp_path / "puzzles" / "bridges" / "index.html").is_file()
    assert (
        'id="puzzleport.session.Session.step"' in (tmp_path / "api" / "puzzleport.session" / "index.html").read_text()
    )
