"""Results beside the paper's: as a table, as the paper's plots, and as one page with all of it."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import quote
from ..files import aside, write
from ..puzzle_spec import canonical_params, spec
from ..session import Session
from .paper import table
from .results import BOUND, as_csv, bound

Setting = tuple[str, str]
ALGORITHMS = tuple(dict.fromkeys(row["algorithm"] for row in table("results")))
"""The columns of the paper."""
SUFFIXES = (".html", ".png", ".svg", ".md", ".csv")
NOT_RUN = "not run"
NOTES = (
    f"{BOUND}.",
    '"-": no episode was solved; "not run": there is no result.',
    '"(paper)", in plots a star: the figures that the paper prints. Where it prints a dash, it solved none.',
    "The last two columns compare our first policy with the paper's first: success in points, and mean steps.",
)
"""What people need to know to read the table and the plots."""


@dataclass(frozen=True)
class Cell:
    """What one policy reached on one setting. A policy that solved nothing has a success of 0 and no mean."""

    mean: float | None
    success: float | None

    @classmethod
    def of(cls, mean: float | None, success: float | None) -> Cell:
        """A cell of a table, in which both are left out where nothing was solved."""
        return cls(mean, 0.0 if success is None and mean is None else success)

    def __str__(self) -> str:
        steps = "-" if self.mean is None else f"{self.mean:,.0f}"
        return steps if self.success is None else f"{steps} ({self.success:.1f}%)"


@dataclass(frozen=True)
class Comparison:
    """Our columns, then the paper's, over the settings that we have results for."""

    settings: list[Setting]
    ours: list[str]
    papers: list[str]
    cells: dict[tuple[str, str, str], Cell]
    """By column, puzzle and parameters."""

    @property
    def columns(self) -> list[str]:
        """All columns, ours first."""
        return self.ours + self.papers

    def cell(self, column: str, setting: Setting) -> Cell | None:
        """One cell; None where the policy was not run."""
        return self.cells.get((column, *setting))

    def difference(self, setting: Setting) -> tuple[float | None, float | None]:
        """Our first column against the paper's first: success in points, mean length in percent."""
        if not (self.ours and self.papers):
            return None, None
        ours, paper = self.cell(self.ours[0], setting), self.cell(self.papers[0], setting)
        if ours is None or paper is None or ours.success is None or paper.success is None:
            return None, None
        points = ours.success - paper.success
        return points, None if ours.mean is None or paper.mean is None else 100 * (ours.mean / paper.mean - 1)

    def rows(self) -> list[dict[str, Any]]:
        """The table as records."""
        rows = []
        for setting in self.settings:
            row: dict[str, Any] = dict(zip(("puzzle", "params"), setting, strict=True))
            row["optimal_upper_bound"] = bound(*setting)
            for column in self.columns:
                cell = self.cell(column, setting) or Cell(None, None)
                row[f"{column}: steps"], row[f"{column}: success"] = cell.mean, cell.success
            points, percent = self.difference(setting)
            row["success difference"] = None if points is None else round(points, 1)
            row["steps difference %"] = None if percent is None else round(percent, 1)
            rows.append(row)
        return rows

    def printed(self) -> tuple[list[str], list[list[str]]]:
        """The table as people read it: titles, and a line for each setting."""
        titles = ["puzzle", "params", "bound", *self.columns, "success", "steps"]
        lines = []
        for setting in self.settings:
            points, percent = self.difference(setting)
            lines.append(
                [
                    *setting,
                    f"{bound(*setting):,}",
                    *(str(self.cell(column, setting) or NOT_RUN) for column in self.columns),
                    "" if points is None else f"{points:+.1f}",
                    "" if percent is None else f"{percent:+.0f}%",
                ]
            )
        return titles, lines


def _paper(name: str) -> str:
    """The column of the paper that a name stands for; ours are told apart by what they are called."""
    return f"{name} (paper)"


