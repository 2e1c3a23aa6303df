"""The results of a review of headlines, as the studio exports them (FIN-FORCE, section 3.3).

Exported items and exported decisions both hold a headline's outcome in the review, the answers that
more than half agreed on, and the people who took part. `finforce release` reads either, as well as
the sheets of `finforce screen`.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from contrafact.corpus.ledger import Decision, LedgerEvent
from contrafact.errors import InputError
from contrafact.families.finforce.data import canonical_category
from contrafact.families.finforce.release import Released
from contrafact.families.finforce.screen import (
    Outcome,
    SheetDecision,
    outcome_event,
    outcome_of,
    read_sheets,
)
from contrafact.files.tables import read_rows, source_name
from contrafact.records import content_id

_OUTCOMES: dict[str, Decision] = {"final": "kept", "removed": "dropped", "hard case": "hard case"}


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
            f"'{item[:40]}' is not a headline of the file",
            hint="give the file that was imported into the review, or the exported items alone",
        )
    people = _json(row.get("review_by") or row.get("decided_by") or "")
    names = [*(people if isinstance(people, list) else [people])]
    by = {str(name) for name in (*names, *(_json(row.get("discussed_by")) or ()))} - {""}
    edited, when = _json(row.get("review_edited") or {}), row.get("when") or None
    return item, ReviewedHeadline(_outcome(row, len(by)), tuple(sorted(by)), when, edited)


def _together(item: str, one: ReviewedHeadline, other: ReviewedHeadline) -> ReviewedHeadline:
    """Return the joint result of two rows of one headline, by different people."""
    outcomes = [o and (o.decision, o.category) for o in (one.outcome, other.outcome)]
    if outcomes[0] != outcomes[1]:
        raise InputError(
            f"the rows of '{item[:40]}' have different outcomes",
            hint="export the review again, and give one export of it",
        )
    by = tuple(sorted({*one.by, *other.by}))
    outcome = other.outcome and replace(other.outcome, people=len(by))
    when = max(filter(None, (one.when, other.when)), default=None)
    return replace(other, outcome=outcome, by=by, when=when)


def rows_of_items(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a review's exported items as rows of headlines, with the ids of `finforce screen`.

    A headline that was not screened before the review gets its id from its text. Repeats are kept,
    for the caller to handle. An empty cell of a text table becomes None.
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
        raise InputError(f"'{written[:40]}' is not an outcome", hint="export the review again")
    answers = _json(row.get("review_answers"))
    named = answers.get("market_category") if isinstance(answers, Mapping) else None
    named = row.get("answer_market_category") or named
    category = canonical_category(str(named))[0] if named else None
    if named and category is None:
        problem = f"'{str(named)[:40]}' is not one of the ten categories"
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


# Which headlines are released


@dataclass(frozen=True)
class Decided:
    """The headlines of a file, and people's decisions on them in sheets and in reviews."""

    rows: list[dict[str, Any]]
    answers: Mapping[str, Sequence[SheetDecision]]
    reviewed: Mapping[str, ReviewedHeadline]
    repeated: int


def decided(file: str, decisions: list[Path], *, unreviewed: bool) -> Decided:
    """Return a file's headlines with their decisions, each from a sheet or from a review."""
    rows = [row for _, row in read_rows(file, guarded=is_review_export)]
    from_review = bool(rows) and not decisions and all(map(is_review_export, rows))
    reviewed: dict[str, ReviewedHeadline] = {}
    kept = rows
    if from_review:
        kept, reviewed = _of_review(rows, file)
    elif any("market_event" not in row or "id" not in row for row in rows):
        raise InputError(
            "is not a file of screened headlines",
            file=file,
            hint="run finforce screen first, or give a review's exported items",
        )
    elif not decisions and not unreviewed:
        raise InputError(
            "no decisions are given",
            hint="name filled sheets with --decisions, or take proposals with --unreviewed",
        )
    known = {str(row["id"]) for row in kept}
    answers = read_sheets(_exported(decisions, known, reviewed), known)
    if both := answers.keys() & reviewed.keys():
        raise InputError(
            f"'{min(both)}' is decided on in a sheet and in a review", hint="leave one of them out"
        )
    return Decided(kept, answers, reviewed, len(rows) - len(kept))


def _of_review(
    rows: list[dict[str, Any]], file: str
) -> tuple[list[dict[str, Any]], dict[str, ReviewedHeadline]]:
    """Return the headlines of a review's exported items, each once, and their results."""
    if not all(row.get("headline") for row in rows):
        raise InputError(
            "holds decisions, but no headlines",
            file=file,
            hint="export the review's items, or give it with --decisions",
        )
    unique: dict[str, dict[str, Any]] = {}
    reviewed: dict[str, ReviewedHeadline] = {}
    for line, row in enumerate(rows_of_items(rows), start=1):
        if row["id"] not in unique:
            unique[row["id"]] = row
            reviewed |= read_review_export([(line, row)], {row["id"]}, file)
    return [*unique.values()], reviewed


def _exported(
    files: list[Path], known: set[str], reviewed: dict[str, ReviewedHeadline]
) -> list[Path]:
    """Add the results of review exports to ``reviewed``; return the other files, the sheets."""
    sheets = []
    for path in files:
        lines = list(read_rows(path, guarded=is_review_export))
        if not lines or not is_review_export(lines[0][1]):
            sheets.append(path)
            continue
        exported = read_review_export(lines, known, source_name(path))
        if twice := reviewed.keys() & exported.keys():
            raise InputError(
                f"'{min(twice)}' is decided on in another export too",
                file=path,
                hint="give one export of a review, of its items or of its decisions",
            )
        reviewed |= exported
    return sheets


def taken(
    found: Decided, *, unreviewed: bool
) -> tuple[list[Released], list[LedgerEvent], Counter[str]]:
    """Return the headlines to release, the decisions' events, and the counts of outcomes."""
    counts = Counter({"screened headlines": len(found.rows) + found.repeated})
    if found.repeated:
        counts["the same headline again, left out"] = found.repeated
    by_decision = {"kept": "taken by people", "dropped": "refused by people"}
    released: list[Released] = []
    events: list[LedgerEvent] = []
    for row in found.rows:
        given, seen = found.answers.get(row["id"]), found.reviewed.get(row["id"])
        if seen is not None:
            if (outcome := seen.outcome) is None:
                counts["under way in the review, left out"] += 1
                continue
            events.append(outcome_event(row["id"], seen.by, seen.when, outcome))
            row = {**row, **seen.edited}
        elif given is not None:
            outcome = outcome_of(given, row["proposed_category"])
            when = max((one.when for one in given if one.when), default=None)
            by = [one.decided_by for one in given]
            events.append(outcome_event(row["id"], by, when, outcome))
        else:
            proposed = unreviewed and row.get("market_event") is True
            counts["taken unreviewed" if proposed else "not decided on, left out"] += 1
            if proposed:
                released.append(Released(row, row["proposed_category"], 0))
            continue
        counts[by_decision.get(outcome.decision, "left out as hard cases")] += 1
        if outcome.decision == "kept" and outcome.category:
            released.append(Released(row, outcome.category, outcome.people))
    return released, events, counts
