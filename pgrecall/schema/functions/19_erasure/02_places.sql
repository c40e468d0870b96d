-- Places: the tables that hold rows about memories, found in the catalogue, so that a new table cannot be forgotten.

-- places_of_memories: each table and partition with rows about memories of a tenant, and the condition on its rows `t`
-- for the ids $2. Tables of vectors of other tenants are left out.
CREATE OR REPLACE FUNCTION recall_private.places_of_memories(p_tenant text)
RETURNS TABLE (relation regclass, place text, condition text)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT c.oid::regclass, c.relname::text, k.condition
           -- The log of changes keeps the ids of deleted memories.
           || CASE c.relname WHEN 'memory_change' THEN ' AND t.kind <> ''deleted''' ELSE '' END
    FROM pg_class c
    CROSS JOIN LATERAL (
        SELECT string_agg('t.' || a.attname || ' = ANY ($2)', ' OR ' ORDER BY a.attname) AS condition FROM pg_attribute a
        WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname = ANY (
            CASE WHEN c.relname = 'memory' THEN '{id}'::name[] ELSE '{memory_id,src,dst,merged_from}' END)) k
    WHERE c.relnamespace = 'recall'::regnamespace AND c.relkind = 'r' AND k.condition IS NOT NULL
      AND c.relname <> 'erasure_item'
      -- Tables of one tenant end with its number.
      AND (c.relispartition OR c.relname !~ '_[0-9]+$' OR c.relname ~ (
          '_' || coalesce((SELECT h.number FROM recall.vector_home h WHERE h.tenant = p_tenant), -1) || '$'))
    ORDER BY c.relname
$$;

-- count_rows_about: the number of rows about these memories, by table, without those that have none.
CREATE OR REPLACE FUNCTION recall_private.count_rows_about(p_tenant text, p_ids bigint[]) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_place record;
    v_rows bigint;
    v_counts jsonb := '{}';
BEGIN
    FOR v_place IN SELECT * FROM recall_private.places_of_memories(p_tenant) LOOP
        EXECUTE format('SELECT count(*) FROM %s t WHERE t.tenant = (SELECT $1) AND (%s)', v_place.relation, v_place.condition)
        INTO v_rows USING p_tenant, p_ids;
        IF v_rows > 0 THEN
            v_counts := v_counts || jsonb_build_object(v_place.place, v_rows);
        END IF;
    END LOOP;
    RETURN v_counts;
END $$;

-- added_counts: two objects of counts as one.
CREATE OR REPLACE FUNCTION recall_private.added_counts(p_counts jsonb, p_more jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce((
    SELECT jsonb_object_agg(s.key, s.total) FROM (
        SELECT e.key, sum(e.value::bigint) AS total
        FROM (SELECT * FROM jsonb_each_text(p_counts) UNION ALL SELECT * FROM jsonb_each_text(p_more)) e(key, value)
        GROUP BY e.key) s), '{}');