def compare(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> Comparison:
    """Put summaries of results beside columns of the paper."""
    for column in columns:
        if column not in ALGORITHMS:
            raise ValueError(f"the paper has no column {quote(column)}; it has {', '.join(ALGORITHMS)}")
    cells: dict[tuple[str, str, str], Cell] = {}
    settings: dict[Setting, None] = {}
    ours: dict[str, None] = {}
    for row in rows:
        setting = row["puzzle"], row["params"]
        settings[setting], ours[row["algorithm"]] = None, None
        key = row["algorithm"], *setting
        if key in cells:
            raise ValueError(
                f"two results of {row['algorithm']} for {setting[0]} {setting[1]}: give one of them a --name"
            )
        cells[key] = Cell.of(row["mean_successful_steps"], row["success_percent"])
    for row in table("results"):
        mean, success = row["mean_successful_steps"], row["success_percent"]
        key = _paper(row["algorithm"]), row["puzzle"], canonical_params(row["puzzle"], row["params"])
        cells[key] = Cell.of(float(mean) if mean else None, float(success) if success else None)
    return Comparison(list(settings), list(ours), [_paper(column) for column in columns], cells)


# ---- pictures


def _pyplot() -> Any:  # noqa: ANN401 (a module)
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("plots need an extra: pip install 'puzzleport[report]'") from error
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "puzzleport"  # the same results give the same file
    from matplotlib import pyplot

    return pyplot


def _short(column: str) -> str:
    return column.replace(" (Internal State)", "").replace(" (paper)", "*")


def plot(comparison: Comparison) -> Any:  # noqa: ANN401 (a figure)
    """The paper's plots: length by policy, success by puzzle, length against the bound."""
    pyplot = _pyplot()
    columns, settings = comparison.columns, comparison.settings
    height = max(4.0, 0.22 * len(settings) + 1.5)
    figure, (left, middle, right) = pyplot.subplots(
        1, 3, figsize=(17, height), width_ratios=(1.0, 1.3, 1.2), layout="constrained"
    )
    colours = [pyplot.get_cmap("tab20")(index % 20) for index in range(len(columns))]
    names = [_short(column) for column in columns]
    _draw_lengths(left, comparison, names, colours)
    _draw_success(middle, comparison, names)
    for name, column, colour in zip(names, columns, colours, strict=True):
        points = [(bound(*one), cell.mean) for one in settings if (cell := comparison.cell(column, one)) is not None]
        shown = np.array([point for point in points if point[1]], float).reshape(-1, 2)
        right.scatter(shown[:, 0], shown[:, 1], s=18, color=colour, label=name)
    ends = (10, 10_000)
    right.plot(ends, ends, color="0.6", linewidth=1)
    right.set(xscale="log", yscale="log", xlabel="bound", ylabel="mean steps of solved episodes")
    right.legend(fontsize=8)
    right.set_title("length against the bound")
    star = "* the figures that the paper prints. " if comparison.papers else ""
    figure.supxlabel(f"{star}{BOUND}.", fontsize=8)
    return figure


def _draw_lengths(axes: Any, comparison: Comparison, names: list[str], colours: list[Any]) -> None:  # noqa: ANN401
    """A bar for the mean length of each policy, over the settings that all of them solve."""
    by_column = [[comparison.cell(column, one) for one in comparison.settings] for column in comparison.columns]
    common = [
        at
        for at in range(len(comparison.settings))
        if all(cell is not None and cell.mean is not None for cell in (cells[at] for cells in by_column))
    ]
    if not common:
        axes.set_title("mean steps of solved episodes\nno setting is solved by all")
        axes.set_axis_off()
        return
    means = [float(np.mean([bound(*comparison.settings[at]) for at in common]))]
    for cells in by_column:
        means.append(
            float(np.mean([cell.mean for at in common if (cell := cells[at]) is not None and cell.mean is not None]))
        )
    axes.barh(["bound", *names], means, color=["0.6", *colours])
    axes.bar_label(axes.containers[0], fmt="{:,.0f}", padding=3)
    axes.margins(x=0.2)
    axes.invert_yaxis()
    axes.set_title(f"mean steps of solved episodes\nover the {len(common)} settings that all solve")


def _draw_success(axes: Any, comparison: Comparison, names: list[str]) -> None:  # noqa: ANN401 (matplotlib's)
    """A square for each policy and setting: its success, or blank where it was not run."""
    success = np.full((len(comparison.settings), len(comparison.columns)), np.nan)
    for y, setting in enumerate(comparison.settings):
        for x, column in enumerate(comparison.columns):
            cell = comparison.cell(column, setting)
            if cell is not None and cell.success is not None:
                success[y, x] = cell.success
    axes.set_facecolor("white")
    axes.imshow(np.ma.masked_invalid(success), cmap="viridis", vmin=0, vmax=100, aspect="auto")
    for (y, x), value in np.ndenumerate(success):
        missing = np.isnan(value)
        text, colour = (NOT_RUN, "0.5") if missing else (f"{value:.0f}", "k" if value > 60 else "w")
        axes.text(x, y, text, ha="center", va="center", fontsize=5 if missing else 7, color=colour)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(len(comparison.settings)), [" ".join(one) for one in comparison.settings], fontsize=7)
    axes.set_title("solved, %")


