"""The chapter's figures, drawn from its numbers (matplotlib, without a display)."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from contrafact.report.drawing import Figure, render
from contrafact.report.rfc.surface import MEDIAN
from contrafact.report.table import PUBLISHED, Table, format_number
from contrafact.report.visible import visible_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Plot

__all__ = ["draw_figures"]

_PANELS = 3
_MOST_PANELS = 24
_LABEL_LENGTH = 44
_MARKERS = "osD^vPX*<>"


def draw_figures(
    tables: dict[str, Table], confusion: pd.DataFrame, surface: pd.DataFrame
) -> list[Figure]:
    """Draw what there is; a figure without numbers is left out.

    Args:
        tables: The chapter's tables by key.
        confusion: As ``confusion_frame`` returns it.
        surface: As ``surface_figures`` returns it; may be empty.
    """
    found = [
        _accuracy_figure(tables["overall"]),
        _shots_figure(tables.get("shots")),
        _surface_figure(surface),
        _confusion_figure(confusion),
    ]
    return [figure for figure in found if figure is not None]


def _accuracy_figure(table: Table) -> Figure | None:
    """Draw accuracy and macro-F1 of every system, with intervals."""
    frame = _own(table)
    panels = [
        (key, name)
        for key, name in (("accuracy_valid", "Accuracy"), ("f1_valid", "Macro-F1"))
        if key in frame and frame[key].notna().any()
    ]
    if not panels:
        return None
    labels, rows = _labels(frame["system"]), len(frame)

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        axes = plot.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (key, name) in zip(axes, panels, strict=True):
            ax.hlines(
                range(rows), frame[f"{key}_low"], frame[f"{key}_high"], color=colours["ink"],
                linewidth=1.5,
            )  # fmt: skip
            ax.plot(frame[key].to_numpy(float), range(rows), "o", color=colours["opportunity"])
            ax.set_title(name, loc="left")
            ax.set_xlim(-0.02, 1.02)
            ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
            ax.set_yticks(range(rows), labels)
            ax.set_ylim(rows - 0.5, -0.5)
            ax.grid(axis="x")

    said = [
        f"{row['system']}: "
        + ", ".join(f"{name} {format_number(row[key], 'coefficient')}" for key, name in panels)
        for _, row in frame.iterrows()
    ]
    return render(
        "accuracy",
        "Accuracy and macro-F1",
        "Over valid outputs, with 95% intervals by source article.",
        "Points with intervals. " + "; ".join(said) + ".",
        draw,
        height=0.9 + 0.42 * rows,
    )


def _shots_figure(table: Table | None) -> Figure | None:
    """Draw accuracy by number of worked examples (figure 3 of the paper)."""
    if table is None:
        return None
    frame = _own(table)
    keys = [c.key for c in table.columns if c.key.startswith("valid_")]
    counts = [int(key.removeprefix("valid_")) for key in keys]

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        ax = plot.subplots()
        shades = [colours[name] for name in ("opportunity", "risk", "third", "headline")]
        places = np.arange(len(counts))
        for i, (_, row) in enumerate(frame.iterrows()):
            where = places + (i - (len(frame) - 1) / 2) * 0.06
            values = np.array([row[key] for key in keys], dtype=float)
            lows, highs = (
                np.array([row.get(f"{key}_{end}", math.nan) for key in keys], dtype=float)
                for end in ("low", "high")
            )
            shade = shades[i % len(shades)]
            held = ~np.isnan(values)
            ax.vlines(where[held], lows[held], highs[held], color=shade, linewidth=1.2)
            ax.plot(
                where[held], values[held], color=shade, marker=_MARKERS[i % len(_MARKERS)],
                markersize=5, label=_labels([row["system"]])[0].replace("\n", " · "),
            )  # fmt: skip
        ax.axhline(0.5, color=colours["muted"], linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        ax.set_xticks(places, [str(n) for n in counts])
        ax.set_xlabel("Worked examples")
        ax.set_ylabel("Accuracy")
        ax.grid(axis="y")
        plot.legend(loc="outside upper left", ncols=2)

    said = [
        f"{row['system']}: "
        + ", ".join(
            f"{n} shots {format_number(row[key], 'coefficient')}"
            for key, n in zip(keys, counts, strict=True)
        )
        for _, row in frame.iterrows()
    ]
    return render(
        "shots",
        "Accuracy by number of worked examples",
        "Over valid outputs, with 95% intervals by source article. The dashed line is chance.",
        "Lines of accuracy. " + "; ".join(said) + ".",
        draw,
        height=3.2 + 0.12 * len(frame),
    )


def _surface_figure(figures: pd.DataFrame) -> Figure | None:
    """Draw the surface baseline beside the median of the models (figure 4 of the paper)."""
    if figures.empty:
        return None
    bars = figures[figures["what"].ne("difference")]
    whats = list(dict.fromkeys(bars["what"]))
    names = {"accuracy": "Accuracy", "f1": "Macro-F1"}
    models = int(figures["models"].iloc[0])
    labels = [f"{what} ({models})" if what == MEDIAN else what for what in whats]

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        ax = plot.subplots()
        for i, (what, label) in enumerate(zip(whats, labels, strict=True)):
            part = bars[bars["what"].eq(what)].set_index("measure").loc[list(names)]
            places = np.arange(len(names)) + (i - 0.5) * 0.36
            shade = colours["headline" if i == 0 else "opportunity"]
            values = part["estimate"].to_numpy(float)
            ax.barh(places, values, height=0.33, color=shade, label=label)
            ax.hlines(places, part["low"], part["high"], color=colours["ink"], linewidth=1.4)
            for place, value, high in zip(places, values, part["high"], strict=True):
                end = value if math.isnan(high) else max(value, high)
                ax.text(end + 0.015, place, format_number(value, "coefficient"), va="center")
        ax.set_xlim(0, 1.12)
        ax.set_yticks(range(len(names)), list(names.values()))
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.grid(axis="x")
        plot.legend(loc="outside upper left", ncols=2, handlelength=1.0)

    said = [
        f"{row['what']}, {names[row['measure']]} {format_number(row['estimate'], 'coefficient')}"
        for _, row in bars.iterrows()
    ]
    return render(
        "surface",
        "Surface features beside the median of the models",
        "Over valid outputs, with 95% intervals by source article.",
        "Bars. " + "; ".join(said) + ".",
        draw,
        height=2.2,
    )


def _confusion_figure(confusion: pd.DataFrame) -> Figure | None:
    """Draw a confusion matrix for every system, shaded by share of the gold label."""
    systems = list(dict.fromkeys(confusion["system"]))
    drawn = systems[:_MOST_PANELS]
    answers = [name for name in confusion.columns if name not in ("system", "gold")]
    if not confusion["invalid"].any():
        answers.remove("invalid")
    columns = min(_PANELS, len(drawn))
    rows = math.ceil(len(drawn) / columns)

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        from matplotlib.colors import LinearSegmentedColormap, to_rgb

        shade = to_rgb(colours["opportunity"])
        scale = LinearSegmentedColormap.from_list("shade", [(*shade, 0.0), (*shade, 0.75)])
        axes = plot.subplots(rows, columns, squeeze=False)
        for ax in axes.ravel()[len(drawn) :]:
            ax.set_axis_off()
        for ax, system in zip(axes.ravel(), drawn, strict=False):
            part = confusion[confusion["system"].eq(system)]
            counts = part[answers].to_numpy(float)
            totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
            ax.imshow(counts / totals, cmap=scale, vmin=0, vmax=1, aspect="auto")
            for y, x in np.ndindex(*counts.shape):
                ax.text(x, y, f"{counts[y, x]:,.0f}", ha="center", va="center", fontsize=8)
            short = [_SHORT.get(name, name) for name in answers]
            ax.set_xticks(range(len(answers)), short, fontsize=7.5)
            ax.set_yticks(range(len(part)), [_SHORT.get(g, g) for g in part["gold"]], fontsize=7.5)
            ax.set_title(_labels([system])[0], loc="left", fontsize=8)
            for side in ax.spines.values():
                side.set_visible(False)

    said = []
    for system, part in confusion.groupby("system", sort=False):
        lines = [
            f"{row['gold']} answered " + ", ".join(f"{a} {row[a]}" for a in answers)
            for _, row in part.iterrows()
        ]
        said.append(f"{system}: {'; '.join(lines)}")
    left = len(systems) - len(drawn)
    more = f" The first {len(drawn)} of {len(systems)} systems are drawn." if left else ""
    return render(
        "confusion",
        "Confusion matrices",
        "Gold labels by line, answers by column, shaded by the share of the line." + more,
        ". ".join(said) + ".",
        draw,
        height=0.5 + rows * (0.75 + 0.33 * confusion["gold"].nunique()),
    )


_SHORT = {
    "numerical": "num.", "flipping": "flip.", "sentiment": "sent.", "causal": "causal",
    "invalid": "no label",
}  # fmt: skip


def _own(table: Table) -> pd.DataFrame:
    frame = table.frame
    return frame[frame["source"].ne(PUBLISHED)].reset_index(drop=True)


def _labels(names: "Sequence[str] | pd.Series[str]") -> list[str]:
    """Return names as they can be drawn: nothing hidden, and not too long."""
    plain = [visible_text(name) for name in names]
    cut = [n if len(n) <= _LABEL_LENGTH else n[: _LABEL_LENGTH - 1] + "…" for n in plain]
    return [name.replace(" · ", "\n", 1) for name in cut]
