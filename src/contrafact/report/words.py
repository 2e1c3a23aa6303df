"""The words of a chapter: facts, warnings, how to read it, what was run.

Sentences are templates in ``templates/sentences.toml``, by code.
"""

import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from contrafact.errors import Reason
from contrafact.exams.correct import NOT_EXAMINED, examined_criteria
from contrafact.family.display import Fact, Warned, Warnings, format_number, listed, percent
from contrafact.family.exam import RESPONSE
from contrafact.family.report import ROLES, ChapterData, ReportSpec
from contrafact.family.run_facts import Cost, ReportMeta, RunFacts, Setting
from contrafact.judges.verifier import reader_of
from contrafact.models.asking import CAUSES, CUT_OFF
from contrafact.models.gguf import EMBEDDED_NAMES
from contrafact.stats.correction import MIN_ITEMS

_OTHER_ROLES = {"baseline": "without a model", "mark": "as references and controls"}
_ENOUGH_VERDICTS = 20
_NO_ANSWERS = 3  # so many outputs that are no answer show what a judge passes
_DIFFERENCES = 4  # the most rates that are named where run and exam differ
_ONE_ANSWER = 0.95  # from this share on, the same answer is nearly always given


@cache
def sentences() -> dict[str, Any]:
    text = files("contrafact.report").joinpath("templates", "sentences.toml").read_text("utf-8")
    return tomllib.loads(text)


def sentence(part: str, code: str, **values: object) -> Reason:
    """Return the sentence with a code, its template filled with the values."""
    templates = sentences()
    for name in part.split("."):
        templates = templates[name]
    return Reason(code, templates[code]).filled(**values)


def judge_options(judge: str) -> str:
    """Return the options that name a judge, or the members of a panel, on a command line."""
    names = {name: reader_of(name) for name in judge.split(" + ")}
    options = [("--judge", name.removesuffix(f":{reader}")) for name, reader in names.items()]
    options += [("--reader", reader) for reader in dict.fromkeys(names.values()) if reader]
    return " ".join(f"{option} {shlex.quote(name)}" for option, name in options)


def facts(data: ChapterData) -> list[Fact]:
    spec, items, meta = data.spec, data.items, data.meta
    (asked, valid), unknown = data.asked_and_valid, spec.left_open(items)
    draws = int(items["draw"].max())
    roles = {role: len(data.systems_as(role)) for role in ROLES}
    below = [f"and {roles[role]} {noun}" for role, noun in _OTHER_ROLES.items() if roles[role]]
    below += [f"up to {draws} few-shot draws"] if draws > 1 else []
    shown = [
        Fact(spec.clusters.capitalize(), format_number(items[spec.cluster].nunique(), "count")),
        Fact(
            spec.output[1].capitalize(),
            format_number(asked, "count"),
            f"{valid:,} valid ({percent(valid / asked)})"
            + f", {unknown:,} left open" * (unknown > 0),
        ),
        Fact("Systems", format_number(roles["asked"], "count"), ", ".join(below)),
    ]
    if spec.criteria:
        judges = meta.judges or tuple(dict.fromkeys(items["judge"].dropna().astype(str)))
        panels = {run.judges for run in meta.runs if run.judges}
        several = "a panel" if len(panels) < 2 else "of different runs"
        below_judge = several if len(judges) > 1 else ""
        shown.append(Fact("Judge", ", ".join(judges) or "none", below_judge, is_name=True))
    if any(measure.fluency for measure in spec.measures):
        names, more = meta.fluency_models, len(meta.fluency_models) - 1
        named = f"{names[0]} and {more} more" if more > 0 else "".join(names) or "none"
        shown.append(Fact("Fluency model", named, is_name=True))
    return shown


