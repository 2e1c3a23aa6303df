"""The database, its tables and their rows: SQLite in a file by default, or PostgreSQL by its URL.

Events are the source of truth; the present state of items and votes is kept next to them. The
migrations in ``migrations/versions`` make the tables; a test checks that they match this module.
"""

import json
import os
import sqlite3
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.util import CommandError
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from contrafact.errors import InputError
from contrafact.files.atomic import os_problem
from contrafact.review.events import Event
from contrafact.review.state import ReviewItem

_HINT = "give a file, or postgresql://user@host/name"
_PATIENCE = 30_000  # milliseconds that a writer waits for another
_MIGRATION_LOCK = 0x636F6E74
_EARLIER = ("0001", "0002", "0003", "0004")  # earlier schemas that can be opened


def database_url(place: str) -> URL:
    """Return the URL of a database, or of the SQLite database in a file.

    Raises:
        InputError: The URL is invalid, of another kind of database, or of one in memory.
    """
    if "://" not in place:
        return URL.create("sqlite", database=str(Path(place).absolute()))
    try:
        url = make_url(place)
    except ArgumentError as error:
        raise InputError("the database's URL is invalid", hint=_HINT) from error
    if "@" in (url.host or ""):  # the rest of a password, which must not be shown
        raise InputError("the database's password contains '@'", hint="write it as %40")
    kind = url.get_backend_name()
    if kind not in ("sqlite", "postgresql", "postgres"):
        raise InputError(f"'{kind}' databases are not supported", hint=_HINT)
    if kind == "sqlite" and url.database in (None, "", ":memory:"):
        raise InputError("a database in memory would lose every decision", hint=_HINT)
    return url.set(drivername="sqlite" if kind == "sqlite" else "postgresql+psycopg")


def connect(place: str) -> sa.Engine:
    """Return an engine on a database, after bringing its tables up to date.

    Raises:
        InputError: The database cannot be reached, or is not one of reviews.
    """
    url = database_url(place)
    shown = url.set(query={}).render_as_string(hide_password=True)  # a query may hold passwords
    lite = url.get_backend_name() == "sqlite"
    if lite and not Path(str(url.database)).parent.is_dir():
        raise InputError("the folder does not exist", file=url.database, hint="create it first")
    if lite:
        _keep_private(Path(str(url.database)))
    engine = sa.create_engine(
        url, pool_pre_ping=not lite, pool_size=10, max_overflow=20, hide_parameters=True
    )
    if lite:
        sa.event.listen(engine, "connect", _prepare)
        sa.event.listen(engine, "begin", _begin)
    try:
        migrate(engine)
    except CommandError as error:
        engine.dispose()
        raise InputError(
            "the database was made by a newer version of contrafact, or by another program",
            file=shown,
            hint="use the version that made it: pip install --upgrade 'contrafact[review]'",
        ) from error
    except DBAPIError as error:
        engine.dispose()
        raise database_problem(error, url) from error
    return engine


def database_problem(error: SQLAlchemyError, url: URL) -> InputError:
    """Return the database's error in one line, with a hint if another program locks it."""
    message = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
    held = "locked" in message or "busy" in message
    return InputError(
        f"the database cannot be used: {message}",
        file=url.render_as_string(hide_password=True),
        hint="another program is using it; try again when it is done" if held else _HINT,
    )


