"""Directional flipping by rule: every directional word turned round (RFC-BENCH, S.1 and Q.1).

The lexicon says what may assert a direction and what its opposite is; ``flipping.toml`` and the
grammar of the sentence say where it does. A text that would turn into nonsense word by word is not
turned at all.

Figures change only as far as the reversal needs it (R.1): ends that are measured against each other
trade places, and signs turn. Raised from $90 to $96 becomes lowered from $96 to $90, +3% -3%.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from contrafact.families.rfc.contracts.vocabulary import is_common
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
    children,
    covered,
    described,
    inflected,
    lemmas,
    measures,
    named_with,
    parse,
    plural,
    subtree,
)
from contrafact.families.rfc.pipeline.rules.turned_figures import (
    crossing_edits,
    sign_edits,
    swap_edits,
)
from contrafact.families.rfc.pipeline.rules.turned_wordings import Wording, turned_wordings
from contrafact.records import Edit
from contrafact.text.tokens import sentence_spans
from contrafact.text.words import Match, lexicon

__all__ = [
    "Context",
    "FlippingRules",
    "flipping_rules",
    "rewrite_flipping",
]

_WHY = "says the opposite direction"
_VERBAL = frozenset({"base", "third", "past", "participle", "gerund"})
_FEELINGS = frozenset({"fear", "hope"})
_FIGURE = re.compile(r"\d|%|\bper ?cent\b|\bpoints?\b|\bbps\b", re.IGNORECASE)
_EXTREME = re.compile(
    r"(?:\b(?:record|record closing|fresh|new|session)|(?:year|month|week|day|decade|yr|mth))"
    r"s?[-\s]\Z",
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
_FROM_LEVEL = re.compile(r"\bfrom\s(?:[a-z]+\s){0,3}[$€£¥]?\d+(?:\.\d+)?(?!-)")
_UP_TO = re.compile(r"\sto\s[$€£¥]?\d")
_SURPRISES = re.compile(r"\bsurprises? of (-?[\d.,]*\d%)(?: and (-?[\d.,]*\d%))?", re.IGNORECASE)
_RESERVED = re.compile(
    r"\bnevertheless\b|(?<!as )(?<!not )(?<!indication )(?<!sign )(?<!signal )\byet\b"
    r"(?! (?:another|again))",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\bearnings,? and revenues?\b", re.IGNORECASE)
_BUT = re.compile(r"\b(?:but|while|whereas)\b", re.IGNORECASE)
_DRIVEN = re.compile(
    r"\b(driven|led|fuell?ed|spurred|powered|propelled|underpinned|prompted|triggered) by\b"
)
_POINTS = re.compile(r"\d|(?:bps?|points?)\Z")
_EXPECTEDLY = re.compile(r"expected|forecast|estimated|anticipated|predicted|planned")
_REASONS = frozenset(
    {"as", "after", "because", "amid", "amidst", "on", "due", "following", "since", "thanks"}
    | {"with", "despite", "over"}
)
_PARTICLE = re.compile(r"\s(up|down)\b", re.IGNORECASE)
_ENDING = frozenset(
    {"trade", "close", "open", "end", "finish", "edge", "inch", "push", "track", "move", "drift"}
    | {"settle", "head", "start", "creep", "go", "tick"}
)
_WATCHING = frozenset(
    {"assess", "digest", "await", "weigh", "monitor", "look", "prepare", "return", "consider"}
    | {"eye", "watch", "track", "focus", "wait", "ready", "turn", "meet", "gather", "analyze"}
)
_OBJECTS = ("dobj", "obj")
_SUBJECTS = ("nsubj", "nsubjpass")


@dataclass(frozen=True)
class Context:
    """The words before and after which some terms are turned round, and elsewhere not."""

    terms: frozenset[str]
    before: re.Pattern[str] | None
    after: re.Pattern[str] | None


@dataclass(frozen=True)
class FlippingRules:
    """What ``flipping.toml`` says; its comments say what each list is for."""

    moving: frozenset[str]
    pushing: frozenset[str]
    binding: frozenset[str]
    qualities: frozenset[str]
    anywhere: frozenset[str]
    phrases: frozenset[str]
    not_phrases: frozenset[str]
    results: frozenset[str]
    verdicts: frozenset[str]
    people: frozenset[str]
    holders: frozenset[str]
    expecting: frozenset[str]
    purposes: frozenset[str]
    neutral: frozenset[str]
    neutral_nouns: frozenset[str]
    harmless: frozenset[str]
    reporting: re.Pattern[str]
    unturnable: re.Pattern[str]
    unturnable_policy: re.Pattern[str]
    nouns: Mapping[str, str]
    verbs: Mapping[str, list[str]]
    other_results: Mapping[str, str]
    only: tuple[Context, ...]
    stops: tuple[tuple[re.Pattern[str], str], ...]


@cache
def flipping_rules() -> FlippingRules:
    """Return the rules, read once."""
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("flipping.toml")
    data = tomllib.loads(source.read_text(encoding="utf-8"))

    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(text, re.IGNORECASE)

    def context(entry: Mapping[str, Any]) -> Context:
        sides = (pattern(entry[s]) if s in entry else None for s in ("before", "after"))
        return Context(frozenset(entry["terms"]), *sides)

    def terms(name: str) -> frozenset[str]:
        return frozenset(data[name])

    return FlippingRules(
        moving=terms("moving"),
        pushing=terms("pushing"),
        binding=terms("binding"),
        qualities=terms("qualities"),
        anywhere=terms("anywhere"),
        phrases=terms("phrases"),
        not_phrases=terms("not_phrases"),
        results=terms("results"),
        verdicts=terms("verdicts"),
        people=frozenset(data["people"].split()),
        holders=frozenset(data["holders"].split()),
        expecting=frozenset(data["expecting"].split()),
        purposes=frozenset(data["purposes"].split()),
        neutral=frozenset(data["neutral"].split()),
        neutral_nouns=frozenset(data["neutral_nouns"].split()),
        harmless=frozenset(data["harmless"].split()),
        reporting=pattern(data["reporting"]),
        unturnable=pattern(data["unturnable"]),
        unturnable_policy=pattern(data["unturnable_policy"]),
        nouns=data["nouns"],
        verbs=data["verbs"],
        other_results=data["results_opposite"],
        only=tuple(context(entry) for entry in data["only"]),
        stops=tuple((pattern(entry["pattern"]), entry["reason"]) for entry in data["stop"]),
    )


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
    words, spans = parse(text), sentence_spans(text, dashes=True)
    wordings = turned_wordings(text, words)
    matches = [m for m in matches if not any(w.start < m.end and m.start < w.end for w in wordings)]
    found = [one for m in matches if (one := _found(m, words, spans)) is not None]
    turned = _without_moved([one for one in found if _turns(one, text, words)], words)
    if not turned and not wordings:
        return NoRewrite("no word asserts a direction that can be turned round")
    starts = {one.match.start for one in turned} | {one.start for one in wordings}
    places = [(s, e) for s, e in spans if any(s <= start < e for start in starts)]
    for contradiction in _contradictions(text, found, turned, wordings, words, spans):
        return NoRewrite(contradiction)
    try:
        edits = [_edit(one, turned, words, rng) for one in turned]
        surprises = _surprise_edits(text, turned)
    except _Nonsense as nonsense:
        return NoRewrite(str(nonsense))
    particles = _particle_edits(text, turned, words)
    swaps, signs = swap_edits(text, places), sign_edits(text, [(0, len(text))])
    for place in places:
        for level in _FROM_LEVEL.finditer(text, *place):
            if not any(level.start() <= swap.start <= level.end() for swap in swaps):
                return NoRewrite(f"'{level[0]}' shows the direction")
    whole = [edit for wording in wordings for edit in wording.edits]
    whole += _despite_edits(text, turned, words)
    crossed = crossing_edits(text, [one.match for one in turned], swaps)
    log = compose(edits, whole, particles, surprises, swaps, signs, crossed)
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
    if word.tag == "NNS" and word.dep in (*_OBJECTS, "pobj"):
        return True
    before = words[word.index - 1] if word.index else None
    after = words[word.index + 1] if word.index + 1 < len(words) else None
    if match.term in ("cut", "hike") and before is not None and _POINTS.search(before.lower):
        return True  # "a 25bps cut"
    if match.term in ("beat", "miss") and before is not None and before.pos in ("NOUN", "DET"):
        first = words[before.index - 1] if before.index else None
        if before.pos == "DET" or (first is not None and first.pos == "DET"):
            return True  # "a revenue beat"
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
            if match.inflection in ("past", "participle"):
                return term in ("increase", "decrease") and _describes_measure(one, words)
            moves = term in rules.moving or term in rules.pushing
            return moves and _describes_measure(one, words)
        return (term in rules.moving and _moves_alone(one, words)) or (
            term in rules.pushing and _moves_measure(one, words)
        )
    if term in rules.qualities:
        return _describes_measure(one, words) or (
            term in ("higher", "lower") and _ends_there(one, words)
        )
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
    named = measures() | rules.people
    return bool(things) and all(
        _is_figure(thing, words)
        or any(w.lower.strip(".") in named for w in [thing, *named_with(thing, words)])
        for thing in things
    )


def _describes_measure(one: _Found, words: Sequence[Word]) -> bool:
    """Return whether a quality describes a measure: "weak demand", "demand was weak"."""
    following = words[one.word.index + 1 : one.word.index + 2]
    about = [*described(one.word, words), *following]
    return any(w.lower.strip(".") in measures() for w in about)


def _ends_there(one: _Found, words: Sequence[Word]) -> bool:
    """Return whether "higher" or "lower" says where something went: "closed higher"."""
    before = words[one.word.index - 1] if one.word.index else None
    if before is None:
        return False
    return before.lower in measures() or bool(lemmas(before.lower) & _ENDING)


def _is_figure(thing: Word, words: Sequence[Word]) -> bool:
    return bool(_FIGURE.search(" ".join(w.text for w in subtree(words, thing)[:6])))


def _in_name(one: _Found, words: Sequence[Word]) -> bool:
    """Return whether a term is part of a name: a capital in running text, next to another."""
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


def _contradictions(
    text: str,
    found: Sequence[_Found],
    turned: Sequence[_Found],
    wordings: Sequence[Wording],
    words: Sequence[Word],
    spans: Sequence[tuple[int, int]],
) -> Iterator[str]:
    """Yield what stays and contradicts what is turned."""
    rules = flipping_rules()
    if policy := rules.unturnable_policy.search(text):
        yield f"'{policy[0]}' has no opposite to go with the rest"
    turned_words = {one.word.index for one in turned}
    for one in found:
        harmless = {one.match.term, one.match.text.casefold()} & rules.harmless
        stays = one not in turned and not harmless
        if one.match.term in ("up", "down") and any(
            other.match.end + 1 == one.match.start for other in turned
        ):
            continue  # a particle, which turns with its verb
        if one.match.term == "up" and _UP_TO.match(text, one.match.end):
            continue
        aside = text[one.match.start - 1 : one.match.start] == "("  # "(Adds quotes)"
        wide = one.match.term.endswith((" profit", " loss"))
        if aside or wide:
            continue
        if stays and one.match.polarity and not _moved(one, turned_words, words):
            yield f"'{one.match.text}' cannot be turned round where it stands"
    taken = [(one.match.start, one.match.end) for one in turned]
    taken += [(edit.start, edit.end) for edit in _particle_edits(text, turned, words)]
    taken += [(wording.start, wording.end) for wording in wordings]
    for edit in _despite_edits(text, turned, words):
        word = next(w for w in words if w.start == edit.start)
        taken.append((edit.start, max(w.end for w in subtree(words, word))))

    def kept(start: int) -> bool:
        return not any(s <= start < e for s, e in taken)

    for stop in rules.unturnable.finditer(text):
        if kept(stop.start()):
            yield f"'{stop[0]}' has no opposite to go with the rest"
    for word in words:
        # What is read neither as a direction nor as neutral may say that the reversal is untrue.
        if word.pos not in ("VERB", "ADJ", "ADV") or not kept(word.start):
            continue
        name = word.text[0].isupper() and not word.titled
        joined = text[max(0, word.start - 1)] == "-" or text[word.end : word.end + 1] == "-"
        if not word.text.isalpha() or name or joined or not is_common(word.lower):
            continue
        if not lemmas(word.lower) & rules.neutral:
            yield f"'{word.text}' may not go with the reversal"
    yield from _kept_reasons(words, kept)
    for driven in _DRIVEN.finditer(text):
        if kept(driven.start()) and kept(driven.start(1)):
            end = next((e for s, e in spans if s <= driven.start() < e), len(text))
            comma = text.find(",", driven.end(), end)
            limit = comma if comma >= 0 else end
            if not any(driven.end() <= s < limit for s, _ in taken):
                yield f"'{driven[0]}' is no reason for the opposite"
    for start, end in spans:
        reserved = _RESERVED.search(text, start, end)
        if reserved and any(start <= s < end for s, _ in taken):
            yield f"'{reserved[0]}' makes a reservation"
        parts = _BUT.split(text[start:end])
        at = start
        for part in parts if len(parts) > 1 else ():
            place = text.index(part, at)
            at = place + len(part)
            if not any(place <= s < at for s, _ in taken):
                yield f"'{part.strip()[:40]}' stands against what is turned round"


def _moved(one: _Found, turned: set[int], words: Sequence[Word]) -> bool:
    """Return whether a term is left because the verb that moves it is turned."""
    return one.noun and one.word.head in turned


def _kept_reasons(words: Sequence[Word], kept: Callable[[int], bool]) -> Iterator[str]:
    """Yield reasons that stay as they are: "shares fall on a ban" is no "shares rise on a ban".

    A phrase is neutral if what it is headed by is, as in "after inflation data".
    """
    neutral = flipping_rules().neutral_nouns
    for word in words:
        if word.lower not in _REASONS or word.pos not in ("ADP", "SCONJ", "ADV"):
            continue
        following = words[word.index + 1] if word.index + 1 < len(words) else None
        if word.lower == "as" and following is not None and _EXPECTEDLY.match(following.lower):
            continue
        clause = [w for w in _complement(words, word) if w.start > word.start]
        if not clause or not all(kept(w.start) for w in clause):
            continue
        if word.dep == "mark" and lemmas(words[word.head].lower) & _WATCHING:
            continue  # what people wait for has no direction yet
        for thing in clause:
            named = thing.text[0].isupper() and not thing.titled
            if thing.pos != "NOUN" or named or lemmas(thing.lower) & neutral:
                continue
            if thing.dep == "compound" and lemmas(words[thing.head].lower) & neutral:
                continue
            yield f"'{word.text} … {thing.text}' is no reason for the opposite"


def _complement(words: Sequence[Word], marker: Word) -> list[Word]:
    """Return what hangs on a marker: a preposition's phrase, or the clause that it opens."""
    root = words[marker.head] if marker.dep == "mark" else marker
    return subtree(words, root)


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
            purpose = word.index and words[word.index - 1].lower == "to"
            return cased(match.text, "raise" if purpose else "higher")
        if match.inflection in _VERBAL and not one.noun:
            things = [w for w in children(words, word) if w.dep in _OBJECTS]
            if match.term == "drop" and any(w.lower in measures() for w in things):
                return cased(match.text, inflected("raise", match.inflection))
            following = words[word.index + 1 : word.index + 2]
            if match.term in ("gain", "lose") and not things and not _figured(following):
                verb = "fall" if match.term == "gain" else "rise"
                return cased(match.text, inflected(verb, match.inflection))
            cutting = match.polarity < 0 and any(w.lower in rules.people for w in things)
            verbs = ["add"] if cutting else rules.verbs.get(match.term)
            if verbs:
                verbs = verbs[:1] if match.inflection == "gerund" else verbs
                verb = verbs[int(rng.integers(len(verbs)))]
                return cased(match.text, inflected(verb, match.inflection))
    after = cased(match.text, lexicon().opposite(match))
    if all(part[0].isupper() for part in re.findall(r"[A-Za-z]+", match.text)):
        after = re.sub(r"\b[a-z](?=\w{2})", lambda found: found[0].upper(), after)
    if " " in match.text and "-" not in match.text:
        after = after.replace("-", " ")
    # Of a compound with a hyphen and a space the lexicon hyphens every gap.
    if " " in match.text and "-" in after and " " not in after:
        head, _, tail = after.rpartition("-")
        after = f"{head} {tail}"
    return after


