"""Compute an exam's figures from a judge's answers: rows by item and criterion, then rates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from contrafact.errors import InputError
from contrafact.exams.questions import JudgeCall
from contrafact.family.exam import RESPONSE, ExamItem
from contrafact.family.exam_file import (
    UNSURE,
    CriterionExam,
    Exam,
    Figure,
    KindRate,
    Rate,
    Seen,
    SurfaceRow,
)
from contrafact.judges.judge import all_pass, panel_verdict
from contrafact.judges.surface import OVERALL, LeakItem, leak_rows
from contrafact.judges.verifier import is_verifier, reader_of
from contrafact.records import Verdict
from contrafact.stats.classification import auroc
from contrafact.stats.intervals import Resampling, clustered_proportion, difference_between_groups

_SURFACE_READERS = ("words", "overlap", "connectors", "quotes")
_LEVEL = 0.95
_LEAST_SURFACE = 25
"""The smallest number of right and of wrong items that surface classifiers need."""


def exam_rows(
    items: Sequence[ExamItem],
    questions: Sequence[JudgeCall],
    answers: Mapping[str, Mapping[str, Any]],
) -> pd.DataFrame:
    """Return the rows of an exam; ``answers`` holds an answer to each question, by its key.

    Several judges form a panel; its verdict is the majority of the valid verdicts.

    Returns:
        One row per item and criterion; the criterion ``response`` means the item as a whole.
        ``known`` is the right verdict, ``passed`` the first verdict given, None if it was
        ``invalid``; ``probability`` is the judge's probability of true, if the provider gave one,
        ``members`` a panel's verdicts by judge. Further columns are the fields of `ExamItem` with
        its facts, and ``words``.
    """
    votes: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for q in questions:
        answer = answers[q.key]
        for name, vote in answer.items() if q.about else [(q.criterion, answer)]:
            votes.setdefault((q.item, name), {})[q.judge] = vote
    rows: list[dict[str, Any]] = []
    for item in items:
        own: list[dict[str, Any]] = []
        for criterion, known in item.known.items():
            first = votes[item.id, criterion]
            given = _panel(first)
            chances = [c for vote in first.values() if (c := vote.get("probability")) is not None]
            own.append(
                {
                    "criterion": criterion,
                    "known": known,
                    "passed": given.passed,
                    "invalid": given.invalid,
                    "probability": sum(chances) / len(chances) if chances else None,
                    "members": {judge: vote["passed"] for judge, vote in first.items()},
                }
            )
        if item.whole is not None:
            own.append(_whole(item.whole, own))
        rows += [_row(item, **found) for found in own]
    return pd.DataFrame(rows, dtype=object)


def _row(item: ExamItem, *, members: Mapping[str, Any], **found: Any) -> dict[str, Any]:
    return {
        "item": item.id,
        "cluster": item.cluster,
        "kind": item.kind,
        **found,
        "words": len(item.text.split()),
        "text": item.text,
        "members": members,
        "about": item.about,
        **item.facts,
        "reference": item.reference,
    }


def _whole(known: bool, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of the verdict on an item as a whole: a conjunction."""
    passed = all_pass(row["passed"] for row in rows)
    why = "; ".join(f"{row['criterion']}: {row['invalid']}" for row in rows if row["invalid"])
    return {
        "criterion": RESPONSE,
        "known": known,
        "passed": passed,
        "invalid": why if passed is None else None,
        "probability": None,
        "members": {},
    }


def _panel(votes: Mapping[str, Mapping[str, Any]]) -> Verdict:
    # Further fields of a provider's verdict are kept in the answers and not counted here.
    names = Verdict.model_fields
    return panel_verdict(
        [
            Verdict.model_validate({name: vote[name] for name in names if name in vote})
            for vote in votes.values()
        ]
    )


