"""Rules on times, dates, grades, ranks and other names with digits, which must stay.

RFC-BENCH, appendices Q.2; R.1; R.2; S.1, 3; S.2, 3; S.3, 1.
"""

import re
from collections import Counter
from collections.abc import Iterator

from contrafact.families.rfc.contracts.numbers import place
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.rules import Finding, fail, review, rule
from contrafact.families.rfc.contracts.vocabulary import expression, groups
from contrafact.text.quantities import Identifier
from contrafact.text.times import time_parts


@rule(
    "date-changed",
    "date-lost",
    "date-added",
    about="times",
    paper="Q.2; S.2, 3; S.3, 1",
    to_review='"last year" dropped or new; times in another order; part of a date dropped; in '
    "causal distortion, what changes with the words around it",
)
def times_kept(pair: Pair) -> Iterator[Finding]:
    """Dates, years, quarters, weekdays and "last year" stay; they compare by value."""
    a, b, to = pair.original, pair.rewritten, pair.alignment.to_rewritten
    had = [time_parts(time.value) for time in a.times]
    has = [time_parts(time.value) for time in b.times]
    known, kept = frozenset[str]().union(*had), frozenset[str]().union(*has)
    places = {b.span_tokens(*place(time))[0]: time for time in b.times}
    matched: set[int] = set()
    for time, parts in zip(a.times, had, strict=True):
        at = a.span_tokens(*place(time))[0]
        token = to.get(at)
        other = places.get(token) if token is not None else None
        if other is not None and token is not None:
            matched.add(token)
            others = time_parts(other.value)
            if not (parts <= others or others <= parts):
                same_words_around = (
                    to.get(at - 1, -1) == token - 1 and to.get(at + 1, -1) == token + 1
                )
                yield Finding(
                    "date-changed",
                    f"'{time.text}' became '{other.text}'",
                    place(time),
                    place(other),
                    for_review=(parts <= kept and others <= known and not same_words_around)
                    or pair.is_of_the_causes(place(time), place(other)),
                )
                continue
        if not parts & kept:
            yield Finding(
                "date-lost",
                f"'{time.text}' is gone",
                place(time),
                for_review=time.relative or pair.goes_with_cause(*place(time)),
            )
        elif not parts <= kept:
            yield review("date-lost", f"part of '{time.text}' is gone", place(time))
    for token, time in places.items():
        if token not in matched and not time_parts(time.value) <= known:
            yield Finding(
                "date-added", f"'{time.text}' is new", None, place(time), for_review=time.relative
            )


def office_of(word: str) -> str:
    """Return the office that a word in lower case names; empty if it names none."""
    return next((office for office, names in groups("offices").items() if word in names), "")


_ORDINAL = expression("times", "ordinal")


_GRADE = r"(?:AAA|AA[+-]?|A[+-]|BBB[+-]?|BB[+-]?|B[+-]|CCC[+-]?|[ABC]a{1,2}[1-3])(?![\w+])"
"""A credit rating, as agencies write it; a bare "A" or "B" may be anything."""

_GRADES = re.compile(rf"(?<![\w-]){_GRADE}")


@rule("identifier-changed", about="times", paper="R.1; R.2; S.1, 3")
def grades_kept(pair: Pair) -> Iterator[Finding]:
    """Credit ratings keep their grades and order; flipping may swap the old one and the new."""
    grades = [_GRADES.findall(side.text) for side in (pair.original, pair.rewritten)]
    had, has = map(Counter, grades)
    if had and has and had != has:
        new = next(iter(has - had), None)
        old = next(iter(had - has), None)
        if new and old:
            yield fail("identifier-changed", f"'{old}' became '{new}'")
    elif grades[0] != grades[1] and pair.manipulation == "numerical":
        yield fail("identifier-changed", f"{' and '.join(grades[0])} trade places")


@rule("identifier-changed", about="times", paper="Q.1, 2; R.2")
def offices_kept(pair: Pair) -> Iterator[Finding]:
    """An office stays: no chief financial officer becomes a chief executive."""
    for change in pair.changes:
        before, after = pair.tokens(change)
        old, new = ([office_of(token.key) for token in tokens] for tokens in (before, after))
        gone, came = {*old} - {*new, ""}, {*new} - {*old, ""}
        if gone and came:
            message = "'{}' became '{}'".format(*pair.texts(change))
            yield fail("identifier-changed", message, *pair.spans(change))


@rule("identifier-changed", about="times", paper="R.2; S.2, 3")
def ordinals_kept(pair: Pair) -> Iterator[Finding]:
    """Ordinals stay: the sixth remains the sixth."""
    for change in pair.changes:
        a, b = pair.texts(change)
        old, new = _ORDINAL.search(a), _ORDINAL.search(b)
        if old is None or new is None or old[0].casefold() in b.casefold():
            continue
        if new[0].casefold() not in a.casefold():
            yield fail("identifier-changed", f"'{old[0]}' became '{new[0]}'", *pair.spans(change))


_RANK = re.compile(r"\bRank\W{1,3}(?:of\s)?#?\Z", re.IGNORECASE)
_EXTREME = re.compile(r"\s(?:high|low|peak|trough)s?\Z")


@rule(
    "identifier-changed",
    about="times",
    paper="R.2; S.2, 3",
    to_review="in flipping, a rank and a span's high or low, which may be reversed; in causal "
    "distortion, what is lost with the words around it",
)
def identifiers_kept(pair: Pair) -> Iterator[Finding]:
    """Versions, ranks, index names and forms stay."""

    def identity(name: Identifier) -> tuple[str, str]:
        # A high and a low of one span differ only in direction, which a flip reverses.
        flips = pair.manipulation == "flipping"
        return name.kind, _EXTREME.sub("", name.value) if flips else name.value

    def is_reversible(side: Side, name: Identifier) -> bool:
        turns = _RANK.search(side.text[: name.start]) or _EXTREME.search(name.value)
        return pair.manipulation == "flipping" and bool(turns)

    a, b = pair.original, pair.rewritten
    had = {identity(name) for name in a.identifiers}
    has = {identity(name) for name in b.identifiers}
    for name in a.identifiers:
        if identity(name) not in has and name.text.casefold() not in b.text.casefold():
            yield Finding(
                "identifier-changed",
                f"'{name.text}' is gone or changed",
                place(name),
                for_review=is_reversible(a, name) or pair.goes_with_cause(*place(name)),
            )
    for name in b.identifiers:
        if identity(name) not in had and name.text.casefold() not in a.text.casefold():
            yield Finding(
                "identifier-changed",
                f"'{name.text}' is new or changed",
                None,
                place(name),
                for_review=is_reversible(b, name),
            )
