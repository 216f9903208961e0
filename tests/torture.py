"""Hostile use at random moments: python -m tests.torture [KIND ...] [--seconds N] [--cases N] [--each SECONDS] [--seed N]

Each case runs in a process of its own, whose death, hang or unexpected error is a finding. The kinds are the functions of
KINDS below. ``make torture`` runs them for minutes, tests/core/test_torture.py for seconds.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import itertools
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import puzzleport as pp
from puzzleport.agents import search

Calls = dict[str, Callable[[], object]]

# ---- What is tortured, and the calls that it offers ----


def judge(fields, masks):
    return masks.astype(np.float32), np.zeros(len(masks), np.float32)


def session() -> tuple[Any, Calls]:
    s = pp.Session("net", "3x3", 1, undo=True, players=2)
    return s, {
        "step": lambda: s.step(0),
        "undo": s.undo,
        "reset": lambda: s.reset(2),
        "reset small": lambda: s.reset(1, params="2x2"),
        "reset large": lambda: s.reset(1, params="11x9"),
        "observe": s.observe,
        "mask": s.mask,
        "text": s.text,
        "pixels": s.pixels,
        "hash": s.hash,
        "solution": s.solution,
        "solve": s.solve,
        "plan": lambda: s.plan(1.0),
        "limit": lambda: s.limit(9, 9),
        "clone": s.clone,
        "save": lambda: pp.Session.load(s.save()),
        "turn": lambda: s.turn(1),
        "follow": lambda: s.follow(3, 2),
        "game id": lambda: s.game_id,
        "pickle": lambda: pickle.loads(pickle.dumps(s)),
        "search": lambda: search.Tree(s, max_nodes=50).simulate(3),
    }


def batch() -> tuple[Any, Calls]:
    b = pp.Batch("fifteen", "2x2", 24, threads=2, max_steps=15)
    b.reset(seed=1)

    def wrong_step() -> None:
        try:
            b.step(np.full(24, 10**8))
        except pp.InvalidAction:
            return
        raise AssertionError("taken")

    return b, {
        "step": lambda: b.step(np.arange(24) % 4),
        "wrong step": wrong_step,
        "step told": lambda: b.step_told(np.arange(24) % 4, np.empty(b.told_size, np.uint8)),
        "step apart": lambda: b.step_apart(np.arange(24) % 4, meanwhile=lambda: time.sleep(0.0001)),
        "reset": b.reset,
        "reset some": lambda: b.reset(which=np.arange(24) % 3 == 0),
        "reset seeded": lambda: b.reset(seed=5),
        "pixels small": lambda: b.pixels(60, 60),
        "pixels large": lambda: b.pixels(150, 150, grey=True),
        "draw along": lambda: b.draw_along(60, 60),
        "session": lambda: b.session(3).step(0),
        "streams": b.streams,
        "rollout": lambda: b.rollout(episodes=4, max_steps=20),
    }


def tree() -> tuple[Any, Calls]:
    s = pp.Session("net", "3x3", 1)
    t = search.Tree(s, max_nodes=400, seed=1)
    return t, {
        "simulate": lambda: t.simulate(10, stop=False),
        "judge": lambda: t.judge(judge, 20),
        "judge few": lambda: t.judge(judge, 9, batch=2),
        "result": lambda: t.result,
        "best": lambda: t.best,
        "follow": lambda: t.follow(s),
        "step": lambda: s.step(0),
        "reset": lambda: s.reset(1),
    }


# One function for each class of an adapter, named after its file: it is made, and every call that it offers.


def bookkeeping(calls: Calls) -> Calls:
    """Calls of a framework that keeps notes about the game in Python: those may come out of order, but nothing dies."""

    def one(call: Callable[[], object]) -> Callable[[], object]:
        def tried() -> None:
            try:
                call()
            except pp.SessionClosed as error:  # by a reset that put other games in its place
                refused.append(error)
            except (pp.PuzzleError, SystemError, MemoryError, ImportError, NameError):
                raise
            except Exception as error:
                refused.append(error)
                del refused[:-1]

        return tried

    refused: list[Exception] = []
    for call in calls.values():  # alone, in one thread, each of them works
        call()
    return {name: one(call) for name, call in calls.items()}


def gymnasium() -> tuple[Any, Calls]:
    from gymnasium.error import ResetNeeded

    from puzzleport.adapters.gymnasium import PuzzleEnv

    e = PuzzleEnv("net", "3x3", observation="both", width=48, height=48, render_mode="rgb_array")
    e.reset(seed=1)

    def step() -> None:
        try:
            e.step(0)
        except ResetNeeded:  # a game of the stream that this key has solved
            e.reset()

    return e, {
        "step": step,
        "reset": lambda: e.reset(seed=2),
        "reset large": lambda: e.reset(options={"game_id": "3x3#4"}),
        "next": e.reset,
        "masks": e.action_masks,
        "render": e.render,
        "copy": lambda: copy.deepcopy(e),
    }


def gymnasium_vector() -> tuple[Any, Calls]:
    from puzzleport.adapters.gymnasium import PuzzleVectorEnv

    e = PuzzleVectorEnv("net", "3x3", num_envs=8, max_steps=15, render_mode="rgb_array")
    e.reset(seed=1)
    return e, {
        "step": lambda: e.step(np.zeros(8, int)),
        "reset": lambda: e.reset(seed=2),
        "reset some": lambda: e.reset(options={"reset_mask": np.arange(8) % 2 == 0}),
        "next": e.reset,
        "masks": e.action_masks,
        "render": e.render,
    }


def dm_env() -> tuple[Any, Calls]:
    from puzzleport.adapters.dm_env import PuzzleEnvironment

    e = PuzzleEnvironment("net", "3x3")
    e.reset()
    return e, {
        "step": lambda: e.step(0),
        "reset": e.reset,
        "reset seeded": lambda: e.reset(seed=1),
        "spec": e.observation_spec,
    }


def dm_env_batched() -> tuple[Any, Calls]:
    from puzzleport.adapters.dm_env import BatchedPuzzleEnvironment

    e = BatchedPuzzleEnvironment("net", "3x3", num_envs=8, max_steps=15)
    e.reset()
    return e, {"step": lambda: e.step(np.zeros(8, int)), "reset": e.reset, "reset seeded": lambda: e.reset(seed=1)}


def openspiel() -> tuple[Any, Calls]:
    import pyspiel

    from puzzleport.adapters import openspiel as _  # noqa: F401 (registers the games)

    game = pyspiel.load_game("puzzleport_net(params=3x3,seed=1,max_steps=200)")
    now = {"state": game.new_initial_state()}

    def reset() -> None:
        now["state"] = game.new_initial_state()

    def step() -> None:
        if now["state"].is_terminal():
            reset()
        now["state"].apply_action(now["state"].legal_actions()[0])

    def undo() -> None:
        step()
        now["state"].undo_action(0, now["state"].history()[-1])

    observer = game.make_py_observer()
    calls = {
        "step": step,
        "reset": reset,
        "child": lambda: now["state"].child(now["state"].legal_actions()[-1]),
        "clone": lambda: now["state"].clone(),
        "legal": lambda: now["state"].legal_actions(),
        "undo": undo,
        "string": lambda: str(now["state"]),
        "observe": lambda: observer.set_from(now["state"], 0),
        "returns": lambda: (now["state"].returns(), now["state"].rewards()),
        "pickle": lambda: pickle.loads(pickle.dumps(now["state"])),
    }
    return game, bookkeeping(calls)


def pettingzoo() -> tuple[Any, Calls]:
    from puzzleport.adapters.pettingzoo import coop_v0

    e = coop_v0.parallel_env("net", "3x3", render_mode="rgb_array")
    e.reset(seed=1)
    calls = {
        "step": lambda: e.step(dict.fromkeys(e.agents, 0)),
        "reset": lambda: e.reset(seed=2),
        "next": e.reset,
        "observe": lambda: e.observe(e.possible_agents[0]),
        "state": e.state,
        "render": e.render,
    }
    return e, bookkeeping(calls)


def pettingzoo_turns() -> tuple[Any, Calls]:
    from puzzleport.adapters.pettingzoo import coop_v0

    e = coop_v0.raw_env("net", "3x3")
    e.reset(seed=1)
    calls = {
        "step": lambda: e.step(0),
        "reset": lambda: e.reset(seed=2),
        "last": e.last,
        "observe": lambda: e.observe(e.possible_agents[0]),
    }
    return e, bookkeeping(calls)


def pettingzoo_race() -> tuple[Any, Calls]:
    from puzzleport.adapters.pettingzoo import race_v0

    e = race_v0.parallel_env("net", "3x3")
    e.reset(seed=1)
    calls = {
        "step": lambda: e.step(dict.fromkeys(e.agents, 0)),
        "reset": lambda: e.reset(seed=2),
        "observe": lambda: e.observe(e.possible_agents[0]),
    }
    return e, bookkeeping(calls)


def rllib() -> tuple[Any, Calls]:
    from puzzleport.adapters.rllib import single_agent

    e = single_agent({"puzzle": "net", "params": "3x3"})
    e.reset(seed=1)
    return e, {"step": lambda: e.step(0), "reset": lambda: e.reset(seed=2), "next": e.reset}


def rllib_agents() -> tuple[Any, Calls]:
    from puzzleport.adapters.pettingzoo import coop_v0
    from puzzleport.adapters.rllib import multi_agent

    e = multi_agent(coop_v0.parallel_env, {"puzzle": "net", "params": "3x3"})
    e.reset(seed=1)
    calls = {
        "step": lambda: e.step(dict.fromkeys(e.par_env.agents, 0)),
        "reset": lambda: e.reset(seed=2),
        "next": e.reset,
    }
    return e, bookkeeping(calls)


def rlp() -> tuple[Any, Calls]:
    from puzzleport.adapters.rlp import PaperEnv

    e = PaperEnv("net", params="3x3")
    e.reset(seed=1)
    calls: Calls = {
        "step": lambda: e.step(0),
        "reset": lambda: e.reset(seed=2),
        "state": lambda: e.set_state(e.get_state()),
    }
    return e, bookkeeping(calls)


def sb3() -> tuple[Any, Calls]:
    from puzzleport.adapters.sb3 import PuzzleVecEnv

    e = PuzzleVecEnv("net", "3x3", num_envs=8, max_steps=15, render_mode="rgb_array")
    e.reset()
    return e, {
        "step": lambda: e.step(np.zeros(8, int)),
        "reset": e.reset,
        "masks": lambda: e.env_method("action_masks"),
        "images": e.get_images,
    }


def torchrl() -> tuple[Any, Calls]:
    from puzzleport.adapters.torchrl import PuzzleEnv

    e = PuzzleEnv("fifteen", "2x2", num_envs=8)
    e.reset()
    calls = {
        "step": lambda: e.step(e.rand_action(e.reset())),
        "reset": e.reset,
        "seed": lambda: e.set_seed(3),
        "rollout": lambda: e.rollout(3, break_when_any_done=False),
    }
    return e, bookkeeping(calls)


def jax() -> tuple[Any, Calls]:
    from puzzleport.adapters.jax import PuzzleEnv

    e = PuzzleEnv("fifteen", "2x2", num_envs=8, max_steps=15)
    now = {"handle": e.reset(1)[0]}

    def reset() -> None:
        now["handle"], seen = e.reset(2)
        seen.mask.block_until_ready()

    def step() -> None:
        now["handle"], seen = e.step(now["handle"], np.zeros(8, np.int32))
        seen.mask.block_until_ready()

    def pure() -> None:
        state, _ = e.step_pure(e.init(3), 0)
        state.block_until_ready()

    calls = {"step": step, "reset": reset, "pure": pure}
    return e, bookkeeping(calls)


def reasoning_gym() -> tuple[Any, Calls]:
    from puzzleport.adapters.reasoning_gym import PuzzleConfig, PuzzleDataset

    d = PuzzleDataset(PuzzleConfig(puzzle="net", params="2x2", seed=1, size=8))
    return d, {"step": lambda: d[3], "reset": lambda: d[0], "score": lambda: d.score_answer("UP", d[1])}


CORE = (session, batch, tree)
ADAPTERS = (
    gymnasium,
    gymnasium_vector,
    dm_env,
    dm_env_batched,
    openspiel,
    pettingzoo,
    pettingzoo_turns,
    pettingzoo_race,
    rllib,
    rllib_agents,
    rlp,
    sb3,
    torchrl,
    jax,
    reasoning_gym,
)
NO_OBJECT = (
    *("minari", "sb3_train", "jax_train", "jax_ppo", "jax_dagger", "jax_alphazero", "jax_muzero", "sheeprl"),
    *("openspiel_race", "ray", "mcp", "openenv", "verifiers"),
)
"""Adapters with nothing of their own to call from two threads: functions, training, other processes, servers, and two players
who use the games of openspiel."""
THINGS = {thing.__name__: thing for thing in CORE + ADAPTERS}
LIGHT = ("session", "batch", "tree", "gymnasium", "gymnasium_vector", "dm_env", "dm_env_batched")
"""Those whose frameworks have no threads of their own, so that they may be forked."""
REFUSALS = ("another thread", "reset it", "start anew", "in the middle of this call", "no game", "not held")


def expected(error: Exception) -> bool:
    """Whether a call may end so while another thread, a fork or a signal comes in between."""
    if isinstance(error, pp.EngineError):
        return any(part in str(error) for part in REFUSALS)
    return isinstance(error, (pp.NoSolution, pp.NoPlan, pp.GenerationTimeout))


def repeat(call: Callable[[], object], seconds: float, wrong: list[Exception]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not wrong:
        try:
            call()
        except Exception as error:
            if not expected(error):
                wrong.append(error)


# ---- The kinds of torture: each gets what is tortured, a source of chance and its time ----


def pairs(subject: str, draw: random.Random, seconds: float) -> None:
    """Two calls from two threads, all pairs as far as the time goes."""
    _, calls = THINGS[subject]()
    todo = list(itertools.combinations_with_replacement(sorted(calls), 2))
    draw.shuffle(todo)
    end = time.monotonic() + seconds
    for names in todo:
        if time.monotonic() > end:
            return
        print(*names, sep=", ", flush=True)
        wrong: list[Exception] = []
        team = [threading.Thread(target=repeat, args=(calls[name], 0.04, wrong)) for name in names]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        if wrong:
            raise wrong[0]


def in_the_child(subject: str, thing: Any, calls: Calls, draw: random.Random) -> None:
    """Everything may be refused after the fork, until a reset; then all is well."""
    for name in draw.sample(sorted(calls), len(calls)):
        print("child", name, flush=True)
        wrong: list[Exception] = []
        repeat(calls[name], 0.001, wrong)
        if wrong:
            raise wrong[0]
    if subject != "tree":
        calls["reset"]()
        calls["step"]()


def end_of(child: int, seconds: float) -> str:
    """The exit code of a process, or "hung": then it is ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return str(os.waitstatus_to_exitcode(status))
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def forks(subject: str, draw: random.Random, seconds: float) -> None:
    """Fork at a random moment of another thread's call, and use everything in the child."""
    thing, calls = THINGS[subject]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        name = draw.choice(sorted(calls))
        print(name, flush=True)
        wrong: list[Exception] = []
        thread = threading.Thread(target=repeat, args=(calls[name], 0.05, wrong))
        thread.start()
        time.sleep(draw.random() * 0.03)
        child = os.fork()
        if child == 0:
            try:
                in_the_child(subject, thing, calls, draw)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
            os._exit(0)
        ended = end_of(child, 90)
        # AddressSanitizer's allocator does not go through forks: a child may wait for ever for a lock of its.
        assert ended == "0" or (ended == "hung" and "ASAN_OPTIONS" in os.environ), f"the child: {ended}"
        thread.join()
        if wrong:
            raise wrong[0]


