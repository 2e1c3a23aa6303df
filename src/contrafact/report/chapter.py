"""A chapter: all that a report shows of one task, made from its runs as the family's spec says.

Examples are drawn at random; invalid outputs are shown as they came.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from contrafact.console import say_once
from contrafact.errors import installed
from contrafact.exam.file import Exam
from contrafact.family.display import (
    Card,
    Chip,
    Example,
    Fact,
    Table,
    Warnings,
    count,
    embedded_system,
    first_of,
    format_number,
    invalid_sentence,
    leaders,
    listed,
    one_answer,
    percent,
)
from contrafact.family.report import ChapterData, Examples, Extra, ReportSpec, Section
from contrafact.family.run_facts import (
    Cost,
    ReportMeta,
    RunFacts,
    Setting,
    self_judged,
    unfinished,
)
from contrafact.report.drawing import Figure, draw_chart
from contrafact.report.estimates import (
    NO_MODEL,
    JudgedRates,
    comparability,
    compare_systems,
    estimate_figures,
    judged_rates,
    prepare_items,
    systems_of,
)
from contrafact.report.frames import TaskRuns
from contrafact.report.panel import AGREEMENT_SECTION, panel
from contrafact.report.tables import (
    comparison_table,
    corrected_table,
    invalid_table,
    leaderboard_table,
    measure_chart,
    measure_table,
    reason_table,
    standard_tables,
)
from contrafact.stats.replicates import Bootstrap
from contrafact.text.delimit import inner_html
from contrafact.text.diff import DiffPart, word_diff

__all__ = [
    "Chapter",
    "Options",
    "chapter_data",
    "choose_examples",
    "draw_examples",
    "invalid_examples",
    "make_chapter",
    "marked_text",
    "output_chips",
    "run_facts",
    "shorten",
]

_SHOWN = 300
"""So many characters of a degenerate output stand in the list of what is no answer."""
_ENOUGH_VERDICTS = 20


@dataclass(frozen=True)
class Options:
    """How a report is made.

    Attributes:
        with_published: Whether to show the paper's rows below the report's own.
        seed: Seed of the intervals, the paired tests and the choice of examples.
        resamples: How many resamples the intervals rest on.
        level: Their confidence level.
        exams: What is known of judges.
        labels: What people said of the runs' items, as `contrafact.report.labels` reads it.
    """

    with_published: bool = False
    seed: int = 0
    resamples: int = 10_000
    level: float = 0.95
    exams: tuple[Exam, ...] = ()
    labels: pd.DataFrame | None = None


@dataclass(frozen=True)
class Chapter:
    """All that a report shows of one task.

    Attributes:
        task: The task, which names its part of ``results.json`` and of the folders.
        meta: What the runs are.
        eyebrow: A word or two above the title.
        title: The chapter's title; the page's, where it is the only one.
        sections: Its sections, of which none is empty.
        facts: What stands at the top.
        summary: Sentences.
        warnings: Headings and texts that come before any figure.
        tables: By key.
        figures: By key.
        examples: What its examples show, marked.
        examples_caption: How to read them.
        invalid: Headings, and the texts of some invalid outputs.
        output: What an output is called, one and several.
        how: Terms and texts.
        runs: The facts of each run: its name, labels and texts, notes.
        results: Its part of ``results.json``.
    """

    task: str
    meta: ReportMeta
    eyebrow: str
    title: str
    sections: Sequence[Section]
    facts: Sequence[Fact]
    summary: Sequence[str]
    warnings: Warnings
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]
    examples: Sequence[Mapping[str, object]]
    examples_caption: Markup
    invalid: tuple[Sequence[str], Sequence[tuple[str, ...]]]
    output: tuple[str, str]
    how: Sequence[tuple[str, str]]
    runs: Sequence[tuple[str, Sequence[tuple[str, str]], Sequence[str]]]
    results: Mapping[str, object]


def make_chapter(runs: TaskRuns, options: Options) -> Chapter:
    """Return the chapter of a task.

    Args:
        runs: Its runs.
        options: How the report is made.

    Raises:
        InputError: There is nothing to report, or a row stands twice.
    """
    data = chapter_data(runs, options)
    spec, meta = data.spec, data.meta
    judged = judged_rates(
        data,
        family=runs.family,
        exams=options.exams,
        labels=options.labels,
    )
    extras = [*(extra(data) for extra in spec.extras), panel(data)]
    tables = _tables(data, judged, extras)
    figures = _figures(data, extras)
    examples = _examples(data)
    return Chapter(
        task=runs.task,
        meta=meta,
        eyebrow=spec.eyebrow,
        title=meta.title or spec.title,
        sections=_sections(data, {*tables, *figures}),
        facts=_facts(data),
        summary=list((spec.summary or _summary)(data)),
        warnings=[*(spec.warnings or _warnings)(data), *_exam_warnings(judged)],
        tables=tables,
        figures=figures,
        examples=examples,
        examples_caption=Markup(spec.examples.caption).format(
            count=count(len(examples), "example"), seed=options.seed
        ),
        invalid=([heading for _, heading in spec.invalid_shown], invalid_examples(data)),
        output=spec.output,
        how=_how(data),
        runs=[(run.name, run_facts(run, spec), run.notes) for run in meta.runs],
        results=_results(data, judged, extras, tables),
    )


def chapter_data(runs: TaskRuns, options: Options) -> ChapterData:
    """Return what a chapter is made from: the items checked, every figure, the comparisons.

    Arguments and errors are those of `make_chapter`.
    """
    spec = runs.spec
    items = prepare_items(runs.items, spec)
    comparable = comparability(items, spec, runs.meta)
    names = tuple(dict.fromkeys((*spec.streams, "panel")))
    spawned = np.random.SeedSequence(options.seed).spawn(len(names))
    streams = dict(zip(names, map(np.random.default_rng, spawned), strict=True))
    resamples, level = options.resamples, options.level
    bootstrap = Bootstrap(rng=streams["figures"], resamples=resamples, level=level)
    return ChapterData(
        spec=spec,
        items=items,
        systems=systems_of(items),
        meta=runs.meta,
        comparable=comparable,
        figures=estimate_figures(items, spec, bootstrap),
        pairs=compare_systems(
            items, spec, comparable, rng=streams["pairs"], resamples=resamples, level=level
        ),
        published=options.with_published,
        level=level,
        resamples=resamples,
        streams=streams,
        bootstrap=bootstrap,
    )


def _tables(
    data: ChapterData, judged: JudgedRates | None, extras: Sequence[Extra]
) -> dict[str, Table]:
    found = [
        *(measure_table(data, wanted) for wanted in standard_tables(data)),
        None if judged is None else leaderboard_table(judged),
        None if judged is None else corrected_table(judged),
        *(table for extra in extras for table in extra.tables),
        comparison_table(data),
        invalid_table(data),
        reason_table(data),
    ]
    return {table.key: table for table in found if table is not None}


def _figures(data: ChapterData, extras: Sequence[Extra]) -> dict[str, Figure]:
    charts = [
        *(measure_chart(data, wanted) for wanted in standard_tables(data)),
        *(chart for extra in extras for chart in extra.charts),
    ]
    if not installed("matplotlib"):
        say_once("figures are left out: they need matplotlib (pip install 'contrafact[figures]')")
        return {}
    return {chart.key: draw_chart(chart) for chart in charts if chart is not None}


def _results(
    data: ChapterData,
    judged: JudgedRates | None,
    extras: Sequence[Extra],
    tables: Mapping[str, Table],
) -> dict[str, object]:
    """Return all figures for machines: shares are 0 to 1, what is missing is null."""
    rates: dict[str, object] = {}
    if data.spec.criteria:
        rates = {
            "judged_rates": pd.DataFrame() if judged is None else judged.rates,
            "ranks": pd.DataFrame() if judged is None else judged.ranks,
        }
    reasons = tables.get("invalid_reasons")
    return {
        "figures": data.figures,
        "paired": data.pairs,
        **rates,
        **{name: frame for extra in extras for name, frame in extra.results.items()},
        "invalid": tables["invalid"].frame,
        "invalid_reasons": pd.DataFrame() if reasons is None else reasons.frame,
    }


_OWN_SECTIONS = frozenset(("summary", "examples", "runs", "how"))


def _sections(data: ChapterData, there: set[str]) -> list[Section]:
    """Return the sections of which something is there."""
    wanted = list(data.spec.sections or _standard_sections(data, there))
    if not any("panel" in section.shows for section in wanted):
        place = next((i for i, one in enumerate(wanted) if one.anchor == "errors"), len(wanted))
        wanted.insert(place, AGREEMENT_SECTION)
    found: list[Section] = []
    for section in wanted:
        shows = tuple(key for key in dict.fromkeys(section.shows) if key in there)
        if shows or section.anchor in _OWN_SECTIONS:
            contents = section.contents or section.heading
            found.append(Section(section.anchor, section.heading, shows, contents))
    return found


def _standard_sections(data: ChapterData, there: set[str]) -> list[Section]:
    first, *others = standard_tables(data)
    chart = {one.key: (one.chart.key,) if one.chart else () for one in (first, *others)}
    sections = [
        Section("summary", "Summary"),
        Section("results", "Results", (*chart[first.key], first.key, "leaderboard")),
        *(Section(one.key, one.title, (*chart[one.key], one.key)) for one in others),
        Section("paired", f"Comparisons on the same {data.spec.unit[1]}", ("paired",)),
        Section("judge", "What the judge is worth", ("corrected",)),
        AGREEMENT_SECTION,
        Section("errors", data.spec.invalid_title, ("invalid", "invalid_reasons")),
    ]
    shown = {key for section in sections for key in section.shows}
    return [
        *sections[:-1],
        Section("more", "More", tuple(sorted(there - shown))),
        sections[-1],
        Section("examples", "Examples"),
        Section("runs", "What was run"),
        Section("how", "How to read this"),
    ]


def _facts(data: ChapterData) -> list[Fact]:
    spec, items, meta = data.spec, data.items, data.meta
    asked, valid = data.asked_and_valid
    draws = int(items["draw"].max())
    baselines = items.loc[items["model"].eq(NO_MODEL), "system"].nunique()
    below = [f"{baselines} of them ask no model"] if baselines else []
    below += [f"up to {draws} few-shot draws"] if draws > 1 else []
    units = format_number(items["sample_id"].nunique(), "count")
    found = [
        *(spec.facts(data) if spec.facts else [Fact(spec.unit[1].capitalize(), units)]),
        Fact(
            spec.output[1].capitalize(),
            format_number(asked, "count"),
            f"{format_number(valid, 'count')} valid ({percent(valid / asked)})",
        ),
        Fact("Systems", format_number(len(data.systems), "count"), ", ".join(below)),
    ]
    if spec.criteria:
        judges = meta.judges or tuple(dict.fromkeys(items["judge"].dropna().astype(str)))
        panel = "a panel" if len(judges) > 1 else ""
        found.append(Fact("Judge", first_of(judges), panel, is_name=True))
    if any(measure.fluency for measure in spec.measures):
        found.append(Fact("Fluency model", first_of(meta.fluency_models), is_name=True))
    return found


def _summary(data: ChapterData) -> list[str]:
    """Return what the figures say: what was asked, who leads by the first measure, what failed."""
    spec, items = data.spec, data.items
    asked, valid = data.asked_and_valid
    found = [
        f"{count(len(data.systems), 'system')} worked on "
        f"{count(items['sample_id'].nunique(), *spec.unit)}: {count(asked, *spec.output)} "
        f"{'was' if asked == 1 else 'were'} asked for and {valid:,} ({percent(valid / asked)}) "
        "could be read."
    ]
    first = spec.measures[0]
    if first.judged and data.meta.embedded_judge:
        found.append(
            "The judge is the small embedded model, a poor judge: what follows shows that the "
            "machinery works, not how good these systems are."
        )
    rows = data.overall(first.name, first.forms[0])
    rows = rows.sort_values("estimate", ascending=first.better == "low", kind="stable")
    if data.comparable.marks(first) and len(rows):
        end = "lowest" if first.better == "low" else "highest"
        sentence = leaders(
            rows,
            data.pairs,
            spec.clusters,
            measure=first.name,
            best=f"By {first.label}, the {end} figure",
            alone=f"By {first.label}, {{system}} has {{figure}}.",
            kind=first.kind,
        )
        found.append(sentence)
    return [*found, invalid_sentence(items, spec.output, spec.output[1])]


def _warnings(data: ChapterData) -> Warnings:
    """Return what a reader must know before quoting a figure."""
    spec, meta, items = data.spec, data.meta, data.items
    found: Warnings = []
    if meta.embedded_judge and spec.criteria:
        text = (
            "It is small, and a poor judge: it is there so that everything can be tried without a "
            "key or a network. Take what it judged as proof that the machinery works, not as a "
            "measurement of these systems. For figures to quote, name a strong judge with --judge, "
            "and examine it: contrafact exam."
        )
        found.append(("The judge is the embedded model", text))
    else:
        found += embedded_system(items)
    found += self_judged(meta, spec.output[1])
    asked = [one for one in spec.criteria if f"{one.column}_invalid" in items.columns]
    judged = items[items["was_judged"]]
    same = [
        line
        for judge, own in (judged.groupby("judge", sort=False) if asked else ())
        for criterion in asked
        for line in one_answer(
            own[criterion.column].dropna(),
            enough=_ENOUGH_VERDICTS,
            judge=str(judge),
            criterion=criterion.short or criterion.label,
            words=spec.answers,
        )
    ]
    if same:
        same.append(
            "A judge that nearly always gives the same answer cannot tell one system from another, "
            f"unless all {spec.output[1]} truly are alike: contrafact exam finds out which."
        )
        found.append(("The judge hardly distinguishes", " ".join(same)))
    return [*found, *unfinished(meta)]


def _exam_warnings(found: JudgedRates | None) -> Warnings:
    """Return what a reader must know of judges that an exam found wanting."""
    if found is None or not found.examined:
        return []
    held = found.rates["criterion"].isin(found.leaderboard) & ~found.rates["usable"]
    rows = found.rates[held].drop_duplicates(["judge", "criterion", "why"])
    lines = [
        f"{row['judge']}, {found.labels[str(row['criterion'])]}: {row['why']}."
        for _, row in rows.iterrows()
    ]
    if not lines:
        return []
    lines.append("Their raw rates are shown, and no corrected ones.")
    return [("Some judged rates cannot be corrected", " ".join(lines))]


def _examples(data: ChapterData) -> list[dict[str, object]]:
    """Return the examples as the page shows them: texts shortened, edits marked."""
    limit = data.spec.examples.limit
    return [
        {
            "where": example.where,
            "text": shorten(example.text, limit),
            "facts": [(label, shorten(text, limit)) for label, text in example.facts],
            "cards": [(card, *marked_text(card, limit)) for card in example.cards],
            "answers": example.answers,
        }
        for example in draw_examples(data, rng=data.streams["examples"])
    ]


_VALID_AND_STRICT = "Over valid outputs, and strict"


def _how(data: ChapterData) -> list[tuple[str, str]]:
    """Return the spec's terms with those that every chapter needs."""
    spec = data.spec
    noun = spec.cluster_noun or spec.unit[0]
    standard = {
        _VALID_AND_STRICT: "The first leaves out what could not be read. The second counts it as "
        "wrong, so that a system gains nothing by answering only what is easy.",
        "Intervals": "{level}% intervals from {resamples} resamples of whole "
        f"{spec.clusters}: all that was made from one {noun}, few-shot draws included, is drawn "
        f"together. Under five {spec.clusters} none is given.",
        "Bold and underlined": "The best and the second best of a column, as printed. Read the "
        "paired comparisons before calling one system better than another.",
        "Hidden characters": "Characters that would be invisible, or would reorder the text around "
        "them, are shown by their code point in a small box.",
    }
    named = dict(spec.how)
    terms = {**named, **{term: text for term, text in standard.items() if term not in named}}
    shown = {
        "level": format_number(data.level * 100, "count"),
        "resamples": format_number(data.resamples, "count"),
    }
    return [(term, text.format(**shown)) for term, text in terms.items()]


