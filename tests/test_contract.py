"""One task under every adapter: the same names and defaults, and the same games, rewards, ends and observations."""

from __future__ import annotations

import dataclasses
import inspect

import click
import gymnasium as gym
import numpy as np
import pyspiel
import pytest

import puzzleport as pp
from puzzleport.adapters import dm_env, minari, openspiel, pettingzoo, rllib, rlp, sb3, torchrl
from puzzleport.adapters import gymnasium as gymnasium_adapter
from puzzleport.adapters import jax as jax_adapter
from puzzleport.benchmark.evaluation import evaluate
from puzzleport.cli import main
from puzzleport.task import RENAMED

from . import golden_signatures

DEFAULTS = {
    field.name: field.default if field.default is not dataclasses.MISSING else field.default_factory()
    for field in dataclasses.fields(pp.Task)
    if field.name not in {"puzzle", "game_id"}
}

# What takes the shared options as keywords of its own, and what takes them as **options and makes a Task of them.
NAMED = [pp.Session.__init__, pp.Batch.__init__, pp.rollout, pp.Batch.rollout, evaluate]
UNPACKED = [
    gymnasium_adapter.PuzzleEnv,
    gymnasium_adapter.PuzzleVectorEnv,
    sb3.PuzzleVecEnv,
    sb3.sb3_vec_env,
    dm_env.PuzzleEnvironment,
    dm_env.BatchedPuzzleEnvironment,
    pettingzoo.solo_v0.raw_env,
    pettingzoo.coop_v0.parallel_env,
    pettingzoo.race_v0.parallel_env,
    minari.collect_demos,
    jax_adapter.PuzzleEnv,
    torchrl.PuzzleEnv,
]


def test_the_table_of_options():
    assert {
        "params": None,
        "seed": None,
        "undo": False,
        "max_steps": 10_000,
        "max_repeats": 0,
        "rewards": pp.Rewards(),
        "observation": "state",
        "width": 128,
        "height": 128,
        "timeout": 60.0,
        "exclude": (),
        "ahead": True,
    } == DEFAULTS
    assert set(pp.TaskOptions.__annotations__) == DEFAULTS.keys() - {"params"}


@pytest.mark.parametrize("entry", NAMED + UNPACKED, ids=lambda entry: entry.__qualname__)
def test_an_option_has_one_name_and_one_default(entry):
    parameters = inspect.signature(entry).parameters
    for name, parameter in parameters.items():
        if name in DEFAULTS and parameter.default is not inspect.Parameter.empty:
            assert parameter.default == DEFAULTS[name], name
        assert name not in RENAMED or (name, entry.__name__) in ALIASES, f"{name} is called otherwise now"


ALIASES = {
    ("n_envs", "PuzzleVecEnv"),  # SB3's own word
    ("n_envs", "sb3_vec_env"),
    ("max_cycles", "SoloEnv"),  # PettingZoo's own word
    ("max_cycles", "CoopParallelEnv"),
    ("max_cycles", "RaceParallelEnv"),
}


def test_defaults_are_what_they_were():
    """Names, order and defaults of parameters are promises to those who call. After a wanted change: `make golden`."""
    assert golden_signatures.text().splitlines() == golden_signatures.PATH.read_text().splitlines()


@pytest.mark.parametrize("entry", UNPACKED, ids=lambda entry: entry.__qualname__)
def test_old_and_unknown_options_are_refused_by_name(entry):
    for old, new in (("obs_type", "observation"), ("max_state_repeats", "max_repeats"), ("allow_undo", "undo")):
        with pytest.raises(pp.UnknownOption, match=f"{old}.* is called {new} now"):
            entry("fifteen", "2x2", **{old: 1})
    with pytest.raises(pp.UnknownOption, match=r"no option 'colour'; there are .*max_steps"):
        entry("fifteen", "2x2", colour=1)
    with pytest.raises(pp.UnknownOption, match=r"smell.*there are both, flat, graph|shows one of.*smell"):
        entry("fifteen", "2x2", observation="smell")


