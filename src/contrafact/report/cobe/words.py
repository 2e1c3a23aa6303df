"""The chapter's first words, made from its figures: no adjective that a number does not carry."""

import math
from typing import Any

import pandas as pd

from contrafact.cobe.items import CRITERION_NAMES
from contrafact.report.cobe.tables import CRITERION_LABELS
from contrafact.report.meta import ReportMeta
from contrafact.report.table import format_number

__all__ = ["summary_sentences", "warnings_for"]

_ONE_ANSWER = 0.95
_ENOUGH_VERDICTS = 20


def summary_sentences(
    items: pd.DataFrame, figures: pd.DataFrame, pairs: pd.DataFrame, meta: ReportMeta
) -> list[str]:
    """Return what the figures say, in plain sentences.

    Args:
        items: As ``prepare_items`` returns them.
        figures: As ``estimate_figures`` returns them.
        pairs: The paired comparisons.
        meta: What the runs are.
    """
    said = [_scope(items)]
    if not items["judged"].any():
        said.append("Nobody judged them, so there is no accuracy: name a judge with --judge.")
        return [*said, *_invalid(items)]
    if meta.embedded_judge:
        said.append(
            "The judge is the small embedded model, a poor judge: what follows shows that the "
            "machinery works, not how good these systems are."
        )
    return [*said, *_best(items, figures, pairs), *_criteria(figures), *_invalid(items)]


def warnings_for(items: pd.DataFrame, meta: ReportMeta) -> list[tuple[str, str]]:
    """Return what a reader must know before quoting a figure, as pairs of heading and text."""
    found: list[tuple[str, str]] = []
    if meta.embedded_judge:
        found.append(
            (
                "The judge is the embedded model",
                "It is small, and a poor judge: it is there so that everything can be tried "
                "without a key or a network. Take accuracy and failure rates as proof that the "
                "machinery works, not as a measurement of these systems. For figures to quote, "
                "name a strong judge with --judge, and have it sit contrafact exam.",
            )
        )
    elif any(str(model).startswith("embedded/") for model in items["model"].unique()):
        found.append(
            (
                "The embedded model is among the systems",
                "It is small: it is there so that everything can be tried without a key or a "
                "network. Its rows show that the machinery works, and say nothing of what larger "
                "models can do.",
            )
        )
    if meta.self_judged:
        found.append(
            (
                "A model judged its own writing",
                "In at least one run the judge is the model that wrote the edits. Models tend to "
                "favour their own text, so its scores here may be too high. Name another judge "
                "with --judge.",
            )
        )
    found += _one_answer(items)
    unfinished = [run.name for run in meta.runs if not run.complete]
    if unfinished:
        found.append(
            (
                "Not every sample is finished",
                f"Figures rest on the finished samples of {', '.join(unfinished)}. Run the same "
                "command again to finish the others.",
            )
        )
    return found


def _one_answer(items: pd.DataFrame) -> list[tuple[str, str]]:
    """Say so where a judge gives nearly always the same answer."""
    said: list[str] = []
    for judge, own in items[items["judged"]].groupby("judge", sort=False):
        for name in CRITERION_NAMES:
            verdicts = own[name].dropna()
            share = float(verdicts.mean()) if len(verdicts) else math.nan
            if len(verdicts) < _ENOUGH_VERDICTS or 1 - _ONE_ANSWER < share < _ONE_ANSWER:
                continue
            letter, often = ("T", share) if share > 0.5 else ("F", 1 - share)
            said.append(
                f"On {name}, {judge} answered {letter} {_percent(often)} of the time "
                f"({len(verdicts):,} readable verdicts)."
            )
    if not said:
        return []
    said.append(
        "A judge that nearly always gives the same answer cannot tell one system from another, "
        "unless all responses truly are alike: contrafact exam finds out which."
    )
    return [("The judge hardly distinguishes", " ".join(said))]


def _scope(items: pd.DataFrame) -> str:
    systems, stories = items["system"].nunique(), items["sample_id"].nunique()
    valid, asked = int(items["valid"].sum()), len(items)
    return (
        f"{_count(systems, 'system')} edited {_count(stories, 'story')} under an intervention, "
        f"each asked in {_count(items['phrasing'].nunique(), 'phrasing')}: {asked:,} responses "
        f"were asked for and {valid:,} ({_percent(valid / asked)}) could be read."
    )


