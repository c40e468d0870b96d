"""A checked filter says whether it has any condition that few searches have."""

from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TYPE recall.search_filter ADD ATTRIBUTE narrow boolean")
