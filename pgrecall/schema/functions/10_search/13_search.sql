-- Search in SQL: with named arguments for a person at psql, as one logged request of a program, and explained for one
-- memory.

-- search (reader; Search): the memories of this tenant that answer a query, best first, ties by id. `relevance` is the
-- calibrated probability that a memory answers. `score` is also a probability; it adds use in log-odds:
-- logit(relevance) + weight * k * ln((1 + r) / 2), where r is S divided by the median S of the layer, at most 63, and k
-- = 1 to 1.6 (recall_private.use_term). Memories named exactly are exempt from vitality. A query without p_embedding is
-- answered by words, names, cues and links alone. Sub-queries (p_queries, with p_embeddings) are searched together, and
-- a memory counts by the sub-query that it answers best. Without a query, a time window (p_since, p_until) returns
-- everything that happened in it, ordered by vitality. `speech_act` is what the memory says: statement, question,
-- acknowledgement, instruction or preference; p_speech_acts keeps those. `newer_version` is a later memory that states
-- the same with another value. p_metadata keeps memories with metadata that contain this JSON object, and p_sources
-- those from one of these sources. `passage` is the part of a long memory that is nearest to the query in meaning:
-- {start, end, text}, in characters of the body, counted from 0.
CREATE OR REPLACE FUNCTION recall.search(
    p_query text DEFAULT NULL, p_embedding halfvec DEFAULT NULL, p_k int DEFAULT 10, p_layers text[] DEFAULT NULL,
    p_roles text[] DEFAULT NULL, p_authors text[] DEFAULT NULL, p_tags text[] DEFAULT NULL,
    p_since timestamptz DEFAULT NULL, p_until timestamptz DEFAULT NULL,
    p_include_archived boolean DEFAULT false, p_include_superseded boolean DEFAULT false,
    p_include_invalid boolean DEFAULT false, p_min_relevance double precision DEFAULT 0,
    p_vitality_mode text DEFAULT NULL, p_vitality_weight double precision DEFAULT NULL,
    p_explain boolean DEFAULT true, p_now timestamptz DEFAULT now(), p_queries text[] DEFAULT NULL,
    p_embeddings halfvec[] DEFAULT NULL, p_hints text[] DEFAULT NULL, p_cues bigint[] DEFAULT NULL,
    p_session_id text DEFAULT NULL, p_as_of timestamptz DEFAULT NULL, p_profile text DEFAULT NULL,
    p_weights jsonb DEFAULT NULL, p_sources text[] DEFAULT NULL, p_metadata jsonb DEFAULT NULL,
    p_speech_acts text[] DEFAULT NULL
) RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, tags text[],
    happened_at timestamptz, score double precision, relevance double precision,
    vitality double precision, zone text, rank int, superseded_by bigint, supersedes bigint[],
    contradicts bigint[], valid_from timestamptz, valid_until timestamptz, expires_at timestamptz,
    archived_at timestamptz, explanation jsonb, passage jsonb, speech_act text, newer_version bigint
)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY
    SELECT f.id, f.key, f.layer, f.title, f.body, f.role, f.author, f.tags, f.happened_at, f.score, f.relevance,
           f.vitality, f.zone, f.rank, f.superseded_by, f.supersedes, f.contradicts, f.valid_from, f.valid_until,
           f.expires_at, f.archived_at, recall.hit_explanation(f.hit_ground, first_value(f.search_ground) OVER (ORDER BY f.rank)),
           f.passage, f.speech_act, f.newer_version
    FROM recall.find(jsonb_build_object(
        'query', p_query, 'queries', p_queries, 'k', p_k, 'layers', p_layers, 'roles', p_roles, 'authors', p_authors,
        'tags', p_tags, 'speech_acts', p_speech_acts, 'sources', p_sources, 'metadata', p_metadata, 'hints', p_hints, 'since', p_since,
        'until', p_until, 'include_archived', p_include_archived, 'include_superseded', p_include_superseded,
        'include_invalid', p_include_invalid, 'as_of', p_as_of, 'cues', p_cues, 'session_id', p_session_id,
        'min_relevance', p_min_relevance, 'profile', p_profile, 'weights', p_weights,
        'vitality_mode', p_vitality_mode, 'vitality_weight', p_vitality_weight, 'explain', p_explain
    ), p_embedding, p_embeddings, p_now) f
    WHERE f.id IS NOT NULL ORDER BY f.rank;
END $$;

