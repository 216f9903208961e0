"""Whatever Python hands over, the process lives: malformed input, threads, forks, copies, and the interpreter's end."""

from __future__ import annotations

import copy
import gc
import hashlib
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import puzzleport as pp
from puzzleport import puzzle_spec
from puzzleport._native import ffi, lib

from ..conftest import PUZZLES, levels, play, same

ROOT = Path(__file__).resolve().parents[2]
DIGEST = 20
ENDLESS = ("pattern", "3x50")
"""No generator ever fills this."""

# ---- Malformed input ----


def use(session: pp.Session) -> None:
    session.text()
    session.pixels(200, 200)
    play(session, 12)
    session.undo()
    session.clone().step(0)
    pp.Session.load(session.save()).step(0)


@settings(max_examples=120)
@given(puzzle=st.sampled_from(PUZZLES), params=st.text(max_size=12) | st.from_regex(r"[0-9xdewhmMnbcairt,.]{1,14}"))
def test_any_parameter_string_is_played_or_refused(puzzle, params):
    try:
        session = pp.Session(puzzle, params, seed=1, timeout=0.05, undo=True)
    except (pp.InvalidParams, pp.GenerationTimeout):
        return
    play(session, 5)


@settings(max_examples=120)
@given(puzzle=st.sampled_from(PUZZLES), data=st.data())
def test_any_game_id_is_played_or_refused(puzzle, data):
    params = pp.spec(puzzle).easiest_params
    real = pp.Session(puzzle, params, seed=data.draw(st.integers(0, 3))).desc
    at = data.draw(st.integers(0, len(real)))
    put = data.draw(st.text(max_size=4) | st.integers(-5, 2**33).map(str))
    bent = real[:at] + put + real[at + data.draw(st.integers(0, 3)) :]
    try:
        session = pp.Session(puzzle, game_id=f"{params}:{bent}", timeout=1, undo=True)
    except (pp.InvalidGameID, pp.EngineError, pp.GenerationTimeout):
        return
    use(session)


@settings(max_examples=120)
@given(puzzle=st.sampled_from(PUZZLES), data=st.data())
def test_a_forged_save_is_played_or_refused(puzzle, data):
    """The digest keeps accidents out; who forges a save computes it anew."""
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=3)
    play(session, 10)
    saved = bytearray(session.save()[:-DIGEST])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(8, len(saved) - 1))
        saved[at] = data.draw(st.integers(0, 255))
    try:
        forged = pp.Session.load(bytes(saved) + hashlib.sha1(saved).digest())
    except pp.CorruptState:
        return
    try:
        use(forged)
    except pp.EngineError:
        return


@settings(max_examples=60)
@given(
    puzzle=st.sampled_from(PUZZLES),
    actions=st.lists(st.integers(-3, 20) | st.text(max_size=5) | st.none() | st.floats() | st.binary(max_size=2)),
)
def test_any_action_is_taken_or_refused(puzzle, actions):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=2)
    for action in actions:
        try:
            session.step(action)
        except pp.InvalidAction:
            continue
    play(session, 5)


def test_two_thousand_bad_cases_in_one_process():
    """The command behind docs/robustness.md, in short. It runs in a process of its own, whose death would be seen."""
    command = [sys.executable, ROOT / "tools" / "robustness.py", "--cases", "2000", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert "deaths  0" in done.stdout


def test_numbers_without_end_are_refused_as_seeds():
    with pytest.raises(pp.InvalidGameID):
        pp.Session("net", game_id="3x3#" + "9" * 6000)


def numbers_replaced(params: str) -> list[str]:
    """The same with one number, and with all of them, as large as no int or no board can hold."""
    found = list(re.finditer(r"\d+", params))
    texts = []
    for number in ("113333333333333", "2147483648", "2147483647", "9999999", "65536", "46341", "-46341", "0"):
        texts += [params[: at.start()] + number + params[at.end() :] for at in found]
        texts.append(re.sub(r"\d+", number, params))
    return texts


def test_numbers_beyond_an_int_never_reach_the_engine(puzzle):
    """It multiplies first and checks afterwards. The C side is asked: Python's own pattern would refuse most of them."""
    handle, answer = puzzle_spec.handle(puzzle), ffi.new("char **")
    for params in levels(puzzle):
        for text in numbers_replaced(params):
            use = lib.PZ_TO_PLAY if len(text) % 2 else lib.PZ_TO_GENERATE
            code = lib.pz_params_canonical(handle, text.encode(), use, answer)
            assert code in (0, lib.PZ_BAD_PARAMS), text
            if re.search(r"\d{8}", text):
                assert code == lib.PZ_BAD_PARAMS, text
                assert b"at most 7 digits" in ffi.string(lib.pz_last_error()), text
            if code == 0:
                assert lib.pz_layout_of(handle, answer[0], ffi.new("pz_layout *")) in (0, lib.PZ_BAD_PARAMS)
    with pytest.raises(pp.InvalidParams):
        pp.Session(puzzle, "113333333333333x2")


def test_flood_sides_whose_product_overflows():
    """Found by fuzzing, in a forged save."""
    session = pp.Session("flood", "3x3c6m5", 1)
    with pytest.raises(pp.CorruptState):
        pp.Session.load(forged(session, session.params.encode(), b"9999999"))


def test_parameters_of_ten_megabytes_are_refused_at_once(puzzle):
    for text in ("9" * 10**7, pp.spec(puzzle).easiest_params + "x" * 10**7, "7x7" * 10**6):
        with pytest.raises(pp.InvalidParams) as refusal:
            pp.Session(puzzle, text)
        assert len(str(refusal.value)) < 600


# ---- Crashers that were found, each by its name ----


def forged(session: pp.Session, old: bytes, new: bytes) -> bytes:
    saved = session.save()[:-DIGEST]
    assert saved.count(old) == 1
    saved = saved.replace(old, new)
    return saved + hashlib.sha1(saved).digest()


def every_byte_forged(puzzle: str, value: int) -> list[bytes]:
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=3)
    play(session, 6)
    saved = session.save()[:-DIGEST]
    alike = [saved[:at] + bytes([value]) + saved[at + 1 :] for at in range(8, len(saved))]
    return [one + hashlib.sha1(one).digest() for one in alike]


