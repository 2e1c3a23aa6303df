"""Judged rates, raw and corrected by an exam of the judge or by people's labels of some items.

The corrections are those of `contrafact.stats.correction`. A rate that cannot be corrected keeps
its row, with the reason: the judge was not examined or cannot tell right from wrong, or the numbers
are outside the tested range.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, Unpack

import pandas as pd

from contrafact.errors import Reason
from contrafact.family import families
from contrafact.family.exam import RESPONSE, ExamItem
from contrafact.family.exam_file import UNSURE, CriterionExam, Exam, Seen
from contrafact.stats.correction import (
    ASSUMED,
    MIN_EXAM,
    MIN_ITEMS,
    UNLIKE,
    Corrected,
    correct_rate,
    planned_half_width,
    ppi_share,
)
from contrafact.stats.intervals import Resampling, cluster_bootstrap, effective_number, resampling
from contrafact.stats.sampling import verdict_levels

__all__ = [
    "LABELS_DECIDE",
    "NOT_EXAMINED",
    "corrected_by_labels",
    "corrected_scores",
    "examined_criteria",
    "what_corrects",
]

NOT_EXAMINED = Reason("not-examined", "this judge was not examined")
NEEDS_LABELS = Reason(
    "needs-labels",
    "an exam cannot tell how often the verdict on the whole is wrong: that depends on what this "
    "run fails, and on errors that occur together; people's labels of a part of the run can tell",
)
NOT_ASKED = Reason("not-asked", "the exam did not ask this criterion")
FEW_LABELS = Reason("few-labels", "too few labelled items")

LABELS_DECIDE = (
    *("corrected", "low", "high", "usable", "why", "why_code", "by", "rests_on", "speaks_of"),
)
"""The columns of an exam's correction that a correction by labels replaces."""

_SPEAKS = {
    "labels": "new outputs of this system on inputs like these",
    "exam": "new outputs of this system, if the judge errs on them as on the exam's items",
}
_UNSEEN = ", which only labels can show: the judge gives no probabilities to compare"
_RATES = ("sensitivity", "specificity")
_NO_CORRECTION = {"by": "", "rests_on": "", "speaks_of": ""}
_HALF = 0.05
_MOST_ITEMS, _A_RUN = 5_000, 400
_JUDGE = f", and a judge with a sensitivity and specificity of {ASSUMED[1]:.0%}"


def what_corrects(n: int, rate: float = ASSUMED[0]) -> str:
    """Return a sentence on what an exam, or people's labels, can make of a rate of ``n`` outputs.

    The true rate is assumed to be ``rate``, though not nearer to 0 or 1 than .05.
    """
    judged, rate = rate, min(max(rate, 0.05), 0.95)
    half = partial(planned_half_width, n, rate=rate)
    sizes = range(MIN_EXAM, _MOST_ITEMS)
    items = next((k for k in sizes if half(exam=(k, k)) <= _HALF), 0) if n >= MIN_ITEMS else 0
    labels = next((m for m in range(1, n + 1) if half(labels=m) <= _HALF), 0)
    ways = []
    if items:
        ways.append(f"an exam with {items:,} items of each verdict (exam --estimate tells)")
    if labels:
        ways.append(f"people's labels of {labels:,} of them")
    at = f"expected for independent outputs, a rate of {100 * rate:.3g}%"
    at += " (no rate nearer to 0% or 100% is assumed)" * (rate != judged)
    assumed = at + _JUDGE
    if ways:
        of = f"A rate of {n:,} outputs can be corrected for the judge's errors to within ±5 points"
        return f"{of} with {' or with '.join(ways)} ({assumed})"
    enough = next(m for m in count(n) if planned_half_width(m, labels=m, rate=rate) <= _HALF)
    more = f"for ±5 points, let people label {enough:,} outputs, each of another input"
    if n < MIN_ITEMS:
        no = f"With {n:,} outputs, no exam can correct a rate for the judge's errors: {MIN_ITEMS}"
        labels_of_all = "Labels of all outputs remove these errors, but not sampling error"
        return f"{no} are needed. {labels_of_all}; {more} ({at})"
    largest, labelled = 100 * half(exam=(math.inf, math.inf)), 100 * half(labels=n)
    best = f"With {n:,} outputs, an exam corrects a rate to within ±{largest:.0f} points at best"
    return f"{best}, and labels of all outputs to within ±{labelled:.0f}; {more} ({assumed})"


