"""What comes out of a review, as rows and as files.

Exports: where items ended, what people decided, and the whole history. JSON Lines hold rows as they
are; in CSV and Parquet lists and objects are JSON text, and a column of Parquet has one type. In
CSV an apostrophe stands before a cell that a spreadsheet would take for a formula; the project's
own commands take it off again.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

from contrafact.errors import InputError
from contrafact.files.atomic import write_bytes
from contrafact.files.fields import guarded
from contrafact.files.tables import table_bytes
from contrafact.review.events import Event
from contrafact.review.field_mapping import file_formats
from contrafact.review.project import Project
from contrafact.review.state import ReviewItem, ReviewState, Vote
from contrafact.review.workflow import agreed_answers
from contrafact.text.delimit import replace_surrogates

__all__ = ["export_rows", "history_rows", "item_rows", "table_format", "write_rows"]


Export = Literal["decisions", "items", "ratings", "labels", "sheet", "history"]
EXPORTS: tuple[Export, ...] = get_args(Export)

TableFormat = Literal["jsonl", "csv", "parquet"]
TABLE_FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)

_TRUE, _FALSE = frozenset(("true", "yes")), frozenset(("false", "no"))
_RUN = ("system", "judge", "draw", "sample_id", "side", "phrasing")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?", re.ASCII)


def available_exports(project: Project) -> tuple[Export, ...]:
    """Return what can be exported of a project's reviews: sheets and labels of a study's only."""
    formats = file_formats(project.name)
    without = {
        *(("sheet",) if formats.sheet is None else ()),
        *(() if formats.judged else ("labels",)),
    }
    return tuple(what for what in EXPORTS if what not in without)


def export_rows(
    state: ReviewState, what: Export, stages: Sequence[str] = (), question: str | None = None
) -> list[dict[str, Any]]:
    """Return the rows of an export that follows from the state; ``history`` does not.

    Stages and question are of ratings: those that are blind, and the verdict, if none is named.

    Raises:
        InputError: There is no such stage or question, or the project has no such export.
    """
    known = {s.id for s in state.project.flow}
    for name in stages:
        if name not in known:
            raise InputError(
                f"'{name[:40]}' is no stage of this review",
                hint=f"use {', '.join(s.id for s in state.project.flow)}",
            )
    if question and question not in {q.id for q in state.project.questions}:
        raise InputError(
            f"'{question[:40]}' is no question of this review",
            hint=f"use {', '.join(q.id for q in state.project.questions)}",
        )
    if what == "ratings":
        return list(rating_rows(state, stages=stages, question=question or None))
    makers = {"decisions": decision_rows, "items": item_rows, "labels": label_rows}
    return makers.get(what, sheet_rows)(state)


def decision_rows(state: ReviewState) -> list[dict[str, Any]]:
    """Return the decisions that stand, in order of time, as `rfc finalize` reads them.

    Those on items that were withdrawn do not stand.

    Fields: ``item_id``, ``stage``, ``decided_by``, ``decision``, ``when``, ``why``, ``rewritten``
    (a corrected text), ``inclusion_probability`` and ``round`` (of an audit), ``flagged``,
    ``answers``, ``text_version``, ``guidelines_version``, ``item_round``, ``origin`` (of a decision
    that was made elsewhere: where, by whom, when), and what became of the item: ``review_outcome``
    (None while it is under way), ``review_why``, ``review_answers`` (see `agreed_answers`),
    ``review_edited`` (the fields that a manager has changed, as they are now), ``discussed_by``
    (who took part in the discussion that the decision records), ``evidence`` (the passages that
    were marked: field, start, end, text).
    """
    rows = []
    agreed = {item.id: agreed_answers(state.project, item) for item in state.items.values()}
    for item, vote in _votes(state):
        rows.append(
            {
                "item_id": item.id,
                "stage": vote.stage,
                "decided_by": vote.who,
                "decision": vote.ballot.verdict,
                "when": vote.when.isoformat(),
                "why": vote.ballot.comment,
                "rewritten": vote.ballot.correction,
                "inclusion_probability": vote.probability,
                "round": int(vote.batch.rpartition("-")[2]) if vote.batch else 1,
                "flagged": vote.ballot.flagged,
                "answers": dict(vote.ballot.answers),
                "text_version": vote.text_version,
                "guidelines_version": vote.guidelines_version,
                "item_round": vote.round,
                "origin": None if vote.origin is None else dict(vote.origin),
                "review_outcome": item.outcome,
                "review_why": item.why,
                "review_answers": agreed[item.id],
                "review_edited": dict(item.edited),
                "discussed_by": list(vote.group),
                "evidence": [dict(one) for one in vote.evidence],
            }
        )
    return rows


def item_rows(state: ReviewState) -> list[dict[str, Any]]:
    """Return every item: its fields as they are now, and what became of it.

    Added fields: ``item_id``, ``review_outcome`` (None while it is under way), ``review_stage``,
    ``review_why``, ``review_verdict``, ``review_by`` (whose decisions stand), ``review_edited``
    (the fields that a manager has changed), and ``answer_<question>``: what more than half of those
    who voted on it last answered.
    """
    rows = []
    for item in state.items.values():
        added = {
            "item_id": item.id,
            "review_outcome": item.outcome,
            "review_stage": item.stage,
            "review_why": item.why,
            "review_verdict": item.verdict,
            "review_by": sorted({name for v in item.votes for name in (v.who, *v.group)}),
            "review_edited": dict(item.edited),
        }
        agreed = agreed_answers(state.project, item)
        answers = {f"answer_{question}": answer for question, answer in agreed.items()}
        rows.append({**item.fields, **added, **answers})
    return rows


def rating_rows(
    state: ReviewState, *, stages: Sequence[str] = (), question: str | None = None
) -> list[dict[str, str]]:
    """Return independent answers as `contrafact agree` reads them: ``item``, ``rater``, ``rating``.

    Of an item that came to a stage more than once, the last round counts.
    """
    chosen = stages or _blind_stages(state)
    rows = []
    for item, vote in _last_votes(state, chosen):
        rating = vote.ballot.verdict if question is None else vote.ballot.answers.get(question)
        if rating is not None:
            name = item.id if len(chosen) == 1 else f"{item.id} {vote.stage}"
            rows.append({"item": name, "rater": vote.who, "rating": rating})
    return rows


def sheet_rows(state: ReviewState) -> list[dict[str, Any]]:
    """Return independent answers as a filled sheet for `study score` (of `finforce` or `cobe`).

    One row per item and person, named in ``annotator``. The items have to be those of a sheet that
    the family's `study sample` wrote, so that the sheet's key knows them.

    Raises:
        InputError: The project judges no study's sheet.
    """
    sheet = file_formats(state.project.name).sheet
    if sheet is None:
        raise InputError(
            f"the answers of '{state.project.name}' are no study's",
            hint="export decisions or ratings instead",
        )
    return [
        {
            "item": item.id,
            **{column: item.fields.get(name) for column, name in sheet.shown.items()},
            **{column: vote.ballot.answers.get(q, "") for column, q in sheet.answered.items()},
            "comment": vote.ballot.comment,
            "annotator": vote.who,
        }
        for item, vote in _last_votes(state, _blind_stages(state))
    ]


def label_rows(state: ReviewState) -> list[dict[str, Any]]:
    """Return people's labels of a run's items, as `contrafact report --labels` reads them.

    One row per answer: ``item``, ``annotator``, ``question`` (the judged column), ``answer`` (True
    or False), ``probability`` (of the item being chosen, where it is known), and of the run's item
    ``system``, ``judge``, ``draw``, ``sample_id``, ``side`` or ``phrasing``. Answers that are
    neither, such as Other, have no row.

    Raises:
        InputError: The project judges no run, or the items were not imported from one.
    """
    judged = file_formats(state.project.name).judged
    if not judged:
        raise InputError(
            f"the answers of '{state.project.name}' are about no run of a model",
            hint="export decisions or ratings instead",
        )
    rows = []
    for item, vote in _last_votes(state, _blind_stages(state)):
        facts = {name: item.fields[name] for name in _RUN if item.fields.get(name) is not None}
        if not {"system", "judge", "sample_id"} <= facts.keys():
            raise InputError(
                f"item '{item.id[:40]}' is of no run: it has no system, judge or sample_id",
                hint="import a run's items.parquet, or score a study's sheet",
            )
        for question, column in judged.items():
            answer = vote.ballot.answers.get(question, "").casefold()
            if answer in _TRUE or answer in _FALSE:
                about = {"item": item.id, "annotator": vote.who, "question": column}
                chance = item.fields.get("probability")
                rows.append(about | {"answer": answer in _TRUE, "probability": chance} | facts)
    return rows


def history_rows(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return every event, in order; ``body`` is JSON."""
    return [
        {
            "seq": event.seq,
            "kind": event.kind,
            "who": event.who,
            "when": event.when.isoformat(),
            "item_id": event.item,
            "stage": event.stage,
            "round": event.round or None,
            "slot": event.slot,
            "text_version": event.text_version,
            "guidelines_version": event.guidelines_version,
            "body": json.dumps(event.body, sort_keys=True, ensure_ascii=False),
        }
        for event in events
    ]


