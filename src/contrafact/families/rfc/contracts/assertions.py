"""What a text asserts of what: each direction word with its subject or object."""

import re
from dataclasses import dataclass
from functools import cache

from contrafact.families.rfc.contracts.assets import assets
from contrafact.families.rfc.contracts.directional_cues import directional_cues
from contrafact.families.rfc.contracts.pair import Side, read_once
from contrafact.families.rfc.contracts.vocabulary import table, words

__all__ = ["AUXILIARY_REACH", "OBJECT_REACH", "SUBJECT_REACH", "Assertion", "assertions"]

SUBJECT_REACH = 9
"""Words from a direction back to what it is said of, at most (ours)."""

OBJECT_REACH = 5
"""Words from a direction on to what it is done to, at most (ours)."""

AUXILIARY_REACH = 3
"""Words before a direction among which "had" or "may" make it another time's, or a guess (ours)."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """What a sentence says of one thing: "profit fell", "raises taxes".

    Attributes:
        topic: What it is said of, as a kind ("profit", "price", "yield", "currency CAD").
        sign: +1 up or good, -1 down or bad.
        names: The names that stand with it.
        sure: Whether it is a plain report of a move: no guess, and of no other time.
        start: Where it begins.
        end: Where it ends.
    """

    topic: str
    sign: int
    names: frozenset[str]
    sure: bool
    start: int
    end: int


@cache
def _topics() -> dict[str, str]:
    """Return what each word that a direction may be said of is about."""
    return {**table("metrics"), **table("topics")}


_ONCE = re.compile(
    r"\b(?:earlier|previous\w*|prior|recent\w*|last|past|since|before|ago|until|yesterday"
    r"|expect\w*)\b",
    re.IGNORECASE,
)
_STOPS = re.compile(r"[,;:.!?()—–]")


@read_once
def assertions(side: Side) -> list[Assertion]:
    """Return what a text asserts of what, in order: each direction with its subject or object."""
    found, tokens, topics = [], side.tokens, _topics()
    named = {
        i: f"asset {asset.key}"
        for asset in assets(side)
        for i in side.span_tokens(asset.start, asset.end)
    }

    def topic_of(i: int) -> str | None:
        return named.get(i) or topics.get(tokens[i].key)

    for cue in directional_cues(side):
        at = side.span_tokens(cue.start, cue.end)
        if not at:
            continue
        sentence = side.sentence_of(cue.start)
        topic = None
        names: set[str] = set()
        for i in range(at[0] - 1, max(-1, at[0] - 1 - SUBJECT_REACH), -1):
            token = tokens[i]
            if token.start < sentence.start or token.key in words("clause_links"):
                break
            if _STOPS.search(side.text, token.end, tokens[i + 1].start):
                break
            topic = topic or topic_of(i)
            if token.is_word and token.text[0].isupper():
                names.add(token.key)
        if topic is None:
            for i in range(at[-1] + 1, min(len(tokens), at[-1] + 1 + OBJECT_REACH)):
                token = tokens[i]
                if token.start >= sentence.end or token.key in words("clause_links"):
                    break
                if _STOPS.search(side.text, tokens[i - 1].end, token.start):
                    break
                topic = topic_of(i)
                if topic is not None:
                    break
                if token.key in ("on", "to", "from", "by", "in", "at", "of", "with", "for", "#"):
                    break
        if topic is not None:
            before = tokens[max(at[0] - AUXILIARY_REACH, 0) : at[0]]
            clause = side.text[cue.end : min(sentence.end, cue.end + 40)]
            sure = (
                (cue.tier == "firm" or cue.text.casefold() in words("policy"))
                and not any(token.key in words("auxiliaries") for token in before)
                and not _ONCE.search(_STOPS.split(clause)[0])
            )
            span = (cue.start, cue.end)
            found.append(Assertion(topic, cue.sign, frozenset(names), sure, *span))
    return found
