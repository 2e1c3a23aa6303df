"""Rows as Parquet and back: each part has the columns and types that all parts of a table have.

Lists and objects are JSON text, in columns that are marked as such, so that parts never differ in
the types inside them; read by this program they are lists and objects again.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow  # type: ignore[import-untyped]
from pyarrow import parquet

from contrafact.bulk.stage import INDEX
from contrafact.text.delimit import replace_surrogates

__all__ = ["from_bytes", "from_cells", "part_bytes"]

_MARK = {b"contrafact": b"json"}
_GROUP = 10_000
"""Rows of a row group: what a later stage reads at once of a part."""


def part_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as a Parquet file, in order of their index, which is the first column.

    A column is text, true or false, whole numbers or numbers if all its values are; else each
    value is JSON. One without any value is text.
    """
    ordered = sorted(rows, key=lambda row: row[INDEX])
    names = dict.fromkeys((INDEX, *(str(name) for row in ordered for name in row)))
    columns = [_column(name, [row.get(name) for row in ordered]) for name in names]
    fields = [field for field, _ in columns]
    arrays = [array for _, array in columns]
    sink = io.BytesIO()
    table = pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields))
    parquet.write_table(table, sink, row_group_size=_GROUP, compression="zstd")
    return sink.getvalue()


def from_cells(batch: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow batch, JSON columns of our own read."""
    marked = [
        field.name
        for field in batch.schema
        if field.metadata and field.metadata.get(b"contrafact") == b"json"
    ]
    for row in batch.to_pylist():
        for name in marked:
            if row[name] is not None:
                row[name] = json.loads(row[name])
        yield row


def from_bytes(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, JSON columns of our own read."""
    for batch in parquet.ParquetFile(pyarrow.BufferReader(data)).iter_batches():
        yield from from_cells(batch)


def _column(name: str, values: list[Any]) -> tuple[Any, Any]:
    kinds = {type(value) for value in values if value is not None}
    if not kinds or kinds == {str}:
        texts = [value if value is None else replace_surrogates(value) for value in values]
        return pyarrow.field(name, pyarrow.string()), pyarrow.array(texts, pyarrow.string())
    if kinds == {bool}:
        return pyarrow.field(name, pyarrow.bool_()), pyarrow.array(values, pyarrow.bool_())
    whole = kinds == {int} and all(v is None or -(2**63) <= v < 2**63 for v in values)
    if whole:
        return pyarrow.field(name, pyarrow.int64()), pyarrow.array(values, pyarrow.int64())
    if kinds <= {int, float}:
        numbers = [value if value is None else float(value) for value in values]
        return pyarrow.field(name, pyarrow.float64()), pyarrow.array(numbers, pyarrow.float64())
    if len(kinds) == 1 and not kinds & {list, dict, int}:  # days, times, bytes, decimals
        array = pyarrow.array(values)
        return pyarrow.field(name, array.type), array
    texts = [
        value
        if value is None
        else replace_surrogates(json.dumps(value, ensure_ascii=False, default=str))
        for value in values
    ]
    field = pyarrow.field(name, pyarrow.string(), metadata=_MARK)
    return field, pyarrow.array(texts, pyarrow.string())
