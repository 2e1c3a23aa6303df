"""Wordings that a flip turns round as a whole: set phrases, and feelings about something.

What a feeling is about stays (RFC-BENCH, S.1, item 4): "on fears of a ban" is "on easing fears of a
ban", "stoked hopes of a cut" is "dampened hopes of a cut". The bank is in ``paired_events.toml``,
the feelings are in ``flipping.toml``.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from contrafact.families.rfc.pipeline.rules.edits import replace_at
from contrafact.families.rfc.pipeline.rules.grammar import (
    Word,
    article_for,
    cased,
    inflected,
    lemmas,
    measures,
    subtree,
)
from contrafact.records import Edit

__all__ = ["Wording", "turned_wordings"]

_WHY = "says the opposite direction"
_INFLECTIONS = ("base", "third", "past", "participle", "gerund")
_OF_TAG = {
    "VB": "base",
    "VBP": "base",
    "VBZ": "third",
    "VBD": "past",
    "VBN": "participle",
    "VBG": "gerund",
}
_OBJECTS = ("dobj", "obj")
_TIMES = frozenset(
    {"day", "week", "month", "quarter", "year", "start", "opening", "close", "finish"}
)
_SCANT = frozenset({"little", "few", "no", "less", "fewer", "more"})
_ABOUT = frozenset({"of", "about", "over", "that", "for", "on"})
_CHANCES = frozenset({"odds", "chances", "prospects"})
_LINKS = frozenset({"as", "on", "and", "amid", "while", "after"})
_LONGEST = 24  # words that a feeling is about; a longer clause says things of its own
_SLOT = re.compile(r"\[[^\]]+\]|\{[^}]+\}|<[a-z]+>")
_ARTICLE = re.compile(r"\b(an?) (\w+)")
_MACROS = {
    "DET": r"(?:(?:an?|the|its|their|his|her|this|last) )?",
    "ABOUT": r"(?:(?:about|nearly|over|around|some|almost|more than|an estimated) )?",
    "NUM": r"[$€£¥]?\d[\d,]*(?:\.\d+)?%?"
    r"(?: (?:million|billion|trillion|thousand|percent|percentage points|basis points|points))?",
    "SOME": r"(?:(?!(?:by|to|in|on|of|and|as|for|at|from|with|after|over|but|while|that)\b)"
    r"[\w.'’&-]+ ){0,2}?",
    "MOD": r"(?:(?!(?:by|to|in|on|of|and|as|for|at|from|with|after|over|but|while|that|the|an?|its"
    r"|their)\b)[\w.'’&-]+ ){0,2}?",
    "FEW": r"(?:[\w$%.'’&-]+ ){1,5}?",
}


@dataclass(frozen=True)
class Wording:
    """A stretch of a text that is turned round as a whole.

    Attributes:
        start: Where it begins.
        end: Where it ends, with what the feeling is about.
        edits: What is changed in it.
    """

    start: int
    end: int
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class _Slot:
    """A place of a wording that is filled.

    Attributes:
        kind: "verb" of any form, "choice" of words, or "class" of words with opposites.
        forms: The inflection of each form that a verb may have.
        opposites: The opposite of each word of a class.
    """

    kind: str
    forms: Mapping[str, str]
    opposites: Mapping[str, str]


@dataclass(frozen=True)
class _Pattern:
    """One side of a pair of wordings, and what is written for it."""

    pattern: re.Pattern[str]
    opposite: str
    slots: tuple[_Slot, ...]


@dataclass(frozen=True)
class _Feelings:
    """The words of ``flipping.toml`` for feelings and what is done with them."""

    bad: frozenset[str]
    good: frozenset[str]
    markers: frozenset[str]
    rising: frozenset[str]
    falling: frozenset[str]
    growing: frozenset[str]
    easing: frozenset[str]
    fanning: frozenset[str]
    calming: frozenset[str]
    hitting: frozenset[str]


@cache
def _data(name: str) -> Mapping[str, Any]:
    source = files("contrafact.families.rfc.pipeline.rules").joinpath(name)
    return tomllib.loads(source.read_text(encoding="utf-8"))


@cache
def _feelings() -> _Feelings:
    data = _data("flipping.toml")["feelings"]
    names = _Feelings.__dataclass_fields__
    return _Feelings(**{name: frozenset(str(data[name]).split()) for name in names})


@cache
def _patterns() -> tuple[_Pattern, ...]:
    bank = _data("paired_events.toml")["bank"]
    both, single = bank["both_ways"], bank["one_way"]
    pairs = [(one, two) for one, two in both] + [_reversed(one, two) for one, two in both]
    return tuple(_pattern(one, two) for one, two in [*pairs, *((a, b) for a, b in single)])


def _reversed(one: str, two: str) -> tuple[str, str]:
    """Return a pair the other way: the places that the second keeps are found in it."""
    kept = {kind: [m[0] for m in _SLOT.finditer(one) if m[0][0] == kind] for kind in "[{"}

    def found(slot: re.Match[str]) -> str:
        places = kept.get(slot[0][0], [])
        place = places.pop(0) if places else slot[0]
        return place if slot[0][1:-1] == "x" else slot[0]

    return _SLOT.sub(found, two), re.sub(r"\{[^}]+\}", "{x}", one)


def _pattern(wording: str, opposite: str) -> _Pattern:
    """Return the pattern of a wording."""
    parts: list[str] = []
    slots: list[_Slot] = []
    at = 0
    for place in _SLOT.finditer(wording):
        parts.append(re.escape(wording[at : place.start()]))
        kind, inside = place[0][0], place[0][1:-1]
        forms: Mapping[str, str] = {}
        opposites: Mapping[str, str] = {}
        if kind == "[":
            forms = {
                inflected(verb, inflection): inflection
                for verb in inside.split("|")
                for inflection in reversed(_INFLECTIONS)
            }
            options = "|".join(sorted(forms, reverse=True))
        elif kind == "<":
            opposites = _data("paired_events.toml")["classes"][inside]
            options = "|".join(sorted(map(re.escape, opposites), key=len, reverse=True))
        else:
            options = (
                "|".join(sorted(measures() - _TIMES))
                if inside == "MEASURE"
                else _MACROS.get(inside, inside)
            )
        named = {"[": "verb", "<": "class"}.get(kind, "choice")
        slots.append(_Slot(named, forms, opposites))
        parts.append(f"(?P<slot{len(slots)}>{options})")
        at = place.end()
    parts.append(re.escape(wording[at:]))
    whole = re.compile(rf"(?<![\w-]){''.join(parts)}(?![\w-])", re.IGNORECASE)
    return _Pattern(whole, opposite, tuple(slots))


def turned_wordings(text: str, words: Sequence[Word]) -> list[Wording]:
    """Return the wordings of a text that are turned round as a whole, in order, none overlapping.

    Args:
        text: The text.
        words: Its words.
    """
    found = [*_set_phrases(text, words), *_felt(text, words)]
    kept: list[Wording] = []
    for one in sorted(found, key=lambda w: (w.start, -w.end)):
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _set_phrases(text: str, words: Sequence[Word]) -> Iterator[Wording]:
    for entry in _patterns():
        for match in entry.pattern.finditer(text):
            after = _written(entry, match, words)
            titled = any(w.titled and w.start == match.start() for w in words)
            if (
                entry.slots
                and entry.slots[0].kind == "class"
                and _follows_noun(match.start(), words)
            ):
                continue  # a verb: "the bank increasing its stake"
            if match[0].split()[-1][0].isupper() and not titled and " " in match[0]:
                continue  # a name: "Rising Sun Holdings"
            if titled and match[0][0].isupper():
                after = re.sub(r"\b[a-z](?=\w{2})", lambda m: m[0].upper(), after)
            edit = replace_at(text, *match.span(), cased(match[0], after), _WHY)
            end = _named_to(match.end(), words)
            yield Wording(_named_from(match.start(), words), end, (edit,))


def _follows_noun(start: int, words: Sequence[Word]) -> bool:
    """Return whether what begins at a place directly follows a noun."""
    word = next((w for w in words if w.start == start), None)
    if word is None or word.index == 0 or not word.lower.endswith("ing"):
        return False
    return words[word.index - 1].pos in ("NOUN", "PROPN", "PRON")


def _named_to(end: int, words: Sequence[Word]) -> int:
    """Return where what a feeling is about ends: "concerns of a rate rise", of which it stays."""
    noun = next((w for w in words if w.end == end), None)
    if noun is None or noun.lower not in _feelings().bad | _feelings().good | _CHANCES:
        return end
    following = words[noun.index + 1] if noun.index + 1 < len(words) else None
    if following is None or following.lower not in _ABOUT:
        return end
    about = [w for w in subtree(words, noun) if w.index > noun.index]
    if not about or len(about) > _LONGEST:
        about = subtree(words, following)[:_LONGEST]
    return max(end, *(w.end for w in about))


def _named_from(start: int, words: Sequence[Word]) -> int:
    """Return where a feeling's name begins: "rate cut hopes", of which "rate cut" stays."""
    lists = _feelings()
    noun = next((w for w in words if w.start == start), None)
    if noun is None or noun.lower not in lists.bad | lists.good:
        return start
    at = noun.index
    while at and words[at - 1].pos in ("NOUN", "PROPN") and words[at - 1].lower not in _LINKS:
        at -= 1
    return words[at].start


