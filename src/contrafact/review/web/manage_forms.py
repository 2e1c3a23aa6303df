"""What a manager's forms bring: files, projects, pairs of names.

What is uploaded is written to a folder of its own under a name of ours; of the name that it was
sent with only the suffix is used, and the rest shown in messages.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from shutil import copyfileobj

from fastapi import UploadFile

from contrafact.errors import InputError
from contrafact.review.loading import builtin_projects, load_project, project_from
from contrafact.review.project import Project

__all__ = ["pairs", "read_project", "shown_name", "uploaded"]

_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
_PROJECT_BYTES = 256 * 1024


def read_project(name: str, file: UploadFile | None) -> Project:
    """Return the project that a form names, or brings as a TOML file.

    Raises:
        InputError: It names none, or brings none that is sound.
    """
    if file is not None and file.filename:
        given = file.file.read(_PROJECT_BYTES + 1)
        if len(given) > _PROJECT_BYTES:
            raise InputError("the project's file is too large", hint="it is a short TOML file")
        try:
            return project_from(given.decode("utf-8"), "the project's file")
        except UnicodeDecodeError as error:
            raise InputError("the project's file is not UTF-8", hint="save it as UTF-8") from error
    if name not in builtin_projects():
        raise InputError("no project is named", hint="choose one, or upload its file")
    return load_project(name)


@contextmanager
def uploaded(file: UploadFile) -> Iterator[Path]:
    """Give what was uploaded as a file of ours; messages name it as its sender did.

    Raises:
        InputError: As the block does, with the sender's name in the place of ours.
    """
    suffix = PurePosixPath(file.filename or "").suffix.lower()
    with tempfile.TemporaryDirectory(prefix="contrafact-upload-") as folder:
        path = Path(folder) / f"upload{suffix if suffix in _SUFFIXES else ''}"
        with path.open("wb") as sink:
            copyfileobj(file.file, sink)
        try:
            yield path
        except InputError as error:
            where = shown_name(file) if error.file is not None else None
            raise InputError(error.problem, file=where, line=error.line, hint=error.hint) from error


def shown_name(file: UploadFile) -> str:
    """Return the name that a file was sent with, as far as it can be shown."""
    base = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    plain = "".join(c if c.isprintable() else "?" for c in base)
    return plain[-80:] or "the file"


def pairs(text: str, form: str) -> dict[str, str]:
    """Return the pairs that a field holds, one to a line.

    Args:
        text: What was written.
        form: What a pair looks like, for messages.

    Raises:
        InputError: A line is no pair.
    """
    found = {}
    for line in text.splitlines():
        name, equals, value = (part.strip() for part in line.partition("="))
        if not line.strip():
            continue
        if not equals or not name or not value:
            raise InputError(f"'{line[:40]}' is not of the form {form}")
        found[name] = value
    return found
