"""Persons out of news: each named person becomes a placeholder, the same one throughout a set.

FIN-FORCE, ethics statement (personal information in the collected news is anonymised).

Three things name a person. A list of public figures (``figures.toml``, and a user's own) knows
names and spellings, and which surnames mean the person where they stand alone. What stands around
a capitalised word tells the rest: an office before it ("Governor Example"), an institution
("Fed's Example says"), a given name. spaCy's recogniser finds more, where it is installed; it takes
firms, places and capitalised words for people as well, so a find of its alone is replaced only if
nothing speaks against it. What is not sure is listed, whatever was done about it.
"""

import itertools
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from contrafact.console import say_once
from contrafact.errors import InputError, installed
from contrafact.records import NewsItem
from contrafact.text.parsing import recognised

__all__ = ["Anonymiser", "Mention", "names_of", "public_figures", "read_figures"]

_POSSESSIVE = re.compile(r"['’]s?$")
_DATELINE = re.compile(r"(?<!\s)(?:\s{1,9}[A-Z]{3,30}){1,9}$")  # "… by Ana Reyes LONDON"
_SMALL = re.compile(r"\b[a-z][a-z'’-]+\b")
_OF = re.compile(r"(?:['’]|&?#39;)s? ")  # between an institution and its people
_COMMON = 2  # times that a word stands in small letters in a set from which it is no surname
# Letters; an apostrophe is part of a word, but not a possessive.
_WORD = re.compile(r"[^\W\d_]+(?:['’](?!s\b)[^\W\d_]+)*")
_SHORT = 3  # letters up to which capitals throughout are an abbreviation: "XI" is not "Xi"
_AROUND = 40  # characters shown on each side of what is not sure


Action = Literal["replace", "leave", "if known"]


@dataclass(frozen=True)
class Mention:
    """A place in a text that names a person, or may.

    Attributes:
        person: Who that is, by full name in lower case, where the list of figures says so.
        action: What is to be done: ``if known`` replaces a surname alone where its bearer is named
            in full in the item or, alone of that surname, in the set.
    """

    start: int
    end: int
    text: str
    person: str | None = None
    action: Action = "replace"
    doubt: str = ""


@dataclass(frozen=True)
class Replacement:
    """What stood where in an item's ``title`` or ``summary``, and what stands there now."""

    item_id: str
    field: str
    start: int
    end: int
    before: str
    after: str


@dataclass(frozen=True)
class Doubt:
    """A place of the item as it was that a person has to look at; ``left`` or ``replaced``."""

    item_id: str
    field: str
    start: int
    name: str
    done: str
    why: str
    context: str


@dataclass(frozen=True)
class Anonymised:
    """A news item without its persons; its id is that of its new contents."""

    item: NewsItem
    replaced: tuple[Replacement, ...]
    doubts: tuple[Doubt, ...] = ()


@dataclass(frozen=True)
class PublicFigures:
    """Public figures by the words of their names.

    Attributes:
        forms: Full name, by the words of each form of it that is sure, in lower case.
        alone: Full names, by a surname that may also mean somebody or something else.
        spelled: Forms of one short word, as they are written.
    """

    forms: Mapping[tuple[str, ...], str]
    alone: Mapping[str, tuple[str, ...]]
    spelled: frozenset[str]

    @classmethod
    def of(cls, entries: Iterable[str]) -> "PublicFigures":
        """Return the figures of some entries, as ``figures.toml`` describes them."""
        forms: dict[tuple[str, ...], str] = {}
        alone: dict[str, list[str]] = {}
        spelled: set[str] = set()
        for entry in entries:
            spellings = [spelling.strip() for spelling in entry.split("|")]
            person = _key(spellings[0].replace("*", ""))
            for spelling in spellings:
                words = _WORD.findall(spelling.replace("*", ""))
                if not words:
                    raise ValueError(f"'{entry}' is no name")
                marked = [word for word in spelling.split() if word.endswith("*")]
                forms[tuple(map(_same, words))] = person
                for word in marked:
                    forms.setdefault(tuple(map(_same, _WORD.findall(word))), person)
                    spelled.update(_WORD.findall(word))
                if not marked and len(words) > 1:
                    alone.setdefault(_same(words[-1]), []).append(person)
                elif len(words) == 1:
                    spelled.update(words)
        lone = {word: tuple(dict.fromkeys(who)) for word, who in alone.items()}
        return cls(forms, {w: p for w, p in lone.items() if (w,) not in forms}, frozenset(spelled))

    def joined(self, other: "PublicFigures") -> "PublicFigures":
        """Return both lists as one; the other's word counts where they differ."""
        return PublicFigures(
            {**self.forms, **other.forms},
            {**self.alone, **other.alone},
            self.spelled | other.spelled,
        )


