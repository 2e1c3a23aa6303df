"""The tables and figures of a training, from the files of its stages."""

import math
from collections.abc import Mapping, Sequence
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
    from matplotlib.figure import Figure as Plot

Row = Mapping[str, Any]


def write_results(
    out: Path, spec: TrainingSpec, *, seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Write the tables and figures of the finished stages, and return two of the tables.

    ``metrics.csv`` has a row for each checkpoint, ``saturation.csv`` for each iteration,
    ``losses.csv`` for each measured step. The rows of the first two are returned. The first has a
    figure, which is drawn again only if the table has changed.
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
    if saturation:
        write_frame(pd.DataFrame(saturation), out / "saturation.csv")
    if metrics:
        table, new = out / "metrics.csv", out / ".metrics.csv"
        images = [out / "metrics.png", out / "metrics.svg"]
        write_frame(pd.DataFrame(metrics), new)
        # Drawing takes longest. The table is written last: if it exists, so does its figure.
        same = table.exists() and table.read_bytes() == new.read_bytes()
        if not same or not all(image.exists() for image in images):
            figure = metrics_figure(metrics, spec)
            for image, content in zip(images, (figure.png, figure.svg), strict=True):
                write_bytes(image, content)
        new.replace(table)
    return metrics, saturation


def metrics_figure(rows: Sequence[Row], spec: TrainingSpec) -> Figure:
    """Return the figure of the metrics (`evaluation.metrics_rows`) with their intervals."""
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
            ax.set_title(title + (f", {unit}" if unit else ""), loc="left")
            ax.set_xticks(range(len(names)), names, rotation=20)
            ax.set_xlim(-0.6, len(names) - 0.4)
            ax.grid(axis="y")

    caption = (
        f"Every checkpoint answers the same held-out {spec.items} under the same noise. Bars are "
        "95% intervals. Perplexity is by one scoring model throughout."
    )
    alt = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{title.lower()} {scale * row[key]:.1f}{unit}"
            for key, title, scale, unit in panels
            if _known(row[key])
        )
        for name, row in zip(names, rows, strict=True)
    )
    return render("metrics", "Metrics by checkpoint", caption, alt, draw, height=2.7)


def _known(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
