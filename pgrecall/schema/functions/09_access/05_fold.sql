-- The fold: computing the summaries from the log. A summary depends only on the set of logged accesses: a burst counts
-- once, weights are added in the order of time, and every whole unit is one access at the time at which it was reached.
-- Later accesses are added to the summary. If an access is not later than all those in the summary, the summary is
-- recomputed from the log. So folding an access twice, or in any order, gives the same result.

-- weight_in_millionths: a weight as an integer, so that sums of weights are exact.
CREATE OR REPLACE FUNCTION recall_private.weight_in_millionths(p_weight double precision) RETURNS int
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round(p_weight * 1000000)::int;

-- summarize_accesses: the summary of the log for each of these memories, from accesses later than p_after[i] until
-- p_until[i], with the credit (in millionths) carried over from before: the number of whole units, the times of the first
-- and the eight newest of them, the remaining credit, and the time of the last access.
CREATE OR REPLACE FUNCTION recall_private.summarize_accesses(
    p_tenant text, p_ids bigint[], p_after timestamptz[], p_until timestamptz[], p_credits int[]
) RETURNS TABLE (
    memory_id bigint, units bigint, first_at double precision, newest double precision[],
    credit double precision, reached timestamptz
)
LANGUAGE plpgsql STABLE ROWS 20
-- The plan must not depend on the server's setting, which is often meant for slow disks.
SET random_page_cost = 1.1 AS $$
DECLARE
    v_burst interval := recall_private.burst_window(p_tenant);
    v_from timestamptz := (SELECT min(u) FROM unnest(p_after) u) - v_burst;
    v_to timestamptz := (SELECT max(u) FROM unnest(p_until) u);
    -- Apart from clock differences, an access is not recorded before it happens, so older partitions can be skipped.
    v_recorded timestamptz := least(v_from, now()) - interval '1 hour';
BEGIN
    RETURN QUERY
    WITH event AS (
        SELECT d.id AS memory, d.after, d.credit, x.id, x.at,
               CASE WHEN x.session_id IS NULL OR coalesce(lag(x.at) OVER (
                       PARTITION BY d.id, x.session_id, x.kind ORDER BY x.at, x.id) <= x.at - v_burst, true)
                   THEN recall_private.weight_in_millionths(x.weight) ELSE 0 END AS weight
        FROM unnest(p_ids, p_after, p_until, p_credits) d(id, after, until, credit)
        JOIN recall.access x ON x.tenant = p_tenant AND x.memory_id = d.id
            AND x.at > d.after - v_burst AND x.at <= d.until
        -- Common bounds, for plans that do not look up the log by memory.
        WHERE x.at > v_from AND x.at <= v_to AND x.recorded_at > v_recorded
    ), summed AS (
        SELECT v.memory, v.at, v.weight, v.credit + sum(v.weight) OVER upto AS sum,
               lead(v.id) OVER upto IS NULL AS last
        FROM event v WHERE v.at > v.after
        WINDOW upto AS (PARTITION BY v.memory ORDER BY v.at, v.id ROWS UNBOUNDED PRECEDING)
    ), unit AS (
        -- Only few events complete a unit. The last event has the remaining credit.
        SELECT s.memory, s.at, s.sum, s.sum / 1000000 - (s.sum - s.weight) / 1000000 AS units,
               max(s.sum) OVER (PARTITION BY s.memory) / 1000000 - s.sum / 1000000 AS later
        FROM summed s WHERE s.last OR s.sum / 1000000 > (s.sum - s.weight) / 1000000
    ), summary AS (
        SELECT u.memory, max(u.sum) AS sum, min(u.at) FILTER (WHERE u.units > 0) AS first_at, max(u.at) AS reached,
               -- The j-th newest unit belongs to the event after which fewer than j units follow.
               max(u.at) FILTER (WHERE u.later < 1 AND u.later + u.units >= 1) AS t1,
               max(u.at) FILTER (WHERE u.later < 2 AND u.later + u.units >= 2) AS t2,
               max(u.at) FILTER (WHERE u.later < 3 AND u.later + u.units >= 3) AS t3,
               max(u.at) FILTER (WHERE u.later < 4 AND u.later + u.units >= 4) AS t4,
               max(u.at) FILTER (WHERE u.later < 5 AND u.later + u.units >= 5) AS t5,
               max(u.at) FILTER (WHERE u.later < 6 AND u.later + u.units >= 6) AS t6,
               max(u.at) FILTER (WHERE u.later < 7 AND u.later + u.units >= 7) AS t7,
               max(u.at) FILTER (WHERE u.later < 8 AND u.later + u.units >= 8) AS t8
        FROM unit u GROUP BY u.memory
    )
    SELECT t.memory, t.sum / 1000000, recall_private.epoch(t.first_at),
           CASE WHEN t.t1 IS NOT NULL THEN array_remove(ARRAY[
               recall_private.epoch(t.t1), recall_private.epoch(t.t2), recall_private.epoch(t.t3), recall_private.epoch(t.t4),
               recall_private.epoch(t.t5), recall_private.epoch(t.t6), recall_private.epoch(t.t7), recall_private.epoch(t.t8)], NULL) ELSE '{}' END,
           t.sum % 1000000 / 1000000.0::double precision, t.reached
    FROM summary t;
