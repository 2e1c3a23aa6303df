"""Facts that words carry: directions, outcomes and acts that stay; causes and events that are new.

RFC-BENCH, appendices R, S.1 (step 2), S.3 (items 1 and 5) and S.4.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Annotated

from contrafact.families.rfc.contracts.chains import chains
from contrafact.families.rfc.contracts.directional_cues import (
    are_results,
    direction_alignment,
    rating_names,
)
from contrafact.families.rfc.contracts.names import kinds_kept
from contrafact.families.rfc.contracts.pair import Change, Pair, Span, Token
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import (
    groups,
    is_function_word,
    pattern,
    pattern_at_words,
    pattern_in_small,
    patterns,
    table,
    words,
)
from contrafact.text.tokens import stem

__all__ = [
    "acts_added",
    "acts_kept",
    "causes_added",
    "chains_added",
    "denied",
    "directions_kept",
    "events_added",
    "expectations_kept",
    "metrics_kept",
    "outcomes_kept",
    "particles_kept",
    "ratings_kept",
    "setbacks_added",
]

# Outcomes that stay


@rule(
    "direction-changed",
    about="outcomes",
    paper="S.2, 2; R.3",
    manipulations=("numerical", "sentiment"),
    to_review='soft words such as "growth"',
)
def directions_kept(pair: Pair) -> Iterator[Finding]:
    """What rises still rises, what beats still beats, what is strong is still strong."""
    for cue, others in direction_alignment(pair).counterparts:
        if others and all(other.sign == -cue.sign for other in others):
            soft = {cue.tier, *(other.tier for other in others)} == {"soft"}
            yield Finding(
                "direction-changed",
                f"'{cue.text}' became '{others[0].text}'",
                (cue.start, cue.end),
                (others[0].start, others[0].end),
                for_review=soft and not are_results(cue, others[0]),
            )


@rule(
    "outcome-changed",
    about="outcomes",
    paper="R.2; S.3, 1",
    manipulations=("numerical", "sentiment", "causal"),
    in_cause="ignored",
)
def denied(pair: Pair) -> Iterator[Finding]:
    """The rewrite denies nothing that its original states, and states nothing that it denies."""
    denials, aligned = pattern_in_small("denials"), pair.alignment
    counts = [
        sum(1 for _ in denials.finditer(side.text, side.small))
        for side in (pair.original, pair.rewritten)
    ]
    if counts[0] == counts[1]:
        return
    is_new = counts[1] > counts[0]
    side = pair.rewritten if is_new else pair.original
    change_of = aligned.change_in_rewritten if is_new else aligned.change_in_original
    for found in denials.finditer(side.text, side.small):
        if any(change_of(i) for i in side.span_tokens(*found.span())):
            yield fail(
                "outcome-changed",
                f"'{side.excerpt(found.span())}' "
                f"{'is new: it denies' if is_new else 'is gone: it denied'} what the other text "
                "states",
                None if is_new else found.span(),
                found.span() if is_new else None,
            )
            return


_PARTICLES = (("up", "down"), ("higher", "lower"), ("upward", "downward"), ("more", "fewer"))


@rule(
    "direction-changed",
    about="outcomes",
    paper="S.2, 2; R.3; R.4",
    manipulations=("numerical", "sentiment", "causal"),
    in_cause="ignored",
)
def particles_kept(pair: Pair) -> Iterator[Finding]:
    """What is nudged down is not nudged up."""
    for change in pair.changes:
        before, after = ({token.key for token in tokens} for tokens in pair.tokens(change))
        for one, two in (*_PARTICLES, *((b, a) for a, b in _PARTICLES)):
            if one in before - after and two in after - before:
                yield fail("direction-changed", f"'{one}' became '{two}'", *pair.spans(change))


_AS_EXPECTED = re.compile(r"\b(?:in[\s-]line|met|meets|match(?:ed|es|ing)?)\b", re.IGNORECASE)
_NOT_AS_EXPECTED = re.compile(
    r"\b(?:above|below|beat\w*|miss\w*|top(?:s|ped)|exceed\w*|short of|ahead of|surpass\w*"
    r"|lag\w*)\b",
    re.IGNORECASE,
)


@rule(
    "outcome-changed",
    about="outcomes",
    paper="S.3, 1; S.2, 2",
    manipulations=("numerical", "sentiment", "causal"),
    in_cause="ignored",
)
def expectations_kept(pair: Pair) -> Iterator[Finding]:
    """What was in line with expectations neither beats nor misses them, and the other way round."""
    for change in pair.changes:
        before, after = pair.texts(change)
        for one, two in ((_AS_EXPECTED, _NOT_AS_EXPECTED), (_NOT_AS_EXPECTED, _AS_EXPECTED)):
            if one.search(before) and two.search(after) and not one.search(after):
                yield fail("outcome-changed", f"'{before}' became '{after}'", *pair.spans(change))


@rule(
    "outcome-changed",
    about="outcomes",
    paper="R.4; S.3, 1",
    manipulations=("numerical", "sentiment", "causal"),
    in_cause="ignored",
)
def outcomes_kept(
    pair: Pair,
    *,
    near: Annotated[int, "ours: words between two changes that may be of one verb"] = 5,
) -> Iterator[Finding]:
    """What was met, kept or unchanged is neither beaten nor missed, neither raised nor cut."""
    found = direction_alignment(pair)
    firm = [
        [cue for cue in cues if cue.tier == "firm" or cue.text.casefold() in ("higher", "lower")]
        for cues in (found.original, found.rewritten)
    ]

    def neighbour(gone: Change) -> Span | None:
        """Return the change near words that are only gone: "left it unchanged", "cut it"."""
        for change in pair.changes:
            (first, end), (start, last) = change.original, gone.original
            apart = max(first - last, start - end)
            if change != gone and first < end and 0 <= apart <= near:
                return pair.spans(change)[1]
        return None

    for change in pair.changes:
        a, b = pair.spans(change)
        if a is None:
            continue
        b = b or neighbour(change)
        if b is None:
            continue
        before, after = pair.original.excerpt(a), pair.rewritten.excerpt(b)
        was_neutral = pattern("outcomes").search(before)
        is_neutral = pattern("outcomes").search(after)
        moved = any(a[0] <= cue.start < a[1] for cue in firm[0])
        moves = any(b[0] <= cue.start < b[1] for cue in firm[1])
        moved = moved or bool(pattern("results").search(before))
        moves = moves or bool(pattern("results").search(after))
        if (was_neutral and not is_neutral and moves and not moved) or (
            is_neutral and not was_neutral and moved and not moves
        ):
            yield fail("outcome-changed", f"'{before}' became '{after}'", a, b)


@rule(
    "outcome-changed",
    about="outcomes",
    paper="R.4; S.3, 1",
    manipulations=("numerical", "sentiment", "causal"),
    in_cause="ignored",
)
def acts_kept(pair: Pair) -> Iterator[Finding]:
    """An act does not become what undoes it: a buyback that is suspended is not launched."""

    def first(tokens: list[Token], stems: frozenset[str]) -> Token | None:
        return next((token for token in tokens if stem(token.key) in stems), None)

    for change in pair.changes:
        before, after = pair.tokens(change)
        for one, other in opposites("acts"):
            for was, now in ((one, other), (other, one)):
                old, new = first(before, was), first(after, now)
                if old is None or new is None or first(after, was) or first(before, now):
                    continue
                yield fail(
                    "outcome-changed",
                    f"'{old.text}' became '{new.text}'",
                    (old.start, old.end),
                    (new.start, new.end),
                )


@cache
def opposites(table: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return words and their opposites, by stems: the rows of a table of the word lists."""
    found: list[tuple[frozenset[str], frozenset[str]]] = []
    for row in groups(table).values():
        undone = {word for word in row if word.startswith("-")}
        found.append(
            (
                frozenset(map(stem, row - undone)),
                frozenset(stem(word.removeprefix("-")) for word in undone),
            )
        )
    return tuple(found)


