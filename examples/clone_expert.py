"""Behaviour cloned from an expert's games, beside PPO that starts from nothing: python examples/clone_expert.py

In the paper no algorithm ever solved Solo 2x2, Loopy 3x3t0de, Pearl 5x5de or Unruly 6x6dt: chance never finds the goal, so
there is nothing to learn from. Here two equal networks, each a policy of MaskablePPO, play the same frozen instances: one was
taught the moves of a Minari dataset, the other trained on as many steps of its own, or more.

--dagger ROUNDS goes on from the dataset: the clone plays, an expert says what it would have done, the clone learns that too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import minari
import numpy as np
import torch
from common import Budget, arguments
from sb3_contrib import MaskablePPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from tqdm import tqdm

import puzzleport as pp
from puzzleport.adapters.gymnasium import PuzzleEnv
from puzzleport.adapters.minari import collect_demos, default_id
from puzzleport.adapters.sb3 import sb3_vec_env
from puzzleport.adapters.sb3_train import ModelPolicy
from puzzleport.benchmark.evaluation import evaluate

Array = np.ndarray[Any, Any]
OBSERVATION = {"observation": "one_hot"}
SETTINGS = {"n_steps": 64, "batch_size": 512, "n_epochs": 4, "learning_rate": 1e-3, "gamma": 0.99, "ent_coef": 0.01}
BATCH = 512


class Columns(BaseFeaturesExtractor):
    """The part of an observation that changes at all; a board's geometry, as Loopy shows it, may be most of it."""

    def __init__(self, space: Any, columns: Array) -> None:  # noqa: ANN401 (the observation's)
        super().__init__(space, len(columns))
        self.register_buffer("columns", torch.as_tensor(columns))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return observation[:, self.columns]


class Lessons:
    """What the expert did: observations as fields, masks and actions; and on which instances."""

    def __init__(self) -> None:
        self.parts: list[tuple[dict[str, Array], Array, Array]] = []
        self.instances: set[str] = set()

    def add(self, observations: dict[str, Array], masks: Array, actions: Array) -> None:
        self.parts.append((observations, masks, actions))

    def joined(self) -> tuple[dict[str, Array], Array, Array]:
        fields = {name: np.concatenate([part[0][name] for part in self.parts]) for name in self.parts[0][0]}
        return fields, *(np.concatenate([part[i] for part in self.parts]) for i in (1, 2))

    def __len__(self) -> int:
        return sum(len(actions) for *_, actions in self.parts)


def demonstrations(options: Any) -> Lessons:  # noqa: ANN401 (the command line)
    """The lessons of a dataset, which is written first if it is not there."""
    os.environ["MINARI_DATASETS_PATH"] = str(Path(options.data).resolve())
    name = default_id(options.puzzle, options.params)
    try:
        dataset = minari.load_dataset(name)
    except FileNotFoundError:
        with tqdm(total=options.demos, desc="the expert plays") as bar:
            dataset = collect_demos(
                options.puzzle,
                options.params,
                episodes=options.demos,
                seed=options.seed,
                progress=lambda done: bar.update(done - bar.n),
            )
    lessons = Lessons()
    for episode in tqdm(dataset, desc="reading", total=len(dataset)):
        # The last observation is of the solved game: there is nothing left to do.
        before = {name: field[:-1] for name, field in episode.observations.items()}
        lessons.add(before, episode.infos["action_mask"][:-1], episode.actions)
    lessons.instances |= {about["game_id"] for about in dataset.storage.get_episode_metadata(dataset.episode_indices)}
    print(f"{name}: {len(dataset):,} episodes, {len(lessons):,} steps, {len(lessons.instances):,} different instances")
    return lessons


