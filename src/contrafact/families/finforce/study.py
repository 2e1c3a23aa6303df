"""The human-model agreement study: a sample to label, and what the labels say (FIN-FORCE, A.7).

The paper drew 500 counterfactuals at random from all its experiments. Here each system and side is
a stratum, so that every one is seen; the probability with which an item was drawn is kept, and the
figures are weighted back by it.
"""

import math
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from contrafact.errors import InputError
from contrafact.families.finforce.study_sheet import (
    ANSWER_COLUMNS,
    KEY_COLUMNS,
    OPTIONAL_COLUMNS,
    SHEET_COLUMNS,
    Answers,
)
from contrafact.files.sheets import item_check, item_names
from contrafact.records import CRITERIA
from contrafact.stats.agreement import cohen_kappa, gwet_ac1, with_interval
from contrafact.stats.intervals import Interval, cluster_bootstrap
from contrafact.stats.sampling import even_allocation, horvitz_thompson_mean
from contrafact.text.delimit import printable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StudyScores", "draw", "score"]

AVERAGE = "average"
"""What stands for the annotator in rows that average over them."""

_AC1 = partial(gwet_ac1, categories=[True, False])


@dataclass(frozen=True)
class StudyScores:
    """What a study says. Shares are from 0 to 1; each figure has ``_low`` and ``_high`` beside it.

    Attributes:
        agreement: Judge against each annotator, and on average over them, per judge and
            criterion: ``agreement`` (weighted back to all counterfactuals by inverse inclusion
            probability, Hajek), ``unweighted``, ``kappa`` and ``ac1`` (weighted). The average of
            coefficients has no interval.
        majority: The judge as a test of what most annotators say: ``sensitivity`` (of what they
            pass, the share that it passes) and ``specificity``, weighted, with the counts of items
            behind them and of those on which annotators were split.
        between: Every two annotators: ``agreement``, ``kappa`` and ``ac1``, weighted.
        marks: Share of items marked with each optional error class, per annotator, weighted.
        labels: One row per answer, with the judge's verdict and the probability, for whoever
            wants to correct judged scores by them.
    """

    agreement: "pd.DataFrame"
    majority: "pd.DataFrame"
    between: "pd.DataFrame"
    marks: "pd.DataFrame"
    labels: "pd.DataFrame" = field(repr=False)


def draw(
    items: "pd.DataFrame", n: int, rng: np.random.Generator
) -> tuple["pd.DataFrame", "pd.DataFrame"]:
    """Draw counterfactuals for people to label.

    Strata are system, judge and side. All get the same number of items, as far as they have them;
    what one lacks goes to the others. Only valid counterfactuals with at least one verdict
    can be drawn.

    Args:
        items: The items frame, of one run or many.
        n: How many to draw; all, if there are no more.
        rng: Where randomness comes from.

    Returns:
        The sheet (``SHEET_COLUMNS``, in random order, without system or verdict) and its key
        (``KEY_COLUMNS``, in order of item).

    Raises:
        InputError: There is nothing to draw from, or fewer items are asked for than strata.
    """
    import pandas as pd

    judged = items[list(CRITERIA)].notna().any(axis=1)
    pool = items[items["text"].notna() & items["invalid_reason"].isna() & judged]
    pool = pool.reset_index(drop=True)
    if pool.empty:
        raise InputError(
            "no counterfactual in these runs has a judge's verdict",
            hint="run them with --judge first",
        )
    strata = [group.to_numpy() for group in _strata(pool)]
    if n < len(strata):
        raise InputError(
            f"{n} items cannot show every system and side of these runs",
            hint=f"ask for at least {len(strata)} with --n",
        )
    sizes = even_allocation([len(stratum) for stratum in strata], n)
    chosen: list[int] = []
    probabilities: list[float] = []
    for stratum, size in zip(strata, sizes, strict=True):
        chosen += [int(row) for row in rng.choice(stratum, size=size, replace=False)]
        probabilities += [size / len(stratum)] * size
    order = rng.permutation(len(chosen))
    names = item_names(len(chosen), rng)
    sheet, key = [], []
    for name, place in zip(names, order, strict=True):
        row = pool.iloc[chosen[place]]
        headline, text = printable(str(row["headline"])), printable(str(row["text"]))
        side = str(row["side"])
        shown = {"item": name, "headline": headline, "side": side, "counterfactual": text}
        sheet.append(shown | dict.fromkeys((*ANSWER_COLUMNS, "comment"), ""))
        key.append(
            {column: row[column] for column in KEY_COLUMNS if column in row.index}
            | {f"judge_{c}": _written(row[c]) for c in CRITERIA}
            | {"item": name, "probability": probabilities[place]}
            | {"check": item_check((headline, side, text))}
        )
    key_frame = pd.DataFrame(key, columns=list(KEY_COLUMNS)).sort_values("item")
    return pd.DataFrame(sheet, columns=list(SHEET_COLUMNS)), key_frame.reset_index(drop=True)


