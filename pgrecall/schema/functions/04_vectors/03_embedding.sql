-- Embeddings made after the fact: of memories stored from plain SQL, and of all when the model changes.

-- awaits_passages: whether nobody knows yet if this memory, which has a vector, needs passages. A shorter text fits into
-- any window.
CREATE OR REPLACE FUNCTION recall.awaits_passages(p_memory recall.memory) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN p_memory.embedded_with IS NOT NULL AND p_memory.passage_count IS NULL
    AND octet_length(p_memory.title) + octet_length(p_memory.body) > 250;

-- unembedded: up to p_limit memories after the id p_after that have no embedding or, where p_model is given, not one
-- of that model; with p_tokens those that have one of that model but no token signs by it, with p_passages those for
-- which it is not known yet whether they need passages. Returns what a worker needs to embed them; by id. Archived
-- memories are included, because searches can include them.
CREATE OR REPLACE FUNCTION recall.unembedded(
    p_after bigint DEFAULT 0, p_limit int DEFAULT 64, p_model text DEFAULT NULL, p_tokens boolean DEFAULT false,
    p_passages boolean DEFAULT false
) RETURNS TABLE (id bigint, title text, body text, content_hash text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    -- A statement for each, so that each has its index.
    IF p_model IS NULL THEN
        RETURN QUERY
        SELECT m.id, m.title, m.body, m.content_hash FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after AND m.embedded_with IS NULL
        ORDER BY m.id LIMIT recall.require_limit(p_limit);
    ELSIF p_passages THEN
        RETURN QUERY
        SELECT m.id, m.title, m.body, m.content_hash FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after AND m.embedded_with = p_model AND recall.awaits_passages(m)
        ORDER BY m.id LIMIT recall.require_limit(p_limit);
    ELSIF NOT p_tokens THEN
        RETURN QUERY
        SELECT m.id, m.title, m.body, m.content_hash FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after
          AND m.embedded_with IS DISTINCT FROM p_model
        ORDER BY m.id LIMIT recall.require_limit(p_limit);
    ELSE
        RETURN QUERY
        SELECT m.id, m.title, m.body, m.content_hash FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id > p_after
          AND m.embedded_with = p_model AND NOT EXISTS (
              SELECT FROM recall.token_signs s WHERE s.tenant = v_tenant AND s.memory_id = m.id AND s.model = p_model)
        ORDER BY m.id LIMIT recall.require_limit(p_limit);
    END IF;
END $$;

-- count_unembedded: how many memories unembedded() returns in all, with the same arguments.
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
                WHERE m.tenant = v_tenant AND m.embedded_with = p_model AND recall.awaits_passages(m));
    ELSIF NOT p_tokens THEN
        RETURN (SELECT count(*) FROM recall.memory m
                WHERE m.tenant = v_tenant AND m.embedded_with IS DISTINCT FROM p_model);
    END IF;
    RETURN (SELECT count(*) FROM recall.memory m
            WHERE m.tenant = v_tenant AND m.embedded_with = p_model AND NOT EXISTS (
                SELECT FROM recall.token_signs s
                WHERE s.tenant = v_tenant AND s.memory_id = m.id AND s.model = p_model));
END $$;

-- store_embeddings: keeps vectors, a JSON array of {id, content_hash, embedding, tokens, passages}, made by the embedder
-- p_model; returns how many. Token signs and passages may be left out; they are also stored for a memory that already
-- has its vector. If the text of a memory has changed since it was embedded, the memory is left for the next run.
CREATE OR REPLACE FUNCTION recall.store_embeddings(p_items jsonb, p_model text) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_dimensions int := recall.setting_value('*', 'embedding.dimensions')::int;
    v_bad record;
    v_ids bigint[];
    v_embeddings halfvec[];
    v_tokens jsonb;
    v_passages jsonb;
