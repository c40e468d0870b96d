-- Partitions of the access log: one a month of arrival, made ahead; rows no partition is for wait in the default.

-- make_access_partitions: makes the partitions of the month of p_now and the p_ahead months after it where they
-- are missing, and moves rows of the default partition there; returns how many were made. Gives up when the log is
-- not free for ten seconds, since everything that uses it waits behind this.
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
    PERFORM recall.require_any_tenant('make partitions'), recall.require_between(p_ahead, 0, 120, 'p_ahead');
    PERFORM recall.lock_tenant('*', 'partitions');
    FOR v_month IN
        SELECT date_trunc('month', recall.require_moment(p_now)) + make_interval(months => n)
        FROM generate_series(0, p_ahead) n
    LOOP
        v_name := 'access_' || to_char(v_month, 'YYYY_MM');
        IF to_regclass('recall.' || v_name) IS NULL THEN
            -- Or a row on its way to the default partition would find that its month has one of its own now.
            LOCK TABLE recall.access IN ACCESS EXCLUSIVE MODE;
            EXECUTE format(
                'CREATE TABLE recall.%I (LIKE recall.access INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', v_name);
            EXECUTE format(
                'WITH moved AS (DELETE FROM recall.access_default '
                'WHERE recorded_at >= %L AND recorded_at < %L RETURNING *) '
                'INSERT INTO recall.%I SELECT * FROM moved',
                v_month, v_month + interval '1 month', v_name);
            EXECUTE format('ALTER TABLE recall.access ATTACH PARTITION recall.%I FOR VALUES FROM (%L) TO (%L)',
                v_name, v_month, v_month + interval '1 month');
            PERFORM recall.protect_table(format('recall.%I', v_name)::regclass);
            v_made := v_made + 1;
        END IF;
    END LOOP;
    RETURN v_made;
END $$;
