"""What a text asserts about a direction: rises and falls, beats and misses, good and bad.

A signal is a directional term with what its sentence makes of it: "did not rise" is a fall,
"losses narrowed" is good news. RFC-BENCH, appendices Q.1, R.1 and S.1.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from contrafact.families.rfc.contracts.findings import Span
from contrafact.families.rfc.contracts.lists import words
from contrafact.families.rfc.contracts.pair import Side
from contrafact.families.rfc.contracts.signal_data import SignalData, signal_data
from contrafact.families.rfc.contracts.vocabulary import is_known_name
from contrafact.text.words import Match

__all__ = ["Signal", "Tier", "is_result", "signals"]

Tier = Literal["firm", "plain", "soft"]

_REACH = 4  # words from a negator, or a scaling word, to what it governs
_APART = re.compile(r"[,;:.!?()—–]|\s-\s")


@dataclass(frozen=True, slots=True)
class Signal:
    """A direction that a text asserts.

    Attributes:
        start: Where its term begins, in characters.
        end: Where its term ends.
        text: The term as it stands there.
        sign: +1 up or good, -1 down or bad, all told: scaled, negated.
        bare: The term's own sign.
        tier: How sure it is that the term asserts it: "firm" moves and verdicts, "plain" terms,
            "soft" ones that go with either direction.
        parts: Every stretch that the sign comes from: the term, its negator, what scales it.
        scaled: Whether the term is a state that a word beside it makes more or less, and
            nothing denies it.
    """

    start: int
    end: int
    text: str
    sign: int
    bare: int
    tier: Tier
    parts: tuple[Span, ...]
    scaled: bool = False


_RESULT = re.compile(r"\b(?:profits?|loss(?:es)?|profitability)\Z", re.IGNORECASE)


def is_result(one: Signal, other: Signal) -> bool:
    """Return whether two directions are a profit and a loss, which are outcomes and no topics."""
    return all(_RESULT.search(signal.text) for signal in (one, other))


def signals(side: Side) -> list[Signal]:
    """Return the directions that a text asserts, in order, without overlap of their terms.

    Terms in names, in senses without a direction ("raised capital", "drop-off") and those that
    say one only with others beside them ("up" without a figure) are left out.
    """
    known = side.memo.get("signals")
    if not isinstance(known, list):
        known = side.memo["signals"] = _read(side)
    return known


def _read(side: Side) -> list[Signal]:
    data = signal_data()
    shielded = [match.span() for match in data.senses.finditer(side.text)]
    terms = [
        match
        for match in side.found("directional")
        if not _within(match, shielded) and _asserts(side, match, data)
    ]
    known = [(match.start, match.end, match.polarity, _tier(side, match, data)) for match in terms]
    known += _bare_states(side, known, shielded, data)
    known = _with_verdicts(side, known, data)
    known.sort()
    found = []
    absorbed: set[Span] = set()
    for start, end, sign, tier in known:
        if (start, end) in absorbed:
            continue
        parts: list[Span] = [(start, end)]
        total = sign
        scale = _scaler(side, start, end, data)
        if scale is not None:
            span, factor = scale
            total *= factor
            parts.append(span)
            absorbed.update(k[:2] for k in known if k[0] < span[1] and span[0] < k[1])
            # A state between a state and its verb is what the first one is about.
            absorbed.update(k[:2] for k in known if end < k[0] and k[1] < span[0])
        negator = _negator(side, min(p[0] for p in parts), data)
        if negator is not None:
            total = -total
            parts.append(negator)
        scaled = scale is not None and negator is None
        text = side.text[start:end]
        if scaled and tier == "soft":
            tier = "plain"  # "growth" alone is a topic; "growth slowed" says something
        found.append(Signal(start, end, text, total, sign, tier, tuple(parts), scaled))
    return [signal for signal in found if (signal.start, signal.end) not in absorbed]


def _within(match: Match, spans: list[Span]) -> bool:
    return any(start <= match.start and match.end <= end for start, end in spans)


_DONE_TO = re.compile(
    r"(?:\s[\w'’$%,.-]+){0,3}?\s(?:jobs?|workforce|staff|headcount|positions|roles|employees"
    r"|workers|costs?"
    r"|spending|prices?|production|output|emissions|fees|wages|pay|stake|holdings?|flights|capacity"
    r"|rates?|debt|taxes|tariffs|shifts|budget|expenses|fares)\b"
    r"(?!\s(?:targets?|forecasts?|guidance|outlook|estimates?|objectives?|views?))",
    re.IGNORECASE,
)


def _tier(side: Side, match: Match, data: SignalData) -> Tier:
    if match.term in _FIGURED and _figured(side, match):
        return "firm"
    if match.term in data.soft:
        return "soft"
    verbal = match.inflection in ("base", "third", "past", "gerund", "participle")
    if match.term in words("deeds") and verbal and _DONE_TO.match(side.text, match.end):
        return "soft"  # an event, as "cut 500 jobs", that either story may hold
    if match.term in ("higher", "lower") and match.group == "move":
        return "plain"
    if match.term == "grow" and match.inflection == "gerund":
        return "plain"
    if match.term in data.firm or match.group in ("guidance", "expectation", "phrase"):
        return "firm"
    return "plain"


_FIGURED = ("growth", "contraction", "expansion")


def _figured(side: Side, match: Match) -> bool:
    """Whether a state is told by a figure: "growth of 33%", "33% growth"."""
    return any(
        (match.end <= q.start and re.fullmatch(r"\sof\s(?:\w+\s)?", side.text[match.end : q.start]))
        or (
            q.end <= match.start
            and re.fullmatch(r"\s(?:\w+\s){0,2}?", side.text[q.end : match.start])
        )
        for q in side.quantities
        if q.kind == "percent" and abs(q.start - match.start) < 40
    )


_FIGURE = re.compile(
    r"\s(?:by\s|about\s|around\s|roughly\s|nearly\s|almost\s|some\s|an?\s|more\sthan\s|over\s)*\Z"
)
_PREDICATE = re.compile(
    r"\b(?:is|are|was|were|be|been|shares|stock|stocks|futures|index|prices|sales|revenue|profits?"
    r"|earnings|higher|edged|ticked|trading|traded|ended|closed|opened|finished|still|also|now"
    r"|markets?|heading|headed|trending|revised)\s\Z",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"\s(?:\S+\s){0,6}?(?:estimates?|expectations?|consensus|forecasts?|expected|street|guidance"
    r"|projections?|views?|analysts|target)\b",
    re.IGNORECASE,
)
_RATED = re.compile(
    r"(?:\brat(?:ing|ed|es?)\b|\b(?:to|from|at|a|an|its|their|of|with)\s[\"'“‘]?\Z"
    r"|\b(?:reiterat|maintain|assign|initiat|upgrad|downgrad|reaffirm)\w*\s[\"'“‘]?\Z)",
    re.IGNORECASE,
)
_RATING = re.compile(
    r"[\"'”’]?[\s-](?:rat\w+|recommendation|call|from|on|and\s(?:rais|lower|cut|lift))"
    r"|[\"'”’]?[.,;]|\Z",
    re.IGNORECASE,
)


def _asserts(side: Side, match: Match, data: SignalData) -> bool:
    """Whether a term stands where it says a direction."""
    text, term = side.text, match.term
    before, after = text[max(0, match.start - 40) : match.start], text[match.end : match.end + 70]
    if _in_quantity(side, match):
        return False
    if term in ("up", "down"):
        follows = any(
            q.start >= match.end and _FIGURE.fullmatch(text, match.end, q.start)
            for q in side.quantities
        )
        return follows or bool(_PREDICATE.search(before))
    if term in ("above", "below", "ahead", "behind"):
        return bool(_EXPECTED.match(after))
    if term in ("buy", "sell", "hold"):
        titled = side.sentence_of(match.start).titled
        if (
            titled
            and re.search(r"\ba\s\Z", before, re.IGNORECASE)
            and after[:1] in ("?", ".", "", ",")
        ):
            return True  # "Is It a Buy?"
        capital = match.text[0].isupper() and not titled
        quoted = before[-1:] in "\"'“‘" and after[:1] in "\"'”’"
        return (capital or quoted) and bool(_RATED.search(before)) and bool(_RATING.match(after))
    if term == "top" and match.inflection == "plural" and _EXPECTED.match(after):
        return True  # "Tops Q2 Estimates" is a verb
    if term == "top" and match.inflection == "base":
        return bool(re.search(r"\b(?:to|could|may|might|will|would|and|can)\s\Z", before))
    if term in data.ignored and match.group != "expectation":
        return False
    if term in ("strong", "robust", "firm") and _burdened(side, match, data):
        return False
    if term == "contract" and match.inflection in ("base", "third"):
        return bool(re.search(r"\b(?:to|will|would|could|may|might)\s\Z", before))
    if term in ("tank", "rocket", "crater", "firm", "balloon", "mount") and match.inflection in (
        "base",
        "third",
        "positive",
        "singular",
        "plural",
    ):
        return False
    return not _in_name(side, match)


def _burdened(side: Side, match: Match, data: SignalData) -> bool:
    """Whether an adjective of strength stands by something bad: "strong cost pressures"."""
    last = side.span_tokens(match.start, match.end)[-1]
    for token in side.tokens[last + 1 : last + 4]:
        if _APART.search(side.text, match.end, token.start) or token.key in words("clause_links"):
            return False
        if token.key in data.burdens:
            return True
    return False


def _in_quantity(side: Side, match: Match) -> bool:
    return any(q.start < match.end and match.start < q.end for q in side.quantities)


def _in_name(side: Side, match: Match) -> bool:
    """Whether the term is part of a capitalised name, as in "Rise Education"."""
    word = match.text
    if not word[0].isupper() or match.term in words("rating_words") or "rating" in match.term:
        return False
    if match.term in ("strong buy", "strong sell"):
        return False
    sentence = side.sentence_of(match.start)
    if sentence.titled:
        return _named_elsewhere(side, word)
    if side.text[sentence.start : match.start].strip(" \"'“‘(") == "":
        # The first word of a sentence is a name if a capitalised word follows: "Gap Inc.".
        after = re.match(r"\s([A-Z][a-z]+)\b", side.text[match.end :])
        return (
            after is not None
            and match.inflection in ("base", "singular", "fixed")
            and not is_known_name(after[1].casefold())
        )
    return True


def _named_elsewhere(side: Side, word: str) -> bool:
    """Whether a word of a headline is capitalised amid a plain sentence too."""
    for found in re.finditer(rf"(?<=[a-z,] ){re.escape(word)}\b", side.text):
        if not side.sentence_of(found.start()).titled:
            return True
    return False


def _bare_states(
    side: Side, known: list[tuple[int, int, int, Tier]], shielded: list[Span], data: SignalData
) -> Iterator[tuple[int, int, int, Tier]]:
    """Yield states that the word lists do not have, where something scales them."""
    for token in side.tokens:
        sign = data.state_signs.get(token.key)
        if sign is None or any(s < token.end and token.start < e for s, e, _, _ in known):
            continue
        if any(s <= token.start and token.end <= e for s, e in shielded):
            continue
        if _scaler(side, token.start, token.end, data) is not None:
            yield token.start, token.end, sign, "plain"


Known = tuple[int, int, int, Tier]


def _with_verdicts(side: Side, known: list[Known], data: SignalData) -> list[Known]:
    """Return the terms with whole verdicts, such as "swung to a loss", in place of their parts."""
    found: list[Known] = []
    for sign, pattern in data.verdicts:
        for match in pattern.finditer(side.text):
            start, end = match.span()
            if any(s <= start and end <= e for s, e, _, _ in known):
                continue  # a longer phrase of the lists has it
            found.append((start, end, sign, "firm"))
    rest = [k for k in known if not any(s < k[1] and k[0] < e for s, e, _, _ in found)]
    return rest + found


def _scaler(side: Side, start: int, end: int, data: SignalData) -> tuple[Span, int] | None:
    """Return what makes a state more or less: a word shortly before it, or the verb after it."""
    tokens = side.span_tokens(start, end)
    if not tokens or side.tokens[tokens[-1]].key not in data.states:
        return None
    if tokens[0] and side.tokens[tokens[0] - 1].key in words("verb_next"):
        return None  # "may drop", a verb
    best: tuple[int, Span, int] | None = None
    for step in range(1, _REACH + 1):
        i = tokens[0] - step
        if i < 0 or _APART.search(side.text, side.tokens[i].end, start):
            break
        word = side.tokens[i]
        scaler = data.scalers.get(word.key.split("-")[0])  # also "narrower-than-expected"
        if scaler is not None:
            best = (step, (word.start, word.end), scaler)
            break
        if word.key in words("clause_links") or word.key in data.states:
            break
    for step in range(1, _REACH + 4):
        i = tokens[-1] + step
        if i >= len(side.tokens) or _APART.search(side.text, end, side.tokens[i].start):
            break
        word = side.tokens[i]
        if word.key in data.scalers and (best is None or step < best[0]):
            if word.key.endswith("er") or not _closes(side, i):
                break  # "a drop lower than", "shortages lift margins"
            best = (step, (word.start, word.end), data.scalers[word.key])
            break
        if word.key in data.states and side.tokens[i - 1].key in ("of", "over", "about", "a", "an"):
            continue  # "fears of a recession mounted": what mounted is the fears
        if word.key in words("clause_links") or word.key in data.states or word.key == "#":
            break
    return None if best is None else (best[1], best[2])


def _closes(side: Side, i: int) -> bool:
    """Whether a verb has no object of its own: "concerns eased", not "concerns eased pressure"."""
    if i + 1 >= len(side.tokens):
        return True
    word, after = side.tokens[i], side.tokens[i + 1]
    if side.text[word.end : after.start].strip():
        return True
    return after.key in words("no_object") or after.key.endswith("ly")


def _negator(side: Side, start: int, data: SignalData) -> Span | None:
    """Return what denies a term: a negation shortly before it, in the same clause."""
    first = side.span_tokens(start, start + 1)
    if not first:
        return None
    low = max(0, first[0] - _REACH)
    at = side.tokens[low].start if low < len(side.tokens) else start
    for cut in _APART.finditer(side.text, at, start):
        at = cut.end()
    for found in data.negations.finditer(side.text, at, start):
        return found.span()
    for i in range(first[0] - 1, low - 1, -1):
        token = side.tokens[i]
        if token.start < at or token.key in ("but", "while", "as", "and"):
            break
        if token.key.replace("’", "'") in data.negators or token.key.endswith("n't"):
            only = token.key in ("not", "no") and re.match(
                r"\s(?:only|just|doubt)\b", side.text[token.end :]
            )
            if not only:
                return token.start, token.end
    return None
