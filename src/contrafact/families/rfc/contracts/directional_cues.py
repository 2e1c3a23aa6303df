"""What a text asserts about a direction, what analysts call a stock, and how two texts' cues align.

A cue is a directional term with what its sentence makes of it: "did not rise" is a fall, "losses
narrowed" is good news. RFC-BENCH, appendices Q.1, R.1 and S.1.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from contrafact.families.rfc.contracts.pair import Change, Pair, Side, Span, read_once
from contrafact.families.rfc.contracts.vocabulary import (
    AtWords,
    is_known_name,
    read_toml,
    word_set,
    words,
)
from contrafact.text.words import Match

__all__ = [
    "Cue",
    "CueWords",
    "DirectionAlignment",
    "RatingCall",
    "Tier",
    "are_results",
    "cue_words",
    "direction_alignment",
    "directional_cues",
    "is_rating",
    "rating_calls",
    "rating_names",
]

NEGATOR_REACH = 4
"""Words from a negator to the term that it denies, at most (ours)."""

SCALER_REACH = 4
"""Words from a word that scales a state to the state after it, at most (ours)."""

VERB_REACH = 7
"""Words from a state to the verb after it that scales it, at most (ours: "concerns about
slowing demand in Europe eased")."""

BURDEN_REACH = 3
"""Words from "strong" to the burden that it makes worse, at most (ours)."""

FIGURE_REACH = 40
"""Characters from a state to the percentage that gives it, at most (ours)."""

_BEFORE, _AFTER = 40, 70  # characters that decide what a term asserts


@dataclass(frozen=True)
class CueWords:
    """Words and patterns that decide what a directional term asserts.

    ``directional_cues.toml`` holds them, and says what each is.
    """

    ignored: frozenset[str]
    soft: frozenset[str]
    firm: frozenset[str]
    states: frozenset[str]
    bad_when_strong: frozenset[str]
    state_signs: dict[str, int]
    scalers: dict[str, int]
    negators: frozenset[str]
    negations: re.Pattern[str]
    other_senses: AtWords
    result_phrases: tuple[tuple[int, re.Pattern[str], tuple[str, ...]], ...]


@cache
def cue_words() -> CueWords:
    """Return the words and patterns, read once."""
    raw = read_toml("directional_cues.toml")
    scalers = dict.fromkeys(raw["scalers"]["more"].split(), 1)
    scalers |= dict.fromkeys(raw["scalers"]["less"].split(), -1)
    return CueWords(
        ignored=word_set(raw["ignored"]),
        soft=word_set(raw["soft"]),
        firm=word_set(raw["firm"]),
        states=frozenset(raw["states"].split()),
        bad_when_strong=frozenset(raw["bad_when_strong"].split()),
        state_signs=raw["state_signs"],
        scalers=scalers,
        negators=frozenset(raw["negators"]["words"].split()),
        negations=re.compile(rf"\b(?:{'|'.join(raw['negators']['phrases'])})\b", re.IGNORECASE),
        other_senses=AtWords(raw["other_senses"]["phrases"]),
        result_phrases=tuple(
            (
                sign,
                re.compile(rf"\b(?:{'|'.join(raw['result_phrases'][name])})\b", re.IGNORECASE),
                tuple(raw["result_phrases"][f"{name}_has"].split()),
            )
            for name, sign in (("good", 1), ("bad", -1))
        ),
    )


# Cues of one text

Tier = Literal["firm", "plain", "soft"]
"""How sure it is that a term asserts its direction."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A direction that a text asserts.

    Attributes:
        start: Where its term begins, in characters.
        end: Where its term ends.
        text: The term as it stands there.
        sign: +1 up or good, -1 down or bad, with what scales or denies it.
        bare: The term's own sign.
        tier: How sure it is that the term asserts it: "firm" moves and results, "plain" terms,
            "soft" ones that go with either direction.
        parts: Every stretch that the sign comes from: the term, its negator, what scales it.
        scaled: Whether the term is a state that a word near it makes more or less, and nothing
            denies it.
    """

    start: int
    end: int
    text: str
    sign: int
    bare: int
    tier: Tier
    parts: tuple[Span, ...]
    scaled: bool = False


_RESULT = re.compile(
    r"\b(?:profits?|loss(?:es)?|profitability|surplus(?:es)?|deficits?|inflows?|outflows?)\Z",
    re.IGNORECASE,
)


def are_results(*cues: Cue) -> bool:
    """Return whether all directions are a profit or a loss, which are outcomes and no topics."""
    return all(_RESULT.search(cue.text) for cue in cues)


Term = tuple[int, int, int, Tier]
"""Where a term begins and ends, its sign and its tier."""


@read_once
def directional_cues(side: Side) -> list[Cue]:
    """Return the directions that a text asserts, in order, without overlap of their terms.

    Terms in names, in senses without a direction ("raised capital", "drop-off") and those that
    say one only with others near them ("up" without a figure) are left out.
    """
    # Phrases in which a directional word asserts nothing.
    others = [match.span() for match in side.at_words(cue_words().other_senses)]
    terms: list[Term] = [
        (match.start, match.end, match.polarity, _tier(side, match))
        for match in side.terms("directional")
        if not any(start <= match.start and match.end <= end for start, end in others)
        and _asserts(side, match)
    ]
    terms += _bare_states(side, terms, others)
    terms = sorted(_with_result_phrases(side, terms))
    found = []
    absorbed: set[Span] = set()
    for start, end, sign, tier in terms:
        if (start, end) in absorbed:
            continue
        parts: list[Span] = [(start, end)]
        total = sign
        scale = _scaler(side, start, end)
        if scale is not None:
            span, factor = scale
            total *= factor
            parts.append(span)
            absorbed.update(k[:2] for k in terms if k[0] < span[1] and span[0] < k[1])
            # A state between a state and its verb is what the first one is about.
            absorbed.update(k[:2] for k in terms if end < k[0] and k[1] < span[0])
        negator = _negator(side, min(part[0] for part in parts))
        if negator is not None:
            total = -total
            parts.append(negator)
        scaled = scale is not None and negator is None
        if scaled and tier == "soft":
            tier = "plain"  # "growth" alone is a topic; "growth slowed" says something
        found.append(Cue(start, end, side.text[start:end], total, sign, tier, tuple(parts), scaled))
    return [cue for cue in found if (cue.start, cue.end) not in absorbed]


_DONE_TO = re.compile(
    r"(?:\s[\w'’$%,.-]+){0,3}?\s(?:jobs?|workforce|staff|headcount|positions|roles|employees"
    r"|workers|costs?"
    r"|spending|prices?|production|output|emissions|fees|wages|pay|stake|holdings?|flights|capacity"
    r"|rates?|debt|taxes|tariffs|shifts|budget|expenses|fares)\b"
    r"(?!\s(?:targets?|forecasts?|guidance|outlook|estimates?|objectives?|views?))",
    re.IGNORECASE,
)
_FIGURED = ("growth", "contraction", "expansion")


def _tier(side: Side, match: Match) -> Tier:
    data = cue_words()
    if match.term in _FIGURED and _is_figured(side, match):
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


def _is_figured(side: Side, match: Match) -> bool:
    """Whether a figure gives a state: "growth of 33%", "33% growth"."""
    return any(
        (match.end <= q.start and re.fullmatch(r"\sof\s(?:\w+\s)?", side.text[match.end : q.start]))
        or (
            q.end <= match.start
            and re.fullmatch(r"\s(?:\w+\s){0,2}?", side.text[q.end : match.start])
        )
        for q in side.quantities
        if q.kind == "percent" and abs(q.start - match.start) < FIGURE_REACH
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
    r"\s(?:\S+\s){0,6}?(?:estimates?|expectations?|consensus|forecasts?|(?<!of\s)(?<!the\s)expected(?!\sto)|street"
    r"|guidance|projections?|views?|analysts|target)\b",
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
_THINGS = ("tank", "rocket", "crater", "firm", "balloon", "mount")


def _asserts(side: Side, match: Match) -> bool:
    """Whether a term stands where it says a direction."""
    text, term, data = side.text, match.term, cue_words()
    before = text[max(0, match.start - _BEFORE) : match.start]
    after = text[match.end : match.end + _AFTER]
    if any(q.start < match.end and match.start < q.end for q in side.quantities):
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
    if term in ("strong", "robust", "firm") and _is_burdened(side, match):
        return False
    if term == "contract" and match.inflection in ("base", "third"):
        return bool(re.search(r"\b(?:to|will|would|could|may|might)\s\Z", before))
    if term in _THINGS and match.inflection in (
        "base",
        "third",
        "positive",
        "singular",
        "plural",
    ):
        return False
    return not _is_in_name(side, match)


def _is_burdened(side: Side, match: Match) -> bool:
    """Whether an adjective of strength stands by something bad: "strong cost pressures"."""
    last = side.span_tokens(match.start, match.end)[-1]
    for token in side.tokens[last + 1 : last + 1 + BURDEN_REACH]:
        if _APART.search(side.text, match.end, token.start) or token.key in words("clause_links"):
            return False
        if token.key in cue_words().bad_when_strong:
            return True
    return False


def _is_in_name(side: Side, match: Match) -> bool:
    """Whether the term is part of a capitalised name, as in "Rise Education"."""
    word = match.text
    if not word[0].isupper() or match.term in words("rating_words") or "rating" in match.term:
        return False
    if match.term in ("strong buy", "strong sell"):
        return False
    sentence = side.sentence_of(match.start)
    if sentence.titled:
        # A word of a headline is part of one if it is capitalised amid a plain sentence too.
        return any(
            not side.sentence_of(found.start()).titled
            for found in re.finditer(rf"(?<=[a-z,] ){re.escape(word)}\b", side.text)
        )
    if side.text[sentence.start : match.start].strip(" \"'“‘(") == "":
        # The first word of a sentence is a name if a capitalised word follows: "Gap Inc.".
        after = re.match(r"\s([A-Z][a-z]+)\b", side.text[match.end :])
        return (
            after is not None
            and match.inflection in ("base", "singular", "fixed")
            and not is_known_name(after[1].casefold())
        )
    return True


def _bare_states(side: Side, terms: list[Term], others: list[Span]) -> Iterator[Term]:
    """Yield states that the word lists do not have, where something scales them."""
    for token in side.tokens:
        sign = cue_words().state_signs.get(token.key)
        if sign is None or any(s < token.end and token.start < e for s, e, _, _ in terms):
            continue
        if any(s <= token.start and token.end <= e for s, e in others):
            continue
        if _scaler(side, token.start, token.end) is not None:
            yield token.start, token.end, sign, "plain"


def _with_result_phrases(side: Side, terms: list[Term]) -> list[Term]:
    """Return the terms with whole phrases, such as "swung to a loss", in place of their parts."""
    found: list[Term] = []
    for sign, pattern, parts in cue_words().result_phrases:
        for match in pattern.finditer(side.text) if side.has(*parts) else ():
            start, end = match.span()
            if any(s <= start and end <= e for s, e, _, _ in terms):
                continue  # a longer phrase of the lists has it
            found.append((start, end, sign, "firm"))
    rest = [k for k in terms if not any(s < k[1] and k[0] < e for s, e, _, _ in found)]
    return rest + found


_APART = re.compile(r"[,;:.!?()—–\n]|\s-\s")


def _scaler(side: Side, start: int, end: int) -> tuple[Span, int] | None:
    """Return what makes a state more or less: a word shortly before it, or the verb after it."""
    data, tokens = cue_words(), side.span_tokens(start, end)
    if not tokens or side.tokens[tokens[-1]].key not in data.states:
        return None
    if tokens[0] and side.tokens[tokens[0] - 1].key in words("verb_next"):
        return None  # "may drop", a verb
    best: tuple[int, Span, int] | None = None
    for step in range(1, SCALER_REACH + 1):
        i = tokens[0] - step
        if i < 0 or _APART.search(side.text, side.tokens[i].end, start):
            break
        word = side.tokens[i]
        if word.key in words("scales_nothing"):
            break  # "fell into contraction", "slid on concerns": no less of it
        scaler = data.scalers.get(word.key.split("-")[0])  # also "narrower-than-expected"
        if scaler is not None:
            best = (step, (word.start, word.end), scaler)
            break
        if word.key in words("clause_links"):
            break
        if word.key in data.states and step > 1:
            break  # next to it, a state is what the other one is of: "stoked recession fears"
    for step in range(1, VERB_REACH + 1):
        i = tokens[-1] + step
        if i >= len(side.tokens) or _APART.search(side.text, end, side.tokens[i].start):
            break
        word = side.tokens[i]
        if word.key in data.scalers and (best is None or step < best[0]):
            if word.key.endswith("er") or not _has_no_object(side, i):
                break  # "a drop lower than", "shortages lift margins"
            best = (step, (word.start, word.end), data.scalers[word.key])
            break
        if word.key in data.states and side.tokens[i - 1].key in ("of", "over", "about", "a", "an"):
            continue  # "fears of a recession mounted": what mounted is the fears
        if word.key in words("clause_links") or word.key in data.states or word.key == "#":
            break
    return None if best is None else (best[1], best[2])


def _has_no_object(side: Side, i: int) -> bool:
    """Whether a verb has no object: "concerns eased", not "concerns eased pressure"."""
    if i + 1 >= len(side.tokens):
        return True
    word, after = side.tokens[i], side.tokens[i + 1]
    if side.text[word.end : after.start].strip():
        return True
    return after.key in words("no_object") or after.key.endswith("ly")


def _negator(side: Side, start: int) -> Span | None:
    """Return what denies a term: a negation shortly before it, in the same clause."""
    first = side.span_tokens(start, start + 1)
    if not first:
        return None
    previous = side.tokens[first[0] - 1] if first[0] else None
    if previous is not None and previous.key == "less" and side.text[previous.end : start] == " ":
        return previous.start, previous.end  # "less upbeat"
    low = max(0, first[0] - NEGATOR_REACH)
    at = side.tokens[low].start if low < len(side.tokens) else start
    for cut in _APART.finditer(side.text, at, start):
        at = cut.end()
    for found in cue_words().negations.finditer(side.text, at, start):
        return found.span()
    for i in range(first[0] - 1, low - 1, -1):
        token = side.tokens[i]
        if token.start < at or token.key in ("but", "while", "as", "and"):
            break
        if token.key.replace("’", "'") in cue_words().negators or token.key.endswith("n't"):
            only = token.key in ("not", "no") and re.match(
                r"\s(?:only|just|doubt)\b", side.text[token.end :]
            )
            if not only:
                return token.start, token.end
    return None


# Cues of a pair


@dataclass(frozen=True)
class DirectionAlignment:
    """The directions of both texts, and which of them stand for which.

    Attributes:
        original: The original's, in order.
        rewritten: The rewrite's.
        counterparts: Each of the original's, with those of the rewrite that stand in its place.
    """

    original: list[Cue]
    rewritten: list[Cue]
    counterparts: list[tuple[Cue, list[Cue]]]


@read_once
def direction_alignment(pair: Pair) -> DirectionAlignment:
    """Return the directions of a pair, aligned.

    A direction of the rewrite stands for one of the original where the two share an unchanged
    word, or a changed stretch.
    """
    original, rewritten = directional_cues(pair.original), directional_cues(pair.rewritten)
    aligned = pair.alignment

    def places(cue: Cue, *, of_original: bool) -> set[int | Change]:
        """Return the changes and the unchanged tokens of the original that a cue touches."""
        found: set[int | Change] = set()
        for start, end in cue.parts:
            if of_original:
                for i in pair.original.span_tokens(start, end):
                    found.add(aligned.change_in_original(i) or i)
            else:
                for i in pair.rewritten.span_tokens(start, end):
                    found.add(aligned.change_in_rewritten(i) or aligned.to_original[i])
        return found

    after = [(cue, places(cue, of_original=False)) for cue in rewritten]
    counterparts = []
    for cue in original:
        mine = places(cue, of_original=True)
        counterparts.append((cue, [other for other, theirs in after if theirs & mine]))
    return DirectionAlignment(original, rewritten, counterparts)


# Ratings: upgraded to Buy from Hold, reiterated at Sell

_RANKS = {
    "strong buy": 2,
    "conviction buy": 2,
    "buy": 1,
    "outperform": 1,
    "overweight": 1,
    "accumulate": 1,
    "sector outperform": 1,
    "market outperform": 1,
    "hold": 0,
    "neutral": 0,
    "equal weight": 0,
    "market perform": 0,
    "sector perform": 0,
    "peer perform": 0,
    "in line": 0,
    "sell": -1,
    "underperform": -1,
    "underweight": -1,
    "reduce": -1,
    "sector underperform": -1,
    "market underperform": -1,
    "strong sell": -2,
}
_RATINGS = "|".join(sorted((name.replace(" ", r"[\s-]") for name in _RANKS), key=len, reverse=True))
_TITLED_RATINGS = "|".join(
    sorted((name.title().replace(" ", r"[\s-]") for name in _RANKS), key=len, reverse=True)
)
_IN_RATINGS = (
    "buy",
    "perform",
    "weight",
    "accumulate",
    "hold",
    "neutral",
    "line",
    "sell",
    "reduce",
)
_QUOTE = r"[\"'“”‘’]?"
_ACTION = (
    r"\b(?P<action>upgrad\w+|downgrad\w+|rais\w+|lift\w+|boost\w+|cut|cuts|cutting|lower\w*"
    r"|slip\w*|f[ae]ll(?:s|en)?|drop\w*|sank|sinks?|rose|ris(?:es|en|ing)|climb\w*|improv\w*"
    r"|advanc\w*|mov\w+)\b"
)
_GAP = r"(?P<gap>[^.;]{0,90}?)"
_MOVE = re.compile(
    rf"{_ACTION}{_GAP}\bto\s(?:an?\s)?{_QUOTE}(?P<to>{_RATINGS})\b{_QUOTE}(?:\srating)?"
    rf"(?:\s(?:rating\s)?from\s(?:an?\s)?{_QUOTE}(?P<was>{_RATINGS})\b)?"
    rf"|{_ACTION.replace('action', 'action2')}{_GAP.replace('gap', 'gap2')}"
    rf"\bfrom\s(?:an?\s)?{_QUOTE}"
    rf"(?P<was2>{_RATINGS})\b{_QUOTE}\sto\s(?:an?\s)?{_QUOTE}(?P<to2>{_RATINGS})\b",
    re.IGNORECASE,
)
_STAND = re.compile(
    rf"\b(?:reiterat\w+|maintain\w*|reaffirm\w*|kept|keep\w*|initiat\w+|assign\w*|start\w*|resum\w+"
    rf"|rat(?:es|ed|ing)|has|have|with|carries|repeat\w*|gives?|gave)\b[^.;]{{0,60}}?\b(?:an?|its"
    rf"|their|at|the|of|with)\s"
    rf"{_QUOTE}(?P<to>(?-i:{_TITLED_RATINGS}|STRONG BUY|BUY|SELL))\b{_QUOTE}",
    re.IGNORECASE,
)
_RATING_NAME = re.compile(rf"\b(?:{_TITLED_RATINGS})\b")
_CALLED = re.compile(r"(?:[a-z,\"'“‘]|\d%?)\s?[\"'“‘(]?\Z")
_UP = ("upgrad", "rais", "lift", "boost", "rose", "ris", "climb", "improv", "advanc")
_DOWN = ("downgrad", "cut", "lower", "slip", "fell", "fall", "drop", "sank", "sink")


@dataclass(frozen=True, slots=True)
class RatingCall:
    """One call of an analyst.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        text: The words.
        direction: +1 for an upgrade, -1 for a downgrade, 0 where the rating stands.
        rank: The rating, from -2 (strong sell) to 2 (strong buy).
        was: The rating before, if it is named.
    """

    start: int
    end: int
    text: str
    direction: int
    rank: int | None
    was: int | None

    @property
    def contradiction(self) -> bool:
        """Whether an upgrade leads down, or a downgrade up."""
        if not self.direction or self.rank is None:
            return False
        if self.was is not None:
            return (self.rank - self.was) * self.direction <= 0
        return self.rank * self.direction < 0


@read_once
def rating_calls(side: Side) -> list[RatingCall]:
    """Return the ratings that a text reports, in order."""
    found: list[RatingCall] = []
    if not side.has(*_IN_RATINGS):
        return found
    for match in _MOVE.finditer(side.text):
        action = (match["action"] or match["action2"]).casefold()
        name = match["to"] or match["to2"]
        named = match["was"] or match["was2"] or "rating" in match[0] or "grad" in match[0].lower()
        if not name[0].isupper() and (_rank(name) == 0 or not named):
            continue  # "to hold", "in line", "begin to reduce", "loans to buy homes"
        direction = 1 if action.startswith(_UP) else -1 if action.startswith(_DOWN) else 0
        found.append(
            RatingCall(
                match.start(),
                match.end(),
                match[0],
                direction,
                _rank(name),
                _rank(match["was"] or match["was2"]),
            )
        )
    for match in _STAND.finditer(side.text):
        if not any(call.start <= match.start("to") < call.end for call in found):
            found.append(RatingCall(*match.span(), match[0], 0, _rank(match["to"]), None))
    return sorted(found, key=lambda call: call.start)


def rating_names(side: Side) -> list[tuple[int, int, int]]:
    """Return the ratings that plain sentences name, capitalised: start, end and rank, in order."""
    if not side.has(*_IN_RATINGS):
        return []
    return [
        (match.start(), match.end(), rank)
        for match in _RATING_NAME.finditer(side.text)
        if not side.sentence_of(match.start()).titled
        and _CALLED.search(side.text[: match.start()])
        and (rank := _rank(match[0])) is not None
    ]


def is_rating(name: str) -> bool:
    """Return whether words are the name of a rating, such as "Strong Buy"."""
    return _rank(name.removesuffix(" rating")) is not None


def _rank(name: str | None) -> int | None:
    return None if name is None else _RANKS.get(name.casefold().replace("-", " "))
