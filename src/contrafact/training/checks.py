"""A pair's points by built-in checks, 0 to 10: what can be said of it without any model.

Five points a side, after the five kinds of the paper's scale (FIN-FORCE, table 13): subject,
minimal edit, a step forward, direction, form. They are shares where there is more and less, so
that candidates rarely tie. They see words and not sense: a scenario that could not happen has its
points all the same.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from contrafact.families.finforce.generation import Generation
from contrafact.records import SIDES, Side
from contrafact.text.diff import normalised_edit_distance
from contrafact.text.parsing import entities_many
from contrafact.text.words import Match, lexicon
from contrafact.training.dialogue import HIGHEST, pair_of

__all__ = ["KINDS", "Points", "check_pairs"]

KINDS = ("subject", "edit", "forward", "direction", "form")
"""What a side has a point for, in the order of the paper's scale."""

_NAMES = {"ORG", "GPE", "PERSON", "NORP", "LOC", "PRODUCT", "FAC", "EVENT", "LAW"}
_NEAR, _FAR = 0.35, 0.95  # edit distances up to which all of the point is given, and none
_NEW_WORDS = 3
_WORDS = (4, 45)
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LABEL = re.compile(r"^\W*(?:risk|opportunity)\w*(?:\s+\w+)?\s*:", re.IGNORECASE)
_TELLING = 4  # letters of a word that says something of its own


@dataclass(frozen=True)
class Points:
    """What the checks make of a reply.

    Attributes:
        score: 0 to 10; 0 where the reply cannot be read.
        sides: Each side's points by kind; empty where the reply cannot be read.
        edit_distance: Each side's, over the longer text, 0 to 1.
    """

    score: float
    sides: dict[Side, dict[str, float]]
    edit_distance: dict[Side, float]


def check_pairs(headlines: Sequence[str], replies: Sequence[Generation]) -> list[Points]:
    """Return the points of each reply.

    A reply that has to be fixed to be read loses a point; one that cannot be read has none.

    Args:
        headlines: What each is about.
        replies: The replies, as they were read.
    """
    pairs = [pair_of(reply) for reply in replies]
    names = _names(headlines)
    words = lexicon()
    texts = list(
        dict.fromkeys([*headlines, *(p.side(s) for p in pairs if p is not None for s in SIDES)])
    )
    found = dict(zip(texts, (Counter(_polar(m)) for m in words.find_many(texts)), strict=True))
    made = []
    for headline, reply, pair in zip(headlines, replies, pairs, strict=True):
        if pair is None:
            made.append(Points(0.0, {}, {}))
            continue
        sides: dict[Side, dict[str, float]] = {}
        for side in SIDES:
            text, other = pair.side(side), pair.side("opportunity" if side == "risk" else "risk")
            added = found[text] - found[headline]
            sides[side] = {
                "subject": _kept(headline, text, names[headline]),
                "edit": _near(normalised_edit_distance(headline, text)),
                "forward": float(_forward(headline, text, other)),
                "direction": _direction(added, -1 if side == "risk" else 1),
                "form": float(_formed(text)),
            }
        total = sum(sum(points.values()) for points in sides.values()) - bool(reply.repairs)
        made.append(
            Points(
                min(float(HIGHEST), max(0.0, total)),
                sides,
                {s: normalised_edit_distance(headline, pair.side(s)) for s in SIDES},
            )
        )
    return made


def _names(headlines: Sequence[str]) -> dict[str, list[str]]:
    once = list(dict.fromkeys(headlines))
    return {
        text: [one.text.casefold() for one in found if one.label in _NAMES]
        for text, found in zip(once, entities_many(once), strict=True)
    }


def _kept(headline: str, text: str, names: Sequence[str]) -> float:
    """Return the share of the headline's names that the text has; of its words if it has none."""
    folded = text.casefold()
    if names:
        return sum(name in folded for name in names) / len(names)
    own = {word for word in _words(headline) if len(word) >= _TELLING}
    return len(own & set(_words(text))) / len(own) if own else 1.0


def _near(distance: float) -> float:
    return min(1.0, max(0.0, (_FAR - distance) / (_FAR - _NEAR)))


def _forward(headline: str, text: str, other: str) -> bool:
    """Tell whether a text adds something: words the headline lacks, and no numbers made up."""
    new = set(_words(text)) - set(_words(headline))
    numbers = set(_NUMBER.findall(text)) - set(_NUMBER.findall(headline))
    same = " ".join(_words(text)) == " ".join(_words(other))
    return len(new) >= _NEW_WORDS and not numbers and not same


def _polar(matches: Sequence[Match]) -> list[tuple[str, int]]:
    return [(match.text.casefold(), match.polarity) for match in matches if match.polarity]


def _direction(added: Counter[tuple[str, int]], wanted: int) -> float:
    """Return the share of the added words of direction that point as wanted; 0 without any."""
    right = sum(count for (_, polarity), count in added.items() if polarity == wanted)
    total = sum(added.values())
    return right / total if total else 0.0


def _formed(text: str) -> bool:
    """Tell whether a text reads as one headline: no label, no list, not said over and over."""
    words = _words(text)
    threes = list(zip(words, words[1:], words[2:], strict=False))
    return (
        _WORDS[0] <= len(words) <= _WORDS[1]
        and not _LABEL.search(text)
        and not any(sign in text for sign in "{}[]<>|")
        and len(set(threes)) == len(threes)
    )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
