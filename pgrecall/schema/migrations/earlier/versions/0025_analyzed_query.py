"""The type of an analyzed query is named like the function that returns it."""

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TYPE recall.question RENAME TO analyzed_query")
