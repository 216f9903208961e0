"""What the tests run: lines and branches by folder, and which test runs which line.

    python tools/covered.py              # build with counters, run the tests, print the table
    python tools/covered.py --table      # the table of the last run again

Python is counted by coverage.py, C by gcov. The tests run in a copy of the tree under build/coverage/; the tests that take
minutes or build things of their own are left out, and so are further parameters of a function of tests once it has used
--enough CPU seconds. tools/mutants.py takes from the record which tests can notice a mutant.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tree import ROOT

COVERAGE = ROOT / "build" / "coverage"
RECORD = COVERAGE / "record.pickle"
# These build, install or render things of their own; what they run of ours is run by other tests too.
LEFT_OUT = [
    "test_docs",
    "test_site",
    "test_packaging",
    "test_readme",
    "test_examples",
    "native/test_checkers",
    "native/test_engine",
]


class Copy:
    """A copy of the tree that may be broken or counted: sources, a build folder, and the package with its module."""

    def __init__(self, root: Path, *options: str) -> None:
        self.root, self.package = root, root / "python"
        root.mkdir(parents=True, exist_ok=True)
        for folder in ("native", "core", "adapters", "tests", "docs", "examples", "tools", "requirements"):
            shutil.rmtree(root / folder, ignore_errors=True)
            shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for file in (root / "native").rglob("*.*"):
            file.touch()  # ninja looks at times only, and what was built last may be of a later version
        for name in ("pyproject.toml", "README.md", "Makefile", "CHANGELOG.md", "mkdocs.yml"):
            shutil.copy(ROOT / name, root / name)
        python = f"-DPython_EXECUTABLE={sys.executable}"
        launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self._run("cmake", "-G", "Ninja", "-S", root / "native", "-B", root / "module", python, *launcher, *options)
        self.assemble()

    def _run(self, *command: object) -> None:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])

    def update(self, path: str) -> None:
        """Bring one changed file into the package."""
        if path.startswith("native/"):
            self._module()
            return
        target = self.package / "puzzleport" / path.removeprefix("core/")
        shutil.copy(self.root / path, target)
        for compiled in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
            compiled.unlink()  # Python tells a stale one by seconds and size only

    def _module(self) -> None:
        self._run("ninja", "-C", self.root / "module")
        for module in (self.root / "module").glob("_native*.so"):
            shutil.copy(module, self.package / "puzzleport")

    def assemble(self) -> None:
        """Build what has changed, and put the package together."""
        shutil.rmtree(self.package, ignore_errors=True)
        shutil.copytree(self.root / "core", self.package / "puzzleport")
        shutil.copytree(self.root / "adapters", self.package / "puzzleport" / "adapters")
        self._module()
        for name in ("sitecustomize.py", "recording.py"):
            shutil.copy(ROOT / "tools" / "recording.py", self.package / name)

    def pytest(self, *arguments: str) -> list[str]:
        """The command that tests the copy; run it in its root with its environment."""
        return [sys.executable, "-m", "pytest", "-q", "-p", "recording", "-p", "no:cacheprovider", *arguments]

    def environment(self, **more: str) -> dict[str, str]:
        """Every Python that starts with it finds the copy, and not what is installed."""
        return {**os.environ, "PYTHONPATH": str(self.package), "PYTHONDONTWRITEBYTECODE": "", **more}

    def original(self, path: str) -> str:
        """Where a file of the copy or of its package is in the tree."""
        path = os.path.relpath(os.path.normpath(path), self.root)
        path = path.replace("python/puzzleport/adapters/", "adapters/")
        return path.replace("python/puzzleport/", "core/")


@dataclass
class Record:
    """Which test runs which line, and how long it takes."""

    tests: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    runs: dict[str, dict[int, set[int]]] = field(default_factory=lambda: defaultdict(dict))
    """By file and line: numbers of tests. A line that could run and never did has none."""
    imported: dict[str, set[int]] = field(default_factory=dict)
    """By file: lines that run when it is imported."""

    def of(self, path: str, lines: Iterable[int]) -> set[int]:
        """The tests that run any of some lines."""
        known = self.runs.get(path, {})
        return set().union(*(known.get(line, set()) for line in lines))

    def of_file(self, path: str) -> set[int]:
        """The tests that run anything of a file."""
        return self.of(path, self.runs.get(path, {}))

    def of_line(self, path: str, line: int, code: str) -> set[int]:
        """The tests that run a line; those of its function, class or file where it is data."""
        if path.endswith(".py"):
            return self._of_python(path, line, code)
        known, text = self.runs.get(path, {}), code.splitlines()
        first = last = line
        while first > 1 and not re.search(r"[;{}]\s*$", text[first - 2]):
            first -= 1
        while last < len(text) and not re.search(r"[;{}]\s*$", text[last - 1]):
            last += 1
        for lines in ([line], range(first, last + 1)):
            if known.keys() & set(lines):
                return self.of(path, lines)
        return self.of_file(path)

    def _of_python(self, path: str, line: int, code: str) -> set[int]:
        around = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.stmt)]
        around = [node for node in around if _first(node) <= line <= (node.end_lineno or 0)]
        if not around:
            return self.of_file(path)
        around.sort(key=lambda node: (node.end_lineno or 0) - node.lineno)
        statement = around[0]
        body = getattr(statement, "body", None)
        end = max(statement.lineno, body[0].lineno - 1) if body else statement.end_lineno or 0
        if found := self.of(path, range(_first(statement), max(end, line) + 1)):
            return found
        if not self.imported.get(path, set()) & set(range(_first(statement), end + 1)):
            return set()
        for node in around:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                return self.of(path, range(node.lineno, (node.end_lineno or 0) + 1))
        return self.of_file(path)


def _first(node: ast.stmt) -> int:
    """The line where a statement starts, its decorators included."""
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


# ---- from what ran to lines


def lines_of_c(copy: Copy) -> dict[int, set[tuple[str, int]]]:
    """The lines of each basic block, by the address that the recorder gets: that behind the block's first call."""
    module = str(next((copy.package / "puzzleport").glob("_native*.so")))
    rows = subprocess.run(["objdump", "--dwarf=decodedline", module], capture_output=True, text=True, check=True).stdout
    addresses = sorted({int(found, 16) for found in re.findall(r"\s(0x[0-9a-f]+)\s", rows)})
    told = subprocess.run(
        ["addr2line", "-e", module], input="\n".join(map(hex, addresses)), capture_output=True, text=True, check=True
    ).stdout.splitlines()
    calls, after = [], []
    code = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", module], stdout=subprocess.PIPE, text=True)
    assert code.stdout is not None
    called = False
    for row in code.stdout:
        at, _, instruction = row.partition(":\t")
        if instruction and called:
            after.append(int(at, 16))
            called = False
        if "<__sanitizer_cov_trace_pc" in instruction:
            calls.append(int(at, 16))
            called = True
    blocks: dict[int, set[tuple[str, int]]] = {one: set() for one in after}
    inside = f"{copy.root}/native/"
    for address, place in zip(addresses, told, strict=True):
        path, _, line = place.partition(":")
        number = re.match(r"\d+", line)
        if (at := bisect_right(calls, address)) and number and os.path.normpath(path).startswith(inside):
            blocks[after[at - 1]].add((copy.original(path), int(number[0])))
    return blocks


