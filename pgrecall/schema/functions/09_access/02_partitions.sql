-- Partitions of the access log: one for each month in which accesses are recorded, made ahead. Rows without a partition
-- wait in the default partition.

-- make_access_partitions (worker; Jobs and maintenance): creates missing partitions for the month of p_now and the
-- p_ahead months after it, and moves rows of the default partition to them. Returns how many were created. Gives up if
-- it cannot lock the log within ten seconds.
CREATE OR REPLACE FUNCTION recall.make_access_partitions(
    p_now timestamptz DEFAULT now(), p_ahead int DEFAULT 3
) RETURNS int
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET timezone = 'UTC'
SET lock_timeout = '10s' AS $$
DECLARE
    v_month timestamptz;
    v_name text;
    v_made int := 0;
BEGIN
    PERFORM recall_private.require_any_tenant('make partitions'), recall_private.require_between(p_ahead, 0, 120, 'p_ahead');
    PERFORM recall_private.lock_tenant('*', 'partitions');
    FOR v_month IN
        SELECT date_trunc('month', recall_private.require_moment(p_now)) + make_interval(months => n)
        FROM generate_series(0, p_ahead) n
    LOOP
        v_name := 'access_' || to_char(v_month, 'YYYY_MM');
        IF to_regclass('recall.' || v_name) IS NULL THEN
            -- Otherwise a row being inserted into the default partition would violate its new constraint.
            PERFORM recall_private.lock_access_log();
            EXECUTE format(
                'CREATE TABLE recall.%I (LIKE recall.access INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', v_name);
            EXECUTE format(
                'WITH moved AS (DELETE FROM recall.access_default '
                'WHERE recorded_at >= %L AND recorded_at < %L RETURNING *) '
                'INSERT INTO recall.%I SELECT * FROM moved',
                v_month, v_month + interval '1 month', v_name);
            EXECUTE format('ALTER TABLE recall.access ATTACH PARTITION recall.%I FOR VALUES FROM (%L) TO (%L)',
                v_name, v_month, v_month + interval '1 month');
            PERFORM recall_private.protect_table(format('recall.%I', v_name)::regclass);
            v_made := v_made + 1;
        END IF;
    END LOOP;
    RETURN v_made;
END $$;

-- lock_access_log: waits until no transaction uses the access log, and locks it until this transaction ends. It gives up
-- and retries at short intervals, because everything that uses the log waits behind it, and an idle transaction of any
-- tenant that has read the log can hold its lock for any time.
CREATE OR REPLACE FUNCTION recall_private.lock_access_log() RETURNS void
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '100ms' AS $$
BEGIN
    FOR v_try IN 1 .. 20 LOOP
        BEGIN
            LOCK TABLE recall.access IN ACCESS EXCLUSIVE MODE;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.4);
        END;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
        MESSAGE = 'The access log could not be locked, because other transactions use it.',
        HINT = 'Accesses are still logged. Look for transactions that stay open in pg_stat_activity.';
END $$;
