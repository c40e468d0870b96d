"""The tables of versions of memories, and the log of changes."""

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
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from pgrecall.schema.tables.columns import SCHEMA, moment, owned_by_memory
from pgrecall.schema.tables.rules import rules


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _memory_version(metadata)
    _memory_change(metadata)


def _memory_version(metadata: MetaData) -> Table:
    """A version of a memory until ``replaced_at``; the current version is only in ``memory``."""
    return Table(
        "memory_version",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("number", Integer, nullable=False),
        Column("title", Text, nullable=False),
        Column("body", Text, nullable=False),
        Column("role", Text),
        Column("author", Text),
        Column("tags", ARRAY(Text), nullable=False, server_default=text("'{}'")),
        Column("aliases", ARRAY(Text), nullable=False, server_default=text("'{}'")),
        Column("metadata", JSONB, nullable=False, server_default=text("'{}'")),
        moment("occurred_at"),
        moment("valid_from"),
        moment("valid_until"),
        # Who wrote it is known from the version before, which may be gone.
        moment("written_at", nullable=False),
        Column("written_by", Text),
        Column("written_through", Text),
        moment("replaced_at", nullable=False),
        Column("replaced_by", Text, nullable=False),
        Column("replaced_through", Text, nullable=False),
        PrimaryKeyConstraint("tenant", "memory_id", "number", name="memory_version_pkey"),
        owned_by_memory("memory_version_memory_fkey"),
        CheckConstraint("number >= 1", name="memory_version_number_check"),
        CheckConstraint("title <> '' OR body <> ''", name="memory_version_text_check"),
        CheckConstraint(
            "length(title) <= 1000 AND length(body) <= 1000000", name="memory_version_length_check"
        ),
        CheckConstraint("role IN ('user', 'assistant', 'system', 'tool')", name="memory_version_role_check"),
        CheckConstraint("valid_from <= valid_until", name="memory_version_validity_check"),
        CheckConstraint("written_at <= replaced_at", name="memory_version_times_check"),
        *rules("memory_version"),
        schema=SCHEMA,
    )


def _memory_change(metadata: MetaData) -> Table:
    """One row for each change, in the order ``era``, ``xid``, ``id``; see ``recall.changes``.

    A row of the kind ``expired`` has no memory: the changes up to it were deleted. The row of a deletion
    outlives its memory, so there is no foreign key.
    """
    return Table(
        "memory_change",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("era", Integer, nullable=False),
        # As a number, for pg_upgrade and programs know no xid8.
        Column(
            "xid",
            BigInteger,
            nullable=False,
            server_default=text("pg_current_xact_id()::text::bigint"),
        ),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("memory_id", BigInteger),
        Column("kind", Text, nullable=False),
        moment("at", nullable=False),
        Column("zone", Text),
        Column("other_id", BigInteger),
        PrimaryKeyConstraint("tenant", "era", "xid", "id", name="memory_change_pkey"),
        CheckConstraint("(memory_id IS NULL) = (kind = 'expired')", name="memory_change_memory_check"),
        CheckConstraint("length(kind) BETWEEN 1 AND 40", name="memory_change_kind_check"),
        Index("memory_change_memory_idx", "tenant", "memory_id"),
        schema=SCHEMA,
    )