def score(
    answers: Answers,
    key: "pd.DataFrame",
    rng: np.random.Generator,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
) -> StudyScores:
    """Return how far a judge and annotators agree.

    Intervals resample headlines, since the counterfactuals of one resemble each other.

    Args:
        answers: As `read_answers` returns them.
        key: As `read_key` returns it.
        rng: Where the resampling's randomness comes from.
        level: Confidence level of all intervals.
        resamples: How many times the headlines are drawn.

    Raises:
        InputError: No cell of the two criteria holds an answer.
    """
    import pandas as pd

    labels = pd.DataFrame(answers.rows, columns=["item", "annotator", "question", "answer"])
    labels = labels.merge(
        key[["item", "judge", "system", "sample_id", "side", "probability"]], on="item"
    )
    verdicts = {
        criterion: dict(zip(key["item"], key[f"judge_{criterion}"], strict=True))
        for criterion in CRITERIA
    }
    labels["judge_verdict"] = [
        verdicts.get(question, {}).get(item)
        for question, item in zip(labels["question"], labels["item"], strict=True)
    ]
    if not labels["question"].isin(CRITERIA).any():
        raise InputError(
            "no cell of forward_compatibility or directionality is filled in",
            hint="write TRUE or FALSE in them",
        )
    study = _Study(answers.annotators, rng, level, resamples)
    agreement, majority, between = [], [], []
    for judge in dict.fromkeys(key["judge"]):
        for criterion in CRITERIA:
            own = labels[(labels["judge"] == judge) & (labels["question"] == criterion)]
            if own.empty:
                continue
            about = {"judge": judge, "criterion": criterion}
            agreement += [about | row for row in study.agreement(own)]
            majority.append(about | study.majority(own))
    for criterion in CRITERIA:
        own = labels[labels["question"] == criterion]
        between += [{"criterion": criterion} | row for row in study.between(own)]
    marks = [
        {"error_class": question, "annotator": name, "n": len(own)}
        | study.weighted(own, own["answer"]).columns("share")
        for question in OPTIONAL_COLUMNS
        for name in answers.annotators
        if len(own := labels[(labels["question"] == question) & (labels["annotator"] == name)])
    ]
    return StudyScores(
        agreement=pd.DataFrame(agreement),
        majority=pd.DataFrame(majority),
        between=pd.DataFrame(between),
        marks=pd.DataFrame(marks),
        labels=labels,
    )


