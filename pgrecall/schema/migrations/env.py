"""Alembic's entry: runs on the connection that :mod:`pgrecall.schema.migrate` hands over."""

from alembic import context

from pgrecall.schema.tables.columns import SCHEMA
from pgrecall.schema.tables.metadata import describe

connection = context.config.attributes["connection"]
dimensions = context.config.attributes["dimensions"]

context.configure(
    connection=connection,
    target_metadata=describe(dimensions),
    version_table_schema=SCHEMA,
    include_schemas=True,
    transaction_per_migration=False,
)
context.run_migrations()
