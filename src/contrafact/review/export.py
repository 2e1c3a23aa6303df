"""Exports of a review: outcomes of items, people's decisions, or the whole history.

JSON Lines files hold rows as they are. In CSV and Parquet, lists and objects are JSON text. In CSV,
an apostrophe precedes cells that a spreadsheet would take for a formula; the project's own commands
remove it again.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

from contrafact.errors import InputError
from contrafact.files.atomic import write_bytes
from contrafact.files.fields import as_cell, guarded
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
    """Return the exports of a project's reviews; only a study's project has sheets and labels."""
    formats = file_formats(project.name)
    lacking = {"sheet": formats.sheet is None, "labels": not formats.judged}
    return tuple(what for what in EXPORTS if not lacking.get(what))


def export_rows(
    state: ReviewState, what: Export, stages: Sequence[str] = (), question: str | None = None
) -> list[dict[str, Any]]:
    """Return the rows of an export, except of ``history``, which `history_rows` gives.

    Args:
        stages: The stages of the ratings; all independent ones if none is named.
        question: The question of the ratings; the verdict if none is named.

    Raises:
        InputError: There is no such stage or question, or the project has no such export.
    """
    known_stages = [stage.id for stage in state.project.flow]
    named = [("stage", name, known_stages) for name in stages]
    if question:
        named.append(("question", question, [q.id for q in state.project.questions]))
    for noun, name, known in named:
        if name not in known:
            problem = f"this review has no {noun} '{name[:40]}'"
            raise InputError(problem, hint=f"use {', '.join(known)}")
    if what == "ratings":
        return list(rating_rows(state, stages=stages, question=question or None))
    makers = {"decisions": decision_rows, "items": item_rows, "labels": label_rows}
    return makers.get(what, sheet_rows)(state)


def decision_rows(state: ReviewState) -> list[dict[str, Any]]:
    """Return the decisions that count, in order of time, as `rfc finalize` reads them.

    Decisions on withdrawn items do not count.

    Fields: ``item_id``, ``stage``, ``decided_by``, ``decision``, ``when``, ``why``, ``rewritten``
    (a corrected text), ``inclusion_probability`` and ``round`` (of an audit), ``flagged``,
    ``answers``, ``text_version``, ``guidelines_version``, ``item_round``, ``origin`` (of a decision
    made elsewhere: where, by whom, when), ``discussed_by`` (who took part in the discussion that
    led to the decision) and, about the item, ``review_outcome`` (None while it is under way),
    ``review_why``, ``review_answers`` (see `agreed_answers`) and ``review_edited`` (the fields that
    a manager has changed, with their present values).
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
            }
        )
    return rows


def item_rows(state: ReviewState) -> list[dict[str, Any]]:
    """Return a row for every item: its present fields and its outcome.

    Added fields: ``item_id``, ``review_outcome`` (None while it is under way), ``review_stage``,
    ``review_why``, ``review_verdict``, ``review_by`` (the authors of the decisions that count),
    ``review_edited`` (the fields that a manager has changed), and ``answer_<question>``, the answer
    of more than half of the last voters.
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

    If an item came to a stage more than once, only the last round is included.
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

    There is one row per item and person, who is named in ``annotator``. The items must come from a
    sheet that the family's `study sample` wrote, as the sheet's key refers to them.

    Raises:
        InputError: The project belongs to no study.
    """
    sheet = file_formats(state.project.name).sheet
    if sheet is None:
        raise InputError(
            f"the project '{state.project.name}' belongs to no study, so it has no sheet",
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

    There is one row per yes or no: ``item``, ``annotator``, ``question`` (the judged column),
    ``answer`` (True or False), ``probability`` (that the item was drawn, if known), and from the
    run's item ``system``, ``judge``, ``draw``, ``sample_id``, ``side`` or ``phrasing``. Other
    answers have no row.

    Raises:
        InputError: The project is not about a run, or the items were not imported from one.
    """
    judged = file_formats(state.project.name).judged
    if not judged:
        raise InputError(
            f"the project '{state.project.name}' is not about a model's run, so it has no labels",
            hint="export decisions or ratings instead",
        )
    rows = []
    for item, vote in _last_votes(state, _blind_stages(state)):
        facts = {name: item.fields[name] for name in _RUN if item.fields.get(name) is not None}
        if not {"system", "judge", "sample_id"} <= facts.keys():
            raise InputError(
                f"item '{item.id[:40]}' is not from a run: it lacks system, judge or sample_id",
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
    """Return a row for every event, in order, with its ``body`` as JSON text."""
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
    return [
        (item, vote)
        for item, vote in _votes(state)
        if vote.stage in stages and vote.round == item.rounds[vote.stage]
    ]


def _votes(state: ReviewState) -> list[tuple[ReviewItem, Vote]]:
    under_review = (item for item in state.items.values() if not item.withdrawn)
    pairs = [(item, vote) for item in under_review for vote in item.votes]
    return sorted(pairs, key=lambda pair: pair[1].seq)


def table_format(path: str | Path) -> TableFormat:
    suffix = Path(path).suffix.lower()
    if suffix.removeprefix(".") not in TABLE_FORMATS:
        raise InputError(
            f"tables cannot be written as '{suffix}'",
            file=path,
            hint="name the file .csv, .jsonl or .parquet",
        )
    return cast(TableFormat, suffix.removeprefix("."))


def write_rows(rows: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows to a file in the format that its suffix names, whole or not at all."""
    write_bytes(path, render_rows(rows, table_format(path)))


def render_rows(rows: Sequence[Mapping[str, Any]], form: TableFormat) -> bytes:
    """Return a file's bytes with the rows; its columns are those of all rows, in order."""
    import pandas as pd

    def safe(value: Any) -> Any:
        # A negative number is not a formula, and with an apostrophe it would become a text.
        text = form == "csv" and isinstance(value, str) and not _NUMBER.fullmatch(value)
        return guarded(value) if text else as_cell(value) if form == "parquet" else value

    columns: dict[str, pd.Series[Any]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [safe(row.get(name)) for row in rows]
        # With dtype object, as pandas' string type cannot hold lone surrogates.
        columns[safe(replace_surrogates(name))] = pd.Series(cells, dtype=object)
    return table_bytes(pd.DataFrame(columns), f"rows.{form}")
