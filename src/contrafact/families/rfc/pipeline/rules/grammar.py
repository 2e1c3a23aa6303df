"""The grammar that the rules need: words of a paragraph, and the forms of those that are written.

A paragraph's words come with their part of speech and what they depend on. Headlines in title case
are read in lower case: a tagger takes their verbs for names otherwise.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from contrafact.text.parsing import MAX_CHARACTERS, parsed
from contrafact.text.tokens import sentence_spans

__all__ = [
    "Word",
    "article_for",
    "cased",
    "children",
    "covered",
    "described",
    "inflected",
    "lemmas",
    "measures",
    "named_with",
    "parse",
    "past_of",
    "plural",
    "subtree",
]

_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_TAGS = {
    "base": "VB", "third": "VBZ", "past": "VBD", "participle": "VBN", "gerund": "VBG",
}  # fmt: skip
_SILENT_H = ("hour", "honest", "honour", "honor", "heir")
# Written with a vowel, spoken with "you" or "w".
_CONSONANT_SOUND = re.compile(r"(?:uni(?!n|m)|use|usu|usag|util|eu|one(?!r)|once|ura|ufo)", re.I)
# Letters whose names begin with a vowel: an S&P rise, an IPO.
_VOWEL_NAMES = frozenset("AEFHILMNORSX")
_SPOKEN_NUMBER = re.compile(r"[^\w\s]{0,2}(?:US|C|A)?[$€£¥]?\s?(?P<digits>\d[\d,]*)")
_LETTERS = re.compile(r"[A-Za-z&.]+")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a parsed text.

    Attributes:
        index: Its place in the list of words.
        start: Where it begins, in characters.
        end: Where it ends.
        text: The word.
        pos: Its coarse part of speech (``NOUN``, ``VERB``, …).
        tag: Its fine one (``VBD``, ``NNS``, …).
        dep: How it depends on its head (``nsubj``, ``dobj``, …).
        head: The head's place in the list; its own where it is a root.
        titled: Whether it stands in a sentence in title case.
    """

    index: int
    start: int
    end: int
    text: str
    pos: str
    tag: str
    dep: str
    head: int
    titled: bool

    @property
    def lower(self) -> str:
        """The word in lower case."""
        return self.text.lower()


def parse(text: str) -> list[Word]:
    """Return the words of a text, its first `MAX_CHARACTERS` characters."""
    words: list[Word] = []
    text = text[:MAX_CHARACTERS]
    spans = sentence_spans(text, dashes=True)
    sentences = [text[start:end] for start, end in spans]
    titled = [_titled(sentence) for sentence in sentences]
    read = [_lowered(s) if t else s for s, t in zip(sentences, titled, strict=True)]
    for (offset, _), sentence, title, doc in zip(
        spans, sentences, titled, parsed(read), strict=True
    ):
        base = len(words)
        for token in doc:
            start = token.idx
            end = start + len(token.text)
            words.append(
                Word(
                    base + token.i,
                    offset + start,
                    offset + end,
                    sentence[start:end],
                    token.pos_,
                    token.tag_,
                    token.dep_,
                    base + token.head.i,
                    title,
                )
            )
    return words


def covered(words: Sequence[Word], start: int, end: int) -> list[Word]:
    """Return the words that begin inside a span."""
    return [word for word in words if start <= word.start < end]


def children(words: Sequence[Word], parent: Word) -> Iterator[Word]:
    """Yield the words that depend on a word."""
    return (word for word in words if word.head == parent.index and word is not parent)


def subtree(words: Sequence[Word], root: Word) -> list[Word]:
    """Return a word and all that depends on it, in order."""
    inside = {root.index}
    grown = True
    while grown:
        more = {w.index for w in words if w.head in inside} - inside
        grown = bool(more)
        inside |= more
    return [word for word in words if word.index in inside]


def described(quality: Word, words: Sequence[Word]) -> list[Word]:
    """Return what a quality describes: the noun next to it, or the subject of its verb.

    The nouns that a noun is compounded with are returned too.
    """
    head = words[quality.head]
    heads = [head]
    if quality.dep in ("acomp", "oprd", "attr", "advmod"):
        heads = [w for w in children(words, head) if w.dep in ("nsubj", "nsubjpass")]
    return [w for h in heads for w in [h, *named_with(h, words)]]


def named_with(noun: Word, words: Sequence[Word]) -> list[Word]:
    """Return the words that a noun forms one name with, or is coordinated with."""
    return [w for w in children(words, noun) if w.dep in ("compound", "nmod", "conj")]


@cache
def measures() -> frozenset[str]:
    """Return the nouns, in lower case, of what goes up and down and is called strong or weak."""
    source = files("contrafact.families.rfc.pipeline.rules").joinpath("measures.txt")
    return frozenset(source.read_text(encoding="utf-8").split())


def inflected(verb: str, inflection: str) -> str:
    """Return a verb as ``base``, ``third``, ``past``, ``participle`` or ``gerund``."""
    # Imported where it is needed: it imports spaCy, which takes seconds.
    from lemminflect import getInflection

    forms = getInflection(verb, tag=_TAGS.get(inflection, "VB"))
    return str(forms[0]) if forms else verb


def past_of(verb: str) -> str:
    """Return the past of a verb in the present, "books" or "book"."""
    from lemminflect import getLemma

    return inflected(getLemma(verb, upos="VERB")[0], "past")


@cache
def lemmas(word: str) -> frozenset[str]:
    """Return what a word may be a form of, in lower case, itself included."""
    from lemminflect import getAllLemmas

    found = getAllLemmas(word.lower())
    return frozenset({word.lower(), *(lemma for forms in found.values() for lemma in forms)})


def plural(word: str) -> str:
    """Return a noun's plural, which is spelled as a verb's third person is."""
    if word.endswith(("s", "x", "sh", "ch")):
        return word + "es"
    return word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + "s"


def cased(model: str, text: str) -> str:
    """Return the text with the capitals of the model."""
    if len(model) > 1 and model.isupper():
        return text.upper()
    return text[0].upper() + text[1:] if model[0].isupper() else text


def article_for(text: str) -> str:
    """Return "a" or "an", whichever goes before a text.

    Numbers go by how they are spoken: an 8% rise, an $11 billion deal, a $110 target.
    """
    text = text.lstrip("\"'“‘( ")
    if number := _SPOKEN_NUMBER.match(text):
        digits = number["digits"].replace(",", "")
        leading = len(digits) % 3 or 3
        return "an" if digits[0] == "8" or digits[:leading] in ("11", "18") else "a"
    word = _LETTERS.match(text)
    if word is None:
        return "a"
    letters = word[0]
    if len(letters) <= 5 and letters.replace("&", "").replace(".", "").isupper():
        return "an" if letters[0] in _VOWEL_NAMES else "a"
    plain = letters.casefold()
    if plain.startswith(_SILENT_H):
        return "an"
    if plain[0] not in "aeiou" or _CONSONANT_SOUND.match(plain):
        return "a"
    return "an"


def _titled(sentence: str) -> bool:
    long = _LONG_WORD.findall(sentence)
    return len(long) >= 2 and sum(word[0].isupper() for word in long) >= 0.7 * len(long)


def _lowered(sentence: str) -> str:
    lower = sentence.lower()
    # A few letters grow when lowered, which would move all that follows.
    return lower if len(lower) == len(sentence) else sentence