def exam_gives(items: Sequence[ExamItem], criteria: Collection[str]) -> tuple[list[str], list[str]]:
    """Return a sentence on criteria that are short of items, and one on what the others correct."""
    known = Counter((name, verdict) for item in items for name, verdict in item.known.items())
    short, points, few = [], [], []
    for name in (name for name in criteria if known[name, True] + known[name, False]):
        sides = known[name, True], known[name, False]
        if min(sides) < MIN_EXAM:
            short.append("{} ({} and {})".format(name, *sides))
        else:
            half = 100 * planned_half_width(_A_RUN, exam=sides)
            points.append(f"{name} to ±{half:.0f}")
            of = [{one.cluster for one in items if one.known.get(name) is v} for v in (True, False)]
            few += [f"{name} {number}" for number in {min(map(len, of))} if number < MIN_EXAM]
    lack = (
        f"too few items, {MIN_EXAM} that should pass and {MIN_EXAM} that should fail, to correct "
        f"rates by {', '.join(short)}"
    )
    gives = f"rates of {_A_RUN} outputs are corrected by {', '.join(points)} points"
    expected = f"expected for independent outputs, a rate of {ASSUMED[0]:.0%}" + _JUDGE
    equal = (
        f"but not if the judge errs on none, or on all, of the items of one verdict: they are then "
        f"worth one for each event or story, here {', '.join(few)}, and {MIN_EXAM} are needed"
    )
    return [lack] * bool(short), [f"{gives} ({expected})"] * bool(points) + [equal] * bool(few)


def examined_criteria(family: str) -> Mapping[str, str]:
    """Return a family's judged columns with their names in its exam; empty without an exam."""
    known = families()[family]
    return known.exam.load().criteria if known.exam else {}


def corrected_scores(
    items: pd.DataFrame,
    exams: Sequence[Exam],
    *,
    family: str,
    criteria: Mapping[str, str],
    packs: Mapping[str, Mapping[str, str]] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    cluster: str = "sample_id",
    **how: Unpack[Resampling],
) -> pd.DataFrame:
    """Return every system's judged rates, raw and corrected by its judge's exam.

    Rates are over verdicts that could be read. ``criteria`` are the judged columns with their names
    in an exam. An exam is not used if it differs from the run in ``packs`` (templates with hashes)
    or ``settings`` (how the judge was asked). ``cluster`` is
    the column by which outputs depend on each other.

    Returns:
        One row per system, judge and criterion that has verdicts: ``system``, ``judge``,
        ``criterion``, ``n``, ``clusters``, ``raw``, ``raw_low``, ``raw_high``, ``corrected``,
        ``low``, ``high`` (NaN without a correction), ``usable``, ``why`` and ``why_code`` (the
        reason if not usable, and its code), ``unlike`` (observable differences of run and exam),
        ``examined``, ``sensitivity`` and ``specificity`` (with bounds, ``_low`` and ``_high``),
        ``exam_right`` and ``exam_wrong`` (the exam's items that should pass, and fail), ``by``
        ("exam"), ``rests_on`` and ``speaks_of`` (what was examined, and which outputs the rate is
        about); the last three are blank without a correction.
    """
    known = {(exam.judge, exam.family): exam for exam in exams}
    packs, settings = packs or {}, settings or {}
    nan, level, rows = math.nan, resampling(how)[0], []
    for (system, judge), own in _by_system(items):
        exam = known.get((judge, family))
        refused: Reason | None = NOT_EXAMINED
        if exam is not None:
            templates = packs.get(system, exam.pack.templates)
            refused = exam.asked_otherwise(templates, settings.get(system, {}))
        parts = [c for c, n in criteria.items() if n != RESPONSE and c in own.columns]
        for column, name in criteria.items():
            judged = own[own[column].notna()] if column in own.columns else own[:0]
            if judged.empty:
                continue
            values = judged[column].to_numpy(float)
            clusters = judged[cluster].to_numpy(object)
            raw = cluster_bootstrap(values, clusters, **how)
            row = {"system": system, "judge": judge, "criterion": column, "n": raw.n}
            part = None if exam is None else exam.criteria.get(name)
            reason = refused or (None if part else NOT_ASKED)
            if refused is None and name == RESPONSE and parts:
                reason = NEEDS_LABELS
            if exam is None or part is None or reason is not None:
                nothing = Corrected(nan, nan, nan, nan, nan, reason)
                found = _row(nothing, None) | {"examined": reason is NEEDS_LABELS}
            else:
                rates = {name: getattr(part, name).exam_rate for name in _RATES}
                found = _row(correct_rate(values, clusters, **rates, level=level), part)
                seen = _seen_of(judged, column, parts, exam, cluster)
                found |= _unlike_exam(seen, part, usable=found["usable"])
                if found["usable"] and not ("unsure" in seen and "unsure" in part.seen):
                    found["speaks_of"] += _UNSEEN
            rows.append({**row, "clusters": raw.clusters, **raw.columns("raw"), **found})
    return pd.DataFrame(rows)


