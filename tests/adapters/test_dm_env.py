from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import unittest

import dm_env
import numpy as np
import pytest
import tree
from dm_env import specs, test_utils

import puzzleport as pp
from puzzleport.adapters import dm_env as adapter
from puzzleport.game_id import episode_seed

OFTEN = ("state", "flat", "pixels")
"""The kinds that are tried with all puzzles."""
GRAPHS = ("bridges", "loopy", "map", "net", "untangle")
SOME = [
    (kind, name)
    for kind in pp.encode.KINDS
    if kind not in OFTEN
    for name in (GRAPHS if kind == "graph" else ("fifteen", "mines", "net", "solo"))
]
"""The other kinds, each with a few puzzles."""
WITHOUT_OR_WITH_OLT = pytest.mark.parametrize("olt", [False, True])
EVERY_KIND = pytest.mark.parametrize("kind", pp.encode.KINDS)
BOTH_FORMS = pytest.mark.parametrize("form", [adapter.PuzzleEnvironment, adapter.BatchedPuzzleEnvironment])


def make(puzzle: str, seed: int | None = 1, **options) -> adapter.PuzzleEnvironment:
    return adapter.PuzzleEnvironment(puzzle, pp.spec(puzzle).easiest_params, seed=seed, **options)


def equal(a, b) -> bool:
    tree.assert_same_structure(a, b)
    return all(np.array_equal(x, y) for x, y in zip(tree.flatten(a), tree.flatten(b), strict=True))


