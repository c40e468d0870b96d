"""Passages of long memories: parts of a text with vectors of their own, beside the vector of the whole."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

COLUMNS = "ADD COLUMN part smallint NOT NULL DEFAULT 0, ADD COLUMN passage_start integer, ADD COLUMN passage_end integer"
# Tables of large tenants. Their HNSW indexes stay as they are.
OWN_TABLES = (
    "DO $$ DECLARE v_table text; BEGIN "
    "FOR v_table IN SELECT 'vector_' || h.number FROM recall.vector_home h ORDER BY h.number LOOP "
    f"EXECUTE format('ALTER TABLE recall.%I {COLUMNS}', v_table); "
    "EXECUTE format('ALTER TABLE recall.%I DROP CONSTRAINT %I', v_table, v_table || '_pkey'); "
    "EXECUTE format('ALTER TABLE recall.%I ADD CONSTRAINT %I PRIMARY KEY (tenant, memory_id, part)', "
    "v_table, v_table || '_pkey'); "
    "END LOOP; END $$"
)


def upgrade() -> None:
    op.execute(f"ALTER TABLE recall.vector_shared {COLUMNS}")
    op.drop_constraint("vector_shared_pkey", "vector_shared", schema="recall")
    op.create_primary_key(
        "vector_shared_pkey", "vector_shared", ["tenant", "memory_id", "part"], schema="recall"
    )
    op.execute(sa.text(OWN_TABLES))
    op.add_column("memory", sa.Column("passage_count", sa.SmallInteger()), schema="recall")
    op.create_index(
        "memory_unsplit_idx", "memory", ["tenant", "id"], schema="recall",
        postgresql_where=sa.text(
            "embedded_with IS NOT NULL AND passage_count IS NULL AND octet_length(title) + octet_length(body) > 250"
        ),
    )  # fmt: skip
    op.create_index(
        "memory_passages_idx", "memory", ["tenant", "id"], schema="recall",
        postgresql_include=["passage_count"], postgresql_where=sa.text("passage_count > 0"),
    )  # fmt: skip