def commands(group: click.Group, path: tuple[str, ...] = ()):
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize(
    ("path", "command"), list(commands(main)), ids=lambda one: " ".join(one) if isinstance(one, tuple) else ""
)
def test_the_command_line_has_the_same_names_and_defaults(path, command):
    for option in command.params:
        names = {one.lstrip("-").replace("-", "_") for one in option.opts}
        if option.hidden if isinstance(option, click.Option) else False:  # an old name, which says the new one
            continue
        assert not names & (set(RENAMED) | {"puzzles", "envs"}), path
        for name in names & (DEFAULTS.keys() - {"params", "observation", "rewards"}):
            default = option.to_info_dict()["default"]
            assert default == DEFAULTS[name] or default is None or "UNSET" in str(default), (path, name)


# ---- the same games through each


class Played:
    """One game: what was seen, paid and how it ended, as plain Python."""

    def __init__(self) -> None:
        self.seen: list[dict[str, np.ndarray]] = []
        self.paid: list[float] = []
        self.ends: list[int] = []

    def add(self, seen, paid, ended) -> None:
        self.seen.append({name: np.array(value) for name, value in seen.items()})
        self.paid.append(float(paid))
        self.ends.append(int(ended))

    def __eq__(self, other) -> bool:
        same = all(
            a.keys() == b.keys() and all(np.array_equal(a[name].ravel(), b[name].ravel()) for name in a)
            for a, b in zip(self.seen, other.seen, strict=True)
        )
        return same and np.allclose(self.paid, other.paid, atol=1e-6) and self.ends == other.ends


def through_core(puzzle, params, actions, **options):
    episodes, played = pp.Episodes(pp.Task(puzzle, params, **options)), Played()
    episodes.start(seed=options.get("seed"))
    for action in actions:
        played.add(seen := episodes.observation(), episodes.step(action), episodes.ended)
        if episodes.ended:
            break
    assert seen
    return played


def through_gymnasium(puzzle, params, actions, **options):
    env, played = gymnasium_adapter.PuzzleEnv(puzzle, params, **options), Played()
    seen, _ = env.reset()
    for action in actions:
        before = seen
        seen, paid, terminated, truncated, _ = env.step(action)
        played.add(before, paid, terminated + 2 * truncated)
        if terminated or truncated:
            break
    env.close()
    return played


def through_vector(puzzle, params, actions, **options):
    env, played = gymnasium_adapter.PuzzleVectorEnv(puzzle, params, 2, **options), Played()
    seen, _ = env.reset()
    for action in actions:
        before = {name: value[0] for name, value in seen.items()}
        seen, paid, terminated, truncated, _ = env.step([action, action])
        played.add(before, paid[0], terminated[0] + 2 * truncated[0])
        if terminated[0] or truncated[0]:
            break
    env.close()
    return played


def through_sb3(puzzle, params, actions, **options):
    env, played = sb3.PuzzleVecEnv(puzzle, params, 2, **options), Played()
    seen = env.reset()
    for action in actions:
        before = {name: value[0] for name, value in seen.items()}
        seen, paid, done, infos = env.step([action, action])
        cut = infos[0].get("TimeLimit.truncated", False)
        played.add(before, paid[0], 2 if cut else int(done[0]))
        if done[0]:
            break
    env.close()
    return played


def through_dm_env(puzzle, params, actions, **options):
    env, played = dm_env.PuzzleEnvironment(puzzle, params, **options), Played()
    step = env.reset()
    for action in actions:
        before = step.observation
        step = env.step(action)
        played.add(before, step.reward, 0 if not step.last() else 1 if step.discount == 0 else 2)
        if step.last():
            break
    return played


def through_batched_dm_env(puzzle, params, actions, **options):
    env, played = dm_env.BatchedPuzzleEnvironment(puzzle, params, num_envs=2, **options), Played()
    step = env.reset()
    for action in actions:
        before = {name: value[0] for name, value in step.observation.items()}
        step = env.step([action, action])
        last = step.last()[0]
        played.add(before, step.reward[0], 0 if not last else 1 if step.discount[0] == 0 else 2)
        if last:
            break
    env.close()
    return played


