"""The words of long memories are found however long they are."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

# body_words: the words of a body for the words index. A long text is read in parts of 30,000 characters, as long as
# there is room: a tsvector holds a megabyte, the text index leads each word by six more bytes (its size counts four a
# word already), and the other fields take up to a fifth.
BODY_WORDS = (
    "CREATE FUNCTION recall.body_words(p_configuration regconfig, p_text text) RETURNS tsvector "
    "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$ "
    "DECLARE "
    "v_all int := length(p_text); v_next int := 1; v_length int; v_part text; v_new tsvector; v_words tsvector := ''; "
    "BEGIN "
    "IF v_all <= 30000 THEN RETURN recall.text_words(p_configuration, p_text); END IF; "
    "WHILE v_next <= v_all LOOP "
    "v_part := substr(p_text, v_next, 30000); "
    "v_length := length(v_part); "
    "IF v_next + v_length <= v_all THEN "  # a word that the border would cut belongs to the next part
    "v_length := v_length - coalesce(length(substring(right(v_part, 1000) FROM '\\s(\\S*)$')), 0); "
    "END IF; "
    "v_new := recall.text_words(p_configuration, left(v_part, v_length)); "
    "EXIT WHEN pg_column_size(v_words) + pg_column_size(v_new) + 2 * (length(v_words) + length(v_new)) > 800000; "
    "v_words := v_words || v_new; "
    "v_next := v_next + v_length; "
    "END LOOP; "
    "RETURN v_words; "
    "END $$"
)

SEARCH_TEXT = (
    "setweight(recall.text_words(recall.configuration(language), title || ' ' || recall.joined(aliases)), 'A') || "
    "setweight(recall.text_words(recall.configuration(language), "
    "coalesce(author, '') || ' ' || recall.joined(tags)), 'B') || "
    "setweight(ts_delete("
    "recall.text_words('recall.simple'::regconfig, "
    "coalesce(author, '') || ' ' || recall.joined(tags || aliases)), "
    "tsvector_to_array(recall.text_words(recall.configuration(language), "
    "coalesce(author, '') || ' ' || recall.joined(tags || aliases)))), 'B') || "
    "setweight(recall.body_words(recall.configuration(language), body), 'C') || "
    "setweight(recall.text_words(recall.configuration(language), left(context, 10000)), 'D')"
    " || array_to_tsvector(ARRAY[chr(1) || tenant])"
)

# Functions that name the column; all are made anew with this version.
DEPENDENT = (
    "DO $$ DECLARE v_routine text; BEGIN "
    "FOR v_routine IN SELECT DISTINCT d.objid::regprocedure::text FROM pg_depend d "
    "JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid "
    "JOIN pg_proc p ON p.oid = d.objid AND p.pronamespace = 'recall'::regnamespace "
    "WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_class'::regclass "
    "AND d.refobjid = 'recall.memory'::regclass AND a.attname = 'search_text' "
    "LOOP IF to_regprocedure(v_routine) IS NOT NULL THEN "
    "EXECUTE 'DROP ROUTINE ' || v_routine || ' CASCADE'; END IF; END LOOP; END $$"
)

# A memory that has 64 passages may have text beyond them: the job `embed` makes them anew.
CUT = (
    "DO $$ DECLARE v_table text; BEGIN "
    "FOR v_table IN SELECT 'vector_shared' UNION ALL SELECT 'vector_' || h.number FROM recall.vector_home h LOOP "
    "EXECUTE format('DELETE FROM recall.%I v USING recall.memory m WHERE m.tenant = v.tenant AND m.id = v.memory_id "
    "AND m.passage_count = 64 AND v.part > 0', v_table); "
    "END LOOP; "
    "UPDATE recall.memory SET passage_count = NULL WHERE passage_count = 64; END $$"
)


def upgrade() -> None:
    """Postgres 16 cannot change the expression of a generated column: it is made anew, in one rewrite."""
    op.execute(CUT)
    op.execute(sa.text(BODY_WORDS.replace(":", r"\:")))
    op.execute(sa.text(DEPENDENT.replace(":", r"\:")))
    op.drop_column("memory", "search_text", schema="recall")  # and its index with it
    op.add_column(
        "memory",
        sa.Column("search_text", pg.TSVECTOR(), sa.Computed(SEARCH_TEXT, persisted=True), nullable=False),
        schema="recall",
    )
    op.create_index(
        "memory_words_idx",
        "memory",
        [sa.literal_column("recall.tenant_words(tenant, search_text)")],
        schema="recall",
        postgresql_using="gin",
    )
    op.execute("ALTER INDEX recall.memory_words_idx ALTER COLUMN 1 SET STATISTICS 0")
