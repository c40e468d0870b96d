-- A search: the candidates of all arms with their calibrated relevance, ranked by relevance and use, and explained.

-- ignored_parts: what a search with token signs, with vectors or for a past moment could not read of these hits, as
-- sentences. It is a function of its own, because every search prepares all of its main statement.
CREATE OR REPLACE FUNCTION recall_private.ignored_parts(
    p_tenant text, p_ids bigint[], p_embedder text, p_tokens boolean, p_vectors boolean, p_as_of timestamptz
) RETURNS text[]
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_ignored text[] := '{}';
BEGIN
    IF p_tokens AND EXISTS (
        SELECT FROM recall.token_signs k
        WHERE k.tenant = p_tenant AND k.memory_id = ANY (p_ids) AND k.model <> p_embedder) THEN
        v_ignored := v_ignored || text 'tokens: those that another embedder made of some hits are ignored';
    END IF;
    IF p_vectors AND EXISTS (
        SELECT FROM recall.memory m
        WHERE m.tenant = p_tenant AND m.id = ANY (p_ids) AND m.passage_count > 0 AND m.embedded_with <> p_embedder) THEN
        v_ignored := v_ignored || text 'passages: those that another embedder made of some hits are ignored';
    END IF;
    IF p_as_of IS NULL THEN
        RETURN v_ignored;
    END IF;
    IF EXISTS (
        SELECT FROM unnest(p_ids) h(id) CROSS JOIN LATERAL (
            SELECT o.written_at, o.number FROM recall.memory_version o
            WHERE o.tenant = p_tenant AND o.memory_id = h.id AND o.replaced_at > p_as_of
            ORDER BY o.number LIMIT 1) v
        WHERE v.number > 1 AND v.written_at > p_as_of) THEN
        v_ignored := v_ignored
            || text 'versions: the text of that moment is not kept of some hits, which show the oldest one after it';
    END IF;
    RETURN v_ignored;
END $$;

-- version_at: the version of a memory that was in force at a past moment. No row if the present one was, or if that
-- version is not kept. It is a function of its own for the same reason.
CREATE OR REPLACE FUNCTION recall_private.version_at(p_tenant text, p_memory_id bigint, p_as_of timestamptz)
RETURNS SETOF recall.memory_version
LANGUAGE plpgsql STABLE ROWS 1 AS $$
BEGIN
    RETURN QUERY
    SELECT v.* FROM recall.memory_version v
    WHERE v.tenant = p_tenant AND v.memory_id = p_memory_id AND v.replaced_at > p_as_of
    ORDER BY v.number LIMIT 1;
END $$;

-- find (reader; Search): the memories of this tenant that answer a search request (see read_search_request), best
-- first, with the columns of recall.search and those for reranking: the `logit` of the relevance, `use_term` (what use
-- adds to it for each unit of weight), whether the memory is `exempt` from vitality, `evidence_logit` (by which it
-- counts for the confidence; NULL for a question or an acknowledgement, which is no evidence of an answer), and in the
-- first row the `summary` (what each arm found, and the confidence; a row without id if nothing was found). With
-- `explain`, `evidence` and the summary are what hit_explanation explains a hit by; the column `explanation` is NULL,
-- and there for clients of schemas before 0032. p_embedding is the vector of the query, p_embeddings those of the
-- sub-queries. p_pool adds that many of the most relevant memories to the best k, for the reranker p_reranker, whose
-- blend is in the summary. `passage` is the part of a long memory that is nearest in meaning to the query, as {start,
-- end, text}. `newer_version` is a later memory that states the same with another value (see newer_statements).
-- p_tokens are the token signs of the query and then of each sub-query, an array of arrays; null means none.
-- p_unless_named is for vectors of queries from which names were not removed: if a query contains a name, nothing is
-- searched, and the only row has the summary {"named": [[query without names, [names]], ...]}. Embed these queries and
-- search again. p_max_bytes limits the texts of all hits together (NULL: no limit): the last hits that exceed it are
-- left out, which the summary lists as skipped.
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
    evidence json
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
    v_read record;
    v_request recall.search_request;
    v_filter recall.search_filter;
    v_window boolean;  -- a window of time without words
    v_moment timestamptz;
    v_settings jsonb := recall_private.effective_settings(v_tenant);
    v_queries text[];
    v_embeddings halfvec[];
    v_model recall.relevance_model;
    v_mode text;
    v_weight double precision;
    v_arms double precision[];
    v_author double precision;
    v_analyzed recall.analyzed_query[];
    v_periods recall.period[];  -- the periods that the queries name
    v_intent recall.query_intent;
    v_intents recall.query_intent[] := '{}';
    v_needs_context boolean;
    v_newer_gap double precision;
    v_change_gap double precision;  -- the same for a statement that says itself that something changed
    v_about_past boolean := false;
    v_elsewhere boolean := false;  -- whether a query asks for another time, or for something to be done
    v_weights recall.weights := recall_private.vitality_weights_from(v_settings);
    v_layers recall.layer_in_force[] := ARRAY(SELECT l FROM recall_private.effective_layers(v_tenant) l);
    v_pool int;
    v_cues bigint[] := '{}';
    v_cued bigint[];
    v_strengths double precision[];
    v_cued_by bigint[];
    v_counts recall.lexeme;
    v_memories bigint;
    v_arm text;  -- the arm of a running experiment
    v_min_confidence double precision := (v_settings ->> 'search.min_confidence')::double precision;
