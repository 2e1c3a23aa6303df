"""The tables: events, which are the truth, and the present state of items and votes beside them.

The migrations in ``migrations/versions`` make them; a test holds that both are the same.
"""

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["events", "items", "metadata", "reviews", "votes"]

metadata = MetaData()

reviews = Table(
    "reviews",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("seq", Integer, nullable=False),
)
"""One row a review. Whoever changes a review locks its row first."""

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
)
"""The votes that stand. The keys hold that a place is filled once, and by a person once."""
