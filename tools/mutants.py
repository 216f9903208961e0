"""Mutation testing: break one line at a time, and see whether the tests notice.

    python tools/mutants.py --sample 300            # a random sample of our C and Python, on all cores
    python tools/mutants.py --fixed                 # those of tests/mutants.csv, which CI runs too
    python tools/mutants.py --only native/session   # of some files

A mutant is killed when a test fails, hangs or the process dies; what survives is printed, and written to --out. Python is mutated
by cosmic-ray's operators, C by a few of our own: comparisons, off by one, a removed call or assignment, exchanged arguments,
inverted conditions. Every job has a copy of the tree of its own under build/mutants/.
"""

from __future__ import annotations

import argparse
import csv
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
FIXED = ROOT / "tests" / "mutants.csv"
SECONDS = 300  # for the tests of one mutant; one that takes longer hangs

# The tests that cover a folder, those that notice most in the shortest time first.
CORE = (
    "test_golden test_models test_machines test_session test_batch test_save test_seeds test_hidden test_players "
    "test_params test_spec test_task test_rewards test_encode test_guard test_memory"
)
TESTS = {
    "native/drawing": "test_pixels test_golden test_encode",
    "native/planning": "test_experts test_search test_models test_machines ../native/test_experts test_robustness",
    "native/batch": "test_batch test_models test_machines test_seeds test_robustness test_golden test_pixels",
    "native/host": CORE + " test_robustness",
    "native": CORE + " test_pixels test_experts test_robustness",
    "core/agents": "test_search test_experts test_machines test_models",
    "core/benchmark": "test_evaluate test_models test_cli ../test_contract",
    "core/cli": "test_cli ../test_contract",
    "core/encode": "test_encode test_models",
    "core": CORE + " test_search ../test_contract ../test_imports test_robustness",
    "adapters": "../test_contract ../adapters/test_{name} ../adapters",
}


@dataclass(frozen=True)
class Mutant:
    """One changed file."""

    path: str
    line: int
    old: str
    new: str
    text: str
    """The whole file with the change."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old.strip()}  ->  {self.new.strip() or '(removed)'}"


# ---- what can be broken

C_OPERATORS = [
    (r"(?<![<>=!\-])<(?![<=])(?=[^<>\"]*[;){&|?])", "<="),
    (r"<=", "<"),
    (r"(?<![<>=!\-])>(?![>=])(?=[^<>\"]*[;){&|?])", ">="),
    (r">=", ">"),
    (r"==", "!="),
    (r"!=", "=="),
    (r"&&", "||"),
    (r"\|\|", "&&"),
    (r" \+ 1\b", ""),
    (r" - 1\b", ""),
    (r"\+\+", "--"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\((!)(?=[a-z*(])", "("),
    (
        r"^(\s+)(?!return|const|static|if|for|while|else|case|break|continue|goto)[\w>.\-\[\]*]+ [-+|&]?= [^;{]+;$",
        r"\1;",
    ),
    (r"^(\s+)[a-z_]+\([^;{]*\);$", r"\1;"),
    (r"\b([a-z_]+)\(([a-z_>.\-]+), ([a-z_>.\-]+)([,)])", r"\1(\3, \2\4"),
    (r"\breturn (-?\d+);", "return 7;"),
]


def of_c(path: Path) -> Iterator[Callable[[], Mutant | None]]:
    """The mutants of a C file: never of comments, includes, declarations or text."""
    lines, comment = path.read_text().splitlines(keepends=True), False
    for number, line in enumerate(lines):
        starts, ends = line.rfind("/*"), line.rfind("*/")
        inside, comment = comment, (comment and ends < 0) or starts > ends
        code = line.split("/*")[0]
        if inside or not code.startswith((" ", "\t")) or '"' in code or code.strip().startswith(("#", "*", "/")):
            continue
        for pattern, replacement in C_OPERATORS:
            for found in re.finditer(pattern, code.rstrip("\n")):
                new = code[: found.start()] + found.expand(replacement) + code[found.end() :]
                if new != code:
                    text = "".join([*lines[:number], new + line[len(code) :], *lines[number + 1 :]])
                    mutant = Mutant(str(path.relative_to(ROOT)), number + 1, line, new, text)
                    yield lambda mutant=mutant: mutant


PYTHON_OPERATORS = (
    "Comparison.*(Eq_NotEq|NotEq_Eq|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Is_IsNot|IsNot_Is|In_NotIn)$|AndWithOr|OrWithAnd|AddNot"
    "|NumberReplacer|TrueWithFalse|FalseWithTrue|BreakWithContinue|ContinueWithBreak|ZeroIteration|Delete_Not"
    "|BinaryOperator.*(Add_Sub|Sub_Add|Mul_Div|FloorDiv_Mul)$"
)


def of_python(path: Path) -> Iterator[Callable[[], Mutant | None]]:
    """The mutants of a Python file, by those of cosmic-ray's operators that a slip could make."""
    import parso
    from cosmic_ray.plugins import get_operator, operator_names

    code = path.read_text()
    tree = list(_nodes(parso.parse(code)))
    for name in filter(re.compile(PYTHON_OPERATORS).search, operator_names()):
        operator = get_operator(name)()
        places = sum(len(list(operator.mutation_positions(node))) for node in tree)
        for place in range(places):
            yield partial(_mutated, path, code, operator, place)


