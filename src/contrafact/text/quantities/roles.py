"""The role and unit of a quantity, and whether it is a loss or an estimate, by nearby words."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from contrafact.text.quantities.quantity import ROLES, Quantity, QuantityKind, Role
from contrafact.text.tokens import alternation, folded


@cache
def cue_data() -> dict[str, Any]:
    """Return the content of ``cues.toml``: movement, role and outcome words."""
    return tomllib.loads(files(__package__).joinpath("cues.toml").read_text(encoding="utf-8"))


def expression(module: str, name: str) -> re.Pattern[str]:
    """Return a pattern from ``cues.toml``, compiled to ignore case."""
    lines: str = cue_data()["expressions"][module][name]
    return re.compile("".join(lines.splitlines()), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Cue:
    """A word that names a measured variable; ``groups`` are the lists that contain it."""

    start: int
    end: int
    groups: frozenset[str]


_IMPLIED = {"stock": "price", "index": "price", "index_name": "price", "interest": "rate"}


def _groups() -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    for name, terms in cue_data()["roles"].items():
        for term in terms:
            groups[term] = groups.get(term, frozenset()) | {name, _IMPLIED.get(name, name)}
    return groups


_GROUPS = _groups()
_CUE = re.compile(rf"(?<!\w)(?:{alternation(_GROUPS)})(?!\w)", re.IGNORECASE)


def cues(text: str) -> list[Cue]:
    """Return the cues in a text in order, each the longest match."""
    return [
        Cue(m.start(), m.end(), _GROUPS[" ".join(re.split(r"[\s-]+", folded(m[0])))])
        for m in _CUE.finditer(text)
    ]


_PLAIN: dict[QuantityKind, Role] = {
    "money": "money",
    "percent": "percent",
    "basis points": "rate",
    "duration": "duration",
    "ratio": "multiple",
    "number": "number",
}
_MEASURED: dict[QuantityKind, frozenset[str]] = {
    **dict.fromkeys(_PLAIN, frozenset(ROLES) - {"duration", "number"}),
    "money": frozenset(("money", "price", "eps", "revenue")),
    "number": frozenset(("count", "index", "index_name")),
}
"""The lists of cues that can apply to each kind of quantity."""
_PER_SHARE = re.compile(r"\s?(?:per|a|/)\s?share\b", re.IGNORECASE)
_PER_UNIT = expression("roles", "per_unit")
_OF_WHOLE = expression("roles", "of_whole")
_SMALL_WORDS = (
    r"in|of|to|for|at|by|on|from|and|or|as|with|after|before|this|that|per|an?|the|its|their|than"
    r"|is|was|were|are|has|have|had|said|says|will|would|could|if|so|but|when|while|since|until"
)


_UNIT_NOUN = re.compile(
    rf"(?:[\s-](?!(?:{_SMALL_WORDS})\b)[\w.]+(?:-[\w]+)?|\sof\sits){{0,2}}?[\s-]"
    rf"(?P<known>{alternation(cue_data()['counted']['units'])})\b"
    rf"|(?:\s(?!(?:{_SMALL_WORDS})\b)(?-i:[a-z]+(?:-[a-z]+)?))?[\s-]"
    r"(?P<noun>(?-i:[a-z]{3,}(?<!s)s|aircraft|personnel|headcount|bpd|boepd|men|women))\b",
    re.IGNORECASE,
)
_ABBREVIATED = re.compile(r"\s?\([A-Z&]{2,7}\)")
_BREAK = re.compile(r"[,;:()]|\b(?:while|but|and|as|after|although|which|whereas|when)\b", re.I)


def role_and_unit(
    text: str, quantity: Quantity, cue: Cue | None, *, central_bank: bool
) -> tuple[Role, str | None]:
    kind, style, after = quantity.kind, quantity.form.style, quantity.end
    if kind == "duration":
        return "duration", quantity.unit
    if kind == "number":
        return _counted(text, quantity, cue)
    if kind == "money" and _PER_UNIT.match(text, after):
        return "price", quantity.unit
    per_share = kind == "money" and _PER_SHARE.match(text, after)
    groups = cue.groups & _MEASURED[quantity.kind] if cue else frozenset[str]()
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
    """Return the role "policy rate" for a general rate if the text names a central bank."""
    generic = cue is None or "interest" in cue.groups
    if role == "rate" and central_bank and generic:
        return "policy rate"
    return role


def _counted(text: str, quantity: Quantity, cue: Cue | None) -> tuple[Role, str | None]:
    unit = quantity.unit
    if unit:
        return "count", unit
    start = quantity.end + text.startswith("+", quantity.end)
    match = _UNIT_NOUN.match(text, start, start + 60)
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
    """Return the nearest cue, by the words, clauses and figures between; None if all are far."""
    best: Cue | None = None
    best_cost = 26.0
    for cue in found:
        groups = cue.groups & _MEASURED[quantity.kind]
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
            cost += 4  # "CPI rate", "unemployment rate": the word before is more specific
        if groups <= {"money", "count", "percent"}:
            cost += 0.5
        if cost < best_cost:
            best, best_cost = cue, cost
    return best


# Words further away, in characters, do not concern a quantity.
_REACH = 160


_OUTCOMES = {
    name: re.compile(rf"(?<!\w)(?:{alternation(cue_data()['outcome'][name])})(?!\w)", re.I)
    for name in ("loss", "profit")
}
_NO_LOSS_BEFORE = re.compile(r"\b(?:stop|job|weight|storm|flood|fire|credit|loan)[\s-]\Z", re.I)
_OF_VALUE = expression("roles", "of_value")
_CLAUSE_BREAK = re.compile(r"[,;:]\s|\b(?:while|but|after|as|whereas)\b", re.IGNORECASE)
_EXPECTED_BEFORE = expression("roles", "expected_before")
_EXPECTED_AFTER = expression("roles", "expected_after")
_COMPANY_GUIDES = re.compile(
    r"\b(?:its|their|guidance|company|raised?s?|lifted|lifts|cut|hikes?)\b", re.I
)


def outcome(text: str, quantity: Quantity, first: int, end: int) -> tuple[bool, bool]:
    """Return whether a quantity is a loss, and whether it is an estimate."""
    before = text[max(first, quantity.start - _REACH) : quantity.start]
    after = text[quantity.end : min(end, quantity.end + _REACH)]
    expected = _EXPECTED_BEFORE.search(before[-90:]) and not _COMPANY_GUIDES.search(before[-90:])
    is_estimate = bool(_EXPECTED_AFTER.match(after) or expected)
    if quantity.kind == "duration":
        return False, False
    return _is_loss(before, after, quantity), is_estimate


def _is_loss(before: str, after: str, quantity: Quantity) -> bool:
    if quantity.kind != "money":
        return False
    right = re.match(r"(?:\s[\w.-]+){0,3}?\s(?:loss(?:es)?)\b(?!-)", after, re.IGNORECASE)
    if right and not _CLAUSE_BREAK.search(right[0]):
        return True
    if _OF_VALUE.match(after):
        return False
    nearest, is_loss = -1, False
    for name, pattern in _OUTCOMES.items():
        for match in pattern.finditer(before):
            if match.end() > nearest and not _NO_LOSS_BEFORE.search(before[: match.start()]):
                nearest, is_loss = match.end(), name == "loss"
    if nearest < 0 or not is_loss:
        return False
    gap = before[nearest:]
    return gap.count(" ") <= 14 and not re.search(r"\b(?:but|while|whereas)\b|;", gap)
