"""AlphaZero for one player: a small network learns a puzzle from scratch by playing it with the native search.

    python examples/openspiel_alphazero.py --puzzle net --params 2x2 --minutes 10 --plot curve.png

The search asks the network for priors and values of several leaves at once; the network learns the search's visits and how
the game ended. What is measured is the network alone, without any search, on other seeds than those it trains on.
Needs ``torch``, and ``matplotlib`` for the plot.
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import torch
from torch import nn

import puzzleport as pp
import puzzleport.adapters.openspiel as openspiel
from puzzleport.agents import search

Array = np.ndarray[Any, Any]
DISCOUNT = 0.95
TEST_SEEDS = 1_000_000  # the first seed of the examination


class Network(nn.Module):
    """One-hot fields in; a logit for each action and a value from -1 to 1 out."""

    def __init__(self, fields: tuple[pp.Field, ...], n_actions: int, width: int = 128) -> None:
        super().__init__()
        self.fields = fields
        size = sum(int(np.prod(field.shape, dtype=int)) * (field.high - field.low + 1) for field in fields)
        self.body = nn.Sequential(nn.Linear(size, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.policy, self.value = nn.Linear(width, n_actions), nn.Linear(width, 1)

    def encode(self, observation: dict[str, Array]) -> Array:
        """A batch of observations as one-hot rows."""
        parts = []
        for one in self.fields:
            values = observation[one.name].reshape(len(observation[one.name]), -1, 1)
            parts.append((values == np.arange(one.low, one.high + 1)).reshape(len(values), -1))
        return np.concatenate(parts, axis=1).astype(np.float32)

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.body(rows)
        return self.policy(hidden), torch.tanh(self.value(hidden)).squeeze(-1)

    @torch.inference_mode()
    def judge(self, observation: dict[str, Array], masks: Array) -> tuple[Array, Array]:
        """What the search asks: priors and values of several states."""
        logits, values = self(torch.from_numpy(self.encode(observation)))
        logits[torch.from_numpy(~masks)] = -1e9
        return torch.softmax(logits, -1).numpy(), values.numpy()


@dataclass
class Replay:
    """The latest positions: row, visits' shares, outcome."""

    items: deque[tuple[Array, Array, float]] = field(default_factory=lambda: deque(maxlen=20_000))

    def sample(self, n: int, random: np.random.Generator) -> tuple[torch.Tensor, ...]:
        """A random batch."""
        chosen = [self.items[i] for i in random.integers(len(self.items), size=n)]
        rows, policies, values = zip(*chosen, strict=True)
        return (
            torch.from_numpy(np.stack(rows)),
            torch.from_numpy(np.stack(policies)).float(),
            torch.tensor(values, dtype=torch.float32),
        )


def self_play(
    game: openspiel.PuzzleGame, network: Network, simulations: int, replay: Replay, random: np.random.Generator
) -> bool:
    """Play one game with the search and remember it; says whether it was solved."""
    state = game.new_initial_state()
    state.apply_action(int(random.integers(game.instances)))
    tree, moves = None, []
    while not state.is_terminal():
        if tree is None or not tree.follow(state.session):
            tree = search.Tree(state.session, seed=int(random.integers(2**31)))
        noise = random.dirichlet(np.full(game.num_distinct_actions(), 0.5))
        tree.judge(network.judge, simulations, batch=8, discount=DISCOUNT, noise=noise)
        result = tree.result
        observation = {name: value[None] for name, value in state.session.observe().items()}
        moves.append((network.encode(observation)[0], result.policy))
        explore = result.plan is None
        state.apply_action(int(random.choice(len(result.policy), p=result.policy)) if explore else result.action)
    worth = state.returns()[0]
    for row, policy in reversed(moves):
        worth *= DISCOUNT
        replay.items.append((row, policy, worth))
    return state.returns()[0] > 0


def learn(network: Network, optimizer: torch.optim.Optimizer, batch: tuple[torch.Tensor, ...]) -> None:
    """One step towards the search's visits and the outcomes."""
    rows, policies, outcomes = batch
    logits, values = network(rows)
    loss = nn.functional.cross_entropy(logits, policies) + nn.functional.mse_loss(values, outcomes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def examine(options: argparse.Namespace, network: Network, instances: int = 200) -> float:
    """The share of other instances that the network solves alone, always taking its favourite action."""
    game = load(options, TEST_SEEDS, instances)
    states = [game.new_initial_state() for _ in range(instances)]
    for instance, state in enumerate(states):
        state.apply_action(instance)
    while playing := [state for state in states if not state.is_terminal()]:
        seen = [state.session.observe(copy=False) for state in playing]
        masks = np.stack([state.session.mask() for state in playing])
        priors, _ = network.judge({name: np.stack([one[name] for one in seen]) for name in seen[0]}, masks)
        for state, action in zip(playing, priors.argmax(1), strict=True):
            state.apply_action(int(action))
    return float(np.mean([state.returns()[0] > 0 for state in states]))


def load(options: argparse.Namespace, seed: int, instances: int) -> Any:  # noqa: ANN401 (pyspiel is untyped)
    """The game with these instances."""
    return pyspiel.load_game(
        openspiel.game_name(options.puzzle),
        {"params": options.params, "seed": seed, "instances": instances, "max_steps": options.max_steps},
    )


def plot(curve: list[tuple[float, float]], options: argparse.Namespace) -> None:
    """Draw the curve."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    minutes, solved = zip(*curve, strict=True)
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(minutes, [100 * share for share in solved], marker="o", markersize=3)
    axes.set(xlabel="minutes", ylabel="solved without search (%)", ylim=(0, 102))
    axes.set_title(f"AlphaZero on {options.puzzle} {options.params}")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(options.plot, dpi=120)
    print(f"curve in {options.plot}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--puzzle", default="net")
    parser.add_argument("--params", default="2x2")
    parser.add_argument("--max-steps", type=int, default=30, help="steps after which a game is cut off")
    parser.add_argument("--simulations", type=int, default=64, help="simulations for each move")
    parser.add_argument("--instances", type=int, default=10_000, help="instances to train on")
    parser.add_argument("--minutes", type=float, default=10, help="when to stop at the latest")
    parser.add_argument("--goal", type=float, default=0.98, help="when to stop earlier: the share solved")
    parser.add_argument("--plot", type=Path, default=Path("alphazero.png"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # the network is too small for more
    random = np.random.default_rng(options.seed)
    game = load(options, 0, options.instances)
    network = Network(game.fields, game.num_distinct_actions())
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, weight_decay=1e-4)
    replay, start, games, solved = Replay(), time.monotonic(), 0, 0
    curve = [(0.0, examine(options, network))]
    print(f"untrained: {curve[-1][1]:.1%} of the examination", flush=True)
    while curve[-1][0] < options.minutes and curve[-1][1] < options.goal:
        solved = sum(self_play(game, network, options.simulations, replay, random) for _ in range(25))
        games += 25
        for _ in range(100):
            learn(network, optimizer, replay.sample(128, random))
        curve.append(((time.monotonic() - start) / 60, examine(options, network)))
        print(
            f"{curve[-1][0]:5.1f} min, {games:5} games: the search solved {solved} of the last 25, "
            f"the network alone {curve[-1][1]:.1%} of the examination",
            flush=True,
        )
    plot(curve, options)


if __name__ == "__main__":
    main()
