"""The figures of a training: metrics by checkpoint (FIN-FORCE, figure 5), saturation, losses."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contrafact.report.drawing import Figure, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Plot

__all__ = ["loss_figure", "metrics_figure", "saturation_figure"]

Row = Mapping[str, Any]
_PANELS = (
    ("valid", "Valid replies", 100.0, "%"),
    ("direction", "Direction (valid replies)", 100.0, "%"),
    ("delta_perplexity", "Δ perplexity (valid replies)", 1.0, ""),
)


def metrics_figure(rows: Sequence[Row]) -> Figure:
    """Return the figure of metrics by checkpoint, with their intervals.

    Args:
        rows: As `evaluation.metrics_rows` returns them.
    """
    panels = [panel for panel in _PANELS if any(_known(row[panel[0]]) for row in rows)]
    names = [str(row["checkpoint"]) for row in rows]

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        for at, (key, title, scale, unit) in enumerate(panels):
            ax = plot.add_subplot(1, len(panels), at + 1)
            shown = [(place, row) for place, row in enumerate(rows) if _known(row[key])]
            places = [place for place, _ in shown]
            ax.plot(
                places, [scale * row[key] for _, row in shown], "o-", color=colours["opportunity"]
            )
            for place, row in shown:
                if _known(row[f"{key}_low"]):
                    low, high = scale * row[f"{key}_low"], scale * row[f"{key}_high"]
                    ax.vlines(place, low, high, color=colours["ink"], linewidth=1.2)
            _by_checkpoint(ax, title + (f", {unit}" if unit else ""), names)

    told = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{title.lower()} {scale * row[key]:.1f}{unit}"
            for key, title, scale, unit in panels
            if _known(row[key])
        )
        for name, row in zip(names, rows, strict=True)
    )
    caption = (
        "Every checkpoint answers the same held-out headlines under the same noise. Bars are 95% "
        "intervals. Perplexity is by one scoring model throughout."
    )
    return render("metrics", "Metrics by checkpoint", caption, told, draw, height=2.7)


def saturation_figure(rows: Sequence[Row]) -> Figure:
    """Return the figure of score saturation by iteration.

    Args:
        rows: Rows of `preferences.Saturation.row`, each with its ``iteration``.
    """
    names = [str(row["iteration"]) for row in rows]
    panels = (
        ("spread", "Best less worst score", 1.0),
        ("tie_share", "Ties, % of headlines", 100.0),
        ("pairs", "Preference pairs", 1.0),
    )

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        for at, (key, title, scale) in enumerate(panels):
            ax = plot.add_subplot(1, len(panels), at + 1)
            values = [scale * row[key] if _known(row[key]) else 0.0 for row in rows]
            ax.bar(range(len(rows)), values, width=0.5, color=colours["risk"])
            _by_checkpoint(ax, title, names)

    told = "; ".join(
        f"iteration {name}: "
        + ", ".join(
            f"{title.lower()} {scale * row[key]:.2f}"
            for key, title, scale in panels
            if _known(row[key])
        )
        for name, row in zip(names, rows, strict=True)
    )
    caption = "What the scores of an iteration's candidates still tell apart."
    return render("saturation", "Score saturation", caption, told, draw, height=2.4)


def loss_figure(losses: Mapping[str, Sequence[Row]]) -> Figure:
    """Return the figure of losses and reward margins by step.

    Args:
        losses: By stage, what the trainers measured.
    """
    stages = [(name, rows) for name, rows in losses.items() if rows]

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        for at, (name, rows) in enumerate(stages):
            ax = plot.add_subplot(1, len(stages), at + 1)
            margins = any("eval_rewards/margins" in row for row in rows)
            pairs = (
                ("rewards/margins", "eval_rewards/margins") if margins else ("loss", "eval_loss")
            )
            for key, colour, mark in zip(
                pairs, ("headline", "opportunity"), ("-", "o-"), strict=True
            ):
                known = [(row["step"], row[key]) for row in rows if _known(row.get(key))]
                label = "validation" if key.startswith("eval_") else "training"
                ax.plot(*zip(*known, strict=True), mark, color=colours[colour], label=label)
            ax.set_title(f"{name}: {'reward margin' if margins else 'loss'}", loc="left")
            ax.set_xlabel("Step")
            ax.grid(axis="y")
            ax.legend()

    told = "; ".join(
        f"{name}: validation loss {rows[0].get('eval_loss', math.nan):.3f} at first, "
        f"{[r['eval_loss'] for r in rows if 'eval_loss' in r][-1]:.3f} at last"
        for name, rows in stages
    )
    caption = "Supervised warm-up by its loss on replies; DPO by the margin of its rewards."
    return render("losses", "What was learned, step by step", caption, told, draw, height=2.7)


def _by_checkpoint(ax: "Axes", title: str, names: Sequence[str]) -> None:
    ax.set_title(title, loc="left")
    ax.set_xticks(range(len(names)), list(names), rotation=20 if max(map(len, names)) > 3 else 0)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.grid(axis="y")


def _known(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
