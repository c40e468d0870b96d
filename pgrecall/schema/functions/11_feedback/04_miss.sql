-- Why a search does not show a memory: the filters that hide it, its rank, and the findings of each arm.

-- words_of_queries: the words of these queries, each once, and whether a memory contains them.
CREATE OR REPLACE FUNCTION recall_private.words_of_queries(p_tenant text, p_queries text[], p_text tsvector)
RETURNS TABLE (word text, held boolean)
LANGUAGE sql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
    SELECT w.word, bool_or(p_text @@ w.query)
    FROM unnest(p_queries) q
    CROSS JOIN LATERAL recall_private.analyzed_query(p_tenant, q, false, true, recall_private.tenant_counts(p_tenant)) a
    CROSS JOIN LATERAL unnest(a.words, a.queries) w(word, query)
    WHERE w.word IS NOT NULL
    GROUP BY w.word ORDER BY w.word
$$;

-- explain_miss (reader; Use and feedback): why a search request does not show a memory, as JSON. `outcome` is `found`;
-- `filtered` (`filters` names those it does not pass); `ranked_lower` than the request shows; `too_irrelevant`
-- (min_relevance) or `not_confident` (require_answer); `beyond_pool`, if arms found it, but each below the candidates
-- that it keeps, or if a search for so few hits judges others; or `not_found` by any arm. `rank` is the rank among the candidates of the request; for a memory that a
-- filter hides, without filters. `arms` has the findings of each arm: the semantic arm its similarity and rank, the
-- lexical arm the words held and missing, its coverage and rank, the others as in an explanation. `limit` is how many
-- candidates an arm keeps.
CREATE OR REPLACE FUNCTION recall.explain_miss(
    p_memory_id bigint, p_request jsonb, p_embedding halfvec DEFAULT NULL, p_embeddings halfvec[] DEFAULT NULL,
    p_now timestamptz DEFAULT now(), p_tokens jsonb DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_read record;
    v_request recall.search_request;
    v_memory recall.memory;
    v_failed text[];
    v_limit int;
    v_open jsonb;  -- the request without filters, and with all candidates
    v_hits jsonb;
    v_mine jsonb;
    v_wide jsonb;
    v_last double precision;
    v_confidence double precision;
    v_min_confidence double precision := recall_private.setting_number(v_tenant, 'search.min_confidence');
    v_embedder text := recall_private.setting_value(v_tenant, 'embedding.model') #>> '{}';
    v_other text := recall_private.other_embedder(v_embedder);
    v_words jsonb;
    v_similarity double precision;
    v_arms jsonb;
    v_outcome text;
BEGIN
    PERFORM recall.require_memory(p_memory_id);
    SELECT * INTO v_memory FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = p_memory_id;
    v_read := recall_private.read_search_request(p_request);
    v_request := v_read.request;
    v_failed := recall_private.failed_filters(v_memory, recall_private.checked_filter(v_tenant, v_read.filter, p_now));
    v_limit := CASE WHEN v_request.k <= 50 THEN 50 ELSE 1000 END;
    SELECT jsonb_agg(jsonb_build_object('id', f.id, 'rank', f.rank, 'score', f.score, 'relevance', f.relevance,
                                        'explanation', CASE WHEN f.id = p_memory_id THEN recall.hit_explanation(f.hit_ground, f.ground) END)
                     ORDER BY f.rank) FILTER (WHERE f.id IS NOT NULL),
           max((f.summary ->> 'confidence')::double precision)
    INTO v_hits, v_confidence
    FROM (SELECT *, first_value(o.search_ground) OVER (ORDER BY o.rank) AS ground FROM recall.find(
        p_request || jsonb_build_object('k', v_limit, 'explain', true, 'min_relevance', 0, 'require_answer', false),
        p_embedding, p_embeddings, p_now, p_tokens => p_tokens, p_max_bytes => NULL) o) f;
    SELECT h INTO v_mine FROM jsonb_array_elements(v_hits) h WHERE (h ->> 'id')::bigint = p_memory_id;
    SELECT (h ->> 'score')::double precision INTO v_last FROM jsonb_array_elements(v_hits) h
    WHERE (h ->> 'rank')::int = v_request.k;
    IF v_mine IS NULL THEN
        v_open := recall_private.without_filters(p_request)
            || '{"k": 1000, "explain": true, "min_relevance": 0, "require_answer": false}';
        IF recall_private.combined_queries(v_request.query, v_request.queries) <> '{}' OR v_request.cues IS NOT NULL
           OR v_request.session_id IS NOT NULL THEN
            SELECT jsonb_build_object('rank', f.rank, 'score', f.score, 'relevance', f.relevance,
                                      'explanation', recall.hit_explanation(f.hit_ground, f.ground))
            INTO v_wide
            FROM (SELECT *, first_value(o.search_ground) OVER (ORDER BY o.rank) AS ground FROM recall.find(
                v_open, p_embedding, p_embeddings, p_now, p_tokens => p_tokens, p_max_bytes => NULL) o) f
            WHERE f.id = p_memory_id;
        END IF;
    END IF;
    SELECT jsonb_build_object('held', coalesce(jsonb_agg(w.word) FILTER (WHERE w.held), '[]'),
                              'missing', coalesce(jsonb_agg(w.word) FILTER (WHERE NOT w.held), '[]'))
    INTO v_words
    FROM recall_private.words_of_queries(
        v_tenant, recall_private.combined_queries(v_request.query, v_request.queries), v_memory.search_text) w;
    -- As a search computes it, also where no arm found the memory.
    SELECT max(c.scale * s.similarities[1] + c.shift) INTO v_similarity
    FROM unnest(array_append(p_embeddings, p_embedding)) e(embedding)
    CROSS JOIN LATERAL recall_private.centered_query(
        recall_private.tenant_counts(v_tenant), e.embedding, CASE WHEN (recall_private.relevance_model_for_search(
            v_tenant, v_embedder, v_request.profile, (v_read.filter).layers)).form = 'logistic' THEN v_embedder END) c
    CROSS JOIN LATERAL recall_private.similarities_to_vector(v_tenant, ARRAY[p_memory_id], c.direction) s
    WHERE e.embedding IS NOT NULL AND v_other IS NULL;
    v_arms := coalesce(v_mine #> '{explanation,arms}', v_wide #> '{explanation,arms}', '{}');
    v_arms := v_arms || jsonb_build_object(
        'semantic', jsonb_build_object('limit', v_limit, 'similarity', v_similarity, 'reason', CASE
            WHEN p_embedding IS NULL AND p_embeddings IS NULL THEN 'The query has no vector.'
            WHEN v_other IS NOT NULL THEN 'The vector of the query was made by another embedder.'
            WHEN v_memory.embedded_with IS NULL THEN 'The memory has no vector yet.'
            WHEN v_memory.embedded_with <> v_embedder
                THEN 'The vector of the memory was made by another embedder.' END) || coalesce(v_arms -> 'semantic', '{}'),
        'lexical', jsonb_build_object('limit', v_limit) || coalesce(v_arms -> 'lexical', '{}') || v_words);
    v_outcome := CASE
        WHEN v_failed <> '{}' THEN 'filtered'
        WHEN v_mine IS NULL THEN CASE WHEN v_wide IS NULL THEN 'not_found' ELSE 'beyond_pool' END
        WHEN (v_mine ->> 'relevance')::double precision < v_request.min_relevance THEN 'too_irrelevant'
        WHEN v_request.require_answer AND v_confidence < v_min_confidence THEN 'not_confident'
        WHEN (v_mine ->> 'rank')::int > v_request.k THEN 'ranked_lower'
        WHEN v_request.k < v_limit AND NOT EXISTS (
            SELECT FROM recall.find(p_request, p_embedding, p_embeddings, p_now, p_tokens => p_tokens) f
            WHERE f.id = p_memory_id) THEN 'beyond_pool'
        ELSE 'found' END;
    v_mine := coalesce(v_mine, v_wide, '{}');
    RETURN jsonb_build_object(
        'memory', p_memory_id, 'outcome', v_outcome, 'filters', v_failed, 'rank', v_mine -> 'rank', 'k', v_request.k,
        'candidates', coalesce(jsonb_array_length(v_hits), 0), 'score', v_mine -> 'score', 'last_score', v_last,
        'relevance', v_mine -> 'relevance', 'min_relevance', v_request.min_relevance, 'confidence', v_confidence,
        'min_confidence', v_min_confidence, 'arms', v_arms);
END $$;
