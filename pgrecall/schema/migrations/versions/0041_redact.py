"""Plans that take passwords, keys and tokens out of stored texts."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

_CHECKS = (
    ("plan", "plan_kind_check", "kind IN ('prune', 'dedupe', 'redact', 'import')"),
    (
        "plan_item", "plan_item_outcome_check",
        "outcome IN ('archived', 'kept', 'merged', 'redacted', 'skipped', 'created', 'changed')",
    ),
    (
        "plan_item", "plan_item_kind_check",
        "num_nulls(terms, impact) = CASE WHEN num_nonnulls(keeper, before, findings) = 0 THEN 0 ELSE 2 END",
    ),
)  # fmt: skip


def upgrade() -> None:
    op.add_column("plan_item", sa.Column("findings", pg.JSONB()), schema="recall")
    for table, name, condition in _CHECKS:
        op.execute(
            f"ALTER TABLE recall.{table} DROP CONSTRAINT {name}, ADD CONSTRAINT {name} CHECK ({condition})"
        )
    op.create_table(
        "redacted_text",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("plan_id", sa.BigInteger(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("taken", pg.JSONB(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "plan_id", "memory_id", name="redacted_text_pkey"),
        sa.ForeignKeyConstraint(
            ["tenant", "plan_id"], ["recall.plan.tenant", "recall.plan.id"],
            name="redacted_text_plan_fkey", ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant", "memory_id"], ["recall.memory.tenant", "recall.memory.id"],
            name="redacted_text_memory_fkey", ondelete="CASCADE",
        ),
        schema="recall",
    )  # fmt: skip
    op.create_index("redacted_text_memory_idx", "redacted_text", ["tenant", "memory_id"], schema="recall")
