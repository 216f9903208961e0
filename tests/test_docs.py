"""What is generated is fresh, the site builds without a warning, and every snippet and command of its pages runs."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
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
def test_snippets_of_a_page_run_one_after_the_other(page, tmp_path, forks):
    if missing(page):
        pytest.skip(f"{', '.join(missing(page))} is not installed")
    strict = "import warnings\nwarnings.filterwarnings('error', category=DeprecationWarning)\ndel warnings\n"
    script = tmp_path / "snippets.py"
    script.write_text(strict + "\n".join(SNIPPET.findall(page.read_text())))
    done = forks.run(script, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_random_play_within_the_bound_is_what_the_page_on_trained_agents_says():
    text = (DOCS / "trained.md").read_text()
    rows = re.findall(r"^\| (\w+) \| (\w+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| at (?:least|most) ", text, re.MULTILINE)
    assert len(rows) == 10
    for puzzle, params, bound, *told in rows:
        assert pp.optimal_steps(puzzle, params) == int(bound)
        for policy, percent in zip(("random", "masked"), told, strict=True):
            played = pp.rollout(puzzle, params, policy=policy, seed=0, max_steps=int(bound))
            assert round(100 * (played.status == 1).mean(), 1) == float(percent)


# ---- commands

COMMANDS = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
NOT_RUN = {
    r"make ": "builds, or runs this test",
    r"\. \.venv/bin/activate": "is of the folder that make has built in",
    r"native/checks/check\.sh": "is for a puzzle that is being written",
    r"python tools/docs\.py$": "takes minutes; its --check is a test above",
    r"python tools/charts\.py": "plays for a minute; the check of the pages looks at its charts too",
    r"python tools/trained_table\.py": "trains for days",
    r"puzzleport (serve|mcp)": "serves until it is ended; tests/adapters start both",
    r"puzzleport ablation": "trains for hours; tests/adapters/test_jax_search.py makes a cell",
    r"puzzleport train --algo dreamer": "needs an environment of its own; tests/adapters/test_sheeprl.py has one",
    r"puzzleport table": "trains for hours; tests/adapters/test_jax_train.py makes a small one",
    r"python tools/(agents_table|leaderboard|model_based_table)\.py": "writes into the package and the docs",
    r"puzzleport play": "waits for keys; tests/core/test_cli.py plays",
    r".*--address": "needs a cluster; tests/adapters/test_ray.py starts one",
    r"puzzleport .*--where window": "needs a display",
    r"(python -m )?pip install": "needs the network; tests/test_packaging.py installs",
    r"git ": "needs the network",
}
"""Commands that are not run here, and why."""
BRIEF = {
    "puzzleport evaluate": "--episodes 2 --max-steps 100",
    "puzzleport demo": "--episodes 2 --seconds 0.001",
    "puzzleport demos": "--episodes 2",
    "puzzleport generate": "--count 3",
    "puzzleport train": "--steps 256 --episodes 2 --set updates=2",
    "puzzleport bench": "--seconds 0.001 --puzzle fifteen",
    "puzzleport bench gymnasium": "--seconds 0.001 --puzzle fifteen",
    "puzzleport bench language": "--seconds 0.001 --puzzle fifteen --dialogues 4",
    "puzzleport bench pixels": "--seconds 0.001 --puzzle fifteen",
    "puzzleport bench search": "--instances 1 --simulations 2",
    "python examples/openspiel_alphazero.py": "--minutes 0.001 --simulations 2 --max-steps 4",
    "python examples/clone_expert.py": "--demos 20 --epochs 1 --max-steps 20 --episodes 2 --steps 256",
}
"""What is added to a command so that it takes seconds: where an option is given twice, the last one counts."""


def commands(page: Path) -> list[str]:
    """The commands of a page, without their comments, continued lines joined."""
    blocks = "".join(COMMANDS.findall(page.read_text())).replace("\\\n", " ")
    lines = [re.sub(r"(^|\s+)#.*", "", line).strip() for line in blocks.splitlines()]
    return [line for line in lines if line]


def why_not(command: str) -> str | None:
    """Why a command is not run."""
    return next((why for start, why in NOT_RUN.items() if re.match(start, command)), None)


def test_what_is_not_run_is_there_all_the_same():
    unrun = {one for page in RUN_FROM_PAGES for one in commands(page) if why_not(one)}
    files = {word for one in unrun for word in one.split() if re.fullmatch(r"[\w/]+/\w+\.(sh|py)", word)}
    assert files
    assert not [file for file in files if not (ROOT / file).is_file()]


def brief(command: str) -> str:
    """The command with a small budget."""
    names = [name for name in BRIEF if f"{command} ".startswith(f"{name} ")]
    return f"{command} {BRIEF[max(names, key=len)]}" if names else command


RUN_FROM_PAGES = {
    page: [one for one in commands(page) if why_not(one) is None] for page in [ROOT / "README.md", *DOCS.rglob("*.md")]
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.relative_to(ROOT).as_posix())
        for page in sorted(RUN_FROM_PAGES)
        if RUN_FROM_PAGES[page]
    ],
)
def test_commands_of_a_page_run_one_after_the_other_in_an_empty_folder(page, tmp_path, forks):
    if "examples/" in page.read_text():
        (tmp_path / "examples").symlink_to(ROOT / "examples")
    here = Path(sys.executable).parent
    environment = {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}", "MINARI_DATASETS_PATH": str(tmp_path / "minari")}
    for command in RUN_FROM_PAGES[page]:
        for given in re.findall(r"compare (\S+)", command):
            if not (tmp_path / given).exists():  # of a command that is not run
                (tmp_path / given).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / given, tmp_path / given)
        first, *words = shlex.split(brief(command))
        script = {"puzzleport": here / "puzzleport", "python": tmp_path / words[0]}.get(first)
        if script is None or not script.is_file() or re.search(r"[|&;<>$`*]", command):  # the shell has something to do
            shell, everything = ["bash", "-c", brief(command)], {**os.environ, **environment}
            done = subprocess.run(shell, cwd=tmp_path, env=everything, capture_output=True, text=True, check=False)
        else:
            done = forks.run(script, *words[first == "python" :], cwd=tmp_path, **environment)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
