"""Rows as Parquet and back: in the end all parts of a table have the same columns and types.

Lists and objects are stored as such if all values in a column have one type. Otherwise each value
is JSON text, in a column with a mark, by which this program restores the values.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow  # type: ignore[import-untyped]
from pyarrow import parquet

from contrafact.files.tables import is_storable
from contrafact.stages.stage import INDEX
from contrafact.text.delimit import replace_surrogates

_MARK = {b"contrafact": b"json"}
_RAGGED = {b"contrafact": b"ragged"}  # the objects of the column did not all have the same keys
_GROUP = 10_000
"""Rows of a row group, which a later stage reads at once."""


def part_bytes(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return rows as a Parquet file, in order of their index, which is the first column.

    A column has the type text, boolean, integer, number, list or object if all its values have it;
    otherwise each value is JSON.
    """
    ordered = sorted(rows, key=lambda row: row[INDEX])
    names = dict.fromkeys((INDEX, *(str(name) for row in ordered for name in row)))
    columns = [_column(name, [row.get(name) for row in ordered]) for name in names]
    fields = [field for field, _ in columns]
    arrays = [array for _, array in columns]
    return _file_of(pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields)))


def common_schema(schemas: Iterable[Any]) -> Any:
    """Return a schema for all parts; columns without a common type become text."""
    columns: dict[str, list[Any]] = {}
    for schema in schemas:
        for field in schema:
            columns.setdefault(field.name, []).append(field.type)
    found = []
    for name, types in columns.items():
        try:
            parts = [pyarrow.schema([(name, kind)]) for kind in dict.fromkeys(types)]
            kind = pyarrow.unify_schemas(parts, promote_options="permissive").field(0).type
        except pyarrow.ArrowException:
            kind = pyarrow.string()
        found.append(pyarrow.field(name, pyarrow.string() if kind == pyarrow.null() else kind))
    return pyarrow.schema(found)


def recast(data: bytes, schema: Any) -> bytes:
    """Return a part with the columns and types of a schema that `common_schema` returned."""
    table = parquet.read_table(pyarrow.BufferReader(data))
    fields, arrays = [], []
    for field in schema:
        if field.name not in table.column_names:
            array = pyarrow.nulls(len(table), field.type)
        else:
            array, own = table[field.name], table.field(field.name)
            if own.type == field.type:
                field = own
            elif field.type == pyarrow.string() and own.type != pyarrow.null():
                values = array.to_pylist()
                if _is_ragged(own):
                    values = [_without_none(value) for value in values]
                field, array = _as_json(field.name, values)
            else:
                given, array = array, array.cast(field.type, safe=False)
                if _is_ragged(own) or array.to_pylist() != given.to_pylist():
                    field = field.with_metadata(_RAGGED)
        fields.append(field)
        arrays.append(array)
    return _file_of(pyarrow.Table.from_arrays(arrays, schema=pyarrow.schema(fields)))


def _file_of(table: Any) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink, row_group_size=_GROUP, compression="zstd")
    return sink.getvalue()


def from_cells(batch: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow batch, with the values of marked columns restored."""
    marks = {field.name: (field.metadata or {}).get(b"contrafact") for field in batch.schema}
    for row in batch.to_pylist():
        for name, mark in marks.items():
            if mark and row[name] is not None:
                row[name] = json.loads(row[name]) if mark == b"json" else _without_none(row[name])
        yield row


def _is_ragged(field: Any) -> bool:
    return (field.metadata or {}).get(b"contrafact") == _RAGGED[b"contrafact"]


def _without_none(value: Any) -> Any:
    """Return a value whose objects have no keys with None, which Arrow adds for missing keys."""
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value


def from_bytes(data: bytes) -> Iterator[dict[str, Any]]:
    for batch in parquet.ParquetFile(pyarrow.BufferReader(data)).iter_batches():
        yield from from_cells(batch)


def _column(name: str, values: list[Any]) -> tuple[Any, Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {str}:
        texts = [value if value is None else replace_surrogates(value) for value in values]
        kind = pyarrow.string() if kinds else pyarrow.null()
        return pyarrow.field(name, kind), pyarrow.array(texts, kind)
    if kinds == {int, float}:
        values = [value if value is None else float(value) for value in values]
    elif len(kinds) > 1:
        return _as_json(name, values)
    try:
        array = pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError, UnicodeError):
        return _as_json(name, values)
    if not is_storable(array.type):
        return _as_json(name, values)
    whole = not pyarrow.types.is_nested(array.type) or array.to_pylist() == values
    return pyarrow.field(name, array.type, metadata=None if whole else _RAGGED), array


def _as_json(name: str, values: list[Any]) -> tuple[Any, Any]:
    texts = [
        value
        if value is None
        else replace_surrogates(json.dumps(value, ensure_ascii=False, default=str))
        for value in values
    ]
    field = pyarrow.field(name, pyarrow.string(), metadata=_MARK)
    return field, pyarrow.array(texts, pyarrow.string())
