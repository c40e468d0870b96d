-- Alerts: which alarms of the health report have begun or ended since the last report to the alert hook. The counts of
-- the newest successful run of the job `alerts` contain the names of the alarms that were reported.

-- alarm_kind: the name of an alarm. It stays the same when the times, numbers and errors in the sentence change.
CREATE OR REPLACE FUNCTION recall_private.alarm_kind(p_alarm text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN p_alarm LIKE 'No access has%' THEN 'silence'
    WHEN p_alarm LIKE 'Nine tenths of the%' THEN 'sameness'
    WHEN p_alarm LIKE 'All % live memories are in the zone%' THEN 'one zone'
    WHEN p_alarm LIKE 'The job % does not keep up:%' THEN split_part(p_alarm, ' ', 3) || ' late'
    WHEN p_alarm LIKE 'The job % failed at %' THEN split_part(p_alarm, ' ', 3) || ' failed'
    WHEN p_alarm LIKE 'The job verify found%' THEN 'verify problems'
    ELSE rtrim(left(regexp_replace(p_alarm, '[0-9].*$', ''), 60)) END;

-- alarm_changes (worker; Jobs and maintenance): the alarms of this tenant at p_now, by name: `raised` since the last
-- report to the alert hook, `ended` (without a sentence), or `standing`. An alarm about a run remains until the next
-- run has ended. A failure of the job alerts itself is left out, because that job could not report it.
CREATE OR REPLACE FUNCTION recall.alarm_changes(p_now timestamptz DEFAULT now())
RETURNS TABLE (kind text, alarm text, change text)
LANGUAGE plpgsql VOLATILE ROWS 5
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall.current_tenant();
    v_report record;
    v_told jsonb := coalesce((
        SELECT r.counts FROM recall.job_run r
        WHERE r.tenant = v_tenant AND r.job = 'alerts' AND r.state = 'done' ORDER BY r.id DESC LIMIT 1), '{}');
BEGIN
    SELECT h.alarms, h.jobs INTO v_report FROM recall.health_report(p_now) h;
    RETURN QUERY
    WITH raised AS (
        SELECT recall_private.alarm_kind(u) AS kind, min(u) AS alarm FROM unnest(v_report.alarms) u
        WHERE recall_private.alarm_kind(u) <> 'alerts failed' GROUP BY 1
    ), unended AS (
        SELECT u.kind FROM jsonb_to_recordset(v_report.jobs) r(job text, state text)
        CROSS JOIN LATERAL unnest(ARRAY[r.job || ' failed', r.job || ' problems']) u(kind)
        WHERE r.state IN ('running', 'stopped', 'abandoned')
    )
    SELECT coalesce(r.kind, t.kind), r.alarm,
           CASE WHEN t.kind IS NULL THEN 'raised'
                WHEN r.kind IS NOT NULL OR t.kind IN (SELECT e.kind FROM unended e) THEN 'standing'
                ELSE 'ended' END
    FROM raised r FULL JOIN jsonb_object_keys(v_told) t(kind) ON t.kind = r.kind
    ORDER BY 1;
END $$;
