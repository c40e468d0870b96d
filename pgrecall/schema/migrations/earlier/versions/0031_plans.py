"""Plans: prune and dedupe plans in one table, and their items in another."""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

_PLANS = (
    "ALTER TABLE recall.prune_plan RENAME TO plan",
    "ALTER SEQUENCE recall.prune_plan_id_seq RENAME TO plan_id_seq",
    "ALTER TABLE recall.plan RENAME CONSTRAINT prune_plan_pkey TO plan_pkey",
    "ALTER TABLE recall.plan RENAME CONSTRAINT prune_plan_state_check TO plan_state_check",
    "ALTER TABLE recall.plan RENAME CONSTRAINT prune_plan_applied_check TO plan_applied_check",
    "ALTER TABLE recall.plan RENAME CONSTRAINT prune_plan_undone_check TO plan_undone_check",
    "ALTER TABLE recall.plan ADD COLUMN kind text NOT NULL DEFAULT 'prune', "
    "ADD CONSTRAINT plan_kind_check CHECK (kind IN ('prune', 'dedupe'))",
    "ALTER TABLE recall.plan ALTER COLUMN kind DROP DEFAULT",
)
_ITEMS = (
    "ALTER TABLE recall.prune_item RENAME TO plan_item",
    "ALTER INDEX recall.prune_item_memory_idx RENAME TO plan_item_memory_idx",
    "ALTER TABLE recall.plan_item RENAME CONSTRAINT prune_item_pkey TO plan_item_pkey",
    "ALTER TABLE recall.plan_item RENAME CONSTRAINT prune_item_plan_fkey TO plan_item_plan_fkey",
    "ALTER TABLE recall.plan_item RENAME CONSTRAINT prune_item_memory_fkey TO plan_item_memory_fkey",
    "ALTER TABLE recall.plan_item RENAME CONSTRAINT prune_item_note_check TO plan_item_note_check",
    "ALTER TABLE recall.plan_item DROP CONSTRAINT prune_item_outcome_check, "
    "ADD CONSTRAINT plan_item_outcome_check CHECK (outcome IN ('archived', 'kept', 'merged', 'skipped')), "
    "ALTER COLUMN terms DROP NOT NULL, ALTER COLUMN impact DROP NOT NULL, ADD COLUMN content_hash text, "
    "ADD COLUMN keeper boolean, ADD COLUMN similarity double precision, ADD COLUMN added_tags text[], "
    "ADD COLUMN added_aliases text[], ADD COLUMN updated_before timestamptz, "
    "ADD COLUMN folded_before timestamptz, ADD COLUMN sessions_before double precision, "
    "ADD COLUMN sessions_at_before double precision, "
    "ADD CONSTRAINT plan_item_kind_check CHECK (num_nulls(terms, impact) = CASE WHEN keeper IS NULL THEN 0 ELSE 2 END)",
    "UPDATE recall.plan_item SET content_hash = impact ->> 'content_hash', impact = impact - 'content_hash'",
)
# Prune plans keep their ids. To the ids of the dedupe plans of a tenant, the highest of these is added: as two tables
# numbered them, both could have the same. In cells, whose ids begin at N * 2^40, it is the highest that counts from there.
_ADDED = (
    r"LEFT JOIN (SELECT tenant, max(id % (1\:\:bigint << 40)) + (max(id) >> 40 > 0)\:\:int AS number "
    "FROM recall.plan WHERE kind = 'prune' GROUP BY tenant) a USING (tenant)"
)
_MOVED = (
    "INSERT INTO recall.plan (tenant, id, kind, state, created_at, applied_at, undone_at, options, report) "
    "OVERRIDING SYSTEM VALUE "
    "SELECT p.tenant, p.id + coalesce(a.number, 0), 'dedupe', p.state, p.created_at, p.applied_at, p.undone_at, "
    f"p.options, p.report FROM recall.dedupe_plan p {_ADDED}",
    "INSERT INTO recall.plan_item (tenant, plan_id, memory_id, place, vitality, reason, outcome, note, content_hash, "
    "keeper, similarity, added_tags, added_aliases, updated_before, folded_before, sessions_before, sessions_at_before) "
    "SELECT i.tenant, i.plan_id + coalesce(a.number, 0), i.memory_id, i.cluster, i.vitality, i.reason, i.outcome, "
    "i.note, i.content_hash, i.keeper, i.similarity, i.added_tags, i.added_aliases, i.updated_before, i.folded_before, "
    f"i.sessions_before, i.sessions_at_before FROM recall.dedupe_item i {_ADDED}",
    "UPDATE recall.archival v SET plan_id = m.moved FROM ("
    f"SELECT tenant, id, plan_id + a.number AS moved FROM recall.archival {_ADDED} WHERE reason = 'merged') m "
    "WHERE v.tenant = m.tenant AND v.id = m.id AND m.moved IS NOT NULL",
    "SELECT setval('recall.plan_id_seq', d.last_value, d.is_called) "
    "FROM recall.dedupe_plan_id_seq d, recall.plan_id_seq p "
    "WHERE (d.last_value, d.is_called) > (p.last_value, p.is_called)",
    # With functions that take their rows: all functions are created again.
    "DROP TABLE recall.dedupe_item, recall.dedupe_plan CASCADE",
)


def upgrade() -> None:
    for statement in (*_PLANS, *_ITEMS, *_MOVED):
        op.execute(statement)
