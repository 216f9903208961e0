"""The command that writes trained policies for browsers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ..files import aside
from .common import console


@click.command()
@click.argument("model", required=False)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file; with --published the folder.")
@click.option("--published", is_flag=True, help="All published agents, and the list of them that the pages ask for.")
def export(model: str | None, out: Path, published: bool) -> None:
    """Write the trained agent MODEL for browsers, as JSON: a file of weights, or a published one such as net-easiest."""
    from ..agents import available, load
    from ..agents.published import read
    from ..studio import as_policy, write_policies

    if published == (model is not None):
        raise click.UsageError("name a model, or ask for --published")
    if model is None:
        console.print(f"{write_policies(out)} policies in {out}", soft_wrap=True)
        return
    agent = load(*model.rsplit("-", 1)) if model in available() else read(model)
    with aside(out) as part:
        part.write_text(json.dumps(as_policy(agent)))
    console.print(f"{agent.puzzle} {agent.params} in {out}: {out.stat().st_size:,} bytes", soft_wrap=True)
