"""Bucketing by appendix O's word lists: one pass over all texts against a loop over expressions.

The loop is the plain way: a compiled regular expression for each inflected term of the lists is
searched for in each text. Numbers and rules cost both ways the same. The rows have to be equal.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from bench import BenchResult, Timing
from bench._clock import added, timed
from bench._paragraphs import paragraphs
from contrafact.families.rfc.pipeline.bucket import bucket
from contrafact.text.words import LISTS, Spots, lexicon
from contrafact.text.words.lexicon import guards, term_forms, words_of
from contrafact.text.words.matcher import HYPHENS

TARGET = 5000.0
_SLICES = 8
_QUICK_SLICES = 2
_FEWER = 5  # of the second loop, one paragraph in so many is timed
_WORD = re.compile(r"\w+")


class Loop:
    """What finds terms by one regular expression each.

    Args:
        each_form: Whether each form has an expression of its own, and not all forms of a term one.
    """

    def __init__(self, *, each_form: bool = True) -> None:
        self.terms = lexicon().terms
        self.searches: list[tuple[int, re.Pattern[str]]] = []
        self.first: dict[tuple[str, str], int] = {}
        for number, term in enumerate(self.terms):
            spellings = []
            for form in term_forms(term.template):
                words = words_of(form)
                self.first.setdefault((term.list, " ".join(words)), number)
                spellings.append(rf"(?:\s+|[{HYPHENS}])".join(words))
            # The longest first: an expression takes the first alternative that fits.
            unlike = sorted(dict.fromkeys(spellings), key=len, reverse=True)
            for group in [[one] for one in unlike] if each_form else [unlike]:
                pattern = rf"\b(?:{'|'.join(group)})\b"
                self.searches.append((number, re.compile(pattern, re.IGNORECASE)))
        self.guards = guards()

    def spots(self, texts: Sequence[str]) -> Spots:
        """Return what the compiled lexicon's ``spots`` returns."""
        rows = []
        for text_number, text in enumerate(texts):
            found = [
                (match.start(), -match.end(), LISTS.index(self.terms[number].list), number)
                for number, search in self.searches
                for match in search.finditer(text)
            ]
            last = dict.fromkeys(range(len(LISTS)), 0)
            for start, minus_end, place, number in sorted(found):
                term = self._meant(text, start, -minus_end, number)
                if start >= last[place] and term is not None:
                    last[place] = -minus_end
                    rows.append((text_number, start, -minus_end, term))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        return Spots(*columns)

    def _meant(self, text: str, start: int, end: int, number: int) -> int | None:
        """Return the term of this spelling, or none if the words around say that it is none."""
        term = self.terms[number]
        guard = self.guards.get((term.list, term.text))
        if guard is not None:
            before = [w.lower() for w in _WORD.findall(text[max(0, start - 60) : start])][-1:]
            after = _WORD.search(text, end)
            if guard.refuses(text[start:end], "".join(before), after[0].lower() if after else ""):
                return None
        return self.first[term.list, " ".join(words_of(text[start:end]))]


def run(quick: bool, data: Path | None) -> BenchResult:
    """Time the pass over all texts, and the loop over them by slices, in turns."""
    texts, source = paragraphs(data)
    by_form, by_term = Loop(), Loop(each_form=False)
    bucket(texts[:10])  # builds the lexicon
    size = -(-len(texts) // _SLICES)
    ours: list[Timing] = []
    baseline: list[Timing] = []
    terms: list[Timing] = []
    differing = 0
    for start in range(0, len(texts), size)[: _QUICK_SLICES if quick else _SLICES]:
        part = texts[start : start + size]
        rows, timing = timed("one pass", len(texts), partial(bucket, texts))
        ours.append(timing)
        way = f"a loop over {len(by_form.searches):,} expressions"
        expected, timing = timed(way, len(part), partial(bucket, part, by_form.spots))
        baseline.append(timing)
        differing += sum(a != b for a, b in zip(rows[start : start + size], expected, strict=True))
        few = part[::_FEWER]
        _, timing = timed(way, len(few), partial(bucket, few, by_term.spots))
        terms.append(timing)
    compared = added(baseline).items
    by_terms = added(ours).per_second / added(terms).per_second
    return BenchResult(
        name="bucketing",
        unit="paragraphs",
        total_items=len(texts),
        ours=added(ours),
        baseline=added(baseline),
        target=TARGET,
        data=source,
        notes=[
            f"rows of {compared:,} paragraphs compared: "
            + (f"{differing:,} differ" if differing else "all are equal"),
            f"against {len(by_term.searches):,} expressions, one for all forms of a term as "
            f"alternatives, the pass is {by_terms:.0f} times as fast",
            f"one pass takes {1000 * min(t.seconds for t in ours):.0f} ms at best",
        ],
    )