FORGED = {
    "bridges_islands_that_are_none": "bridges",
    "magnets_poles_beyond_a_byte": "magnets",
    "palisade_regions_that_leave_the_board": "palisade",
    "range_colours_that_do_not_exist": "range",
    "signpost_chains_into_nowhere": "signpost",
    "tents_drags_outside_the_board": "tents",
}


@pytest.mark.parametrize("puzzle", FORGED.values(), ids=FORGED)
@pytest.mark.parametrize("value", [0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF])
def test_forged_states_are_refused_or_harmless(puzzle, value):
    for saved in every_byte_forged(puzzle, value):
        try:
            session = pp.Session.load(saved)
        except pp.CorruptState:
            continue
        try:
            use(session)
        except pp.EngineError:
            continue


def test_a_save_has_no_note_of_the_solution():
    """The engine's note is a move that solve() would play unchecked; it is made again from the seed."""
    session = pp.Session("galaxies", "5x5dn", seed=4)
    loaded = pp.Session.load(session.save())
    assert same(session.solution(), loaded.solution())
    loaded.clone().solve()
    loaded.solve()
    assert loaded.status == pp.Status.SOLVED


def test_a_save_with_another_seed_is_not_solved_by_that_seeds_note():
    session = pp.Session("galaxies", "5x5dn", seed=411111)
    impostor = pp.Session.load(forged(session, b"411111", b"422222"))
    assert impostor.desc == session.desc
    try:
        impostor.solve()
    except pp.NoSolution:
        return
    assert impostor.status == pp.Status.SOLVED


def test_a_batch_knows_its_slots():
    batch = pp.Batch("net", "3x3", 3)
    for slot in (-1, 3, 10**6):
        with pytest.raises(IndexError):
            batch.session(slot)
    with pytest.raises(pp.InvalidAction):
        batch.session(0)
    with pytest.raises(ValueError, match="shape"):
        batch.reset(seed=1, which=np.ones(1, bool))


def test_a_batch_begun_in_part_is_safe():
    batch = pp.Batch("net", "3x3", 3, autoreset="off")
    batch.reset(seed=1, which=np.array([True, False, False]))
    batch.step([0, 0, 0])
    with pytest.raises(pp.EngineError, match="no game"):
        batch.pixels(64, 64)
    batch.reset(seed=1)
    assert batch.pixels(64, 64).any()


# ---- Saves ----


def test_the_same_play_gives_the_same_bytes(puzzle):
    """Nothing of what the memory held before gets into a save, so it can be compared and cached."""
    saves = []
    for dirt in (0, 3):
        for seed in range(dirt):
            play(pp.Session(puzzle, pp.spec(puzzle).human_params, seed=seed), 30)
        session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=8)
        play(session, 60)
        saves += [session.save(), session.clone().save(), pp.Session.load(session.save()).save()]
    assert len(set(saves)) == 1


# ---- Deadlines and interrupts ----


def test_a_batch_ends_at_the_deadline():
    batch = pp.Batch(*ENDLESS, 4, threads=2, timeout=0.2)
    started = time.monotonic()
    with pytest.raises(pp.GenerationTimeout, match="slot 0"):
        batch.reset(seed=1)
    assert time.monotonic() - started < 10


