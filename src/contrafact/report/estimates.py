"""Every number of a chapter: figures with intervals, paired comparisons, judged rates.

Figures come in two forms. ``valid`` leaves out outputs that could not be read; ``strict`` counts
them as wrong. Intervals resample whole clusters, so that all outputs for one input, and all its
few-shot draws, are drawn together.

Judged rates are given raw, and corrected by an exam of the judge or by people's labels. A rate that
cannot be corrected keeps its line, with the reason in place of the corrected figure.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from contrafact.errors import InputError, Reason
from contrafact.exams.correct import (
    LABELS_DECIDE,
    NOT_EXAMINED,
    corrected_by_labels,
    corrected_scores,
    examined_criteria,
)
from contrafact.family.exam_file import Exam
from contrafact.family.report import ROLES, ChapterData, Estimate, Measure, Part, ReportSpec
from contrafact.family.run_facts import ReportMeta
from contrafact.models.asking import UNREADABLE, cause_of
from contrafact.stats.paired import holm, paired_comparison
from contrafact.stats.replicates import Bootstrap

__all__ = ["judged_rates"]

NO_MODEL = "none/none"
NOTHING_READ = Reason("nothing-read", "no {output} of it is valid: 0 in the strict form")
FEW_CLUSTERS = Reason(
    "few-clusters",
    "the outputs are of {number} {clusters}, and {fewest} are needed for an interval",
)
_MARK = re.compile(r"(reference|control)\b", re.IGNORECASE)
"""The prefixes of systems of outputs made elsewhere that are references, not competitors."""

_COLUMNS = ("system", "model", "method", "shots", "draw", "sample_id", "invalid_reason")


def prepare_items(items: pd.DataFrame, spec: ReportSpec) -> pd.DataFrame:
    """Check a task's items and add the columns that its figures are made from.

    A system that several judges judged becomes as many systems, each named with its judge, so
    that verdicts of different judges are never pooled.

    Returns:
        A copy in the same order, numbers as floats, with these columns added: ``valid`` (1.0 or
        0.0), ``invalid_cause`` (a code, for invalid outputs), ``degenerate`` (why it is not an
        answer, or None), ``role`` (of its system: ``asked``, ``baseline`` if it asks no model, or
        ``mark``), ``was_judged`` (bool: a verdict was given or attempted, or would have been if
        there had been an output), the strict column of every measure that has one, and the
        columns that the spec adds.

    Raises:
        InputError: There are no rows, or two rows for one output.
        ValueError: A column is missing.
    """
    texts = [name for name, kind in spec.columns.items() if kind is str]
    needed = dict.fromkeys((*_COLUMNS, *spec.key, spec.cluster, spec.text, *texts))
    missing = [column for column in needed if column not in items.columns]
    if missing:
        raise ValueError(f"the items frame lacks {', '.join(missing)}")
    if items.empty:
        raise InputError(
            "there is nothing to report: no finished sample was found",
            hint="finish the run first, by running its command again",
        )
    frame = items.reset_index(drop=True)
    criteria = [criterion.column for criterion in spec.criteria]
    means = {m.column_of("valid") for m in spec.measures if m.units is None and m.compute is None}
    for column in dict.fromkeys((*criteria, *sorted(means), *(spec.columns.keys() - texts))):
        if column in frame.columns:
            numbers = pd.to_numeric(frame[column], errors="coerce").astype(float)
            frame[column] = numbers.where(np.isfinite(numbers))
    for column in texts:
        frame[column] = _texts(frame[column])
    degenerate = frame.get("degenerate", pd.Series(None, index=frame.index, dtype=object))
    frame["degenerate"] = _texts(degenerate.where(degenerate.ne("")))
    for column, usual in (("draw", 1), ("shots", 0)):
        frame[column] = frame[column].fillna(usual).astype(int)
    frame["system"] = frame["system"].astype(str)
    if "judge" in frame.columns:
        frame["system"] = _apart_by_judge(frame)
    frame["role"] = _roles(frame)
    _check_once(frame, spec)
    valid = frame[spec.text].notna() & frame["invalid_reason"].isna()
    frame["valid"] = valid.astype(float)
    causes = frame["invalid_reason"].astype(object).fillna("").map(cause_of)
    frame["invalid_cause"] = frame.get("invalid_cause", causes).fillna(UNREADABLE).mask(valid)
    # Values measured over all outputs, such as their cost, are kept for invalid outputs as well.
    over_all = {m.column_of("all") for m in spec.measures if m.forms == ("all",)}
    for column in ((means - over_all) | set(criteria)) & set(frame.columns):
        frame[column] = frame[column].where(valid)
    if spec.prepare is not None:
        frame = spec.prepare(frame)
    # Texts that are only shown become categories, so that subsets of the rows do not copy them.
    explorer = spec.explorer
    shown = {explorer.before, explorer.answer, explorer.note}
    shown |= {name for _, name in explorer.facts}
    categories = [
        name for name in shown - {*spec.key} if str(frame.get(name, frame["valid"]).dtype) == "str"
    ]
    return _with_strict(frame, spec).astype(dict.fromkeys(categories, "category"))


def _check_once(frame: pd.DataFrame, spec: ReportSpec) -> None:
    key = ["system", "draw", *spec.key]
    twice = frame.duplicated(key)
    if twice.any():
        row = frame[twice].iloc[0]
        which = ", ".join(f"{name} {row[name]}" for name in (*spec.key, "draw"))
        raise InputError(
            f"two rows for one {spec.output[0]}: {row['system']}, {which}",
            hint="name each run once",
        )


def _texts(values: "pd.Series[Any]") -> "pd.Series[Any]":
    same: dict[str, str] = {}  # equal texts become one object, which saves memory
    texts = [None if pd.isna(v) else same.setdefault(str(v), str(v)) for v in values]
    return pd.Series(texts, index=values.index, dtype=object)


def _with_strict(frame: pd.DataFrame, spec: ReportSpec) -> pd.DataFrame:
    """Return the items with ``was_judged`` and the missing strict columns added."""
    invalid, no_row = frame["valid"].eq(0), pd.Series(False, index=frame.index)
    # A system without a valid output counts as judged if a judge was named.
    named = frame["judge"].notna() if "judge" in frame.columns else no_row
    in_vain = (named & invalid).groupby(frame["system"]).transform("all")
    degenerate = frame["degenerate"].notna()
    judged = in_vain if spec.criteria else no_row
    criteria = {criterion.column: 0.0 for criterion in spec.criteria}
    rates = {
        measure.column_of("valid"): float(measure.better == "low")
        for measure in spec.measures
        if "strict" in measure.forms and measure.units is None and measure.compute is None
    }
    for column, wrong in {**criteria, **rates}.items():
        if column not in frame.columns:
            continue
        value = frame[column]
        unread = no_row
        if f"{column}_invalid" in frame.columns:
            unread = frame[f"{column}_invalid"].notna()
        answered = value.notna() | unread
        if column in criteria:
            judged = judged | answered
        if f"{column}_strict" not in frame.columns:
            # A system without any verdict was not judged, so none of its outputs is wrong.
            asked = answered.groupby(frame["system"]).transform("any")
            asked = asked | in_vain if column in criteria else asked | bool(answered.any())
            strict = value.where(value.notna(), np.where(unread | invalid, wrong, np.nan))
            strict = strict.mask(degenerate & answered, wrong)
            frame[f"{column}_strict"] = strict.where(asked)
    return frame if "was_judged" in frame.columns else frame.assign(was_judged=judged)


def _roles(frame: pd.DataFrame) -> "pd.Series[str]":
    """Return the role of each row's system; if none is ``asked``, other roles become ``asked``."""
    role = frame["model"].eq(NO_MODEL).map({True: "baseline", False: "asked"})
    mark = frame["method"].eq("given") & frame["system"].str.match(_MARK)
    role = role.mask(mark, "mark")
    for other in ROLES[1:]:
        if not role.eq("asked").any():
            role = role.replace(other, "asked")
    return role


