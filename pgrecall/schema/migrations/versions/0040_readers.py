"""Readers: tenants that may read another one; and the shared tenants that the searches of a key also rank."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "reader",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("reader", sa.Text(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "reader", name="reader_pkey"),
        sa.CheckConstraint("reader NOT IN ('', '*', tenant)", name="reader_reader_check"),
        schema="recall",
    )
    op.add_column(
        "api_key",
        sa.Column("also_reads", pg.ARRAY(sa.Text()), nullable=False, server_default=sa.text("'{}'::text[]")),
        schema="recall",
    )
