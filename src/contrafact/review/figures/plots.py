"""The drawings of a manager's figures, as SVG or PNG. Matplotlib is imported when one is drawn.

Names of people, stages and categories are data: they are shortened, and never read as formulas.
"""

import io
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from contrafact.errors import require
from contrafact.review.figures.agreement import DisagreementMatrix, GrowthPoint
from contrafact.review.figures.audits import AuditFigures, TrainingRound
from contrafact.text.delimit import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Draw",
    "PlotFormat",
    "bars",
    "cumulative",
    "draw_plot",
    "growth_lines",
    "heat",
    "intervals",
    "rounds",
    "shorten",
]

PlotFormat = Literal["svg", "png"]
Draw = Callable[["Axes"], None]
"""Draws into empty axes."""

# Okabe and Ito's palette, which the colour-blind tell apart, darkened for a white page.
_COLOURS = ("#1f6fb2", "#c8521b", "#1b8a6b", "#8a5a9e", "#a67c00", "#5d6670", "#3aa0c4", "#9c3f5d")
_INK, _SOFT, _GRID, _ALERT = "#1b1f24", "#4b5563", "#d1d5db", "#8a1c1c"
_WIDTH = 7.6
_MOST_LINES = 6
_MOST_STEPS = 400
_SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": _INK,
    "text.parse_math": False,
    "axes.edgecolor": _SOFT,
    "axes.labelcolor": _SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": _SOFT,
    "ytick.color": _INK,
    "grid.color": _GRID,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "contrafact",
}
# Matplotlib's settings are the process's, and a server draws for several people at once.
_DRAWING = Lock()


def draw_plot(draw: Draw, form: PlotFormat, *, height: float) -> bytes:
    """Return a drawing as the bytes of a file; the same figures give the same bytes.

    Args:
        draw: Draws it.
        form: The file's form.
        height: In inches; the width is always the same.
    """
    with _DRAWING, warnings.catch_warnings():
        require("matplotlib", "figures")
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        # A name in a script that the bundled font lacks is drawn as boxes; the table has it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        with matplotlib.rc_context(_SETTINGS):
            plot = Figure(figsize=(_WIDTH, height), layout="constrained")
            FigureCanvasAgg(plot)
            draw(plot.add_subplot())
            sink = io.BytesIO()
            facts: dict[str, Any] = {"Date": None} if form == "svg" else {"Software": None}
            plot.savefig(sink, format=form, dpi=150, metadata=facts)
    return sink.getvalue()


def shorten(name: str, length: int = 28) -> str:
    """Return a name that fits into a drawing, without what cannot be printed."""
    plain = " ".join(printable(name).split())
    return plain if len(plain) <= length else plain[: length - 1].rstrip() + "…"


def bars(names: Sequence[str], parts: Mapping[str, Sequence[int]], unit: str) -> Draw:
    """Return how to draw horizontal bars in parts: by part, a number for each name."""

    def draw(axes: "Axes") -> None:
        places = range(len(names))
        left = [0.0] * len(names)
        for number, (part, values) in enumerate(_at_most(parts).items()):
            colour = _COLOURS[number % len(_COLOURS)]
            axes.barh(places, list(values), left=left, color=colour, label=shorten(part))
            left = [before + value for before, value in zip(left, values, strict=True)]
        for place, total in enumerate(left):
            axes.annotate(
                f"{total:,.0f}", (total, place), (3, 0), textcoords="offset points", va="center"
            )
        axes.set_yticks(list(places), [shorten(name) for name in names])
        axes.invert_yaxis()
        axes.set_xlabel(unit)
        axes.set_xlim(0, max([1.0, *left]) * 1.1)
        axes.grid(axis="x")
        if len(parts) > 1:
            axes.legend(loc="best")

    return draw


