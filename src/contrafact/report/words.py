"""What a chapter says in words: facts, warnings, how to read it, what was run."""

from collections.abc import Mapping, Sequence

from contrafact.exam.correct import NOT_EXAMINED
from contrafact.family.display import Fact, Warnings, format_number, listed, percent
from contrafact.family.report import ROLES, ChapterData, ReportSpec
from contrafact.family.run_facts import Cost, ReportMeta, RunFacts, Setting
from contrafact.models.asking import CUT_OFF
from contrafact.models.gguf import EMBEDDED_NAMES

__all__ = ["CUT_PROMPTS", "facts", "how_to_read", "run_facts", "warnings"]

CUT_PROMPTS = "The service cut the prompts"
"""The heading of the warning that stands before all figures."""

_OTHER_ROLES = {"baseline": "without a model", "mark": "as references and controls"}
_ENOUGH_VERDICTS = 20
_ONE_ANSWER = 0.95  # from this share on, the same answer is nearly always given


def facts(data: ChapterData) -> list[Fact]:
    """Return the facts at the top."""
    spec, items, meta = data.spec, data.items, data.meta
    asked, valid = data.asked_and_valid
    draws = int(items["draw"].max())
    roles = {role: len(data.systems_as(role)) for role in ROLES}
    below = [f"and {roles[role]} {noun}" for role, noun in _OTHER_ROLES.items() if roles[role]]
    below += [f"up to {draws} few-shot draws"] if draws > 1 else []
    found = [
        Fact(spec.clusters.capitalize(), format_number(items[spec.cluster].nunique(), "count")),
        Fact(
            spec.output[1].capitalize(),
            format_number(asked, "count"),
            f"{format_number(valid, 'count')} valid ({percent(valid / asked)})",
        ),
        Fact("Systems", format_number(roles["asked"], "count"), ", ".join(below)),
    ]
    if spec.criteria:
        judges = meta.judges or tuple(dict.fromkeys(items["judge"].dropna().astype(str)))
        panels = {run.judges for run in meta.runs if run.judges}
        own = "a panel" if len(panels) < 2 else "of different runs"
        panel = own if len(judges) > 1 else ""
        found.append(Fact("Judge", _first_of(judges), panel, is_name=True))
    if any(measure.fluency for measure in spec.measures):
        found.append(Fact("Fluency model", _first_of(meta.fluency_models), is_name=True))
    return found


def _first_of(names: Sequence[str]) -> str:
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def warnings(data: ChapterData) -> Warnings:
    """Return what a reader must know before quoting a figure."""
    spec, meta, items = data.spec, data.meta, data.items
    found: Warnings = _cut_prompts(meta)
    if meta.embedded_judge and spec.criteria:
        text = (
            "It is small, and a poor judge: it is there so that everything can be tried without a "
            "key or a network. Take what it judged as proof that the machinery works, not as a "
            "measurement of these systems. For figures to quote, name a strong judge with --judge, "
            "and examine it: contrafact exam."
        )
        found.append(("The judge is the embedded model", text))
    elif any(str(model).startswith(EMBEDDED_NAMES) for model in items["model"].unique()):
        text = (
            "It is small: it is there so that everything can be tried without a key or a network. "
            "Its rows show that the machinery works, and say nothing of what larger models can do."
        )
        found.append(("The embedded model is among the systems", text))
    if meta.self_judged:
        text = (
            f"In at least one run the judge is the model that wrote the {spec.output[1]}. Models "
            "tend to favour their own text, so its scores here may be too high. Name another judge "
            "with --judge."
        )
        found.append(("A model judged its own writing", text))
    if same := _one_answer(data):
        same.append(
            "A judge that nearly always gives the same answer cannot tell one system from another, "
            f"unless all {spec.output[1]} truly are alike: contrafact exam finds out which."
        )
        found.append(("The judge hardly distinguishes", " ".join(same)))
    return [*found, *_cut_off(data), *_unfinished(meta), *_judge_warnings(data)]


