-- Quality: how often hits were used, and which queries had no answer. These functions read the log of searches and
-- change nothing.

-- share_interval: the interval of Wilson (1927) for a share in p_total trials; p_z2 is the square of the normal quantile.
-- NULL without trials. It is also wide enough for a mean of values between 0 and 1, which varies at most as much.
CREATE OR REPLACE FUNCTION recall_private.share_interval(
    p_share double precision, p_total bigint, p_z2 double precision, OUT low double precision, OUT high double precision
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    -- Rounding must not exclude the share itself.
    SELECT least(greatest(c.middle - c.reach, 0), p_share), greatest(least(c.middle + c.reach, 1), p_share)
    FROM (SELECT p_z2 / nullif(p_total, 0) AS z2 WHERE p_total > 0) s
    CROSS JOIN LATERAL (
        SELECT (p_share + s.z2 / 2) / (1 + s.z2) AS middle,
               sqrt(s.z2 * (p_share * (1 - p_share) + s.z2 / 4)) / (1 + s.z2) AS reach) c
$$;

-- wilson_interval: the 95 % interval for a share of p_hits in p_total (Wilson, 1927), which is also valid for few trials
-- and for shares near 0 and 1. NULL without trials.
CREATE OR REPLACE FUNCTION recall_private.wilson_interval(
    p_hits bigint, p_total bigint, OUT low double precision, OUT high double precision
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT i.low, i.high
    FROM recall_private.share_interval(p_hits / nullif(p_total, 0)::double precision, p_total, 3.841458820694124) i
$$;

-- used_hits: the hits of the newest p_limit searches since p_since, with rank, verdict, and whether the hit was used:
-- according to its verdict, or by an access of kind used or read in the session of the search, within
-- association.window_minutes of it.
CREATE OR REPLACE FUNCTION recall_private.used_hits(p_tenant text, p_since timestamptz, p_limit int)
RETURNS TABLE (search_id bigint, at timestamptz, memory_id bigint, rank int, verdict text, used boolean)
LANGUAGE sql STABLE ROWS 10000
SET search_path FROM CURRENT AS $$
    SELECT s.id, s.at, u.id, u.place::int, j.verdict,
           coalesce(j.verdict = 'used', false) OR j.verdict IS NULL AND s.session_id IS NOT NULL AND EXISTS (
               SELECT FROM recall.access a
               WHERE a.tenant = p_tenant AND a.memory_id = u.id AND a.at > s.at AND a.at <= s.at + w.window
                 AND a.session_id = s.session_id AND a.kind IN ('used', 'read'))
    FROM (SELECT make_interval(secs => 60 * recall_private.setting_number(p_tenant, 'association.window_minutes')) AS window) w
    CROSS JOIN (
        SELECT l.* FROM recall.search_log l
        WHERE l.tenant = p_tenant AND l.at >= coalesce(p_since, '-infinity')
        ORDER BY l.at DESC, l.id DESC LIMIT p_limit) s
    CROSS JOIN LATERAL unnest(s.shown) WITH ORDINALITY u(id, place)
    LEFT JOIN recall.judgement j ON j.tenant = p_tenant AND j.search_id = s.id AND j.memory_id = u.id
    WHERE u.id IS NOT NULL
$$;

-- quality (reader; Use and feedback): how often the hits of the newest p_limit searches since p_since were used, as
-- JSON. `searches` counts them, `empty` those that showed nothing, `followed` those with any verdict or use, and
-- `answered` those of them with a used memory. `ranks` has for each rank how often it was shown, shown by a followed
-- search, used and rejected, with `share`, used / followed, and its 95 % interval.
CREATE OR REPLACE FUNCTION recall.quality(p_since timestamptz DEFAULT NULL, p_limit int DEFAULT 10000)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 100000, 'p_limit');
    RETURN (
        WITH search AS MATERIALIZED (
            SELECT l.id, l.at, l.shown FROM recall.search_log l
            WHERE l.tenant = v_tenant AND l.at >= coalesce(p_since, '-infinity')
            ORDER BY l.at DESC, l.id DESC LIMIT p_limit
        ), item AS MATERIALIZED (
            SELECT * FROM recall_private.used_hits(v_tenant, p_since, p_limit)
        ), outcome AS MATERIALIZED (
            SELECT i.search_id, bool_or(i.used) AS answered FROM item i
            GROUP BY i.search_id HAVING bool_or(i.used OR i.verdict IS NOT NULL)
        ), ranked AS (
            SELECT i.rank, count(*) AS shown, count(o.search_id) AS followed, count(*) FILTER (WHERE i.used) AS used,
                   count(*) FILTER (WHERE i.verdict = 'rejected') AS rejected
            FROM item i LEFT JOIN outcome o ON o.search_id = i.search_id GROUP BY i.rank
        )
        SELECT jsonb_build_object(
            'searches', count(*), 'empty', count(*) FILTER (WHERE s.shown = '{}'),
            'followed', (SELECT count(*) FROM outcome), 'since', min(s.at), 'until', max(s.at),
            'answered', (
                SELECT jsonb_build_object('count', o.n, 'total', o.total, 'low', w.low, 'high', w.high)
                FROM (SELECT count(*) FILTER (WHERE o.answered) AS n, count(*) AS total FROM outcome o) o
                LEFT JOIN LATERAL recall_private.wilson_interval(o.n, o.total) w ON true),
            'ranks', (
                SELECT coalesce(jsonb_agg(to_jsonb(r) || jsonb_build_object('low', w.low, 'high', w.high)
                                          ORDER BY r.rank), '[]')
                FROM ranked r LEFT JOIN LATERAL recall_private.wilson_interval(r.used, r.followed) w ON true))
        FROM search s);
END $$;

-- unanswered_queries (reader; Use and feedback): queries of the newest 10,000 searches since p_since without an answer:
-- each time either nothing was shown, or the hits were judged and none was used. Most frequent first, then the newest.
-- Queries that differ only in case and spaces count as one.
CREATE OR REPLACE FUNCTION recall.unanswered_queries(p_limit int DEFAULT 20, p_since timestamptz DEFAULT NULL)
RETURNS TABLE (query text, times bigint, empty bigint, rejected bigint, last_at timestamptz, search_id bigint)
LANGUAGE plpgsql STABLE ROWS 20
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 1000, 'p_limit');
    RETURN QUERY
    WITH outcome AS MATERIALIZED (
        SELECT i.search_id, bool_or(i.used) AS used, count(i.verdict) > 0 AS judged
        FROM recall_private.used_hits(v_tenant, p_since, 10000) i GROUP BY i.search_id
    ), asked AS (
        SELECT l.id, l.at, coalesce(nullif(l.query, ''), l.queries[1]) AS query,
               lower(regexp_replace(btrim(coalesce(nullif(l.query, ''), l.queries[1])), '\s+', ' ', 'g')) AS same,
               l.shown = '{}' AS empty, coalesce(o.judged AND NOT o.used, false) AS rejected,
               coalesce(o.used, false) AS used
        FROM (SELECT s.* FROM recall.search_log s
              WHERE s.tenant = v_tenant AND s.at >= coalesce(p_since, '-infinity')
              ORDER BY s.at DESC, s.id DESC LIMIT 10000) l
        LEFT JOIN outcome o ON o.search_id = l.id
        WHERE l.query <> '' OR cardinality(l.queries) > 0
    )
    SELECT (array_agg(a.query ORDER BY a.at DESC, a.id DESC))[1], count(*), count(*) FILTER (WHERE a.empty),
           count(*) FILTER (WHERE a.rejected), max(a.at), max(a.id)
    FROM asked a
    GROUP BY a.same
    HAVING bool_or(a.empty OR a.rejected) AND NOT bool_or(a.used)
    ORDER BY count(*) DESC, max(a.at) DESC, max(a.id) DESC LIMIT p_limit;
