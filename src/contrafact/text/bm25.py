"""BM25: how well texts answer a query by their words, by statistics of those that may answer.

Robertson and Zaragoza (2009), with Lucene's weight of a word, which is never negative. A search
names the texts among which it looks; how rare a word is and how long texts are is counted over
these alone, so that a text which may not be found changes nothing about what is.
"""

import math
from collections import Counter
from collections.abc import Sequence

__all__ = ["K1", "B", "Bm25"]

K1 = 1.5
"""How soon a word said again counts no more."""
B = 0.75
"""How far long texts are held back, 0 to 1."""


class Bm25:
    """Texts that can be searched.

    Args:
        texts: The words of each.
    """

    def __init__(self, texts: Sequence[Sequence[str]]):
        self._lengths = [len(words) for words in texts]
        self._counts: dict[str, dict[int, int]] = {}
        for place, words in enumerate(texts):
            for word, times in Counter(words).items():
                self._counts.setdefault(word, {})[place] = times

    def scores(self, query: Sequence[str], among: Sequence[int]) -> dict[int, float]:
        """Return the score of each text that shares a word with the query, by its place.

        Args:
            query: The words; one that is there twice counts twice.
            among: The places of the texts to look in.
        """
        wanted = set(among)
        if not wanted:
            return {}
        mean = sum(self._lengths[place] for place in wanted) / len(wanted)
        found: dict[int, float] = {}
        for word, asked in sorted(Counter(query).items()):
            holds = {p: times for p, times in self._counts.get(word, {}).items() if p in wanted}
            weight = math.log1p((len(wanted) - len(holds) + 0.5) / (len(holds) + 0.5))
            for place, times in holds.items():
                long = 1 - B + B * self._lengths[place] / mean
                score = asked * weight * times / (times + K1 * long)
                found[place] = found.get(place, 0.0) + score
        return found