def _best(items: pd.DataFrame, figures: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Name the highest accuracy of each judge, and whether the next is distinguishable from it."""
    rows = _of(figures, "accuracy").sort_values("estimate", ascending=False, kind="stable")
    judge_of = items.drop_duplicates("system").set_index("system")["judge"].to_dict()
    judges = list(dict.fromkeys(judge_of[system] for system in rows["system"]))
    said: list[str] = []
    for judge in judges:
        own = rows[[judge_of[system] == judge for system in rows["system"]]]
        by = f"Judged by {judge}, " if len(judges) > 1 else "Over valid outputs, "
        first = own.iloc[0]
        if len(own) == 1:
            said.append(
                f"{by}{first['system']} meets all criteria in {_with_interval(first)} of its "
                "responses."
            )
            continue
        second = own.iloc[1]
        said.append(
            f"{by}the highest accuracy is that of {first['system']}, {_with_interval(first)}; "
            f"next comes {second['system']} with {_with_interval(second)}."
            + _verdict(pairs, str(first["system"]), str(second["system"]))
        )
    return said


def _verdict(pairs: pd.DataFrame, first: str, second: str) -> str:
    if pairs.empty:
        return ""
    held = pairs["measure"].eq("accuracy") & pairs["form"].eq("valid")
    either = (pairs["first"].eq(first) & pairs["second"].eq(second)) | (
        pairs["first"].eq(second) & pairs["second"].eq(first)
    )
    rows = pairs[held & either & pairs["p_adjusted"].notna()]
    if rows.empty:
        return ""
    adjusted = float(rows.iloc[0]["p_adjusted"])
    p = format_number(adjusted, "p")
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    verdict = (
        "the difference between the two is larger than chance would make it"
        if adjusted < 0.05
        else "these data do not tell the two apart"
    )
    return f" On the same items, {verdict} (paired test, {p} after Holm's adjustment)."


def _criteria(figures: pd.DataFrame) -> list[str]:
    """Say which criterion the most accurate system fails most often."""
    rows = _of(figures, "accuracy").sort_values("estimate", ascending=False, kind="stable")
    if rows.empty:
        return []
    system = rows.iloc[0]["system"]
    failing = pd.concat([_of(figures, f"{name}_fails") for name in CRITERION_NAMES])
    failing = failing[failing["system"].eq(system)]
    worst = failing.sort_values("estimate", ascending=False, kind="stable").iloc[0]
    if worst["estimate"] == 0:
        return [f"{system} fails no criterion."]
    label = CRITERION_LABELS[str(worst["measure"])[:2]]
    return [f"The criterion that {system} fails most often is {label}: {_with_interval(worst)}."]


def _invalid(items: pd.DataFrame) -> list[str]:
    shares = 1 - items.groupby("system", sort=False)["valid"].mean()
    bad = shares[shares > 0].sort_values(ascending=False, kind="stable")
    unread = items[[f"{name}_invalid" for name in CRITERION_NAMES]].notna().to_numpy().sum()
    said = []
    if len(bad):
        said.append(
            f"Most invalid responses come from {bad.index[0]} ({_percent(float(bad.iloc[0]))} of "
            "its responses)"
        )
    if unread:
        said.append(f"{_count(int(unread), 'verdict')} could not be read")
    if not said:
        return ["No response and no verdict was invalid: strict and valid form are the same."]
    text = "; ".join(said)
    return [f"{text[0].upper()}{text[1:]}. The strict columns count them as failed."]


def _of(figures: pd.DataFrame, measure: str) -> pd.DataFrame:
    held = figures["scope"].eq("overall") & figures["form"].eq("valid")
    return figures[held & figures["measure"].eq(measure)]


def _with_interval(row: "pd.Series[Any]") -> str:
    estimate, low, high = (float(str(row[name])) for name in ("estimate", "low", "high"))
    if math.isnan(low):
        return f"{_percent(estimate)} (too few stories for an interval)"
    level = format_number(float(str(row["level"])) * 100, "count")
    return (
        f"{_percent(estimate)} ({level}% interval {format_number(low, 'share')} "
        f"to {format_number(high, 'share')})"
    )


def _percent(share: float) -> str:
    return f"{format_number(share, 'share')}%"


def _count(number: int, noun: str) -> str:
    plural = {"story": "stories"}.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else plural}"
