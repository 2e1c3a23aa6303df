"""Runs the migrations on the caller's connection, inside its transaction."""

from alembic import context

from contrafact.review.store.database import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
