from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
BRIEF = ["--steps", "256", "--seconds", "5", "--episodes", "4"]

# What each prints, with a budget that is too small to learn anything.
EXPECTED = {
    "early_termination": ["does not end early", "seen again 10 times"],
    "pixels_cnn": ["PPO on pictures of fifteen 2x2"],
    "record_video": ["fifteen-episode-0.mp4", "fifteen.gif"],
    "sb3_a2c": ["A2C on fifteen 2x2"],
    "sb3_contrib_algorithms": ["TRPO on", "QRDQN on", "RecurrentPPO on"],
    "sb3_dqn": ["DQN on fifteen 2x2"],
    "sb3_maskable_ppo": ["fifteen 2x2", "8 DummyVecEnv environments", "native 64-wide VecEnv"],
    "sb3_ppo": ["PPO on fifteen 2x2"],
    "transformer_netslide": ["netslide 2x3b1, trained on", "netslide 3x3b1, never seen"],
}
MORE = {
    "record_video": ["--films", "1"],
    "sb3_maskable_ppo": ["--puzzles", "fifteen"],
    "transformer_netslide": ["--max-steps", "20"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_runs_to_its_end(name, tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *BRIEF, *MORE.get(name, [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for text in EXPECTED[name]:
        assert text in done.stdout
    assert "100%" in done.stderr + done.stdout or "it/s" in done.stderr + done.stdout  # the progress bar
