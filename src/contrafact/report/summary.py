"""The summary of a chapter: the finding in one sentence, the next step, and a chart.

The sentence compares the systems under test by the first of the spec's headline measures that has
figures. It takes the strict form if any output was invalid or degenerate, so that a system gains
nothing by answering only easy items. If nothing was measured, it says how many outputs are answers
at all. The chart shows references and controls on the same scale.

This module selects sentences by codes; their words are in ``templates/sentences.toml``.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import pandas as pd

from contrafact.errors import Reason
from contrafact.exams.correct import examined_criteria, what_corrects
from contrafact.family import families
from contrafact.family.display import MISSING, Kind, count, figure_text, format_number, listed
from contrafact.family.exam import RESPONSE
from contrafact.family.report import ChapterData, Form, Measure, ReportSpec
from contrafact.models.gguf import EMBEDDED_NAMES
from contrafact.prompts import bundled_packs
from contrafact.report.estimates import NO_MODEL, compare_systems, number_of_tests
from contrafact.report.tables import votes_by_judge
from contrafact.report.words import judge_options, not_examined, sentence, sentences
from contrafact.stats.correction import FEW_ITEMS, MIN_ITEMS, UNINFORMATIVE
from contrafact.stats.paired import clusters_needed

_SIGNIFICANT = 0.05
"""The adjusted p-value below which a paired difference is called more than chance."""
_SOUND = Measure("sound", "", column="_sound", forms=("all",), compared="sound")
_LOST = ("invalid", "no answer", "left open")
_WRONG = ("invalid or no answer", "invalid, no answer or left open")
_TOLD = ", which says what is judged"
_MOST_BARS = 12
"""The most systems in the chart; the tables have all."""
_MOST_NAMED = 3
"""The most systems that a sentence names; if there are more, it gives their number."""
_OPEN = 0.1
"""The share of open verdicts above which a rate over the decided ones is not said first."""
_MOST = 0.5
"""The share of outputs without an answer above which the summary does not advise a judge."""


@dataclass(frozen=True)
class _Bar:
    """A system's line of the chart, with positions in percent of the axis, NaN if missing.

    ``other`` is the position of the figure over valid outputs, if it differs; ``below`` says how
    many outputs the figure is based on.
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
    """The first part of a chapter.

    ``more`` says which differences are more than chance and what the finding is based on, ``next``
    what a reader may do. The chart has ``bars``, the best first, and ``marks`` on the same scale.
    """

    sentence: Reason
    more: Sequence[Reason]
    next: Reason
    title: str
    caption: str
    axis: tuple[str, str]
    bars: Sequence[_Bar]
    marks: Sequence[_Bar]
    best: str
    results: dict[str, object]