def _written(entry: _Pattern, match: re.Match[str], words: Sequence[Word]) -> str:
    """Return the opposite of a wording: each of its places is filled from the one of its kind."""
    at = {"verb": 0, "choice": 0, "class": 0}

    def fill(place: re.Match[str]) -> str:
        kind = {"[": "verb", "<": "class"}.get(place[0][0], "choice")
        inside = place[0][1:-1]
        numbers = [n for n, slot in enumerate(entry.slots, 1) if slot.kind == kind]
        if inside.isdigit():
            return match[f"slot{numbers[int(inside) - 1]}"]
        number = numbers[at[kind]]
        at[kind] += 1
        found = match[f"slot{number}"]
        slot = entry.slots[number - 1]
        if kind == "choice" or inside == "x":
            return found
        if kind == "class":
            return slot.opposites[found.casefold()]
        inflection = slot.forms[found.casefold()]
        tag = next((w.tag for w in words if w.start == match.start(f"slot{number}")), "")
        named = _OF_TAG.get(tag, inflection)
        if inflection in ("past", "participle") and named in ("past", "participle"):
            inflection = named
        if (
            inflection == "base"
            and named == "past"
            and inflected(found.casefold(), "past") == found
        ):
            inflection = "past"
        return inflected(inside.split("|")[0], inflection)

    written = _SLOT.sub(fill, entry.opposite)
    return _ARTICLE.sub(lambda found: f"{article_for(found[2])} {found[2]}", written)


