"""memory: earlier news, found by BM25, shown as background before the item.

Memory retrieval is proposed in RFC-BENCH, section 4; it was not run in the paper. Searched are the
unmanipulated originals of the data set, or the news of a file. Shown is only what is earlier: of an
earlier day where both days are known, else standing earlier in the file. Never shown is the item's
own article, nor a text that shares most of its words with the item (the same story from another
wire would give the answer away).
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from contrafact.errors import InputError
from contrafact.families.rfc.answers import Answer, read_answer, reply_tokens
from contrafact.families.rfc.data import Item
from contrafact.families.rfc.prompting import CONSTRAINED, OneCall, kind_of
from contrafact.family.method import MethodContext
from contrafact.models.asking import Ask, PlannedCall
from contrafact.records import NewsItem, Rewrite
from contrafact.text.delimit import delimit

__all__ = ["OPTIONS", "SHOWN", "Background", "Bm25", "Memory", "method"]

OPTIONS = CONSTRAINED

SHOWN = 3

ITEM_CHARACTERS = 1_200
"""An earlier item is cut here; a title with its lead is seldom longer."""

SAME_STORY = 0.5
"""Two texts whose words overlap by more than this (Jaccard) tell the same story."""

K1 = 1.5
"""How soon a word said again counts no more."""
B = 0.75
"""How far long texts are held back, 0 to 1."""


class Bm25:
    """Texts searched by BM25 (Robertson and Zaragoza, 2009), with Lucene's weight of a word."""

    def __init__(self, texts: Sequence[Sequence[str]]):
        self._lengths = [len(text) for text in texts]
        self._counts: dict[str, dict[int, int]] = {}
        for place, text in enumerate(texts):
            for word, times in Counter(text).items():
                self._counts.setdefault(word, {})[place] = times

    def scores(self, query: Sequence[str]) -> dict[int, float]:
        """Return the score of each text that shares a word with the query, by its place."""
        texts = len(self._lengths)
        mean = sum(self._lengths) / texts if texts else 0.0
        found: dict[int, float] = {}
        for word, asked in sorted(Counter(query).items()):
            holds = self._counts.get(word, {})
            weight = math.log1p((texts - len(holds) + 0.5) / (len(holds) + 0.5))
            for place, times in holds.items():
                long = 1 - B + B * self._lengths[place] / mean
                score = asked * weight * times / (times + K1 * long)
                found[place] = found.get(place, 0.0) + score
        return found


@dataclass(frozen=True)
class _Entry:
    article_id: str
    date: str | None
    text: str
    words: frozenset[str]


class Background:
    """News that can be searched for what came before an item."""

    def __init__(self, pairs: Sequence[Rewrite], news: Sequence[NewsItem] | None = None):
        given = (
            [(pair.article_id, pair.date, pair.original) for pair in pairs]
            if news is None
            else [(item.id, item.date, item.paragraph) for item in news]
        )
        entries: dict[str, _Entry] = {}
        for article, date, text in given:
            words = _words(text)
            if words:
                entries.setdefault(article, _Entry(article, date, text, frozenset(words)))
        self._entries = list(entries.values())
        self._position = {entry.article_id: at for at, entry in enumerate(self._entries)}
        self._index = Bm25([_words(entry.text) for entry in self._entries])

    def before(self, item: Item) -> list[str]:
        """Return the texts of the earlier items that fit best, best first; perhaps none."""
        words = _words(item.shown or item.pair.original)
        scores = self._index.scores(words)
        found: list[str] = []
        # Equal scores keep the file's order, so that the same item always sees the same.
        for position in sorted(scores, key=lambda at: (-scores[at], at)):
            entry = self._entries[position]
            if self._is_earlier(entry, position, item) and not _is_same_story(entry.words, words):
                found.append(entry.text)
            if len(found) == SHOWN:
                break
        return found

    def _is_earlier(self, entry: _Entry, position: int, item: Item) -> bool:
        if entry.article_id == item.pair.article_id:
            return False
        if entry.date and item.pair.date:
            return entry.date < item.pair.date
        return position < self._position.get(item.pair.article_id, 0)


class Memory(OneCall):
    """One call, with background."""

    def __init__(self, context: MethodContext):
        super().__init__(
            context.name or "memory", context, template="-memory", more=frozenset({"background"})
        )
        news = context.files.get("background")
        if news is None and kind_of(context) == "claim":
            raise InputError(
                "memory searches earlier news, and a file of claims holds none",
                hint="name news with --background FILE",
            )
        self._background = Background(context.items, news)

    async def __call__(self, item: Item, ask: Ask, *, draw: int = 1) -> Answer:
        """See `contrafact.family.method.Method`."""
        shown = self._shown(item)
        output = await self.constrained(ask, item)(self.prompt(item, draw, background=shown))
        return read_answer(output, item, reasons=self.reasons, trace={"background": shown})

    def plan(self, item: Item) -> Sequence[PlannedCall]:
        """See `contrafact.family.method.Method`."""
        prompt = self.prompt(item, background=self._shown(item))
        return [PlannedCall(prompt, reply_tokens(reasons=self.reasons))]

    def _shown(self, item: Item) -> list[str]:
        return [delimit(text[:ITEM_CHARACTERS]) for text in self._background.before(item)]


def method(context: MethodContext) -> Memory:
    """Return the method."""
    return Memory(context)


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?()[]\"'“”’‘") or word for word in text.casefold().split()]


def _is_same_story(one: Collection[str], other: Collection[str]) -> bool:
    """Return whether the words of two texts overlap so much that they tell the same story."""
    first, second = set(one), set(other)
    return len(first & second) > SAME_STORY * len(first | second)
