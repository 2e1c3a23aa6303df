"""What a quantity measures, by the words around it, and its scenario (appendix S.2)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from contrafact.text.alternatives import alternatives
from contrafact.text.quantities.cues import cue_data
from contrafact.text.quantities.quantity import ROLES, Quantity, QuantityKind, Role, Scenario

__all__ = ["Cue", "cues", "nearest_cue", "role_and_unit", "scenario"]


@dataclass(frozen=True, slots=True)
class Cue:
    """A word that says what is measured; ``groups`` are its lists."""

    start: int
    end: int
    groups: frozenset[str]


_IMPLIED = {"stock": "price", "index": "price", "index_name": "price", "interest": "rate"}


@cache
def _matcher() -> tuple[re.Pattern[str], dict[str, frozenset[str]]]:
    data = cue_data()
    groups: dict[str, set[str]] = {}
    for section in ("roles", "scenario"):
        for name, terms in data[section].items():
            for term in terms:
                implied = {
                    "stock": "price",
                    "index": "price",
                    "index_name": "price",
                    "interest": "rate",
                }.get(name, name)
                groups.setdefault(term, set()).update((name, implied))
    pattern = re.compile(rf"(?<!\w)(?:{alternatives(groups)})(?!\w)", re.IGNORECASE)
    return pattern, {term: frozenset(names) for term, names in groups.items()}


def cues(text: str) -> list[Cue]:
    """Return the words of a text that say what is measured, in order, the longest at each place."""
    pattern, groups = _matcher()
    return [
        Cue(m.start(), m.end(), groups[" ".join(re.split(r"[\s-]+", m[0].casefold()))])
        for m in pattern.finditer(text)
    ]


_PLAIN: dict[QuantityKind, Role] = {
    "money": "money",
    "percent": "percent",
    "basis points": "rate",
    "duration": "duration",
    "ratio": "multiple",
    "number": "number",
}
_MONEY_ROLES = frozenset(("money", "price", "eps", "revenue"))
_PER_SHARE = re.compile(r"\s?(?:per|a|/)\s?share\b", re.IGNORECASE)
_PER_UNIT = re.compile(
    r"\s?(?:per|a|an|/)\s?(?:barrel|bbl|ounce|oz|ton|tonne|pound|gallon|bushel|kilo|kg|unit|litre"
    r"|liter|mmbtu|square\sfoot|token|coin)\b",
    re.IGNORECASE,
)
_OF_WHOLE = re.compile(
    r"\sof\s(?:the\s|its\s|their\s|all\s|total\s|[a-z]+['’]s\s)*(?!gdp\b|gross\b|growth\b)[a-z&]",
    re.IGNORECASE,
)
_SMALL_WORDS = (
    r"in|of|to|for|at|by|on|from|and|or|as|with|after|before|this|that|per|an?|the|its|their|than"
    r"|is|was|were|are|has|have|had|said|says|will|would|could|if|so|but|when|while|since|until"
)


@cache
def _unit_noun() -> re.Pattern[str]:
    known = alternatives(cue_data()["counted"]["units"])
    return re.compile(
        rf"(?:[\s-](?!(?:{_SMALL_WORDS})\b)[\w.]+(?:-[\w]+)?|\sof\sits){{0,2}}?[\s-]"
        rf"(?P<known>{known})\b"
        rf"|(?:\s(?!(?:{_SMALL_WORDS})\b)(?-i:[a-z]+(?:-[a-z]+)?))?[\s-]"
        r"(?P<noun>(?-i:[a-z]{3,}(?<!s)s|aircraft|personnel|headcount|bpd|boepd|men|women))\b",
        re.IGNORECASE,
    )


_ABBREVIATED = re.compile(r"\s?\([A-Z&]{2,7}\)")
_BREAK = re.compile(r"[,;:()]|\b(?:while|but|and|as|after|although|which|whereas|when)\b", re.I)


def role_and_unit(
    text: str,
    quantity: Quantity,
    cue: Cue | None,
    *,
    central_bank: bool,
) -> tuple[Role, str | None]:
    """Return a quantity's role and unit.

    Args:
        text: The text.
        quantity: The quantity.
        cue: The cue nearest to it, as `nearest_cue` tells.
        central_bank: Whether the text speaks of a central bank.
    """
    kind, style, after = quantity.kind, quantity.form.style, quantity.end
    if kind == "duration":
        return "duration", quantity.unit
    if kind == "number":
        return _counted(text, quantity, cue)
    if kind == "money" and _PER_UNIT.match(text, after):
        return "price", quantity.unit
    per_share = kind == "money" and _PER_SHARE.match(text, after)
    groups = cue.groups & _allowed(quantity) if cue else frozenset[str]()
    if per_share:
        role: Role = "price" if "price" in groups and "eps" not in groups else "eps"
        return role, quantity.unit
    if kind == "ratio" and style in ("digits", "words") and not groups & {"revenue", "money"}:
        return "multiple", quantity.unit
    whole = kind in ("percent", "ratio") and style != "multiple" and _OF_WHOLE.match(text, after)
    if whole or (style == "split" and "-for-" not in quantity.text):
        return "share", quantity.unit
    for role in ROLES:
        if role in groups:
            return _policy(role, quantity, cue, central_bank), quantity.unit
    return _policy(_PLAIN[kind], quantity, None, central_bank), quantity.unit


def _policy(role: Role, quantity: Quantity, cue: Cue | None, central_bank: bool) -> Role:
    """Return the policy rate for a rate of no other kind, where a central bank is spoken of."""
    generic = cue is None or "interest" in cue.groups
    if role == "rate" and central_bank and generic:
        return "policy rate"
    return role


def _counted(text: str, quantity: Quantity, cue: Cue | None) -> tuple[Role, str | None]:
    unit = quantity.unit
    if unit:
        return "count", unit
    start = quantity.end + text.startswith("+", quantity.end)
    match = _unit_noun().match(text, start, start + 60)
    if match:
        noun = (match["known"] or match["noun"]).casefold()
        if noun in ("points", "point", "pts"):
            unit = "points"
        elif noun == "times":
            return "multiple", noun
        elif noun not in cue_data()["counted"]["not_units"]:
            return "count", noun
    if cue and ("index_name" in cue.groups or ("index" in cue.groups and unit == "points")):
        return "price", unit
    return ("count" if cue and unit is None and "count" in cue.groups else "number"), unit


def nearest_cue(
    text: str, quantity: Quantity, found: Sequence[Cue], others: Sequence[Quantity]
) -> Cue | None:
    """Return the cue that stands nearest, by words, clauses and figures between."""
    best: Cue | None = None
    best_cost = 26.0
    for cue in found:
        groups = cue.groups & _allowed(quantity)
        if not groups:
            continue
        left = cue.end <= quantity.start
        if not left and cue.start < quantity.end:
            continue
        between = text[cue.end : quantity.start] if left else text[quantity.end : cue.start]
        between = _ABBREVIATED.sub("", between)
        cost = between.count(" ") + 6.0 * len(_BREAK.findall(between))
        low, high = (cue.end, quantity.start) if left else (quantity.end, cue.start)
        cost += 3.0 * sum(low <= other.start < high for other in others)
        if not left and cost > 2:
            cost = 2 + 2 * cost
        if "interest" in cue.groups and cue.end - cue.start <= len("rates"):
            cost += 4  # "CPI rate", "unemployment rate": the word before says which
        if groups <= {"money", "count", "percent"}:
            cost += 0.5
        if cost < best_cost:
            best, best_cost = cue, cost
    return best


@cache
def _allowed_for(kind: QuantityKind) -> frozenset[str]:
    if kind == "money":
        return _MONEY_ROLES
    if kind == "number":
        return frozenset(("count", "index", "index_name"))
    return frozenset(ROLES) - {"duration", "number"}


def _allowed(quantity: Quantity) -> frozenset[str]:
    return _allowed_for(quantity.kind)


def scenario(role: Role, cue: Cue | None, found: Sequence[Cue]) -> Scenario | None:
    """Return the scenario of appendix S.2 that a quantity belongs to.

    Args:
        role: Its role.
        cue: The cue that gave it the role, if one did.
        found: The cues of its sentence.
    """
    groups = cue.groups if cue else frozenset[str]()
    guided = any("guidance" in c.groups for c in found)
    if role == "price":
        if "guidance" in groups:
            return "E"
        return "A" if "stock" in groups else "F" if groups & {"index", "index_name"} else None
    if role in ("share", "engagement"):
        return "D"
    if role in ("utilisation", "count"):
        return "E" if guided else "C"
    if role in ("revenue", "eps", "margin", "money"):
        return "E" if guided else "B"
    return None
