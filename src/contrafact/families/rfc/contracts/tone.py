"""Words of tone and how strongly they speak (RFC-BENCH, appendix S.3)."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from contrafact.families.rfc.contracts.counterparts import directions
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.tokens import Token

__all__ = ["Tone", "grade", "hype", "lean", "tone", "words_in"]


@dataclass(frozen=True)
class Tone:
    """The lexicon of tone.

    Attributes:
        amplifiers: Adjectives and adverbs that strengthen.
        downtoners: Those that weaken.
        valence: Words of tone with a sign.
        grades: Verbs by kind and strength.
        absolutes: Claims of certainty.
        hype: Marketing copy and tabloid drama.
        reactions: Feelings and reactions of investors and others.
    """

    amplifiers: frozenset[str]
    downtoners: frozenset[str]
    valence: dict[str, int]
    grades: dict[str, tuple[str, int]]
    absolutes: re.Pattern[str]
    hype: re.Pattern[str]
    reactions: re.Pattern[str]


@cache
def tone() -> Tone:
    """Return the lexicon of tone, read once."""
    source = files("contrafact.families.rfc.contracts") / "tone.toml"
    raw: dict[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))
    valence = dict.fromkeys(raw["valence"]["good"].split(), 1)
    valence |= dict.fromkeys(raw["valence"]["bad"].split(), -1)
    grades = {
        word: (kind, strength)
        for kind, steps in raw["grades"].items()
        for strength, words in enumerate(steps)
        for word in words.split()
    }
    return Tone(
        frozenset(raw["amplifiers"].split()),
        frozenset(raw["downtoners"].split()),
        valence,
        grades,
        _any(raw["absolutes"]["words"]),
        _any(raw["hype"]["phrases"]),
        _any(raw["reactions"]["phrases"]),
    )


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)


def grade(words: Iterable[str]) -> dict[str, int]:
    """Return the strongest verb of each kind among words, from 0."""
    found: dict[str, int] = {}
    for word in words:
        if word in tone().grades:
            kind, strength = tone().grades[word]
            found[kind] = max(strength, found.get(kind, 0))
    return found


def hype(side: Side) -> list[re.Match[str]]:
    """Return the marketing copy and the drama of a text, in order."""
    return list(tone().hype.finditer(side.text))


def words_in(tokens: Iterable[Token]) -> Counter[str]:
    """Return how often each word stands among tokens; hyphened ones count by part as well."""
    found: Counter[str] = Counter()
    for token in tokens:
        found[token.key] += 1
    return found


def lean(pair: Pair) -> tuple[float, float]:
    """Return the tone of both texts by the lexicons: above 0 good, below 0 bad.

    Directions count by how sure they are, other words of tone half.
    """
    weights = {"firm": 1.0, "plain": 1.0, "soft": 0.5}
    found = directions(pair)
    result = []
    for side, asserted in ((pair.original, found.before), (pair.rewritten, found.after)):
        total = sum(signal.sign * weights[signal.tier] for signal in asserted)
        covered = [(s.start, s.end) for s in asserted]
        for token in side.tokens:
            if any(start <= token.start < end for start, end in covered):
                continue
            total += 0.5 * tone().valence.get(token.key, 0)
        result.append(total)
    return result[0], result[1]
