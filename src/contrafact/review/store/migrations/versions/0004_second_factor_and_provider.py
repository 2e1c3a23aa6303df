"""A second factor, accounts at an OpenID provider, and sign-ins that are half done."""

import sqlalchemy as sa
from alembic import op

__all__ = ["downgrade", "upgrade"]

revision = "0004"
down_revision = "0003"


def _account() -> "sa.Column[str]":
    return sa.Column("account", sa.String(200), sa.ForeignKey("accounts.name"), nullable=False)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "second_factors",
        sa.Column("account", sa.String(200), sa.ForeignKey("accounts.name"), primary_key=True),
        sa.Column("secret", sa.String(64), nullable=False),
        sa.Column("since", sa.Float),
        sa.Column("step", sa.Integer, nullable=False),
    )
    op.create_table(
        "recovery_codes",
        sa.Column("token", sa.String(64), primary_key=True),
        _account(),
    )
    op.create_index("ix_recovery_codes_account", "recovery_codes", ["account"])
    op.create_table(
        "identities",
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        _account(),
        sa.PrimaryKeyConstraint("issuer", "subject", name="pk_identities"),
    )
    op.create_index("ix_identities_account", "identities", ["account"])
    op.create_table(
        "pending",
        sa.Column("token", sa.String(64), primary_key=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Remove everything that `upgrade` made."""
    for table in ("pending", "identities", "recovery_codes", "second_factors"):
        op.drop_table(table)
