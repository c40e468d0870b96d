-- The jobs that need only SQL, for a scheduler inside Postgres such as pg_cron. A worker runs the steps of a job in
-- several transactions; here each call runs one step in one transaction (see run_due_job).

-- sql_jobs: the jobs that need no worker, in the order in which they are tried. `whole` marks jobs of the whole database.
CREATE OR REPLACE FUNCTION recall_private.sql_jobs() RETURNS TABLE (job text, whole boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT AS $$
    VALUES ('fold', false), ('expire', false), ('vitality', false), ('graph', false), ('statistics', false),
           ('vectors', false), ('prune', false), ('dedupe', false), ('verify', false), ('partitions', true)
$$;

-- job_step: runs one step of a job for this tenant. Returns how much it did, by name, and whether the job is complete.
CREATE OR REPLACE FUNCTION recall_private.job_step(p_job text, p_now timestamptz, OUT counts jsonb, OUT complete boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    v_first bigint;
    v_second bigint := 0;
    v_third bigint := 0;
BEGIN
    complete := true;
    CASE p_job
    WHEN 'fold' THEN
        v_first := recall.fold_accesses(100000);
        complete := v_first < 100000;
        counts := jsonb_build_object('folded', v_first);
    WHEN 'expire' THEN
        v_first := recall.expire_memories(1000, p_now);
        complete := v_first < 1000;
        IF complete THEN
            v_second := recall.expire_searches(1000, p_now);
            complete := v_second < 1000;
        END IF;
        IF complete THEN
            v_third := recall.expire_changes(1000, p_now);
            complete := v_third < 1000;
        END IF;
        counts := jsonb_build_object('archived', v_first, 'searches', v_second, 'changes', v_third);
    WHEN 'vitality' THEN
        PERFORM recall.refresh_vitality(0, 1000000000, p_now);
        PERFORM recall.refresh_medians(p_now);
        counts := '{"batches": 1}';
    WHEN 'graph' THEN
        -- The links are a step of their own, so that their locks do not wait for the graph.
        complete := recall.resolve_pending_links() = 0;
        IF complete THEN
            SELECT g.memories, g.protected INTO v_first, v_second FROM recall.refresh_graph(p_now) g;
        ELSE
            v_first := 0;
        END IF;
        counts := jsonb_build_object('memories', v_first, 'protected', v_second);
    WHEN 'statistics' THEN
        counts := jsonb_build_object('memories', recall.refresh_lexemes());
    WHEN 'vectors' THEN
        counts := jsonb_build_object('moved', recall.move_vectors_to_own_table(4000));
    WHEN 'prune' THEN
        v_first := recall.plan_prune(p_now => p_now);
        counts := jsonb_build_object('planned', (
            SELECT count(*) FROM recall.plan_item i
            WHERE i.tenant = (SELECT recall.current_tenant()) AND i.plan_id = v_first));
    WHEN 'dedupe' THEN
        v_first := recall.find_duplicates(1000);
        complete := v_first = 0;
        IF complete THEN
            v_first := recall.plan_dedupe(p_now => p_now);
            v_second := (SELECT count(*) FROM recall.plan_item i
                         WHERE i.tenant = (SELECT recall.current_tenant()) AND i.plan_id = v_first AND NOT i.keeper);
            v_first := 0;
        END IF;
        counts := jsonb_build_object('compared', v_first, 'planned', v_second);
    WHEN 'verify' THEN
        SELECT jsonb_build_object('checks', count(*), 'problems', coalesce(sum((c -> 'problems')::bigint), 0))
        INTO counts FROM jsonb_array_elements(recall.verify(p_now) -> 'checks') c;
    WHEN 'partitions' THEN
        counts := jsonb_build_object('made', recall.make_access_partitions(p_now));
    END CASE;
END $$;

-- run_due_job (worker; Jobs and maintenance): runs one step of one due job for one tenant, and records it as a worker
-- does. Returns false if no job is due. It takes the first due job of p_jobs (NULL means all of sql_jobs), for the
-- tenant that waits longest. Each step needs its own transaction: commit, then call it again. A job that is not
-- complete after a step is due at once. A job that fails is recorded as failed, and is due again after its interval or
-- ten minutes, whichever is sooner. A job that waits 20 seconds for a lock fails, so that an open transaction of one
-- tenant does not delay the others. Workers and other sessions that call it share the work.
CREATE OR REPLACE FUNCTION recall.run_due_job(p_jobs text[] DEFAULT NULL, p_now timestamptz DEFAULT now())
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET lock_timeout = '20s' AS $$
DECLARE
    v_before text := coalesce(current_setting('recall.tenant', true), '');
    v_due record;
    v_run bigint;
    v_counts jsonb;
    v_complete boolean;
    v_error text;
    v_context text;
    v_began timestamptz := clock_timestamp();
BEGIN
    PERFORM recall_private.require_moment(p_now), recall_private.require_one_dimension(p_jobs);
    IF EXISTS (SELECT FROM unnest(p_jobs) u WHERE u IS NULL OR u NOT IN (SELECT s.job FROM recall_private.sql_jobs() s)) THEN
        PERFORM recall_private.raise_invalid(
            format('SQL cannot run all of these jobs: %s.', left(array_to_string(p_jobs, ', ', 'NULL'), 200)),
            format('Choose from: %s. The others need a worker.', (SELECT string_agg(s.job, ', ') FROM recall_private.sql_jobs() s)));
    END IF;
    FOR v_due IN
        SELECT s.job, s.whole, t.tenant
        FROM recall_private.sql_jobs() s CROSS JOIN LATERAL recall.due_tenants(s.job, s.whole, p_now) t(tenant)
        WHERE p_jobs IS NULL OR s.job = ANY (p_jobs)
    LOOP
        IF NOT v_due.whole THEN
            PERFORM set_config('recall.tenant', v_due.tenant, true);
        END IF;
        v_run := recall.begin_job(v_due.job, v_due.whole, 1, p_now);
        EXIT WHEN v_run IS NOT NULL;
    END LOOP;
    IF v_run IS NOT NULL THEN
        BEGIN
            SELECT s.counts, s.complete INTO v_counts, v_complete FROM recall_private.job_step(v_due.job, p_now) s;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS v_context = PG_EXCEPTION_CONTEXT;
            -- A message may quote a row, unless it is one of ours, or about a right, a lock, a transaction or the server.
            v_error := CASE
                WHEN left(SQLSTATE, 2) IN ('08', '25', '40', '53', '55', '57', '58')
                     OR SQLSTATE = '42501' OR split_part(v_context, E'\n', 1) LIKE '%RAISE' THEN SQLERRM
                ELSE format('Postgres refused a step (SQLSTATE %s).', SQLSTATE) END;
        END;
        PERFORM recall.end_job(
            v_run, CASE WHEN v_error IS NOT NULL THEN 'failed' WHEN v_complete THEN 'done' ELSE 'stopped' END,
            (SELECT sum(c.value::bigint)::bigint FROM jsonb_each_text(v_counts) c), v_counts, v_error, v_due.whole,
            p_now + (clock_timestamp() - v_began));
    END IF;
    PERFORM set_config('recall.tenant', v_before, true);
    RETURN v_run IS NOT NULL;
END $$;
