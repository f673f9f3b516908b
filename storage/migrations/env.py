"""Alembic's entry: run the versions on the connection, and inside the transaction, that `upgrade` has opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