def vectors(fields: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Fields as an observation has them: single numbers are vectors of one."""
    return {name: values.reshape(values.shape or (1,)) for name, values in fields.items()}


def conforms(value, spec) -> None:
    tree.assert_same_structure(value, spec)
    tree.map_structure(lambda one, of: of.validate(one), value, spec)


@WITHOUT_OR_WITH_OLT
@pytest.mark.parametrize("kind", OFTEN)
def test_dm_envs_own_checks_pass(puzzle, kind, olt):
    check_by_dm_env(puzzle, kind, olt)


@WITHOUT_OR_WITH_OLT
@pytest.mark.parametrize(("kind", "name"), SOME)
def test_dm_envs_own_checks_pass_with_every_kind(kind, name, olt):
    check_by_dm_env(name, kind, olt)


def check_by_dm_env(puzzle: str, kind: str, olt: bool) -> None:
    ends = []

    class Check(test_utils.EnvironmentTestMixin, unittest.TestCase):
        def make_object_under_test(self):
            return make(puzzle, observation=kind, olt=olt, undo=True, max_steps=15, width=48, height=40)

        def make_action_sequence(self):
            random = np.random.default_rng(0)
            return random.integers(self.environment.action_spec().num_values, size=40, dtype=np.int32)

        def assertValidStep(self, step):  # noqa: N802 (dm_env's name)
            super().assertValidStep(step)
            ends.append(step.last())

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Check).run(result)
    assert not result.errors + result.failures, (result.errors + result.failures)[0][1]
    assert result.testsRun == 4
    assert any(ends)


def test_specs_say_what_the_fields_say():
    env = make("net")
    spec = env.observation_spec()
    fields = pp.spec("net").fields("2x2")
    assert list(spec) == [field.name for field in fields]
    for field in fields:
        of = spec[field.name]
        assert (of.shape, of.dtype, of.minimum, of.maximum) == (
            field.shape or (1,),
            field.dtype,
            field.low,
            field.high,
        )
    actions = env.action_spec()
    assert isinstance(actions, specs.DiscreteArray)
    assert actions.num_values == len(env.action_names) == 5
    assert make("net", observation="pixels", width=50, height=40).observation_spec().shape == (40, 50, 3)
    olt = make("net", observation="flat", olt=True).observation_spec()
    assert olt._fields == ("observation", "legal_actions", "terminal")
    assert (olt.legal_actions.shape, olt.legal_actions.dtype) == ((5,), np.float32)
    assert (olt.terminal.shape, olt.terminal.dtype) == ((1,), np.float32)
    assert env.discount_spec() == specs.BoundedArray((), np.float32, 0, 1)


def test_an_olt_has_the_form_of_open_spiels_dm_env():
    """Acme's OpenSpielWrapper gives float32 masks of all actions, and so does ours."""
    env = make("fifteen", observation="flat", olt=True)
    random = np.random.default_rng(0)
    timestep = env.reset()
    for _ in range(200):
        olt = timestep.observation
        assert isinstance(olt, adapter.OLT)
        assert olt.observation.dtype == olt.legal_actions.dtype == olt.terminal.dtype == np.float32
        assert np.array_equal(olt.legal_actions, env.session.mask())
        assert olt.terminal == [timestep.last()]
        timestep = env.step(random.choice(np.flatnonzero(olt.legal_actions)))


def test_observations_are_the_sessions(puzzle):
    envs = [make(puzzle, 3, observation=kind, width=40, height=40) for kind in OFTEN]
    session = pp.Session(puzzle, pp.spec(puzzle).easiest_params, seed=3)
    state, flat, pixels = (env.reset().observation for env in envs)
    random = np.random.default_rng(1)
    bounds = {field.name: field for field in session.fields}
    for _ in range(20):
        expected = session.observe()
        assert equal(state, vectors(expected))
        scaled = [
            (values - bounds[name].low) / max(1, bounds[name].high - bounds[name].low)
            for name, values in expected.items()
        ]
        assert np.allclose(flat, np.concatenate([part.ravel() for part in scaled]), atol=1e-6)
        assert np.array_equal(pixels, session.pixels(40, 40))
        if session.status:
            break
        action = int(random.integers(len(session.actions)))
        session.step(action)
        state, flat, pixels = (env.step(action).observation for env in envs)


def test_one_hot_vectors_tell_every_number():
    env = make("solo", observation="one_hot")
    vector = env.reset().observation
    conforms(vector, env.observation_spec())
    numbers = sum(int(np.prod(field.shape)) for field in env.session.fields)
    assert vector.sum() == numbers
    assert set(np.unique(vector)) == {0.0, 1.0}
    start = 0
    for field in env.session.fields:
        for value in env.session.observe()[field.name].ravel():
            width = field.high - field.low + 1
            assert vector[start : start + width].argmax() == value - field.low
            start += width
    assert start == len(vector)


@EVERY_KIND
def test_observations_last(kind):
    name = "net" if kind == "graph" else "fifteen"
    batch = adapter.BatchedPuzzleEnvironment(name, "2x2", num_envs=2, observation=kind, olt=True)
    for env, lead in ((make(name, observation=kind, olt=True), ()), (batch, (2,))):
        first = env.reset()
        kept = copy.deepcopy(first)
        changed = False
        for action in range(4):
            now = env.step(np.full(lead, action))
            changed |= not equal(now.observation, kept.observation)
        assert changed
        assert equal(first.observation, kept.observation)
        env.close()


def test_a_solved_game_has_discount_zero_and_a_truncated_one_has_one():
    env = make("fifteen", olt=True, rewards=pp.Rewards(solved=5.0, step=-0.5))
    env.reset()
    random = np.random.default_rng(0)
    timestep = env.step(0)
    while not timestep.last():
        assert (timestep.reward, timestep.discount) == (-0.5, 1.0)
        timestep = env.step(random.integers(4))
    assert (timestep.reward, timestep.discount, timestep.observation.terminal) == (4.5, 0.0, [1.0])
    assert env.session.status == pp.Status.SOLVED

    env = make("net", olt=True, max_steps=3)
    env.reset()
    timesteps = [env.step(0) for _ in range(3)]
    assert [timestep.last() for timestep in timesteps] == [False, False, True]
    assert (timesteps[-1].reward, timesteps[-1].discount, timesteps[-1].observation.terminal) == (0.0, 1.0, [0.0])
    assert env.step(0).first()


def test_a_lost_game_has_discount_zero():
    env = make("mines", undo=False)
    random = np.random.default_rng(0)
    seen = set()
    for _ in range(5000):
        timestep = env.step(random.integers(env.action_spec().num_values))
        if timestep.last():
            assert timestep.discount == 0.0
            assert timestep.reward == env.session.status
            seen.add(float(timestep.reward))
    assert seen == {-1.0, 1.0}


def test_max_repeats_truncates():
    env = make("net", max_repeats=3)
    timestep = env.reset()
    steps = 0
    while not timestep.last():
        timestep = env.step(steps % 2)  # UP and DOWN
        steps += 1
    assert env.session.repeats == 3
    assert timestep.discount == 1.0


def test_rewards_and_their_spec():
    spec = make("net", rewards=pp.Rewards(solved=10.0, failed=-3.0, step=-0.25)).reward_spec()
    assert (spec.minimum, spec.maximum, spec.dtype) == (-3.25, 9.75, np.float32)
    spec = make("net", rewards=pp.Rewards(step=-0.25, no_effect=-0.5)).reward_spec()
    assert (spec.minimum, spec.maximum) == (-1.75, 0.75)
    dear = adapter.BatchedPuzzleEnvironment("net", "2x2", num_envs=2, rewards=pp.Rewards(1.0, 1.0, step=1.0))
    assert (dear.reward_spec().minimum, dear.reward_spec().maximum) == (0.0, 2.0)  # a FIRST has the 0
    assert not isinstance(make("net", rewards=pp.Rewards(solution=1.0)).reward_spec(), specs.BoundedArray)
    seen = []

    def hook(before, after):
        seen.append((before, after))
        return float(not np.array_equal(before["cursor_x"], after["cursor_x"]))

    env = make("net", rewards=pp.Rewards(hook=hook))
    assert not isinstance(env.reward_spec(), specs.BoundedArray)
    start = env.reset().observation
    right = env.step(env.action_names.index("RIGHT"))
    down = env.step(env.action_names.index("DOWN"))
    assert (right.reward, down.reward) == (1.0, 0.0)
    told = [(vectors(before), vectors(after)) for before, after in seen]
    assert equal(told, [(start, right.observation), (right.observation, down.observation)])


def test_seeds_and_game_ids():
    params = "3x3"
    env = adapter.PuzzleEnvironment("bridges", params, seed=7)
    seen = []
    for episode in range(3):
        env.reset()
        seen.append(env.session.game_id)
        assert seen[-1] == pp.Session("bridges", params, seed=episode_seed(7, episode)).game_id
    env.reset(seed=7)
    assert env.session.game_id == seen[0]
    env.reset()
    assert env.session.game_id == seen[1]
    env.reset(game_id="3x3#99")
    assert env.session.game_id == pp.Session("bridges", params, seed=99).game_id
    env.reset()
    assert env.session.seed == episode_seed(7, 3)
    with pytest.raises(pp.InvalidParams, match="other observations"):
        env.reset(game_id="4x4#1")
    assert env.step(0).first()


@pytest.mark.parametrize(("puzzle", "game_id"), [("bridges", "3x3#42"), ("net", "2x2#42")])
def test_an_instance_in_params_holds_whatever_seed_a_reset_gives(puzzle, game_id):
    wanted = pp.Session(puzzle, game_id=game_id)
    fixed = adapter.PuzzleEnvironment(puzzle, game_id, seed=3, max_steps=2)
    described = adapter.PuzzleEnvironment(puzzle, wanted.game_id)
    for seed in (None, None, 5, 42, None):
        for env in (fixed, described):
            assert equal(env.reset(seed=seed).observation, vectors(wanted.observe()))
            assert env.session.game_id == wanted.game_id
        assert fixed.session.seed == 42
    timesteps = [fixed.step(0) for _ in range(3)]
    assert (timesteps[1].last(), timesteps[2].first()) == (True, True)
    assert fixed.session.game_id == wanted.game_id
    params = game_id.split("#")[0]
    fixed.reset(game_id=f"{params}#9")
    assert fixed.session.seed == 9
    fixed.reset()
    assert fixed.session.game_id == wanted.game_id


def test_pickle_and_deepcopy_in_the_middle_of_an_episode(puzzle):
    env = make(puzzle, observation="flat", olt=True, undo=True, max_steps=20)
    random = np.random.default_rng(0)
    actions = random.integers(env.action_spec().num_values, size=50)
    for action in actions[:13]:
        env.step(action)
    twins = pickle.loads(pickle.dumps(env)), copy.deepcopy(env)
    for action in actions[13:]:
        expected = env.step(action)
        for twin in twins:
            assert equal(twin.step(action), expected)


@BOTH_FORMS
@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        ("obs_type", "flat", "observation"),
        ("one_hot", True, 'observation="one_hot"'),
        ("max_state_repeats", 3, "max_repeats"),
        ("allow_undo", True, "undo"),
        ("batch_size", 2, "num_envs"),
        ("n_envs", 2, "num_envs"),
        ("window_width", 64, "width"),
    ],
)
def test_old_names_of_options_are_answered_with_the_new_ones(form, old, value, new):
    with pytest.raises(pp.UnknownOption, match=f"'{old}', which is called {new} now; there are seed, undo"):
        form("net", "2x2", **{old: value})