BEGIN
    IF jsonb_typeof(p_items) IS DISTINCT FROM 'array'
       OR jsonb_path_exists(p_items, 'strict $[*] ? (@.type() != "object")') THEN
        PERFORM recall.raise_invalid('The embeddings must be a JSON array of objects.');
    ELSIF coalesce(p_model, '') = '' THEN
        PERFORM recall.raise_invalid('These embeddings come without the name of their embedder.',
            'Name the model, so that vectors of two models are never compared.');
    END IF;
    PERFORM recall.require_embedder(p_model);
    SELECT i.id, p.problem INTO v_bad
    FROM jsonb_to_recordset(p_items)
        AS i(id bigint, content_hash text, embedding text, tokens jsonb, passages jsonb)
    CROSS JOIN LATERAL (
        SELECT coalesce(recall.vector_problem(i.embedding, v_dimensions), recall.tokens_problem(i.tokens),
                        recall.passages_problem(i.passages, coalesce(
                            (SELECT length(m.body) FROM recall.memory m
                             WHERE i.passages <> '[]' AND m.tenant = v_tenant AND m.id = i.id
                               AND m.content_hash = i.content_hash), 2147483647),
                            v_dimensions)) AS problem) p
    WHERE p.problem IS NOT NULL ORDER BY i.id LIMIT 1;
    IF FOUND THEN
        PERFORM recall.raise_invalid(format('Memory %s cannot be embedded: %s.', v_bad.id, v_bad.problem));
    END IF;
    -- Locked by a statement before: one that locks a row and updates it meets its old version twice, where others who do
    -- the same may wait by then.
    PERFORM recall.lock_memories(v_tenant, p_changed => ARRAY(SELECT i.id FROM jsonb_to_recordset(p_items) AS i(id bigint)));
    WITH fitting AS MATERIALIZED (
        SELECT m.id, i.embedding::halfvec AS embedding, coalesce(i.tokens, 'null') AS tokens,
               coalesce(i.passages, 'null') AS passages, m.embedded_with IS DISTINCT FROM p_model AS new
        FROM jsonb_to_recordset(p_items) AS i(id bigint, content_hash text, embedding text, tokens jsonb, passages jsonb)
        JOIN recall.memory m ON m.tenant = v_tenant AND m.id = i.id AND m.content_hash = i.content_hash
        WHERE i.embedding IS NOT NULL AND (m.embedded_with IS DISTINCT FROM p_model OR 'array' IN (jsonb_typeof(i.tokens), jsonb_typeof(i.passages)))
        ORDER BY m.id
    ), stored AS (
        UPDATE recall.memory m SET embedded_with = p_model, passage_count = recall.passages_counted(f.passages)
        FROM fitting f
        WHERE m.tenant = v_tenant AND m.id = f.id
          AND (f.new OR m.passage_count IS DISTINCT FROM recall.passages_counted(f.passages))
    )
    SELECT coalesce(array_agg(f.id), '{}'), array_agg(f.embedding), jsonb_agg(f.tokens), jsonb_agg(f.passages)
    INTO v_ids, v_embeddings, v_tokens, v_passages FROM fitting f;
    PERFORM recall.replace_vectors(v_tenant, v_ids, v_embeddings);
    PERFORM recall.store_passages(v_tenant, v_ids, v_passages);
    DELETE FROM recall.token_signs s WHERE s.tenant = v_tenant AND s.memory_id = ANY (v_ids) AND s.model <> p_model;
    PERFORM recall.store_token_signs(v_tenant, v_ids, v_tokens, p_model);
    RETURN cardinality(v_ids);
END $$;

-- begin_reembedding: makes p_model the embedder of this database, with the same dimensions; returns the one before,
-- NULL if there was none. Vectors of the old one are refused from then on; the job reembed replaces them.
CREATE OR REPLACE FUNCTION recall.begin_reembedding(p_model text, p_dimensions int) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_dimensions int := recall.setting_value('*', 'embedding.dimensions')::int;
    v_before text;
BEGIN
    PERFORM recall.require_any_tenant('change the embedder');
    IF coalesce(btrim(p_model), '') = '' THEN
        PERFORM recall.raise_invalid('The new embedder has no name.', 'Name the model.');
    ELSIF p_dimensions IS DISTINCT FROM v_dimensions THEN
        PERFORM recall.raise_invalid(
            format('The embedder %L gives %s dimensions, this database keeps %s.',
                   left(p_model, 200), coalesce(p_dimensions::text, 'no'), v_dimensions),
            'Choose an embedder of as many dimensions, or make another database for this one and import again.');
    END IF;
    SELECT s.value #>> '{}' INTO v_before FROM recall.setting s
    WHERE s.tenant = '*' AND s.name = 'embedding.model' FOR UPDATE;
    INSERT INTO recall.setting (tenant, name, value) VALUES ('*', 'embedding.model', to_jsonb(p_model))
    ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value WHERE setting.value <> excluded.value;
    RETURN v_before;
END $$;