END $$;

-- fold_memories: folds the logged accesses of these distinct memories until p_until into their summaries. p_since has,
-- for each memory, the time from which accesses may be missing in its summary; older ones are folded by other calls.
-- Locks the activations in the order of their ids, so a caller that also locks others must do so before. Returns how many
-- changed.
CREATE OR REPLACE FUNCTION recall_private.fold_memories(
    p_tenant text, p_ids bigint[], p_since timestamptz[], p_until timestamptz DEFAULT 'infinity'
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_part record;
    v_changed bigint := 0;
BEGIN
    FOR v_part IN
        SELECT d.from_log, array_agg(d.memory_id) AS ids,
               array_agg(CASE WHEN d.from_log THEN '-infinity'
                              ELSE greatest(d.folded_until, d.since - interval '1 microsecond') END) AS after,
               array_agg(greatest(d.folded_until, p_until)) AS until,
               array_agg(CASE WHEN d.from_log THEN 0 ELSE recall_private.weight_in_millionths(d.credit) END) AS credits,
               CASE WHEN d.from_log THEN '-infinity' ELSE min(d.since) END AS since
        FROM (
            SELECT a.memory_id, a.folded_until, a.credit, s.since, s.since <= a.folded_until AS from_log
            FROM unnest(p_ids, p_since) s(id, since)
            JOIN recall.activation a ON a.tenant = p_tenant AND a.memory_id = s.id
            ORDER BY a.memory_id FOR UPDATE OF a) d
        GROUP BY d.from_log
    LOOP
        v_changed := v_changed + CASE
            WHEN cardinality(v_part.ids) >= 2000 AND recall_private.is_scan_cheaper(cardinality(v_part.ids), v_part.since)
            THEN recall_private.fold_by_scan(p_tenant, v_part.ids, v_part.after, v_part.until, v_part.credits, v_part.from_log)
            ELSE recall_private.fold_by_index(p_tenant, v_part.ids, v_part.after, v_part.until, v_part.credits, v_part.from_log)
            END;
    END LOOP;
    RETURN v_changed;
END $$;

-- is_scan_cheaper: whether the accesses of p_memories memories since p_since are found faster by a scan of the log than
-- by index. An index probe takes about as long as reading a hundred rows.
CREATE OR REPLACE FUNCTION recall_private.is_scan_cheaper(p_memories int, p_since timestamptz) RETURNS boolean
LANGUAGE sql STABLE
SET timezone = 'UTC'
RETURN 100::bigint * p_memories > (
    -- In the order of names, where the default partition comes last. A row has about a hundred bytes.
    SELECT sum(pg_relation_size(c.oid)) / 100 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'recall.access'::regclass
      AND c.relname >= 'access_' || to_char(greatest(p_since, 'epoch') - interval '1 day', 'YYYY_MM')
);

-- fold_by_index: fold_batch for few memories: each is looked up in the log, with a cached plan.
CREATE OR REPLACE FUNCTION recall_private.fold_by_index(
    p_tenant text, p_ids bigint[], p_after timestamptz[], p_until timestamptz[], p_credits int[], p_from_log boolean
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN recall_private.fold_batch(p_tenant, p_ids, p_after, p_until, p_credits, p_from_log);
END $$;

-- fold_by_scan: fold_batch for many memories: a single scan of the log of that time is joined with them. Nested loops
-- are off, because the planner may not know yet how many rows the last hours have.
CREATE OR REPLACE FUNCTION recall_private.fold_by_scan(
    p_tenant text, p_ids bigint[], p_after timestamptz[], p_until timestamptz[], p_credits int[], p_from_log boolean
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET plan_cache_mode = force_custom_plan
SET enable_nestloop = off
SET work_mem = '64MB' AS $$
BEGIN
    RETURN recall_private.fold_batch(p_tenant, p_ids, p_after, p_until, p_credits, p_from_log);
END $$;

-- nth_newest: the time at this place in the list of p_newest followed by the times in the summary.
CREATE OR REPLACE FUNCTION recall_private.nth_newest(p_place int, p_newest double precision[], a recall.activation)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_place <= cardinality(p_newest) THEN p_newest[p_place]
    ELSE (ARRAY[a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8])[p_place - cardinality(p_newest)] END;

-- fold_batch: summarizes the log for these memories and adds the result to their summaries or, with p_from_log, replaces
-- them. Returns how many summaries changed.
CREATE OR REPLACE FUNCTION recall_private.fold_batch(
    p_tenant text, p_ids bigint[], p_after timestamptz[], p_until timestamptz[], p_credits int[], p_from_log boolean
) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_changed bigint;
BEGIN
    IF p_from_log THEN
        UPDATE recall.activation a
        SET n = g.units, first_at = g.first_at, credit = g.credit, folded_until = greatest(a.folded_until, g.reached),
            t1 = g.newest[1], t2 = g.newest[2], t3 = g.newest[3], t4 = g.newest[4],
            t5 = g.newest[5], t6 = g.newest[6], t7 = g.newest[7], t8 = g.newest[8]
        FROM recall_private.summarize_accesses(p_tenant, p_ids, p_after, p_until, p_credits) g
        WHERE a.tenant = p_tenant AND a.memory_id = g.memory_id
          -- A memory without a whole unit in the log, as after a partial restore, keeps its summary.
          AND g.units > 0
          AND (a.n, a.first_at, a.credit, a.folded_until, a.t1, a.t2, a.t3, a.t4, a.t5, a.t6, a.t7, a.t8)
              IS DISTINCT FROM
              (g.units, g.first_at, g.credit, greatest(a.folded_until, g.reached), g.newest[1], g.newest[2],
               g.newest[3], g.newest[4], g.newest[5], g.newest[6], g.newest[7], g.newest[8]);
    ELSE
        UPDATE recall.activation a
        SET n = a.n + g.units, first_at = least(a.first_at, g.first_at), credit = g.credit,
            folded_until = greatest(a.folded_until, g.reached),
            -- Most events complete no unit and do not change the times.
            t1 = CASE WHEN g.units = 0 THEN a.t1 ELSE recall_private.nth_newest(1, g.newest, a) END,
            t2 = CASE WHEN g.units = 0 THEN a.t2 ELSE recall_private.nth_newest(2, g.newest, a) END,
            t3 = CASE WHEN g.units = 0 THEN a.t3 ELSE recall_private.nth_newest(3, g.newest, a) END,
            t4 = CASE WHEN g.units = 0 THEN a.t4 ELSE recall_private.nth_newest(4, g.newest, a) END,
            t5 = CASE WHEN g.units = 0 THEN a.t5 ELSE recall_private.nth_newest(5, g.newest, a) END,
            t6 = CASE WHEN g.units = 0 THEN a.t6 ELSE recall_private.nth_newest(6, g.newest, a) END,
            t7 = CASE WHEN g.units = 0 THEN a.t7 ELSE recall_private.nth_newest(7, g.newest, a) END,
            t8 = CASE WHEN g.units = 0 THEN a.t8 ELSE recall_private.nth_newest(8, g.newest, a) END
        FROM recall_private.summarize_accesses(p_tenant, p_ids, p_after, p_until, p_credits) g
        WHERE a.tenant = p_tenant AND a.memory_id = g.memory_id;
    END IF;
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    RETURN v_changed;
END $$;

-- fold_accesses (app; Jobs and maintenance): folds the retrievals logged by up to p_limit searches. Returns the number
-- of searches, 0 if none are left. Several workers may call it at once; each takes different searches.
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
    v_changed bigint;
    v_gone bigint[];
BEGIN
    v_taken := ARRAY(
        SELECT q.id FROM recall.access_queue q
        WHERE q.tenant = v_tenant ORDER BY q.id LIMIT recall_private.require_limit(p_limit) FOR UPDATE SKIP LOCKED);
    WITH taken AS (
        DELETE FROM recall.access_queue q
        WHERE q.tenant = v_tenant AND q.id = ANY (v_taken)
        RETURNING q.memory_ids, q.at
    ), due AS (
        SELECT s.id, min(s.at) AS since FROM (SELECT unnest(t.memory_ids) AS id, t.at FROM taken t) s GROUP BY s.id
    )
    SELECT array_agg(d.id), array_agg(d.since), (SELECT count(*) FROM taken), (SELECT max(t.at) FROM taken t)
    INTO v_ids, v_since, v_searches, v_until FROM due d;
    IF v_searches > 0 THEN
        -- Only until the last of these searches: later accesses would be folded too early, and then look late.
        v_changed := recall_private.fold_memories(v_tenant, v_ids, v_since, v_until);
        -- A memory that was deleted while a search showed it must leave no trace.
        IF v_changed < cardinality(v_ids) THEN
            v_gone := ARRAY(
                SELECT u.id FROM unnest(v_ids) u(id) WHERE NOT EXISTS (
                    SELECT FROM recall.activation a WHERE a.tenant = v_tenant AND a.memory_id = u.id));
            IF cardinality(v_gone) > 0 THEN
                PERFORM recall_private.delete_from_logs(v_tenant, v_gone);
            END IF;
        END IF;
    END IF;
    RETURN v_searches;
END $$;

-- rebuild (app; Jobs and maintenance): recomputes the summaries of these memories (NULL means all) from the log:
-- accesses, spreading and links. What a memory says is found out again too, unless somebody marked it: an upgrade may
-- know more words. Returns how many were wrong: 0 for a consistent database in which no access waits to be folded.
CREATE OR REPLACE FUNCTION recall.rebuild(p_memory_ids bigint[] DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_ids bigint[];
    v_misread bigint[];
    v_changed bigint;
BEGIN
    PERFORM recall_private.analyze_grown_tables(coalesce(cardinality(p_memory_ids), 100));
    -- One condition for all and for some memories would make a plan that reads the whole tables for some.
    v_ids := coalesce(p_memory_ids, ARRAY(SELECT m.id FROM recall.memory m WHERE m.tenant = v_tenant));
    v_misread := ARRAY(
        SELECT m.id FROM recall.memory m
        WHERE m.tenant = v_tenant AND m.id = ANY (v_ids) AND NOT m.act_marked
          AND m.speech_act IS DISTINCT FROM recall_private.found_speech_act(m.title, m.body, m.role));
    -- Memories before activations: a second change of a row in a transaction checks its key, which locks the memory. All
    -- are locked alike, in order: a stronger lock of some, after those of all, could deadlock.
    IF v_misread = '{}' THEN
        PERFORM FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = ANY (v_ids) ORDER BY m.id FOR KEY SHARE;
    ELSE
        PERFORM FROM recall.memory m WHERE m.tenant = v_tenant AND m.id = ANY (v_ids) ORDER BY m.id FOR NO KEY UPDATE;
        UPDATE recall.memory m SET speech_act = recall_private.found_speech_act(m.title, m.body, m.role)
        WHERE m.tenant = v_tenant AND m.id = ANY (v_misread) AND NOT m.act_marked;
    END IF;
    v_ids := ARRAY(
        SELECT a.memory_id FROM recall.activation a
        WHERE a.tenant = v_tenant AND a.memory_id = ANY (v_ids) ORDER BY a.memory_id FOR UPDATE);
    v_changed := recall_private.fold_memories(
        v_tenant, v_ids, array_fill('-infinity'::timestamptz, ARRAY[cardinality(v_ids)]));
    v_changed := v_changed + recall_private.rebuild_spread(v_tenant, v_ids);
    PERFORM recall_private.recount_links(v_tenant, v_ids);
    RETURN v_changed + cardinality(v_misread);
END $$;
