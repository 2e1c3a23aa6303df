"""What managers upload: written to a folder of its own under a name of ours, and bounded unpacked.

A file of a few kilobytes can stand for gigabytes. What it unpacks to is looked at before its rows
are read: by what the file says of itself, and, where that can be little for much, by unpacking a
little at a time.
"""

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from shutil import copyfileobj

from fastapi import UploadFile

from contrafact.errors import InputError
from contrafact.review.project import Project, builtin_projects, load_project, parse_project

__all__ = ["MOST_ROWS", "read_project", "shown_name", "uploaded"]

MOST_ROWS = 200_000
"""Rows of one upload: more than a team reviews in a year."""
UNPACKED = 256 * 1024 * 1024
"""Bytes that an upload may unpack to."""
_BATCH = 64  # rows that are unpacked at once to see how large they are
_VALUES = 4_000_000  # of a JSON list
_LINES = 4 * MOST_ROWS  # of a text: cells may have line feeds in them
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".xlsx")
_PROJECT_BYTES = 64 * 1024
_HINT = f"send it in parts of at most {MOST_ROWS:,} rows"


def read_project(name: str, file: UploadFile | None) -> Project:
    """Return the project that a form names, or that it holds as a TOML file.

    Raises:
        InputError: It names none, or holds none that is valid.
    """
    if file is not None and file.filename:
        content = file.file.read(_PROJECT_BYTES + 1)
        if len(content) > _PROJECT_BYTES:
            raise InputError("the project's file is too large", hint="it is a short TOML file")
        try:
            return parse_project(content.decode("utf-8"), "the project's file")
        except UnicodeDecodeError as error:
            raise InputError("the project's file is not UTF-8", hint="save it as UTF-8") from error
    if name not in builtin_projects():
        raise InputError("no project is named", hint="choose one, or upload its file")
    return load_project(name)


@contextmanager
def uploaded(file: UploadFile) -> Iterator[Path]:
    """Give what was uploaded as a temporary file; messages name it as its sender did.

    Raises:
        InputError: It unpacks to too much, or as the block does.
    """
    suffix = PurePosixPath(file.filename or "").suffix.lower()
    with tempfile.TemporaryDirectory(prefix="contrafact-upload-") as folder:
        path = Path(folder) / f"upload{suffix if suffix in _SUFFIXES else ''}"
        with path.open("wb") as sink:
            copyfileobj(file.file, sink)
        try:
            _check_unpacked(path)
            yield path
        except InputError as error:
            where = shown_name(file) if error.file is not None else None
            raise error.at(where, error.line) from error


def shown_name(file: UploadFile) -> str:
    """Return the name that a file was sent with, as far as it can be shown."""
    base = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    plain = "".join(c if c.isprintable() else "?" for c in base)
    return plain[-80:] or "the file"


def _check_unpacked(path: Path) -> None:
    """Refuse a file that unpacks to more than is reviewed, before it fills the memory."""
    with path.open("rb") as stream:
        start = stream.read(4)
        stream.seek(0)
        if start == b"PAR1":
            _check_parquet(path)
        elif start == b"PK\x03\x04":
            _check_workbook(path)
        else:
            # Objects take many times the bytes that they are written in.
            marks = (b",", b"[") if path.suffix == ".json" else (b"\n",)
            values = 0
            while part := stream.read(1 << 20):
                values += sum(map(part.count, marks))
            if values > (_VALUES if path.suffix == ".json" else _LINES):
                raise _too_much(path)


def _check_parquet(path: Path) -> None:
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        if (
            file.metadata.num_rows > MOST_ROWS
            or sum(group.total_byte_size for group in groups) > UNPACKED
        ):
            raise _too_much(path)
        # One long text that every row repeats is written once: only unpacked it is large.
        size = 0
        for batch in file.iter_batches(batch_size=_BATCH):
            for column in batch.columns:
                if pyarrow.types.is_dictionary(column.type):
                    size += column.dictionary_decode().nbytes
                elif pyarrow.types.is_nested(column.type):  # with such texts in it, perhaps
                    size += len(str(column.to_pylist()))
                else:
                    size += column.nbytes
            if size > UNPACKED:
                raise _too_much(path)
    except (pyarrow.ArrowException, OSError, ValueError):
        return  # the reader of its rows says what is wrong with it


def _check_workbook(path: Path) -> None:
    try:
        with zipfile.ZipFile(path) as packed:
            if sum(part.file_size for part in packed.infolist()) > UNPACKED:
                raise _too_much(path)
    except zipfile.BadZipFile:
        return  # the reader of its rows says what is wrong with it


def _too_much(path: Path) -> InputError:
    return InputError("unpacks to more than is reviewed here", file=path, hint=_HINT)
