"""The tables and figures of a training, from the files of its stages."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from contrafact.family.training import TrainingSpec
from contrafact.files.atomic import write_bytes
from contrafact.files.tables import write_frame
from contrafact.report.drawing import Figure, render
from contrafact.training.context import read_json, read_lines
from contrafact.training.evaluation import measures_of, metrics_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Plot

Row = Mapping[str, Any]


def write_results(
    out: Path, spec: TrainingSpec, *, seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Write the tables and figures of the stages that are done, and return two of the tables.

    ``metrics.csv`` has a row for each checkpoint, ``saturation.csv`` for each iteration,
    ``losses.csv`` for each step that was measured. The first two are returned, as rows, and have
    figures of the same names, which are drawn again only where the table has changed.
    """
    steps = ["base", "warm-up"]
    while (out / f"iteration-{len(steps) - 1}").is_dir():
        steps.append(f"iteration-{len(steps) - 1}")

    def done(name: str) -> dict[str, Path]:
        return {step: path for step in steps if (path := out / step / name).exists()}

    replies = {step: read_lines(path) for step, path in done("evaluation/answers.jsonl").items()}
    losses = [
        {"stage": step, **row}
        for step, path in done("model/losses.jsonl").items()
        for row in read_lines(path)
    ]
    saturation = [
        {"iteration": step.rpartition("-")[2], **read_json(path)}
        for step, path in done("preferences/saturation.json").items()
    ]
    metrics = metrics_rows(replies, spec, seed=seed)
    if losses:
        write_frame(pd.DataFrame(losses), out / "losses.csv")
    tables: list[tuple[str, Sequence[Row], Callable[[], Figure]]] = [
        ("metrics", metrics, lambda: metrics_figure(metrics, spec)),
        ("saturation", saturation, lambda: _saturation_figure(saturation, spec)),
    ]
    for name, rows, draw in tables:
        if not rows:
            continue
        table, new = out / f"{name}.csv", out / f".{name}.csv"
        images = [out / f"{name}.png", out / f"{name}.svg"]
        write_frame(pd.DataFrame(rows), new)
        # Drawing takes longest. The table is written last: where it is, its figure is.
        same = table.exists() and table.read_bytes() == new.read_bytes()
        if not same or not all(image.exists() for image in images):
            figure = draw()
            for image, content in zip(images, (figure.png, figure.svg), strict=True):
                write_bytes(image, content)
        new.replace(table)
    return metrics, saturation


def metrics_figure(rows: Sequence[Row], spec: TrainingSpec) -> Figure:
    """Return the figure of the rows of `evaluation.metrics_rows`, with their intervals."""
    panels = [
        (
            measure.name,
            measure.label if measure.name == "valid" else f"{measure.label} (valid replies)",
            100.0 if measure.share else 1.0,
            "%" if measure.share else "",
        )
        for measure in measures_of(spec)
        if measure.drawn and any(_known(row[measure.name]) for row in rows)
    ]
    names = [str(row["checkpoint"]) for row in rows]

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        for at, (key, title, scale, unit) in enumerate(panels):
            ax = plot.add_subplot(1, len(panels), at + 1)
            shown = [(x, row) for x, row in enumerate(rows) if _known(row[key])]
            values = [scale * row[key] for _, row in shown]
            ax.plot([x for x, _ in shown], values, "o-", color=colours["opportunity"])
            for x, row in shown:
                if _known(row[f"{key}_low"]):
                    low, high = scale * row[f"{key}_low"], scale * row[f"{key}_high"]
                    ax.vlines(x, low, high, color=colours["ink"], linewidth=1.2)
            _by_checkpoint(ax, title + (f", {unit}" if unit else ""), names)

    caption = (
        f"Every checkpoint answers the same held-out {spec.items} under the same noise. Bars are "
        "95% intervals. Perplexity is by one scoring model throughout."
    )
    alt = _alt(names, rows, panels, digits=1)
    return render("metrics", "Metrics by checkpoint", caption, alt, draw, height=2.7)


def _saturation_figure(rows: Sequence[Row], spec: TrainingSpec) -> Figure:
    names = [str(row["iteration"]) for row in rows]
    panels = (
        ("spread", "Best less worst score", 1.0, ""),
        ("tie_share", f"Ties, % of {spec.items}", 100.0, ""),
        ("pairs", "Preference pairs", 1.0, ""),
    )

    def draw(plot: "Plot", colours: dict[str, str]) -> None:
        for at, (key, title, scale, _) in enumerate(panels):
            ax = plot.add_subplot(1, len(panels), at + 1)
            values = [scale * row[key] if _known(row[key]) else 0.0 for row in rows]
            ax.bar(range(len(rows)), values, width=0.5, color=colours["risk"])
            _by_checkpoint(ax, title, names)

    alt = _alt([f"iteration {name}" for name in names], rows, panels, digits=2)
    caption = "What the scores of an iteration's candidates still tell apart."
    return render("saturation", "Score saturation", caption, alt, draw, height=2.4)


def _alt(
    names: Sequence[str],
    rows: Sequence[Row],
    panels: Sequence[tuple[str, str, float, str]],
    *,
    digits: int,
) -> str:
    """Return panels (column, title, scale, unit) in words, row by row."""
    return "; ".join(
        f"{name}: "
        + ", ".join(
            f"{title.lower()} {scale * row[key]:.{digits}f}{unit}"
            for key, title, scale, unit in panels
            if _known(row[key])
        )
        for name, row in zip(names, rows, strict=True)
    )


def _by_checkpoint(ax: "Axes", title: str, names: Sequence[str]) -> None:
    ax.set_title(title, loc="left")
    ax.set_xticks(range(len(names)), list(names), rotation=20 if max(map(len, names)) > 3 else 0)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.grid(axis="y")


def _known(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
