"""The tables of maintenance: runs of jobs, and prune plans with their items."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, OID

from pgrecall.schema.tables.columns import SCHEMA, moment, owned_by_memory

JOB_STATES = "'running', 'done', 'failed', 'stopped', 'abandoned'"


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _job_run(metadata)
    _prune_plan(metadata)
    _prune_item(metadata)


def _job_run(metadata: MetaData) -> Table:
    """One row for each run of a job for a tenant; tenant ``*`` for jobs of the whole database."""
    return Table(
        "job_run",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("job", Text, nullable=False),
        Column("state", Text, nullable=False, server_default=text("'running'")),
        moment("started_at", nullable=False),
        moment("finished_at"),
        Column("attempt", Integer, nullable=False, server_default=text("1")),
        Column("done", BigInteger, nullable=False, server_default=text("0")),
        Column("counts", JSONB, nullable=False, server_default=text("'{}'")),
        Column("error", Text),
        # The session that runs it: its process, its login role, and the key of its advisory lock.
        Column("holder_pid", Integer),
        Column("holder_role", OID),
        Column("holder_key", BigInteger),
        PrimaryKeyConstraint("tenant", "id", name="job_run_pkey"),
        CheckConstraint(f"state IN ({JOB_STATES})", name="job_run_state_check"),
        CheckConstraint("(state = 'running') = (finished_at IS NULL)", name="job_run_finished_check"),
        CheckConstraint("(state = 'failed') = (error IS NOT NULL)", name="job_run_error_check"),
        Index("job_run_job_idx", "tenant", "job", "id"),
        schema=SCHEMA,
    )


def _prune_plan(metadata: MetaData) -> Table:
    """A stored plan to review; ``report`` has the effects of the whole plan."""
    return Table(
        "prune_plan",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("state", Text, nullable=False, server_default=text("'planned'")),
        moment("created_at", nullable=False),
        moment("applied_at"),
        moment("undone_at"),
        Column("options", JSONB, nullable=False),
        Column("report", JSONB, nullable=False),
        PrimaryKeyConstraint("tenant", "id", name="prune_plan_pkey"),
        CheckConstraint("state IN ('planned', 'applied', 'undone')", name="prune_plan_state_check"),
        CheckConstraint("(applied_at IS NULL) = (state = 'planned')", name="prune_plan_applied_check"),
        CheckConstraint("(undone_at IS NOT NULL) = (state = 'undone')", name="prune_plan_undone_check"),
        schema=SCHEMA,
    )


def _prune_item(metadata: MetaData) -> Table:
    """A memory that a plan archives: the reason, its vitality, the links that end, and the outcome."""
    return Table(
        "prune_item",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("plan_id", BigInteger, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("place", Integer, nullable=False),
        Column("vitality", Double, nullable=False),
        Column("terms", JSONB, nullable=False),
        Column("reason", Text, nullable=False),
        Column("impact", JSONB, nullable=False),
        Column("outcome", Text),
        Column("note", Text),
        PrimaryKeyConstraint("tenant", "plan_id", "memory_id", name="prune_item_pkey"),
        ForeignKeyConstraint(
            ["tenant", "plan_id"],
            ["recall.prune_plan.tenant", "recall.prune_plan.id"],
            name="prune_item_plan_fkey",
            ondelete="CASCADE",
        ),
        owned_by_memory("prune_item_memory_fkey"),
        CheckConstraint("outcome IN ('archived', 'skipped')", name="prune_item_outcome_check"),
        CheckConstraint("(note IS NOT NULL) = (outcome = 'skipped')", name="prune_item_note_check"),
        Index("prune_item_memory_idx", "tenant", "memory_id"),
        schema=SCHEMA,
    )
