"""Companies, people, places and tickers: which a rewrite keeps, loses, adds or swaps.

spaCy's recogniser alone misses and invents too many in headlines. Here a name is first a
capitalised word where capitals mean something; the recogniser has the last word only where they
do not (headlines in title case, the first word of a sentence) and on who is a person.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from contrafact.families.rfc.contracts.lists import groups, words
from contrafact.families.rfc.contracts.pair import Pair, Side
from contrafact.families.rfc.contracts.tokens import Token, normal
from contrafact.families.rfc.contracts.vocabulary import is_common, is_known_name

__all__ = ["Name", "Names", "person_among"]

_NAME_LABELS = ("ORG", "PERSON", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT", "WORK_OF_ART")
_INITIAL_END = re.compile(r"(?:\A|[.!?:;…\n]|[-–—|])[\s\"'“‘(]*\Z")


@dataclass(frozen=True, slots=True)
class Name:
    """A run of name words, as "Norrick Steel" or "NRK".

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        text: The name.
        keys: Its words, in one spelling.
    """

    start: int
    end: int
    text: str
    keys: tuple[str, ...]


class Names:
    """The names of the two texts of a pair, compared."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair

    @cached_property
    def lost(self) -> list[Name]:
        """Names of the original of which the rewrite keeps no word."""
        return list(self._missing(self._pair.original, self._pair.rewritten))

    @cached_property
    def added(self) -> list[Name]:
        """Names of the rewrite that hold a word which the original has nowhere."""
        return list(self._missing(self._pair.rewritten, self._pair.original, any_word=True))

    @cached_property
    def swapped(self) -> list[tuple[Name, Name]]:
        """Names that took each other's places in unchanged surroundings."""
        pair, found = self._pair, []
        for change in pair.alignment.changes:
            before, after = (
                pair.original.tokens[slice(*change.before)],
                pair.rewritten.tokens[slice(*change.after)],
            )
            if not before or not after or len(before) > 4 or len(after) > 4:
                continue
            if not all(_is_name(pair.original, t) for t in before):
                continue
            if not all(_is_name(pair.rewritten, t) for t in after):
                continue
            keys, others = {t.key for t in before}, {t.key for t in after}
            if keys & others or _same_name(keys, others):
                continue
            around = pair.original.tokens[max(0, change.before[0] - 1) : change.before[1] + 1]
            if any(token.key in ("and", "or") for token in (around[0], around[-1])):
                continue  # "A and B" may become "B and A"; who is new is told by `added`
            found.append((_name(pair.original, before), _name(pair.rewritten, after)))
        return found

    def _missing(self, side: Side, other: Side, *, any_word: bool = False) -> Iterator[Name]:
        known = _known_words(other)
        # Cheap questions first: few words are missing, and the recogniser is asked last.
        missing = {
            i
            for i, token in enumerate(side.tokens)
            if any(c.isupper() for c in token.text)
            and not _appears(token.key, known, other.text)
            and _is_name(side, token)
        }
        if any_word:
            for run in _runs(side, [side.tokens[i] for i in sorted(missing)]):
                yield _name(side, run)
            return
        for first, last in _stretches(side, missing):
            run = [
                t for t in side.tokens[first : last + 1] if normal(t.text) not in words("no_names")
            ]
            if all(_is_missing(side, t, missing) for t in run if _is_name(side, t)):
                yield _name(side, side.tokens[first : last + 1])


def person_among(side: Side, name: Name) -> bool:
    """Whether the recogniser takes a name for a person's."""
    return any(
        entity.label == "PERSON" and entity.start < name.end and name.start < entity.end
        for entity in side.entities
    )


def _name(side: Side, tokens: list[Token]) -> Name:
    start, end = tokens[0].start, tokens[-1].end
    return Name(start, end, side.text[start:end], tuple(token.key for token in tokens))


def _runs(side: Side, tokens: list[Token]) -> Iterator[list[Token]]:
    run: list[Token] = []
    for token in tokens:
        if run and side.text[run[-1].end : token.start].strip(" &") != "":
            yield run
            run = []
        run.append(token)
    if run:
        yield run


def _is_name(side: Side, token: Token) -> bool:
    """Whether a word is part of a name, by its capitals and where it stands."""
    word = token.text
    if token.key in ("#", "@", "@t") or not any(c.isupper() for c in word):
        return False
    bare = normal(word)
    if bare in words("no_names") or bare.rstrip("s") in words("no_names") or bare.isdigit():
        return False
    if len(bare) == 1:
        return False
    shouting = word.isupper() and len(bare) > 1
    sentence = side.sentence_of(token.start)
    if shouting and not _shouted(side.text[sentence.start : sentence.end]):
        return True
    if any(c.isupper() for c in word[1:]) and not word.isupper() and "-" not in word:
        return True  # iPhone, McKinsey, eBay
    if not word[0].isupper():
        return _hyphened_name(word)
    initial = bool(_INITIAL_END.search(side.text[max(0, token.start - 6) : token.start]))
    if not (initial or sentence.titled or _shouted(side.text[sentence.start : sentence.end])):
        return not _adjectival(word)
    # Capitals mean nothing here: a word that is no common English one is a name.
    parts = [part for part in re.split(r"[-/]", bare) if part]
    if any(is_known_name(part) or not is_common(part) for part in parts):
        return not any(m.start <= token.start < m.end for m in side.matches)
    return _named_in_plain(side, token) or _recognised(side, token, initial)


