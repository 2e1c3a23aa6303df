"""A studio's database copied while it is served, put back, and a review deleted from it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, delete, select, text

from contrafact.errors import InputError
from contrafact.files.atomic import atomic_path
from contrafact.review.export import history_rows, write_rows
from contrafact.review.store.accounts import Accounts
from contrafact.review.store.database import database_url, events, items, reviews, votes
from contrafact.review.store.store import Store, verify

__all__ = ["backup", "delete_review", "restore"]


def backup(database: str, out: Path) -> int:
    """Copy a studio's database into a file, whole or not at all, though it is served meanwhile.

    Args:
        database: The database; a file of SQLite.
        out: The file, which its owner alone can read.

    Returns:
        How many reviews are in it.

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
    """Put a copy back as a studio's database, once its histories are proven.

    Args:
        database: Where to put it; a file of SQLite that is not there yet.

    Returns:
        The names of its reviews.

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


def delete_review(store: Store, review: str, export: Path, who: str) -> int:
    """Write a review's history into a file, and delete the review.

    It is the one thing that takes events out; the audit log keeps that it was done.

    Args:
        export: Where its history goes first: ``.jsonl``, ``.csv`` or ``.parquet``.

    Returns:
        How many events were exported and deleted.

    Raises:
        InputError: There is no such review, the file is there or cannot be written, or somebody
            decided something meanwhile, which the file would lack: nothing is deleted then.
    """
    _refuse_existing(export)
    history = store.history(review)
    write_rows(history_rows(history), export)
    with store.engine.begin() as connection:
        chosen = select(reviews.c.seq).where(reviews.c.name == review).with_for_update()
        if connection.scalar(chosen) != history[-1].seq:
            export.unlink()
            raise InputError(
                f"'{review}' has gone on while it was exported", hint="close its stages, and repeat"
            )
        _keep_events(connection, False)
        for table in (votes, items, events):
            connection.execute(delete(table).where(table.c.review == review))
        connection.execute(delete(reviews).where(reviews.c.name == review))
        _keep_events(connection, True)
        Accounts(store.engine).note(connection, "review deleted", who, review, "")
    store.forget(review)
    return len(history)


def _keep_events(connection: Connection, keep: bool) -> None:
    """Let events be deleted within a transaction, or keep them again."""
    if connection.dialect.name == "postgresql":
        what = "ENABLE" if keep else "DISABLE"
        connection.execute(text(f"ALTER TABLE events {what} TRIGGER events_kept"))
    elif keep:
        connection.execute(
            text(
                "CREATE TRIGGER events_delete BEFORE delete ON events "
                "BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END"
            )
        )
    else:
        connection.execute(text("DROP TRIGGER events_delete"))


def _file_of(database: str, tool: str) -> Path:
    url = database_url(database)
    if url.get_backend_name() != "sqlite":
        raise InputError("is no file", file=database.split("@")[-1], hint=f"use {tool}")
    return Path(str(url.database))


def _refuse_existing(path: Path) -> None:
    if path.exists():
        raise InputError("is there already", file=path, hint="name another file")