def _blind_stages(state: ReviewState) -> list[str]:
    return [stage.id for stage in state.project.flow if stage.kind == "independent"]


def _last_votes(state: ReviewState, stages: Sequence[str]) -> list[tuple[ReviewItem, Vote]]:
    """Return the votes of an item's last round at each of the stages, in order of time."""
    return [
        (item, vote)
        for item, vote in _votes(state)
        if vote.stage in stages and vote.round == item.rounds[vote.stage]
    ]


def _votes(state: ReviewState) -> list[tuple[ReviewItem, Vote]]:
    under_review = (item for item in state.items.values() if not item.withdrawn)
    found = [(item, vote) for item in under_review for vote in item.votes]
    return sorted(found, key=lambda pair: pair[1].seq)


def table_format(path: str | Path) -> TableFormat:
    """Return the format that a file's suffix names."""
    suffix = Path(path).suffix.lower()
    if suffix.removeprefix(".") not in TABLE_FORMATS:
        raise InputError(
            f"tables are not written as '{suffix}'",
            file=path,
            hint="name the file .csv, .jsonl or .parquet",
        )
    return cast(TableFormat, suffix.removeprefix("."))


def write_rows(rows: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows to a file in the format that its suffix names, whole or not at all."""
    write_bytes(path, render_rows(rows, table_format(path)))


def render_rows(rows: Sequence[Mapping[str, Any]], form: TableFormat) -> bytes:
    """Return rows as the bytes of a file; the columns are those of all of them, as met."""
    import pandas as pd

    def safe(value: Any) -> Any:
        # A negative number is no formula, and would be no number any more behind an apostrophe.
        if not isinstance(value, str) or _NUMBER.fullmatch(value):
            return value
        return guarded(value)

    def flat(value: Any) -> Any:
        nested = isinstance(value, Mapping | list | tuple)
        return json.dumps(value, ensure_ascii=False, default=str) if nested else value

    columns: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        columns[replace_surrogates(name)] = [row.get(name) for row in rows]
    if form != "jsonl":
        cell = safe if form == "csv" else flat
        columns = {
            (safe(name) if form == "csv" else name): [cell(value) for value in column]
            for name, column in columns.items()
        }
    # Objects, lest a column of texts be made one of another type, which holds no lone surrogates.
    made = {name: pd.Series(column, dtype=object) for name, column in columns.items()}
    return table_bytes(pd.DataFrame(made), f"rows.{form}")
