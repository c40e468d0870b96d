-- What is told of a hit beside its numbers: the words it holds, what it replaces and what contradicts it.

-- matched_words: which of the question's words a memory holds, with what they weigh.
CREATE OR REPLACE FUNCTION recall.matched_words(
    p_text tsvector, p_words text[], p_queries tsquery[], p_idfs double precision[]
) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT coalesce(jsonb_object_agg(w.word, round(w.idf::numeric, 3)), '{}')
    FROM unnest(p_words, p_queries, p_idfs) w(word, query, idf)
    WHERE p_text @@ w.query
$$;

-- step_of: how far the words of the question had to be relaxed to find this memory: phrase, all words, some words,
-- prefix (words that begin like one nobody used) or similar (words spelt much like it).
CREATE OR REPLACE FUNCTION recall.step_of(
    p_text tsvector, p_words text[], p_steps text[], p_queries tsquery[], p_phrase int
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN p_phrase = 1 THEN 'phrase'
                WHEN bool_and(w.held AND w.step = 'word') THEN 'all words'
                WHEN bool_or(w.held AND w.step = 'word') THEN 'some words'
                WHEN bool_or(w.held AND w.step = 'prefix') THEN 'prefix'
                WHEN bool_or(w.held AND w.step = 'similar') THEN 'similar' ELSE 'some words' END
    FROM (SELECT x.step, p_text @@ x.query AS held
          FROM unnest(p_steps, p_queries) x(step, query)) w
$$;

-- contradicting: the live memories that contradict this one, or that it contradicts, by id, at most 100. Inlined.
CREATE OR REPLACE FUNCTION recall.contradicting(p_tenant text, p_memory_id bigint) RETURNS TABLE (id bigint)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT k.id
    FROM (
        SELECT l.dst AS id FROM recall.link l
        WHERE l.tenant = p_tenant AND l.src = p_memory_id AND l.relation = 'contradicts'
        UNION
        SELECT l.src FROM recall.link l
        WHERE l.tenant = p_tenant AND l.dst = p_memory_id AND l.relation = 'contradicts') k
    CROSS JOIN LATERAL (
        SELECT FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = k.id AND m.archived_at IS NULL OFFSET 0) live
    ORDER BY k.id LIMIT 100;
END;

-- blend_of: how a reranker's logit and the fused one make a relevance: {"intercept", "rerank", "fused"}; the tenant's
-- own numbers for this reranker first, then those shipped for it, then those for any.
CREATE OR REPLACE FUNCTION recall.blend_of(p_tenant text, p_reranker text) RETURNS jsonb
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT jsonb_build_object('intercept', r.intercept, 'rerank', r.rerank, 'fused', r.fused)
    FROM recall.rerank_model r
    WHERE r.tenant IN (p_tenant, '*') AND r.reranker IN (p_reranker, '*')
    ORDER BY r.tenant = '*', r.reranker = '*' LIMIT 1
$$;

-- ids_of: the ids of memories given by id or by key, in their order; NULL for NULL; an error for one not there.
CREATE OR REPLACE FUNCTION recall.ids_of(p_memories jsonb) RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_wrong jsonb;
BEGIN
    IF jsonb_typeof(p_memories) <> 'array' THEN
        PERFORM recall.reject('The memories must be a JSON array of ids and keys.');
    END IF;
    SELECT m.value INTO v_wrong FROM jsonb_array_elements(p_memories) m(value)
    WHERE NOT CASE jsonb_typeof(m.value) WHEN 'number' THEN pg_input_is_valid(m.value #>> '{}', 'bigint')
                                         ELSE jsonb_typeof(m.value) = 'string' END LIMIT 1;
    IF FOUND THEN
        PERFORM recall.reject(format('%s is neither the id nor the key of a memory.', left(v_wrong::text, 100)));
    END IF;
    RETURN (
        SELECT array_agg(CASE WHEN jsonb_typeof(m.value) = 'number' THEN recall.require_memory(m.value::bigint)
                              ELSE recall.id_of(m.value #>> '{}') END ORDER BY m.place)
        FROM jsonb_array_elements(p_memories) WITH ORDINALITY m(value, place));
END $$;
