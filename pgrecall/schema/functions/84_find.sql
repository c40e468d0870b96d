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
    v_moment timestamptz := recall.finite(coalesce(p_as_of, p_now));
    v_now double precision := recall.epoch(v_moment);
    v_queries text[] := recall.asked(p_query, p_queries);
    v_embeddings halfvec[] := CASE WHEN cardinality(v_queries) > coalesce(cardinality(p_queries), 0)
        THEN array_prepend(p_embedding, recall.flat(p_embeddings)) ELSE p_embeddings END;
    v_model recall.relevance_model := recall.search_model(v_tenant, p_profile, p_layers);
    v_mode text := coalesce(p_vitality_mode, v_model.vitality_mode, 'odds');
    v_weight double precision := coalesce(
        p_vitality_weight, v_model.vitality_weight, recall.setting_number(v_tenant, 'vitality.weight'));
    v_arm double precision[] := coalesce(recall.arm_weights(p_weights), ARRAY[1, 1, 1, 1, 1, 1]);
    v_author double precision := v_model.author * v_arm[4] * recall.setting_number(v_tenant, 'search.author_weight');
    v_weights recall.weights := recall.weights_of(v_tenant);
    v_embedder text := recall.setting_of('*', 'embedding.model') #>> '{}';
    v_pool int := CASE WHEN greatest(p_k, p_pool) <= 50 THEN 50 ELSE 1000 END;
    v_cues bigint[] := '{}';
    v_must tsquery;
    v_alone boolean;  -- a window of time without words
    -- As of then nothing was archived or replaced that is so now; each candidate is asked how it was.
    v_archived boolean := p_include_archived OR p_as_of IS NOT NULL;
    v_superseded boolean := p_include_superseded OR p_as_of IS NOT NULL;
    v_until timestamptz := least(p_until, p_as_of + interval '1 microsecond');
