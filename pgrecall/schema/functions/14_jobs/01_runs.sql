-- Jobs: which process runs which job, and the outcome of each run. Runs of a job of the whole database have the
-- tenant '*'. A run holds a session-level advisory lock from begin_job to end_job, so it ends with its connection at
-- the latest. The lock shows that the session is alive and keeps nobody out: its key is random and new for every run.

-- job_tenant: the tenant of the runs of a job: '*' for a job of the whole database, else the tenant of this
-- transaction.
CREATE OR REPLACE FUNCTION recall_private.job_tenant(p_whole_database boolean) RETURNS text
LANGUAGE sql STABLE
RETURN CASE WHEN p_whole_database THEN '*' ELSE recall.current_tenant() END;

-- job_tenant_for_writing: job_tenant for recording a run. Only a role that may act for any tenant can run a job of
-- the whole database.
CREATE OR REPLACE FUNCTION recall_private.job_tenant_for_writing(p_whole_database boolean) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_whole_database THEN
        PERFORM recall_private.require_any_tenant('run a job of the whole database');
    END IF;
    RETURN recall_private.job_tenant(p_whole_database);
END $$;

-- is_session_alive: whether the session that began this run still holds the lock of the run. Process, login role and
-- key must all be those recorded: anybody may take an advisory lock, but not as another role.
CREATE OR REPLACE FUNCTION recall_private.is_session_alive(p_run recall.job_run) RETURNS boolean
LANGUAGE sql VOLATILE
RETURN EXISTS (
    SELECT FROM pg_stat_get_activity(p_run.holder_pid) a JOIN pg_locks l ON l.pid = a.pid
    WHERE a.usesysid = p_run.holder_role AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
      AND l.classid = ((p_run.holder_key >> 32) & 4294967295)::oid
      AND l.objid = (p_run.holder_key & 4294967295)::oid
);

-- lock_run: takes the session-level lock of a run, and returns its random key.
CREATE OR REPLACE FUNCTION recall_private.lock_run() RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_key bigint;
BEGIN
    LOOP
        v_key := hashtextextended(gen_random_uuid()::text, 0);
        EXIT WHEN pg_try_advisory_lock(v_key);
    END LOOP;
    RETURN v_key;
END $$;

-- begin_job (worker): starts a run of a job and returns its id, or NULL if another session is running it. Earlier runs
-- that never ended are marked abandoned, since their session no longer holds the lock.
CREATE OR REPLACE FUNCTION recall.begin_job(
    p_job text, p_whole_database boolean DEFAULT false, p_attempt int DEFAULT 1, p_now timestamptz DEFAULT now()
) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall_private.job_tenant_for_writing(p_whole_database);
    v_id bigint;
    v_last recall.job_run;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_between(p_attempt, 1, 1000000, 'p_attempt');
    IF coalesce(length(p_job), 0) NOT BETWEEN 1 AND 100 THEN
        PERFORM recall_private.raise_invalid(format('The name of a job has 1 to 100 characters, not %s.',
            coalesce(length(p_job), 0)));
    END IF;
    IF NOT recall_private.try_lock_tenant(v_tenant, 'job ' || p_job) THEN
        RETURN NULL;
    END IF;
    v_last := recall_private.last_run(v_tenant, p_job);
    IF v_last.holder_pid = pg_backend_pid() AND v_last.state = 'running' THEN
        PERFORM pg_advisory_unlock(v_last.holder_key);
    ELSIF recall_private.current_run_state(v_last) = 'running' THEN
        RETURN NULL;
    END IF;
    UPDATE recall.job_run r SET state = 'abandoned', finished_at = p_now
    WHERE r.tenant = v_tenant AND r.job = p_job AND r.state = 'running';
    INSERT INTO recall.job_run (tenant, job, started_at, attempt, holder_pid, holder_role, holder_key)
    SELECT v_tenant, p_job, p_now, p_attempt, pg_backend_pid(), r.oid, recall_private.lock_run()
    FROM pg_roles r WHERE r.rolname = session_user
    RETURNING id INTO v_id;
    RETURN v_id;
END $$;

