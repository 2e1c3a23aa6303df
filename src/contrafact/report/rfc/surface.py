"""Figure 4: the surface baseline beside the median of the models run, resampled together."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from contrafact.families.rfc.labels import labels_of
from contrafact.report.replicates import Sampler
from contrafact.report.rfc.frame import systems_of
from contrafact.stats.classification import measures
from contrafact.stats.intervals import Interval

__all__ = ["MEDIAN", "SURFACE", "surface_figures"]

SURFACE = "surface"
"""The solver's name of the baseline."""
MEDIAN = "median of the models"
_MEASURES = ("accuracy", "f1")


def surface_figures(
    items: pd.DataFrame,
    task: str,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return accuracy and macro-F1, over valid outputs, of baseline, median and their difference.

    Every resample of articles gives one value of each system, and so one of the median over the
    models and of its distance to the baseline.

    Returns:
        One row per ``what`` (the baseline, the median, "difference": median minus baseline) and
        ``measure``: ``estimate``, ``low``, ``high``, ``models``, ``n``, ``articles``; empty where
        the baseline or the models are missing.
    """
    baseline = [s for s in systems_of(items) if _one(items, s)["method"] == SURFACE]
    models = [s for s in systems_of(items) if not _one(items, s)["baseline"]]
    if not baseline or not models:
        return pd.DataFrame()
    sampler = Sampler(items["article_id"], rng=rng, resamples=resamples, level=level)
    of = {
        s: _replicates(items[items["system"].eq(s)], task, sampler) for s in (baseline[0], *models)
    }
    own = items[items["system"].eq(baseline[0])]
    rows: list[dict[str, object]] = []
    for measure in _MEASURES:
        surface = of[baseline[0]][measure]
        median = np.median(np.stack([of[s][measure] for s in models]), axis=0)
        for what, values in (
            (baseline[0], surface),
            (MEDIAN, median),
            ("difference", median - surface),
        ):
            interval = sampler.interval(values, n=len(own), clusters=own["article_id"].nunique())
            rows.append(_row(what, measure, interval, len(models)))
    return pd.DataFrame(rows)


def _one(items: pd.DataFrame, system: str) -> "pd.Series[Any]":
    row: pd.Series[Any] = items[items["system"].eq(system)].iloc[0]
    return row


def _replicates(own: pd.DataFrame, task: str, sampler: Sampler) -> dict[str, NDArray[np.float64]]:
    """Return a system's measures on the data and on every resample."""
    labels = labels_of(task)  # type: ignore[arg-type]
    articles = own["article_id"].to_numpy(object)
    predicted = [label if label is not None else "" for label in own["predicted"]]
    cells = [
        (
            np.array(
                [g == gold and p == found for g, p in zip(own["gold"], predicted, strict=True)],
                dtype=float,
            ),
            articles,
        )
        for gold in labels
        for found in (*labels, "")
    ]
    # The measures do not change when all cells are divided by the number of items.
    shares = np.stack(sampler.means(cells), axis=1)
    confusion = shares.reshape(len(shares), len(labels), len(labels) + 1)
    with np.errstate(invalid="ignore"):
        found = measures(confusion, "valid")
    return {name: found[name] for name in _MEASURES}


def _row(what: str, measure: str, interval: Interval, models: int) -> dict[str, object]:
    return {
        "what": what,
        "measure": measure,
        "form": "valid",
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "models": models,
        "n": interval.n,
        "articles": interval.clusters,
    }