@BOTH_FORMS
def test_a_task_and_its_options_are_the_environments(form):
    assert form("net", "2x2").task == pp.Task("net", "2x2")
    rewards = pp.Rewards(solved=3.0)
    options = {"seed": 5, "undo": True, "max_steps": 9, "max_repeats": 2, "rewards": rewards, "observation": "flat"}
    task = pp.Task("net", "2x2", **options, width=40, height=30, timeout=7.0)
    assert form("net", "2x2", **options, width=40, height=30, timeout=7.0).task == form(task).task == task
    one, other = form(task, observation="tokens", max_steps=3), form(task)
    assert (one.task.observation, one.task.max_steps, one.task.seed) == ("tokens", 3, 5)
    conforms(one.reset().observation, one.observation_spec())
    for env in (one, other):
        env.close()


@BOTH_FORMS
def test_undo_is_an_action_where_it_is_asked_for(form):
    plain, with_undo = form("pegs"), form("pegs", undo=True)
    assert with_undo.action_names == (*plain.action_names, "UNDO")
    assert with_undo.action_spec().maximum == plain.action_spec().maximum + 1


def test_texts_are_string_arrays():
    env = make("solo", observation="text")
    assert env.observation_spec() == specs.StringArray((), name="text")
    assert env.reset().observation == env.session.text()
    batch = adapter.BatchedPuzzleEnvironment("solo", env.task.params, num_envs=2, seed=1, observation="text")
    assert batch.observation_spec() == specs.StringArray((2,), name="text")
    assert batch.reset().observation[0] == env.session.text()
    batch.close()


