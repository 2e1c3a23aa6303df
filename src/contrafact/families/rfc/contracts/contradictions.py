"""What the figures of a single text contradict: each other, their direction, or the world.

RFC-BENCH, appendices R.1 (logical or financial contradictions fail) and S.2, items 4 and 8. Only
figures are read, and the words that set them against each other.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from contrafact.families.rfc.contracts.pair import Pair, Side, Span, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, rule
from contrafact.families.rfc.contracts.vocabulary import expression
from contrafact.text.quantities import Quantity, same_measure, worth
from contrafact.text.relations import comparatives, earlier_and_later

NEAR = 60
"""Characters between a figure and what it is said with, at most (ours)."""

SAME_LEVEL = 0.35
"""Share by which a level and a bound may differ and be of one thing (ours)."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Figures of one text that cannot all hold, or one that cannot."""

    rule: str
    message: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Where it is in the text, in characters."""
        return self.start, self.end


def _at(rule: str, message: str, *where: Quantity) -> Contradiction:
    return Contradiction(rule, message, min(q.start for q in where), max(q.end for q in where))


def _between(text: str, one: Quantity, two: Quantity) -> str:
    low, high = sorted((one, two), key=lambda q: q.start)
    return text[low.end : high.start]


# Directions and levels

_OPENED = re.compile(r"\b(?:open(?:ed|s)|start(?:ed|s)|began|begins)\s[^.;]{0,30}?\bat\s\Z", re.I)
_REACHED_LATER = re.compile(r"[^.;]{0,30}?\s(?:and|before|then)\s[^.;]{0,20}\s(?:to|at)\s")


def _opened(side: Side) -> Iterator[tuple[Quantity, Quantity]]:
    """Yield "opened at 121 and fell to 118"."""
    for a, b in pairwise(side.quantities):
        later = _REACHED_LATER.fullmatch(side.text, a.end, b.start)
        if later and _OPENED.search(side.text, max(0, a.start - NEAR), a.start):
            yield a, b


def _earlier_and_later(side: Side) -> Iterator[tuple[Quantity, Quantity]]:
    found = side.quantities
    for old, new in earlier_and_later(side):
        first = min(old, new)
        before = found[first - 1].link if first else None
        if not (before and before[0] == "range"):
            yield found[old], found[new]


_PER = expression("contradictions", "per")
_WAY = expression("contradictions", "way")


_NEW_CLAUSE = re.compile(
    r"[;]|,\s(?:and|but|while|as)\s|\b(?:as|after|while|but|than)\b", re.IGNORECASE
)
# What may move a price or a rating, and the figure the other way: "improved to 3% from 5%".
_OF_WORTH = expression("contradictions", "of_worth")


def _stated(side: Side, low: int, high: int) -> str | None:
    start = side.sentence_of(low).start
    near = None
    for move in side.movements:
        if not start <= move.start < high or move.is_noun or _OF_WORTH.match(move.word):
            continue
        if move.end <= low and _NEW_CLAUSE.search(side.text, move.end, low):
            continue
        near = move
    return None if near is None else near.direction


def _moves(side: Side) -> Iterator[Contradiction]:
    for a, b in (*_opened(side), *_earlier_and_later(side)):
        if not same_measure(a, b) or a.value == b.value or a.is_estimate or b.is_estimate:
            continue
        if _PER.match(side.text, a.end) or _PER.match(side.text, b.end):
            continue  # "slid to 770 per dollar from 687": the figure rises where the currency falls
        low, high = min(a.start, b.start), max(a.end, b.end)
        way = _WAY.search(side.text, max(0, low - 14), high)
        stated = ("up" if way["up"] else "down") if way else _stated(side, low, high)
        signed = worth(a) < 0 or worth(a) * worth(b) < 0
        rises = worth(b) > worth(a) if signed else abs(worth(b)) > abs(worth(a))
        if stated is not None and (stated == "up") != rises:
            yield _at("direction", f"said to go {stated} from '{a.text}' to '{b.text}'", a, b)


_BOUND = expression("contradictions", "bound")
_REACHED = expression("contradictions", "reached")
_OTHER_TIME = expression("contradictions", "other_time")


_MOVED_ON = re.compile(r",\s(?:\w+\s){0,3}\w+ing\sto\s(?:\w+\s){0,2}\Z", re.IGNORECASE)


def _bounds(side: Side) -> Iterator[Contradiction]:
    found = side.quantities
    for bound in found:
        which = _BOUND.search(side.text, max(0, bound.start - 30), bound.start)
        if which is None or bound.is_estimate or not bound.value:
            continue
        sentence = side.sentence_of(bound.start)
        start, end = max(sentence.start, bound.start - NEAR), min(sentence.end, bound.end + 40)
        if _OTHER_TIME.search(side.text, start, end):
            continue
        for level in found:
            if level is bound or not same_measure(level, bound) or level.value == bound.value:
                continue
            if not level.is_level or level.is_estimate or level.is_old or level.link:
                continue
            apart = side.place_of(level.start) - side.place_of(bound.start)
            if apart not in (0, 1) or abs(worth(level) / worth(bound) - 1) > SAME_LEVEL:
                continue
            if _MOVED_ON.search(side.text, bound.end, max(bound.end, level.start)):
                continue  # "above 31% in May, falling to 24% by winter"
            if not _REACHED.search(side.text, max(0, level.start - 20), level.start):
                continue
            if bool(which["above"]) != (worth(level) > worth(bound)):
                words = which[0].split()[0]
                yield _at("bound", f"'{level.text}' is not {words} '{bound.text}'", bound, level)
                break


def _comparisons(side: Side) -> Iterator[Contradiction]:
    for c in comparatives(side):
        a, b = side.quantities[c.this], side.quantities[c.that]
        falls = "down" in (a.direction, b.direction) and a.kind == "percent"
        if a.is_loss or b.is_loss or (falls and not (a.is_level and b.is_level)):
            continue
        if c.sign * (abs(worth(a)) - abs(worth(b))) < 0:
            message = f"'{side.excerpt(c.words)}' contradicts '{a.text}'"
            yield Contradiction("comparison", message, min(a.start, c.words[0]), c.words[1])


_SURPRISE = re.compile(r"\bsurprises?\sof\s(?:\S+\sand\s)?\Z", re.IGNORECASE)


def _impossible(side: Side) -> Iterator[Contradiction]:
    for q in side.quantities:
        if q.kind != "percent" or q.value is None or abs(q.value) <= 100.0:
            continue
        if _SURPRISE.search(side.text, 0, q.start):
            continue  # a result may miss an estimate by more than all of it
        if q.is_level and q.role in ("share", "utilisation", "unemployment"):
            yield _at("over 100%", f"a {q.role} of {q.text}", q)
        elif not q.is_level and q.direction == "down":
            yield _at("over 100%", f"a decline of {q.text}", q)


_PARTS = re.compile(
    r"\b(?:ma[dk](?:es?|ing) up|account(?:s|ed|ing)? for|respectively|the rest|split|mix)\b", re.I
)
_OF_WHOLE = re.compile(
    r"\b(?:ma[dk](?:es?|ing)\sup|account(?:s|ed|ing)?\sfor)\s(?:about\s|around\s|some\s)?\Z", re.I
)
_TOTAL = expression("contradictions", "total")
_VERSUS = re.compile(r"\s?(?:to|-|–|against|versus)\s?")
_VOTES = re.compile(r"\b(?:vot\w+|approv\w+|ballot|reject\w+|backed|ratif\w+)\b", re.IGNORECASE)


def _parts(side: Side) -> Iterator[Contradiction]:
    for sentence in side.sentences:
        if not _PARTS.search(side.text, sentence.start, sentence.end):
            continue
        parts = [
            q
            for q in side.quantities
            if sentence.start <= q.start < sentence.end
            and q.kind == "percent"
            and q.is_level
            and q.link is None
            and (q.role == "share" or _OF_WHOLE.search(side.text, sentence.start, q.start))
        ]
        if len(parts) > 1 and sum(map(worth, parts)) > 100.5:
            shown = " + ".join(q.text for q in parts)
            yield _at("parts", f"{shown} is more than the whole", *parts)
    for a, b in pairwise(side.quantities):
        between = _between(side.text, a, b)
        if a.kind == b.kind == "number" and worth(b) < worth(a) and _TOTAL.search(between):
            yield _at("parts", f"a total of '{b.text}' is less than '{a.text}', a part", a, b)
        if (
            a.kind == b.kind == "percent"
            and worth(a) + worth(b) > 101
            and _VERSUS.fullmatch(between)
            and _VOTES.search(side.text, side.sentence_of(a.start).start, a.start)
        ):
            yield _at("parts", f"'{a.text}' and '{b.text}' are more than all votes", a, b)


_WORLD = (
    (r"\s(?:of\sthe\s)?(?:\d+\s)?(?:U\.?S\.?\s|American\s)?states\b", 50),
    (r"\sof\sthe\sFortune\s500\b", 500),
    (r"\sof\sthe\sFortune\s100\b", 100),
    (r"\sdays\s(?:a|per)\syear\b", 366),
)
_MOST_OF = tuple((re.compile(what, re.IGNORECASE), most) for what, most in _WORLD)
_DIFFUSION = expression("contradictions", "diffusion")


def _world(side: Side) -> Iterator[Contradiction]:
    for q in side.quantities:
        if q.kind != "number" or q.value is None:
            continue
        for what, most in _MOST_OF:
            if q.value > most and (found := what.match(side.text, q.end)):
                yield _at("world", f"there are not '{q.text}{found[0]}'", q)
        sentence = side.sentence_of(q.start)
        reading = q.is_level and q.value > 100 and "." in q.form.number
        if reading and _DIFFUSION.search(side.text, sentence.start, sentence.end):
            yield _at("world", f"such an index lies between 0 and 100, not at '{q.text}'", q)


_READERS: tuple[Callable[[Side], Iterator[Contradiction]], ...] = (
    _moves,
    _impossible,
    _parts,
    _comparisons,
    _bounds,
    _world,
)


def contradictions(text: str) -> list[Contradiction]:
    """Return what contradicts itself in the figures of a text, in order of place.

    An empty list says that nothing was found, not that the text is true.
    """
    return contradictions_of(Side(text))


@read_once
def contradictions_of(side: Side) -> list[Contradiction]:
    """Return what contradicts itself in a side of a pair; see `contradictions`."""
    found: list[Contradiction] = []
    for reader in _READERS if side.quantities else ():
        for one in reader(side):
            # What two readings see in one place is one contradiction.
            if not any(one.start < other.end and other.start < one.end for other in found):
                found.append(one)
    return sorted(found, key=lambda c: (c.start, c.end))


@rule("contradiction", about="consistency", paper="R.1; S.2, 8")
def contradiction(pair: Pair) -> Iterator[Finding]:
    """The rewrite's figures are as consistent as its original's: no "lowered from $90 to $96", no
    "missed" above what was expected, no "fewer than" a smaller figure, no level on the wrong side
    of its bound, no parts beyond their whole.
    """
    found = contradictions_of(pair.rewritten)
    had = Counter(one.rule for one in contradictions_of(pair.original)) if found else Counter()
    for one in found:
        if had[one.rule]:
            had[one.rule] -= 1
        else:
            yield fail("contradiction", one.message, None, one.span)
