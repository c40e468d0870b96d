"""The turn before a memory is found without reading every link to that memory."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "link_next_dst_idx",
        "link",
        ["tenant", "dst", "src"],
        schema="recall",
        postgresql_where=sa.text("relation = 'next'"),
    )
