"""The database: SQLite in a file by default, PostgreSQL by URL. Migrations make its tables."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from contrafact.errors import InputError

__all__ = ["connect", "database_url", "migrate", "reading"]

_MEND = "give a file, or postgresql://user@host/name"
_PATIENCE = 30_000  # milliseconds that a writer waits for another
_MIGRATION_LOCK = 0x636F6E74


def database_url(given: str) -> URL:
    """Return the URL of a database: a file's name stands for SQLite.

    Raises:
        InputError: It is the URL of another kind of database, or of one in memory.
    """
    if "://" not in given:
        return URL.create("sqlite", database=str(Path(given).absolute()))
    try:
        url = make_url(given)
    except ArgumentError as error:
        raise InputError("this is no database's URL", hint=_MEND) from error
    kind = url.get_backend_name()
    if kind not in ("sqlite", "postgresql", "postgres"):
        raise InputError(f"'{kind}' databases are not supported", hint=_MEND)
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise InputError("a database in memory would forget every decision", hint=_MEND)
    return url.set(drivername="sqlite" if kind == "sqlite" else "postgresql+psycopg")


def connect(given: str) -> Engine:
    """Return an engine on a database, whose tables are there and up to date.

    Every transaction of SQLite takes the write lock when it begins, so that what it has read is
    still so when it writes; its log is synced before a commit returns.

    Raises:
        InputError: The database cannot be reached, or is not one of ours.
    """
    url = database_url(given)
    shown = url.render_as_string(hide_password=True)
    lite = url.get_backend_name() == "sqlite"
    if lite and not Path(str(url.database)).parent.is_dir():
        raise InputError("the folder does not exist", file=url.database, hint="make it first")
    engine = create_engine(url, pool_pre_ping=not lite, pool_size=10, max_overflow=20)
    if lite:
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
    try:
        migrate(engine)
    except DBAPIError as error:
        engine.dispose()
        said = str(error.orig).strip().splitlines()[0]
        raise InputError(f"the database cannot be used: {said}", file=shown, hint=_MEND) from error
    return engine


def reading(engine: Engine) -> Engine:
    """Return the engine for transactions that only read: on SQLite they wait for no writer."""
    return engine.execution_options(contrafact_reads=True)


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring a database's tables up to date; two processes that start together take turns."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    folder = files("contrafact.review.store").joinpath("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def _prepare(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver begins no transaction of its own
    for pragma in (
        f"busy_timeout = {_PATIENCE}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get("contrafact_reads", False)
    # By the driver itself: the way through the library costs as much as a query.
    driver = connection.connection.dbapi_connection
    assert driver is not None
    driver.execute("BEGIN" if reads else "BEGIN IMMEDIATE")