def run_facts(run: RunFacts, spec: ReportSpec) -> list[tuple[str, str]]:
    """Return a run's facts as labels and texts, those that are known.

    Args:
        run: The run.
        spec: What the chapter shows: where something is judged or scored for fluency, a run
            without a judge or a fluency model says so.
    """
    data = run.data or ""
    if run.data_count is not None:
        data += f", {run.data_count:,} {spec.unit[1]}"
    if run.limit is not None:
        data += f", limited to {run.limit:,}"
    tokens = ""
    if run.input_tokens is not None and run.output_tokens is not None:
        tokens = f"{run.input_tokens:,} in, {run.output_tokens:,} out"
    pack = run.prompt_pack or ""
    if run.prompt_pack_hash:
        pack += f" ({run.prompt_pack_hash[:16]})"
    judge = ", ".join(run.judges) or ("none" if spec.criteria else "")
    scored = any(measure.fluency for measure in spec.measures)
    known = [
        ("Models", ", ".join(run.models)),
        ("Methods", ", ".join(run.methods)),
        ("Few-shot", f"{run.shots} examples, {run.draws} draws" if run.shots else ""),
        ("Judge", judge),
        ("Fluency model", run.fluency_model or ("none" if scored else "")),
        ("Data", data),
        ("Data hash", run.data_hash or ""),
        ("Prompt pack", pack),
        ("Seed", "" if run.seed is None else str(run.seed)),
        ("Settings", _pairs(run.settings)),
        ("Versions", _pairs(run.versions)),
        ("Calls", "" if run.calls is None else f"{run.calls:,}"),
        ("Tokens", tokens),
        ("Cost", _cost(run.costs)),
        ("Time", " to ".join(part for part in (run.started, run.finished) if part)),
        ("State", "finished" if run.complete else "not every sample is finished"),
    ]
    return [(label, text) for label, text in known if text]


