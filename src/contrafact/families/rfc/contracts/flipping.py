"""The contract of directional flipping: every direction turned round, every fact kept.

RFC-BENCH, section 2.2.2 and appendices Q.1, R.1 and S.1.
"""

import re
from collections.abc import Iterator
from functools import partial

from contrafact.families.rfc.contracts import numbers
from contrafact.families.rfc.contracts.comparatives import comparatives
from contrafact.families.rfc.contracts.counterparts import directions
from contrafact.families.rfc.contracts.findings import Violation, fail, review
from contrafact.families.rfc.contracts.lists import pattern, words
from contrafact.families.rfc.contracts.numbers import changed_numbers, meetings, number_key
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.ratings import is_rating, rating_calls
from contrafact.families.rfc.contracts.relations import comparisons, expected_figures
from contrafact.families.rfc.contracts.signals import Signal
from contrafact.text.quantities import Quantity

__all__ = [
    "identifiers_kept",
    "left_standing",
    "nothing_reversed",
    "numbers_kept",
    "ratings_reversed",
]

_WEIGHT = {"firm": 2.0, "plain": 1.0, "soft": 0.5}


def numbers_kept(pair: Pair) -> Iterator[Violation]:
    """Numbers stay, save that a pair may swap its ends where the reversal needs it, and signs."""
    a, b = pair.original.quantities, pair.rewritten.quantities
    key = partial(number_key, signed=False)
    to = {m.before: m.after for m in meetings(pair) if m.before is not None and m.after is not None}
    excused: set[int] = set()
    compared = [(c.that, c.this) for c in comparatives(pair.original)]
    for i, j in (*comparisons(pair.original), *expected_figures(pair.original), *compared):
        if i in to and j in to and key(a[i]) == key(b[to[j]]) and key(a[j]) == key(b[to[i]]):
            excused |= {i, j}
    excused |= {i for i, j in to.items() if i is not None and j is not None and _turned(a[i], b[j])}
    yield from changed_numbers(pair, key, frozenset(excused))


def _turned(a: Quantity, b: Quantity) -> bool:
    """Whether a multiple in a verb is turned round: doubled, halved."""
    if not a.value or not b.value or {a.form.style, b.form.style} != {"multiple"}:
        return False
    return (a.value - 1) * (b.value - 1) < 0


_RANK = re.compile(r"\bRank\W{1,3}(?:of\s)?#?\Z", re.IGNORECASE)


def identifiers_kept(pair: Pair) -> Iterator[Violation]:
    """Versions, ranks and index names stay; a rank that is a rating may turn with it."""
    for finding in numbers.identifiers_kept(pair):
        side = pair.original if finding.rewritten_span is None else pair.rewritten
        span = finding.original_span or finding.rewritten_span
        if span is not None and _RANK.search(side.text[: span[0]]):
            yield review(
                finding.rule, finding.message, finding.original_span, finding.rewritten_span
            )
        else:
            yield finding


def _reversed(pair: Pair) -> bool:
    """Whether at least one direction of the original is turned round."""
    found = directions(pair)
    for signal, met in zip(found.before, found.met, strict=True):
        if any(other.sign == -signal.sign for other in met):
            return True
    if any(
        _turned(pair.original.quantities[m.before], pair.rewritten.quantities[m.after])
        or (
            pair.original.quantities[m.before].value
            == -(pair.rewritten.quantities[m.after].value or 0)
            and pair.rewritten.quantities[m.after].value
        )
        for m in meetings(pair)
        if m.before is not None and m.after is not None
    ):
        return True
    before, after = rating_calls(pair.original), rating_calls(pair.rewritten)
    return any(
        a.rank is not None and b.rank is not None and a.rank * b.rank < 0
        for a, b in zip(before, after, strict=False)
    )


def nothing_reversed(pair: Pair) -> Iterator[Violation]:
    """The rewrite says the opposite of something, and is no paraphrase."""
    if _reversed(pair):
        return
    found = directions(pair)
    if not found.before:
        if found.after and pair.alignment.changes:
            yield review(
                "nothing-reversed",
                f"'{found.after[0].text}' has a direction; none was found in the original",
                None,
                (found.after[0].start, found.after[0].end),
            )
            return
        yield fail("nothing-reversed", "the original has no direction that could be reversed")
        return
    first = found.before[0]
    yield fail(
        "nothing-reversed",
        f"no direction of the original is reversed, such as '{first.text}'",
        (first.start, first.end),
    )


