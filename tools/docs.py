"""The pages that come from the specs, and what MkDocs needs to know of the rest.

``python tools/docs.py`` writes ``docs/index.md`` and ``docs/puzzles/``: a page per puzzle, its pictures and its animation.
``--text`` leaves the pictures as they are, and ``--check`` only says which pages are stale.

MkDocs loads this file as a hook: it puts into the navigation what exists, and adds the API reference, a page per module.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import charts
from tree import ROOT, link_package

if TYPE_CHECKING:
    import puzzleport as pp

DOCS = ROOT / "docs"
WEB = ROOT / "build" / "web"
"""The boards to play on, where `make web` has made them."""
EXPERTS = DOCS / "experts.csv"
RANDOM = DOCS / "results" / "random.csv"
TRAINED = DOCS / "results" / "trained.csv"
AGENTS = DOCS / "results" / "agents.csv"
RUNGS = DOCS / "results" / "rungs.csv"
CANDIDATES = DOCS / "results" / "ladder.csv"
SPEED = DOCS / "results" / "speed.csv"
PICTURES = DOCS / "puzzles" / "pictures"
SIZE = 160
COLOURS = 64
MAX_FRAMES = 40
MAX_BYTES = 60_000
SEED = 1

STAGES = {"initial": "at the start", "mid": "half way", "solved": "solved"}

INDEX = """---
hide: [navigation, toc]
---

# puzzleport