def test_a_pool_of_threads_ends_at_its_deadlines():
    def attempt(seed: int) -> str:
        with pytest.raises(pp.GenerationTimeout):
            pp.Session(*ENDLESS, seed=seed, timeout=0.2)
        return "ended"

    started = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(attempt, range(8))) == {"ended"}
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_interrupts_a_batch(threads):
    batch = pp.Batch(*ENDLESS, 6, threads=threads, timeout=60)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        batch.reset(seed=1)
    assert time.monotonic() - started < 20
    other = pp.Batch("net", "3x3", 4, threads=threads)
    other.reset(seed=1)
    other.step([0, 1, 2, 3])


def test_a_signal_handler_may_use_sessions_itself():
    """It runs in the middle of a generation, in the same thread."""
    solved = []

    def handler(*_: object) -> None:
        solved.append(play(pp.Session("net", "3x3", seed=1), 20))

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        with pytest.raises(pp.GenerationTimeout):
            pp.Session(*ENDLESS, seed=1, timeout=0.5)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert solved


# ---- Leaks ----


def test_no_error_leaves_a_game_behind(puzzle):
    """Every way out of a guarded call, by the number of pools that live."""
    about = pp.spec(puzzle)
    session = pp.Session(puzzle, about.easiest_params, seed=1, undo=True)
    saved = session.save()
    gc.collect()
    before = lib.pz_live_pools()
    for _ in range(5):
        for call in (
            lambda: pp.Session(puzzle, game_id=f"{session.params}:~", undo=True),
            lambda: pp.Session(puzzle, game_id=f"{session.params}:{session.desc}{session.desc}", undo=True),
            lambda: pp.Session(puzzle, about.human_params, seed=1, timeout=1e-9, undo=True),
            lambda: pp.Session.load(saved[:-DIGEST][:-40] + hashlib.sha1(saved[:-DIGEST][:-40]).digest()),
            lambda: pp.Session.load(saved[:60]),
            lambda: session.pixels(1, 1),
            lambda: session.reset(game_id=f"{session.params}:~"),
            lambda: session.clone().solve(),
            lambda: session.step(99),
        ):
            try:
                call()
            except pp.PuzzleError:
                continue
    gc.collect()
    assert lib.pz_live_pools() == before


# ---- Threads ----


def test_sessions_in_many_threads():
    alone = {puzzle: play(pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=4), 30) for puzzle in PUZZLES}

    def run(offset: int) -> None:
        for puzzle in PUZZLES[offset:] + PUZZLES[:offset]:
            session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=4)
            assert play(session, 30) == alone[puzzle]
            session.text()
            session.clone().save()
            with pytest.raises(pp.InvalidGameID):
                pp.Session(puzzle, game_id=f"{session.params}:~", undo=True)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(0, 36, 6)))


