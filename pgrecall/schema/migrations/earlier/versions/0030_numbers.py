"""Whether a memory holds the number that a query asks for, as a feature of its relevance."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "relevance_model",
        sa.Column("no_number", sa.Double(), nullable=False, server_default=sa.text("0")),
        schema="recall",
    )
    op.execute("ALTER TYPE recall.query_intent ADD ATTRIBUTE asks_number boolean")
    op.execute("ALTER TYPE recall.evidence ADD ATTRIBUTE no_number int")
