-- What the planner knows of our tables, brought up to date while they are being filled.

-- analyze_grown: for whoever is about to write p_many rows at once, a hundred or more: analyses each table of ours of
-- which more than doubled, and by more than a thousand rows, is not known to the planner yet. Autovacuum does so within
-- a minute or two, and until then each row that is stored may read all that were stored before: plans were made when
-- there were none. A table that is just being analysed is left out.
CREATE OR REPLACE FUNCTION recall.analyze_grown(p_many int) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_table regclass;
BEGIN
    IF p_many < 100 THEN
        RETURN;
    END IF;
    FOR v_table IN
        SELECT c.oid FROM pg_class c
        WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind = 'r'
          -- What this transaction has done itself is reported once it is over.
          AND pg_stat_get_mod_since_analyze(c.oid) + pg_stat_get_xact_tuples_inserted(c.oid)
              > 1000 + greatest(c.reltuples, 0)
        ORDER BY c.oid
    LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', v_table);
    END LOOP;
END $$;