-- search_and_log (app; Search): does what find does, and logs the search and a retrieval of each memory that it
-- returns, which the job `fold` counts. It changes nothing else, and logs nothing if p_unless_named ends the search.
-- `search_id` identifies the search for used() and rejected(). Commit with synchronous_commit = off where losing a
-- retrieval is acceptable.
CREATE OR REPLACE FUNCTION recall.search_and_log(
    p_request jsonb, p_embedding halfvec DEFAULT NULL, p_embeddings halfvec[] DEFAULT NULL,
    p_now timestamptz DEFAULT now(), p_tokens jsonb DEFAULT NULL, p_unless_named boolean DEFAULT false
) RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, tags text[],
    happened_at timestamptz, score double precision, relevance double precision,
    vitality double precision, zone text, rank int, superseded_by bigint, supersedes bigint[],
    contradicts bigint[], valid_from timestamptz, valid_until timestamptz, expires_at timestamptz,
    archived_at timestamptz, explanation jsonb,
    summary jsonb, search_id bigint, passage jsonb, speech_act text, newer_version bigint, evidence json,
    hit_ground recall.hit_ground, search_ground recall.search_ground
)
LANGUAGE plpgsql VOLATILE ROWS 10
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_queries text[];
BEGIN
    IF jsonb_typeof(p_request -> 'queries') = 'array' THEN
        v_queries := (SELECT array_agg(q) FROM jsonb_array_elements_text(p_request -> 'queries') q);
    END IF;
    RETURN QUERY
    WITH hit AS MATERIALIZED (
        SELECT * FROM recall.find(
            p_request, p_embedding, p_embeddings, p_now, p_tokens => p_tokens, p_unless_named => p_unless_named)
    )
    SELECT f.id, f.key, f.layer, f.title, f.body, f.role, f.author, f.tags, f.happened_at, f.score, f.relevance,
           f.vitality, f.zone, f.rank, f.superseded_by, f.supersedes, f.contradicts, f.valid_from, f.valid_until,
           f.expires_at, f.archived_at, f.explanation, f.summary, (
               SELECT CASE WHEN NOT s.named THEN recall_private.log_search(
                   v_tenant, s.ids, p_request ->> 'session_id', p_now, p_request ->> 'query', s.profile, v_queries,
                   s.experiment) END
               FROM (SELECT coalesce(array_agg(h.id) FILTER (WHERE h.id IS NOT NULL), '{}') AS ids,
                            max(h.summary ->> 'profile') AS profile,
                            (max((h.summary -> 'experiment')::text))::jsonb AS experiment,
                            coalesce(bool_or(h.summary ? 'named'), false) AS named
                     FROM hit h) s),
           f.passage, f.speech_act, f.newer_version, f.evidence, f.hit_ground, f.search_ground
    FROM hit f;  -- in the order of find
END $$;

-- explain (reader; Search): why a memory has its rank for a search request, as JSON: the rank, the number of
-- candidates, the explanation as search returns it, and the same in words as `sentence`; or why it is not a candidate.
-- Archived, superseded and invalid memories are explained too, unless an include_... of the request is false; `k` is
-- ignored.
CREATE OR REPLACE FUNCTION recall.explain(
    p_memory_id bigint, p_request jsonb, p_embedding halfvec DEFAULT NULL, p_embeddings halfvec[] DEFAULT NULL,
    p_now timestamptz DEFAULT now(), p_tokens jsonb DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_request jsonb := '{"include_archived": true, "include_superseded": true, "include_invalid": true}'::jsonb
        || p_request || '{"k": 1000, "explain": true}';
    v_filter recall.search_filter;
    v_memory recall.memory;
    v_hit record;
    v_explanation jsonb;
BEGIN
    PERFORM recall.require_memory(p_memory_id);
    SELECT f.id, f.rank, f.relevance, f.vitality, f.hit_ground, count(*) OVER () AS candidates,
           first_value(f.search_ground) OVER (ORDER BY f.rank) AS search_ground
    INTO v_hit
    FROM recall.find(
        v_request, p_embedding, p_embeddings, p_now, p_tokens => p_tokens, p_max_bytes => NULL) f
    ORDER BY f.id = p_memory_id DESC NULLS LAST LIMIT 1;
    v_filter := (recall_private.read_search_request(v_request)).filter;
    IF v_hit.id IS DISTINCT FROM p_memory_id THEN
        RETURN jsonb_build_object('memory', p_memory_id, 'found', false, 'sentence', format(
            'Memory %s is not a candidate for this query: no arm found it%s.', p_memory_id,
            CASE WHEN recall_private.narrows(v_filter) OR v_filter.until IS NOT NULL
                      OR (v_request -> 'min_relevance')::double precision > 0
                      OR NOT (v_filter.include_archived AND v_filter.include_superseded AND v_filter.include_invalid)
                 THEN ' within its filters' ELSE '' END));
    END IF;
    SELECT * INTO v_memory FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = p_memory_id;
    v_explanation := recall.hit_explanation(v_hit.hit_ground, v_hit.search_ground);
    RETURN v_explanation || jsonb_build_object(
        'memory', p_memory_id, 'found', true, 'rank', v_hit.rank, 'candidates', v_hit.candidates,
        'sentence', recall_private.rank_sentence(
            v_hit.rank, v_hit.candidates, v_hit.relevance, v_hit.vitality, v_explanation)
            || recall_private.hidden_reason(v_memory, coalesce(v_filter.as_of, p_now)));
END $$;

-- similarities (reader; Search): the cosine of each pair (a < b) of these memories that were embedded by the same
-- embedder, by a and b. Pairs with a zero vector and unknown ids are left out.
CREATE OR REPLACE FUNCTION recall.similarities(p_ids bigint[])
RETURNS TABLE (a bigint, b bigint, similarity double precision)
LANGUAGE plpgsql STABLE ROWS 1000
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[] := recall_private.distinct_ids(p_ids);
BEGIN
    RETURN QUERY
    WITH vector AS MATERIALIZED (
        SELECT v.id, v.embedded_with, v.embedding FROM recall_private.stored_vectors(v_tenant, v_ids) v
    )
    SELECT x.id, y.id, least(greatest(1 - (x.embedding <=> y.embedding), -1), 1)
    FROM vector x JOIN vector y ON x.id < y.id AND x.embedded_with = y.embedded_with
    WHERE (x.embedding <=> y.embedding) <> 'NaN'
    ORDER BY 1, 2;
END $$;
