"""Outcomes and acts: what met estimates does not miss them, what was suspended is not launched.

RFC-BENCH, appendices R.3, R.4, S.3 and S.4: outcomes, decisions and concrete events stay.
"""

from collections.abc import Iterator
from functools import cache

from contrafact.families.rfc.contracts.align import Change
from contrafact.families.rfc.contracts.counterparts import directions
from contrafact.families.rfc.contracts.findings import Span, Violation, fail, review
from contrafact.families.rfc.contracts.lists import groups, pattern, words
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.ratings import rating_names
from contrafact.families.rfc.contracts.tokens import Token, stem

__all__ = ["acts_added", "acts_kept", "outcomes_kept", "ratings_kept"]

_NEAR = 5  # words between two changes that may be of one verb
_REACH = 3  # words of a change within which a neutral outcome may have become a direction


def outcomes_kept(pair: Pair) -> Iterator[Violation]:
    """What was met, kept or unchanged is neither beaten nor missed, neither raised nor cut."""
    found = directions(pair)
    firm = [
        [s for s in some if s.tier == "firm" or s.text.casefold() in ("higher", "lower")]
        for some in (found.before, found.after)
    ]
    for change in pair.alignment.changes:
        a, b = pair.alignment.before_span(change), pair.alignment.after_span(change)
        if a is None:
            continue
        if b is None:
            b = _beside(pair, change)
            if b is None:
                continue
        before, after = pair.original.text[slice(*a)], pair.rewritten.text[slice(*b)]
        told, turned = pattern("outcomes").search(before), pattern("outcomes").search(after)
        moved = [s.text for s in firm[0] if a[0] <= s.start < a[1]]
        moves = [s.text for s in firm[1] if b[0] <= s.start < b[1]]
        moved += pattern("results").findall(before)
        moves += pattern("results").findall(after)
        if (told and not turned and moves and not moved) or (
            turned and not told and moved and not moves
        ):
            yield fail("outcome-changed", f"'{before}' became '{after}'", a, b)


def _beside(pair: Pair, gone: Change) -> Span | None:
    """Return the change near words that are only gone: "left it unchanged", "cut it"."""
    for change in pair.alignment.changes:
        apart = max(change.before[0] - gone.before[1], gone.before[0] - change.before[1])
        if change != gone and change.before[0] < change.before[1] and 0 <= apart <= _NEAR:
            return pair.alignment.after_span(change)
    return None


def ratings_kept(pair: Pair) -> Iterator[Violation]:
    """A stock that is called a Buy is called neither a Strong Buy nor a Hold."""
    before, after = rating_names(pair.original), rating_names(pair.rewritten)
    if len(before) != len(after):
        return
    for a, b in zip(before, after, strict=True):
        if a[2] != b[2]:
            was, now = pair.original.text[slice(*a[:2])], pair.rewritten.text[slice(*b[:2])]
            yield fail("outcome-changed", f"'{was}' became '{now}'", a[:2], b[:2])


@cache
def _opposites() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return acts and what undoes them, by stems."""
    found: list[tuple[frozenset[str], frozenset[str]]] = []
    for row in groups("acts").values():
        undone = {word for word in row if word.startswith("-")}
        found.append(
            (
                frozenset(map(stem, row - undone)),
                frozenset(stem(word.removeprefix("-")) for word in undone),
            )
        )
    return tuple(found)


def acts_kept(pair: Pair) -> Iterator[Violation]:
    """An act does not become what undoes it: a buyback that is suspended is not launched."""
    for change in pair.alignment.changes:
        before = pair.original.tokens[slice(*change.before)]
        after = pair.rewritten.tokens[slice(*change.after)]
        for one, other in _opposites():
            for was, now in ((one, other), (other, one)):
                old, new = _first(before, was), _first(after, now)
                if old is None or new is None or _first(after, was) or _first(before, now):
                    continue
                yield fail(
                    "outcome-changed",
                    f"'{old.text}' became '{new.text}'",
                    (old.start, old.end),
                    (new.start, new.end),
                )


def _first(tokens: list[Token], stems: frozenset[str]) -> Token | None:
    return next((token for token in tokens if stem(token.key) in stems), None)


def acts_added(pair: Pair) -> Iterator[Violation]:
    """No clause is put in that tells of an act the original does not: "and signed a contract"."""
    known = {stem(token.key) for token in pair.original.tokens}
    for change in pair.alignment.changes:
        if change.before[1] - change.before[0] > 1 or change.after[1] - change.after[0] < _REACH:
            continue
        act = _act(pair.rewritten, change, known)
        if act is None:
            continue
        span = pair.alignment.after_span(change)
        told = fail if _clause(pair.rewritten, change) else review
        yield told("new-event", f"'{_said(pair.rewritten, span)}' is new", None, span)


def _act(side: Side, change: Change, known: set[str]) -> Token | None:
    for token in side.tokens[slice(*change.after)]:
        if token.key in words("deeds_done") and stem(token.key) not in known:
            return token
    return None


def _clause(side: Side, change: Change) -> bool:
    """Whether a stretch begins as a clause of its own does: with "and", "after", "when"."""
    first = side.tokens[change.after[0]].key
    before = side.tokens[change.after[0] - 1].key if change.after[0] else ""
    return bool({first, before} & words("clause_openers"))


def _said(side: Side, span: Span | None) -> str:
    return "" if span is None else side.text[slice(*span)]
