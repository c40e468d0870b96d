"""The text index, led by the tenant, so that a look for words reads no other's postings; a type for questions."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# What stands for a tenant is short, and may stand for two: what the index finds is asked for its tenant.
FUNCTIONS = (
    "CREATE FUNCTION recall.tenant_mark(p_tenant text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE "
    "RETURN left(md5(p_tenant), 6)",
    # Joined and split again, for a sub-select takes three times as long. A lexeme holds 2,046 bytes at most.
    "CREATE FUNCTION recall.tenant_words(p_tenant text, p_text tsvector) RETURNS tsvector "
    "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$ "
    "DECLARE "
    "v_mark text := recall.tenant_mark(p_tenant); "
    "v_words text[] := tsvector_to_array(ts_delete(p_text, chr(1) || p_tenant)); "
    "v_joined text := array_to_string(v_words, chr(1) || v_mark); "
    "BEGIN "
    "IF octet_length(v_joined) > 2000 THEN "
    "RETURN array_to_tsvector(ARRAY(SELECT v_mark || w FROM unnest(v_words) w WHERE octet_length(w) <= 2040)); "
    "END IF; "
    "RETURN array_to_tsvector(string_to_array(v_mark || v_joined, chr(1))); "
    "END $$",
)


def upgrade() -> None:
    for function in FUNCTIONS:
        op.execute(function)
    op.create_index(
        "memory_words_idx",
        "memory",
        [sa.literal_column("recall.tenant_words(tenant, search_text)")],
        schema="recall",
        postgresql_using="gin",
    )
    # Nothing plans by them, and to gather them would take each word of a sample.
    op.execute("ALTER INDEX recall.memory_words_idx ALTER COLUMN 1 SET STATISTICS 0")
    op.drop_index("memory_search_text_idx", "memory", schema="recall")
    op.execute(
        "CREATE TYPE recall.question AS ("
        "words text[], steps text[], documents bigint[], queries tsquery[], idfs double precision[], "
        "idf_sum double precision, phrase tsquery, named_ids bigint[], likeness double precision[], "
        "whole boolean[], name_ranks bigint[], authors text[])"
    )
