"""Imports as plans: what each stored, changed and archived, so that it can be undone."""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "ALTER TABLE recall.plan DROP CONSTRAINT plan_kind_check, "
        "ADD CONSTRAINT plan_kind_check CHECK (kind IN ('prune', 'dedupe', 'import'))"
    )
    op.execute(
        "ALTER TABLE recall.plan_item ADD COLUMN before jsonb, "
        "DROP CONSTRAINT plan_item_outcome_check, ADD CONSTRAINT plan_item_outcome_check "
        "CHECK (outcome IN ('archived', 'kept', 'merged', 'skipped', 'created', 'changed')), "
        "DROP CONSTRAINT plan_item_kind_check, ADD CONSTRAINT plan_item_kind_check "
        "CHECK (num_nulls(terms, impact) = CASE WHEN num_nonnulls(keeper, before) = 0 THEN 0 ELSE 2 END)"
    )
