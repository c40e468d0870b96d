"""The foundation: memories, their activation, the access log, links, names and configuration."""

import sqlalchemy as sa
from alembic import context, op
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql as pg

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    dimensions = context.config.attributes["dimensions"]
    # Generated columns need an immutable function; array_to_string is only stable.
    op.execute(
        "CREATE FUNCTION recall.joined(p_words text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE "
        "SET search_path = pg_catalog, pg_temp RETURN array_to_string(p_words, ' ')"
    )
    op.create_table(
        "layer",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("metabolic_rate", sa.Double(), nullable=False),
        sa.Column("reading", sa.Text(), server_default=sa.text("'clock'"), nullable=False),
        sa.Column("base_decay", sa.Double(), server_default=sa.text("0.5"), nullable=False),
        sa.Column("birth_weight", sa.Double(), server_default=sa.text("1"), nullable=False),
        sa.Column("profile", sa.Text(), server_default=sa.text("'balanced'"), nullable=False),
        sa.CheckConstraint("reading IN ('clock', 'exponent')", name="layer_reading_check"),
        sa.CheckConstraint("base_decay BETWEEN 0.001 AND 10", name="layer_decay_check"),
        sa.CheckConstraint("birth_weight BETWEEN 1 AND 100", name="layer_birth_check"),
        sa.CheckConstraint("metabolic_rate BETWEEN 0.001 AND 1000", name="layer_rate_check"),
        sa.PrimaryKeyConstraint("tenant", "name", name="layer_pkey"),
        schema="recall",
    )
    op.create_table(
        "layer_median",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("layer", sa.Text(), nullable=False),
        sa.Column("base", sa.Double(), nullable=False),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "layer", name="layer_median_pkey"),
        schema="recall",
    )
    op.create_table(
        "lexeme",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("word", sa.Text(), nullable=False),
        sa.Column("documents", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "word", name="lexeme_pkey"),
        schema="recall",
    )
    op.create_table(
        "memory",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("layer", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=True),
        sa.Column("context", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("tags", pg.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("aliases", pg.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column(
            "metadata", pg.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_from", sa.DateTime(timezone=True), nullable=True),
        sa.Column("valid_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("superseded_by", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pinned", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column(
            "happened_at",
            sa.DateTime(timezone=True),
            sa.Computed("coalesce(occurred_at, created_at)", persisted=True),
            nullable=False,
        ),
        sa.Column(
            "content_hash",
            sa.Text(),
            sa.Computed("md5(title || chr(31) || body)", persisted=True),
            nullable=False,
        ),
        sa.Column("embedding", HALFVEC(dimensions), nullable=True),
        sa.Column("embedded_with", sa.Text(), nullable=True),
        sa.Column(
            "search_text",
            pg.TSVECTOR(),
            sa.Computed(
                "setweight(to_tsvector('english'::regconfig, title || ' ' || recall.joined(aliases)), 'A') || setweight(to_tsvector('english'::regconfig, coalesce(author, '') || ' ' || recall.joined(tags)), 'B') || setweight(to_tsvector('english'::regconfig, left(body, 100000)), 'C') || setweight(to_tsvector('english'::regconfig, left(context, 10000)), 'D') || array_to_tsvector(ARRAY[chr(1) || tenant])",
                persisted=True,
            ),
            nullable=False,
        ),
        sa.CheckConstraint("role IN ('user', 'assistant', 'system', 'tool')", name="memory_role_check"),
        sa.CheckConstraint("tenant <> '' AND tenant <> '*'", name="memory_tenant_check"),
        sa.CheckConstraint("title <> '' OR body <> ''", name="memory_text_check"),
        sa.CheckConstraint("(embedding IS NULL) = (embedded_with IS NULL)", name="memory_embedding_check"),
        sa.CheckConstraint("length(title) <= 1000 AND length(body) <= 1000000", name="memory_length_check"),
        sa.CheckConstraint("superseded_by <> id", name="memory_supersession_check"),
        sa.CheckConstraint("valid_from <= valid_until", name="memory_validity_check"),
        sa.ForeignKeyConstraint(
            ["tenant", "superseded_by"],
            ["recall.memory.tenant", "recall.memory.id"],
            name="memory_superseded_by_fkey",
            ondelete="SET NULL (superseded_by)",
        ),
        sa.PrimaryKeyConstraint("tenant", "id", name="memory_pkey"),
        sa.UniqueConstraint("tenant", "key", name="memory_key_unique"),
        schema="recall",
    )
    op.create_index(
        "memory_author_idx",
        "memory",
        ["tenant", sa.literal_column('lower(author) COLLATE "C"')],
        unique=False,
        schema="recall",
        postgresql_where=sa.text("author IS NOT NULL"),
    )
    op.create_index(
        "memory_embedding_archived_idx",
        "memory",
        ["embedding"],
        unique=False,
        schema="recall",
        postgresql_using="hnsw",
        postgresql_with={"m": 16, "ef_construction": 128},
        postgresql_ops={"embedding": "halfvec_cosine_ops"},
        postgresql_where=sa.text("archived_at IS NOT NULL"),
    )
    op.create_index(
        "memory_embedding_live_idx",
        "memory",
        ["embedding"],
        unique=False,
        schema="recall",
        postgresql_using="hnsw",
        postgresql_with={"m": 16, "ef_construction": 128},
        postgresql_ops={"embedding": "halfvec_cosine_ops"},
        postgresql_where=sa.text("archived_at IS NULL"),
    )
    op.create_index(
        "memory_happened_at_idx", "memory", ["tenant", "happened_at"], unique=False, schema="recall"
    )
    op.create_index(
        "memory_search_text_idx",
        "memory",
        ["search_text"],
        unique=False,
        schema="recall",
        postgresql_using="gin",
    )
    op.create_index(
        "memory_source_idx",
        "memory",
        ["tenant", "source"],
        unique=False,
        schema="recall",
        postgresql_where=sa.text("source IS NOT NULL"),
    )
    op.create_table(
        "relevance_model",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("embedder", sa.Text(), nullable=False),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("intercept", sa.Double(), nullable=False),
        sa.Column("similarity", sa.Double(), nullable=False),
        sa.Column("no_similarity", sa.Double(), nullable=False),
        sa.Column("coverage", sa.Double(), nullable=False),
        sa.Column("information", sa.Double(), nullable=False),
        sa.Column("name", sa.Double(), nullable=False),
        sa.Column("author", sa.Double(), nullable=False),
        sa.Column("fitted_on", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "embedder", "profile", name="relevance_model_pkey"),
        schema="recall",
    )
    op.create_table(
        "setting",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", pg.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", name="setting_pkey"),
        schema="recall",
    )
    op.create_table(
        "access",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("session_id", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "kind IN ('write', 'read', 'reference', 'used', 'retrieval')", name="access_kind_check"
        ),
        sa.CheckConstraint("weight BETWEEN 0 AND 100", name="access_weight_check"),
        sa.ForeignKeyConstraint(
            ["tenant", "memory_id"],
            ["recall.memory.tenant", "recall.memory.id"],
            name="access_memory_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "id", name="access_pkey"),
        schema="recall",
    )
    op.create_index(
        "access_idempotency_idx",
        "access",
        ["tenant", "idempotency_key"],
        unique=True,
        schema="recall",
        postgresql_where=sa.text("idempotency_key IS NOT NULL"),
    )
    op.create_index(
        "access_memory_idx", "access", ["tenant", "memory_id", "at"], unique=False, schema="recall"
    )
    op.create_table(
        "activation",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("first_at", sa.Double(), nullable=False),
        sa.Column("t1", sa.Double(), nullable=False),
        sa.Column("t2", sa.Double(), nullable=True),
        sa.Column("t3", sa.Double(), nullable=True),
        sa.Column("t4", sa.Double(), nullable=True),
        sa.Column("t5", sa.Double(), nullable=True),
        sa.Column("t6", sa.Double(), nullable=True),
        sa.Column("t7", sa.Double(), nullable=True),
        sa.Column("t8", sa.Double(), nullable=True),
        sa.Column("credit", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("decay", sa.Double(), nullable=False),
        sa.Column("clock", sa.Double(), nullable=False),
        sa.Column("in_degree", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("spread", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("spread_at", sa.Double(), nullable=True),
        sa.Column("last_linked_at", sa.Double(), nullable=True),
        sa.Column("cut_size", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("protected", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("vitality", sa.Double(), nullable=True),
        sa.Column("zone", sa.Text(), nullable=True),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("clock BETWEEN 0.001 AND 1000", name="activation_clock_check"),
        sa.CheckConstraint("decay BETWEEN 0.0001 AND 10", name="activation_decay_check"),
        sa.CheckConstraint("n >= 1", name="activation_count_check"),
        sa.CheckConstraint("spread BETWEEN 0 AND 1", name="activation_spread_check"),
        sa.ForeignKeyConstraint(
            ["tenant", "memory_id"],
            ["recall.memory.tenant", "recall.memory.id"],
            name="activation_memory_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "memory_id", name="activation_pkey"),
        schema="recall",
        postgresql_with={"fillfactor": "45"},
    )
    op.create_table(
        "link",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("src", sa.BigInteger(), nullable=False),
        sa.Column("dst", sa.BigInteger(), nullable=False),
        sa.Column("relation", sa.Text(), nullable=False),
        sa.Column("weight", sa.Double(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("drafted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint(
            "relation IN ('links_to', 'next', 'mentions', 'part_of', 'implies', 'supports', 'contradicts', 'supersedes', 'co_access')",
            name="link_relation_check",
        ),
        sa.CheckConstraint("src <> dst", name="link_self_check"),
        sa.CheckConstraint("weight > 0 AND weight <= 100", name="link_weight_check"),
        sa.ForeignKeyConstraint(
            ["tenant", "dst"],
            ["recall.memory.tenant", "recall.memory.id"],
            name="link_dst_fkey",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["tenant", "src"],
            ["recall.memory.tenant", "recall.memory.id"],
            name="link_src_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "src", "dst", "relation", name="link_pkey"),
        schema="recall",
    )
    op.create_index("link_dst_idx", "link", ["tenant", "dst"], unique=False, schema="recall")
    op.create_table(
        "name",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("entity", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "memory_id"],
            ["recall.memory.tenant", "recall.memory.id"],
            name="name_memory_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "name", "memory_id", name="name_pkey"),
        schema="recall",
    )
    op.create_index("name_memory_idx", "name", ["tenant", "memory_id"], unique=False, schema="recall")
    op.create_index(
        "name_trigram_idx",
        "name",
        ["name"],
        unique=False,
        schema="recall",
        postgresql_using="gin",
        postgresql_ops={"name": "gin_trgm_ops"},
        postgresql_where=sa.text("entity"),
    )
    op.create_table(
        "pending_link",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("src", sa.BigInteger(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("relation", sa.Text(), nullable=False),
        sa.Column("weight", sa.Double(), server_default=sa.text("1"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "relation IN ('links_to', 'next', 'mentions', 'part_of', 'implies', 'supports', 'contradicts', 'supersedes', 'co_access')",
            name="pending_link_relation_check",
        ),
        sa.CheckConstraint("length(target) BETWEEN 1 AND 1000", name="pending_link_target_check"),
        sa.CheckConstraint("weight > 0 AND weight <= 100", name="pending_link_weight_check"),
        sa.ForeignKeyConstraint(
            ["tenant", "src"],
            ["recall.memory.tenant", "recall.memory.id"],
            name="pending_link_src_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant", "src", "target", "relation", name="pending_link_pkey"),
        schema="recall",
    )
    op.create_index(
        "pending_link_target_idx",
        "pending_link",
        ["tenant", sa.literal_column("lower(target)")],
        unique=False,
        schema="recall",
    )
