-- The fold: from the log to the summaries. A summary is a function of the set of logged accesses: those of a
-- burst count once, weights gather in time order, and each whole unit is one access at the time it was reached.
-- Later accesses are added to the summary; an access that is not later than all that is in it makes the
-- summary be computed anew from the log. So folding the same access twice, or in any order, changes nothing.

-- millionths: a weight as an integer, in which weights add up exactly.
CREATE OR REPLACE FUNCTION recall.millionths(p_weight double precision) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(p_weight * 1000000)::int;

-- newest_eight: the eight largest of these times, newest first.
CREATE OR REPLACE FUNCTION recall.newest_eight(p_times double precision[]) RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
RETURN ARRAY(SELECT t FROM unnest(p_times) t WHERE t IS NOT NULL ORDER BY t DESC LIMIT 8);

-- gather: what the log adds up to for each of these memories, from accesses later than p_after[i] until
-- p_until[i], given the credit (in millionths) carried over from before: the accesses they make, the first and
-- the eight newest of these, the credit left over, and the time of the last event looked at.
CREATE OR REPLACE FUNCTION recall.gather(
    p_tenant text, p_ids bigint[], p_after timestamptz[], p_until timestamptz[], p_credits int[]
) RETURNS TABLE (
    memory_id bigint, units bigint, first_at double precision, newest double precision[],
    credit double precision, reached timestamptz
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_burst interval := recall.burst(p_tenant);
BEGIN
    RETURN QUERY
    WITH event AS MATERIALIZED (
        SELECT d.id AS memory, d.after, d.credit, e.id, e.at, recall.millionths(e.weight) AS weight,
               e.session_id IS NULL OR coalesce(lag(e.at) OVER (
                   PARTITION BY d.id, e.session_id, e.kind ORDER BY e.at, e.id) <= e.at - v_burst, true)
                   AS counts
        FROM unnest(p_ids, p_after, p_until, p_credits) d(id, after, until, credit)
        CROSS JOIN LATERAL (
            SELECT x.id, x.at, x.weight, x.session_id, x.kind FROM recall.access x
            WHERE x.tenant = p_tenant AND x.memory_id = d.id
              AND x.at > d.after - v_burst AND x.at <= d.until) e
    ), summed AS (
        SELECT v.memory, v.at, v.id, v.weight,
               v.credit + sum(v.weight) OVER (PARTITION BY v.memory ORDER BY v.at, v.id) AS sum
        FROM event v WHERE v.counts AND v.at > v.after AND v.weight > 0
    ), unit AS (
        SELECT s.memory, recall.epoch(s.at) AS at, s.sum, s.sum / 1000000 - (s.sum - s.weight) / 1000000 AS units,
               row_number() OVER (PARTITION BY s.memory ORDER BY s.at DESC, s.id DESC) AS place
        FROM summed s
    ), repeated AS (
        SELECT u.memory, u.at, row_number() OVER (PARTITION BY u.memory ORDER BY u.place) AS place
        FROM unit u CROSS JOIN LATERAL generate_series(1, least(u.units, 8))
    ), recent AS (
        SELECT r.memory, array_agg(r.at ORDER BY r.place) AS times
        FROM repeated r WHERE r.place <= 8 GROUP BY r.memory
    ), total AS (
        SELECT u.memory, sum(u.units)::bigint AS units, min(u.at) FILTER (WHERE u.units > 0) AS first_at,
               max(u.sum) % 1000000 / 1000000.0::double precision AS credit
        FROM unit u GROUP BY u.memory
    ), seen AS (
        SELECT v.memory, max(v.at) AS reached FROM event v WHERE v.at > v.after GROUP BY v.memory
    )
    SELECT s.memory, coalesce(t.units, 0), t.first_at, coalesce(r.times, '{}'), t.credit, s.reached
    FROM seen s
    LEFT JOIN total t ON t.memory = s.memory
    LEFT JOIN recent r ON r.memory = s.memory;
END $$;

-- fold_memories: brings the summaries of these memories up to the log, given since when each has accesses that
-- may not be in it; looks at accesses until p_until. The caller has locked their activations. Returns how many
-- summaries changed.
CREATE OR REPLACE FUNCTION recall.fold_memories(
    p_tenant text, p_ids bigint[], p_since timestamptz[], p_until timestamptz DEFAULT 'infinity'
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_ids bigint[];
    v_after timestamptz[];
    v_until timestamptz[];
    v_credits int[];
    v_changed bigint;
BEGIN
    SELECT array_agg(a.memory_id), array_agg(CASE WHEN s.anew THEN '-infinity' ELSE a.folded_until END),
           array_agg(greatest(a.folded_until, p_until)),
           array_agg(CASE WHEN s.anew THEN 0 ELSE recall.millionths(a.credit) END)
    INTO v_ids, v_after, v_until, v_credits
    FROM (SELECT u.id, min(u.since) AS since FROM unnest(p_ids, p_since) u(id, since) GROUP BY u.id) d
    JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = d.id
    CROSS JOIN LATERAL (SELECT d.since <= a.folded_until AS anew) s;
    WITH state AS (
        SELECT a.memory_id,
               CASE WHEN d.anew THEN g.units ELSE a.n + g.units END AS n,
               CASE WHEN d.anew THEN g.first_at ELSE least(a.first_at, g.first_at) END AS first_at,
               CASE WHEN d.anew THEN g.newest ELSE recall.newest_eight(
                   g.newest || ARRAY[a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8]) END AS newest,
               coalesce(g.credit, a.credit) AS credit, greatest(a.folded_until, g.reached) AS folded_until
        FROM recall.gather(p_tenant, v_ids, v_after, v_until, v_credits) g
        JOIN unnest(v_ids, v_after) w(id, after) ON w.id = g.memory_id
        CROSS JOIN LATERAL (SELECT w.after = '-infinity' AS anew) d
        JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = g.memory_id
        -- A log that holds nothing whole of a memory, as after a partial restore, leaves its summary alone.
        WHERE NOT d.anew OR g.units > 0
    ), changed AS (
        UPDATE recall.activation a
        SET n = s.n, first_at = s.first_at, credit = s.credit, folded_until = s.folded_until,
            t1 = s.newest[1], t2 = s.newest[2], t3 = s.newest[3], t4 = s.newest[4],
            t5 = s.newest[5], t6 = s.newest[6], t7 = s.newest[7], t8 = s.newest[8]
        FROM state s
        WHERE a.tenant = p_tenant AND a.memory_id = s.memory_id
          AND (a.n, a.first_at, a.credit, a.folded_until, a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8)
              IS DISTINCT FROM
              (s.n, s.first_at, s.credit, s.folded_until, s.newest[1], s.newest[2], s.newest[3], s.newest[4],
               s.newest[5], s.newest[6], s.newest[7], s.newest[8])
        RETURNING 1
    )
    SELECT count(*) INTO v_changed FROM changed;
    RETURN v_changed;
END $$;

-- fold_accesses: folds what searches have logged, up to p_limit searches; returns how many, 0 when none are
-- left. Several workers may call it at once: each takes other searches.
CREATE OR REPLACE FUNCTION recall.fold_accesses(p_limit int DEFAULT 1000) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_searches bigint;
    v_ids bigint[];
    v_since timestamptz[];
    v_until timestamptz;
BEGIN
    WITH oldest AS MATERIALIZED (
        SELECT q.id FROM recall.access_queue q
        WHERE q.tenant = v_tenant ORDER BY q.id LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), taken AS (
        DELETE FROM recall.access_queue q USING oldest o
        WHERE q.tenant = v_tenant AND q.id = o.id
        RETURNING q.memory_ids, q.at
    ), due AS (
        SELECT u.id, min(t.at) AS since FROM taken t, unnest(t.memory_ids) u(id) GROUP BY u.id
    )
    SELECT array_agg(d.id), array_agg(d.since), (SELECT count(*) FROM taken), (SELECT max(t.at) FROM taken t)
    INTO v_ids, v_since, v_searches, v_until FROM due d;
    IF v_searches > 0 THEN
        PERFORM FROM recall.activation a
        WHERE a.tenant = v_tenant AND a.memory_id = ANY (v_ids) ORDER BY a.memory_id FOR UPDATE;
        -- Not beyond them: accesses of the next searches would be in before their turn, and seem late then.
        PERFORM recall.fold_memories(v_tenant, v_ids, v_since, v_until);
    END IF;
    RETURN v_searches;
END $$;

-- rebuild: computes the summaries of these memories (NULL: of all) anew from the log: accesses, spreading and
-- links; returns how many were not what the log says. A database in order answers 0.
CREATE OR REPLACE FUNCTION recall.rebuild(p_memory_ids bigint[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[];
    v_changed bigint;
BEGIN
    v_ids := ARRAY(
        SELECT a.memory_id FROM recall.activation a
        WHERE a.tenant = v_tenant AND (p_memory_ids IS NULL OR a.memory_id = ANY (p_memory_ids))
        ORDER BY a.memory_id FOR UPDATE);
    v_changed := recall.fold_memories(
        v_tenant, v_ids, array_fill('-infinity'::timestamptz, ARRAY[cardinality(v_ids)]));
    v_changed := v_changed + recall.rebuild_spread(v_tenant, v_ids);
    PERFORM recall.recount_links(v_tenant, v_ids);
    RETURN v_changed;
END $$;