@dataclass(frozen=True)
class _Bounds:
    """How many outputs of a system, or verdicts on them, a judge was asked for.

    ``passed`` of them are right; ``opened`` are left open, and are neither right nor wrong.
    """

    judged: int
    passed: int
    opened: int

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest share that can pass."""
        number = max(1, self.judged)
        return self.passed / number, (self.passed + self.opened) / number

    @property
    def lies(self) -> str:
        return f"lies between {self.text.replace(' to ', '% and ')}" if self.opened else "is known"

    @property
    def text(self) -> str:
        return " to ".join(format_number(end, "share") for end in self.ends) + "%"


@dataclass(frozen=True)
class _Finding:
    """The figures that the summary reports; ``measure`` is None for the share of sound outputs.

    ``rows`` are the figures of all systems except references and controls, the best first;
    ``ranked`` those of the systems under test; ``marks`` those of references and controls.
    """

    data: ChapterData
    measure: Measure | None
    form: Form
    phrase: str
    kind: Kind
    rows: pd.DataFrame
    ranked: pd.DataFrame
    marks: pd.DataFrame

    def shown(self, row: "pd.Series[Any]") -> str:
        return with_interval(row, self.data.spec, self.kind)

    def tied(self, rows: pd.DataFrame) -> list[str]:
        """Return the first row's system, and all systems whose printed figure is the same."""
        printed = rows["estimate"].map(lambda value: format_number(float(value), self.kind))
        return [str(name) for name in rows.loc[printed.eq(printed.iloc[0]), "system"]]

    @cached_property
    def best(self) -> list[str]:
        return self.tied(self.ranked)

    @cached_property
    def judged(self) -> bool:
        return self.measure is not None and self.measure.judged

    @cached_property
    def bounds(self) -> dict[str, _Bounds]:
        """The bounds of every system's share, by system; empty unless much is left open.

        What an undecided verdict leaves open counts as wrong below and as right above; what is
        invalid or no answer is wrong.
        """
        measure, items = self.measure, self.data.items
        if measure is None or not measure.judged or measure.kind != "share":
            return {}
        if measure.better != "high" or (not measure.parts and (measure.units or measure.compute)):
            return {}
        bounds = {}
        for system in map(str, self.rows["system"]):
            rows = items[items["system"].eq(system) & items["was_judged"]]
            verdicts = rows[list(self.columns)].where(rows["degenerate"].isna(), 0.0)
            is_open = verdicts.isna().mul(_sound(rows), axis="index")
            counts = (verdicts.size, verdicts.eq(1).sum().sum(), is_open.sum().sum())
            bounds[system] = _Bounds(*map(int, counts))
        much = any(one.opened > _OPEN * one.judged for one in bounds.values())
        return bounds if much else {}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of verdicts on which the measure rests."""
        measure = self.measure
        return () if measure is None else measure.parts or (measure.column_of("valid"),)

    @cached_property
    def one_judge(self) -> bool:
        """Whether all figures rest on the same judge, or on none."""
        return not self.judged or self.data.one_judge

    @cached_property
    def tests(self) -> dict[str, "pd.Series[Any]"]:
        """The tests of the best system against others, by their names; each with the number of
        ``tests`` that its p-value is adjusted for.
        """
        name, best = (self.measure or _SOUND).name, self.best[0]
        data, pairs = self.data, self.data.pairs
        if self.measure is None:
            items = data.items.assign(_sound=_sound(data.items))
            spec = replace(data.spec, measures=(_SOUND,))
            pairs = compare_systems(items, spec, data.meta, data.bootstrap)
        if pairs.empty:
            return {}
        chosen = pairs[pairs["measure"].eq(name) & pairs["form"].eq(self.form)]
        chosen = chosen.assign(tests=number_of_tests(pairs))
        return {
            str(row["second"] if row["first"] == best else row["first"]): row
            for _, row in chosen.iterrows()
            if best in (row["first"], row["second"])
        }

    def compared(self, *, apart: bool, role: str = "asked") -> list[str]:
        """Return the systems of a role that a test tells apart from the best; or the others."""
        if len(self.best) > 1 or not self.data.several or not self.one_judge or self.bounds:
            return []
        rows = self.ranked if role == "asked" else self.rows
        named = [name for name in map(str, rows["system"]) if name in self.tests]
        if role != "asked":
            named = [name for name in named if name in self.data.systems_as(role)]
        return [name for name in named if (self.tests[name]["p_adjusted"] < _SIGNIFICANT) == apart]

    @cached_property
    def not_apart(self) -> list["pd.Series[Any]"]:
        """The tests that do not tell the best system from another, or from a baseline."""
        names = (self.compared(apart=False, role=role) for role in ("asked", "baseline"))
        return [self.tests[name] for name in dict.fromkeys(chain(*names))]

    @cached_property
    def examinable(self) -> bool:
        """Whether an exam of the judge could correct the measure's rates."""
        known = {name for name, of in examined_criteria(self.data.family).items() if of != RESPONSE}
        rates = self.data.rates
        rates = rates[rates["criterion"].isin(self.columns) & rates["n"].ge(MIN_ITEMS)]
        return len(rates) > 0 and known.issuperset(self.columns)

    @cached_property
    def rates(self) -> pd.DataFrame:
        """The judged rates of the best system; empty unless it has a single judge."""
        rates = self.data.rates
        if rates.empty or not self.judged:
            return pd.DataFrame(columns=["usable", "why_code"])
        of_best = rates[rates["system"].eq(self.best[0]) & rates["n"].gt(0)]
        return of_best if of_best["judge"].nunique() == 1 else of_best.iloc[:0]

    @cached_property
    def few_judged(self) -> bool:
        """Whether an exam corrects no rate, since too few outputs were judged for any exam."""
        rates = self.data.rates
        few = len(rates) > 0 and rates["why_code"].str.startswith(FEW_ITEMS.code).any()
        return bool(few) and not rates["usable"].any()

    @cached_property
    def is_uninformative(self) -> bool:
        """Whether the exam shows that the judge cannot tell right from wrong on any criterion."""
        return len(self.rates) > 0 and bool(self.rates["why_code"].eq(UNINFORMATIVE.code).all())


