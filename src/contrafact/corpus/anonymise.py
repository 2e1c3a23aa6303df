"""Persons out of news: each named person becomes a placeholder, the same one throughout a set.

FIN-FORCE, ethics statement (personal information in the collected news is anonymised).
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from contrafact.records import NewsItem
from contrafact.text.parsing import recognised

__all__ = ["Anonymised", "Anonymiser", "Replacement", "kept_names"]

_POSSESSIVE = re.compile(r"['’]s?$")
_DATELINE = re.compile(r"(?:\s+[A-Z]{3,})+$")  # "… by Ana Reyes LONDON"
_SMALL = re.compile(r"\b[a-z][a-z'’-]+\b")
_COMMON = 2  # times that a word stands in small letters in a set from which it is no surname


@dataclass(frozen=True)
class Replacement:
    """One mention of a person: what stood where, and what stands there now."""

    item_id: str
    """The item as it was."""
    field: str
    """``title`` or ``summary``."""
    start: int
    """Where the name began in the field as it was."""
    end: int
    before: str
    after: str


@dataclass(frozen=True)
class Anonymised:
    """A news item without its persons; its id is that of its new contents."""

    item: NewsItem
    replaced: tuple[Replacement, ...]


@cache
def _data() -> dict[str, frozenset[str]]:
    text = resources.files("contrafact.corpus").joinpath("persons.toml").read_text("utf-8")
    return {name: frozenset(map(_plain, words)) for name, words in tomllib.loads(text).items()}


def kept_names() -> frozenset[str]:
    """Return names of firms and the like that are taken for people, in lower case."""
    return _data()["kept"]


@dataclass
class Anonymiser:
    """Replaces persons' names, and remembers who got which placeholder.

    Persons are what spaCy's recogniser calls PERSON. It misses some and takes firms, places and
    capitalised words for people, so two kinds of its finds are left as they are and listed as
    doubtful: a single word that is nobody's name in full anywhere in the set, and a name whose last
    word the set also has in small letters. The rest is replaced. All of it is a proposal, to be
    read. A surname alone is the person of that surname in the same item, or else in the set, if
    there is just one; two people of one full name are one person here.

    Attributes:
        keep: Further names to leave as they are.
        also: Names to replace although they are doubtful.
        persons: Placeholder by full name in lower case, in the order of their first mention.
            Whoever has this can undo the work: keep it private.
        doubtful: How often each doubtful name was met and left.
    """

    keep: Sequence[str] = ()
    also: Sequence[str] = ()
    persons: dict[str, str] = field(default_factory=dict)
    doubtful: Counter[str] = field(default_factory=Counter)

    def run(self, items: Iterable[NewsItem]) -> Iterator[Anonymised]:
        """Return each item without its persons, in order."""
        listed = list(items)
        kept = kept_names() | {_plain(name) for name in self.keep}
        texts = [text for item in listed for text in (item.title, item.summary)]
        found = [list(_mentions(document, kept)) for document in recognised(texts, batch_size=64)]
        small = Counter(word for text in texts for word in _SMALL.findall(text))
        full = {
            _key(name)
            for mentions in found
            for _, _, name in mentions
            if len(_words(name)) > 1 and not self._is_doubtful(name, small)
        }
        for number, item in enumerate(listed):
            pair = {"title": found[2 * number], "summary": found[2 * number + 1]}
            yield self._without(item, pair, full, small)

    def _is_doubtful(self, name: str, small: Counter[str]) -> bool:
        if _plain(name) in {_plain(other) for other in self.also}:
            return False
        return small[_key(name).split()[-1]] >= _COMMON

    def _without(
        self,
        item: NewsItem,
        found: dict[str, list[tuple[int, int, str]]],
        full: set[str],
        small: Counter[str],
    ) -> Anonymised:
        here = {_key(name) for mentions in found.values() for _, _, name in mentions} & full
        replaced: list[Replacement] = []
        texts: dict[str, str] = {}
        for place, mentions in found.items():
            text = str(getattr(item, place))
            pieces, at = [], 0
            for start, end, name in mentions:
                person = self._person(name, here, full)
                if person is None or self._is_doubtful(name, small):
                    self.doubtful[name] += 1
                    continue
                after = self.persons.setdefault(person, f"[PERSON {len(self.persons) + 1}]")
                replaced.append(Replacement(item.id, place, start, end, name, after))
                pieces += [text[at:start], after]
                at = end
            texts[place] = "".join([*pieces, text[at:]])
        if not replaced:
            return Anonymised(item, ())
        given = item.model_dump(exclude={"id", *texts})
        return Anonymised(NewsItem.of(texts["title"], texts["summary"], **given), tuple(replaced))

    def _person(self, name: str, here: set[str], full: set[str]) -> str | None:
        """Return who a name means, by full name; none for a single word that is nobody's name."""
        key = _key(name)
        if " " in key:
            return key
        for known in (here, full):
            bearers = [person for person in known if key == person.split()[-1]]
            if len(bearers) == 1:
                return bearers[0]
            if bearers:
                return key
        return key if _plain(name) in {_plain(other) for other in self.also} else None


def _mentions(document: Any, kept: frozenset[str]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of each person's name, without titles and possessives."""
    for entity in document.ents:
        if entity.label_ != "PERSON":
            continue
        text, start = str(entity.text), int(entity.start_char)
        while (space := text.find(" ")) > 0 and text[:space].strip(".").casefold() in _data()[
            "titles"
        ]:
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
    )


def _words(text: str) -> list[str]:
    words = [word.strip(".,'’\"“”()").casefold() for word in text.split()]
    return [word for word in words if word and word not in _data()["suffixes"]]


def _key(text: str) -> str:
    return " ".join(_words(text)) or text.casefold()


def _plain(text: str) -> str:
    return " ".join(_POSSESSIVE.sub("", text.casefold().replace("’", "'")).split())
