"""The tables of links between memories, and of the names that resolve links."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Double,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import BIT

from pgrecall.schema.tables.columns import SCHEMA, index_where, moment, owned_by_memory
from pgrecall.schema.tables.rules import RELATION_NAMES, rules


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _link(metadata)
    _pending_link(metadata)
    _name(metadata)


def _link(metadata: MetaData) -> Table:
    return Table(
        "link",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("src", BigInteger, nullable=False),
        Column("dst", BigInteger, nullable=False),
        Column("relation", Text, nullable=False),
        Column("weight", Double, nullable=False, server_default=text("1")),
        moment("created_at", nullable=False, default=True),
        Column("drafted", Boolean, nullable=False, server_default=text("false")),
        # For co_access links: the time of their weight, which is a decaying count.
        moment("strengthened_at"),
        # A copy that the keeper of a merge has of a link of this memory.
        Column("merged_from", BigInteger),
        PrimaryKeyConstraint("tenant", "src", "dst", "relation", name="link_pkey"),
        owned_by_memory("link_src_fkey", "src"),
        owned_by_memory("link_dst_fkey", "dst"),
        CheckConstraint("src <> dst", name="link_self_check"),
        CheckConstraint("weight > 0 AND weight <= 100", name="link_weight_check"),
        CheckConstraint(f"relation IN ({RELATION_NAMES})", name="link_relation_check"),
        Index("link_dst_idx", "tenant", "dst"),
        index_where("relation = 'contradicts'", "link_contradicts_src_idx", "tenant", "src", "dst"),
        index_where("relation = 'contradicts'", "link_contradicts_dst_idx", "tenant", "dst", "src"),
        index_where("relation = 'derived_from'", "link_derived_idx", "tenant", "src"),
        index_where("relation = 'next'", "link_next_dst_idx", "tenant", "dst", "src"),
        index_where("merged_from IS NOT NULL", "link_merged_from_idx", "tenant", "merged_from"),
        schema=SCHEMA,
    )


def _pending_link(metadata: MetaData) -> Table:
    """Links to memories that do not exist yet."""
    return Table(
        "pending_link",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("src", BigInteger, nullable=False),
        Column("target", Text, nullable=False),
        Column("relation", Text, nullable=False),
        Column("weight", Double, nullable=False, server_default=text("1")),
        moment("created_at", nullable=False, default=True),
        PrimaryKeyConstraint("tenant", "src", "target", "relation", name="pending_link_pkey"),
        owned_by_memory("pending_link_src_fkey", "src"),
        CheckConstraint("weight > 0 AND weight <= 100", name="pending_link_weight_check"),
        CheckConstraint(f"relation IN ({RELATION_NAMES})", name="pending_link_relation_check"),
        *rules("pending_link"),
        index_where("relation = 'derived_from'", "pending_link_derived_idx", "tenant", "src"),
        Index("pending_link_target_idx", "tenant", text("lower(target)")),
        schema=SCHEMA,
    )


def _name(metadata: MetaData) -> Table:
    """Titles and aliases, kept up to date by a trigger, for resolving links and for the name arm."""
    return Table(
        "name",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("entity", Boolean, nullable=False),
        # Compared with queries; links still distinguish accents.
        Column("plain", Text, Computed("recall_private.plain(name)", persisted=True), nullable=False),
        # The trigrams of ``plain``, each as one of 256 bits: what has few bits in common is not similar.
        Column(
            "signature",
            BIT(256),
            Computed("recall_private.trigram_signature(name)", persisted=True),
            nullable=False,
        ),
        PrimaryKeyConstraint("tenant", "name", "memory_id", name="name_pkey"),
        owned_by_memory("name_memory_fkey"),
        Index("name_memory_idx", "tenant", "memory_id"),
        Index("name_plain_idx", "tenant", "plain", "entity"),
        # Misspelt names are looked for among all entities of a tenant, by a few bits of each.
        index_where("entity", "name_signature_idx", "tenant", postgresql_include=["signature", "memory_id"]),
        schema=SCHEMA,
    )