def _board(setting: Setting) -> str:
    """A picture of an instance, as an HTML image that needs no file."""
    from matplotlib import image

    data = io.BytesIO()
    image.imsave(data, Session(*setting, seed=4).pixels(96, 96), format="png")
    encoded = base64.b64encode(data.getvalue()).decode()
    return f'<img width="96" height="96" alt="" src="data:image/png;base64,{encoded}">'


def _page(comparison: Comparison) -> str:
    """One HTML page that holds everything itself."""
    pyplot = _pyplot()
    figure = plot(comparison)
    drawing = io.StringIO()
    figure.savefig(drawing, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    svg = drawing.getvalue()
    svg = svg[svg.index("<svg") :]
    titles, lines = comparison.printed()
    head = "".join(f"<th>{html.escape(title)}</th>" for title in ["", *titles])
    body = "".join(
        f"<tr><td>{_board(setting)}</td><td>{html.escape(spec(setting[0]).title)}</td>"
        + "".join(f"<td>{html.escape(text)}</td>" for text in line[1:])
        + "</tr>\n"
        for setting, line in zip(comparison.settings, lines, strict=True)
    )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in NOTES)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>puzzleport: results beside the paper's</title>
<style>
body {{ font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 1400px; padding: 0 1em; }}
svg {{ width: 100%; height: auto; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: 0.3em 0.8em; text-align: right; border-bottom: 1px solid #ddd; }}
th:nth-child(-n+3), td:nth-child(-n+3) {{ text-align: left; }}
</style></head><body>
<h1>Results beside the paper's</h1>
<p>Mean steps of the solved episodes, and in brackets how many were solved.</p>
<ul>{notes}</ul>
{svg}
<table><thead><tr>{head}</tr></thead><tbody>
{body}</tbody></table>
</body></html>
"""


def save(comparison: Comparison, path: Path) -> None:
    """Write a comparison in the form that the suffix names."""
    if path.suffix == ".csv":
        write(path, as_csv(comparison.rows()))
    elif path.suffix == ".md":
        titles, lines = comparison.printed()
        ruler = ["---", "---", *["---:"] * (len(titles) - 2)]
        rows = "".join(f"| {' | '.join(line)} |\n" for line in [titles, ruler, *lines])
        write(path, rows + "\n" + "".join(f"- {note}\n" for note in NOTES))
    elif path.suffix == ".html":
        write(path, _page(comparison))
    else:
        figure = plot(comparison)
        with aside(path) as part:
            figure.savefig(part, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
        _pyplot().close(figure)