def _felt(text: str, words: Sequence[Word]) -> Iterator[Wording]:
    """Yield fears and hopes that come, go, or are a reason."""
    lists = _feelings()
    for noun in words:
        bad, good = noun.lower in lists.bad, noun.lower in lists.good
        if not (bad or good) or noun.pos not in ("NOUN", "PROPN"):
            continue
        inside = subtree(words, noun)
        if len(inside) > _LONGEST:
            continue
        head = words[noun.head]
        verb = next(iter(lemmas(head.lower) & (lists.growing | lists.easing)), "")
        if noun.dep in ("nsubj", "nsubjpass") and verb and head.tag in _OF_TAG:
            calm = "ease" if bad else "fade"
            after = calm if verb in lists.growing else "grow"
            yield _wording(text, [*inside, head], head, inflected(after, _OF_TAG[head.tag]))
            continue
        moved = next((w for w in inside if _moves(w, noun)), None)
        if moved is not None:
            calm = "ease" if bad else "fade"
            after = calm if lemmas(moved.lower) & lists.growing else "grow"
            yield _wording(text, inside, moved, inflected(after, "past"))
            continue
        if bad and noun.dep == "nsubj" and lemmas(head.lower) & lists.hitting:
            yield _relief(text, noun, head, inside, words)
            continue
        pusher = _pusher(noun, words)
        if pusher is not None:
            calm = "ease" if bad else "dampen"
            after = calm if lemmas(pusher.lower) & lists.fanning else "fuel"
            form = _OF_TAG.get(pusher.tag) or _form(pusher)
            yield _wording(text, [*inside, pusher], pusher, inflected(after, form))
            continue
        if noun.dep in ("conj", "appos") and bad and head.dep == "pobj":
            head = words[head.head]  # "on oil weakness, inflation worries"
        elif noun.dep != "pobj":
            continue
        if head.lower not in lists.markers:
            continue
        before = [w for w in inside if w.index < noun.index]
        turning = next((w for w in before if w.lower in lists.rising | lists.falling), None)
        if turning is not None:
            calm = "easing" if bad else "fading"
            yield _wording(
                text, [head, *inside], turning, calm if turning.lower in lists.rising else "growing"
            )
        elif not any(w.pos in ("DET", "PRON") or w.lower in _SCANT for w in before):
            first = before[0] if before else noun
            put = _titled("easing" if bad else "fading", first)
            edit = replace_at(text, first.start, first.start, f"{put} ", _WHY)
            start = head.start if noun.dep == "pobj" else first.start
            yield Wording(start, max(w.end for w in inside), (edit,))


