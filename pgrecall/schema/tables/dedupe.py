"""The tables of duplicates: compared memories, pairs, and dedupe plans with their items.

``compared`` and ``duplicate_pair`` are derived from the texts, so no export has them.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
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
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from pgrecall.schema.tables.columns import SCHEMA, moment, owned_by_memory


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _compared(metadata)
    _duplicate_pair(metadata)
    _dedupe_plan(metadata)
    _dedupe_item(metadata)


def _compared(metadata: MetaData) -> Table:
    """Which text of a memory was compared with the others, with or without its vector."""
    return Table(
        "compared",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("content_hash", Text, nullable=False),
        Column("embedded", Boolean, nullable=False),
        Column("min_similarity", Double, nullable=False),
        # Number of content words, which decides which memory says more.
        Column("words", Integer, nullable=False),
        PrimaryKeyConstraint("tenant", "memory_id", name="compared_pkey"),
        owned_by_memory("compared_memory_fkey"),
        schema=SCHEMA,
    )


def _duplicate_pair(metadata: MetaData) -> Table:
    """A pair of duplicates, or of memories that may contradict each other; ``src`` is the smaller id."""
    return Table(
        "duplicate_pair",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("src", BigInteger, nullable=False),
        Column("dst", BigInteger, nullable=False),
        Column("verdict", Text, nullable=False),
        Column("reason", Text, nullable=False),
        # Of their vectors; NULL without.
        Column("similarity", Double),
        # Words of content that only the one or only the other has.
        Column("src_words", Integer, nullable=False),
        Column("dst_words", Integer, nullable=False),
        PrimaryKeyConstraint("tenant", "src", "dst", name="duplicate_pair_pkey"),
        owned_by_memory("duplicate_pair_src_fkey", "src"),
        owned_by_memory("duplicate_pair_dst_fkey", "dst"),
        CheckConstraint("src < dst", name="duplicate_pair_order_check"),
        CheckConstraint("verdict IN ('same', 'contradicts')", name="duplicate_pair_verdict_check"),
        Index("duplicate_pair_dst_idx", "tenant", "dst"),
        schema=SCHEMA,
    )


def _dedupe_plan(metadata: MetaData) -> Table:
    """A stored plan to review; ``report`` has what was found."""
    return Table(
        "dedupe_plan",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("state", Text, nullable=False, server_default=text("'planned'")),
        moment("created_at", nullable=False),
        moment("applied_at"),
        moment("undone_at"),
        Column("options", JSONB, nullable=False),
        Column("report", JSONB, nullable=False),
        PrimaryKeyConstraint("tenant", "id", name="dedupe_plan_pkey"),
        CheckConstraint("state IN ('planned', 'applied', 'undone')", name="dedupe_plan_state_check"),
        CheckConstraint("(applied_at IS NULL) = (state = 'planned')", name="dedupe_plan_applied_check"),
        CheckConstraint("(undone_at IS NOT NULL) = (state = 'undone')", name="dedupe_plan_undone_check"),
        schema=SCHEMA,
    )


def _dedupe_item(metadata: MetaData) -> Table:
    """A memory of a cluster: the keeper, or one that is merged into it; and what undo restores."""
    return Table(
        "dedupe_item",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("plan_id", BigInteger, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("cluster", Integer, nullable=False),
        Column("keeper", Boolean, nullable=False),
        Column("vitality", Double, nullable=False),
        Column("similarity", Double),
        Column("reason", Text, nullable=False),
        Column("content_hash", Text, nullable=False),
        Column("outcome", Text),
        Column("note", Text),
        # Of a keeper, as it was before: what a merge adds to, and undo takes away again.
        Column("added_tags", ARRAY(Text)),
        Column("added_aliases", ARRAY(Text)),
        moment("updated_before"),
        moment("folded_before"),
        Column("sessions_before", Double),
        Column("sessions_at_before", Double),
        PrimaryKeyConstraint("tenant", "plan_id", "memory_id", name="dedupe_item_pkey"),
        ForeignKeyConstraint(
            ["tenant", "plan_id"],
            ["recall.dedupe_plan.tenant", "recall.dedupe_plan.id"],
            name="dedupe_item_plan_fkey",
            ondelete="CASCADE",
        ),
        owned_by_memory("dedupe_item_memory_fkey"),
        CheckConstraint("outcome IN ('kept', 'merged', 'skipped')", name="dedupe_item_outcome_check"),
        CheckConstraint("(note IS NOT NULL) = (outcome = 'skipped')", name="dedupe_item_note_check"),
        Index("dedupe_item_memory_idx", "tenant", "memory_id"),
        schema=SCHEMA,
    )