def changing(options: Any, lessons: Lessons) -> Array:  # noqa: ANN401 (the command line)
    """The numbers of an observation that are not always the same, in the lessons and in some random play."""
    env = sb3_vec_env(options.puzzle, options.params, num_envs=512, seed=options.seed, **OBSERVATION)
    random = np.random.default_rng(options.seed)
    observation = env.reset()
    usual = observation[0]
    changed = (observation != usual).any(0)
    for _ in range(50):
        masks = np.stack(env.env_method("action_masks"))
        observation = env.step((random.random(masks.shape) * masks).argmax(1))[0]
        changed |= (observation != usual).any(0)
    env.close()
    encode, (fields, _, actions) = one_hot(options), lessons.joined()
    for rows in np.array_split(np.arange(len(actions)), len(actions) // 4096 + 1):
        changed |= (encode({name: field[rows] for name, field in fields.items()}) != usual).any(0)
    return np.flatnonzero(changed)


def one_hot(options: Any) -> Callable[[dict[str, Array]], Array]:  # noqa: ANN401 (the command line)
    """Makes of fields what the environment's observation is."""
    task = pp.Task(options.puzzle, options.params, **OBSERVATION)
    own = {field.name: field.shape for field in task.layout.fields}
    # A dataset has single numbers as vectors of one.
    return lambda seen: task.encoder.encode({name: view.reshape(len(view), *own[name]) for name, view in seen.items()})


def learner(options: Any, columns: Array) -> MaskablePPO:  # noqa: ANN401 (the command line)
    """A fresh agent."""
    env = sb3_vec_env(options.puzzle, options.params, num_envs=64, max_steps=options.max_steps, **OBSERVATION)
    network = {
        "net_arch": [options.width, options.width],
        "activation_fn": torch.nn.ReLU,
        "features_extractor_class": Columns,
        "features_extractor_kwargs": {"columns": columns},
    }
    return MaskablePPO("MlpPolicy", env, policy_kwargs=network, seed=options.seed, device="cpu", **SETTINGS)


def clone(model: MaskablePPO, lessons: Lessons, options: Any, what: str) -> None:  # noqa: ANN401 (the command line)
    """Teach the agent's policy the lessons: the cross-entropy of the expert's action among the legal ones."""
    fields, masks, actions = lessons.joined()
    encode = one_hot(options)
    random = np.random.default_rng(options.seed)
    updates = max(options.epochs * len(actions) // BATCH, 1)
    optimizer = torch.optim.Adam(model.policy.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=updates)
    model.policy.set_training_mode(True)
    bar = tqdm(range(updates), desc=what)
    for _ in bar:
        rows = random.integers(len(actions), size=BATCH)
        observation = encode({name: field[rows] for name, field in fields.items()})
        choice = model.policy.get_distribution(torch.as_tensor(observation), masks[rows])
        loss = -choice.log_prob(torch.as_tensor(actions[rows])).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)


def correct(model: MaskablePPO, lessons: Lessons, options: Any, round_: int) -> None:  # noqa: ANN401 (the command line)
    """One round of DAgger: the clone plays half as many steps as there are lessons, and the expert comments on each."""
    wanted, n = len(lessons) // 2, 64
    encode = one_hot(options)
    first = 1_000_000 * round_
    # Episodes are cut off early: who is lost for long meets little that is new.
    envs = [
        PuzzleEnv(options.puzzle, options.params, undo=False, max_steps=300, seed=first + i, expert_action=True)
        for i in range(n)
    ]
    seen = [env.reset() for env in envs]
    for _ in tqdm(range(0, wanted, n), desc=f"round {round_}: the clone plays"):
        lessons.instances |= {info["game_id"] for _, info in seen}
        fields = {name: np.stack([observation[name] for observation, _ in seen]) for name in seen[0][0]}
        masks = np.stack([info["action_mask"] for _, info in seen])
        advice = np.array([info["expert_action"] for _, info in seen])
        known = advice >= 0
        lessons.add({name: field[known] for name, field in fields.items()}, masks[known], advice[known])
        actions, _ = model.predict(encode(fields), action_masks=masks)
        for i, env in enumerate(envs):
            observation, _, terminated, truncated, info = env.step(actions[i])
            seen[i] = env.reset() if terminated or truncated else (observation, info)
    for env in envs:
        env.close()


def measure(model: MaskablePPO, lessons: Lessons, options: Any, what: str) -> float:  # noqa: ANN401 (the command line)
    """The share of the frozen evaluation set that is solved, told apart for instances that are in no lesson.

    Actions are drawn: who always takes the likeliest may go in circles.
    """
    policy = ModelPolicy(model, options.puzzle, options.params)
    with tqdm(total=options.episodes, desc="evaluating") as bar:
        result = evaluate(
            policy,
            options.puzzle,
            options.params,
            evalset="v1",
            episodes=options.episodes,
            max_steps=options.max_steps,
            progress=lambda one: bar.update(len(one.steps) - bar.n),
        )
    solved = np.array(result.status) == pp.Status.SOLVED
    with pp.Session(options.puzzle, options.params) as session:
        fresh = []
        for seed in pp.evalset("v1", params_of={options.puzzle: options.params})[options.puzzle].seeds[: len(solved)]:
            session.reset(seed)
            fresh.append(session.game_id not in lessons.instances)
    steps = result.summary()["mean_successful_steps"]
    print(
        f"{what}: {solved.mean():.1%} of {len(solved):,} solved"
        + (f", in {steps} steps on average" if steps else "")
        + (f"; {solved[fresh].mean():.1%} of the {sum(fresh):,} that are in no lesson" if any(fresh) else "")
    )
    return float(solved.mean())


def main() -> None:
    options = arguments(
        __doc__,
        steps=300_000,
        puzzle="solo",
        params="2x2",
        data="demos",
        demos=4000,
        epochs=20,
        dagger=0,
        width=256,
        max_steps=1000,
    )
    options.params = pp.canonical_params(options.puzzle, options.params)
    lessons = demonstrations(options)
    columns = changing(options, lessons)
    model = learner(options, columns)
    clone(model, lessons, options, "cloning")
    measure(model, lessons, options, "cloned")
    for round_ in range(1, options.dagger + 1):
        correct(model, lessons, options, round_)
        clone(model, lessons, options, f"round {round_}: cloning")
        measure(model, lessons, options, f"cloned, after round {round_} of DAgger")
    model.env.close()

    budget = max(options.steps, len(lessons))
    scratch = learner(options, columns)
    scratch.learn(budget, callback=Budget(budget, options.seconds), progress_bar=True)
    measure(scratch, lessons, options, f"MaskablePPO from scratch, {scratch.num_timesteps:,} steps")
    scratch.env.close()


if __name__ == "__main__":
    main()
