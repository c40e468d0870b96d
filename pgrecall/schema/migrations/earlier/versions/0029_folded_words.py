"""Words are compared in one form, however wide or composed they are written, and identifiers by all of their parts."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0027"
branch_labels = None
depends_on = None

_HEAD = "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$ "

# What compatibility would join to the word before it: "Acme™" is not "AcmeTM", nor "m²" a word "m2".
APART = "™℠…¹²³⁰⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁱⁿ₀₁₂₃₄₅₆₇₈₉¼½¾⅓⅔⅛⅜⅝⅞"

FUNCTIONS = (
    # folded: a text in the form in which words are compared: full-width letters as ordinary ones, half-width kana as
    # full ones, letters and accents composed (NFKC).
    "CREATE FUNCTION recall.folded(p_text text) RETURNS text " + _HEAD + "BEGIN "
    "IF octet_length(p_text) = length(p_text) OR p_text IS NFKC NORMALIZED THEN RETURN p_text; END IF; "
    f"RETURN normalize(translate(p_text, '{APART}', '{' ' * len(APART)}'), NFKC); "
    "END $$",
    "CREATE OR REPLACE FUNCTION recall.plain(p_text text) RETURNS text "
    + _HEAD
    + "DECLARE v_folded text; BEGIN "
    "IF octet_length(p_text) = length(p_text) THEN RETURN p_text; END IF; "
    "v_folded := recall.folded(p_text); "
    "RETURN coalesce((ts_lexize(('recall.unaccent'::text)::regdictionary, v_folded))[1], v_folded); "
    "END $$",
    # compounds: as before, and capitals before a word: HTTPServer. One small letter is a plural: PDFs.
    "CREATE OR REPLACE FUNCTION recall.compounds(p_text text) RETURNS text[] " + _HEAD + "BEGIN "
    "IF p_text !~ '[[:alnum:]][/\\\\.:@#_=&][[:alnum:]]|[[:lower:]][[:upper:]]|[[:upper:]]{2}[[:lower:]]{2}' "
    "THEN RETURN '{}'; END IF; "
    "RETURN ARRAY(SELECT w.found[1] FROM regexp_matches(p_text, '[[:alnum:]/\\\\.:@#_=&?%+~-]+', 'g') w(found) "
    "WHERE w.found[1] ~ '[[:alnum:]][/\\\\.:@#_=&][[:alnum:]]|[[:lower:]][[:upper:]]|[[:upper:]]{2}[[:lower:]]{2}'); "
    "END $$",
    "CREATE OR REPLACE FUNCTION recall.compound_parts(p_words text[]) RETURNS text " + _HEAD + "BEGIN "
    "IF p_words = '{}' THEN RETURN ''; END IF; "
    "RETURN coalesce((SELECT string_agg(p.part, ' ') FROM regexp_split_to_table(regexp_replace(regexp_replace("
    "array_to_string(p_words, ' '), '([[:lower:]])([[:upper:]])', '\\1 \\2', 'g'), "
    "'([[:upper:]])([[:upper:]][[:lower:]]{2})', '\\1 \\2', 'g'), '[^[:alnum:]]+') p(part) "
    "WHERE length(p.part) > 1 AND p.part ~ '[[:alpha:]]'), ''); "
    "END $$",
    # text_words: as before, of the folded text. Parts that end with a number are also found without it.
    "CREATE OR REPLACE FUNCTION recall.text_words(p_configuration regconfig, p_text text) RETURNS tsvector "
    + _HEAD
    + "DECLARE v_text text := recall.folded(p_text); v_spaced text := recall.spaced(v_text); v_letters text := ''; "
    "v_parts text := recall.compound_parts(recall.compounds(v_spaced)); "
    "BEGIN "
    "IF v_spaced <> v_text THEN "
    "v_letters := coalesce((SELECT string_agg(DISTINCT l.letter, ' ') FROM regexp_split_to_table("
    "regexp_replace(v_spaced, '[^' || recall.unspaced_letters() || ']+', '', 'g'), '') l(letter)), ''); "
    "END IF; "
    "IF v_parts ~ '[[:alpha:]]{3}[0-9]' THEN "
    "v_parts := v_parts || coalesce((SELECT string_agg(' ' || n.found[1], '') "
    "FROM regexp_matches(v_parts, '\\m([[:alpha:]]{3,})[0-9]+\\M', 'g') n(found)), ''); "
    "END IF; "
    "RETURN to_tsvector(p_configuration, v_spaced || ' ' || v_parts || ' ' || v_letters); "
    "END $$",
)


def upgrade() -> None:
    """Memories and names whose words change are indexed again at the end of the upgrade, by the functions."""
    for function in FUNCTIONS:
        op.execute(sa.text(function.replace(":", r"\:")))
