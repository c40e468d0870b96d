"""How far a memory is said by the wrong speaker is a part of one, not yes or no; an edit says what it changed."""

from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TYPE recall.evidence ALTER ATTRIBUTE speaker TYPE double precision")
    op.execute(
        "DROP FUNCTION IF EXISTS recall.edit(bigint, jsonb, jsonb, text, timestamptz)"
    )  # another result
