"""Every figure of the chapter, one row each, with its interval (RFC-BENCH, appendix F).

Two forms. ``valid`` is the paper's: replies that are no label are left out. ``strict`` counts them
as wrong. Everything clusters by source article: both members of a pair, all manipulations of an
article, and all few-shot draws are drawn together.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from contrafact.families.rfc.items import PROBABILITIES
from contrafact.families.rfc.labels import TRUE, labels_of
from contrafact.records import MANIPULATIONS
from contrafact.report.rfc.frame import pair_frame, systems_of
from contrafact.stats.classification import MEASURES, auroc, auroc_one_vs_rest, classification
from contrafact.stats.intervals import Interval, cluster_bootstrap

__all__ = ["Bootstrap", "confusion_frame", "estimate_figures"]

_FORMS = ("valid", "strict")
_RIGHT = {"valid": "right", "strict": "right_strict"}
_AUROC_RESAMPLES = 2_000


class Bootstrap:
    """How intervals are made: the resamples, their level, and where randomness comes from."""

    def __init__(
        self, *, rng: np.random.Generator, resamples: int = 10_000, level: float = 0.95
    ) -> None:
        self.rng = rng
        self.resamples = resamples
        self.level = level

    def mean(
        self, values: "pd.Series[float]", clusters: "pd.Series[str]", weights: object = None
    ) -> Interval:
        """Return the (weighted) mean of values with its interval; NaN values are left out."""
        held = values.notna().to_numpy()
        return cluster_bootstrap(
            values.to_numpy(float)[held],
            clusters.to_numpy(object)[held],
            weights=None if weights is None else np.asarray(weights, dtype=float)[held],
            level=self.level,
            resamples=self.resamples,
            rng=self.rng,
        )


def estimate_figures(items: pd.DataFrame, task: str, bootstrap: Bootstrap) -> pd.DataFrame:
    """Estimate every figure of every system, over all items and by manipulation.

    Args:
        items: As ``prepare_items`` returns them.
        task: ``rfc-detect`` or ``rfc-diagnose``.
        bootstrap: How intervals are made.

    Returns:
        One row per figure: ``system``, ``manipulation`` (None: all), ``measure``, ``form``
        ("valid", "strict" or "all"), ``estimate``, ``low``, ``high``, ``level``, ``n``,
        ``articles``, ``method``. Measures are accuracy, precision, recall, f1 (macro-averaged)
        and mcc, invalid (a share), auroc where there are probabilities; in detection
        pairwise_accuracy, says_true, right_on_true, right_on_false. In diagnosis, precision,
        recall, f1 and auroc of one manipulation are that class's own, and auroc of all is the
        macro average over the manipulations present, each against the rest.
    """
    rows: list[dict[str, object]] = []
    detects = task == "rfc-detect"
    pairs = pair_frame(items) if detects else pd.DataFrame()
    for system in systems_of(items):
        own = items[items["system"].eq(system)]
        scopes: list[str | None] = [
            None,
            *(m for m in MANIPULATIONS if m in set(own["manipulation"])),
        ]
        for manipulation in scopes:
            part = own if manipulation is None else own[own["manipulation"].eq(manipulation)]
            if manipulation is None or detects:
                found = _over_all(part, task, bootstrap)
            else:
                found = _of_class(own, manipulation, bootstrap)
            found = [*found, *_area(part if detects else own, task, manipulation, bootstrap)]
            if detects:
                both = pairs[pairs["system"].eq(system)]
                if manipulation is not None:
                    both = both[both["manipulation"].eq(manipulation)]
                found = [*found, *_of_detection(part, both, bootstrap)]
            for measure, form, interval in found:
                if not np.isnan(interval.estimate):
                    rows.append(_row(system, manipulation, measure, form, interval))
    return pd.DataFrame(rows)


_Figures = Iterable[tuple[str, str, Interval]]


def _over_all(part: pd.DataFrame, task: str, bootstrap: Bootstrap) -> _Figures:
    result = classification(
        list(part["gold"]),
        list(part["predicted"]),
        labels_of(task),  # type: ignore[arg-type]
        part["article_id"].to_numpy(object),
        level=bootstrap.level,
        resamples=bootstrap.resamples,
        rng=bootstrap.rng,
    )
    yield "invalid", "all", result.invalid_rate
    for measure in MEASURES:
        for form in _FORMS:
            yield measure, form, result.figures[measure, form]  # type: ignore[index]


def _of_class(own: pd.DataFrame, label: str, bootstrap: Bootstrap) -> _Figures:
    """Yield one class's precision, recall and F1, each a (weighted) mean over items."""
    gold, predicted = own["gold"].eq(label), own["predicted"].eq(label)
    part = own[gold]
    yield "invalid", "all", bootstrap.mean(1 - part["valid"], part["article_id"])
    found = own[predicted]
    for form in _FORMS:
        # What is invalid is no prediction of the class: it lowers recall, never precision.
        yield "precision", form, bootstrap.mean(found["right_strict"], found["article_id"])
        yield "recall", form, bootstrap.mean(part[_RIGHT[form]], part["article_id"])
        yield "accuracy", form, bootstrap.mean(part[_RIGHT[form]], part["article_id"])
        held = own[gold | predicted]
        if form == "valid":
            held = held[held["valid"].eq(1)]
        # F1 is the mean of being right, weighted by how often an item counts: as gold, as found.
        weights = held["gold"].eq(label).astype(int) + held["predicted"].eq(label).astype(int)
        yield "f1", form, bootstrap.mean(held["right_strict"], held["article_id"], weights)