The 40 logic puzzles of [Simon Tatham's Portable Puzzle Collection](https://www.chiark.greenend.org.uk/~sgtatham/puzzles/)
as reinforcement-learning tasks: seeded, scalable in size and difficulty, with exact action masks, and observations as
fields, pixels and text. The game runs in C; a thin *adapter* for each framework translates it into that framework's own
environment, so one task gives the same numbers under all of them.

## Install

On Debian or Ubuntu, with Python 3.10 or newer and a C compiler, in a clone of the repository:

```sh
make demo
```

More ways, extras and GPUs are on the page [Install](install.md).

## Five lines

```python
import gymnasium as gym
import puzzleport.adapters.gymnasium

env = gym.make("puzzleport/Tents-v0", params="4x4")
observation, info = env.reset(seed=42)  # the seed decides the puzzle
observation, reward, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
```

Start with [Gymnasium](start/gymnasium.md), [Stable-Baselines3](start/sb3.md), [OpenSpiel](start/openspiel.md),
[dm_env](start/dm_env.md), [JAX](start/jax.md), [TorchRL](start/torchrl.md), [PettingZoo](start/pettingzoo.md),
[RLlib](start/rllib.md), [AlphaZero](start/alphazero.md), [language models](language.md) or
[no framework at all](start/core.md); the [concepts](concepts.md) are the same under all of them, and the
[command line](cli.md) needs no code.

## The puzzles

The expert plays each at its easiest parameters.

<div class="filters" hidden>
<label><input type="checkbox" data-filter="hidden"> something is hidden</label>
<label><input type="checkbox" data-filter="undo"> UNDO can be an action</label>
<label>actions, at most <input type="range" data-filter="actions" min="4" max="16" value="16"> <output>16</output></label>
<label>random play solves <select data-filter="chance">
<option value="">any share</option><option value="hard">less than 10%</option>
<option value="middle">10% to 90%</option><option value="easy">more than 90%</option>
</select></label>
<span class="count"></span>
</div>

<div class="gallery cards" markdown>
{gallery}
</div>

Random play: every action equally likely, 1,000 games of at most 10,000 steps ([how it was measured](random.md)).

## Results at a glance

| what | result |
| --- | --- |
| [Random play](random.md) | the paper's figures again: 37 of 43 settings within 3 points of success and 15% of length |
| [Within the bound](random.md#within-the-papers-bound) | random legal actions solve {chance}% of the easiest games, on average |
| [Experts](experts.md) | {solved} of {seeds} games solved, in {settings} settings at the paper's two levels, by keys alone |
| [Agents that have learned](agents.md) | {learned} of 40 puzzles solved within the bound in 95% of games; by chance {lucky} |
| [Trained agents](trained.md) | MaskablePPO after 300,000 steps: {trained} |
| [Demonstrations](demonstrations.md) | imitating the expert solves Solo, Loopy and Pearl, which no agent of the paper did |
| [Speed](speed.md) | {speed} steps a second from a batch on two cores, with observations and masks |
"""

PAGE = """# {title}

{rules}

<div class="gallery" markdown>
{pictures}
</div>
{draws}
{facts}

## Play

<div data-puzzleport="{name}">The board to play on is made by <code>make web</code>.</div>

```python
import gymnasium as gym
import puzzleport.adapters.gymnasium

env = gym.make("{env_id}", params="{easiest}")
observation, info = env.reset(seed=42)
```

`puzzleport play {name}` plays it by hand, `puzzleport watch expert {name}` shows the expert.

**Rewards.** 1 when the game is solved, -1 when it is lost{can_fail}, 0 for every other step; `rewards=` changes that
([Concepts](../concepts.md#rewards)).

**End of an episode.** Terminated when the game is solved or lost. Truncated after `max_steps` steps (10,000), or when a state
comes back `max_repeats` times (0: never).

## Actions

{actions}

## Observation

At the easiest level, `{easiest}`. Fields of the board come first, then those that say what the next key acts on.

{fields}

## In words

How a [language model](../language.md) says moves; the board of the easiest level is written below.

{moves}

```text
{board}
```

## Parameters

{parameters}

| level | parameters | in full | optimal steps, at most |
|---|---|---|---|
{levels}

??? note "Presets"

{presets}

## Ladder

{ladder}

## Baselines

1,000 episodes of at most 10,000 steps, without UNDO; the expert's are 200. Where the figures come from:
[random play](../random.md), [trained agents](../trained.md), [experts](../experts.md).

{baselines}

## As text

`{name}`, `{easiest}`, seed {seed}:

```text
{text}
```
"""


# ---- the text of the pages


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; what would end a cell is escaped."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def picture(about: pp.PuzzleSpec, path: str, caption: str) -> str:
    """A picture over its caption."""
    return f"<figure markdown>\n![{about.title}: {caption}]({path})\n<figcaption>{caption}</figcaption>\n</figure>"


def env_id(about: pp.PuzzleSpec) -> str:
    """The id under which Gymnasium knows a puzzle."""
    return f"puzzleport/{about.title.replace(' ', '')}-v0"


def facts(about: pp.PuzzleSpec, known_as: str) -> str:
    """What a user asks before choosing a puzzle."""
    yes_no = {True: "yes", False: "no"}
    rows = [
        ["name", f"`{about.name}`"],
        ["Gymnasium", f"`{known_as}`"],
        ["OpenSpiel", f"`puzzleport_{about.name}`"],
        ["the engine can solve it", yes_no[about.can_solve]],
        ["something is hidden from the player", yes_no[about.hidden]],
        ["UNDO is an action", "yes, with `undo=True`" if about.undo else "no"],
    ]
    return table(["", ""], rows)


def bounds(field: pp.Field) -> str:
    """A field's bounds as an interval."""
    return f"{field.low} to {field.high}"


def fields(about: pp.PuzzleSpec) -> str:
    """The observation's fields, those of the ui last as in the record."""
    rows = [
        [
            f"`{field.name}`",
            str(field.dtype),
            " x ".join(map(str, field.shape)) or "scalar",
            bounds(field),
            field.about,
            "next key" if field.is_ui else "board",
        ]
        for field in about.fields(about.easiest_params)
    ]
    return table(["field", "type", "shape", "bounds", "meaning", "of"], rows)


def levels(about: pp.PuzzleSpec) -> str:
    """Both levels of the paper, and the engine's default."""
    import puzzleport as pp

    shown = {
        "easiest of the paper": about.easiest_params,
        "easy for people, of the paper": about.human_params,
        "default": about.default_params,
    }
    return "\n".join(
        f"| {name} | `{params}` | `{pp.canonical_params(about.name, params)}` | {pp.optimal_steps(about.name, params):,} |"
        for name, params in shown.items()
    )


def ladder(about: pp.PuzzleSpec) -> str:
    """The rungs: a table, a chart, and what is no rung and why."""
    rows = [row for row in read(RUNGS) if row["puzzle"] == about.name]
    shown = []
    for row in rows:
        marked = f"`{row['params']}`{' *' * int(row['few_instances'])}"
        level = {"easiest": ", easiest", "human": ", human"}.get(row["level"], "")
        if row["level"] == "easiest" and row["params"] == pp_params(about.name, about.human_params):
            level = ", easiest and human"
        nodes = row["nodes"].replace(">100000", "more than 100,000") if row["nodes"] else "-"
        solved = "" if row["expert_solved"] == row["frozen"] else f", {row['expert_solved']} solved"
        shown.append(
            [
                f"{row['rung']}{level}",
                marked,
                f"{row['expert_steps']} ({row['expert_low']} to {row['expert_high']}{solved})",
                f"{float(row['random_percent']):.0f}%",
                f"{float(row['masked_percent']):.0f}%, {float(row['masked_bound_percent']):.0f}% within {int(row['bound']):,}",
                nodes,
                f"{int(row['distinct']):,} of {int(row['tried']):,}",
                f"{float(row['generation_ms']):.3g} ms",
                row["frozen"],
            ]
        )
    head = [
        "rung",
        "parameters",
        "expert's steps",
        "random",
        "masked",
        "search nodes",
        "different instances",
        "generated in",
        "in v2",
    ]
    known = {row["params"] for row in rows}
    top = max(int(row["bound"]) for row in rows)
    beyond = [
        f"`{row['params']}` ({row['why_not']})"
        for row in read(CANDIDATES)
        if row["puzzle"] == about.name and row["why_not"] and row["params"] not in known and int(row["bound"]) > top
    ]
    measure = rows[0]["measure"]
    rising = "the expert's way is longer" if measure == "expert steps" else "there are more positions to search"
    counts = ", ".join(f"{int(row['hardness']):,}" for row in rows)
    counted = "" if measure == "expert steps" else f": {counts}"
    text = f"From rung to rung {rising}{counted} ([how the rungs were chosen](../ladder.md)).\n\n"
    text += table(head, shown) + f"\n\n![{about.title}: the ladder](../results/ladder/{about.name}.svg)\n"
    if any(row["few_instances"] == "1" for row in rows):
        text += "\n\\* Fewer than about 1,000 different instances: an agent may know them by heart.\n"
    if beyond:
        text += f"\nLarger ones that are no rungs: {', '.join(beyond)}.\n"
    return text.rstrip("\n")


def all_ladders() -> str:
    """The page on the ladder, with all rungs between its marks."""
    ladders: dict[str, list[str]] = {}
    for row in read(RUNGS):
        told = f"`{row['params']}`{'*' * int(row['few_instances'])} ({row['expert_steps']})"
        ladders.setdefault(row["puzzle"], []).append(told)
    rungs = table(
        ["puzzle", "rungs"], [[f"[{name}](puzzles/{name}.md)", ", ".join(told)] for name, told in ladders.items()]
    )
    before, start, rest = (DOCS / "ladder.md").read_text().partition("<!-- rungs -->\n")
    _, end, after = rest.partition("<!-- end of rungs -->\n")
    return f"{before}{start}{rungs}\n{end}{after}"


def pp_params(puzzle: str, params: str) -> str:
    """Parameters in full."""
    import puzzleport as pp

    return pp.canonical_params(puzzle, params)


def baselines(puzzle: str) -> str:
    """Random play, the paper's and ours, trained agents, and what our experts reach."""
    from puzzleport.benchmark.paper import table as paper_table

    rows = [
        ["random, the paper's", f"`{row['params']}`", row["success_percent"] or "0.0", row["mean_successful_steps"]]
        for row in paper_table("results")
        if row["puzzle"] == puzzle and row["algorithm"] == "Random"
    ]
    for results in (RANDOM, TRAINED):
        rows += [
            [row["algorithm"], f"`{row['params']}`", row["success_percent"], row["mean_successful_steps"]]
            for row in read(results)
            if row["puzzle"] == puzzle
        ]
    rows += [
        ["expert", f"`{row['params']}`", f"{100 * int(row['solved']) / int(row['seeds']):.1f}", row["mean_length"]]
        for row in read(EXPERTS)
        if row["puzzle"] == puzzle
    ]
    shown = [[player, params, f"{solved}%", steps or "-"] for player, params, solved, steps in rows]
    return table(["player", "parameters", "solved", "mean steps of the solved"], shown)


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a table of results."""
    with path.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source))


def in_words(about: pp.PuzzleSpec) -> dict[str, str]:
    """The moves that can be said, and the board as text."""
    from puzzleport.language import Dialogue

    with Dialogue(about.name, about.easiest_params, SEED) as dialogue:
        rows = [kind.help.split(": ", 1) for kind in dialogue.kinds]
        moves = table(["move", "meaning"], [[f"`{move}`", text] for move, text in rows])
        return {"moves": moves, "board": dialogue.board()}


def language() -> str:
    """The page on language models, with a fresh transcript between its marks."""
    from puzzleport.language import Dialogue

    with Dialogue("slant", "2x2de", SEED) as dialogue:
        told = [dialogue.prompt()]
        while not dialogue.done:
            told.append(f"> {dialogue.hint()}")
            told.append(str(dialogue.say(told[-1][2:])))
    before, start, rest = (DOCS / "language.md").read_text().partition("<!-- transcript -->\n")
    _, end, after = rest.partition("<!-- end of transcript -->\n")
    text = "\n".join(told)
    return f"{before}{start}```text\n{text}\n```\n{end}{after}"


def page(puzzle: str) -> str:
    """The page of one puzzle, with the pictures that there are."""
    import puzzleport as pp

    about = pp.spec(puzzle)
    shown = {f"{puzzle}-{stage}.png": caption for stage, caption in STAGES.items()}
    shown[f"{puzzle}.gif"] = "the expert, key by key"
    help_rows = [line.split(": ", 1) if ": " in line else ["", line] for line in about.params_help]
    presets = table(["title", "parameters"], [[one.title, f"`{one.params}`"] for one in about.presets])
    return PAGE.format(
        title=about.title,
        name=puzzle,
        rules=about.rules,
        draws=f"\n{about.draws}\n" if about.draws else "",
        pictures="\n".join(
            picture(about, f"pictures/{name}", caption) for name, caption in shown.items() if (PICTURES / name).exists()
        ),
        facts=facts(about, env_id(about)),
        env_id=env_id(about),
        can_fail="",
        actions=table(["number", "name"], [[str(number), f"`{name}`"] for number, name in enumerate(about.actions)]),
        easiest=about.easiest_params,
        fields=fields(about),
        **in_words(about),
        parameters=table(["part", "meaning"], [[f"`{part}`" if part else "", text] for part, text in help_rows]),
        levels=levels(about),
        presets="\n".join(f"    {line}" for line in presets.splitlines()),
        ladder=ladder(about),
        baselines=baselines(puzzle),
        seed=SEED,
        text=pp.Session(puzzle, about.easiest_params, seed=SEED).text().rstrip("\n"),
    )


def card(puzzle: str, chance: float) -> str:
    """A puzzle of the gallery, with what the filters ask for."""
    import puzzleport as pp

    about = pp.spec(puzzle)
    film = f"{puzzle}.gif" if (PICTURES / f"{puzzle}.gif").exists() else f"{puzzle}-mid.png"
    kind = "hard" if chance < 10 else "easy" if chance > 90 else "middle"
    data = f'data-hidden="{about.hidden:d}" data-undo="{about.undo:d}" data-actions="{len(about.actions)}" data-chance="{kind}"'
    shown = f"![{about.title}](puzzles/pictures/{film}){{loading=lazy}}<br>{about.title}"
    return f"[{shown}](puzzles/{puzzle}.md){{.card {data}}}"


def index() -> str:
    """The home page."""
    import puzzleport as pp
    from puzzleport.benchmark.speed import geometric_mean

    chance: dict[str, float] = {}
    for row in read(RANDOM):  # the easiest parameters stand first
        chance.setdefault(row["puzzle"], float(row["success_percent"]))
    trained = [row for row in read(TRAINED) if row["algorithm"] == "maskable_ppo"]
    random = {(row["puzzle"], row["params"]): float(row["mean_successful_steps"] or 0) for row in read(RANDOM)}
    shorter = sum(
        10 * float(row["mean_successful_steps"] or 1e9) <= random[row["puzzle"], row["params"]] for row in trained
    )
    by_chance = charts.read(charts.CHANCE)
    reached = [(row["recipe"], row["puzzle"]) for row in read(AGENTS) if float(row["own_within"]) >= 95]
    batches = [float(row["batch_all"]) for row in read(SPEED) if row["puzzle"] in chance]
    return INDEX.format(
        gallery="\n".join(card(name, chance[name]) for name in pp.puzzles()),
        solved=f"{sum(int(row['solved']) for row in read(EXPERTS)):,}",
        seeds=f"{sum(int(row['seeds']) for row in read(EXPERTS)):,}",
        settings=len(read(EXPERTS)),
        chance=f"{sum(float(row['masked']) for row in by_chance) / len(by_chance):.0f}",
        learned=len({puzzle for recipe, puzzle in reached if recipe not in ("random", "masked", "expert")}),
        lucky=sum(recipe == "masked" for recipe, _ in reached),
        trained=f"on {shorter} of {len(trained)} puzzles it needs at most a tenth of the steps of random play",
        speed=f"{geometric_mean(batches):,.0f}",
    )


CLI = """# Command line

`pip install 'puzzleport[cli]'` brings the command `puzzleport`; `make demo` installs it as `.venv/bin/puzzleport`. Every command
takes `--help`. Those that print figures take `--json` and `--csv` too, and what draws at random takes `--seed`.

{commands}
"""


def command_line() -> str:
    """The page of all commands, as they describe themselves."""
    import click

    from puzzleport.cli import main as group

    parts = []

    def add(command: click.Command, parent: click.Context | None, name: str, depth: int) -> None:
        context = click.Context(command, parent, info_name=name, max_content_width=80, terminal_width=80)
        if parent is not None:
            parts.append(f"{'#' * depth} {context.command_path}\n\n```text\n{command.get_help(context)}\n```")
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                if found is not None and not found.hidden:
                    add(found, context, inner, depth + 1)

    add(group, None, "puzzleport", 1)
    return CLI.format(commands="\n\n".join(parts))


def pages() -> dict[Path, str]:
    """All generated pages."""
    import puzzleport as pp

    return {
        DOCS / "index.md": index(),
        DOCS / "cli.md": command_line(),
        DOCS / "language.md": language(),
        DOCS / "ladder.md": all_ladders(),
        **{DOCS / "puzzles" / f"{name}.md": page(name) for name in pp.puzzles()},
    }


# ---- the pictures


def keys(session: pp.Session) -> list[int]:
    """The actions with which an expert plays the game to its end."""
    from puzzleport.agents.expert import ExpertPolicy

    player, expert, taken = session.clone(), ExpertPolicy(session.puzzle), []
    while not player.ended:
        taken.append(expert(player))
        player.step(taken[-1])
    return taken


def game(puzzle: str, params: str, most: int) -> tuple[pp.Session, list[int]]:
    """A game that needs at most so many keys if there is one among the first seeds, else the shortest; never a trivial one."""
    import puzzleport as pp

    best: tuple[pp.Session, list[int]] | None = None
    for seed in range(SEED, SEED + 10):
        session = pp.Session(puzzle, params, seed=seed)
        taken = keys(session)
        if len(taken) < 4 and best:
            continue
        if best is None or len(best[1]) < 4 or len(taken) < len(best[1]):
            best = session, taken
        if 4 <= len(taken) <= most:
            break
    assert best
    return best


def draw_stages(puzzle: str) -> None:
    """A game at human level: its start, its middle and its end."""
    import puzzleport as pp

    session, taken = game(puzzle, pp.spec(puzzle).human_params, 10_000)
    save_picture(session, f"{puzzle}-initial")
    for action in taken[: -(-len(taken) // 2)]:
        session.step(action)
    save_picture(session, f"{puzzle}-mid")
    for action in taken[-(-len(taken) // 2) :]:
        session.step(action)
    assert session.status == pp.Status.SOLVED, puzzle
    save_picture(session, f"{puzzle}-solved")


def save_picture(session: pp.Session, name: str) -> None:
    """A small PNG with a palette."""
    from PIL import Image

    shown = Image.fromarray(session.pixels(SIZE, SIZE)).quantize(COLOURS, dither=Image.Dither.NONE)
    shown.save(PICTURES / f"{name}.png", optimize=True)


def draw_animation(puzzle: str) -> None:
    """A game at the easiest level, a frame per key; long ones lose frames, and what is still too large is left out."""
    from PIL import Image, ImageSequence

    import puzzleport as pp

    session, taken = game(puzzle, pp.spec(puzzle).easiest_params, MAX_FRAMES - 1)
    path = PICTURES / f"{puzzle}.gif"
    if pp.record(session, taken, path, width=SIZE, height=SIZE, fps=3) > MAX_FRAMES:
        with Image.open(path) as film:
            frames = [frame.copy() for frame in ImageSequence.Iterator(film)]
        every = -(-len(frames) // (MAX_FRAMES - 1))
        kept = [*frames[:-1:every], frames[-1]]
        kept[0].save(path, save_all=True, append_images=kept[1:], duration=333, loop=0)
    if path.stat().st_size > MAX_BYTES:
        path.unlink()


# ---- MkDocs

CHANGELOG = "changelog.md"


def modules() -> dict[str, list[str]]:
    """The modules of the API reference, by part."""
    private = {"__init__", "__main__", "cli"}
    core = ["session", "batch", "spec", "rewards", "errors"]
    others = sorted(path.stem for path in (ROOT / "core").glob("*.py") if path.stem not in {*core, *private, "bench"})
    adapters = sorted(path.stem for path in (ROOT / "adapters").glob("*.py"))
    return {
        "core": [f"puzzleport.{name}" for name in [*core, *others]],
        "adapters": [
            f"puzzleport.adapters.{name}" for name in adapters if name not in private and not name.endswith("_bench")
        ],
    }


def present(nav: list[Any]) -> list[Any]:
    """The navigation without pages that do not exist; a folder stands for all its pages."""
    kept: list[Any] = []
    for item in nav:
        ((title, target),) = item.items()
        if isinstance(target, list):
            inside = present(target)
            if inside:
                kept.append({title: inside})
        elif target == "api/":
            kept.append({title: [{part: [f"api/{name}.md" for name in names]} for part, names in modules().items()]})
        elif target.endswith("/"):
            found = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / target).glob("*.md"))
            if found:
                kept.append({title: found})
        elif target == CHANGELOG or (DOCS / target).exists():
            kept.append(item)
    return kept


def on_startup(command: str, dirty: bool) -> None:
    """Lay out the package for the API reference: mkdocstrings looks for the folder before it is configured."""
    link_package(ROOT / "build" / "api")


def on_config(config: Any) -> Any:  # noqa: ANN401 (MkDocs' own)
    """Fill in the navigation."""
    from mkdocs.config.config_options import ExtraScriptValue

    config.nav = present(config.nav)
    if (WEB / "puzzleport.wasm").exists():
        script = ExtraScriptValue("web/embed.js")
        script.type = "module"
        config.extra_javascript.append(script)
        config.extra_css.append("web/style.css")
    return config


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401 (MkDocs' own)
    """Add the API reference, a page per module."""
    from mkdocs.structure.files import File

    for names in modules().values():
        for name in names:
            content = f"# {name.removeprefix('puzzleport.')}\n\n::: {name}\n"
            files.append(File.generated(config, f"api/{name}.md", content=content))
    files.append(File.generated(config, CHANGELOG, content=(ROOT / "CHANGELOG.md").read_text()))
    if (WEB / "puzzleport.wasm").exists():
        for path in [*WEB.glob("*.*"), *WEB.glob("agents/*")]:
            if path.is_file() and path.stem != "studio":
                files.append(File.generated(config, f"web/{path.relative_to(WEB).as_posix()}", abs_src_path=str(path)))
    return files


def main(arguments: list[str]) -> int:
    """Write, or check."""
    import puzzleport as pp

    if "--check" in arguments:
        stale = [path for path, text in pages().items() if not path.exists() or path.read_text() != text]
        stale += charts.stale()
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run python tools/docs.py --text", file=sys.stderr)
        return int(bool(stale))
    PICTURES.mkdir(parents=True, exist_ok=True)
    if "--text" not in arguments:
        for name in pp.puzzles():
            draw_stages(name)
            draw_animation(name)
    for path, text in pages().items():
        path.write_text(text)
    if any(charts.stale()):
        charts.draw()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
