"""The tables: events, which are the truth, the present state beside them, and accounts.

The migrations in ``migrations/versions`` make them; a test holds that both are the same.
"""

from sqlalchemy import (
    Boolean,
    Column,
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
)

__all__ = [
    "accounts",
    "attempts",
    "audit",
    "events",
    "invites",
    "items",
    "metadata",
    "reviews",
    "sessions",
    "votes",
]

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
