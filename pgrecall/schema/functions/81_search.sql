-- Search: gather candidates by meaning, words and names, give each a calibrated relevance, weigh by vitality.

-- relevance_model_of: the coefficients for this tenant, embedder and profile; the tenant's own first, then
-- those shipped for the embedder, then those for any embedder.
CREATE OR REPLACE FUNCTION recall.relevance_model_of(p_tenant text, p_embedder text, p_profile text)
RETURNS recall.relevance_model
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT r FROM recall.relevance_model r
    WHERE r.tenant IN (p_tenant, '*') AND r.embedder IN (coalesce(p_embedder, '*'), '*')
      AND r.profile = p_profile
    ORDER BY r.tenant = '*', r.embedder = '*' LIMIT 1
$$;

-- check_search: raises for the first argument of a search that cannot be used.
CREATE OR REPLACE FUNCTION recall.check_search(
    p_tenant text, p_query text, p_embedding halfvec, p_k int, p_layers text[], p_roles text[],
    p_since timestamptz, p_until timestamptz, p_min_relevance double precision, p_vitality_mode text,
    p_vitality_weight double precision
) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_dimensions int := recall.setting_of(p_tenant, 'embedding.dimensions')::int;
    v_unknown text;
BEGIN
    PERFORM recall.check_query(p_query);
    IF NOT coalesce(p_k BETWEEN 1 AND 1000, false) THEN
        PERFORM recall.reject(format('k is %s; it must lie between 1 and 1,000.', coalesce(p_k::text, 'NULL')));
    ELSIF p_since >= p_until THEN
        PERFORM recall.reject(format('The time window is empty: since %s is not before until %s.', p_since, p_until));
    ELSIF NOT coalesce(p_min_relevance BETWEEN 0 AND 1, false) THEN
        PERFORM recall.reject(format('min_relevance is %s; it must lie between 0 and 1.', p_min_relevance));
    ELSIF NOT coalesce(p_vitality_mode IN ('odds', 'multiply', 'bounded', 'off'), false) THEN
        PERFORM recall.reject(format('The vitality mode %L is unknown.', p_vitality_mode),
            'Use odds, multiply, bounded or off.');
    ELSIF NOT coalesce(p_vitality_weight BETWEEN 0 AND 10, false)
          OR (p_vitality_mode = 'bounded' AND p_vitality_weight > 1) THEN
        PERFORM recall.reject(format(
            'The vitality weight %s is not between 0 and 10 (1 in the mode bounded).', p_vitality_weight));
    ELSIF l2_norm(p_embedding) = 0 THEN
        PERFORM recall.reject('The query vector is zero, which has no direction.', 'Embed the question again.');
    ELSIF vector_dims(p_embedding) <> v_dimensions THEN
        PERFORM recall.reject(
            format('The query vector has %s dimensions, this database keeps %s.',
                   vector_dims(p_embedding), v_dimensions),
            'Embed the question with the model the database was made for.');
    END IF;
    SELECT u INTO v_unknown FROM unnest(p_layers) u
    WHERE u IS NULL OR u NOT IN (SELECT l.name FROM recall.layers_of(p_tenant) l) LIMIT 1;
    IF FOUND THEN
        PERFORM recall.reject(format('The layer %L is unknown.', v_unknown), format('There are: %s.',
            (SELECT string_agg(l.name, ', ') FROM recall.layers_of(p_tenant) l)));
    END IF;
    SELECT u INTO v_unknown FROM unnest(p_roles) u
    WHERE u IS NULL OR u NOT IN ('user', 'assistant', 'system', 'tool') LIMIT 1;
    IF FOUND THEN
        PERFORM recall.reject(format('The role %L is unknown.', v_unknown), 'Use user, assistant, system or tool.');
    END IF;
END $$;

