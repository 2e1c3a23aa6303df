"""Facts that words carry: events, causes, metrics, denials, directions."""

import re
from collections.abc import Iterator

from contrafact.families.rfc.contracts.align import Change
from contrafact.families.rfc.contracts.counterparts import directions
from contrafact.families.rfc.contracts.findings import Span, Violation, fail, review
from contrafact.families.rfc.contracts.lists import pattern, patterns, table, words
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.signals import is_result

__all__ = [
    "causes_added",
    "denied",
    "directions_kept",
    "events_added",
    "expectations_kept",
    "metrics_kept",
    "paraphrased",
    "setbacks_added",
    "things_kept",
]


def causes_added(pair: Pair) -> Iterator[Violation]:
    """A rewrite explains nothing that its original leaves unexplained."""
    for found in pair.rewritten.found("connector"):
        if found.term not in words("causes_outright") | words("causes_weakly"):
            continue
        tokens = pair.rewritten.span_tokens(found.start, found.end)
        changes = {change for i in tokens if (change := pair.alignment.change_of(i))}
        if not changes:
            continue
        here = sum(m.term == found.term for m in pair.rewritten.found("connector"))
        if here <= sum(m.term == found.term for m in pair.original.found("connector")):
            continue  # it only stands elsewhere
        if any(_has_connector(pair, change.before) for change in changes):
            continue
        size = sum(change.after[1] - change.after[0] for change in changes)
        span = (found.start, found.end)
        if found.term in words("causes_outright") or size >= 3:
            yield fail(
                "new-cause", f"'{found.text}' gives a cause that the original lacks", None, span
            )
        else:
            yield review("new-cause", f"'{found.text}' may give a cause that is new", None, span)


def _has_connector(pair: Pair, tokens: Span) -> bool:
    """Whether the original links cause and effect in a stretch, or right beside it."""
    words = pair.original.tokens[max(0, tokens[0] - 1) : tokens[1] + 1]
    if not words:
        return False
    start, end = words[0].start, words[-1].end
    if any(m.start < end and start < m.end for m in pair.original.found("connector")):
        return True
    return (
        bool(
            re.search(
                r"\b(?:as|after|on|following|since|with|helped|hurt|by|so|when|while)\b",
                pair.original.text[start:end],
                re.IGNORECASE,
            )
        )
        and tokens[1] > tokens[0]
    )


# Events that make news by themselves: a rewrite that speaks of one its original does not has
# made it up. Inflections and kindred words share a line.


def setbacks_added(pair: Pair) -> Iterator[Violation]:
    """A rewrite speaks of no trouble with supplies that its original does not."""
    found = pattern("setbacks").search(pair.rewritten.text)
    if found and not pattern("setbacks").search(pair.original.text):
        told = review if pair.manipulation == "causal" else fail
        yield told("new-event", f"'{found[0]}' is new", None, found.span())


def events_added(pair: Pair) -> Iterator[Violation]:
    """A rewrite speaks of no event, deal, crisis or dispute that its original does not."""
    for event in patterns("events"):
        found = event.search(pair.rewritten.text)
        if not found or event.search(pair.original.text):
            continue
        # "hired" turned round is "laid off": in flipping such words are directions.
        turned = pair.manipulation == "flipping" and any(
            m.start < found.end() and found.start() < m.end
            for m in pair.rewritten.found("directional")
        )
        told = review if turned else fail
        yield told(
            "new-event",
            f"'{found[0]}' is an event that the original does not speak of",
            None,
            found.span(),
        )


def metrics_kept(pair: Pair) -> Iterator[Violation]:
    """Revenue stays revenue, and profit profit."""
    yield from _kinds_kept(pair, table("metrics"), "metric-changed")


def things_kept(pair: Pair) -> Iterator[Violation]:
    """Sectors, commodities and products stay what they are."""
    yield from _kinds_kept(pair, table("things"), "entity-changed")


def _kinds_kept(pair: Pair, kinds: dict[str, str], rule: str) -> Iterator[Violation]:
    for change in pair.alignment.changes:
        before = pair.original.tokens[slice(*change.before)]
        after = pair.rewritten.tokens[slice(*change.after)]
        if not 1 <= len(before) <= 3 or not 1 <= len(after) <= 3:
            continue
        ours = {kinds[t.key] for t in before if t.key in kinds}
        theirs = {kinds[t.key] for t in after if t.key in kinds}
        if ours and theirs and not ours & theirs:
            a, b = pair.alignment.before_span(change), pair.alignment.after_span(change)
            yield fail(
                rule,
                f"'{_of(pair.original, a)}' became '{_of(pair.rewritten, b)}'",
                a,
                b,
            )


