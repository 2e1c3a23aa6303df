"""The chapter's first words, made from its figures: no adjective that a number does not carry."""

from functools import partial

import pandas as pd

from contrafact.families.rfc.labels import FALSE
from contrafact.report.meta import ReportMeta
from contrafact.report.rfc.frame import is_baseline
from contrafact.report.words import (
    ONE_ANSWER,
    count,
    embedded_system,
    most_invalid,
    percent,
    unfinished,
    verdict,
    with_interval,
)

__all__ = ["summary_sentences", "warnings_for"]

_ENOUGH_ANSWERS = 20
_with_interval = partial(with_interval, clusters="articles")


def summary_sentences(
    items: pd.DataFrame, figures: pd.DataFrame, pairs: pd.DataFrame, task: str
) -> list[str]:
    """Return what the figures say, in plain sentences.

    Args:
        items: As ``prepare_items`` returns them.
        figures: As ``estimate_figures`` returns them.
        pairs: The paired comparisons.
        task: The task.
    """
    said = [_scope(items, task)]
    said += _best(items, figures, pairs)
    if task == "rfc-detect":
        said += _pairwise(figures)
    said += _manipulations(items, figures, task)
    said += _invalid(items)
    return said


def warnings_for(
    items: pd.DataFrame, figures: pd.DataFrame, meta: ReportMeta, task: str
) -> list[tuple[str, str]]:
    """Return what a reader must know before quoting a figure, as pairs of heading and text."""
    found = embedded_system(items)
    if task == "rfc-detect" and set(items["gold"]) == {FALSE}:
        found.append(
            (
                "Only manipulated paragraphs were shown",
                "The pairs have no originals. A system that always answers false is always right "
                "here: accuracy is the recall of false and no more.",
            )
        )
    found += _one_answer(items, figures)
    if items["error_class"].notna().any() and meta.embedded_judge:
        found.append(
            (
                "The judge is the embedded model",
                "It is a poor judge. Take the classes it gave to answers as proof that the "
                "machinery works; name a strong judge with --judge, or sort by people.",
            )
        )
    found += unfinished(meta)
    return found


def _one_answer(items: pd.DataFrame, figures: pd.DataFrame) -> list[tuple[str, str]]:
    """Say so where a system gives nearly always the same answer; baselines may."""
    said: list[str] = []
    for system, own in items[~items["baseline"]].groupby("system", sort=False):
        answers = own["predicted"].dropna()
        if len(answers) < _ENOUGH_ANSWERS:
            continue
        share = answers.value_counts(normalize=True)
        if share.iloc[0] < ONE_ANSWER:
            continue
        label = share.index[0]
        of_items = float(own["gold"].eq(label).mean())
        text = (
            f"{system} answered {label} {percent(float(share.iloc[0]))} of the time, which is "
            f"right for {percent(of_items)} of the items whatever they say"
        )
        pairwise = _of(figures, "pairwise_accuracy", "valid")
        pairwise = pairwise[pairwise["system"].eq(system)]
        if len(pairwise):
            text += (
                f" and has both members right in {_with_interval(pairwise.iloc[0])} of the pairs"
            )
        said.append(f"{text} ({len(answers):,} valid answers).")
    if not said:
        return []
    said.append("Such a system tells nothing apart: do not read its accuracy as skill.")
    return [("A system nearly always says the same", " ".join(said))]


def _scope(items: pd.DataFrame, task: str) -> str:
    pairs, systems = items["pair_id"].nunique(), items["system"].nunique()
    articles = items["article_id"].nunique()
    valid, asked = int(items["valid"].sum()), len(items)
    what = (
        "asked of single paragraphs whether they were published so or manipulated"
        if task == "rfc-detect"
        else "shown original and manipulated paragraph and asked which of four manipulations it was"
    )
    were = "was" if systems == 1 else "were"
    return (
        f"{count(systems, 'system')} {were} {what}, on {count(pairs, 'pair')} from "
        f"{count(articles, 'article')}: {asked:,} answers were asked for and {valid:,} "
        f"({percent(valid / asked)}) could be read."
    )


def _best(items: pd.DataFrame, figures: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Name the highest accuracy and say whether the next is distinguishable from it."""
    baseline = is_baseline(items)
    rows = _of(figures, "accuracy", "valid")
    rows = rows.sort_values("estimate", ascending=False, kind="stable")
    if rows.empty:
        return []
    asked = rows[~rows["system"].map(baseline)]
    said: list[str] = []
    if len(asked) == 1 or len(rows) == 1:
        one = asked.iloc[0] if len(asked) else rows.iloc[0]
        said.append(f"Over valid outputs, {one['system']} is right on {_with_interval(one)}.")
    elif len(asked) > 1:
        first, second = asked.iloc[0], asked.iloc[1]
        text = (
            f"Over valid outputs, the highest accuracy of a model is that of {first['system']}, "
            f"{_with_interval(first)}; next comes {second['system']} with "
            f"{_with_interval(second)}."
        )
        said.append(text + _verdict(pairs, str(first["system"]), str(second["system"])))
    others = rows[rows["system"].map(baseline)]
    if len(others) and len(asked):
        best = others.iloc[0]
        said.append(
            f"Without any model, {best['system']} is right on {_with_interval(best)}."
            + _verdict(pairs, str(asked.iloc[0]["system"]), str(best["system"]))
        )
    return said


def _verdict(pairs: pd.DataFrame, first: str, second: str) -> str:
    return verdict(pairs, first, second, measure="accuracy", called=f"{first} and {second}")


def _pairwise(figures: pd.DataFrame) -> list[str]:
    rows = _of(figures, "pairwise_accuracy", "valid")
    if rows.empty:
        return []
    first = rows.sort_values("estimate", ascending=False, kind="stable").iloc[0]
    return [
        f"Both members of a pair are right most often for {first['system']}: "
        f"{_with_interval(first)} of the pairs, where answers by chance have 25%."
    ]


def _manipulations(items: pd.DataFrame, figures: pd.DataFrame, task: str) -> list[str]:
    """Say which manipulation the best model finds easiest and hardest."""
    rows = _of(figures, "accuracy", "valid")
    asked = rows[~rows["system"].map(is_baseline(items))]
    if asked.empty:
        return []
    system = asked.sort_values("estimate", ascending=False, kind="stable").iloc[0]["system"]
    parts = figures[
        figures["system"].eq(system)
        & figures["manipulation"].notna()
        & figures["measure"].eq("accuracy")
        & figures["form"].eq("valid")
    ].sort_values("estimate", ascending=False, kind="stable")
    if len(parts) < 2:
        return []
    high, low = parts.iloc[0], parts.iloc[-1]
    return [
        f"By manipulation, {system} is right most often on {high['manipulation']}, "
        f"{_with_interval(high)}, and least often on {low['manipulation']}, "
        f"{_with_interval(low)}."
    ]


def _invalid(items: pd.DataFrame) -> list[str]:
    worst = most_invalid(items)
    if worst is None:
        return ["No reply was invalid, so the strict and the valid form rest on the same answers."]
    return [
        "Invalid replies are counted as wrong in the strict columns: most come from "
        f"{worst[0]} ({worst[1]} of its replies)."
    ]


def _of(figures: pd.DataFrame, measure: str, form: str) -> pd.DataFrame:
    held = figures["manipulation"].isna() & figures["measure"].eq(measure)
    return figures[held & figures["form"].eq(form)]
