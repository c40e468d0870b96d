"""Search: a language for each memory, the log of searches and what was judged of them, keys to the service."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# A call with a constant would be made when a dump makes the table, before its configurations.
SEARCH_TEXT = (
    "setweight(to_tsvector(recall.configuration(language), title || ' ' || recall.joined(aliases)), 'A') || "
    "setweight(to_tsvector(recall.configuration(language), "
    "coalesce(author, '') || ' ' || recall.joined(tags)), 'B') || "
    "setweight(ts_delete("
    "to_tsvector('recall.simple'::regconfig, "
    "coalesce(author, '') || ' ' || recall.joined(tags || aliases)), "
    "tsvector_to_array(to_tsvector(recall.configuration(language), "
    "coalesce(author, '') || ' ' || recall.joined(tags || aliases)))), 'B') || "
    "setweight(to_tsvector(recall.configuration(language), left(body, 100000)), 'C') || "
    "setweight(to_tsvector(recall.configuration(language), left(context, 10000)), 'D')"
    " || array_to_tsvector(ARRAY[chr(1) || tenant])"
)

# Generated columns need immutable functions. The names are looked up at every call, for a plan would keep what
# an upgrade may replace. ts_lexize gives NULL where there is no accent to take off.
FUNCTIONS = (
    "CREATE FUNCTION recall.configuration(p_language text) RETURNS regconfig LANGUAGE plpgsql IMMUTABLE "
    "PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS "
    "$$ BEGIN RETURN ('recall.' || quote_ident(p_language))::regconfig; END $$",
    "CREATE FUNCTION recall.plain(p_text text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE "
    "SET search_path = pg_catalog, pg_temp AS $$ "
    "BEGIN "
    "IF octet_length(p_text) = length(p_text) THEN RETURN p_text; END IF; "
    "RETURN coalesce((ts_lexize(('recall.unaccent'::text)::regdictionary, p_text))[1], p_text); "
    "END $$",
)


def upgrade() -> None:
    for function in FUNCTIONS:
        op.execute(function)
    _memory()
    _names_and_words()
    _relevance()
    _search_log()
    _api_key()


def _memory() -> None:
    """Postgres 16 cannot change the expression of a generated column: it is made anew, in one rewrite."""
    op.add_column(
        "memory",
        sa.Column("language", sa.Text(), server_default=sa.text("'english'"), nullable=False),
        schema="recall",
    )
    op.drop_index("memory_author_idx", "memory", schema="recall")
    op.drop_column("memory", "search_text", schema="recall")  # and its index with it
    op.add_column(
        "memory",
        sa.Column("search_text", pg.TSVECTOR(), sa.Computed(SEARCH_TEXT, persisted=True), nullable=False),
        schema="recall",
    )
    op.create_index(
        "memory_search_text_idx", "memory", ["search_text"], schema="recall", postgresql_using="gin"
    )
    op.create_index(
        "memory_author_idx",
        "memory",
        ["tenant", sa.literal_column('recall.plain(lower(author)) COLLATE "C"')],
        schema="recall",
        postgresql_where=sa.text("author IS NOT NULL"),
    )
    op.create_index(
        "memory_superseded_by_idx",
        "memory",
        ["tenant", "superseded_by"],
        schema="recall",
        postgresql_where=sa.text("superseded_by IS NOT NULL"),
    )


def _names_and_words() -> None:
    op.drop_index("name_trigram_idx", "name", schema="recall")
    op.add_column(
        "name",
        sa.Column("plain", sa.Text(), sa.Computed("recall.plain(name)", persisted=True), nullable=False),
        schema="recall",
    )
    op.create_index("name_plain_idx", "name", ["tenant", "plain"], schema="recall")
    op.create_index(
        "name_trigram_idx",
        "name",
        ["plain"],
        schema="recall",
        postgresql_using="gin",
        postgresql_ops={"plain": "gin_trgm_ops"},
        postgresql_where=sa.text("entity"),
    )
    op.alter_column("lexeme", "word", type_=sa.Text(collation="C"), schema="recall")
    op.create_index(
        "lexeme_trigram_idx",
        "lexeme",
        ["word", sa.literal_column("(ARRAY[tenant])")],
        schema="recall",
        postgresql_using="gin",
        postgresql_ops={"word": "gin_trgm_ops"},
    )


def _relevance() -> None:
    for feature in ("phrase", "cue", "graph"):
        op.add_column(
            "relevance_model",
            sa.Column(feature, sa.Double(), server_default=sa.text("0"), nullable=False),
            schema="recall",
        )
    op.add_column(
        "relevance_model",
        sa.Column("form", sa.Text(), server_default=sa.text("'logistic'"), nullable=False),
        schema="recall",
    )
    op.add_column("relevance_model", sa.Column("vitality_weight", sa.Double()), schema="recall")
    op.add_column("relevance_model", sa.Column("vitality_mode", sa.Text()), schema="recall")
    for name, rule in (
        ("form", "form IN ('logistic', 'seed', 'rrf')"),
        ("weight", "vitality_weight BETWEEN 0 AND 10"),
        ("mode", "vitality_mode IN ('odds', 'multiply', 'bounded', 'off')"),
    ):
        op.create_check_constraint(f"relevance_model_{name}_check", "relevance_model", rule, schema="recall")
    op.create_table(
        "rerank_model",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("reranker", sa.Text(), nullable=False),
        sa.Column("intercept", sa.Double(), nullable=False),
        sa.Column("rerank", sa.Double(), nullable=False),
        sa.Column("fused", sa.Double(), nullable=False),
        sa.Column("fitted_on", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "reranker", name="rerank_model_pkey"),
        schema="recall",
    )


def _search_log() -> None:
    op.create_table(
        "search_log",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("session_id", sa.Text()),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("queries", pg.ARRAY(sa.Text())),
        sa.Column("profile", sa.Text(), nullable=False),
        sa.Column("shown", pg.ARRAY(sa.BigInteger()), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id", name="search_log_pkey"),
        schema="recall",
    )
    op.create_index("search_log_at_idx", "search_log", ["tenant", "at"], schema="recall")
    op.create_table(
        "judgement",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("search_id", sa.BigInteger(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("verdict IN ('used', 'rejected')", name="judgement_verdict_check"),
        _foreign_key("judgement_search_fkey", "search_id", "search_log"),
        _foreign_key("judgement_memory_fkey", "memory_id", "memory"),
        sa.PrimaryKeyConstraint("tenant", "search_id", "memory_id", name="judgement_pkey"),
        schema="recall",
    )
    op.create_index("judgement_memory_idx", "judgement", ["tenant", "memory_id"], schema="recall")


def _foreign_key(name: str, column: str, table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["tenant", column], [f"recall.{table}.tenant", f"recall.{table}.id"], name=name, ondelete="CASCADE"
    )


def _api_key() -> None:
    op.create_table(
        "api_key",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True)),
        sa.Column("revoked_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("tenant", "id", name="api_key_pkey"),
        schema="recall",
    )
    op.create_index("api_key_hash_idx", "api_key", ["hash"], unique=True, schema="recall")
