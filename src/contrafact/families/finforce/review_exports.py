"""The headlines that people accepted, in filled sheets or in a review in the studio.

FIN-FORCE, section 3.3. `finforce release` reads screened headlines with filled sheets, or the items
that a review exports, which hold the outcome, the answers that more than half agreed on, and the
people who took part.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from contrafact.files.tables import read_rows
from contrafact.records import content_id

_OUTCOMES: dict[str, Decision] = {"final": "kept", "removed": "dropped", "hard case": "hard case"}


@dataclass(frozen=True)
class ReviewedHeadline:
    """A headline's outcome in a review, None while it is under way, and who took part, in order."""

    outcome: Outcome | None
    by: tuple[str, ...]


@dataclass(frozen=True)
class Decided:
    """The headlines of a file, and people's decisions on them in sheets or in a review."""

    rows: list[dict[str, Any]]
    answers: Mapping[str, Sequence[SheetDecision]] = field(default_factory=dict)
    reviewed: Mapping[str, ReviewedHeadline] = field(default_factory=dict)
    repeated: int = 0


def is_review_export(row: Mapping[str, Any]) -> bool:
    return "review_outcome" in row and "item_id" in row


def decided(file: str, sheets: Sequence[Path], *, unreviewed: bool) -> Decided:
    """Return a file's headlines with the decisions on them.

    Raises:
        InputError: The file holds neither screened headlines nor a review's items, there are no
            decisions, or a decision is unusable; the message names the line.
    """
    lines = list(read_rows(file, guarded=is_review_export))
    rows = [row for _, row in lines]
    if rows and all(map(is_review_export, rows)) and not sheets:
        return _of_review(lines, file)
    if any("market_event" not in row or "id" not in row for row in rows):
        raise InputError(
            "is not a file of screened headlines",
            file=file,
            hint="run finforce screen first, or give a review's exported items",
        )
    if not sheets and not unreviewed:
        raise InputError(
            "no decisions are given",
            hint="name filled sheets with --decisions, or take proposals with --unreviewed",
        )
    for path in sheets:
        if any(is_review_export(row) for _, row in read_rows(path)):
            raise InputError(
                "is a review's export, not a filled sheet",
                file=path,
                hint="release the review's items: review export --what items",
            )
    return Decided(rows, read_sheets(sheets, {str(row["id"]) for row in rows}))


def _of_review(lines: Sequence[tuple[int, Mapping[str, Any]]], file: str) -> Decided:
    """Return the headlines of a review's exported items, each once, and their outcomes.

    A headline that was not screened before the review gets its id from its text.
    """
    unique: dict[str, dict[str, Any]] = {}
    reviewed: dict[str, ReviewedHeadline] = {}
    for line, cells in lines:
        row = {name: None if value == "" else value for name, value in cells.items()}
        if not row.get("headline"):
            raise InputError(
                "holds no headline", file=file, line=line, hint="export the review's items"
            )
        screened = "market_event" in row and row.get("id")
        id = str(row["id"]) if screened else content_id(str(row["headline"]), prefix="h")
        if id in unique:
            continue
        unique[id] = {**row, "id": id}
        try:
            by = _people(row.get("review_by") or [])
            reviewed[id] = ReviewedHeadline(_outcome(row, len(by)), by)
        except InputError as error:
            raise error.at(file, line) from error
    return Decided([*unique.values()], {}, reviewed, len(lines) - len(unique))


def _people(written: Any) -> tuple[str, ...]:
    """Return the names in a list, which is JSON in a table of texts."""
    try:
        names = json.loads(written) if isinstance(written, str) else written
    except ValueError:
        names = None
    if not isinstance(names, list):
        raise InputError("review_by is no list of names", hint="export the review again")
    return tuple(sorted(map(str, names)))


def _outcome(row: Mapping[str, Any], people: int) -> Outcome | None:
    """Return a review's outcome; a market event without a category is a hard case."""
    written = str(row["review_outcome"] or "").strip()
    if not written:
        return None
    decision = _OUTCOMES.get(written)
    if decision is None:
        raise InputError(f"'{written[:40]}' is not an outcome", hint="export the review again")
    named = row.get("answer_market_category")
    category = canonical_category(str(named))[0] if named else None
    if named and category is None:
        problem = f"'{str(named)[:40]}' is not one of the ten categories"
        raise InputError(problem, hint="is it the right review?")
    if decision == "kept" and category is None:
        return Outcome("hard case", None, "people disagree on the category", people)
    kept = category if decision == "kept" else None
    return Outcome(decision, kept, str(row.get("review_why") or ""), people)


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
            events.append(outcome_event(row["id"], seen.by, None, outcome))
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
