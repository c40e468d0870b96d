"""What ranking needs on any corpus: more features of relevance, the signs of the tokens of memories, one more mode of
weighing use, and searches that return nothing without an answer."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql as pg

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

FEATURES = ("token_similarity", "no_token_similarity", "session_coverage", "period")

# Han, kana and Hangul: written without spaces, or with particles joined to the words.
UNSPACED = (
    r"\u3005-\u3007\u3041-\u3096\u30A1-\u30FA\u30FC-\u30FF\u31F0-\u31FF\u3400-\u4DBF\u4E00-\u9FFF"
    r"\uF900-\uFAFF\uFF66-\uFF9F\u1100-\u11FF\u3130-\u318F\uAC00-\uD7AF\U00020000-\U0003FFFF"
)
_HEAD = "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$ "

# A tsvector holds a megabyte. Of a text with many such letters the first 30,000 characters are indexed, which keeps
# even 30,000 different pairs and letters below that.
FUNCTIONS = (
    # unspaced_letters: a pattern of one letter of Chinese, Japanese or Korean.
    "CREATE FUNCTION recall.unspaced_letters() RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE "
    f"RETURN '{UNSPACED}'",
    # spaced: a text with each run of such letters replaced by its pairs of neighbours, in their order.
    "CREATE FUNCTION recall.spaced(p_text text) RETURNS text "
    + _HEAD
    + "DECLARE v_letters text := recall.unspaced_letters(); "
    "BEGIN "
    "IF octet_length(p_text) = length(p_text) OR p_text !~ ('[' || v_letters || ']') THEN RETURN p_text; END IF; "
    "RETURN (SELECT string_agg(CASE WHEN r.found[1] !~ ('^[' || v_letters || ']') THEN r.found[1] ELSE coalesce("
    "(SELECT string_agg(c.letter || c.next, ' ' ORDER BY c.place) FROM (SELECT l.letter, l.place, "
    "lead(l.letter) OVER (ORDER BY l.place) AS next "
    "FROM regexp_split_to_table(r.found[1], '') WITH ORDINALITY l(letter, place)) c), r.found[1]) END, ' ' "
    "ORDER BY r.place) "
    "FROM regexp_matches(left(p_text, "
    "CASE WHEN octet_length(p_text) > 1.5 * length(p_text) THEN 30000 ELSE length(p_text) END), "
    "'[' || v_letters || ']+|[^' || v_letters || ']+', 'g') WITH ORDINALITY r(found, place)); "
    "END $$",
    # compounds: the words of a text that are joined by a slash, a dot, an underscore or the like, or by capitals.
    "CREATE FUNCTION recall.compounds(p_text text) RETURNS text[] " + _HEAD + "BEGIN "
    "IF p_text !~ '[[:alnum:]][/\\\\.:@#_=&][[:alnum:]]|[[:lower:]][[:upper:]]' THEN RETURN '{}'; END IF; "
    "RETURN ARRAY(SELECT w.found[1] FROM regexp_matches(p_text, '[[:alnum:]/\\\\.:@#_=&?%+~-]+', 'g') w(found) "
    "WHERE w.found[1] ~ '[[:alnum:]][/\\\\.:@#_=&][[:alnum:]]|[[:lower:]][[:upper:]]'); "
    "END $$",
    # compound_parts: the parts of these words that hold a letter and another character, in one text.
    "CREATE FUNCTION recall.compound_parts(p_words text[]) RETURNS text " + _HEAD + "BEGIN "
    "IF p_words = '{}' THEN RETURN ''; END IF; "
    "RETURN coalesce((SELECT string_agg(p.part, ' ') FROM regexp_split_to_table(regexp_replace(regexp_replace("
    "array_to_string(p_words, ' '), '([[:lower:]])([[:upper:]])', '\\1 \\2', 'g'), "
    "'([[:upper:]])([[:upper:]][[:lower:]])', '\\1 \\2', 'g'), '[^[:alnum:]]+') p(part) "
    "WHERE length(p.part) > 1 AND p.part ~ '[[:alpha:]]'), ''); "
    "END $$",
    # text_words: the words of a text for the words index: as the configuration reads them, with the parts of
    # compounds, and with each unspaced letter alone.
    "CREATE FUNCTION recall.text_words(p_configuration regconfig, p_text text) RETURNS tsvector "
    + _HEAD
    + "DECLARE v_spaced text := recall.spaced(p_text); v_letters text := ''; "
    "BEGIN "
    "IF v_spaced <> p_text THEN "
    "v_letters := coalesce((SELECT string_agg(DISTINCT l.letter, ' ') FROM regexp_split_to_table("
    "regexp_replace(v_spaced, '[^' || recall.unspaced_letters() || ']+', '', 'g'), '') l(letter)), ''); "
    "END IF; "
    "RETURN to_tsvector(p_configuration, "
    "v_spaced || ' ' || recall.compound_parts(recall.compounds(v_spaced)) || ' ' || v_letters); "
    "END $$",
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
    "setweight(recall.text_words(recall.configuration(language), left(body, 100000)), 'C') || "
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

MODES = "vitality_mode IN ('odds', 'unbounded', 'multiply', 'bounded', 'off')"


# Earlier imports stored numbers as texts, and moved the sequences of all tenants to the greatest id of a file.
REPAIRS = (
    "UPDATE recall.setting SET value = to_jsonb(CAST(value #>> '{}' AS double precision)) "
    "WHERE tenant <> '*' AND name NOT IN ('language', 'statistics_at', 'import') "
    "AND jsonb_typeof(value) = 'string' AND value #>> '{}' ~ '^-?[0-9]{1,15}([.][0-9]{1,15})?$'",
    "DELETE FROM recall.setting WHERE tenant <> '*' AND name NOT IN ('language', 'statistics_at', 'import') "
    "AND jsonb_typeof(value) <> 'number'",
    "UPDATE recall.activation SET in_degree = 0 WHERE in_degree < 0",  # rebuild() counts it again
    "UPDATE recall.lexeme SET documents = 0 WHERE documents < 0",
    "DO $$ DECLARE v_table text; v_last bigint; BEGIN "
    "FOREACH v_table IN ARRAY ARRAY['memory', 'prune_plan', 'search_log'] LOOP "
    "EXECUTE format('SELECT last_value FROM recall.%I', v_table || '_id_seq') INTO v_last; "
    "IF v_last > power(2, 51) THEN "
    "EXECUTE format('SELECT setval(%L, coalesce((SELECT max(id) FROM recall.%I WHERE id <= power(2, 51)), 1))', "
    "'recall.' || v_table || '_id_seq', v_table); "
    "END IF; END LOOP; END $$",
)


def upgrade() -> None:
    for statement in REPAIRS:
        op.execute(statement)
    op.create_check_constraint("activation_degree_check", "activation", "in_degree >= 0", schema="recall")
    op.create_check_constraint("lexeme_documents_check", "lexeme", "documents >= 0", schema="recall")
    op.execute("ALTER TYPE recall.search_request ADD ATTRIBUTE require_answer boolean")
    for name in FEATURES:
        op.add_column(
            "relevance_model",
            sa.Column(name, sa.Double(), nullable=False, server_default=sa.text("0")),
            schema="recall",
        )
    op.execute(
        # The period that a query names; open on a side that is NULL. `fade` seconds beyond it, it counts half.
        "CREATE TYPE recall.period AS (since timestamptz, until timestamptz, fade double precision, words text)"
    )
    op.execute("ALTER TYPE recall.evidence ADD ATTRIBUTE period double precision")
    op.drop_constraint("relevance_model_mode_check", "relevance_model", schema="recall")
    op.create_check_constraint("relevance_model_mode_check", "relevance_model", MODES, schema="recall")
    op.add_column("lexeme", sa.Column("body_length", sa.Double()), schema="recall")
    op.execute("ALTER TYPE recall.question ADD ATTRIBUTE body_length double precision")
    for name in ("session_coverage", "token_similarity"):
        op.execute(f"ALTER TYPE recall.evidence ADD ATTRIBUTE {name} double precision")
    op.create_table(
        "token_signs",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.BigInteger(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("signs", pg.ARRAY(pg.BIT(varying=True)), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "memory_id", name="token_signs_pkey"),
        sa.ForeignKeyConstraint(
            ["tenant", "memory_id"], ["recall.memory.tenant", "recall.memory.id"],
            name="token_signs_memory_fkey", ondelete="CASCADE",
        ),
        schema="recall",
    )  # fmt: skip
    _words()


def _words() -> None:
    """Postgres 16 cannot change the expression of a generated column: it is made anew, in one rewrite."""
    for function in FUNCTIONS:
        op.execute(sa.text(function.replace(":", r"\:")))
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
