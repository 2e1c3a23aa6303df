"""The contract of directional flipping: its figures, which stay but for what a reversal needs.

RFC-BENCH, section 2.2.2 and appendices Q.1, R.1 and S.2.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import combinations

from contrafact.families.rfc.contracts.consistency import (
    comparatives,
    earlier_and_later,
    expected_and_actual,
)
from contrafact.families.rfc.contracts.exempt_numbers import matched_quantities
from contrafact.families.rfc.contracts.numbers import changed_numbers, number_key
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.rules import Finding, fail, rule
from contrafact.text.quantities import Quantity

__all__ = ["bounds_kept_true", "is_reversed_multiple", "numbers_kept", "traded_places"]


@rule(
    "number-changed",
    "number-lost",
    "number-added",
    about="numbers",
    paper="Q.1, 2; R.1",
    manipulations=("flipping",),
    to_review="small number words; a unit dropped or added; numbers in another order",
)
def numbers_kept(pair: Pair) -> Iterator[Finding]:
    """Numbers stay, save that a from–to pair, or a result and what was expected, may swap its
    ends, that a level may cross the bound that it was on the other side of, and that signs may be
    reversed.
    """
    a, b = pair.original.quantities, pair.rewritten.quantities
    key = partial(number_key, signed=False)
    to = dict(matched_quantities(pair))
    excused: set[int] = set()
    for i, j in (
        *earlier_and_later(pair.original),
        *expected_and_actual(pair.original),
        *((c.that, c.this) for c in comparatives(pair.original)),
    ):
        if i in to and j in to and key(a[i]) == key(b[to[j]]) and key(a[j]) == key(b[to[i]]):
            excused |= {i, j}
    excused |= {i for i, j in to.items() if is_reversed_multiple(a[i], b[j])}
    excused |= traded_places(pair, to) | _crossed(pair, to) | _expected_otherwise(pair, to)
    yield from changed_numbers(pair, key, excused)


_SET_AGAINST = re.compile(
    r"\b(?:from|than|against|versus|compared|previous\w*|earlier|prior|expected|forecast|estimate\w*"
    r"|target|instead|above|below)\b",
    re.IGNORECASE,
)


def traded_places(pair: Pair, to: dict[int, int]) -> set[int]:
    """Return the figures of a sentence that trade places: "to $5 from $4", "to $4 from $5"."""
    a, b = pair.original.quantities, pair.rewritten.quantities
    found: set[int] = set()
    for i, j in combinations(sorted(to), 2):
        x, y, u, v = a[i].value, a[j].value, b[to[i]].value, b[to[j]].value
        if None in (x, y, u, v) or x == y or x != v or y != u:
            continue
        sentence = pair.original.sentence_of(a[i].start)
        if a[j].start < sentence.end and _SET_AGAINST.search(
            pair.original.text, sentence.start, sentence.end
        ):
            found |= {i, j}
    # What repeats an end that moved moves with it: the headline's "to 5%".
    moved = {(a[i].kind, a[i].value, b[to[i]].value) for i in found}
    found |= {i for i, j in to.items() if (a[i].kind, a[i].value, b[j].value) in moved}
    return found


CROSSING = 0.06
"""Share by which a level may move to the other side of its bound (ours: "small adjustments strictly
needed", R.1)."""

_ABOVE = re.compile(r"\b(?:above|past|topp?(?:s|ed)?|over|exceed\w*)\s(?:the\s)?\Z", re.IGNORECASE)
_BELOW = re.compile(r"\b(?:below|under|beneath)\s(?:the\s)?\Z", re.IGNORECASE)


def _crossed(pair: Pair, to: dict[int, int]) -> set[int]:
    """Return the levels that a reversed bound moves: "above $90 … $90.62", "below $90 … $89.40"."""
    a, b = pair.original, pair.rewritten
    found: set[int] = set()
    for i, j in to.items():
        bound, same = a.quantities[i], b.quantities[j]
        if not bound.value or bound.value != same.value:
            continue
        before, after = (
            a.text[max(0, bound.start - 16) : bound.start],
            b.text[max(0, same.start - 16) : same.start],
        )
        was_above, is_below = bool(_ABOVE.search(before)), bool(_BELOW.search(after))
        if not (was_above and is_below) and not (_BELOW.search(before) and _ABOVE.search(after)):
            continue
        for k, m in to.items():
            old, new = a.quantities[k], b.quantities[m]
            if old.value is None or new.value is None or old.kind != bound.kind:
                continue
            crosses = (old.value - bound.value) * (new.value - bound.value) < 0
            if crosses and abs(new.value - old.value) <= CROSSING * abs(bound.value):
                found.add(k)
    return found


RESET = 0.25
"""Share by which an expectation may move to the other side of its result (ours, likewise)."""


def _expected_otherwise(pair: Pair, to: dict[int, int]) -> set[int]:
    """Return what was expected where it moved so that a beat is a miss: no other figure can."""
    a, b = pair.original.quantities, pair.rewritten.quantities
    found: set[int] = set()
    for expected, actual in (
        *expected_and_actual(pair.original),
        *((c.that, c.this) for c in comparatives(pair.original)),
        *earlier_and_later(pair.original),
    ):
        if expected not in to or actual not in to:
            continue
        old, new, kept = a[expected].value, b[to[expected]].value, b[to[actual]].value
        was = a[actual].value
        if old is None or new is None or was is None or kept != was:
            continue
        if (was - old) * (was - new) < 0 and abs(new - old) <= RESET * abs(old):
            found.add(expected)
    return found


def is_reversed_multiple(a: Quantity, b: Quantity) -> bool:
    """Whether a multiple in a verb is reversed: doubled, halved."""
    if not a.value or not b.value or {a.form.style, b.form.style} != {"multiple"}:
        return False
    return (a.value - 1) * (b.value - 1) < 0


BOUND_REACH = 80
"""Characters from "above" or "beating" to the figure that it leads to, at most (ours)."""

ALIKE = 2.0
"""Times by which two figures of one thing may differ (ours)."""

_OVER = re.compile(
    r"\b(?:above|exceed\w*|beat(?:s|ing)?|top(?:s|ped|ping)|surpass\w*|outstrip\w*|higher\sthan|more\sthan)\b",
    re.IGNORECASE,
)
_UNDER = re.compile(
    r"\b(?:below|under(?:shot|shoot\w*)?|miss(?:es|ed|ing)?|(?:short|shy)\sof|trail\w*|lagg?\w*"
    r"|lower\sthan|less\sthan|fewer\sthan)\b",
    re.IGNORECASE,
)


@rule("contradiction", about="consistency", paper="R.1; S.2, 8", manipulations=("flipping",))
def bounds_kept_true(pair: Pair) -> Iterator[Finding]:
    """No figure that stays is set on the other side of a figure that stays: 17.53% did not fall
    short of a forecast of 17%.
    """
    a, b = pair.original, pair.rewritten
    to = dict(matched_quantities(pair))
    for change in pair.changes:
        spans = pair.spans(change)
        if spans[0] is None or spans[1] is None:
            continue
        was, now = (
            1 if _OVER.search(side.text, *span) else -1 if _UNDER.search(side.text, *span) else 0
            for side, span in ((a, spans[0]), (b, spans[1]))
        )
        if was * now >= 0:
            continue
        end = spans[0][1]
        led_to = (
            (_level_before(a, spans[0][0], i), i)
            for i, q in enumerate(a.quantities)
            if end <= q.start <= end + BOUND_REACH and i in to
        )
        level, bound = next(((i, j) for i, j in led_to if i is not None and i in to), (None, 0))
        if level is None:
            continue
        x, y = a.quantities[level], a.quantities[bound]
        kept = all(a.quantities[i].value == b.quantities[to[i]].value for i in (level, bound))
        if kept and x.value and y.value and (x.value - y.value) * was > 0:
            yield fail(
                "contradiction",
                f"'{b.excerpt(spans[1])}' sets '{x.text}' on the wrong side of '{y.text}'",
                *spans,
            )


def _level_before(side: Side, before: int, bound: int) -> int | None:
    """Return the figure before some words that a bound is of; None if it is a change."""
    y = side.quantities[bound]
    since = side.sentences[max(0, side.sentences.index(side.sentence_of(before)) - 1)].start
    for i in range(bound - 1, -1, -1):
        x = side.quantities[i]
        if x.start < since:
            return None
        if x.end > before or (x.kind, x.unit) != (y.kind, y.unit) or not x.value or not y.value:
            continue
        if x.kind == "percent" and not (x.is_level or y.is_level):
            return None
        return i if 1 / ALIKE < x.value / y.value < ALIKE else None
    return None
