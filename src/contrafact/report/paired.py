"""Any two systems on the same items: the difference, its interval and an adjusted p-value."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from contrafact.report.table import Column, Table
from contrafact.stats.paired import holm, paired_comparison

__all__ = ["Compared", "compare_systems", "comparison_table"]

Compared = tuple[str, str, str]
"""What is compared: a measure, its form, and the column that has it."""


def compare_systems(
    values: pd.DataFrame,
    wanted: Callable[[str, str], Sequence[Compared]],
    *,
    systems: Sequence[str],
    cluster: str,
    clusters_name: str,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Compare every two systems on the items that both were asked about.

    Args:
        values: One row per system and item; the index's first level is the system, its other
            levels name the item. NaN where a system has no value.
        wanted: What to compare of two systems.
        systems: The systems, in order.
        cluster: The level of the index by which items cluster.
        clusters_name: The column of the result that counts clusters.
        rng: Where randomness comes from.
        resamples: How many resamples, and random sign patterns.
        level: Confidence level.

    Returns:
        One row per pair, measure and form: ``first``, ``second``, ``measure``, ``form``,
        ``difference`` (first minus second), ``low``, ``high``, ``p_value``, ``p_adjusted``
        (Holm's, over all comparisons of that form), ``n``, the number of clusters, ``method``.
    """
    rows: list[dict[str, object]] = []
    for first, second in combinations(systems, 2):
        a, b = values.loc[first], values.loc[second]
        shared = a.index.intersection(b.index).sort_values()
        a, b = a.loc[shared], b.loc[shared]
        for measure, form, column in wanted(first, second):
            held = a[column].notna() & b[column].notna()
            if not held.any():
                continue
            result = paired_comparison(
                a.loc[held, column].to_numpy(float),
                b.loc[held, column].to_numpy(float),
                shared[held].get_level_values(cluster).to_numpy(object),
                level=level,
                resamples=resamples,
                rng=rng,
            )
            rows.append(
                {
                    "first": first,
                    "second": second,
                    "measure": measure,
                    "form": form,
                    "difference": result.difference,
                    "low": result.low,
                    "high": result.high,
                    "p_value": result.p_value,
                    "n": result.n,
                    clusters_name: result.clusters,
                    "method": result.method,
                }
            )
    frame = pd.DataFrame(rows)
    if rows:
        frame.insert(8, "p_adjusted", np.nan)
        for _, part in frame.groupby("form"):
            frame.loc[part.index, "p_adjusted"] = holm(part["p_value"].to_numpy(float))
    return frame


def comparison_table(
    figures: pd.DataFrame, *, labels: Mapping[str, str], scales: Mapping[str, float], caption: str
) -> Table | None:
    """Return the paired comparisons as a table, or None where there is nothing to compare.

    Args:
        figures: As ``compare_systems`` returns them.
        labels: How each measure reads.
        scales: What the differences of a measure are multiplied with; 100 for points.
        caption: How to read the table.
    """
    if figures.empty:
        return None
    lines: list[dict[str, object]] = []
    by = ["first", "second", "measure"]
    for (first, second, measure), forms in figures.groupby(by, sort=False):
        scale = scales.get(str(measure), 100.0)
        line: dict[str, object] = {
            "pair": f"{first} minus {second}",
            "measure": labels[str(measure)],
        }
        for _, row in forms.iterrows():
            name = f"difference_{row['form']}"
            line[name] = row["difference"] * scale
            line[f"{name}_low"], line[f"{name}_high"] = row["low"] * scale, row["high"] * scale
            for what in ("p_value", "p_adjusted", "n"):
                line[f"{what}_{row['form']}"] = row[what]
        lines.append(line)
    columns = [Column("measure", "Measure", "text")]
    for form, group in (("valid", "Over valid outputs"), ("strict", "Strict")):
        if not figures["form"].eq(form).any():
            continue
        columns += [
            Column(f"difference_{form}", "Difference", "signed", group=group),
            Column(f"p_value_{form}", "p", "p", group=group),
            Column(f"p_adjusted_{form}", "p, Holm", "p", group=group),
            Column(f"n_{form}", "Items", "count", group=group),
        ]
    frame = pd.DataFrame(lines)
    return Table("paired", "Paired comparisons", caption, tuple(columns), frame, (), "pair")