@cache
def public_figures() -> PublicFigures:
    """Return the figures that ship with the program."""
    text = resources.files("contrafact.corpus").joinpath("figures.toml").read_text("utf-8")
    return PublicFigures.of(name for names in tomllib.loads(text).values() for name in names)


def read_figures(path: Path) -> PublicFigures:
    """Return the figures of a file: a name a line, as in ``figures.toml``; ``#`` comments."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=path, hint="name a text file") from error
    found = PublicFigures({}, {}, frozenset())
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            found = found.joined(PublicFigures.of([line]))
        except ValueError as error:
            hint = "write a name a line, such as: Janet Yellen* | J. Yellen"
            raise InputError("is no name", file=path, line=number, hint=hint) from error
    return found


@cache
def _data() -> dict[str, frozenset[str]]:
    text = resources.files("contrafact.corpus").joinpath("persons.toml").read_text("utf-8")
    data = tomllib.loads(text)
    # Institutions are looked for as they are written.
    return {
        name: frozenset(words if name == "institutions" else map(_plain, words))
        for name, words in data.items()
    }


@dataclass
class Anonymiser:
    """Replaces persons' names, and remembers who got which placeholder.

    A surname alone is the person of that surname in the same item, or else in the set, if there is
    just one; two people of one full name are one person here. All of it is a proposal, to be read.

    Attributes:
        persons: Placeholder by full name in lower case, in the order of their first mention.
            Whoever has this can undo the work: keep it private.
    """

    keep: Sequence[str] = ()
    also: Sequence[str] = ()
    figures: PublicFigures = field(default_factory=public_figures)
    persons: dict[str, str] = field(default_factory=dict)
    doubtful: Counter[str] = field(default_factory=Counter)

    def run(self, items: Iterable[NewsItem]) -> Iterator[Anonymised]:
        """Return each item without its persons, in order."""
        listed = list(items)
        kept = _data()["kept"] | {_plain(name) for name in self.keep}
        also = frozenset(map(_plain, self.also))
        texts = [text for item in listed for text in (item.title, item.summary)]
        small = Counter(word for text in texts for word in _SMALL.findall(text))
        found = [
            names_of(text, self.figures, small, kept=kept, also=also, document=document)
            for text, document in zip(texts, _documents(texts), strict=True)
        ]
        full = {
            one.person or _key(one.text)
            for mentions in found
            for one in mentions
            if one.action == "replace" and " " in _key(one.text)
        }
        for number, item in enumerate(listed):
            pair = {"title": found[2 * number], "summary": found[2 * number + 1]}
            yield self._without(item, pair, full)

    def _without(
        self, item: NewsItem, found: Mapping[str, Sequence[Mention]], full: set[str]
    ) -> Anonymised:
        here = {
            one.person or _key(one.text)
            for mentions in found.values()
            for one in mentions
            if one.action == "replace"
        }
        replaced: list[Replacement] = []
        doubts: list[Doubt] = []
        texts: dict[str, str] = {}
        for place, mentions in found.items():
            text = str(getattr(item, place))
            pieces, at = [], 0
            for one in mentions:
                person = _bearer(one, here, full)
                if one.doubt and not (person and one.action == "if known"):
                    context = text[max(0, one.start - _AROUND) : one.end + _AROUND]
                    done = "replaced" if person else "left"
                    doubts.append(
                        Doubt(item.id, place, one.start, one.text, done, one.doubt, context)
                    )
                if person is None:
                    self.doubtful[one.text] += 1
                    continue
                after = self.persons.setdefault(person, f"[PERSON {len(self.persons) + 1}]")
                replaced.append(Replacement(item.id, place, one.start, one.end, one.text, after))
                pieces += [text[at : one.start], after]
                at = one.end
            texts[place] = "".join([*pieces, text[at:]])
        if not replaced:
            return Anonymised(item, (), tuple(doubts))
        given = item.model_dump(exclude={"id", *texts})
        without = NewsItem.of(texts["title"], texts["summary"], **given)
        return Anonymised(without, tuple(replaced), tuple(doubts))


def names_of(
    text: str,
    figures: PublicFigures,
    small: Mapping[str, int] | None = None,
    *,
    kept: frozenset[str] = frozenset(),
    also: frozenset[str] = frozenset(),
    document: Any = None,
) -> list[Mention]:
    """Return the places of a text that name a person, or may, in order and without overlap."""
    words = _words_of(text)
    offices = list(_by_office(words, text))
    spans = [
        *_of_figures(words, text, figures),
        *offices,
        *_by_given_name(words, text),
        *_by_recogniser(document, text, kept, small or {}),
        *_by_speech(words, figures, document),
    ]
    away = [
        (match.start(), match.end())
        for name in kept
        if name in text.casefold()
        for match in re.finditer(rf"\b{re.escape(name)}(?!\w)", text.casefold())
    ]
    chosen: list[Mention] = []
    for one in spans:  # those that come first know best
        # An office says more than that the word also names a place: "SNB's Jordan".
        shielded = one not in offices or " " in one.text
        if shielded and any(start <= one.start and one.end <= end for start, end in away):
            continue
        if any(one.start < other.end and other.start < one.end for other in chosen):
            continue
        if _plain(one.text) in also:
            one = replace(one, action="replace", doubt="")
        chosen.append(one)
    return sorted(chosen, key=lambda one: one.start)


@dataclass(frozen=True)
class _Token:
    start: int
    end: int
    word: str
    gap: str  # between it and the next one

    @property
    def key(self) -> str:
        return _same(self.word)

    @property
    def named(self) -> bool:
        """Whether it can be a name: a capital and small letters, no word of headlines."""
        return (
            len(self.word) > 1
            and self.word[0].isupper()
            and not self.word.isupper()
            and self.key not in _data()["ordinary"]
        )

    @property
    def joins(self) -> bool:
        """Whether the next word can belong to the same name."""
        return self.gap in (" ", ". ", "-", ".", "\u00a0")


def _words_of(text: str) -> list[_Token]:
    found = [
        match
        for match in _WORD.finditer(text)
        if not (match[0] in ("s", "S") and text[: match.start()].endswith(("'", "’", "#39;")))
    ]
    if not found:
        return []
    ends = [*(match.start() for match in found[1:]), len(text)]
    return [
        _Token(match.start(), match.end(), match[0], text[match.end() : end])
        for match, end in zip(found, ends, strict=True)
    ]


def _of_figures(words: Sequence[_Token], text: str, figures: PublicFigures) -> Iterator[Mention]:
    at = 0
    while at < len(words):
        length = next(
            (n for n in range(min(_LONGEST, len(words) - at), 0, -1)
             if _is_form(words[at : at + n], figures)),
            0,
        )  # fmt: skip
        if not length:
            at += 1
            continue
        first, last = words[at], words[at + length - 1]
        before = words[at - 1] if at else None
        # Somebody else of that surname: "Hunter Biden".
        relative = (
            length == 1 and before is not None and before.gap == " "
            and before.named and before.key in _data()["given"]
        )  # fmt: skip
        if not relative:
            person = figures.forms[tuple(one.key for one in words[at : at + length])]
            yield Mention(first.start, last.end, text[first.start : last.end], person)
            # A surname that alone may be a firm's is a person's behind a figure's: "Biden-Harris".
            after = words[at + length] if at + length < len(words) else None
            if after is not None and last.gap == "-" and after.key in figures.alone:
                who = figures.alone[after.key][0]
                yield Mention(after.start, after.end, text[after.start : after.end], who)
                length += 1
        at += length


_LONGEST = 5  # words of the longest form of a figure's name


def _is_form(words: Sequence[_Token], figures: PublicFigures) -> bool:
    if tuple(one.key for one in words) not in figures.forms:
        return False
    if not all(one.joins for one in words[:-1]):
        return False
    if len(words) > 1:
        return words[-1].word[0].isupper()
    (word,) = (one.word for one in words)
    return word in figures.spelled or (word.isupper() and len(word) > _SHORT)


def _by_office(words: Sequence[_Token], text: str) -> Iterator[Mention]:
    """Yield names behind an office ("Governor Example") or a house ("Fed's Example says")."""
    title_case = not any(len(one.word) > _SHORT and one.word.islower() for one in words)
    for at, (before, one) in enumerate(itertools.pairwise(words), start=1):
        if not one.named:
            continue
        office = before.key in _data()["roles"] and before.gap in (" ", ". ")
        house = _OF.fullmatch(before.gap) and any(
            text[: before.end].endswith(name) for name in _data()["institutions"]
        )
        if not office and not house:
            continue
        end = at
        if one.gap == " " and at + 1 < len(words) and words[at + 1].key not in _data()["says"]:
            end += words[at + 1].named
        last = words[end]
        # In title case the next word has a capital as well, and may be what is done.
        after = words[end + 1] if last.gap == " " and end + 1 < len(words) else None
        if after is not None and after.word[0].isupper() and after.key not in _data()["says"]:
            continue
        name = text[one.start : last.end]
        if title_case and after is None and last is one:
            doubt = "behind an office, where every word has a capital"
            yield Mention(one.start, last.end, name, action="if known", doubt=doubt)
        else:
            yield Mention(one.start, last.end, name)


def _by_given_name(words: Sequence[_Token], text: str) -> Iterator[Mention]:
    """Yield a given name with the surname behind it, initials and particles between them."""
    for at, first in enumerate(words[:-1]):
        if first.key not in _data()["given"] or not first.named or first.gap != " ":
            continue
        end = at + 1
        while end < len(words) - 1 and words[end].joins and _is_between(words[end]):
            end += 1
        # A second given name, and a word of firms between two names, are part of the name: "Anna
        # Maria Example", "Anna Street Example".
        for names in ("given", "firm"):
            if words[end].key in _data()[names] and words[end].gap == " " and end + 1 < len(words):
                end += words[end + 1].named and words[end + 1].key not in _data()["says"]
        last = words[end]
        if not last.named or last.key in _data()["firm"] or last.key in _data()["suffixes"]:
            continue
        follows = words[end + 1] if last.joins and end + 1 < len(words) else None
        if follows is not None and follows.key in _data()["firm"]:
            continue
        yield Mention(first.start, last.end, text[first.start : last.end])


def _is_between(word: _Token) -> bool:
    return len(word.word) == 1 or word.word.casefold() in _data()["particles"]


def _by_recogniser(
    document: Any, text: str, kept: frozenset[str], small: Mapping[str, int]
) -> Iterator[Mention]:
    """Yield what spaCy takes for persons, and is not ordinary words: sure with a given name that is
    known, or behind an office."""
    if document is None:
        return
    for start, end, name in _recognised(document, kept):
        words = _words(name)
        before = _words(text[max(0, start - _AROUND) : start])
        if len(words) < 2:
            yield Mention(start, end, name, action="if known", doubt="one word, recognised alone")
        elif words[-1] in _data()["ordinary"]:
            if words[0] in _data()["given"]:
                doubt = "ends in a word of headlines"
                yield Mention(start, end, name, action="leave", doubt=doubt)
        elif (
            words[0] in _data()["given"]
            or before[-1:] == ["by"]
            or (before and before[-1] in _data()["roles"])
        ):
            yield Mention(start, end, name)
        elif small.get(words[-1], 0) < _COMMON:
            doubt = "recognised as a person, without a given name that is known"
            yield Mention(start, end, name, action="leave", doubt=doubt)


def _by_speech(words: Sequence[_Token], figures: PublicFigures, document: Any) -> Iterator[Mention]:
    """Yield single words that may be a person: a figure's surname, or who says something."""
    others = [
        (entity.start_char, entity.end_char)
        for entity in (document.ents if document is not None else ())
        if entity.label_ not in ("PERSON", "WORK_OF_ART")
    ]
    for one, after in itertools.zip_longest(words, words[1:]):
        if not one.named or one.key in _data()["firm"] or one.key in _data()["roles"]:
            continue
        known = figures.alone.get(one.key, ())
        if known and one.key not in _data()["common_surnames"]:
            who = " or ".join(name.title() for name in known[:3])
            why = f"a surname alone; may be {who}"
        elif (
            after is not None
            and one.gap == " "
            and after.word in _data()["says"]
            and not any(start <= one.start < end for start, end in others)
        ):
            why = "does what people do in headlines"
        else:
            continue
        yield Mention(one.start, one.end, one.word, action="if known", doubt=why)


