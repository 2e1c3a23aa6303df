"""``news dedupe`` past one machine: signatures where the processors are, one index that decides.

The duplicates are those of `contrafact.corpus.duplicates.find_duplicates`, which goes through the
texts in the order of the input. It runs in the driver; what takes the time, the MinHash signatures
of the texts, is made by the workers.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from contrafact.bulk.cluster import mapped
from contrafact.bulk.fragments import BadRow
from contrafact.bulk.partitions import Partition
from contrafact.bulk.stage import KEPT, REJECTS, InputRow, Stage, StageOutput, Work, Wrap
from contrafact.corpus.duplicates import (
    Duplicate,
    Text,
    find_duplicates,
    kept_or_dropped,
    signature_of,
)
from contrafact.corpus.news_items import item_of, news_record, news_rows
from contrafact.errors import InputError
from contrafact.files.download import sha256_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["DedupeStage"]


@dataclass(frozen=True)
class DedupeStage(Stage):
    """``news dedupe``: items in, those that repeat none before them out.

    Attributes:
        against: Files of items that must not come again.
        near: Similarity from which two items are one.
    """

    against: tuple[str, ...] = ()
    near: float = 0.8
    name: str = "`news dedupe`"

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        against = [sha256_of(path) for path in self.against]
        return {"near": self.near, "against": against}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return the item's id: rows with the same title and summary have the same."""
        return item_of(fields).id

    def prepare(
        self, partitions: Sequence[Partition], repeats: "NDArray[np.int64]"
    ) -> dict[int, dict[str, Any]]:
        """Return what each row repeats that is a duplicate."""
        places: list[int] = []
        repeated = set(repeats.tolist())

        def texts() -> Iterator[Text]:
            for signed in mapped(partitions, _signed, ordered=True):
                for place, text in signed:
                    if place not in repeated:
                        places.append(place)
                        yield text

        rows = [row.item for path in self.against for row in news_rows(path)]
        others = [Text(one.id, one.paragraph, one.url) for one in rows]
        found = find_duplicates(texts(), others, threshold=self.near)
        return {places[one.position]: vars(one) for one in found}

    def open(self, wrap: Wrap, at_once: int) -> Work:
        """Return the work."""

        async def work(rows: Sequence[InputRow]) -> StageOutput:
            made = StageOutput()
            for row in rows:
                item = item_of(row.fields)
                if row.repeats is not None:
                    why = f"repeats the article of line {row.repeats + 1}"
                    record = news_record(item, row.fields)
                    made.add(REJECTS, row.index, {**record, "dropped_because": why})
                    made.counts["repeated"] += 1
                    continue
                duplicate = Duplicate(**row.note) if row.note else None
                record, event = kept_or_dropped(item, row.fields, duplicate, self.near)
                made.add(KEPT if duplicate is None else REJECTS, row.index, record, event)
                made.counts["kept" if duplicate is None else duplicate.kind] += 1
            return made

        return work


def _signed(partition: Partition) -> list[tuple[int, Text]]:
    """Return a partition's texts with signatures and places."""
    found = []
    for place, row in partition.read():
        if isinstance(row, BadRow):
            continue
        with suppress(InputError):  # a row without an item fails where it is written
            item = item_of(row)
            text = Text(item.id, item.paragraph, item.url)
            found.append((place, replace(text, signature=signature_of(text))))
    return found