def _stretches(side: Side, missing: set[int]) -> Iterator[tuple[int, int]]:
    """Yield the runs of capitalised words around missing ones: first and last word of each."""
    done = -1
    for i in sorted(missing):
        if i <= done:
            continue
        first, last = i, i
        while first > 0 and _joined(side, first - 1) and _is_name(side, side.tokens[first - 1]):
            first -= 1
        while (
            last + 1 < len(side.tokens)
            and _joined(side, last)
            and _is_name(side, side.tokens[last + 1])
        ):
            last += 1
        done = last
        yield first, last


def _joined(side: Side, i: int) -> bool:
    return side.text[side.tokens[i].end : side.tokens[i + 1].start].strip(" &") == ""


def _is_missing(side: Side, token: Token, missing: set[int]) -> bool:
    return any(side.tokens[i] is token for i in missing)


def _adjectival(word: str) -> bool:
    """Whether a capitalised word amid a sentence is one of emphasis, as after a colon."""
    return normal(word) in ("the", "a", "an", "and", "of", "in", "for", "on", "to", "by", "with")


def _hyphened_name(word: str) -> bool:
    return any(part[:1].isupper() and len(part) > 2 for part in word.split("-")[1:])


def _shouted(sentence: str) -> bool:
    letters = [c for c in sentence if c.isalpha()]
    return len(letters) > 20 and sum(c.isupper() for c in letters) > 0.7 * len(letters)


def _named_in_plain(side: Side, token: Token) -> bool:
    """Whether the word stands capitalised amid a plain sentence elsewhere in the text."""
    for other in side.tokens:
        if other.key == token.key and other.start != token.start and other.text[0].isupper():
            sentence = side.sentence_of(other.start)
            before = side.text[max(0, other.start - 6) : other.start]
            if not sentence.titled and not _INITIAL_END.search(before):
                return True
    return False


def _recognised(side: Side, token: Token, initial: bool) -> bool:
    """Whether the recogniser sees a name in a common word that begins a plain sentence."""
    if not initial or side.sentence_of(token.start).titled:
        return False
    if not _HOLDS_A_NAME.match(side.text, token.end):
        return False
    return any(
        entity.label in ("ORG", "PERSON", "GPE") and entity.start == token.start
        for entity in side.entities
    )


# After a common word that begins a sentence: another capitalised word, or what companies do.
_HOLDS_A_NAME = re.compile(
    r"(?:['’]s)?\s(?:[A-Z]|said|says|reported|reports|posted|posts|announced|expects|plans|raised"
    r"|cut|shares"
    r"|stock|is\sset|will|beat|missed|has|plc|executives)"
)


def _known_words(side: Side) -> frozenset[str]:
    """Return every spelling by which a word of a text may be met in the other."""
    kept = side.memo.get("words")
    if isinstance(kept, frozenset):
        return kept
    known = set()
    for token in side.tokens:
        for word in (token.text, *re.split(r"[\s\-/&]", token.text)):
            known.add(normal(word))
            known.add(normal(word).rstrip("s"))
    side.memo["words"] = frozenset(known)
    return frozenset(known)


def _appears(key: str, known: frozenset[str], text: str) -> bool:
    """Whether a text has a word, an inflection of it, its acronym or a usual other name."""
    words = [part for part in re.split(r"[-/&]", key) if len(part) > 1] or [key]
    return all(_one_appears(word, known, text) for word in words)


def _one_appears(word: str, known: frozenset[str], text: str) -> bool:
    if word in known or word.rstrip("s") in known or _is_function(word):
        return True
    folded = text.casefold()
    for names in groups("aliases").values():
        if word in names or word in [n.replace(".", "") for n in names]:
            return any(re.search(rf"\b{re.escape(name)}", folded) for name in names)
    if len(word) >= 5 and any(
        other[:4] == word[:4] and _related(word, other) for other in known if len(other) >= 4
    ):
        return True
    return len(word) in (2, 3, 4, 5) and _acronym(word, folded)


_DEMONYM = re.compile(r"(?:n|an|ian|ese|ish|i|ic|ean|ers?|s|es|-based)\Z")


def _related(a: str, b: str) -> bool:
    """Whether two words differ only by the ending of a people or an inflection."""
    short, long = sorted((a, b), key=len)
    common = next((i for i in range(len(short)) if short[i] != long[i]), len(short))
    return (
        common >= 4
        and len(short) - common <= 2
        and bool(_DEMONYM.fullmatch(long[common:]))
        and (common == len(short) or short[common:] in ("a", "e", "y", "ia"))
    )


def _acronym(word: str, folded: str) -> bool:
    return bool(
        re.search(r"\b" + r"[\w.&]*[\s-](?:of\s|the\s|and\s)*".join(map(re.escape, word)), folded)
    )


def _is_function(word: str) -> bool:
    """Whether a word is too small to be a name by itself."""
    return word in words("name_particles")


def _same_name(keys: set[str], others: set[str]) -> bool:
    return any(_related(a, b) for a in keys for b in others)
