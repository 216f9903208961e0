"""Games made ahead: the same games, whoever makes them, and nothing left behind."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import pytest

import puzzleport as pp
from puzzleport._native import lib
from puzzleport.game_id import episode_seed

DEAR = ("pearl", "5x5de")  # half a millisecond a game: always made ahead
FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def other_threads() -> set[int]:
    """Threads of this process that Python did not start. Those of frameworks may end at any time."""
    return {int(task.name) for task in Path("/proc/self/task").iterdir()} - {
        thread.native_id for thread in threading.enumerate()
    }


def games(episodes: pp.Episodes, count: int, seed: int | None = None) -> list[tuple[str, bytes]]:
    """The ids and first observations of this many games."""
    seen = []
    for number in range(count):
        episodes.start(seed if number == 0 else None)
        seen.append((episodes.game_id, episodes.session.record().tobytes()))
    return seen


def expected(puzzle: str, params: str, seed: int, count: int) -> list[tuple[str, bytes]]:
    found = []
    for number in range(count):
        one = episode_seed(seed, number)
        found.append((f"{params}#{one}", pp.Session(puzzle, params, seed=one).record().tobytes()))
    return found


@pytest.mark.parametrize(("puzzle", "params"), [DEAR, ("loopy", "3x3t0de"), ("fifteen", "2x2")])
def test_the_same_games_with_and_without(puzzle, params):
    wanted = expected(puzzle, params, 3, 12)
    for ahead in (True, False):
        with pp.Episodes(pp.Task(puzzle, params, ahead=ahead)) as episodes:
            assert games(episodes, 12, seed=3) == wanted
            time.sleep(0.02)  # what was made ahead by now is not what this seed wants
            assert games(episodes, 12, seed=3) == wanted


def test_an_excluded_game_is_passed_over_whoever_made_it():
    puzzle, params = DEAR
    hashes = [pp.Session(puzzle, params, seed=episode_seed(3, number)).instance_hash for number in (2, 3, 7)]
    wanted = [game for number, game in enumerate(expected(puzzle, params, 3, 10)) if number not in (2, 3, 7)]
    with pp.Episodes(pp.Task(puzzle, params, exclude=hashes)) as episodes:
        assert games(episodes, 7, seed=3) == wanted


def test_a_thread_comes_with_the_second_game_and_goes_with_the_session():
    before = other_threads()
    episodes = pp.Episodes(pp.Task(*DEAR))
    for seed in range(5):  # who gives seeds does not play streams
        episodes.start(seed)
    assert other_threads() <= before
    episodes.start()
    (ours,) = other_threads() - before
    episodes.close()
    gc.collect()
    assert ours not in other_threads()
    with pp.Episodes(pp.Task(*DEAR, ahead=False)) as episodes:
        games(episodes, 5, seed=1)
        assert other_threads() <= before


def test_a_game_that_was_made_for_nothing_is_freed():
    """A new seed comes while the next game of the old stream is being made."""
    gc.collect()
    before = lib.pz_live_pools()
    episodes = pp.Episodes(pp.Task("pearl", "8x8dt"))
    for seed in range(3):
        episodes.start(seed)
        episodes.start()  # asks for the one after it
    episodes.close()
    del episodes
    gc.collect()
    assert lib.pz_live_pools() == before


def test_nobody_works_while_nobody_resets():
    before = set(Path("/proc/self/task").iterdir())
    with pp.Episodes(pp.Task(*DEAR)) as episodes:
        games(episodes, 4, seed=1)
        (maker,) = set(Path("/proc/self/task").iterdir()) - before
        asleep = 0
        while asleep < 20:  # for ever, if it does not rest
            time.sleep(0.005)
            asleep = asleep + 1 if (maker / "stat").read_text().rpartition(")")[2].split()[0] == "S" else 0


def test_a_copy_goes_on_with_the_same_games():
    with pp.Episodes(pp.Task(*DEAR)) as episodes:
        games(episodes, 3, seed=5)
        with pickle.loads(pickle.dumps(episodes)) as copy:
            assert games(copy, 4) == games(episodes, 4)


def test_other_parameters_in_between():
    with pp.Episodes(pp.Task("pearl", "6x6de", seed=1)) as episodes:
        games(episodes, 3, seed=1)
        episodes.start(params="6x6dt")
        assert episodes.session.params == "6x6dt"
        episodes.start()
        assert episodes.session.params == "6x6de"
        assert (episodes.game_id, episodes.session.record().tobytes()) == expected("pearl", "6x6de", 1, 5)[4]


def test_a_session_follows_a_stream_by_itself():
    session = pp.Session(*DEAR, seed=0)
    for number in (0, 1, 2, 7, 3):
        session.follow(9, number)
        assert session.seed == episode_seed(9, number)
    for wrong in ((-1, 0), (0, -1), ("x", 0), (2**64, 0)):
        with pytest.raises(pp.PuzzleError):
            session.follow(*wrong)
    session.close()
    with pytest.raises(pp.SessionClosed):
        session.follow(9, 4)


@FORK
@pytest.mark.parametrize("wait", [0.0, 0.0005, 0.05])
def test_a_child_makes_its_own(wait):
    wanted = expected(*DEAR, 4, 12)
    with pp.Episodes(pp.Task(*DEAR)) as episodes:
        games(episodes, 4, seed=4)
        time.sleep(wait)  # the next game is asked for, being made, or there
        child = os.fork()
        if not child:
            signal.alarm(20)
            good = False
            try:
                good = games(episodes, 8) == wanted[4:]
                episodes.close()
            finally:
                os._exit(0 if good else 1)
        assert games(episodes, 8) == wanted[4:]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@FORK
def test_a_child_has_a_thread_of_its_own_for_the_games_ahead():
    """One while it plays, and none once it has closed: the parent's has stayed behind."""
    with pp.Episodes(pp.Task(*DEAR)) as episodes:
        games(episodes, 4, seed=4)
        child = os.fork()
        if not child:
            signal.alarm(20)
            good = False
            try:
                tasks = Path("/proc/self/task")
                alone = len(list(tasks.iterdir()))
                games(episodes, 4)
                playing = len(list(tasks.iterdir()))
                episodes.close()
                gc.collect()
                good = (alone, playing, len(list(tasks.iterdir()))) == (1, 2, 1)
            finally:
                os._exit(0 if good else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@FORK
def test_a_child_may_close_what_it_never_played():
    """The thread that makes games has stayed behind in the parent: nobody waits for it."""
    with pp.Episodes(pp.Task(*DEAR)) as episodes, pp.Batch(*DEAR, 2, threads=1) as batch:
        games(episodes, 4, seed=4)
        batch.reset(seed=1)
        child = os.fork()
        if not child:
            signal.alarm(20)
            closed = False
            try:
                episodes.close()
                batch.close()
                closed = True
            finally:
                os._exit(0 if closed else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_two_threads_on_one_session_are_told_or_served():
    session, wrong = pp.Session(*DEAR, seed=0), []

    def follow(first: int) -> None:
        for number in range(first, first + 20):
            try:
                session.follow(1, number)
            except pp.PuzzleError as error:
                if "another thread" not in str(error):
                    wrong.append(error)

    threads = [threading.Thread(target=follow, args=(first,)) for first in (1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    session.follow(1, 3)
    assert session.seed == episode_seed(1, 3)
