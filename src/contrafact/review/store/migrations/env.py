"""Runs the migrations on the connection that it is given, inside the caller's transaction."""

from alembic import context

from contrafact.review.store.database import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