def test_mistakes_are_said_and_the_environment_goes_on():
    with pytest.raises(pp.UnknownPuzzle, match="did you mean 'bridges'"):
        adapter.PuzzleEnvironment("bridge")
    with pytest.raises(pp.InvalidParams, match="Width and height must be at least 3"):
        adapter.PuzzleEnvironment("bridges", "2x2")
    with pytest.raises(pp.InvalidSeed):
        adapter.PuzzleEnvironment("net", "2x2", seed=-1)
    with pytest.raises(pp.UnknownOption, match=r"no kind of observation 'smell'; there are .*flat.*tokens"):
        make("bridges", observation="smell")
    with pytest.raises(pp.UnknownOption, match="fifteen is no graph"):
        make("fifteen", observation="graph")
    with pytest.raises(TypeError):
        adapter.PuzzleEnvironment("net", "2x2", 1)
    env = make("fifteen")
    with pytest.raises(pp.SessionClosed, match="reset"):
        _ = env.session
    env.reset()
    for wrong in (4, -1, 1.5, "JUMP", np.array([1])):
        with pytest.raises(pp.InvalidAction):
            env.step(wrong)
    with pytest.raises(pp.InvalidGameID):
        env.reset(game_id="2x2#")
    env.reset()
    assert env.step("UP").mid()
    assert env.step(np.array(1, np.int32)).mid()
    env.close()
    env.close()
    with pytest.raises(pp.SessionClosed):
        env.step(0)
    assert env.reset().first()
    with env:
        pass
    assert env.session.closed


