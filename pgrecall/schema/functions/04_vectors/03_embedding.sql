-- Embeddings made later: for memories stored with plain SQL, and for all memories when the model changes.

-- awaits_passages: whether it is not yet known if this memory, which has a vector, needs passages. A shorter text fits
-- into the window of any model.
CREATE OR REPLACE FUNCTION recall_private.awaits_passages(p_memory recall.memory) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_memory.embedded_with IS NOT NULL AND p_memory.passage_count IS NULL
    AND octet_length(p_memory.title) + octet_length(p_memory.body) > 250;

-- unembedded (worker; Jobs and maintenance): up to p_limit memories with ids above p_after that have no embedding or,
-- with p_model, no embedding by that model. With p_tokens, those with an embedding by that model but without its token
-- signs. With p_passages, those of which it is not yet known whether they need passages. Returns what a worker needs to
-- embed them, by id. Archived memories are included, because searches can include them.
CREATE OR REPLACE FUNCTION recall.unembedded(
    p_after bigint DEFAULT 0, p_limit int DEFAULT 64, p_model text DEFAULT NULL, p_tokens boolean DEFAULT false,
    p_passages boolean DEFAULT false
) RETURNS TABLE (id bigint, title text, body text, content_hash text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    -- Separate statements, so that each uses its own index.
    IF p_model IS NULL THEN
        RETURN QUERY
        SELECT m.id, m.title, m.body, m.content_hash FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after AND m.embedded_with IS NULL
        ORDER BY m.id LIMIT recall_private.require_limit(p_limit);
    ELSIF p_passages THEN
        RETURN QUERY
        SELECT m.id, m.title, m.body, m.content_hash FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after AND m.embedded_with = p_model AND recall_private.awaits_passages(m)
        ORDER BY m.id LIMIT recall_private.require_limit(p_limit);
    ELSIF NOT p_tokens THEN
        RETURN QUERY
        SELECT m.id, m.title, m.body, m.content_hash FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after
          AND m.embedded_with IS DISTINCT FROM p_model
        ORDER BY m.id LIMIT recall_private.require_limit(p_limit);
    ELSE
        RETURN QUERY
        SELECT m.id, m.title, m.body, m.content_hash FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after
          AND m.embedded_with = p_model AND NOT EXISTS (
              SELECT FROM recall.token_signs s WHERE s.tenant = v_tenant AND s.memory_id = m.id AND s.model = p_model)
        ORDER BY m.id LIMIT recall_private.require_limit(p_limit);
    END IF;
END $$;

-- count_unembedded (worker; Jobs and maintenance): how many memories unembedded() returns in all, with the same
-- arguments.
CREATE OR REPLACE FUNCTION recall.count_unembedded(
    p_model text DEFAULT NULL, p_tokens boolean DEFAULT false, p_passages boolean DEFAULT false
) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    IF p_model IS NULL THEN
        RETURN (SELECT count(*) FROM recall.memory m WHERE m.tenant = v_tenant AND m.embedded_with IS NULL);
    ELSIF p_passages THEN
        RETURN (SELECT count(*) FROM recall.memory m
                WHERE m.tenant = v_tenant AND m.embedded_with = p_model AND recall_private.awaits_passages(m));
    ELSIF NOT p_tokens THEN
        RETURN (SELECT count(*) FROM recall.memory m
                WHERE m.tenant = v_tenant AND m.embedded_with IS DISTINCT FROM p_model);
    END IF;
    RETURN (SELECT count(*) FROM recall.memory m
            WHERE m.tenant = v_tenant AND m.embedded_with = p_model AND NOT EXISTS (
                SELECT FROM recall.token_signs s
                WHERE s.tenant = v_tenant AND s.memory_id = m.id AND s.model = p_model));
END $$;

-- store_embeddings (worker; Jobs and maintenance): stores vectors, a JSON array of {id, content_hash, embedding,
-- tokens, passages}, made by the embedder p_model. Returns how many. Token signs and passages are optional; they are
-- also stored for a memory that already has its vector. A memory with a text that has changed since it was embedded is
-- left for the next run.
CREATE OR REPLACE FUNCTION recall.store_embeddings(p_items jsonb, p_model text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_dimensions int := recall_private.setting_value('*', 'embedding.dimensions')::int;
    v_bad record;
    v_ids bigint[];
    v_embeddings halfvec[];
    v_tokens jsonb;
    v_passages jsonb;
BEGIN
    IF jsonb_typeof(p_items) IS DISTINCT FROM 'array'
       OR jsonb_path_exists(p_items, 'strict $[*] ? (@.type() != "object")') THEN
        PERFORM recall_private.raise_invalid('The embeddings must be a JSON array of objects.');
    ELSIF coalesce(p_model, '') = '' THEN
        PERFORM recall_private.raise_invalid('The embeddings have no name of an embedder.',
            'Name the model, so that vectors of two models are never compared.');
    END IF;
    PERFORM recall_private.require_embedder(p_model);
    SELECT i.id, p.problem INTO v_bad
    FROM jsonb_to_recordset(p_items)
        AS i(id bigint, content_hash text, embedding text, tokens jsonb, passages jsonb)
    CROSS JOIN LATERAL (
        SELECT coalesce(recall_private.vector_problem(i.embedding, v_dimensions), recall_private.tokens_problem(i.tokens),
                        recall_private.passages_problem(i.passages, coalesce(
                            (SELECT length(m.body) FROM recall.memory m
                             WHERE i.passages <> '[]' AND m.tenant = v_tenant AND m.id = i.id
                               AND m.content_hash = i.content_hash), 2147483647),
                            v_dimensions)) AS problem) p
    WHERE p.problem IS NOT NULL ORDER BY i.id LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('Memory %s cannot be embedded: %s.', v_bad.id, v_bad.problem));
    END IF;
    -- A statement of its own locks the rows first. A statement that locks and updates a row would lock its old version
    -- twice, and another transaction that does the same could come in between.
    PERFORM recall_private.lock_memories(v_tenant, p_changed => ARRAY(SELECT i.id FROM jsonb_to_recordset(p_items) AS i(id bigint)));
    WITH fitting AS MATERIALIZED (
        SELECT m.id, i.embedding::halfvec AS embedding, coalesce(i.tokens, 'null') AS tokens,
               coalesce(i.passages, 'null') AS passages, m.embedded_with IS DISTINCT FROM p_model AS new
        FROM jsonb_to_recordset(p_items) AS i(id bigint, content_hash text, embedding text, tokens jsonb, passages jsonb)
        JOIN recall.memory m ON m.tenant = v_tenant AND m.id = i.id AND m.content_hash = i.content_hash
        WHERE i.embedding IS NOT NULL AND (m.embedded_with IS DISTINCT FROM p_model OR 'array' IN (jsonb_typeof(i.tokens), jsonb_typeof(i.passages)))
        ORDER BY m.id
    ), stored AS (
        UPDATE recall.memory m SET embedded_with = p_model, passage_count = recall_private.passages_counted(f.passages)
        FROM fitting f
        WHERE m.tenant = v_tenant AND m.id = f.id
          AND (f.new OR m.passage_count IS DISTINCT FROM recall_private.passages_counted(f.passages))
    )
    SELECT coalesce(array_agg(f.id), '{}'), array_agg(f.embedding), jsonb_agg(f.tokens), jsonb_agg(f.passages)
    INTO v_ids, v_embeddings, v_tokens, v_passages FROM fitting f;
    PERFORM recall_private.replace_vectors(v_tenant, v_ids, v_embeddings);
    PERFORM recall_private.store_passages(v_tenant, v_ids, v_passages);
    DELETE FROM recall.token_signs s WHERE s.tenant = v_tenant AND s.memory_id = ANY (v_ids) AND s.model <> p_model;
    PERFORM recall_private.store_token_signs(v_tenant, v_ids, v_tokens, p_model);
    RETURN cardinality(v_ids);
END $$;

-- begin_reembedding (worker; Jobs and maintenance): makes p_model, with the same dimensions, the embedder of this
-- database. Returns the previous embedder, NULL if there was none. New vectors by the previous one are refused from
-- then on. The job reembed replaces those already stored.
CREATE OR REPLACE FUNCTION recall.begin_reembedding(p_model text, p_dimensions int) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_dimensions int := recall_private.setting_value('*', 'embedding.dimensions')::int;
    v_before text;
BEGIN
    PERFORM recall_private.require_any_tenant('change the embedder');
    IF coalesce(btrim(p_model), '') = '' THEN
        PERFORM recall_private.raise_invalid('The new embedder has no name.', 'Name the model.');
    ELSIF p_dimensions IS DISTINCT FROM v_dimensions THEN
        PERFORM recall_private.raise_invalid(
            format('The embedder %L has %s dimensions, this database %s.',
                   left(p_model, 200), coalesce(p_dimensions::text, 'no'), v_dimensions),
            'Choose an embedder with that many dimensions, or create another database for this one and import again.');
    END IF;
    SELECT s.value #>> '{}' INTO v_before FROM recall.setting s
    WHERE s.tenant = '*' AND s.name = 'embedding.model' FOR UPDATE;
    INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'embedding.model', to_jsonb(p_model))
    ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value WHERE setting.value <> excluded.value;
    RETURN v_before;
END $$;
