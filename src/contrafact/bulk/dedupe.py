"""Duplicates in an input of any size: MinHash LSH as shuffles (Broder, 1997), by Ray Data.

The same duplicates as `contrafact.corpus.duplicates.find_duplicates` finds, which keeps an index in
memory and goes through the texts in order. Here rows that might have to do with one another meet:

1. rows with the same normal form, the same address or the same contents are grouped;
2. of rows with the same contents the first stands for all; rows that share a key of the index are
   candidates (the index's own keys, band by band);
3. the texts of each candidate pair are brought together and compared exactly;
4. what is left is a graph of rows that are duplicates of one another, were both kept. It is gone
   through in the order of the input by one process, as an index would be: a row is dropped if one
   before it that is kept is its duplicate. Rows that have to do with no other are not in it, so
   that its memory grows with the duplicates, not with the input.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from contrafact.bulk.cluster import dataset_of, rows_of
from contrafact.bulk.fragments import BadRow, fragments_of, read_fragment
from contrafact.bulk.partitions import Output, Partition
from contrafact.bulk.repeats import repeats_of, runs_of
from contrafact.bulk.stage import KEPT, LEDGER, REJECTS, Given, Made
from contrafact.bulk.tables import part_bytes
from contrafact.corpus.duplicates import (
    Duplicate,
    Reading,
    Text,
    band_keys,
    differ_in_figures,
    kept_or_dropped,
    similarity,
)
from contrafact.corpus.news_items import item_of, news_record, news_rows
from contrafact.errors import InputError
from contrafact.files.download import sha256_of
from contrafact.files.tables import json_line

__all__ = ["DedupeStage", "Shuffle", "decide", "find_decisions"]

_FORM, _ADDRESS, _CONTENTS = 0, 1, 2
_BAND, _SAME_ADDRESS = 0, 1
_DONE = "_work/decisions.json"
_PER_BUCKET = 200_000

Columns = dict[str, Any]


@dataclass(frozen=True)
class Shuffle:
    """What decides which rows are duplicates.

    Attributes:
        threshold: Similarity from which two texts are one.
        seed: Seed of the index's hash functions.
        buckets: Into how many parts rows are shuffled; changes no result.
        output: The output, where rows that repeat an article are known.
    """

    threshold: float
    seed: int
    buckets: int
    output: Output

    def groups(self, partition: Partition) -> Columns:
        """Return of each row three digests: of its normal form, its address, its contents."""
        found: dict[str, list[Any]] = {"high": [], "low": [], "kind": [], "index": [], "id": []}
        for index, name, reading in _readings(partition, self.output):
            kinds = {_FORM: reading.form, _ADDRESS: reading.address, _CONTENTS: _contents(reading)}
            for kind, text in kinds.items():
                if text is not None:
                    high, low = _digest(f"{kind} {text}")
                    for key, value in zip(found, (high, low, kind, index, name), strict=True):
                        found[key].append(value)
        columns = {key: np.array(found[key], dtype=np.int64) for key in found if key != "id"}
        return columns | {
            "id": np.array(found["id"], dtype=object),
            **self._bucket(columns["high"]),
        }

    def candidates(self, rows: tuple[Partition, dict[int, tuple[int, int | None]]]) -> Columns:
        """Return the keys of rows in the index, and of those that share an address.

        Args:
            rows: A partition; of rows that repeat contents or have an address that another has,
                which row stands for them and the address's group.
        """
        partition, known = rows
        keys: list[int] = []
        marks: list[int] = []
        places: list[int] = []
        for index, _, reading in _readings(partition, self.output):
            stands, address = known.get(index, (index, None))
            if address is not None:
                _append((keys, marks, places), (address, _SAME_ADDRESS, stands))
            if stands == index:
                for number, key in enumerate(
                    band_keys(reading.grams(), threshold=self.threshold, seed=self.seed)
                ):
                    high, _ = _digest(str(number).encode() + b" " + key)
                    _append((keys, marks, places), (high, _BAND, index))
        columns = {
            "key": np.array(keys, dtype=np.int64),
            "mark": np.array(marks, dtype=np.int64),
            "index": np.array(places, dtype=np.int64),
        }
        return columns | self._bucket(columns["key"])

    def texts(self, rows: tuple[Partition, dict[int, tuple[int, int | None]]]) -> Columns:
        """Return the texts of the rows that stand for themselves, as rows of a join."""
        partition, known = rows
        found: list[tuple[int, str]] = []
        for index, _, reading in _readings(partition, self.output):
            if known.get(index, (index, None))[0] == index:
                figures = sorted(map(str, reading.figures))
                found.append((index, json.dumps([reading.form, figures])))
        places = np.array([index for index, _ in found], dtype=np.int64)
        none = np.full(len(found), -1, dtype=np.int64)
        return {
            "index": places,
            "other": places,
            "mark": none,
            "text": np.array([text for _, text in found], dtype=object),
            **self._bucket(places),
        }

    def pairs(self, batch: Columns) -> Columns:
        """Return the pairs of rows that share a key, in a bucket of keys."""
        found: set[tuple[int, int, int]] = set()
        order = np.lexsort((batch["index"], batch["mark"], batch["key"]))
        key, mark, index = (batch[name][order] for name in ("key", "mark", "index"))
        ends = np.flatnonzero((key[1:] != key[:-1]) | (mark[1:] != mark[:-1])) + 1
        for group, kind in zip(
            np.split(index, ends), mark[np.concatenate(([0], ends))].tolist(), strict=True
        ):
            members = np.unique(group).tolist()
            for at, one in enumerate(members):
                found.update((one, other, kind) for other in members[at + 1 :])
        ordered = np.array(sorted(found), dtype=np.int64).reshape(-1, 3)
        return self._joined(ordered[:, 0], ordered[:, 1], ordered[:, 2], [""] * len(ordered))

    def with_first(self, batch: Columns) -> Columns:
        """Give each pair of a bucket the text of its first row, and turn it to its second."""
        texts = _texts_in(batch)
        pairs = batch["mark"] >= 0
        triples = zip(*(batch[n][pairs].tolist() for n in ("index", "other", "mark")), strict=True)
        found = sorted(set(triples))
        columns = np.array(found, dtype=np.int64).reshape(-1, 3)
        return self._joined(
            columns[:, 1], columns[:, 0], columns[:, 2], [texts[one] for one, _, _ in found]
        )

    def edges(self, batch: Columns) -> Columns:
        """Compare the pairs of a bucket, and return those that are alike."""
        texts = _texts_in(batch)
        edges: list[tuple[int, int, int, float]] = []
        read: dict[str, tuple[frozenset[str], frozenset[Decimal]]] = {}
        for index, other, mark, text in zip(
            *(batch[name].tolist() for name in ("index", "other", "mark", "text")), strict=True
        ):
            if mark < 0:
                continue
            sides = []
            for one in (texts[index], text):
                if one not in read:
                    form, figures = json.loads(one)
                    read[one] = (
                        Reading(form, frozenset(), None).grams(),
                        frozenset(map(Decimal, figures)),
                    )
                sides.append(read[one])
            (grams, own), (others, theirs) = sides
            alike = similarity(grams, others)
            if mark == _SAME_ADDRESS or (
                alike >= self.threshold and not differ_in_figures(own, theirs)
            ):
                edges.append((other, index, mark, alike))
        return {
            "first": np.array([one[0] for one in edges], dtype=np.int64),
            "second": np.array([one[1] for one in edges], dtype=np.int64),
            "mark": np.array([one[2] for one in edges], dtype=np.int64),
            "similarity": np.array([one[3] for one in edges], dtype=np.float64),
        }

    def _joined(self, index: Any, other: Any, mark: Any, texts: Sequence[str]) -> Columns:
        return {
            "index": index,
            "other": other,
            "mark": mark,
            "text": np.array(texts, dtype=object),
            **self._bucket(index),
        }

    def _bucket(self, keys: Any) -> Columns:
        return {"bucket": np.mod(keys, self.buckets)}


def find_decisions(
    partitions: Sequence[Partition],
    against: Sequence[Partition],
    output: Output,
    *,
    threshold: float,
    seed: int,
    cpus: int,
) -> None:
    """Write down which rows of an input are duplicates, and of which; once for an output.

    Args:
        against: Another set, whose rows have places below 0.
        output: The output, which is given notes of each partition's duplicates.
        threshold: Similarity from which two texts are one.
        seed: Seed of the index's hash functions.
    """
    done = output.place.child(_DONE)
    if done.read_json() is not None:
        return
    every = [*against, *partitions]
    rows = sum(one.rows for one in every)
    shuffle = Shuffle(threshold, seed, max(cpus, -(-rows // _PER_BUCKET)), output)
    grouped = _shuffled(dataset_of(every, shuffle.groups), shuffle.buckets, _repeated)
    groups: dict[int, dict[int, int]] = defaultdict(dict)
    ids: dict[int, str] = {}
    for row in rows_of(grouped):
        groups[row["index"]][row["kind"]] = row["group"]
        ids[row["index"]] = row["id"]
    known = [(one, _known(one, groups)) for one in every]
    pairs = _shuffled(dataset_of(known, shuffle.candidates), shuffle.buckets, shuffle.pairs)
    texts = dataset_of(known, shuffle.texts)
    texts = texts.materialize()
    first = _shuffled(pairs.union(texts), shuffle.buckets, shuffle.with_first)
    compared = _shuffled(first.union(texts), shuffle.buckets, shuffle.edges)
    near: dict[int, dict[int, float]] = defaultdict(dict)
    same: dict[tuple[int, int], float] = {}
    for row in rows_of(compared):
        one, other = row["first"], row["second"]
        if row["mark"] == _SAME_ADDRESS:
            same[one, other] = row["similarity"]
        else:
            near[one][other] = near[other][one] = row["similarity"]
    decided = decide(groups, near, same)
    _write(decided, groups, partitions, output, ids)
    done.write(json.dumps({"duplicates": len(decided)}).encode())


def decide(
    groups: dict[int, dict[int, int]],
    near: dict[int, dict[int, float]],
    same: dict[tuple[int, int], float],
) -> dict[int, tuple[int, str, float]]:
    """Return which rows are duplicates: of which row, how, and how alike the two are.

    Args:
        groups: Of rows that share something with another: by kind, the first row that shares it.
        near: Of rows that stand for their contents: those that are alike, and how much.
        same: How alike two such rows are that share an address.

    Rows below 0 are another set's, and are all kept.
    """
    kept: dict[tuple[int, int], int] = {}  # by kind and group, the first row that is kept
    found: dict[int, tuple[int, str, float]] = {}
    for row in sorted({*groups, *near}):
        own = groups.get(row, {})
        stands = own.get(_CONTENTS, row)
        form, address = ((kind, own[kind]) if kind in own else None for kind in (_FORM, _ADDRESS))
        if row >= 0:
            if form in kept:
                found[row] = (kept[form], "exact", 1.0)
            elif address in kept:
                before = kept[address]
                other = groups.get(before, {}).get(_CONTENTS, before)
                pair = (min(stands, other), max(stands, other))
                found[row] = (before, "address", 1.0 if stands == other else same[pair])
            else:
                alike = [
                    (-value, kept[_CONTENTS, other])
                    for other, value in near.get(stands, {}).items()
                    if (_CONTENTS, other) in kept
                ]
                if alike:
                    value, before = min(alike)
                    found[row] = (before, "near", -value)
        if row not in found:
            for key in (form, address, (_CONTENTS, stands)):
                if key is not None:
                    kept.setdefault(key, row)
    return found


def _write(
    decided: dict[int, tuple[int, str, float]],
    groups: dict[int, dict[int, int]],
    partitions: Sequence[Partition],
    output: Output,
    ids: dict[int, str],
) -> None:
    places = sorted(decided)
    starts = np.searchsorted(places, [one.offset for one in partitions])
    wanted = {of for of, _, _ in decided.values() if of not in ids}
    for partition in partitions if wanted else ():
        here = [one for one in wanted if 0 <= one - partition.offset < partition.rows]
        if here:
            ids |= {
                index: name for index, name, _ in _readings(partition, output) if index in wanted
            }
    for partition, start, end in zip(partitions, starts, [*starts[1:], len(places)], strict=True):
        rows = [
            {
                "index": place,
                "of": ids[(of := decided[place])[0]],
                "kind": of[1],
                "similarity": of[2],
                "other_set": of[0] < 0,
            }
            for place in places[start:end]
        ]
        if rows:
            output.notes(partition).write(part_bytes(rows))


def _duplicate(place: int, note: dict[str, Any]) -> Duplicate:
    return Duplicate(
        place, note["of"], note["kind"], note["similarity"], other_set=note["other_set"]
    )


def _readings(partition: Partition, output: Output) -> Iterator[tuple[int, str, Reading]]:
    """Yield place, id and reading of each news item, the first of those with one id."""
    repeats = repeats_of(output, partition)
    before = partition.offset - partition.fragment.first
    for place, row in read_fragment(partition.fragment):
        if isinstance(row, BadRow) or before + place in repeats:
            continue
        item = None
        with suppress(InputError):  # a row without an item fails where it is written
            item = item_of(row)
        if item is None:
            continue
        yield before + place, item.id, Reading.of(Text(item.id, item.paragraph, item.url))


def _repeated(batch: Columns) -> Columns:
    """Return the rows of a bucket whose key another row has, each with the first of them."""
    order, starts = runs_of(batch)
    sizes = np.diff(np.append(starts, len(order)))
    many, index = np.repeat(sizes > 1, sizes), batch["index"][order]
    return {
        "index": index[many],
        "kind": batch["kind"][order][many],
        "group": index[np.repeat(starts, sizes)][many],
        "id": batch["id"][order][many],
    }


def _known(
    partition: Partition, groups: dict[int, dict[int, int]]
) -> dict[int, tuple[int, int | None]]:
    found = {}
    for index in range(partition.offset, partition.offset + partition.rows):
        if own := groups.get(index):
            found[index] = (own.get(_CONTENTS, index), own.get(_ADDRESS))
    return found


def _shuffled(dataset: Any, buckets: int, work: Any) -> Any:
    return dataset.groupby("bucket", num_partitions=buckets).map_groups(work, batch_format="numpy")


def _texts_in(batch: Columns) -> dict[int, str]:
    own = batch["mark"] < 0
    return dict(zip(batch["index"][own].tolist(), batch["text"][own].tolist(), strict=True))


def _contents(reading: Reading) -> str:
    return json.dumps([reading.form, sorted(map(str, reading.figures))])


def _digest(text: str | bytes) -> tuple[int, int]:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    digest = hashlib.blake2b(data, digest_size=16).digest()
    return int.from_bytes(digest[:8], signed=True), int.from_bytes(digest[8:], signed=True)


def _append(columns: Iterable[list[int]], values: Iterable[int]) -> None:
    for column, value in zip(columns, values, strict=True):
        column.append(value)


@dataclass(frozen=True)
class DedupeStage:
    """``news dedupe``: items in, those that repeat none before them out.

    Attributes:
        against: Files of items that must not come again.
        near: Similarity from which two items are one.
        seed: Seed of the index's hash functions.
    """

    against: tuple[str, ...] = ()
    near: float = 0.8
    seed: int = 1
    name: str = "`news dedupe`"
    partition_rows: int = 5_000

    def facts(self) -> dict[str, Any]:
        """Return what decides the results."""
        against = [sha256_of(path) for path in self.against]
        return {"near": self.near, "seed": self.seed, "against": against}

    def key(self, fields: dict[str, Any]) -> str | None:
        """Return the item's id: rows with the same title and summary have the same."""
        return item_of(fields).id

    def prepare(self, partitions: Sequence[Partition], output: Output, cpus: int) -> None:
        """Find the duplicates, and note of each row that is one what it repeats."""
        others: list[Partition] = []
        rows = [row for path in self.against for row in news_rows(path)]
        if rows:
            file = output.place.child("_work/against.jsonl")
            lines = "".join(json_line(news_record(row.item, row.fields)) for row in rows)
            file.write(lines.encode())
            (fragment,) = fragments_of(file, len(rows)).fragments
            others.append(Partition(-1, -len(rows), fragment, len(rows)))
        find_decisions(partitions, others, output, threshold=self.near, seed=self.seed, cpus=cpus)

    def open(self) -> Callable[[Sequence[Given]], Made]:
        """Return the work."""

        def work(rows: Sequence[Given]) -> Made:
            made = Made()
            for row in rows:
                item = item_of(row.fields)
                if row.repeats is not None:
                    why = f"repeats the article of line {row.repeats + 1}"
                    record = news_record(item, row.fields)
                    made.add(REJECTS, row.index, {**record, "dropped_because": why})
                    made.counts["repeated"] += 1
                    continue
                duplicate = None if row.note is None else _duplicate(row.index, row.note)
                record, event = kept_or_dropped(item, row.fields, duplicate, self.near)
                made.add(KEPT if duplicate is None else REJECTS, row.index, record)
                made.add(LEDGER, row.index, event.model_dump(exclude_none=True))
                made.counts["kept" if duplicate is None else duplicate.kind] += 1
            return made

        return work
