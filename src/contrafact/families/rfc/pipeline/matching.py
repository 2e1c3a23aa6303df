"""Which of a row's versions a build takes: what rewrites put in should stand in originals as often.

A wording that rewrites bring in more often than originals have it tells a rewrite from its
original, whatever it says (RFC-BENCH, appendix L). Where a row has several versions that keep
their contract, the build takes those by which, over all rows, as many n-grams go as come: a word
that one rewrite brings in is best one that another loses, one that many originals have, or one
that no other rewrite brings in.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

__all__ = ["matched"]

_TOKEN = re.compile(r"\w+(?:[.,]\d+)*|[%$€£]")
_ROUNDS = 8
_ANY = ""  # any word: rewrites are as long as originals, on average
_EACH = 3.0  # added to the originals that have an n-gram: rare ones cost more, but not all (ours)

Grams = Mapping[str, int]


def matched(originals: Sequence[str], versions: Sequence[Sequence[str]]) -> list[int]:
    """Return which version of each text to take.

    Minimised is the sum, over words and pairs of words, of the square of how many times more
    rewrites have it than originals, over how many originals have it: a chi-square distance. Texts
    are gone through in order, each taking its best version given the others', until none changes.

    Args:
        originals: The texts.
        versions: The versions of each, at least one.

    Returns:
        The place of the version in each text's list; of equally good ones, the first.
    """
    frequent = Counter(gram for text in originals for gram in _grams(_tokens(text)))
    frequent[_ANY] = len(originals)
    brought = [
        [_difference(text, version) for version in of_text]
        for text, of_text in zip(originals, versions, strict=True)
    ]
    surplus: Counter[str] = Counter()

    def cost(difference: Grams) -> float:
        total = 0.0
        for gram, count in difference.items():
            had = surplus[gram]
            total += ((had + count) ** 2 - had**2) / (frequent[gram] + _EACH)
        return round(total, 9)  # so that the order of a sum decides nothing

    taken: list[int | None] = [None] * len(brought)
    for _ in range(_ROUNDS):
        before = list(taken)
        for at, differences in enumerate(brought):
            if (old := taken[at]) is not None:
                _add(surplus, differences[old], -1)
            new = min(range(len(differences)), key=lambda i: (cost(differences[i]), i))
            _add(surplus, differences[new], 1)
            taken[at] = new
        if taken == before:
            break
    return [at or 0 for at in taken]


def _add(surplus: Counter[str], difference: Grams, sign: int) -> None:
    for gram, count in difference.items():
        surplus[gram] += sign * count


def _difference(text: str, version: str) -> Grams:
    """Return how many times more a version has each n-gram than its text, where that differs."""
    before, after = _tokens(text), _tokens(version)
    # What stands before the first change and after the last has the same n-grams in both.
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    most = min(len(before), len(after)) - start
    while end < most and before[-1 - end] == after[-1 - end]:
        end += 1
    start, end = max(0, start - 1), max(0, end - 1)
    counts = Counter(_grams(after[start : len(after) - end]))
    counts.subtract(_grams(before[start : len(before) - end]))
    counts[_ANY] = len(after) - len(before)
    return {gram: count for gram, count in counts.items() if count}


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.lower())


def _grams(tokens: Sequence[str]) -> list[str]:
    return [*tokens, *(f"{one} {two}" for one, two in pairwise(tokens))]
