-- The fold: from the log to the summaries. A summary is a function of the set of logged accesses: those of a
-- burst count once, weights gather in time order, and each whole unit is one access at the time it was reached.
-- Later accesses are added to the summary; an access that is not later than all that is in it makes the
-- summary be computed anew from the log. So folding the same access twice, or in any order, changes nothing.

-- millionths: a weight as an integer, in which weights add up exactly.
CREATE OR REPLACE FUNCTION recall.millionths(p_weight double precision) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(p_weight * 1000000)::int;

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
    WITH event AS (
        SELECT d.id AS memory, d.after, d.credit, e.id, e.at,
               CASE WHEN e.session_id IS NULL OR coalesce(lag(e.at) OVER (
                       PARTITION BY d.id, e.session_id, e.kind ORDER BY e.at, e.id) <= e.at - v_burst, true)
                   THEN recall.millionths(e.weight) ELSE 0 END AS weight
        FROM unnest(p_ids, p_after, p_until, p_credits) d(id, after, until, credit)
        CROSS JOIN LATERAL (
            SELECT x.id, x.at, x.weight, x.session_id, x.kind FROM recall.access x
            WHERE x.tenant = p_tenant AND x.memory_id = d.id
              AND x.at > d.after - v_burst AND x.at <= d.until
              -- Nothing is logged before it happens, give or take the clocks: older partitions need no look.
              AND x.recorded_at > least(d.after - v_burst, now()) - interval '1 hour') e
    ), summed AS (
        SELECT v.memory, v.at, v.id, v.weight,
               v.credit + sum(v.weight) OVER (
                   PARTITION BY v.memory ORDER BY v.at, v.id ROWS UNBOUNDED PRECEDING) AS sum,
               v.credit + sum(v.weight) OVER (PARTITION BY v.memory) AS total
        FROM event v WHERE v.at > v.after
    ), unit AS (
        SELECT s.memory, s.at, s.id, s.total, s.sum / 1000000 - (s.sum - s.weight) / 1000000 AS units,
               s.total / 1000000 - s.sum / 1000000 AS later
        FROM summed s
    )
    SELECT u.memory, max(u.total) / 1000000, recall.epoch(min(u.at) FILTER (WHERE u.units > 0)),
           coalesce(array_agg(recall.epoch(u.at) ORDER BY u.at DESC, u.id DESC)
                        FILTER (WHERE r.turn IS NOT NULL), '{}'),
           max(u.total) % 1000000 / 1000000.0::double precision, max(u.at)
    FROM unit u
    LEFT JOIN LATERAL generate_series(1, least(u.units, 8 - u.later)) r(turn) ON true
    GROUP BY u.memory;
END $$;

-- fold_memories: brings the summaries of these memories up to the log, given since when each has accesses that
-- may not be in it, whatever is older having its own turn; looks at accesses until p_until. The caller has locked
-- their activations. Returns how many summaries changed.
CREATE OR REPLACE FUNCTION recall.fold_memories(
    p_tenant text, p_ids bigint[], p_since timestamptz[], p_until timestamptz DEFAULT 'infinity'
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_part record;
    v_changed bigint := 0;
BEGIN
    FOR v_part IN
        SELECT d.anew, array_agg(d.memory_id) AS ids,
               array_agg(CASE WHEN d.anew THEN '-infinity'
                              ELSE greatest(d.folded_until, d.since - interval '1 microsecond') END) AS after,
               array_agg(greatest(d.folded_until, p_until)) AS until,
               array_agg(CASE WHEN d.anew THEN 0 ELSE recall.millionths(d.credit) END) AS credits
        FROM (
            SELECT a.memory_id, a.folded_until, a.credit, s.since, s.since <= a.folded_until AS anew
            FROM (SELECT u.id, min(u.since) AS since FROM unnest(p_ids, p_since) u(id, since) GROUP BY u.id) s
            JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = s.id
            ORDER BY anew, a.memory_id) d
        GROUP BY d.anew
    LOOP
        v_changed := v_changed + recall.fold_part(
            p_tenant, v_part.ids, v_part.after, v_part.until, v_part.credits, v_part.anew);
    END LOOP;
    RETURN v_changed;
END $$;

-- fold_part: gathers for these memories, and adds what there is to their summaries or, anew, puts it in their
-- place. Returns how many summaries changed.
CREATE OR REPLACE FUNCTION recall.fold_part(
    p_tenant text, p_ids bigint[], p_after timestamptz[], p_until timestamptz[], p_credits int[], p_anew boolean
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_changed bigint;
BEGIN
    -- Kept as it is computed: the times would else be put together again for each column.
    WITH state AS MATERIALIZED (
        SELECT a.memory_id,
               CASE WHEN p_anew THEN g.units ELSE a.n + g.units END AS n,
               CASE WHEN p_anew THEN g.first_at ELSE least(a.first_at, g.first_at) END AS first_at,
               CASE WHEN p_anew THEN g.newest
                    ELSE g.newest || ARRAY[a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8] END AS newest,
               g.credit, greatest(a.folded_until, g.reached) AS folded_until
        FROM recall.gather(p_tenant, p_ids, p_after, p_until, p_credits) g
        JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = g.memory_id
        -- A log that holds nothing whole of a memory, as after a partial restore, leaves its summary alone.
        WHERE NOT p_anew OR g.units > 0
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
    v_taken bigint[];
    v_searches bigint;
    v_ids bigint[];
    v_since timestamptz[];
    v_until timestamptz;
    v_there bigint;
    v_gone bigint[];
BEGIN
    v_taken := ARRAY(
        SELECT q.id FROM recall.access_queue q
        WHERE q.tenant = v_tenant ORDER BY q.id LIMIT recall.at_most(p_limit) FOR UPDATE SKIP LOCKED);
    WITH taken AS (
        DELETE FROM recall.access_queue q
        WHERE q.tenant = v_tenant AND q.id = ANY (v_taken)
        RETURNING q.memory_ids, q.at
    ), due AS (
        SELECT u.id, min(t.at) AS since FROM taken t, unnest(t.memory_ids) u(id) GROUP BY u.id
    )
    SELECT array_agg(d.id), array_agg(d.since), (SELECT count(*) FROM taken), (SELECT max(t.at) FROM taken t)
    INTO v_ids, v_since, v_searches, v_until FROM due d;
    IF v_searches > 0 THEN
        PERFORM FROM recall.activation a
        WHERE a.tenant = v_tenant AND a.memory_id = ANY (v_ids) ORDER BY a.memory_id FOR UPDATE;
        GET DIAGNOSTICS v_there = ROW_COUNT;
        -- Not beyond them: accesses of the next searches would be in before their turn, and seem late then.
        PERFORM recall.fold_memories(v_tenant, v_ids, v_since, v_until);
        -- What a search showed at the moment in which it was forgotten for good leaves no trace either.
        IF v_there < cardinality(v_ids) THEN
            v_gone := ARRAY(
                SELECT u.id FROM unnest(v_ids) u(id) WHERE NOT EXISTS (
                    SELECT FROM recall.activation a WHERE a.tenant = v_tenant AND a.memory_id = u.id));
            PERFORM recall.unlog_memories(v_tenant, v_gone);
        END IF;
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
    -- Before their activations, for what changes twice in a transaction has its key checked, and that locks them.
    PERFORM FROM recall.memory m
    WHERE m.tenant = v_tenant AND (p_memory_ids IS NULL OR m.id = ANY (p_memory_ids)) ORDER BY m.id FOR KEY SHARE;
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
