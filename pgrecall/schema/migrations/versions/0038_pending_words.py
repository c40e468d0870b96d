"""Every search reads the whole pending list of the text index, so the list stays short."""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER INDEX recall.memory_words_idx SET (gin_pending_list_limit = 64)")
    op.execute("SELECT gin_clean_pending_list('recall.memory_words_idx')")
