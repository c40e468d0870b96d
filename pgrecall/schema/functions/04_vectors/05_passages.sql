-- Passages: parts of a long memory with their own vectors, so that a search by meaning covers all of its text. The vector
-- of the memory itself covers only the beginning. The similarity of a memory to a query is that of its own vector or
-- that of its nearest passage minus a handicap, because several passages have more chances.

-- passage_handicap: the amount subtracted from the best cosine of p_passages passages. The best of several random cosines
-- grows about with the logarithm of their number; without a handicap, long answers would crowd out short messages.
CREATE OR REPLACE FUNCTION recall_private.passage_handicap(p_passages int) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 0.045 * ln(1 + coalesce(p_passages, 0));

-- passages_problem: why these are not the passages of a body with p_length characters, in one clause, else NULL. Passages
-- are an array of at most 1,200 objects {start, end, embedding}; characters of the body are counted from 0.
CREATE OR REPLACE FUNCTION recall_private.passages_problem(p_passages jsonb, p_length int, p_dimensions int) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_passage jsonb;
    v_problem text;
BEGIN
    IF p_passages IS NULL OR jsonb_typeof(p_passages) = 'null' THEN
        RETURN NULL;
    ELSIF jsonb_typeof(p_passages) <> 'array' THEN
        RETURN 'its passages are not an array';
    ELSIF jsonb_array_length(p_passages) > 1200 THEN
        RETURN format('it has %s passages, more than 1,200', jsonb_array_length(p_passages));
    END IF;
    FOR v_passage IN SELECT jsonb_array_elements(p_passages) LOOP
        IF jsonb_typeof(v_passage) <> 'object' OR NOT coalesce(
            pg_input_is_valid(v_passage ->> 'start', 'integer') AND pg_input_is_valid(v_passage ->> 'end', 'integer')
            AND v_passage ->> 'embedding' IS NOT NULL, false) THEN
            RETURN 'a passage of it has no start, end and embedding';
        ELSIF NOT ((v_passage ->> 'start')::int >= 0 AND (v_passage ->> 'start')::int < (v_passage ->> 'end')::int
                   AND (v_passage ->> 'end')::int <= p_length) THEN
            RETURN format('its passage from %s to %s is not within its body of %s characters',
                          v_passage ->> 'start', v_passage ->> 'end', p_length);
        END IF;
        v_problem := recall_private.vector_problem(v_passage ->> 'embedding', p_dimensions);
        IF v_problem IS NOT NULL THEN
            RETURN 'of a passage ' || v_problem;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- passages_counted: the number of passages. NULL if this is not an array, because it is then unknown whether there are
-- passages.
CREATE OR REPLACE FUNCTION recall_private.passages_counted(p_passages jsonb) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(p_passages) = 'array' THEN jsonb_array_length(p_passages)::smallint END;

-- delete_passages: deletes the vectors of the passages of these memories.
CREATE OR REPLACE FUNCTION recall_private.delete_passages(p_tenant text, p_ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    EXECUTE format('DELETE FROM recall.%I v WHERE v.tenant = (SELECT $1) AND v.memory_id = ANY ($2) AND v.part > 0',
                   recall_private.vector_table(p_tenant)) USING p_tenant, p_ids;
END $$;

-- delete_vectors: deletes what was computed from the earlier text of a memory, whose `embedded_with` is NULL now.
CREATE OR REPLACE FUNCTION recall_private.delete_vectors(p_tenant text, p_id bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM recall_private.delete_passages(p_tenant, ARRAY[p_id]), recall_private.sync_vectors(p_tenant, ARRAY[p_id]);
    DELETE FROM recall.token_signs s WHERE s.tenant = p_tenant AND s.memory_id = p_id;
END $$;

-- store_passages: stores the passages of these memories, which have none so far. p_passages is an array with one element
-- for each id, in the form that passages_problem checks; null means none.
CREATE OR REPLACE FUNCTION recall_private.store_passages(p_tenant text, p_ids bigint[], p_passages jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT jsonb_path_exists(p_passages, '$[*][*]') THEN
        RETURN;
    END IF;
    PERFORM recall_private.lock_vectors_shared(p_tenant);
    EXECUTE format(
        'INSERT INTO recall.%I (tenant, memory_id, archived, embedding, part, passage_start, passage_end) '
        'SELECT $1, m.id, m.archived_at IS NOT NULL, (p.passage ->> ''embedding'')::halfvec, p.part, '
        '(p.passage ->> ''start'')::int, (p.passage ->> ''end'')::int '
        'FROM unnest($2) WITH ORDINALITY u(id, place) '
        'JOIN jsonb_array_elements($3) WITH ORDINALITY t(passages, place) USING (place) '
        'JOIN recall.memory m ON m.tenant = (SELECT $1) AND m.id = u.id '
        'CROSS JOIN LATERAL jsonb_array_elements('
        'CASE jsonb_typeof(t.passages) WHEN ''array'' THEN t.passages ELSE ''[]'' END) WITH ORDINALITY p(passage, part) '
        'ORDER BY m.id, p.part', recall_private.vector_table(p_tenant)) USING p_tenant, p_ids, p_passages;
END $$;

-- stored_passages: the passages of these memories of a tenant (NULL means all) with their vectors, by id and part.
CREATE OR REPLACE FUNCTION recall_private.stored_passages(p_tenant text, p_ids bigint[])
RETURNS TABLE (memory_id bigint, part smallint, passage_start int, passage_end int, embedding halfvec)
LANGUAGE plpgsql STABLE ROWS 50 AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT v.memory_id, v.part, v.passage_start, v.passage_end, v.embedding FROM recall.%I v '
        'WHERE v.tenant = (SELECT $1) AND v.part > 0%s ORDER BY v.memory_id, v.part',
        recall_private.vector_table(p_tenant), CASE WHEN p_ids IS NOT NULL THEN ' AND v.memory_id = ANY ($2)' END)
    USING p_tenant, p_ids;
END $$;

-- best_passages: the passage nearest to a vector of each of these memories, as {start, end, text}. A memory is left out
-- if its own vector, which covers its beginning, is nearer, or if its vectors are not by the embedder p_model.
CREATE OR REPLACE FUNCTION recall_private.best_passages(p_tenant text, p_ids bigint[], p_embedding halfvec, p_model text)
RETURNS TABLE (id bigint, passage jsonb)
LANGUAGE plpgsql STABLE ROWS 10 AS $$
DECLARE
    v_long bigint[] := ARRAY(
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND m.passage_count > 0
          AND coalesce(m.embedded_with = p_model, true));
BEGIN
    IF v_long = '{}' OR p_embedding IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT n.memory_id, jsonb_build_object('start', n.passage_start, 'end', n.passage_end, 'text', substr(
        m.body, n.passage_start + 1, n.passage_end - n.passage_start))
    FROM (SELECT DISTINCT ON (v.memory_id) v.*
          FROM (SELECT p.memory_id, p.part, p.passage_start, p.passage_end, p.embedding
                FROM recall_private.stored_passages(p_tenant, v_long) p
                UNION ALL SELECT s.id, 0, NULL, NULL, s.embedding FROM recall_private.stored_vectors(p_tenant, v_long) s) v
          ORDER BY v.memory_id, v.embedding <=> p_embedding, v.part) n
    JOIN recall.memory m ON m.tenant = p_tenant AND m.id = n.memory_id
    WHERE n.part > 0;
END $$;