@rule(
    "outcome-changed",
    about="outcomes",
    paper="S.3, 1",
    manipulations=("numerical", "sentiment", "causal"),
    in_cause="ignored",
)
def ratings_kept(pair: Pair) -> Iterator[Finding]:
    """A stock that is called a Buy is called neither a Strong Buy nor a Hold."""
    before, after = rating_names(pair.original), rating_names(pair.rewritten)
    if len(before) != len(after):
        return
    for a, b in zip(before, after, strict=True):
        if a[2] != b[2]:
            was, now = pair.original.excerpt(a[:2]), pair.rewritten.excerpt(b[:2])
            yield fail("outcome-changed", f"'{was}' became '{now}'", a[:2], b[:2])


# Causes and events that are new


_LINKS = re.compile(
    r"\b(?:as|after|on|following|since|with|helped|hurt|by|so|when|while|from)\b", re.IGNORECASE
)


@rule(
    "new-cause",
    about="events",
    paper="S.1, step 2; S.2, 8; S.3, 5",
    manipulations=("numerical", "flipping", "sentiment"),
    to_review="weak connectors",
)
def causes_added(
    pair: Pair,
    *,
    clause: Annotated[int, "ours: words put in that make a weak connector a cause"] = 3,
) -> Iterator[Finding]:
    """The rewrite explains nothing that its original leaves unexplained."""
    outright, weak = words("causes_outright"), words("causes_weakly")
    connectors = pair.rewritten.terms("connector")
    for found in connectors:
        if found.term not in outright | weak:
            continue
        tokens = pair.rewritten.span_tokens(found.start, found.end)
        changes = {change for i in tokens if (change := pair.alignment.change_in_rewritten(i))}
        if not changes:
            continue
        here = sum(match.term == found.term for match in connectors)
        if here <= sum(match.term == found.term for match in pair.original.terms("connector")):
            continue  # it only stands elsewhere
        if any(_has_connector(pair, change.original) for change in changes):
            continue
        size = sum(change.rewritten[1] - change.rewritten[0] for change in changes)
        span = (found.start, found.end)
        if found.term in outright or size >= clause:
            yield fail(
                "new-cause", f"'{found.text}' gives a cause that the original lacks", None, span
            )
        else:
            yield review("new-cause", f"'{found.text}' may give a cause that is new", None, span)


