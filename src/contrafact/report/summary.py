"""A chapter in short: what was found in one sentence, what to do next, and a drawing.

The sentence speaks of the systems that were asked about, by the first of the spec's headline
measures that has figures, in the strict form where any output was invalid or no answer, so that a
system gains nothing by answering only what is easy. Where nothing was measured it says how many
outputs are answers at all. References and controls stand on the same scale.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from contrafact.exam.correct import NOT_EXAMINED
from contrafact.family.display import MISSING, Kind, count, figure_text, format_number, listed
from contrafact.family.report import ChapterData, Form, Measure
from contrafact.models.gguf import EMBEDDED_NAMES
from contrafact.report.estimates import NO_MODEL, compare_systems
from contrafact.stats.intervals import MIN_CLUSTERS, Resampling
from contrafact.stats.replicates import Bootstrap

__all__ = ["Summary", "summarise", "with_interval"]

_SIGNIFICANT = 0.05
"""Below this adjusted p-value a paired difference is called more than chance would make."""
_SOUND = Measure("sound", "", column="_sound", forms=("all",), compared="sound")
_MOST_BARS = 12
"""So many systems are drawn; the tables have all."""
_MOST_NAMED = 3
"""So many systems are named in a sentence; more are counted."""


@dataclass(frozen=True)
class _Bar:
    """A system's line of the drawing: its figure and interval as they read, and where they lie.

    Places are in percent of the axis, NaN where there is none; ``other`` is that of the figure over
    valid outputs, where that is another. ``below`` says how many outputs it rests on.
    """

    system: str
    text: str
    between: str
    place: float
    left: float
    width: float
    other: float
    below: str


@dataclass(frozen=True)
class Summary:
    """What stands first in a chapter.

    ``more`` says what can be said of the differences, and what the finding rests on, ``next`` what
    a reader may do. ``axis`` is what stands at the ends of the drawing's axis, ``bars`` its lines,
    the best first, ``marks`` references and controls on the same scale.
    """

    sentence: str
    more: Sequence[str]
    next: str
    title: str
    caption: str
    axis: tuple[str, str]
    bars: Sequence[_Bar]
    marks: Sequence[_Bar]
    best: str
    results: dict[str, object]


@dataclass(frozen=True)
class _Finding:
    """The figures that the summary speaks of; no measure for sound outputs.

    ``rows`` are those of all systems but marks, the best first; ``ranked`` those of the systems
    asked about; ``best`` the systems that stand first among these; ``marks`` the marks' rows.
    """

    measure: Measure | None
    form: Form
    rows: pd.DataFrame
    ranked: pd.DataFrame
    marks: pd.DataFrame
    best: list[str]
    phrase: str
    kind: Kind


def summarise(data: ChapterData) -> Summary:
    """Return what stands first in a chapter."""
    found = _finding(data)
    bars, marks, axis, caption = _drawing(data, found)
    first = found.ranked.iloc[0]
    sentence = _sentence(data, found)
    more = [
        _differences(data, found),
        _corrected(data, found),
        _without_model(data, found),
        _other_form(data, found),
        _counts(data),
    ]
    return Summary(
        sentence=sentence,
        more=[one for one in more if one],
        next=_next(data, found),
        title=found.phrase[0].upper() + found.phrase[1:],
        caption=caption,
        axis=axis,
        bars=bars,
        marks=marks,
        best=found.best[0],
        results={
            "sentence": sentence,
            "measure": None if found.measure is None else found.measure.name,
            "form": found.form,
            "systems": found.best,
            **{name: first[name] for name in ("estimate", "low", "high")},
        },
    )


def _sound(items: pd.DataFrame) -> "pd.Series[bool]":
    return items["valid"].eq(1) & items["degenerate"].isna()


def _finding(data: ChapterData) -> _Finding:
    spec = data.spec
    measures = [one for one in spec.measures if one.headline] or [
        one
        for one in spec.measures
        if one.kind == "share" and one.better is not None and one.name != "valid"
    ]
    all_sound = bool(_sound(data.items).all())
    for measure in measures:
        strict = "strict" in measure.forms and not all_sound
        form: Form = "strict" if strict else measure.forms[0]
        rows = _best_first(data.overall(measure.name, form), measure)
        if len(rows):
            phrase = measure.phrase or measure.label.removesuffix(", %").removesuffix(" %")
            found = _Finding(measure, form, rows, rows, rows, [], phrase, measure.kind)
            break
    else:
        phrase = f"share of {spec.output[1]} that could be read and are an answer"
        rows = _soundness(data)
        found = _Finding(None, "all", rows, rows, rows, [], phrase, "share")
    marked = rows["system"].isin(data.systems_as("mark"))
    asked = rows[rows["system"].isin(data.systems_as("asked"))]
    # Where none of the systems asked about has a figure, what is there is all that can be named.
    ranked = asked if len(asked) else rows[~marked] if not marked.all() else rows
    found = replace(found, rows=rows[~marked], marks=rows[marked])
    return replace(found, ranked=ranked, best=_tied(ranked, found.kind))


def _best_first(rows: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    return rows.sort_values("estimate", ascending=measure.better == "low", kind="stable")


def _soundness(data: ChapterData) -> pd.DataFrame:
    bootstrap = Bootstrap(**_apart(data))
    lines: list[dict[str, object]] = []
    for system in data.systems:
        own = data.items[data.items["system"].eq(system)]
        interval = bootstrap.mean(_sound(own).astype(float), own[data.spec.cluster])
        lines.append({"system": system, **vars(interval), data.spec.clusters: interval.clusters})
    rows = pd.DataFrame(lines)
    return rows.sort_values("estimate", ascending=False, kind="stable", ignore_index=True)


def _sound_pairs(data: ChapterData) -> pd.DataFrame:
    """Compare systems by the outputs that could be read and are an answer, on the same items."""
    items = data.items.assign(_sound=_sound(data.items))
    spec = replace(data.spec, measures=(_SOUND,))
    return compare_systems(items, spec, data.meta, **_apart(data))


def _apart(data: ChapterData) -> Resampling:
    """Return how intervals are made of a stream apart: a summary changes no other interval."""
    return {"rng": np.random.default_rng(0), "resamples": data.resamples, "level": data.level}


def _tied(rows: pd.DataFrame, kind: Kind = "share") -> list[str]:
    """Return the systems of the first of some figures: several where they read alike."""
    read = [format_number(float(value), kind) for value in rows["estimate"]]
    return [str(one) for one, text in zip(rows["system"], read, strict=True) if text == read[0]]


def with_interval(row: "pd.Series[Any]", clusters: str, kind: Kind = "share") -> str:
    """Return a row's figure with its interval, or why it has none; shares are in percent."""
    text = figure_text(float(row["estimate"]), kind)
    if math.isnan(float(row["low"])):
        few = int(row[clusters]) < MIN_CLUSTERS
        return f"{text} ({f'too few {clusters} for an interval' if few else row['method']})"
    level = format_number(float(row["level"]) * 100, "count")
    bounds = [format_number(float(row[end]), kind) for end in ("low", "high")]
    return f"{text} ({level}% interval {' to '.join(bounds)})"


