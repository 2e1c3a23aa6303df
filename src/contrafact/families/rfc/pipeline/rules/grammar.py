"""Words of a paragraph with their part of speech and what they depend on.

Headlines in title case are read in lower case: a tagger takes their verbs for names otherwise.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contrafact.text.parsing import MAX_CHARACTERS, parsed

__all__ = [
    "Word",
    "children",
    "covered",
    "named_with",
    "parse",
    "said_of",
    "sentence_spans",
    "subtree",
]

_STOP = re.compile(
    r"(?<!\b[A-Z])(?<!\b(?:Mr|Ms|Dr|St|vs|Co|No))(?<!\b(?:Inc|Ltd))[.!?…]+[\"'”’)]*\s+"
    r"(?=[\"'“‘(]?[A-Z0-9$€£¥])|\n+|\s+[-–—|]\s+(?=[A-Z])"
)
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")


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


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text begin and end; together they cover it."""
    starts = [0, *(match.end() for match in _STOP.finditer(text))]
    return [(s, e) for s, e in zip(starts, [*starts[1:], len(text)], strict=True) if e > s]


def parse(text: str) -> list[Word]:
    """Return the words of a text, its first `MAX_CHARACTERS` characters."""
    words: list[Word] = []
    text = text[:MAX_CHARACTERS]
    spans = sentence_spans(text)
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


def said_of(quality: Word, words: Sequence[Word]) -> list[Word]:
    """Return what a quality is said of: the noun beside it, or the subject of its verb.

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


def _titled(sentence: str) -> bool:
    long = _LONG_WORD.findall(sentence)
    return len(long) >= 2 and sum(word[0].isupper() for word in long) >= 0.7 * len(long)


def _lowered(sentence: str) -> str:
    lower = sentence.lower()
    # A few letters grow when lowered, which would move all that follows.
    return lower if len(lower) == len(sentence) else sentence