def signals(subject: str, draw: random.Random, seconds: float) -> None:
    """A signal handler that uses the same thing in the middle of a call, and now and then interrupts it."""
    _, calls = THINGS[subject]()
    wrong: list[Exception] = []

    def handler(*_: object) -> None:
        repeat(calls[draw.choice(sorted(calls))], 0.0001, wrong)
        if draw.random() < 0.2:
            raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, handler)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not wrong:
        try:
            signal.setitimer(signal.ITIMER_REAL, draw.random() * 0.01)
            repeat(calls[draw.choice(sorted(calls))], 0.02, wrong)
            if subject == "tree" and draw.random() < 0.2:  # an interrupted search is over
                _, calls = THINGS[subject]()
        except KeyboardInterrupt:
            continue
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if wrong:
        raise wrong[0]
    if subject != "tree":
        calls["reset"]()
        calls["step"]()


def exits(subject: str, draw: random.Random, seconds: float) -> None:
    """The interpreter ends at a random moment while daemon threads are in C."""
    _, calls = THINGS[subject]()

    def generate() -> None:
        while True:
            try:
                pp.Session("pattern", "3x50", 1, timeout=0.05)
            except pp.GenerationTimeout:
                continue

    def roll() -> None:
        pp.rollout("net", "5x5", episodes=10**4, max_steps=300, threads=2)

    jobs = [lambda name=name: repeat(calls[name], 60, []) for name in draw.sample(sorted(calls), 3)]
    for job in (*jobs, generate, roll):
        threading.Thread(target=job, daemon=True).start()
    time.sleep(draw.random() * min(seconds, 0.2))


