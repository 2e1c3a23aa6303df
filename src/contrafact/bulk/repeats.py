"""Which rows repeat another anywhere in the input: a shuffle by key, by Ray Data.

Every partition sends the digests of its keys; rows with one digest meet, the first of them stays,
and the others go back to their partitions, which find them in a file of their own.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow  # type: ignore[import-untyped]
from pyarrow import parquet

from contrafact.bulk.fragments import BadRow, read_fragment
from contrafact.bulk.partitions import Output, Partition
from contrafact.bulk.stage import Uniqueness

__all__ = ["HERE", "find_repeats", "firsts", "keys_of", "repeats_of", "runs_of"]

HERE = 1_000_000
"""Rows up to which their digests meet in the driver, at 32 bytes each, and not in a shuffle."""

_PER_BUCKET = 500_000
_DONE = "_work/repeats.json"


def keys_of(stage: Uniqueness, partition: Partition) -> dict[str, Any]:
    """Return the digests of a partition's keys, as two numbers each, with their rows' places."""
    before = partition.offset - partition.fragment.first
    digests, places = bytearray(), []
    for place, row in read_fragment(partition.fragment):
        if isinstance(row, BadRow):
            continue
        key = None
        with suppress(Exception):  # a row without a key fails where it is worked on
            key = stage.key(row)
        if key is not None:
            text = key.encode("utf-8", "surrogatepass")
            digests += hashlib.blake2b(text, digest_size=16).digest()
            places.append(before + place)
    halves = np.frombuffer(bytes(digests), dtype=np.int64).reshape(-1, 2)
    return {
        "high": halves[:, 0],
        "low": halves[:, 1],
        "index": np.array(places, dtype=np.int64),
        "partition": np.full(len(places), partition.number, dtype=np.int64),
    }


def runs_of(batch: dict[str, Any]) -> tuple[Any, Any]:
    """Return the order that brings equal digests together, and where each run of them begins."""
    order = np.lexsort((batch["index"], batch["low"], batch["high"]))
    high, low = batch["high"][order], batch["low"][order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    return order, np.flatnonzero(new)


def firsts(batch: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of a batch that repeat one before them, each with the first."""
    order, starts = runs_of(batch)
    index = batch["index"][order]
    first = np.repeat(index[starts], np.diff(np.append(starts, len(order))))
    again = np.ones(len(order), dtype=np.bool_)
    again[starts] = False
    partition = batch["partition"][order][again]
    return {"index": index[again], "first": first[again], "partition": partition}


def find_repeats(
    stage: Uniqueness, partitions: Sequence[Partition], output: Output, cpus: int
) -> int:
    """Write down which rows repeat another, and return how many; once for an output.

    Args:
        stage: What knows the key of a row.
        output: The output; each partition's repeats lie in its ``_work``.
    """
    done = output.place.child(_DONE)
    if (known := done.read_json()) is not None:
        return int(known["repeats"])
    from contrafact.bulk.cluster import batches_of, dataset_of, rows_of

    rows = sum(one.rows for one in partitions)
    buckets = max(cpus, -(-rows // _PER_BUCKET))

    def keys(partition: Partition) -> dict[str, Any]:
        found = keys_of(stage, partition)
        return {**found, "bucket": found["high"] % buckets}

    def keep(batch: dict[str, Any]) -> dict[str, Any]:
        number = int(batch["partition"][0])
        columns = {name: pyarrow.array(batch[name]) for name in ("index", "first")}
        sink = pyarrow.BufferOutputStream()
        parquet.write_table(pyarrow.table(columns), sink)
        _file(output, f"part-{number:05}").write(sink.getvalue().to_pybytes())
        return {"partition": np.array([number]), "rows": np.array([len(batch["index"])])}

    digests = dataset_of(partitions, keys)
    if rows <= HERE:
        batches = [one for one in batches_of(digests) if len(one["index"])]
        total = 0
        if batches:
            found = firsts(
                {name: np.concatenate([b[name] for b in batches]) for name in batches[0]}
            )
            total = len(found["index"])
            for number in np.unique(found["partition"]):
                keep({name: column[found["partition"] == number] for name, column in found.items()})
    else:
        shuffled = (
            digests.groupby("bucket", num_partitions=buckets)
            .map_groups(firsts, batch_format="numpy")
            .groupby("partition", num_partitions=min(buckets, len(partitions)))
            .map_groups(keep, batch_format="numpy")
        )
        total = sum(int(row["rows"]) for row in rows_of(shuffled))
    done.write(json.dumps({"repeats": total}).encode())
    return total


def repeats_of(output: Output, partition: Partition) -> dict[int, int]:
    """Return, by place, the place of the first row that a row of the partition repeats."""
    data = _file(output, partition.name).read()
    if data is None:
        return {}
    table = parquet.read_table(pyarrow.BufferReader(data))
    return dict(zip(table["index"].to_pylist(), table["first"].to_pylist(), strict=True))


def _file(output: Output, name: str) -> Any:
    return output.place.child(f"_work/repeats/{name}.parquet")