def summarise(data: ChapterData) -> Summary:
    finding = _finding(data)
    opening, more, step = _sentence(finding), list(_more(finding)), _next(finding)
    bars, marks, axis, caption = _drawing(data, finding)
    first = finding.ranked.iloc[0]
    title = finding.phrase[0].upper() + finding.phrase[1:]
    results: dict[str, object] = {
        "sentence": opening.text,
        "codes": [reason.code for reason in (opening, *more, step)],
        "measure": None if finding.measure is None else finding.measure.name,
        "form": finding.form,
        "systems": finding.best,
        "bounds": {name: one.ends for name, one in finding.bounds.items()},
        **{name: first[name] for name in ("estimate", "low", "high")},
    }
    return Summary(opening, more, step, title, caption, axis, bars, marks, finding.best[0], results)


def _sound(items: pd.DataFrame) -> "pd.Series[bool]":
    return items["valid"].eq(1) & items["degenerate"].isna()


def _finding(data: ChapterData) -> _Finding:
    spec = data.spec
    measures = [m for m in spec.measures if m.headline] or [
        m for m in spec.measures if m.kind == "share" and m.better is not None and m.name != "valid"
    ]
    all_sound = bool(_sound(data.items).all())
    for measure in measures:
        strict = "strict" in measure.forms and not all_sound
        form: Form = "strict" if strict else measure.forms[0]
        rows = data.overall(measure.name, form)
        if measure.judged and "strict" in measure.forms:  # of whom no verdict was decided
            known = data.overall(measure.name, "strict")
            rows = pd.concat([rows, known[~known["system"].isin(rows["system"])]])
        rows = _best_first(rows, measure)
        if len(rows):
            phrase = measure.phrase or measure.label.removesuffix(", %").removesuffix(" %")
            about: tuple[Measure | None, Form, str, Kind] = measure, form, phrase, measure.kind
            break
    else:
        phrase = f"share of {spec.output[1]} that are valid and an answer"
        about = None, "all", phrase, "share"
        rows = _soundness(data)
    marked = rows["system"].isin(data.systems_as("mark"))
    asked = rows[rows["system"].isin(data.systems_as("asked"))]
    # If no system under test has a figure, the sentence names other systems that have one.
    ranked = asked if len(asked) else rows[~marked] if not marked.all() else rows
    return _Finding(data, *about, rows=rows[~marked], ranked=ranked, marks=rows[marked])


def _best_first(rows: pd.DataFrame, measure: Measure) -> pd.DataFrame:
    return rows.sort_values("estimate", ascending=measure.better == "low", kind="stable")


def _soundness(data: ChapterData) -> pd.DataFrame:
    lines: list[dict[str, object]] = []
    for system in data.systems:
        items = data.items[data.items["system"].eq(system)]
        interval = data.bootstrap.mean(_sound(items).astype(float), items[data.spec.cluster])
        row = {"system": system, **vars(interval), data.spec.clusters: interval.clusters}
        lines.append(data.spec.bounded(row))
    rows = pd.DataFrame(lines)
    return rows.sort_values("estimate", ascending=False, kind="stable", ignore_index=True)


def with_interval(row: "pd.Series[Any]", spec: ReportSpec, kind: Kind = "share") -> str:
    """Return a row's figure with its interval, or the reason for none; shares in percent."""
    text = figure_text(float(row["estimate"]), kind)
    if math.isnan(float(row["low"])):
        few = int(row[spec.clusters]) < spec.fewest
        return f"{text} ({f'too few {spec.clusters} for an interval' if few else row['method']})"
    level = format_number(float(row["level"]) * 100, "count")
    bounds = [format_number(float(row[end]), kind) for end in ("low", "high")]
    return f"{text} ({level}% interval {' to '.join(bounds)})"


