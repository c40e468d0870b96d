"""Alembic's entry: runs on the connection that :mod:`pgrecall.schema.migrate` hands over."""

from alembic import context

from pgrecall.schema.tables.columns import SCHEMA

context.configure(
    connection=context.config.attributes["connection"],
    version_table_schema=SCHEMA,
    transaction_per_migration=False,
)
context.run_migrations()
