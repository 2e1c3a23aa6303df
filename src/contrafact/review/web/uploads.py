"""What managers upload: written to a folder of its own under a name of ours, and read with limits.

A file of a few kilobytes can stand for gigabytes, so it is read once in a process of its own, which
ends before it takes what others need.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from shutil import copyfileobj

from fastapi import UploadFile

from contrafact.errors import InputError
from contrafact.files.apart import read_apart
from contrafact.review.project import Project, builtin_projects, load_project, parse_project

MOST_ROWS = 200_000
"""Rows of one upload: more than a team reviews in a year."""
_MIB = 2**20
_LIMITS = {
    **dict.fromkeys(("size", "unpacked", "whole"), 256 * _MIB),
    "row": 16 * _MIB,
    "rows": MOST_ROWS,
    "columns": 1_000,
    "cells": 4_000_000,
    "depth": 32,
    "seconds": 60,
    "memory": 2_048 * _MIB,
}
_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".xlsx")
_PROJECT_BYTES = 64 * 1024


def read_project(name: str, file: UploadFile | None) -> Project:
    """Return the project that a form names, or holds as TOML; `InputError` if neither is valid."""
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
        InputError: It passes a limit or cannot be read, or as the block does.
    """
    suffix = PurePosixPath(file.filename or "").suffix.lower()
    with tempfile.TemporaryDirectory(prefix="contrafact-upload-") as folder:
        path = Path(folder) / f"upload{suffix if suffix in _SUFFIXES else ''}"
        with path.open("wb") as sink:
            copyfileobj(file.file, sink)
        try:
            read_apart(path, _LIMITS, "CONTRAFACT_UPLOAD_LIMITS")
            yield path
        except InputError as error:
            where = shown_name(file) if error.file is not None else None
            raise error.at(where, error.line) from error


def shown_name(file: UploadFile) -> str:
    """Return the name that a file was sent with, as far as it can be shown."""
    base = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    plain = "".join(c if c.isprintable() else "?" for c in base)
    return plain[-80:] or "the file"
