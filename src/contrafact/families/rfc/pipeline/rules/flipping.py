"""Directional flipping by rule: every directional word turned round (RFC-BENCH, S.1 and Q.1).

The lexicon says what may assert a direction and what its opposite is; ``flipping.toml`` and the
grammar of the sentence say where it does. Ends of from-to pairs trade places where the new
direction needs it. A text that would turn into nonsense word by word is not turned at all.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from contrafact.families.rfc.pipeline.rules.edits import (
    NoRewrite,
    RuleRewrite,
    apply,
    compose,
    replace_at,
    with_articles,
)
from contrafact.families.rfc.pipeline.rules.flipping_rules import flipping_rules
from contrafact.families.rfc.pipeline.rules.grammar import (
    Word,
    children,
    covered,
    named_with,
    parse,
    said_of,
    sentence_spans,
    subtree,
)
from contrafact.families.rfc.pipeline.rules.inflections import cased, inflected, plural
from contrafact.families.rfc.pipeline.rules.measures import measures
from contrafact.families.rfc.pipeline.rules.swaps import sign_edits, swap_edits
from contrafact.records import Edit
from contrafact.text.words import Match, lexicon

__all__ = ["rewrite_flipping"]

_WHY = "says the opposite direction"
_VERBAL = frozenset({"base", "third", "past", "participle", "gerund"})
_FEELINGS = frozenset({"fear", "hope"})
_FIGURE = re.compile(r"\d|%|\bper ?cent\b|\bpoints?\b|\bbps\b", re.IGNORECASE)
_EXTREME = re.compile(
    r"(?:\b(?:record|fresh|new|session)|(?:year|month|week|day|decade|yr|mth))s?[-\s]\Z",
    re.IGNORECASE,
)
_LEVEL = re.compile(r"\sof\s[$€£¥]?(?:Rs\s)?\d")
_LOSSES = re.compile(
    r"(?:\A|\b(?:its?|their|the|early|earlier|recent|some|day's|weekly|steep|sharp|heavy|extend\w*"
    r"|par(?:e|ed|es|ing)|trim\w*|deep|further|of|cut\w*|erase\w*)\s)losses\Z",
    re.IGNORECASE,
)
_EXPECTED = re.compile(
    r"\s(?:[\w.’'&/-]+\s){0,4}(?:estimates?|expectations?|forecasts?|consensus|views?|targets?)\b",
    re.IGNORECASE,
)
_OBJECTS = ("dobj", "obj")
_SUBJECTS = ("nsubj", "nsubjpass")


@dataclass(frozen=True)
class _Found:
    """A directional term, its ruling word, and the sentence that it stands in."""

    match: Match
    word: Word
    sentence: int
    noun: bool


class _Nonsense(Exception):
    """Turned round word by word, the text would make no sense."""


def rewrite_flipping(text: str, rng: np.random.Generator) -> RuleRewrite | NoRewrite:
    """Return the text with its directional words turned round, or why that cannot be done.

    Args:
        text: A paragraph.
        rng: Where the choice between equally good opposites comes from.
    """
    rules = flipping_rules()
    for pattern, reason in rules.stops:
        if pattern.search(text):
            return NoRewrite(reason)
    matches = lexicon().find(text, ["directional"])
    if not matches:
        return NoRewrite("no word says a direction")
    words, spans = parse(text), sentence_spans(text)
    found = [one for m in matches if (one := _found(m, words, spans)) is not None]
    turned = _without_moved([one for one in found if _turns(one, text, words)], words)
    if not turned:
        return NoRewrite("no word asserts a direction that can be turned round")
    places = [spans[number] for number in sorted({one.sentence for one in turned})]
    try:
        _refuse_contradictions(text, found, turned, spans)
        edits = [_edit(one, turned, words, rng) for one in turned]
    except _Nonsense as nonsense:
        return NoRewrite(str(nonsense))
    particles = _particle_edits(text, turned, words)
    log = compose(edits, particles, swap_edits(text, places), sign_edits(text, places))
    log = with_articles(text, log)
    return RuleRewrite(apply(text, log), log)


def _found(match: Match, words: Sequence[Word], spans: Sequence[tuple[int, int]]) -> _Found | None:
    inside = covered(words, match.start, match.end)
    if not inside:
        return None
    indexes = {word.index for word in inside}
    word = next((w for w in inside if w.head not in indexes or w.head == w.index), inside[0])
    if match.inflection in _VERBAL:
        word = inside[0]  # of "weighs on" the verb rules
    sentence = next(n for n, (start, end) in enumerate(spans) if start <= match.start < end)
    return _Found(match, word, sentence, _is_noun(match, word, words))


def _is_noun(match: Match, word: Word, words: Sequence[Word]) -> bool:
    """Return whether a term stands for a thing: taggers take a headline's verbs for nouns."""
    if match.inflection not in _VERBAL:
        return word.pos == "NOUN"
    if match.inflection in ("past", "gerund", "participle") and match.term != "cut":
        return False
    before = words[word.index - 1] if word.index else None
    after = words[word.index + 1] if word.index + 1 < len(words) else None
    if match.term == "cut" and after is not None and after.lower == "in":
        return True
    if word.pos != "NOUN" or before is None:
        return False
    if before.tag in ("DT", "JJ", "JJR", "JJS", "PRP$", "POS", "VBG", "VBN") or before.text == "%":
        return True
    # "A March hike", "the 200 basis point cut": spelled as the verb, without an object of one.
    if match.inflection != "third" and before.pos in ("NOUN", "PROPN", "NUM"):
        return not any(w.dep in _OBJECTS for w in children(words, word))
    return after is not None and after.lower in ("in", "of") and before.pos != "PROPN"


