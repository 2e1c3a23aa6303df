"""The paper's figures set beside a report's own, marked: table 5 and appendix C.3."""

from dataclasses import replace

import pandas as pd

from contrafact.families.cobe.published import published_facts, published_notes, published_rows
from contrafact.report.table import PUBLISHED, Column, Table

__all__ = ["published_study_table", "with_published_overall"]

_LABEL = "Published · CoBe, table 5"
_STUDY_LABEL = "Published · CoBe, appendix C.3"


def with_published_overall(table: Table) -> Table:
    """Return the overall table with table 5's accuracies below, as printed."""
    facts, rows = published_facts(), published_rows()
    frame = pd.DataFrame(
        {
            "system": rows["model"],
            "judge": facts.judge,
            "accuracy_valid": rows["accuracy"],
            "accuracy_spread_valid": rows["spread"],
        }
    )
    shown = [column.key for column in table.columns if column.key in frame.columns]
    joined = pd.concat(
        [table.frame.astype(object), frame[shown].assign(source=PUBLISHED).astype(object)],
        ignore_index=True,
    )
    for column in table.columns:
        for end in ("", "_low", "_high"):
            if column.kind != "text" and f"{column.key}{end}" in joined.columns:
                joined[f"{column.key}{end}"] = pd.to_numeric(joined[f"{column.key}{end}"])
    context = (
        f"Published rows are as printed, judged by {facts.judge}, on the paper's stories. They "
        "are context, not a comparison, and take no part in the marks."
    )
    notes = (*table.notes, context)
    return replace(table, frame=joined, published_label=_LABEL, notes=notes)


def published_study_table() -> Table:
    """Return the paper's human study of its judge (appendix C.3), as a table of its own."""
    facts = published_facts()
    study = facts.study
    line = {
        "system": f"{facts.judge} against the majority of {study.raters} people",
        "items": study.items,
        "accuracy": study.accuracy,
        "precision": study.precision,
        "recall": study.recall,
        "f1": study.f1,
        "judge_kappa": study.judge_kappa,
        "fleiss_kappa": study.fleiss_kappa,
        "unanimous": study.unanimous,
        "source": PUBLISHED,
    }
    against, among = "Judge against the majority", "Among the raters"
    columns = (
        Column("system", "Judge", "text"),
        Column("items", "Responses", "count"),
        Column("accuracy", "Agree, %", "share", against),
        Column("precision", "Precision, %", "share", against),
        Column("recall", "Recall, %", "share", against),
        Column("f1", "F1, %", "share", against),
        Column("judge_kappa", "Cohen's κ", "coefficient", against),
        Column("fleiss_kappa", "Fleiss' κ", "coefficient", among),
        Column("unanimous", "Unanimous, %", "share", among),
    )
    count = study.confusion
    caption = (
        "The paper's study of its judge: of the responses that both pass "
        f"{count['true_positive']}, that only the judge passes {count['false_positive']}, that "
        f"only people pass {count['false_negative']}, that neither passes "
        f"{count['true_negative']}. Your own: contrafact cobe study."
    )
    return Table(
        "published_study",
        "The paper's judge, against people",
        caption,
        columns,
        pd.DataFrame([line]),
        _said(("study",)),
        None,
        _STUDY_LABEL,
    )


def _said(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        f"In the paper, {one.where}: {one.printed}. {one.note}"
        for one in published_notes()
        if one.key.startswith(keys)
    )
