"""The tables of schema ``recall``: the one description that revisions are checked against.

Every key leads with ``tenant``, so that the tables can later be partitioned or distributed by it.
``memory`` is wide and never updated for ranking; ``activation`` is narrow and changes with use.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Constraint,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR

from pgrecall.schema.tables import access, dedupe, erasure, jobs, links, plans, settings, vectors, versions
from pgrecall.schema.tables import search as search_tables
from pgrecall.schema.tables.columns import SCHEMA, index_where, moment, owned_by_memory
from pgrecall.schema.tables.rules import rules

HIDEABLE = (
    "superseded_by IS NOT NULL OR valid_from IS NOT NULL OR valid_until IS NOT NULL OR expires_at IS NOT NULL"
)
UNSPLIT = (
    "embedded_with IS NOT NULL AND passage_count IS NULL AND octet_length(title) + octet_length(body) > 250"
)
SEARCH_TEXT = (
    "setweight(recall_private.text_words(recall_private.configuration(language), "
    "title || ' ' || recall_private.joined(aliases)), 'A') || "
    "setweight(recall_private.text_words(recall_private.configuration(language), "
    "coalesce(author, '') || ' ' || recall_private.joined(tags)), 'B') || "
    # Author, tags and aliases unstemmed, where the language stems them or drops them as stop words.
    "setweight(ts_delete("
    "recall_private.text_words('recall.simple'::regconfig, "
    "coalesce(author, '') || ' ' || recall_private.joined(tags || aliases)), "
    "tsvector_to_array(recall_private.text_words(recall_private.configuration(language), "
    "coalesce(author, '') || ' ' || recall_private.joined(tags || aliases)))), 'B') || "
    "setweight(recall_private.body_words(recall_private.configuration(language), body), 'C') || "
    "setweight(recall_private.text_words(recall_private.configuration(language), left(context, 10000)), 'D')"
    # No text can contain this lexeme. Up to revision 0007, the text index used it to separate tenants.
    " || array_to_tsvector(ARRAY[chr(1) || tenant])"
)


def _memory(metadata: MetaData) -> Table:
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
        moment("occurred_at"),
        moment("valid_from"),
        moment("valid_until"),
        Column("superseded_by", BigInteger),
        moment("expires_at"),
        Column("pinned", Boolean, nullable=False, server_default=text("false")),
        moment("archived_at"),
        moment("created_at", nullable=False, default=True),
        moment("updated_at", nullable=False, default=True),
        Column(
            "happened_at",
            DateTime(timezone=True),
            Computed("coalesce(occurred_at, created_at)", persisted=True),
            nullable=False,
        ),
        Column(
            "content_hash", Text, Computed("md5(title || chr(31) || body)", persisted=True), nullable=False
        ),
        # Which model made its vector, which is kept apart; NULL while there is none of this text.
        Column("embedded_with", Text),
        # By name, for pg_upgrade refuses a database that has a column of type regconfig.
        Column("language", Text, nullable=False, server_default=text("'english'")),
        Column("search_text", TSVECTOR, Computed(SEARCH_TEXT, persisted=True), nullable=False),
        # What it says; NULL until it is found out. A person marked it so if `act_marked`.
        Column("speech_act", Text),
        Column("act_marked", Boolean, nullable=False, server_default=text("false")),
        # Number of passages with vectors; NULL while it is not known whether the text needs any.
        Column("passage_count", SmallInteger),
        *_memory_rules(),
        *_memory_indexes(),
        schema=SCHEMA,
    )


def _memory_rules() -> tuple[Constraint, ...]:
    return (
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
        CheckConstraint(
            "speech_act IN "
            "('statement', 'question', 'acknowledgement', 'instruction', 'preference', 'change')",
            name="memory_act_check",
        ),
        CheckConstraint("valid_from <= valid_until", name="memory_validity_check"),
        CheckConstraint("superseded_by <> id", name="memory_supersession_check"),
    )


_SAME_WORDS = r"hashtextextended(btrim(lower(regexp_replace(left(body, 4000), '\W+', ' ', 'g'))), 0)"
"""`remember` looks for memories with the same words, whatever their case and punctuation."""


def _memory_indexes() -> tuple[Index, ...]:
    words = text("recall_private.tenant_words(tenant, search_text)")
    author = text('recall_private.plain(lower(author)) COLLATE "C"')
    return (
        # Every search reads the pending list of this index (in kB), whoever's words wait there.
        Index(
            "memory_words_idx", words, postgresql_using="gin", postgresql_with={"gin_pending_list_limit": 64}
        ),
        Index("memory_happened_at_idx", "tenant", "happened_at"),
        Index("memory_same_words_idx", "tenant", text(_SAME_WORDS)),
        index_where("author IS NOT NULL", "memory_author_idx", "tenant", author),
        # Every search asks for the directives, wherever else it looks.
        index_where(
            "speech_act IN ('instruction', 'preference') AND archived_at IS NULL",
            "memory_directives_idx",
            "tenant",
            text("happened_at DESC"),
            "id",
        ),
        index_where("speech_act IS NULL", "memory_without_act_idx", "tenant", "id"),
        # Reports and refreshes read these columns of every memory without the wide rows.
        Index("memory_state_idx", "tenant", "id", postgresql_include=["layer", "pinned", "archived_at"]),
        index_where("expires_at IS NOT NULL", "memory_expires_at_idx", "tenant", "expires_at"),
        index_where("embedded_with IS NULL", "memory_unembedded_idx", "tenant", "id"),
        # A search asks whether a memory has passages; most have none.
        index_where(
            "passage_count > 0", "memory_passages_idx", "tenant", "id", postgresql_include=["passage_count"]
        ),
        index_where(UNSPLIT, "memory_unsplit_idx", "tenant", "id"),
        index_where("superseded_by IS NOT NULL", "memory_superseded_by_idx", "tenant", "superseded_by"),
        # The graph leaves these out, and they are few.
        index_where("archived_at IS NOT NULL", "memory_archived_idx", "tenant", "id"),
        # Memories that default search may hide. A memory that is not in this index passes.
        index_where(HIDEABLE, "memory_hideable_idx", "tenant", "id"),
        index_where("source IS NOT NULL", "memory_source_idx", "tenant", "source"),
        index_where("session_id IS NOT NULL", "memory_session_idx", "tenant", "session_id"),
        # The path of a value is indexed with it, so it begins with the tenant. Most memories have none.
        index_where(
            "metadata <> '{}'",
            "memory_metadata_idx",
            literal_column("jsonb_set('{}', ARRAY[tenant], metadata)").label("led"),
            postgresql_using="gin",
            postgresql_with={"fastupdate": "off"},
            postgresql_ops={"led": "jsonb_path_ops"},
        ),
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
        moment("folded_until", nullable=False),
        Column("decay", Double, nullable=False),
        Column("clock", Double, nullable=False),
        Column("in_degree", Integer, nullable=False, server_default=text("0")),
        Column("spread", Double, nullable=False, server_default=text("0")),
        Column("spread_at", Double),
        Column("last_linked_at", Double),
        Column("sessions", Double, nullable=False, server_default=text("0")),
        Column("sessions_at", Double),
        Column("cut_size", Integer, nullable=False, server_default=text("0")),
        Column("protected", Boolean, nullable=False, server_default=text("false")),
        Column("vitality", Double),
        moment("computed_at"),
        # The zone that the last refresh saw; only the next refresh reads it, to tell of crossings.
        Column("zone", Text),
        PrimaryKeyConstraint("tenant", "memory_id", name="activation_pkey"),
        owned_by_memory("activation_memory_fkey"),
        CheckConstraint("decay BETWEEN 0.0001 AND 10", name="activation_decay_check"),
        CheckConstraint("clock BETWEEN 0.001 AND 1000", name="activation_clock_check"),
        CheckConstraint("spread BETWEEN 0 AND 1", name="activation_spread_check"),
        CheckConstraint("credit >= 0 AND credit < 1", name="activation_credit_check"),
        CheckConstraint("in_degree >= 0", name="activation_degree_check"),
        CheckConstraint("zone IN ('active', 'stale', 'fading', 'dormant')", name="activation_zone_check"),
        *rules("activation"),
        # What the graph job stored last; it changes little from one time to the next.
        index_where(
            "cut_size <> 0 OR protected",
            "activation_cut_idx",
            "tenant",
            "memory_id",
            postgresql_include=["cut_size", "protected"],
        ),
        schema=SCHEMA,
        # Half-empty pages keep every update of these rows heap-only (measured: 100 % at 45).
        postgresql_with={"fillfactor": "45"},
    )


def describe(dimensions: int) -> MetaData:
    """The metadata of schema ``recall`` for embeddings of so many dimensions."""
    metadata = MetaData()
    _memory(metadata)
    _activation(metadata)
    vectors.add(metadata, dimensions)
    access.add(metadata)
    links.add(metadata)
    settings.add(metadata)
    jobs.add(metadata)
    search_tables.add(metadata)
    erasure.add(metadata)
    versions.add(metadata)
    dedupe.add(metadata)
    plans.add(metadata)
    return metadata
