"""Which manipulations an article could carry, by the words that stand in it.

RFC-BENCH, section 2.2.1 and appendix O: four candidate sets, found by rule before any label is
given. An article may be a candidate for several, or for none.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from contrafact.corpus.ledger import Ledger, LedgerEvent, event_time
from contrafact.corpus.news_items import NewsNotes, NewsRow, stream_news
from contrafact.files.atomic import atomic_path
from contrafact.files.journal import sidecar_path
from contrafact.files.tables import json_line
from contrafact.records import MANIPULATIONS, Manipulation, NewsItem
from contrafact.text.words import LISTS, Spots, lexicon

__all__ = [
    "PART",
    "Bucketed",
    "Evidence",
    "Sorted",
    "bucket",
    "bucket_file",
    "bucket_news",
    "repeated_row",
]

_Ints = npt.NDArray[np.int64]
_Bools = npt.NDArray[np.bool_]

PART = 4_000
"""Articles that are sorted at once: enough to hide the cost of a call, few enough for memory."""

STAGE = "bucket"
RULE = "rule:appendix O"

_KINDS = ("percent", "money", "digits")
_NAMES = (*LISTS, *_KINDS)
_LIST_NAMES = np.array(_NAMES, dtype=object)
_PERCENT, _CURRENCY, _DIGITS = (_NAMES.index(kind) for kind in _KINDS)
# What is kept as evidence of each manipulation, which is more than its rules ask for.
_EVIDENCE: dict[Manipulation, tuple[str, ...]] = {
    "numerical": _KINDS,
    "flipping": ("directional", "kpi", "percent"),
    "sentiment": ("kpi", "hedge", "mild"),
    "causal": ("connector", "catalyst", "kpi", "percent", "reaction"),
}
_CAUSES = ("connector", "catalyst")
_CONTEXT = ("kpi", "percent", "reaction")

# A number and what makes it a percentage; the sign of money stands before it.
_NUMBER = re.compile(r"[0-9](?:[0-9,]*[0-9])?(?:\.[0-9]+)?(\s?(?:%|per\s?cent\b|pct\b))?")
_EXTREME = "extreme language"
_MONEY = frozenset("$€£¥₹₩₦")


Evidence = tuple[str, str, int, int]
"""What made a text a candidate: the word list (of a number ``percent``, ``money`` or ``digits``),
the term in its plain form or the number as it stands, and where it begins and ends in the text."""

_EVIDENCE_FIELDS = ("list", "term", "start", "end")


class Bucketed(NamedTuple):
    """What the rules say of one text."""

    candidates: list[Manipulation]
    """The manipulations it is a candidate for."""
    evidence: dict[Manipulation, list[Evidence]]
    """For each of them what made it one, in order of place."""
    reasons: dict[Manipulation, str]
    """For each of the others why not."""


@dataclass
class Sorted:
    """The news items of a file, sorted by the rules.

    Attributes:
        kept: Rows of those that are candidates, with ``candidates`` and ``evidence``.
        dropped: Rows of the others, with ``reasons``.
        events: The ledger's events: one for each article and manipulation.
    """

    kept: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[dict[str, Any]] = field(default_factory=list)
    events: list[LedgerEvent] = field(default_factory=list)

    def counts(self) -> Counter[str]:
        """Return what a summary shows: articles that are ``candidates`` and ``dropped``, and by
        manipulation the articles ``kept|NAME``, and the others by reason, ``why|NAME|REASON``.
        """
        counts = Counter({"candidates": len(self.kept), "dropped": len(self.dropped)})
        counts.update(f"kept|{name}" for row in self.kept for name in row["candidates"])
        counts.update(
            f"why|{event.manipulation}|{event.why.partition(':')[0]}"
            for event in self.events
            if event.decision == "dropped"
        )
        return counts


def bucket(
    paragraphs: Sequence[str], spots: Callable[[Sequence[str]], Spots] | None = None
) -> list[Bucketed]:
    """Return what the rules of appendix O say of each text.

    - numerical: it has a digit;
    - flipping: a directional term, and a financial term or a percentage (words such as "up" or
      "above", which say a direction only with other words, are not enough);
    - sentiment: a financial term, and a hedge or a mild expression, and no extreme one ("surge",
      which S.3 counts as extreme and O.3 does not, is none);
    - causal: a causal connector or a catalyst and, in other words, a financial term,
      a percentage or a market reaction.

    Args:
        paragraphs: The texts.
        spots: What finds the terms; the compiled lexicon's if not given.
    """
    cues = _cues(paragraphs, spots or lexicon().spots)
    there = {name: cues.texts_with(name) for name in _NAMES}
    financial = there["kpi"] | there["percent"]
    # Of each manipulation the reasons against it; the first that holds is given.
    refused: dict[Manipulation, list[tuple[_Bools, str]]] = {
        "numerical": [(~cues.texts_with(*_KINDS), "no digit")],
        "flipping": [
            (~there["directional"], "no directional term"),
            (~financial, "no financial term and no percentage"),
        ],
        "sentiment": [
            (~there["kpi"], "no financial term"),
            (there["extreme"], _EXTREME),
            (~(there["hedge"] | there["mild"]), "no hedge and no mild expression"),
        ],
        "causal": [
            (~cues.texts_with(*_CAUSES), "no causal connector and no catalyst"),
            (~cues.apart(_CAUSES, _CONTEXT), "no financial or reaction context"),
        ],
    }
    results = [Bucketed([], {}, {}) for _ in paragraphs]
    for name, rules in refused.items():
        open_still = np.ones(len(results), dtype=np.bool_)
        for rule, reason in rules:
            for number in np.flatnonzero(open_still & rule).tolist():
                results[number].reasons[name] = reason
            open_still &= ~rule
        for number, found in cues.of_each(_EVIDENCE[name], open_still):
            results[number].candidates.append(name)
            results[number].evidence[name] = found
    for number, found in cues.of_each(("extreme",), there["extreme"]):
        if results[number].reasons.get("sentiment") == _EXTREME:
            results[number].reasons["sentiment"] = f"{_EXTREME}: {found[0][1]}"
    return results


def bucket_news(rows: Iterable[NewsRow], *, titles_alone: bool = False) -> Sorted:
    """Sort news items by the rules of appendix O.

    Args:
        rows: The news items, with the rows they were read from.
        titles_alone: Whether an item without a summary is sorted as well; it is dropped if not,
            since a title alone is no paragraph.
    """
    given = list(rows)
    whole = [row for row in given if titles_alone or row.item.summary.strip()]
    bucketed = dict(
        zip(
            (row.item.id for row in whole),
            bucket([row.item.paragraph for row in whole]),
            strict=True,
        )
    )
    alone = Bucketed([], {}, dict.fromkeys(MANIPULATIONS, "no summary: a title alone"))
    result, when = Sorted(), event_time()
    for row in given:
        one = bucketed.get(row.item.id, alone)
        fields = _carried(row)
        if one.candidates:
            evidence = {
                name: [dict(zip(_EVIDENCE_FIELDS, e, strict=True)) for e in found]
                for name, found in one.evidence.items()
            }
            result.kept.append({**fields, "candidates": one.candidates, "evidence": evidence})
        else:
            result.dropped.append({**fields, "reasons": one.reasons})
        result.events += _events(row.item.id, one, when)
    return result


def repeated_row(row: NewsRow, first: int) -> dict[str, Any]:
    """Return how a row that repeats the one of another line is dropped."""
    reasons = dict.fromkeys(MANIPULATIONS, f"repeats the article of line {first}")
    return {**_carried(row), "line": row.line, "reasons": reasons}


def bucket_file(
    path: str | Path, out: str | Path, notes: NewsNotes, *, titles_alone: bool = False
) -> Counter[str]:
    """Sort the news items of a file as `bucket_news` does, and write the stage's files.

    Items are read, sorted and written `PART` at a time, in their order, so that memory does not
    grow with the texts. All files are whole or not there, the candidates last. A row that repeats
    another is among the dropped, after those of its part, with the line of that; its article has
    its events in the ledger already. ``notes`` is filled with what the reader met.

    Returns:
        What `Sorted.counts` says of all parts.

    Raises:
        InputError: The file cannot be read, a row is bad, or a file cannot be written.
    """
    told: Counter[str] = Counter()

    def repeated() -> Iterator[dict[str, Any]]:
        # Each once, and none is kept: a file may repeat itself without end.
        firsts = notes.duplicates[len(notes.duplicates) - len(notes.repeated) :]
        for row, (_, first) in zip(notes.repeated, firsts, strict=True):
            yield repeated_row(row, first)
        notes.repeated.clear()

    def events(kept: IO[str], dropped: IO[str]) -> Iterator[LedgerEvent]:
        rows = stream_news(path, notes)
        while part := list(islice(rows, PART)):
            result = bucket_news(part, titles_alone=titles_alone)
            told.update(result.counts())
            kept.writelines(map(json_line, result.kept))
            dropped.writelines(map(json_line, result.dropped))
            dropped.writelines(map(json_line, repeated()))
            yield from result.events
        dropped.writelines(map(json_line, repeated()))

    with (
        atomic_path(out) as kept_path,
        atomic_path(sidecar_path(out, "dropped")) as dropped_path,
        kept_path.open("w", encoding="utf-8", newline="") as kept,
        dropped_path.open("w", encoding="utf-8", newline="") as dropped,
    ):
        Ledger(sidecar_path(out, "ledger")).append(events(kept, dropped), distinct=True)
    return told


@dataclass(frozen=True, slots=True)
class _Cues:
    """The terms and numbers of all texts that the rules look at, in order of text and place."""

    texts: int
    text: _Ints
    kind: _Ints
    start: _Ints
    end: _Ints
    term: npt.NDArray[np.object_]

    def _among(self, names: Sequence[str]) -> _Bools:
        return np.array([name in names for name in _NAMES])[self.kind]

    def texts_with(self, *names: str) -> _Bools:
        """Return which texts have a cue of one of these lists."""
        return np.bincount(self.text[self._among(names)], minlength=self.texts) > 0

    def of_each(self, names: Sequence[str], wanted: _Bools) -> Iterator[tuple[int, list[Evidence]]]:
        """Return the cues of these lists in each text that is wanted, with the text's number."""
        chosen = np.flatnonzero(self._among(names) & wanted[self.text])
        of, start, end = self.text[chosen], self.start[chosen], self.end[chosen]
        columns = (_LIST_NAMES[self.kind[chosen]], self.term[chosen], start, end)
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        numbers = np.flatnonzero(wanted)
        bounds = np.searchsorted(of, np.append(numbers, self.texts)).tolist()
        for number, (a, b) in zip(numbers.tolist(), pairwise(bounds), strict=True):
            yield number, rows[a:b]

    def apart(self, some: Sequence[str], others: Sequence[str]) -> _Bools:
        """Return which texts have a cue of the first lists and, in other words, of the others."""
        first_end, last_start = self._reach(some)
        others_first_end, others_last_start = self._reach(others)
        return (first_end <= others_last_start) | (others_first_end <= last_start)

    def _reach(self, names: Sequence[str]) -> tuple[_Ints, _Ints]:
        """Return of each text where the first cue ends and where the last one begins."""
        among = self._among(names)
        first_end = np.full(self.texts, np.iinfo(np.int64).max)
        last_start = np.full(self.texts, -1)
        np.minimum.at(first_end, self.text[among], self.end[among])
        np.maximum.at(last_start, self.text[among], self.start[among])
        return first_end, last_start