def _turns(one: _Found, text: str, words: Sequence[Word]) -> bool:
    """Return whether a term asserts a direction where it stands."""
    rules, match = flipping_rules(), one.match
    term = match.term
    if _in_name(one, words) or _hyphened(match, text):
        return False
    before, after = text[max(0, match.start - 60) : match.start], text[match.end : match.end + 60]
    for only in rules.only:
        if term in only.terms and not (
            (only.before is None or only.before.search(before))
            and (only.after is None or only.after.search(after))
        ):
            return False
    if " " in term or "-" in term:
        if term in rules.results:
            return bool(rules.reporting.search(before))
        if term in rules.pushing:
            return _moves_measure(one, words)
        return match.group in rules.phrases and term not in rules.not_phrases
    if term in ("high", "low") and (_EXTREME.search(before) or _LEVEL.match(after)):
        return True
    if term in rules.results and not (term == "loss" and _LOSSES.search(before + match.text)):
        return bool(rules.reporting.search(before))
    if term in rules.verdicts and _EXPECTED.match(after):
        return True
    if one.noun and (match.inflection in _VERBAL or term in rules.nouns):
        return term in rules.nouns and (term not in _FEELINGS or term in rules.anywhere)
    if match.inflection in _VERBAL:
        if one.word.pos == "PROPN" and not one.word.titled:
            return False
        if one.word.dep == "amod":
            moves = term in rules.moving or term in rules.pushing
            return moves and _said_of_measure(one, words)
        return (term in rules.moving and _moves_alone(one, words)) or (
            term in rules.pushing and _moves_measure(one, words)
        )
    if term in rules.qualities:
        return _said_of_measure(one, words)
    return term in rules.anywhere


def _moves_alone(one: _Found, words: Sequence[Word]) -> bool:
    """Return whether a verb has no object but a figure."""
    objects = [w for w in children(words, one.word) if w.dep in _OBJECTS]
    return all(_is_figure(thing, words) for thing in objects)


