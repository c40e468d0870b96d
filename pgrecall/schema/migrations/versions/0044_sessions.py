"""An index for the memories of a session, which are listed, forgotten and brought back together."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "memory_session_idx", "memory", ["tenant", "session_id"], schema="recall",
        postgresql_where=sa.text("session_id IS NOT NULL"),
    )  # fmt: skip
