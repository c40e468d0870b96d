-- Feedback: which memories shown by a search were used or rejected, and statistics about them.

-- require_search: the search of this tenant with this id. Raises an error if there is none, if it did not show all of
-- these memories, or if p_now is before it.
CREATE OR REPLACE FUNCTION recall_private.require_search(
    p_tenant text, p_search_id bigint, p_memory_ids bigint[], p_now timestamptz
) RETURNS recall.search_log
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_search recall.search_log;
    v_strange bigint;
BEGIN
    SELECT s.* INTO v_search FROM recall.search_log s WHERE s.tenant = p_tenant AND s.id = p_search_id;
    IF NOT FOUND THEN
        PERFORM recall_private.raise_invalid(format('There is no search %s in this tenant.', coalesce(p_search_id::text, 'NULL')),
            'A logged search returns its id and is kept for `search.log_days`.');
    ELSIF array_position(recall_private.require_one_dimension(p_memory_ids), NULL) IS NOT NULL OR p_memory_ids IS NULL THEN
        PERFORM recall_private.raise_invalid('One of the judged memories is NULL.', 'Give the ids of memories that the search showed.');
    ELSIF recall_private.require_moment(p_now) < v_search.at - interval '5 minutes' THEN
        PERFORM recall_private.raise_invalid(format('Search %s was made at %s, after p_now, %s.', p_search_id, v_search.at, p_now),
            'Judge a search after it was made.');
    END IF;
    SELECT u.id INTO v_strange FROM unnest(p_memory_ids) u(id) WHERE u.id = ANY (v_search.shown) IS NOT TRUE LIMIT 1;
    IF FOUND THEN
        PERFORM recall_private.raise_invalid(format('Memory %s was not shown by search %s.', v_strange, p_search_id),
            'record_access() logs the use of a memory that no search has shown; uses of shared ones are not kept.');
    END IF;
    RETURN v_search;
END $$;

-- store_verdicts: stores a verdict on these memories of a search, replacing earlier ones, and returns how many are
-- new. The caller has locked their rows and the rows that an access changes; the log of searches is locked last.
CREATE OR REPLACE FUNCTION recall_private.store_verdicts(
    p_tenant text, p_search_id bigint, p_memory_ids bigint[], p_verdict text, p_now timestamptz
) RETURNS int
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_new int;
BEGIN
    PERFORM FROM recall.search_log s WHERE s.tenant = p_tenant AND s.id = p_search_id FOR KEY SHARE;
    PERFORM recall_private.require_search(p_tenant, p_search_id, p_memory_ids, p_now);  -- may have been deleted since
    WITH put AS (
        INSERT INTO recall.judgement AS j (tenant, search_id, memory_id, verdict, at)
        SELECT DISTINCT p_tenant, p_search_id, u.id, p_verdict, p_now FROM unnest(p_memory_ids) u(id) ORDER BY u.id
        ON CONFLICT (tenant, search_id, memory_id)
            DO UPDATE SET verdict = excluded.verdict, at = excluded.at WHERE j.verdict <> excluded.verdict
        RETURNING 1
    )
    SELECT count(*) INTO v_new FROM put;
    RETURN v_new;
END $$;

-- used (app; Use and feedback): records that these memories, shown by a search, were used in an answer: a verdict, and
-- an access of kind `used` in the session of the search, once for each memory and search. Returns how many verdicts are
-- new.
CREATE OR REPLACE FUNCTION recall.used(
    p_search_id bigint, p_memory_ids bigint[], p_now timestamptz DEFAULT now()
) RETURNS int
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_search recall.search_log := recall_private.require_search(v_tenant, p_search_id, p_memory_ids, p_now);
BEGIN
    PERFORM recall.record_accesses(coalesce(jsonb_agg(jsonb_build_object(
        'memory_id', u.id, 'kind', 'used', 'session_id', v_search.session_id,
        'idempotency_key', format('recall.used %s %s', p_search_id, u.id)) ORDER BY u.id), '[]'), p_now)
    FROM (SELECT DISTINCT i.id FROM unnest(p_memory_ids) i(id)) u;
    RETURN recall_private.store_verdicts(v_tenant, p_search_id, p_memory_ids, 'used', p_now);
END $$;