def _moves_measure(one: _Found, words: Sequence[Word]) -> bool:
    """Return whether what a verb moves goes both ways: a measure, a figure, posts."""
    rules, verb = flipping_rules(), one.word
    near = list(children(words, verb))
    things = [w for w in near if w.dep in (*_OBJECTS, "nsubjpass")]
    if one.match.inflection in ("participle", "past") and any(w.dep == "agent" for w in near):
        return True
    if verb.dep == "amod":
        things.append(words[verb.head])
    if not things and verb.dep in ("acl", "relcl"):
        things.append(words[verb.head])
    if not things:
        # Of "weighs on" the object hangs on the preposition.
        particles = [w for w in near if w.dep in ("prep", "prt")]
        things = [w for p in particles for w in children(words, p) if w.dep == "pobj"]
    if not things:
        # Parsers lose the object of a headline's verb: take the noun that comes next.
        following = words[verb.index + 1 : verb.index + 5]
        things = [w for w in following if w.pos == "NOUN"][:1]
        if any(w.pos in ("VERB", "ADP", "PUNCT", "CCONJ", "SCONJ") for w in following[:1]):
            return False
    return bool(things) and all(
        _is_figure(w, words) or _names_measure(w, words, measures() | rules.people) for w in things
    )


def _said_of_measure(one: _Found, words: Sequence[Word]) -> bool:
    """Return whether a quality is said of a measure: "weak demand", "demand was weak"."""
    beside = words[one.word.index + 1 : one.word.index + 2]
    about = [*said_of(one.word, words), *beside]
    return any(w.lower.strip(".") in measures() for w in about)


def _names_measure(thing: Word, words: Sequence[Word], named: frozenset[str]) -> bool:
    return any(w.lower.strip(".") in named for w in [thing, *named_with(thing, words)])


def _is_figure(thing: Word, words: Sequence[Word]) -> bool:
    return bool(_FIGURE.search(" ".join(w.text for w in subtree(words, thing)[:6])))


def _in_name(one: _Found, words: Sequence[Word]) -> bool:
    """Return whether a term is part of a name: a capital in running text, beside another."""
    word = one.word
    if word.titled or not one.match.text[0].isupper():
        return word.titled and word.pos == "PROPN" and one.match.inflection not in _VERBAL
    first = word.index == 0 or words[word.index - 1].text in (".", "!", "?", ":", '"', "“", "-")
    after = words[word.index + 1] if word.index + 1 < len(words) else None
    return not first or (after is not None and after.text[0].isupper() and after.pos == "PROPN")


def _hyphened(match: Match, text: str) -> bool:
    """Return whether a term is half of a compound ("high-profile", "growth-minded")."""
    before, after = text[max(0, match.start - 1) : match.start], text[match.end : match.end + 1]
    return after in ("-", "‑") or (before in ("-", "‑", "/") and match.term not in ("high", "low"))


def _without_moved(turned: Sequence[_Found], words: Sequence[Word]) -> list[_Found]:
    """Leave out what a verb that is turned moves: "a rise in prices slowed" turns at "slowed".

    What moves something else turns with it: "a rise in prices lifted sales"."""
    binding = flipping_rules().binding
    movers = {
        one.word.index
        for one in turned
        if not one.noun and one.match.inflection in _VERBAL and one.match.term not in binding
    }
    pushers = {w.head for w in words if w.dep in _OBJECTS and not _is_figure(w, words)}
    return [
        one
        for one in turned
        if not (
            one.noun
            and " " not in one.match.term
            and one.match.term not in _FEELINGS
            and one.word.head in movers
            and (
                one.word.dep in (*_OBJECTS, "compound")
                or (one.word.dep in _SUBJECTS and one.word.head not in pushers)
            )
        )
    ]


def _refuse_contradictions(
    text: str,
    found: Sequence[_Found],
    turned: Sequence[_Found],
    spans: Sequence[tuple[int, int]],
) -> None:
    """Refuse texts in which something stays that contradicts what is turned beside it."""
    rules = flipping_rules()
    if policy := rules.unturnable_policy.search(text):
        raise _Nonsense(f"'{policy[0]}' has no opposite to go with the rest")
    left = [one for one in found if one not in turned]
    touched = {one.sentence for one in turned}
    taken = [(one.match.start, one.match.end) for one in turned]
    for one in left:
        if one.match.term in rules.binding and not one.noun:
            raise _Nonsense(f"'{one.match.text}' cannot be turned round where it stands")
    for number in sorted(touched):
        for stays in rules.unturnable.finditer(text, *spans[number]):
            if not any(start <= stays.start() < end for start, end in taken):
                raise _Nonsense(f"'{stays[0]}' has no opposite to go with the rest")