def collect(copy: Copy, folder: Path) -> Record:
    """Put together what all processes recorded."""
    from coverage import CoverageData

    record, number = Record(), {}
    blocks = lines_of_c(copy)
    for lines in blocks.values():
        for path, line in lines:
            record.runs[path].setdefault(line, set())
    cases = []
    for file in sorted(folder.glob("*.pickle")):
        with file.open("rb") as source:
            while True:
                try:
                    cases.append(pickle.load(source))
                except (EOFError, pickle.UnpicklingError):
                    break
    for test, passed, seconds, _ in cases:
        if passed and seconds is not None:
            number[test] = len(record.tests)
            record.tests.append(test)
            record.seconds.append(seconds)
    for test, _, _, ran in cases:
        if test in number and ran is not None:
            for address in ran:
                for path, line in blocks.get(int(address), ()):
                    record.runs[path][line].add(number[test])
    data = CoverageData(str(COVERAGE / "data" / "coverage"))
    data.read()
    for file in data.measured_files():
        path = copy.original(file)
        for line, contexts in data.contexts_by_lineno(file).items():
            record.runs[path].setdefault(line, set()).update(number[one] for one in contexts if one in number)
            if "" in contexts:
                record.imported.setdefault(path, set()).add(line)
    record.runs = dict(record.runs)
    return record