-- rejected (app; Use and feedback): records that these memories, shown by a search, did not answer it. This is not an
-- access. A later verdict replaces an earlier one, but an access stays logged. Returns how many verdicts are new.
CREATE OR REPLACE FUNCTION recall.rejected(
    p_search_id bigint, p_memory_ids bigint[], p_now timestamptz DEFAULT now()
) RETURNS int
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall_private.require_search(v_tenant, p_search_id, p_memory_ids, p_now);
    -- Otherwise a memory could be deleted while its verdict is stored.
    PERFORM recall_private.lock_memories(v_tenant, p_memory_ids);
    PERFORM recall.require_memory(u.id) FROM unnest(p_memory_ids) u(id);
    RETURN recall_private.store_verdicts(v_tenant, p_search_id, p_memory_ids, 'rejected', p_now);
END $$;

-- recent_searches: the newest 100,000 logged searches of a tenant since p_since. Reports are computed from these.
CREATE OR REPLACE FUNCTION recall_private.recent_searches(p_tenant text, p_since timestamptz)
RETURNS TABLE (id bigint, at timestamptz, shown bigint[], judged boolean)
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT s.id, s.at, s.shown,
           EXISTS (SELECT FROM recall.judgement j WHERE j.tenant = p_tenant AND j.search_id = s.id)
    FROM recall.search_log s
    WHERE s.tenant = p_tenant AND s.at >= coalesce(p_since, '-infinity')
    ORDER BY s.at DESC, s.id DESC LIMIT 100000
$$;

-- shown_ranks: each memory shown by recent searches, with its rank and its verdict, if any.
CREATE OR REPLACE FUNCTION recall_private.shown_ranks(p_tenant text, p_since timestamptz)
RETURNS TABLE (
    search_id bigint, at timestamptz, judged boolean, memory_id bigint, rank int, verdict text
)
LANGUAGE sql STABLE ROWS 10000
SET search_path FROM CURRENT AS $$
    SELECT s.id, s.at, s.judged, u.id, u.place::int, j.verdict
    FROM recall_private.recent_searches(p_tenant, p_since) s
    CROSS JOIN LATERAL unnest(s.shown) WITH ORDINALITY u(id, place)
    LEFT JOIN recall.judgement j
        ON s.judged AND j.tenant = p_tenant AND j.search_id = s.id AND j.memory_id = u.id
    WHERE u.id IS NOT NULL
$$;

-- feedback_by_memory (reader; Use and feedback): how often each memory was shown, used and rejected in searches since
-- p_since, most shown first; with p_unused only memories that were never used.
CREATE OR REPLACE FUNCTION recall.feedback_by_memory(
    p_limit int DEFAULT 50, p_unused boolean DEFAULT false, p_since timestamptz DEFAULT NULL
) RETURNS TABLE (
    id bigint, key text, layer text, title text, shown bigint, used bigint, rejected bigint,
    last_shown_at timestamptz
)
LANGUAGE plpgsql STABLE ROWS 50
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    IF NOT coalesce(p_limit BETWEEN 1 AND 10000, false) THEN
        PERFORM recall_private.raise_invalid(
            format('The limit is %s; it must lie between 1 and 10,000.', coalesce(p_limit::text, 'NULL')));
    END IF;
    RETURN QUERY
    SELECT m.id, m.key, m.layer, m.title, f.shown, f.used, f.rejected, f.last_shown_at
    FROM (
        SELECT r.memory_id, count(*) AS shown, count(*) FILTER (WHERE r.verdict = 'used') AS used,
               count(*) FILTER (WHERE r.verdict = 'rejected') AS rejected, max(r.at) AS last_shown_at
        FROM recall_private.shown_ranks(v_tenant, p_since) r GROUP BY r.memory_id
    ) f
    JOIN recall.memory m ON m.tenant = v_tenant AND m.id = f.memory_id
    WHERE f.used = 0 OR p_unused IS NOT TRUE
    ORDER BY f.shown DESC, f.used, m.id LIMIT p_limit;
END $$;