def _edit(
    one: _Found, turned: Sequence[_Found], words: Sequence[Word], rng: np.random.Generator
) -> Edit:
    _refuse_purpose(one, words)
    _refuse_feeling(one, turned, words)
    match = one.match
    after = _opposite(one, words, rng)
    return Edit(start=match.start, end=match.end, before=match.text, after=after, why=_WHY)


def _opposite(one: _Found, words: Sequence[Word], rng: np.random.Generator) -> str:
    match, word, rules = one.match, one.word, flipping_rules()
    if " " not in match.term:
        noun = rules.nouns.get(match.term)
        many = match.inflection in ("plural", "third")
        if match.term in rules.results and not (match.term == "loss" and one.noun and many):
            noun = rules.other_results[match.term]
        if noun and (one.noun or match.term in _FEELINGS or match.term in rules.results):
            return cased(match.text, plural(noun) if many else noun)
        if word.tag in ("JJR", "RBR") and match.term == "lower":
            return cased(match.text, "higher")
        if match.inflection in _VERBAL and not one.noun:
            things = [w for w in children(words, word) if w.dep in _OBJECTS]
            cutting = match.polarity < 0 and any(w.lower in rules.people for w in things)
            verbs = ["add"] if cutting else rules.verbs.get(match.term)
            if verbs:
                verb = verbs[int(rng.integers(len(verbs)))]
                return cased(match.text, inflected(verb, match.inflection))
    after = lexicon().opposite(match)
    # Of a compound with a hyphen and a space the lexicon hyphens every gap.
    if " " in match.text and "-" in after and " " not in after:
        head, _, tail = after.rpartition("-")
        after = f"{head} {tail}"
    return after


def _refuse_purpose(one: _Found, words: Sequence[Word]) -> None:
    """Refuse purposes: nobody acts in order to weigh on growth."""
    word, match = one.word, one.match
    if one.noun or match.inflection != "base" or word.index == 0:
        return
    if words[word.index - 1].lower != "to":
        return
    governor = words[word.head] if word.head != word.index else None
    if governor is not None and (
        governor.lower in flipping_rules().expecting or word.dep == "xcomp"
    ):
        return
    if match.term in flipping_rules().binding or match.term in flipping_rules().purposes:
        raise _Nonsense(f"the purpose 'to {match.text}' does not turn round")


def _refuse_feeling(one: _Found, turned: Sequence[_Found], words: Sequence[Word]) -> None:
    """Refuse hopes and fears of something that stays: "hopes of inflation" are no hopes."""
    if one.match.term not in _FEELINGS:
        return
    content = [w for w in subtree(words, one.word) if w.pos in ("NOUN", "PROPN", "VERB")]
    others = {other.word.index for other in turned if other is not one}
    about = [
        w for w in content if w.index != one.word.index and w.lower not in flipping_rules().holders
    ]
    if about and not others & {w.index for w in about}:
        raise _Nonsense(f"'{one.match.text}' of something that stays as it is")


_PARTICLE = re.compile(r"\s(up|down)\b", re.IGNORECASE)


def _particle_edits(text: str, turned: Sequence[_Found], words: Sequence[Word]) -> list[Edit]:
    """Return edits of the particles of verbs that are turned: "slid down" is "climbed up"."""
    edits: list[Edit] = []
    for one in turned:
        if one.noun or one.match.inflection not in _VERBAL or " " in one.match.term:
            continue
        if particle := _PARTICLE.match(text, one.match.end):
            after = "down" if particle[1].casefold() == "up" else "up"
            start, end = particle.span(1)
            edits.append(replace_at(text, start, end, cased(particle[1], after), _WHY))
    return edits
