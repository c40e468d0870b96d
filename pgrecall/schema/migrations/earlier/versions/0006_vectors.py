"""Vectors in tables of their own, so that each tenant's lie together and large tenants have an index of their own."""

import sqlalchemy as sa
from alembic import context, op
from pgvector.sqlalchemy import HALFVEC

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MAX_COVERED = 1250


def upgrade() -> None:
    dimensions = context.config.attributes["dimensions"]
    _tables(dimensions)
    op.execute(
        "INSERT INTO recall.vector_shared (tenant, memory_id, archived, embedding) "
        "SELECT tenant, id, archived_at IS NOT NULL, embedding FROM recall.memory WHERE embedding IS NOT NULL "
        "ORDER BY tenant, id"
    )
    op.drop_index("memory_unembedded_idx", "memory", schema="recall")
    op.drop_column("memory", "embedding", schema="recall")  # and its indexes and its check with it
    op.create_index(
        "memory_unembedded_idx", "memory", ["tenant", "id"], schema="recall",
        postgresql_where=sa.text("embedded_with IS NULL"),
    )  # fmt: skip
    # After so many rows at once a plan made without counts reads the table from end to end.
    op.execute("ANALYZE recall.vector_shared")


def _tables(dimensions: int) -> None:
    op.create_table(
        "vector_shared",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("archived", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("embedding", HALFVEC(dimensions), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "memory_id", name="vector_shared_pkey"),
        schema="recall",
    )
    op.create_index(
        "vector_shared_idx", "vector_shared", ["tenant", "archived", "memory_id"], schema="recall",
        postgresql_include=["embedding"] if dimensions <= MAX_COVERED else [],
    )  # fmt: skip
    op.create_table(
        "vector_home",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", name="vector_home_pkey"),
        schema="recall",
    )
    op.create_index("vector_home_number_idx", "vector_home", ["number"], unique=True, schema="recall")
