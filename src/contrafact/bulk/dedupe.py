"""``news dedupe`` past one machine: signatures where the processors are, one index that decides.

The duplicates are those of `contrafact.corpus.duplicates.find_duplicates`, which goes through the
texts in the order of the input. It runs in the driver; what takes the time, the MinHash signatures
of the texts, is made by the workers.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from contrafact.bulk.cluster import mapped
from contrafact.bulk.fragments import BadRow
from contrafact.bulk.partitions import Output, Partition
from contrafact.bulk.repeats import repeats_of
from contrafact.bulk.stage import KEPT, LEDGER, REJECTS, InputRow, Stage, StageOutput, Work, Wrap
from contrafact.bulk.tables import part_bytes
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

__all__ = ["DedupeStage"]

_DONE = "_work/decisions.json"


@dataclass(frozen=True)
class DedupeStage(Stage):
    """``news dedupe``: items in, those that repeat none before them out.

    Attributes:
        against: Files of items that must not come again.
        near: Similarity from which two items are one.
    """

    against: tuple[str, ...] = ()
    near: float = 0.8
    seed: int = 1
    name: str = "`news dedupe`"

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        against = [sha256_of(path) for path in self.against]
        return {"near": self.near, "seed": self.seed, "against": against}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return the item's id: rows with the same title and summary have the same."""
        return item_of(fields).id

    def prepare(self, partitions: Sequence[Partition], output: Output) -> None:
        """Find the duplicates, and note of each row that is one what it repeats."""
        done = output.place.child(_DONE)
        if done.read_json() is not None:
            return
        places: list[int] = []

        def texts() -> Iterator[Text]:
            work = partial(_signed, output=output, seed=self.seed)
            for signed in mapped(partitions, work, ordered=True):
                for place, text in signed:
                    places.append(place)
                    yield text

        rows = [row.item for path in self.against for row in news_rows(path)]
        others = [Text(one.id, one.paragraph, one.url) for one in rows]
        found = find_duplicates(texts(), others, threshold=self.near, seed=self.seed)
        starts = [one.offset for one in partitions]
        notes: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for one in found:
            at = int(np.searchsorted(starts, places[one.position], side="right")) - 1
            notes[at].append({"index": places[one.position], **vars(one)})
        for at, several in notes.items():
            output.notes(partitions[at]).write(part_bytes(several))
        done.write(json.dumps({"duplicates": len(found)}).encode())

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
                note = {k: v for k, v in (row.note or {}).items() if k != "index"}
                duplicate = Duplicate(**note) if note else None
                record, event = kept_or_dropped(item, row.fields, duplicate, self.near)
                made.add(KEPT if duplicate is None else REJECTS, row.index, record)
                made.add(LEDGER, row.index, event.model_dump(exclude_none=True))
                made.counts["kept" if duplicate is None else duplicate.kind] += 1
            return made

        return work


def _signed(partition: Partition, *, output: Output, seed: int) -> list[tuple[int, Text]]:
    """Return a partition's texts with signatures and places, the first of those with one id."""
    found = []
    repeats = repeats_of(output, partition)
    for place, row in partition.read():
        if isinstance(row, BadRow) or place in repeats:
            continue
        with suppress(InputError):  # a row without an item fails where it is written
            item = item_of(row)
            text = Text(item.id, item.paragraph, item.url)
            found.append((place, replace(text, signature=signature_of(text, seed))))
    return found