def _of_detection(part: pd.DataFrame, both: pd.DataFrame, bootstrap: Bootstrap) -> _Figures:
    for form in _FORMS:
        yield (
            "pairwise_accuracy",
            form,
            bootstrap.mean(both[_RIGHT[form]], both["article_id"]),
        )
    valid = part[part["valid"].eq(1)]
    says = valid["predicted"].eq(TRUE).astype(float)
    yield "says_true", "valid", bootstrap.mean(says, valid["article_id"])
    for name, gold in (("right_on_true", True), ("right_on_false", False)):
        for form in _FORMS:
            own = part[part["gold"].eq(TRUE) == gold]
            yield name, form, bootstrap.mean(own[_RIGHT[form]], own["article_id"])


def _area(
    part: pd.DataFrame, task: str, manipulation: str | None, bootstrap: Bootstrap
) -> _Figures:
    """Yield the area under the ROC curve over valid outputs that have probabilities, if any."""
    labels = (TRUE,) if task == "rfc-detect" else MANIPULATIONS
    columns = [PROBABILITIES[label] for label in labels]
    known = part[part["valid"].eq(1) & part[columns].notna().all(axis=1)]
    if known["gold"].nunique() < 2:
        return
    articles = known["article_id"].to_numpy(object)
    settings: dict[str, Any] = {
        "level": bootstrap.level,
        "resamples": min(bootstrap.resamples, _AUROC_RESAMPLES),
        "rng": bootstrap.rng,
    }
    if task == "rfc-diagnose" and manipulation is None:
        area = auroc_one_vs_rest(
            list(known["gold"]), known[columns].to_numpy(float), labels, articles, **settings
        )
    else:
        label = TRUE if task == "rfc-detect" else str(manipulation)
        scores = known[PROBABILITIES[label]].to_numpy(float)
        area = auroc(known["gold"].eq(label).to_numpy(float), scores, articles, **settings)
    yield "auroc", "valid", area


def _row(
    system: str, manipulation: str | None, measure: str, form: str, interval: Interval
) -> dict[str, object]:
    return {
        "system": system,
        "manipulation": manipulation,
        "measure": measure,
        "form": form,
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "n": interval.n,
        "articles": interval.clusters,
        "method": interval.method,
    }


def confusion_frame(items: pd.DataFrame, task: str) -> pd.DataFrame:
    """Return counts of gold by predicted labels, one row per system and gold label.

    Columns: ``system``, ``gold``, one per label of the task, ``invalid``.
    """
    labels = labels_of(task)  # type: ignore[arg-type]
    rows: list[dict[str, object]] = []
    for system in systems_of(items):
        own = items[items["system"].eq(system)]
        for gold in labels:
            part = own[own["gold"].eq(gold)]
            if part.empty:
                continue
            counts = {label: int(part["predicted"].eq(label).sum()) for label in labels}
            invalid = int(part["predicted"].isna().sum())
            rows.append({"system": system, "gold": gold, **counts, "invalid": invalid})
    return pd.DataFrame(rows)
