"""Charts as SVG and PNG, without a display; matplotlib is imported for the first chart."""

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from contrafact.family.display import GridChart, figure_text, format_number
from contrafact.text.delimit import visible_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

__all__ = ["Figure", "draw_chart"]

# Okabe and Ito's palette, which colour-blind readers can distinguish, darkened for paper.
_COLOURS = {
    "ink": "#1c2127",
    "muted": "#5d6670",
    "grid": "#dfe3e8",
    "risk": "#c8521b",
    "opportunity": "#1f6fb2",
    "headline": "#8a929c",
    "third": "#1b8a6b",
}
_WIDTH = 7.6
_LABEL_LENGTH = 44
_WRAP = 30


@dataclass(frozen=True)
class Figure:
    """A drawn figure: ``key`` is its file name without a suffix, ``alt`` its content in words."""

    key: str
    title: str
    caption: str
    alt: str
    svg: bytes
    png: bytes


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    ink, muted, grid = (_COLOURS[name] for name in ("ink", "muted", "grid"))
    settings: dict[Any, Any] = {
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        **dict.fromkeys(("text.color", "ytick.color"), ink),
        **dict.fromkeys(("axes.labelcolor", "xtick.color"), muted),
        **dict.fromkeys(("axes.edgecolor", "grid.color"), grid),
        **dict.fromkeys(("ytick.major.size", "xtick.major.size"), 0),
        **{f"axes.spines.{side}": False for side in ("top", "right", "left")},
        "axes.axisbelow": True,
        "grid.linewidth": 0.8,
        "legend.frameon": False,
        # Names of systems are data: a dollar sign in one must not start a formula.
        "text.parse_math": False,
        "svg.fonttype": "path",
        "svg.hashsalt": "contrafact",
    }
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # A name in a script the bundled font lacks is drawn as boxes; the page has it in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def draw_chart(chart: GridChart) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Plot

    row = max(0.34, 0.17 * len(chart.series) + 0.1)
    height = 1.0 + 0.14 * len(chart.series) + len(chart.rows) * row
    images: dict[str, bytes] = {}
    with _style():
        plot = Plot(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasAgg(plot)
        _bars(chart, plot)
        for kind in ("svg", "png"):
            sink = io.BytesIO()
            nameless = {"Date": None} if kind == "svg" else {"Software": None}
            plot.savefig(sink, format=kind, dpi=200, transparent=kind == "svg", metadata=nameless)
            # The layout of the first format serves the second: it takes half of the time.
            plot.set_layout_engine(None)
            images[kind] = sink.getvalue()
    alt = visible_text(_grid_text(chart))
    return Figure(chart.key, chart.title, chart.caption, alt, images["svg"], images["png"])


def _bars(chart: GridChart, plot: "Plot") -> None:
    thick = 0.8 / len(chart.series)
    axes = plot.subplots(1, len(chart.panels), sharey=True, squeeze=False)[0]
    for ax, panel in zip(axes, chart.panels, strict=True):
        signed = panel.kind in ("points", "signed")  # changes, on an axis of their own
        drawn = np.abs([panel.values, panel.lows, panel.highs])
        reach = float(np.max(drawn, where=~np.isnan(drawn), initial=1e-9)) if signed else 1.0
        for i, name in enumerate(chart.series):
            values, lows, highs = panel.values[:, i], panel.lows[:, i], panel.highs[:, i]
            y = np.arange(len(chart.rows)) + (i - (len(chart.series) - 1) / 2) * thick
            known = ~np.isnan(values)
            y, values, lows, highs = y[known], values[known], lows[known], highs[known]
            shade = _COLOURS[chart.colours[i % len(chart.colours)]]
            solid = 1.0 if i < len(chart.colours) else 0.5
            label = _short_name(name)
            ax.barh(y, values, height=thick * 0.9, color=shade, alpha=solid, label=label)
            ax.hlines(y, lows, highs, color=_COLOURS["ink"], linewidth=1.3)
            for at, value, high in zip(y, values, highs, strict=True):
                end = np.nanmax([value, high, 0.0])
                text = format_number(value, panel.kind)
                ax.text(end + 0.012 * reach, at, text, va="center", fontsize=7.5)
        ax.set_xlim(*((-1.5 * reach, 1.5 * reach) if signed else (0, 1.12)))
        share = panel.kind == "share"
        labels = ["0%", "25%", "50%", "75%", "100%"] if share else ["0", ".25", ".5", ".75", "1"]
        if signed:
            ends = (-reach, 0.0, reach)
            ax.set_xticks(ends, [format_number(at, panel.kind) for at in ends])
        else:
            ax.set_xticks([0, 0.25, 0.5, 0.75, 1], labels)
        ax.set_title(panel.title, loc="left")
        if chart.axis:
            ax.set_xlabel(chart.axis)
        ax.set_yticks(range(len(chart.rows)), [_row_name(row) for row in chart.rows])
        ax.set_ylim(len(chart.rows) - 0.5, -0.5)
        ax.grid(axis="x")
    if any(chart.series):
        handles, names = axes[0].get_legend_handles_labels()
        columns = min(len(names), 2 if max(map(len, names)) > 20 else 4)
        plot.legend(handles, names, loc="outside upper left", ncols=columns, handlelength=1.0)


def _grid_text(chart: GridChart) -> str:
    lines = []
    for i, row in enumerate(chart.rows):
        figures = []
        for panel in chart.panels:
            for name, value in zip(chart.series, panel.values[i], strict=True):
                if not math.isnan(value):
                    words = [panel.title] if len(chart.panels) > 1 else []
                    words += [name] if len(chart.series) > 1 else []
                    figures.append(" ".join([*filter(None, words), figure_text(value, panel.kind)]))
        lines.append(f"{row}: {', '.join(figures)}")
    return f"{chart.title}, as bars. {'; '.join(lines)}."


def _short_name(name: str) -> str:
    plain = visible_text(name)
    return plain if len(plain) <= _LABEL_LENGTH else plain[: _LABEL_LENGTH - 1] + "…"


def _row_name(name: str) -> str:
    lines = [""]
    for word in _short_name(name).replace(" · ", "\n", 1).replace("\n", " \n ").split(" "):
        if word == "\n" or (lines[-1] and len(lines[-1]) + len(word) >= _WRAP):
            lines.append("")
        lines[-1] = f"{lines[-1]} {word.strip()}".strip()
    return "\n".join(lines)