def through_pettingzoo(puzzle, params, actions, **options):
    env, played = pettingzoo.solo_v0.parallel_env(puzzle, params, **options), Played()
    seen, _ = env.reset()
    (agent,) = env.agents
    for action in actions:
        before = seen[agent]["observation"]
        seen, paid, terminated, truncated, _ = env.step({agent: action})
        played.add(before, paid[agent], terminated[agent] + 2 * truncated[agent])
        if not env.agents:
            break
    env.close()
    return played


def through_openspiel(puzzle, params, actions, rewards=None, **options):
    pay = {name: float(getattr(rewards, name)) for name in ("solved", "failed", "step", "no_effect")}
    given = {"params": params, "masked": False, **pay, **options}
    game = pyspiel.load_game(openspiel.game_name(puzzle), given)
    state, played = game.new_initial_state(), Played()
    observer = game.make_py_observer()
    for action in actions:
        observer.set_from(state, 0)
        before = {name: value.copy() for name, value in observer.dict.items()}
        state.apply_action(action)
        status = int(state.session.status)
        played.add(before, state.rewards()[0], 0 if not state.is_terminal() else 1 if status else 2)
        if state.is_terminal():
            break
    return played


ADAPTERS = [
    through_gymnasium,
    through_vector,
    through_sb3,
    through_dm_env,
    through_batched_dm_env,
    through_pettingzoo,
    through_openspiel,
]
REWARDS = pp.Rewards(solved=3.0, failed=-2.0, step=-0.125, no_effect=-0.5)


@pytest.mark.parametrize("through", ADAPTERS, ids=lambda one: one.__name__)
@pytest.mark.parametrize(
    ("puzzle", "params"),
    [("flood", "3x3c6m5"), ("inertia", "4x5"), ("fifteen", "3x2"), ("net", "2x3"), ("mines", "4x5n3")],
)
def test_the_same_game_through_each(through, puzzle, params):
    for seed in range(3):
        options = {"seed": seed, "max_steps": 37, "max_repeats": 15, "rewards": REWARDS}
        actions = np.random.default_rng(seed).integers(len(pp.Task(puzzle, params).actions), size=60).tolist()
        expected = through_core(puzzle, params, actions, **options)
        assert through(puzzle, params, actions, **options) == expected
        assert expected.ends[-1]


def test_infos_have_the_same_keys_after_every_step():
    keys = {"puzzle_state", "action_mask", "game_id", "state_repeats", "is_success"}
    options = {"max_steps": 5, "seed": 1}
    env = gymnasium_adapter.PuzzleEnv("net", "2x2", **options)
    seen = [env.reset()[1]] + [env.step(step % 5)[4] for step in range(3)]
    assert all(info.keys() == keys for info in seen)
    env.close()
    for mode in ("NextStep", "SameStep"):
        vector = gymnasium_adapter.PuzzleVectorEnv("net", "2x2", 2, autoreset_mode=mode, **options)
        seen = [vector.reset()[1]] + [vector.step([step % 5, 0])[4] for step in range(14)]
        plain = [{name for name in info if not name.startswith(("_", "final"))} for info in seen]
        assert all(names == keys for names in plain)
        finals = [info["final_info"] for info in seen if "final_info" in info]
        assert all({name for name in info if not name.startswith("_")} == keys for info in finals)
        assert bool(finals) == (mode == "SameStep")
        vector.close()
    zoo = pettingzoo.solo_v0.parallel_env("net", "2x2", **options)
    infos = [zoo.reset()[1], zoo.step({zoo.agents[0]: 0})[4]]
    assert all(info.keys() == keys for each in infos for info in each.values())
    zoo.close()


def test_a_task_goes_into_every_adapter():
    task = pp.Task("fifteen", "2x2#7", max_steps=9)
    for entry in (gymnasium_adapter.PuzzleEnv, dm_env.PuzzleEnvironment, pettingzoo.solo_v0.raw_env):
        env = entry(task)
        assert env.task == task
        env.close()
    envs = sb3.sb3_vec_env(task, num_envs=2)
    envs.reset()
    envs.close()
    assert gym.make("puzzleport/Fifteen-v0", params="2x2#7").unwrapped.task.game_id == "2x2#7"
    assert rllib.single_agent({"puzzle": "fifteen", "params": "2x2#7"}).task.game_id == "2x2#7"
    assert rlp.PaperEnv("fifteen", params="2x2#7").task.game_id == "2x2#7"