def _cues(paragraphs: Sequence[str], spots: Callable[[Sequence[str]], Spots]) -> _Cues:
    found = spots(paragraphs)
    kinds, terms = _uses()
    numbers = _numbers(paragraphs)
    text = np.concatenate((found.text, numbers.text))
    kind = np.concatenate((kinds[found.term], numbers.kind))
    start = np.concatenate((found.start, numbers.start))
    end = np.concatenate((found.end, numbers.end))
    order = np.lexsort((kind, end, start, text))
    return _Cues(
        len(paragraphs),
        text[order],
        kind[order],
        start[order],
        end[order],
        np.concatenate((terms[found.term], numbers.term))[order],
    )


@cache
def _uses() -> tuple[_Ints, npt.NDArray[np.object_]]:
    """Return of each term of the lexicon its list's number, and its text."""
    terms = lexicon().terms
    texts = np.array([term.text for term in terms], dtype=object)
    return np.array([_NAMES.index(term.list) for term in terms]), texts


def _numbers(paragraphs: Sequence[str]) -> _Cues:
    """Return the numbers of all texts, by what kind they are of."""
    joined = "\0".join(paragraphs)
    kinds: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    written: list[str] = []
    # Where digits begin, by NumPy: the expression alone would look at every character.
    codes = np.frombuffer(joined.encode("latin-1", "replace"), dtype=np.uint8)
    digits = np.zeros(len(codes) + 1, dtype=np.bool_)
    digits[1:] = (codes >= ord("0")) & (codes <= ord("9"))
    last = 0
    for at in np.flatnonzero(digits[1:] & ~digits[:-1]).tolist():
        match = _NUMBER.match(joined, at) if at >= last else None
        if match is None:  # digits within the number before
            continue
        start, last = match.span()
        kind = _DIGITS if match[1] is None else _PERCENT
        if kind == _DIGITS and start and joined[start - 1] in _MONEY:
            kind, start = _CURRENCY, start - 1
        kinds.append(kind)
        starts.append(start)
        ends.append(last)
        written.append(joined[start:last])
    sizes = np.fromiter(map(len, paragraphs), np.int64, len(paragraphs))
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes + 1)))
    start_of, end_of = np.array(starts, np.int64), np.array(ends, np.int64)
    text = np.searchsorted(offsets, start_of, side="right") - 1
    start_of, end_of = start_of - offsets[text], end_of - offsets[text]
    words = np.array(written, dtype=object)
    return _Cues(len(paragraphs), text, np.array(kinds, np.int64), start_of, end_of, words)


def _carried(row: NewsRow) -> dict[str, Any]:
    """Return the fields of a news item, then those of its row that it does not know."""
    item = row.item.model_dump(exclude_none=True)
    inner = row.fields.get("input_item")
    given = {**row.fields, **inner} if isinstance(inner, dict) else row.fields
    known = {*NewsItem.model_fields, "headline", "description", "input_item"}
    others = {key: value for key, value in given.items() if key.strip().casefold() not in known}
    return {**item, **others}


def _events(article: str, one: Bucketed, when: str) -> Iterator[LedgerEvent]:
    for name in MANIPULATIONS:
        kept = name in one.candidates
        terms = dict.fromkeys(row[1] for row in one.evidence.get(name, ()))
        yield LedgerEvent(
            item_id=article,
            article_id=article,
            manipulation=name,
            stage=STAGE,
            decision="kept" if kept else "dropped",
            by=RULE,
            when=when,
            why=f"candidate: {', '.join([*terms][:4])}" if kept else one.reasons[name],
        )
