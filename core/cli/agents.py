"""The command agents: the published ones, and whether they do what their cards say."""

from __future__ import annotations

import click
from rich.table import Table

from ..agents.published import Agent, available, card, load
from ..benchmark.learned import agree, play_agent
from ..errors import UnknownOption
from ..game_id import episode_seed, random_seed
from ..puzzle_spec import optimal_steps
from ..task import Task
from .common import Options, WholeHelp, console, emit, tracked


@click.group(cls=WholeHelp)
def agents() -> None:
    """Published agents: networks that have learned, and play with NumPy alone."""


@agents.command("list")
@Options.formats
def list_agents(form: str | None) -> None:
    """List the published agents, with how they were trained and what they reach."""
    rows = []
    for name in available():
        about = card(name)
        figures = about["figures"]
        rows.append(
            {
                "agent": name,
                "params": about["params"],
                "recipe": about["recipe"],
                "within_bound_percent": figures["own_within"],
                "mean_steps": figures["own_steps"],
                "spl": figures["own_spl"],
                "episodes": figures["own_episodes"],
            }
        )
    shown = Table("agent", "params", "recipe")
    for title in ("within the bound", "mean steps", "SPL", "episodes"):
        shown.add_column(title, justify="right")
    for row in rows:
        within = f"{row['within_bound_percent']:.1f}%"
        shown.add_row(
            *(str(row[name]) for name in ("agent", "params", "recipe")),
            within,
            *(str(row[name]) for name in ("mean_steps", "spl", "episodes")),
        )
    emit(rows, form, shown)


@agents.command()
@click.option(
    "--agent", "names", multiple=True, help="Which, such as net-easiest; may be given several times. All without."
)
@click.option("--episodes", default=200, show_default=True, help="For each agent.")
@click.option("--seed", type=int, help="Of the stream of instances. Without it, one is drawn and printed.")
@Options.formats
def verify(names: tuple[str, ...], episodes: int, seed: int | None, form: str | None) -> None:
    """Let published agents play fresh games, and compare their success within the bound with their cards.

    An agent agrees where both shares may be of the same policy; by chance one in a thousand would not.
    """
    seed = random_seed() if seed is None else seed
    seeds = [episode_seed(seed, number) for number in range(episodes)]
    unknown = [name for name in names if name not in available()]
    if unknown:
        raise UnknownOption(f"there is no published agent {unknown[0]!r:.80}; there are {', '.join(available())}")
    rows = [check(name, seeds) for name in tracked(names or available(), "playing")]
    shown = Table("agent", "agrees")
    for title in ("published", "now", "episodes"):
        shown.add_column(title, justify="right")
    for row in rows:
        told = "yes" if row["agrees"] else "NO"
        shares = (f"{row[what]:.1f}%" for what in ("published_percent", "now_percent"))
        shown.add_row(str(row["agent"]), told, *shares, str(row["episodes"]))
    emit(rows, form, shown)
    if form is None:
        console.print(f"seed {seed}", highlight=False)
    wrong = [str(row["agent"]) for row in rows if not row["agrees"]]
    if wrong:
        raise ValueError(f"these agents do not do what their cards say: {', '.join(wrong)}")


def check(name: str, seeds: list[int]) -> dict[str, float | str | bool]:
    """What a published agent does on instances, beside its card."""
    figures = card(name)["figures"]
    puzzle, _, level = name.rpartition("-")
    agent: Agent = load(puzzle, level)
    bound = optimal_steps(agent.puzzle, agent.params)
    played = play_agent(agent, Task(agent.puzzle, agent.params, max_steps=bound), seeds, temperature=agent.temperature)
    published = figures["own_within"] / 100 * figures["own_episodes"], int(figures["own_episodes"])
    now = float(played.solved.sum()), len(seeds)
    return {
        "agent": name,
        "published_percent": figures["own_within"],
        "now_percent": round(100 * now[0] / now[1], 2),
        "episodes": len(seeds),
        "agrees": agree(published, now),
    }
