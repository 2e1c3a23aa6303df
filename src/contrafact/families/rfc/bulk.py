"""The stages that build a benchmark, past one machine: the very functions of the commands.

RFC-BENCH, section 2.2, over partitions of any number of rows (`contrafact.bulk`).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from contrafact.bulk.stage import KEPT, LEDGER, REJECTS, Given, Made
from contrafact.corpus.news_items import NewsRow, item_of

__all__ = ["BucketStage", "bucket_summary"]


@dataclass(frozen=True)
class BucketStage:
    """``rfc bucket``: articles in, candidates for the four manipulations out.

    Attributes:
        titles_alone: Whether articles without a summary are sorted too.
    """

    titles_alone: bool = False
    name: str = "`rfc bucket`"
    partition_rows: int = 20_000

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        return {"titles-alone": self.titles_alone}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return the article's id: rows with the same title and summary have the same."""
        return item_of(fields).id

    def open(self) -> Callable[[Sequence[Given]], Made]:
        """Return the work, with the word lists read."""
        return self._work

    def _work(self, rows: Sequence[Given]) -> Made:
        from contrafact.families.rfc.pipeline.bucket import Summary, bucket_news, repeated_row

        made, told = Made(), Summary()
        index = {row.line: row.index for row in rows}
        given = []
        for row in rows:
            news = NewsRow(row.line, item_of(row.fields), row.fields)
            if row.repeats is None:
                given.append(news)
                continue
            made.add(REJECTS, row.index, repeated_row(news, row.repeats + 1))
            made.counts["repeated"] += 1
        result = bucket_news(given, titles_alone=self.titles_alone)
        told.add(result)
        places = {one.item.id: index[one.line] for one in given}
        for table, found in ((KEPT, result.kept), (REJECTS, result.dropped)):
            for one in found:
                made.add(table, places[one["id"]], one)
        for event in result.events:
            made.add(LEDGER, places[event.item_id], event.model_dump(exclude_none=True))
        made.counts["candidates"] = told.candidates
        made.counts["dropped"] = told.dropped
        for name, count in told.kept.items():
            made.counts[f"kept|{name}"] = count
        for name, reasons in told.reasons.items():
            for why, count in reasons.items():
                made.counts[f"why|{name}|{why}"] = count
        return made


def bucket_summary(counts: Counter[str]) -> Any:
    """Return what all partitions' counts say, as the command shows it."""
    from contrafact.families.rfc.pipeline.bucket import Summary

    told = Summary(counts["candidates"], counts["dropped"])
    for name, count in counts.items():
        kind, _, rest = name.partition("|")
        if kind == "kept":
            told.kept[rest] += count
        if kind == "why":
            manipulation, _, why = rest.partition("|")
            told.reasons[manipulation][why] += count
    return told


