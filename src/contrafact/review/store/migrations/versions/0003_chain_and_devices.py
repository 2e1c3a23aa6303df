"""A hash over every event and all before it; browsers that are known to an account."""

import hashlib
import json

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0003"
down_revision = "0002"

_COLUMNS = (
    "review", "seq", "kind", "who", "at", "item", "stage", "round", "slot", "text_version",
    "guidelines_version", "request", "body",
)  # fmt: skip
_SQLITE = """
CREATE TRIGGER events_{what} BEFORE {what} ON events
BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END
"""


def upgrade() -> None:
    """Hash the history that is there; the triggers that keep it rest meanwhile."""
    for table in ("reviews", "events"):
        op.add_column(table, sa.Column("chain", sa.String(64), nullable=False, server_default=""))
    _let_change(True)
    connection = op.get_bind()
    names = list(connection.scalars(sa.text("SELECT name FROM reviews")))
    chosen = sa.text(f"SELECT {', '.join(_COLUMNS)} FROM events WHERE review = :r ORDER BY seq")
    event = sa.text("UPDATE events SET chain = :chain WHERE review = :r AND seq = :seq")
    review = sa.text("UPDATE reviews SET chain = :chain WHERE name = :r")
    for name in names:
        chain, rows = "", []
        for row in connection.execute(chosen, {"r": name}).mappings():
            text = json.dumps(dict(row), sort_keys=True, ensure_ascii=True)
            chain = hashlib.sha256(f"{chain}\n{text}".encode()).hexdigest()
            rows.append({"chain": chain, "r": name, "seq": row["seq"]})
        if rows:
            connection.execute(event, rows)
        connection.execute(review, {"chain": chain, "r": name})
    _let_change(False)
    op.add_column("attempts", sa.Column("device", sa.String(64)))
    op.create_table(
        "devices",
        sa.Column("token", sa.String(64), primary_key=True),
        sa.Column("account", sa.String(200), sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
    )
    op.create_index("ix_devices_account", "devices", ["account"])


def downgrade() -> None:
    """Remove everything that `upgrade` made."""
    op.drop_table("devices")
    op.drop_column("attempts", "device")
    for table in ("reviews", "events"):
        op.drop_column(table, "chain")


def _let_change(may: bool) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER TABLE events {'DISABLE' if may else 'ENABLE'} TRIGGER events_kept")
        return
    for what in ("update", "delete"):
        op.execute(f"DROP TRIGGER events_{what}" if may else _SQLITE.format(what=what))
