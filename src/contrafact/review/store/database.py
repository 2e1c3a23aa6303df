"""The database: SQLite in a file by default, PostgreSQL by URL; its tables and their rows.

Events are the truth; the present state of items and votes is kept next to them. The migrations in
``migrations/versions`` make the tables; a test holds that both are the same.
"""

import json
import os
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from alembic.util import CommandError
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem
from contrafact.review.events import Event
from contrafact.review.state import ReviewItem

__all__ = [
    "accounts", "attempts", "audit", "connect", "database_url", "event_of", "event_row",
    "events", "invites", "item_row", "items", "metadata", "migrate", "reading", "reviews",
    "sessions", "votes",
]  # fmt: skip

_HINT = "give a file, or postgresql://user@host/name"
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
        raise InputError("this is no database's URL", hint=_HINT) from error
    kind = url.get_backend_name()
    if kind not in ("sqlite", "postgresql", "postgres"):
        raise InputError(f"'{kind}' databases are not supported", hint=_HINT)
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise InputError("a database in memory would forget every decision", hint=_HINT)
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
    if lite:
        _keep_private(Path(str(url.database)))
    engine = create_engine(url, pool_pre_ping=not lite, pool_size=10, max_overflow=20)
    if lite:
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
    try:
        migrate(engine)
    except CommandError as error:
        engine.dispose()
        raise InputError(
            "the database was made by a newer version of contrafact, or by something else",
            file=shown,
            hint="use the version that made it: pip install --upgrade 'contrafact[review]'",
        ) from error
    except DBAPIError as error:
        engine.dispose()
        message = str(error.orig).strip().splitlines()[0]
        raise InputError(
            f"the database cannot be used: {message}", file=shown, hint=_HINT
        ) from error
    return engine


def _keep_private(path: Path) -> None:
    """Make the file of a new database, for its owner alone; SQLite gives its logs the same mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise os_problem(error, path, doing="cannot be made") from error


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


metadata = MetaData()

reviews = Table(
    "reviews",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("seq", Integer, nullable=False),
)
"""One row a review, with its last event's number. Whoever changes a review locks its row first."""

events = Table(
    "events",
    metadata,
    Column("review", String(200), ForeignKey("reviews.name"), nullable=False),
    Column("seq", Integer, nullable=False),
    Column("kind", String(40), nullable=False),
    Column("who", String(200), nullable=False),
    Column("at", String(40), nullable=False),
    Column("item", String(200)),
    Column("stage", String(200)),
    Column("round", Integer, nullable=False),
    Column("slot", Integer),
    Column("text_version", String(40)),
    Column("guidelines_version", String(40)),
    Column("request", String(200)),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("review", "seq", name="pk_events"),
    UniqueConstraint("review", "request", name="uq_events_request"),
    Index("ix_events_item", "review", "item"),
)
"""The history. A trigger refuses to change or delete a row."""

items = Table(
    "items",
    metadata,
    Column("review", String(200), ForeignKey("reviews.name"), nullable=False),
    Column("id", String(200), nullable=False),
    Column("stage", String(200)),
    Column("outcome", String(40)),
    Column("state", Text, nullable=False),
    PrimaryKeyConstraint("review", "id", name="pk_items"),
    Index("ix_items_stage", "review", "stage"),
)
"""Where every item is now."""

votes = Table(
    "votes",
    metadata,
    Column("review", String(200), ForeignKey("reviews.name"), nullable=False),
    Column("item", String(200), nullable=False),
    Column("stage", String(200), nullable=False),
    Column("round", Integer, nullable=False),
    Column("slot", Integer, nullable=False),
    Column("person", String(200), nullable=False),
    Column("seq", Integer, nullable=False),
    PrimaryKeyConstraint("review", "item", "stage", "round", "slot", name="pk_votes"),
    UniqueConstraint("review", "item", "stage", "round", "person", name="uq_votes_person"),
    Index("ix_votes_person", "review", "person"),
)
"""The votes that stand. The keys hold that a place is filled once, and by a person once."""

accounts = Table(
    "accounts",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("manager", Boolean, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("password", String(200)),
    Column("made", Float, nullable=False),
)
"""Who may sign in, under the name they have in reviews. No password until they chose one.

Times here and below are seconds since 1970.
"""

invites = Table(
    "invites",
    metadata,
    Column("token", String(64), primary_key=True),
    Column("account", String(200), ForeignKey("accounts.name"), nullable=False),
    Column("until", Float, nullable=False),
    Column("used", Float),
)
"""One-time links, by a hash of their secret."""

sessions = Table(
    "sessions",
    metadata,
    Column("token", String(64), primary_key=True),
    Column("account", String(200), ForeignKey("accounts.name"), nullable=False),
    Column("began", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Index("ix_sessions_account", "account"),
)
"""Who is signed in, by a hash of the cookie's secret."""

attempts = Table(
    "attempts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("address", String(100), nullable=False),
    Column("at", Float, nullable=False),
    Column("succeeded", Boolean),
    Index("ix_attempts_name", "name", "at"),
    Index("ix_attempts_address", "address", "at"),
)
"""Attempts to sign in, of the last day; ``succeeded`` is open until the password is looked at."""

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("who", String(200), nullable=False),
    Column("address", String(100), nullable=False),
    Column("action", String(40), nullable=False),
    Column("detail", Text, nullable=False),
)
"""What happened to accounts, sessions and reviews' management; rows are only ever added."""


def event_row(review: str, event: Event) -> dict[str, Any]:
    """Return the row that an event is kept as."""
    return {
        "review": review,
        "seq": event.seq,
        "kind": event.kind,
        "who": event.who,
        "at": event.when.isoformat(),
        "item": event.item,
        "stage": event.stage,
        "round": event.round,
        "slot": event.slot,
        "text_version": event.text_version,
        "guidelines_version": event.guidelines_version,
        "request": event.request,
        "body": _json(event.body),
    }


def event_of(row: Mapping[str, Any]) -> Event:
    """Return the event that a row keeps."""
    fields = {key: value for key, value in row.items() if key not in ("review", "at", "body")}
    when = datetime.fromisoformat(row["at"])
    return Event(**fields, when=when, body=json.loads(row["body"]))


def item_row(review: str, item: ReviewItem) -> dict[str, Any]:
    """Return the row that says where an item is now."""
    state = {
        "fields": item.fields,
        "text_version": item.text_version,
        "arrived": item.arrived.isoformat(),
        "why": item.why,
        "verdict": item.verdict,
        "disputed": item.disputed,
        "batch": item.batch,
        "rounds": item.rounds,
        "slots": [
            [slot.role, slot.person, slot.until and slot.until.isoformat(), slot.filled]
            for slot in item.slots
        ],
        "votes": [vote.seq for vote in item.votes],
    }
    return {
        "review": review,
        "id": item.id,
        "stage": item.stage,
        "outcome": item.outcome,
        "state": _json(state),
    }


def _json(value: object) -> str:
    # Escapes keep what a database's text cannot hold: NUL and lone surrogates.
    return json.dumps(value, sort_keys=True, ensure_ascii=True)