def corrected_by_labels(
    items: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    criteria: Collection[str],
    unit: str = "",
    cluster: str = "sample_id",
    level: float = 0.95,
) -> pd.DataFrame:
    """Return the rates that people would give, estimated from labels of a random part of the items.

    Args:
        items: The family's items frame.
        labels: One row per answer of a person: ``system``, ``judge``, ``sample_id``, the unit,
            ``question`` (a judged column) and ``answer``; optionally ``draw`` and ``probability``
            (of being drawn). The majority's answer is an item's label; without a majority, the item
            has no label.
        criteria: The judged columns.
        unit: The column that distinguishes the items of a sample, such as ``side``; "" if none.
        cluster: The column by which items depend on each other.
        level: Confidence level.

    Returns:
        One row per system, judge and criterion that has labels: ``system``, ``judge``,
        ``criterion``, ``n``, ``labelled``, ``raw``, ``corrected``, ``low``, ``high``, ``usable``,
        ``why``, ``why_code``, ``by`` ("labels"), ``rests_on``, ``speaks_of``.
    """
    columns = [name for name in criteria if name in items.columns]
    items = items.reset_index(drop=True)
    labelled = _labels_of(items, labels, unit)
    by_rate = dict(iter(labelled.groupby(["system", "judge", "question"], sort=False)))
    rows = []
    for (system, judge), own in _by_system(items):
        for column in columns:
            asked = by_rate.get((system, judge, column))
            found = None
            if asked is not None:
                found = _from_labels(own, asked, column, columns, cluster, level)
            if found is not None:
                row = {"system": system, "judge": judge, "criterion": column}
                counts = f"labels of {found['labelled']:,} of this run's {found['n']:,} outputs"
                about = {"by": "labels", "rests_on": counts, "speaks_of": _SPEAKS["labels"]}
                rows.append({**row, **found, **about})
    return pd.DataFrame(rows)


def _by_system(items: pd.DataFrame) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    judged = items[items["judge"].notna()]
    groups = judged.groupby(["system", "judge"], sort=False)
    return [((str(system), str(judge)), own) for (system, judge), own in groups]


def _row(found: Corrected, part: CriterionExam | None) -> dict[str, Any]:
    """Return a corrected rate's columns, with the exam's sensitivity, specificity and items."""
    measured: dict[str, float] = {}
    for name in _RATES:
        rate = None if part is None else getattr(part, name)
        for end, field in (("", "estimate"), ("_low", "low"), ("_high", "high")):
            value = None if rate is None else getattr(rate, field)
            measured[f"{name}{end}"] = math.nan if value is None else value
    right, wrong = (0, 0) if part is None else (part.sensitivity.n, part.specificity.n)
    counts = f"an exam of {right:,} right and {wrong:,} wrong items"
    about = {"by": "exam", "rests_on": counts, "speaks_of": _SPEAKS["exam"]}
    return {
        "corrected": found.estimate,
        "low": found.low,
        "high": found.high,
        "usable": found.usable,
        **_why(found.why),
        "unlike": "",
        "examined": part is not None,
        **measured,
        "exam_right": right,
        "exam_wrong": wrong,
        **(about if found.usable else _NO_CORRECTION),
    }


def _why(reason: Reason | None) -> dict[str, str]:
    return {"why": reason.text if reason else "", "why_code": reason.code if reason else ""}


_APART, _ERRORS = 0.05, 3.0
"""The smallest difference of a share from the exam's that counts, also in standard errors."""
_SEEN = {
    "unsure": "the judge is unsure of {} of these outputs, and of {} of the exam's",
    "others": "the judge fails {} of these outputs by another criterion, and {} of the exam's",
    "long": "{} of these outputs are longer than the exam's median, and {} of the exam's",
}


def _unlike_exam(
    seen_here: "Mapping[str, pd.Series[Any]]", part: CriterionExam, *, usable: bool
) -> dict[str, Any]:
    """Return how run and exam differ, as ``unlike``, and a refusal if the difference is decisive.

    If a run's items are like the exam's, each observable share lies between the shares of the
    exam's right and wrong items, whatever share of the run should pass. If it lies outside for
    items that the judge is unsure of, or for lengths when length sways the judge, the run has other
    items, and the judge's rates in the exam do not hold for it.
    """
    texts, refused = [], ""
    for feature, values in seen_here.items():
        seen = part.seen.get(feature)
        if seen is None or not len(values) or not (seen.right.n and seen.wrong.n):
            continue  # the share is unknown for right or for wrong items
        text = _outside(values, seen, _SEEN[feature])
        swayed = (part.length.low or 0.0) * (part.length.high or 0.0) > 0.0
        if text and (feature == "unsure" or (feature == "long" and swayed)):
            refused = refused or text
        texts += [text] if text else []
    if refused and usable:
        nothing = dict.fromkeys(("corrected", "low", "high"), math.nan)
        why = _why(UNLIKE.filled(how=refused))
        refusal = {**nothing, "usable": False, **why, **_NO_CORRECTION}
        return {**refusal, "unlike": "; ".join(texts)}
    return {"unlike": "; ".join(texts)}


