"""Sentiment amplification by rule: a firmer word, of the text's own sign.

RFC-BENCH, appendix S.3. What is stated stays; only how strongly it is put changes. Of the one to
three words that the paper allows one is changed: each more tells the rewrite. The words come from
``sentiment.toml``.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from contrafact.families.rfc.pipeline.rules.edits import (
    NoRewrite,
    RuleRewrite,
    apply,
    compose,
    replace_at,
    shuffled,
    with_articles,
)
from contrafact.families.rfc.pipeline.rules.grammar import (
    Word,
    cased,
    described,
    lemmas,
    measures,
    parse,
    plural,
)
from contrafact.text.quantities import quantities
from contrafact.text.tokens import sentence_spans
from contrafact.text.words import lexicon

__all__ = ["sentiment_versions"]

_BEFORE_NOUN = ("ADJ", "ADV", "NUM", "NOUN", "PROPN", "VERB", "PUNCT", "SYM")
_NO_TONE = frozenset({"more", "less", "over", "under", "top"})
_OPEN = re.compile(
    r"\b(?:if|whether|despite|although|though|but|hopes?|fears?|hold back|weigh\w*|limit\w*"
    r"|expects?|los(?:e|es|ing)|threat\w*|return(?:ed|s)? to|fight\w*|tame|curb\w*|offset\w*"
    r"|sustain|vulnerabilit\w+)\b",
    re.IGNORECASE,
)
_CUT = re.compile(
    r"[;:]\s|,\s|\s(?=(?:as|but|while|amid|after|although|though|whereas|even as)\s)", re.IGNORECASE
)
_RELIEF = re.compile(
    r"\b(?:eas(?:e|ed|es|ing)|allay\w*|fad(?:e|ed|es|ing)|subsid\w+|reced\w+|shrug\w*|overc\w+"
    r"|despite|offset\w*|reduc\w+|less|lower\w*|no|not|without|fewer|temper\w*|calm\w*|soothe\w*"
    r"|dismiss\w*|downplay\w*|avoid\w*|avert\w*|limit\w*|relie\w+|abat\w+|cool\w*|end\w*"
    r"|tackl\w+|fight\w*|curb\w*|contain\w*|hopes?|if|whether|any|slight\w*|some|mild\w*|little"
    r"|sever\w*|serious\w*|grow\w*|mount\w*|deep\w*|lingering|cut\w*|trim\w*|outpac\w+)\b",
    re.IGNORECASE,
)
_LARGE = 2.0  # per cent: what is less is not called steep or solid (ours)
_AFTER_MOVE = frozenset({"on", "in", "as", "after", "amid", "for", "during", "following", "while"})
_PLANNED = re.compile(
    r"\b(?:to|will|may|might|could|would|should|can)\s(?:\w+\s)?\Z", re.IGNORECASE
)
_NOUN_AFTER = re.compile(r"\b(?:extend\w*|trim\w*|par(?:e|es|ed|ing)|eras\w*)\s\Z", re.IGNORECASE)
_THAN_EXPECTED = re.compile(
    r"(?<!far )(?<!much )(?<!even )(?<!a bit )(?<!little )(?<!slightly )(?<!no )(?<!or )"
    r"\b(?:more|less|faster|slower|better|worse|stronger|weaker|higher|lower)\sthan\s"
    r"(?:expected|forecast|anticipated|feared|predicted)\b"
)
_GOAL = (
    r"(?=\s(?:[\w.&’'-]+\s){0,4}(?:[Ee]stimates?|[Ee]xpectations?|[Ff]orecasts?|[Cc]onsensus)\b)"
)
_BEAT = re.compile(
    rf"(?<!to )\b(?:[Bb]eats?|[Tt]ops|[Tt]opped|[Ee]xceed(?:s|ed)|[Ss]urpass(?:es|ed)){_GOAL}"
)
_MISS = re.compile(rf"(?<!to )\b(?:[Mm]iss(?:es|ed)|[Ll]ags|[Ll]agged|[Tt]rails|[Tt]railed){_GOAL}")
_SURPRISE = re.compile(r"(?:surprises? of|and) (-?\d+(?:\.\d+)?)%")
_SURPRISING = 5.0  # per cent: a smaller surprise is not called a clear one (ours)
_MILD_MOVE = re.compile(
    r"\b(?:edg(?:e|ed|es|ing)|inch(?:ed|es|ing)?|slight\w*|marginal\w*|little changed|a hair"
    r"|nudg\w+|a touch|modest\w*|tick(?:s|ed)? (?:up|down|higher|lower)|steady|steadies|flat"
    r"|firmed|trim\w*|tweak\w*|a little|a bit|directionless"
    r"|eras(?:e|es|ed|ing)|par(?:e|es|ed|ing)|swung"
    r"|swings?|whipsaw\w*|somewhat|mild\w*|gradual\w*)\b",
    re.IGNORECASE,
)
_MEASURING = ("percent", "basis points", "number", "money")
_BURDEN = re.compile(
    r"\b(?:inflation|recession|slowdown|crisis|deficit|debt|concerns?|fears?|risks?|pressures?"
    r"|shortages?|taxes|hikes?|cuts?|slump|strain)\b",
    re.IGNORECASE,
)
_INTENSE = re.compile(
    r"\b(?:very|far|much|sharp(?:ly)?|deep(?:ly)?|strong(?:ly)?|heav(?:y|ily)|serious(?:ly)?"
    r"|significant(?:ly)?|considerabl[ey]|substantial(?:ly)?|marked(?:ly)?|rapid(?:ly)?|steep(?:ly)?"
    r"|huge|massive|major|aggressive(?:ly)?|hard|intense|highly|clear(?:ly)?|robust|firm(?:ly)?"
    r"|slight(?:ly)?|modest(?:ly)?|little|somewhat|moderate(?:ly)?|gradual(?:ly)?|bit|broad(?:ly)?"
    r"|further|more|less|too|so|as much|sudden(?:ly)?|biggest|fastest|highest|lowest|worst|best)\b",
    re.IGNORECASE,
)
_SOFTENED = re.compile(
    r"\b(?:temper\w*|eas(?:e[ds]?|ing)|allay\w*|calm\w*|shrug\w*|play(?:s|ed|ing)? down|faded?"
    r"|fading|reced\w+|dismiss\w*|despite|offset\w*|defy\w*|no longer|rather than|instead of|if"
    r"|whether)\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|no|never|without|n['’]t|little|hardly|nor)\s(?:\w+\s)?\Z", re.I)


@dataclass(frozen=True)
class _Offer:
    """A place where the tone can be made firmer, and with what words.

    Where several places will do, a hedge is the last resort: few wordings of it are natural.

    Attributes:
        start: Where it begins.
        end: Where it ends; where it begins, if words are put in.
        after: What may stand there.
        why: What it does.
        trouble: Whether it is a worry or a burden, which is bad whatever its clause says besides.
        hedge: Whether it is a hedge.
    """

    start: int
    end: int
    after: tuple[str, ...]
    why: str
    trouble: bool = False
    hedge: bool = False


@dataclass(frozen=True)
class _Wording:
    """A wording of ``sentiment.toml`` that takes a word of degree."""

    pattern: re.Pattern[str]
    put: tuple[str, ...]
    way: str
    figures: bool
    bare: bool
    stronger: bool


@cache
def _data() -> Mapping[str, Any]:
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("sentiment.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def _wordings() -> tuple[_Wording, ...]:
    return tuple(
        _Wording(
            re.compile(entry["pattern"]),
            tuple(entry["put"]),
            entry["way"],
            entry.get("figures", False),
            entry.get("bare", False),
            entry.get("stronger", False),
        )
        for entry in _data()["wording"]
    )


def sentiment_versions(text: str, rng: np.random.Generator) -> Sequence[RuleRewrite] | NoRewrite:
    """Return the versions of a text with a firmer word, or why there is none.

    Args:
        text: A paragraph.
        rng: The order of the versions.
    """
    found = lexicon().find(text, ["extreme", "over_amplified"])
    if found:
        return NoRewrite(f"'{found[0].text}' is as strong as it gets already")
    sign = _sign(text)
    wordings = _wording_offers(text, sign)
    if sign == 0 and not wordings:
        return NoRewrite("its tone leans neither way")
    # A clause that leans the other way is left as it is.
    clauses = list(_clauses(text))
    same = [(s, e) for s, e in clauses if _leans(text[s:e], sign)]
    troubled = [(s, e) for s, e in clauses if sign < 0 and not _RELIEF.search(text[s:e])]
    offers = [
        offer
        for offer in (_offers(text, "up" if sign > 0 else "down") if sign else [])
        if any(s <= offer.start < e for s, e in (troubled if offer.trouble else same))
    ]
    offers += [o for o in wordings if not any(_overlap(o, other) for other in offers)]
    # A hedge is the last resort: few wordings of it are natural.
    offers = [offer for offer in offers if not offer.hedge] or offers
    if not offers:
        return NoRewrite("holds no mild word that could be firmer")
    return [
        _version(text, *found)
        for found in shuffled([(offer, words) for offer in offers for words in offer.after], rng)
    ]


def _version(text: str, offer: _Offer, words: str) -> RuleRewrite:
    put = _fitted(text, offer, words)
    edit = replace_at(text, offer.start, offer.end, put, offer.why)
    log = with_articles(text, compose([edit]))
    return RuleRewrite(apply(text, log), log)


def _overlap(one: _Offer, other: _Offer) -> bool:
    return one.start <= other.end and other.start <= one.end


def _wording_offers(text: str, sign: int) -> list[_Offer]:
    """Return the wordings of a text that take a word of degree, where they assert something."""
    offers: list[_Offer] = []
    found = [q for q in quantities(text) if q.kind in _MEASURING]
    mild = bool(_MILD_MOVE.search(text))
    small = any(q.kind == "percent" and q.value and abs(q.value) < _LARGE for q in found)
    for start, end in sentence_spans(text, dashes=True):
        sentence = text[start:end]
        if sentence.rstrip().endswith("?"):
            continue
        figured = any(start <= q.start < end for q in found)
        polar = any(m.polarity for m in lexicon().find(sentence, ["directional", "mild"])) or bool(
            _BURDEN.search(sentence)
        )
        for wording in _wordings():
            if wording.way != "hedge" and mild:
                continue
            if not wording.figures and (figured or small):
                continue
            if {"up": 1, "down": -1}.get(wording.way, sign) * sign < 0:
                continue
            for match in wording.pattern.finditer(text, start, end):
                hedge = wording.way == "hedge"
                clause = next((s, e) for s, e in _clauses(text) if s <= match.start() < e)
                before = text[max(0, match.start() - 24) : match.start()]
                if _NEGATED.search(before) or (hedge and not polar):
                    continue
                if wording.stronger and _PLANNED.search(before):
                    continue  # "could rise" is no "could jump"
                if _NOUN_AFTER.search(before):
                    continue  # "extends declines"
                if wording.way == "down" and _RELIEF.search(
                    text[clause[0] : match.start()] + " " + text[match.end() : clause[1]]
                ):
                    continue
                if _SOFTENED.search(text, clause[0], match.start()):
                    continue
                if wording.bare and not _bare_before(text, start, match.start()):
                    continue
                if _INTENSE.search(text, max(start, match.start() - 16), match.end() + 14):
                    continue
                puts = tuple(match.expand(put) for put in wording.put)
                why = "a hedge drawn tighter" if hedge else "a firmer wording"
                offers.append(_Offer(*match.span(), puts, why, hedge=hedge))
    return offers


def _bare_before(text: str, start: int, at: int) -> bool:
    """Return whether nothing describes what begins at a place of a sentence."""
    before = re.search(r"([\w'’-]+)?[^\w]*\Z", text[start:at])
    word = before[1] if before else None
    return word is None or word.casefold() in _data()["bare_after"].split()


def _sign(text: str) -> int:
    """Return which way the text leans, by the directional and mild words in it."""
    matches = lexicon().find(text, ["directional", "mild"])
    seen: dict[tuple[int, int], int] = {}
    for match in matches:
        if match.polarity and match.text.casefold() not in ("more", "less", "over", "under", "top"):
            seen.setdefault((match.start, match.end), match.polarity)
    total = sum(seen.values())
    if total == 0 and seen:
        return seen[min(seen)]  # neither way: the headline's
    return (total > 0) - (total < 0)


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the clauses of a text are: what leans one way is looked for in each."""
    for start, end in sentence_spans(text, dashes=True):
        at = start
        for cut in _CUT.finditer(text, start, end):
            yield at, cut.start()
            at = cut.end()
        yield at, end


