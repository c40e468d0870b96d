-- Search: asking in SQL, with and without saying what was shown, and why a memory is where it is.

-- search: the memories of this tenant that answer a question, best first, ties by id.
-- `relevance` is the calibrated probability that a memory answers; `score` adds vitality in log-odds:
-- logit(relevance) + weight * (B - median B of the layer), shown as a probability. Memories named exactly are exempt
-- from vitality. A question without p_embedding is answered by words, names, cues and links alone; sub-queries
-- (p_queries, with p_embeddings) are gathered together, and a memory counts by the one it answers best. Without any
-- words a window of time (p_since, p_until) is the question, and vitality the order of what is in it.
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
    p_weights jsonb DEFAULT NULL
) RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, tags text[],
    happened_at timestamptz, score double precision, relevance double precision,
    vitality double precision, zone text, rank int, superseded_by bigint, supersedes bigint[],
    contradicts bigint[], valid_from timestamptz, valid_until timestamptz, expires_at timestamptz,
    archived_at timestamptz, explanation jsonb
)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY
    SELECT f.id, f.key, f.layer, f.title, f.body, f.role, f.author, f.tags, f.happened_at, f.score, f.relevance,
           f.vitality, f.zone, f.rank, f.superseded_by, f.supersedes, f.contradicts, f.valid_from, f.valid_until,
           f.expires_at, f.archived_at, f.explanation
    FROM recall.find(p_query, p_embedding, p_k, p_layers, p_roles, p_authors, p_tags, p_since, p_until,
        p_include_archived, p_include_superseded, p_include_invalid, p_min_relevance, p_vitality_mode,
        p_vitality_weight, p_explain, p_now, p_queries, p_embeddings, p_hints, p_cues, p_session_id, p_as_of,
        p_profile, p_weights) f
    WHERE f.id IS NOT NULL ORDER BY f.rank;
END $$;

-- search_and_log: as find, and logs the search and a retrieval of each memory it returns and changes no other row; the
-- fold job counts them. `search_id` names the search for used() and rejected(). Commit with synchronous_commit = off
-- where a lost retrieval is no loss.
CREATE OR REPLACE FUNCTION recall.search_and_log(
    p_query text DEFAULT NULL, p_embedding halfvec DEFAULT NULL, p_k int DEFAULT 10, p_layers text[] DEFAULT NULL,
    p_roles text[] DEFAULT NULL, p_authors text[] DEFAULT NULL, p_tags text[] DEFAULT NULL,
    p_since timestamptz DEFAULT NULL, p_until timestamptz DEFAULT NULL,
    p_include_archived boolean DEFAULT false, p_include_superseded boolean DEFAULT false,
    p_include_invalid boolean DEFAULT false, p_min_relevance double precision DEFAULT 0,
    p_vitality_mode text DEFAULT NULL, p_vitality_weight double precision DEFAULT NULL,
    p_explain boolean DEFAULT true, p_now timestamptz DEFAULT now(), p_queries text[] DEFAULT NULL,
    p_embeddings halfvec[] DEFAULT NULL, p_hints text[] DEFAULT NULL, p_cues bigint[] DEFAULT NULL,
    p_session_id text DEFAULT NULL, p_as_of timestamptz DEFAULT NULL, p_profile text DEFAULT NULL,
    p_weights jsonb DEFAULT NULL
) RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, tags text[],
    happened_at timestamptz, score double precision, relevance double precision,
    vitality double precision, zone text, rank int, superseded_by bigint, supersedes bigint[],
    contradicts bigint[], valid_from timestamptz, valid_until timestamptz, expires_at timestamptz,
    archived_at timestamptz, explanation jsonb,
    summary jsonb, search_id bigint
)
LANGUAGE plpgsql VOLATILE ROWS 10
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    RETURN QUERY
    WITH hit AS MATERIALIZED (
        SELECT * FROM recall.find(p_query, p_embedding, p_k, p_layers, p_roles, p_authors, p_tags, p_since, p_until,
            p_include_archived, p_include_superseded, p_include_invalid, p_min_relevance, p_vitality_mode,
            p_vitality_weight, p_explain, p_now, p_queries, p_embeddings, p_hints, p_cues, p_session_id, p_as_of,
            p_profile, p_weights)
    ), logged AS MATERIALIZED (
        SELECT recall.log_search(v_tenant, s.ids, p_session_id, p_now, p_query, s.profile, p_queries) AS search_id
        FROM (SELECT coalesce(array_agg(h.id ORDER BY h.rank) FILTER (WHERE h.id IS NOT NULL), '{}') AS ids,
                     max(h.summary ->> 'profile') AS profile FROM hit h) s
    )
    SELECT f.id, f.key, f.layer, f.title, f.body, f.role, f.author, f.tags, f.happened_at, f.score, f.relevance,
           f.vitality, f.zone, f.rank, f.superseded_by, f.supersedes, f.contradicts, f.valid_from, f.valid_until,
           f.expires_at, f.archived_at, f.explanation, f.summary, l.search_id
    FROM hit f CROSS JOIN logged l ORDER BY f.rank;
