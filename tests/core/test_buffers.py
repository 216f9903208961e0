"""Buffers and odd objects: every pointer that goes to C has the length, type and writability that C will use."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest

import puzzleport as pp
from puzzleport._native import lib
from puzzleport.agents import search

# ---- Arrays ----


@pytest.fixture
def batch():
    made = pp.Batch("net", "3x3", 2, threads=1)
    made.reset(seed=1)
    return made


def test_pictures_are_not_written_where_nothing_may_be_written(batch, tmp_path):
    immutable = bytes(2 * 48 * 48 * 3)
    (tmp_path / "picture").write_bytes(immutable)
    frozen = np.zeros((2, 48, 48, 3), np.uint8)
    frozen.flags.writeable = False
    for out in (
        np.frombuffer(immutable, np.uint8).reshape(2, 48, 48, 3),
        np.memmap(tmp_path / "picture", np.uint8, "r", shape=(2, 48, 48, 3)),
        frozen,
        np.broadcast_to(np.uint8(0), (2, 48, 48, 3)),
    ):
        with pytest.raises(ValueError, match=r"written|contiguous"):
            batch.pixels(48, 48, out=out)
    assert not any(immutable)
    into = np.memmap(tmp_path / "picture", np.uint8, "r+", shape=(2, 48, 48, 3))
    assert np.array_equal(batch.pixels(48, 48, out=into), batch.pixels(48, 48))


def test_a_read_only_file_does_not_end_the_process():
    program = (
        "import numpy as np, tempfile, puzzleport as pp\n"
        "file = tempfile.NamedTemporaryFile(); file.write(bytes(13824)); file.flush()\n"
        "batch = pp.Batch('net', '3x3', 2, threads=1); batch.reset(seed=1)\n"
        "try: batch.pixels(48, 48, out=np.memmap(file.name, np.uint8, 'r', shape=(2, 48, 48, 3)))\n"
        "except ValueError: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


class Lying(np.ndarray):
    """An array that says it is larger than it is."""

    @property
    def shape(self):
        return (2, 48, 48, 3)


def test_subclasses_of_arrays_are_asked_through_numpy(batch):
    out = np.zeros((2, 4, 4, 3), np.uint8).view(Lying)
    assert out.shape == (2, 48, 48, 3)
    with pytest.raises(ValueError, match="contiguous uint8"):
        batch.pixels(48, 48, out=out)
    with pytest.raises(ValueError, match="array"):
        batch.pixels(48, 48, out=bytearray(13824))


def test_arrays_that_were_handed_out_cannot_be_resized(batch):
    """numpy would move the memory away under the C side."""
    session = pp.Session("net", "3x3", 1)
    shown = [session.record(copy=False), session.mask(copy=False), *session.observe(copy=False).values()]
    shown += [batch.records, batch.final_records, batch.result.mask, batch.result.status, *batch.draw_along(48, 48)]
    for array in shown:
        with pytest.raises(ValueError, match=r"own|single-segment"):
            array.resize(array.size * 100, refcheck=False)


def test_masks_seeds_and_episodes_of_a_reset(batch):
    for wrong in ([True], np.ones((2, 2), bool), "ab", object()):
        with pytest.raises(ValueError, match="which"):
            batch.reset(which=wrong)
    for wrong in ([1], [1, 2, 3], [1, -1], [1, 2**64], [1.5, 2], "12", 1.5, [None, "a"]):
        with pytest.raises(pp.InvalidSeed):
            batch.reset(seed=wrong)
    for wrong in ([1], [1, -1], [0.5, 1], [1, 2**64]):
        with pytest.raises(pp.UnknownOption):
            batch.reset(seed=1, episodes=wrong)
    batch.reset(seed=[5, 6], episodes=[0, 3])
    assert [part.tolist() for part in batch.streams()] == [[5, 6], [0, 3]]


def test_actions_of_a_batch(batch):
    for wrong in (
        [0],
        [0, 0, 0],
        [0, 99],
        [-1, 0],
        [0.0, 1.0],
        [2**63, 0],
        ["a", "b"],
        np.array([0, 2**64 - 1], np.uint64),
    ):
        with pytest.raises(pp.InvalidAction):
            batch.step(wrong)
    wide = np.zeros((2, 2), np.int64)
    for fine in ([0, 1], np.array([0, 1], np.uint8), wide[:, 0], np.zeros(4, np.int64)[::2]):
        batch.step(fine)


def test_slots_that_never_played_draw_their_seeds():
    batch = pp.Batch("net", "3x3", 3)
    batch.reset(which=[True, False, False])
    first = batch.streams()[0][0]
    batch.step([0, 0, 0])
    batch.reset()
    seeds, episodes = (part.tolist() for part in batch.streams())
    assert seeds[0] == first
    assert episodes == [1, 0, 0]
    assert 0 not in seeds
    assert len(set(seeds)) == 3


# ---- Objects that lie ----


class Bytes(bytes):
    def __len__(self):
        return 10**6


class Index:
    """A number that is another one each time it is asked."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def __index__(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Spoof:
    """Claims to be an int between all others."""

    __class__ = int  # type: ignore[assignment]

    def __index__(self):
        return 2**40

    def __le__(self, other):
        return True

    __lt__ = __ge__ = __gt__ = __le__


