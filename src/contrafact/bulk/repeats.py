"""Which rows repeat another anywhere in the input, by the keys that a stage gives them.

Every partition sends the digests of its keys, 32 bytes a row; in the driver rows with one digest
meet, the first of them stays, and each partition finds its others in a file of its own.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pyarrow  # type: ignore[import-untyped]
from pyarrow import parquet

from contrafact.bulk.fragments import BadRow
from contrafact.bulk.partitions import Output, Partition
from contrafact.bulk.stage import Stage

__all__ = ["find_repeats", "firsts", "repeats_of"]

_DONE = "_work/repeats.json"


def _keys_of(partition: Partition, *, stage: Stage) -> dict[str, Any]:
    """Return the digests of a partition's keys, as two numbers each, with their rows' places."""
    digests, places = bytearray(), []
    for place, row in partition.read():
        if isinstance(row, BadRow):
            continue
        key = None
        with suppress(Exception):  # a row without a key fails where it is worked on
            key = stage.key(row)
        if key is not None:
            text = key.encode("utf-8", "surrogatepass")
            digests += hashlib.blake2b(text, digest_size=16).digest()
            places.append(place)
    halves = np.frombuffer(bytes(digests), dtype=np.int64).reshape(-1, 2)
    return {
        "high": halves[:, 0],
        "low": halves[:, 1],
        "index": np.array(places, dtype=np.int64),
        "partition": np.full(len(places), partition.number, dtype=np.int64),
    }


def firsts(batch: dict[str, Any]) -> dict[str, Any]:
    """Return the rows of a batch that repeat one before them, each with the first."""
    order = np.lexsort((batch["index"], batch["low"], batch["high"]))
    high, low, index = (batch[name][order] for name in ("high", "low", "index"))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    starts = np.flatnonzero(new)
    first = np.repeat(index[starts], np.diff(np.append(starts, len(order))))
    partition = batch["partition"][order][~new]
    return {"index": index[~new], "first": first[~new], "partition": partition}


def find_repeats(stage: Stage, partitions: Sequence[Partition], output: Output) -> None:
    """Write down, once for an output, which rows repeat another (in ``_work``)."""
    done = output.place.child(_DONE)
    if type(stage).key is Stage.key or done.read_json() is not None:
        return
    from contrafact.bulk.cluster import mapped

    digests = mapped(partitions, partial(_keys_of, stage=stage))
    batches = [one for one in digests if len(one["index"])]
    total = 0
    if batches:
        found = firsts({name: np.concatenate([b[name] for b in batches]) for name in batches[0]})
        total = len(found["index"])
        for number in np.unique(found["partition"]):
            own = found["partition"] == number
            table = pyarrow.table({name: found[name][own] for name in ("index", "first")})
            sink = pyarrow.BufferOutputStream()
            parquet.write_table(table, sink)
            _file(output, f"part-{number:05}").write(sink.getvalue().to_pybytes())
    done.write(json.dumps({"repeats": total}).encode())


def repeats_of(output: Output, partition: Partition) -> dict[int, int]:
    """Return, by place, the place of the first row that a row of the partition repeats."""
    data = _file(output, partition.name).read()
    if data is None:
        return {}
    table = parquet.read_table(pyarrow.BufferReader(data))
    return dict(zip(table["index"].to_pylist(), table["first"].to_pylist(), strict=True))


def _file(output: Output, name: str) -> Any:
    return output.place.child(f"_work/repeats/{name}.parquet")