def _cut_prompts(meta: ReportMeta) -> Warnings:
    shares = [
        f"{cut:,} of {sent:,} prompts to {name}"
        for run in meta.runs
        for name, (cut, sent) in run.cut_prompts.items()
    ]
    if not shares:
        return []
    text = (
        f"By the prompt tokens that the service counted, it read a part only of {listed(shares)}: "
        "these figures are of texts that the model did not see. Give the server a larger context "
        "(of Ollama num_ctx), or shorter texts, and run this again into another folder."
    )
    return [(CUT_PROMPTS, text)]


def _cut_off(data: ChapterData) -> Warnings:
    items = data.items
    cut = items["invalid_reason"].astype(str).str.startswith(CUT_OFF)
    if not cut.any():
        return []
    counts = cut.groupby(items["system"], sort=False).agg(["sum", "size"])
    shares = [f"{cut:,} of {size:,} of {name}" for name, cut, size in counts.itertuples() if cut]
    text = (
        f"The token limit ended {listed(shares)}, which are therefore invalid and wrong in the "
        "strict form: this compares lengths of replies, not systems. Give all systems more room "
        "with --max-tokens."
    )
    return [(f"Some {data.spec.output[1]} were cut off", text)]


def _one_answer(data: ChapterData) -> list[str]:
    items = data.items[data.items["was_judged"]]
    asked = [one for one in data.spec.criteria if f"{one.column}_invalid" in items.columns]
    found = []
    told_apart: set[tuple[str, str]] = set()
    rates = data.rates
    if len(rates):  # an exam has found that the judge tells right from wrong
        able = rates["sensitivity_low"] + rates["specificity_low"] > 1
        told_apart = set(rates.loc[able, ["judge", "criterion"]].itertuples(index=False, name=None))
    for judge, own in items.groupby("judge", sort=False) if asked else ():
        for criterion in asked:
            if (judge, criterion.column) in told_apart:
                continue
            verdicts = own[criterion.column].dropna()
            share = float(verdicts.mean()) if len(verdicts) >= _ENOUGH_VERDICTS else 0.5
            if 1 - _ONE_ANSWER < share < _ONE_ANSWER:
                continue
            answer = criterion.answers[0 if share > 0.5 else 1]
            found.append(
                f"On {criterion.short or criterion.label}, {judge} answered {answer} "
                f"{percent(max(share, 1 - share))} of the time ({len(verdicts):,} readable "
                "verdicts)."
            )
    return found


def _unfinished(meta: ReportMeta) -> Warnings:
    names = [run.name for run in meta.runs if not run.complete]
    if not names:
        return []
    text = (
        f"Figures rest on the finished samples of {', '.join(names)}. Run the same command again "
        "to finish the others."
    )
    return [("Not every sample is finished", text)]


def _judge_warnings(data: ChapterData) -> Warnings:
    """Say once what is not known of a judge, of which rates, and what would change it."""
    if data.rates.empty:
        return []
    rates = data.rates[~data.rates["usable"]]
    unknown = rates[rates["why"].str.startswith(NOT_EXAMINED)]["judge"].unique()
    texts: Warnings = []
    if len(unknown):
        judge = unknown[0] if len(unknown) == 1 else "J"
        text = (
            f"How often {listed([*map(str, unknown)])} errs is not known: rates are shown as they "
            "are, and may be wrong by any amount. To find out: contrafact exam --judge "
            f"{judge} --family {data.family} --out FILE; to correct by it: contrafact report RUN "
            "--exam FILE."
        )
        texts.append(("The judge was not examined", text))
    rates = rates[~rates["why"].str.startswith(NOT_EXAMINED)]
    # Reasons that differ in a number of items are one.
    whys = rates["why"].str.replace(r"\d+ judged items", "too few judged items", regex=True)
    lines = []
    for (judge, why), rows in rates.groupby(["judge", whys], sort=False):
        criteria = set(rows["criterion"])
        of = listed([label for name, label in data.spec.labels.items() if name in criteria])
        change = next((text for start, text in _CHANGES if start in str(why)), _MORE)
        lines.append(f"{judge} on {of}: {why}. {change.replace('FAMILY', data.family)}")
    if lines:
        texts.append(("Some judged rates cannot be corrected", " ".join(lines)))
    unlike = data.rates[data.rates["by"].eq("exam") & data.rates["unlike"].ne("")]
    differ = [
        f"{row['system']}, {data.spec.labels[str(row['criterion'])]}: {row['unlike']}."
        for _, row in unlike.iterrows()
    ]
    if differ:
        more = len(differ) - _DIFFERENCES
        differ[_DIFFERENCES:] = [f"So do {more:,} more rates."] if more > 0 else []
        differ.append(
            f"Label a part of the run to know: contrafact {data.family} study sample RUN --for "
            "calibration."
        )
        texts.append(("The exam's items are not like the run's", " ".join(differ)))
    return texts


