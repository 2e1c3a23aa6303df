"""Sentiment amplification by rule: one to three firmer words, of the text's own sign.

RFC-BENCH, appendix S.3. What is stated stays; only how strongly it is put changes. The words come
from ``sentiment.toml``.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
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
    with_articles,
)
from contrafact.families.rfc.pipeline.rules.grammar import (
    Word,
    cased,
    described,
    measures,
    parse,
    plural,
)
from contrafact.text.quantities import quantities
from contrafact.text.tokens import sentence_spans
from contrafact.text.words import lexicon

__all__ = ["rewrite_sentiment"]

_MOST = 3
_BEFORE_NOUN = ("ADJ", "ADV", "NUM", "NOUN", "PROPN", "VERB", "PUNCT", "SYM")
_NOT_HEDGES = re.compile(r"\b(?:in|of|since|until|by|on|last|this|next|early|late)\s+\Z", re.I)
_NO_TONE = frozenset({"more", "less", "over", "under", "top"})
_OPEN = re.compile(
    r"\b(?:if|whether|despite|although|though|but|hopes?|fears?|hold back|weigh\w*|limit\w*|los(?:e|es|ing)"
    r"|threat\w*|return(?:ed|s)? to|fight\w*|tame|curb\w*|offset\w*|sustain|vulnerabilit\w+)\b",
    re.IGNORECASE,
)
_LARGE = 2.0  # per cent: what is less is not called steep or solid (ours)
_NEGATED = re.compile(r"\b(?:not|no|never|without|n['’]t|little|hardly|nor)\s(?:\w+\s)?\Z", re.I)


@dataclass(frozen=True)
class _Offer:
    """A place where the tone can be made firmer, and with what words."""

    start: int
    end: int
    after: tuple[str, ...]
    why: str
    polar: bool


@cache
def _data() -> Mapping[str, Any]:
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("sentiment.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


def rewrite_sentiment(text: str, rng: np.random.Generator) -> RuleRewrite | NoRewrite:
    """Return the text with one to three firmer words, or why that cannot be done.

    Args:
        text: A paragraph.
        rng: Which of the possible places and words are taken.
    """
    found = lexicon().find(text, ["extreme", "over_amplified"])
    if found:
        return NoRewrite(f"'{found[0].text}' is as strong as it gets already")
    sign = _sign(text)
    if sign == 0:
        return NoRewrite("its tone leans neither way")
    # A sentence that leans the other way is left as it is.
    same = [(s, e) for s, e in sentence_spans(text, dashes=True) if _leans(text[s:e], sign)]
    offers = [
        offer
        for offer in _offers(text, "up" if sign > 0 else "down")
        if any(s <= offer.start < e for s, e in same)
    ]
    polar = [offer for offer in offers if offer.polar]
    if not polar:
        return NoRewrite("holds no mild word that could be firmer")
    chosen = _choose(offers, polar, rng)
    edits = [
        replace_at(
            text,
            offer.start,
            offer.end,
            cased(text[offer.start], offer.after[int(rng.integers(len(offer.after)))])
            if offer.end > offer.start
            else offer.after[int(rng.integers(len(offer.after)))] + " ",
            offer.why,
        )
        for offer in chosen
    ]
    log = with_articles(text, compose(edits))
    return RuleRewrite(apply(text, log), log)


def _sign(text: str) -> int:
    """Return which way the text leans, by the directional and mild words in it."""
    matches = lexicon().find(text, ["directional", "mild"])
    seen: dict[tuple[int, int], int] = {}
    for match in matches:
        if match.polarity and match.text.casefold() not in ("more", "less", "over", "under", "top"):
            seen.setdefault((match.start, match.end), match.polarity)
    total = sum(seen.values())
    return (total > 0) - (total < 0)


def _leans(sentence: str, sign: int) -> bool:
    """Return whether all that a sentence asserts leans one way, and is asserted: a firmer word in
    "will hold back growth" or "losing some of its gains" would make another fact of it.
    """
    found = lexicon().find(sentence, ["directional", "mild"])
    seen = {m.polarity for m in found if m.polarity and m.text.casefold() not in _NO_TONE}
    return seen == {sign} and not _OPEN.search(sentence)


def _choose(
    offers: Sequence[_Offer], polar: Sequence[_Offer], rng: np.random.Generator
) -> list[_Offer]:
    """Return one to three places, one of them at least at a word that has a sign."""
    first = polar[int(rng.integers(len(polar)))]
    chosen = [first]
    more = int(rng.integers(_MOST))
    for index in rng.permutation(len(offers)):
        offer = offers[int(index)]
        # Firmer words next to each other would be stacked: one to a stretch of text.
        if more and all(abs(offer.start - other.start) > 40 for other in chosen):
            chosen.append(offer)
            more -= 1
    return sorted(chosen, key=lambda offer: offer.start)


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
                    True,
                )
            )
        elif word.lower in data["words"][way] and _plain_word(word, words, text):
            firmer = data["words"][way][word.lower]
            offers.append(_Offer(word.start, word.end, tuple(firmer), "a firmer word", True))
    offers += _figure_offers(text, way)
    for hedge, tighter in data["hedges"].items():
        for match in re.finditer(rf"\b{re.escape(hedge)}\b", text):
            before = text[max(0, match.start() - 16) : match.start()]
            if not _NEGATED.search(before) and not _NOT_HEDGES.search(before):
                why = "a hedge drawn tighter"
                offers.append(_Offer(match.start(), match.end(), tuple(tighter), why, False))
    return offers


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
    if word.pos == "ADJ" and not any(w.lower in measures() for w in described(word, words)):
        return False
    return not _NEGATED.search(text[max(0, word.start - 16) : word.start])


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
            offers.append(_Offer(quantity.start, quantity.start, words, why, True))
    return offers
