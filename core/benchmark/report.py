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

from .evaluation import as_csv
from ..files import aside, write
from .paper import table
from ..session import Session
from ..puzzle_spec import canonical_params, optimal_steps, spec

Setting = tuple[str, str]
ALGORITHMS = tuple(dict.fromkeys(row["algorithm"] for row in table("results")))
"""The columns of the paper."""
SUFFIXES = (".html", ".png", ".svg", ".md", ".csv")


@dataclass(frozen=True)
class Cell:
    """What one policy reached on one setting."""

    mean: float | None
    success: float | None

    def __str__(self) -> str:
        return "-" if self.mean is None else f"{self.mean:,.0f} ({self.success:.1f}%)"


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

    def cell(self, column: str, setting: Setting) -> Cell:
        """One cell; an empty one where there is no result."""
        return self.cells.get((column, *setting), Cell(None, None))

    def difference(self, setting: Setting) -> tuple[float | None, float | None]:
        """Our first column against the paper's first: success in points, mean length in percent."""
        if not (self.ours and self.papers):
            return None, None
        ours, paper = self.cell(self.ours[0], setting), self.cell(self.papers[0], setting)
        if ours.success is None or (self.papers[0], *setting) not in self.cells:
            return None, None
        points = ours.success - (paper.success or 0.0)
        return points, None if ours.mean is None or paper.mean is None else 100 * (ours.mean / paper.mean - 1)

    def rows(self) -> list[dict[str, Any]]:
        """The table as records."""
        rows = []
        for setting in self.settings:
            row: dict[str, Any] = dict(zip(("puzzle", "params"), setting, strict=True))
            row["optimal_upper_bound"] = optimal_steps(*setting)
            for column in self.columns:
                cell = self.cell(column, setting)
                row[f"{column}: steps"], row[f"{column}: success"] = cell.mean, cell.success
            points, percent = self.difference(setting)
            row["success difference"] = None if points is None else round(points, 1)
            row["steps difference %"] = None if percent is None else round(percent, 1)
            rows.append(row)
        return rows

    def printed(self) -> tuple[list[str], list[list[str]]]:
        """The table as people read it: titles, and a line for each setting."""
        titles = ["puzzle", "params", "optimal ≤", *self.columns, "success", "steps"]
        lines = []
        for setting in self.settings:
            points, percent = self.difference(setting)
            lines.append(
                [
                    *setting,
                    f"{optimal_steps(*setting):,}",
                    *(str(self.cell(column, setting)) for column in self.columns),
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
            raise ValueError(f"the paper has no column {column!r}; it has {', '.join(ALGORITHMS)}")
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
        cells[key] = Cell(row["mean_successful_steps"], row["success_percent"])
    for row in table("results"):
        mean, success = row["mean_successful_steps"], row["success_percent"]
        key = _paper(row["algorithm"]), row["puzzle"], canonical_params(row["puzzle"], row["params"])
        cells[key] = Cell(float(mean) if mean else None, float(success) if success else None)
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
    """The paper's plots: length by algorithm, success by puzzle, length against the optimal bound. A star: the paper's."""
    pyplot = _pyplot()
    columns, settings = comparison.columns, comparison.settings
    height = max(4.0, 0.22 * len(settings) + 1.5)
    figure, (left, middle, right) = pyplot.subplots(
        1, 3, figsize=(17, height), width_ratios=(1.0, 1.3, 1.2), layout="constrained"
    )
    colours = [pyplot.get_cmap("tab20")(index % 20) for index in range(len(columns))]
    names = [_short(column) for column in columns]

    solved = [one for one in settings if all(comparison.cell(column, one).mean is not None for column in columns)]
    bars = {"optimal ≤": [float(optimal_steps(*one)) for one in solved]}
    for name, column in zip(names, columns, strict=True):
        bars[name] = [comparison.cell(column, one).mean or 0.0 for one in solved]
    means = [float(np.mean(lengths)) if lengths else 0.0 for lengths in bars.values()]
    left.barh(list(bars), means, color=["0.6", *colours])
    left.bar_label(left.containers[0], fmt="{:,.0f}", padding=3)
    left.margins(x=0.2)
    left.invert_yaxis()
    left.set_title(f"mean steps of solved episodes\nover the {len(solved)} settings that all solve")

    success = np.array([[comparison.cell(column, one).success or 0.0 for column in columns] for one in settings])
    middle.imshow(success, cmap="viridis", vmin=0, vmax=100, aspect="auto")
    for (y, x), value in np.ndenumerate(success):
        middle.text(x, y, f"{value:.0f}", ha="center", va="center", fontsize=7, color="k" if value > 60 else "w")
    middle.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
    middle.set_yticks(range(len(settings)), [" ".join(one) for one in settings], fontsize=7)
    middle.set_title("solved, %")

    for name, column, colour in zip(names, columns, colours, strict=True):
        points = [(optimal_steps(*one), comparison.cell(column, one).mean) for one in settings]
        shown = np.array([point for point in points if point[1]], float).reshape(-1, 2)
        right.scatter(shown[:, 0], shown[:, 1], s=18, color=colour, label=name)
    ends = (10, 10_000)
    right.plot(ends, ends, color="0.6", linewidth=1)
    right.set(xscale="log", yscale="log", xlabel="upper bound of optimal steps", ylabel="mean steps of solved episodes")
    right.legend(fontsize=8)
    right.set_title("length against the optimal bound")
    return figure


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
<p>Mean steps of the solved episodes, and in brackets how many were solved. The last two columns compare our first
with the paper's first: success in points, and mean length.</p>
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
        write(path, "".join(f"| {' | '.join(line)} |\n" for line in [titles, ruler, *lines]))
    elif path.suffix == ".html":
        write(path, _page(comparison))
    else:
        figure = plot(comparison)
        with aside(path) as part:
            figure.savefig(part, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
        _pyplot().close(figure)
