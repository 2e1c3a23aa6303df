"""Migration 0005: makes every table of a new database, and upgrades schemas 0001 to 0004.

It drops second factors, a provider's identities, known browsers and the hashes of events. Events
and accounts stay as they are: people who signed in through a provider choose a password at a new
link, or are named by a proxy.

New tables have the present form, so a later revision must check whether it has anything to do.
"""

import sqlalchemy as sa
from alembic import context, op

from contrafact.review.store.database import metadata

revision = "0005"
down_revision = None

_GONE = ("pending", "identities", "recovery_codes", "second_factors", "devices")
_GONE_COLUMNS = (("attempts", "device"), ("events", "chain"), ("reviews", "chain"))
_KEPT = {
    "events": ("events_are_kept", "events are only ever added"),
    "audit": ("audit_is_kept", "the audit log is only ever added to"),
}


def upgrade() -> None:
    """Make tables, and the triggers that keep events and the audit log as they are."""
    bind = op.get_bind()
    if context.config.attributes["earlier"]:
        _drop_what_is_gone(bind)
    metadata.create_all(bind, checkfirst=context.config.attributes["earlier"])
    for index in (index for known in metadata.tables.values() for index in known.indexes):
        index.create(bind, checkfirst=True)
    postgresql = bind.dialect.name == "postgresql"
    for table, (function, message) in _KEPT.items():
        for statement in (_postgresql if postgresql else _sqlite)(table, function, message):
            op.execute(sa.text(statement))


def _drop_what_is_gone(bind: sa.Connection) -> None:
    inspector = sa.inspect(bind)
    there = set(inspector.get_table_names())
    for table in _GONE:
        if table in there:
            op.drop_table(table)
    for table, column in _GONE_COLUMNS:
        if table in there and column in {one["name"] for one in inspector.get_columns(table)}:
            if column == "device":
                # Attempts from known browsers were counted apart, and codes as passwords.
                gone = "DELETE FROM attempts WHERE device IS NOT NULL OR name LIKE 'code:%'"
                op.execute(sa.text(gone))
            op.drop_column(table, column)


def _sqlite(table: str, _: str, message: str) -> list[str]:
    found = []
    for what in ("update", "delete"):
        found += [
            f"DROP TRIGGER IF EXISTS {table}_{what}",
            f"CREATE TRIGGER {table}_{what} BEFORE {what} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END",
        ]
    return found


def _postgresql(table: str, function: str, message: str) -> list[str]:
    return [
        f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$",
        f"DROP TRIGGER IF EXISTS {table}_kept ON {table}",
        f"CREATE TRIGGER {table}_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
    ]


def downgrade() -> None:
    """Refuse to downgrade, by `NotImplementedError`: what was dropped cannot be restored."""
    raise NotImplementedError("restore a copy that was made before the upgrade")
