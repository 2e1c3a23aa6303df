"""What comes out of a review: where items ended, what people decided, and the whole history."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from contrafact.review.answers import majority_of
from contrafact.review.board import Board, Item
from contrafact.review.events import Event

__all__ = ["EXPORTS", "Export", "decision_rows", "history_rows", "item_rows", "rating_rows"]

Export = Literal["decisions", "items", "ratings", "history"]
EXPORTS: tuple[Export, ...] = ("decisions", "items", "ratings", "history")


def decision_rows(board: Board) -> list[dict[str, Any]]:
    """Return the decisions that stand, in order of time, as `rfc finalize` reads them.

    Fields: ``item_id``, ``stage``, ``decided_by``, ``decision``, ``when``, ``why``, ``rewritten``
    (a corrected text), ``inclusion_probability`` and ``round`` (of an audit), ``flagged``,
    ``answers``, ``text_version``, ``guidelines_version``, ``item_round``.
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
    chosen = stages or [s.id for s in board.project.flow if s.kind == "independent"]
    rows = []
    for item, vote in _votes(board):
        if vote.stage not in chosen or vote.round != item.rounds[vote.stage]:
            continue
        said = vote.ballot.verdict if question is None else vote.ballot.answers.get(question)
        if said is not None:
            name = item.id if len(chosen) == 1 else f"{item.id} {vote.stage}"
            rows.append({"item": name, "rater": vote.who, "rating": said})
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


def _votes(board: Board) -> list[tuple[Item, Any]]:
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
