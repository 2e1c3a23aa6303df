"""A studio's database copied while it is served, and put back."""

import sqlite3
from contextlib import closing
from pathlib import Path

from contrafact.errors import InputError
from contrafact.files.atomic import atomic_path
from contrafact.review.store.database import database_url
from contrafact.review.store.store import Store, verify

__all__ = ["backup", "restore"]


def backup(database: str, out: Path) -> int:
    """Copy a database of SQLite into a file, whole or not at all, though it is served meanwhile.

    Its owner alone can read the file. Returns how many reviews are in it.

    Raises:
        InputError: The database is no file, or not ours; ``out`` is there already.
    """
    source = _file_of(database, "pg_dump --format=custom")
    if not source.is_file():
        raise InputError("no such file", file=source, hint="check --db")
    _refuse_existing(out)
    with Store(database) as store:
        count = len(store.reviews())
    with (
        atomic_path(out) as temporary,
        closing(sqlite3.connect(source)) as here,
        closing(sqlite3.connect(temporary)) as there,
    ):
        here.backup(there)
        there.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
    out.chmod(0o600)
    return count


def restore(file: Path, database: str) -> list[str]:
    """Put a copy back as a database of SQLite, once its histories are proven.

    Returns the names of its reviews.

    Raises:
        InputError: The copy is no studio's database, or its state is not what its events say;
            the database is there already.
    """
    target = _file_of(database, "pg_restore")
    if not file.is_file():
        raise InputError("no such file", file=file, hint="check the path")
    _refuse_existing(target)
    with atomic_path(target) as temporary:
        with closing(sqlite3.connect(temporary)) as there, closing(sqlite3.connect(file)) as here:
            try:
                here.backup(there)
            except sqlite3.DatabaseError as error:
                raise InputError(f"is no studio's database: {error}", file=file) from error
        with Store(str(temporary)) as store:
            names = store.reviews()
            for name in names:
                if problems := verify(store, name):
                    raise InputError(
                        f"the review '{name}' is not what its events say: {problems[0]}",
                        file=file,
                        hint="take an older copy",
                    )
        with closing(sqlite3.connect(temporary)) as there:
            there.execute("PRAGMA journal_mode = DELETE")
    target.chmod(0o600)
    return names


def _file_of(database: str, tool: str) -> Path:
    url = database_url(database)
    if url.get_backend_name() != "sqlite":
        raise InputError("is no file", file=database.split("@")[-1], hint=f"use {tool}")
    return Path(str(url.database))


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise InputError("is there already", file=path, hint="name another file")
