"""The lowest zone is called dormant, because "archived" is the state of a memory that was archived."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# Stored reports count memories by layer and zone, and name the zone of each neighbour.
REPORTS = """
UPDATE recall.prune_plan p SET report = p.report
    || CASE WHEN jsonb_typeof(p.report -> 'zones') = 'object' THEN jsonb_build_object('zones', (
        SELECT coalesce(jsonb_object_agg(z.layer, CASE WHEN z.counts ? 'archived'
            THEN z.counts - 'archived' || jsonb_build_object('dormant', z.counts -> 'archived')
            ELSE z.counts END), '{}')
        FROM jsonb_each(p.report -> 'zones') z(layer, counts))) ELSE '{}' END
    || CASE WHEN jsonb_typeof(p.report -> 'neighbours') = 'array' THEN jsonb_build_object('neighbours', (
        SELECT coalesce(jsonb_agg(CASE WHEN n.value ->> 'zone' = 'archived'
            THEN n.value || '{"zone": "dormant"}' ELSE n.value END ORDER BY n.place), '[]')
        FROM jsonb_array_elements(p.report -> 'neighbours') WITH ORDINALITY n(value, place))) ELSE '{}' END
WHERE p.report ?| ARRAY['zones', 'neighbours']
"""

ITEMS = """
UPDATE recall.prune_item SET terms = terms || '{"zone": "dormant"}' WHERE terms ->> 'zone' = 'archived'
"""


def upgrade() -> None:
    for statement in (REPORTS, ITEMS):
        op.get_bind().exec_driver_sql(statement)