def _relief(
    text: str, noun: Word, verb: Word, inside: Sequence[Word], words: Sequence[Word]
) -> Wording:
    """Return "easing rate fears lift stocks" for "rate fears hit stocks"."""
    first = min(inside, key=lambda w: w.index)
    end = verb.end
    if verb.index + 1 < len(words) and words[verb.index + 1].lower == "on":
        end = words[verb.index + 1].end
    form = _OF_TAG.get(verb.tag) or _form(verb)
    lift = _titled(inflected("lift", form), verb)
    put = _titled("easing", first)
    start = first.text if first.text.isupper() or first.pos == "PROPN" else first.lower
    start = first.text if first.titled else start
    edits = (
        replace_at(text, first.start, first.end, f"{cased(first.text, put)} {start}", _WHY),
        replace_at(text, verb.start, end, lift, _WHY),
    )
    return Wording(first.start, end, edits)


def _moves(word: Word, feeling: Word) -> bool:
    """Return whether a word is what a feeling does, taken for a participle: "fears of it eased"."""
    lists = _feelings()
    hangs = word.dep in ("acl", "relcl") and word.tag in ("VBD", "VBN")
    later = word.index > feeling.index + 1
    return hangs and later and bool(lemmas(word.lower) & (lists.growing | lists.easing))


def _pusher(noun: Word, words: Sequence[Word]) -> Word | None:
    """Return the verb that raises or calms a feeling: taggers take some of them for nouns."""
    lists = _feelings()
    pushing = lists.fanning | lists.calming
    head = words[noun.head]
    if noun.dep in _OBJECTS and lemmas(head.lower) & pushing:
        return head
    for word in reversed(words[max(0, noun.index - 3) : noun.index]):
        if word.tag not in ("VBG", "VBN") and lemmas(word.lower) & pushing:
            return word
        if word.pos not in ("ADJ", "NOUN", "PROPN"):
            return None
    return None


def _form(word: Word) -> str:
    """Return the inflection of a verb by its ending."""
    if word.lower.endswith("ed"):
        return "past"
    return "third" if word.lower.endswith("s") else "base"


def _wording(text: str, inside: Sequence[Word], word: Word, after: str) -> Wording:
    edit = replace_at(text, word.start, word.end, _titled(after, word), _WHY)
    return Wording(min(w.start for w in inside), max(w.end for w in inside), (edit,))


def _titled(text: str, word: Word) -> str:
    return cased(word.text, text) if word.titled else text
