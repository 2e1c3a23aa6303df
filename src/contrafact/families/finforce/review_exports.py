"""The results of a review of headlines, as the studio exports them (FIN-FORCE, section 3.3).

Exported items and exported decisions both hold a headline's outcome in the review, the answers that
more than half agreed on, and who took part. `finforce release` reads either beside the sheets of
`finforce screen`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from contrafact.corpus.ledger import Decision
from contrafact.errors import InputError
from contrafact.families.finforce.data import canonical_category
from contrafact.families.finforce.screen import Outcome
from contrafact.records import content_id

_OUTCOMES: dict[str, Decision] = {
    "final": "kept",
    "removed": "dropped",
    "hard case": "hard case",
}


@dataclass(frozen=True)
class ReviewedHeadline:
    """The result of a review of one headline.

    Attributes:
        outcome: The decision; None while the headline is under way.
        by: The names of those who took part, in order.
        when: The time of the last decision, if the export has it.
        edited: The headline's fields that the review changed, with their new values.
    """

    outcome: Outcome | None
    by: tuple[str, ...]
    when: str | None = None
    edited: Mapping[str, Any] = field(default_factory=dict)


def is_review_export(row: Mapping[str, Any]) -> bool:
    return "review_outcome" in row and "item_id" in row


def read_review_export(
    rows: Iterable[tuple[int, Mapping[str, Any]]], known: set[str], file: str
) -> dict[str, ReviewedHeadline]:
    """Return the result of each headline, by id; a market event without a category is a hard case.

    Rows are items, or decisions, of which a headline has several.

    Raises:
        InputError: An unknown id, outcome or category, or rows of one headline that disagree; the
            message names the line.
    """
    reviewed: dict[str, ReviewedHeadline] = {}
    for line, row in rows:
        try:
            item, result = _reviewed(row, known)
            if (earlier := reviewed.get(item)) is not None:
                result = _together(item, earlier, result)
        except InputError as error:
            raise error.at(file, line) from error
        reviewed[item] = result
    return reviewed


def _reviewed(row: Mapping[str, Any], known: set[str]) -> tuple[str, ReviewedHeadline]:
    item = str(row["item_id"] or "")
    if item not in known:
        raise InputError(
            f"'{item[:40]}' is no headline of the file",
            hint="give the file that was imported into the review, or the exported items alone",
        )
    people = _json(row.get("review_by") or row.get("decided_by") or "")
    names = [*(people if isinstance(people, list) else [people])]
    by = {str(name) for name in (*names, *(_json(row.get("discussed_by")) or ()))} - {""}
    edited, when = _json(row.get("review_edited") or {}), row.get("when") or None
    return item, ReviewedHeadline(_outcome(row, len(by)), tuple(sorted(by)), when, edited)


def _together(item: str, one: ReviewedHeadline, other: ReviewedHeadline) -> ReviewedHeadline:
    """Return what two rows of one headline, decisions of several people, come to."""
    outcomes = [o and (o.decision, o.category) for o in (one.outcome, other.outcome)]
    if outcomes[0] != outcomes[1]:
        raise InputError(
            f"the rows of '{item[:40]}' do not come to one outcome",
            hint="export the review again, and give one export of it",
        )
    by = tuple(sorted({*one.by, *other.by}))
    outcome = other.outcome and replace(other.outcome, people=len(by))
    when = max(filter(None, (one.when, other.when)), default=None)
    return replace(other, outcome=outcome, by=by, when=when)


def rows_of_items(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a review's exported items as rows of headlines, with the ids of `finforce screen`.

    A headline that was not screened before the review gets its id from its text. One that is there
    twice is kept twice, for the caller to decide. An empty cell of a text table becomes None.
    """
    headlines = []
    for cells in rows:
        row = {name: None if value == "" else value for name, value in cells.items()}
        headline = str(row.get("headline") or "")
        screened = "market_event" in row and row.get("id")
        id = str(row["id"]) if screened else content_id(headline, prefix="h")
        headlines.append({**row, "id": id, "item_id": id, "headline": headline})
    return headlines


def _outcome(row: Mapping[str, Any], people: int) -> Outcome | None:
    written = str(row["review_outcome"] or "").strip()
    if not written:
        return None
    decision = _OUTCOMES.get(written)
    if decision is None:
        raise InputError(f"'{written[:40]}' is no outcome", hint="export the review again")
    answers = _json(row.get("review_answers"))
    named = answers.get("market_category") if isinstance(answers, Mapping) else None
    named = row.get("answer_market_category") or named
    category = canonical_category(str(named))[0] if named else None
    if named and category is None:
        problem = f"'{str(named)[:40]}' is none of the ten categories"
        raise InputError(problem, hint="is it the right review?")
    if decision == "kept" and category is None:
        return Outcome("hard case", None, "people disagree on the category", people)
    kept = category if decision == "kept" else None
    return Outcome(decision, kept, str(row.get("review_why") or ""), people)


def _json(value: Any) -> Any:
    """Return a cell's list or object, which is JSON in text tables; other cells unchanged."""
    if not isinstance(value, str) or not value.startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value
