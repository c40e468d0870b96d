"""A text of one chain of words, such as `a_b_c`, is indexed in the time of any other of its length.

At each word of a chain, Postgres' parser of texts looks through the rest of it for a name of a file, a host or a
mailbox: a million characters of `a@1` took half an hour. So a chain is parted after 50 words. At each comment
that does not end, it looks through the rest for its end: the sign of one that begins after all ends is parted.
"""

from alembic import op

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        "CREATE FUNCTION recall_private.unchained(p_text text) RETURNS text "
        "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$ "
        "DECLARE v_text text := p_text; v_end int := 0; "
        "BEGIN "
        "IF length(p_text) < 100 OR length(p_text) - length(translate(p_text, '_@/~.-', '')) < 50 THEN RETURN p_text; END IF; "
        "IF position('<!--' IN p_text) > 0 THEN "
        "IF position('-->' IN p_text) > 0 THEN v_end := length(p_text) + 1 - position('>--' IN reverse(p_text)); END IF; "
        "v_text := left(p_text, v_end) || replace(substr(p_text, v_end + 1), '<!--', '<! --'); END IF; "
        r"""RETURN regexp_replace(v_text, '([^\s"<>\\^`{|}_@/~.-]*[_@/~.-]){50}', '\& ', 'g'); END $$"""
    )
    op.execute(
        "CREATE OR REPLACE FUNCTION recall_private.spaced(p_text text) RETURNS text "
        "LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$ "
        "DECLARE v_letters text := recall_private.unspaced_letters(); v_text text := recall_private.unchained(p_text); "
        "BEGIN "
        "IF octet_length(v_text) = length(v_text) OR v_text !~ ('[' || v_letters || ']') THEN RETURN v_text; END IF; "
        "RETURN (SELECT string_agg(CASE WHEN r.found[1] !~ ('^[' || v_letters || ']') THEN r.found[1] ELSE coalesce(("
        "SELECT string_agg(c.letter || c.next, ' ' ORDER BY c.place) FROM ("
        "SELECT l.letter, l.place, lead(l.letter) OVER (ORDER BY l.place) AS next "
        "FROM regexp_split_to_table(r.found[1], '') WITH ORDINALITY l(letter, place)) c), r.found[1]) END, ' ' ORDER BY r.place) "
        "FROM regexp_matches(left(v_text, CASE WHEN octet_length(v_text) > 1.5 * length(v_text) THEN 30000 "
        "ELSE length(v_text) END), '[' || v_letters || ']+|[^' || v_letters || ']+', 'g') WITH ORDINALITY r(found, place)); END $$"
    )
