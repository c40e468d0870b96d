-- The semantic arm: the memories nearest in meaning. Statements are made for the table that has the tenant's vectors. A
-- memory with passages has several vectors there; its similarity is that of similarities_to_vector. The arm reads as
-- many vectors as it needs memories, and more if they belong to too few memories. Relevance compares the similarity
-- with the typical one of the tenant, because an embedder with little knowledge of a language finds all texts similar.

-- hnsw_ef_search: the value of hnsw.ef_search for the 40 or more nearest in a vector index of p_total memories; for fewer,
-- four fifths find the same share. The more memories there are, the larger it must be.
CREATE OR REPLACE FUNCTION recall_private.hnsw_ef_search(p_total bigint) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(greatest(sqrt(p_total) / 2, 100), 1000)::int;

-- hnsw_statement: the statement that finds the nearest vectors of a table by its HNSW index, either archived or live
-- ones; with p_filtered only of memories that pass the filters. It returns the memory of each vector and its distance.
-- The limit is a literal, because the planner must know that it is small; otherwise it scans and sorts. Every search
-- plans the statement again, so it is as short as possible. Inlined; stable, because format is.
CREATE OR REPLACE FUNCTION recall_private.hnsw_statement(p_table text, p_limit int, p_archived boolean, p_filtered boolean)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN format(
    'SELECT array_agg(n.memory_id), array_agg(n.distance) FROM ('
    'SELECT v.memory_id, v.embedding <=> $1 AS distance FROM recall.%I v%s WHERE %s v.archived '
    'ORDER BY v.embedding <=> $1 LIMIT %s) n', p_table,
    CASE WHEN p_filtered THEN ' CROSS JOIN LATERAL ('
        'SELECT FROM recall.memory m WHERE m.tenant = (SELECT $2) AND m.id = v.memory_id '
        'AND recall_private.passes_filter(m, $3) OFFSET 0) m' END,
    CASE WHEN p_archived THEN '' ELSE 'NOT' END, p_limit);

-- nearest_by_scan: the memories of the p_limit vectors of a tenant nearest to this one, with their distances; with
-- p_archived also archived memories. A memory occurs once for each of these vectors. All vectors are read. It is planned for
-- each tenant, because a plan for any tenant would not read the vectors from the index alone.
CREATE OR REPLACE FUNCTION recall_private.nearest_by_scan(
    p_tenant text, p_table text, p_embedding halfvec, p_limit int, p_archived boolean,
    OUT ids bigint[], OUT distances double precision[]
)
LANGUAGE plpgsql STABLE
-- The index contains the vectors, so an index-only scan is best, whatever random_page_cost says.
SET random_page_cost = 1.1 AS $$
BEGIN
    EXECUTE format(
        'SELECT array_agg(n.memory_id), array_agg(n.distance) FROM (SELECT * FROM ('
        'SELECT v.memory_id, v.embedding <=> $1 AS distance FROM recall.%I v '
        'WHERE v.tenant = $2 AND v.archived = ANY ($3) OFFSET 0) d '
        'ORDER BY d.distance, d.memory_id LIMIT %s) n', p_table, p_limit)
    INTO ids, distances
    USING p_embedding, p_tenant, CASE WHEN p_archived THEN ARRAY[false, true] ELSE ARRAY[false] END;
END $$;

-- nearest_filtered: the p_limit nearest memories that pass the filters. All memories that pass them are read.
CREATE OR REPLACE FUNCTION recall_private.nearest_filtered(
    p_tenant text, p_table text, p_embedding halfvec, p_limit int, p_filter recall.search_filter
) RETURNS TABLE (id bigint, distance double precision)
LANGUAGE plpgsql STABLE ROWS 50
SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT m.id, min(v.embedding <=> $1) FROM recall.memory m '
        'JOIN recall.%I v ON v.tenant = (SELECT $2) AND v.memory_id = m.id AND v.archived = ANY ($4) '
        'WHERE m.tenant = (SELECT $2) AND m.happened_at >= coalesce(($3).since, ''-infinity'') '
        'AND m.happened_at <= coalesce(($3).until, ''infinity'') '
        'AND recall_private.passes_filter(m, $3)%s '
        'GROUP BY m.id ORDER BY min(v.embedding <=> $1) + 0, m.id LIMIT %s', p_table, recall_private.index_conditions(p_filter), p_limit)
    USING p_embedding, p_tenant, p_filter,
          CASE WHEN p_filter.include_archived THEN ARRAY[false, true] ELSE ARRAY[false] END;
END $$;

