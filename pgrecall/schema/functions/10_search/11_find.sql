-- A search: the candidates of all arms with their calibrated relevance, ranked by relevance and use, and explained.

-- find (reader; Search): the memories of this tenant that answer a search request (see read_search_request), best
-- first, with the columns of recall.search and those for reranking: the `logit` of the relevance, `use_term` (what use
-- adds to it for each unit of weight), whether the memory is `exempt` from vitality, `evidence_logit` (by which it
-- counts for the confidence; NULL for a question or an acknowledgement, which is no evidence of an answer), and in the
-- first row the `summary` (how many judged memories each arm found, and the confidence; a row without id if nothing was
-- found). With `explain`, `hit_ground`, and `search_ground` in the first row, are what hit_explanation explains a hit
-- by; `explanation` and `evidence` are NULL, and there for clients of schemas before 0032 and 0051. p_embedding is the
-- vector of the query, p_embeddings those of the sub-queries. p_pool adds that many of the most relevant memories to
-- the best k, for the reranker p_reranker, whose blend is in the summary. `passage` is the part of a long memory that
-- is nearest in meaning to the query, as {start, end, text}. `newer_version` is a later memory that states the same
-- with another value (see newer_statements). p_tokens are the token signs of the query and then of each sub-query, an
-- array of arrays; null means none. If the setting recall.embedder names another embedder than the database has, they
-- and the vectors are ignored, and `skipped` says so. p_unless_named is for vectors of queries from which names were
-- not removed: if a query contains a name, nothing is searched, and the only row has the summary {"named": [[query
-- without names, [names]], ...]}. Embed these queries and search again. p_max_bytes limits the texts of all hits
-- together (NULL: no limit): the last hits that exceed it are left out, which the summary lists as skipped.
CREATE OR REPLACE FUNCTION recall.find(
    p_request jsonb, p_embedding halfvec DEFAULT NULL, p_embeddings halfvec[] DEFAULT NULL,
    p_now timestamptz DEFAULT now(), p_pool int DEFAULT 0, p_reranker text DEFAULT NULL, p_tokens jsonb DEFAULT NULL,
    p_unless_named boolean DEFAULT false, p_max_bytes bigint DEFAULT 16000000
) RETURNS TABLE (
    id bigint, key text, layer text, title text, body text, role text, author text, tags text[],
    happened_at timestamptz, score double precision, relevance double precision,
    vitality double precision, zone text, rank int, superseded_by bigint, supersedes bigint[],
    contradicts bigint[], valid_from timestamptz, valid_until timestamptz, expires_at timestamptz,
    archived_at timestamptz, explanation jsonb, logit double precision, use_term double precision,
    exempt boolean, evidence_logit double precision, summary jsonb, passage jsonb, speech_act text, newer_version bigint,
    evidence json, hit_ground recall.hit_ground, search_ground recall.search_ground
)
LANGUAGE plpgsql STABLE ROWS 10
SET search_path FROM CURRENT
-- Postgres would keep the texts of hits by their ids, which are all different.
SET enable_memoize = off
-- Where a plan for these arguments looked a little cheaper, Postgres would plan every search: a third of the cost in a small
-- tenant.
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_asked record := recall_private.prepared_search(
        v_tenant, p_request, p_embedding, p_embeddings, p_now, p_pool, p_tokens);
    v_request recall.search_request := v_asked.request;
    v_filter recall.search_filter := v_asked.filter;
    v_read record;
    v_min_confidence double precision := (v_asked.settings ->> 'search.min_confidence')::double precision;
    v_newer_gap double precision := CASE WHEN v_asked.window_only THEN 0
        ELSE (v_asked.settings ->> 'search.newer_gap')::double precision END;
    v_change_gap double precision := 3.5 * v_newer_gap;  -- the same for a statement that says itself that something changed