def run(jobs: int, tests: list[str], more: bool, enough: float) -> None:
    """Build a copy with counters, run the tests in it, and keep the record; with more, that of earlier runs too."""
    flags = "-DCMAKE_C_FLAGS_DEBUG=-g -Og"
    copy = Copy(COVERAGE / "tree", "-DCOVERAGE=ON", "-DCMAKE_BUILD_TYPE=Debug", flags)
    data = COVERAGE / "data"
    if not more:
        shutil.rmtree(data, ignore_errors=True)
        for counts in copy.root.rglob("*.gcda"):
            counts.unlink()
    data.mkdir(exist_ok=True)
    (COVERAGE / "coveragerc").write_text(
        f"[run]\nbranch = true\nparallel = true\nsource = {copy.package}/puzzleport\ndata_file = {data}/coverage\n"
    )
    ignored = [f"--ignore=tests/{name}.py" for name in LEFT_OUT]
    # A fork of what coverage.py watches may wait for ever for a lock of it.
    chosen = ["-m", "not slow and not whole", "-k", "not fork"]
    command = copy.pytest(*chosen, "-n", str(jobs), "--dist", "worksteal", *ignored, *tests)
    environment = copy.environment(
        PUZZLEPORT_RECORD=str(data), PUZZLEPORT_ENOUGH=str(enough), COVERAGE_PROCESS_START=str(COVERAGE / "coveragerc")
    )
    subprocess.run(command, cwd=copy.root, env=environment, check=False)
    combine()


def existing() -> Copy:
    """The copy of the last run, as it is."""
    copy = Copy.__new__(Copy)
    copy.root, copy.package = COVERAGE / "tree", COVERAGE / "tree" / "python"
    return copy


def combine() -> None:
    """Write the record of what has run so far."""
    options = [
        f"--rcfile={COVERAGE / 'coveragerc'}",
        "--append",
        "--keep",
        "--quiet",
    ]  # what earlier runs have told, too
    subprocess.run([sys.executable, "-m", "coverage", "combine", *options], cwd=COVERAGE, check=True)
    with RECORD.open("wb") as target:
        pickle.dump(vars(collect(existing(), COVERAGE / "data")), target)


def load() -> Record:
    """The record of the last run."""
    if not RECORD.exists():
        raise SystemExit("no record of what the tests run: make coverage, or python tools/covered.py")
    with RECORD.open("rb") as source:
        return Record(**pickle.load(source))


def table() -> str:
    """Lines and branches by folder, as a table in Markdown."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    report = COVERAGE / "python.json"
    options = [f"--rcfile={COVERAGE / 'coveragerc'}", "--quiet", "-o", str(report)]
    subprocess.run([sys.executable, "-m", "coverage", "json", *options], cwd=COVERAGE, check=True)
    copy = existing()
    for file, counted in json.loads(report.read_text())["files"].items():
        path = Path(copy.original(str(COVERAGE / file)))
        sums = counted["summary"]
        _add(
            totals, path, sums["covered_lines"], sums["num_statements"], sums["covered_branches"], sums["num_branches"]
        )
    report = COVERAGE / "c.json"
    folder = copy.root / "native"
    options = ["--root", str(folder), "--filter", f"{folder}/", "--json-summary", str(report), "--object-directory"]
    objects = str(copy.root / "module")
    ignored = ["--gcov-ignore-errors", "all", "--gcov-ignore-parse-errors", "all"]
    command = [sys.executable, "-m", "gcovr", *options, objects, *ignored, objects]
    subprocess.run(command, cwd=copy.root, check=True, capture_output=True)
    for counted in json.loads(report.read_text())["files"]:
        if counted["filename"].endswith(".c"):
            names = ("line_covered", "line_total", "branch_covered", "branch_total")
            _add(totals, Path("native") / counted["filename"], *(counted[name] for name in names))
    rows = ["| folder | lines | of | branches | of |", "|---|---|---|---|---|"]
    for place, (lines, of_lines, branches, of_branches) in sorted(totals.items()):
        shares = f"{lines / max(of_lines, 1):.1%} | {of_lines} | {branches / max(of_branches, 1):.1%} | {of_branches}"
        rows.append(f"| `{place}/` | {shares} |")
    return "\n".join(rows)


def _add(totals: dict[str, list[int]], path: Path, *counted: int) -> None:
    sums = totals[str(path.parent)]
    sums[:] = [sum(pair) for pair in zip(sums, counted, strict=True)]


def main() -> None:
    """Count, or show what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tests", nargs="*", default=["tests"], help="files or folders of tests")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--more", action="store_true", help="add to the record, as long as no source has changed")
    parser.add_argument(
        "--enough", type=float, default=1.5, help="CPU seconds for all parameters of a function of tests"
    )
    parser.add_argument("--combine", action="store_true", help="make the record of what has run so far")
    parser.add_argument("--table", action="store_true", help="show the last run's table again")
    options = parser.parse_args()
    if options.combine:
        combine()
    elif not options.table:
        run(options.jobs, options.tests, options.more, options.enough)
    print(table())


if __name__ == "__main__":
    main()