-- logistic: the probability of log-odds; never under- or overflows.
CREATE OR REPLACE FUNCTION recall.logistic(p_log_odds double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1 / (1 + exp(-least(greatest(p_log_odds, -500), 500)));

-- logit: the log-odds of a probability, kept finite at 0 and 1.
CREATE OR REPLACE FUNCTION recall.logit(p_probability double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ln(least(greatest(p_probability, 1e-12), 1 - 1e-12) / (1 - least(greatest(p_probability, 1e-12), 1 - 1e-12)));

-- matched_words: which of the question's words a memory holds, with their idf.
CREATE OR REPLACE FUNCTION recall.matched_words(p_text tsvector, p_words text[], p_idfs double precision[])
RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    SELECT coalesce(jsonb_object_agg(w.word, round(w.idf::numeric, 3)), '{}')
    FROM unnest(p_words, p_idfs) w(word, idf)
    WHERE p_text @@ recall.quoted_query(w.word)
$$;

-- search: the memories of this tenant that answer a question, best first, ties by id.
-- `relevance` is the calibrated probability that a memory answers; `score` adds vitality in log-odds:
-- logit(relevance) + weight * (B - median B of the layer), shown as a probability. A question without
-- p_embedding is answered by words and names alone. Memories named exactly are exempt from vitality.
CREATE OR REPLACE FUNCTION recall.search(
    p_query text, p_embedding halfvec DEFAULT NULL, p_k int DEFAULT 10, p_layers text[] DEFAULT NULL,
    p_roles text[] DEFAULT NULL, p_authors text[] DEFAULT NULL, p_tags text[] DEFAULT NULL,
    p_since timestamptz DEFAULT NULL, p_until timestamptz DEFAULT NULL,
    p_include_archived boolean DEFAULT false, p_include_superseded boolean DEFAULT false,
    p_include_invalid boolean DEFAULT false, p_min_relevance double precision DEFAULT 0,
    p_vitality_mode text DEFAULT 'odds', p_vitality_weight double precision DEFAULT NULL,
    p_explain boolean DEFAULT true, p_now timestamptz DEFAULT now()
) RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, tags text[],
    happened_at timestamptz, score double precision, relevance double precision,
    vitality double precision, zone text, rank int, explanation jsonb
)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
SET jit = off AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_weight double precision := coalesce(
        p_vitality_weight, recall.setting_number(v_tenant, 'vitality.weight'));
    v_pool int := CASE WHEN p_k <= 50 THEN 50 ELSE 1000 END;
    v_now double precision := recall.epoch(p_now);
    v_weights recall.weights := recall.weights_of(v_tenant);
    v_embedder text := recall.setting_of('*', 'embedding.model') #>> '{}';
    v_model recall.relevance_model;
    v_words text[];
    v_documents bigint[];
    v_total bigint;
    v_queries tsquery[];
    v_idfs double precision[];
    v_idf_sum double precision;
    v_named_ids bigint[];
    v_likeness double precision[];
    v_whole boolean[];
    v_authors text[];
BEGIN
    PERFORM recall.check_search(v_tenant, p_query, p_embedding, p_k, p_layers, p_roles, p_since, p_until,
                                p_min_relevance, p_vitality_mode, v_weight);
    PERFORM recall.finite(p_now);
    v_model := recall.relevance_model_of(v_tenant, v_embedder, 'balanced');

    SELECT array_agg(w.word), array_agg(w.documents), max(w.total),
           array_agg(recall.quoted_query(w.word)), array_agg(recall.idf(w.documents, w.total)),
           sum(recall.idf(w.documents, w.total))
    INTO v_words, v_documents, v_total, v_queries, v_idfs, v_idf_sum
    FROM recall.query_words(v_tenant, p_query) w;

    SELECT array_agg(n.memory_id) FILTER (WHERE n.memory_id IS NOT NULL),
           array_agg(n.similarity) FILTER (WHERE n.memory_id IS NOT NULL),
           array_agg(n.whole) FILTER (WHERE n.memory_id IS NOT NULL),
           array_agg(n.phrase) FILTER (WHERE n.memory_id IS NULL)
    INTO v_named_ids, v_likeness, v_whole, v_authors
    FROM recall.names_in(v_tenant, p_query, ARRAY(
        SELECT k.word FROM unnest(v_words, v_documents) k(word, documents) WHERE k.documents = 0)) n;

    IF v_words IS NULL AND v_named_ids IS NULL AND NOT EXISTS (
        SELECT FROM recall.memory m WHERE m.tenant = v_tenant AND m.key = btrim(p_query)) THEN
        PERFORM recall.reject(
            format('The query %L holds only stop words or punctuation.', left(p_query, 100)),
            'Add a word that says what you look for.');
    END IF;

    RETURN QUERY
    WITH semantic AS (
        SELECT s.id, row_number() OVER (ORDER BY s.similarity DESC, s.id) AS place
        FROM recall.semantic_arm(v_tenant, p_embedding, v_pool, v_total, p_layers, p_roles, p_authors, p_tags,
             p_since, p_until, p_include_archived, p_include_superseded, p_include_invalid, p_now) s
        WHERE p_embedding IS NOT NULL AND s.similarity <> 'NaN'
    ), lexical AS (
        SELECT l.id, row_number() OVER (ORDER BY l.strength DESC, l.id) AS place
        FROM recall.lexical_arm(v_tenant,
             recall.tenant_query(v_tenant) && recall.gate_of(v_words, v_documents, 2000), v_queries, v_idfs, v_pool,
             p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_include_archived,
             p_include_superseded, p_include_invalid, p_now) l
        WHERE v_words IS NOT NULL
    ), candidate AS MATERIALIZED (
        SELECT c.id, max(c.semantic_place) AS semantic_place, max(c.lexical_place) AS lexical_place,
               coalesce(max(c.likeness), 0) AS likeness, coalesce(bool_or(c.whole), false) AS named_alone
        FROM (
            SELECT s.id, s.place AS semantic_place, NULL::bigint AS lexical_place,
                   NULL::double precision AS likeness, NULL::boolean AS whole FROM semantic s
            UNION ALL
            SELECT l.id, NULL, l.place, NULL, NULL FROM lexical l
            UNION ALL
            SELECT u.id, NULL, NULL, u.likeness, u.whole
            FROM unnest(v_named_ids, v_likeness, v_whole) u(id, likeness, whole)
            UNION ALL
            SELECT m.id, NULL, NULL, 1, true FROM recall.memory m WHERE m.tenant = v_tenant AND m.key = btrim(p_query)
        ) c
        GROUP BY c.id
    ), featured AS (
        -- OFFSET 0 keeps both lookups one index probe a candidate, whatever the planner believes.
        SELECT c.*, m.layer, m.similarity, m.strength, m.by_named_author, a.activation
        FROM candidate c
        CROSS JOIN LATERAL (
            SELECT m.layer,
                   -- NaN, which would sort first, stands for a stored vector of length zero; the vector of
                   -- another model, not replaced yet, says nothing.
                   CASE WHEN p_embedding IS NOT NULL AND coalesce(m.embedded_with = v_embedder, true)
                        THEN nullif(1 - (m.embedding <=> p_embedding), 'NaN') END AS similarity,
                   coalesce(recall.lexical_sum(m.search_text, v_queries, v_idfs), 0) AS strength,
                   (v_authors IS NOT NULL AND m.author IS NOT NULL
                    AND (lower(m.author) = ANY (v_authors)
                         OR split_part(lower(m.author), ' ', 1) = ANY (v_authors)))::int AS by_named_author
            FROM recall.memory m
            WHERE m.tenant = v_tenant AND m.id = c.id AND recall.passes(
                m, p_layers, p_roles, p_authors, p_tags, p_since, p_until, p_include_archived,
                p_include_superseded, p_include_invalid, p_now)
            OFFSET 0) m
        CROSS JOIN LATERAL (
            SELECT recall.activation_sum(a, v_weights, v_now) AS activation
            FROM recall.activation a WHERE a.tenant = v_tenant AND a.memory_id = c.id
            OFFSET 0) a
    ), related AS (
        SELECT f.*,
               f.strength / nullif(v_idf_sum, 0) AS coverage,
               CASE WHEN f.similarity IS NULL THEN v_model.no_similarity
                    ELSE v_model.similarity * f.similarity END AS by_similarity,
               v_model.coverage * coalesce(f.strength / nullif(v_idf_sum, 0), 0) AS by_coverage,
               v_model.information * ln(1 + f.strength) AS by_information,
               v_model.name * f.likeness * CASE WHEN f.named_alone THEN 2 ELSE 1 END AS by_name,
               v_model.author * f.by_named_author AS by_author
        FROM featured f
    ), judged AS (
        SELECT r.*,
               v_model.intercept + r.by_similarity + r.by_coverage + r.by_information + r.by_name
                   + r.by_author AS logit,
               ln(r.activation) - l.median_base AS liveliness,
               r.activation / (1 + r.activation) AS vital
        FROM related r JOIN recall.layers_of(v_tenant) l ON l.name = r.layer
    ), scored AS (
        SELECT j.*, recall.logistic(j.logit) AS probability,
               CASE WHEN p_vitality_mode = 'off' OR j.likeness = 1 THEN j.logit
                    WHEN p_vitality_mode = 'odds' THEN j.logit + v_weight * j.liveliness
                    WHEN p_vitality_mode = 'multiply' THEN recall.logit(recall.logistic(j.logit) * j.vital)
                    ELSE recall.logit(recall.logistic(j.logit) * (1 - v_weight + v_weight * j.vital))
               END AS log_odds
        FROM judged j
    ), best AS (
        SELECT s.*, (row_number() OVER (ORDER BY s.log_odds DESC, s.id))::int AS place
        FROM scored s WHERE s.probability >= p_min_relevance
        ORDER BY s.log_odds DESC, s.id LIMIT p_k
    )
    SELECT b.id, m.key, b.layer, m.title, m.body, m.role, m.author, m.tags, m.happened_at,
           recall.logistic(b.log_odds), b.probability, b.vital,
           recall.zone_of(recall.retention_of(b.vital, a.protected OR m.pinned, v_weights), l), b.place,
           CASE WHEN p_explain THEN jsonb_build_object(
               'arms', jsonb_strip_nulls(jsonb_build_object(
                   'semantic', CASE WHEN b.similarity IS NOT NULL THEN jsonb_build_object(
                       'similarity', b.similarity, 'rank', b.semantic_place) END,
                   'lexical', CASE WHEN b.strength > 0 THEN jsonb_build_object(
                       'coverage', b.coverage, 'strength', b.strength, 'rank', b.lexical_place,
                       'words', recall.matched_words(m.search_text, v_words, v_idfs)) END,
                   'name', CASE WHEN b.likeness > 0 THEN jsonb_build_object(
                       'likeness', b.likeness, 'alone', b.named_alone) END)),
               'relevance', jsonb_build_object(
                   'logit', b.logit, 'probability', b.probability, 'intercept', v_model.intercept,
                   'similarity', b.by_similarity, 'coverage', b.by_coverage,
                   'information', b.by_information, 'name', b.by_name, 'author', b.by_author),
               'vitality', (SELECT to_jsonb(t) FROM recall.vitality_terms(a, m.pinned, l, v_weights, p_now) t),
               'score', jsonb_build_object(
                   'log_odds', b.log_odds, 'mode', p_vitality_mode, 'weight', v_weight,
                   'vitality', b.log_odds - b.logit, 'exempt', b.likeness = 1)) END
    FROM best b
    JOIN recall.memory m ON m.tenant = v_tenant AND m.id = b.id
    JOIN recall.activation a ON a.tenant = v_tenant AND a.memory_id = b.id
    JOIN recall.layers_of(v_tenant) l ON l.name = m.layer
    ORDER BY b.place;
END $$;
