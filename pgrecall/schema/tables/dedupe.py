"""The tables of duplicates: compared memories and pairs, derived from the texts, so no export has them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Double,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)

from pgrecall.schema.tables.columns import SCHEMA, owned_by_memory


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _compared(metadata)
    _duplicate_pair(metadata)


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