def _bearer(one: Mention, here: set[str], full: set[str]) -> str | None:
    if one.person is not None:
        return one.person
    key = _key(one.text)
    if one.action == "leave":
        return None
    if " " in key:
        return key
    for known in (here, full):
        bearers = [person for person in known if " " in person and key == person.split()[-1]]
        if len(bearers) == 1:
            return bearers[0]
        if bearers:
            return key
    return key if one.action == "replace" else None


def _documents(texts: Sequence[str]) -> Iterable[Any]:
    """Return the texts as spaCy reads them; without spaCy nothing for each, and say so."""
    if installed("spacy"):
        return recognised(texts, batch_size=64)
    say_once(
        "persons are found by the list of public figures, offices and given names alone; more are "
        "found with spaCy (pip install 'contrafact[nlp]')"
    )
    return [None] * len(texts)


def _recognised(document: Any, kept: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of each person's name, without titles and possessives."""
    for entity in document.ents:
        if entity.label_ != "PERSON":
            continue
        text, start = str(entity.text), int(entity.start_char)
        titles = _data()["titles"]
        while (space := text.find(" ")) > 0 and text[:space].strip(".").casefold() in titles:
            start += space + 1
            text = text[space + 1 :]
        text = _DATELINE.sub("", _POSSESSIVE.sub("", text)).rstrip(" ,.;:-–—")
        if text and not _is_no_person(text, kept):
            yield start, start + len(text), text


def _is_no_person(text: str, kept: frozenset[str]) -> bool:
    words = _words(text)
    letters = [character for character in text if character.isalpha()]
    return (
        not letters
        or any(character.isdigit() or character in "$%€£@&/|" for character in text)
        or _plain(text) in kept
        or bool(_data()["firm"].intersection(words))
        or text.strip(".").casefold() in _data()["titles"]
        # A ticker or an abbreviation; words that no name begins or ends with.
        or (len(words) == 1 and text.isupper())
        or text[0].islower()
        or text.split()[-1][0].islower()
        or (len(words) == 1 and words[0] in _data()["ordinary"])
    )


def _words(text: str) -> list[str]:
    words = [word.strip(".,'’\"“”()").casefold() for word in text.split()]
    return [word for word in words if word and word not in _data()["suffixes"]]


def _key(text: str) -> str:
    return " ".join(_words(text)) or text.casefold()


def _plain(text: str) -> str:
    return " ".join(_POSSESSIVE.sub("", text.casefold().replace("’", "'")).split())


def _same(word: str) -> str:
    """Return a word as it is compared: small letters, no accents, one kind of apostrophe."""
    parts = unicodedata.normalize("NFKD", word.casefold().replace("’", "'"))
    return "".join(part for part in parts if not unicodedata.combining(part))
