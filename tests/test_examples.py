from __future__ import annotations

import argparse
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
BRIEF = ["--steps", "256", "--seconds", "5", "--episodes", "4"]

# What each prints, with a budget that is too small to learn anything.
EXPECTED = {
    "clone_expert": [
        "puzzleport/solo-2x2/expert-v0: 20 episodes",
        "cloned: ",
        "cloned, after round 1 of DAgger: ",
        "MaskablePPO from scratch, ",
    ],
    "early_termination": ["does not end early", "seen again 10 times"],
    "jax_mctx": ["random on fifteen 2x2", "gumbel_muzero_policy on fifteen 2x2"],
    "jax_ppo": ["fifteen 2x2: "],
    "pixels_cnn": ["PPO on pictures of fifteen 2x2"],
    "record_video": ["fifteen-episode-0.mp4", "fifteen.gif"],
    "sb3_a2c": ["A2C on fifteen 2x2"],
    "sb3_contrib_algorithms": ["TRPO on", "QRDQN on", "RecurrentPPO on"],
    "sb3_dqn": ["DQN on fifteen 2x2"],
    "sb3_maskable_ppo": ["fifteen 2x2", "8 DummyVecEnv environments", "native 64-wide VecEnv"],
    "sb3_ppo": ["PPO on fifteen 2x2"],
    "tianshou_dqn": ["DQN of Tianshou on fifteen 2x2"],
    "torchrl_dqn": ["DQN of TorchRL on fifteen 2x2"],
    "torchrl_ppo": ["PPO of TorchRL on fifteen 2x2"],
    "transformer_netslide": ["netslide 2x3b1, trained on", "netslide 3x3b1, never seen"],
}
MORE = {
    "jax_mctx": ["--simulations", "4"],
    "jax_ppo": ["--puzzles", "fifteen"],
    "tianshou_dqn": ["--puzzles", "fifteen"],
    "torchrl_dqn": ["--puzzles", "fifteen"],
    "torchrl_ppo": ["--puzzles", "fifteen"],
    "clone_expert": ["--demos", "20", "--epochs", "1", "--dagger", "1", "--max-steps", "100"],
    "record_video": ["--films", "1"],
    "sb3_maskable_ppo": ["--puzzles", "fifteen"],
    "transformer_netslide": ["--max-steps", "20"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_runs_to_its_end(name, tmp_path, forks):
    done = forks.run(EXAMPLES / f"{name}.py", *BRIEF, *MORE.get(name, []), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in EXPECTED[name]:
        assert text in done.stdout
    assert any(sign in done.stderr + done.stdout for sign in ("100%", "it/s", "steps/s"))  # the progress bar


@pytest.mark.slow
def test_a_clone_solves_what_ppo_does_not(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))  # the example sets it too: this takes it back
    import clone_expert

    # Of the four puzzles that the example names, the one with the fewest instances needs the fewest lessons.
    about = {"puzzle": "loopy", "params": "3x3t0de", "data": tmp_path, "demos": 600, "epochs": 15, "width": 256}
    options = argparse.Namespace(**about, seed=0, episodes=125, max_steps=200)
    lessons = clone_expert.demonstrations(options)
    columns = clone_expert.changing(options, lessons)
    clone, scratch = (clone_expert.learner(options, columns) for _ in range(2))
    clone_expert.clone(clone, lessons, options, "cloning")
    scratch.learn(len(lessons))
    cloned, learned = (clone_expert.measure(model, lessons, options, "") for model in (clone, scratch))
    assert cloned > 0.1
    assert learned < 0.02
    for model in (clone, scratch):
        model.env.close()