def test_core_and_the_message_without_the_framework():
    code = """
import sys
sys.modules["dm_env"] = None
import puzzleport
try:
    import puzzleport.adapters.dm_env
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'puzzleport[dm-env]'" in done.stdout


# ---- the batched environment


@WITHOUT_OR_WITH_OLT
@EVERY_KIND
def test_a_batch_equals_single_environments(kind, olt):
    check_batch("untangle" if kind == "graph" else "samegame", observation=kind, olt=olt, width=40, height=30)


def test_a_batch_equals_single_environments_for_all(puzzle):
    check_batch(puzzle, observation="flat", olt=True, rewards=pp.Rewards(solved=2.0, step=-0.125))


def moved(before, after):
    """A hook for one game: the sum over a batch would be another number, and so would an array of them."""
    return float(after["cursor_x"]) - float(before["cursor_y"]) + np.count_nonzero(before["wires"] != after["wires"])


def moved_in_many(before, after):
    """The same for many games at once."""
    turned = before["wires"] != after["wires"]
    return after["cursor_x"] * 1.0 - before["cursor_y"] + turned.reshape(len(turned), -1).sum(axis=1)


@pytest.mark.parametrize(
    "rewards",
    [
        pp.Rewards(hook=moved),
        pp.Rewards(hook=moved_in_many, batched=True),
        pp.Rewards(hook=moved, solution=2.0, no_effect=-0.25, step=-0.125),
    ],
    ids=["hook", "batched-hook", "progress"],
)
def test_a_batch_pays_what_single_environments_pay(rewards):
    paid = check_batch("net", rewards=rewards)
    assert len(np.unique(paid)) > 3


def test_one_hook_and_its_batched_form_pay_the_same():
    def paid(form, hook, batched, **options):
        env = form("net", "2x2", seed=1, rewards=pp.Rewards(hook=hook, batched=batched), **options)
        lead = (env.num_envs,) if options else ()
        env.reset()
        return np.array([env.step(np.full(lead, action)).reward for action in (4, 0, 4, 3, 3, 4)]).reshape(6, -1)[:, 0]

    single = paid(adapter.PuzzleEnvironment, moved, False)
    assert len(set(single)) > 1
    assert np.array_equal(single, paid(adapter.PuzzleEnvironment, moved_in_many, True))
    assert np.array_equal(single, paid(adapter.BatchedPuzzleEnvironment, moved, False, num_envs=3))
    assert np.array_equal(single, paid(adapter.BatchedPuzzleEnvironment, moved_in_many, True, num_envs=3))


@BOTH_FORMS
def test_a_hook_for_many_must_be_declared(form):
    env = form("net", "2x2", seed=1, rewards=pp.Rewards(hook=lambda before, after: np.zeros(2)))
    actions = 0 if form is adapter.PuzzleEnvironment else [0]
    env.reset()
    with pytest.raises(ValueError, match=r"not an array of shape \(2,\).*batched=True"):
        env.step(actions)
    env.close()


def check_batch(puzzle: str, **options) -> list[float]:
    """Step a batch and single environments with the same seeds side by side; what was paid."""
    n, options = 3, {**options, "undo": True, "max_steps": 20, "max_repeats": 9}
    params = pp.spec(puzzle).easiest_params
    batch = adapter.BatchedPuzzleEnvironment(puzzle, params, seed=50, num_envs=n, threads=2, **options)
    singles = [make(puzzle, 50 + slot, **options) for slot in range(n)]
    random = np.random.default_rng(4)
    last, paid = 0, []
    for step in range(60):
        actions = random.integers(len(batch.action_names), size=n, dtype=np.int32)
        batch.action_spec().validate(actions)
        timestep = batch.step(actions) if step else batch.reset()
        conforms(timestep.observation, batch.observation_spec())
        conforms(timestep.reward, batch.reward_spec())
        conforms(timestep.discount, batch.discount_spec())
        for slot, env in enumerate(singles):
            expected = env.step(int(actions[slot]))
            got = tree.map_structure(lambda values, slot=slot: values[slot], timestep)
            assert got.step_type == expected.step_type
            assert (got.first(), got.last()) == (expected.first(), expected.last())
            assert got.reward == (0.0 if expected.first() else expected.reward)
            assert got.discount == (1.0 if expected.first() else expected.discount)
            assert equal(got.observation, expected.observation)
            paid.append(float(got.reward))
        last += timestep.last().sum()
    assert last > 0
    batch.close()
    return paid


def test_streams_of_a_batch():
    batch = adapter.BatchedPuzzleEnvironment("twiddle", "3x3n2", seed=5, num_envs=4, observation="flat")
    first = batch.step(np.zeros(4, np.int32))
    assert isinstance(first, dm_env.TimeStep)
    assert first.first().all()
    second = batch.reset()
    assert not equal(first.observation, second.observation)
    assert equal(batch.reset(seed=5), first)
    assert equal(batch.reset(), second)
    assert equal(batch.reset(seed=[5, 6, 7, 8]), first)
    batch.close()

    late = adapter.BatchedPuzzleEnvironment("twiddle", "3x3n2", seed=5, num_envs=4, observation="flat")
    with pytest.raises(pp.InvalidSeed):
        late.reset(seed=[1])
    assert equal(late.reset(), first)  # a reset that failed does not use up the seed
    late.close()


def test_mistakes_with_a_batch():
    with pytest.raises(pp.InvalidSeed):
        adapter.BatchedPuzzleEnvironment("net", "2x2", seed=-1, num_envs=2)
    with pytest.raises(TypeError):
        adapter.BatchedPuzzleEnvironment("net", "2x2", 2)
    batch = adapter.BatchedPuzzleEnvironment("net", "2x2", num_envs=2)
    batch.reset()
    for wrong in ([0, 5], [0], [0.5, 1.0]):
        with pytest.raises(pp.InvalidAction):
            batch.step(wrong)
    with pytest.raises(pp.InvalidSeed):
        batch.reset(seed=[1])
    assert batch.step([0, 1]).mid().all()
    batch.close()
    batch.close()
    with pytest.raises(pp.SessionClosed):
        batch.step([0, 1])