-- require_run_counts: returns the counts of a run. Raises an error unless they are NULL or an object of at most 100
-- whole numbers, with names of at most 100 characters.
CREATE OR REPLACE FUNCTION recall_private.require_run_counts(p_counts jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    v_wrong text;
BEGIN
    IF jsonb_typeof(p_counts) <> 'object' THEN
        v_wrong := p_counts::text;
    ELSIF (SELECT count(*) FROM jsonb_object_keys(p_counts)) > 100 THEN
        PERFORM recall_private.raise_invalid('The counts of a run have more than 100 names.');
    ELSE
        SELECT format('{%s: %s}', to_json(c.key), c.value) INTO v_wrong FROM jsonb_each(p_counts) c
        WHERE length(c.key) > 100 OR jsonb_typeof(c.value) <> 'number'
           OR NOT pg_input_is_valid(c.value #>> '{}', 'bigint') LIMIT 1;
    END IF;
    IF v_wrong IS NOT NULL THEN
        PERFORM recall_private.raise_invalid(
            format('The counts of a run cannot be %s.', left(v_wrong, 100)),
            'Give an object of whole numbers, for example {"archived": 3}.');
    END IF;
    RETURN p_counts;
END $$;

-- report_job (worker): records the progress of a run: the amount done, as one number and by name.
CREATE OR REPLACE FUNCTION recall.report_job(
    p_run_id bigint, p_done bigint, p_counts jsonb, p_whole_database boolean DEFAULT false
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    -- Not in the WHERE clause, where it would not be evaluated while the table is empty.
    v_tenant text := recall_private.job_tenant_for_writing(p_whole_database);
BEGIN
    PERFORM recall_private.require_run_counts(p_counts);
    UPDATE recall.job_run r SET done = coalesce(p_done, r.done), counts = coalesce(p_counts, r.counts)
    WHERE r.tenant = v_tenant AND r.id = p_run_id AND r.state = 'running';
END $$;

-- end_job (worker): ends a run as done, failed (with the error) or stopped, and releases its lock; false if the run had
-- ended before. Of an error, 10,000 characters are kept; of a job and a tenant, the newest 1,000 runs.
CREATE OR REPLACE FUNCTION recall.end_job(
    p_run_id bigint, p_state text, p_done bigint, p_counts jsonb, p_error text DEFAULT NULL,
    p_whole_database boolean DEFAULT false, p_now timestamptz DEFAULT now()
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT AS $$
DECLARE
    v_tenant text := recall_private.job_tenant_for_writing(p_whole_database);
    v_job text;
    v_pid int;
    v_key bigint;
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_run_counts(p_counts);
    IF coalesce(p_state NOT IN ('done', 'failed', 'stopped'), true) THEN
        PERFORM recall_private.raise_invalid(format('A run cannot end as %L.', left(p_state, 100)),
            'It ends as done, failed or stopped.');
    END IF;
    UPDATE recall.job_run r
    SET state = p_state, finished_at = greatest(p_now, r.started_at),
        done = coalesce(p_done, r.done), counts = coalesce(p_counts, r.counts),
        error = CASE p_state WHEN 'failed' THEN coalesce(left(p_error, 10000), 'No error was reported.') END
    WHERE r.tenant = v_tenant AND r.id = p_run_id AND r.state = 'running'
    RETURNING r.job, r.holder_pid, r.holder_key INTO v_job, v_pid, v_key;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM recall_private.delete_old_runs(v_tenant, v_job, 1000);
    -- Another session may begin before this commits; it waits for this row and then finds the run ended.
    IF v_pid = pg_backend_pid() THEN
        PERFORM pg_advisory_unlock(v_key);
    END IF;
    RETURN true;
END $$;

-- delete_old_runs: deletes all runs of a job for a tenant except the newest p_keep, and returns how many.
CREATE OR REPLACE FUNCTION recall_private.delete_old_runs(p_tenant text, p_job text, p_keep int) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    WITH gone AS (
        DELETE FROM recall.job_run r
        WHERE r.tenant = p_tenant AND r.job = p_job AND r.id <= (
            SELECT o.id FROM recall.job_run o WHERE o.tenant = p_tenant AND o.job = p_job
            ORDER BY o.id DESC OFFSET p_keep LIMIT 1)
        RETURNING r.id
    )
    SELECT count(*) FROM gone
$$;

-- is_known_job: whether pgrecall has a job of this name. A tenant can choose others for its runs.
CREATE OR REPLACE FUNCTION recall_private.is_known_job(p_job text) RETURNS boolean
LANGUAGE sql STABLE
RETURN p_job = 'reembed'  -- the only job without an interval
    OR 'job.' || p_job || '.minutes' IN (SELECT k.name FROM recall_private.known_settings() k);

-- current_run_state: the current state of a run: one that is recorded as running and has lost its session was abandoned.
CREATE OR REPLACE FUNCTION recall_private.current_run_state(p_run recall.job_run) RETURNS text
LANGUAGE sql VOLATILE
RETURN CASE WHEN p_run.state = 'running' AND NOT recall_private.is_session_alive(p_run) THEN 'abandoned'
            ELSE p_run.state END;

-- job_runs (reader; Jobs and maintenance): the newest runs of one job, or of all, for this tenant and for the whole
-- database, newest first.
CREATE OR REPLACE FUNCTION recall.job_runs(p_job text DEFAULT NULL, p_limit int DEFAULT 20)
RETURNS TABLE (
    id bigint, tenant text, job text, state text, started_at timestamptz, finished_at timestamptz,
    attempt int, done bigint, counts jsonb, error text
)
LANGUAGE sql VOLATILE
SET search_path FROM CURRENT AS $$
    SELECT r.id, r.tenant, r.job, recall_private.current_run_state(r), r.started_at, r.finished_at, r.attempt, r.done,
           r.counts, r.error
    FROM (VALUES (recall.current_tenant()), ('*')) AS whose(tenant)
    CROSS JOIN LATERAL (
        SELECT * FROM recall.job_run o
        WHERE o.tenant = whose.tenant AND (p_job IS NULL OR o.job = p_job)
        ORDER BY o.id DESC LIMIT recall_private.require_limit(p_limit)) r
    ORDER BY r.id DESC LIMIT recall_private.require_limit(p_limit)
$$;

-- last_run: the newest run of a job for a tenant; NULL if it never ran.
CREATE OR REPLACE FUNCTION recall_private.last_run(p_tenant text, p_job text) RETURNS recall.job_run
LANGUAGE sql STABLE AS $$
    SELECT r FROM recall.job_run r WHERE r.tenant = p_tenant AND r.job = p_job ORDER BY r.id DESC LIMIT 1
$$;
