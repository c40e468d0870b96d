-- Finding: gather candidates by every arm, give each a calibrated relevance, weigh by vitality, explain.

-- find: the memories of this tenant that answer what is asked, best first, as recall.search, and what a program needs
-- to go on with them: `logit` of the relevance, `liveliness` (B less the median B of the layer), whether vitality is
-- `exempt`, and in the first row the `summary` (what each arm found; a row without id when nothing was found). p_pool
-- asks for the so many most relevant beside the best p_k, for a reranker, whose blend is in the summary.
CREATE OR REPLACE FUNCTION recall.find(
    p_query text DEFAULT NULL, p_embedding halfvec DEFAULT NULL, p_k int DEFAULT 10, p_layers text[] DEFAULT NULL,
    p_roles text[] DEFAULT NULL, p_authors text[] DEFAULT NULL, p_tags text[] DEFAULT NULL,
    p_since timestamptz DEFAULT NULL, p_until timestamptz DEFAULT NULL,
    p_include_archived boolean DEFAULT false, p_include_superseded boolean DEFAULT false,
    p_include_invalid boolean DEFAULT false, p_min_relevance double precision DEFAULT 0,
    p_vitality_mode text DEFAULT NULL, p_vitality_weight double precision DEFAULT NULL,
    p_explain boolean DEFAULT true, p_now timestamptz DEFAULT now(), p_queries text[] DEFAULT NULL,
    p_embeddings halfvec[] DEFAULT NULL, p_hints text[] DEFAULT NULL, p_cues bigint[] DEFAULT NULL,
    p_session_id text DEFAULT NULL, p_as_of timestamptz DEFAULT NULL, p_profile text DEFAULT NULL,
    p_weights jsonb DEFAULT NULL, p_pool int DEFAULT 0, p_reranker text DEFAULT NULL
) RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, tags text[],
    happened_at timestamptz, score double precision, relevance double precision,
    vitality double precision, zone text, rank int, superseded_by bigint, supersedes bigint[],
    contradicts bigint[], valid_from timestamptz, valid_until timestamptz, expires_at timestamptz,
    archived_at timestamptz, explanation jsonb, logit double precision, liveliness double precision,
    exempt boolean, summary jsonb
)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
SET jit = off AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_moment timestamptz := recall.require_moment(coalesce(p_as_of, p_now));
    v_settings jsonb := recall.effective_settings(v_tenant);
    v_queries text[] := recall.combined_queries(p_query, p_queries);
    v_embeddings halfvec[] := CASE WHEN cardinality(v_queries) > coalesce(cardinality(p_queries), 0)
        THEN array_prepend(p_embedding, recall.require_one_dimension(p_embeddings)) ELSE p_embeddings END;
    v_model recall.relevance_model := recall.relevance_model_for_search(
        v_tenant, v_settings ->> 'embedding.model', p_profile, p_layers);
    v_mode text := coalesce(p_vitality_mode, v_model.vitality_mode, 'odds');
    v_weight double precision := coalesce(
        p_vitality_weight, v_model.vitality_weight, (v_settings ->> 'vitality.weight')::double precision);
    v_arms double precision[] := coalesce(recall.arm_weights(p_weights), ARRAY[1, 1, 1, 1, 1, 1]);
    v_author double precision :=
        v_model.author * v_arms[4] * (v_settings ->> 'search.author_weight')::double precision;
    v_asked recall.question[];
    v_weights recall.weights := recall.vitality_weights_from(v_settings);
    v_layers recall.layer_in_force[] := ARRAY(SELECT l FROM recall.effective_layers(v_tenant) l);
    v_pool int := CASE WHEN greatest(p_k, p_pool) <= 50 THEN 50 ELSE 1000 END;
    v_cues bigint[] := '{}';
    v_cued bigint[];
    v_strengths double precision[];
    v_cued_by bigint[];
    v_must tsquery;
    v_window boolean;  -- a window of time without words
    -- As of then nothing was archived or replaced that is so now; each candidate is asked how it was.
    v_archived boolean := p_include_archived OR p_as_of IS NOT NULL;
    v_superseded boolean := p_include_superseded OR p_as_of IS NOT NULL;
    v_until timestamptz := least(p_until, p_as_of + interval '1 microsecond');
