"""The chapter's first words, made from its figures: no adjective that a number does not carry."""

from functools import partial

import pandas as pd

from contrafact.families.cobe.items import CRITERION_NAMES
from contrafact.report.cobe.tables import CRITERION_LABELS
from contrafact.report.meta import ReportMeta
from contrafact.report.words import (
    count,
    embedded_system,
    most_invalid,
    one_answer,
    percent,
    self_judged,
    unfinished,
    verdict,
    with_interval,
)

__all__ = ["summary_sentences", "warnings_for"]

_ENOUGH_VERDICTS = 20
_with_interval = partial(with_interval, clusters="stories")


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
    else:
        found += embedded_system(items)
    found += self_judged(meta, "edits")
    found += _one_answer(items)
    found += unfinished(meta)
    return found


def _one_answer(items: pd.DataFrame) -> list[tuple[str, str]]:
    """Say so where a judge gives nearly always the same answer."""
    said: list[str] = []
    for judge, own in items[items["judged"]].groupby("judge", sort=False):
        for name in CRITERION_NAMES:
            said += one_answer(
                own[name].dropna(), enough=_ENOUGH_VERDICTS, judge=str(judge), criterion=name,
                words=("T", "F"),
            )  # fmt: skip
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
        f"{count(systems, 'system')} edited {count(stories, 'story', 'stories')} under an "
        f"intervention, each asked in {count(items['phrasing'].nunique(), 'phrasing')}: {asked:,} "
        f"responses were asked for and {valid:,} ({percent(valid / asked)}) could be read."
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
            + verdict(pairs, str(first["system"]), str(second["system"]), measure="accuracy")
        )
    return said


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
    worst = most_invalid(items)
    unread = items[[f"{name}_invalid" for name in CRITERION_NAMES]].notna().to_numpy().sum()
    said = []
    if worst:
        said.append(f"Most invalid responses come from {worst[0]} ({worst[1]} of its responses)")
    if unread:
        said.append(f"{count(int(unread), 'verdict')} could not be read")
    if not said:
        return ["No response and no verdict was invalid: strict and valid form are the same."]
    text = "; ".join(said)
    return [f"{text[0].upper()}{text[1:]}. The strict columns count them as failed."]


def _of(figures: pd.DataFrame, measure: str) -> pd.DataFrame:
    held = figures["scope"].eq("overall") & figures["form"].eq("valid")
    return figures[held & figures["measure"].eq(measure)]