BEGIN
    PERFORM recall.check_numbers(p_k, p_pool, p_min_relevance, v_mode, v_weight);
    PERFORM recall.check_filters(v_tenant, p_layers, p_roles, p_since, p_until, p_as_of, p_now);
    IF v_embeddings IS NOT NULL THEN
        PERFORM recall.check_vectors(v_tenant, v_embeddings, cardinality(p_embeddings), cardinality(p_queries));
    END IF;
    IF p_cues IS NOT NULL OR p_session_id IS NOT NULL THEN
        v_cues := recall.cue_ids(v_tenant, p_cues, recall.require_session(p_session_id), v_moment);
    END IF;
    IF p_hints IS NOT NULL THEN
        v_must := recall.hint_query(v_tenant, p_hints);
    END IF;
    v_alone := v_queries = '{}' AND (p_since IS NOT NULL OR p_until IS NOT NULL);
    IF v_queries = '{}' AND NOT v_alone AND v_cues = '{}' THEN
        PERFORM recall.reject('The query is empty.', 'Ask with at least one word, a time window or a cue.');
    END IF;

    RETURN QUERY
    WITH question AS MATERIALIZED (
        SELECT * FROM recall.questions(v_tenant, v_queries, v_embeddings)
    ), semantic AS MATERIALIZED (
        SELECT q.place, s.id, row_number() OVER (PARTITION BY q.place ORDER BY s.similarity DESC, s.id) AS rank
        FROM question q
        CROSS JOIN LATERAL recall.semantic_arm(
            v_tenant, q.embedding, v_pool, q.total, p_layers, p_roles, p_authors, p_tags, p_since, v_until,
            v_archived, v_superseded, p_include_invalid, v_must, v_moment) s
        WHERE q.embedding IS NOT NULL AND v_arm[1] > 0 AND s.similarity <> 'NaN'
    ), lexical AS MATERIALIZED (
        SELECT q.place, l.id, row_number() OVER (PARTITION BY q.place ORDER BY l.strength DESC, l.id) AS rank
        FROM question q
        CROSS JOIN LATERAL recall.lexical_arm(
            v_tenant, q.gate, q.every_word, q.documents[1], q.queries, q.idfs, v_pool, p_layers, p_roles, p_authors,
            p_tags, p_since, v_until, v_archived, v_superseded, p_include_invalid, v_must, v_moment) l
        WHERE q.words IS NOT NULL AND v_arm[2] > 0
    ), named AS MATERIALIZED (
        SELECT n.*, dense_rank() OVER (PARTITION BY n.place ORDER BY n.likeness DESC) AS rank
        FROM (
            SELECT q.place, u.id, u.likeness, u.whole
            FROM question q CROSS JOIN LATERAL unnest(q.named_ids, q.likeness, q.whole) u(id, likeness, whole)
            UNION ALL SELECT q.place, m.id, 1, true FROM question q
            CROSS JOIN LATERAL (
                SELECT k.id FROM recall.memory k WHERE k.tenant = v_tenant AND k.key = btrim(q.query) OFFSET 0) m
        ) n
        WHERE v_arm[3] > 0
    ), gathered AS MATERIALIZED (
        SELECT g.place, g.id, max(g.semantic_rank) AS semantic_rank, max(g.lexical_rank) AS lexical_rank,
               min(g.name_rank) AS name_rank, coalesce(max(g.likeness), 0) AS likeness,
               coalesce(bool_or(g.whole), false) AS named_alone
        FROM (
            SELECT s.place, s.id, s.rank AS semantic_rank, NULL::bigint AS lexical_rank, NULL::bigint AS name_rank,
                   NULL::double precision AS likeness, NULL::boolean AS whole FROM semantic s
            UNION ALL SELECT l.place, l.id, NULL, l.rank, NULL, NULL, NULL FROM lexical l
            UNION ALL SELECT n.place, n.id, NULL, NULL, n.rank, n.likeness, n.whole FROM named n
        ) g
        GROUP BY g.place, g.id
    ), cued AS MATERIALIZED (
        SELECT c.* FROM recall.cue_arm(v_tenant, v_cues, v_pool, v_moment) c
        WHERE v_cues <> '{}' AND v_arm[5] * v_model.cue > 0 AND NOT v_alone
    ), path AS MATERIALIZED (
        SELECT p.* FROM (SELECT array_agg(DISTINCT g.id) AS ids FROM gathered g
                         WHERE g.semantic_rank <= 5 OR g.lexical_rank <= 5 OR g.likeness = 1) s
        CROSS JOIN LATERAL recall.graph_arm(v_tenant, s.ids, 64) p
        WHERE v_arm[6] * v_model.graph > 0 AND s.ids IS NOT NULL
    ), candidate AS MATERIALIZED (
        SELECT g.id FROM gathered g UNION SELECT c.id FROM cued c UNION SELECT p.id FROM path p
        UNION SELECT w.id FROM recall.window_arm(
            v_tenant, p_layers, p_roles, p_authors, p_tags, p_since, v_until, v_archived, v_superseded,
            p_include_invalid, v_must, v_moment) w
        WHERE v_alone
        UNION SELECT s.successor
        FROM (SELECT array_agg(g.id) AS ids FROM gathered g) o
        CROSS JOIN LATERAL recall.successors_of(v_tenant, o.ids) s
        WHERE p_include_superseded
    ), past AS MATERIALIZED (
        SELECT a AS was
        FROM (SELECT array_agg(c.id) AS ids FROM candidate c) c
        CROSS JOIN LATERAL recall.activations_as_of(v_tenant, c.ids, p_as_of) a
        WHERE p_as_of IS NOT NULL AND c.ids IS NOT NULL
    ), known AS MATERIALIZED (
        -- OFFSET 0 keeps both lookups one index probe a candidate, whatever the planner believes.
        SELECT c.id, m.layer, m.author, m.superseded_by, m.comparable, m.search_text, a.activation
        FROM candidate c
        CROSS JOIN LATERAL (
            SELECT m.layer, m.author, m.superseded_by, m.search_text,
                   -- The vector of another model, not replaced yet, says nothing.
                   coalesce(m.embedded_with = v_embedder, true) AS comparable
            FROM recall.memory m
            WHERE m.tenant = v_tenant AND m.id = c.id AND recall.passes(
                m, p_layers, p_roles, p_authors, p_tags, p_since, v_until, v_archived, v_superseded,
                p_include_invalid, v_must, v_moment)
              AND (p_as_of IS NULL
                   OR (p_include_archived OR NOT recall.was_archived(v_tenant, m.id, p_as_of))
                      AND (p_include_superseded OR NOT recall.was_superseded(v_tenant, m.id, p_as_of)))
            OFFSET 0) m
        CROSS JOIN LATERAL (
            SELECT recall.activation_sum(a, v_weights, v_now) AS activation
            FROM recall.activation a WHERE p_as_of IS NULL AND a.tenant = v_tenant AND a.memory_id = c.id
            UNION ALL SELECT recall.activation_sum(p.was, v_weights, v_now) FROM past p WHERE (p.was).memory_id = c.id
            OFFSET 0) a
    ), near AS MATERIALIZED (
        SELECT q.place, s.id, s.similarity FROM question q
        CROSS JOIN LATERAL recall.similarities_to(
            v_tenant, ARRAY(SELECT k.id FROM known k WHERE k.comparable), q.embedding) s
        WHERE q.embedding IS NOT NULL AND v_arm[1] > 0
    ), featured AS (
        SELECT k.id, k.layer, k.superseded_by, k.activation, q.place, g.semantic_rank, g.lexical_rank, g.name_rank,
               coalesce(g.likeness, 0) AS likeness, coalesce(g.named_alone, false) AS named_alone,
               coalesce(u.strength, 0) AS cue, u.cue AS cued_by, n.similarity, x.strength, x.authored,
               x.strength / nullif(q.idf_sum, 0) AS coverage,
               CASE WHEN x.strength >= 0.75 * q.idf_sum THEN (k.search_text @@ q.phrase)::int END AS phrase
        FROM known k
        LEFT JOIN question q ON true
        LEFT JOIN gathered g ON g.place = q.place AND g.id = k.id
        LEFT JOIN near n ON n.place = q.place AND n.id = k.id
        LEFT JOIN cued u ON u.id = k.id
        CROSS JOIN LATERAL (
            SELECT CASE WHEN v_arm[2] > 0 THEN coalesce(recall.lexical_sum(k.search_text, q.queries, q.idfs), 0)
                        ELSE 0 END AS strength,
                   CASE WHEN q.authors IS NULL OR k.author IS NULL THEN 0
                        ELSE (recall.plain(lower(k.author)) = ANY (q.authors)
                              OR split_part(recall.plain(lower(k.author)), ' ', 1) = ANY (q.authors))::int
                   END AS authored
            OFFSET 0) x
    ), related AS (
        SELECT f.*,
               CASE WHEN f.similarity IS NULL THEN v_model.no_similarity
                    ELSE v_model.similarity * v_arm[1] * f.similarity END AS by_similarity,
               v_model.coverage * v_arm[2] * coalesce(f.coverage, 0) AS by_coverage,
               v_model.information * v_arm[2] * ln(1 + f.strength) AS by_information,
               v_model.phrase * v_arm[2] * coalesce(f.phrase, 0) AS by_phrase,
               v_model.name * v_arm[3] * f.likeness * CASE WHEN f.named_alone THEN 2 ELSE 1 END AS by_name,
               v_author * f.authored AS by_author,
               v_model.cue * v_arm[5] * f.cue AS by_cue
        FROM featured f
    ), judged AS MATERIALIZED (
        -- The question it answers best counts. A window alone is answered by all that is in it.
        SELECT DISTINCT ON (r.id) r.*, o.logit AS own_logit, recall.logistic(o.logit) AS own
        FROM related r
        CROSS JOIN LATERAL (SELECT CASE
            WHEN v_alone THEN recall.logit(1)
            WHEN v_model.form = 'seed' THEN recall.logit(least(1,
                v_model.coverage * v_arm[2] * coalesce(r.coverage, 0)
                + v_model.similarity * v_arm[1] * greatest(coalesce(r.similarity, 0), 0)
                + v_model.name * v_arm[3] * r.likeness))
            WHEN v_model.form = 'rrf' THEN recall.logit(61.0 / 3 * (
                coalesce(v_model.similarity * v_arm[1] / (60 + r.semantic_rank), 0)
                + coalesce(v_model.coverage * v_arm[2] / (60 + r.lexical_rank), 0)
                + coalesce(v_model.name * v_arm[3] / (60 + r.name_rank), 0)))
            ELSE v_model.intercept + r.by_similarity + r.by_coverage + r.by_information + r.by_phrase + r.by_name
                + r.by_author + r.by_cue END AS logit OFFSET 0) o
        ORDER BY r.id, o.logit DESC, r.place
    ), lent AS (
        SELECT DISTINCT ON (p.id) p.id, p.seed, p.share, 1 - (1 - j.own) * (1 - least(
                   v_model.graph * v_arm[6] * p.share * s.own, 1)) AS probability
        FROM path p JOIN judged j ON j.id = p.id JOIN judged s ON s.id = p.seed
        ORDER BY p.id, p.share * s.own DESC, p.seed
    ), scored AS (
        SELECT j.*, l.seed, l.share, x.logit, x.liveliness, x.vital, recall.logistic(x.logit) AS probability,
               CASE WHEN v_alone THEN CASE WHEN v_mode = 'off' THEN 0 ELSE ln(j.activation) END
                    WHEN v_mode = 'off' OR j.likeness = 1 THEN x.logit
                    WHEN v_mode = 'odds' THEN x.logit + v_weight * x.liveliness
                    WHEN v_mode = 'multiply' THEN recall.logit(recall.logistic(x.logit) * x.vital)
                    ELSE recall.logit(recall.logistic(x.logit) * (1 - v_weight + v_weight * x.vital))
               END AS log_odds
        FROM judged j
        LEFT JOIN lent l ON l.id = j.id
        JOIN recall.layers_of(v_tenant) r ON r.name = j.layer
        CROSS JOIN LATERAL (
            SELECT CASE WHEN l.id IS NULL THEN j.own_logit ELSE recall.logit(l.probability) END AS logit,
                   ln(j.activation) - r.median_base AS liveliness,
                   j.activation / (1 + j.activation) AS vital
            OFFSET 0) x
    ), held AS (
        -- What a newer memory replaces ranks behind it, the oldest of a chain last.
        SELECT s.*, least(s.log_odds, h.log_odds) AS placed, coalesce(h.steps, 0) AS steps
        FROM scored s
        LEFT JOIN (
            SELECT c.id, min(n.log_odds) AS log_odds, max(c.step) AS steps
            FROM (SELECT array_agg(o.id) FILTER (WHERE o.superseded_by IS NOT NULL) AS ids FROM judged o) o
            CROSS JOIN LATERAL recall.successors_of(v_tenant, o.ids) c
            JOIN scored n ON n.id = c.successor
            WHERE p_include_superseded
            GROUP BY c.id) h ON h.id = s.id
    ), best AS MATERIALIZED (
        SELECT h.*, (row_number() OVER (ORDER BY h.placed DESC, h.steps, h.id))::int AS rank,
               row_number() OVER (ORDER BY h.logit DESC, h.id) AS relevance_rank
        FROM held h WHERE h.probability >= p_min_relevance
    )
    SELECT t.*, CASE WHEN coalesce(t.rank, 1) = 1 THEN jsonb_build_object(
        'profile', v_model.profile, 'mode', v_mode, 'weight', v_weight,
        'arms', CASE WHEN p_explain OR t.id IS NULL THEN (
            SELECT jsonb_build_object(
                'semantic', count(DISTINCT g.id) FILTER (WHERE g.semantic_rank IS NOT NULL),
                'lexical', count(DISTINCT g.id) FILTER (WHERE g.lexical_rank IS NOT NULL),
                'name', count(DISTINCT g.id) FILTER (WHERE g.name_rank IS NOT NULL),
                'cue', (SELECT count(*) FROM cued), 'graph', (SELECT count(DISTINCT p.id) FROM path p))
            FROM gathered g) END,
        'blend', CASE WHEN p_reranker IS NOT NULL THEN recall.blend_of(v_tenant, p_reranker) END,
        'skipped', CASE WHEN v_alone AND (SELECT count(*) FROM candidate) >= 5000 THEN
            jsonb_build_array('window: it holds more than 5,000 memories, of which the newest were looked at') END) END
    FROM (VALUES (1)) one
    LEFT JOIN (
        SELECT b.id, m.key, b.layer, m.title, m.body, m.role, m.author, m.tags, m.happened_at,
               recall.logistic(b.placed), b.probability, b.vital, recall.zone_of(
                   recall.retention_of(b.vital, (w.a).protected OR m.pinned AND p_as_of IS NULL, v_weights), l), b.rank,
               m.superseded_by,
               ARRAY(SELECT o.id FROM recall.memory o
                     WHERE o.tenant = v_tenant AND o.superseded_by = b.id ORDER BY o.id LIMIT 100),
               ARRAY(SELECT x.id FROM recall.contradicting(v_tenant, b.id) x),
               m.valid_from, m.valid_until, m.expires_at, m.archived_at,
               CASE WHEN p_explain THEN jsonb_build_object(
                   'query', v_queries[b.place], 'profile', v_model.profile,
                   'arms', jsonb_strip_nulls(jsonb_build_object(
                       'semantic', CASE WHEN b.similarity IS NOT NULL THEN jsonb_build_object(
                           'similarity', b.similarity, 'rank', b.semantic_rank) END,
                       'lexical', CASE WHEN b.strength > 0 THEN jsonb_build_object(
                           'coverage', b.coverage, 'strength', b.strength, 'rank', b.lexical_rank,
                           'step', recall.step_of(m.search_text, q.words, q.steps, q.queries, b.phrase),
                           'words', recall.matched_words(m.search_text, q.words, q.queries, q.idfs)) END,
                       'name', CASE WHEN b.likeness > 0 THEN jsonb_build_object(
                           'likeness', b.likeness, 'alone', b.named_alone) END,
                       'cue', CASE WHEN b.cue > 0 THEN jsonb_build_object('strength', b.cue, 'cue', b.cued_by) END,
                       'graph', CASE WHEN b.seed IS NOT NULL THEN
                           jsonb_build_object('share', b.share, 'from', b.seed) END)),
                   'relevance', jsonb_build_object(
                       'logit', b.logit, 'probability', b.probability, 'intercept', v_model.intercept,
                       'similarity', b.by_similarity, 'coverage', b.by_coverage, 'information', b.by_information,
                       'phrase', b.by_phrase, 'name', b.by_name, 'author', b.by_author, 'cue', b.by_cue,
                       'graph', b.logit - b.own_logit, 'form', v_model.form,
                       'features', jsonb_build_object(
                           'similarity', b.similarity, 'coverage', coalesce(b.coverage, 0),
                           'information', ln(1 + b.strength), 'phrase', coalesce(b.phrase, 0),
                           'name', b.likeness * CASE WHEN b.named_alone THEN 2 ELSE 1 END, 'author', b.authored,
                           'cue', b.cue, 'graph', coalesce(b.share, 0))),
                   'vitality', (SELECT to_jsonb(t) FROM recall.vitality_terms(
                       w.a, m.pinned AND p_as_of IS NULL, l, v_weights, v_moment) t),
                   'score', jsonb_build_object(
                       'log_odds', b.placed, 'mode', v_mode, 'weight', v_weight,
                       'vitality', b.log_odds - CASE WHEN v_alone THEN 0 ELSE b.logit END, 'exempt', b.likeness = 1,
                       'held_back', b.placed - b.log_odds)) END,
               b.logit, b.liveliness, b.likeness = 1
        FROM best b
        CROSS JOIN LATERAL (SELECT * FROM recall.memory r WHERE r.tenant = v_tenant AND r.id = b.id OFFSET 0) m
        CROSS JOIN LATERAL (
            SELECT r AS a FROM recall.activation r
            WHERE p_as_of IS NULL AND r.tenant = v_tenant AND r.memory_id = b.id
            UNION ALL SELECT p.was FROM past p WHERE (p.was).memory_id = b.id OFFSET 0) w
        JOIN recall.layers_of(v_tenant) l ON l.name = m.layer LEFT JOIN question q ON q.place = b.place
        WHERE b.rank <= p_k OR b.relevance_rank <= p_pool
    ) t ON true
    ORDER BY t.rank;
END $$;