def _cost(costs: Sequence[Cost]) -> str:
    """Return what a run cost: in all, by role and method, and what is not known or is free."""
    known = [one for one in costs if one.dollars]
    parts = [f"{one.model} as {one.role}{_of(one)} {_money(one.dollars)}" for one in known]
    free = sorted({one.model for one in costs if one.dollars == 0})
    unknown = sorted({one.model for one in costs if one.dollars is None})
    found = [f"{_money(sum(one.dollars or 0 for one in known))} at list price"] if known else []
    found += [f"({'; '.join(parts)})"] if parts else []
    found += [f"price unknown of {listed(unknown)}"] if unknown else []
    found += [f"{listed(free)} ran on this machine, for nothing"] if free else []
    return "; ".join(found).replace("; (", " (")


def _money(dollars: float | None) -> str:
    """Return US dollars, cents and, of less than a cent, two digits that count."""
    return f"${dollars or 0:,.2f}" if (dollars or 0) >= 0.01 else f"${dollars or 0:.2g}"


def _of(cost: Cost) -> str:
    return f" of {cost.method}" if cost.method else ""


def _pairs(values: Mapping[str, Setting]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)


_TAGS = {"same": "{}", "removed": "<del>{}</del>", "added": "<ins>{}</ins>"}


def draw_examples(data: ChapterData, *, count: int = 20, rng: np.random.Generator) -> list[Example]:
    """Draw units at random and show what the systems made of them.

    Only the first few-shot draw is shown. Nothing is picked by hand or by verdict.

    Args:
        data: The chapter's data.
        count: How many examples at most.
        rng: Where randomness comes from.
    """
    spec = data.spec.examples
    items = data.items
    first = items[items["draw"].eq(items.groupby("system")["draw"].transform("min"))]
    build = spec.build or _by_column
    return [build(part, data) for part in choose_examples(first, data, count=count, rng=rng)]


