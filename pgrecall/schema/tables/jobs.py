"""The table of maintenance: runs of jobs."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
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

from pgrecall.schema.tables.columns import SCHEMA, moment

JOB_STATES = "'running', 'done', 'failed', 'stopped', 'abandoned'"


def add(metadata: MetaData) -> None:
    """Adds the table to the metadata that holds ``memory``."""
    _job_run(metadata)


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