@rule(
    "new-cause",
    about="events",
    paper="S.1, step 2; S.2, 8; S.3, 5",
    manipulations=("numerical", "flipping", "sentiment"),
)
def chains_added(
    pair: Pair,
    *,
    least: Annotated[int, "ours: words of content that make a cause"] = 2,
    moved: Annotated[float, "ours: share of them that the original has where one only moved"] = 0.7,
) -> Iterator[Finding]:
    """No cause is put in whole, marker and all: "on renewed fears of a hard landing"."""
    for chain in chains(pair.rewritten):
        linked = pair.rewritten.span_tokens(*chain.marker)
        changes = [pair.alignment.change_in_rewritten(i) for i in linked]
        content = [
            i
            for i in pair.rewritten.span_tokens(*chain.cause)
            if pair.rewritten.tokens[i].is_word
            and not is_function_word(pair.rewritten.tokens[i].key)
        ]
        new = [i for i in content if pair.alignment.change_in_rewritten(i) in changes]
        if None in changes or len(new) < least or chain.cause < chain.marker:
            continue
        if any(_has_connector(pair, change.original) for change in changes if change):
            continue
        had = {stem(token.key) for token in pair.original.tokens}
        keys = [pair.rewritten.tokens[i].key for i in new]
        if sum(stem(key) in had for key in keys) >= moved * len(keys):
            continue
        span = (chain.marker[0], pair.rewritten.tokens[new[-1]].end)
        yield fail("new-cause", f"'{pair.rewritten.excerpt(span)}' is a cause put in", None, span)


def _has_connector(pair: Pair, tokens: Span) -> bool:
    """Whether the original links cause and effect in a stretch, or right next to it."""
    span = pair.original.token_span(
        (max(0, tokens[0] - 1), min(tokens[1] + 1, len(pair.original.tokens)))
    )
    if span is None:
        return False
    start, end = span
    if any(m.start < end and start < m.end for m in pair.original.terms("connector")):
        return True
    return tokens[1] > tokens[0] and bool(_LINKS.search(pair.original.excerpt(span)))


@rule(
    "new-event",
    about="events",
    paper="R.2–R.4; S.1, step 2",
    manipulations=("numerical", "flipping", "sentiment"),
    to_review="such an act in no clause of its own",
)
def acts_added(
    pair: Pair,
    *,
    replaced: Annotated[int, "ours: words that a clause put in may replace, at most"] = 1,
    least: Annotated[int, "ours: words of a clause, at least"] = 3,
) -> Iterator[Finding]:
    """No clause is put in about an act that the original lacks: "and signed a contract"."""
    known = {stem(token.key) for token in pair.original.tokens}
    for change in pair.changes:
        before, after = pair.tokens(change)
        if len(before) > replaced or len(after) < least:
            continue
        if any(t.key in words("deeds_done") and stem(t.key) not in known for t in after):
            start = change.rewritten[0]
            openers = {token.key for token in pair.rewritten.tokens[max(0, start - 1) : start + 1]}
            yield Finding(
                "new-event",
                f"'{pair.texts(change)[1]}' is new",
                None,
                pair.spans(change)[1],
                for_review=not openers & words("clause_openers"),
            )


@rule(
    "new-event",
    about="events",
    paper="R.2–R.4; S.1, step 2",
)
def events_added(pair: Pair) -> Iterator[Finding]:
    """The rewrite speaks of no event, deal, crisis or dispute that its original does not; in
    flipping, save one that is a direction ("hired", "laid off").
    """
    at_words = pattern_at_words("events")
    possible = {number for _, word in pair.rewritten.words for number in at_words.numbers(word)}
    for number in sorted(possible):
        event = patterns("events")[number]
        found = event.search(pair.rewritten.text)
        if not found or event.search(pair.original.text):
            continue
        if pair.manipulation == "flipping" and any(
            m.start < found.end() and found.start() < m.end
            for m in pair.rewritten.terms("directional")
        ):
            continue  # an event that is a direction: "hired", "laid off"
        yield fail(
            "new-event",
            f"'{found[0]}' is an event that the original does not speak of",
            None,
            found.span(),
        )


@rule(
    "new-event",
    about="events",
    paper="R.2–R.4; S.1, step 2",
    to_review="in causal distortion: it may be the new cause",
)
def setbacks_added(pair: Pair) -> Iterator[Finding]:
    """The rewrite speaks of no trouble with supplies that its original does not."""
    found = pattern("setbacks").search(pair.rewritten.text)
    if found and not pattern("setbacks").search(pair.original.text):
        yield Finding(
            "new-event",
            f"'{found[0]}' is new",
            None,
            found.span(),
            for_review=pair.manipulation == "causal",
        )


# What is measured


@rule("metric-changed", about="metrics", paper="S.3, 1", in_cause="ignored")
def metrics_kept(
    pair: Pair, *, longest: Annotated[int, "ours: words of a change, at most"] = 3
) -> Iterator[Finding]:
    """Revenue stays revenue, and profit profit."""
    yield from kinds_kept(pair, "metric-changed", table("metrics"), longest)
