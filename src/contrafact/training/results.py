"""The tables of a training, from the files of its stages."""

from pathlib import Path
from typing import Any

import pandas as pd

from contrafact.family.training import TrainingSpec
from contrafact.files.tables import write_frame
from contrafact.training.context import read_json, read_lines
from contrafact.training.evaluation import metrics_rows


def write_results(
    out: Path, spec: TrainingSpec, *, seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Write the tables of the finished stages, and return the rows of the first two.

    ``metrics.csv`` has a row for each checkpoint, ``saturation.csv`` for each iteration,
    ``losses.csv`` for each measured step.
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
        write_frame(pd.DataFrame(metrics), out / "metrics.csv")
    return metrics, saturation
