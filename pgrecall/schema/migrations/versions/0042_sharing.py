"""Readers that may also copy memories into the tenant that is shared with them."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "reader",
        sa.Column("may_share", sa.Boolean(), nullable=False, server_default=sa.text("false")),
        schema="recall",
    )
