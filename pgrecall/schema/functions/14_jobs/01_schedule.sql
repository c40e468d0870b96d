-- When jobs are due: by their interval and their newest run, for each tenant.

-- job_minutes: minutes between runs of a job for a tenant; 0 if it is switched off, NULL if it has no schedule.
CREATE OR REPLACE FUNCTION recall_private.job_minutes(p_tenant text, p_job text) RETURNS double precision
LANGUAGE sql STABLE
RETURN recall_private.setting_number(p_tenant, 'job.' || p_job || '.minutes');

-- next_due_at: when a job is due again after this run: one interval after it began, sooner (within ten minutes) if it
-- failed, at once if it was interrupted or if it began in the future of p_now, by a wrong clock. Workers do not
-- repeat a run within its interval.
CREATE OR REPLACE FUNCTION recall_private.next_due_at(
    p_run recall.job_run, p_minutes double precision, p_now timestamptz
) RETURNS timestamptz
LANGUAGE sql STABLE
RETURN CASE
    WHEN p_run.id IS NULL THEN '-infinity'::timestamptz
    WHEN p_run.started_at > p_now + interval '5 minutes' THEN p_now
    WHEN p_run.state IN ('running', 'stopped', 'abandoned') THEN p_run.started_at
    ELSE p_run.started_at + make_interval(secs => 60 * CASE p_run.state
        WHEN 'failed' THEN least(p_minutes, 10) ELSE p_minutes END)
END;

-- job_states (reader; Jobs and maintenance): for each of these jobs, in the order given: minutes between its runs (0:
-- switched off, NULL: not scheduled), when it is due (NULL: never, or it has not run yet), its newest run as JSON, and
-- p_now.
CREATE OR REPLACE FUNCTION recall.job_states(
    p_jobs text[], p_whole_database text[] DEFAULT '{}', p_now timestamptz DEFAULT now()
) RETURNS TABLE (job text, minutes double precision, due_at timestamptz, last jsonb, asked_at timestamptz)
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    SELECT j.name, m.minutes,
           CASE WHEN m.minutes > 0 AND r.id IS NOT NULL THEN recall_private.next_due_at(r, m.minutes, p_now) END,
           CASE WHEN r.id IS NOT NULL THEN to_jsonb(r) - '{holder_pid,holder_role,holder_key}'::text[]
               || jsonb_build_object('state', recall_private.current_run_state(r)) END,
           p_now
    FROM unnest(p_jobs) WITH ORDINALITY j(name, place)
    CROSS JOIN LATERAL (SELECT recall_private.job_tenant(j.name = ANY (p_whole_database)) AS tenant) w
    CROSS JOIN LATERAL (SELECT recall_private.job_minutes(w.tenant, j.name) AS minutes) m
    CROSS JOIN LATERAL recall_private.last_run(w.tenant, j.name) r
    ORDER BY j.place
$$;

-- tenants (worker; State): all tenants with memories, logged searches or accesses that wait to be folded, by name,
-- except tenants that live in another cell or are about to. A role bound to a tenant sees only that tenant.
CREATE OR REPLACE FUNCTION recall.tenants() RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT AS $$
DECLARE
    v_bound text := recall_private.bound_tenant();
BEGIN
    IF v_bound <> '*' THEN
        RETURN QUERY SELECT v_bound WHERE recall_private.lives_here(v_bound) AND NOT recall_private.is_moving(v_bound) AND (
            EXISTS (SELECT FROM recall.memory m WHERE m.tenant = v_bound)
            OR EXISTS (SELECT FROM recall.search_log l WHERE l.tenant = v_bound)
            OR EXISTS (SELECT FROM recall.access_queue q WHERE q.tenant = v_bound));
    ELSIF v_bound = '*' THEN
        RETURN QUERY
        -- Steps from tenant to tenant by index, without reading the rows in between.
        WITH RECURSIVE owner(tenant) AS (
            SELECT min(m.tenant) FROM recall.memory m
            UNION ALL
            SELECT (SELECT min(m.tenant) FROM recall.memory m WHERE m.tenant > o.tenant)
            FROM owner o WHERE o.tenant IS NOT NULL
        ), searcher(tenant) AS (
            SELECT min(l.tenant) FROM recall.search_log l
            UNION ALL
            SELECT (SELECT min(l.tenant) FROM recall.search_log l WHERE l.tenant > s.tenant)
            FROM searcher s WHERE s.tenant IS NOT NULL
        ), waiting(tenant) AS (
            SELECT min(q.tenant) FROM recall.access_queue q
            UNION ALL
            SELECT (SELECT min(q.tenant) FROM recall.access_queue q WHERE q.tenant > w.tenant)
            FROM waiting w WHERE w.tenant IS NOT NULL
        ), known(tenant) AS (
            SELECT o.tenant FROM owner o UNION SELECT s.tenant FROM searcher s UNION SELECT w.tenant FROM waiting w
        )
        SELECT k.tenant FROM known k
        WHERE k.tenant IS NOT NULL AND recall_private.lives_here(k.tenant) AND NOT recall_private.is_moving(k.tenant) ORDER BY 1;
    ELSE
        PERFORM recall_private.named_tenant();  -- refuses a role that is bound to none
    END IF;
END $$;

-- due_tenants (worker): the tenants for which a job is due, longest waiting first; '*' for a job of the whole database.
-- A fifth of the interval, at most a minute, is allowed for differences between the clocks of workers.
CREATE OR REPLACE FUNCTION recall.due_tenants(
    p_job text, p_whole_database boolean DEFAULT false, p_now timestamptz DEFAULT now()
) RETURNS SETOF text
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT t.tenant
    FROM (
        SELECT '*' AS tenant WHERE p_whole_database AND recall_private.bound_tenant() = '*'
        UNION ALL SELECT o FROM recall.tenants() o WHERE NOT p_whole_database
    ) t
    CROSS JOIN LATERAL (SELECT recall_private.job_minutes(t.tenant, p_job) AS minutes) m
    CROSS JOIN LATERAL recall_private.last_run(t.tenant, p_job) r
    CROSS JOIN LATERAL (SELECT recall_private.next_due_at(r, m.minutes, p_now) AS at) due
    WHERE m.minutes > 0 AND due.at - make_interval(secs => 60 * least(m.minutes / 5, 1)) <= p_now
    ORDER BY due.at, t.tenant
$$;

-- shortest_job_interval (worker): the shortest interval of this job, in minutes, among the tenants that this role may
-- act for; NULL if all switched it off. A value that is not a number is ignored.
CREATE OR REPLACE FUNCTION recall.shortest_job_interval(p_job text) RETURNS double precision
LANGUAGE sql STABLE
SET search_path FROM CURRENT AS $$
    SELECT min(v.minutes) FROM (
        SELECT recall_private.job_minutes('*', p_job) AS minutes
        UNION ALL
        SELECT CASE WHEN recall_private.is_number(s.value) THEN s.value::double precision END
        FROM (SELECT recall_private.bound_tenant() AS tenant OFFSET 0) b
        CROSS JOIN LATERAL (  -- two parts, so that a role bound to a tenant reads no setting of another
            SELECT o.value FROM recall.setting o WHERE b.tenant = '*' AND o.name = 'job.' || p_job || '.minutes'
            UNION ALL
            SELECT o.value FROM recall.setting o
            WHERE o.tenant = b.tenant AND b.tenant <> '*' AND o.name = 'job.' || p_job || '.minutes') s) v
    WHERE v.minutes > 0
$$;
