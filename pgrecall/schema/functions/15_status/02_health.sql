-- Health: whether accesses arrive, vitality distinguishes memories, and maintenance keeps up. Vitality is computed
-- exactly, in one pass over the activations: about four microseconds a memory with all counts, or a second for
-- 200,000. A cached column would save little and would be out of date.

-- health_figures: counts from one pass over this tenant's memories at p_now. `never_used` counts live memories that
-- were at most stored and shown; `grown` those at least a day old, whose vitality has had time to differ;
-- `low` and `high` are the activations S at the 5th and 95th percentile of the live memories.
CREATE OR REPLACE FUNCTION recall_private.health_figures(
    p_tenant text, p_now timestamptz,
    OUT memories bigint, OUT archived bigint, OUT never_used bigint, OUT grown bigint,
    OUT low double precision, OUT high double precision, OUT layers jsonb, OUT zones text[],
    OUT last_access_at timestamptz
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_weights recall.weights := recall_private.vitality_weights(p_tenant);
    v_now double precision := recall_private.epoch(p_now);
    v_bounds double precision[];
BEGIN
    WITH known AS MATERIALIZED (
        SELECT m.layer, s.activation, m.archived_at IS NULL AS live, u.memory_id IS NULL AS unused,
               a.first_at <= v_now - 86400 AS grown,
               -- Retrievals also move folded_until, even before they add up to a whole access.
               CASE WHEN recall_private.epoch(a.folded_until) > a.first_at THEN a.folded_until END AS accessed_at,
               recall_private.zone_of(recall_private.retention_of(
                   s.activation / (1 + s.activation), a.protected OR m.pinned, v_weights), l) AS zone
        FROM recall.memory m
        JOIN recall.activation a ON a.tenant = m.tenant AND a.memory_id = m.id
        JOIN recall_private.effective_layers(p_tenant) l ON l.name = m.layer
        LEFT JOIN recall_private.used_memories(p_tenant) u ON u.memory_id = m.id
        CROSS JOIN LATERAL (
            SELECT CASE WHEN m.archived_at IS NULL
                   THEN recall_private.activation_sum(a, v_weights, v_now) END AS activation OFFSET 0) s
        WHERE m.tenant = p_tenant
    ), zoned AS MATERIALIZED (
        SELECT k.layer, k.zone, count(*) AS memories FROM known k WHERE k.live GROUP BY k.layer, k.zone
    )
    SELECT count(*) FILTER (WHERE k.live), count(*) FILTER (WHERE NOT k.live),
           count(*) FILTER (WHERE k.live AND k.unused), count(*) FILTER (WHERE k.live AND k.grown),
           (SELECT jsonb_agg(jsonb_build_object('layer', z.layer, 'memories', z.memories, 'zones', z.zones)
                             ORDER BY z.layer)
            FROM (SELECT y.layer, sum(y.memories)::bigint AS memories,
                         jsonb_object_agg(y.zone, y.memories) AS zones FROM zoned y GROUP BY y.layer) z),
           (SELECT array_agg(DISTINCT z.zone) FROM zoned z),
           max(k.accessed_at),
           percentile_cont(ARRAY[0.05, 0.95]) WITHIN GROUP (ORDER BY k.activation) FILTER (WHERE k.live)
    INTO memories, archived, never_used, grown, layers, zones, last_access_at, v_bounds
    FROM known k;
    layers := coalesce(layers, '[]');
    low := v_bounds[1];
    high := v_bounds[2];
END $$;

-- last_runs: the newest run of each job for this tenant and for the whole database, with its current state; by job.
CREATE OR REPLACE FUNCTION recall_private.last_runs(p_tenant text) RETURNS jsonb
LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object(
        'job', r.job, 'tenant', r.tenant, 'state', recall_private.current_run_state(r), 'started_at', r.started_at,
        'finished_at', r.finished_at, 'attempt', r.attempt, 'done', r.done, 'counts', r.counts,
        'error', r.error) ORDER BY r.job, r.tenant), '[]')
    FROM (SELECT DISTINCT o.tenant, o.job FROM recall.job_run o WHERE o.tenant IN (p_tenant, '*')) j
    CROSS JOIN LATERAL recall_private.last_run(j.tenant, j.job) r