def systems_of(items: pd.DataFrame) -> list[str]:
    """Return the systems in order: those under test, then baselines, then references."""
    distinct = items.drop_duplicates("system")
    return [
        str(name) for role in ROLES for name in distinct.loc[distinct["role"].eq(role), "system"]
    ]


def _apart_by_judge(frame: pd.DataFrame) -> "pd.Series[str]":
    judges = frame["judge"].map(lambda judge: None if pd.isna(judge) else str(judge))
    several = judges.fillna("").groupby(frame["system"]).transform("nunique") > 1
    named = frame["system"] + judges.map(
        lambda j: " · unjudged" if j is None else f" · judged by {j}"
    )
    return frame["system"].where(~several, named)


def estimate_figures(items: pd.DataFrame, spec: ReportSpec, bootstrap: Bootstrap) -> pd.DataFrame:
    """Estimate every figure of every system, over all rows and by each breakdown.

    Returns:
        One row per figure: ``system``; the columns of ``ReportSpec.group_columns``; ``scope``
        if the spec names scopes; ``measure``, ``form``, ``estimate``, ``low``, ``high``, ``level``,
        ``n``, the column that counts clusters; ``draws`` and ``sd_over_draws`` (NaN for one draw)
        if draws are averaged; ``method``. Shares are from 0 to 1. Unless the spec makes its own
        figures, the measure ``invalid`` is the share of outputs that could not be read.
    """
    rows: list[dict[str, object]] = []
    for system in systems_of(items):
        of_system = items["system"].eq(system)
        whole = items if of_system.all() else items[of_system]  # no copy if it is the only one
        parts: list[tuple[str | None, str | None, pd.DataFrame]] = [(None, None, whole)]
        parts += [
            (breakdown.name, group, group_rows)
            for breakdown in spec.breakdowns
            for group, group_rows in breakdown.groups(whole)
        ]
        for breakdown_name, group, part_rows in parts:
            part = Part(part_rows, whole, breakdown_name, group, spec.cluster, bootstrap)
            estimates = _measured(part, spec) if spec.estimate is None else spec.estimate(part)
            where: dict[str, object] = {by.name: group for by in spec.breakdowns}
            if len(spec.breakdowns) > 1:
                where = {"scope": breakdown_name or "overall", "group": group}
            rows += [
                {"system": system, **where, **_row(spec, estimate, part_rows)}
                for estimate in estimates
                if not np.isnan(estimate.interval.estimate)
            ]
    return pd.DataFrame(rows)