def _figured(words: Sequence[Word]) -> bool:
    """Return whether a figure is among some words."""
    return any(re.search(r"\d|[$€£¥₹]", word.text) for word in words)


def _refuse_purpose(one: _Found, words: Sequence[Word]) -> None:
    """Refuse purposes: nobody acts in order to weigh on growth."""
    word, match = one.word, one.match
    if one.noun or match.inflection != "base" or word.index == 0:
        return
    if words[word.index - 1].lower != "to":
        return
    governor = words[word.head] if word.head != word.index else None
    sentence = [w for w in words if w.index < word.index]
    finite = any(w.tag in ("VBZ", "VBD", "VBP", "MD") for w in sentence)
    aims = match.term in flipping_rules().binding or match.term in flipping_rules().purposes
    if not finite and not aims and all(w.text not in ".!?" for w in sentence):
        return  # a headline's future: "Fund to raise its stake"
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


def _despite_edits(text: str, turned: Sequence[_Found], words: Sequence[Word]) -> list[Edit]:
    """Return edits of "despite" before what stays: what went against it now goes with it."""
    starts = {one.match.start for one in turned}
    return [
        replace_at(text, word.start, word.end, cased(word.text, "amid"), _WHY)
        for word in words
        if word.lower == "despite" and not any(w.start in starts for w in subtree(words, word))
    ]


def _surprise_edits(text: str, turned: Sequence[_Found]) -> list[Edit]:
    """Return edits that turn the surprises that make a beat: of 10.81%, of -10.81%."""
    verdicts = [one.match.polarity for one in turned if one.match.group == "expectation"]
    if not verdicts:
        return []
    for match in _SURPRISES.finditer(text):
        signs = [-1 if match[n][0] == "-" else 1 for n in (1, 2) if match[n]]
        mixed = len(set(signs)) > 1 and len(set(verdicts)) == 1 and _BOTH.search(text)
        if mixed or not set(verdicts) <= set(signs):
            raise _Nonsense("the surprises do not go with the verdict")
    why = "the surprise turns with the verdict"
    return [
        replace_at(text, *m.span(n), m[n][1:] if m[n][0] == "-" else f"-{m[n]}", why)
        for m in _SURPRISES.finditer(text)
        for n in (1, 2)
        if m[n]
    ]
