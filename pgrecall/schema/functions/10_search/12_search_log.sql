-- The log of searches: queries and the memories shown for them, kept for `search.log_days` so that they can be judged.
-- Its rows are locked after memories and activations, in the order of their ids.

-- log_search: logs the memories that a search showed: a retrieval of each of them, which the job folds later, and, with a
-- query, the search itself with the memories in the order shown. Returns the id of the search. NULL if it is not kept,
-- because there is no query or because `search.log_days` is 0. The ids must be distinct and belong to this tenant. Every
-- search calls this, so it takes no lock and reads only two settings.
CREATE OR REPLACE FUNCTION recall_private.log_search(
    p_tenant text, p_shown bigint[], p_session_id text, p_now timestamptz, p_query text DEFAULT NULL,
    p_profile text DEFAULT NULL, p_queries text[] DEFAULT NULL, p_experiment jsonb DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_session_id text := recall_private.require_session_id(p_session_id);
    v_kept boolean := (p_query IS NOT NULL OR p_queries IS NOT NULL)
        AND recall_private.setting_number(p_tenant, 'search.log_days') > 0;
    v_weight double precision;
    v_search_id bigint;
BEGIN
    IF cardinality(p_shown) > 0 THEN
        v_weight := recall_private.setting_number(p_tenant, 'access.weight_retrieval');
        INSERT INTO recall.access (tenant, memory_id, kind, weight, at, session_id, recorded_at)
        SELECT p_tenant, u.id, 'retrieval', v_weight, p_now, v_session_id, p_now FROM unnest(p_shown) u(id);
        INSERT INTO recall.access_queue (tenant, memory_ids, at) VALUES (p_tenant, p_shown, p_now);
    END IF;
    WHILE v_kept AND v_search_id IS NULL LOOP  -- an imported search can have an id that the sequence has yet to reach
        INSERT INTO recall.search_log (tenant, at, session_id, query, queries, profile, shown,
                                       experiment, arm, arm_weight)
        VALUES (p_tenant, p_now, v_session_id, coalesce(p_query, ''), p_queries,
                coalesce(p_profile, 'balanced'), coalesce(p_shown, '{}'), (p_experiment ->> 'number')::bigint,
                p_experiment ->> 'arm', (p_experiment ->> 'weight')::double precision)
        ON CONFLICT (tenant, id) DO NOTHING
        RETURNING id INTO v_search_id;
        PERFORM recall_private.pass_imported_ids(p_tenant, 'search_log', currval('recall.search_log_id_seq')) WHERE v_search_id IS NULL;
    END LOOP;
    RETURN v_search_id;
END $$;

-- log_shown (app; Search): logs a retrieval of each of these memories, as search_and_log does, and changes no other
-- row. With a query, it also logs the search with the existing memories among them, in the order given, and the
-- experiment by which they were ranked (as in the summary of find). Returns the id of the search, for used() and
-- rejected(). NULL without a query, or if searches are not kept.
CREATE OR REPLACE FUNCTION recall.log_shown(
    p_ids bigint[], p_session_id text DEFAULT NULL, p_now timestamptz DEFAULT now(), p_query text DEFAULT NULL,
    p_profile text DEFAULT NULL, p_queries text[] DEFAULT NULL, p_experiment jsonb DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[] := recall_private.distinct_ids(p_ids);
BEGIN
    IF p_query <> '' THEN
        PERFORM recall_private.check_query(p_query);
    END IF;
    PERFORM recall_private.combined_queries(p_query, p_queries);
    IF length(p_profile) > 100 THEN  -- an export with it could not be imported
        PERFORM recall_private.raise_invalid(
            format('The profile %L is unknown.', left(p_profile, 100)), 'Give the profile of the search.');
    END IF;
    RETURN recall_private.log_search(
        v_tenant, ARRAY(
            SELECT m.id FROM recall.memory m
            WHERE m.tenant = v_tenant AND m.id = ANY (v_ids) ORDER BY array_position(recall_private.require_one_dimension(p_ids), m.id)),
        p_session_id, recall_private.require_moment(p_now), p_query, p_profile, p_queries,
        recall_private.require_experiment(p_experiment));
END $$;

-- delete_from_logs: deletes the accesses of memories that are being deleted, the verdicts on them, and their entries in
-- logged searches. An entry leaves a gap, so that the others keep their ranks. Returns how many searches had shown one of
-- the memories.
CREATE OR REPLACE FUNCTION recall_private.delete_from_logs(p_tenant text, p_ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_moments timestamptz[];
    v_searches bigint[];
BEGIN
    -- The access log comes first, because searches are found by it. A search logged in between is left to the fold.
    WITH unlogged AS (
        DELETE FROM recall.access e WHERE e.tenant = p_tenant AND e.memory_id = ANY (p_ids) RETURNING e.kind, e.at
    )
    SELECT array_agg(DISTINCT u.at) INTO v_moments FROM unlogged u WHERE u.kind = 'retrieval';
    -- Searches before verdicts, in the order of expire_searches.
    v_searches := ARRAY(
        SELECT s.id FROM recall.search_log s
        WHERE s.tenant = p_tenant AND s.shown && p_ids AND s.at = ANY (v_moments)
        ORDER BY s.id FOR NO KEY UPDATE);
    DELETE FROM recall.judgement j
    WHERE j.tenant = p_tenant AND j.search_id = ANY (v_searches) AND j.memory_id = ANY (p_ids);
    UPDATE recall.search_log s
    SET shown = ARRAY(
        SELECT CASE WHEN u.id <> ALL (p_ids) THEN u.id END
        FROM unnest(s.shown) WITH ORDINALITY u(id, place) ORDER BY u.place)
    WHERE s.tenant = p_tenant AND s.id = ANY (v_searches);
    RETURN cardinality(v_searches);
END $$;

-- expire_searches (worker; Jobs and maintenance): deletes up to p_limit logged searches of this tenant older than
-- `search.log_days`, with the verdicts on them. Returns how many. Logged accesses stay. Searches that are being judged
-- are left for the next run.
CREATE OR REPLACE FUNCTION recall.expire_searches(p_limit int DEFAULT 1000, p_now timestamptz DEFAULT now())
RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_until timestamptz := recall_private.require_moment(p_now)
        - make_interval(secs => 86400 * recall_private.setting_number(v_tenant, 'search.log_days'));
    v_old bigint[] := ARRAY(
        SELECT s.id FROM recall.search_log s
        WHERE s.tenant = v_tenant AND s.at <= v_until ORDER BY s.at, s.id LIMIT recall_private.require_limit(p_limit) FOR UPDATE SKIP LOCKED);
BEGIN
    DELETE FROM recall.search_log s WHERE s.tenant = v_tenant AND s.id = ANY (v_old);
    RETURN cardinality(v_old);
END $$;
