"""Mutation testing: break one line at a time, and see whether the tests notice.

    python tools/mutants.py --sample 300            # a random sample of our C and Python
    python tools/mutants.py --fixed                 # those of tests/mutants.csv, which CI runs too
    python tools/mutants.py --only native/session   # of some files
    python tools/mutants.py --retry build/mutants.csv   # those that survived once more, after new tests

A mutant is killed when a test fails or the process dies. One that uses ten times the CPU time of its tests has hung, which the
tests notice as well. What survives is printed, and written to --out. Python is mutated by cosmic-ray's operators, C by a few of
our own: comparisons, off by one, a removed call or assignment, exchanged arguments, inverted conditions. tools/covered.py has
recorded which tests run which line: only those are tried, the quickest first and the core's before the adapters', and a line
that no test runs survives at once. Mutants that change nothing are listed in tests/mutants_equivalent.csv, each with the reason.
Every job has a copy of the tree of its own under build/mutants/.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import covered
from tree import ROOT

WORK = ROOT / "build" / "mutants"
FIXED = ROOT / "tests" / "mutants.csv"
EQUIVALENT = ROOT / "tests" / "mutants_equivalent.csv"
PUZZLES = sorted(path.stem for path in (ROOT / "native" / "puzzles").glob("*.c"))
# What runs when a file is imported, such as defaults and the texts of options, is held by these.
OF_IMPORTS = {
    "tests/test_contract.py::test_defaults_are_what_they_were": 8.0,
    "tests/test_docs.py::test_pages_of_puzzles_are_fresh": 8.0,
}
# It limits the memory of its process, which is the tester here.
UNFIT = "tests/core/test_torture.py::test_torture[memory]"
SLOWER = 10  # a mutant hangs when its tests take this many times as long as without it, and START more
START = 60  # CPU seconds to start Python and import the frameworks


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
            elif path.suffix == ".py" and folder != "native":
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


# ---- which tests, and what they say


class Copy(covered.Copy):
    """A copy of the tree that is broken and mended again."""

    def __init__(self, number: int) -> None:
        super().__init__(WORK / f"copy{number}", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS_DEBUG=-O1")
        self.sound = self.root / "sound"
        self.sound.mkdir(exist_ok=True)
        for module in (self.root / "module").glob("_native*.so"):
            shutil.copy(module, self.sound)
        self.noticed = self.root / "chosen.json.failed"
        self.tester: subprocess.Popen[str] | None = None

    def outcome(self, mutant: Mutant, tests: list[str], seconds: float) -> str:
        """What becomes of a mutant; the tests take so long without it."""
        path = self.root / mutant.path
        before = path.read_text()
        path.write_text(mutant.text)
        try:
            try:
                self.update(mutant.path)
            except RuntimeError:
                return "did not build"
            core = [test for test in tests if test.startswith("tests/core/")]
            for part in (core, [test for test in tests if test not in core]):
                if part and (outcome := self.run(part, seconds)) != "survived":
                    return outcome
            return "survived"
        finally:
            path.write_text(before)
            if mutant.path.startswith("native/"):  # the file itself is built again with the next mutant of C
                for module in self.sound.iterdir():
                    shutil.copy(module, self.package / "puzzleport")
            else:
                self.update(mutant.path)

    def run(self, tests: list[str], seconds: float) -> str:
        """Run some tests, in this order, until one fails."""
        chosen = self.root / "chosen.json"
        chosen.write_text(json.dumps(tests))
        self.noticed.write_text("")
        files = dict.fromkeys(test.split("::")[0] for test in tests)
        asked = {
            "arguments": [*["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"], *files],
            "chosen": str(chosen),
            "limit": int(SLOWER * seconds + START),
        }
        if self.tester is None or self.tester.poll() is not None:
            self.tester = subprocess.Popen(
                [sys.executable, ROOT / "tools" / "tester.py"],
                cwd=self.root,
                env=self.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        assert self.tester.stdin is not None
        assert self.tester.stdout is not None
        self.tester.stdin.write(json.dumps(asked) + "\n")
        self.tester.stdin.flush()
        code = int(self.tester.stdout.readline())
        if code in (-signal.SIGXCPU, -signal.SIGALRM, -signal.SIGKILL):
            return "hung"
        return "survived" if code in (0, 5) else "killed"  # 5: none of the tests exists


def choose(record: covered.Record, mutant: Mutant, budget: float) -> tuple[list[str], float]:
    """Tests that run the broken line, and how long they take: every function of tests once, then at other parameters.

    The core's come first: they need no framework, and an adapter's tests say the same about them, later.
    """
    able = {record.tests[test]: record.seconds[test] for test in record.of_line(mutant.path, mutant.line, code(mutant))}
    able = {test: seconds for test, seconds in able.items() if not test.startswith(UNFIT)}
    ranked = rank(able) + rank(unrecorded(record, mutant.path), random.Random(mutant.line))
    chosen, total = [], 0.0
    if mutant.line in record.imported.get(mutant.path, ()):
        chosen, total = list(OF_IMPORTS), sum(OF_IMPORTS.values())
    for number, (seconds, test) in enumerate(ranked):
        if number and total + seconds > budget:
            continue
        chosen.append(test)
        total += seconds
    return chosen, total


def code(mutant: Mutant) -> str:
    """The file of a mutant as it is."""
    return (ROOT / mutant.path).read_text()


def rank(seconds: dict[str, float], order: random.Random | None = None) -> list[tuple[float, str]]:
    """Tests by how soon to try them; with an order, those that are equally quick come by chance."""
    families: dict[str, list[str]] = defaultdict(list)
    for test in sorted(seconds, key=lambda one: (seconds[one], order.random() if order else 0, one)):
        families[test.split("[")[0]].append(test)
    ranked = sorted(
        (not test.startswith("tests/core/"), number, seconds[test], test)
        for family in families.values()
        for number, test in enumerate(family)
    )
    return [(taken, test) for _, _, taken, test in ranked]


def unrecorded(record: covered.Record, path: str) -> dict[str, float]:
    """What a record that was cut off lacks: the tests that it has of one puzzle, at the others that may run the file."""
    found = re.fullmatch(r"native/(?:puzzles|planning/experts)/(\w+)\.c", path)
    known, result = set(record.tests), {}
    for number in range(len(record.tests)) if found else record.of_file(path):
        family, bracket, parameters = record.tests[number].partition("[")
        parts = re.split(r"([-\]])", parameters)
        if bracket and any(part in PUZZLES for part in parts):
            for puzzle in [found[1]] if found else PUZZLES:
                other = family + bracket + "".join(puzzle if part in PUZZLES else part for part in parts)
                if other not in known:
                    result[other] = record.seconds[number]
    return result


def named_after(path: str) -> list[str]:
    """Whole files of tests that belong to a file by their names, and the golden ones."""
    file = Path(path)
    names = [
        f"core/test_{file.stem}",
        f"core/test_{file.parent.name}",
        f"adapters/test_{file.stem}",
        "core/test_golden",
    ]
    more = {
        "core/cli": ["core/test_terminal"],
        "core/benchmark": ["core/test_evaluate", "core/test_models", "core/test_cli"],
        "core/agents": ["core/test_search", "core/test_experts", "core/test_models"],
        "native/session": ["core/test_save", "core/test_models", "core/test_machines", "core/test_players"],
        "native/batch": ["core/test_batch", "core/test_models", "core/test_machines", "core/test_threads"],
        "native/planning": ["core/test_experts", "core/test_search", "core/test_models", "native/test_experts"],
        "native/drawing": ["core/test_pixels", "core/test_mouse"],
        "native/puzzles": ["core/test_session", "core/test_save", "core/test_experts", "core/test_pixels"],
        "adapters": ["test_contract"],
    }
    names += next((files for folder, files in more.items() if path.startswith(folder)), [])
    return [f"tests/{name}.py" for name in dict.fromkeys(names) if (ROOT / "tests" / f"{name}.py").exists()]


def equivalents() -> dict[tuple[str, str, str], str]:
    """Mutants that change nothing that anybody could notice, and why."""
    with EQUIVALENT.open(newline="") as source:
        return {(row["path"], row["old"], row["new"]): row["reason"] for row in csv.DictReader(source)}


def again(table: Path) -> list[Mutant]:
    """Those that survived according to a table, as far as their lines still stand."""
    with table.open(newline="") as source:
        unnoticed = ("survived", "never run", "killed wrongly")
        rows = [row for row in csv.DictReader(source) if row["outcome"] in unnoticed]
    result = []
    for row in rows:
        lines = (ROOT / row["path"]).read_text().splitlines(keepends=True)
        at = min(
            (number for number, line in enumerate(lines) if line.strip() == row["old"]),
            key=lambda number: abs(number + 1 - int(row["line"])),
            default=None,
        )
        if at is None:
            print(f"gone: {row['path']}: {row['old']}")
            continue
        old = lines[at]
        lines[at] = old.replace(row["old"], row["new"]) if row["new"] else "\n"
        result.append(Mutant(row["path"], at + 1, old, row["new"], "".join(lines)))
    return result


def main() -> None:
    """Try the mutants that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=300, help="how many, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--fixed", action="store_true", help="those of tests/mutants.csv instead")
    parser.add_argument("--only", nargs="+", default=["native", "core", "adapters"], help="files or folders")
    parser.add_argument("--retry", type=Path, help="a CSV of --out: those of it that survived instead")
    parser.add_argument("--tests", nargs="+", help="files or functions of tests to try instead of the recorded ones")
    parser.add_argument(
        "--wide", action="store_true", help="try whole files of tests that are named after the broken one"
    )
    parser.add_argument("--resume", action="store_true", help="leave out what --out has already")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--budget", type=float, default=25, help="CPU seconds for the tests of one mutant")
    parser.add_argument("--out", type=Path, help="a CSV of what became of each")
    options = parser.parse_args()
    if options.fixed:
        chosen = fixed()
    elif options.retry:
        chosen = [(mutant, "") for mutant in again(options.retry)]
    else:
        everything = candidates(options.only)
        random.Random(options.seed).shuffle(everything)
        real = (mutant for make in everything if (mutant := make()) is not None)
        chosen = [(mutant, "") for mutant in islice(real, options.sample)]
        print(f"{len(chosen)} of {len(everything)} mutants", flush=True)
    record = None if options.fixed else covered.load()
    known = equivalents()
    work: queue.Queue[tuple[Mutant, str]] = queue.Queue()
    results: list[tuple[str, Mutant, str]] = []
    if options.resume and options.out and options.out.exists():
        with options.out.open(newline="") as source:
            done = {(row["path"], row["line"], row["old"], row["new"]): row for row in csv.DictReader(source)}
        for mutant, tests in chosen:
            key = (mutant.path, str(mutant.line), mutant.old.strip(), mutant.new.strip())
            if key in done:
                results.append((done[key]["outcome"], mutant, done[key]["by"]))
            else:
                work.put((mutant, tests))
    else:
        for item in chosen:
            work.put(item)
    started = time.monotonic()

    def judge(copy: Copy, mutant: Mutant, named: str) -> str:
        if (mutant.path, mutant.old.strip(), mutant.new.strip()) in known:
            return "equivalent"
        if record is None or options.tests or options.wide:
            tests = options.tests or (named_after(mutant.path) if options.wide else named.split())
            return copy.outcome(mutant, tests, START)
        tests, seconds = choose(record, mutant, options.budget)
        return copy.outcome(mutant, tests, seconds) if tests else "never run"

    def job(number: int) -> None:
        copy = Copy(number)
        if copy.run(["tests/core/test_spec.py"], START) != "survived":
            raise RuntimeError("the tests fail without any mutant")
        while True:
            try:
                mutant, tests = work.get_nowait()
            except queue.Empty:
                return
            outcome = judge(copy, mutant, tests)
            by = copy.noticed.read_text() if outcome == "killed" else ""
            results.append((outcome, mutant, by))
            said = f"{outcome} by {by}" if by else outcome
            print(f"{len(results)}/{len(chosen)} {time.monotonic() - started:.0f} s {said}: {mutant}", flush=True)
            if options.out:
                write(options.out, results)

    threads = [threading.Thread(target=job, args=(number,)) for number in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong = unsound({by for _, _, by in results if by})
    results = [("killed wrongly" if by in wrong else outcome, mutant, by) for outcome, mutant, by in results]
    if options.out:
        write(options.out, results)
    counts = Counter(outcome for outcome, _, _ in results)
    noticed = counts["killed"] + counts["hung"]
    tried = noticed + counts["survived"] + counts["never run"] + counts["killed wrongly"]
    print(f"{noticed} of {tried} killed ({noticed / max(tried, 1):.1%}{interval(noticed, tried)}): {dict(counts)}")
    if len(results) < len(chosen) or (options.fixed and noticed < len(results)):
        sys.exit(1)


def unsound(tests: set[str]) -> set[str]:
    """Those that fail without any mutant, as they are run here: what they killed was not noticed."""
    copy, found = Copy(0), set()
    for core in (True, False):
        left = sorted(test for test in tests if test.startswith("tests/core/") == core)
        while left and copy.run(left, START) != "survived":
            failed = copy.noticed.read_text()
            if failed not in left:  # it died, or hung: nobody knows in which
                print(f"without any mutant the process ends in one of {left}", flush=True)
                return found | set(left)
            print(f"fails without any mutant: {failed}", flush=True)
            found.add(failed)
            left = left[left.index(failed) + 1 :]
    return found


def interval(noticed: int, tried: int) -> str:
    """Between which shares of all mutants the true one lies, as the sample is random and may have been cut off."""
    from scipy.stats import binomtest

    if not tried:
        return ""
    found = binomtest(noticed, tried).proportion_ci(0.95, "wilson")
    return f", 95% interval {found.low:.1%} to {found.high:.1%}"


def write(path: Path, results: list[tuple[str, Mutant, str]]) -> None:
    """The table of what became of each."""
    with path.open("w", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(["outcome", "path", "line", "old", "new", "by"])
        for outcome, mutant, by in sorted(results, key=lambda one: (one[0], one[1].path, one[1].line)):
            writer.writerow([outcome, mutant.path, mutant.line, mutant.old.strip(), mutant.new.strip(), by])


if __name__ == "__main__":
    main()