def choose_examples(
    rows: pd.DataFrame, data: ChapterData, *, count: int, rng: np.random.Generator
) -> list[pd.DataFrame]:
    """Return the rows of each example, as the spec says how they are chosen.

    Units come in random order: those of the strata in turn, where there are strata; all others
    before a second one of the same cluster. Where an example shows one system, the systems are
    taken in turn, round after round over the units, so that each has its share.
    """
    spec = data.spec.examples
    by = list(spec.by or data.spec.key)
    units = rows.drop_duplicates(by).sort_values(by, kind="stable")
    if spec.strata:
        queues: list[list[Any]] = []
        for name in spec.order or sorted(set(units[spec.strata])):
            own = units[units[spec.strata].eq(name)]
            queues.append([own.index[i] for i in rng.permutation(len(own))])
        places: list[Any] = []
        while any(queues):
            places += [queue.pop() for queue in queues if queue]
        chosen = units.loc[places]
    else:
        chosen = units.iloc[rng.permutation(len(units))]
    if spec.cluster:
        turn = chosen.groupby(spec.cluster).cumcount()
        chosen = chosen.loc[turn.sort_values(kind="stable").index]
    names = list(chosen[by].itertuples(index=False, name=None))
    if not spec.in_turn:
        parts = dict(list(rows.groupby(by, sort=False)))
        return [parts[name] for name in names[:count]]
    systems = list(dict.fromkeys(rows["system"]))
    apart = dict(list(rows.groupby(["system", *by], sort=False)))
    pairs = [
        (systems[(i + turn) % len(systems)], *name)
        for turn in range(len(systems))
        for i, name in enumerate(names)
    ]
    return [apart[pair] for pair in dict.fromkeys(pairs) if pair in apart][:count]


