"""Reviews, their events, and the present state of items and votes."""

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0001"
down_revision = None

_NAME = sa.String(200)
_SQLITE = """
CREATE TRIGGER events_{what} BEFORE {what} ON events
BEGIN SELECT RAISE(ABORT, 'events are only ever added'); END
"""
_POSTGRESQL = (
    """
CREATE FUNCTION events_are_kept() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'events are only ever added'; END $$
""",
    """
CREATE TRIGGER events_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON events
FOR EACH STATEMENT EXECUTE FUNCTION events_are_kept()
""",
)


def upgrade() -> None:
    """Make the tables, and the triggers that keep events as they are."""
    op.create_table(
        "reviews",
        sa.Column("name", _NAME, primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("review", _NAME, sa.ForeignKey("reviews.name"), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("who", _NAME, nullable=False),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("item", _NAME),
        sa.Column("stage", _NAME),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("slot", sa.Integer),
        sa.Column("text_version", sa.String(40)),
        sa.Column("guidelines_version", sa.String(40)),
        sa.Column("request", _NAME),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("review", "seq", name="pk_events"),
        sa.UniqueConstraint("review", "request", name="uq_events_request"),
    )
    op.create_index("ix_events_item", "events", ["review", "item"])
    op.create_table(
        "items",
        sa.Column("review", _NAME, sa.ForeignKey("reviews.name"), nullable=False),
        sa.Column("id", _NAME, nullable=False),
        sa.Column("stage", _NAME),
        sa.Column("outcome", sa.String(40)),
        sa.Column("state", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("review", "id", name="pk_items"),
    )
    op.create_index("ix_items_stage", "items", ["review", "stage"])
    op.create_table(
        "votes",
        sa.Column("review", _NAME, sa.ForeignKey("reviews.name"), nullable=False),
        sa.Column("item", _NAME, nullable=False),
        sa.Column("stage", _NAME, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("slot", sa.Integer, nullable=False),
        sa.Column("person", _NAME, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("review", "item", "stage", "round", "slot", name="pk_votes"),
        sa.UniqueConstraint("review", "item", "stage", "round", "person", name="uq_votes_person"),
    )
    if op.get_bind().dialect.name == "postgresql":
        for statement in _POSTGRESQL:
            op.execute(statement)
    else:
        for what in ("update", "delete"):
            op.execute(_SQLITE.format(what=what))


def downgrade() -> None:
    """Remove everything that `upgrade` made."""
    for table in ("votes", "items", "events", "reviews"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION events_are_kept")
