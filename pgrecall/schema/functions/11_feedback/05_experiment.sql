-- Experiments: sessions are assigned at random to arms that weigh vitality differently, so that use can be compared.
-- The report counts by session, because sessions were assigned.

-- experiment_arms: the arms of an experiment. `default` uses the weight in force, `off` ignores vitality, and `other`
-- uses `search.experiment_weight`.
CREATE OR REPLACE FUNCTION recall_private.experiment_arms() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT ARRAY['off', 'default', 'other'] $$;

-- experiment_arm: the arm of a session in the experiment p_number. NULL without an experiment or a session. The first 32
-- bits of a SHA-256 digest decide, so that a session has the same arm on every server. With another number, all sessions
-- are assigned again.
CREATE OR REPLACE FUNCTION recall_private.experiment_arm(p_tenant text, p_number bigint, p_session_id text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (recall_private.experiment_arms())[1 + ('x' || left(encode(sha256(convert_to(
        p_number || ' ' || length(p_tenant) || ' ' || p_tenant || ' ' || p_session_id, 'UTF8')), 'hex'), 8))::bit(32)::bigint
        % cardinality(recall_private.experiment_arms())]
    WHERE p_number >= 1
$$;

-- require_experiment: the experiment that log_shown was given, {number, arm, weight} as in the summary of find. NULL for
-- none. Raises an error for anything else.
CREATE OR REPLACE FUNCTION recall_private.require_experiment(p_experiment jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF p_experiment IS NULL OR p_experiment = 'null' THEN
        RETURN NULL;
    END IF;
    IF (CASE WHEN jsonb_typeof(p_experiment) = 'object' AND recall_private.is_number(p_experiment -> 'number')
                 AND recall_private.is_number(p_experiment -> 'weight')
            THEN p_experiment ->> 'arm' = ANY (recall_private.experiment_arms())
                 AND (p_experiment ->> 'number')::numeric BETWEEN 1 AND 1000000
                 AND (p_experiment ->> 'number')::numeric % 1 = 0
                 AND (p_experiment ->> 'weight')::numeric BETWEEN 0 AND 10 END) IS NOT TRUE THEN
        PERFORM recall_private.raise_invalid(
            format('The experiment %s is not valid.', left(p_experiment::text, 100)),
            'Give {"number": ..., "arm": ..., "weight": ...} from the summary of recall.find, or null.');
    END IF;
    RETURN p_experiment;
END $$;

-- experiment (reader; Use and feedback): the outcomes of the sessions of an experiment (NULL: the running one, else the
-- newest), as JSON. Counts the newest 100,000 searches. The outcome of a session is the share of its searches that
-- showed a used memory (counted as in `quality`); a session without a known use counts as 0. `arms` has for each arm
-- its sessions, searches and weights, the mean outcome as `share` with its 95 % interval (Wilson, 1927, with sessions
-- as trials, which is wide enough for means), and the mean reciprocal rank of used memories. `differences` compares
-- each arm with `default`: intervals by the method 10 of Newcombe (1998) at 97.5 %, so that both hold at once with 95
-- %. A `verdict` waits until every arm has `needed` sessions, with which a difference of p_difference is found with a
-- power of 80 % whatever the shares. `refused` says why there is none: no_experiment, too_few, no_use, unequal (the
-- arms have so different numbers of sessions that chance would do it once in 1,000 experiments), weights_changed.
CREATE OR REPLACE FUNCTION recall.experiment(p_number int DEFAULT NULL, p_difference double precision DEFAULT 0.1)
RETURNS jsonb
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_running bigint := floor(recall_private.setting_number(v_tenant, 'search.experiment'))::bigint;
    v_number bigint;
    v_needed bigint;
BEGIN
    IF (p_difference BETWEEN 0.01 AND 0.5) IS NOT TRUE THEN
        PERFORM recall_private.raise_invalid(format('p_difference is %s; it must lie between 0.01 and 0.5.', p_difference),
            'Give the smallest difference of shares that matters.');
    END IF;
    PERFORM recall_private.require_between(coalesce(p_number, 1), 1, 1000000, 'p_number');
    v_number := coalesce(p_number, nullif(v_running, 0), (
        SELECT l.experiment FROM recall.search_log l WHERE l.tenant = v_tenant AND l.experiment IS NOT NULL
        ORDER BY l.at DESC, l.id DESC LIMIT 1));
    -- (z(0.9875) + z(0.8))^2 * 2 * 1/4 / difference^2
    v_needed := ceil(9.505036745196827::double precision / 2 / p_difference ^ 2);
    RETURN (
        WITH newest AS MATERIALIZED (
            SELECT l.id, l.at, l.session_id, l.arm, l.arm_weight FROM recall.search_log l
            WHERE l.tenant = v_tenant AND l.experiment = v_number ORDER BY l.at DESC, l.id DESC LIMIT 100000
        ), search AS MATERIALIZED (
            -- The name of the tenant decides, too: a session that goes on after an import under another name may have two arms.
            SELECT s.* FROM (
                SELECT n.*, min(n.arm) OVER w = max(n.arm) OVER w AS kept
                FROM newest n WINDOW w AS (PARTITION BY n.session_id)) s
            WHERE s.kept
        ), span AS MATERIALIZED (
            SELECT min(n.at) AS since, max(n.at) AS until FROM newest n
        ), outcome AS MATERIALIZED (
            SELECT h.search_id, max(CASE WHEN h.used THEN 1.0::double precision / h.rank ELSE 0 END) AS best
            FROM span p CROSS JOIN LATERAL recall_private.used_hits(v_tenant, p.since, 100000) h
            WHERE p.since IS NOT NULL GROUP BY h.search_id
        ), session AS MATERIALIZED (
            SELECT s.arm, s.session_id, count(*) AS searches,
                   avg(CASE WHEN o.best > 0 THEN 1 ELSE 0 END)::double precision AS share,
                   avg(coalesce(o.best, 0))::double precision AS best
            FROM search s LEFT JOIN outcome o ON o.search_id = s.id GROUP BY s.arm, s.session_id
        ), arm AS MATERIALIZED (
            SELECT a.name, a.place, count(s.session_id) AS sessions, coalesce(sum(s.searches), 0) AS searches,
                   count(*) FILTER (WHERE s.share > 0) AS used, avg(s.share) AS share, avg(s.best) AS reciprocal_rank,
                   ARRAY(SELECT DISTINCT w.arm_weight FROM search w WHERE w.arm = a.name ORDER BY 1) AS weights
            FROM unnest(recall_private.experiment_arms()) WITH ORDINALITY a(name, place)
            LEFT JOIN session s ON s.arm = a.name GROUP BY a.name, a.place
        ), refusal AS MATERIALIZED (
            SELECT CASE WHEN v_number IS NULL OR v_number <> v_running AND NOT EXISTS (SELECT FROM newest) THEN 'no_experiment'
                        WHEN bool_or(cardinality(a.weights) > 1) THEN 'weights_changed'
                        -- Chi-square with two degrees of freedom: p = exp(-x / 2).
                        WHEN sum(a.sessions) > 0 AND exp(-sum((a.sessions - e.mean) ^ 2 / e.mean) / 2) < 0.001 THEN 'unequal'
                        WHEN min(a.sessions) < v_needed THEN 'too_few'
                        WHEN sum(a.used) = 0 THEN 'no_use' END AS reason
            FROM arm a CROSS JOIN (
                SELECT nullif(sum(x.sessions), 0)::double precision / count(*) AS mean FROM arm x) e
        ), compared AS (
            SELECT a.name, a.place, a.share - d.share AS difference,
                   a.share - d.share - sqrt((a.share - i.low) ^ 2 + (j.high - d.share) ^ 2) AS low,
                   a.share - d.share + sqrt((i.high - a.share) ^ 2 + (d.share - j.low) ^ 2) AS high
            FROM arm a JOIN arm d ON d.name = 'default'
            CROSS JOIN LATERAL recall_private.share_interval(a.share, a.sessions, 5.023886187314888) i
            CROSS JOIN LATERAL recall_private.share_interval(d.share, d.sessions, 5.023886187314888) j
            WHERE a.name <> 'default' AND a.sessions > 0 AND d.sessions > 0
        )
        SELECT jsonb_build_object(
            'number', v_number, 'running', coalesce(v_number = v_running, false), 'needed', v_needed,
            'since', p.since, 'until', p.until, 'refused', r.reason,
            'missing', (SELECT sum(greatest(v_needed - a.sessions, 0)) FROM arm a),
            -- Searches between the first and the last of the experiment that no arm has: they had no session, the caller
            -- chose the weight, or their session has two arms.
            'without_session', (
                SELECT count(*) FROM recall.search_log l
                WHERE l.tenant = v_tenant AND l.at BETWEEN p.since AND p.until AND l.arm IS NULL AND l.session_id IS NULL),
            'not_assigned', (
                SELECT count(*) FROM recall.search_log l
                WHERE l.tenant = v_tenant AND l.at BETWEEN p.since AND p.until AND l.arm IS NULL
                  AND l.session_id IS NOT NULL) + (SELECT count(*) FROM newest) - (SELECT count(*) FROM search),
            'arms', (
                SELECT jsonb_agg(jsonb_build_object(
                    'arm', a.name, 'weights', to_jsonb(a.weights), 'sessions', a.sessions, 'searches', a.searches,
                    'used', a.used, 'share', a.share, 'low', i.low, 'high', i.high,
                    'reciprocal_rank', a.reciprocal_rank) ORDER BY a.place)
                FROM arm a LEFT JOIN LATERAL recall_private.share_interval(a.share, a.sessions, 3.841458820694124) i ON true),
            'differences', (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'arm', c.name, 'difference', c.difference, 'low', c.low, 'high', c.high,
                    'verdict', CASE WHEN r.reason IS NOT NULL THEN NULL WHEN c.low > 0 THEN 'better'
                                    WHEN c.high < 0 THEN 'worse' ELSE 'no_difference' END) ORDER BY c.place), '[]')
                FROM compared c))
        FROM span p CROSS JOIN refusal r);
END $$;