$$;

-- moment_text: a moment to the minute, in a form that does not depend on the session.
CREATE OR REPLACE FUNCTION recall_private.moment_text(p_at timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_char(p_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"');

-- silence_alarm: a sentence if no access has been recorded for health.silent_days and the oldest live memory is
-- older than that; else NULL.
CREATE OR REPLACE FUNCTION recall_private.silence_alarm(
    p_tenant text, p_last_access_at timestamptz, p_now timestamptz
) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN p_last_access_at IS NULL THEN 'No access has ever been recorded'
                ELSE 'No access has been recorded since ' || recall_private.moment_text(p_last_access_at) END
           || '; without accesses, vitality depends on age alone.'
    FROM (SELECT p_now - make_interval(secs => 86400 * recall_private.setting_number(p_tenant, 'health.silent_days'))
                 AS since OFFSET 0) s
    WHERE coalesce(p_last_access_at < s.since, true)
      AND (SELECT m.created_at FROM recall.memory m
           WHERE m.tenant = p_tenant AND m.archived_at IS NULL ORDER BY m.id LIMIT 1) < s.since
$$;

-- sameness_alarms: sentences if at least 20 live memories are a day old or more and do not differ in vitality.
CREATE OR REPLACE FUNCTION recall_private.sameness_alarms(
    p_memories bigint, p_grown bigint, p_low double precision, p_high double precision, p_zones text[]
) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    -- Compares S, because small vitalities are always close together.
    SELECT format('Nine tenths of the %s live memories have the same vitality, %s: it does not affect their order.',
                  p_memories, round((p_low / (1 + p_low))::numeric, 3))
    WHERE p_grown >= 20 AND p_high < 1.02 * p_low
    UNION ALL
    SELECT format('All %s live memories are in the zone %s: the thresholds do not separate them.',
                  p_memories, p_zones[1])
    WHERE p_grown >= 20 AND cardinality(p_zones) = 1
$$;

-- queue_alarm: a sentence if accesses have waited for folding for more than an hour, or for more than a week if no job
-- has run yet (not p_ran): who has just begun need not have a worker. Else NULL.
CREATE OR REPLACE FUNCTION recall_private.queue_alarm(
    p_waiting bigint, p_oldest timestamptz, p_now timestamptz, p_ran boolean
) RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN p_oldest < p_now - CASE WHEN p_ran THEN interval '1 hour' ELSE interval '7 days' END THEN
    format('The job fold does not keep up: %s accesses wait, the oldest since %s.', p_waiting,
           CASE WHEN isfinite(p_oldest) THEN recall_private.moment_text(p_oldest) ELSE 'the last upgrade' END) END;

-- embedding_alarm: a sentence if memories have waited for an embedding for more than a day and this database has an
-- embedder; else NULL.
CREATE OR REPLACE FUNCTION recall_private.embedding_alarm(p_waiting bigint, p_oldest timestamptz, p_now timestamptz)
RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN p_oldest < p_now - interval '1 day' AND recall_private.setting_value('*', 'embedding.model') IS NOT NULL THEN
    format('The job embed does not keep up: %s memories wait for an embedding, the oldest since %s.',
           p_waiting, recall_private.moment_text(p_oldest)) END;

-- job_alarms: sentences about jobs whose last run failed, and about the problems that the last verification found. Runs
-- under names that pgrecall does not know are left out.
CREATE OR REPLACE FUNCTION recall_private.job_alarms(p_runs jsonb) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT format('The job %s failed at %s: %s', r.job, recall_private.moment_text(r.finished_at),
                  left(split_part(r.error, E'\n', 1), 300))
    FROM jsonb_to_recordset(p_runs) AS r(job text, state text, finished_at timestamptz, error text)
    WHERE r.state = 'failed' AND recall_private.is_known_job(r.job)
    UNION ALL
    SELECT format('The job verify found %s problems at %s; run it by hand to see them.',
                  r.counts ->> 'problems', recall_private.moment_text(r.finished_at))
    FROM jsonb_to_recordset(p_runs) AS r(job text, state text, finished_at timestamptz, counts jsonb)
    WHERE r.job = 'verify' AND r.state = 'done' AND jsonb_path_exists(r.counts, '$.problems ? (@ > 0)')
$$;

-- health_report (reader; State): the health of this tenant's memories at p_now, in one row. `layers` has live memories
-- by layer and zone, `never_used` the share of live memories without a whole access since they were stored,
-- `accesses_waiting` the accesses not folded yet, `vitality_low` and `vitality_high` the bounds of nine tenths of the
-- live memories, `jobs` the newest run of each job, and `alarms` one sentence for each problem.
CREATE OR REPLACE FUNCTION recall.health_report(p_now timestamptz DEFAULT now())
RETURNS TABLE (
    tenant text, reported_at timestamptz, memories bigint, archived bigint, layers jsonb,
    never_used double precision, vitality_low double precision, vitality_high double precision,
    last_access_at timestamptz, accesses_waiting bigint, waiting_since timestamptz,
    awaiting_embedding bigint, jobs jsonb, alarms text[]
)
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_runs jsonb := recall_private.last_runs(v_tenant);
    v_pulse record;
    v_queue record;
    v_unembedded record;
    v_last timestamptz;
BEGIN
    PERFORM recall_private.require_moment(p_now);
    SELECT * INTO v_pulse FROM recall_private.health_figures(v_tenant, p_now);
    SELECT coalesce(sum(cardinality(q.memory_ids)), 0)::bigint AS waiting, min(q.at) AS oldest,
           max(q.at) FILTER (WHERE isfinite(q.at)) AS newest
    INTO v_queue FROM recall.access_queue q WHERE q.tenant = v_tenant;
    SELECT count(*) AS waiting, min(m.updated_at) AS oldest INTO v_unembedded
    FROM recall.memory m WHERE m.tenant = v_tenant AND m.embedded_with IS NULL;
    v_last := greatest(v_pulse.last_access_at, v_queue.newest);
    RETURN QUERY SELECT
        v_tenant, p_now, v_pulse.memories, v_pulse.archived, v_pulse.layers,
        coalesce(v_pulse.never_used / nullif(v_pulse.memories, 0)::double precision, 0),
        v_pulse.low / (1 + v_pulse.low), v_pulse.high / (1 + v_pulse.high), v_last, v_queue.waiting,
        -- An upgrade queues the whole log again, whatever its times.
        CASE WHEN isfinite(v_queue.oldest) THEN v_queue.oldest END,
        v_unembedded.waiting, v_runs,
        array_remove(ARRAY[recall_private.silence_alarm(v_tenant, v_last, p_now)], NULL)
        || ARRAY(SELECT recall_private.sameness_alarms(
            v_pulse.memories, v_pulse.grown, v_pulse.low, v_pulse.high, v_pulse.zones))
        || array_remove(ARRAY[
            recall_private.queue_alarm(v_queue.waiting, v_queue.oldest, p_now, v_runs <> '[]'),
            recall_private.embedding_alarm(v_unembedded.waiting, v_unembedded.oldest, p_now)], NULL)
        || ARRAY(SELECT recall_private.job_alarms(v_runs));
END $$;

-- The same for now, as a view, for monitors that set recall.tenant.
CREATE OR REPLACE VIEW recall.health AS SELECT h.* FROM recall.health_report() h;