_DIFFERENCES = 4
"""So many rates are named whose run differs from the exam."""

_MORE = "An exam of more items may change this (exam --n)."
_CHANGES = (
    (
        "labels of a part",
        "Draw and label it: contrafact FAMILY study sample RUN --for calibration.",
    ),
    (
        "are not like these",
        "Draw and label a part: contrafact FAMILY study sample RUN --for calibration.",
    ),
    ("cannot tell", "No number of items corrects such a judge: name another."),
    ("sum to", "A better judge, or another prompt for it, would change this."),
    ("judged items", "Judge more outputs (--limit) to change this."),
    ("could be read", "There is nothing to correct."),
    ("with other prompts", "Examine it with the prompts of the run (exam --prompts)."),
    ("asked otherwise", "Examine it as the run asks it (--judge-context, --structured)."),
)


def how_to_read(data: ChapterData) -> list[tuple[str, str]]:
    """Return the spec's terms with those that every chapter needs."""
    spec = data.spec
    noun = spec.cluster_noun or spec.unit[0]
    standard = {
        "Over valid outputs, and strict": "The first, the papers' form, leaves out what could not "
        "be read. The second counts it, and what is no answer (a copy, or the like), as wrong, so "
        "that a system gains nothing by answering only what is easy.",
        "Intervals": "{level}% intervals from {resamples} resamples of whole "
        f"{spec.clusters}: all that was made from one {noun}, few-shot draws included, is drawn "
        "together. Where all agree, exact bounds stand instead. They speak of others like these, "
        "not of other judges or prompts. Under five "
        f"{spec.clusters} none is given.",
        "Bold and underlined": "The best and the second best of a column, as printed, within one "
        "judge and one fluency model. Read the "
        "paired comparisons before calling one system better than another.",
        "Hidden characters": "Characters that would be invisible, or would reorder the text around "
        "them, are shown by their code point in a small box.",
    }
    if len(data.rates) and data.examined:
        standard["Corrected"] = (
            "What a judged rate would be had the judge not erred, by how often its exam found it "
            "to; the interval carries the exam's uncertainty too."
        )
    if data.labelled:
        standard["Corrected by labels"] = (
            "What people would pass, from what most of them said of a random part of these very "
            "items and what the judge said of all (prediction-powered inference): it holds "
            "whatever the judge is worth, speaks of new outputs on inputs like these, and stands "
            "in the place of an exam's correction."
        )
    named = dict(spec.how)
    terms = {**named, **{term: text for term, text in standard.items() if term not in named}}
    shown = {
        "level": format_number(data.level * 100, "count"),
        "resamples": format_number(data.resamples, "count"),
    }
    return [(term, text.format(**shown)) for term, text in terms.items()]


def run_facts(run: RunFacts, spec: ReportSpec) -> list[tuple[str, str]]:
    """Return a run's facts as labels and texts, those that are known."""
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
    parts = [
        f"{one.model} as {one.role}{f' of {one.method}' if one.method else ''} "
        f"{_money(one.dollars)}"
        for one in known
    ]
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


def _pairs(values: Mapping[str, Setting]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
