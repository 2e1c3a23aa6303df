"""The figures of a flip: ends that trade places, levels that cross a bound, signs (RFC-BENCH, R.1).

A flip changes a figure only as far as the reversal needs it.
"""

import re
from collections.abc import Sequence

from contrafact.families.rfc.pipeline.rules.edits import replace_at
from contrafact.records import Edit
from contrafact.text.quantities import Quantity, quantities, render
from contrafact.text.words import Match

__all__ = ["crossing_edits", "sign_edits", "swap_edits"]

# What stands between a figure and the one it is measured against.
_AGAINST = re.compile(
    r"[^.;]{0,90}?\b(?:from|compared (?:with|to)|versus|vs\.?|against|estimates? of|consensus of"
    r"|expectations? (?:of|for)|forecasts? (?:of|for)|expected|after|(?:high|low)er than)\s+"
    r"(?:\w+ ){0,6}\Z",
    re.IGNORECASE,
)
_RATINGS = re.compile(
    r"\bfrom\s+[\"'“‘]?(?P<old>[a-z][\w-]*(?: (?:perform|weight|buy|sell))?)[\"'”’]?\s+to\s+"
    r"[\"'“‘]?(?P<new>[a-z][\w-]*(?: (?:perform|weight|buy|sell))?)[\"'”’]?"
    r"|\bto\s+[\"'“‘]?(?P<new2>[a-z][\w-]*(?: (?:perform|weight|buy|sell))?)[\"'”’]?\s+from\s+"
    r"[\"'“‘]?(?P<old2>[a-z][\w-]*(?: (?:perform|weight|buy|sell))?)[\"'”’]?",
    re.IGNORECASE,
)
_RATING = re.compile(
    r"(?:strong )?(?:buy|sell)|hold|neutral|outperform|underperform|overweight|underweight"
    r"|equal[- ]?weight|market perform|sector perform|in-line|accumulate|reduce|positive|negative"
    r"|stable|peer perform",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:increase|decrease|rise|fall|gain|loss|drop|hike|cut|jump|decline) of \Z", re.IGNORECASE
)
_TO_BOUND = 6  # characters from "above" to its figure: " the $" (ours)
_NEAR_BOUND = 0.06  # share by which a level may cross its bound, as the contract allows
_FROM_EARLIER = re.compile(r"\bfrom (?:an?|the|its) (?:previous|earlier|prior|initial) \Z")


def swap_edits(text: str, places: Sequence[tuple[int, int]]) -> list[Edit]:
    """Return edits that let the ends of from-to pairs trade places.

    Args:
        text: The original.
        places: The sentences in which a direction is reversed.
    """
    found = quantities(text)
    edits: list[Edit] = []
    used: set[int] = set()
    for i, j in _pairs(text, found):
        one, two = found[i], found[j]
        inside = any(s <= one.start and two.end <= e for s, e in places)
        if not inside or i in used or j in used or one.text == two.text:
            continue
        used |= {i, j}
        why = "the ends trade places, as the direction is reversed"
        for old, new in ((one, two), (two, one)):
            written, put = old.text.rstrip("."), new.text.rstrip(".")
            until = old.start + len(written)  # the stop after "percent" is the sentence's
            edits.append(replace_at(text, old.start, until, put, why))
        # Repeated elsewhere (a headline's figure), an end is the other one there too.
        for k, again in enumerate(found):
            for end, other in ((one, two), (two, one)):
                same = (again.kind, again.unit, again.value) == (end.kind, end.unit, end.value)
                if k not in used and same:
                    used.add(k)
                    spelled = again.text == end.text
                    after = other.text if spelled else render(again, other.value or 0.0)
                    edits.append(replace_at(text, again.start, again.end, after, why))
    return edits + _rating_swaps(text, places)