END $$;

-- logged_searches (reader; Use and feedback): the newest p_limit searches with words in a period, oldest first, with
-- the shown memories, those of them that were used (counted as in quality), and whether there was any verdict or use.
-- For replays.
CREATE OR REPLACE FUNCTION recall.logged_searches(
    p_since timestamptz DEFAULT NULL, p_until timestamptz DEFAULT NULL, p_limit int DEFAULT 100
) RETURNS TABLE (
    id bigint, at timestamptz, query text, queries text[], profile text, shown bigint[], used bigint[], followed boolean
)
LANGUAGE plpgsql STABLE ROWS 100
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_window interval := make_interval(secs => 60 * recall_private.setting_number(v_tenant, 'association.window_minutes'));
BEGIN
    PERFORM recall_private.require_between(p_limit, 1, 1000, 'p_limit');
    RETURN QUERY
    WITH newest AS MATERIALIZED (
        SELECT l.* FROM recall.search_log l
        WHERE l.tenant = v_tenant AND l.at >= coalesce(p_since, '-infinity') AND l.at < coalesce(p_until, 'infinity')
          AND (l.query <> '' OR cardinality(l.queries) > 0)
        ORDER BY l.at DESC, l.id DESC LIMIT p_limit
    )
    SELECT n.id, n.at, n.query, n.queries, n.profile, array_remove(n.shown, NULL), coalesce(h.used, '{}'),
           coalesce(h.followed, false)
    FROM newest n
    LEFT JOIN LATERAL (
        SELECT array_agg(x.id ORDER BY x.place) FILTER (WHERE x.used) AS used, bool_or(x.used OR x.judged) AS followed
        FROM (
            SELECT u.id, u.place, j.verdict IS NOT NULL AS judged,
                   coalesce(j.verdict = 'used', false) OR j.verdict IS NULL AND n.session_id IS NOT NULL AND EXISTS (
                       SELECT FROM recall.access a
                       WHERE a.tenant = v_tenant AND a.memory_id = u.id AND a.at > n.at AND a.at <= n.at + v_window
                         AND a.session_id = n.session_id AND a.kind IN ('used', 'read')) AS used
            FROM unnest(n.shown) WITH ORDINALITY u(id, place)
            LEFT JOIN recall.judgement j ON j.tenant = v_tenant AND j.search_id = n.id AND j.memory_id = u.id
            WHERE u.id IS NOT NULL) x) h ON true
    ORDER BY n.at, n.id;
END $$;