END $$;

-- explain: why a memory is where it is among the answers to a question, as JSON: its rank of how many candidates, its
-- explanation as search gives it, and `sentence`, which says it in words; or why it is not among them. It is asked as
-- search is; what search hides by itself is explained too, unless p_include_... is false.
CREATE OR REPLACE FUNCTION recall.explain(
    p_memory_id bigint, p_query text DEFAULT NULL, p_embedding halfvec DEFAULT NULL, p_layers text[] DEFAULT NULL,
    p_roles text[] DEFAULT NULL, p_authors text[] DEFAULT NULL, p_tags text[] DEFAULT NULL,
    p_since timestamptz DEFAULT NULL, p_until timestamptz DEFAULT NULL,
    p_include_archived boolean DEFAULT true, p_include_superseded boolean DEFAULT true,
    p_include_invalid boolean DEFAULT true, p_min_relevance double precision DEFAULT 0,
    p_vitality_mode text DEFAULT NULL, p_vitality_weight double precision DEFAULT NULL,
    p_now timestamptz DEFAULT now(), p_queries text[] DEFAULT NULL, p_embeddings halfvec[] DEFAULT NULL,
    p_hints text[] DEFAULT NULL, p_cues bigint[] DEFAULT NULL, p_session_id text DEFAULT NULL,
    p_as_of timestamptz DEFAULT NULL, p_profile text DEFAULT NULL, p_weights jsonb DEFAULT NULL
) RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_memory recall.memory;
    v_hit record;
BEGIN
    PERFORM recall.require_memory(p_memory_id);
    SELECT f.*, count(*) OVER () AS among INTO v_hit
    FROM recall.find(p_query, p_embedding, 1000, p_layers, p_roles, p_authors, p_tags, p_since, p_until,
        p_include_archived, p_include_superseded, p_include_invalid, p_min_relevance, p_vitality_mode,
        p_vitality_weight, true, p_now, p_queries, p_embeddings, p_hints, p_cues, p_session_id, p_as_of, p_profile,
        p_weights) f
    ORDER BY f.id = p_memory_id DESC NULLS LAST LIMIT 1;
    IF v_hit.id IS DISTINCT FROM p_memory_id THEN
        RETURN jsonb_build_object('memory', p_memory_id, 'found', false, 'sentence', format(
            'Memory %s is no candidate for this question: no arm found it%s.', p_memory_id,
            CASE WHEN num_nonnulls(p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_hints) > 0
                      OR p_min_relevance > 0
                      OR NOT (p_include_archived AND p_include_superseded AND p_include_invalid)
                 THEN ' within its filters' ELSE '' END));
    END IF;
    SELECT * INTO v_memory FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = p_memory_id;
    RETURN v_hit.explanation || jsonb_build_object(
        'memory', p_memory_id, 'found', true, 'rank', v_hit.rank, 'candidates', v_hit.among,
        'sentence', recall.rank_sentence(v_hit.rank, v_hit.among, v_hit.relevance, v_hit.vitality, v_hit.explanation)
                    || recall.hidden_reason(v_memory, coalesce(p_as_of, p_now)));
END $$;