def _measured(part: Part, spec: ReportSpec) -> Iterator[Estimate]:
    wanted: Sequence[str] = ()
    if part.breakdown is None:
        rows = part.rows.assign(invalid=1.0 - part.rows["valid"])
        yield Estimate("invalid", "all", part.mean(rows, "invalid"))
    else:
        wanted = next(one.measures for one in spec.breakdowns if one.name == part.breakdown)
    for form in ("all", "valid", "strict"):
        for measure in spec.measures:
            if form not in measure.forms or (wanted and measure.name not in wanted):
                continue
            if measure.compute is not None:
                interval = measure.compute(part, form)
            else:
                rows = part.rows if measure.units is None else measure.units(part.rows)
                column = measure.column_of(form)
                interval = part.mean(rows, column) if column in rows.columns else None
            if interval is not None:
                yield Estimate(measure.name, form, interval)


def _row(spec: ReportSpec, estimate: Estimate, rows: pd.DataFrame) -> dict[str, object]:
    interval = estimate.interval
    draws = {"draws": int(rows["draw"].nunique()), "sd_over_draws": estimate.spread}
    row = {
        **({"scope": estimate.scope} if spec.scopes else {}),
        "measure": estimate.measure,
        "form": estimate.form,
        **{name: getattr(interval, name) for name in ("estimate", "low", "high", "level", "n")},
        spec.clusters: interval.clusters,
        **(draws if spec.scopes else {}),
        "method": interval.method,
    }
    return spec.bounded(row)