def _of(side: Side, span: Span | None) -> str:
    return "" if span is None else side.text[slice(*span)]


def denied(pair: Pair) -> Iterator[Violation]:
    """A rewrite denies nothing that its original states, and states nothing that it denies."""
    denials = pattern("denials")
    for side, other, is_new in (
        (pair.rewritten, pair.original, True),
        (pair.original, pair.rewritten, False),
    ):
        surplus = len(pattern("denials").findall(side.text)) - len(
            pattern("denials").findall(other.text)
        )
        if surplus <= 0:
            continue
        for found in denials.finditer(side.text):
            tokens = side.span_tokens(*found.span())
            at = pair.alignment.change_of if is_new else pair.alignment.change_at
            if any(at(i) for i in tokens):
                span = found.span()
                yield fail(
                    "outcome-changed",
                    f"'{found[0]}' {'is new: it denies' if is_new else 'is gone: it denied'} "
                    "what the other text states",
                    None if is_new else span,
                    span if is_new else None,
                )
                return


_AS_EXPECTED = re.compile(r"\b(?:in[\s-]line|met|meets|match(?:ed|es|ing)?)\b", re.IGNORECASE)
_NOT_AS_EXPECTED = re.compile(
    r"\b(?:above|below|beat\w*|miss\w*|top(?:s|ped)|exceed\w*|short of|ahead of|surpass\w*"
    r"|lag\w*)\b",
    re.IGNORECASE,
)


def expectations_kept(pair: Pair) -> Iterator[Violation]:
    """What was in line with expectations neither beats nor misses them, and the other way."""
    for change in pair.alignment.changes:
        a, b = pair.alignment.before_span(change), pair.alignment.after_span(change)
        before, after = _of(pair.original, a), _of(pair.rewritten, b)
        for one, two in ((_AS_EXPECTED, _NOT_AS_EXPECTED), (_NOT_AS_EXPECTED, _AS_EXPECTED)):
            if one.search(before) and two.search(after) and not one.search(after):
                yield fail("outcome-changed", f"'{before}' became '{after}'", a, b)


def directions_kept(pair: Pair) -> Iterator[Violation]:
    """What rises still rises, what beats still beats, what is strong is still strong."""
    found = directions(pair)
    for signal, met in zip(found.before, found.met, strict=True):
        if met and all(other.sign == -signal.sign for other in met):
            tier = {signal.tier, *(other.tier for other in met)}
            told = review if tier == {"soft"} and not is_result(signal, met[0]) else fail
            yield told(
                "direction-changed",
                f"'{signal.text}' became '{met[0].text}'",
                (signal.start, signal.end),
                (met[0].start, met[0].end),
            )


def _turns(pair: Pair, change: Change) -> bool:
    """Whether a changed stretch holds a direction."""
    found = directions(pair)
    a, b = pair.alignment.before_span(change), pair.alignment.after_span(change)
    return any(
        span is not None and signal.start < span[1] and span[0] < signal.end
        for span, signals in ((a, found.before), (b, found.after))
        for signal in signals
    )


def paraphrased(pair: Pair) -> Iterator[Violation]:
    """Other words for the same go to a person, all in one finding."""
    changes = [
        change
        for change in pair.alignment.changes
        if any(t.key not in ("#", "@", "@t") for t in pair.original.tokens[slice(*change.before)])
        or any(t.key not in ("#", "@", "@t") for t in pair.rewritten.tokens[slice(*change.after)])
    ]
    if pair.manipulation == "flipping":
        # Words that turn a direction are what flipping is about.
        changes = [change for change in changes if not _turns(pair, change)]
    if not changes:
        return
    first = changes[0]
    a, b = pair.alignment.before_span(first), pair.alignment.after_span(first)
    yield review(
        "wording-changed",
        f"other words in {len(changes)} place{'s' * (len(changes) > 1)}, first "
        f"'{_of(pair.original, a)}' → '{_of(pair.rewritten, b)}'",
        a,
        b,
    )
