"""Figures of one text that contradict each other, their direction, or the world.

RFC-BENCH, appendices R.1 and S.2, items 4 and 8. `contradictions` gathers what is found here.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from contrafact.families.rfc.contracts.consistency import (
    Contradiction,
    contradiction_at,
    earlier_and_later,
    is_earlier_forecast,
)
from contrafact.families.rfc.contracts.directional_cues import (
    Cue,
    directional_cues,
    is_rating,
)
from contrafact.families.rfc.contracts.numbers import precision
from contrafact.families.rfc.contracts.pair import Side
from contrafact.families.rfc.contracts.vocabulary import words
from contrafact.text.quantities import Quantity

__all__ = ["changes", "impossible", "moves", "parts", "paths", "points", "world"]


def _between(text: str, one: Quantity, two: Quantity) -> str:
    low, high = sorted((one, two), key=lambda q: q.start)
    return text[low.end : high.start]


PERCENT_TOLERANCE = 1.0
"""A stated change and the one that two figures make may differ by this many percentage points, or
by a tenth of it: both figures are rounded (ours)."""


POINTS_TOLERANCE = 0.15
"""Share by which a stated percentage may be off from the one that points and level make (ours)."""


NEAR = 60
"""A percent change speaks of a from–to pair at most this many characters away (ours)."""


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


_NEW_CLAUSE = re.compile(r"[;]|,\s(?:and|but|while|as)\s|\b(?:as|after|while|but)\b", re.IGNORECASE)


_RESULT = re.compile(r"\s(?:profit|profitability|loss|losses|the\s(?:black|red))\Z", re.IGNORECASE)


_WAY = re.compile(
    r"\b(?:(?P<up>upwards?)|(?P<down>downwards?)),?\s(?:to\s[^.;,]?[^;,]{1,30}?,?\s)?from\s",
    re.IGNORECASE,
)


_UNIT = r"(?:\s?(?:%|percent|per\scent|percentage\spoints?|points?))?"


_PREVIOUS = r"(?:(?:an?|its|the|their)\s)?(?:(?:previous|earlier|prior|initial|original)\s)?"


_WAY_TO = re.compile(
    r"\b(?:(?P<up>upwards?)|downwards?),?\s(?:"
    rf"from\s{_PREVIOUS}(?P<old>\d+(?:\.\d+)?){_UNIT}\sto\s(?P<new>\d+(?:\.\d+)?)"
    rf"|to\s(?P<new2>\d+(?:\.\d+)?){_UNIT},?\sfrom\s{_PREVIOUS}(?P<old2>\d+(?:\.\d+)?))(?![\d,])",
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


def moves(side: Side) -> Iterator[Contradiction]:
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
            yield contradiction_at(
                "direction", f"'{way[0].split()[0]}' from '{a.text}' to '{b.text}'", a, b
            )
            continue
        from_there = _FROM_THERE.search(side.text[low:high])
        if from_there is not None and a.value != b.value:
            if bool(from_there["up"]) != rising:
                yield contradiction_at(
                    "direction", f"'{from_there[0]}' '{a.text}' to '{b.text}'", a, b
                )
            continue
        cue = _mover(side, low, high)
        if cue is None:
            told = a.direction is not None and not b.is_old and a.link and a.link[0] == "from-to"
            if told and (a.value == b.value or (a.direction == "up") != (b.value > a.value)):
                yield contradiction_at(
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
            yield contradiction_at(
                "direction", f"'{cues[-1].text}' from '{a.text}' to '{b.text}'", a, b
            )


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
        yield contradiction_at("direction", f"'{cue.text}' contradicts its two ranges", *now, a, b)


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


def changes(side: Side) -> Iterator[Contradiction]:
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
                yield contradiction_at(
                    "percent change",
                    f"{old.text} to {new.text} is {actual:+.1f}%, said to be {change.text}",
                    change,
                    old,
                    new,
                )


_OR = re.compile(r"(?:\spoints?)?,?\s(?:or|that\sis,)\s(?:about\s|roughly\s|some\s)?|\s\(")


_TO = re.compile(r",?\)?\s(?:lower\s|higher\s)?(?:to|at)\s(?:about\s|around\s)?")


_ON_TO = re.compile(
    r"[^.;:\n]{0,40},\s(?:(?:before|and|then)\s){0,2}"
    r"(?:(?P<up>rising|climbing|increasing|accelerating|jumping)"
    r"|(?P<down>falling|dropping|declining|decreasing|easing|slowing|cooling|sliding))\sto\s(?:\w+\s){0,2}",
    re.IGNORECASE,
)
_LEVEL = re.compile(
    r"\b(?:above|below|at|to|of|exceed|over|under|near)\s(?:\w+\s)?\Z", re.IGNORECASE
)


def paths(side: Side) -> Iterator[Contradiction]:
    """Yield levels that a path does not lead to: "below 81% in August, rising to 71%"."""
    for a, b in pairwise(side.quantities):
        on = _ON_TO.fullmatch(side.text, a.end, b.start)
        if on is None or (a.kind, a.unit) != (b.kind, b.unit) or not a.value or not b.value:
            continue
        if a.is_level or _LEVEL.search(side.text, max(0, a.start - NEAR), a.start):
            fits = b.value > a.value if on["up"] else b.value < a.value
            if not fits:
                yield contradiction_at("direction", f"{a.text}{on[0]}{b.text}", a, b)


def points(side: Side) -> Iterator[Contradiction]:
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
            yield contradiction_at(
                "points",
                f"'{points.text}' to '{level.text}' is {made:.2g}%, said to be '{percent.text}'",
                first,
                level,
            )


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


_AS_WELL = re.compile(r"[^.;\d]{0,40}\band\s(?:by\s|about\s|nearly\s|some\s)?", re.IGNORECASE)


def _falls_with(side: Side, before: Quantity | None, q: Quantity) -> bool:
    """Whether a share is of the fall named before: "fell 71% in a year and 380% in three"."""
    return (
        before is not None
        and before.kind == q.kind
        and before.direction == "down"
        and not before.is_level
        and q.direction is None
        and bool(_AS_WELL.fullmatch(side.text, before.end, q.start))
    )


_SURPRISE = re.compile(r"\bsurprises?\sof\s(?:\S+\sand\s)?\Z", re.IGNORECASE)
"""A result may miss an estimate by more than all of it."""


def impossible(side: Side) -> Iterator[Contradiction]:
    """Yield shares and declines beyond the whole."""
    for before, q in pairwise((None, *side.quantities)):
        if q is None or q.kind != "percent" or q.value is None or abs(q.value) <= 100.0:
            continue
        if _SURPRISE.search(side.text, max(0, q.start - NEAR), q.start):
            continue
        if q.is_level and q.role in _BOUNDED:
            yield contradiction_at("over 100%", f"a {q.role} of {q.text}", q)
        elif (not q.is_level and q.direction == "down") or _falls_with(side, before, q):
            yield contradiction_at("over 100%", f"a decline of {q.text}", q)


def parts(side: Side) -> Iterator[Contradiction]:
    """Yield parts that are more than their whole."""
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
            yield contradiction_at("parts", f"{shown} is more than the whole", *parts)


def world(side: Side) -> Iterator[Contradiction]:
    """Yield figures that there are not as many of in the world."""
    found = side.quantities
    for q in found:
        if q.value is None or q.kind not in ("number", "percent"):
            continue
        after = side.text[q.end : q.end + 40]
        for what, pattern, most in WORLD:
            if q.kind == "number" and q.value > most and pattern.match(after):
                yield contradiction_at("world", f"there are not '{q.text}' {what}", q)
        sentence = side.sentence_of(q.start)
        if (
            q.kind == "number"
            and q.is_level
            and q.value > 100
            and q.form.style == "digits"
            and "." in q.form.number
            and _DIFFUSION.search(side.text, sentence.start, sentence.end)
        ):
            yield contradiction_at(
                "world", f"such an index lies between 0 and 100, not at '{q.text}'", q
            )
    for a, b in pairwise(found):
        if (
            a.kind == b.kind == "number"
            and a.value
            and b.value
            and b.value < a.value
            and _TOTAL.search(_between(side.text, a, b))
        ):
            yield contradiction_at(
                "parts", f"a total of '{b.text}' is less than '{a.text}', a part", a, b
            )
        if a.kind == b.kind == "percent" and a.value and b.value and a.value + b.value > 101:
            sentence = side.sentence_of(a.start)
            if _VERSUS.fullmatch(_between(side.text, a, b)) and _VOTES.search(
                side.text, sentence.start, a.start
            ):
                yield contradiction_at(
                    "world", f"'{a.text}' and '{b.text}' are more than all votes", a, b
                )