def compare_systems(
    items: pd.DataFrame,
    spec: ReportSpec,
    meta: ReportMeta,
    bootstrap: Bootstrap,
    *,
    pairs: Sequence[tuple[str, str]] = (),
) -> pd.DataFrame:
    """Compare systems on the items that both were asked about.

    Every two systems under test are compared, and each of them with every baseline, by the
    measures that are ``compared``; references and controls are not. If ``pairs`` are given, these
    are compared instead, by all measures that are a mean over rows.

    Few-shot draws of an item are averaged first, so that every item counts once. In the valid form
    an item counts if both systems have a value. Judged measures are compared only under one judge,
    and perplexities only under one fluency model.

    Returns:
        One row per pair, measure and form: ``first``, ``second``, ``measure``, ``form``,
        ``difference`` (first minus second), ``low``, ``high``, ``p_value``, ``p_adjusted`` (see
        `adjusted`), ``n``, the column that counts clusters, ``differ`` (how many of these differ),
        ``sums`` (of `PairedResult`), ``method``.
    """
    systems = items.drop_duplicates("system").set_index("system")
    measures = [m for m in spec.measures if m.compared or (pairs and m.compute is None)]
    if not pairs:
        role = systems["role"]
        compared = [name for name in systems_of(items) if role[name] != "mark"]
        pairs = [(a, b) for a, b in combinations(compared, 2) if role[a] == "asked"]
    judges = systems.get("judge", pd.Series("", index=systems.index)).fillna("")
    by_measure = [
        (measure, _per_unit(items, spec, measure))
        for measure in measures
        if meta.one_fluency_model or not measure.fluency
    ]
    return adjusted(
        pd.DataFrame(
            row
            for first, second in pairs
            for measure, values in by_measure
            if not (measure.judged and judges[first] != judges[second])
            for row in _differences(values, spec, measure, (first, second), bootstrap)
        )
    )