def crossing_edits(text: str, turned: Sequence[Match], swaps: Sequence[Edit]) -> list[Edit]:
    """Return edits that move levels to the other side of a bound that is turned round.

    "Below 60,000 … at 59,900" becomes "above 60,000 … at 60,100".

    Args:
        text: The original.
        turned: The terms that are turned round.
        swaps: What trades places anyway.
    """
    found = quantities(text)
    edits: dict[int, Edit] = {}
    for one in turned:
        if one.term not in ("above", "below"):
            continue
        bound = next((q for q in found if 0 <= q.start - one.end <= _TO_BOUND), None)
        if bound is None or not bound.value:
            continue
        for level in found:
            if level.kind != bound.kind or level.unit != bound.unit or not level.value:
                continue
            over = level.value - bound.value
            near = 0 < abs(over) <= _NEAR_BOUND * abs(bound.value)
            wrong = (over > 0) == (one.term == "above")
            swapped = any(swap.start == level.start for swap in swaps)
            if near and wrong and not swapped:
                after = render(level, bound.value - over)
                why = "the level stands on the other side of the bound"
                edits[level.start] = replace_at(text, level.start, level.end, after, why)
    return list(edits.values())


def _pairs(text: str, found: Sequence[Quantity]) -> list[tuple[int, int]]:
    """Return the pairs of figures of which one is what the other is measured against."""
    pairs: list[tuple[int, int]] = []
    for i, quantity in enumerate(found):
        if quantity.link and quantity.link[0] == "from-to" and quantity.link[1] > i:
            if _CHANGE.search(text[: quantity.start]):
                continue
            pairs.append((i, quantity.link[1]))
    for i, one in enumerate(found[:-1]):
        gap = text[one.end : found[i + 1].start].strip()
        if gap == "to" and _FROM_EARLIER.search(text[: one.start]) and (i, i + 1) not in pairs:
            pairs.append((i, i + 1))
    for j in range(1, len(found)):
        for i in range(j - 1, max(-1, j - 4), -1):
            one, two = found[i], found[j]
            if one.kind != two.kind or one.unit != two.unit or not (one.value and two.value):
                continue
            if not _AGAINST.fullmatch(text[one.end : two.start]):
                continue
            if _CHANGE.search(text[: one.start]) or not 0.1 < two.value / one.value < 10:
                continue
            linked = any(i in pair or j in pair for pair in pairs)
            if not linked and _levels(text, one, two):
                pairs.append((i, j))
                break
    return pairs


def _levels(text: str, one: Quantity, two: Quantity) -> bool:
    """Return whether two figures are measurements of one thing: not a change and a level."""
    before = text[max(0, one.start - 14) : one.start].casefold()
    if one.kind in ("money", "number", "percent"):
        return one.is_level == two.is_level or before.rstrip().endswith((" to", " at", " of"))
    return one.kind == two.kind


def _rating_swaps(text: str, places: Sequence[tuple[int, int]]) -> list[Edit]:
    edits: list[Edit] = []
    for match in _RATINGS.finditer(text):
        names = ("old", "new") if match["old"] else ("new2", "old2")
        if not all(_RATING.fullmatch(match[name]) for name in names):
            continue
        if not any(s <= match.start() and match.end() <= e for s, e in places):
            continue
        first, second = names
        for name, other in ((first, second), (second, first)):
            start, end = match.span(name)
            edits.append(replace_at(text, start, end, match[other], "the ratings trade places"))
    return edits


def sign_edits(text: str, places: Sequence[tuple[int, int]]) -> list[Edit]:
    """Return edits that turn the signs of changes: +3% becomes -3%."""
    edits: list[Edit] = []
    for quantity in quantities(text):
        sign = quantity.form.sign
        if not sign or (quantity.is_level and quantity.kind != "percent"):
            continue
        if any(s <= quantity.start < e for s, e in places):
            after = "-" if sign == "+" else "+"
            at = text.index(sign, quantity.start)
            edits.append(replace_at(text, at, at + 1, after, "the sign turns with the direction"))
    return edits
