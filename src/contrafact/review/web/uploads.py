"""Uploads of managers: each is stored in a temporary folder and read with limits.

A file of a few kilobytes can unpack to gigabytes, so it is first read in a separate process with
limits on memory and time.
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
"""The most rows of an upload: more than a team reviews in a year."""
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
    """Return the built-in project that a form names, or the project in its TOML file.

    Raises:
        InputError: There is no project, or it is not valid.
    """
    if file is not None and file.filename:
        content = file.file.read(_PROJECT_BYTES + 1)
        if len(content) > _PROJECT_BYTES:
            raise InputError("the project's file is too large", hint="upload a short TOML file")
        try:
            return parse_project(content.decode("utf-8"), "the project's file")
        except UnicodeDecodeError as error:
            raise InputError("the project's file is not UTF-8", hint="save it as UTF-8") from error
    if name not in builtin_projects():
        raise InputError("no project is chosen", hint="choose one, or upload a project's file")
    return load_project(name)


@contextmanager
def uploaded(file: UploadFile) -> Iterator[Path]:
    """Provide an upload as a temporary file; error messages have the name of the sender's file.

    Raises:
        InputError: The file exceeds a limit or cannot be read, or the block raises it.
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
    """Return the name of the sender's file, without what cannot be shown."""
    base = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    plain = "".join(c if c.isprintable() else "?" for c in base)
    return plain[-80:] or "the file"
