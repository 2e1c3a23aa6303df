"""Answers back to items: one row for each item and criterion, and one for an item as a whole."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from contrafact.exam.file import RESPONSE
from contrafact.exam.items import ExamItem
from contrafact.exam.sitting import Question
from contrafact.families.cobe.judging import correct
from contrafact.judges.judge import panel_verdict
from contrafact.records import Verdict

__all__ = ["ExamRow", "exam_rows", "row_object"]


@dataclass(frozen=True)
class ExamRow:
    """What a judge said of one item by one criterion.

    Attributes:
        item: The item's id.
        cluster: Its headline or story.
        kind: How it was made.
        criterion: What was asked; ``response`` for the item as a whole.
        known: The verdict that it should have.
        passed: The verdict it got the first time; none where it was invalid.
        invalid: Why, where it was.
        probability: The judge's probability of true, where the provider gave one.
        repeats: All verdicts, the first among them.
        swapped: The verdict in the other order; none where invalid or not asked.
        asked_swapped: Whether it was asked in the other order.
        words: Length of the text.
        text: The text.
        members: A panel's own verdicts, by judge.
        about: The headline, or the story's text.
        side: Of a forward counterfactual.
        reference: The representative answer.
    """

    item: str
    cluster: str
    kind: str
    criterion: str
    known: bool
    passed: bool | None
    invalid: str | None
    probability: float | None
    repeats: tuple[bool | None, ...]
    swapped: bool | None
    asked_swapped: bool
    words: int
    text: str
    members: Mapping[str, bool | None] = field(default_factory=dict)
    about: str = ""
    side: str | None = None
    reference: str | None = None


def row_object(row: ExamRow) -> dict[str, Any]:
    """Return a row as the file of items has it."""
    return asdict(row) | {"repeats": list(row.repeats), "members": dict(row.members)}


def exam_rows(
    items: Sequence[ExamItem],
    questions: Sequence[Question],
    answers: Mapping[str, Mapping[str, Any]],
) -> list[ExamRow]:
    """Return the rows of an exam whose questions all have an answer.

    Several judges are a panel: its verdict is the majority of the valid ones, each time.

    Args:
        items: The items.
        questions: As `questions_of` returns them.
        answers: Verdicts by the questions' keys.
    """
    votes: dict[tuple[str, str, int, bool], list[tuple[str, Mapping[str, Any]]]] = {}
    for q in questions:
        place = (q.item, q.criterion, q.repeat, q.swapped)
        votes.setdefault(place, []).append((q.judge, answers[q.key]))
    repeats = max((q.repeat for q in questions), default=1)
    rows: list[ExamRow] = []
    for item in items:
        own = []
        for criterion, known in item.known.items():
            given = [votes[item.id, criterion, time, False] for time in range(1, repeats + 1)]
            swapped = votes.get((item.id, criterion, 1, True))
            own.append(_row(item, criterion, known, given, swapped))
        rows += own
        if item.whole is not None:
            rows.append(_whole(item, own))
    return rows


_Votes = Sequence[tuple[str, Mapping[str, Any]]]


def _row(
    item: ExamItem, criterion: str, known: bool, given: Sequence[_Votes], swapped: _Votes | None
) -> ExamRow:
    panel = [_panel(votes) for votes in given]
    chances = [vote.get("probability") for _, vote in given[0]]
    told = [chance for chance in chances if chance is not None]
    other = _panel(swapped).passed if swapped else None
    return _made(
        item,
        criterion,
        known,
        passed=panel[0].passed,
        invalid=panel[0].invalid,
        probability=sum(told) / len(told) if told else None,
        repeats=tuple(verdict.passed for verdict in panel),
        swapped=other,
        asked_swapped=swapped is not None,
        members={judge: vote["passed"] for judge, vote in given[0]},
    )


def _whole(item: ExamItem, rows: Sequence[ExamRow]) -> ExamRow:
    """Return the verdict on the item as a whole: a conjunction, time by time."""
    passed = correct(row.passed for row in rows)
    why = "; ".join(f"{row.criterion}: {row.invalid}" for row in rows if row.invalid)
    swapped = all(row.asked_swapped for row in rows)
    return _made(
        item,
        RESPONSE,
        bool(item.whole),
        passed=passed,
        invalid=why if passed is None else None,
        probability=None,
        repeats=tuple(map(correct, zip(*(row.repeats for row in rows), strict=True))),
        swapped=correct(row.swapped for row in rows) if swapped else None,
        asked_swapped=swapped,
        members={},
    )


def _made(item: ExamItem, criterion: str, known: bool, **found: Any) -> ExamRow:
    return ExamRow(
        item=item.id,
        cluster=item.cluster,
        kind=item.kind,
        criterion=criterion,
        known=known,
        words=len(item.text.split()),
        text=item.text,
        about=item.material.text,
        side=item.side,
        reference=item.reference,
        **found,
    )


def _panel(votes: _Votes) -> Verdict:
    # What a provider's verdict holds besides is kept in the answers, and not counted here.
    names = Verdict.model_fields
    members = [
        Verdict.model_validate({name: vote[name] for name in names if name in vote})
        for _, vote in votes
    ]
    return panel_verdict(members)
