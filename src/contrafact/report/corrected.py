"""Judged rates, raw and corrected by exams of their judges or by people; and the leaderboard.

Ranks say no more than the paired comparisons behind them: systems that cannot be told apart share
a rank. A rate whose judge was not examined, cannot tell, or is outside what was tested keeps its
line, with the reason in the place of a corrected figure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from contrafact.errors import InputError
from contrafact.exam.correct import (
    NOT_EXAMINED,
    corrected_by_labels,
    corrected_scores,
    examined_criteria,
    ranked_systems,
)
from contrafact.exam.file import Exam
from contrafact.report.chapter import Options, TaskRuns
from contrafact.report.labels import labels_for
from contrafact.report.meta import ReportMeta
from contrafact.report.table import Column, Table, format_number

__all__ = [
    "JudgedRates",
    "check_exams",
    "corrected_table",
    "exam_warnings",
    "judged_rates",
    "leaderboard_table",
]

_NOTHING = ("corrected", "low", "high")
_UNITS = {"finforce": "side", "cobe": "phrasing"}


@dataclass(frozen=True)
class JudgedRates:
    """What judges said, what it is worth, and who stands where.

    Attributes:
        rates: As `contrafact.exam.correct.corrected_scores` returns them; corrected figures that
            cannot be used are NaN. Where people labelled items, also ``by_labels``, its bounds
            ``by_labels_low`` and ``by_labels_high``, and ``labelled``, the number of items.
        ranks: As `contrafact.exam.correct.ranked_systems` returns them, with ``criterion``.
        examined: Whether any exam was given.
        labelled: Whether people's labels were.
        labels: What a reader sees of each criterion.
        headline: The criteria of the leaderboard.
    """

    rates: pd.DataFrame
    ranks: pd.DataFrame
    examined: bool
    labelled: bool
    labels: Mapping[str, str]
    headline: Sequence[str]


def check_exams(exams: Sequence[Exam], tasks: Sequence[TaskRuns]) -> None:
    """Refuse an exam of a judge that judged nothing in the report.

    Raises:
        InputError: for the first such exam.
    """
    judges = {
        (str(judge), runs.task)
        for runs in tasks
        if "judge" in runs.items.columns
        for judge in runs.items["judge"].dropna().unique()
    }
    for exam in exams:
        if (exam.judge, exam.family) not in judges:
            raise InputError(
                f"the exam of {exam.judge} in {exam.family} is of no judge in these runs",
                hint="name a run that it judged, or leave this --exam out",
            )


def judged_rates(
    items: pd.DataFrame,
    meta: ReportMeta,
    options: Options,
    *,
    family: Literal["finforce", "cobe"],
    labels: Mapping[str, str],
    headline: Sequence[str],
    rng: np.random.Generator,
) -> JudgedRates | None:
    """Return the judged rates of a family, or None where nothing was judged.

    Args:
        items: The family's items frame.
        meta: What the runs are.
        options: How the report is made; its exams are used.
        family: Whose items they are.
        labels: What a reader sees of each criterion.
        headline: The criteria of the leaderboard.
        rng: Where randomness comes from.
    """
    how: dict[str, Any] = {"rng": rng, "level": options.level, "resamples": options.resamples}
    packs = {system: run.templates for run in meta.runs for system in run.systems if run.templates}
    asked = {system: run.asked for run in meta.runs for system in run.systems}
    rates = corrected_scores(
        items,
        options.exams,
        family=family,
        criteria=examined_criteria(family),
        packs=packs,
        settings=asked,
        **how,
    )
    if rates.empty:
        return None
    rates.loc[~rates["usable"], list(_NOTHING)] = np.nan
    ranks = [
        ranked_systems(items, column, unit=_UNITS[family], **how).assign(criterion=column)
        for column in headline
        if rates["criterion"].eq(column).any()
    ]
    given = labels_for(options.labels, family)
    if given is not None:
        rates = _with_labels(rates, items, given, family, options.level)
    return JudgedRates(
        rates,
        pd.concat(ranks, ignore_index=True),
        bool(options.exams),
        given is not None,
        labels,
        headline,
    )


def leaderboard_table(found: JudgedRates) -> Table:
    """Return systems by rank, a group of lines for each criterion and judge."""
    merged = found.ranks.drop(columns=["raw", "n"]).merge(
        found.rates, on=["system", "judge", "criterion"], how="inner"
    )
    several = merged.groupby(["criterion", "judge"])["system"].transform("size") > 1
    frame = pd.DataFrame(
        {
            "band": [_band(row, found.labels) for row in _lines(merged)],
            "rank": [
                _rank(row) if ranked else ""
                for row, ranked in zip(_lines(merged), several, strict=True)
            ],
            "system": merged["system"],
            "raw": merged["raw"],
            "raw_low": merged["raw_low"],
            "raw_high": merged["raw_high"],
            "corrected": merged["corrected"],
            "corrected_low": merged["low"],
            "corrected_high": merged["high"],
            "n": merged["n"],
            "known": [_known(row) for row in _lines(merged)],
        }
    )
    columns = (
        Column("system", "System", "text"),
        *([Column("rank", "Rank", "text")] if several.any() else []),
        Column("raw", "Raw, %", "share"),
        Column("corrected", "Corrected, %", "share"),
        Column("n", "Verdicts", "count"),
        Column("known", "What is known of the judge", "text"),
    )
    caption = (
        "Raw is what the judge passed, of what could be read. Corrected allows for how often it "
        "is wrong, as its exam found, and its interval carries the exam's uncertainty too. Ranks "
        "are of raw rates and within one judge: systems that paired comparisons (Holm) cannot "
        "tell apart share a rank, and the range is where a system may stand."
    )
    notes: tuple[str, ...] = ()
    if not found.rates["examined"].all():
        notes = (
            "A judge that was not examined may be wrong by any amount. contrafact exam --judge J "
            "--out FILE examines it; contrafact report … --exam FILE corrects by what was found.",
        )
    return Table("leaderboard", "Leaderboard", caption, columns, frame, notes, "band")


def corrected_table(found: JudgedRates) -> Table | None:
    """Return every judged rate, raw and corrected, or None where there is nothing to correct by."""
    if not found.examined and not found.labelled:
        return None
    rates = found.rates
    told = ("by_labels", "by_labels_low", "by_labels_high", "labelled")
    frame = pd.DataFrame(
        {
            "band": rates["system"] + ", judged by " + rates["judge"],
            "criterion": [found.labels[str(name)] for name in rates["criterion"]],
            "raw": rates["raw"],
            "raw_low": rates["raw_low"],
            "raw_high": rates["raw_high"],
            **({name: rates[name] for name in told} if found.labelled else {}),
            "corrected": rates["corrected"],
            "corrected_low": rates["low"],
            "corrected_high": rates["high"],
            "n": rates["n"],
            "sensitivity": rates["sensitivity"],
            "specificity": rates["specificity"],
            "exam_right": rates["exam_right"].where(rates["examined"]),
            "exam_wrong": rates["exam_wrong"].where(rates["examined"]),
            "known": [_known(row) for row in _lines(rates)],
        }
    )
    by_people = (
        Column("by_labels", "By people's labels, %", "share"),
        Column("labelled", "Labelled", "count"),
    )
    by_exam = (
        Column("corrected", "Corrected, %", "share"),
        Column("n", "Verdicts", "count"),
        Column("sensitivity", "Sensitivity, %", "share", "In the exam"),
        Column("exam_right", "of", "count", "In the exam"),
        Column("specificity", "Specificity, %", "share", "In the exam"),
        Column("exam_wrong", "of", "count", "In the exam"),
        Column("known", "What is known of the judge", "text"),
    )
    columns = (
        Column("criterion", "Passed", "text"),
        Column("raw", "Raw, %", "share"),
        *(by_people if found.labelled else ()),
        *(by_exam if found.examined else (Column("n", "Verdicts", "count"),)),
    )
    by_exam_told = (
        "Sensitivity is the share of what should pass that the judge passes, specificity the "
        "share of what should fail that it fails, on items whose verdict is known. Where the two "
        "do not sum to more than 1 the judge cannot tell, and nothing is corrected."
    )
    by_labels_told = (
        "By people's labels is what people would pass, from what most of them said of a random "
        "part of these very items and what the judge said of all (prediction-powered inference); "
        "it holds whatever the judge is worth."
    )
    caption = " ".join(
        text
        for text, told_of in ((by_labels_told, found.labelled), (by_exam_told, found.examined))
        if told_of
    )
    title = "Judged rates, raw and corrected"
    return Table("corrected", title, caption, columns, frame, (), "band")


def exam_warnings(found: JudgedRates | None) -> list[tuple[str, str]]:
    """Return what a reader must know of judges that an exam found wanting."""
    if found is None or not found.examined:
        return []
    held = found.rates["criterion"].isin(found.headline) & ~found.rates["usable"]
    said: list[str] = []
    for row in _lines(found.rates[held].drop_duplicates(["judge", "criterion", "why"])):
        said.append(f"{row['judge']}, {found.labels[str(row['criterion'])]}: {row['why']}.")
    if not said:
        return []
    said.append("Their raw rates are shown, and no corrected ones.")
    return [("Some judged rates cannot be corrected", " ".join(said))]


def _with_labels(
    rates: pd.DataFrame,
    items: pd.DataFrame,
    labels: pd.DataFrame,
    family: Literal["finforce", "cobe"],
    level: float,
) -> pd.DataFrame:
    """Return the rates with what people's labels make of them beside."""
    on = ["system", "judge", "criterion"]
    found = corrected_by_labels(
        items, labels, criteria=examined_criteria(family), unit=_UNITS[family], level=level
    )
    names = {"corrected": "by_labels", "low": "by_labels_low", "high": "by_labels_high"}
    if found.empty:
        return rates.assign(**dict.fromkeys(names.values(), np.nan), labelled=np.nan)
    own = found[[*on, *names, "labelled"]].rename(columns=names)
    return rates.merge(own, on=on, how="left")


def _lines(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _band(row: dict[str, Any], labels: Mapping[str, str]) -> str:
    text = f"{labels[str(row['criterion'])]}, judged by {row['judge']}"
    return f"{text} (not examined)" if row["why"] == NOT_EXAMINED else text


def _rank(row: dict[str, Any]) -> str:
    best, worst = int(row["rank"]), int(row["rank_worst"])
    text = f"{best}=" if row["shared"] else str(best)
    return text if best == worst else f"{text} ({best}–{worst})"


def _known(row: dict[str, Any]) -> str:
    if not row["usable"]:
        return str(row["why"])
    rates = (format_number(row[name], "share") for name in ("sensitivity", "specificity"))
    return "examined: passes {}% of what should pass, fails {}% of what should fail".format(*rates)
