"""What the graph job reads beside the links: the archived, and what held the graph together last time."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "memory_archived_idx", "memory", ["tenant", "id"], schema="recall",
        postgresql_where=sa.text("archived_at IS NOT NULL"),
    )  # fmt: skip
    op.create_index(
        "activation_cut_idx", "activation", ["tenant", "memory_id"], schema="recall",
        postgresql_include=["cut_size", "protected"], postgresql_where=sa.text("cut_size <> 0 OR protected"),
    )  # fmt: skip
