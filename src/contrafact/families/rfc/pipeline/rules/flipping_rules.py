"""What ``flipping.toml`` says of directional words, and the words that are found."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from contrafact.families.rfc.pipeline.rules.grammar import Word
from contrafact.text.words import Match

__all__ = [
    "FEELINGS",
    "OBJECTS",
    "SUBJECTS",
    "VERBAL",
    "WHY",
    "Context",
    "FlippingRules",
    "Found",
    "Moves",
    "flipping_rules",
]

WHY = "says the opposite direction"
"""Why a directional word is changed."""

VERBAL = frozenset({"base", "third", "past", "participle", "gerund"})
"""Inflections of verbs."""

FEELINGS = frozenset({"fear", "hope"})
"""Feelings that are turned round only with what they are about."""

OBJECTS = ("dobj", "obj")
SUBJECTS = ("nsubj", "nsubjpass")


@dataclass(frozen=True)
class Context:
    """The words before and after which some terms are turned round, and elsewhere not."""

    terms: frozenset[str]
    before: re.Pattern[str] | None
    after: re.Pattern[str] | None


@dataclass(frozen=True)
class Moves:
    """The verbs of movement, and those that are written for their opposites.

    Attributes:
        steps: What each verb says: ``up``, ``down``, ``far_up`` or ``far_down``.
        written: The verbs that say each, of anything, and under ``traded_up`` and ``traded_down``
            of what is traded.
        traded: The words for what is traded.
    """

    steps: Mapping[str, str]
    written: Mapping[str, list[str]]
    traded: frozenset[str]

    def opposites(self, verb: str, about: Iterable[str]) -> list[str]:
        """Return the verbs for the opposite of a movement; none if the verb is no movement.

        Args:
            verb: The verb.
            about: The words, in lower case, for what moves.
        """
        step = self.steps.get(verb)
        if step is None:
            return []
        other = step.replace("up", "down") if "up" in step else step.replace("down", "up")
        if f"traded_{other}" in self.written and self.traded & set(about):
            return self.written[f"traded_{other}"]
        return self.written[other]


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
    neutral: frozenset[str]
    neutral_nouns: frozenset[str]
    reasons: frozenset[str]
    degrees: frozenset[str]
    harmful: frozenset[str]
    watching: frozenset[str]
    causative: frozenset[str]
    harmless: frozenset[str]
    reporting: re.Pattern[str]
    unturnable: re.Pattern[str]
    background: re.Pattern[str]
    unturnable_policy: re.Pattern[str]
    nouns: Mapping[str, str]
    verbs: Mapping[str, list[str]]
    moves: Moves
    adjectives: Mapping[str, str]
    other_results: Mapping[str, str]
    only: tuple[Context, ...]
    stops: tuple[tuple[re.Pattern[str], str], ...]


@cache
def flipping_rules() -> FlippingRules:
    """Return the rules, read once."""
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("flipping.toml")
    data = tomllib.loads(source.read_text(encoding="utf-8"))

    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(text, re.IGNORECASE)

    def context(entry: Mapping[str, Any]) -> Context:
        sides = (pattern(entry[s]) if s in entry else None for s in ("before", "after"))
        return Context(frozenset(entry["terms"]), *sides)

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
        neutral=frozenset(data["neutral"].split()),
        neutral_nouns=frozenset(data["neutral_nouns"].split()),
        causative=frozenset(data["causative"].split()),
        watching=frozenset(data["watching"].split()),
        harmful=frozenset(data["harmful"].split()),
        degrees=frozenset(data["degrees"].split()),
        reasons=frozenset(data["reasons"].split()),
        harmless=frozenset(data["harmless"].split()),
        reporting=pattern(data["reporting"]),
        unturnable=pattern(data["unturnable"]),
        background=pattern(data["background"]),
        unturnable_policy=pattern(data["unturnable_policy"]),
        nouns=data["nouns"],
        verbs=data["verbs"],
        moves=_moves(data["moves"]),
        adjectives=data["adjectives"],
        other_results=data["results_opposite"],
        only=tuple(context(entry) for entry in data["only"]),
        stops=tuple((pattern(entry["pattern"]), entry["reason"]) for entry in data["stop"]),
    )


def _moves(data: Mapping[str, Any]) -> Moves:
    steps = ("up", "down", "far_up", "far_down")
    return Moves(
        steps={verb: step for step in steps for verb in str(data[step]).split()},
        written={name.removeprefix("write_"): data[name] for name in data if "write_" in name},
        traded=frozenset(str(data["traded"]).split()),
    )


@dataclass(frozen=True)
class Found:
    """A directional term, its ruling word, and the sentence that it stands in."""

    match: Match
    word: Word
    sentence: int
    noun: bool
