"""The tables of erasures: the memories of a subject to delete for good, and the report."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Identity,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.schema.tables.columns import SCHEMA, moment, owned_by_memory


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _erasure(metadata)
    _erasure_item(metadata)


def _erasure(metadata: MetaData) -> Table:
    """One row for each erasure. When it is done, ``subject`` holds digests instead of words."""
    return Table(
        "erasure",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("state", Text, nullable=False, server_default=text("'planned'")),
        Column("subject", JSONB, nullable=False),
        Column("asked_by", Text, nullable=False),
        moment("created_at", nullable=False),
        Column("planned", BigInteger, nullable=False),
        Column("counts", JSONB, nullable=False, server_default=text("'{}'")),
        Column("report", JSONB),
        Column("digest", Text),
        PrimaryKeyConstraint("tenant", "id", name="erasure_pkey"),
        CheckConstraint("state IN ('planned', 'begun', 'done')", name="erasure_state_check"),
        CheckConstraint(
            "(report IS NOT NULL) = (state = 'done') AND (digest IS NOT NULL) = (state = 'done')",
            name="erasure_report_check",
        ),
        schema=SCHEMA,
    )


def _erasure_item(metadata: MetaData) -> Table:
    """A memory that is still to be deleted; its deletion deletes the row."""
    return Table(
        "erasure_item",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("erasure_id", BigInteger, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        PrimaryKeyConstraint("tenant", "erasure_id", "memory_id", name="erasure_item_pkey"),
        ForeignKeyConstraint(
            ["tenant", "erasure_id"],
            ["recall.erasure.tenant", "recall.erasure.id"],
            name="erasure_item_erasure_fkey",
            ondelete="CASCADE",
        ),
        owned_by_memory("erasure_item_memory_fkey"),
        Index("erasure_item_memory_idx", "tenant", "memory_id"),
        schema=SCHEMA,
    )