def _leans(sentence: str, sign: int) -> bool:
    """Return whether all that a sentence asserts leans one way, and is asserted: a firmer word in
    "will hold back growth" or "losing some of its gains" would make another fact of it.
    """
    found = lexicon().find(sentence, ["directional", "mild"])
    seen = {m.polarity for m in found if m.polarity and m.text.casefold() not in _NO_TONE}
    return seen == {sign} and not _OPEN.search(sentence)


def _offers(text: str, way: str) -> list[_Offer]:
    data = _data()
    words = parse(text)
    offers: list[_Offer] = []
    nouns = data["nouns"][way]
    forms = {form: noun for noun in nouns for form in (noun, plural(noun))}
    for word in words:
        if word.lower in forms and _bare_noun(word, words):
            offers.append(
                _Offer(
                    word.start,
                    word.start,
                    tuple(_headed(word, a) for a in nouns[forms[word.lower]]),
                    "a firmer word before the noun",
                    trouble=forms[word.lower] in data["troubles"].split(),
                )
            )
        elif (adverbs := _intensified(word, words, text, way)) is not None:
            offers.append(
                _Offer(word.end, word.end, tuple(adverbs), "a firmer word after the verb")
            )
        elif word.lower in data["words"][way] and _plain_word(word, words, text):
            firmer = data["words"][way][word.lower]
            offers.append(_Offer(word.start, word.end, tuple(firmer), "a firmer word"))
    offers += _figure_offers(text, way)
    offers += _expectation_offers(text, way)
    return offers


