"""Duplicates are found again: pairs from before words were counted may differ in a word that was replaced."""

from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """The job `dedupe` fills both tables again."""
    op.execute("TRUNCATE recall.compared, recall.duplicate_pair")
