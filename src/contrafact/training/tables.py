"""The tables and figures of a training, from what its stages left."""

from pathlib import Path
from typing import Any

from contrafact.files.atomic import write_bytes
from contrafact.files.tables import write_frame
from contrafact.training.evaluation import metrics_rows
from contrafact.training.figures import loss_figure, metrics_figure, saturation_figure
from contrafact.training.stages import read_json, read_lines

__all__ = ["write_tables"]


def write_tables(out: Path, *, seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Write the tables and figures of what there is, and return two of the tables.

    ``metrics.csv`` has a row for each checkpoint, ``saturation.csv`` for each iteration,
    ``losses.csv`` for each step that was measured; the figures have the same names.

    Args:
        out: The training's folder.
        seed: Seed of the resampling.

    Returns:
        The rows of metrics and of saturation.
    """
    import pandas as pd

    steps = ["base", "warm-up"]
    number = 1
    while (out / f"iteration-{number}").is_dir():
        steps.append(f"iteration-{number}")
        number += 1
    answers = {
        step: read_lines(path)
        for step in steps
        if (path := out / step / "evaluation" / "answers.jsonl").exists()
    }
    saturation = [
        {"iteration": step.rpartition("-")[2], **read_json(path)}
        for step in steps
        if (path := out / step / "preferences" / "saturation.json").exists()
    ]
    losses = {
        step: read_lines(path)
        for step in steps
        if (path := out / step / "model" / "losses.jsonl").exists()
    }
    metrics = metrics_rows(answers, seed=seed)
    figures = []
    if metrics:
        write_frame(pd.DataFrame(metrics), out / "metrics.csv")
        figures.append(metrics_figure(metrics))
    if saturation:
        write_frame(pd.DataFrame(saturation), out / "saturation.csv")
        figures.append(saturation_figure(saturation))
    if losses:
        rows = [{"stage": step, **row} for step, own in losses.items() for row in own]
        write_frame(pd.DataFrame(rows), out / "losses.csv")
        figures.append(loss_figure(losses))
    for figure in figures:
        write_bytes(out / f"{figure.key}.png", figure.png)
        write_bytes(out / f"{figure.key}.svg", figure.svg)
    return metrics, saturation