def _fitted(text: str, offer: _Offer, words: str) -> str:
    """Return words as they stand in the text: with its capital, and a space on one side."""
    if offer.end > offer.start:
        return cased(text[offer.start], words)
    return f" {words}" if text[offer.start - 1 : offer.start].isalnum() else f"{words} "


def _intensified(word: Word, words: Sequence[Word], text: str, way: str) -> Sequence[str] | None:
    """Return adverbs that may follow a verb of movement without object or figure, if it is one."""
    verbs: Mapping[str, str] = _data()["moves"]
    if word.tag not in ("VBD", "VBZ", "VBP", "VB") or not word.text.islower():
        return None
    if not lemmas(word.lower) & set(verbs[way].split()):
        return None
    if any(w.head == word.index and w.dep in ("dobj", "obj", "advmod", "prt") for w in words):
        return None
    after = words[word.index + 1] if word.index + 1 < len(words) else None
    if after is not None and after.lower not in _AFTER_MOVE and after.text not in ".,;":
        return None
    sentence = next((s, e) for s, e in sentence_spans(text, dashes=True) if s <= word.start < e)
    for quantity in quantities(text):
        near = sentence[0] <= quantity.start < sentence[1]
        if near and quantity.kind in ("percent", "basis points", "number", "money"):
            return None  # a figure says itself how far it went
    before = text[max(0, word.start - 24) : word.start]
    if _MILD_MOVE.search(text):
        return None  # "Gold edges up": it did not climb sharply
    if _NEGATED.search(before) or _PLANNED.search(before):
        return None
    adverbs: Sequence[str] = _data()["adverbs"][way]
    return adverbs


