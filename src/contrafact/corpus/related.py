"""News that is related to a text, and certainly earlier than a moment.

A date is a day, or a moment where its time of day and zone are known. One comes before another if
that is certain: by the moments where both are known, by the days otherwise, and then never on the
same day. A time without a zone says nothing beyond its day, and midnight is how many programs write
a day without a time, so that it is read as one.

A search is BM25 (Robertson and Zaragoza, 2009), with Lucene's weight of a word, which is never
negative. It names the texts among which it looks; how rare a word is and how long texts are is
counted over these alone, so that a text which may not be found changes nothing about what is.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path

from contrafact.corpus.news_items import NewsNotes, day_and_time, item_of
from contrafact.errors import InputError
from contrafact.files.fields import fold_row, value_of
from contrafact.files.tables import read_rows, source_name
from contrafact.records import NewsItem
from contrafact.text.degenerate import words

__all__ = ["Bm25", "Dated", "Related", "comes_before", "is_same_story", "load_dated", "moment_of"]

SAME_STORY = 0.5
"""Two texts whose words overlap by more than this (Jaccard) tell the same story."""

K1 = 1.5
"""How soon a word said again counts no more."""
B = 0.75
"""How far long texts are held back, 0 to 1."""


@dataclass(frozen=True)
class Moment:
    """When something was published; the day, YYYY-MM-DD, is in UTC where the zone is known."""

    day: str
    instant: datetime | None = None


@dataclass(frozen=True)
class Dated:
    """A news item and when it was published; None where that cannot be read."""

    item: NewsItem
    moment: Moment | None


def moment_of(text: str) -> Moment | None:
    """Return when a date in one of the usual forms is; None where none can be read.

    The forms are those of `contrafact.corpus.news_items.day_of`.
    """
    day, instant = day_and_time(text)
    if day is None:
        return None
    if instant is None or instant.tzinfo is None or instant.time() == time():
        return Moment(day)
    return Moment(day, instant)


def comes_before(one: Moment, other: Moment) -> bool:
    """Return whether one is certainly earlier than the other."""
    if one.instant is not None and other.instant is not None:
        return one.instant < other.instant
    return one.day < other.day


def load_dated(path: str | Path, notes: NewsNotes | None = None) -> list[Dated]:
    """Return the news of a file with their moments, in its order.

    The columns are those of `contrafact.corpus.news_items.load_news`. An item that is there twice
    stays twice, since it may have been published twice.
    """
    notes = NewsNotes() if notes is None else notes
    found: list[Dated] = []
    for line, fields in read_rows(path):
        try:
            item = item_of(fields, notes, line)
        except InputError as error:
            raise error.at(source_name(path), line) from error
        notes.rows += 1
        inner = fields.get("input_item")  # the published supplement's layout
        row = {**fields, **inner} if isinstance(inner, dict) else fields
        day = str(value_of(fold_row(row), "date"))
        found.append(Dated(item, None if item.date is None else moment_of(day)))
    if not found:
        raise InputError(
            "the file holds no news", file=source_name(path), hint="give at least one row"
        )
    return found


class Bm25:
    """Texts that can be searched."""

    def __init__(self, texts: Sequence[Sequence[str]]):
        self._lengths = [len(text) for text in texts]
        self._counts: dict[str, dict[int, int]] = {}
        for place, text in enumerate(texts):
            for word, times in Counter(text).items():
                self._counts.setdefault(word, {})[place] = times

    def scores(self, query: Sequence[str], among: Sequence[int]) -> dict[int, float]:
        """Return the score of each text that shares a word with the query, by its place."""
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


class Related:
    """Dated news that can be searched for what came before a moment."""

    def __init__(self, news: Sequence[Dated]):
        dated = [(one.moment, one.item) for one in news if one.moment is not None]
        dated.sort(key=lambda pair: (pair[0].day, str(pair[0].instant or ""), pair[1].id))
        self._moments = [moment for moment, _ in dated]
        self._days = [moment.day for moment in self._moments]
        self._items = [item for _, item in dated]
        self._words = [words(item.paragraph) for item in self._items]
        self._index = Bm25(self._words)

    def before(self, moment: Moment, query: str, *, days: int, count: int) -> list[NewsItem]:
        """Return the items of so many days before a moment that fit best, best first.

        Left out is what tells the same story as the query, and what tells that of a better item.
        What is not certainly earlier has no part in this: it is not found, and changes nothing
        about what is.
        """
        try:
            first = (date.fromisoformat(moment.day) - timedelta(days=days)).isoformat()
        except OverflowError:
            first = date.min.isoformat()
        places = range(bisect_left(self._days, first), bisect_right(self._days, moment.day))
        earlier = [at for at in places if comes_before(self._moments[at], moment)]
        return self._best(earlier, words(query), count)

    def _best(self, among: Sequence[int], query: Sequence[str], count: int) -> list[NewsItem]:
        scores = self._index.scores(query, among)
        found: list[int] = []
        # Of equal scores the later comes first.
        for place in sorted(scores, key=lambda at: (-scores[at], -at)):
            shown = (query, *(self._words[at] for at in found))
            if any(is_same_story(self._words[place], one) for one in shown):
                continue
            found.append(place)
            if len(found) == count:
                break
        return [self._items[place] for place in found]


def is_same_story(one: Collection[str], other: Collection[str]) -> bool:
    """Return whether the words of two texts overlap so much that they tell the same story."""
    first, second = set(one), set(other)
    return len(first & second) > SAME_STORY * len(first | second)