def _keep_private(path: Path) -> None:
    """Create a new database's file, readable by its owner only; SQLite's logs get the same mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise os_problem(error, path, doing="cannot be made") from error


def reading(engine: sa.Engine) -> sa.Engine:
    """Return the engine for read-only transactions, which on SQLite wait for no writer."""
    return engine.execution_options(contrafact_reads=True)


def migrate(engine: sa.Engine) -> None:
    """Bring a database's tables up to date; processes that start at the same time take turns."""
    config = Config()
    folder = files("contrafact.review.store").joinpath("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        version = MigrationContext.configure(connection).get_current_revision()
        config.attributes |= {"connection": connection, "earlier": version in _EARLIER}
        if version in _EARLIER:  # the oldest remaining revision upgrades them
            connection.exec_driver_sql("DELETE FROM alembic_version")
        command.upgrade(config, "head")


def _prepare(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver must not begin transactions itself
    for pragma in (
        f"busy_timeout = {_PATIENCE}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        _execute(connection, f"PRAGMA {pragma}")


def _begin(connection: sa.Connection) -> None:
    # A transaction takes the write lock when it begins, so that nothing it has read can change
    # before it writes.
    reads = connection.get_execution_options().get("contrafact_reads", False)
    # The driver is called directly, as SQLAlchemy would take as long as for a query.
    driver = connection.connection.dbapi_connection
    assert driver is not None
    _execute(driver, "BEGIN" if reads else "BEGIN IMMEDIATE")


def _execute(driver: Any, statement: str) -> None:
    """Run a statement with SQLite's driver, turning its errors into SQLAlchemy's."""
    try:
        driver.execute(statement)
    except sqlite3.Error as error:
        raise OperationalError(statement, None, error) from error


metadata = sa.MetaData()

reviews = sa.Table(
    "reviews",
    metadata,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
)
"""The reviews, with the number of the last event. A change locks its review's row first."""

events = sa.Table(
    "events",
    metadata,
    sa.Column("review", sa.String(200), sa.ForeignKey("reviews.name"), nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(40), nullable=False),
    sa.Column("who", sa.String(200), nullable=False),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("item", sa.String(200)),
    sa.Column("stage", sa.String(200)),
    sa.Column("round", sa.Integer, nullable=False),
    sa.Column("slot", sa.Integer),
    sa.Column("text_version", sa.String(40)),
    sa.Column("guidelines_version", sa.String(40)),
    sa.Column("request", sa.String(200)),
    sa.Column("body", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("review", "seq", name="pk_events"),
    sa.UniqueConstraint("review", "request", name="uq_events_request"),
    sa.Index("ix_events_item", "review", "item"),
)
"""The history. A trigger forbids changing or deleting rows."""

items = sa.Table(
    "items",
    metadata,
    sa.Column("review", sa.String(200), sa.ForeignKey("reviews.name"), nullable=False),
    sa.Column("id", sa.String(200), nullable=False),
    sa.Column("stage", sa.String(200)),
    sa.Column("outcome", sa.String(40)),
    sa.Column("state", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("review", "id", name="pk_items"),
    sa.Index("ix_items_stage", "review", "stage"),
)
"""The present state of every item."""

votes = sa.Table(
    "votes",
    metadata,
    sa.Column("review", sa.String(200), sa.ForeignKey("reviews.name"), nullable=False),
    sa.Column("item", sa.String(200), nullable=False),
    sa.Column("stage", sa.String(200), nullable=False),
    sa.Column("round", sa.Integer, nullable=False),
    sa.Column("slot", sa.Integer, nullable=False),
    sa.Column("person", sa.String(200), nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.PrimaryKeyConstraint("review", "item", "stage", "round", "slot", name="pk_votes"),
    sa.UniqueConstraint("review", "item", "stage", "round", "person", name="uq_votes_person"),
    sa.Index("ix_votes_person", "review", "person"),
)
"""The votes that count. The keys ensure that a slot has one vote, and a person one per round."""

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("manager", sa.Boolean, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("password", sa.String(200)),
    sa.Column("made", sa.Float, nullable=False),
)
"""The accounts, by the person's name in reviews; the password is empty until it is chosen.

Times here and below are seconds since 1970.
"""

invites = sa.Table(
    "invites",
    metadata,
    sa.Column("token", sa.String(64), primary_key=True),
    sa.Column("account", sa.String(200), sa.ForeignKey("accounts.name"), nullable=False),
    sa.Column("until", sa.Float, nullable=False),
    sa.Column("used", sa.Float),
)
"""One-time links, by a hash of their secret."""

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("token", sa.String(64), primary_key=True),
    sa.Column("account", sa.String(200), sa.ForeignKey("accounts.name"), nullable=False),
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("seen", sa.Float, nullable=False),
    sa.Index("ix_sessions_account", "account"),
)
"""The sessions of people who are signed in, by a hash of the cookie's secret."""

attempts = sa.Table(
    "attempts",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("address", sa.String(100), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("succeeded", sa.Boolean),
    sa.Index("ix_attempts_name", "name", "at"),
    sa.Index("ix_attempts_address", "address", "at"),
)
"""The attempts to sign in of the last day; ``succeeded`` is null until the password is checked."""

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("who", sa.String(200), nullable=False),
    sa.Column("address", sa.String(100), nullable=False),
    sa.Column("action", sa.String(40), nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
)
"""The audit log of accounts, sessions and managers' acts; rows are only ever added."""


def event_row(review: str, event: Event) -> dict[str, Any]:
    row = {"review": review, **vars(event), "body": _json(event.body)}
    return {"at": row.pop("when").isoformat(), **row}


def event_of(row: Mapping[str, Any]) -> Event:
    fields = {key: value for key, value in row.items() if key not in ("review", "at", "body")}
    when = datetime.fromisoformat(row["at"])
    return Event(**fields, when=when, body=json.loads(row["body"]))


def item_row(review: str, item: ReviewItem) -> dict[str, Any]:
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
    # Escaped, as a database's text cannot hold NUL and lone surrogates.
    return json.dumps(value, sort_keys=True, ensure_ascii=True)
