"""What a single text contradicts itself in: the one reader for validators, detector and rewriter.

`contradictions` takes a text and returns what cannot be true at once in it, each with a reason and
a place. RFC-BENCH, appendix R.1 (logical or financial contradictions fail) and S.2, items 4 and 8.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from contrafact.families.rfc.contracts.assertions import assertions
from contrafact.families.rfc.contracts.consistency import (
    comparatives,
    earlier_and_later,
    expected_and_actual,
    is_earlier_forecast,
)
from contrafact.families.rfc.contracts.directional_cues import (
    Cue,
    directional_cues,
    is_rating,
    rating_calls,
)
from contrafact.families.rfc.contracts.numbers import precision
from contrafact.families.rfc.contracts.pair import Pair, Side, Span, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, rule
from contrafact.families.rfc.contracts.vocabulary import words
from contrafact.text.quantities import Quantity

__all__ = [
    "Contradiction",
    "contradiction",
    "contradictions",
    "contradictions_of",
]

PERCENT_TOLERANCE = 1.0
"""A stated change and the one that two figures make may differ by this many percentage points, or
by a tenth of it: both figures are rounded (ours)."""

POINTS_TOLERANCE = 0.15
"""Share by which a stated percentage may be off from the one that points and level make (ours)."""

NEAR = 60
"""A percent change speaks of a from–to pair at most this many characters away (ours)."""

SAME_LEVEL = 0.35
"""Share by which a level and a bound may differ and be of one thing (ours: farther apart, they
measure two)."""

HEADLINE = 140
"""Characters that a headline has at most (ours)."""

LEAD = 2
"""Sentences after the headline that tell its news again (ours)."""

WORLD: tuple[tuple[str, re.Pattern[str], float], ...] = (
    (
        "states of the union",
        re.compile(
            r"\A\s(?:of\sthe\s)?(?:\d+\s)?(?:U\.?S\.?\s|American\s)?states\b", re.IGNORECASE
        ),
        50,
    ),
    ("companies of the Fortune 500", re.compile(r"\A\sof\sthe\sFortune\s500\b"), 500),
    ("companies of the Fortune 100", re.compile(r"\A\sof\sthe\sFortune\s100\b"), 100),
    ("days of a year", re.compile(r"\A\sdays\s(?:a|per)\syear\b"), 366),
)
"""What there are only so many of in the world."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two statements of one text that cannot both hold, or one that cannot.

    Attributes:
        rule: What kind it is: ``direction``, ``percent change``, ``over 100%``, ``parts``,
            ``expectation``, ``comparison``, ``extreme``, ``rating``, ``bound``, ``points``,
            ``alternative``, ``headline``, ``verdict`` or ``world``.
        message: What does not fit, in words a person understands.
        start: Where it begins in the text.
        end: Where it ends.
    """

    rule: str
    message: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        """Where it is in the text, in characters."""
        return self.start, self.end


def contradictions(text: str) -> list[Contradiction]:
    """Return what contradicts itself in a text, in order of place.

    The first sentence counts as a headline where it is short enough. An empty list says that
    nothing was found, not that the text is true.
    """
    return contradictions_of(Side(text))


@read_once
def contradictions_of(side: Side) -> list[Contradiction]:
    """Return what contradicts itself in a side of a pair; see `contradictions`."""
    told = [
        *_moves(side),
        *_changes(side),
        *_points(side),
        *_impossible(side),
        *_parts(side),
        *_results(side),
        *_extremes(side),
        *_ratings(side),
        *_comparisons(side),
        *_bounds(side),
        *_alternatives(side),
        *_headline(side),
        *_verdicts(side),
        *_world(side),
    ]
    found: list[Contradiction] = []
    for one in told:
        # What two readings see in one place is one contradiction.
        if not any(one.start < other.end and other.start < one.end for other in found):
            found.append(one)
    return sorted(found, key=lambda c: (c.start, c.end))


@rule("contradiction", about="consistency", paper="R.1; S.2, 8")
def contradiction(pair: Pair) -> Iterator[Finding]:
    """The rewrite is as consistent with itself as its original: no "lowered from $90 to $96", no
    "missed" above what was expected, no "fewer than" a smaller figure, no fall to a record high,
    no downgrade to a better rating, no headline that its story denies, no level on the wrong side
    of its bound, no points that make another percentage.
    """
    had = Counter(one.rule for one in contradictions_of(pair.original))
    for one in contradictions_of(pair.rewritten):
        if had[one.rule]:
            had[one.rule] -= 1
        else:
            yield fail("contradiction", one.message, None, one.span)


def _told(rule: str, message: str, *where: Quantity) -> Contradiction:
    return Contradiction(rule, message, min(q.start for q in where), max(q.end for q in where))


def _between(text: str, one: Quantity, two: Quantity) -> str:
    low, high = sorted((one, two), key=lambda q: q.start)
    return text[low.end : high.start]


# Directions against figures


_NEW_CLAUSE = re.compile(r"[;]|,\s(?:and|but|while|as)\s|\b(?:as|after|while|but)\b", re.IGNORECASE)
_RESULT = re.compile(r"\s(?:profit|profitability|loss|losses|the\s(?:black|red))\Z", re.IGNORECASE)
_WAY = re.compile(
    r"\b(?:(?P<up>upwards?)|(?P<down>downwards?)),?\s(?:to\s[^.;,]?[^;,]{1,30}?,?\s)?from\s",
    re.IGNORECASE,
)
_UNIT = r"(?:\s?(?:%|percent|per\scent|percentage\spoints?|points?))?"
_WAY_TO = re.compile(
    r"\b(?:(?P<up>upwards?)|downwards?),?\s(?:"
    rf"from\s(?P<old>\d+(?:\.\d+)?){_UNIT}\sto\s(?P<new>\d+(?:\.\d+)?)"
    rf"|to\s(?P<new2>\d+(?:\.\d+)?){_UNIT},?\sfrom\s(?P<old2>\d+(?:\.\d+)?))(?![\d,])",
    re.IGNORECASE,
)
_FROM_THERE = re.compile(
    r"\b(?:(?P<up>up|higher\sthan)|(?:down|lower\sthan))(?:\sfrom)?\s"
    r"(?:an?\s|its\s|the\s)?(?:previous|earlier|prior|initial|original)\s",
    re.IGNORECASE,
)
_PER = re.compile(
    r"\s?/\s?(?:\$|€|USD)|\s(?:per|to\sthe|against\sthe|a)\s(?:U\.?S\.?\s)?(?:dollar|euro|greenback)",
    re.IGNORECASE,
)
_OPENED = re.compile(r"\b(?:open(?:ed|s)|start(?:ed|s)|began|begins)\s[^.;]{0,30}?\bat\s\Z", re.I)


def _moves(side: Side) -> Iterator[Contradiction]:
    """Yield directions that the figures they lead between contradict."""
    found = side.quantities
    for old, new in earlier_and_later(side):
        a, b = found[old], found[new]
        if a.value is None or b.value is None:
            continue
        if (a.is_estimate or b.is_estimate) and not is_earlier_forecast(side, a):
            continue
        if _is_earlier_range(side, a, b):
            yield from _ranges(side, a, b)
            continue
        if _PER.match(side.text[a.end : a.end + 12]) or _PER.match(side.text[b.end : b.end + 12]):
            continue  # "slid to 770 per dollar from 687": the figure rises where the currency falls
        signed = "-" in a.form.sign or "−" in a.form.sign or a.value * b.value < 0
        rising = b.value > a.value if signed else abs(b.value) > abs(a.value)
        low, high = min(a.start, b.start), max(a.end, b.end)
        way = next((m for m in _WAY.finditer(side.text, max(0, low - 14), high)), None)
        if way is not None and a.value != b.value and bool(way["up"]) != rising:
            yield _told("direction", f"'{way[0].split()[0]}' from '{a.text}' to '{b.text}'", a, b)
            continue
        from_there = _FROM_THERE.search(side.text[low:high])
        if from_there is not None and a.value != b.value:
            if bool(from_there["up"]) != rising:
                yield _told("direction", f"'{from_there[0]}' '{a.text}' to '{b.text}'", a, b)
            continue
        cue = _mover(side, low, high)
        if cue is None:
            told = a.direction is not None and not b.is_old and a.link and a.link[0] == "from-to"
            if told and (a.value == b.value or (a.direction == "up") != (b.value > a.value)):
                yield _told(
                    "direction", f"said to go {a.direction} from {a.text} to {b.text}", a, b
                )
            continue
        # "losses widened" is bad, and yet the figure grows: what counts is the verb's own sign.
        grows = cue.sign * cue.bare if len(cue.parts) > 1 else cue.sign
        if _BETTERS.match(cue.text) and _is_of_burden(side, cue):
            grows = -grows  # churn that improves falls
        linked = a.link is not None and a.link[0] == "from-to"
        if (linked and a.value == b.value) or (a.value != b.value and (grows > 0) != rising):
            yield Contradiction(
                "direction",
                f"'{cue.text}' contradicts '{a.text}' to '{b.text}'",
                min(cue.start, low),
                high,
            )
    for match in _WAY_TO.finditer(side.text):
        was, now = (float(match[k] or match[k + "2"]) for k in ("old", "new"))
        if was != now and bool(match["up"]) != (now > was):
            what = " ".join(match[0].split())
            yield Contradiction("direction", f"'{what}' contradicts itself", *match.span())
    for a, b in pairwise(found):
        if not _OPENED.search(side.text[max(0, a.start - 50) : a.start]):
            continue
        if a.kind != b.kind or a.unit != b.unit or a.value is None or b.value is None:
            continue
        cues = [c for c in directional_cues(side) if a.end <= c.start < b.start]
        if not cues or not re.search(r"\b(?:to|at)\s\Z", side.text[a.end : b.start]):
            continue
        if a.value != b.value and (cues[-1].sign > 0) != (b.value > a.value):
            yield _told("direction", f"'{cues[-1].text}' from '{a.text}' to '{b.text}'", a, b)


_BETTERS = re.compile(r"(?:improv|worsen|deteriorat)", re.IGNORECASE)


def _is_of_burden(side: Side, cue: Cue) -> bool:
    """Whether what is said to improve is a burden: churn, unemployment, defaults."""
    first = side.span_tokens(cue.start, cue.end)[0]
    start = side.sentence_of(cue.start).start
    return any(
        token.key in words("burdens") and token.start >= start
        for token in side.tokens[max(0, first - 4) : first]
    )


def _is_earlier_range(side: Side, a: Quantity, b: Quantity) -> bool:
    """Whether "from $5.1 to $5.3" is the range that another range of the sentence replaced."""
    low, high = sorted((a, b), key=lambda q: q.start)
    sentence = side.sentence_of(low.start)
    before = [
        q
        for q in side.quantities
        if sentence.start <= q.start < low.start and q.unit == low.unit and q.kind == low.kind
    ]
    return len(before) >= 2 and bool(
        re.search(r"\bfrom\s(?:\w+\s){0,3}\Z", side.text[before[-1].end : low.start])
        and re.fullmatch(r"\s(?:to|and)\s", side.text[low.end : high.start])
        and re.fullmatch(r"\s?(?:to|and|-|–)\s?", side.text[before[-2].end : before[-1].start])
    )


def _ranges(side: Side, a: Quantity, b: Quantity) -> Iterator[Contradiction]:
    """Yield "cut its forecast to $5.4–5.6 billion, from $5.1–5.3 billion"."""
    first = min(a.start, b.start)
    sentence = side.sentence_of(first)
    now = [
        q
        for q in side.quantities
        if sentence.start <= q.start < first and q.unit == a.unit and q.kind == a.kind
    ][-2:]
    was, is_now = (a.value or 0) + (b.value or 0), sum(q.value or 0 for q in now)
    cue = _mover(side, now[0].start, now[-1].end)
    if cue is not None and was != is_now and (cue.sign > 0) != (is_now > was):
        yield _told("direction", f"'{cue.text}' contradicts its two ranges", *now, a, b)


_THAN = re.compile(r"\bthan\b", re.IGNORECASE)


def _mover(side: Side, start: int, end: int) -> Cue | None:
    """Return the direction that leads to a pair of figures: the one nearest before or between."""
    sentence = side.sentence_of(start)
    near: Cue | None = None
    for cue in directional_cues(side):
        if cue.tier == "soft" or (len(cue.parts) > 1 and not cue.scaled):
            continue
        if not sentence.start <= cue.start < end:
            continue
        if is_rating(cue.text) or _RESULT.search(cue.text):
            continue
        if not cue.scaled and cue.text.casefold().split()[0] in words("no_moves"):
            continue
        if _THAN.search(cue.text):
            continue  # "have risen by more than expected to 5%"
        if cue.end <= start and _NEW_CLAUSE.search(side.text, cue.end, start):
            continue
        near = cue
    return near


def _changes(side: Side) -> Iterator[Contradiction]:
    """Yield percentages that the two figures beside them do not make."""
    found = side.quantities
    for old in found:
        if old.link is None or old.link[0] != "from-to" or not old.is_old or not old.value:
            continue
        new = found[old.link[1]]
        if new.value is None or old.kind in ("percent", "basis points"):
            continue
        actual = (new.value / old.value - 1.0) * 100.0
        sentence = side.sentence_of(old.start)
        for change in found:
            if change.kind != "percent" or change.is_level or change.value is None:
                continue
            if change.role != new.role or not sentence.start <= change.start < sentence.end:
                continue
            first, last = min(old.start, new.start), max(old.end, new.end)
            if max(first - change.end, change.start - last, 0) > NEAR:
                continue
            if abs(abs(change.value) - abs(actual)) > max(PERCENT_TOLERANCE, 0.1 * abs(actual)):
                yield _told(
                    "percent change",
                    f"{old.text} to {new.text} is {actual:+.1f}%, said to be {change.text}",
                    change,
                    old,
                    new,
                )


_OR = re.compile(r"(?:\spoints?)?,?\s(?:or|that\sis,)\s(?:about\s|roughly\s|some\s)?|\s\(")
_TO = re.compile(r",?\)?\s(?:lower\s|higher\s)?(?:to|at)\s(?:about\s|around\s)?")


def _points(side: Side) -> Iterator[Contradiction]:
    """Yield "182 points, or 0.47%, to 38,589" where the three do not fit."""
    found = side.quantities
    for first, second, level in zip(found, found[1:], found[2:], strict=False):
        if not _OR.fullmatch(_between(side.text, first, second)):
            continue
        if not _TO.fullmatch(_between(side.text, second, level)):
            continue
        percent, points = (second, first) if second.kind == "percent" else (first, second)
        if percent.kind != "percent" or points.kind == "percent" or points.kind == "basis points":
            continue
        if points.kind != level.kind or (points.kind == "money" and points.unit != level.unit):
            continue
        change, share, now = (abs(q.value or 0.0) for q in (points, percent, level))
        if not change or not share or now <= change:
            continue
        direction = first.direction or second.direction
        before = now - change if direction == "up" else now + change
        made = 100 * change / before
        rounding = precision(percent) + 100 * precision(points) / before
        if abs(made - share) > max(rounding, POINTS_TOLERANCE * made):
            yield _told(
                "points",
                f"'{points.text}' to '{level.text}' is {made:.2g}%, said to be '{percent.text}'",
                first,
                level,
            )


# What no figure can be


_PARTS = re.compile(
    r"\b(?:ma[dk]es? up|making up|account(?:s|ed|ing)? for|contribut\w+|respectively|the rest"
    r"|remain\w+|split|mix)\b",
    re.IGNORECASE,
)
_OF_WHOLE = re.compile(
    r"\b(?:ma[dk]es?\sup|making\sup|account(?:s|ed|ing)?\sfor)\s(?:about\s|around\s|some\s)?\Z",
    re.I,
)
PART_REACH = 30
"""Characters before a percentage in which words make it a part of a whole (ours)."""

_BOUNDED = frozenset(("share", "utilisation", "unemployment"))
_DIFFUSION = re.compile(
    r"\b(?:PMI|ISM|purchasing\smanagers|diffusion\sindex|(?:manufacturing|services|factory)\s(?:index|gauge)|builder(?:s['’]?)?\s(?:sentiment|confidence))",
    re.IGNORECASE,
)
_VOTES = re.compile(r"\b(?:vot\w+|approv\w+|ballot|reject\w+|backed|ratif\w+)\b", re.IGNORECASE)
_TOTAL = re.compile(
    r"\b(?:tak|bring|lift|rais)ing\s(?:its|the|their)\s(?:total|tally|count|number|fleet)\b[^.;]{0,30}?"
    r"\bto\s(?:about\s|some\s)?\Z",
    re.IGNORECASE,
)
_VERSUS = re.compile(r"\s?(?:to|-|–|against|versus)\s?")


def _impossible(side: Side) -> Iterator[Contradiction]:
    for q in side.quantities:
        if q.kind != "percent" or q.value is None or abs(q.value) <= 100.0:
            continue
        if q.is_level and q.role in _BOUNDED:
            yield _told("over 100%", f"a {q.role} of {q.text}", q)
        elif not q.is_level and q.direction == "down":
            yield _told("over 100%", f"a decline of {q.text}", q)


def _parts(side: Side) -> Iterator[Contradiction]:
    for sentence in side.sentences:
        if not _PARTS.search(side.text, sentence.start, sentence.end):
            continue
        parts = [
            q
            for q in side.quantities
            if sentence.start <= q.start < sentence.end
            and (q.role == "share" or _OF_WHOLE.search(side.text, q.start - PART_REACH, q.start))
            and q.is_level
            and q.link is None
            and q.value
        ]
        total = sum(float(q.value or 0.0) for q in parts)
        if len(parts) > 1 and total > 100.5:
            shown = " + ".join(q.text for q in parts)
            yield _told("parts", f"{shown} is more than the whole", *parts)


def _world(side: Side) -> Iterator[Contradiction]:
    """Yield figures that there are not as many of in the world."""
    found = side.quantities
    for q in found:
        if q.value is None or q.kind not in ("number", "percent"):
            continue
        after = side.text[q.end : q.end + 40]
        for what, pattern, most in WORLD:
            if q.kind == "number" and q.value > most and pattern.match(after):
                yield _told("world", f"there are not '{q.text}' {what}", q)
        sentence = side.sentence_of(q.start)
        if (
            q.kind == "number"
            and q.is_level
            and q.value > 100
            and q.form.style == "digits"
            and "." in q.form.number
            and _DIFFUSION.search(side.text, sentence.start, sentence.end)
        ):
            yield _told("world", f"such an index lies between 0 and 100, not at '{q.text}'", q)
    for a, b in pairwise(found):
        if (
            a.kind == b.kind == "number"
            and a.value
            and b.value
            and b.value < a.value
            and _TOTAL.search(_between(side.text, a, b))
        ):
            yield _told("parts", f"a total of '{b.text}' is less than '{a.text}', a part", a, b)
        if a.kind == b.kind == "percent" and a.value and b.value and a.value + b.value > 101:
            sentence = side.sentence_of(a.start)
            if _VERSUS.fullmatch(_between(side.text, a, b)) and _VOTES.search(
                side.text, sentence.start, a.start
            ):
                yield _told("world", f"'{a.text}' and '{b.text}' are more than all votes", a, b)


# Results, extremes, ratings, comparisons


_EXPECTATION = re.compile(
    r"\b(?:(?P<beat>beat\w*|top(?:s|ped|ping)?|exceed\w*|surpass\w*|above|ahead\sof|better\sthan"
    r"|higher\sthan|outpac\w+)"
    r"|(?P<miss>miss(?:ed|es|ing)?|lag(?:s|ged|ging)?|below|short\sof|trail\w*|worse\sthan"
    r"|lower\sthan|under|behind))\b",
    re.IGNORECASE,
)
_DECLINE = re.compile(r"\s(?:\w+\s)?(?:drop|fall|decline|decrease|slide|dip)\b", re.IGNORECASE)
_NOT = re.compile(
    r"\b(?:not|never|failed to|fails to|failing to|unable to)\s\Z|n['’]t\s\Z", re.IGNORECASE
)


def _results(side: Side) -> Iterator[Contradiction]:
    """Yield results that beat or miss what their own figures say otherwise of."""
    found = side.quantities
    for expected, actual in expected_and_actual(side):
        a, b = found[expected], found[actual]
        if a.value is None or b.value is None or a.is_loss or b.is_loss:
            continue
        low, high = min(a.start, b.start), max(a.end, b.end)
        if b.direction == "down" and _DECLINE.match(side.text[a.end : a.end + 24]):
            continue  # "fell 0.7%, trailing the 0.4% drop expected": the deeper fall is the miss
        word = None
        if b.start < a.start:  # "expected $1.10; it earned $1.20 and beat": it may be elsewhere
            for match in _EXPECTATION.finditer(side.text, side.sentence_of(low).start, high):
                word = match
        if word is not None and a.value != b.value:
            denied = _NOT.search(side.text[: word.start()])
            if (bool(word["beat"]) != bool(denied)) != (b.value > a.value):
                yield Contradiction(
                    "expectation",
                    f"'{word[0]}' contradicts '{b.text}' against '{a.text}' expected",
                    low,
                    high,
                )
    for result in found:
        # The two ends of a from–to pair are no result and its forecast.
        if result.expectation is None or result.value is None or result.link is not None:
            continue
        if not result.is_level:
            continue
        sentence = side.sentence_of(result.start)
        rivals = [
            other
            for other in found
            if other.is_estimate
            and other.link is None
            and sentence.start <= other.start < sentence.end
            and other.value is not None
            and (other.kind, other.unit) == (result.kind, result.unit)
            and (other.role == result.role or "money" in (other.role, result.role))
        ]
        if not rivals:
            continue
        rival = min(rivals, key=lambda other: abs(other.start - result.start))
        if result.is_loss != rival.is_loss or rival.value is None:
            continue
        better = result.value > rival.value
        if result.is_loss:
            better = result.value < rival.value
        if result.value == rival.value or better != (result.expectation == "beat"):
            yield _told(
                "expectation",
                f"{result.text} against {rival.text} expected is called a {result.expectation}",
                result,
                rival,
            )


_DOWN = (
    r"(?:fell|falls?|falling|fallen|drop(?:s|ped|ping)?|declin\w+|slump\w*|tumbl\w+|plung\w+"
    r"|slid|slides?|sliding|sank|sinks?|dip(?:s|ped)?|lost|down|lower|retreat\w*|plummet\w*"
    r"|slip(?:s|ped)?)"
)
_UP = (
    r"(?:rose|ris(?:es?|ing|en)|climb\w*|jump\w*|soar\w*|surg\w+|gain\w*|rall(?:y|ied|ies)"
    r"|advanc\w+|up|higher|increas\w+|grew|leap\w*|spik\w+)"
)
_SPAN = r"(?:all-time|record|multi-\w+|new|fresh|[\w-]+-(?:year|month|week|day)|historic|\w+ly)"
_WORST = (
    r"(?:biggest|largest|worst|best|steepest|sharpest|strongest|weakest|first|second|third|fourth"
    r"|fifth|\w+th)\s"
    r"(?:[\w-]+\s){0,3}"
)
_EXTREMES = re.compile(
    rf"\b{_DOWN}\b[^.;]{{0,40}}?\bto\s(?:(?:a|an|its|their)\s)?(?:\w+\s)?{_SPAN}[\s-](?P<a>highs?)\b"
    rf"|\b{_UP}\b[^.;]{{0,40}}?\bto\s(?:(?:a|an|its|their)\s)?(?:\w+\s)?{_SPAN}[\s-](?P<b>lows?)\b"
    rf"|\b{_UP}\b[^.;,]{{0,25}},\s(?:its|their|the)\s{_WORST}(?:loss|losses|fall|drop|decline"
    rf"|slide|slump|plunge)\b"
    rf"|\b{_DOWN}\b[^.;,]{{0,25}},\s(?:its|their|the)\s{_WORST}(?:gains?|rise|rally|jump|advance"
    rf"|surge|increase)\b",
    re.IGNORECASE,
)
_PEAK = re.compile(
    r"\bafter\s(?:touching|hitting|reaching|climbing\sto|falling\sto|rising\sto|sliding\sto)\s"
    r"(?:as\s(?:high|low)\sas\s)?\Z",
    re.IGNORECASE,
)
_PEAKED = re.compile(r"\A[^.;\d]{0,30}\b(?:(?P<high>highest|high)|(?P<low>lowest|low))\b", re.I)


def _extremes(side: Side) -> Iterator[Contradiction]:
    """Yield falls to a high, and levels beyond the extreme that they came from."""
    for match in _EXTREMES.finditer(side.text):
        what = " ".join(match[0].split())
        yield Contradiction("extreme", f"'{what}' contradicts itself", *match.span())
    for level, peak in pairwise(side.quantities):
        if level.kind != peak.kind or level.unit != peak.unit:
            continue
        if not _PEAK.search(side.text[max(0, peak.start - 40) : peak.start]):
            continue
        which = _PEAKED.match(side.text[peak.end : peak.end + 45])
        if which is None or level.value is None or peak.value is None:
            continue
        if (level.value > peak.value) if which["high"] else (level.value < peak.value):
            yield _told(
                "extreme", f"'{level.text}' lies beyond '{peak.text}', the extreme", level, peak
            )


def _ratings(side: Side) -> Iterator[Contradiction]:
    for call in rating_calls(side):
        if call.contradiction:
            yield Contradiction("rating", f"'{call.text}' contradicts itself", call.start, call.end)
    for match in _CREDIT.finditer(side.text):
        now, was = (_GRADES.get(match[k].casefold()) for k in ("to", "was"))
        if now is None or was is None:
            continue
        up = bool(re.match(r"(?:upgrad|rais|lift)", match["act"], re.IGNORECASE))
        if (now > was) != up:
            yield Contradiction("rating", f"'{match[0]}' contradicts itself", *match.span())


_SCALE = (
    *("d", "c", "cc", "ccc-", "ccc", "ccc+", "b-", "b", "b+", "bb-", "bb", "bb+", "bbb-", "bbb"),
    *("bbb+", "a-", "a", "a+", "aa-", "aa", "aa+", "aaa"),
)
_GRADES = {grade: place for place, grade in enumerate(_SCALE)} | {
    grade: place
    for place, grade in enumerate(
        (
            *("ca", "caa3", "caa2", "caa1", "b3", "b2", "b1", "ba3", "ba2", "ba1", "baa3", "baa2"),
            *("baa1", "a3", "a2", "a1", "aa3", "aa2", "aa1"),
        ),
        start=2,
    )
}
_GRADE = r"(?:AAA|AA[+-]?|A[+-]?|BBB[+-]?|BB[+-]?|B[+-]?|CCC[+-]?|CC|[ABC]a{0,2}[1-3])(?![\w+])"
_CREDIT = re.compile(
    r"\b(?P<act>(?i:upgrad\w+|downgrad\w+|rais\w+|lower\w*|cut|lift\w*))\b[^.;]{0,60}?\bto\s"
    rf"(?P<to>{_GRADE})\sfrom\s(?P<was>{_GRADE})"
)


def _comparisons(side: Side) -> Iterator[Contradiction]:
    for c in comparatives(side):
        a, b = side.quantities[c.this], side.quantities[c.that]
        if a.is_loss or b.is_loss or c.sign * (abs(a.value or 0.0) - abs(b.value or 0.0)) >= 0:
            continue
        yield Contradiction(
            "comparison",
            f"'{side.excerpt(c.words)}' contradicts '{a.text}'",
            min(a.start, c.words[0]),
            c.words[1],
        )


# Levels and their bounds


_ACROSS = re.compile(
    r"\b(?:(?:fell|falls?|fallen|drops?|dropped|dropping|slid|slides?|slipped|slips?|sank|sinks?"
    r"|tumbl\w+|plung\w+|slump\w*|dipp?(?:ed|s)|retreat\w*|eased?)\s(?:back\s)?(?:above|over)"
    r"|(?:rose|rises?|risen|climb\w*|jump\w*|soar\w*|surg\w+|rall(?:y|ied|ies)|advanc\w+|leap\w*"
    r"|spik\w+)\s(?:back\s)?(?:below|beneath))\s(?:the\s)?(?=[$€£¥]?\d)",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"\b(?:(?P<above>above|past|top(?:s|ped|ping)?|exceed(?:s|ed|ing)?|over)|(?P<below>below|under"
    r"|beneath))\s(?:the\s)?(?:\w+\s)?\Z",
    re.IGNORECASE,
)
_REACHED = re.compile(
    r"\b(?:to|at|hit|reached|touched)\s(?:about\s|around\s|roughly\s|nearly\s|a\s)?\Z",
    re.IGNORECASE,
)
_OTHER_TIME = re.compile(
    r"\b(?:from|after|earlier|previous\w*|last|had|since|before|once|target\w*|goal|limit|expect\w*"
    r"|forecast\w*|estimat\w*|if|unless|could|may|might|would|should|averag\w*|consensus|analysts"
    r"|mark|separat\w*|threshold|keep\w*|kept)\b",
    re.IGNORECASE,
)


def _bounds(side: Side) -> Iterator[Contradiction]:
    """Yield levels on the wrong side of the bound that they are said to have passed."""
    for match in _ACROSS.finditer(side.text):
        what = " ".join(match[0].split())
        yield Contradiction("bound", f"'{what}' contradicts itself", *match.span())
    found = side.quantities
    sentences = [s.end for s in side.sentences]
    for bound in found:
        if bound.value is None:
            continue
        start = max(0, bound.start - 30)
        which = _BOUND.search(side.text[start : bound.start])
        if which is None or bound.is_estimate:
            continue
        sentence = side.sentence_of(bound.start)
        clause = side.text[
            max(sentence.start, bound.start - 60) : min(sentence.end, bound.end + 40)
        ]
        if _OTHER_TIME.search(clause):
            continue
        here = bisect_right(sentences, bound.start)
        for level in found:
            if level is bound or not level.is_level or level.value is None or level.is_estimate:
                continue
            if level.kind != bound.kind or level.unit != bound.unit or level.value == bound.value:
                continue
            if not 0 <= bisect_right(sentences, level.start) - here <= 1:
                continue
            if abs(level.value - bound.value) > SAME_LEVEL * abs(bound.value):
                continue
            if not _REACHED.search(side.text[max(0, level.start - 20) : level.start]):
                continue
            if level.is_old or (level.link is not None and level.link[0] == "range"):
                continue
            if bool(which["above"]) != (level.value > bound.value):
                where = "above" if which["above"] else "below"
                yield _told("bound", f"'{level.text}' is not {where} '{bound.text}'", bound, level)
                break


_INSTEAD = re.compile(r"(?:instead\sof|rather\sthan|as\sopposed\sto)\Z", re.IGNORECASE)


def _alternatives(side: Side) -> Iterator[Contradiction]:
    """Yield "cut rates instead of cutting them": both sides of an alternative are one."""
    for one, two in pairwise(directional_cues(side)):
        denial = next((p for p in two.parts[1:] if _INSTEAD.search(side.text[p[0] : p[1]])), None)
        if denial is None or not one.end <= denial[0] or one.bare != two.bare:
            continue
        if two.start - denial[1] > 1:
            continue  # "pushed up by a lack of homes rather than by strong demand"
        if len(one.parts) == 1 and side.sentence_of(one.start) == side.sentence_of(two.start):
            yield Contradiction(
                "alternative",
                f"'{one.text}' is no alternative to '{two.text}'",
                one.start,
                two.end,
            )


# Headline and story, counts and verdicts


def _headline(side: Side) -> Iterator[Contradiction]:
    """Yield what the headline says and the story denies."""
    sentences = side.sentences
    if len(sentences) < 2 or sentences[0].end > HEADLINE:
        return
    told = [a for a in assertions(side) if a.sure]
    head = [a for a in told if a.start < sentences[0].end]
    lead = sentences[min(LEAD, len(sentences) - 1)].end
    body = [a for a in told if sentences[0].end <= a.start < lead]
    for said in head:
        same = [
            a
            for a in body
            if a.topic == said.topic and (not a.names or not said.names or a.names & said.names)
        ]
        if not same or any(a.sign == said.sign for a in same):
            continue
        if any(a.topic == said.topic and a.sign != said.sign for a in head):
            continue  # the headline has both
        other = same[0]
        yield Contradiction(
            "headline",
            f"the headline has '{side.text[said.start : said.end]}', the story "
            f"'{side.text[other.start : other.end]}'",
            other.start,
            other.end,
        )
        return


_JOBS_ADDED = re.compile(
    r"\b(?:add(?:ed|s)|creat(?:ed|es)|gained)\s(?P<n>[\d,]{5,})\sjobs?\b"
    r"|\b(?P<m>[\d,]{5,})\sjobs?\swere\s(?:added|created)\b",
    re.IGNORECASE,
)
_FEW = re.compile(
    r"\b(?:only|just|merely|fewer|below|short\sof|less|missing|missed|under|lowest|slowest|smallest"
    r"|down\sfrom|weaker|slowed|slowing)\b",
    re.IGNORECASE,
)
_WEAK_JOBS = re.compile(
    r"\b(?:weak(?:er|ening|ens|ened)?|falter\w*|fragile|soft(?:er|ening|ens)?|deteriorat\w+|ailing"
    r"|shrinking|struggling|crumbling)\s(?:\w+\s)?(?:job|jobs|labou?r|employment|hiring)\s(?:market)?"
    r"|\b(?:job|labou?r|employment|hiring)\s(?:market\s)?(?:is\s|was\s|remains?\s|turn(?:s|ed)\s"
    r"|stays?\s)?(?:weak\w*|falter\w*|soften\w*|deteriorat\w+|shrink\w*|struggl\w*)\b",
    re.IGNORECASE,
)


def _verdicts(side: Side) -> Iterator[Contradiction]:
    """Yield "263,000 jobs were added" in a "weak" labour market."""
    added = _JOBS_ADDED.search(side.text)
    if added is None or _FEW.search(side.text):
        return
    weak = _WEAK_JOBS.search(side.text)
    if weak is not None:
        low, high = min(added.start(), weak.start()), max(added.end(), weak.end())
        yield Contradiction("verdict", f"'{added[0]}' is no '{weak[0].strip()}'", low, high)
