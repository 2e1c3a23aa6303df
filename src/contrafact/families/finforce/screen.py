"""Which headlines are candidates for the benchmark: proposals, and what people decide on them.

FIN-FORCE, sections 3.2 and 3.3 and appendix A.6: a headline reports a market event if it has *event
status* (a current, factual development) and *material relevance* (it concerns one of the ten
categories). Rules decide where a headline's form leaves no doubt; a model is asked about the rest;
what neither settles is left open. People decide on a sheet, and flag what they are not sure of.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from inspect_ai.model import ResponseSchema
from inspect_ai.util import JSONSchema

from contrafact.corpus.ledger import Decision, LedgerEvent, event_time
from contrafact.errors import InputError
from contrafact.families.finforce.data import CATEGORIES, canonical_category
from contrafact.families.finforce.data_check import LONGEST, SHORTEST
from contrafact.files.sheets import guarded, unguarded
from contrafact.files.tables import read_rows, source_name
from contrafact.judges.replies import as_bool, read_json_object
from contrafact.models.asking import Ask, Unanswered, kept_reply
from contrafact.prompts import PromptPack, PromptTemplate
from contrafact.records import NewsItem
from contrafact.stats.votes import majority
from contrafact.text.delimit import delimit, printable

__all__ = [
    "NOBODY",
    "SHEET_COLUMNS",
    "Outcome",
    "Proposal",
    "SheetDecision",
    "ask_screening",
    "outcome_event",
    "outcome_of",
    "proposal_by_rule",
    "proposal_event",
    "proposal_from_reply",
    "read_sheets",
    "screened_row",
    "screening_template",
    "sheet_row",
]

NOBODY = "nobody"
"""Who labelled a headline that neither a rule nor a model settled."""

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
class Proposal:
    """What a rule or a model makes of a headline; none where it says nothing."""

    event_status: bool | None
    material_relevance: bool | None
    category: str | None
    labelled_by: str
    """``rule:<name>``, ``model:<name>`` or ``nobody``."""
    why: str

    @property
    def market_event(self) -> bool | None:
        """Whether both criteria hold; none where that is open."""
        if self.event_status is False or self.material_relevance is False:
            return False
        if self.event_status and self.material_relevance:
            return True
        return None

    def fields(self) -> dict[str, Any]:
        """Return it as the fields of a screened row."""
        return {
            "market_event": self.market_event,
            "event_status": self.event_status,
            "material_relevance": self.material_relevance,
            "proposed_category": self.category,
            "labelled_by": self.labelled_by,
            "why": self.why,
        }


@dataclass(frozen=True)
class _Rule:
    name: str
    pattern: re.Pattern[str]
    why: str
    criterion: str | None = None
    category: str | None = None
    unless: re.Pattern[str] | None = None


@dataclass(frozen=True)
class ScreeningRules:
    """The rules of ``screen_rules.toml``, compiled."""

    against: tuple[_Rule, ...]
    in_favour: tuple[_Rule, ...]
    open: tuple[re.Pattern[str], ...]


@cache
def screening_rules() -> ScreeningRules:
    file = resources.files("contrafact.families.finforce").joinpath("screen_rules.toml")
    data = tomllib.loads(file.read_text("utf-8"))

    def rule(entry: dict[str, str]) -> _Rule:
        unless = entry.get("unless")
        return _Rule(
            name=entry["name"],
            pattern=re.compile(entry["pattern"], re.IGNORECASE),
            why=entry["why"],
            criterion=entry.get("criterion"),
            category=entry.get("category"),
            unless=re.compile(unless, re.IGNORECASE) if unless else None,
        )

    return ScreeningRules(
        against=tuple(map(rule, data["against"])),
        in_favour=tuple(map(rule, data["for"])),
        open=tuple(re.compile(pattern, re.IGNORECASE) for pattern in data["open"]),
    )


def proposal_by_rule(headline: str) -> Proposal | None:
    """Return what the rules say of a headline; none where they leave it open."""
    text = " ".join(headline.replace("’", "'").split())
    if len(text) < SHORTEST:
        return _against("event_status", "rule:too short", f"has under {SHORTEST} characters")
    if len(text) > LONGEST:
        return _against("event_status", "rule:too long", f"has over {LONGEST:,} characters")
    rules = screening_rules()
    for rule in rules.against:
        if rule.pattern.search(text):
            return _against(rule.criterion or "event_status", f"rule:{rule.name}", rule.why)
    if any(pattern.search(text) for pattern in rules.open):
        return None
    found = [rule for rule in rules.in_favour if rule.pattern.search(text)]
    if len({rule.category for rule in found}) != 1:
        return None
    if any(rule.unless and rule.unless.search(text) for rule in found):
        return None
    return Proposal(True, True, found[0].category, f"rule:{found[0].name}", found[0].why)


def _against(criterion: str, by: str, why: str) -> Proposal:
    if criterion == "event_status":
        return Proposal(False, None, None, by, why)
    return Proposal(None, False, None, by, why)


def proposal_from_reply(reply: str, model: str, headline: str = "") -> Proposal:
    """Return what a model's reply says of a headline; an invalid one leaves it open, with why.

    It is JSON with ``event_status``, ``material_relevance`` (true or false), ``category`` (one of
    the ten, or null) and ``reason``.
    """
    read = read_json_object(reply, [headline])
    if read.value is None:
        return _invalid(model, read.invalid or "not JSON")
    status, relevance = map(as_bool, map(read.value.get, ("event_status", "material_relevance")))
    if status is None or relevance is None:
        return _invalid(model, "no true or false under event_status or material_relevance")
    named = read.value.get("category")
    category = canonical_category(named)[0] if isinstance(named, str) else None
    if status and relevance and category is None:
        return _invalid(model, f"the category is none of the ten: {str(named)[:40]!r}")
    reason = " ".join(str(read.value.get("reason") or "").split())[:500]
    holds = status and relevance
    return Proposal(status, relevance, category if holds else None, f"model:{model}", reason)


def _invalid(model: str, why: str) -> Proposal:
    return Proposal(None, None, None, NOBODY, f"invalid reply of {model}: {why}")


@dataclass(frozen=True)
class SheetDecision:
    """What one person decided about one headline."""

    item_id: str
    decision: str
    """``yes``, ``no`` or ``unsure``."""
    category: str | None
    decided_by: str
    when: str | None


def screened_row(id: str, item: NewsItem, proposal: Proposal) -> dict[str, Any]:
    """Return a headline with what is proposed about it, as a row of the screened file."""
    return {
        "id": id,
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
    decision = {True: "kept", False: "dropped", None: "hard case"}[row["market_event"]]
    by = row["labelled_by"] if ":" in row["labelled_by"] else "rule:open"
    return LedgerEvent.of("screen (proposal)", row["id"], decision, by, row["why"])


def read_sheets(paths: Sequence[str | Path], known: set[str]) -> dict[str, list[SheetDecision]]:
    """Return what people decided, by headline; rows without a decision are passed over.

    A sheet is a table with ``item_id``, ``decision`` (yes, no or unsure), ``decided_by`` and, where
    the proposed category is not the one, ``category``. A person's later decision on a headline
    replaces an earlier one.

    Raises:
        InputError: An id that is not among those known, a decision that is none, no name, or a
            category that is none of the ten; the message names the line.
    """
    found: dict[str, dict[str, SheetDecision]] = defaultdict(dict)
    for path in paths:
        name = source_name(path)
        for line, row in read_rows(path):
            text = {key: str(value or "").strip() for key, value in row.items()}
            if not text.get("decision"):
                continue
            decision = _decision(text, known, name, line)
            found[decision.item_id][decision.decided_by] = decision
    return {item: list(decisions.values()) for item, decisions in found.items()}


def _decision(text: dict[str, str], known: set[str], file: str, line: int) -> SheetDecision:
    def wrong(problem: str, hint: str) -> InputError:
        return InputError(problem, file=file, line=line, hint=hint)

    item, written = text.get("item_id", ""), text["decision"]
    decision = _DECISIONS.get(written.casefold())
    if item not in known:
        raise wrong(f"'{item[:40]}' is no headline of the file", "is it the right sheet?")
    if decision is None:
        raise wrong(f"'{written[:40]}' is no decision", "write yes, no or unsure")
    if not text.get("decided_by"):
        raise wrong("nobody is named in decided_by", "write who decided")
    named = unguarded(text.get("category", ""))
    category = canonical_category(named)[0] if named else None
    if named and category is None:
        raise wrong(
            f"'{named[:40]}' is none of the ten categories",
            f"write one of: {'; '.join(CATEGORIES)}",
        )
    return SheetDecision(
        item_id=item,
        decision=decision,
        category=category,
        decided_by=text["decided_by"],
        when=text.get("when") or None,
    )


@dataclass(frozen=True)
class Outcome:
    """What the people who decided on a headline come to."""

    decision: Decision
    category: str | None
    why: str
    people: int


def outcome_of(decisions: Sequence[SheetDecision], proposed: str | None) -> Outcome:
    """Return what the majority decides (section 3.3); ties and doubts make a hard case.

    A decision without a category stands for the proposed one. A market event needs a majority for
    one category too.
    """
    votes = Counter(one.decision for one in decisions)
    tally = ", ".join(f"{number} {word}" for word, number in sorted(votes.items()))
    people = len(decisions)
    winner = majority(one.decision for one in decisions)
    if winner is None:
        return Outcome("hard case", None, f"people disagree ({tally})", people)
    if winner == "unsure":
        return Outcome("hard case", None, "people are not sure", people)
    if winner == "no":
        return Outcome("dropped", None, "is no market event", people)
    named = [one.category or proposed for one in decisions if one.decision == "yes"]
    if not any(named):
        return Outcome("hard case", None, "nobody names a category", people)
    category = majority(named)
    if category is None:
        return Outcome("hard case", None, "people disagree on the category", people)
    return Outcome("kept", category, f"is a market event ({tally})", people)


def outcome_event(
    item_id: str, by: Sequence[str], when: str | None, outcome: Outcome
) -> LedgerEvent:
    """Return the ledger's event of what people decided on a headline, now if no time is known."""
    who, when = f"person:{', '.join(sorted(by))}", when or event_time()
    return LedgerEvent.of("screen (people)", item_id, outcome.decision, who, outcome.why, when=when)


