-- The semantic arm: who is nearest in meaning. Each statement is made for the table that the tenant's vectors are in.

-- nearest_vectors: the p_limit vectors of a tenant nearest to this one, archived ones too where p_archived, nearest
-- first; by the HNSW indexes of its own table where p_indexed, else exactly.
CREATE OR REPLACE FUNCTION recall.nearest_vectors(
    p_tenant text, p_table text, p_embedding halfvec, p_limit int, p_archived boolean, p_indexed boolean
) RETURNS TABLE (id bigint, distance double precision)
LANGUAGE plpgsql STABLE ROWS 75
SET search_path FROM CURRENT AS $$
BEGIN
    IF p_indexed THEN
        -- A literal limit: the planner must know it is small, or it scans and sorts instead.
        RETURN QUERY EXECUTE format(
            'SELECT v.memory_id, v.embedding <=> $1 FROM recall.%I v WHERE NOT v.archived '
            'ORDER BY v.embedding <=> $1 LIMIT %s', p_table, p_limit) USING p_embedding;
        IF p_archived THEN
            RETURN QUERY EXECUTE format(
                'SELECT v.memory_id, v.embedding <=> $1 FROM recall.%I v WHERE v.archived '
                'ORDER BY v.embedding <=> $1 LIMIT %s', p_table, p_limit) USING p_embedding;
        END IF;
    ELSE
        RETURN QUERY EXECUTE format(
            'SELECT v.memory_id, v.embedding <=> $1 FROM recall.%I v WHERE v.tenant = $2 AND v.archived = ANY ($3) '
            'ORDER BY (v.embedding <=> $1) + 0, v.memory_id LIMIT %s', p_table, p_limit)
        USING p_embedding, p_tenant, CASE WHEN p_archived THEN ARRAY[false, true] ELSE ARRAY[false] END;
    END IF;
END $$;

-- nearest_passing: as nearest_vectors by the index, of those memories alone that pass the filters.
CREATE OR REPLACE FUNCTION recall.nearest_passing(
    p_tenant text, p_table text, p_embedding halfvec, p_limit int, p_layers text[], p_roles text[], p_authors text[],
    p_tags text[], p_since timestamptz, p_until timestamptz, p_archived boolean, p_superseded boolean,
    p_invalid boolean, p_must tsquery, p_now timestamptz
) RETURNS TABLE (id bigint, distance double precision)
LANGUAGE plpgsql STABLE ROWS 50
SET search_path FROM CURRENT AS $$
BEGIN
    FOR v_archived IN 0 .. p_archived::int LOOP
        RETURN QUERY EXECUTE format(
            'SELECT v.memory_id, v.embedding <=> $1 FROM recall.%I v CROSS JOIN LATERAL ('
            'SELECT FROM recall.memory m WHERE m.tenant = $2 AND m.id = v.memory_id '
            'AND recall.passes(m, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) OFFSET 0) m '
            'WHERE %s v.archived ORDER BY v.embedding <=> $1 LIMIT %s',
            p_table, CASE v_archived WHEN 0 THEN 'NOT' ELSE '' END, p_limit)
        USING p_embedding, p_tenant, p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_archived,
              p_superseded, p_invalid, p_must, p_now;
    END LOOP;
END $$;

-- all_passing: the p_limit nearest of all memories that pass the filters, each of which is looked at.
CREATE OR REPLACE FUNCTION recall.all_passing(
    p_tenant text, p_table text, p_embedding halfvec, p_limit int, p_layers text[], p_roles text[], p_authors text[],
    p_tags text[], p_since timestamptz, p_until timestamptz, p_archived boolean, p_superseded boolean,
    p_invalid boolean, p_must tsquery, p_now timestamptz
) RETURNS TABLE (id bigint, distance double precision)
LANGUAGE plpgsql STABLE ROWS 50
SET search_path FROM CURRENT
SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT m.id, v.embedding <=> $1 FROM recall.memory m '
        'JOIN recall.%I v ON v.tenant = $2 AND v.memory_id = m.id AND v.archived = ANY ($14) '
        'WHERE m.tenant = $2 AND m.happened_at >= coalesce($7, ''-infinity'') '
        'AND m.happened_at <= coalesce($8, ''infinity'') '
        'AND recall.passes(m, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) '
        'ORDER BY (v.embedding <=> $1) + 0, m.id LIMIT %s', p_table, p_limit)
    USING p_embedding, p_tenant, p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_archived, p_superseded,
          p_invalid, p_must, p_now, CASE WHEN p_archived THEN ARRAY[false, true] ELSE ARRAY[false] END;
END $$;

-- semantic_arm: the memories nearest in meaning, nearest first. A tenant without a table of its own, one of up to 4,000
-- memories, and any filter that leaves the index short, is searched exactly.
CREATE OR REPLACE FUNCTION recall.semantic_arm(
    p_tenant text, p_embedding halfvec, p_pool int, p_total bigint, p_layers text[], p_roles text[],
    p_authors text[], p_tags text[], p_since timestamptz, p_until timestamptz, p_archived boolean,
    p_superseded boolean, p_invalid boolean, p_must tsquery, p_now timestamptz
) RETURNS TABLE (id bigint, similarity double precision)
LANGUAGE plpgsql STABLE ROWS 50
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
SET hnsw.iterative_scan = relaxed_order
SET hnsw.ef_search = 100 AS $$
DECLARE
    v_table text := recall.vector_table(p_tenant);
    v_indexed boolean := v_table <> 'vector_shared' AND p_total > 4000;
    v_looked int := 0;
    v_ids bigint[] := '{}';
    v_distances double precision[];
BEGIN
    IF num_nonnulls(p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_must) = 0 THEN
        -- Without a filter few are hidden: half as many more than are wanted make up for them.
        SELECT count(*), coalesce(array_agg(n.id) FILTER (WHERE n.shown), '{}'),
               array_agg(n.distance) FILTER (WHERE n.shown)
        INTO v_looked, v_ids, v_distances
        FROM (
            SELECT c.id, c.distance, m.shown
            FROM recall.nearest_vectors(p_tenant, v_table, p_embedding, p_pool * 3 / 2, p_archived, v_indexed) c
            LEFT JOIN LATERAL (
                SELECT true AS shown FROM recall.memory m
                WHERE m.tenant = p_tenant AND m.id = c.id AND recall.passes(
                    m, NULL, NULL, NULL, NULL, NULL, NULL, p_archived, p_superseded, p_invalid, NULL, p_now)
                OFFSET 0) m ON true) n;
    ELSIF v_indexed THEN
        SELECT coalesce(array_agg(n.id), '{}'), array_agg(n.distance) INTO v_ids, v_distances
        FROM recall.nearest_passing(
            p_tenant, v_table, p_embedding, p_pool, p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_archived,
            p_superseded, p_invalid, p_must, p_now) n;
    END IF;
    IF cardinality(v_ids) < p_pool AND NOT (v_looked BETWEEN 1 AND p_pool * 3 / 2 - 1) THEN
        SELECT array_agg(n.id), array_agg(n.distance) INTO v_ids, v_distances
        FROM recall.all_passing(
            p_tenant, v_table, p_embedding, p_pool, p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_archived,
            p_superseded, p_invalid, p_must, p_now) n;
    END IF;
    RETURN QUERY
    SELECT u.id, 1 - u.distance FROM unnest(v_ids, v_distances) u(id, distance)
    ORDER BY u.distance, u.id LIMIT p_pool;
END $$;
