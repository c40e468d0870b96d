"""The tables of settings and statistics of a tenant: layers, relevance models, words, settings, and its cell.

Rows of tenant ``*`` hold what applies where a tenant has no row of its own.
"""

from __future__ import annotations

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from pgrecall.schema.tables.columns import SCHEMA, moment
from pgrecall.schema.tables.rules import rules


def add(metadata: MetaData) -> None:
    """Adds these tables to the metadata."""
    _layers(metadata)
    _relevance_model(metadata)
    _lexeme(metadata)
    _setting(metadata)
    _tenant_lock(metadata)
    _resident(metadata)


def _layers(metadata: MetaData) -> None:
    """Layers, and the median activation of each."""
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
        *rules("layer_median"),
        schema=SCHEMA,
    )


def _relevance_model(metadata: MetaData) -> Table:
    """Coefficients of relevance."""
    return Table(
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
        Column("cue", Double, nullable=False, server_default=text("0")),
        Column("graph", Double, nullable=False, server_default=text("0")),
        Column("form", Text, nullable=False, server_default=text("'logistic'")),
        Column("vitality_weight", Double),
        Column("vitality_mode", Text),
        Column("token_similarity", Double, nullable=False, server_default=text("0")),
        Column("no_token_similarity", Double, nullable=False, server_default=text("0")),
        Column("session_coverage", Double, nullable=False, server_default=text("0")),
        Column("period", Double, nullable=False, server_default=text("0")),
        Column("question", Double, nullable=False, server_default=text("0")),
        Column("speaker", Double, nullable=False, server_default=text("0")),
        Column("no_number", Double, nullable=False, server_default=text("0")),
        PrimaryKeyConstraint("tenant", "embedder", "profile", name="relevance_model_pkey"),
        CheckConstraint("form IN ('logistic', 'seed', 'rrf')", name="relevance_model_form_check"),
        CheckConstraint("vitality_weight BETWEEN 0 AND 10", name="relevance_model_weight_check"),
        CheckConstraint(
            "vitality_mode IN ('odds', 'unbounded', 'multiply', 'bounded', 'off')",
            name="relevance_model_mode_check",
        ),
        *rules("relevance_model"),
        schema=SCHEMA,
    )


def _lexeme(metadata: MetaData) -> Table:
    """How many memories hold each word."""
    return Table(
        "lexeme",
        metadata,
        Column("tenant", Text, nullable=False),
        # By bytes, so that the words that begin with one are a range of the key.
        Column("word", Text(collation="C"), nullable=False),
        Column("documents", BigInteger, nullable=False),
        # Mean bytes of a body, in the row of the empty word.
        Column("body_length", Double),
        # The mean of the memories' vectors, there too, and the embedder that made them.
        Column("mean_embedding", HALFVEC()),
        Column("mean_embedder", Text),
        PrimaryKeyConstraint("tenant", "word", name="lexeme_pkey"),
        *rules("lexeme"),
        Index(
            "lexeme_trigram_idx",
            text("recall_private.tenant_trigrams(tenant, word)"),
            postgresql_using="gin",
            postgresql_with={"fastupdate": "off"},
        ),
        schema=SCHEMA,
    )


def _setting(metadata: MetaData) -> None:
    """Values by name."""
    Table(
        "setting",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("value", JSONB, nullable=False),
        PrimaryKeyConstraint("tenant", "name", name="setting_pkey"),
        schema=SCHEMA,
    )


def _tenant_lock(metadata: MetaData) -> None:
    """A row for each lock of a tenant (``functions/01_tenancy/02_locks.sql``)."""
    Table(
        "tenant_lock",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("purpose", Text, nullable=False),
        PrimaryKeyConstraint("tenant", "purpose", name="tenant_lock_pkey"),
        schema=SCHEMA,
    )


def _resident(metadata: MetaData) -> None:
    """Which tenants live in this cell; empty in a database that is the only one
    (``functions/01_tenancy/09_cells.sql``)."""
    Table(
        "resident",
        metadata,
        Column("tenant", Text, nullable=False),
        Column("state", Text, nullable=False, server_default=text("'here'")),
        # Where it lives; NULL: here.
        Column("cell", BigInteger),
        moment("since", nullable=False, default=True),
        PrimaryKeyConstraint("tenant", name="resident_pkey"),
        CheckConstraint(
            "(state = 'here' AND cell IS NULL) OR state = 'moving' OR (state = 'gone' AND cell IS NOT NULL)",
            name="resident_state_check",
        ),
        schema=SCHEMA,
    )