@dataclass(frozen=True)
class _Study:
    """The settings that all figures of a study share."""

    annotators: list[str]
    rng: np.random.Generator
    level: float
    resamples: int

    def weighted(self, rows: "pd.DataFrame", values: Any) -> Interval:
        return horvitz_thompson_mean(
            np.asarray(values, dtype=float),
            rows["probability"].to_numpy(),
            clusters=rows["sample_id"].tolist(),
            level=self.level,
            resamples=self.resamples,
            rng=self.rng,
        )

    def agreement(self, labels: "pd.DataFrame") -> list[dict[str, Any]]:
        """Return the judge against each annotator, then on average over them."""
        known = labels[labels["judge_verdict"].notna()]
        rows, coefficients = [], []
        for name in self.annotators:
            own = known[known["annotator"] == name]
            if own.empty:
                continue
            agrees = (own["answer"] == own["judge_verdict"]).astype(float)
            kappa, ac1 = self._chance_corrected(own, own[["judge_verdict", "answer"]])
            coefficients.append((kappa.estimate, ac1.estimate))
            rows.append(
                {"annotator": name, "n": len(own)}
                | self.weighted(own, agrees).columns("agreement")
                | self._plain(own, agrees).columns("unweighted")
                | kappa.columns("kappa")
                | ac1.columns("ac1")
            )
        if rows:
            agrees = (known["answer"] == known["judge_verdict"]).astype(float)
            by_item = known.assign(agrees=agrees).groupby("item", sort=False)
            means = by_item.agg(
                agrees=("agrees", "mean"),
                probability=("probability", "first"),
                sample_id=("sample_id", "first"),
            )
            kappas, ac1s = zip(*coefficients, strict=True)
            rows.append(
                {"annotator": AVERAGE, "n": len(means)}
                | self.weighted(means, means["agrees"]).columns("agreement")
                | self._plain(means, means["agrees"]).columns("unweighted")
                | {"kappa": float(np.mean(kappas)), "ac1": float(np.mean(ac1s))}
            )
        return rows

    def majority(self, labels: "pd.DataFrame") -> dict[str, Any]:
        """Return the judge's sensitivity and specificity for what most annotators say."""
        known = labels[labels["judge_verdict"].notna()]
        votes = known.groupby("item", sort=False).agg(
            share=("answer", "mean"),
            judge_verdict=("judge_verdict", "first"),
            probability=("probability", "first"),
            sample_id=("sample_id", "first"),
        )
        passed, failed = votes[votes["share"] > 0.5], votes[votes["share"] < 0.5]
        return (
            self.weighted(passed, passed["judge_verdict"]).columns("sensitivity")
            | {"passed": len(passed)}
            | self.weighted(failed, failed["judge_verdict"] == False).columns("specificity")  # noqa: E712
            | {"failed": len(failed), "split": len(votes) - len(passed) - len(failed)}
        )

    def between(self, labels: "pd.DataFrame") -> list[dict[str, Any]]:
        """Return how far every two annotators agree on what both answered."""
        rows = []
        wide = labels.pivot(index="item", columns="annotator", values="answer")
        facts = labels.drop_duplicates("item").set_index("item").loc[wide.index]
        for one, other in combinations([a for a in self.annotators if a in wide], 2):
            both = wide[[one, other]].dropna()
            if both.empty:
                continue
            own = facts.loc[both.index]
            kappa, ac1 = self._chance_corrected(own, both)
            rows.append(
                {"annotator": one, "other": other, "n": len(both)}
                | self.weighted(own, both[one] == both[other]).columns("agreement")
                | kappa.columns("kappa")
                | ac1.columns("ac1")
            )
        return rows

    def _plain(self, rows: "pd.DataFrame", values: Any) -> Interval:
        return cluster_bootstrap(
            np.asarray(values, dtype=float),
            rows["sample_id"].tolist(),
            level=self.level,
            resamples=self.resamples,
            rng=self.rng,
        )

    def _chance_corrected(
        self, rows: "pd.DataFrame", ratings: "pd.DataFrame"
    ) -> tuple[Interval, Interval]:
        """Return Cohen's kappa and Gwet's AC1 of two raters' columns, weighted back."""
        table = ratings.astype(object).to_numpy()
        kappa, ac1 = (
            with_interval(
                coefficient,
                table,
                clusters=rows["sample_id"].tolist(),
                weights=1.0 / rows["probability"].to_numpy(),
                level=self.level,
                resamples=self.resamples,
                rng=self.rng,
            )
            for coefficient in (cohen_kappa, _AC1)
        )
        return kappa, ac1


def _strata(pool: "pd.DataFrame") -> "list[pd.Index[Any]]":
    keys = pool[["system", "judge", "side"]].astype(object).fillna("")
    return [group.index for _, group in keys.groupby(["system", "judge", "side"], sort=True)]


def _written(verdict: float) -> str:
    if math.isnan(verdict):
        return ""
    return "TRUE" if verdict else "FALSE"