def test_one_session_in_two_threads_is_refused_not_corrupted():
    session = pp.Session("solo", "3x3", seed=1)
    wrong: list[BaseException] = []

    def hammer(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(400):
            try:
                session.step(int(random.integers(len(session.actions))))
                session.save()
                session.clone().text()
            except pp.EngineError as error:
                wrong.append(error)

    team = [threading.Thread(target=hammer, args=(seed,)) for seed in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert all("another thread" in str(error) for error in wrong)
    session.reset(seed=1)
    use(session)


def test_closing_in_the_middle_of_another_threads_call():
    def begin(batch: pp.Batch) -> None:
        with pytest.raises((pp.GenerationTimeout, pp.SessionClosed)):
            batch.reset(seed=1)

    for _ in range(5):
        batch = pp.Batch(*ENDLESS, 2, threads=2, timeout=0.2)
        thread = threading.Thread(target=begin, args=(batch,))
        thread.start()
        time.sleep(0.02)
        batch.close()
        thread.join()


# ---- Processes ----


def in_child(sent: tuple[pp.Session, list[int]]) -> tuple[int, str]:
    session, actions = sent
    for action in actions:
        session.step(action)
    pp.rollout("net", "3x3", episodes=8, max_steps=50, threads=2)
    return session.hash(), session.text()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_with_live_sessions_and_threads_in_the_parent(method):
    sessions = [pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=6) for puzzle in PUZZLES]
    batch = pp.Batch("net", "3x3", 8, threads=2)
    batch.reset(seed=1)
    batch.step(np.zeros(8, int))
    actions = [0, 1, 2, 3, 0, 1] * 3
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        results = list(pool.map(in_child, [(session, actions) for session in sessions], chunksize=20))
    for session, result in zip(sessions, results, strict=True):
        assert in_child((session, actions)) == result
    batch.step(np.ones(8, int))


def test_a_forked_child_goes_on_with_the_parents_batch():
    """Threads do not survive a fork: the child's batch starts its own."""
    batch = pp.Batch("net", "3x3", 64, threads=3)
    batch.reset(seed=1)
    mine, yours = multiprocessing.get_context("fork").Pipe()

    def child() -> None:
        batch.step(np.arange(64) % 4)
        yours.send(batch.result.mask.copy())
        batch.close()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    assert mine.poll(60)
    theirs = mine.recv()
    process.join(60)
    assert process.exitcode == 0
    assert np.array_equal(batch.step(np.arange(64) % 4).mask, theirs)


def test_forks_while_other_threads_are_in_the_engine():
    """A lock that another thread held at the fork would stay locked in the child for ever."""
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            pp.Session("filling", "5x5", seed=1)

    team = [threading.Thread(target=busy) for _ in range(2)]
    for thread in team:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                pp.Session("filling", "5x5", seed=2)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in team:
            thread.join()


EXITS = {
    "plainly": "",
    "with an error": "raise SystemExit(0)",
    "from a thread": "threading.Thread(target=lambda: s.step(0)).start()",
    "with a cycle": "s.me = s; b.me = b",
    "during a generation": "threading.Thread(target=pp.Session, args=('pattern', '3x50', 1), daemon=True).start()",
}


@pytest.mark.parametrize("how", EXITS.values(), ids=EXITS)
def test_the_interpreter_exits_with_sessions_open(how):
    program = (
        "import threading, puzzleport as pp\n"
        "s = pp.Session('net', '3x3', seed=1); s.pixels(); t = s.clone()\n"
        "b = pp.Batch('net', '3x3', 8, threads=3); b.reset(seed=1); b.step([0] * 8)\n"
        f"{how}\n"
    )
    done = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr


# ---- Copies and the end of a session ----


def test_deepcopy_in_the_middle_of_an_episode(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=5)
    play(session, 15)
    world = {"session": session, "again": [session]}
    copied = copy.deepcopy(world)
    assert copied["session"].hash() == session.hash()
    assert play(copied["session"], 20, seed=1) == play(session, 20, seed=1)
    assert copied["session"].hash() == session.hash()


def test_use_after_close_is_refused_everywhere(puzzle):
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=5)
    session.close()
    for call in (
        lambda: session.step(0),
        session.undo,
        session.mask,
        session.observe,
        session.text,
        session.pixels,
        session.save,
        session.clone,
        session.solve,
        session.solution,
        session.hash,
        lambda: session.reset(seed=1),
        lambda: session.game_id,
        lambda: session.status,
        lambda: copy.deepcopy(session),
        lambda: pickle.dumps(session),
    ):
        with pytest.raises(pp.SessionClosed):
            call()
    assert "closed" in repr(session)


# ---- Free-threaded Python ----


def test_without_the_gil_threads_play_as_with_it():
    """On an interpreter without a GIL: the import must not switch it back on unnoticed, and threads must agree."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python has a GIL; run the suite with a free-threaded one to test this")
    program = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "import puzzleport as pp\n"
        "def run(seed):\n"
        "    s = pp.Session('net', '3x3', seed=seed)\n"
        "    for a in range(500): s.step(a % len(s.actions))\n"
        "    return s.hash()\n"
        "with ThreadPoolExecutor(8) as pool: many = list(pool.map(run, range(64)))\n"
        "assert many == [run(seed) for seed in range(64)]\n"
        "print('gil', sys._is_gil_enabled())\n"
    )
    done = subprocess.run([sys.executable, "-X", "gil=0", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search("gil False", done.stdout)


def test_threads_that_share_a_session_get_whole_answers_or_a_refusal():
    """What a session hands out must not be freed by what another thread does with it meanwhile."""
    session = pp.Session("bridges", "7x7", seed=1)
    end, wrong = time.monotonic() + 0.5, []

    def use(work):
        while time.monotonic() < end:
            try:
                work()
            except pp.EngineError as refused:
                if "another thread" not in str(refused):
                    wrong.append(refused)
            except Exception as error:
                wrong.append(error)

    jobs = [
        lambda: pp.Session.load(session.save()),
        lambda: session.text().encode(),
        lambda: pp.Session("bridges", game_id=session.game_id),
        lambda: session.hash() + session.instance_hash,
        lambda: session.reset(seed=2),
        lambda: session.step("RIGHT"),
        lambda: session.plan(),
    ]
    threads = [threading.Thread(target=use, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    session.reset(seed=1)
    assert session.game_id == pp.Session("bridges", "7x7", seed=1).game_id
