"""Relevance without the coefficient ``phrase``, which changed no order."""

from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Functions of SQL keep the columns that they read. All functions are made anew after the last revision.
    op.execute("""
        DO $$
        DECLARE
            v_function regprocedure;
        BEGIN
            FOR v_function IN
                SELECT DISTINCT d.objid::regprocedure
                FROM pg_depend d
                JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
                WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_class'::regclass AND a.attname = 'phrase'
                  AND d.refobjid IN ('recall.relevance_model'::regclass, (
                      SELECT t.typrelid FROM pg_type t WHERE t.oid = 'recall.analyzed_query'::regtype))
            LOOP
                EXECUTE format('DROP FUNCTION %s', v_function);
            END LOOP;
        END $$
    """)
    op.drop_column("relevance_model", "phrase", schema="recall")
    op.execute("ALTER TYPE recall.analyzed_query DROP ATTRIBUTE phrase")
