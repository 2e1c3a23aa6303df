"""Accounts, invitations, sessions, attempts to sign in, and the audit log."""

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0002"
down_revision = "0001"

_NAME = sa.String(200)
_SQLITE = """
CREATE TRIGGER audit_{what} BEFORE {what} ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is only ever added to'); END
"""
_POSTGRESQL = (
    """
CREATE FUNCTION audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit log is only ever added to'; END $$
""",
    """
CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept()
""",
)


def upgrade() -> None:
    """Make the tables, and the triggers that keep the audit log as it is."""
    op.create_index("ix_votes_person", "votes", ["review", "person"])
    op.create_table(
        "accounts",
        sa.Column("name", _NAME, primary_key=True),
        sa.Column("manager", sa.Boolean, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("password", sa.String(200)),
        sa.Column("made", sa.Float, nullable=False),
    )
    op.create_table(
        "invites",
        sa.Column("token", sa.String(64), primary_key=True),
        sa.Column("account", _NAME, sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("used", sa.Float),
    )
    op.create_table(
        "sessions",
        sa.Column("token", sa.String(64), primary_key=True),
        sa.Column("account", _NAME, sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("began", sa.Float, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
    )
    op.create_index("ix_sessions_account", "sessions", ["account"])
    op.create_table(
        "attempts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", _NAME, nullable=False),
        sa.Column("address", sa.String(100), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("succeeded", sa.Boolean),
    )
    op.create_index("ix_attempts_name", "attempts", ["name", "at"])
    op.create_index("ix_attempts_address", "attempts", ["address", "at"])
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("who", _NAME, nullable=False),
        sa.Column("address", sa.String(100), nullable=False),
        sa.Column("action", sa.String(40), nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        for statement in _POSTGRESQL:
            op.execute(statement)
    else:
        for what in ("update", "delete"):
            op.execute(_SQLITE.format(what=what))


def downgrade() -> None:
    """Remove everything that `upgrade` made."""
    for table in ("audit", "attempts", "sessions", "invites", "accounts"):
        op.drop_table(table)
    op.drop_index("ix_votes_person", "votes")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_is_kept")