def _by_column(rows: pd.DataFrame, data: ChapterData) -> Example:
    """Return an example made of the columns that the spec names: a card for every output."""
    spec = data.spec.examples
    row = rows.iloc[0]
    return Example(
        where=" · ".join(_filled(row, spec.where or tuple(f"{{{n}}}" for n in data.spec.key))),
        text=str(row[spec.text]) if spec.text else "",
        facts=[(label, str(row[name])) for label, name in spec.facts if not pd.isna(row[name])],
        cards=[
            _card(line, data, spec)
            for system in data.systems
            for _, line in rows[rows["system"].eq(system)].iterrows()
        ],
    )


def _filled(row: "pd.Series[Any]", templates: Sequence[str]) -> Iterator[str]:
    """Yield the templates filled in from a row, those of which nothing is missing."""
    for template in templates:
        names = [name for _, name, *_ in Formatter().parse(template) if name]
        if not any(pd.isna(row[name]) for name in names):
            yield template.format_map({name: row[name] for name in names})


def _card(row: "pd.Series[Any]", data: ChapterData, spec: Examples) -> Card:
    title = str(row[spec.card])
    by_system = spec.card == "system"
    valid = row["valid"] == 1
    why = "no reason kept" if pd.isna(row["invalid_reason"]) else str(row["invalid_reason"])
    return Card(
        title if by_system else title.capitalize(),
        str(row[data.spec.text]) if valid else None,
        before=str(row[spec.text]) if spec.text else None,
        invalid="" if valid else why,
        chips=list(output_chips(row, data.spec)) if valid else (),
        note=spec.note(row) if spec.note and valid else "",
        tone="" if by_system else title,
    )


