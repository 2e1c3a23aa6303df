"""Which directional words are turned round where: the data of ``flipping.toml``."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Company", "FlippingRules", "flipping_rules"]


@dataclass(frozen=True)
class Company:
    """The company in which some terms are turned round."""

    terms: frozenset[str]
    before: re.Pattern[str] | None
    after: re.Pattern[str] | None


@dataclass(frozen=True)
class FlippingRules:
    """What ``flipping.toml`` says; its comments say what each list is for."""

    moving: frozenset[str]
    pushing: frozenset[str]
    binding: frozenset[str]
    qualities: frozenset[str]
    anywhere: frozenset[str]
    phrases: frozenset[str]
    not_phrases: frozenset[str]
    results: frozenset[str]
    verdicts: frozenset[str]
    people: frozenset[str]
    holders: frozenset[str]
    expecting: frozenset[str]
    purposes: frozenset[str]
    reporting: re.Pattern[str]
    unturnable: re.Pattern[str]
    unturnable_policy: re.Pattern[str]
    nouns: Mapping[str, str]
    verbs: Mapping[str, list[str]]
    other_results: Mapping[str, str]
    only: tuple[Company, ...]
    stops: tuple[tuple[re.Pattern[str], str], ...]


@cache
def flipping_rules() -> FlippingRules:
    """Return the rules, read once."""
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("flipping.toml")
    data = tomllib.loads(source.read_text(encoding="utf-8"))

    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(text, re.IGNORECASE)

    def company(entry: Mapping[str, Any]) -> Company:
        sides = (pattern(entry[s]) if s in entry else None for s in ("before", "after"))
        return Company(frozenset(entry["terms"]), *sides)

    def terms(name: str) -> frozenset[str]:
        return frozenset(data[name])

    return FlippingRules(
        moving=terms("moving"),
        pushing=terms("pushing"),
        binding=terms("binding"),
        qualities=terms("qualities"),
        anywhere=terms("anywhere"),
        phrases=terms("phrases"),
        not_phrases=terms("not_phrases"),
        results=terms("results"),
        verdicts=terms("verdicts"),
        people=frozenset(data["people"].split()),
        holders=frozenset(data["holders"].split()),
        expecting=frozenset(data["expecting"].split()),
        purposes=frozenset(data["purposes"].split()),
        reporting=pattern(data["reporting"]),
        unturnable=pattern(data["unturnable"]),
        unturnable_policy=pattern(data["unturnable_policy"]),
        nouns=data["nouns"],
        verbs=data["verbs"],
        other_results=data["results_opposite"],
        only=tuple(company(entry) for entry in data["only"]),
        stops=tuple((pattern(entry["pattern"]), entry["reason"]) for entry in data["stop"]),
    )