def _sentence(data: ChapterData, found: _Finding) -> str:
    spec, rows, best, phrase = data.spec, found.ranked, found.best, found.phrase
    asked, valid = data.asked_and_valid
    if not valid:
        none = f"None of the {count(asked, *spec.output)} that were asked for could be read"
        return f"{none}, so there is nothing to compare."
    if len(rows) > 1 and not _one_judge(data, found):
        each = [
            f"{system} {figure_text(float(estimate), found.kind)}"
            for system, estimate in zip(rows["system"], rows["estimate"], strict=True)
        ]
        return (
            "These systems were not all judged by the same judge, so none is called best; "
            f"{phrase}: {listed(each[:_MOST_BARS])}."
        )
    shown = with_interval(rows.iloc[0], spec.clusters, found.kind)
    judged = found.measure is not None and found.measure.judged
    by = "By the verdicts of the small embedded model, a poor judge, "
    by = by if judged and data.meta.embedded_judge else ""
    end = "lowest" if found.measure is not None and found.measure.better == "low" else "highest"
    if len(rows) == 1:
        text = f"{by}the {phrase} of {best[0]} is {shown}"
    elif len(best) == len(rows):
        every = "both" if len(rows) == 2 else f"all {len(rows)}"
        text = f"{by}{every} systems have the same {phrase}, {shown}"
    elif len(best) > 1:
        text = f"{by}{_named(best)} share the {end} {phrase}, {shown} each"
    else:
        text = f"{by}{best[0]} has the {end} {phrase}: {shown}"
    several = data.several
    if not several:
        text = f"on one {spec.cluster_noun}, which says nothing of others, {text}"
    elif found.form == "strict":
        text += ", counting what is invalid or no answer as wrong"
    if found.measure is None and spec.criteria:
        text = f"nothing was judged; {text}"
    if several:
        units = data.items[spec.cluster].nunique()
        text += f", over {count(units, spec.cluster_noun, spec.clusters)}"
    # A system's name keeps its letters; a word of ours begins in upper case.
    return (text if text.startswith(best[0]) else text[0].upper() + text[1:]) + "."


