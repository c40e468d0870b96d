"""Relevance without the coefficient ``phrase``, which changed no order."""

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_column("relevance_model", "phrase", schema="recall")
    op.execute("ALTER TYPE recall.analyzed_query DROP ATTRIBUTE phrase")
