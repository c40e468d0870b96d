"""The turn before a hub, and the entities of a common title, are found without reading every link or title."""

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
    op.drop_index("name_plain_idx", "name", schema="recall")
    op.create_index("name_plain_idx", "name", ["tenant", "plain", "entity"], schema="recall")
