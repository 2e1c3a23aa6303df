"""What a chapter says in words: facts, the summary, warnings, how to read it, what was run."""

from collections.abc import Mapping, Sequence

from contrafact.family.display import (
    Fact,
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
from contrafact.family.report import ChapterData, ReportSpec
from contrafact.family.run_facts import (
    Cost,
    RunFacts,
    Setting,
    self_judged,
    unfinished,
)
from contrafact.report.estimates import NO_MODEL, JudgedRates

__all__ = ["facts", "how_to_read", "run_facts", "summary", "warnings"]

_ENOUGH_VERDICTS = 20


def facts(data: ChapterData) -> list[Fact]:
    """Return the facts at the top: the family's own, and those that every chapter has."""
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
        panels = {run.judges for run in meta.runs if run.judges}
        own = "a panel" if len(panels) < 2 else "of different runs"
        panel = own if len(judges) > 1 else ""
        found.append(Fact("Judge", first_of(judges), panel, is_name=True))
    if any(measure.fluency for measure in spec.measures):
        found.append(Fact("Fluency model", first_of(meta.fluency_models), is_name=True))
    return found


def summary(data: ChapterData) -> list[str]:
    """Return what the figures say: what was asked, who leads by the first measure, what failed."""
    if data.spec.summary is not None:
        return list(data.spec.summary(data))
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


def warnings(data: ChapterData, judged: JudgedRates | None) -> Warnings:
    """Return what a reader must know before quoting a figure."""
    own = _usual_warnings if data.spec.warnings is None else data.spec.warnings
    return [*own(data), *_exam_warnings(judged)]


def _usual_warnings(data: ChapterData) -> Warnings:
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


_VALID_AND_STRICT = "Over valid outputs, and strict"


def how_to_read(data: ChapterData) -> list[tuple[str, str]]:
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
