"""Throw malformed input at all puzzles in one process and print what became of it: deaths, hangs and leaks.

    python tools/robustness.py                      20,000 cases: params, game ids, descriptions, saves, actions, pictures
    python tools/robustness.py deadlines            how late GenerationTimeout comes, for all puzzles
    python tools/robustness.py --cases 2000 --seed 7

Cases are a function of the seed. They run in a child process, so that a death is counted and named instead of taking the
report with it; the child is one process from the first case to the last. Sessions opened before the first case play on
after the last one, and must do what fresh ones do.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gc
import hashlib
import json
import mmap
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import puzzleport as pp
from puzzleport._native import lib

TIMEOUT = 0.1
HANG = 5.0
"""Seconds for one case, far above its deadline: machines are busy at times, and an endless loop is longer than any of that."""
DIGEST = 20

NUMBERS = ["0", "1", "2", "3", "9", "-1", "10", "15", "16", "31", "63", "64", "99", "255", "256", "999", "2147483647"]
NUMBERS += ["2147483648", "4294967295", "4294967296", "99999999999999999999", "1e9", "nan", "0x10", "007", ""]
SIGNS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ,.;:/-+_*#@!?<>[](){}|~^ \t\n\0é"


class Cases:
    """An endless supply of cases; each is a puzzle, a kind and something to call."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.puzzles = pp.puzzles()
        self.kinds: list[Callable[[str], Callable[[], object]]] = [
            self.params,
            self.game_id,
            self.description,
            self.description,
            self.save,
            self.signed_save,
            self.signed_save,
            self.actions,
            self.picture,
        ]
        self._known: dict[str, list[pp.Session]] = {}

    def known(self, puzzle: str) -> pp.Session:
        """A real session of the puzzle, to make bad input from."""
        if puzzle not in self._known:
            about = pp.spec(puzzle)
            levels = dict.fromkeys([about.easiest_params, about.human_params])
            self._known[puzzle] = [pp.Session(puzzle, params, seed=seed) for params in levels for seed in (1, 2)]
            for session in self._known[puzzle]:
                for number in range(10):
                    session.step(number * 7 % len(session.actions))
        return self.random.choice(self._known[puzzle])

    def bent(self, text: str) -> str:
        """The text with a few things wrong."""
        choose = self.random
        for _ in range(choose.choice((1, 1, 1, 2, 3, 6))):
            at = choose.randrange(len(text) + 1)
            what = choose.randrange(7)
            numbers = list(re.finditer(r"\d+", text))
            if what == 0 and numbers:
                number = choose.choice(numbers)
                text = text[: number.start()] + choose.choice(NUMBERS) + text[number.end() :]
            elif what == 1 and numbers:
                number = choose.choice(numbers)
                text = text[: number.start()] + str(int(number[0]) + choose.choice((-1, 1))) + text[number.end() :]
            elif what == 2:
                text = text[:at] + choose.choice(SIGNS) + text[at:]
            elif what == 3:
                text = text[:at] + choose.choice(SIGNS) + text[at + 1 :]
            elif what == 4:
                text = text[:at] + text[at + choose.randrange(1, 4) :]
            elif what == 5:
                end = at + choose.randrange(1, 20)
                text = text[:end] + text[at:end] * choose.randrange(1, 4) + text[end:]
            else:
                other = choose.randrange(len(text) + 1)
                text = text[:at] + text[other : other + 4] + text[at + 4 :]
        return text

    def params(self, puzzle: str) -> Callable[[], object]:
        """Parameter strings, of this puzzle or of another."""
        whose = puzzle if self.random.random() < 0.9 else self.random.choice(self.puzzles)
        given = self.bent(self.known(whose).params)
        return lambda: use(pp.Session(puzzle, given, seed=1, timeout=TIMEOUT))

    def game_id(self, puzzle: str) -> Callable[[], object]:
        """Whole game ids."""
        known = self.known(puzzle)
        given = self.bent(self.random.choice((f"{known.params}#{known.seed}", f"{known.params}:{known.desc}")))
        return lambda: use(pp.Session(puzzle, game_id=given, timeout=TIMEOUT))

    def description(self, puzzle: str) -> Callable[[], object]:
        """Good parameters, a bad description."""
        known = self.known(puzzle)
        given = f"{known.params}:{self.bent(known.desc)}"
        return lambda: use(pp.Session(puzzle, game_id=given, timeout=TIMEOUT))

    def damaged(self, saved: bytes) -> bytes:
        """Bytes with a few of them changed, lost or doubled."""
        damaged, choose = bytearray(saved), self.random
        for _ in range(choose.choice((1, 1, 2, 4))):
            at, what = choose.randrange(len(damaged)), choose.randrange(8)
            if what < 4:
                damaged[at] = choose.choice((0, 1, 2, 127, 128, 254, 255, choose.randrange(256)))
            elif what < 6:
                damaged[at : at + 4] = choose.choice((-1, 1, 2**31 - 1, -(2**31), choose.randrange(100))).to_bytes(
                    4, "little", signed=True
                )
            elif what == 6:
                del damaged[at : at + choose.randrange(1, 9)]
            else:
                damaged[at:at] = damaged[at : at + 8]
            if not damaged:
                return b""
        return bytes(damaged)

    def save(self, puzzle: str) -> Callable[[], object]:
        """Saves that were damaged on their way."""
        given = self.damaged(self.known(puzzle).save())
        return lambda: use(pp.Session.load(given))

    def signed_save(self, puzzle: str) -> Callable[[], object]:
        """Saves that someone altered who can compute a digest."""
        saved = self.known(puzzle).save()
        inside = saved[:8] + self.damaged(saved[8:-DIGEST])
        given = inside + hashlib.sha1(inside).digest()
        return lambda: use(pp.Session.load(given))

    def actions(self, puzzle: str) -> Callable[[], object]:
        """Actions that exist and some that do not."""
        session, choose = self.known(puzzle).clone(), self.random
        wrong: list[object] = [-1, 99, 2**40, "UP ", "nothing", None, 1.5, b"UP", True]
        given = [choose.randrange(len(session.actions)) for _ in range(60)] + [choose.choice(wrong)]

        def play() -> None:
            for action in given:
                session.step(action)  # type: ignore[arg-type]

        return play

    def picture(self, puzzle: str) -> Callable[[], object]:
        """Pictures of any size."""
        session, choose = self.known(puzzle).clone(), self.random
        sizes = (-1, 0, 1, 2, 7, 33, 64, 128, 301, 4097, 2**31)
        width, height = choose.choice(sizes), choose.choice(sizes)
        return lambda: session.pixels(width, height, grey=choose.random() < 0.5)

    def next(self) -> tuple[str, str, Callable[[], object]]:
        """The next case."""
        puzzle, kind = self.random.choice(self.puzzles), self.random.choice(self.kinds)
        return puzzle, kind.__name__, kind(puzzle)


