"""Contradictions in the figures of a text: with each other, their direction, or the world.

RFC-BENCH, appendices R.1 (logical or financial contradictions fail) and S.2, items 4 and 8. Only
figures and the words that compare them are read.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from contrafact.families.rfc.contracts.pair import Pair, Side, Span, read_once
from contrafact.families.rfc.contracts.rules import Finding, fail, rule
from contrafact.families.rfc.contracts.vocabulary import expression
from contrafact.text.quantities import Quantity, same_measure, worth
from contrafact.text.relations import comparatives, earlier_and_later


def _at(rule: str, message: str, *where: Quantity) -> Finding:
    span = min(q.start for q in where), max(q.end for q in where)
    return fail(rule, message, None, span)


def _scale_of(names: str) -> dict[str, int]:
    """Return the rank of each name of a scale, written from the best to the worst."""
    return {name: -rank for rank, name in enumerate(names.split())}


# Directions and levels


_PER = expression("contradictions", "per")
_WAY = expression("contradictions", "way")


_NEW_CLAUSE = re.compile(
    r"[;]|,\s(?:and|but|while|as)\s|\b(?:as|after|while|but|than)\b", re.IGNORECASE
)
# Words of improvement, after which the figure may move the other way: "improved to 3% from 5%".
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


def _moves(side: Side) -> Iterator[Finding]:
    for old, new in earlier_and_later(side):
        a, b, before = side.quantities[old], side.quantities[new], min(old, new) - 1
        link = side.quantities[before].link if before >= 0 else None
        if link is not None and link[0] == "range":
            continue
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


def _comparisons(side: Side) -> Iterator[Finding]:
    for c in comparatives(side):
        a, b = side.quantities[c.this], side.quantities[c.that]
        falls = "down" in (a.direction, b.direction) and a.kind == "percent"
        if a.is_loss or b.is_loss or (falls and not (a.is_level and b.is_level)):
            continue
        if c.sign * (abs(worth(a)) - abs(worth(b))) < 0:
            message = f"'{side.excerpt(c.words)}' contradicts '{a.text}'"
            yield fail("comparison", message, None, (min(a.start, c.words[0]), c.words[1]))


def _ranges(side: Side) -> Iterator[Finding]:
    """Find "cut to $2.10-2.20 from $1.90-2.00": a range that moves against the verb."""
    figures = side.quantities
    for (low, high), (other, top) in zip(
        pairwise(figures), pairwise(figures[2:]), strict=False
    ):  # four figures in a row, in pairs
        if low.link is None or low.link[0] != "range" or other.link is None:
            continue
        before = side.text[: low.start].split()[-1:]
        ways = ("".join(before).casefold(), side.text[high.end : other.start].strip().casefold())
        if ways not in (("to", "from"), ("from", "to")) or not same_measure(low, other):
            continue
        old, new = ((other, top), (low, high)) if ways[0] == "to" else ((low, high), (other, top))
        stated = _stated(side, low.start, other.start)
        steps = [worth(after) - worth(was) for was, after in zip(old, new, strict=True)]
        rises, falls = min(steps) >= 0 < max(steps), min(steps) < 0 >= max(steps)
        if (stated == "down" and rises) or (stated == "up" and falls):
            yield _at("direction", f"said to go {stated}, and the range does not", low, top)


_FROM = re.compile(r"\s(?:in\s\w+\s)?from\s(?:the\s|a\s)?", re.IGNORECASE)
_UP_BY = re.compile(r"(?:\s\w+){0,3},\s(?:or\s)?(?:up|down)\s(?:by\s)?", re.IGNORECASE)


def _changes(side: Side) -> Iterator[Finding]:
    """Find "fell to 411,000, up 13.5% from 443,956": a change that moves against the verb."""
    for new, change, old in zip(
        side.quantities, side.quantities[1:], side.quantities[2:], strict=False
    ):
        if change.kind != "percent" or change.direction is None or new.kind != old.kind:
            continue
        words = (side.text[new.end : change.start], side.text[change.end : old.start])
        if not (_UP_BY.fullmatch(words[0]) and _FROM.fullmatch(words[1])):
            continue
        if new.value != old.value and (worth(new) > worth(old)) != (change.direction == "up"):
            way = f"said to be {change.direction} from '{old.text}'"
            yield _at("direction", f"'{new.text}' is {way}", new, old)


_GRADES = _scale_of("AAA AA+ AA AA- A+ A A- BBB+ BBB BBB- BB+ BB BB- B+ B B- CCC+ CCC CCC-")
_MOODYS = _scale_of("Aaa Aa1 Aa2 Aa3 A1 A2 A3 Baa1 Baa2 Baa3 Ba1 Ba2 Ba3 B1 B2 B3 Caa1 Caa2 Caa3")
_ADVICE = {
    **dict.fromkeys(("buy", "strong buy", "outperform", "overweight", "accumulate", "add"), 2),
    **dict.fromkeys(("hold", "neutral", "equal weight", "equal-weight", "market perform"), 1),
    **dict.fromkeys(("sector perform", "peer perform", "in-line", "in line"), 1),
    **dict.fromkeys(("sell", "strong sell", "underperform", "underweight", "reduce"), 0),
}
_SCALES = (_GRADES, _MOODYS, _ADVICE)
_RATING = "|".join(
    sorted((re.escape(name) for scale in _SCALES for name in scale), key=len, reverse=True)
)
_RATED = re.compile(
    rf"\b(?:(?P<up>upgrad|rais|lift)|(?P<down>downgrad|cut|lower))\w*\s(?:[^.;]{{0,80}}?\s)?"
    rf"(?P<lead>to|from)\s[“\"']?(?P<one>{_RATING})(?![\w+-])[”\"']?\s(?P<then>from|to)\s"
    rf"[“\"']?(?P<two>{_RATING})(?![\w+-])",
    re.IGNORECASE,
)


def _ratings(side: Side) -> Iterator[Finding]:
    """Find "downgraded to Overweight from Equal Weight": a rating that moves against the verb."""
    for match in _RATED.finditer(side.text):
        if match["lead"].casefold() == match["then"].casefold():
            continue
        ends = (match["one"], match["two"])
        new, old = ends if match["lead"].casefold() == "to" else reversed(ends)
        ranks = [(_rank(new, scale), _rank(old, scale)) for scale in _SCALES]
        for after, before in ranks:
            if after is None or before is None or after == before:
                continue
            stated = "up" if match["up"] else "down"
            if (after > before) != (stated == "up"):
                message = f"said to go {stated} from '{old}' to '{new}'"
                yield fail("direction", message, None, match.span())
            break


def _rank(rating: str, scale: dict[str, int]) -> int | None:
    return scale.get(rating if scale is not _ADVICE else rating.casefold())


_PARTS = re.compile(
    r"\b(?:ma[dk](?:es?|ing) up|account(?:s|ed|ing)? for|respectively|the rest|split|mix)\b", re.I
)
_OF_WHOLE = re.compile(
    r"\b(?:ma[dk](?:es?|ing)\sup|account(?:s|ed|ing)?\sfor)\s(?:about\s|around\s|some\s)?\Z", re.I
)


_TOTAL = expression("contradictions", "total")
_VERSUS = re.compile(r"\s?(?:to|-|–|against|versus)\s?")
_VOTES = re.compile(r"\b(?:vot\w+|approv\w+|ballot|reject\w+|backed|ratif\w+)\b", re.I)


def _parts(side: Side) -> Iterator[Finding]:
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
        between = side.text[a.end : b.start]
        if a.kind == b.kind == "number" and worth(b) < worth(a) and _TOTAL.search(between):
            yield _at("parts", f"a total of '{b.text}' is less than '{a.text}', a part", a, b)
        votes = a.kind == b.kind == "percent" and worth(a) + worth(b) > 101
        if (
            votes
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


def _world(side: Side) -> Iterator[Finding]:
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


def contradictions(text: str) -> list[Finding]:
    """Return the contradictions in the figures of a text, in the order of the text.

    Findings are named ``direction``, ``parts``, ``comparison`` or ``world``; ``rewritten_span`` is
    the place in the text. An empty list says that nothing was found, not that the text is true.
    """
    return contradictions_of(Side(text))


@read_once
def contradictions_of(side: Side) -> list[Finding]:
    """Return the contradictions in one side of a pair; see `contradictions`."""
    findings: list[Finding] = []
    readers = (_moves, _ranges, _changes, _parts, _comparisons, _world) if side.quantities else ()
    for reader in (*readers, _ratings):
        for finding in reader(side):
            # Overlapping findings of two readers are one contradiction.
            start, end = _span(finding)
            if not any(start < _span(other)[1] and _span(other)[0] < end for other in findings):
                findings.append(finding)
    return sorted(findings, key=_span)


def _span(finding: Finding) -> Span:
    return finding.rewritten_span or (0, 0)


@rule("contradiction", about="consistency", paper="R.1; S.2, 8")
def contradiction(pair: Pair) -> Iterator[Finding]:
    """The rewrite's figures are as consistent as its original's: no "lowered from $90 to $96", no
    "missed" above what was expected, no "fewer than" a smaller figure, no shares beyond the whole.
    """
    findings = contradictions_of(pair.rewritten)
    earlier = contradictions_of(pair.original) if findings else ()
    had = Counter(finding.rule for finding in earlier)
    for finding in findings:
        if had[finding.rule]:
            had[finding.rule] -= 1
        else:
            yield replace(finding, rule="contradiction")
