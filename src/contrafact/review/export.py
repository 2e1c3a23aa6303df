"""What comes out of a review: where items ended, what people decided, and the whole history."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from contrafact.errors import InputError
from contrafact.review.answers import majority_of
from contrafact.review.board import Board, Item, Vote
from contrafact.review.events import Event
from contrafact.review.project import Project

__all__ = [
    "EXPORTS",
    "Export",
    "decision_rows",
    "exports_of",
    "history_rows",
    "item_rows",
    "label_rows",
    "rating_rows",
    "rows_of",
    "sheet_rows",
]

Export = Literal["decisions", "items", "ratings", "labels", "sheet", "history"]
EXPORTS: tuple[Export, ...] = ("decisions", "items", "ratings", "labels", "sheet", "history")

# What `finforce study score` and `cobe study score` call what is shown, and what is answered.
_SHEETS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "judge-agreement": (
        {"headline": "headline", "side": "side", "counterfactual": "counterfactual"},
        {"forward_compatibility": "forward_compatibility", "directionality": "directionality"},
    ),
    "cobe-rating": (
        {"original_text": "text", "request": "query", "response": "edit"},
        {"judgement": "rating"},
    ),
}
# What a question is about in a run's items, and what its answers come to there.
_JUDGED: dict[str, dict[str, str]] = {
    "judge-agreement": {
        "forward_compatibility": "forward_compatibility",
        "directionality": "directionality",
    },
    "cobe-rating": {"rating": "correct"},
}
_TRUE, _FALSE = frozenset(("true", "yes")), frozenset(("false", "no"))
_RUN = ("system", "judge", "draw", "sample_id", "side", "phrasing")


def exports_of(project: Project) -> tuple[Export, ...]:
    """Return what can be exported of a project's reviews: sheets and labels of a study's only."""
    return tuple(
        what
        for what in EXPORTS
        if (what != "sheet" or project.name in _SHEETS)
        and (what != "labels" or project.name in _JUDGED)
    )


def rows_of(
    board: Board, what: Export, stage: str | Sequence[str] = (), question: str | None = None
) -> list[dict[str, Any]]:
    """Return the rows of an export that follows from the board; the history does not.

    Args:
        board: The review.
        what: What is exported.
        stage: Of ratings, the stages; those that are blind if none is named.
        question: Of ratings, the question; the verdict if none is named.

    Raises:
        InputError: There is no such stage or question, or the project has no such export.
    """
    stages = [stage] if isinstance(stage, str) and stage else list(stage)
    known = {s.id for s in board.project.flow}
    for name in stages:
        if name not in known:
            raise InputError(
                f"'{name[:40]}' is no stage of this review",
                hint=f"use {', '.join(s.id for s in board.project.flow)}",
            )
    if question and question not in {q.id for q in board.project.questions}:
        raise InputError(
            f"'{question[:40]}' is no question of this review",
            hint=f"use {', '.join(q.id for q in board.project.questions)}",
        )
    if what == "ratings":
        return list(rating_rows(board, stages=stages, question=question or None))
    makers = {
        "decisions": decision_rows,
        "items": item_rows,
        "labels": label_rows,
        "sheet": sheet_rows,
    }
    return makers[what](board)


def decision_rows(board: Board) -> list[dict[str, Any]]:
    """Return the decisions that stand, in order of time, as `rfc finalize` reads them.

    Fields: ``item_id``, ``stage``, ``decided_by``, ``decision``, ``when``, ``why``, ``rewritten``
    (a corrected text), ``inclusion_probability`` and ``round`` (of an audit), ``flagged``,
    ``answers``, ``text_version``, ``guidelines_version``, ``item_round``, ``origin`` (of a decision
    that was made elsewhere: where, by whom, when).
    """
    rows = []
    for item, vote in _votes(board):
        batch = board.batches[vote.batch] if vote.batch else None
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
                "round": int(batch.id.rpartition("-")[2]) if batch else 1,
                "flagged": vote.ballot.flagged,
                "answers": dict(vote.ballot.answers),
                "text_version": vote.text_version,
                "guidelines_version": vote.guidelines_version,
                "item_round": vote.round,
                "origin": None if vote.origin is None else dict(vote.origin),
            }
        )
    return rows


def item_rows(board: Board) -> list[dict[str, Any]]:
    """Return every item: its fields as they are now, and what became of it.

    Added fields: ``item_id``, ``review_outcome`` (None while it is under way), ``review_stage``,
    ``review_why``, ``review_verdict``, and ``answer_<question>``: what more than half of the last
    who voted on it said.
    """
    rows = []
    for item in board.items.values():
        added = {
            "item_id": item.id,
            "review_outcome": item.outcome,
            "review_stage": item.stage,
            "review_why": item.why,
            "review_verdict": item.verdict,
        }
        rows.append({**item.fields, **added, **_agreed(board, item)})
    return rows


def rating_rows(
    board: Board, *, stages: Sequence[str] = (), question: str | None = None
) -> list[dict[str, str]]:
    """Return independent answers as `contrafact agree` reads them: ``item``, ``rater``, ``rating``.

    Of an item that came to a stage more than once, the last round counts.

    Args:
        board: The review.
        stages: The stages whose votes are taken; all that are blind if none is named.
        question: The question; the verdict if none is named.
    """
    chosen = stages or _blind(board)
    rows = []
    for item, vote in _last_votes(board, chosen):
        said = vote.ballot.verdict if question is None else vote.ballot.answers.get(question)
        if said is not None:
            name = item.id if len(chosen) == 1 else f"{item.id} {vote.stage}"
            rows.append({"item": name, "rater": vote.who, "rating": said})
    return rows


def sheet_rows(board: Board) -> list[dict[str, Any]]:
    """Return independent answers as a filled sheet for `study score` (of `finforce` or `cobe`).

    One row per item and person, named in ``annotator``. The items have to be those of a sheet that
    the family's `study sample` wrote, so that the key beside it knows them.

    Raises:
        InputError: The project is none of the two that judge what a study's sheet shows.
    """
    if board.project.name not in _SHEETS:
        raise InputError(
            f"the answers of '{board.project.name}' are no study's",
            hint="export decisions or ratings instead",
        )
    shown, answered = _SHEETS[board.project.name]
    return [
        {
            "item": item.id,
            **{column: item.fields.get(name) for column, name in shown.items()},
            **{column: vote.ballot.answers.get(name, "") for column, name in answered.items()},
            "comment": vote.ballot.comment,
            "annotator": vote.who,
        }
        for item, vote in _last_votes(board, _blind(board))
    ]


def label_rows(board: Board) -> list[dict[str, Any]]:
    """Return people's labels of a run's items, as `contrafact report --labels` reads them.

    One row per answer: ``item``, ``annotator``, ``question`` (the judged column), ``answer`` (True
    or False), ``probability`` (of the item being chosen, where it is known), and of the run's item
    ``system``, ``judge``, ``draw``, ``sample_id``, ``side`` or ``phrasing``. Answers that are
    neither, such as Other, have no row.

    Raises:
        InputError: The project judges no run, or the items were not imported from one.
    """
    asked = _JUDGED.get(board.project.name)
    if asked is None:
        raise InputError(
            f"the answers of '{board.project.name}' are about no run of a model",
            hint="export decisions or ratings instead",
        )
    rows = []
    for item, vote in _last_votes(board, _blind(board)):
        facts = {name: item.fields[name] for name in _RUN if item.fields.get(name) is not None}
        if not {"system", "judge", "sample_id"} <= facts.keys():
            raise InputError(
                f"item '{item.id[:40]}' is of no run: it has no system, judge or sample_id",
                hint="import a run's items.parquet, or score a study's sheet",
            )
        for question, column in asked.items():
            said = vote.ballot.answers.get(question, "").casefold()
            if said in _TRUE or said in _FALSE:
                about = {"item": item.id, "annotator": vote.who, "question": column}
                chance = item.fields.get("probability")
                rows.append(about | {"answer": said in _TRUE, "probability": chance} | facts)
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


def _blind(board: Board) -> list[str]:
    return [stage.id for stage in board.project.flow if stage.kind == "independent"]


def _last_votes(board: Board, stages: Sequence[str]) -> list[tuple[Item, Vote]]:
    """Return the votes of an item's last round at each of the stages, in order of time."""
    return [
        (item, vote)
        for item, vote in _votes(board)
        if vote.stage in stages and vote.round == item.rounds[vote.stage]
    ]


def _votes(board: Board) -> list[tuple[Item, Vote]]:
    found = [(item, vote) for item in board.items.values() for vote in item.votes]
    return sorted(found, key=lambda pair: pair[1].seq)


def _agreed(board: Board, item: Item) -> dict[str, str | None]:
    judged = [v for v in item.votes if board.project.stage(v.stage).kind != "audit"]
    last = [v for v in judged if (v.stage, v.round) == (judged[-1].stage, judged[-1].round)]
    said: dict[str, str | None] = {}
    for question in board.project.questions:
        answers = [v.ballot.answers[question.id] for v in last if question.id in v.ballot.answers]
        # More than half of all who voted: who was not asked it did not say it.
        agreed = majority_of([*answers, *[""] * (len(last) - len(answers))]) if last else None
        said[f"answer_{question.id}"] = agreed or None
    return said