def use(session: pp.Session) -> None:
    """What one does with a session that came of strange input."""
    session.text()
    with contextlib.suppress(pp.InvalidParams):  # too small a picture for this board
        session.pixels(64, 64)
    for number in range(24):
        session.step(number * 5 % len(session.actions))
    session.undo()
    session.clone().step(0)
    pp.Session.load(session.save()).step(0)


def resident() -> int:
    """Bytes of memory in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def veterans() -> list[pp.Session]:
    """One session of each puzzle in the middle of its game."""
    sessions = [pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=11) for puzzle in pp.puzzles()]
    for session in sessions:
        for number in range(15):
            session.step(number * 3 % len(session.actions))
    return sessions


def run(count: int, seed: int, note: Path) -> dict[str, object]:
    """All cases, in this process."""
    faulthandler.enable()
    cases, kinds, accepted, hangs, surprises = Cases(seed), Counter[str](), 0, [], []
    old = veterans()
    for puzzle in cases.puzzles:
        cases.known(puzzle)
    middle, worst, pools = 0, 0.0, 0
    with note.open("r+b") as file, mmap.mmap(file.fileno(), 4096) as page:
        for number in range(count):
            if number == count // 2:
                gc.collect()
                middle, pools = resident(), lib.pz_live_pools()
            puzzle, kind, call = cases.next()
            label = f"case {number} (seed {seed}): {kind} of {puzzle}"
            page[:200] = label.encode()[:200].ljust(200)
            faulthandler.dump_traceback_later(60, exit=True)
            started = time.monotonic()
            try:
                call()
                accepted += 1
            except (pp.PuzzleError, ValueError, TypeError):
                pass
            except Exception as error:  # anything else is what we look for
                surprises.append(f"{label}: {type(error).__name__}: {error}")
            taken = time.monotonic() - started
            worst = max(worst, taken)
            if taken > HANG:
                hangs.append(f"{label}: {taken:.1f} s")
            kinds[f"{kind}"] += 1
    faulthandler.cancel_dump_traceback_later()
    del call
    gc.collect()
    lost = lib.pz_live_pools() - pools
    grown = resident() - middle
    stale = []
    for session, fresh in zip(old, veterans(), strict=True):
        for number in range(40):
            for one in (session, fresh):
                one.step(number * 3 % len(one.actions))
        if session.hash() != fresh.hash() or session.text() != fresh.text():
            stale.append(session.puzzle)
    return {
        "kinds": dict(kinds),
        "accepted": accepted,
        "hangs": hangs,
        "worst": worst,
        "surprises": surprises,
        "lost": lost,
        "grown": grown,
        "stale": stale,
    }


def report(count: int, seed: int) -> int:
    """Run the cases in a child and print the figures; 0 when there is nothing to complain about."""
    note = Path(tempfile.mkdtemp()) / "case"
    note.write_bytes(b" " * 4096)
    command = [sys.executable, __file__, "--child", str(note), "--cases", str(count), "--seed", str(seed)]
    child = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    last = note.read_bytes()[:200].decode().strip()
    shutil.rmtree(note.parent)
    if child.returncode:
        how = f"signal {-child.returncode}" if child.returncode < 0 else f"exit code {child.returncode}"
        print(f"deaths  1   {how} in {last}")
        return 1
    found = json.loads(child.stdout.splitlines()[-1])
    print(f"cases   {count}   on {len(pp.puzzles())} puzzles in one process, seed {seed}")
    print("        " + ", ".join(f"{kind} {amount}" for kind, amount in sorted(found["kinds"].items())))
    print(f"        {found['accepted']} were accepted and played, the others refused with an error")
    print("deaths  0")
    print(f"hangs   {len(found['hangs'])}   the longest case took {found['worst']:.2f} s")
    print(
        f"leaks   {found['lost']}   games left behind; resident size {found['grown'] / 1e6:+.1f} MB in the second half"
    )
    print(f"others  {len(found['stale'])}   of {len(pp.puzzles())} sessions opened before went on differently")
    print(f"errors  {len(found['surprises'])}   that are none of the package's own")
    for line in found["hangs"] + found["surprises"] + found["stale"]:
        print(f"        {line}")
    return int(bool(found["hangs"] or found["surprises"] or found["stale"] or found["lost"] or found["grown"] > 30e6))


def large(puzzle: str) -> list[str]:
    """Parameters whose generation takes long: the presets, with the size as large as it may be."""
    about, found = pp.spec(puzzle), []
    for params in dict.fromkeys([about.default_params, *(preset.params for preset in reversed(about.presets))]):
        size = re.match(r"w\d+h\d+|[a-z]?\d+x\d+|\d+", params)
        for side in (50, 40, 30, 25, 20, 16, 12, 10, 9, 8, 7, 6, 5, 4) if size else ():
            try:
                found.append(pp.canonical_params(puzzle, re.sub(r"\d+", str(side), size[0]) + params[size.end() :]))
                break
            except pp.InvalidParams:
                continue
    return list(dict.fromkeys(found))


def lateness(puzzle: str, params: str, limit: float) -> float | None:
    """Seconds until GenerationTimeout, or None where a game came of it; the best of three, for the machine has other work."""
    ended = []
    for seed in range(3):
        started = time.monotonic()
        try:
            pp.Session(puzzle, params, seed=seed, timeout=limit)
        except pp.GenerationTimeout:
            ended.append(time.monotonic() - started)
    return min(ended) if ended else None


def deadlines() -> int:
    """How long after its limit a generation ends, for all puzzles."""
    late = 0
    print(f"{'puzzle':12}{'params':28}{'limit':>8}{'ended':>8}{'allowed':>9}")
    for puzzle in pp.puzzles():
        # The longest limit that any of these parameters reach: generation of some puzzles always takes a moment only.
        tries = ((params, limit) for limit in (0.25, 0.05, 0.005, 0.0005) for params in large(puzzle))
        for params, limit in tries:
            ended = lateness(puzzle, params, limit)
            if ended is not None:
                allowed = 1.1 * limit + 0.05
                late += ended > allowed
                print(f"{puzzle:12}{params:28}{limit:8.4f}{ended:8.4f}{allowed:9.4f}")
                break
        else:
            print(f"{puzzle:12}{'any':28}   every generation ends within half a millisecond")
    print(f"late: {late} of {len(pp.puzzles())}")
    return int(late > 0)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["cases", "deadlines"], default="cases")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(run(given.cases, given.seed, given.child)))
        return 0
    return deadlines() if given.what == "deadlines" else report(given.cases, given.seed)


if __name__ == "__main__":
    sys.exit(main())