class Text(str):
    def encode(self, *_):
        return b"x" * 10**6

    def __eq__(self, other):
        return True

    def __hash__(self):
        return hash("net")


def test_a_save_has_the_length_that_it_has():
    saved = pp.Session("net", "3x3", 1).save()
    assert pp.Session.load(Bytes(saved)).params == "3x3"
    assert pp.Session.load(bytearray(saved)).params == "3x3"
    assert pp.Session.load(memoryview(saved)).params == "3x3"
    for wrong in (Bytes(saved[:40]), None, 7, "saved", [1], memoryview(saved)[::2]):
        with pytest.raises(pp.CorruptState):
            pp.Session.load(wrong)


def test_actions_players_and_slots_are_asked_once(batch):
    session = pp.Session("net", "3x3", 1, players=2)
    with pytest.raises(pp.InvalidAction):
        session.step(Spoof())
    session.step(Index(0, 10**6))
    session.turn(Index(1, 10**6))
    batch.session(Index(0, 10**6))
    for wrong in (Spoof(), Index(10**6), 10**30, -1, True, None, "0", 0.0):
        with pytest.raises(pp.UnknownOption):
            session.turn(wrong)
        with pytest.raises(IndexError):
            batch.session(wrong)
    with pytest.raises(pp.InvalidAction):
        session.step(10**30)


def test_undo_is_asked_once():
    class Fickle:
        answers = 0

        def __bool__(self):
            self.answers += 1
            return self.answers % 2 == 1

    batch = pp.Batch("mines", "4x4n3", 64, threads=1, undo=Fickle())
    batch.reset(seed=1)
    assert batch.result.mask.shape == (64, len(batch.actions))
    batch.step(np.zeros(64, int))


def test_strings_are_taken_letter_by_letter():
    assert pp.Session(Text("net"), Text("3x3"), 1).params == "3x3"
    assert pp.Batch(Text("net"), Text("3x3"), 1).params == "3x3"
    assert pp.Session("net", game_id=Text("3x3#4")).seed == 4
    with pytest.raises(pp.UnknownPuzzle):
        pp.Session(Text("nonet"), "3x3")
    for wrong in ([], {}, 3, b"3x3", ("3x3",), object()):
        with pytest.raises(pp.InvalidParams):
            pp.Session("net", wrong)
        with pytest.raises(pp.UnknownPuzzle):
            pp.Batch(wrong)
        with pytest.raises(pp.InvalidGameID):
            pp.Session("net", game_id=wrong)


# ---- Searches ----


def fair(fields, masks):
    return masks.astype(np.float32), np.zeros(len(masks), np.float32)