def output_chips(row: "pd.Series[Any]", spec: ReportSpec) -> Iterator[Chip]:
    """Yield what was found of an output: its verdicts, and what else the spec shows of it."""
    if row["degenerate"] is not None:
        yield Chip(f"Degenerate: {row['degenerate']}", "no")
    yield from _verdicts(row, spec)
    yield from _others(row, spec)


def _verdicts(row: "pd.Series[Any]", spec: ReportSpec) -> Iterator[Chip]:
    """Yield a chip for the verdict on every criterion that a judge was asked."""
    for criterion in spec.criteria:
        name, label = criterion.column, criterion.short or criterion.label
        if f"{name}_invalid" not in row.index:
            continue
        if not pd.isna(row[f"{name}_invalid"]):
            yield Chip(f"{label}: verdict unread", "unread", str(row[f"{name}_invalid"]))
        elif not pd.isna(row[name]):
            probability = row.get(f"{name}_probability", float("nan"))
            more = f"probability of {spec.answers[0]} {probability:.2f}"
            more = "" if pd.isna(probability) else more
            passed = row[name] == 1
            text = f"{label}: {'passed' if passed else 'failed'}"
            yield Chip(text, "yes" if passed else "no", more)


def _others(row: "pd.Series[Any]", spec: ReportSpec) -> Iterator[Chip]:
    """Yield what else is shown of an output: what the spec names, or every measured column."""
    if spec.examples.chips is not None:
        yield from (Chip(text) for text in _filled(row, spec.examples.chips))
        return
    judged = {criterion.column for criterion in spec.criteria}
    for measure in spec.measures:
        column = measure.column_of("valid")
        if measure.units or measure.compute or column in judged or column not in row.index:
            continue
        if column == "valid" or pd.isna(row[column]):
            continue
        if measure.kind == "share" and row[column] in (0.0, 1.0):
            yield Chip(f"{measure.label}: {'yes' if row[column] else 'no'}")
        else:
            yield Chip(f"{measure.label} {format_number(row[column], measure.kind)}")


