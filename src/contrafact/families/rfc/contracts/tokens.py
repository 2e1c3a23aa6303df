"""Words of a paragraph with their places, and where its sentences begin and end."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

__all__ = ["Sentence", "Token", "normal", "sentences", "stem", "words"]

_WORD = re.compile(r"[^\W_]+(?:['’.&/-][^\W_]+)*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Inc|Corp|Co|Ltd|Plc|Mr|Mrs|Ms|Dr|St|vs|No|Jr|Sr|Bros|approx|est|Gov|Sen|Rep|Prof"
    r"|(?<!/)[A-Z]|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|[ap]\.m|e\.g|i\.e)"
    r"|\b(?:[A-Z]\.)+[A-Z])\Z"
)
_STOP = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|\n+|\s[-–—|]\s(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or a whole quantity or time reference, of a text.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        text: The words.
        key: What it is compared by: `normal` of the word, "#" for any quantity, "@" for any
            identifier or time reference.
    """

    start: int
    end: int
    text: str
    key: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence's place, and whether it is written in title case, as headlines are."""

    start: int
    end: int
    titled: bool


@lru_cache(maxsize=20_000)
def normal(word: str) -> str:
    """Return a word without case, possessive and points: ``U.S.'s`` and ``US`` are one."""
    word = word.casefold().replace("’", "'").replace(".", "")
    word = word.removesuffix("'s")
    return word.removesuffix("'")


_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "er", "est")


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a rough stem, by which inflections of a word are equal."""
    word = normal(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.rstrip("ey") if len(word) > 4 else word


def words(text: str, wholes: Iterable[tuple[int, int, str]]) -> list[Token]:
    """Return the tokens of a text; each of ``wholes`` (start, end, key) is one token."""
    tokens: list[Token] = []
    position = 0
    for start, end, key in sorted(wholes):
        if start < position:
            continue
        tokens += _plain(text, position, start)
        tokens.append(Token(start, end, text[start:end], key))
        position = end
    return [*tokens, *_plain(text, position, len(text))]


def _plain(text: str, start: int, end: int) -> list[Token]:
    return [Token(m.start(), m.end(), m[0], normal(m[0])) for m in _WORD.finditer(text, start, end)]


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a text, in order; together they cover it."""
    ends = [0]
    for match in _STOP.finditer(text):
        if match[0][0] == "." and _ABBREVIATION.search(
            text, max(0, match.start() - 12), match.start()
        ):
            rest = text[match.end() :].lstrip()
            # "Inc." may end a sentence; it does not where the sentence visibly goes on.
            if not rest[:1].isupper() or not re.search(
                r"(?:Inc|Corp|Co|Ltd|Plc|[ap]\.m|U\.S)\Z", text[: match.start()]
            ):
                continue
        ends.append(match.end())
    if len(text) > ends[-1]:
        ends.append(len(text))
    return [Sentence(a, b, _titled(text[a:b])) for a, b in pairwise(ends) if text[a:b].strip()]


def _titled(sentence: str) -> bool:
    long = [m[0] for m in _WORD.finditer(sentence) if len(m[0]) > 3 and m[0][0].isalpha()]
    capital = sum(word[0].isupper() for word in long)
    if len(long) == 2:
        return capital == 2
    return len(long) >= 3 and capital >= 0.7 * len(long)