def _sentence(finding: _Finding) -> Reason:
    """Return the finding as a sentence, chosen by the first case that holds."""
    data, spec, ranked = finding.data, finding.data.spec, finding.ranked
    first = zip(ranked["system"][:_MOST_BARS], ranked["estimate"][:_MOST_BARS], strict=True)
    cases = {
        "nothing-read": not data.asked_and_valid[1],
        "several-judges": len(ranked) > 1 and not finding.one_judge,
        "open": bool(finding.bounds),
        "one-system": len(ranked) == 1,
        "all-alike": len(finding.best) == len(ranked),
        "several-best": len(finding.best) > 1,
        "one-best": True,
    }
    leads = {
        "on bundled samples, ": data.meta.bundled,
        "nothing was judged; ": finding.measure is None and bool(spec.criteria),
        f"on one {spec.cluster_noun}, which says nothing of others, ": not data.several,
        "by the verdicts of the small embedded model, a poor judge, ": finding.judged
        and data.meta.embedded_judge,
    }
    lead = "".join(text for text, holds in leads.items() if holds)
    both = "both" if len(ranked) == 2 else f"all {len(ranked)}"
    best = data.items[data.items["system"].eq(finding.best[0])]
    opened = 0 if finding.bounds or not finding.judged else data.spec.left_open(best)
    strict = f", counting what is {_WRONG[opened > 0]} as wrong" * (finding.form == "strict")
    verb = f"{'is' if opened == 1 else 'are'} left open and not counted"
    left = f"; {opened:,} of its {count(len(best), *spec.output)} {verb}"
    left *= opened > 0 and not strict and len(finding.best) == 1
    # Bounds rest on what is open as well, which the strict form alone has among its rows.
    counted = ranked
    if finding.bounds and finding.measure is not None:
        counted = data.overall(finding.measure.name, "strict")
    units = count(int(counted.iloc[0][spec.clusters]), spec.cluster_noun, spec.clusters)
    what = spec.output[1] if len(finding.columns) < 2 else "verdicts"
    low = finding.measure is not None and finding.measure.better == "low"
    within = [
        f"of {name}, {one.judged - one.opened} of {one.judged} {what} are decided and {one.passed} "
        f"right, so it {one.lies}"
        for name in ranked["system"][:_MOST_BARS]
        if (one := finding.bounds.get(str(name)))
    ]
    more = [f"of {len(within) - _MOST_NAMED} more, as drawn"] * (len(within) > _MOST_NAMED)
    return sentence(
        "first",
        next(code for code, holds in cases.items() if holds),
        asked=count(data.asked_and_valid[0], *spec.output),
        # A system's name keeps its case; our own word begins with a capital.
        lead=lead[:1].upper() + lead[1:],
        The="the" if lead else "The",
        Every=both if lead else both.capitalize(),
        phrase=finding.phrase,
        names=_named(finding.best),
        end="lowest" if low else "highest",
        figure=finding.shown(ranked.iloc[0]),
        each=listed(
            [f"{name} {figure_text(float(figure), finding.kind)}" for name, figure in first]
        ),
        rests=f"{strict}, over {units}{left}" if data.several else "",
        within="; ".join(within[:_MOST_NAMED] + more),
    )


