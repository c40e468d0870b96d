"""The list of keys says which of them may only read, which their names said before."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "api_key",
        sa.Column("read_only", sa.Boolean(), nullable=False, server_default=sa.false()),
        schema="recall",
    )
    op.execute(
        "UPDATE recall.api_key SET read_only = true, name = left(name, -12) WHERE name LIKE '_% (read-only)'"
    )