def _headed(word: Word, adjective: str) -> str:
    return adjective.capitalize() if word.titled and word.text[0].isupper() else adjective


def _bare_noun(word: Word, words: Sequence[Word]) -> bool:
    """Return whether a noun has nothing before it that an adjective would part it from."""
    if word.pos != "NOUN" or word.titled or not word.text.islower():
        return False
    before = words[word.index - 1] if word.index else None
    after = words[word.index + 1] if word.index + 1 < len(words) else None
    if (
        before is None
        or before.pos in _BEFORE_NOUN
        or before.lower in _data()["not_before"].split()
    ):
        return False
    if after is not None and after.lower == "of":
        return False  # "a rise of 0.25 points" says itself how large it is
    return after is None or (after.pos not in ("NOUN", "PROPN") and after.text != "-")


def _plain_word(word: Word, words: Sequence[Word], text: str) -> bool:
    """Return whether a mild word is an adjective or adverb that stands by itself."""
    if word.pos not in ("ADJ", "ADV") or word.tag not in ("JJ", "RB"):
        return False
    if not word.text.islower() or text[word.end : word.end + 1] == "-":
        return False
    before = words[word.index - 1] if word.index else None
    if before is not None and (before.pos == "ADV" or before.text == "-"):
        return False
    after = words[word.index + 1 : word.index + 2]
    if before is not None and before.lower in ("go", "goes", "went", "turned", "turns"):
        return False
    if word.lower in ("positive", "negative") and any(
        w.lower in ("for", "interest", "rates", "rate", "territory", "yield", "yields", "test")
        for w in after
    ):
        return False
    if word.pos == "ADJ" and not any(w.lower in measures() for w in described(word, words)):
        return False
    return not _NEGATED.search(text[max(0, word.start - 16) : word.start])


