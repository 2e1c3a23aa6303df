"""Any two systems on the same items: the difference, its interval and an adjusted p-value."""

from itertools import combinations

import numpy as np
import pandas as pd

from contrafact.records import CRITERIA
from contrafact.report.finforce.comparable import Comparability
from contrafact.report.table import Column, Table
from contrafact.stats.paired import holm, paired_comparison

__all__ = ["comparison_table", "paired_figures"]

_LABELS = {
    "forward_compatibility": "Fwd-Compat., points",
    "directionality": "Dir., points",
    "average": "Avg., points",
    "perplexity": "Perplexity",
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
    perplexities only under one fluency model.

    Returns:
        One row per pair, measure and form: ``first``, ``second``, ``measure``, ``form``,
        ``difference`` (first minus second), ``low``, ``high``, ``p_value``, ``p_adjusted``
        (Holm's, over all comparisons of that form), ``n``, ``headlines``, ``method``.
    """
    values = _per_item(items)
    systems = list(dict.fromkeys(items["system"]))
    judges = items.drop_duplicates("system").set_index("system")["judge"].fillna("")
    rows: list[dict[str, object]] = []
    for first, second in combinations(systems, 2):
        a, b = values.loc[first], values.loc[second]
        shared = a.index.intersection(b.index).sort_values()
        a, b = a.loc[shared], b.loc[shared]
        for measure, form, column in _columns(able, judges[first] == judges[second]):
            held = a[column].notna() & b[column].notna()
            if not held.any():
                continue
            result = paired_comparison(
                a.loc[held, column].to_numpy(float),
                b.loc[held, column].to_numpy(float),
                shared[held].get_level_values("sample_id").to_numpy(object),
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
                    "headlines": result.clusters,
                    "method": result.method,
                }
            )
    frame = pd.DataFrame(rows)
    if rows:
        frame.insert(8, "p_adjusted", np.nan)
        for _, part in frame.groupby("form"):
            frame.loc[part.index, "p_adjusted"] = holm(part["p_value"].to_numpy(float))
    return frame


def _per_item(items: pd.DataFrame) -> pd.DataFrame:
    """Return each system's value per headline and side, draws averaged."""
    columns = [*CRITERIA, *(f"{criterion}_strict" for criterion in CRITERIA), "perplexity"]
    values = items.groupby(["system", "sample_id", "side"], sort=True)[columns].mean()
    first, second = CRITERIA
    values["average"] = (values[first] + values[second]) / 2
    values["average_strict"] = (values[f"{first}_strict"] + values[f"{second}_strict"]) / 2
    return values


def _columns(able: Comparability, same_judge: bool) -> list[tuple[str, str, str]]:
    wanted: list[tuple[str, str, str]] = []
    if same_judge and able.judged:
        for measure in (*CRITERIA, "average"):
            wanted += [(measure, "valid", measure), (measure, "strict", f"{measure}_strict")]
    if able.scored and able.one_fluency_model:
        wanted.append(("perplexity", "valid", "perplexity"))
    return wanted


def comparison_table(figures: pd.DataFrame) -> Table | None:
    """Return the paired comparisons as a table, or None where there is nothing to compare."""
    if figures.empty:
        return None
    lines: list[dict[str, object]] = []
    by = ["first", "second", "measure"]
    for (first, second, measure), forms in figures.groupby(by, sort=False):
        scale = 1.0 if measure == "perplexity" else 100.0
        line: dict[str, object] = {
            "pair": f"{first} minus {second}",
            "measure": _LABELS[str(measure)],
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
    caption = (
        "The first system minus the second, on the counterfactuals both were asked for: 95% "
        "interval by headline, p-value by flipping the sign of whole headlines, and the same "
        "adjusted (Holm) for all comparisons of its form. Read the adjusted one."
    )
    frame = pd.DataFrame(lines)
    return Table("paired", "Paired comparisons", caption, tuple(columns), frame, (), "pair")
