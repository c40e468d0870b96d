"""The turns of a conversation, which a search leaves out of its hits."""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TYPE recall.search_filter ADD ATTRIBUTE conversation text[]")
