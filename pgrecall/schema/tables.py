"""The tables of schema ``recall``: the one description that revisions are checked against.

Every key leads with ``tenant``, so that the tables can later be partitioned or distributed by it.
``memory`` is wide and never updated for ranking; ``activation`` is narrow and changes with use.
"""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR

from pgrecall.models import RELATIONS

SCHEMA = "recall"

SEARCH_TEXT = (
    "setweight(to_tsvector('english'::regconfig, title || ' ' || recall.joined(aliases)), 'A') || "
    "setweight(to_tsvector('english'::regconfig, coalesce(author, '') || ' ' || recall.joined(tags)), 'B')"
    " || "
    "setweight(to_tsvector('english'::regconfig, left(body, 100000)), 'C') || "
    "setweight(to_tsvector('english'::regconfig, left(context, 10000)), 'D')"
)

RELATION_NAMES = ", ".join(f"'{relation}'" for relation in RELATIONS)


def _moment(name: str, *, nullable: bool = True, default: bool = False) -> Column[object]:
    return Column(
        name,
        DateTime(timezone=True),
        nullable=nullable,
        server_default=text("now()") if default else None,
    )


def _memory(metadata: MetaData, dimensions: int) -> Table:
    return Table(
        "memory",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("key", Text),
        Column("layer", Text, nullable=False),
        Column("title", Text, nullable=False, server_default=text("''")),
        Column("body", Text, nullable=False),
        Column("role", Text),
        Column("author", Text),
        Column("context", Text, nullable=False, server_default=text("''")),
        Column("source", Text),
        Column("session_id", Text),
        Column("tags", ARRAY(Text), nullable=False, server_default=text("'{}'")),
        Column("aliases", ARRAY(Text), nullable=False, server_default=text("'{}'")),
        Column("metadata", JSONB, nullable=False, server_default=text("'{}'")),
        _moment("occurred_at"),
        _moment("valid_from"),
        _moment("valid_until"),
        Column("superseded_by", BigInteger),
        _moment("expires_at"),
        Column("pinned", Boolean, nullable=False, server_default=text("false")),
        _moment("archived_at"),
        _moment("created_at", nullable=False, default=True),
        _moment("updated_at", nullable=False, default=True),
        Column(
            "happened_at",
            DateTime(timezone=True),
            Computed("coalesce(occurred_at, created_at)", persisted=True),
            nullable=False,
        ),
        Column(
            "content_hash", Text, Computed("md5(title || chr(31) || body)", persisted=True), nullable=False
        ),
        Column("embedding", HALFVEC(dimensions)),
        Column("embedded_with", Text),
        Column("search_text", TSVECTOR, Computed(SEARCH_TEXT, persisted=True), nullable=False),
        PrimaryKeyConstraint("tenant", "id", name="memory_pkey"),
        UniqueConstraint("tenant", "key", name="memory_key_unique"),
        ForeignKeyConstraint(
            ["tenant", "superseded_by"],
            ["recall.memory.tenant", "recall.memory.id"],
            name="memory_superseded_by_fkey",
            ondelete="SET NULL (superseded_by)",
        ),
        CheckConstraint("tenant <> '' AND tenant <> '*'", name="memory_tenant_check"),
        CheckConstraint("title <> '' OR body <> ''", name="memory_text_check"),
        CheckConstraint("length(title) <= 1000 AND length(body) <= 1000000", name="memory_length_check"),
        CheckConstraint("role IN ('user', 'assistant', 'system', 'tool')", name="memory_role_check"),
        CheckConstraint("valid_from <= valid_until", name="memory_validity_check"),
        CheckConstraint("superseded_by <> id", name="memory_supersession_check"),
        CheckConstraint("(embedding IS NULL) = (embedded_with IS NULL)", name="memory_embedding_check"),
        Index(
            "memory_embedding_live_idx",
            "embedding",
            postgresql_using="hnsw",
            postgresql_with={"m": 16, "ef_construction": 128},
            postgresql_ops={"embedding": "halfvec_cosine_ops"},
            postgresql_where=text("archived_at IS NULL"),
        ),
        Index(
            "memory_embedding_archived_idx",
            "embedding",
            postgresql_using="hnsw",
            postgresql_with={"m": 16, "ef_construction": 128},
            postgresql_ops={"embedding": "halfvec_cosine_ops"},
            postgresql_where=text("archived_at IS NOT NULL"),
        ),
        Index("memory_search_text_idx", "search_text", postgresql_using="gin"),
        Index("memory_happened_at_idx", "tenant", "happened_at"),
        Index(
            "memory_author_idx",
            "tenant",
            text('lower(author) COLLATE "C"'),
            postgresql_where=text("author IS NOT NULL"),
        ),
        Index("memory_source_idx", "tenant", "source", postgresql_where=text("source IS NOT NULL")),
        schema=SCHEMA,
    )


