"""Imports as plans, so that they can be undone; names in the form in which words are compared."""

from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


_NAMES = (
    "CREATE TEMPORARY TABLE folded_name ON COMMIT DROP AS "
    r"SELECT n.*, btrim(regexp_replace(lower(recall.folded(n.name)), '\s+', ' ', 'g')) AS folded FROM recall.name n "
    "WHERE octet_length(n.name) <> length(n.name) AND recall.folded(n.name) <> n.name",
    "INSERT INTO recall.name (tenant, name, memory_id, entity) "
    "SELECT DISTINCT f.tenant, f.folded, f.memory_id, f.entity FROM folded_name f WHERE f.folded <> '' "
    "ON CONFLICT DO NOTHING",
    "DELETE FROM recall.name n USING folded_name f "
    "WHERE n.tenant = f.tenant AND n.name = f.name AND n.memory_id = f.memory_id AND n.name <> f.folded",
)


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
    for statement in _NAMES:
        op.execute(statement)
