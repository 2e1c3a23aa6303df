"""RFC-BENCH's two chapters of a report: measures, tables, figures and terms.

Detection asks whether a single paragraph is as published; diagnosis shows both members of
a pair and asks which manipulation it was. Tables and figures follow the paper's tables 6, 7 and 9
and its figures 3 and 4.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pandas as pd

from contrafact.families.rfc.items import PROBABILITIES
from contrafact.families.rfc.labels import FALSE, TaskName, labels_of
from contrafact.families.rfc.records import MANIPULATIONS
from contrafact.families.rfc.report_figures import (
    CONTEXT,
    PAPER,
    by_shots,
    confusion,
    label_figures,
    pair_frame,
    pairwise,
    surface,
)
from contrafact.family.display import Table, Warned, Warnings, percent, with_published
from contrafact.family.published import published_notes, published_table
from contrafact.family.report import (
    Breakdown,
    ChapterData,
    Explorer,
    Measure,
    ReportSpec,
    Section,
    TerminalColumn,
    report_terms,
)
from contrafact.family.tables import invalid_table, measure_chart, measure_table, reason_table

_ENOUGH_ANSWERS = 20
_ONE_ANSWER = 0.95  # from this share on, a system nearly always says the same
_HOW = (
    "Small figures below a value are its 95% interval, clustered by source article. Inv. is the "
    "number of invalid replies, which strict scores count as wrong."
)
_AUROC_OF = {
    "rfc-detect": "of the probability of true",
    "rfc-diagnose": "of each manipulation's probability against the other three, averaged over the "
    "manipulations",
}
_NOTED = {
    "rfc-detect": ("detection:", "best zero-shot", "best few-shot", "GPT-5 Mini", "final set"),
    "rfc-diagnose": ("final",),
}
_MEASURES = ("accuracy", "precision", "recall", "f1", "mcc")


def prepare(task: TaskName, items: pd.DataFrame) -> pd.DataFrame:
    """Add the columns from which the figures are computed.

    ``right`` is 1.0 or 0.0, and NaN for an invalid reply, for which ``right_strict`` is 0.0;
    ``baseline`` is a bool; missing columns of probabilities are NaN. Raises ValueError on a label
    that is not the task's.
    """
    labels = set(items["gold"]) | {label for label in items["predicted"] if label is not None}
    strays = labels - set(labels_of(task))
    if strays:
        raise ValueError(f"{sorted(strays)[0]!r} is not a label of {task}")
    right = items["predicted"].eq(items["gold"]).astype(float)
    missing = [name for name in PROBABILITIES.values() if name not in items.columns]
    return items.assign(
        **dict.fromkeys(missing, float("nan")),
        right=right.where(items["valid"].eq(1)),
        right_strict=right,
        baseline=items["model"].eq("none/none"),
    )


def _by_manipulation(items: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    for name in MANIPULATIONS:
        if (own := items["manipulation"].eq(name)).any():
            yield name, items[own]


def _caption(task: TaskName, data: ChapterData) -> str:
    text = (
        f"{_HOW} Precision, recall and F1 are averaged over the classes. MCC is Matthews' "
        "correlation coefficient."
    )
    if data.overall("auroc").empty:
        return text
    return f"{text} AUROC, {_AUROC_OF[task]}, is shown if the method gave probabilities."


def _disagreements(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the notes on figures of the paper that disagree, for figures of these keys."""
    return tuple(note for key, note in published_notes(PAPER).items() if key.startswith(keys))


def _people(task: TaskName) -> pd.DataFrame:
    people = published_table(PAPER, "human")
    return people[people["task"].eq(task)]


def _with_models_and_people(task: TaskName, table: Table) -> Table:
    rows = published_table(PAPER, task.removeprefix("rfc-"))
    few = rows["shots"].gt(0)
    names = rows["model"].where(~few, rows["model"] + " · " + rows["shots"].astype(str) + " shots")
    models = pd.DataFrame({"system": names, "invalid": rows["invalid"]})
    for measure in _MEASURES:
        models[f"{measure}_valid"] = rows[measure]
    where = "tables 6 (a) and 9" if task == "rfc-detect" else "table 6 (b)"
    label = f"Published · RFC-BENCH, {where}"
    notes = (*_disagreements(_NOTED[task]), CONTEXT)
    people = pd.DataFrame(
        {
            "system": "Person: " + _people(task)["annotator"] + " (table 7, 80 items)",
            "accuracy_valid": _people(task)["overall"],
        }
    )
    with_models = with_published(table, models, label, notes)
    return with_published(with_models, people, label, _disagreements(("human:",)))


def _with_people(task: TaskName, table: Table) -> Table:
    column = "accuracy_valid" if task == "rfc-detect" else "recall_valid"
    lines = [
        {"system": f"Person: {row['annotator']}, {name}", "manipulation": name, column: row[name]}
        for row in _people(task).to_dict("records")
        for name in MANIPULATIONS
    ]
    label = "Published · RFC-BENCH, table 7, 20 items each"
    return with_published(table, pd.DataFrame(lines), label, (CONTEXT,))


def _warnings(task: TaskName, data: ChapterData) -> Warnings:
    found = _one_answer(data)
    if task == "rfc-detect" and set(data.items["gold"]) == {FALSE}:
        text = (
            "The pairs have no originals, so a system that always answers false is always right. "
            "Here, accuracy is only the recall of false."
        )
        title = "Only manipulated paragraphs were shown"
        found.insert(0, Warned("no-originals", title, text))
    return found


