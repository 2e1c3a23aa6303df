"""The report's first words, made from its figures: no adjective that a number does not carry."""

import math
from functools import partial

import pandas as pd

from contrafact.records import CRITERIA
from contrafact.report.finforce.comparable import Comparability
from contrafact.report.finforce.panel import CRITERION_NAMES
from contrafact.report.meta import ReportMeta
from contrafact.report.table import format_number
from contrafact.report.words import (
    count,
    listed,
    most_invalid,
    one_answer,
    percent,
    self_judged,
    unfinished,
    verdict,
    with_interval,
)

__all__ = ["summary_sentences", "warnings_for"]

_ENOUGH_VERDICTS = 30
_with_interval = partial(with_interval, clusters="headlines")


def summary_sentences(
    items: pd.DataFrame,
    figures: pd.DataFrame,
    pairs: pd.DataFrame,
    able: Comparability,
    meta: ReportMeta,
) -> list[str]:
    """Return what the figures say, in plain sentences.

    Args:
        items: As ``prepare_items`` returns them.
        figures: As ``estimate_figures`` returns them.
        pairs: As ``paired_figures`` returns them.
        able: What can be compared.
        meta: What the runs are.
    """
    said = [_scope(items)]
    if able.judged and able.one_judge:
        if meta.embedded_judge:
            said.append(
                "What follows about forward-compatibility and directionality rests on the embedded "
                "model's verdicts, and is worth no more than they are."
            )
        said += _best(figures, pairs)
        said += _sides(figures)
    if able.scored and able.one_fluency_model:
        said += _fluency(figures)
    said += _invalid(items)
    return said


def warnings_for(items: pd.DataFrame, meta: ReportMeta) -> list[tuple[str, str]]:
    """Return what a reader must know before quoting a figure, as pairs of heading and text."""
    found: list[tuple[str, str]] = []
    if meta.embedded_judge:
        found.append(
            (
                "The judge is the embedded model",
                "It is small, and a poor judge: it is there so that everything can be tried "
                "without a key or a network. Take the judged columns (Fwd-Compat., Dir. and their "
                "average) as proof that the machinery works, not as a measurement of these "
                "systems. For figures to quote, name a strong judge with --judge and check it "
                "against people.",
            )
        )
    found += self_judged(meta, "counterfactuals")
    found += _one_answer(items)
    found += unfinished(meta)
    return found


def _one_answer(items: pd.DataFrame) -> list[tuple[str, str]]:
    """Say so where a judge gives nearly always the same answer."""
    said: list[str] = []
    judges = items["judge"].fillna("the judge").astype(str)
    for criterion in CRITERIA:
        for judge, verdicts in items[criterion].dropna().groupby(judges):
            said += one_answer(
                verdicts, enough=_ENOUGH_VERDICTS, judge=str(judge),
                criterion=CRITERION_NAMES[criterion].lower(), words=("true", "false"),
            )  # fmt: skip
    if not said:
        return []
    said.append(
        "A judge that nearly always gives the same answer cannot tell one system from another."
    )
    return [("The judge hardly distinguishes", " ".join(said))]


def _scope(items: pd.DataFrame) -> str:
    systems, headlines = items["system"].nunique(), items["sample_id"].nunique()
    valid, asked = int(items["valid"].sum()), len(items)
    return (
        f"{count(systems, 'system')} wrote about {count(headlines, 'headline')}: "
        f"{asked:,} counterfactuals were asked for and {valid:,} ({percent(valid / asked)}) "
        "could be read."
    )


def _best(figures: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Name the highest average and say whether the next is distinguishable from it."""
    rows = _of(figures, "overall", "average", "valid").sort_values(
        "estimate", ascending=False, kind="stable"
    )
    if rows.empty:
        return []
    first = rows.iloc[0]
    if len(rows) == 1:
        return [
            f"Over valid outputs, {first['system']} has an average of forward-compatibility and "
            f"directionality of {_with_interval(first)}."
        ]
    second = rows.iloc[1]
    said = (
        "Over valid outputs, the highest average of forward-compatibility and directionality is "
        f"that of {first['system']}, {_with_interval(first)}; next comes {second['system']} with "
        f"{_with_interval(second)}."
    )
    systems = str(first["system"]), str(second["system"])
    return [said + verdict(pairs, *systems, measure="average")]


def _sides(figures: pd.DataFrame) -> list[str]:
    """Say where opportunity counterfactuals are directional less or more often than risk ones."""
    rows = _of(figures, "risk-opportunity", "directionality", "valid")
    if rows.empty:
        return []
    more = list(rows.loc[rows["low"] > 0, "system"])
    less = list(rows.loc[rows["high"] < 0, "system"])
    rest = len(rows) - len(more) - len(less)
    parts: list[str] = []
    if more:
        parts.append(f"risk counterfactuals pass more often for {listed(more)}")
    if less:
        parts.append(f"opportunity counterfactuals pass more often for {listed(less)}")
    if rest and parts:
        parts.append(f"for {rest} more the interval of the difference includes zero")
    elif rest:
        parts.append("no system's two sides can be told apart")
    return [f"On directionality, {'; '.join(parts)}."]


def _fluency(figures: pd.DataFrame) -> list[str]:
    rows = _of(figures, "overall", "delta_perplexity", "valid").sort_values(
        "estimate", kind="stable"
    )
    if rows.empty:
        return []
    first = rows.iloc[0]
    value = format_number(float(first["estimate"]), "signed")
    bounds = [format_number(float(first[end]), "signed") for end in ("low", "high")]
    between = "" if math.isnan(float(first["low"])) else f" ({bounds[0]} to {bounds[1]})"
    lead = "The lowest Δ perplexity is that of" if len(rows) > 1 else "Δ perplexity of"
    verb = "," if len(rows) > 1 else " is"
    medians = _of(figures, "overall", "perplexity_median", "valid").set_index("system")
    median = format_number(float(medians.loc[str(first["system"]), "estimate"]), "number")  # type: ignore[arg-type]
    return [f"{lead} {first['system']}{verb} {value}{between}; its median perplexity is {median}."]


def _invalid(items: pd.DataFrame) -> list[str]:
    worst = most_invalid(items)
    if worst is None:
        return ["No output was invalid, so the strict and the valid form rest on the same outputs."]
    return [
        "Invalid outputs are counted as wrong in the strict columns: most come from "
        f"{worst[0]} ({worst[1]} of its outputs)."
    ]


def _of(figures: pd.DataFrame, scope: str, measure: str, form: str) -> pd.DataFrame:
    held = figures["category"].isna() & figures["scope"].eq(scope)
    return figures[held & figures["measure"].eq(measure) & figures["form"].eq(form)]