def adjusted(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return paired comparisons with p-values adjusted by Holm over all of them.

    A hypothesis is a pair of systems and a measure. Its forms are two readings of one hypothesis,
    so each form is adjusted for the same number: all hypotheses that have a test in any form.
    """
    if pairs.empty:
        return pairs
    tests = number_of_tests(pairs)
    by_form = pairs.groupby("form")["p_value"]
    return pairs.assign(p_adjusted=by_form.transform(lambda p: holm(p, tests)))


def number_of_tests(pairs: pd.DataFrame) -> int:
    """Return for how many hypotheses `adjusted` adjusts."""
    return len(pairs[["first", "second", "measure"]].drop_duplicates())


def _per_unit(items: pd.DataFrame, spec: ReportSpec, measure: Measure) -> pd.DataFrame:
    rows = items if measure.units is None else measure.units(items)
    by = ["system", *dict.fromkeys((spec.cluster, *(measure.key or spec.key)))]
    columns = [measure.column_of(form) for form in measure.forms]
    return rows.groupby(by, sort=True)[[name for name in columns if name in rows.columns]].mean()


def _differences(
    values: pd.DataFrame,
    spec: ReportSpec,
    measure: Measure,
    systems: tuple[str, str],
    bootstrap: Bootstrap,
) -> Iterator[dict[str, object]]:
    first, second = systems
    measured = values.index.get_level_values("system")
    if first not in measured or second not in measured:
        return
    a, b = values.loc[first], values.loc[second]
    shared = a.index.intersection(b.index).sort_values()
    a, b = a.loc[shared], b.loc[shared]
    for form in measure.forms:
        column = measure.column_of(form)
        both = a[column].notna() & b[column].notna() if column in values.columns else None
        if both is None or not both.any():
            continue
        comparison = paired_comparison(
            a.loc[both, column].to_numpy(float),
            b.loc[both, column].to_numpy(float),
            shared[both].get_level_values(spec.cluster).to_numpy(object),
            **bootstrap.how,
        )
        row: dict[str, object] = {
            "first": first,
            "second": second,
            "measure": measure.name,
            "form": form,
            **{n: getattr(comparison, n) for n in ("difference", "low", "high", "p_value")},
            "p_adjusted": np.nan,
            "n": comparison.n,
            spec.clusters: comparison.clusters,
            "differ": comparison.differ,
            "sums": comparison.sums,
            "method": comparison.method,
        }
        yield spec.bounded(row)


def judged_rates(
    data: ChapterData, exams: Sequence[Exam] = (), labels: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the judged rates of a task for `ChapterData.rates`."""
    spec, runs, columns = data.spec, data.meta.runs, list(data.spec.labels)
    if not columns:
        return pd.DataFrame()
    items, in_vain = _with_nothing_as_failed(data.items, spec)
    packs = {system: run.templates for run in runs for system in run.systems if run.templates}
    asked = {system: run.asked for run in runs for system in run.systems}
    examined = examined_criteria(data.family)
    criteria = {column: examined.get(column, column) for column in columns}
    rates = corrected_scores(
        items, exams, family=data.family, criteria=criteria, packs=packs, settings=asked,
        cluster=spec.cluster, **data.bootstrap.how,
    )  # fmt: skip
    if rates.empty:
        return pd.DataFrame()
    nothing_read = rates["system"].isin(in_vain)
    rates.loc[nothing_read, "usable"] = False
    reason = NOTHING_READ.filled(output=spec.output[0])
    not_examined = rates["why_code"].eq(NOT_EXAMINED.code)
    rates.loc[nothing_read & not_examined, "why"] += f"; {reason}"
    rates.loc[nothing_read & ~not_examined, ["why", "why_code"]] = reason.text, reason.code
    if labels is not None and len(labels := labels[labels["question"].isin(columns)]):
        by_labels = corrected_by_labels(
            items,
            labels,
            criteria=columns,
            unit=next((name for name in spec.key if name != "sample_id"), ""),
            cluster=spec.cluster,
            level=data.level,
        )
        rates = _with_labels(rates, by_labels)
    few = rates["clusters"] < spec.fewest
    rates.loc[few, ["raw_low", "raw_high"]] = np.nan
    for number, rows in rates[few & rates["usable"]].groupby("clusters"):
        why = FEW_CLUSTERS.filled(clusters=spec.clusters, number=number, fewest=spec.fewest)
        rates.loc[rows.index, ["usable", "why", "why_code"]] = False, why.text, why.code
    rates.loc[~rates["usable"], ["corrected", "low", "high"]] = np.nan
    return rates


def _with_nothing_as_failed(
    items: pd.DataFrame, spec: ReportSpec
) -> tuple[pd.DataFrame, Sequence[str]]:
    """Return the items, and the systems without a valid output to judge.

    Such a system has no rate over valid outputs. It gets the verdicts of the strict form, all
    failed, so that it stands with the others instead of being left out.
    """
    judged = items[items["was_judged"]].groupby("system", sort=False)
    in_vain = [str(name) for name, rows in judged if not rows["valid"].any()]
    columns = [c.column for c in spec.criteria if f"{c.column}_strict" in items.columns]
    if not in_vain:
        return items, in_vain
    rows = items["system"].isin(in_vain)
    failed = {name: items[name].mask(rows, items[f"{name}_strict"]) for name in columns}
    return items.assign(**failed), in_vain


def _with_labels(rates: pd.DataFrame, by_labels: pd.DataFrame) -> pd.DataFrame:
    """Return the rates, corrected by people's labels instead of an exam where labels exist."""
    if by_labels.empty:
        return rates.assign(labelled=np.nan)
    on, decided = ["system", "judge", "criterion"], list(LABELS_DECIDE)
    corrected = rates[on].merge(by_labels[[*on, *decided, "labelled"]], on=on, how="left")
    has_labels = corrected["labelled"].notna()
    rates = rates.reset_index(drop=True).assign(labelled=corrected["labelled"])
    rates.loc[has_labels, decided] = corrected.loc[has_labels, decided]
    return rates