@cache
def category_meanings() -> tuple[tuple[str, str], ...]:
    file = resources.files("contrafact.families.finforce").joinpath("screen_categories.toml")
    meanings = tomllib.loads(file.read_text("utf-8"))
    return tuple((name, meanings[name]) for name in CATEGORIES)


def screening_template(pack: PromptPack) -> PromptTemplate:
    """Return the pack's template ``finforce/screen``."""
    return pack.template("finforce/screen", required={"headline", "categories"})


async def ask_screening(headline: str, ask: Ask, template: PromptTemplate) -> str:
    """Ask a model about a headline; return its reply, or in brackets why there is none."""
    prompt = template.render(headline=delimit(headline), categories=category_meanings())
    try:
        return kept_reply(await ask(prompt, _schema()))
    except Unanswered as error:
        return f"[{error}]"


def _schema() -> ResponseSchema:
    properties = {
        "reason": JSONSchema(type="string"),
        "event_status": JSONSchema(type="boolean"),
        "material_relevance": JSONSchema(type="boolean"),
        "category": JSONSchema(
            anyOf=[JSONSchema(type="string", enum=list(CATEGORIES)), JSONSchema(type="null")]
        ),
    }
    return ResponseSchema(
        name="screening",
        json_schema=JSONSchema(
            type="object",
            properties=properties,
            required=list(properties),
            additionalProperties=False,
        ),
        strict=True,
    )
