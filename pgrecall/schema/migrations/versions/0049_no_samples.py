"""The planner keeps no samples of what redact plans took out, and of whom erasures are about."""

from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # A type that stays as it is rewrites nothing, and deletes the samples that there are.
    for table, column in (("redacted_text", "taken"), ("erasure", "subject")):
        op.execute(f"ALTER TABLE recall.{table} ALTER COLUMN {column} TYPE jsonb")
        op.execute(f"ALTER TABLE recall.{table} ALTER COLUMN {column} SET STATISTICS 0")
    op.execute("DROP FUNCTION IF EXISTS recall_private.taken_by(recall.plan)")  # another result