def deadlines(subject: str, draw: random.Random, seconds: float) -> None:
    """Generation that ends after any time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        params, limit = pp.spec(subject).human_params, draw.choice([1e-6, 1e-4, 1e-3, 0.01, 0.05])
        try:
            s = pp.Session(subject, params, draw.randrange(99), timeout=limit)
            s.step(0)
            s.reset(draw.randrange(99))
            s.step(0)
        except pp.GenerationTimeout:
            pass
        b = pp.Batch(subject, params, 3, threads=2, timeout=limit)
        try:
            b.reset(seed=1)
            b.step([0, 0, 0])
        except pp.GenerationTimeout:
            b.close()


def memory(subject: str, draw: random.Random, seconds: float) -> None:
    """An address space that is almost used up (RLIMIT_AS)."""
    _, calls = THINGS[subject]()
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    room = draw.choice([0, 1 << 16, 1 << 20, 1 << 23])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + room, before[1]))
    kept, end = [], time.monotonic() + seconds
    said: list[SystemError | None] = [None] * 100
    while time.monotonic() < end:
        try:
            if draw.random() < 0.5:
                kept.append(pp.Session(draw.choice(pp.puzzles()), None, draw.randrange(9), timeout=0.2))
            calls[draw.choice(sorted(calls))]()
        except (MemoryError, pp.PuzzleError, OSError, RuntimeError):
            if draw.random() < 0.1:
                kept.clear()
        except SystemError as error:
            said[draw.randrange(100)] = error  # looked at when there is memory again
    kept.clear()
    resource.setrlimit(resource.RLIMIT_AS, before)
    for error in filter(None, said):
        # So CPython 3.11 says that it has no memory for the frame of a function in Python. One of ours in C that gave nothing
        # and raised nothing would be a <built-in function>.
        assert str(error).startswith(("error return without exception set", "<function ")), error


def forged(subject: str, draw: random.Random, seconds: float) -> None:
    """Saves with one byte changed and sealed again: all positions with several values, as far as the time goes."""
    s = pp.Session(subject, pp.spec(subject).easiest_params, draw.randrange(99), undo=True)
    for _ in range(draw.randrange(60)):
        s.step(draw.randrange(len(s.actions)))
    if draw.random() < 0.5:  # in the middle of what two keys do, such as a drag
        s.step("SELECT" if "SELECT" in s.actions else 0)
    saved = s.save()[:-20]
    places = list(itertools.product(range(8, len(saved)), (0, 1, 3, 0x7F, 0x80, 0xFF)))
    draw.shuffle(places)
    end = time.monotonic() + seconds
    for at, value in places:
        if time.monotonic() > end:
            return
        print(f"{s.params}#{s.seed}, {s.steps} steps, {value} at {at}", flush=True)
        bent = saved[:at] + bytes([value]) + saved[at + 1 :]
        try:
            loaded = pp.Session.load(bent + hashlib.sha1(bent).digest())
        except pp.CorruptState:
            continue
        assert loaded.mask().tolist() == [loaded.clone().step(a).changed for a in range(len(loaded.actions))], (
            "the mask"
        )
        loaded.text()
        loaded.pixels(160, 160)
        for _ in range(10):
            loaded.step(draw.randrange(len(loaded.actions)))
        loaded.undo()
        loaded.clone().step(0)
        pp.Session.load(loaded.save()).step(0)


# What it is, on what, and for how many seconds each.
KINDS: dict[str, tuple[Callable[[str, random.Random, float], None], tuple[str, ...], float]] = {
    "pairs": (pairs, tuple(THINGS), 10.0),
    "forks": (forks, LIGHT, 3.0),
    "signals": (signals, ("session", "batch", "tree"), 3.0),
    "exits": (exits, LIGHT, 0.2),
    "deadlines": (deadlines, tuple(pp.puzzles()), 1.0),
    "memory": (memory, ("session", "batch", "tree"), 1.5),
    "forged": (forged, tuple(pp.puzzles()), 4.0),
}


def run(kind: str, subject: str, seed: int, seconds: float) -> str | None:
    """What went wrong in one case, or None."""
    case = [kind, "--case", subject, "--seed", str(seed), "--each", str(seconds)]
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.torture", *case]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300 + 10 * seconds)
    except subprocess.TimeoutExpired as late:
        return f"hangs after {(late.stdout or b'')[-200:]!r}"
    if done.returncode == 0:
        return None
    return f"ended with {done.returncode} after {done.stdout.splitlines()[-1:]}\n{done.stderr[-2000:]}"


def cases(kinds: list[str], draw: random.Random, each: float) -> Iterator[tuple[str, str, int, float]]:
    """Kind, subject, seed and seconds, in turn and without end."""
    turns = {kind: itertools.cycle(draw.sample(KINDS[kind][1], len(KINDS[kind][1]))) for kind in kinds}
    for kind in itertools.cycle(kinds):
        yield kind, next(turns[kind]), draw.randrange(10**6), each or KINDS[kind][2]


def main() -> int:
    """Run cases until the time is over; 1 when there was a finding."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--seconds", type=float, default=300, help="for all")
    parser.add_argument("--cases", type=int, default=0, help="stop after so many")
    parser.add_argument("--each", type=float, default=0, help="seconds for each case")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--case", metavar="SUBJECT", help="only this one, in this process")
    args = parser.parse_args()
    kinds = args.kinds or list(KINDS)
    seed = random.randrange(10**6) if args.seed is None else args.seed
    if args.case is not None:
        KINDS[kinds[0]][0](args.case, random.Random(seed), args.each or KINDS[kinds[0]][2])
        return 0
    print(f"seed {seed}")
    end, counts, findings = time.monotonic() + args.seconds, dict.fromkeys(kinds, 0), 0
    for number, case in enumerate(cases(kinds, random.Random(seed), args.each)):
        if time.monotonic() > end or (args.cases and number >= args.cases):
            break
        wrong = run(*case)
        counts[case[0]] += 1
        if wrong:
            findings += 1
            print(f"FOUND {case[0]} --case {case[1]} --seed {case[2]}: {wrong}", flush=True)
    print("; ".join([*(f"{kind} {count}" for kind, count in counts.items()), f"findings {findings}"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