def _owned_by_memory(name: str, column: str = "memory_id") -> ForeignKeyConstraint:
    return ForeignKeyConstraint(
        ["tenant", column], ["recall.memory.tenant", "recall.memory.id"], name=name, ondelete="CASCADE"
    )


def _activation(metadata: MetaData) -> Table:
    """Times are epoch seconds, so that the hot expression is plain float arithmetic."""
    return Table(
        "activation",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("n", BigInteger, nullable=False),
        Column("first_at", Double, nullable=False),
        Column("t1", Double, nullable=False),
        *(Column(f"t{rank}", Double) for rank in range(2, 9)),
        Column("credit", Double, nullable=False, server_default=text("0")),
        Column("decay", Double, nullable=False),
        Column("clock", Double, nullable=False),
        Column("in_degree", Integer, nullable=False, server_default=text("0")),
        Column("spread", Double, nullable=False, server_default=text("0")),
        Column("spread_at", Double),
        Column("last_linked_at", Double),
        Column("cut_size", Integer, nullable=False, server_default=text("0")),
        Column("protected", Boolean, nullable=False, server_default=text("false")),
        Column("vitality", Double),
        Column("zone", Text),
        _moment("computed_at"),
        PrimaryKeyConstraint("tenant", "memory_id", name="activation_pkey"),
        _owned_by_memory("activation_memory_fkey"),
        CheckConstraint("n >= 1", name="activation_count_check"),
        CheckConstraint("decay BETWEEN 0.0001 AND 10", name="activation_decay_check"),
        CheckConstraint("clock BETWEEN 0.001 AND 1000", name="activation_clock_check"),
        CheckConstraint("spread BETWEEN 0 AND 1", name="activation_spread_check"),
        schema=SCHEMA,
        # Half-empty pages keep every update of these rows heap-only (measured: 100 % at 45).
        postgresql_with={"fillfactor": "45"},
    )


def _access(metadata: MetaData) -> Table:
    return Table(
        "access",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("kind", Text, nullable=False),
        Column("weight", Double, nullable=False),
        _moment("at", nullable=False),
        Column("session_id", Text),
        Column("idempotency_key", Text),
        _moment("recorded_at", nullable=False, default=True),
        PrimaryKeyConstraint("tenant", "id", name="access_pkey"),
        _owned_by_memory("access_memory_fkey"),
        CheckConstraint(
            "kind IN ('write', 'read', 'reference', 'used', 'retrieval')", name="access_kind_check"
        ),
        CheckConstraint("weight BETWEEN 0 AND 100", name="access_weight_check"),
        Index("access_memory_idx", "tenant", "memory_id", "at"),
        Index(
            "access_idempotency_idx",
            "tenant",
            "idempotency_key",
            unique=True,
            postgresql_where=text("idempotency_key IS NOT NULL"),
        ),
        schema=SCHEMA,
    )