def warnings(data: ChapterData) -> Warnings:
    """Return the warnings to read before quoting a figure."""
    meta, outputs = data.meta, data.spec.output[1]
    models = data.items["model"].astype(str)
    judge_is_embedded = meta.embedded_judge and bool(data.spec.criteria)
    embedded = not judge_is_embedded and models.str.startswith(EMBEDDED_NAMES).any()
    unfinished = [run.name for run in meta.runs if not run.complete]
    judges, rates = not_examined(data), data.rates
    enough = len(rates) and (rates["n"] >= MIN_ITEMS) & (rates["clusters"] >= data.spec.fewest)
    correct = "correct" if np.any(enough) else "no-correction"
    usable = len(rates) and rates["usable"].any()
    examined = {*examined_criteria(data.family).values()}
    cases: dict[str, object] = {  # what each warning is about; empty cases are left out
        "cut-prompts": _cut_prompts(meta),
        "embedded-judge": judge_is_embedded,
        "embedded-system": embedded,
        "self-judged": meta.self_judged,
        "one-answer": " ".join(_one_answer(data)),
        "cut-off": _cut_off(data),
        "unfinished": ", ".join(unfinished),
        "not-examined": listed([f"the panel {j}" if " + " in j else j for j in judges] or [""]),
        **_not_corrected(data),
    }
    places = {
        "outputs": outputs,
        "family": data.family,
        "clusters": data.spec.clusters,
        "fewest": data.spec.fewest,
        "items": MIN_ITEMS,
        "whole": "; people's labels correct a rate of whole answers" * (RESPONSE in examined),
        "judge": judge_options(judges[0]) if len(judges) == 1 else "--judge J",
        "some": "Some judged rates" if usable else "The judged rates",
    }
    places["correct"] = sentence("warnings.not-examined", correct, **places).text
    return [
        Warned(
            code,
            sentence(f"warnings.{code}", "title", **places).text,
            sentence(f"warnings.{code}", "text", **places, cases=case).text,
        )
        for code, case in cases.items()
        if case
    ]


def _cut_prompts(meta: ReportMeta) -> str:
    cut = [(*one, name) for run in meta.runs for name, one in run.cut_prompts.items()]
    shares = ["{:,} of {:,} prompts to {}".format(*one) for one in cut]
    return listed(shares) if shares else ""


def _cut_off(data: ChapterData) -> str:
    cut = data.items["invalid_cause"].eq(CAUSES[CUT_OFF])
    counts = cut.groupby(data.items["system"], sort=False).agg(["sum", "size"])
    shares = [f"{cut:,} of {size:,} of {name}" for name, cut, size in counts.itertuples() if cut]
    return listed(shares) if shares else ""


def _one_answer(data: ChapterData) -> Iterator[str]:
    """Yield a sentence for each criterion on which a judge's verdicts are suspiciously alike.

    That a judge passes nearly everything is no reason to doubt it, since the outputs may be right,
    unless it passes what is no answer; that it fails nearly everything is. Criteria on which an
    exam shows that the judge can tell right from wrong are left out.
    """
    items = data.items[data.items["was_judged"]]
    asked = [one for one in data.spec.criteria if f"{one.column}_invalid" in items.columns]
    informative: set[tuple[str, str]] = set()
    rates = data.rates
    if len(rates):
        able = rates.loc[rates["sensitivity_low"] + rates["specificity_low"] > 1]
        informative = set(zip(able["judge"], able["criterion"], strict=True))
    for judge, judged in items.groupby("judge", sort=False) if asked else ():
        for criterion in asked:
            verdicts = judged[criterion.column].dropna()
            share = float(verdicts.mean()) if len(verdicts) >= _ENOUGH_VERDICTS else 0.5
            if share >= 0.5 and judged["degenerate"].notna().sum() < _NO_ANSWERS:
                continue
            if (judge, criterion.column) in informative or 1 - _ONE_ANSWER < share < _ONE_ANSWER:
                continue
            yield (
                f"On {criterion.short or criterion.label}, {judge} answered "
                f"{criterion.answers[0 if share > 0.5 else 1]} {percent(max(share, 1 - share))} of "
                f"the time ({len(verdicts):,} decided verdicts)."
            )


def not_examined(data: ChapterData) -> list[str]:
    """Return the judges of whose errors nothing is known: they have neither exam nor record."""
    if data.rates.empty:
        return []
    unexamined = data.rates["why_code"].eq(NOT_EXAMINED.code)
    judges = map(str, data.rates.loc[unexamined, "judge"].unique())
    return [judge for judge in judges if judge not in data.spec.records]


def _not_corrected(data: ChapterData) -> dict[str, str]:
    """Return texts on the other uncorrected rates with reasons, and on how run and exam differ."""
    if data.rates.empty:
        return {}
    labels, changes = data.spec.labels, sentences()["changes"]
    names = {"family": data.family, "clusters": data.spec.clusters}
    rates = data.rates[~data.rates["usable"] & data.rates["why_code"].ne(NOT_EXAMINED.code)]
    lines = []
    for (judge, code, why), rows in rates.groupby(["judge", "why_code", "why"], sort=False):
        criteria = listed([label for name, label in labels.items() if name in {*rows["criterion"]}])
        change = changes.get(code, changes["other"]).format(**names)
        lines.append(f"{judge} on {criteria}: {why}. {change}")
    unlike = data.rates[data.rates["by"].eq("exam") & data.rates["unlike"].ne("")]
    texts = unlike[["system", "criterion", "unlike"]].to_numpy()
    differ = [f"{system}, {labels[str(criterion)]}: {how}." for system, criterion, how in texts]
    if (more := len(differ) - _DIFFERENCES) > 0:
        differ[_DIFFERENCES:] = [f"So do {more:,} more rates."]
    return {"not-corrected": " ".join(lines), "unlike-exam": " ".join(differ)}