def _one_answer(data: ChapterData) -> Warnings:
    """Return a warning if systems nearly always give the same answer; baselines are exempt."""
    same: list[str] = []
    for system, rows in data.items[~data.items["baseline"]].groupby("system", sort=False):
        answers = rows["predicted"].dropna()
        share = answers.value_counts(normalize=True)
        if len(answers) < _ENOUGH_ANSWERS or share.iloc[0] < _ONE_ANSWER:
            continue
        right = percent(float(rows["gold"].eq(share.index[0]).mean()))
        same.append(
            f"{system} answered {share.index[0]} {percent(float(share.iloc[0]))} of the time, "
            f"which is right for {right} of the items whatever they say ({len(answers):,} valid "
            "answers)."
        )
    if not same:
        return []
    same.append("Such a system distinguishes nothing, so its accuracy does not show skill.")
    return [Warned("system-says-one", "A system nearly always gives one answer", " ".join(same))]


def _measures(detects: bool) -> tuple[Measure, ...]:
    labels = ("Acc.", "Pre.", "Rec.", "Macro-F1", "MCC")
    accuracy, *others = (
        Measure(name, label, "coefficient" if name == "mcc" else "share")
        for name, label in zip(_MEASURES, labels, strict=True)
    )
    found = [
        replace(
            accuracy, column="right", compared="Accuracy, points", headline=True, phrase="accuracy"
        ),
        *others,
        Measure("auroc", "AUROC", "coefficient", forms=("valid",)),
    ]
    if detects:
        pairs = Measure("pairwise_accuracy", "Pairwise", column="right",
                        compared="Pairwise accuracy, points")  # fmt: skip
        found.append(replace(pairs, units=pair_frame, key=("pair_id",)))
    return tuple(found)


def _results(task: TaskName, data: ChapterData) -> Section:
    measures, counts = (*_MEASURES, "auroc"), ("asked", "invalid")
    table = measure_table(data, "overall", "Overall", measures, _caption(task, data), counts=counts)
    if table is not None and data.published:
        table = _with_models_and_people(task, table)
    names = {"accuracy": "Accuracy", "f1": "Macro-F1"}
    chart = measure_chart(data, "accuracy", "Accuracy and macro-F1", names)
    return Section("results", "Results", (table, chart), warnings=_warnings(task, data))


def _manipulations(task: TaskName, data: ChapterData) -> Section:
    detects = task == "rfc-detect"
    which = (
        "Scores on both members of each manipulation's pairs."
        if detects
        else "Each manipulation against the other three. Recall is the accuracy on its own pairs."
    )
    measures = ("accuracy", "f1", "mcc") if detects else ("precision", "recall", "f1")
    table = measure_table(
        data, "by_manipulation", "By manipulation", (*measures, "auroc"), f"{which} {_HOW}",
        counts=("asked", "invalid"), of="manipulation", notes=False,
    )  # fmt: skip
    if table is not None and not detects:
        # An invalid reply names no class, so precision is the same in both forms.
        kept = [one for one in table.columns if one.key != "precision_strict"]
        named = (replace(one, label=one.label.removeprefix("Macro-")) for one in kept)
        table = replace(table, columns=tuple(named))
    if table is not None and data.published:
        table = _with_people(task, table)
    return Section("manipulations", "Manipulations", [table])


def _errors(data: ChapterData) -> Section:
    invalid = invalid_table(
        data,
        "Invalid replies",
        "A reply is valid if it contains exactly one label of the task, in upper or lower case, "
        "after marked reasoning is removed. Any other reply is invalid, and no label is guessed.",
    )
    return Section("errors", "Invalid replies", (invalid, reason_table(data)))


def _how(task: TaskName) -> tuple[tuple[str, str], ...]:
    terms = report_terms(PAPER)
    return tuple({**terms[task], **terms["both"]}.items())


def _spec(task: TaskName, title: str) -> ReportSpec:
    detects = task == "rfc-detect"
    return ReportSpec(
        title=title,
        unit=("pair", "pairs"),
        output=("answer", "answers"),
        resampled=("article_id", "source article", "articles"),
        text="predicted",
        columns={
            **dict.fromkeys(("predicted", "invalid_reason", "rationale", "category"), str),
            **dict.fromkeys(PROBABILITIES.values(), float),
        },
        prepare=partial(prepare, task),
        measures=_measures(detects),
        estimate=partial(label_figures, task),
        breakdowns=(Breakdown("manipulation", parts=_by_manipulation),),
        sections=(
            partial(_results, task),
            *((pairwise,) if detects else ()),
            partial(_manipulations, task),
            by_shots,
            partial(surface, task),
            partial(confusion, task),
            "paired",
            _errors,
        ),
        explorer=Explorer(
            filters=(
                ("manipulation", "Manipulation"),
                ("category", "Category"),
                *((("gold", "Shown"),) if detects else ()),
                ("predicted", "Answer"),
            ),
            columns=(
                ("right", "Right"),
                *((column, f"p({label})") for label, column in PROBABILITIES.items()),
            ),
            before="original",
            text="shown" if detects else "rewritten",
            answer="predicted",
            note="rationale",
            pair="pair_id" if detects else "",
        ),
        how=_how(task),
        chance=lambda items: float(items["gold"].value_counts(normalize=True).iloc[0]),
        baselines=("majority", "surface"),
        terminal=(
            TerminalColumn("accuracy", "valid", "Acc. %"),
            TerminalColumn("f1", "valid", "Macro-F1 %"),
            TerminalColumn("mcc", "valid", "MCC", scale=1, digits=3),
            TerminalColumn("pairwise_accuracy", "valid", "Pairwise %"),
            TerminalColumn("accuracy", "strict", "strict Acc. %", rank=1),
        ),
    )


DETECT = _spec("rfc-detect", "Detecting manipulated financial news without a reference")
DIAGNOSE = _spec("rfc-diagnose", "Diagnosing manipulated financial news, given the original")
