"""Notes on rows that depend on the whole input: which rows are repeats, and a stage's findings.

Every partition sends the digests of its keys, 24 bytes a row; the driver compares them, and the
first of the rows with the same digest is kept. The notes are written once for an output, in a file
for each partition that has such rows.
"""

import hashlib
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contrafact.errors import InputError
from contrafact.stages.stage import INDEX, InputRow, Stage, Survey
from contrafact_ray.cluster import mapped
from contrafact_ray.fragments import BadRow
from contrafact_ray.partitions import OutputFolder, Partition
from contrafact_ray.tables import part_bytes

_DONE = "_work/notes.json"

Places = NDArray[np.int64]


def write_notes(stage: Stage, partitions: Sequence[Partition], output: OutputFolder) -> None:
    """Write, once for an output, which rows repeat another, and the stage's findings on rows."""
    done = output.place.child(_DONE)
    if done.read_json() is not None:
        return
    places, first = _repeats(stage, partitions)
    found = stage.prepare(
        Survey(
            lambda work: mapped(partitions, partial(_looked, stage=stage, work=work), ordered=True),
            set(places.tolist()),
            elsewhere=True,
        )
    )
    starts = [partition.offset for partition in partitions]
    notes: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for place, note in found.items():
        notes[bisect_right(starts, place) - 1].append({INDEX: place, **note})
    ends = np.searchsorted(places, [*starts, np.iinfo(np.int64).max])
    for at, (low, high) in enumerate(pairwise(ends)):
        pairs = zip(places[low:high].tolist(), first[low:high].tolist(), strict=True)
        if several := [{INDEX: place, "first": earlier} for place, earlier in pairs] + notes[at]:
            output.notes(partitions[at]).write(part_bytes(several))
    done.write(json.dumps({"rows": len(places) + len(found)}).encode())


def _looked(
    partition: Partition, *, stage: Stage, work: Callable[[Sequence[InputRow]], Any]
) -> Any:
    """Return a function's result for the usable rows of a partition."""
    return work(list(_readable(partition, stage)))


def _readable(partition: Partition, stage: Stage) -> Iterator[InputRow]:
    for place, row in partition.read():
        if not isinstance(row, BadRow):
            given = InputRow(place, row)
            with suppress(InputError):  # a bad row fails later, when it is processed
                stage.read(given)
                yield given


def _repeats(stage: Stage, partitions: Sequence[Partition]) -> tuple[Places, Places]:
    if type(stage).key is Stage.key:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    batches = list(mapped(partitions, partial(_keys_of, stage=stage)))
    return repeated_rows({name: np.concatenate([b[name] for b in batches]) for name in batches[0]})


def _keys_of(partition: Partition, *, stage: Stage) -> dict[str, Any]:
    """Return the digests of a partition's keys, as two numbers each, with their rows' indices."""
    digests, places = bytearray(), []
    for given in _readable(partition, stage):
        if (key := stage.key(given)) is not None:
            text = key.encode("utf-8", "surrogatepass")
            digests += hashlib.blake2b(text, digest_size=16).digest()
            places.append(given.index)
    halves = np.frombuffer(bytes(digests), dtype=np.int64).reshape(-1, 2)
    return {"high": halves[:, 0], "low": halves[:, 1], "index": np.array(places, dtype=np.int64)}


def repeated_rows(batch: dict[str, Any]) -> tuple[Places, Places]:
    """Return the rows of a batch that repeat an earlier row, in order, and each one's first row."""
    order = np.lexsort((batch["index"], batch["low"], batch["high"]))
    high, low, index = (batch[name][order] for name in ("high", "low", "index"))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    starts = np.flatnonzero(new)
    first = np.repeat(index[starts], np.diff(np.append(starts, len(order))))
    again = np.argsort(index[~new])
    return index[~new][again], first[~new][again]