def left_standing(pair: Pair) -> Iterator[Violation]:
    """No expression still asserts its original direction."""
    found = directions(pair)
    if not _reversed(pair):
        return  # nothing_reversed says it all
    lean = sum(_bearing(pair.original, s) * _WEIGHT[s.tier] for s in found.before)
    turned = [
        s
        for s, met in zip(found.before, found.met, strict=True)
        if any(other.sign == -s.sign for other in met)
    ]
    for signal, met in zip(found.before, found.met, strict=True):
        if any(other.sign == -signal.sign for other in met):
            continue
        span = (signal.start, signal.end)
        if _rated(pair.original, signal):
            continue  # ratings have rules of their own
        if met:
            other = met[0]
            governed = _governed(pair.original, signal, turned)
            told = fail if _sure(pair, signal, lean) and not governed else review
            yield told(
                "not-reversed",
                f"'{signal.text}' still stands"
                if other.text.casefold() == signal.text.casefold()
                else f"'{signal.text}' became '{other.text}', which says the same",
                span,
                (other.start, other.end),
            )
            continue
        yield from _gone(pair, signal)
    yield from _signed(pair)


_CLAUSE_OF = re.compile(r"\s(?:that|about|of|over|in)\s[^.;,]*\Z", re.IGNORECASE)
_ATTITUDES = re.compile(
    r"(?:confidence|optimism|pessimism|hopes?|fears?|concerns?|worr(?:y|ies)|doubts?|caution"
    r"|optimistic|pessimistic|confident|concerned|worried|cautious|anxiety|jitters)\Z",
    re.IGNORECASE,
)


def _governed(side: Side, signal: Signal, turned: list[Signal]) -> bool:
    """Whether a direction is what a turned attitude is about: "dented confidence that it grows"."""
    return any(
        _ATTITUDES.search(other.text) and _CLAUSE_OF.match(side.text[other.end : signal.start])
        for other in turned
        if other.end < signal.start
    )


def _rated(side: Side, signal: Signal) -> bool:
    """Whether a term is the name of a rating in an analyst's call: to *Buy* from Hold."""
    return is_rating(signal.text) and any(
        call.start <= signal.start < call.end for call in rating_calls(side)
    )


def _bearing(side: Side, signal: Signal) -> int:
    """Return whether a direction is good or bad news: rising costs are bad."""
    if len(signal.parts) > 1:
        return signal.sign
    tokens = side.span_tokens(signal.start, signal.end)
    near = side.tokens[max(0, tokens[0] - 2) : tokens[-1] + 4]
    return -signal.sign if any(token.key in words("burdens") for token in near) else signal.sign


def _sure(pair: Pair, signal: Signal, lean: float) -> bool:
    """Whether a direction that stayed leaves the reversal incomplete without doubt.

    Firm ones do. Others do where they lean the way the original does; against it they may be the
    background of either story.
    """
    if signal.tier == "firm":
        return True
    return signal.tier == "plain" and _bearing(pair.original, signal) * lean >= 0


def _gone(pair: Pair, signal: Signal) -> Iterator[Violation]:
    """Say what became of a direction that has no counterpart."""
    changes = {
        change
        for start, end in signal.parts
        for i in pair.original.span_tokens(start, end)
        if (change := pair.alignment.change_at(i))
    }
    for change in changes:
        span = pair.alignment.after_span(change)
        if span is None:
            continue
        words = pair.rewritten.text[slice(*span)]
        signs = {
            m.polarity
            for m in pair.rewritten.found("directional")
            if m.start < span[1] and span[0] < m.end and not m.weak
        }
        if signs == {signal.bare} and signal.sign == signal.bare and signal.tier != "soft":
            yield fail(
                "not-reversed",
                f"'{signal.text}' became '{words}', which says the same",
                (signal.start, signal.end),
                span,
            )
        elif not signs and signal.tier == "firm" and pattern("neutral").search(words):
            yield fail(
                "not-reversed",
                f"'{signal.text}' became '{words}', which takes no side",
                (signal.start, signal.end),
                span,
            )
        elif not signs and signal.tier != "soft":
            yield review(
                "not-reversed",
                f"'{signal.text}' became '{words}': is that its opposite?",
                (signal.start, signal.end),
                span,
            )


def _signed(pair: Pair) -> Iterator[Violation]:
    """Yield figures with a sign that stayed: "+5%" is a direction too."""
    for meeting in meetings(pair):
        if meeting.before is None or meeting.after is None:
            continue
        a = pair.original.quantities[meeting.before]
        b = pair.rewritten.quantities[meeting.after]
        if (
            not a.form.sign
            or a.kind == "number"
            or a.value != b.value
            or a.form.sign != b.form.sign
        ):
            continue
        yield fail(
            "not-reversed",
            f"the sign of '{b.text}' still stands",
            (a.start, a.end),
            (b.start, b.end),
        )


def ratings_reversed(pair: Pair) -> Iterator[Violation]:
    """A rating that stands on one side stands on the other: Buy becomes Sell."""
    before, after = rating_calls(pair.original), rating_calls(pair.rewritten)
    for a, b in zip(before, after, strict=False):
        if a.direction or b.direction or not a.rank or b.rank is None:
            continue
        if a.rank * b.rank > 0:
            yield fail(
                "not-reversed",
                f"the rating in '{b.text}' still stands",
                (a.start, a.end),
                (b.start, b.end),
            )