BEGIN
    IF p_unless_named AND v_asked.queries <> '{}' THEN
        SELECT jsonb_build_object('named', jsonb_agg(jsonb_build_array(q.query, q.names) ORDER BY q.place))
        INTO summary FROM recall.queries_without_names(v_asked.queries) q HAVING bool_or(q.names <> '{}');
        IF summary IS NOT NULL THEN
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    v_read := recall_private.read_queries(
        v_tenant, v_asked.queries, v_asked.embeddings, v_asked.arms, v_asked.author, v_asked.model, v_asked.moment,
        v_asked.counts);

    RETURN QUERY
    WITH rated AS MATERIALIZED (
        -- A memory counts by the query that it answers best.
        SELECT DISTINCT ON (c.id) q.place, c.*, l.in_force, x.use_term, x.vital,
               CASE WHEN v_asked.window_only THEN CASE WHEN v_asked.mode = 'off' THEN 0 ELSE ln(c.activation) END
                    WHEN v_asked.mode = 'off' OR c.named THEN c.logit
                    WHEN v_asked.mode IN ('odds', 'unbounded') THEN c.logit + v_asked.weight * x.use_term
                    ELSE recall_private.multiplied_log_odds(
                        c.logit, CASE v_asked.mode WHEN 'multiply' THEN 1 ELSE v_asked.weight END, x.vital) END AS log_odds
        FROM generate_series(1, greatest(cardinality(v_asked.queries), 1)) q(place)
        CROSS JOIN LATERAL recall_private.candidates(
            v_tenant, v_read.analyzed[q.place], recall_private.gathered(
                v_tenant, v_read.analyzed[q.place], v_asked.embeddings[q.place], v_asked.window_only, v_asked.pool,
                v_asked.settings, v_asked.model, v_asked.arms, v_asked.cued, v_filter, v_read.intents[q.place],
                v_read.periods[q.place], v_asked.counts),
            v_asked.window_only, v_asked.settings, v_asked.weights, v_asked.model, v_asked.arms, v_asked.author,
            v_asked.cued, v_asked.strengths, v_asked.cued_by, v_asked.cues, v_filter, v_request.explain,
            v_read.periods[q.place], (recall_private.tokens_read(v_asked.tokens -> (q.place - 1)))[1:16],
            v_read.intents[q.place]) c
        JOIN (SELECT u AS in_force, u.name, u.median_base, recall_private.use_scale(u) AS use_scale
              FROM unnest(v_asked.layers) u OFFSET 0) l ON l.name = c.layer
        CROSS JOIN LATERAL (
            SELECT CASE WHEN v_asked.mode = 'unbounded' THEN ln(c.activation) - l.median_base
                        ELSE recall_private.use_term(c.use, l.median_base, l.use_scale) END AS use_term,
                   c.activation / (1 + c.activation) AS vital
            OFFSET 0) x
        ORDER BY c.id, c.logit DESC, q.place
    ), confidence AS MATERIALIZED (
        -- Only a query has an answer; a window or a cue has none. `arms` is how many judged memories each arm found.
        SELECT CASE WHEN v_asked.memories IS NOT NULL THEN recall_private.search_confidence(
            max(j.evidence_logit), v_asked.memories, v_asked.settings)
            * CASE WHEN v_read.needs_context THEN 0 ELSE 1 END END AS value, jsonb_build_object(
                'semantic', count((j.evidence).semantic_rank), 'lexical', count((j.evidence).lexical_rank),
                'name', count(*) FILTER (WHERE (j.evidence).likeness > 0),
                'cue', count(*) FILTER (WHERE (j.evidence).cue > 0), 'graph', count((j.evidence).seed)) AS arms
        FROM rated j
    ), best AS MATERIALIZED (
        SELECT p.*
        FROM (SELECT array_agg(o.id) AS ids, array_agg(o.log_odds) AS log_odds, array_agg(o.held) AS held,
                     array_agg(o.id) FILTER (WHERE o.superseded_by IS NOT NULL) AS older, array_agg(o.speech_act) AS acts
              FROM (SELECT j.id, j.log_odds, j.held, j.superseded_by, j.speech_act FROM rated j
                    WHERE recall_private.logistic(j.logit) >= v_request.min_relevance
                      AND (NOT v_request.require_answer
                           OR coalesce((SELECT c.value FROM confidence c) >= v_min_confidence, true))
                    ORDER BY j.log_odds DESC, j.id) o) b
        CROSS JOIN LATERAL recall_private.placed_by_time(
            v_tenant, b.ids, b.log_odds, CASE WHEN cardinality(v_asked.queries) = 1 THEN b.held END,
            CASE WHEN v_filter.superseded_as_of THEN b.older END, b.acts, v_read.about_past, v_read.skips_changes,
            v_newer_gap, v_change_gap) p
    ), hit AS MATERIALIZED (
        SELECT j.*, u.placed, u.rank::int AS rank, b.newer[array_position(b.older, j.id)] AS newer_version
        FROM best b
        CROSS JOIN LATERAL unnest(b.ids, b.placed) WITH ORDINALITY u(id, placed, rank)
        JOIN rated j ON j.id = u.id
        WHERE u.rank <= v_request.k OR u.id IN (SELECT o.id FROM rated o ORDER BY o.logit DESC, o.id LIMIT p_pool)
    ), nearest_passage AS MATERIALIZED (  -- read only if a hit has passages
        SELECT b.id, b.passage
        FROM (SELECT h.place, array_agg(h.id) AS ids FROM hit h GROUP BY h.place) x
        CROSS JOIN LATERAL recall_private.best_passages(
            v_tenant, x.ids, v_asked.embeddings[x.place], v_asked.settings ->> 'embedding.model') b
    )
    SELECT t.id, t.key, t.layer, t.title, t.body, t.role, t.author, t.tags, t.happened_at, t.score, t.relevance,
           t.vital, t.zone, t.rank, t.superseded_by, t.supersedes, t.contradicts, t.valid_from, t.valid_until,
           t.expires_at, t.archived_at, NULL::jsonb, t.logit, t.use_term, t.named, t.evidence_logit,
           CASE WHEN coalesce(t.rank, 1) = 1 THEN jsonb_build_object(
        'profile', (v_asked.model).profile, 'mode', v_asked.mode, 'weight', v_asked.weight,
        'newer_gap', CASE WHEN v_read.about_past THEN 0 ELSE v_newer_gap END,  -- for clients of schemas before 0039
        'raised', CASE WHEN p_pool > 0 THEN (SELECT b.raised FROM best b) END,
        'experiment', CASE WHEN v_asked.experiment_arm IS NOT NULL THEN recall_private.running_experiment(
            v_asked.settings, v_asked.experiment_arm, v_asked.mode, v_asked.weight) END,
        'confidence', (SELECT c.value FROM confidence c), 'min_confidence', v_min_confidence,
        'needs_context', v_read.needs_context,
        'arms', CASE WHEN v_request.explain OR t.id IS NULL THEN (SELECT c.arms FROM confidence c) END,
        -- A reranker or a project changes the log-odds, so the client recomputes the confidence.
        'confidence_terms', CASE WHEN p_pool > 0 AND v_asked.memories IS NOT NULL THEN recall_private.confidence_terms(
            v_asked.settings, v_asked.memories, v_read.needs_context) END,
        'blend', CASE WHEN p_reranker IS NOT NULL THEN recall_private.rerank_blend(v_tenant, p_reranker) END,
        'skipped', to_jsonb(recall_private.skipped_parts(
            v_tenant, ARRAY(SELECT h.id FROM hit h), v_asked.settings ->> 'embedding.model', v_asked.tokens <> 'null',
            v_asked.embeddings IS NOT NULL, v_filter.as_of, v_asked.other_embedder,
            CASE WHEN v_asked.window_only THEN (SELECT count(*) FROM rated) END, t.left_out, p_max_bytes))) END,
           t.passage, t.speech_act, t.newer_version, NULL::json, t.ground,
           CASE WHEN v_request.explain AND t.rank = 1 THEN ROW(
               recall_private.epoch(v_asked.moment), v_asked.window_only, v_asked.mode, v_asked.weight, v_asked.model,
               v_asked.arms, v_asked.author, v_asked.weights, v_asked.queries, v_read.analyzed,
               v_read.periods)::recall.search_ground END
    FROM (VALUES (1)) one
    LEFT JOIN (
        SELECT x.*, count(*) FILTER (WHERE x.bytes > p_max_bytes) OVER () AS left_out
        FROM (
            SELECT h.id, m.key, m.layer,
                   CASE WHEN v.past THEN v.title ELSE m.title END AS title,
                   b.text AS body,
                   CASE WHEN v.past THEN v.role ELSE m.role END AS role,
                   CASE WHEN v.past THEN v.author ELSE m.author END AS author,
                   CASE WHEN v.past THEN v.tags ELSE m.tags END AS tags,
                   CASE WHEN v.past THEN coalesce(v.occurred_at, m.created_at) ELSE m.happened_at END AS happened_at,
                   recall_private.logistic(h.placed) AS score, recall_private.logistic(h.logit) AS relevance, h.vital,
                   recall_private.zone_of(recall_private.retention_of(h.vital, h.floored, v_asked.weights), h.in_force) AS zone,
                   h.rank, m.superseded_by,
                   ARRAY(SELECT o.id FROM recall.memory o
                         WHERE o.tenant = v_tenant AND o.superseded_by = h.id ORDER BY o.id LIMIT 100) AS supersedes,
                   ARRAY(SELECT x.id FROM recall_private.contradicting_memories(v_tenant, h.id) x) AS contradicts,
                   CASE WHEN v.past THEN v.valid_from ELSE m.valid_from END AS valid_from,
                   CASE WHEN v.past THEN v.valid_until ELSE m.valid_until END AS valid_until,
                   m.expires_at, m.archived_at,
                   CASE WHEN v_request.explain THEN ROW(
                       h.place, h.evidence, h.held, h.logit, h.log_odds, h.placed, h.floored, h.in_force,
                       CASE WHEN v_filter.as_of IS NULL THEN (
                           SELECT a FROM recall.activation a WHERE a.tenant = v_tenant AND a.memory_id = h.id)
                       ELSE (SELECT a FROM recall_private.activations_as_of(v_tenant, ARRAY[h.id], v_filter.as_of) a) END
                   )::recall.hit_ground END AS ground,
                   h.logit, h.use_term, h.named, h.evidence_logit, h.speech_act, h.newer_version,
                   -- A passage is given by its place in the current text.
                   CASE WHEN m.passage_count > 0 AND (v.past IS NULL OR v.body = m.body)
                        THEN (SELECT p.passage FROM nearest_passage p WHERE p.id = h.id) END AS passage,
                   -- The first hit is returned whatever its size.
                   CASE WHEN h.rank > 1 THEN sum(octet_length(b.text) + CASE WHEN octet_length(b.text) > 1000
                        THEN recall_private.json_escapes(b.text) ELSE 0 END) OVER (ORDER BY h.rank) END AS bytes
            FROM hit h
            CROSS JOIN LATERAL (
                SELECT r.key, r.layer, r.title, r.body, r.role, r.author, r.tags, r.happened_at, r.created_at, r.superseded_by,
                       r.valid_from, r.valid_until, r.expires_at, r.archived_at, r.passage_count
                FROM recall.memory r WHERE r.tenant = v_tenant AND r.id = h.id OFFSET 0) m
            -- The text at a past moment: one index probe for each hit, and none without such a moment.
            LEFT JOIN LATERAL (
                SELECT o.*, true AS past FROM recall_private.version_at(v_tenant, h.id, v_filter.as_of) o
                WHERE v_filter.as_of IS NOT NULL OFFSET 0) v ON true  -- otherwise it would be called without a moment
            CROSS JOIN LATERAL (SELECT CASE WHEN v.past THEN v.body ELSE m.body END AS text) b
        ) x
    ) t ON (t.bytes > p_max_bytes) IS NOT TRUE
    ORDER BY t.rank;
END $$;