-- examination_probability: the prior probability that a rank is examined: 1 / rank^p_bias, at least 0.1.
CREATE OR REPLACE FUNCTION recall_private.examination_probability(p_rank int, p_bias double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN greatest(power(p_rank::double precision, -p_bias), 0.1);

-- feedback_by_rank (reader; Use and feedback): for each rank, how often its memories were shown, used and rejected in
-- searches since p_since. `judged` counts memories of searches with any verdict; `use_rate` is used / judged, NULL
-- without any. `propensity` is the probability that a rank is examined, relative to rank 1: use rates smoothed by 50
-- pseudo-counts with the rate 1 / rank^bias (`feedback.position_bias`), divided by that of rank 1, between 0.1 and 1,
-- so that no weight 1 / propensity exceeds 10.
CREATE OR REPLACE FUNCTION recall.feedback_by_rank(p_since timestamptz DEFAULT NULL)
RETURNS TABLE (
    rank int, shown bigint, judged bigint, used bigint, rejected bigint, use_rate double precision,
    propensity double precision
)
LANGUAGE sql STABLE ROWS 50
SET search_path FROM CURRENT AS $$
    WITH counted AS (
        SELECT r.rank, count(*) AS shown, count(*) FILTER (WHERE r.judged) AS judged,
               count(*) FILTER (WHERE r.verdict = 'used') AS used,
               count(*) FILTER (WHERE r.verdict = 'rejected') AS rejected,
               recall_private.examination_probability(r.rank, recall_private.setting_number(c.tenant, 'feedback.position_bias')) AS prior
        FROM (SELECT recall.current_tenant() AS tenant OFFSET 0) c
        CROSS JOIN LATERAL recall_private.shown_ranks(c.tenant, p_since) r
        GROUP BY r.rank, c.tenant
    ), based AS (
        -- The rate at rank 1 for which the prior alone would give as many uses.
        SELECT c.*, sum(c.used) OVER () / nullif(sum(c.judged * c.prior) OVER (), 0) AS base FROM counted c
    ), smoothed AS (
        SELECT b.*, (b.used + 50 * b.base * b.prior) / (b.judged + 50) AS rate FROM based b
    )
    SELECT s.rank, s.shown, s.judged, s.used, s.rejected, s.used::double precision / nullif(s.judged, 0),
           least(greatest(coalesce(s.rate / nullif(s.first_rate, 0), s.prior), 0.1), 1)
    FROM (SELECT m.*, max(m.rate) FILTER (WHERE m.rank = 1) OVER () AS first_rate FROM smoothed m) s
    ORDER BY s.rank
$$;

-- feedback_qrels (reader; Use and feedback): judgements for `calibrate`: the newest p_limit searches since p_since with
-- words and at least one verdict, oldest first. Without a main query, the first sub-query is the query. `judgements` is
-- a JSON array by rank of {id, key, rank, verdict, relevant, propensity}. Used memories are relevant, rejected ones are
-- not. With p_skipped, memories without a verdict above the last used one count as `skipped` and not relevant, which is
-- weaker evidence. All others are left out.
CREATE OR REPLACE FUNCTION recall.feedback_qrels(
    p_since timestamptz DEFAULT NULL, p_skipped boolean DEFAULT true, p_limit int DEFAULT 10000
) RETURNS TABLE (search_id bigint, query text, queries text[], at timestamptz, judgements jsonb)
LANGUAGE plpgsql STABLE ROWS 1000
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    IF NOT coalesce(p_limit BETWEEN 1 AND 100000, false) THEN
        PERFORM recall_private.raise_invalid(
            format('The limit is %s; it must lie between 1 and 100,000.', coalesce(p_limit::text, 'NULL')));
    END IF;
    RETURN QUERY
    WITH place AS MATERIALIZED (
        SELECT r.*, max(r.rank) FILTER (WHERE r.verdict = 'used') OVER (PARTITION BY r.search_id) AS last_used
        FROM recall_private.shown_ranks(v_tenant, p_since) r WHERE r.judged
    ), evidence AS (
        SELECT p.search_id, m.id, m.key, p.rank, coalesce(p.verdict, 'skipped') AS verdict, b.propensity
        FROM place p
        JOIN recall.memory m ON m.tenant = v_tenant AND m.id = p.memory_id
        JOIN recall.feedback_by_rank() b ON b.rank = p.rank
        WHERE p.verdict IS NOT NULL OR (p_skipped AND p.rank < p.last_used)
    ), judged_search AS (
        SELECT e.search_id, jsonb_agg(jsonb_build_object(
                   'id', e.id, 'key', e.key, 'rank', e.rank, 'verdict', e.verdict,
                   'relevant', e.verdict = 'used', 'propensity', e.propensity) ORDER BY e.rank) AS judgements
        FROM evidence e GROUP BY e.search_id
    ), newest AS (
        SELECT s.id, coalesce(nullif(s.query, ''), s.queries[1]) AS query, s.queries, s.at, j.judgements
        FROM judged_search j JOIN recall.search_log s ON s.tenant = v_tenant AND s.id = j.search_id
        WHERE s.query <> '' OR cardinality(s.queries) > 0
        ORDER BY s.at DESC, s.id DESC LIMIT p_limit
    )
    SELECT n.* FROM newest n ORDER BY n.at, n.id;
END $$;