def examine(
    rows: pd.DataFrame,
    *,
    seed: int,
    overall: Sequence[str] = (),
    resamples: int = 10_000,
    **known: Any,
) -> Exam:
    """Return the exam's results on the judge, computed from its rows.

    Intervals of rates are Wilson's at the effective number of items; all others resample clusters
    (headlines, stories).

    Args:
        rows: The rows from `exam_rows`.
        seed: Seed of the resampling, the same as for the draw of items.
        overall: Criteria that are verdicts on a whole kind of item, made from other criteria.
        resamples: How many times clusters are drawn.
        known: The other fields of `Exam`, which do not depend on rows: judge, family, prompts.
    """
    names = sorted(rows["criterion"].unique(), key=lambda name: (name == RESPONSE, name))
    by_criterion = {name: rows[rows["criterion"].eq(name)] for name in names}
    parts = rows[~rows["criterion"].isin((RESPONSE, *overall))].sort_values(
        "criterion", kind="stable"
    )
    words = float(rows["words"].median()) if len(rows) else None
    figures = _Estimates(_LEVEL, resamples, seed, _visible(rows, parts, words or 0.0))
    return Exam(
        **known,
        n=rows["item"].nunique(),
        seed=seed,
        level=_LEVEL,
        criteria={name: figures.criterion(name, own) for name, own in by_criterion.items()},
        words=words,
    )


def surface_rows(items: Sequence[LeakItem], *, seed: int) -> dict[str, SurfaceRow]:
    """Return the results of surface classifiers, by criterion and for items as a whole.

    Each classifier is a logistic regression on one kind of features; the best of them counts, and
    the items leak if its interval lies above the limit. The result is empty if there are too few
    items or scikit-learn is missing.
    """
    found: dict[str, SurfaceRow] = {}
    if find_spec("sklearn") is None:
        return found
    try:
        rows = list(
            leak_rows(
                items,
                seed=seed,
                readers=_SURFACE_READERS,
                models=("logistic",),
                least=_LEAST_SURFACE,
            )
        )
    except InputError:  # there are too few items
        return found
    for row in rows:
        name = RESPONSE if row.target == OVERALL else row.target
        if name in found and (found[name].auroc.estimate or 0.0) >= row.auroc:
            continue
        figure = Figure(estimate=row.auroc, low=row.low, high=row.high, n=row.items)
        found[name] = SurfaceRow(auroc=figure, limit=row.limit, leaks=row.low > row.limit)
    return found


def unread_notes(rows: pd.DataFrame, judge: str) -> list[str]:
    """Return a note if no verdict could be read; otherwise none."""
    if rows.empty or rows["passed"].notna().any():
        return []
    counts = rows["invalid"].value_counts()
    alone = is_verifier(judge) and not reader_of(judge)
    remedy = "name a reader for it (--reader), or another judge" if alone else "name another judge"
    return [
        f"no verdict of {judge} can be read ({counts.iloc[0]} of {len(rows)}: {counts.index[0]}): "
        f"this exam tells nothing about it and corrects nothing; {remedy}"
    ]


def ceiling_notes(rows: pd.DataFrame, judge: str, level: str) -> list[str]:
    """Return a note if a judge is right on every item; otherwise none."""
    if rows.empty or rows["passed"].isna().any() or (rows["passed"] != rows["known"]).any():
        return []
    named = f" of level {level}" if level else ""
    more = "; --level hard has items at the edge" if level == "easy" else ""
    return [
        f"{judge} is right on all {len(rows)} verdicts: this exam{named} cannot tell it from a "
        f"perfect judge{more}"
    ]


def leak_notes(surface: Mapping[str, SurfaceRow], unread: str) -> list[str]:
    """Return a note if items leak; otherwise none."""
    leaky = [name for name, row in surface.items() if row.leaks]
    if not leaky:
        return []
    return [
        f"these items leak ({', '.join(leaky)}): a model that {unread} tells right from wrong; "
        "a judge can do well in this exam without judging"
    ]


