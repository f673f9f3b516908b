"""Alembic's entry: run the versions on the connection, and inside the transaction, that `upgrade` has opened."""

from alembic import context

attributes = context.config.attributes
context.configure(
    connection=attributes["connection"], transactional_ddl=False, on_version_apply=attributes["version_done"]
)
context.run_migrations()