def _seen_of(
    judged: pd.DataFrame, column: str, parts: Sequence[str], exam: Exam, cluster: str
) -> "dict[str, pd.Series[Any]]":
    """Return the observable features of a run's outputs, by cluster, as in `Seen` for an exam."""
    clusters = judged[cluster]
    found: dict[str, pd.Series[Any]] = {}
    if (name := f"{column}_probability") in judged.columns:
        given = judged[name].dropna()
        found["unsure"] = given.gt(UNSURE[0]) & given.lt(UNSURE[1])
    rest = judged[[part for part in parts if part != column]].dropna(how="all")
    found["others"] = rest.eq(0.0).any(axis=1)
    words = exam.words
    if words is not None and "text" in judged.columns:
        found["long"] = judged["text"].dropna().map(lambda text: len(text.split()) > words)
    return {
        feature: values.astype(float).set_axis(clusters[values.index])
        for feature, values in found.items()
    }


def _outside(values: "pd.Series[Any]", seen: Seen, text: str) -> str:
    """Return a text on a share outside the range of right and wrong items; blank if inside."""
    share = float(values.mean())
    ends = sorted((seen.right, seen.wrong), key=lambda rate: rate.estimate or 0.0)
    low, high = (rate.estimate or 0.0 for rate in ends)
    near = ends[0] if share < low else ends[1]
    gap = max(low - share, share - high)
    own = effective_number(values, values.index.to_numpy(object))
    numbers = ((share, own), (near.estimate or 0.0, near.n_effective))
    if not all(n for _, n in numbers):
        return ""  # one cluster with differing outcomes does not show how clusters vary
    spread = math.sqrt(
        sum((p * n + 1.0) * (n - p * n + 1.0) / (n + 2.0) ** 2 / n for p, n in numbers)
    )
    if gap <= _APART or gap <= _ERRORS * spread:
        return ""
    between = f"{low:.0%}" if round(low, 2) == round(high, 2) else f"{low:.0%} to {high:.0%}"
    return text.format(f"{share:.0%}", between)


def _labels_of(items: pd.DataFrame, labels: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Return the majority's label for every question and item, with the item's row."""
    keys = [
        name
        for name in ("system", "judge", "draw", "sample_id", unit)
        if name in labels.columns and name in items.columns
    ]
    # If labels do not give the draw, the first matching draw is taken.
    judged = items[items["judge"].notna()]
    rows = judged.loc[~judged.duplicated(keys), keys].reset_index(names="_row")
    has = {"probability": ("probability", "first")} if "probability" in labels.columns else {}
    votes = labels.groupby([*keys, "question"], sort=False).agg(label=("answer", "mean"), **has)
    found = votes[votes["label"] != 0.5].reset_index().merge(rows, on=keys)
    return found.assign(label=found["label"].gt(0.5).astype(float))


def _from_labels(
    own: pd.DataFrame,
    asked: pd.DataFrame,
    column: str,
    columns: Sequence[str],
    cluster: str,
    level: float,
) -> dict[str, Any] | None:
    """Return one system's rate on one criterion, or None if no labelled item was judged."""
    by_row = asked.set_index("_row")
    chances = [name for c in columns if (name := f"{c}_probability") in own.columns]
    judged = own.loc[own[column].notna(), [cluster, *columns, *chances]]
    labels = by_row["label"].reindex(judged.index)
    if not labels.notna().any():
        return None
    drawn = by_row["probability"].reindex(judged.index) if "probability" in by_row else None
    found = ppi_share(
        labels.to_numpy(float),
        judged[column].to_numpy(float),
        levels=verdict_levels(judged[[*columns]].to_numpy(float), judged[chances].to_numpy(float)),
        probabilities=None if drawn is None else drawn.to_numpy(float),
        clusters=judged[cluster].to_numpy(object),
        level=level,
    )
    usable = not math.isnan(found.low)
    return {
        "n": len(judged),
        "labelled": int(labels.notna().sum()),
        "raw": float(judged[column].mean()),
        "corrected": found.estimate,
        "low": found.low,
        "high": found.high,
        "usable": usable,
        **_why(None if usable else FEW_LABELS),
    }
