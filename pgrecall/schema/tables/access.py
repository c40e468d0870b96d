"""The tables of use: the access log, the queue of the fold, and the histories of past moments.

The log is append-only and partitioned by month of arrival; no row of it is ever updated. What is in
force now lives in ``memory``, ``link`` and ``activation``; the histories here say what was in force before.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    Identity,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Sequence,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY

from pgrecall.schema.tables.columns import SCHEMA, index_where, moment, owned_by_memory
from pgrecall.schema.tables.rules import rules

ACCESS_KINDS = "'write', 'read', 'reference', 'used', 'retrieval'"
ARCHIVAL_REASONS = "'forgotten', 'pruned', 'expired', 'merged'"


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _access(metadata)
    _access_queue(metadata)
    _access_key(metadata)
    _archival(metadata)
    _link_history(metadata)
    _floor_change(metadata)


def _access(metadata: MetaData) -> Table:
    """Has no foreign key to ``memory``, which would lock a wide row for each hit of a search. ``forget``
    clears the log."""
    numbers = Sequence("access_id_seq", schema=SCHEMA, metadata=metadata)
    return Table(
        "access",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, nullable=False, server_default=numbers.next_value()),
        Column("memory_id", BigInteger, nullable=False),
        Column("kind", Text, nullable=False),
        Column("weight", Double, nullable=False),
        moment("at", nullable=False),
        Column("session_id", Text),
        moment("recorded_at", nullable=False, default=True),
        Column("spread_to", ARRAY(BigInteger)),
        Column("spread_by", ARRAY(Double)),
        # A copy that the keeper of a merge has of an access of this memory.
        Column("merged_from", BigInteger),
        PrimaryKeyConstraint("tenant", "id", "recorded_at", name="access_pkey"),
        CheckConstraint(f"kind IN ({ACCESS_KINDS})", name="access_kind_check"),
        CheckConstraint("weight BETWEEN 0 AND 100", name="access_weight_check"),
        *rules("access"),
        Index("access_memory_idx", "tenant", "memory_id", "at"),
        index_where("session_id IS NOT NULL", "access_session_idx", "tenant", "session_id", "at"),
        index_where("merged_from IS NOT NULL", "access_merged_from_idx", "tenant", "merged_from"),
        schema=SCHEMA,
        postgresql_partition_by="RANGE (recorded_at)",
    )


def _access_queue(metadata: MetaData) -> Table:
    """Memories with accesses in the log that are not folded yet; one row for a whole search."""
    return Table(
        "access_queue",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("memory_ids", ARRAY(BigInteger), nullable=False),
        moment("at", nullable=False),
        PrimaryKeyConstraint("tenant", "id", name="access_queue_pkey"),
        *rules("access_queue"),
        schema=SCHEMA,
    )


def _access_key(metadata: MetaData) -> Table:
    """Known idempotency keys, apart from the log, since its partitions cannot share a unique index."""
    return Table(
        "access_key",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("idempotency_key", Text, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        PrimaryKeyConstraint("tenant", "idempotency_key", name="access_key_pkey"),
        *rules("access_key"),
        schema=SCHEMA,
    )


def _archival(metadata: MetaData) -> Table:
    """The archivals of memories: the reason, the plan, and when the memory was restored."""
    return Table(
        "archival",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        moment("archived_at", nullable=False),
        Column("reason", Text, nullable=False),
        Column("plan_id", BigInteger),
        moment("restored_at"),
        PrimaryKeyConstraint("tenant", "id", name="archival_pkey"),
        owned_by_memory("archival_memory_fkey"),
        CheckConstraint(f"reason IN ({ARCHIVAL_REASONS})", name="archival_reason_check"),
        CheckConstraint(
            "(plan_id IS NOT NULL) = (reason IN ('pruned', 'merged'))", name="archival_plan_check"
        ),
        index_where("restored_at IS NULL", "archival_current_idx", "tenant", "memory_id", unique=True),
        Index("archival_memory_idx", "tenant", "memory_id"),
        schema=SCHEMA,
    )


def _link_history(metadata: MetaData) -> Table:
    """Deleted links, with the time that they lasted."""
    return Table(
        "link_history",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("src", BigInteger, nullable=False),
        Column("dst", BigInteger, nullable=False),
        Column("relation", Text, nullable=False),
        moment("created_at", nullable=False),
        moment("removed_at", nullable=False),
        PrimaryKeyConstraint("tenant", "id", name="link_history_pkey"),
        owned_by_memory("link_history_src_fkey", "src"),
        owned_by_memory("link_history_dst_fkey", "dst"),
        *rules("link_history"),
        Index("link_history_src_idx", "tenant", "src"),
        Index("link_history_dst_idx", "tenant", "dst"),
        schema=SCHEMA,
    )


def _floor_change(metadata: MetaData) -> Table:
    """When a memory gained or lost the protection floor, by a pin or as an articulation point.

    No key to ``memory``: its row would be locked after activations, against the order of everything else.
    """
    return Table(
        "floor_change",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        moment("at", nullable=False),
        Column("floored", Boolean, nullable=False),
        PrimaryKeyConstraint("tenant", "id", name="floor_change_pkey"),
        Index("floor_change_memory_idx", "tenant", "memory_id", "at"),
        schema=SCHEMA,
    )