-- semantic_arm: the memories nearest in meaning, nearest first. The search is exact for a tenant without its own table or
-- with up to 4,000 vectors, and if a filter lets the index find too few memories.
CREATE OR REPLACE FUNCTION recall_private.semantic_arm(
    p_tenant text, p_embedding halfvec, p_pool int, p_filter recall.search_filter,
    OUT ids bigint[], OUT similarities double precision[]
)
LANGUAGE plpgsql STABLE
SET hnsw.iterative_scan = relaxed_order
SET hnsw.ef_search = 80 AS $$
DECLARE
    v_table text := recall_private.vector_table(p_tenant);
    v_memories bigint;
    v_total bigint;
    v_indexed boolean := false;
    v_filtered boolean := recall_private.narrows(p_filter) OR p_filter.until IS NOT NULL;
    -- Without a filter few memories are hidden; a fifth more than needed makes up for them.
    v_limit int := CASE WHEN v_filtered THEN p_pool ELSE p_pool * 6 / 5 END;
    v_vectors int := v_limit;
    v_ef int := 80;
    v_ids bigint[];
    v_distances double precision[];
    v_scanned record;
    v_found bigint[];
    v_found_at double precision[];
    v_seen int;  -- vectors in the longest list
    v_hidden bigint[] := '{}';
    v_long bigint[] := '{}';  -- memories with passages, which have more than one vector
BEGIN
    IF v_table <> 'vector_shared' THEN
        v_memories := (SELECT l.documents FROM recall.lexeme l WHERE l.tenant = p_tenant AND l.word = '');
        -- The greater of two counts, because the planner's count of a table does not include recent writes.
        v_total := greatest(v_memories, (
            SELECT nullif(c.reltuples, -1) FROM pg_class c
            WHERE c.oid = to_regclass('recall.' || quote_ident(v_table)))::bigint);
        v_indexed := coalesce(v_total > 4000, true);
    END IF;
    IF v_indexed THEN
        -- The average number of vectors for each memory, at most 4. It is rounded, because both counts are somewhat outdated.
        v_vectors := v_limit * CASE WHEN v_memories > 0 THEN least(round(1.25 * v_total / v_memories - 0.25), 4) ELSE 1 END;
        v_ef := coalesce(recall_private.hnsw_ef_search(v_total), 100) * CASE WHEN p_pool < 40 THEN 0.8 ELSE 1 END;
        IF v_ef <> 80 THEN
            PERFORM set_config('hnsw.ef_search', v_ef::text, true);
        END IF;
    END IF;
    LOOP
        v_ids := '{}';
        v_distances := '{}';
        v_seen := 0;
        IF v_indexed THEN
            -- Iterative scans cost a tenth more, and only filters and long lists need them.
            PERFORM set_config('hnsw.iterative_scan', CASE
                WHEN v_vectors <= v_ef AND NOT v_filtered THEN 'off' ELSE 'relaxed_order' END, true);
            FOR v_archived_ones IN 0 .. p_filter.include_archived::int LOOP
                EXECUTE recall_private.hnsw_statement(v_table, v_vectors, v_archived_ones = 1, v_filtered)
                INTO v_found, v_found_at
                USING p_embedding, p_tenant, p_filter;
                v_ids := v_ids || v_found;
                v_distances := v_distances || v_found_at;
                v_seen := greatest(v_seen, cardinality(v_found));
            END LOOP;
        ELSIF NOT v_filtered THEN
            v_scanned := recall_private.nearest_by_scan(p_tenant, v_table, p_embedding, v_vectors, p_filter.include_archived);
            v_ids := coalesce(v_scanned.ids, '{}');
            v_distances := v_scanned.distances;
            v_seen := cardinality(v_ids);
        END IF;
        -- One probe each of two partial indexes, instead of one for each memory: most tenants have no such memories.
        IF v_ids <> '{}' AND (
            EXISTS (SELECT FROM recall.memory m WHERE m.tenant = p_tenant AND m.passage_count > 0)
            OR EXISTS (
                SELECT FROM recall.memory m
                WHERE m.tenant = p_tenant AND (m.superseded_by IS NOT NULL OR m.valid_from IS NOT NULL
                                               OR m.valid_until IS NOT NULL OR m.expires_at IS NOT NULL))) THEN
            SELECT coalesce(array_agg(m.id) FILTER (WHERE m.passage_count > 0), '{}'),
                   coalesce(array_agg(m.id) FILTER (WHERE NOT v_filtered AND NOT recall_private.passes_filter(m, p_filter)), '{}')
            INTO v_long, v_hidden
            FROM recall.memory m
            WHERE m.tenant = p_tenant AND m.id = ANY (v_ids)
              AND (m.passage_count > 0 OR m.superseded_by IS NOT NULL OR m.valid_from IS NOT NULL
                   OR m.valid_until IS NOT NULL OR m.expires_at IS NOT NULL);
        END IF;
        IF v_long <> '{}' THEN
            SELECT array_agg(n.id), array_agg(n.distance) INTO v_ids, v_distances
            FROM (SELECT u.id, min(u.distance) AS distance
                  FROM unnest(v_ids, v_distances) u(id, distance) GROUP BY u.id) n;
        END IF;
        -- Ends with enough memories, without further vectors, or when those of other memories are far from the query.
        EXIT WHEN cardinality(v_ids) >= v_limit OR v_seen < v_vectors OR v_vectors >= 64 * v_limit;
        v_vectors := v_vectors * 4;
    END LOOP;
    -- If a few memories have more vectors than were read, reading those of others would find none that is near.
    IF cardinality(v_ids) - cardinality(v_hidden) < p_pool
        AND (v_filtered OR v_indexed AND (v_seen < 64 * v_limit OR v_hidden <> '{}')
             OR NOT v_indexed AND v_seen = v_vectors) THEN
        SELECT array_agg(n.id), array_agg(n.distance) INTO v_ids, v_distances
        FROM recall_private.nearest_filtered(
            p_tenant, v_table, p_embedding, p_pool, p_filter) n;
        v_long := ARRAY(
            SELECT m.id FROM recall.memory m WHERE m.tenant = p_tenant AND m.id = ANY (v_ids) AND m.passage_count > 0);
    END IF;
    IF v_long <> '{}' THEN
        v_distances := ARRAY(
            SELECT coalesce(1 - s.similarity, u.distance)
            FROM unnest(v_ids, v_distances) WITH ORDINALITY u(id, distance, place)
            LEFT JOIN (
                SELECT unnest(a.ids) AS id, unnest(a.similarities) AS similarity
                FROM recall_private.similarities_to_vector(p_tenant, v_long, p_embedding) a) s ON s.id = u.id
            ORDER BY u.place);
    END IF;
    SELECT coalesce(array_agg(n.id), '{}'), array_agg(1 - n.distance) INTO ids, similarities
    FROM (SELECT u.id, u.distance FROM (SELECT unnest(v_ids) AS id, unnest(v_distances) AS distance) u
          WHERE u.distance <> 'NaN' AND (v_hidden = '{}' OR u.id <> ALL (v_hidden))
          ORDER BY u.distance, u.id LIMIT p_pool) n;
