"""A text without any word is not looked through: five of the six texts of most memories. `candidates` has another result."""

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE OR REPLACE FUNCTION recall_private.text_words(p_configuration regconfig, p_text text) RETURNS tsvector "
        "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$ "
        "DECLARE v_text text; v_spaced text; v_letters text := ''; v_parts text; "
        "BEGIN "
        "IF btrim(p_text) = '' THEN RETURN ''; END IF; "
        "v_text := recall_private.folded(p_text); "
        "v_spaced := recall_private.spaced(v_text); "
        "v_parts := recall_private.compound_parts(recall_private.compounds(v_spaced)); "
        "IF v_spaced <> v_text THEN "
        "v_letters := coalesce((SELECT string_agg(DISTINCT l.letter, ' ') FROM regexp_split_to_table(regexp_replace("
        "v_spaced, '[^' || recall_private.unspaced_letters() || ']+', '', 'g'), '') l(letter)), ''); "
        "END IF; "
        "IF v_parts ~ '[[:alpha:]]{3}[0-9]' THEN "
        "v_parts := v_parts || coalesce((SELECT string_agg(' ' || n.found[1], '') FROM regexp_matches("
        r"v_parts, '\m([[:alpha:]]{3,})[0-9]+\M', 'g') n(found)), ''); "
        "END IF; "
        "RETURN to_tsvector(p_configuration, v_spaced || ' ' || v_parts || ' ' || v_letters); END $$"
    )
    op.execute("DROP FUNCTION IF EXISTS recall_private.candidates")  # another result
