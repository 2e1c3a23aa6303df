"""Wordings that a flip turns round as a whole: set phrases, and feelings about something.

What a feeling is about stays (RFC-BENCH, S.1, item 4): "on fears of a ban" is "on easing fears of a
ban", "stoked hopes of a cut" is "dampened hopes of a cut". The lists are in ``flipping.toml``.
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
    cased,
    inflected,
    lemmas,
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
_LONGEST = 24  # words that a feeling is about; a longer clause says things of its own
_SLOT = re.compile(r"\[([^\]]+)\]|\{([^}]+)\}")


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
class _Pattern:
    """One side of a pair of wordings, and what is written for it."""

    pattern: re.Pattern[str]
    opposite: str
    forms: tuple[Mapping[str, str], ...]


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


@cache
def _data() -> Mapping[str, Any]:
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("flipping.toml")
    wordings: Mapping[str, Any] = tomllib.loads(source.read_text(encoding="utf-8"))["wordings"]
    return wordings


@cache
def _feelings() -> _Feelings:
    data = _data()
    names = _Feelings.__dataclass_fields__
    return _Feelings(**{name: frozenset(str(data[name]).split()) for name in names})


@cache
def _patterns() -> tuple[_Pattern, ...]:
    data = _data()
    both, single = data["both_ways"], data["one_way"]
    pairs = [(one, two) for one, two in both] + [(two, one) for one, two in both]
    return tuple(_pattern(one, two) for one, two in [*pairs, *((a, b) for a, b in single)])


def _pattern(wording: str, opposite: str) -> _Pattern:
    """Return the pattern of a wording: of ``[verb]`` any form, of ``{a|b}`` either."""
    parts: list[str] = []
    forms: list[Mapping[str, str]] = []
    at = 0
    for slot in _SLOT.finditer(wording):
        parts.append(re.escape(wording[at : slot.start()]))
        if slot[1]:
            of_form = {
                inflected(verb, inflection): inflection
                for verb in slot[1].split("|")
                for inflection in reversed(_INFLECTIONS)
            }
            forms.append(of_form)
            parts.append(f"(?P<verb{len(forms)}>{'|'.join(sorted(of_form, reverse=True))})")
        else:
            parts.append(f"(?P<choice>{slot[2]})")
        at = slot.end()
    parts.append(re.escape(wording[at:]))
    return _Pattern(re.compile(rf"\b{''.join(parts)}\b", re.IGNORECASE), opposite, tuple(forms))


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
            if titled and match[0][0].isupper():
                after = re.sub(r"\b[a-z](?=\w{2})", lambda m: m[0].upper(), after)
            edit = replace_at(text, *match.span(), cased(match[0], after), _WHY)
            yield Wording(*match.span(), (edit,))


def _written(entry: _Pattern, match: re.Match[str], words: Sequence[Word]) -> str:
    number = 0

    def fill(slot: re.Match[str]) -> str:
        nonlocal number
        if slot[2]:
            return match["choice"]
        number += 1
        form = match[f"verb{number}"].casefold()
        inflection = entry.forms[number - 1][form]
        at = match.start(f"verb{number}")
        tag = next((w.tag for w in words if w.start == at), "")
        named = _OF_TAG.get(tag, inflection)
        if inflection in ("past", "participle") and named in ("past", "participle"):
            inflection = named
        return inflected(slot[1].split("|")[0], inflection)

    return _SLOT.sub(fill, entry.opposite)


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
        pusher = _pusher(noun, words)
        if pusher is not None:
            calm = "ease" if bad else "dampen"
            after = calm if lemmas(pusher.lower) & lists.fanning else "fuel"
            form = _OF_TAG.get(pusher.tag) or _form(pusher)
            yield _wording(text, [*inside, pusher], pusher, inflected(after, form))
            continue
        if noun.dep != "pobj" or head.lower not in lists.markers:
            continue
        before = [w for w in inside if w.index < noun.index]
        turning = next((w for w in before if w.lower in lists.rising | lists.falling), None)
        if turning is not None:
            calm = "easing" if bad else "fading"
            yield _wording(
                text, [head, *inside], turning, calm if turning.lower in lists.rising else "growing"
            )
        elif not any(w.pos in ("ADJ", "DET", "PRON") for w in before):
            first = before[0] if before else noun
            put = _titled("easing" if bad else "fading", first)
            edit = replace_at(text, first.start, first.start, f"{put} ", _WHY)
            yield Wording(head.start, max(w.end for w in inside), (edit,))


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