BEGIN
    PERFORM recall.check_search_numbers(p_k, p_pool, p_min_relevance, v_mode, v_weight);
    PERFORM recall.check_filters(v_tenant, p_layers, p_roles, p_since, p_until, p_as_of, p_now);
    IF v_embeddings IS NOT NULL THEN
        PERFORM recall.check_query_vectors((v_settings ->> 'embedding.dimensions')::int, v_embeddings,
            cardinality(p_embeddings), cardinality(p_queries));
    END IF;
    v_window := v_queries = '{}' AND (p_since IS NOT NULL OR p_until IS NOT NULL);
    IF p_cues IS NOT NULL OR p_session_id IS NOT NULL THEN
        v_cues := recall.cue_ids(v_tenant, p_cues, recall.require_session_id(p_session_id), v_moment);
        IF v_cues <> '{}' AND v_arms[5] * v_model.cue > 0 AND NOT v_window THEN
            SELECT array_agg(c.id), array_agg(c.strength), array_agg(c.cue) INTO v_cued, v_strengths, v_cued_by
            FROM recall.cue_arm(v_tenant, v_cues, v_pool, v_moment) c;
        END IF;
    END IF;
    IF p_hints IS NOT NULL THEN
        v_must := recall.hint_query(v_tenant, p_hints);
    END IF;
    IF v_queries = '{}' AND NOT v_window AND v_cues = '{}' THEN
        PERFORM recall.raise_invalid('The query is empty.', 'Ask with at least one word, a time window or a cue.');
    END IF;
    IF v_arms[2] > 0 OR v_arms[3] > 0 OR v_author > 0 THEN
        v_asked := ARRAY(
            SELECT recall.analyzed_query(v_tenant, u.query, v_arms[3] > 0 OR v_author > 0)
            FROM unnest(v_queries) WITH ORDINALITY u(query, place) ORDER BY u.place);
    END IF;

    RETURN QUERY
    WITH judged AS MATERIALIZED (
        -- The question it answers best counts.
        SELECT DISTINCT ON (c.id) q.place, c.*
        FROM generate_series(1, greatest(cardinality(v_queries), 1)) q(place)
        CROSS JOIN LATERAL recall.candidates(
            v_tenant, v_asked[q.place], v_embeddings[q.place], v_window, v_pool, v_settings,
            v_weights, v_model, v_arms, v_author, v_cued, v_strengths, v_cued_by, p_layers, p_roles, p_authors,
            p_tags, p_since, v_until, v_archived, v_superseded, p_include_invalid, v_must, v_moment, p_as_of,
            p_include_archived, p_include_superseded, p_explain) c
        ORDER BY c.id, c.logit DESC, q.place
    ), scored AS MATERIALIZED (
        SELECT j.id, j.superseded_by, j.logit, x.liveliness, x.vital,
               CASE WHEN v_window THEN CASE WHEN v_mode = 'off' THEN 0 ELSE ln(j.activation) END
                    WHEN v_mode = 'off' OR j.named THEN j.logit
                    WHEN v_mode = 'odds' THEN j.logit + v_weight * x.liveliness
                    WHEN v_mode = 'multiply' THEN recall.logit(recall.logistic(j.logit) * x.vital)
                    ELSE recall.logit(recall.logistic(j.logit) * (1 - v_weight + v_weight * x.vital))
               END AS log_odds
        FROM judged j JOIN unnest(v_layers) l ON l.name = j.layer
        CROSS JOIN LATERAL (
            SELECT ln(j.activation) - l.median_base AS liveliness, j.activation / (1 + j.activation) AS vital
            OFFSET 0) x
        WHERE recall.logistic(j.logit) >= p_min_relevance
    ), ranked AS MATERIALIZED (
        -- What a newer memory replaces ranks behind it, the oldest of a chain last.
        SELECT s.id, s.logit, s.liveliness, s.vital, s.log_odds, least(s.log_odds, b.log_odds) AS placed,
               (row_number() OVER (ORDER BY least(s.log_odds, b.log_odds) DESC, coalesce(b.steps, 0), s.id))::int AS rank
        FROM scored s
        LEFT JOIN (
            SELECT c.id, min(n.log_odds) AS log_odds, max(c.step) AS steps
            FROM (SELECT array_agg(o.id) FILTER (WHERE o.superseded_by IS NOT NULL) AS ids FROM judged o) o
            CROSS JOIN LATERAL recall.successors_of(v_tenant, o.ids) c
            JOIN scored n ON n.id = c.successor
            WHERE p_include_superseded
            GROUP BY c.id) b ON b.id = s.id
    ), hit AS (
        SELECT r.* FROM ranked r
        WHERE r.rank <= p_k OR r.id IN (SELECT p.id FROM ranked p ORDER BY p.logit DESC, p.id LIMIT p_pool)
    ), lively AS MATERIALIZED (
        SELECT e.* FROM (SELECT array_agg(h.id) AS ids FROM hit h) x
        CROSS JOIN LATERAL recall.explained_vitality_terms(v_tenant, x.ids, v_layers, v_weights, v_moment, p_as_of) e
        WHERE p_explain
    )
    SELECT t.*, CASE WHEN coalesce(t.rank, 1) = 1 THEN jsonb_build_object(
        'profile', v_model.profile, 'mode', v_mode, 'weight', v_weight,
        'arms', CASE WHEN p_explain OR t.id IS NULL THEN (
            SELECT jsonb_build_object(
                'semantic', count((j.evidence).semantic_rank), 'lexical', count((j.evidence).lexical_rank),
                'name', count(*) FILTER (WHERE (j.evidence).likeness > 0),
                'cue', count(*) FILTER (WHERE (j.evidence).cue > 0), 'graph', count((j.evidence).seed))
            FROM judged j) END,
        'blend', CASE WHEN p_reranker IS NOT NULL THEN recall.rerank_blend(v_tenant, p_reranker) END,
        'skipped', CASE WHEN v_window AND (SELECT count(*) FROM judged) >= 5000 THEN
            jsonb_build_array('window: it holds more than 5,000 memories, of which the newest were looked at') END) END
    FROM (VALUES (1)) one
    LEFT JOIN (
        SELECT h.id, m.key, m.layer, m.title, m.body, m.role, m.author, m.tags, m.happened_at,
               recall.logistic(h.placed), recall.logistic(h.logit), h.vital,
               recall.zone_of(recall.retention_of(h.vital, j.floored, v_weights), l), h.rank, m.superseded_by,
               ARRAY(SELECT o.id FROM recall.memory o
                     WHERE o.tenant = v_tenant AND o.superseded_by = h.id ORDER BY o.id LIMIT 100),
               ARRAY(SELECT x.id FROM recall.contradicting_memories(v_tenant, h.id) x),
               m.valid_from, m.valid_until, m.expires_at, m.archived_at,
               CASE WHEN p_explain THEN recall.hit_explanation(
                   v_queries[j.place], j.evidence, h.logit, h.log_odds, h.placed, v_mode, v_weight, v_window, v_model,
                   v_arms, v_author, m.search_text, v_asked[j.place], e.terms) END,
               h.logit, h.liveliness, j.named
        FROM hit h
        JOIN judged j ON j.id = h.id
        CROSS JOIN LATERAL (SELECT * FROM recall.memory r WHERE r.tenant = v_tenant AND r.id = h.id OFFSET 0) m
        JOIN unnest(v_layers) l ON l.name = m.layer
        LEFT JOIN lively e ON e.id = h.id
    ) t ON true
    ORDER BY t.rank;
END $$;