def how_to_read(data: ChapterData) -> list[tuple[str, str]]:
    """Return the terms and explanations of the spec, then those that every chapter needs."""
    spec, named = data.spec, dict(data.spec.how)
    needless = {"Corrected": not (len(data.rates) and data.examined)}
    needless["Corrected by labels"] = not data.labelled
    standard = {term: text for term, text in sentences()["how"].items() if not needless.get(term)}
    shown = {
        "level": format_number(data.level * 100, "count"),
        "resamples": format_number(data.bootstrap.resamples, "count"),
        "clusters": spec.clusters,
        "fewest": spec.fewest,
        "noun": spec.cluster_noun or spec.unit[0],
    }
    return [(term, text.format(**shown)) for term, text in {**named, **standard, **named}.items()]


def run_facts(run: RunFacts, spec: ReportSpec) -> list[tuple[str, str]]:
    data = run.data or ""
    if run.data_count is not None:
        data += f", {run.data_count:,} {spec.unit[1]}"
    if run.limit is not None:
        data += f", limited to {run.limit:,}"
    tokens = ""
    if run.input_tokens is not None and run.output_tokens is not None:
        tokens = f"{run.input_tokens:,} in, {run.output_tokens:,} out"
    calls = "" if run.calls is None else f"{run.calls:,} (answers from the cache not counted)"
    judge = ", ".join(run.judges) or ("none" if spec.criteria else "")
    scored = any(measure.fluency for measure in spec.measures)
    shots = " and ".join(map(str, run.shots if isinstance(run.shots, tuple) else (run.shots,)))
    known = [
        ("Models", ", ".join(run.models)),
        ("Methods", ", ".join(run.methods)),
        ("Few-shot", f"{shots} examples, {run.draws} draws" if run.shots else ""),
        ("Judge", judge),
        ("Fluency model", run.fluency_model or ("none" if scored else "")),
        ("Data", data),
        ("Data hash", run.data_hash or ""),
        ("Prompt pack", run.prompt_pack or ""),
        ("Its templates used", _pairs({name: of[:8] for name, of in run.templates.items()})),
        ("Seed", "" if run.seed is None else str(run.seed)),
        ("Settings", _pairs(run.settings)),
        ("Versions", _pairs(run.versions)),
        ("Calls", calls),
        ("Tokens", tokens),
        ("Cost", _cost(run.costs)),
        ("Time", " to ".join(part for part in (run.started, run.finished) if part)),
        ("State", "finished" if run.complete else "not every sample is finished"),
    ]
    return [(label, text) for label, text in known if text]


def _cost(costs: Sequence[Cost]) -> str:
    """Return a run's total cost, its parts by role and method, and the free and unpriced models."""
    parts = [
        f"{cost.model} as {cost.role}{f' of {cost.method}' if cost.method else ''} "
        f"{_money(cost.dollars)}"
        for cost in costs
        if cost.dollars
    ]
    free = sorted({cost.model for cost in costs if cost.dollars == 0})
    read = [name.removesuffix(f":{reader_of(name)}") for name in free if reader_of(name)]
    free = [name for name in free if not reader_of(name)]
    unpriced = sorted({cost.model for cost in costs if cost.dollars is None})
    total = _money(sum(cost.dollars or 0.0 for cost in costs))
    clauses = [f"{total} at list price ({'; '.join(parts)})"] if parts else []
    clauses += [f"the price of {listed(unpriced)} is unknown"] if unpriced else []
    clauses += [f"{listed(free)} ran on this machine, for nothing"] if free else []
    cost = "costs nothing itself, and its reader's calls are counted under the reader's name"
    clauses += [f"{listed(read)} {cost}"] if read else []
    return "; ".join(clauses)


def _money(dollars: float) -> str:
    """Return US dollars in cents, or to two significant digits below a cent."""
    return f"${dollars:,.2f}" if dollars >= 0.01 else f"${dollars:.2g}"


def _pairs(values: Mapping[str, Setting]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