def test_noise_and_judgements_have_a_number_for_each_action():
    tree = search.Tree(pp.Session("net", "3x3", 1), seed=1)
    n = len(pp.spec("net").actions)
    for wrong in ([], np.ones(1), np.ones(n - 2), np.ones((n, n)), "noise"):
        with pytest.raises(ValueError, match="noise"):
            tree.judge(fair, 4, noise=wrong)
    for wrong in (
        lambda fields, masks: (masks[:, :1], np.zeros(len(masks))),
        lambda fields, masks: (masks, np.zeros(len(masks) + 1)),
        lambda fields, masks: None,
        lambda fields, masks: ("a", "b"),
        lambda fields, masks: masks,
    ):
        with pytest.raises(ValueError, match="judge"):
            tree.judge(wrong, 4)
    tree.judge(fair, 8, noise=np.ones(n) / n)
    tree.judge(fair, 8, noise=[1.0 / n] * n)


def test_numbers_of_a_search_are_checked():
    session = pp.Session("net", "3x3", 1)
    tree = search.Tree(session)
    for call in (
        lambda: search.Tree(session, max_nodes=2**40),
        lambda: search.Tree(session, max_nodes=-1),
        lambda: search.Tree(session, seed="a"),
        lambda: tree.simulate(2**40),
        lambda: tree.simulate("a"),
        lambda: tree.simulate(5, rollout_depth=2**31 - 1),
        lambda: tree.simulate(5, c=float("nan")),
        lambda: tree.judge(fair, 5, batch=0),
        lambda: tree.judge(fair, 5, batch=2**40),
        lambda: search.bfs(session, max_depth=2**40),
        lambda: search.ida_star(session, per_step="a"),
    ):
        with pytest.raises(pp.PuzzleError):
            call()


# ---- Constructors ----

ODD = [
    2**40,
    2**70,
    -1,
    -(2**70),
    "a",
    b"1",
    1.5,
    float("nan"),
    float("inf"),
    None,
    [],
    {},
    object(),
    Spoof(),
    Index(-5),
    True,
]


def test_constructors_that_refuse_leave_no_game_behind():
    gc.collect()
    before = lib.pz_live_pools()
    refused = []
    for odd in ODD:
        for make in (
            lambda odd: pp.Session("net", "2x2", 1, max_steps=odd),
            lambda odd: pp.Session("net", "2x2", 1, max_repeats=odd),
            lambda odd: pp.Session("net", "2x2", 1, timeout=odd),
            lambda odd: pp.Session("net", "2x2", 1, players=odd),
            lambda odd: pp.Session("net", "2x2", odd),
            lambda odd: pp.Session("net", odd, 1),
            lambda odd: pp.Session(odd),
            lambda odd: pp.Session("net", game_id=odd),
            lambda odd: pp.Session.load(pp.Session("net", "2x2", 1).save(), odd),
            lambda odd: pp.Batch("net", "2x2", odd),
            lambda odd: pp.Batch("net", "2x2", 1, threads=odd),
            lambda odd: pp.Batch("net", "2x2", 1, max_steps=odd),
            lambda odd: pp.Batch("net", "2x2", 1, timeout=odd),
            lambda odd: pp.Batch("net", "2x2", 1, autoreset=odd),
            lambda odd: pp.rollout("net", "2x2", episodes=odd, max_steps=1),
            lambda odd: pp.rollout("net", "2x2", episodes=1, policy=odd),
            lambda odd: pp.rollout("net", "2x2", episodes=1, threads=odd, max_steps=1),
        ):
            if odd is None and make.__code__.co_consts.count("net") == 0:
                continue
            try:
                make(odd)
            except pp.PuzzleError as error:
                refused.append(str(error))
    gc.collect()
    assert len(refused) > 200
    assert max(map(len, refused)) < 600
    assert lib.pz_live_pools() == before


def test_the_cap_on_cells_is_a_number():
    for wrong in (float("nan"), float("inf"), -1, 0, "many", None, 2**70):
        with pytest.raises(pp.UnknownOption):
            pp.set_max_cells(wrong)
    with pytest.raises(pp.InvalidParams, match="2500"):
        pp.Session("net", "60x60")