END $$;

-- mean_embedding: the mean of the vectors, scaled to length 1, of the 1,000 newest live memories with a vector by the
-- current embedder. NULL for fewer than 20 memories, because their mean would represent their topic.
CREATE OR REPLACE FUNCTION recall_private.mean_embedding(
    p_tenant text, OUT embedding halfvec, OUT embedder text
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_embedder text := recall_private.setting_value('*', 'embedding.model') #>> '{}';
BEGIN
    EXECUTE format(
        'SELECT avg(l2_normalize(n.embedding)) FROM ('
        'SELECT v.embedding FROM recall.%I v JOIN recall.memory m ON m.tenant = (SELECT $1) AND m.id = v.memory_id '
        'WHERE v.tenant = (SELECT $1) AND v.part = 0 AND NOT v.archived AND m.embedded_with = $2 '
        'ORDER BY v.memory_id DESC LIMIT 1000) n HAVING count(*) >= 20', recall_private.vector_table(p_tenant))
    INTO embedding USING p_tenant, v_embedder;
    embedder := CASE WHEN embedding IS NOT NULL THEN v_embedder END;
END $$;

-- centered_query: a query vector less a share of the tenant's mean vector. A memory near the mean is near to every query:
-- a short remark, or a text that only says what is said in every conversation. By cosine alone it keeps out memories
-- that apply to a query without looking like it. The similarity of a memory with vector d to the query q is
-- q.d - share * (m.d - m.m), m being the mean: its cosine, less for memories nearer to the mean than most. It is
-- `scale` times the cosine of d with `direction`, plus `shift`, so the vector index finds the most similar. `typical` is
-- the amount by which the mean similarity of all memories exceeds 0.15, which is about the cosine of unrelated texts in the
-- data that relevance was fitted on. Relevance subtracts it; otherwise an embedder for English would find every memory of
-- a Spanish diary relevant. If no mean is known, or only one by another embedder, similarity is the cosine. p_counts are
-- tenant_counts, which hold the mean.
CREATE OR REPLACE FUNCTION recall_private.centered_query(
    p_counts recall.lexeme, p_embedding halfvec, p_embedder text,
    OUT direction halfvec, OUT scale double precision, OUT shift double precision, OUT typical double precision
)
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    v_share constant real := 0.6;
    v_unit halfvec := l2_normalize(p_embedding);
    v_mean halfvec := CASE WHEN p_counts.mean_embedder = p_embedder
                            AND vector_dims(p_counts.mean_embedding) = vector_dims(p_embedding) THEN p_counts.mean_embedding END;
BEGIN
    direction := p_embedding;
    scale := 1;
    shift := 0;
    typical := 0;
    IF v_mean IS NOT NULL THEN
        typical := greatest(-(v_unit <#> v_mean) - 0.15, 0);
        -- As single precision: half precision has no product of its smallest numbers.
        direction := (v_unit::vector - v_mean::vector * array_fill(v_share, ARRAY[vector_dims(v_mean)])::vector)::halfvec;
        scale := l2_norm(direction);
        shift := v_share * l2_norm(v_mean) ^ 2;
    END IF;
END $$;

-- centered_similarities: these cosines with the direction of a centered_query as similarities to the query.
CREATE OR REPLACE FUNCTION recall_private.centered_similarities(
    p_scale double precision, p_shift double precision, p_cosines double precision[]
) RETURNS double precision[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN ARRAY(SELECT p_scale * unnest(p_cosines) + p_shift);
END $$;
