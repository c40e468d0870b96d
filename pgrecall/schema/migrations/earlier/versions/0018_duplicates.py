"""Duplicates: what was compared, dedupe plans, and which accesses and links a merge has copied."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("access", "link"):
        op.add_column(table, sa.Column("merged_from", sa.BigInteger()), schema="recall")
        op.create_index(
            f"{table}_merged_from_idx", table, ["tenant", "merged_from"], schema="recall",
            postgresql_where=sa.text("merged_from IS NOT NULL"),
        )  # fmt: skip
    _archival()
    _found()
    _plans()


def _archival() -> None:
    for check in ("archival_reason_check", "archival_plan_check"):
        op.drop_constraint(check, "archival", schema="recall")
    op.create_check_constraint(
        "archival_reason_check", "archival", "reason IN ('forgotten', 'pruned', 'expired', 'merged')",
        schema="recall",
    )  # fmt: skip
    op.create_check_constraint(
        "archival_plan_check", "archival", "(plan_id IS NOT NULL) = (reason IN ('pruned', 'merged'))",
        schema="recall",
    )  # fmt: skip


def _of_memory(name: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant", column], ["recall.memory.tenant", "recall.memory.id"], name=name, ondelete="CASCADE"
    )


def _found() -> None:
    op.create_table(
        "compared",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("embedded", sa.Boolean(), nullable=False),
        sa.Column("min_similarity", sa.Double(), nullable=False),
        sa.Column("words", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "memory_id", name="compared_pkey"),
        _of_memory("compared_memory_fkey", "memory_id"),
        schema="recall",
    )
    op.create_table(
        "duplicate_pair",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("src", sa.BigInteger(), nullable=False),
        sa.Column("dst", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("similarity", sa.Double()),
        sa.Column("src_words", sa.Integer(), nullable=False),
        sa.Column("dst_words", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "src", "dst", name="duplicate_pair_pkey"),
        _of_memory("duplicate_pair_src_fkey", "src"),
        _of_memory("duplicate_pair_dst_fkey", "dst"),
        sa.CheckConstraint("src < dst", name="duplicate_pair_order_check"),
        sa.CheckConstraint("verdict IN ('same', 'contradicts')", name="duplicate_pair_verdict_check"),
        schema="recall",
    )
    op.create_index("duplicate_pair_dst_idx", "duplicate_pair", ["tenant", "dst"], schema="recall")


def _plans() -> None:
    op.create_table(
        "dedupe_plan",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False, server_default=sa.text("'planned'")),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("applied_at", sa.DateTime(timezone=True)),
        sa.Column("undone_at", sa.DateTime(timezone=True)),
        sa.Column("options", pg.JSONB(), nullable=False),
        sa.Column("report", pg.JSONB(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name="dedupe_plan_pkey"),
        sa.CheckConstraint("state IN ('planned', 'applied', 'undone')", name="dedupe_plan_state_check"),
        sa.CheckConstraint("(applied_at IS NULL) = (state = 'planned')", name="dedupe_plan_applied_check"),
        sa.CheckConstraint("(undone_at IS NOT NULL) = (state = 'undone')", name="dedupe_plan_undone_check"),
        schema="recall",
    )
    op.create_table(
        "dedupe_item",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("plan_id", sa.BigInteger(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("cluster", sa.Integer(), nullable=False),
        sa.Column("keeper", sa.Boolean(), nullable=False),
        sa.Column("vitality", sa.Double(), nullable=False),
        sa.Column("similarity", sa.Double()),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text()),
        sa.Column("note", sa.Text()),
        sa.Column("added_tags", pg.ARRAY(sa.Text())),
        sa.Column("added_aliases", pg.ARRAY(sa.Text())),
        sa.Column("updated_before", sa.DateTime(timezone=True)),
        sa.Column("folded_before", sa.DateTime(timezone=True)),
        sa.Column("sessions_before", sa.Double()),
        sa.Column("sessions_at_before", sa.Double()),
        sa.PrimaryKeyConstraint("tenant", "plan_id", "memory_id", name="dedupe_item_pkey"),
        sa.ForeignKeyConstraint(
            ["tenant", "plan_id"],
            ["recall.dedupe_plan.tenant", "recall.dedupe_plan.id"],
            name="dedupe_item_plan_fkey",
            ondelete="CASCADE",
        ),
        _of_memory("dedupe_item_memory_fkey", "memory_id"),
        sa.CheckConstraint("outcome IN ('kept', 'merged', 'skipped')", name="dedupe_item_outcome_check"),
        sa.CheckConstraint("(note IS NOT NULL) = (outcome = 'skipped')", name="dedupe_item_note_check"),
        schema="recall",
    )
    op.create_index("dedupe_item_memory_idx", "dedupe_item", ["tenant", "memory_id"], schema="recall")
