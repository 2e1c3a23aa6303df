"""The report's figures, drawn from its tables' numbers (matplotlib, without a display)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from contrafact.records import CRITERIA, SIDES
from contrafact.report.drawing import Figure, render
from contrafact.report.finforce.comparable import Comparability
from contrafact.report.finforce.panel import CRITERION_NAMES
from contrafact.report.table import PUBLISHED, Table, format_number
from contrafact.report.visible import visible_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Plot

__all__ = ["draw_figures"]

_LABEL_LENGTH = 44


def draw_figures(
    items: pd.DataFrame,
    tables: dict[str, Table],
    agreement: pd.DataFrame,
    able: Comparability,
) -> list[Figure]:
    """Draw what the tables hold; a figure without numbers is left out.

    Args:
        items: As ``prepare_items`` returns them.
        tables: The report's tables by key.
        agreement: As ``panel_agreement`` returns it; may be empty.
        able: What can be compared.
    """
    found = [
        _sides_figure(tables.get("risk_vs_opportunity")),
        _perplexity_figure(items) if able.scored and able.one_fluency_model else None,
        _change_figure(tables.get("few_shot_change")),
        _agreement_figure(agreement),
    ]
    return [figure for figure in found if figure is not None]


def _sides_figure(table: Table | None) -> Figure | None:
    """Draw risk beside opportunity, with intervals (figure 2 of the paper)."""
    if table is None:
        return None
    frame = _own(table)
    panels = [
        m for m in CRITERIA if f"{m}_valid_risk" in frame and f"{m}_valid_opportunity" in frame
    ]
    if not panels:
        return None
    labels = _labels(frame["system"])
    rows = len(frame)

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        axes = plot.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, measure in zip(axes, panels, strict=True):
            for i, side in enumerate(SIDES):
                key = f"{measure}_valid_{side}"
                values = frame[key].to_numpy(float) * 100
                places = np.arange(rows) + (i - 0.5) * 0.36
                ax.barh(places, values, height=0.34, color=colours[side], label=side.title())
                _whiskers(ax, frame, key, places, colours["ink"])
                bounds = frame[f"{key}_high"].to_numpy(float) * 100
                for place, value, bound in zip(places, values, bounds, strict=True):
                    if not np.isnan(value):
                        end = value if np.isnan(bound) else max(value, bound)
                        ax.text(end + 1.5, place, f"{value:.0f}", va="center", fontsize=8)
            ax.set_title(CRITERION_NAMES[measure], loc="left")
            ax.set_xlim(0, 112)
            ax.set_xticks(range(0, 101, 25), [f"{tick}%" for tick in range(0, 101, 25)])
            ax.set_yticks(range(rows), labels)
            ax.set_ylim(rows - 0.5, -0.5)
            ax.grid(axis="x")
        _legend(plot, axes[0])

    said = [
        f"{label}: "
        + ", ".join(
            f"{CRITERION_NAMES[m].lower()} risk {format_number(row[f'{m}_valid_risk'], 'share')}%, "
            f"opportunity {format_number(row[f'{m}_valid_opportunity'], 'share')}%"
            for m in panels
        )
        for label, (_, row) in zip(labels, frame.iterrows(), strict=True)
    ]
    return render(
        "risk_vs_opportunity",
        "Risk against opportunity",
        "Share of valid counterfactuals that the judge passed, with 95% intervals by headline.",
        "Bars of the share passed for risk and opportunity. " + "; ".join(said) + ".",
        draw,
        height=1.1 + 0.62 * rows,
    )


def _perplexity_figure(items: pd.DataFrame) -> Figure | None:
    """Draw the distribution of perplexity: headlines, risk, opportunity."""
    systems = list(dict.fromkeys(items.loc[items["perplexity"].notna(), "system"]))
    headlines = items.drop_duplicates("sample_id")["headline_perplexity"].dropna()
    groups: list[tuple[str, str, pd.Series[float]]] = []
    if len(headlines):
        groups.append(("Headlines", "headline", headlines))
    for system in systems:
        own = items[items["system"].eq(system)]
        for side in SIDES:
            values = own.loc[own["side"].eq(side), "perplexity"].dropna()
            if len(values):
                groups.append((system, side, values))
    if not groups:
        return None
    place, places, ticks = 0.0, [], []
    for i, (name, _, _) in enumerate(groups):
        if i and name != groups[i - 1][0]:
            place += 0.55
        places.append(place)
        place += 0.62
    for name in dict.fromkeys(name for name, _, _ in groups):
        own_places = [p for p, (n, _, _) in zip(places, groups, strict=True) if n == name]
        ticks.append((float(np.mean(own_places)), name))

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        ax = plot.subplots()
        for where, (_, kind, values) in zip(places, groups, strict=True):
            _box(ax, where, np.log10(values.to_numpy(float)), colours, kind)
        if len(headlines):
            middle = float(np.log10(headlines.median()))
            ax.axvline(
                middle, color=colours["headline"], linewidth=1, linestyle=(0, (4, 3)), zorder=0
            )
        ax.set_yticks([where for where, _ in ticks], _labels([name for _, name in ticks]))
        ax.set_ylim(places[-1] + 0.6, -0.6)
        _log_ticks(ax)
        ax.set_xlabel("Perplexity, logarithmic scale")
        ax.grid(axis="x")
        handles = [
            ax.plot([], [], "s", color=colours[side], label=side.title())[0] for side in SIDES
        ]
        plot.legend(handles=handles, loc="outside upper left", ncols=2, handletextpad=0.2)

    said = [
        f"{name if kind == 'headline' else f'{name} {kind}'}: {np.median(values):.1f} "
        f"({np.quantile(values, 0.25):.1f} to {np.quantile(values, 0.75):.1f})"
        for name, kind, values in groups
    ]
    return render(
        "perplexity",
        "Perplexity of headlines and counterfactuals",
        "The box holds the middle half of the texts and its line is the median; whiskers reach "
        "from the 5th to the 95th percentile, and dots are the texts beyond. The dashed line is "
        "the headlines' median. Further left is more fluent to the scoring model.",
        "Box plots on a logarithmic scale; median and middle half: " + "; ".join(said) + ".",
        draw,
        height=1.2 + 0.3 * (places[-1] + 1) / 0.62,
    )


def _change_figure(table: Table | None) -> Figure | None:
    """Draw few-shot minus zero-shot (figure 3 of the paper)."""
    if table is None:
        return None
    frame = _own(table)
    panels = [
        (key, name)
        for key, name in (
            ("perplexity", "Mean perplexity"),
            ("forward_compatibility_valid", "Fwd-Compat., pp"),
            ("directionality_valid", "Dir., pp"),
        )
        if key in frame and frame[key].notna().any()
    ]
    if not panels:
        return None
    shots = [
        f"{model} · {n:.0f} shots" for model, n in zip(frame["model"], frame["shots"], strict=True)
    ]
    labels, rows = _labels(shots), len(frame)

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        axes = plot.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (key, name) in zip(axes, panels, strict=True):
            scale = 1 if key == "perplexity" else 100
            lows = frame[f"{key}_low"].to_numpy(float) * scale
            highs = frame[f"{key}_high"].to_numpy(float) * scale
            values = frame[key].to_numpy(float) * scale
            ax.axvline(0, color=colours["muted"], linewidth=1)
            ax.hlines(range(rows), lows, highs, color=colours["ink"], linewidth=1.6)
            better = (values < 0) if key == "perplexity" else (values > 0)
            for where, value, good in zip(range(rows), values, better, strict=True):
                marker, colour = ("o", "third") if good else ("X", "risk")
                ax.plot([value], [where], marker, color=colours[colour], markersize=8, zorder=3)
                text = format_number(value / scale, "points" if scale == 100 else "signed")
                place = {"textcoords": "offset points", "ha": "center", "fontsize": 8}
                ax.annotate(text, (value, where), (0, 9), **place)
            ax.set_title(name, loc="left")
            ax.set_yticks(range(rows), labels)
            ax.set_ylim(rows - 0.4, -0.7)
            ax.margins(x=0.2)
            ax.locator_params(axis="x", nbins=4)
            ax.grid(axis="x")

    said = [
        f"{label}: "
        + ", ".join(
            f"{name} {format_number(row[key], 'signed' if key == 'perplexity' else 'points')}"
            for key, name in panels
        )
        for label, (_, row) in zip(labels, frame.iterrows(), strict=True)
    ]
    return render(
        "few_shot_change",
        "Few-shot minus zero-shot",
        "Change with few-shot prompting, draws averaged, with 95% intervals by headline. "
        "A dot is better, a cross is worse.",
        "Changes: " + "; ".join(said) + ".",
        draw,
        height=1.2 + 0.6 * rows,
    )


def _agreement_figure(agreement: pd.DataFrame) -> Figure | None:
    """Draw how far the members of a panel agree."""
    if agreement.empty or agreement["estimate"].isna().all():
        return None
    names = list(dict.fromkeys(agreement["coefficient"]))
    criteria = list(dict.fromkeys(agreement["criterion"]))
    markers = dict(zip(criteria, ("o", "D"), strict=False))

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        ax = plot.subplots()
        shades = (colours["opportunity"], colours["third"])
        for i, criterion in enumerate(criteria):
            part = agreement[agreement["criterion"].eq(criterion)].set_index("coefficient")
            part = part.reindex(names)
            places = np.arange(len(names)) + (i - (len(criteria) - 1) / 2) * 0.28
            shade = shades[i % 2]
            ax.hlines(places, part["low"], part["high"], color=shade, linewidth=2)
            ax.plot(
                part["estimate"].to_numpy(float),
                places,
                markers[criterion],
                color=shade,
                label=CRITERION_NAMES.get(criterion, criterion),
            )
        lowest = float(np.nanmin(agreement[["estimate", "low"]].to_numpy(float)))
        ax.set_xlim(min(0.0, lowest) - 0.02, 1.02)
        ax.axvline(0, color=colours["muted"], linewidth=1)
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.grid(axis="x")
        _legend(plot, ax)

    said = [
        f"{CRITERION_NAMES.get(row['criterion'], row['criterion'])}, {row['coefficient']} "
        f"{format_number(row['estimate'], 'coefficient')}"
        for _, row in agreement.iterrows()
    ]
    return render(
        "panel_agreement",
        "Agreement of the panel",
        "How far the judges of the panel agree, with 95% intervals by headline; 1 is full "
        "agreement, and for the last three 0 is what chance would give.",
        "Agreement by coefficient: " + "; ".join(said) + ".",
        draw,
        height=1.2 + 0.5 * len(names),
    )


def _own(table: Table) -> pd.DataFrame:
    frame = table.frame
    return frame[frame["source"].ne(PUBLISHED)].reset_index(drop=True)


def _labels(names: "Sequence[str] | pd.Series[str]") -> list[str]:
    """Return names as they can be drawn: nothing hidden, and not too long."""
    plain = [visible_text(name) for name in names]
    cut = [n if len(n) <= _LABEL_LENGTH else n[: _LABEL_LENGTH - 1] + "…" for n in plain]
    return [name.replace(" · ", "\n", 1) for name in cut]


def _whiskers(ax: "Axes", frame: pd.DataFrame, key: str, places: np.ndarray, colour: str) -> None:
    lows, highs = (frame[f"{key}_{end}"].to_numpy(float) * 100 for end in ("low", "high"))
    ax.hlines(places, lows, highs, color=colour, linewidth=1.3)


def _box(ax: "Axes", where: float, logs: np.ndarray, colours: dict[str, str], kind: str) -> None:
    low, q1, middle, q3, high = np.quantile(logs, [0.05, 0.25, 0.5, 0.75, 0.95])
    colour = colours[kind]
    ax.hlines(where, low, high, color=colour, linewidth=1.4)
    ax.barh(where, q3 - q1, left=q1, height=0.42, color=colour)
    ax.vlines(middle, where - 0.21, where + 0.21, color="white", linewidth=2)
    beyond = logs[(logs < low) | (logs > high)]
    ax.plot(beyond, np.full(len(beyond), where), ".", color=colour, markersize=3, alpha=0.6)


def _log_ticks(ax: "Axes") -> None:
    """Label a base-ten logarithmic axis with round perplexities."""
    low, high = ax.get_xlim()
    rounds = [m * 10**e for e in range(-1, 9) for m in (1, 2, 5)]
    shown = [value for value in rounds if low <= np.log10(value) <= high]
    if len(shown) > 8:
        shown = [value for value in shown if str(value).lstrip("0.").startswith("1")]
    ax.set_xticks([float(np.log10(value)) for value in shown], [f"{value:,g}" for value in shown])


def _legend(plot: "Plot", ax: "Axes") -> None:
    handles, labels = ax.get_legend_handles_labels()
    plot.legend(handles, labels, loc="outside upper left", ncols=len(labels), handlelength=1.0)