def _links(metadata: MetaData) -> tuple[Table, Table]:
    link = Table(
        "link",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("src", BigInteger, nullable=False),
        Column("dst", BigInteger, nullable=False),
        Column("relation", Text, nullable=False),
        Column("weight", Double, nullable=False, server_default=text("1")),
        _moment("created_at", nullable=False, default=True),
        Column("drafted", Boolean, nullable=False, server_default=text("false")),
        PrimaryKeyConstraint("tenant", "src", "dst", "relation", name="link_pkey"),
        _owned_by_memory("link_src_fkey", "src"),
        _owned_by_memory("link_dst_fkey", "dst"),
        CheckConstraint("src <> dst", name="link_self_check"),
        CheckConstraint("weight > 0 AND weight <= 100", name="link_weight_check"),
        CheckConstraint(f"relation IN ({RELATION_NAMES})", name="link_relation_check"),
        Index("link_dst_idx", "tenant", "dst"),
        schema=SCHEMA,
    )
    pending = Table(
        "pending_link",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("src", BigInteger, nullable=False),
        Column("target", Text, nullable=False),
        Column("relation", Text, nullable=False),
        Column("weight", Double, nullable=False, server_default=text("1")),
        _moment("created_at", nullable=False, default=True),
        PrimaryKeyConstraint("tenant", "src", "target", "relation", name="pending_link_pkey"),
        _owned_by_memory("pending_link_src_fkey", "src"),
        CheckConstraint("weight > 0 AND weight <= 100", name="pending_link_weight_check"),
        CheckConstraint(f"relation IN ({RELATION_NAMES})", name="pending_link_relation_check"),
        CheckConstraint("length(target) BETWEEN 1 AND 1000", name="pending_link_target_check"),
        Index("pending_link_target_idx", "tenant", text("lower(target)")),
        schema=SCHEMA,
    )
    return link, pending


def _name(metadata: MetaData) -> Table:
    """Titles and aliases of entities, kept by a trigger: what the name arm looks through."""
    return Table(
        "name",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        PrimaryKeyConstraint("tenant", "name", "memory_id", name="name_pkey"),
        _owned_by_memory("name_memory_fkey"),
        Index("name_memory_idx", "tenant", "memory_id"),
        Index(
            "name_trigram_idx",
            "name",
            postgresql_using="gin",
            postgresql_ops={"name": "gin_trgm_ops"},
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
        Column("median_base", Double, nullable=False, server_default=text("0")),
        Column("profile", Text, nullable=False, server_default=text("'balanced'")),
        PrimaryKeyConstraint("tenant", "name", name="layer_pkey"),
        CheckConstraint("metabolic_rate BETWEEN 0.001 AND 1000", name="layer_rate_check"),
        CheckConstraint("reading IN ('clock', 'exponent')", name="layer_reading_check"),
        CheckConstraint("base_decay BETWEEN 0.001 AND 10", name="layer_decay_check"),
        CheckConstraint("birth_weight BETWEEN 1 AND 100", name="layer_birth_check"),
        schema=SCHEMA,
    )
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
        PrimaryKeyConstraint("tenant", "embedder", "profile", name="relevance_model_pkey"),
        schema=SCHEMA,
    )
    Table(
        "lexeme",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("word", Text, nullable=False),
        Column("documents", BigInteger, nullable=False),
        PrimaryKeyConstraint("tenant", "word", name="lexeme_pkey"),
        schema=SCHEMA,
    )
    Table(
        "setting",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("value", JSONB, nullable=False),
        PrimaryKeyConstraint("tenant", "name", name="setting_pkey"),
        schema=SCHEMA,
    )


def describe(dimensions: int) -> MetaData:
    """The metadata of schema ``recall`` for embeddings of so many dimensions."""
    metadata = MetaData()
    _memory(metadata, dimensions)
    _activation(metadata)
    _access(metadata)
    _links(metadata)
    _name(metadata)
    _configuration(metadata)
    return metadata
