"""Upkeep: what jobs did, and prune plans that can be reviewed, applied and undone."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "memory_unembedded_idx",
        "memory",
        ["tenant", "id"],
        schema="recall",
        postgresql_where=sa.text("embedding IS NULL"),
    )
    op.create_table(
        "job_run",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'running'"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True)),
        sa.Column("attempt", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("counts", pg.JSONB(), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("error", sa.Text()),
        sa.CheckConstraint(
            "state IN ('running', 'done', 'failed', 'stopped', 'abandoned')", name="job_run_state_check"
        ),
        sa.CheckConstraint("(state = 'running') = (finished_at IS NULL)", name="job_run_finished_check"),
        sa.CheckConstraint("(state = 'failed') = (error IS NOT NULL)", name="job_run_error_check"),
        sa.PrimaryKeyConstraint("tenant", "id", name="job_run_pkey"),
        schema="recall",
    )
    op.create_index("job_run_job_idx", "job_run", ["tenant", "job", "id"], schema="recall")
    op.create_table(
        "prune_plan",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'planned'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("applied_at", sa.DateTime(timezone=True)),
        sa.Column("undone_at", sa.DateTime(timezone=True)),
        sa.Column("options", pg.JSONB(), nullable=False),
        sa.Column("report", pg.JSONB(), nullable=False),
        sa.CheckConstraint("state IN ('planned', 'applied', 'undone')", name="prune_plan_state_check"),
        sa.CheckConstraint("(applied_at IS NULL) = (state = 'planned')", name="prune_plan_applied_check"),
        sa.CheckConstraint("(undone_at IS NOT NULL) = (state = 'undone')", name="prune_plan_undone_check"),
        sa.PrimaryKeyConstraint("tenant", "id", name="prune_plan_pkey"),
        schema="recall",
    )
    op.create_table(
        "prune_item",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("plan_id", sa.BigInteger(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("vitality", sa.Double(), nullable=False),
        sa.Column("terms", pg.JSONB(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("impact", pg.JSONB(), nullable=False),
        sa.Column("outcome", sa.Text()),
        sa.Column("note", sa.Text()),
        sa.CheckConstraint("outcome IN ('archived', 'skipped')", name="prune_item_outcome_check"),
        sa.CheckConstraint("(note IS NOT NULL) = (outcome = 'skipped')", name="prune_item_note_check"),
        sa.ForeignKeyConstraint(
            ["tenant", "plan_id"],
            ["recall.prune_plan.tenant", "recall.prune_plan.id"],
            name="prune_item_plan_fkey",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant", "memory_id"],
            ["recall.memory.tenant", "recall.memory.id"],
            name="prune_item_memory_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "plan_id", "memory_id", name="prune_item_pkey"),
        schema="recall",
    )
    op.create_index("prune_item_memory_idx", "prune_item", ["tenant", "memory_id"], schema="recall")