def _named(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _MOST_NAMED else f"{len(names)} systems"


def _more(finding: _Finding) -> Iterator[Reason]:
    for code, apart in (("apart", True), ("not-apart", False)):
        if names := finding.compared(apart=apart):
            yield sentence("more", code, names=_named(names))
    if not finding.bounds:  # a correction, and the valid form, speak of what is decided alone
        yield from _corrected(finding)
        yield from _over_valid(finding)
    yield from _prompts(finding)
    yield from _without_model(finding)
    yield from _powerless(finding)
    yield from _judges(finding.data)
    yield from _losses(finding.data)


def _prompts(finding: _Finding) -> Iterator[Reason]:
    """Yield a sentence if systems under test were asked in different words."""
    runs = [run for run in finding.data.meta.runs if {*run.systems} & {*finding.ranked["system"]}]
    texts = {text for run in runs for text in run.templates.items()}
    if len(texts) > len(dict(texts)):
        packs = [f"'{r.prompt_pack}'{_TOLD * (r.prompt_pack in bundled_packs())}" for r in runs]
        each = [f"{_named(r.systems)} by {pack}" for r, pack in zip(runs, packs, strict=True)]
        yield sentence("more", "prompts", each="; ".join(each))
    elif runs and runs[0].prompt_pack in bundled_packs():
        yield sentence("more", "pack", pack=runs[0].prompt_pack, told=_TOLD)


def _powerless(finding: _Finding) -> Iterator[Reason]:
    """Yield a sentence if no difference that was tested could have become significant."""
    spec, tests = finding.data.spec, finding.not_apart
    if tests and all(test["tests"] * 2.0 ** (1 - test["differ"]) > _SIGNIFICANT for test in tests):
        most = max(int(test["differ"]) for test in tests)
        differ = (
            count(most, spec.cluster_noun, spec.clusters) if most else f"no {spec.cluster_noun}"
        )
        number = int(tests[0]["tests"])
        least, strictest = (
            format_number(min(1.0, times * 2.0 ** (1 - most)), "p") for times in (1, number)
        )
        holm = f", or {strictest} by the strictest of Holm's adjustments for {number} tests"
        holm *= strictest != least
        by = "by that adjustment " * bool(holm)
        so = by * (2.0 ** (1 - most) <= _SIGNIFICANT)
        needed = f"{math.ceil(1 + math.log2(number / _SIGNIFICANT))} such {spec.clusters}"
        yield sentence("more", "powerless", differ=differ, least=least + holm, so=so, needed=needed)


def _judges(data: ChapterData) -> Iterator[Reason]:
    """Yield who decided alone in a panel, and what is known of judges that were measured."""
    votes = votes_by_judge(data)
    if len(votes) and votes["now"].sum() > 1:
        alone = votes.loc[votes["now"], ["judge", "alone"]].itertuples(index=False)
        each = listed([f"{judge} alone decided {number:,}" for judge, number in alone])
        of, ties = votes[["of", "ties"]].iloc[0]
        both, decided = of - votes.loc[votes["now"], "alone"].sum(), count(of, "decided verdict")
        left = f"; it left {ties:,} more open, where its judges disagreed" if ties else ""
        yield sentence("more", "alone", decided=decided, each=each, both=f"{both:,}", left=left)
    for judge, record in data.spec.records.items():
        if judge in data.meta.judges:
            code = "record" if len(data.meta.judges) == 1 else "record-of-one"
            yield sentence("more", code, judge=judge, record=record)


def _corrected(finding: _Finding) -> Iterator[Reason]:
    """Yield a sentence on the best system's corrected rates, or on an uninformative judge."""
    data, usable = finding.data, finding.rates[finding.rates["usable"].astype(bool)]
    if finding.is_uninformative:
        yield sentence("more", "uninformative")
    elif len(usable):
        each = [
            f"{data.spec.labels[str(row['criterion'])]} {with_interval(row, data.spec)}"
            for _, row in usable.assign(estimate=usable["corrected"], level=data.level).iterrows()
        ]
        system = "" if len(finding.rows) == 1 else f" for {finding.best[0]}"
        rests_on = usable.iloc[0]["rests_on"]
        yield sentence("more", "corrected", rests_on=rests_on, rates=listed(each), system=system)
    elif (finding.ranked[data.spec.clusters] < data.spec.fewest).all():
        return  # what comes next says so
    elif (not_examined(data) or finding.few_judged) and not data.meta.embedded_judge:
        rate = data.rates.sort_values("raw", key=lambda raw: (raw - 0.5).abs()).iloc[0]
        where = {"system": rate["system"], "criterion": data.spec.labels[str(rate["criterion"])]}
        where["raw"] = figure_text(float(rate["raw"]), "share")
        can = what_corrects(int(rate["n"]), float(rate["raw"]))
        yield sentence("more", "correctable", can=can, **where)


def _without_model(finding: _Finding) -> Iterator[Reason]:
    rows = finding.rows[finding.rows["system"].isin(finding.data.systems_as("baseline"))]
    if rows.empty and (chance := finding.data.spec.chance):
        yield sentence("more", "chance", figure=figure_text(chance(finding.data.items), "share"))
    if finding.measure is None or rows.empty or finding.best[0] in set(rows["system"]):
        return
    name, figure = str(rows.iloc[0]["system"]), finding.shown(rows.iloc[0])
    code, p = "baseline", None
    if (bounds := finding.bounds.get(name)) and bounds.opened:
        figure = bounds.text
    if name in finding.tests and not finding.bounds:
        p = float(finding.tests[name]["p_adjusted"])
        code = "baseline-apart" if p < _SIGNIFICANT else "baseline-not-apart"
    shown = "" if p is None else format_number(p, "p")
    p_text = f"p {shown}" if shown[:1] == "<" else f"p = {shown}"
    if code != "baseline" and finding.tests[name]["tests"] > 1:
        p_text += " after Holm's adjustment"
    yield sentence("more", code, name=name, figure=figure, p=p_text)


def _over_valid(finding: _Finding) -> Iterator[Reason]:
    """Yield a sentence on another system that is best over valid outputs alone, if there is one."""
    measure = finding.measure
    if measure is None or finding.form != "strict" or not finding.one_judge:
        return
    rows = finding.data.overall(measure.name, "valid")
    rows = _best_first(rows[rows["system"].isin(finding.ranked["system"])], measure)
    if len(rows) > 1 and set(first := finding.tied(rows)).isdisjoint(finding.best):
        figure = finding.shown(rows.iloc[0])
        yield sentence("more", "other-over-valid", names=_named(first), figure=figure)


def _lost(rows: pd.DataFrame) -> tuple[int, int]:
    """Return how many outputs are invalid, and how many others are degenerate."""
    valid = rows["valid"].eq(1)
    return int((~valid).sum()), int((valid & rows["degenerate"].notna()).sum())


def _losses(data: ChapterData) -> Iterator[Reason]:
    items = data.items[data.items["role"].eq("asked")]
    invalid, degenerate = _lost(items)
    reasons = items.loc[items["valid"].eq(1), "degenerate"].dropna().unique()
    parts = ((invalid, "invalid"), (degenerate, f"no answer ({'; '.join(reasons)})"))
    losses = [f"{n:,} {'is' if n == 1 else 'are'} {what}" for n, what in parts if n]
    if losses and invalid < len(items):
        asked = count(len(items), *data.spec.output)
        yield sentence("more", "losses", asked=asked, losses=" and ".join(losses))


def _next(finding: _Finding) -> Reason:
    """Return the advice on what to do next, chosen by the first case that holds."""
    data, meta, spec = finding.data, finding.data.meta, finding.data.spec
    unexamined = not_examined(data)
    family = families().get(data.family)
    can_label = bool((unexamined or finding.few_judged) and family and family.study)
    asked = data.items[data.items["role"].eq("asked")]
    models = asked["model"].astype(str)
    few = finding.ranked[spec.clusters] < spec.fewest
    cases = {
        "read-replies": not data.asked_and_valid[1],
        "judge": spec.criteria and not data.judged,
        "no-answers": asked["degenerate"].notna().mean() > _MOST,
        "decide": bool(finding.bounds),
        "examine": unexamined and finding.examinable and not (meta.embedded_judge or few.all()),
        "label": can_label and not (meta.embedded_judge or few.all()),
        "other-judge": (unexamined and meta.embedded_judge) or finding.is_uninformative,
        "name-model": models.eq(NO_MODEL).all(),
        "other-model": models.str.startswith(EMBEDDED_NAMES).all(),
        "more-clusters": few.all(),
        "tell-apart": finding.not_apart,
        "harder": finding.measure is not None and finding.ranked.iloc[0]["estimate"] == 1.0,
        "second-system": len(data.systems) == 1,
        "read-failures": True,
    }
    code = next(code for code, holds in cases.items() if holds)
    return sentence(
        "next",
        code,
        judge=judge_options(unexamined[0]) if len(unexamined) == 1 else "--judge J",
        family=data.family,
        clusters=spec.clusters,
        fewest=spec.fewest,
        wanted=_wanted(finding) if code == "tell-apart" else "",
        reader=sentences()["next"]["reader"] if spec.records.keys() & {*meta.judges} else "",
        beside="; without a model: --method " * bool(spec.baselines) + " or ".join(spec.baselines),
        harder=spec.harder or f"use harder {spec.unit[1]}, or more of them",
    )


def _wanted(finding: _Finding) -> str:
    """Return how many clusters would tell the best system from one that it is not told from."""
    spec, tests = finding.data.spec, finding.not_apart
    number, rng = int(tests[0]["tests"]), finding.data.bootstrap.how["rng"]
    numbers = [
        clusters_needed(test["sums"], int(test[spec.clusters]), tests=number, rng=rng)
        for test in tests
    ]
    if not any(numbers):
        return "; how many cannot be said from a difference of 0"
    least = min(filter(None, numbers))
    about = f"about {least:,}" if least <= 10_000 else "more than 10,000"
    holm = f" (by the strictest of Holm's adjustments for {number} tests)" * (number > 1)
    return (
        f": with {about} {spec.clusters}, four of five such studies would find the difference"
        f"{holm}, if it and its spread are what was seen here"
    )


def _drawing(
    data: ChapterData, finding: _Finding
) -> tuple[list[_Bar], list[_Bar], tuple[str, str], str]:
    """Return the chart's bars, its marks, the labels of the axis's ends, and the caption."""
    rows, kind, measure = finding.rows.iloc[:_MOST_BARS], finding.kind, finding.measure
    drawn = pd.concat([rows, finding.marks])
    other = pd.Series(dtype=float)
    if measure is not None and finding.form == "strict" and "valid" in measure.forms:
        other = data.overall(measure.name, "valid").set_index("system")["estimate"]
        other = other[other.index.isin(rows["system"])]
    if finding.bounds:
        other = pd.Series(dtype=float)
    grid = pd.concat([drawn["estimate"], drawn["low"], drawn["high"], other]).dropna()
    fraction = kind == "share" or (kind == "coefficient" and grid.between(0, 1).all())
    start, end = (0.0, 1.0) if fraction else (min(0.0, float(grid.min())), float(grid.max()))
    span = (end - start) or 1.0

    def position(value: float) -> float:
        return round(100 * (value - start) / span, 2)

    def bar(row: "pd.Series[Any]") -> _Bar:
        system = str(row["system"])
        estimate, low, high = (float(row[name]) for name in ("estimate", "low", "high"))
        text, between = figure_text(estimate, kind), "no interval"
        if one := finding.bounds.get(system):
            (low, high), estimate, text, between = one.ends, math.nan, one.text, "bounds"
        elif not math.isnan(low):
            between = f"{format_number(low, kind)} to {format_number(high, kind)}"
        reported = float(other.get(system, math.nan))
        same = format_number(reported, kind) in (MISSING, format_number(estimate, kind))
        place, left, right = map(position, (estimate, low, high))
        ring = math.nan if same else position(reported)
        rests = _rests_on(data, system)
        return _Bar(system, text, between, place, left, round(right - left, 2), ring, rests)

    bars, marks = ([bar(row) for _, row in part.iterrows()] for part in (rows, finding.marks))
    caption = (
        f"The dot is the figure, the line its {data.percent_level} interval by "
        f"{data.spec.cluster_noun}."
    )
    if (rows[data.spec.clusters] < data.spec.fewest).all():
        caption = f"The dot is the figure; there are too few {data.spec.clusters} for intervals."
    if finding.bounds:
        caption = "The line goes from what is known to pass to what passes or is left open."
    if finding.form == "strict":
        opened = not finding.bounds and any("left open" in bar.below for bar in bars)
        caption += f" What is {_WRONG[opened]} counts as wrong."
    if any(not math.isnan(bar.other) for bar in bars):
        caption += " The ring is the figure over valid outputs alone, the form that papers print."
    if left := len(finding.rows) - len(rows):
        caption += f" {count(left, 'system')} more in the tables."
    ends = ("0%", "100%") if kind == "share" else (f"{start:.3g}", f"{end:.3g}")
    return bars, marks, ends, caption


def _rests_on(data: ChapterData, system: str) -> str:
    rows = data.items[data.items["system"].eq(system)]
    numbers = zip((*_lost(rows), data.spec.left_open(rows)), _LOST, strict=True)
    lost = [f"{number:,} {what}" for number, what in numbers if number]
    return ", ".join([count(len(rows), *data.spec.output), *lost])
