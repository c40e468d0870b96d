"""The words of a memory are the same as another's whatever stands before the first and after the last."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

SAME_WORDS = r"hashtextextended(btrim(lower(regexp_replace(left(body, 4000), '\W+', ' ', 'g'))), 0)"


def upgrade() -> None:
    op.drop_index("memory_same_words_idx", "memory", schema="recall")
    op.create_index("memory_same_words_idx", "memory", ["tenant", sa.text(SAME_WORDS)], schema="recall")
