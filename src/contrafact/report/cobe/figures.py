"""The chapter's figures, drawn from its numbers: grouped bars, as figures 5 to 9 of the paper."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from contrafact.families.cobe.items import CRITERION_NAMES
from contrafact.report.cobe.frame import SCOPES, systems_of
from contrafact.report.cobe.tables import CRITERION_LABELS
from contrafact.report.drawing import Figure, render
from contrafact.report.table import format_number
from contrafact.report.visible import visible_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

__all__ = ["draw_figures"]

_MOST_SYSTEMS = 8
_LABEL_LENGTH = 44
_SHADES = ("opportunity", "risk", "third", "headline")
_WRAP = 30


@dataclass(frozen=True)
class _Bars:
    """Grouped bars: for each group and system an estimate with its bounds, shares of 1.

    Attributes:
        groups: The groups' names, from the top.
        systems: The systems drawn.
        values: Estimates, shape (groups, systems); NaN where there is none.
        lows: Lower bounds.
        highs: Upper bounds.
    """

    groups: list[str]
    systems: list[str]
    values: np.ndarray
    lows: np.ndarray
    highs: np.ndarray


def draw_figures(items: pd.DataFrame, figures: pd.DataFrame) -> list[Figure]:
    """Draw what there is; a figure without numbers is left out.

    Args:
        items: As ``prepare_items`` returns them.
        figures: As ``estimate_figures`` returns them.
    """
    valid = figures[figures["form"].eq("valid")]
    systems = systems_of(items)
    left = max(0, len(systems) - _MOST_SYSTEMS)
    more = f" The first {_MOST_SYSTEMS} of {len(systems)} systems are drawn." if left else ""
    overall = valid[valid["scope"].eq("overall")]
    accuracy = overall[overall["measure"].eq("accuracy")].assign(group="All stories")
    names = {f"{name}_fails": CRITERION_LABELS[name] for name in CRITERION_NAMES}
    failing = overall[overall["measure"].isin(names)]
    failing = failing.assign(group=failing["measure"].map(names))
    wanted = [
        ("accuracy", "Accuracy over the three phrasings", accuracy),
        ("criteria", "Failure rates by criterion", failing),
    ]
    for scope, label in SCOPES.items():
        part = valid[valid["scope"].eq(scope) & valid["measure"].eq("accuracy")]
        wanted.append((f"by_{scope}", f"Accuracy by {label.lower()}", part))
    return [
        _figure(key, title, _bars(part, systems[:_MOST_SYSTEMS]), more)
        for key, title, part in wanted
        if len(part)
    ]


def _bars(part: pd.DataFrame, systems: list[str]) -> _Bars:
    groups = list(dict.fromkeys(part["group"]))
    if set(groups) == set(CRITERION_LABELS.values()) & set(groups):
        groups = [name for name in CRITERION_LABELS.values() if name in groups]
    grids = {}
    for column in ("estimate", "low", "high"):
        table = part.pivot(index="group", columns="system", values=column)
        grids[column] = table.reindex(index=groups, columns=systems).to_numpy(float)
    return _Bars(groups, systems, grids["estimate"], grids["low"], grids["high"])


def _figure(key: str, title: str, bars: _Bars, more: str) -> Figure:
    groups, systems = len(bars.groups), len(bars.systems)
    thick = 0.8 / systems
    fails = key == "criteria"

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        ax = plot.subplots()
        for i, label in enumerate(_labels(bars.systems)):
            places = np.arange(groups) + (i - (systems - 1) / 2) * thick
            shade = colours[_SHADES[i % len(_SHADES)]]
            solid = 1.0 if i < len(_SHADES) else 0.5
            values, lows, highs = bars.values[:, i], bars.lows[:, i], bars.highs[:, i]
            held = ~np.isnan(values)
            ax.barh(
                places[held], values[held], height=thick * 0.9, color=shade, alpha=solid,
                label=label,
            )  # fmt: skip
            ax.hlines(places[held], lows[held], highs[held], color=colours["ink"], linewidth=1.2)
            for place, value, high in zip(places[held], values[held], highs[held], strict=True):
                end = value if math.isnan(high) else max(value, high)
                text = format_number(value, "share")
                ax.text(end + 0.012, place, text, va="center", fontsize=7.5)
        ax.set_xlim(0, 1.1)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100"])
        ax.set_xlabel("Failed, %" if fails else "Accuracy, %")
        ax.set_yticks(range(groups), [_wrapped(name) for name in bars.groups])
        ax.set_ylim(groups - 0.5, -0.5)
        ax.grid(axis="x")
        plot.legend(loc="outside upper left", ncols=1 + (systems > 1), handlelength=1.0)

    said = [
        f"{group}: "
        + ", ".join(
            f"{system} {format_number(value, 'share')}%"
            for system, value in zip(bars.systems, row, strict=True)
            if not math.isnan(value)
        )
        for group, row in zip(bars.groups, bars.values, strict=True)
    ]
    return render(
        key,
        title,
        "Over valid outputs, with 95% intervals by story (none under five stories)." + more,
        "Bars. " + "; ".join(said) + ".",
        draw,
        height=1.0 + 0.14 * systems + groups * max(0.34, 0.17 * systems + 0.1),
    )


def _wrapped(name: str) -> str:
    """Return a name over several lines, none much longer than the axis has room for."""
    lines = [""]
    for word in visible_text(name).split(" "):
        if lines[-1] and len(lines[-1]) + len(word) >= _WRAP:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def _labels(names: Sequence[str]) -> list[str]:
    plain = [visible_text(name) for name in names]
    return [n if len(n) <= _LABEL_LENGTH else n[: _LABEL_LENGTH - 1] + "…" for n in plain]
