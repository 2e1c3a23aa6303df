"""Statements of one text that deny each other: results, extremes, ratings, bounds, headlines.

RFC-BENCH, appendices R.1 and S.2, item 8. `contradictions` gathers what is found here.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from contrafact.families.rfc.contracts.assertions import assertions
from contrafact.families.rfc.contracts.consistency import (
    Contradiction,
    comparatives,
    contradiction_at,
    expected_and_actual,
)
from contrafact.families.rfc.contracts.directional_cues import (
    directional_cues,
    rating_calls,
)
from contrafact.families.rfc.contracts.pair import Side
from contrafact.text.tokens import Caseless

__all__ = [
    "alternatives",
    "bounds",
    "comparisons",
    "extremes",
    "headline",
    "ratings",
    "results",
    "verdicts",
]

SAME_LEVEL = 0.35
"""Share by which a level and a bound may differ and be of one thing (ours: farther apart, they
measure two)."""


HEADLINE = 140
"""Characters that a headline has at most (ours)."""


LEAD = 2
"""Sentences after the headline that tell its news again (ours)."""


_EXPECTATION = re.compile(
    r"\b(?:(?P<beat>beat\w*|top(?:s|ped|ping)?|exceed\w*|surpass\w*|above|ahead\sof|better\sthan"
    r"|higher\sthan|outpac\w+)"
    r"|(?P<miss>miss(?:ed|es|ing)?|undersho(?:t|ots?|oting)|lag(?:s|ged|ging)?|below|short\sof|trail\w*|worse\sthan"
    r"|lower\sthan|under|behind))\b",
    re.IGNORECASE,
)


_DECLINE = re.compile(r"\s(?:\w+\s)?(?:drop|fall|decline|decrease|slide|dip)\b", re.IGNORECASE)


_NOT = re.compile(
    r"\b(?:not|never|failed to|fails to|failing to|unable to)\s\Z|n['’]t\s\Z", re.IGNORECASE
)


def results(side: Side) -> Iterator[Contradiction]:
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
            yield contradiction_at(
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


_EXTREMES = Caseless(
    rf"\b{_DOWN}\b(?:(?!\b{_UP}\b)[^.;]){{0,40}}?"
    rf"\bto\s(?:(?:a|an|its|their)\s)?(?:\w+\s)?{_SPAN}[\s-](?P<a>highs?)\b"
    rf"|\b{_UP}\b(?:(?!\b{_DOWN}\b)[^.;]){{0,40}}?"
    rf"\bto\s(?:(?:a|an|its|their)\s)?(?:\w+\s)?{_SPAN}[\s-](?P<b>lows?)\b"
    rf"|\b(?:{_DOWN}|cut|cuts|lowered|reduced)\b(?:(?!\b{_UP}\b)[^.;,]){{0,40}}?\bto\s(?:the|its|their)\s(?P<c>highest|strongest)\b"
    rf"|\b(?:{_UP}|raised|raises|hiked|lifted)\b(?:(?!\b{_DOWN}\b)[^.;,]){{0,40}}?\bto\s(?:the|its|their)\s(?P<d>lowest|weakest)\b"
    rf"|\b{_UP}\b[^.;,]{{0,25}},\s(?:its|their|the)\s{_WORST}(?:loss|losses|fall|drop|decline"
    rf"|slide|slump|plunge)\b"
    rf"|\b{_DOWN}\b[^.;,]{{0,25}},\s(?:its|their|the)\s{_WORST}(?:gains?|rise|rally|jump|advance"
    rf"|surge|increase)\b"
)


_RECORD = re.compile(r",\s(?:its|their|the)\s")  # of an extreme that names no high and no low


_PEAK = re.compile(
    r"\bafter\s(?:touching|hitting|reaching|climbing\sto|falling\sto|rising\sto|sliding\sto)\s"
    r"(?:as\s(?:high|low)\sas\s)?\Z",
    re.IGNORECASE,
)


_PEAKED = re.compile(r"\A[^.;\d]{0,30}\b(?:(?P<high>highest|high)|(?P<low>lowest|low))\b", re.I)


def extremes(side: Side) -> Iterator[Contradiction]:
    """Yield falls to a high, and levels beyond the extreme that they came from."""
    hinted = side.has("high", "low") or _RECORD.search(side.folded)
    for match in _EXTREMES.finditer(side.text, side.small) if hinted else ():
        what = " ".join(side.excerpt(match.span()).split())
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
            yield contradiction_at(
                "extreme", f"'{level.text}' lies beyond '{peak.text}', the extreme", level, peak
            )


def ratings(side: Side) -> Iterator[Contradiction]:
    """Yield upgrades to a worse rating, and the like."""
    for call in rating_calls(side):
        if call.contradiction:
            yield Contradiction("rating", f"'{call.text}' contradicts itself", call.start, call.end)
    for match in _CREDIT.finditer(side.text) if side.has("from") else ():
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


def comparisons(side: Side) -> Iterator[Contradiction]:
    """Yield figures that the words of their comparison contradict."""
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


_ACROSS = Caseless(
    r"\b(?:(?:fell|falls?|fallen|drops?|dropped|dropping|slid|slides?|slipped|slips?|sank|sinks?"
    r"|tumbl\w+|plung\w+|slump\w*|dipp?(?:ed|s)|retreat\w*|eased?)\s(?:back\s)?"
    r"(?:above|over(?!\s[\d,.]+\s?(?:%|points?|pts|per\s?cent|paise|pips|basis)))"
    r"|(?:rose|rises?|risen|climb\w*|jump\w*|soar\w*|surg\w+|rall(?:y|ied|ies)|advanc\w+|leap\w*"
    r"|spik\w+)\s(?:back\s)?(?:below|beneath))\s(?:the\s)?"
    r"(?=[$€£¥]?\d)"
)


_BOUND = re.compile(
    r"\b(?:(?P<above>above|past|top(?:s|ped|ping)?|exceed(?:s|ed|ing)?|over)|(?P<below>below|under"
    r"|beneath))\s(?:the\s)?(?:\w+\s)?\Z",
    re.IGNORECASE,
)


_REACHED = re.compile(
    r"(?<!opened\s)(?<!started\s)(?<!began\s)"
    r"\b(?:to|at|hit|reached|touched|averaged|was|is)\s"
    r"(?:about\s|around\s|roughly\s|nearly\s|a\s)?\Z",
    re.IGNORECASE,
)


_OTHER_TIME = re.compile(
    r"\b(?:from|after|earlier|previous\w*|last|had|since|before|once|target\w*|goal|limit|expect\w*"
    r"|forecast\w*|estimat\w*|if|unless|could|(?-i:may)|might|would|should|averag\w*|consensus"
    r"|analysts|separat\w*|threshold|keep\w*|kept)\b",
    re.IGNORECASE,
)


_MOVED_ON = re.compile(
    r",\s(?:\w+\s){0,3}(?:fall|ris|climb|declin|eas|slow|dropp|slid)ing\sto\s(?:\w+\s){0,2}\Z", re.I
)


def bounds(side: Side) -> Iterator[Contradiction]:
    """Yield levels on the wrong side of the bound that they are said to have passed."""
    hinted = side.has("above", "over", "below", "beneath")
    for match in _ACROSS.finditer(side.text, side.small) if hinted else ():
        what = " ".join(side.excerpt(match.span()).split())
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
            if not 0 <= bisect_right(sentences, level.start) - here <= LEAD:
                continue
            if abs(level.value - bound.value) > SAME_LEVEL * abs(bound.value):
                continue
            if not _REACHED.search(side.text[max(0, level.start - 20) : level.start]):
                continue
            if level.is_old or (level.link is not None and level.link[0] == "range"):
                continue
            if _MOVED_ON.search(side.text, bound.end, max(bound.end, level.start)):
                continue  # "above 31% in May, falling to 24% by winter"
            if bool(which["above"]) != (level.value > bound.value):
                where = "above" if which["above"] else "below"
                yield contradiction_at(
                    "bound", f"'{level.text}' is not {where} '{bound.text}'", bound, level
                )
                break


_INSTEAD = re.compile(r"(?:instead\sof|rather\sthan|as\sopposed\sto)\Z", re.IGNORECASE)


def alternatives(side: Side) -> Iterator[Contradiction]:
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


def headline(side: Side) -> Iterator[Contradiction]:
    """Yield what the headline says and the story denies."""
    sentences = side.sentences
    if len(sentences) < 2 or sentences[0].end > HEADLINE:
        return
    sure = [a for a in assertions(side) if a.sure]
    head = [a for a in sure if a.start < sentences[0].end]
    lead = sentences[min(LEAD, len(sentences) - 1)].end
    body = [a for a in sure if sentences[0].end <= a.start < lead]
    for claim in head:
        same = [
            a
            for a in body
            if a.topic == claim.topic and (not a.names or not claim.names or a.names & claim.names)
        ]
        if not same or any(a.sign == claim.sign for a in same):
            continue
        if any(a.topic == claim.topic and a.sign != claim.sign for a in head):
            continue  # the headline has both
        other = same[0]
        yield Contradiction(
            "headline",
            f"the headline has '{side.text[claim.start : claim.end]}', the story "
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


def verdicts(side: Side) -> Iterator[Contradiction]:
    """Yield "263,000 jobs were added" in a "weak" labour market."""
    added = _JOBS_ADDED.search(side.text) if side.has("job") else None
    if added is None or _FEW.search(side.text):
        return
    weak = _WEAK_JOBS.search(side.text)
    if weak is not None:
        low, high = min(added.start(), weak.start()), max(added.end(), weak.end())
        yield Contradiction("verdict", f"'{added[0]}' is no '{weak[0].strip()}'", low, high)