def cumulative(times: Mapping[str, Sequence[datetime]]) -> Draw:
    """Return how to draw decisions over time, a line for each person."""

    def draw(axes: "Axes") -> None:
        first = min(when for own in times.values() for when in own)
        last = max(when for own in times.values() for when in own)
        days = (last - first).total_seconds() > 3 * 86_400
        scale = 86_400.0 if days else 3_600.0
        for number, (who, own) in enumerate(_most_first(times).items()):
            # Not every decision of thousands is a step that can be seen.
            step = 1 + len(own) // _MOST_STEPS
            kept = range(step, len(own) + 1, step)
            at = [(own[count - 1] - first).total_seconds() / scale for count in kept]
            end = (last - first).total_seconds() / scale
            axes.step(
                [*at, end],
                [*kept, len(own)],
                where="post",
                color=_COLOURS[number % len(_COLOURS)],
                linestyle=("-", "--", ":")[number // len(_COLOURS) % 3],
                label=shorten(who),
            )
        axes.set_xlabel(f"{'days' if days else 'hours'} since the first decision")
        axes.set_ylabel("decisions")
        axes.set_ylim(bottom=0)
        axes.grid()
        axes.legend(loc="best")

    return draw


def growth_lines(points: Sequence[GrowthPoint]) -> Draw:
    """Return how to draw agreement as ratings come in, with its intervals."""

    def draw(axes: "Axes") -> None:
        items = [point.items for point in points]
        lowest = 0.0
        for number, (name, label) in enumerate((("percent", "agreement"), ("ac1", "Gwet's AC1"))):
            values = [getattr(point, name) for point in points]
            low = [getattr(point, f"{name}_low") for point in points]
            high = [getattr(point, f"{name}_high") for point in points]
            axes.plot(items, values, marker="os"[number], color=_COLOURS[number], label=label)
            axes.fill_between(items, low, high, color=_COLOURS[number], alpha=0.15, linewidth=0)
            lowest = min([lowest, *(v for v in (*values, *low) if not math.isnan(v))])
        axes.set_xlabel("items with two ratings or more")
        axes.set_ylabel("95% intervals shaded")
        axes.set_ylim(lowest, 1.02)
        axes.grid()
        axes.legend(loc="best")

    return draw


def heat(matrix: DisagreementMatrix) -> Draw:
    """Return how to draw who says what where another says what."""

    def draw(axes: "Axes") -> None:
        counts = matrix.shown
        axes.imshow(counts, cmap="Blues", vmin=0, vmax=max(1, int(counts.max())))
        top = int(counts.max())
        names = [shorten(name, 18) for name in matrix.categories]
        places = list(range(len(names)))
        axes.set_xticks(places, names, rotation=30, ha="right")
        axes.set_yticks(places, names)
        for row in places:
            for column in places:
                value = int(counts[row, column])
                ink = "#ffffff" if value > 0.6 * top else _INK
                axes.text(column, row, f"{value:,}", ha="center", va="center", color=ink)
        first, second = matrix.raters or ("one says", "another says")
        axes.set_ylabel(shorten(first))
        axes.set_xlabel(shorten(second))

    return draw


def intervals(audits: Sequence[AuditFigures]) -> Draw:
    """Return how to draw audits' pass rates with their intervals, and the floor."""

    def draw(axes: "Axes") -> None:
        names: list[str] = []
        for audit in audits:
            for row in audit.rows:
                if not row.sample:
                    continue
                place = len(names)
                names.append(f"{shorten(audit.batch, 18)}: {shorten(row.stratum, 18)}")
                colour = _COLOURS[0] if row.rate >= audit.floor else _ALERT
                if not math.isnan(row.low):
                    axes.plot([row.low, row.high], [place, place], color=colour, linewidth=2)
                axes.plot([row.rate], [place], "o", color=colour)
        for floor in {audit.floor for audit in audits if audit.floor}:
            axes.axvline(floor, color=_ALERT, linestyle="--", linewidth=1)
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.02)
        axes.set_xlabel("share that passed, 95% interval; dashed: the floor")
        axes.grid(axis="x")

    return draw


def rounds(done: Sequence[TrainingRound]) -> Draw:
    """Return how to draw everybody's accuracy by round of training, and the threshold."""

    def draw(axes: "Axes") -> None:
        people: dict[str, list[TrainingRound]] = {}
        for one in done:
            if one.answered:
                people.setdefault(one.person, []).append(one)
        for number, (who, own) in enumerate(people.items()):
            axes.plot(
                [one.round for one in own],
                [one.accuracy for one in own],
                marker="os^Dv"[number % 5],
                color=_COLOURS[number % len(_COLOURS)],
                label=shorten(who),
            )
        for threshold in {one.threshold for one in done}:
            axes.axhline(threshold, color=_ALERT, linestyle="--", linewidth=1)
        axes.set_xticks(sorted({one.round for one in done}))
        axes.set_xlabel("round")
        axes.set_ylabel("share right; dashed: the threshold")
        axes.set_ylim(0, 1.04)
        axes.grid()
        axes.legend(loc="best")

    return draw


def _at_most(parts: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Return the parts, what is past the number of colours put together."""
    most = len(_COLOURS)
    if len(parts) <= most:
        return dict(parts)
    largest = sorted(parts, key=lambda part: -sum(parts[part]))[: most - 1]
    rest = [parts[part] for part in parts if part not in largest]
    together = [sum(values) for values in zip(*rest, strict=True)]
    return {part: parts[part] for part in parts if part in largest} | {"others": together}


def _most_first(times: Mapping[str, Sequence[datetime]]) -> dict[str, Sequence[datetime]]:
    """Return those who decided most, and all others as one."""
    order = sorted((who for who in times if times[who]), key=lambda who: -len(times[who]))
    found: dict[str, Sequence[datetime]] = {who: times[who] for who in order[:_MOST_LINES]}
    rest = sorted(when for who in order[_MOST_LINES:] for when in times[who])
    return found | ({"others": rest} if rest else {})
