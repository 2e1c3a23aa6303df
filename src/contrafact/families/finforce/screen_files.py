"""What screening reads and writes: candidates, proposals, and the sheet that people fill in.

FIN-FORCE, section 3.3: people decide, and flag what they are not sure of.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from contrafact.corpus.ledger import Decision, LedgerEvent
from contrafact.errors import InputError
from contrafact.families.finforce.screen import Proposal, category_of
from contrafact.files.sheets import guarded, unguarded
from contrafact.files.tables import read_rows, source_name
from contrafact.records import NewsItem, content_id
from contrafact.text.delimit import printable

__all__ = [
    "SHEET_COLUMNS",
    "Answer",
    "Candidate",
    "Verdict",
    "proposal_event",
    "read_sheets",
    "screened_row",
    "sheet_row",
    "verdict",
    "verdict_event",
]

SHEET_COLUMNS = (
    *("item_id", "headline", "proposed", "proposed_category", "proposed_by", "why"),
    *("decision", "category", "decided_by", "when", "note"),
)
_DECISIONS = {
    **dict.fromkeys(("yes", "y", "true", "1", "market_event", "kept"), "yes"),
    **dict.fromkeys(("no", "n", "false", "0", "dropped"), "no"),
    **dict.fromkeys(("unsure", "?", "flag", "flagged", "hard case"), "unsure"),
}


@dataclass(frozen=True)
class Candidate:
    """A headline to be screened, and the news item it came with."""

    id: str
    item: NewsItem
    fields: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, item: NewsItem, fields: dict[str, Any]) -> "Candidate":
        """Return the candidate with the id that its headline has anywhere in the project."""
        return cls(content_id(item.title, prefix="h"), item, fields)


@dataclass(frozen=True)
class Answer:
    """What one person decided about one headline."""

    item_id: str
    decision: str
    """``yes``, ``no`` or ``unsure``."""
    category: str | None
    decided_by: str
    when: str | None
    note: str


def screened_row(candidate: Candidate, proposal: Proposal) -> dict[str, Any]:
    """Return a candidate with what is proposed about it, as a row of the screened file."""
    item = candidate.item
    return {
        "id": candidate.id,
        "headline": item.title,
        "description": item.summary or None,
        "date": item.date,
        "url": item.url,
        "source": item.source,
        "ticker": item.ticker,
        **proposal.fields(),
    }


def sheet_row(row: dict[str, Any]) -> dict[str, str]:
    """Return the row of the sheet on which a person decides about a screened headline."""
    proposed = {True: "yes", False: "no", None: ""}[row["market_event"]]
    shown = {
        "item_id": row["id"],
        "headline": guarded(printable(row["headline"])),
        "proposed": proposed,
        "proposed_category": row["proposed_category"] or "",
        "proposed_by": row["labelled_by"],
        "why": guarded(printable(row["why"])),
    }
    return {**shown, **dict.fromkeys(SHEET_COLUMNS[len(shown) :], "")}


def proposal_event(row: dict[str, Any]) -> LedgerEvent:
    """Return the ledger's event of a proposal; an open one is a hard case for people."""
    decisions: dict[bool | None, Decision] = {True: "kept", False: "dropped", None: "hard case"}
    by = row["labelled_by"]
    return LedgerEvent(
        item_id=row["id"],
        article_id=row["id"],
        stage="screen (proposal)",
        decision=decisions[row["market_event"]],
        by=by if ":" in by else "rule:open",
        why=row["why"],
    )


def read_sheets(paths: Sequence[str | Path], known: set[str]) -> dict[str, list[Answer]]:
    """Return what people decided, by headline; rows without a decision are passed over.

    A sheet is CSV, JSON Lines or Parquet with ``item_id``, ``decision`` (yes, no or unsure),
    ``decided_by`` and, where the proposed category is not the one, ``category``. A person's later
    decision on a headline replaces an earlier one.

    Args:
        paths: The sheets.
        known: The ids that may be decided on.

    Raises:
        InputError: An id that is not among them, a decision that is none, no name, or a category
            that is none of the ten; the message names the line.
    """
    found: dict[str, dict[str, Answer]] = defaultdict(dict)
    for path in paths:
        name = source_name(path)
        for line, row in read_rows(path):
            text = {key: str(value or "").strip() for key, value in row.items()}
            if not text.get("decision"):
                continue
            answer = _answer(text, known, name, line)
            found[answer.item_id][answer.decided_by] = answer
    return {item: list(answers.values()) for item, answers in found.items()}


def _answer(text: dict[str, str], known: set[str], file: str, line: int) -> Answer:
    def wrong(problem: str, hint: str) -> InputError:
        return InputError(problem, file=file, line=line, hint=hint)

    item, said = text.get("item_id", ""), text["decision"]
    decision = _DECISIONS.get(said.casefold())
    if item not in known:
        raise wrong(f"'{item[:40]}' is no headline of the file", "is it the right sheet?")
    if decision is None:
        raise wrong(f"'{said[:40]}' is no decision", "write yes, no or unsure")
    if not text.get("decided_by"):
        raise wrong("nobody is named in decided_by", "write who decided")
    named = unguarded(text.get("category", ""))
    return Answer(
        item_id=item,
        decision=decision,
        category=category_of(named, file=file, line=line) if named else None,
        decided_by=text["decided_by"],
        when=text.get("when") or None,
        note=text.get("note", ""),
    )


@dataclass(frozen=True)
class Verdict:
    """What the people who decided on a headline come to."""

    decision: Decision
    category: str | None
    why: str
    people: int


def verdict(answers: Sequence[Answer], proposed: str | None) -> Verdict:
    """Return the majority's decision (section 3.3); ties and doubts make a hard case.

    A decision without a category stands for the proposed one. A market event needs a majority for
    one category too.
    """
    votes = Counter(answer.decision for answer in answers)
    people = len(answers)
    winner, most = votes.most_common(1)[0]
    if 2 * most <= people:
        return Verdict("hard case", None, f"people disagree ({_tally(votes)})", people)
    if winner == "unsure":
        return Verdict("hard case", None, "people are not sure", people)
    if winner == "no":
        return Verdict("dropped", None, "is no market event", people)
    named = Counter(a.category or proposed for a in answers if a.decision == "yes")
    category, number = named.most_common(1)[0]
    if category is None:
        return Verdict("hard case", None, "nobody names a category", people)
    if 2 * number <= named.total():
        return Verdict("hard case", None, "people disagree on the category", people)
    return Verdict("kept", category, f"is a market event ({_tally(votes)})", people)


def verdict_event(item_id: str, answers: Sequence[Answer], outcome: Verdict) -> LedgerEvent:
    """Return the ledger's event of people's decision on a headline."""
    who = ", ".join(sorted(answer.decided_by for answer in answers))
    when = max((answer.when for answer in answers if answer.when), default=None)
    return LedgerEvent(
        item_id=item_id,
        article_id=item_id,
        stage="screen (people)",
        decision=outcome.decision,
        by=f"person:{who}",
        why=outcome.why,
        when=when or datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _tally(votes: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in sorted(votes.items()))