def _one_judge(data: ChapterData, found: _Finding) -> bool:
    measure = found.measure
    return measure is None or not measure.judged or data.one_judge


def _named(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _MOST_NAMED else f"{len(names)} systems"


def _adjusted(data: ChapterData, found: _Finding) -> dict[str, float]:
    """Return the adjusted p-values of the best system against those it was compared with."""
    measure, best = found.measure or _SOUND, found.best[0]
    pairs = data.pairs if found.measure else _sound_pairs(data)
    if pairs.empty:
        return {}
    chosen = pairs[pairs["measure"].eq(measure.name) & pairs["form"].eq(found.form)]
    known = zip(chosen["first"], chosen["second"], chosen["p_adjusted"], strict=True)
    return {str(b if a == best else a): float(p) for a, b, p in known if best in (a, b)}


def _differences(data: ChapterData, found: _Finding) -> str:
    """Say from which other systems the best can be told, by the paired comparisons."""
    others = [str(name) for name in found.ranked["system"] if name not in found.best]
    comparable = data.several and _one_judge(data, found)
    if len(found.best) > 1 or not others or not comparable:
        return ""
    known = _adjusted(data, found)
    apart = [name for name in others if known.get(name, 1.0) < _SIGNIFICANT]
    alike = [name for name in others if known.get(name, 0.0) >= _SIGNIFICANT]
    rest = " (paired tests, Holm-adjusted)."
    if apart and not alike:
        who = "the other" if len(others) == 1 else "every other system"
        return f"It differs from {who} by more than chance would make{rest}"
    if not apart:
        if not alike:
            return ""
        who = _named(alike) if len(alike) <= _MOST_NAMED else "any of the others"
        return f"These data do not tell it apart from {who}{rest}"
    return (
        f"It differs from {_named(apart)} by more than chance would make; these data do not tell "
        f"it apart from {_named(alike)}{rest}"
    )


def _without_model(data: ChapterData, found: _Finding) -> str:
    rows = found.rows[found.rows["system"].isin(data.systems_as("baseline"))]
    if found.measure is None or rows.empty or found.best[0] in set(rows["system"]):
        return ""
    first = rows.iloc[0]
    shown = with_interval(first, data.spec.clusters, found.kind)
    text = f"Without any model, {first['system']} has {shown}."
    adjusted = _adjusted(data, found).get(str(first["system"]))
    if adjusted is None:
        return text
    finding = (
        "the difference between the two is larger than chance would make it"
        if adjusted < _SIGNIFICANT
        else "these data do not tell the two apart"
    )
    p = format_number(adjusted, "p")
    p = f"p {p}" if p.startswith("<") else f"p = {p}"
    return f"{text} On the same items, {finding} (paired test, {p} after Holm's adjustment)."


def _rates(data: ChapterData, found: _Finding) -> pd.DataFrame:
    """Return the judged rates of the system that stands first, where it is judged by one judge."""
    rates = data.rates
    if rates.empty or found.measure is None or not found.measure.judged:
        return pd.DataFrame(columns=["usable", "why"])
    own = rates[rates["system"].eq(found.best[0]) & rates["n"].gt(0)]
    return own if own["judge"].nunique() == 1 else own.iloc[:0]


def _no_judge(data: ChapterData, found: _Finding) -> bool:
    cannot = _rates(data, found)["why"].astype(str).str.contains("cannot tell")
    return bool(len(cannot) and cannot.all())


def _corrected(data: ChapterData, found: _Finding) -> str:
    """Say the corrected rates of the system that stands first, or that the judge tells nothing."""
    if _no_judge(data, found):
        return (
            "By its exam this judge cannot tell what should pass from what should fail: its "
            "verdicts say little of these systems."
        )
    rates = _rates(data, found)
    known = rates[rates["usable"].astype(bool)]
    if known.empty:
        return ""
    each = [
        f"{data.spec.labels[str(row['criterion'])]} {with_interval(row, data.spec.clusters)}"
        for _, row in known.assign(estimate=known["corrected"], level=data.level).iterrows()
    ]
    return (
        f"That is what the judge passed. Corrected for its errors by {known.iloc[0]['rests_on']}: "
        f"{listed(each)}{'' if len(found.rows) == 1 else f' for {found.best[0]}'}."
    )


def _other_form(data: ChapterData, found: _Finding) -> str:
    """Say who stands first over valid outputs alone, where that is another."""
    if found.measure is None or found.form != "strict" or not _one_judge(data, found):
        return ""
    rows = data.overall(found.measure.name, "valid")
    rows = _best_first(rows[rows["system"].isin(found.ranked["system"])], found.measure)
    first = _tied(rows, found.kind)
    if len(rows) < 2 or set(first) & set(found.best):
        return ""
    shown = with_interval(rows.iloc[0], data.spec.clusters, found.kind)
    return f"Over valid outputs alone {_named(first)} would stand first, with {shown}."


def _counts(data: ChapterData) -> str:
    items, (one, several) = data.items[data.items["role"].eq("asked")], data.spec.output
    asked, valid = len(items), int(items["valid"].sum())
    unread, none = asked - valid, int((items["valid"].eq(1) & items["degenerate"].notna()).sum())
    findings = []
    if unread:
        findings.append(f"{unread:,} could not be read")
    if none:
        findings.append(f"{none:,} {'is' if none == 1 else 'are'} no answer (a copy, or the like)")
    if not findings or not valid:
        return ""
    return f"Of {count(asked, one, several)}, {' and '.join(findings)}."


_MOST = 0.5  # of outputs: beyond it a judge is not what is missing


def _next(data: ChapterData, found: _Finding) -> str:
    """Say what would make these figures tell more: the first of what is missing."""
    several, judges = data.spec.clusters, data.meta.judges
    judge = judges[0] if len(judges) == 1 else "J"
    rates, family = data.rates, data.family
    unknown = len(rates) > 0 and bool(rates["why"].str.startswith(NOT_EXAMINED).any())
    asked = data.items[data.items["role"].eq("asked")]
    models = asked["model"].astype(str)
    steps = (
        (
            not data.asked_and_valid[1],
            "read the replies under Every output, and give the model more room (--max-tokens) or "
            "name another (--model).",
        ),
        (
            bool(data.spec.criteria) and not data.judged,
            "have these outputs judged: contrafact score RUN --judge MODEL.",
        ),
        (
            bool(asked["degenerate"].notna().mean() > _MOST),
            "read the outputs under Every output, most of which are no answer, and name a model "
            "worth measuring (--model).",
        ),
        (
            unknown and not data.meta.embedded_judge,
            f"find out how often the judge errs: contrafact exam --judge {judge} --family "
            f"{family} --out exam.json, then contrafact report RUN --exam exam.json.",
        ),
        (
            unknown or _no_judge(data, found),
            "name a judge that can tell, and examine it first: contrafact exam --judge MODEL "
            f"--family {family} --out exam.json.",
        ),
        (bool(models.eq(NO_MODEL).all()), "name a model (--model) to hold against the baselines."),
        (
            bool(models.str.startswith(EMBEDDED_NAMES).all()),
            "name a model worth measuring (--model): the embedded one is only there to show that "
            "the program runs.",
        ),
        (
            bool((found.ranked[several] < MIN_CLUSTERS).all()),
            f"take more {several} (--limit, --data): under five there are no intervals.",
        ),
        (
            len(data.systems) == 1,
            "name a second --model or --method to compare it with.",
        ),
        (
            "do not tell" in _differences(data, found),
            f"take more {several} (--limit, --data) to tell the systems apart.",
        ),
    )
    usual = "read what failed under Every output before quoting a figure."
    return next((step for due, step in steps if due), usual)


def _drawing(
    data: ChapterData, found: _Finding
) -> tuple[list[_Bar], list[_Bar], tuple[str, str], str]:
    rows, kind, measure = found.rows.iloc[:_MOST_BARS], found.kind, found.measure
    drawn = pd.concat([rows, found.marks])
    other = pd.Series(dtype=float)
    if measure is not None and found.form == "strict" and "valid" in measure.forms:
        other = data.overall(measure.name, "valid").set_index("system")["estimate"]
        other = other[other.index.isin(rows["system"])]
    grid = pd.concat([drawn["estimate"], drawn["low"], drawn["high"], other]).dropna()
    fraction = kind == "share" or (kind == "coefficient" and grid.between(0, 1).all())
    start, end = (0.0, 1.0) if fraction else (min(0.0, float(grid.min())), float(grid.max()))
    span = (end - start) or 1.0

    def place(value: float) -> float:
        return round(100 * (value - start) / span, 2)

    def bar(row: "pd.Series[Any]") -> _Bar:
        system = str(row["system"])
        estimate, low, high = (float(row[name]) for name in ("estimate", "low", "high"))
        between = f"{format_number(low, kind)} to {format_number(high, kind)}"
        reported = float(other.get(system, float("nan")))
        same = format_number(reported, kind) in (MISSING, format_number(estimate, kind))
        return _Bar(
            system,
            figure_text(estimate, kind),
            "no interval" if math.isnan(low) else between,
            place(estimate),
            place(low),
            round(place(high) - place(low), 2),
            float("nan") if same else place(reported),
            _rests_on(data.items[data.items["system"].eq(system)]),
        )

    bars, marks = ([bar(row) for _, row in part.iterrows()] for part in (rows, found.marks))
    caption = (
        f"The dot is the figure, the line its {data.percent_level} interval by "
        f"{data.spec.cluster_noun}."
    )
    if (rows[data.spec.clusters] < MIN_CLUSTERS).all():
        caption = f"The dot is the figure; there are too few {data.spec.clusters} for intervals."
    if found.form == "strict":
        caption += " What is invalid or no answer counts as wrong."
    if any(not math.isnan(bar.other) for bar in bars):
        caption += " The ring is the figure over valid outputs alone, the form that papers print."
    if left := len(found.rows) - len(rows):
        caption += f" {count(left, 'system')} more in the tables."
    ends = ("0%", "100%") if kind == "share" else (f"{start:.3g}", f"{end:.3g}")
    return bars, marks, ends, caption


def _rests_on(rows: pd.DataFrame) -> str:
    invalid = int(rows["valid"].eq(0).sum())
    none = int((rows["valid"].eq(1) & rows["degenerate"].notna()).sum())
    parts = [f"{len(rows):,} asked for"]
    parts += [f"{invalid:,} invalid"] if invalid else []
    parts += [f"{none:,} no answer"] if none else []
    return ", ".join(parts)