def _visible(rows: pd.DataFrame, parts: pd.DataFrame, words: float) -> "dict[str, pd.Series[Any]]":
    """Return the features that can be observed without known verdicts, for the rows with them."""
    chance = rows["probability"].dropna().astype(float)
    read = parts[parts["passed"].notna()]
    failed = read["passed"].eq(False)
    of_item = failed.groupby(read["item"])
    others = (of_item.transform("sum") - failed).gt(0)
    return {
        "unsure": chance.gt(UNSURE[0]) & chance.lt(UNSURE[1]),
        "others": others[of_item.transform("size").gt(1)],
        "long": rows["words"].gt(words),
    }


@dataclass(frozen=True)
class _Estimates:
    """The settings that all figures share; each figure has its own random stream."""

    level: float
    resamples: int
    seed: int
    visible: "Mapping[str, pd.Series[Any]]"

    def how(self, name: str) -> Resampling:
        rng = np.random.default_rng([self.seed, 1, *name.encode()])
        return {"level": self.level, "resamples": self.resamples, "rng": rng}

    def criterion(self, name: str, rows: pd.DataFrame) -> CriterionExam:
        read = rows[rows["passed"].notna()]
        how = self.how(name)
        # If nothing could be read there are no outcomes, and every figure is undefined.
        passed, known = (read[column].astype(bool) for column in ("passed", "known"))
        right = passed.eq(known)
        apart = difference_between_groups(
            right.to_numpy(float), known.to_numpy(float), read["cluster"].tolist(), **how
        )
        sure = read[read["probability"].notna()]
        return CriterionExam(
            sensitivity=self.rate(read, passed[known]),
            specificity=self.rate(read, ~passed[~known]),
            invalid=self.rate(rows, rows["passed"].isna()),
            bias_true=Figure(
                estimate=apart.estimate / 2.0, low=apart.low / 2.0, high=apart.high / 2.0, n=apart.n
            ),
            auroc=_auroc(sure, sure["probability"], how) if len(sure) else None,
            length=_length(read, how),
            kinds=self.kinds(read),
            seen=self.seen(read),
        )

    def kinds(self, read: pd.DataFrame) -> dict[str, KindRate]:
        """Return the rates by kind; a kind with right and wrong items is split in two."""
        found = {}
        for kind, of in read.groupby("kind"):
            sides = dict(iter(of.groupby("known")))
            for known, own in sides.items():
                name = str(kind) if len(sides) == 1 else f"{kind} ({str(known).lower()})"
                right = self.rate(own, own["passed"].eq(own["known"]))
                found[name] = KindRate(known=bool(known), right=right)
        return dict(sorted(found.items()))

    def seen(self, read: pd.DataFrame) -> dict[str, Seen]:
        found = {}
        for name, visible in self.visible.items():
            there = read[read.index.isin(visible.index)]
            right, wrong = (
                visible[there.index[there["known"].eq(verdict)]] for verdict in (True, False)
            )
            if len(right) and len(wrong):
                found[name] = Seen(right=self.rate(read, right), wrong=self.rate(read, wrong))
        return found

    def rate(self, rows: pd.DataFrame, outcomes: "pd.Series[Any]") -> Rate:
        clusters = rows["cluster"].loc[outcomes.index].tolist()
        return Rate.of(clustered_proportion(outcomes.to_numpy(float), clusters, level=self.level))


def _length(read: pd.DataFrame, how: Resampling) -> Figure:
    known = read["known"]
    words, passed = (read[column].astype(float) for column in ("words", "passed"))
    longer = words.gt(words.groupby(known).transform("median")).to_numpy(float)
    apart = (passed - passed.groupby(known).transform("mean")).to_numpy(float)
    clusters = read["cluster"].tolist()
    return Figure.of(difference_between_groups(apart, longer, clusters, **how))


def _auroc(rows: pd.DataFrame, scores: "pd.Series[Any]", how: Resampling) -> Figure:
    how = {**how, "resamples": min(2_000, how["resamples"])}
    known = rows["known"].to_numpy(float)
    return Figure.of(auroc(known, scores.to_numpy(float), rows["cluster"].tolist(), **how))