def _expectation_offers(text: str, way: str) -> list[_Offer]:
    """Return places before "more than expected", and before a beat or a miss."""
    offers = []
    for match in _THAN_EXPECTED.finditer(text):
        sentence = next(
            (s, e) for s, e in sentence_spans(text, dashes=True) if s <= match.start() < e
        )
        if not any(sentence[0] <= q.start < sentence[1] for q in quantities(text)):
            words, why = tuple(_data()["than"]), "a firmer word before the comparison"
            offers.append(_Offer(match.start(), match.start(), words, why))
    surprises = [abs(float(m[1])) for m in _SURPRISE.finditer(text)]
    if surprises and min(surprises) < _SURPRISING:
        return offers
    for match in (_BEAT if way == "up" else _MISS).finditer(text):
        if _NEGATED.search(text[max(0, match.start() - 24) : match.start()]):
            continue
        titled = match[0][0].isupper()
        words = tuple(w.capitalize() if titled else w for w in _data()["verdicts"][way])
        why = "a firmer word before the verdict"
        offers.append(_Offer(match.start(), match.start(), words, why))
    return offers


def _figure_offers(text: str, way: str) -> list[_Offer]:
    """Return places before the percentage of a movement: "fell 3%" is "fell a steep 3%"."""
    wanted = 1 if way == "up" else -1
    moves = {
        match.end: match
        for match in lexicon().find(text, ["directional"])
        if match.polarity == wanted and match.inflection == "past" and match.group == "move"
    }
    offers = []
    for quantity in quantities(text):
        move = moves.get(quantity.start - 1)
        large = quantity.value is not None and abs(quantity.value) >= _LARGE
        if (
            move is not None
            and quantity.kind == "percent"
            and large
            and text[quantity.start].isdigit()
        ):
            words = tuple(_data()["figures"][way])
            why = "a firmer word before the figure"
            offers.append(_Offer(quantity.start, quantity.start, words, why))
    return offers