def invalid_examples(data: ChapterData, *, count: int = 8) -> list[tuple[str, ...]]:
    """Return up to ``count`` invalid or degenerate outputs, one for each reason before a second.

    Returns:
        For each the texts of the columns that the spec names, and the reason; of a degenerate one
        with its text.
    """
    items, text = data.items, data.spec.text
    reason = items["invalid_reason"].where(items["degenerate"].isna(), items["degenerate"])
    none = items.assign(why=reason)[items["valid"].eq(0) | items["degenerate"].notna()]
    nth = none.groupby("why", dropna=False).cumcount()
    chosen = none.loc[nth.sort_values(kind="stable").index[:count]]
    names = [name for name, _ in data.spec.invalid_shown]
    return [
        (
            *("" if pd.isna(row[name]) else str(row[name]) for name in names),
            ("no reason kept" if pd.isna(row["why"]) else str(row["why"]))
            + ("" if row["degenerate"] is None else f": {shorten(str(row[text]), _SHOWN)[0]}"),
        )
        for _, row in chosen.iterrows()
    ]


def shorten(text: str, limit: int) -> tuple[str, int]:
    """Return the text cut to ``limit`` characters, and how many were left out."""
    return (text, 0) if len(text) <= limit else (text[:limit], len(text) - limit)


def marked_text(card: Card, limit: int) -> tuple[Markup, int]:
    """Return a card's text as markup, and how many characters of it are left out.

    What was taken out is struck through, what was put in underlined; everything else is escaped.
    """
    text, left_out = shorten(card.text or "", limit)
    if card.before is None:
        return inner_html(text), left_out
    parts = word_diff(shorten(card.before, limit)[0], text)
    if "added" not in card.marks:
        left_out = shorten(card.before, limit)[1]
    return Markup("").join(_pieces([part for part in parts if part.kind in card.marks])), left_out


def _pieces(parts: Sequence[DiffPart]) -> Iterator[Markup]:
    for part in parts:
        # Spaces around words stay outside, so that marks begin and end where words do.
        words = part.text.strip(" ")
        before, after = part.text.startswith(" "), part.text.endswith(" ")
        yield Markup(" ") if before else Markup("")
        yield Markup(_TAGS[part.kind]).format(inner_html(words)) if words else Markup("")
        yield Markup(" ") if after and words else Markup("")
