-- Takes every table of the schema. Revisions change one after the other, and whoever wrote to a later one would wait for an
-- earlier one: a deadlock.
DO $$
BEGIN
    EXECUTE (
        SELECT 'LOCK TABLE ' || string_agg(c.oid::regclass::text, ', ' ORDER BY c.relname <> 'memory', c.oid)
               || ' IN ACCESS EXCLUSIVE MODE'
        FROM pg_class c
        WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
          AND pg_has_role(c.relowner, 'USAGE'));  -- a table of another role is none of ours
END $$;
