"""The tables of search and service: logged searches, verdicts, models of rerankers, keys, grants, roles."""

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
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from pgrecall.schema.tables.columns import SCHEMA, index_where, moment, owned_by_memory
from pgrecall.schema.tables.rules import rules


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata that holds ``memory``."""
    _rerank_model(metadata)
    _search_log(metadata)
    _judgement(metadata)
    _api_key(metadata)
    _page_session(metadata)
    _oauth_grant(metadata)
    _reader(metadata)
    _tenant_role(metadata)


def _rerank_model(metadata: MetaData) -> Table:
    """How a reranker's score becomes a probability: intercept + rerank * score + fused * logit(p_fused)."""
    return Table(
        "rerank_model",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("reranker", Text, nullable=False),
        Column("intercept", Double, nullable=False),
        Column("rerank", Double, nullable=False),
        Column("fused", Double, nullable=False),
        Column("fitted_on", Text, nullable=False),
        PrimaryKeyConstraint("tenant", "reranker", name="rerank_model_pkey"),
        *rules("rerank_model"),
        schema=SCHEMA,
    )


def _search_log(metadata: MetaData) -> Table:
    """One row for each logged search, with the shown memories in their order."""
    return Table(
        "search_log",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        moment("at", nullable=False),
        Column("session_id", Text),
        Column("query", Text, nullable=False),
        Column("queries", ARRAY(Text)),
        Column("profile", Text, nullable=False),
        Column("shown", ARRAY(BigInteger), nullable=False),
        Column("experiment", BigInteger),
        Column("arm", Text),
        Column("arm_weight", Double),
        PrimaryKeyConstraint("tenant", "id", name="search_log_pkey"),
        CheckConstraint(
            "num_nulls(experiment, arm, arm_weight) IN (0, 3) AND coalesce(experiment >= 1, true) "
            "AND coalesce(arm IN ('off', 'default', 'other'), true) "
            "AND coalesce(arm_weight BETWEEN 0 AND 10, true)",
            name="search_log_arm_check",
        ),
        *rules("search_log"),
        Index("search_log_at_idx", "tenant", "at"),
        index_where("experiment IS NOT NULL", "search_log_experiment_idx", "tenant", "experiment", "at"),
        schema=SCHEMA,
    )


def _judgement(metadata: MetaData) -> Table:
    """A verdict on a memory shown by a search: used or rejected."""
    return Table(
        "judgement",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("search_id", BigInteger, nullable=False),
        Column("memory_id", BigInteger, nullable=False),
        Column("verdict", Text, nullable=False),
        moment("at", nullable=False),
        PrimaryKeyConstraint("tenant", "search_id", "memory_id", name="judgement_pkey"),
        ForeignKeyConstraint(
            ["tenant", "search_id"],
            ["recall.search_log.tenant", "recall.search_log.id"],
            name="judgement_search_fkey",
            ondelete="CASCADE",
        ),
        owned_by_memory("judgement_memory_fkey"),
        CheckConstraint("verdict IN ('used', 'rejected')", name="judgement_verdict_check"),
        Index("judgement_memory_idx", "tenant", "memory_id"),
        schema=SCHEMA,
    )


def _api_key(metadata: MetaData) -> Table:
    """Bearer keys of the service, each bound to a tenant; only a hash of the key is stored."""
    return Table(
        "api_key",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("id", BigInteger, Identity(always=True), nullable=False),
        Column("name", Text, nullable=False),
        Column("hash", LargeBinary, nullable=False),
        moment("created_at", nullable=False),
        moment("last_used_at"),
        moment("revoked_at"),
        Column("read_only", Boolean, nullable=False, server_default=text("false")),
        Column("also_reads", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
        PrimaryKeyConstraint("tenant", "id", name="api_key_pkey"),
        # Not led by the tenant, because the tenant is looked up by the hash.
        Index("api_key_hash_idx", "hash", unique=True),
        schema=SCHEMA,
    )


def _page_session(metadata: MetaData) -> Table:
    """Sessions of the page, each opened by a key; only a digest of the cookie is stored."""
    return Table(
        "page_session",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("digest", LargeBinary, nullable=False),
        Column("key_id", BigInteger, nullable=False),
        moment("ends_at", nullable=False),
        PrimaryKeyConstraint("tenant", "digest", name="page_session_pkey"),
        ForeignKeyConstraint(
            ["tenant", "key_id"],
            ["recall.api_key.tenant", "recall.api_key.id"],
            name="page_session_key_fkey",
            ondelete="CASCADE",
        ),
        # Not led by the tenant, because the tenant is looked up by the digest.
        Index("page_session_digest_idx", "digest", unique=True),
        Index("page_session_key_idx", "tenant", "key_id", "ends_at"),
        schema=SCHEMA,
    )


def _oauth_grant(metadata: MetaData) -> Table:
    """What a person lets a client do with a key, and its tokens, of which only digests are stored."""
    return Table(
        "oauth_grant",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("digest", LargeBinary, nullable=False),
        Column("key_id", BigInteger, nullable=False),
        Column("secret", LargeBinary, nullable=False),
        Column("access", LargeBinary),
        moment("access_ends_at"),
        Column("terms", JSONB, nullable=False),
        moment("ends_at", nullable=False),
        PrimaryKeyConstraint("tenant", "digest", name="oauth_grant_pkey"),
        ForeignKeyConstraint(
            ["tenant", "key_id"],
            ["recall.api_key.tenant", "recall.api_key.id"],
            name="oauth_grant_key_fkey",
            ondelete="CASCADE",
        ),
        # Not led by the tenant, because the tenant is looked up by the digest.
        Index("oauth_grant_digest_idx", "digest", unique=True),
        Index("oauth_grant_key_idx", "tenant", "key_id", "ends_at"),
        schema=SCHEMA,
    )


def _reader(metadata: MetaData) -> Table:
    """The tenants that may read a tenant, which has shared itself with them."""
    return Table(
        "reader",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("reader", Text, nullable=False),
        moment("since", nullable=False),
        Column("may_share", Boolean, nullable=False, server_default=text("false")),
        PrimaryKeyConstraint("tenant", "reader", name="reader_pkey"),
        CheckConstraint("reader NOT IN ('', '*', tenant)", name="reader_reader_check"),
        schema=SCHEMA,
    )


def _tenant_role(metadata: MetaData) -> Table:
    """The tenant of a login role of the server; ``*`` if it may name any."""
    return Table(
        "tenant_role",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("role", Text, nullable=False),
        moment("bound_at", nullable=False, default=True),
        PrimaryKeyConstraint("tenant", "role", name="tenant_role_pkey"),
        CheckConstraint("tenant <> ''", name="tenant_role_tenant_check"),
        # Not led by the tenant, because the tenant is looked up by the role.
        Index("tenant_role_role_idx", "role", unique=True),
        schema=SCHEMA,
    )