def _nodes(node: Any) -> Iterator[Any]:  # noqa: ANN401 (a node of parso's tree)
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)


def _mutated(path: Path, code: str, operator: Any, place: int) -> Mutant | None:  # noqa: ANN401 (cosmic-ray's)
    """One of the places where an operator applies, broken; None for text that nobody runs."""
    from cosmic_ray.mutating import mutate_code

    text = mutate_code(code, operator, place)
    before, after = code.splitlines(), (text or "").splitlines()
    changed = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
    if changed is None or before[changed].lstrip().startswith(('"', "assert ")):
        return None
    return Mutant(str(path.relative_to(ROOT)), changed + 1, before[changed], after[changed], str(text))


def candidates(only: list[str]) -> list[Callable[[], Mutant | None]]:
    """All mutants of the files below some folders, each made when it is asked for."""
    found = []
    for folder in only:
        base = ROOT / folder
        paths = [base] if base.is_file() else sorted(base.rglob("*.[cp]*"))
        for path in paths:
            if path.suffix == ".c" and "checks" not in path.parts:
                found += of_c(path)
            elif path.suffix == ".py" and folder != "native" and "cli" not in path.parts:
                found += of_python(path)
    return found


def fixed() -> list[tuple[Mutant, str]]:
    """The mutants of the list, each with the tests that must notice it."""
    result = []
    with FIXED.open(newline="") as source:
        for row in csv.DictReader(source):
            text = (ROOT / row["path"]).read_text()
            if text.count(row["old"]) != 1:
                raise SystemExit(f"{FIXED.name}: {row['path']} has {text.count(row['old'])} times {row['old']!r}")
            line = text[: text.index(row["old"])].count("\n") + 1
            changed = text.replace(row["old"], row["new"])
            result.append((Mutant(row["path"], line, row["old"], row["new"], changed), row["tests"]))
    return result


# ---- a copy of the tree that can be broken

RUN = """
import os, sys
sys.path[:0] = [os.environ["MUTANT"], os.environ["MUTANT_ROOT"]]
sys.meta_path = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
import puzzleport._native, pytest
assert os.environ["MUTANT"] in puzzleport._native.__file__, puzzleport._native.__file__
if __name__ == "__main__":
    options = "-q -x -p no:cacheprovider -p no:xdist --no-header".split()
    sys.exit(pytest.main([*options, "-m", "not slow", *sys.argv[1:]]))
"""


