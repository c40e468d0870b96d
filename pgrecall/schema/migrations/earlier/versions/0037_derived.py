"""Links from a summary to the memories that it is derived from."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

_RELATIONS = (
    "'links_to', 'next', 'mentions', 'part_of', 'implies', 'supports', 'contradicts', 'derived_from', 'supersedes', "
    "'co_access'"
)


def upgrade() -> None:
    for table in ("link", "pending_link"):
        op.execute(
            f"ALTER TABLE recall.{table} DROP CONSTRAINT {table}_relation_check, "
            f"ADD CONSTRAINT {table}_relation_check CHECK (relation IN ({_RELATIONS}))"
        )
        op.create_index(
            f"{table}_derived_idx", table, ["tenant", "src"], schema="recall",
            postgresql_where=sa.text("relation = 'derived_from'"),
        )  # fmt: skip