BEGIN
    v_read := recall_private.read_search_request(p_request);
    v_request := v_read.request;
    v_filter := v_read.filter;
    v_moment := recall_private.require_moment(coalesce(v_filter.as_of, p_now));
    v_queries := recall_private.combined_queries(v_request.query, v_request.queries);
    IF v_queries <> '{}' THEN
        v_counts := recall_private.tenant_counts(v_tenant);
        v_memories := v_counts.documents;
    END IF;
    v_window := v_queries = '{}' AND (v_filter.since IS NOT NULL OR v_filter.until IS NOT NULL);
    v_embeddings := CASE WHEN cardinality(v_queries) > coalesce(cardinality(v_request.queries), 0)
        THEN array_prepend(p_embedding, recall_private.require_one_dimension(p_embeddings)) ELSE p_embeddings END;
    v_model := recall_private.relevance_model_for_search(
        v_tenant, v_settings ->> 'embedding.model', v_request.profile, v_filter.layers);
    v_mode := coalesce(v_request.vitality_mode, v_model.vitality_mode, 'odds');
    v_weight := coalesce(
        v_request.vitality_weight, v_model.vitality_weight,
        (v_settings ->> 'vitality.weight')::double precision);
    -- An experiment does not apply where the caller chooses the weight.
    IF (v_settings ->> 'search.experiment')::double precision >= 1 AND v_queries <> '{}'
       AND num_nonnulls(v_request.vitality_mode, v_request.vitality_weight, v_filter.as_of) = 0 THEN
        v_arm := recall_private.experiment_arm(
            v_tenant, floor((v_settings ->> 'search.experiment')::double precision)::bigint,
            recall_private.require_session_id(v_request.session_id));
        v_mode := CASE v_arm WHEN 'off' THEN 'off' ELSE v_mode END;
        v_weight := CASE v_arm WHEN 'other' THEN (v_settings ->> 'search.experiment_weight')::double precision
            ELSE v_weight END;
    END IF;
    v_arms := coalesce(recall_private.arm_weights(v_request.weights), ARRAY[1, 1, 1, 1, 1, 1, 1]);
    v_author := v_model.author * v_arms[4] * (v_settings ->> 'search.author_weight')::double precision;
    v_pool := CASE WHEN greatest(v_request.k, p_pool) <= 50 THEN 50 ELSE 1000 END;
    PERFORM recall_private.check_search_numbers(v_request.k, p_pool, v_request.min_relevance, v_mode, v_weight);
    v_filter := recall_private.checked_filter(v_tenant, v_filter, p_now);
    IF v_embeddings IS NOT NULL THEN
        PERFORM recall_private.check_query_vectors((v_settings ->> 'embedding.dimensions')::int, v_embeddings,
            cardinality(p_embeddings), cardinality(v_request.queries));
    END IF;
    IF p_tokens <> 'null' AND (CASE WHEN jsonb_typeof(p_tokens) = 'array' THEN jsonb_array_length(p_tokens) END)
       IS DISTINCT FROM cardinality(v_queries) THEN
        PERFORM recall_private.raise_invalid(
            format('The token signs are not an array with one element for each of %s queries.', cardinality(v_queries)),
            'Give an array of token signs for each query, or null for a query without them.');
    END IF;
    IF p_unless_named AND v_queries <> '{}' THEN
        SELECT jsonb_build_object('named', jsonb_agg(jsonb_build_array(q.query, q.names) ORDER BY q.place))
        INTO summary FROM recall.queries_without_names(v_queries) q HAVING bool_or(q.names <> '{}');
        IF summary IS NOT NULL THEN
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    IF v_request.cues IS NOT NULL OR v_request.session_id IS NOT NULL THEN
        -- Without a query, the cues are the query, and must count whatever the profile says.
        IF v_queries = '{}' AND v_model.form = 'logistic' THEN
            v_model.cue := greatest(v_model.cue, 4.6);
        END IF;
        v_cues := recall_private.cue_ids(
            v_tenant, v_request.cues, recall_private.require_session_id(v_request.session_id), v_moment);
        IF v_cues <> '{}' AND v_arms[5] * v_model.cue > 0 AND NOT v_window THEN
            -- Cues that the caller names belong to the query; memories used in the session are only a hint.
            SELECT array_agg(c.id), array_agg(c.strength * CASE
                       WHEN v_queries <> '{}' AND v_request.cues IS NULL THEN 0.25 ELSE 1 END), array_agg(c.cue)
            INTO v_cued, v_strengths, v_cued_by
            FROM recall_private.cue_arm(v_tenant, v_cues, v_pool, v_moment, v_queries <> '{}') c;
        END IF;
    END IF;
    IF v_queries = '{}' AND NOT v_window AND v_cues = '{}' THEN
        PERFORM recall_private.raise_invalid('The query is empty.', 'Give a query with at least one word, a time window or a cue.');
    END IF;
    FOR i IN 1 .. cardinality(v_queries) LOOP
        IF v_arms[2] > 0 OR v_arms[3] > 0 OR v_author > 0 THEN
            v_analyzed[i] := recall_private.analyzed_query(
                v_tenant, v_queries[i], v_arms[3] > 0 OR v_author > 0, v_arms[1] > 0 AND v_embeddings[i] IS NOT NULL,
                v_counts);
        END IF;
        IF v_model.period * v_arms[7] > 0 THEN
            v_periods[i] := recall_private.period_in_query(v_queries[i], v_moment);
        END IF;
        v_intent := recall_private.query_intent(v_queries[i]);
        v_intents[i] := v_intent;
        v_about_past := v_about_past OR v_intent.about_past IS TRUE;
        v_elsewhere := v_elsewhere OR (v_intent.in_past OR v_intent.seeks = 'request') IS TRUE;
    END LOOP;
    v_needs_context := cardinality(v_intents) = 1 AND (v_intents[1]).needs_context;
    v_newer_gap := CASE WHEN v_window THEN 0 ELSE (v_settings ->> 'search.newer_gap')::double precision END;
    v_change_gap := 3.5 * v_newer_gap;

    RETURN QUERY
    WITH rated AS MATERIALIZED (
        -- A memory counts by the query that it answers best.
        SELECT DISTINCT ON (c.id) q.place, c.*
        FROM generate_series(1, greatest(cardinality(v_queries), 1)) q(place)
        CROSS JOIN LATERAL recall_private.candidates(
            v_tenant, v_analyzed[q.place], recall_private.gathered(
                v_tenant, v_analyzed[q.place], v_embeddings[q.place], v_window, v_pool, v_settings, v_model, v_arms,
                v_cued, v_filter, v_intents[q.place], v_periods[q.place], v_counts),
            v_window, v_settings, v_weights, v_model, v_arms, v_author, v_cued, v_strengths, v_cued_by, v_cues, v_filter,
            v_request.explain, v_periods[q.place], (recall_private.tokens_read(p_tokens -> (q.place - 1)))[1:16],
            v_intents[q.place]) c
        ORDER BY c.id, c.logit DESC, q.place
    ), confidence AS MATERIALIZED (
        -- Only a query has an answer; a window or a cue has none.
        SELECT CASE WHEN v_memories IS NOT NULL THEN recall_private.search_confidence(
            (SELECT max(j.evidence_logit) FROM rated j), v_memories, v_settings)
            * CASE WHEN v_needs_context THEN 0 ELSE 1 END END AS value
    ), scored AS MATERIALIZED (
        SELECT j.id, j.place, j.superseded_by, j.logit, j.held, j.speech_act, x.use_term, x.vital,
               CASE WHEN v_window THEN CASE WHEN v_mode = 'off' THEN 0 ELSE ln(j.activation) END
                    WHEN v_mode = 'off' OR j.named THEN j.logit
                    WHEN v_mode IN ('odds', 'unbounded') THEN j.logit + v_weight * x.use_term
                    WHEN v_mode = 'multiply' THEN recall_private.logit(recall_private.logistic(j.logit) * x.vital)
                    ELSE recall_private.logit(recall_private.logistic(j.logit) * (1 - v_weight + v_weight * x.vital))
               END AS log_odds
        FROM rated j
        JOIN (SELECT u.name, u.median_base, recall_private.use_scale(u) AS use_scale FROM unnest(v_layers) u OFFSET 0) l
            ON l.name = j.layer
        CROSS JOIN LATERAL (
            SELECT CASE WHEN v_mode = 'unbounded' THEN ln(j.activation) - l.median_base
                        ELSE recall_private.use_term(j.use, l.median_base, l.use_scale) END AS use_term,
                   j.activation / (1 + j.activation) AS vital
            OFFSET 0) x
        WHERE recall_private.logistic(j.logit) >= v_request.min_relevance
          AND (NOT v_request.require_answer
               OR coalesce((SELECT c.value FROM confidence c) >= v_min_confidence, true))
    ), best AS MATERIALIZED (
        SELECT array_agg(o.id ORDER BY o.log_odds DESC, o.id) AS ids,
               array_agg(o.log_odds ORDER BY o.log_odds DESC, o.id) AS log_odds,
               array_agg(CASE WHEN cardinality(v_queries) = 1 THEN o.held ELSE 0 END ORDER BY o.log_odds DESC, o.id) AS held,
               CASE WHEN v_about_past THEN (array_agg(o.speech_act ORDER BY o.log_odds DESC, o.id))[1] = 'change'
                    ELSE bool_or(o.speech_act = 'change') END AS changes
        FROM (SELECT s.id, s.log_odds, s.held, s.speech_act FROM scored s ORDER BY s.log_odds DESC, s.id LIMIT 50) o
    ), raised AS MATERIALIZED (
        -- A memory that goes before another one, for its time; `names` says whether that one names it as its newer version.
        SELECT n.older AS other, n.newer AS id, n.log_odds, true AS names
        FROM best
        CROSS JOIN LATERAL recall_private.newer_statements(
            v_tenant, best.ids[1:10], best.log_odds[1:10], best.held[1:10], v_newer_gap) n
        WHERE v_newer_gap > 0 AND NOT v_about_past AND cardinality(best.ids) > 1
        UNION ALL
        SELECT c.other, c.raised, c.log_odds, false
        FROM best
        CROSS JOIN LATERAL recall_private.changed_statements(v_tenant, best.ids, best.log_odds, v_change_gap, v_about_past) c
        WHERE v_newer_gap > 0 AND (v_about_past OR NOT v_elsewhere) AND best.changes
    ), ranked AS MATERIALIZED (
        -- A superseded memory ranks behind the newer one, and the oldest of a chain last.
        SELECT s.id, s.place, s.logit, s.use_term, s.vital, s.log_odds,
               least(greatest(s.log_odds, m.above), m.behind) AS placed,
               (row_number() OVER (ORDER BY least(greatest(s.log_odds, m.above), m.behind) DESC,
                                            coalesce(m.steps, 0), m.above IS NULL, s.id))::int AS rank
        FROM scored s
        LEFT JOIN (
            SELECT u.id, max(u.above) AS above, min(u.behind) AS behind, max(u.steps) AS steps
            FROM (SELECT r.id, r.log_odds AS above, NULL::double precision AS behind, NULL::int AS steps FROM raised r
                  UNION ALL
                  SELECT b.id, NULL, b.log_odds, b.steps
                  FROM (SELECT array_agg(o.id) FILTER (WHERE o.superseded_by IS NOT NULL) AS older,
                               array_agg(o.id) AS ids, array_agg(o.log_odds) AS log_odds FROM scored o) o
                  CROSS JOIN LATERAL recall_private.behind_successors(v_tenant, o.older, o.ids, o.log_odds) b
                  WHERE v_filter.superseded_as_of) u
            GROUP BY u.id) m ON m.id = s.id
    ), hit AS (
        SELECT r.* FROM ranked r
        WHERE r.rank <= v_request.k OR r.id IN (SELECT p.id FROM ranked p ORDER BY p.logit DESC, p.id LIMIT p_pool)
    ), quoted AS MATERIALIZED (  -- read only if a hit has passages
        SELECT b.id, b.passage
        FROM (SELECT h.place, array_agg(h.id) AS ids FROM hit h GROUP BY h.place) x
        CROSS JOIN LATERAL recall_private.best_passages(
            v_tenant, x.ids, v_embeddings[x.place], v_settings ->> 'embedding.model') b
    )
    SELECT t.id, t.key, t.layer, t.title, t.body, t.role, t.author, t.tags, t.happened_at, t.score, t.relevance,
           t.vital, t.zone, t.rank, t.superseded_by, t.supersedes, t.contradicts, t.valid_from, t.valid_until,
           t.expires_at, t.archived_at, NULL::jsonb, t.logit, t.use_term, t.named, t.evidence_logit,
           CASE WHEN coalesce(t.rank, 1) = 1 THEN jsonb_build_object(
        'profile', v_model.profile, 'mode', v_mode, 'weight', v_weight,
        'newer_gap', CASE WHEN v_about_past THEN 0 ELSE v_newer_gap END,  -- for clients of schemas before 0039
        'raised', CASE WHEN p_pool > 0 THEN (
            SELECT jsonb_agg(jsonb_build_object(
                'id', r.id, 'before', r.other, 'gap', CASE WHEN r.names THEN v_newer_gap ELSE v_change_gap END))
            FROM raised r) END,
        'experiment', CASE WHEN v_arm IS NOT NULL THEN jsonb_build_object(
            'number', floor((v_settings ->> 'search.experiment')::double precision), 'arm', v_arm,
            'weight', CASE WHEN v_mode = 'off' THEN 0 ELSE v_weight END) END,
        'confidence', (SELECT c.value FROM confidence c), 'min_confidence', v_min_confidence,
        'needs_context', v_needs_context,
        'ground', CASE WHEN v_request.explain THEN jsonb_build_object(
            'now', recall_private.epoch(v_moment), 'window', v_window,
            'model', to_jsonb(v_model) || '{"phrase": 0}',  -- for clients of schemas before 0043
            'arms', v_arms,
            'author', v_author, 'weights', to_jsonb(v_weights), 'layers', to_jsonb(v_layers),
            'queries', (
                SELECT jsonb_agg(jsonb_build_object(
                    'query', u.query, 'words', (v_analyzed[u.place]).words, 'steps', (v_analyzed[u.place]).steps,
                    'idfs', (v_analyzed[u.place]).idfs, 'period', recall_private.explained_period(v_periods[u.place]))
                    ORDER BY u.place)
                FROM unnest(v_queries) WITH ORDINALITY u(query, place))) END,
        'arms', CASE WHEN v_request.explain OR t.id IS NULL THEN (
            SELECT jsonb_build_object(
                'semantic', count((j.evidence).semantic_rank), 'lexical', count((j.evidence).lexical_rank),
                'name', count(*) FILTER (WHERE (j.evidence).likeness > 0),
                'cue', count(*) FILTER (WHERE (j.evidence).cue > 0), 'graph', count((j.evidence).seed))
            FROM rated j) END,
        -- A reranker or a project changes the log-odds, so the client recomputes the confidence.
        'confidence_terms', CASE WHEN p_pool > 0 AND v_memories IS NOT NULL THEN jsonb_build_object(
            'intercept', v_settings -> 'confidence.intercept', 'relevance', v_settings -> 'confidence.relevance',
            'size', v_settings -> 'confidence.size', 'memories', v_memories, 'needs_context', v_needs_context) END,
        'blend', CASE WHEN p_reranker IS NOT NULL THEN recall_private.rerank_blend(v_tenant, p_reranker) END,
        'skipped', to_jsonb(nullif(array_remove(
            CASE WHEN v_window AND (SELECT count(*) FROM rated) >= 5000 THEN
                'window: it holds more than 5,000 memories, of which the newest were looked at' END
            || recall_private.ignored_parts(
                v_tenant, ARRAY(SELECT h.id FROM hit h), v_settings ->> 'embedding.model', p_tokens <> 'null',
                v_embeddings IS NOT NULL, v_filter.as_of)
            || CASE WHEN t.left_out > 0 THEN format(
                'hits: the last %s are left out, as the hits would have more than %s bytes of text',
                t.left_out, to_char(p_max_bytes, 'FM999,999,999,999,990')) END, NULL), '{}'))) END,
           t.passage, t.speech_act, t.newer_version, t.evidence
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
                   recall_private.zone_of(recall_private.retention_of(h.vital, j.floored, v_weights), l) AS zone, h.rank, m.superseded_by,
                   ARRAY(SELECT o.id FROM recall.memory o
                         WHERE o.tenant = v_tenant AND o.superseded_by = h.id ORDER BY o.id LIMIT 100) AS supersedes,
                   ARRAY(SELECT x.id FROM recall_private.contradicting_memories(v_tenant, h.id) x) AS contradicts,
                   CASE WHEN v.past THEN v.valid_from ELSE m.valid_from END AS valid_from,
                   CASE WHEN v.past THEN v.valid_until ELSE m.valid_until END AS valid_until,
                   m.expires_at, m.archived_at,
                   -- As jsonb, it would cost a fortieth of a search more.
                   CASE WHEN v_request.explain THEN json_build_object(
                       'query', j.place, 'found', row_to_json(j.evidence), 'held', j.held, 'logit', h.logit,
                       'log_odds', h.log_odds, 'placed', h.placed, 'floored', j.floored,
                       'layer', m.layer, 'accesses', CASE WHEN v_filter.as_of IS NULL THEN (
                           SELECT row_to_json(a) FROM recall.activation a
                           WHERE a.tenant = v_tenant AND a.memory_id = h.id)
                       ELSE (SELECT row_to_json(a)
                             FROM recall_private.activations_as_of(v_tenant, ARRAY[h.id], v_filter.as_of) a) END)
                   END AS evidence,
                   h.logit, h.use_term, j.named, j.evidence_logit, j.speech_act,
                   (SELECT r.id FROM raised r WHERE r.other = h.id AND r.names) AS newer_version,
                   -- A passage is given by its place in the current text.
                   CASE WHEN m.passage_count > 0 AND (v.past IS NULL OR v.body = m.body)
                        THEN (SELECT p.passage FROM quoted p WHERE p.id = h.id) END AS passage,
                   -- The first hit is returned whatever its size.
                   CASE WHEN h.rank > 1 THEN sum(octet_length(b.text) + CASE WHEN octet_length(b.text) > 1000
                        THEN recall_private.json_escapes(b.text) ELSE 0 END) OVER (ORDER BY h.rank) END AS bytes
            FROM hit h
            JOIN rated j ON j.id = h.id
            CROSS JOIN LATERAL (SELECT * FROM recall.memory r WHERE r.tenant = v_tenant AND r.id = h.id OFFSET 0) m
            -- The text at a past moment: one index probe for each hit, and none without such a moment.
            LEFT JOIN LATERAL (
                SELECT o.*, true AS past FROM recall_private.version_at(v_tenant, h.id, v_filter.as_of) o
                WHERE v_filter.as_of IS NOT NULL OFFSET 0) v ON true  -- otherwise it would be called without a moment
            CROSS JOIN LATERAL (SELECT CASE WHEN v.past THEN v.body ELSE m.body END AS text) b
            JOIN unnest(v_layers) l ON l.name = m.layer
        ) x
    ) t ON (t.bytes > p_max_bytes) IS NOT TRUE
    ORDER BY t.rank;
END $$;
