"""Sentences and words of English prose: their boundaries, and the comparison of words."""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import Any

__all__ = ["alternation", "folded", "normal", "same_root", "sentence_spans", "stem"]

# A full stop with closing quotes or brackets, before a space and the possible start of a sentence;
# the end of a line; marks that separate headlines in feeds; a semicolon, which ends a statement.
_END = r"(?<![.!?…])[.!?…]+[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9$€£¥])|\n+|\s[|•]\s|;\s"
_ENDS = {False: re.compile(_END), True: re.compile(rf"{_END}|\s[-–—]\s(?=[A-Z])")}
_ABBREVIATION = re.compile(
    r"(?:\b(?:Inc|Corp|Cos?|Ltd|Plc|Mr|Mrs|Ms|Dr|St|Nos?|vs?|Rs|Rp|Jr|Sr|Bros|approx|est|al|etc|Gov"
    r"|Sen|Rep|Prof|Gen|Lt|Sgt|(?<!/)[A-Z]|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
    r"|[ap]\.m|e\.g|i\.e)|\b(?:[A-Z]\.){1,9}[A-Z])\Z"
)
# After these abbreviations, the point also ends a sentence if a capital follows.
_MAY_END = re.compile(r"(?:Inc|Corp|Co|Ltd|Plc|[ap]\.m)\Z")
# A longer sentence is cut, so that reading it takes linear time.
_LONGEST = 800
_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "er", "est")


def folded(text: str) -> str:
    """Return a text in lower case, by the same rules as patterns that ignore case.

    Such a pattern treats Turkish dotted and dotless i as "i", so they become "i" here.
    """
    return text.casefold().replace("\u0131", "i").replace("i\u0307", "i")


def sentence_spans(text: str, *, dashes: bool = False) -> list[tuple[int, int]]:
    """Return the spans of the sentences of a text, by punctuation only.

    The spans cover the text; the space after a sentence is part of it. A semicolon ends a
    sentence, and a sentence of more than 800 characters is cut at a space.

    Args:
        dashes: Whether a dash between spaces ends a sentence before a capital, as in a headline
            before its source ("Shares fall - Reuters"); in prose it mostly opens an aside.
    """
    ends = [0]
    for match in _ENDS[dashes].finditer(text):
        before = max(0, match.start() - 12)
        if match[0][0] == "." and _ABBREVIATION.search(text, before, match.start()):
            ended = _MAY_END.search(text, before, match.start())
            if not ended or not text[match.end() : match.end() + 1].isupper():
                continue
        ends.append(match.end())
    if ends[-1] < len(text):
        ends.append(len(text))
    spans = []
    for start, end in pairwise(ends):
        while end - start > _LONGEST:
            cut = text.rfind(" ", start, start + _LONGEST) + 1 or start + _LONGEST
            spans.append((start, cut))
            start = cut
        spans.append((start, end))
    return spans


@lru_cache(maxsize=20_000)
def normal(word: str) -> str:
    """Return a word without case, possessive and points: ``U.S.'s`` and ``US`` are equal."""
    word = word.casefold().replace("’", "'").replace(".", "")
    word = word.removesuffix("'s")
    return word.removesuffix("'")


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a word's approximate stem, which is equal for its inflections."""
    word = normal(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.rstrip("ey") if len(word) > 4 else word


def same_root(a: str, b: str) -> bool:
    """Return whether two names have the same root, like "Nigeria" and "Nigerian".

    `stem` does not remove the endings of names ("China", "Chinese"): two names share a root if all
    but the last two letters of the shorter, and at least four letters, are equal.
    """
    shared = max(4, min(len(a), len(b)) - 2)
    return a == b or a[:shared] == b[:shared]


def alternation(terms: Iterable[str]) -> str:
    """Return a pattern that matches any of the terms, preferring longer ones.

    The pattern is a tree of shared beginnings, so that a word is tried letter by letter instead of
    term by term. A space stands for any white space or a hyphen.
    """
    tree: dict[str, Any] = {}
    for term in terms:
        node = tree
        for letter in term:
            node = node.setdefault(letter, {})
        node[""] = {}

    def pattern(node: dict[str, Any]) -> str:
        branches = [
            ("[\\s-]" if letter == " " else re.escape(letter)) + pattern(child)
            for letter, child in node.items()
            if letter
        ]
        if not branches:
            return ""
        alone = len(branches) == 1 and "" not in node
        joined = branches[0] if alone else f"(?:{'|'.join(branches)})"
        return joined + "?" if "" in node else joined

    return pattern(tree)
