"""Any two systems on the same counterfactuals: what is compared, and how it reads."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from contrafact.records import CRITERIA
from contrafact.report import paired
from contrafact.report.finforce.comparable import Comparability
from contrafact.report.table import Table

__all__ = ["comparison_table", "paired_figures"]

_LABELS = {
    "forward_compatibility": "Fwd-Compat., points",
    "directionality": "Dir., points",
    "average": "Avg., points",
    "perplexity": "Perplexity",
    "base_distance": "Edit distance from the base, × 100",
}


def paired_figures(
    items: pd.DataFrame,
    able: Comparability,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare every two systems on the counterfactuals that both were asked for.

    An item is a headline and a side. Few-shot draws of an item are averaged first, so that every
    item counts once. In the ``valid`` form an item counts where both systems have a value; in the
    ``strict`` form what is invalid is a 0. Judged scores are compared only under one judge, and
    perplexities only under one fluency model. Edit distances from the base continuation are a
    family of comparisons of their own.

    Returns:
        What ``compare_systems`` returns; clusters are ``headlines``.
    """
    judges = items.drop_duplicates("system").set_index("system")["judge"].fillna("")
    values = _per_item(items)

    def wanted(first: str, second: str) -> list[paired.Compared]:
        return _columns(able, judges[first] == judges[second])

    def compared(wanted: Callable[[str, str], list[paired.Compared]]) -> pd.DataFrame:
        return paired.compare_systems(
            values,
            wanted,
            systems=list(dict.fromkeys(items["system"])),
            cluster="sample_id",
            clusters_name="headlines",
            rng=rng,
            resamples=resamples,
            level=level,
        )

    figures = compared(wanted)
    if items["base_distance"].notna().any():
        distances = compared(lambda *_: [("base_distance", "valid", "base_distance")])
        figures = pd.concat([part for part in (figures, distances) if len(part)] or [figures])
    return figures.reset_index(drop=True)


def _per_item(items: pd.DataFrame) -> pd.DataFrame:
    """Return each system's value per headline and side, draws averaged."""
    strict = (f"{criterion}_strict" for criterion in CRITERIA)
    columns = [*CRITERIA, *strict, "perplexity", "base_distance"]
    values = items.groupby(["system", "sample_id", "side"], sort=True)[columns].mean()
    first, second = CRITERIA
    values["average"] = (values[first] + values[second]) / 2
    values["average_strict"] = (values[f"{first}_strict"] + values[f"{second}_strict"]) / 2
    return values


def _columns(able: Comparability, same_judge: bool) -> list[paired.Compared]:
    wanted: list[paired.Compared] = []
    if same_judge and able.judged:
        for measure in (*CRITERIA, "average"):
            wanted += [(measure, "valid", measure), (measure, "strict", f"{measure}_strict")]
    if able.scored and able.one_fluency_model:
        wanted.append(("perplexity", "valid", "perplexity"))
    return wanted


def comparison_table(figures: pd.DataFrame) -> Table | None:
    """Return the paired comparisons as a table, or None where there is nothing to compare."""
    caption = (
        "The first system minus the second, on the counterfactuals both were asked for: 95% "
        "interval by headline, p-value by flipping the sign of whole headlines, and the same "
        "adjusted (Holm) for all comparisons of its form. Read the adjusted one."
    )
    return paired.comparison_table(
        figures, labels=_LABELS, scales={"perplexity": 1.0}, caption=caption
    )
