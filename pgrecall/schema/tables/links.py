"""The tables around a memory: links, names, and what is configured or counted."""

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
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.models.memories import RELATIONS
from pgrecall.schema.tables.columns import SCHEMA, moment, owned_by_memory

RELATION_NAMES = ", ".join(f"'{relation}'" for relation in RELATIONS)


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _links(metadata)
    _name(metadata)
    _configuration(metadata)
    _judgement(metadata)
    _setting(metadata)


def _links(metadata: MetaData) -> None:
    Table(
        "link",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("src", BigInteger, nullable=False),
        Column("dst", BigInteger, nullable=False),
        Column("relation", Text, nullable=False),
        Column("weight", Double, nullable=False, server_default=text("1")),
        moment("created_at", nullable=False, default=True),
        Column("drafted", Boolean, nullable=False, server_default=text("false")),
        # Of co_access links, whose weight is a count that decays: the moment it was counted for.
        moment("strengthened_at"),
        PrimaryKeyConstraint("tenant", "src", "dst", "relation", name="link_pkey"),
        owned_by_memory("link_src_fkey", "src"),
        owned_by_memory("link_dst_fkey", "dst"),
        CheckConstraint("src <> dst", name="link_self_check"),
        CheckConstraint("weight > 0 AND weight <= 100", name="link_weight_check"),
        CheckConstraint(f"relation IN ({RELATION_NAMES})", name="link_relation_check"),
        Index("link_dst_idx", "tenant", "dst"),
        Index(
            "link_contradicts_src_idx",
            "tenant",
            "src",
            "dst",
            postgresql_where=text("relation = 'contradicts'"),
        ),
        Index(
            "link_contradicts_dst_idx",
            "tenant",
            "dst",
            "src",
            postgresql_where=text("relation = 'contradicts'"),
        ),
        schema=SCHEMA,
    )
    Table(
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
        CheckConstraint("length(target) BETWEEN 1 AND 1000", name="pending_link_target_check"),
        Index("pending_link_target_idx", "tenant", text("lower(target)")),
        schema=SCHEMA,
    )


def _name(metadata: MetaData) -> Table:
    """Titles and aliases, kept by a trigger: what links resolve by; the name arm sees those of entities."""
    return Table(
        "name",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("entity", Boolean, nullable=False),
        # What questions are compared with; links still tell an accent from none.
        Column("plain", Text, Computed("recall.plain(name)", persisted=True), nullable=False),
        PrimaryKeyConstraint("tenant", "name", "memory_id", name="name_pkey"),
        owned_by_memory("name_memory_fkey"),
        Index("name_memory_idx", "tenant", "memory_id"),
        Index("name_plain_idx", "tenant", "plain"),
        Index(
            "name_trigram_idx",
            "plain",
            postgresql_using="gin",
            postgresql_ops={"plain": "gin_trgm_ops"},
            postgresql_where=text("entity"),
        ),
        schema=SCHEMA,
    )


def _configuration(metadata: MetaData) -> None:
    """Tenant ``*`` holds what applies where a tenant has no row of its own."""
    Table(
        "layer",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("metabolic_rate", Double, nullable=False),
        Column("reading", Text, nullable=False, server_default=text("'clock'")),
        Column("base_decay", Double, nullable=False, server_default=text("0.5")),
        Column("birth_weight", Double, nullable=False, server_default=text("1")),
        Column("profile", Text, nullable=False, server_default=text("'balanced'")),
        Column("active", Double, nullable=False, server_default=text("0.6")),
        Column("stale", Double, nullable=False, server_default=text("0.3")),
        Column("fading", Double, nullable=False, server_default=text("0.1")),
        PrimaryKeyConstraint("tenant", "name", name="layer_pkey"),
        CheckConstraint("metabolic_rate BETWEEN 0.001 AND 1000", name="layer_rate_check"),
        CheckConstraint("reading IN ('clock', 'exponent')", name="layer_reading_check"),
        CheckConstraint("base_decay BETWEEN 0.001 AND 10", name="layer_decay_check"),
        CheckConstraint("birth_weight BETWEEN 1 AND 100", name="layer_birth_check"),
        CheckConstraint(
            "1 > active AND active > stale AND stale > fading AND fading > 0", name="layer_zones_check"
        ),
        schema=SCHEMA,
    )
    Table(
        "layer_median",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("layer", Text, nullable=False),
        Column("base", Double, nullable=False),
        moment("computed_at", nullable=False),
        PrimaryKeyConstraint("tenant", "layer", name="layer_median_pkey"),
        schema=SCHEMA,
    )


def _judgement(metadata: MetaData) -> None:
    """What relevance is computed with: coefficients, and how many memories hold each word."""
    Table(
        "relevance_model",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("embedder", Text, nullable=False),
        Column("profile", Text, nullable=False),
        Column("intercept", Double, nullable=False),
        Column("similarity", Double, nullable=False),
        Column("no_similarity", Double, nullable=False),
        Column("coverage", Double, nullable=False),
        Column("information", Double, nullable=False),
        Column("name", Double, nullable=False),
        Column("author", Double, nullable=False),
        Column("fitted_on", Text, nullable=False),
        Column("phrase", Double, nullable=False, server_default=text("0")),
        Column("cue", Double, nullable=False, server_default=text("0")),
        Column("graph", Double, nullable=False, server_default=text("0")),
        Column("form", Text, nullable=False, server_default=text("'logistic'")),
        Column("vitality_weight", Double),
        Column("vitality_mode", Text),
        PrimaryKeyConstraint("tenant", "embedder", "profile", name="relevance_model_pkey"),
        CheckConstraint("form IN ('logistic', 'seed', 'rrf')", name="relevance_model_form_check"),
        CheckConstraint("vitality_weight BETWEEN 0 AND 10", name="relevance_model_weight_check"),
        CheckConstraint(
            "vitality_mode IN ('odds', 'multiply', 'bounded', 'off')", name="relevance_model_mode_check"
        ),
        schema=SCHEMA,
    )
    Table(
        "lexeme",
        metadata,
        Column("tenant", Text, nullable=False),
        # By bytes, so that the words that begin with one are a range of the key.
        Column("word", Text(collation="C"), nullable=False),
        Column("documents", BigInteger, nullable=False),
        PrimaryKeyConstraint("tenant", "word", name="lexeme_pkey"),
        Index(
            "lexeme_trigram_idx",
            "word",
            text("(ARRAY[tenant])"),
            postgresql_using="gin",
            postgresql_ops={"word": "gin_trgm_ops"},
        ),
        schema=SCHEMA,
    )


def _setting(metadata: MetaData) -> None:
    """Values by name; tenant ``*`` again for the whole database."""
    Table(
        "setting",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("value", JSONB, nullable=False),
        PrimaryKeyConstraint("tenant", "name", name="setting_pkey"),
        schema=SCHEMA,
    )