class Copy:
    """One job's copy: sources, a build folder, and the package with its module."""

    def __init__(self, number: int) -> None:
        self.root = WORK / str(number)
        self.package = self.root / "python"
        self.root.mkdir(parents=True, exist_ok=True)
        for folder in ("native", "core", "adapters", "tests", "docs", "examples", "tools"):
            shutil.rmtree(self.root / folder, ignore_errors=True)
            shutil.copytree(ROOT / folder, self.root / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "Makefile"):
            shutil.copy(ROOT / name, self.root / name)
        (self.root / "run.py").write_text(RUN)
        python = f"-DPython_EXECUTABLE={sys.executable}"
        self._run("cmake", "-G", "Ninja", "-S", self.root / "native", "-B", self.root / "module", python)
        self._assemble()

    def _run(self, *command: object) -> None:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])

    def _assemble(self) -> None:
        self._run("ninja", "-C", self.root / "module")
        shutil.rmtree(self.package, ignore_errors=True)
        shutil.copytree(self.root / "core", self.package / "puzzleport")
        shutil.copytree(self.root / "adapters", self.package / "puzzleport" / "adapters")
        for module in (self.root / "module").glob("_native*.so"):
            shutil.copy(module, self.package / "puzzleport")

    def survives(self, mutant: Mutant, tests: str = "") -> bool | None:
        """Whether the tests pass with the mutant; None where it does not even build."""
        path = self.root / mutant.path
        before = path.read_text()
        path.write_text(mutant.text)
        try:
            try:
                self._assemble()
            except RuntimeError:
                return None
            return self._passes(self._tests(mutant.path, tests))
        finally:
            path.write_text(before)

    def _tests(self, path: str, given: str) -> list[str]:
        names = given or next(tests for folder, tests in TESTS.items() if path.startswith(folder))
        names = names.format(name=Path(path).stem)
        found = [self.root / "tests" / "core" / name for name in names.split()]
        existing = [one if one.exists() else one.with_suffix(".py") for one in found]
        return [str(one.resolve()) for one in existing if one.exists()]

    def _passes(self, tests: list[str]) -> bool:
        environment = {
            **os.environ,
            "MUTANT": str(self.package),
            "MUTANT_ROOT": str(self.root),
            "PUZZLEPORT_EXAMPLES": "10",
        }
        command = [sys.executable, "run.py", *tests]
        try:
            done = subprocess.run(
                command, cwd=self.root, env=environment, capture_output=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


def main() -> None:
    """Try the mutants that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=300, help="how many, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--fixed", action="store_true", help="those of tests/mutants.csv instead")
    parser.add_argument("--only", nargs="+", default=["native", "core", "adapters"], help="files or folders")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path, help="a CSV of what became of each")
    options = parser.parse_args()
    if options.fixed:
        chosen = fixed()
    else:
        everything = candidates(options.only)
        random.Random(options.seed).shuffle(everything)
        real = (mutant for make in everything if (mutant := make()) is not None)
        chosen = [(mutant, "") for mutant in islice(real, options.sample)]
        print(f"{len(chosen)} of {len(everything)} mutants", flush=True)
    work: queue.Queue[tuple[Mutant, str]] = queue.Queue()
    for item in chosen:
        work.put(item)
    results: list[tuple[str, Mutant]] = []
    started = time.monotonic()

    def job(number: int) -> None:
        copy = Copy(number)
        if number == 0 and not options.fixed and not copy._passes(copy._tests("native/session", "")):
            raise SystemExit("the tests fail without any mutant")
        while True:
            try:
                mutant, tests = work.get_nowait()
            except queue.Empty:
                return
            outcome = {True: "survived", False: "killed", None: "did not build"}[copy.survives(mutant, tests)]
            results.append((outcome, mutant))
            print(f"{len(results)}/{len(chosen)} {time.monotonic() - started:.0f} s {outcome}: {mutant}", flush=True)

    threads = [threading.Thread(target=job, args=(number,)) for number in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = {kind: sum(outcome == kind for outcome, _ in results) for kind in ("killed", "survived", "did not build")}
    tried = counts["killed"] + counts["survived"]
    print(
        f"{counts['killed']} of {tried} killed ({counts['killed'] / max(tried, 1):.1%}), {counts['did not build']} did not build"
    )
    if options.out:
        with options.out.open("w", newline="") as target:
            writer = csv.writer(target, lineterminator="\n")
            writer.writerow(["outcome", "path", "line", "old", "new"])
            for outcome, mutant in sorted(results, key=lambda one: (one[0], one[1].path, one[1].line)):
                writer.writerow([outcome, mutant.path, mutant.line, mutant.old.strip(), mutant.new.strip()])
    if len(results) < len(chosen) or (options.fixed and counts["survived"] + counts["did not build"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
