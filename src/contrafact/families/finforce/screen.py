"""Which headlines are candidates for the benchmark: proposals, for people to decide on.

FIN-FORCE, section 3.2 and appendix A.6: a headline reports a market event if it has *event status*
(a current, factual development) and *material relevance* (it concerns one of the ten categories).
Rules decide where a headline's form leaves no doubt; a model is asked about the rest; what neither
settles is left open.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from contrafact.errors import InputError
from contrafact.families.finforce.check import LONGEST, SHORTEST
from contrafact.families.finforce.data import CATEGORIES, canonical_category
from contrafact.judges.replies import read_json_object

__all__ = [
    "NOBODY",
    "Proposal",
    "proposal_by_rule",
    "proposal_from_reply",
    "screening_rules",
]

NOBODY = "nobody"
"""Who labelled a headline that neither a rule nor a model settled."""


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
    """Return the rules, read once."""
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


def proposal_from_reply(reply: str, model: str) -> Proposal:
    """Return what a model's reply says of a headline; an invalid one leaves it open, with why.

    The reply is one JSON object with ``event_status`` and ``material_relevance`` (true or false),
    ``category`` (one of the ten, or null) and ``reason``. A market event without a category, and a
    category that is none of the ten, are invalid.
    """
    read = read_json_object(reply)
    if read.value is None:
        return _invalid(model, read.invalid or "not JSON")
    status, relevance = (_truth(read.value, key) for key in ("event_status", "material_relevance"))
    if status is None or relevance is None:
        return _invalid(model, "no true or false under event_status or material_relevance")
    named = read.value.get("category")
    category = canonical_category(named)[0] if isinstance(named, str) else None
    if status and relevance and category is None:
        return _invalid(model, f"the category is none of the ten: {str(named)[:40]!r}")
    reason = " ".join(str(read.value.get("reason") or "").split())[:500]
    holds = status and relevance
    return Proposal(status, relevance, category if holds else None, f"model:{model}", reason)


def _truth(value: Mapping[str, Any], key: str) -> bool | None:
    found = value.get(key)
    if isinstance(found, str) and found.strip().lower() in ("true", "false"):
        return found.strip().lower() == "true"
    return found if isinstance(found, bool) else None


def _invalid(model: str, why: str) -> Proposal:
    return Proposal(None, None, None, NOBODY, f"invalid reply of {model}: {why}")


def category_of(text: str, *, file: str, line: int) -> str:
    """Return the category that a person wrote.

    Raises:
        InputError: It is none of the ten.
    """
    found = canonical_category(text)[0]
    if found is None:
        raise InputError(
            f"'{text[:40]}' is none of the ten categories",
            file=file,
            line=line,
            hint=f"write one of: {'; '.join(CATEGORIES)}",
        )
    return found
