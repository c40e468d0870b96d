"""The schema recall_private for the functions that others than the owner may not call."""

from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

# Functions that others may call act as the owner. These act as their caller and stay all the same.
_STAY = "'current_tenant', 'bind_role', 'forget_tenant', 'role_bindings', 'unbind_role'"
# Columns and indexes refer to functions by their identity, and go on using them. What functions call is named in their
# texts: those of columns and indexes are made again here, all others by every upgrade.
_MOVE = f"""
DO $$
DECLARE
    v_function regprocedure;
BEGIN
    FOR v_function IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'recall'::regnamespace AND NOT p.prosecdef AND p.proname NOT IN ({_STAY})
          AND NOT EXISTS (
              SELECT FROM pg_depend d
              WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE format('ALTER ROUTINE %s SET SCHEMA recall_private', v_function);
    END LOOP;
    FOR v_function IN
        SELECT p.oid FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'plpgsql'
        WHERE p.pronamespace = 'recall_private'::regnamespace AND p.proname IN (
            'body_words', 'plain', 'spaced', 'tenant_trigrams', 'tenant_words', 'text_words', 'trigram_signature')
    LOOP
        EXECUTE regexp_replace(
            pg_get_functiondef(v_function),
            '\\mrecall\\.(compounds|compound_parts|folded|plain|spaced|tenant_mark|text_words|unspaced_letters)\\(',
            'recall_private.\\1(', 'g');
    END LOOP;
END $$
"""


def upgrade() -> None:
    op.execute(_MOVE)
